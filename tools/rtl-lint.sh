#!/usr/bin/env bash
# Lints rtl/: Verilator with every warning enabled, top by top (rtl/units.toml); Verible's rules; Verible's format.
# `rtl-lint.sh --fix` formats in place. `rtl-lint.sh MODULE…` has Verilator alone lint the tops of these modules, and
# prints each.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(find rtl -name '*.sv' | sort)

if [ "${1:-}" = --fix ]; then
    .tools/bin/verible-verilog-format --flagfile=rtl/.verible_format --inplace "${files[@]}"
    exit
fi

failed=0
.tools/bin/python tools/units.py lint "$@" | while read -r top parameters; do
    [ $# -eq 0 ] || echo "rtl-lint: $top $parameters"
    overrides=()
    for p in $parameters; do overrides+=("-G$p"); done
    # shellcheck disable=SC2086
    verilator --lint-only -Wall rtl/waivers.vlt -F rtl/rtl.f --top-module "$top" "${overrides[@]}" rtl/*/"$top.sv" || exit 1
done || failed=1
[ $# -eq 0 ] || exit $failed
.tools/bin/verible-verilog-lint --rules_config=rtl/.rules.verible_lint "${files[@]}" || failed=1
.tools/bin/verible-verilog-format --flagfile=rtl/.verible_format --verify --inplace "${files[@]}" ||
    { echo "rtl-lint: format differs; 'tools/rtl-lint.sh --fix' mends it" >&2; failed=1; }
exit $failed
