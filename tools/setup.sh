#!/usr/bin/env bash
# Installs what is needed to build Xoff: Verilator, a C++ compiler, make and the header of zlib. Prints and changes
# nothing when everything is already installed.
set -euo pipefail

verilator_floor=5.006   # the version of Debian 12; older ones lack features that the bindings need
rust_floor=1.88         # rust-version in Cargo.toml

# at_least A B: is version A at least B?
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

verilator_version() { "${VERILATOR:-verilator}" --version 2>/dev/null | awk 'NR == 1 { print $2 }'; }

missing_packages() {
    local v
    v=$(verilator_version || true)
    [ -n "$v" ] || echo verilator
    command -v g++ >/dev/null || echo g++
    command -v make >/dev/null || echo make
    echo '#include <zlib.h>' | "${CXX:-g++}" -E -x c++ - >/dev/null 2>&1 || echo zlib1g-dev
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

mapfile -t missing < <(missing_packages)
if [ ${#missing[@]} -gt 0 ]; then
    if ! command -v apt-get >/dev/null; then
        echo "setup: missing: ${missing[*]}. On this system install by hand: Verilator $verilator_floor or newer, g++ (C++17), make, and zlib with its header (zlib.h)." >&2
        exit 1
    fi
    sudo=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "setup: missing: ${missing[*]}. Install them as root: apt-get install ${missing[*]}" >&2; exit 1; }
        sudo=sudo
    fi
    echo "setup: installing ${missing[*]}"
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

v=$(verilator_version)
if ! at_least "$v" "$verilator_floor"; then
    echo "setup: Verilator is $v; Xoff needs $verilator_floor or newer. Debian 12 and Ubuntu 24.04 ship one that does; the environment variable VERILATOR may name another." >&2
    exit 1
fi
