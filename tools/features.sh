#!/usr/bin/env bash
# Fails if something is compiled twice. That is so where dependencies of tests select other features of the crates that
# the program is built from: everything that depends on such a crate would be compiled once for `make demo` and once more
# for tests and examples.
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

# So it is where a build of a program compiles again what tests have (`TESTED` in the Makefile).
compiled() {
    cargo "$@" --workspace --quiet --message-format=json |
        sed -n 's|.*"reason":"compiler-artifact".*"filenames":\["\([^"]*/deps/[^"]*\)".*|\1|p' | sort -u
}

tests=$(compiled test --no-run)
programs=$(compiled build --lib --bin xoff --bin xoff-verify --bin xoff-cost)
again=$(comm -13 <(echo "$tests") <(echo "$programs"))
if [ -n "$again" ]; then
    echo "features: compiled once for tests and once more for programs of the same profile:" >&2
    sed 's/^/  /' <<<"$again" >&2
    exit 1
fi
