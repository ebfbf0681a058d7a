#!/usr/bin/env bash
# Fails if dependencies of tests select other features of the crates that the program is built from: everything that
# depends on such a crate would be compiled once for `make demo` and once more for tests and examples.
set -euo pipefail
cd "$(dirname "$0")/.."

selected() { cargo tree --workspace --locked --edges "$1" --prefix none --format '{p} {f}' | sed 's/ (\*)$//' | sort -u; }

differing=$(comm -23 <(selected normal,build) <(selected normal,build,dev))
if [ -n "$differing" ]; then
    echo "features: dependencies of tests select more features of:" >&2
    sed 's/^/  /' <<<"$differing" >&2
    echo "features: select them for the program too, or none of them for tests (Cargo.toml)" >&2
    exit 1
fi
