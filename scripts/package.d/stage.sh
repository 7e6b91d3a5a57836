# Functions that scripts/package and scripts/install share: which file of photod goes where. This file is sourced after
# lib.sh, never run.

# The version in the sources.
source_version() {
  sed -n 's/.*static let version = "\([^"]*\)".*/\1/p' "$root/Sources/photod/Commands/Photod.swift"
}

# Builds the release configuration with Swift's runtime linked in. Prints the folder of the programs. C and C++ sources
# write their path into messages: it begins at the package's folder, so that programs don't depend on where that is. All
# functions of libraries are bound at start, and the table of them is read-only from then on.
release_binaries() {
  set_up >&2
  build_programs --static-swift-stdlib -Xcc "-ffile-prefix-map=$root=." \
    -Xcxx "-ffile-prefix-map=$root=." -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now >&2
  swift build --package-path "$root" -c release --show-bin-path
}

# stage_programs BINARIES DESTINATION LIBEXEC
# photod and the decoder and encoder programs in one folder, where photod looks for them. Debug information is removed, and
# what differs between two builds of the same sources.
# If photod is linked to Swift's runtime dynamically, as a debug build is, the runtime goes into the same folder, which
# is in the program's search path.
stage_programs() {
  local binaries=$1 folder=$2$3 program library
  [ -x "$binaries/photod" ] || fail "$binaries has no program photod."
  install -d "$folder"
  for program in "$binaries/photod" "$binaries"/photod-decoder-* "$binaries"/photod-encoder-*; do
    # The patterns also match folders of build products.
    [ -f "$program" ] && [ -x "$program" ] || continue
    case ${program##*/} in *-test | *.*) continue ;; esac
    install -m 755 "$program" "$folder/"
    strip --strip-unneeded "$folder/${program##*/}"
    "$root/scripts/package.d/normalize" "$folder/${program##*/}"
  done
  ldd "$binaries/photod" | sed -n 's/.* => \(.*\/swift\/linux\/.*\.so\) .*/\1/p' | while read -r library; do
    install -m 644 "$library" "$folder/"
  done
}

# stage_documents PHOTOD DESTINATION PREFIX VERSION DATE
# Manual pages, completions for shells, guides and samples. PHOTOD is a program that runs on this machine.
stage_documents() {
  local photod=$1 share=$2$3/share version=$4 date=$5 doc page zsh=site-functions
  # Where zsh looks: Debian keeps /usr/share/zsh/site-functions for zsh itself.
  [ "$3" != /usr ] || zsh=vendor-completions
  "$root/scripts/package.d/manual" "$photod" "$share/man/pages" "$version" "$date"
  for page in "$share/man/pages"/*; do
    install -d "$share/man/man${page##*.}"
    mv "$page" "$share/man/man${page##*.}/"
  done
  rmdir "$share/man/pages"
  gzip -9n "$share"/man/man*/*
  install -d "$share/bash-completion/completions" "$share/zsh/$zsh" "$share/fish/vendor_completions.d"
  "$photod" --generate-completion-script bash >"$share/bash-completion/completions/photod"
  "$photod" --generate-completion-script zsh >"$share/zsh/$zsh/_photod"
  "$photod" --generate-completion-script fish >"$share/fish/vendor_completions.d/photod.fish"
  doc=$share/doc/photod
  install -d "$doc/examples" "$doc/guides"
  install -m 644 "$root/README.md" "$doc/"
  install -m 644 "$root"/Sources/photod/photod.docc/*.md "$doc/guides/"
  # Links lead to the installed files. Files for contributors are not installed.
  sed -i -e 's|(Sources/photod/photod\.docc/|(guides/|g' -e 's|(config/|(examples/|g' \
    -e 's/\[\([^]]*\)\](\(CONTRIBUTING\|CHANGELOG\)\.md)/\1/g' "$doc/README.md"
  sed -i -e 's|(\.\./\.\./\.\./config/|(../examples/|g' -e 's|<doc:\([A-Za-z]*\)>|[\1](\1.md)|g' "$doc"/guides/*.md
  install -m 644 "$root"/config/{nginx.conf,photod.vcl,photod.json,prometheus.yml,photod.alerts.yml,photod.dashboard.json} "$doc/examples/"
}

# check_unit_values VALUE...
# Fails if a path or a name can't stand in a unit as it is: systemd splits at blanks, and has meanings for quotation marks,
# backslashes and percent signs. It ignores a line that it can't read, and starts the service without it.
check_unit_values() {
  local value
  for value; do
    case $value in
      *[!A-Za-z0-9/._@+,-]*)
        fail "\"$value\" can't be in a systemd unit: use letters, digits and /._@+,- only, or install without units (--units none)."
        ;;
    esac
  done
}

# stage_units DESTINATION FOLDER PROGRAM SETTINGS DATA USER GROUP
# The systemd units, with these paths and this user.
stage_units() {
  local folder=$1$2 program=$3 settings=$4 data=$5 user=$6 group=$7
  install -d "$folder"
  sed -e "s|^ExecStart=/usr/bin/photod |ExecStart=$program |" -e "s|=/etc/photod/photod.json|=$settings|" \
    -e "s|^User=photod|User=$user|" -e "s|^Group=photod|Group=$group|" "$root/config/photod.service" >"$folder/photod.service"
  # systemd makes its own state folder and no other.
  [ "$data" = /var/lib/photod ] \
    || sed -i "s|^StateDirectory=photod|ReadWritePaths=$data|; /^StateDirectoryMode/d" "$folder/photod.service"
  install -m 644 "$root/config/photod.socket" "$folder/photod.socket"
  chmod 644 "$folder/photod.service"
}

# stage_settings FILE LIBRARY DATA
# The settings of the service. An existing file is kept.
stage_settings() {
  [ ! -e "$1" ] || return 0
  install -d "$(dirname "$1")"
  python3 - "$root/config/service.json" "$2" "$3" >"$1" <<'PYTHON'
import json, sys
text = open(sys.argv[1]).read()
for key, value in (("library", sys.argv[2]), ("data", sys.argv[3])):
    default = json.loads(text)[key]
    text = text.replace(f'"{key}": {json.dumps(default)}', f'"{key}": {json.dumps(value)}')
sys.stdout.write(text)
PYTHON
  chmod 644 "$1"
}
