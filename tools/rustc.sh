#!/usr/bin/env bash
# Cargo compiles the crates of this workspace with this (.cargo/config.toml). Unit tests of the profile `dev` are compiled
# at level 0: each repeats its whole crate, for which LLVM takes three to five times as long at the level that the crate
# has for those that use it, and that is more than they save when they run.
set -eu

unit_tests() { [[ " $* " == *" --crate-name xoff"* && " $* " == *" --test "* && " $* " == *debug-assertions=on* ]]; }

args=("$@")
if unit_tests "$@"; then
    for i in "${!args[@]}"; do
        case ${args[i]} in
        opt-level=*) args[i]=opt-level=0 ;;
        codegen-units=*) args[i]=codegen-units=16 ;;
        esac
    done
fi
exec "${args[@]}"
