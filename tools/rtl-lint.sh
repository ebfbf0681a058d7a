#!/usr/bin/env bash
# Lints rtl/: Verilator with every warning enabled, top by top; Verible's rules; Verible's format.
# `rtl-lint.sh --fix` formats in place.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(find rtl -name '*.sv' | sort)

if [ "${1:-}" = --fix ]; then
    .tools/bin/verible-verilog-format --flagfile=rtl/.verible_format --inplace "${files[@]}"
    exit
fi

failed=0
grep -hv '^#' tools/tops.txt tools/lint-tops.txt | while read -r top parameters; do
    overrides=()
    for p in $parameters; do overrides+=("-G$p"); done
    # shellcheck disable=SC2086
    verilator --lint-only -Wall rtl/waivers.vlt -F rtl/rtl.f --top-module "$top" "${overrides[@]}" rtl/*/"$top.sv" || exit 1
done || failed=1
.tools/bin/verible-verilog-lint --rules_config=rtl/.rules.verible_lint "${files[@]}" || failed=1
.tools/bin/verible-verilog-format --flagfile=rtl/.verible_format --verify --inplace "${files[@]}" ||
    { echo "rtl-lint: format differs; 'tools/rtl-lint.sh --fix' mends it" >&2; failed=1; }
exit $failed
