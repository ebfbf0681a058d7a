#!/usr/bin/env bash
# Makes the archive of a release, for machines with neither Rust nor Verilator: xoff and xoff-verify with the licences and
# shell completions. Then unpacks it elsewhere and runs it there with none of the build's tools in the path.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
host=$(rustc -vV | sed -n 's/^host: //p')
name=xoff-$version-$host

${CARGO:-cargo} build --release --quiet --bin xoff --bin xoff-verify

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/$name/completions"
install -s "$target/release/xoff" "$target/release/xoff-verify" "$folder/$name"
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$folder/$name"
for shell in bash fish zsh; do
    "$target/release/xoff" completions "$shell" >"$folder/$name/completions/xoff.$shell"
done
tar -C "$folder" -czf "$target/$name.tar.gz" --owner=0 --group=0 --sort=name "$name"
rm -rf "${folder:?}/$name"

# In another folder, without a variable of this shell, with a path in which nothing lies but what a smoke test needs.
capture=$PWD/testbenches/captures/loss_mtu256_all_ops.pcap
tar -C "$folder" -xzf "$target/$name.tar.gz"
mkdir "$folder/empty"
cd "$folder"
smoke() {
    local said
    said=$(env -i PATH="$folder/empty" HOME="$folder" "$folder/$name/xoff" "$@" 2>&1) || {
        echo "archive: xoff $*: exit code $?" >&2
        echo "$said" >&2
        exit 1
    }
    echo "archive: xoff $*: $(tail -n 1 <<<"$said")"
}
smoke decode --both --summary "$capture"
smoke run pair --out pair
smoke run incast --out incast
smoke check "$capture"
smoke fuzz parser --cases 200
smoke replay --help
cd - >/dev/null
echo "archive: $target/$name.tar.gz, $(du -h "$target/$name.tar.gz" | cut -f 1)"
