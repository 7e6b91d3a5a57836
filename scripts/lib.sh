# Functions and package lists that the scripts share. This file is sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "$*"
  exit 1
}

# Packages for building and running. libjpeg-dev is libjpeg-turbo on Debian (ABI 62) and Ubuntu (ABI 8).
build_packages="libjpeg-dev libpng-dev libexif-dev libexpat1-dev liblcms2-dev libsqlite3-dev zlib1g-dev libisal-dev libbrotli-dev libcurl4-openssl-dev libssl-dev pkg-config git ca-certificates"
# Codecs of the decoder and encoder programs. A program whose library is missing is not built.
decoder_packages="libwebp-dev libde265-dev libdav1d-dev libjxl-dev libavcodec-dev libraw-dev libaom-dev"
test_packages="python3 python3-prometheus-client prometheus libimage-exiftool-perl nginx-light openssl curl"
picture_bench_packages="libvips-tools"
serve_bench_packages="nginx-light wrk util-linux"
slow_bench_packages="slowhttptest"
scan_bench_packages="exiv2 libimage-exiftool-perl libjpeg-turbo-progs strace"
# Debian's package. Ubuntu's package of this name installs a snap, which cannot read /tmp.
browser_packages="chromium python3"
# A real object store and a client of it, for scripts/check-store.
store_packages="ceph-mon ceph-osd ceph-common radosgw python3-boto3"
# Optional: a second browser for the gallery page.
firefox_packages="firefox-esr"

# Installs the packages of its arguments that are missing.
install_missing() {
  command -v dpkg-query >/dev/null || fail "dpkg not found: the scripts install packages only on Debian and Ubuntu. Install these packages yourself: $*"
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || fail "apt-get not found. Install these packages, then start again: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "sudo not found. Install these packages as root, then start again: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 \
    || fail "apt-get could not install: ${missing[*]}"
}

need_swift() {
  command -v swift >/dev/null || fail "swift not found: install Swift 6.2 or later (swift.org/install), then start again."
  local version
  version=$(swift --version 2>/dev/null | grep -oE 'Swift version [0-9]+\.[0-9]+' | head -n 1 | grep -oE '[0-9]+\.[0-9]+' || true)
  [ -n "$version" ] || fail "\`swift --version\` prints no version: check the Swift installation."
  [ "$(printf '%s\n6.2\n' "$version" | sort -V | head -n 1)" = 6.2 ] || fail "Swift $version is too old: install Swift 6.2 or later (swift.org/install)."
}

# The folder of the toolchain's programs.
toolchain_bin() { dirname "$(readlink -f "$(command -v swiftc)")"; }

has_lld() { [ -x "$(toolchain_bin)/ld.lld" ]; }

# Succeeds if the toolchain has libFuzzer and lld, which scripts/fuzz links with.
has_fuzzer() {
  has_lld && compgen -G "$(toolchain_bin)/../lib/clang/*/lib/*/libclang_rt.fuzzer*.a" >/dev/null
}

# Prints the options of swift build that make photod smaller by 2 MB: no names of thunks, one copy of functions with equal
# code (nothing in photod compares addresses of functions; a backtrace may name another of such functions), and packed
# relocations, which glibc reads since 2.36.
small_program_options() {
  has_lld || return 0
  printf '%s\n' -Xswiftc -use-ld=lld -Xlinker --discard-all -Xlinker --icf=all
  local glibc
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d ' ' -f 2)
  if [ "$(printf '%s\n2.36\n' "${glibc:-0}" | sort -V | head -n 1)" = 2.36 ]; then
    printf '%s\n' -Xlinker -z -Xlinker pack-relative-relocs
  fi
}

set_up() {
  need_swift
  # shellcheck disable=SC2086
  install_missing $build_packages $decoder_packages "$@"
}

# Builds in the release configuration, without debug information. Arguments are options of swift build.
build_release() {
  local small
  mapfile -t small < <(small_program_options)
  swift build --package-path "$root" -c release -debug-info-format none "${small[@]}" "$@"
}

# Builds photod, the decoder and encoder programs and photod-demo. It is one command, so that both cores have work until
# the end. Arguments are options of swift build.
build_programs() {
  [ -e "$root/.build/release/photod" ] || say "building photod and its dependencies; the first build takes several minutes, and shows each module as it is compiled"
  PHOTOD_ONLY_PROGRAMS=1 build_release "$@"
}

# Builds photod-bench too.
build_benchmarks() {
  build_programs
  build_release --product photod-bench
}
