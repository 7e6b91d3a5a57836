# What the scripts share. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "$*"
  exit 1
}

# The packages that building and running need. libjpeg-dev stands for libjpeg-turbo on Debian (ABI 62) and Ubuntu (ABI 8).
build_packages="libjpeg-dev libpng-dev libexif-dev libexpat1-dev liblcms2-dev libsqlite3-dev zlib1g-dev libisal-dev pkg-config git ca-certificates"
test_packages="python3 libimage-exiftool-perl"
picture_bench_packages="libvips-tools"
serve_bench_packages="nginx-light wrk util-linux"
slow_bench_packages="slowhttptest"
scan_bench_packages="exiv2 libimage-exiftool-perl libjpeg-turbo-progs strace"
# Debian's name; Ubuntu's package of this name installs a snap, which can't read /tmp.
browser_packages="chromium python3"

# Installs those of the named packages that are missing, and nothing else.
install_missing() {
  command -v dpkg-query >/dev/null || fail "No dpkg here: photod's scripts install packages on Debian and Ubuntu only. Needed: $*"
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || fail "No apt-get here. Install these, then start again: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "These packages are missing, and there is no sudo to install them: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 \
    || fail "apt-get could not install: ${missing[*]}"
}

need_swift() {
  command -v swift >/dev/null || fail "No Swift toolchain: install Swift 6.2 or later (swift.org/install), then start again."
  local version
  version=$(swift --version 2>/dev/null | grep -oE 'Swift version [0-9]+\.[0-9]+' | head -n 1 | grep -oE '[0-9]+\.[0-9]+' || true)
  [ -n "$version" ] || fail "The Swift toolchain does not say its version."
  [ "$(printf '%s\n6.2\n' "$version" | sort -V | head -n 1)" = 6.2 ] || fail "Swift $version is too old: photod needs 6.2 or later."
}

# Whether the toolchain brings what scripts/fuzz links: libFuzzer and a linker that takes it.
has_fuzzer() {
  local bin
  bin=$(dirname "$(readlink -f "$(command -v swiftc)")")
  [ -x "$bin/ld.lld" ] && compgen -G "$bin/../lib/clang/*/lib/*/libclang_rt.fuzzer*.a" >/dev/null
}

set_up() {
  need_swift
  # shellcheck disable=SC2086
  install_missing $build_packages "$@"
}
