"""Adds a top to rtl/units.toml by one line, in a copy of the repository, and looks for it in what is made of the list.

The copy is target/one-line/tree, with what git knows and what it would add; nothing else in it is changed. Verilator
lints the top there, `coverage.py` lists the units that it counts, `mutants.py` draws mutants of the unit, and `xoff-cost`
is built, which makes a model of each top to say how large it is. Exit code 1: one of them does not have the top. Run it
with the Python in .tools/, through `make one-line`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target/one-line"
COPY = OUT / "tree"

# At 25 Gb/s a quantum is four cycles. The line comes behind this one.
BEHIND = "PfcRx40"
NAME, UNIT, MODULE, PARAMS = "PfcRx25", "pfc", "pfc_rx", "QuantumNum=4 QuantumDen=1"
LINE = f'    {{ module = "{MODULE}", params = "{PARAMS}", rust = "{NAME}", mutants = true }},\n'


def copy():
    """Makes the copy. Files that are the same keep their times, so that little is built again."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    names = {name for name in names if name and (ROOT / name).is_file()}
    for old in [path for path in COPY.rglob("*") if path.is_file() and not path.is_symlink()]:
        if str(old.relative_to(COPY)) not in names:
            old.unlink()
    for name in names - {"rtl/units.toml"}:
        to = COPY / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists() or to.stat().st_mtime != (ROOT / name).stat().st_mtime:
            shutil.copy2(ROOT / name, to)
    if not (COPY / ".tools").is_symlink():
        (COPY / ".tools").symlink_to(ROOT / ".tools")
    lines = (ROOT / "rtl/units.toml").read_text().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines, 1) if f'rust = "{BEHIND}"' in line)
    text = "".join([*lines[:at], LINE, *lines[at:]])
    to = COPY / "rtl/units.toml"
    if not to.exists() or to.read_text() != text:
        to.write_text(text)


class Failed(Exception):
    """A command failed. What an earlier run has left is not looked at then."""


def run(*command, codes=(0,)):
    """Runs a command in the copy, and returns what it prints."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(OUT / "target")}
    environment.setdefault("VERILATED_STORE", str(ROOT / "target/verilated-store"))
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True)
    if done.returncode not in codes:
        last = (done.stdout + done.stderr).splitlines()[-20:]
        raise Failed("\n".join([*last, f"{' '.join(map(str, command))}: exit code {done.returncode}"]))
    return done.stdout


def lint():
    return run("tools/rtl-lint.sh", MODULE)


def coverage():
    return run(".tools/bin/python", "tools/coverage.py", "--list")


def mutants():
    folder = OUT / "mutants"
    run(".tools/bin/python", "tools/mutants.py", UNIT, folder, "8")
    return (folder / "list.tsv").read_text()


def bench():
    """Builds the type in Rust, and makes a model."""
    run(os.environ.get("CARGO", "cargo"), "build", "--quiet", "--workspace", "--bin", "xoff-cost")
    # Exit code 1: the top has no budget.
    return run(OUT / "target/debug/xoff-cost", "bytes", codes=(0, 1))


# What is looked for in what each prints.
LISTS = {
    lint: rf"rtl-lint: {MODULE} {PARAMS}",
    coverage: rf"{UNIT}: .*\b{NAME}\b.*",
    mutants: rf"\d+\t{UNIT}\t{NAME}\t.+",
    bench: rf"{NAME}: (code|state) +[1-9].*",
}


def main():
    copy()
    print(f"one-line: added to rtl/units.toml:\n{LINE.rstrip()}", flush=True)
    missing = []
    for look, wanted in LISTS.items():
        try:
            found = [line for line in look().splitlines() if re.fullmatch(wanted, line)]
        except Failed as what:
            print(what)
            found = []
        for line in found:
            print(f"{look.__name__:9} {line}", flush=True)
        if not found:
            print(f"{look.__name__:9} {NAME} IS MISSING", flush=True)
            missing.append(look.__name__)
    if missing:
        sys.exit(f"one-line: {NAME} is missing in {', '.join(missing)}")
    print(f"one-line: {NAME} is in {', '.join(look.__name__ for look in LISTS)}")


main()
