#!/usr/bin/env python3
"""make build-cost: processor seconds and peak memory of the build of `make demo`, or with OF=test of that of `make
test`, from nothing, by crate and tool.

The build runs in a temporary folder with an empty store of models; the sources of crates are fetched before. The
programs that it calls (rustc, g++, verilator) are wrapped by this script, which notes what each call took: the sum of
user and system time of the process and of all its children, and the largest resident set among them.
"""

import collections
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

NOTES = "XOFF_BUILD_COST_NOTES"
BUILDS = {
    "demo": ["build", "--release", "--quiet", "--bin", "xoff"],
    "test": ["test", "--workspace", "--no-run", "--quiet"],
}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def label(tool, arguments):
    """What a call works on: a crate, a model or a top."""
    if tool == "rustc":
        package = os.environ.get("CARGO_PKG_NAME", "probes")
        script = "build_script_build" in arguments
        return package + (" (build script)" if script else "")
    text = " ".join(arguments)
    if tool == "verilator":
        found = re.search(r"--prefix V\w+?_rtl_(?:units_)?(\w+)", text) or re.search(r"--top-module (\w+)", text)
        return found.group(1) if found else "version"
    found = re.search(r"/verilated/(\w+?)/", text)
    if found:
        waves = re.search(r"apart(_seldom)?\.cpp", text)
        return found.group(1) + (" with waves" if waves else "")
    return os.environ.get("CARGO_PKG_NAME", "probes")


def wrap(tool, program, arguments):
    """Runs a program, notes what it took, and ends as it ended."""
    # Open files stay open: through them Cargo tells how many processes may run.
    code = subprocess.call([program, *arguments], close_fds=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # One write of one short line: lines of processes that end at the same time do not mix.
    with open(os.environ[NOTES], "a", encoding="utf-8") as notes:
        seconds = used.ru_utime + used.ru_stime
        notes.write(f"{tool}\t{label(tool, arguments)}\t{seconds:.3f}\t{used.ru_maxrss}\n")
    return code


def found(name, default):
    """The full path of a program."""
    program = os.environ.get(name, default)
    path = subprocess.run(["which", program], capture_output=True, text=True, check=False).stdout.strip()
    if not path:
        sys.exit(f"build-cost: {program} is not installed; `make demo` installs it")
    return path


def measure(folder, build):
    """Builds as `make demo` or `make test` does, and returns the notes with the wall-clock time."""
    notes = os.path.join(folder, "notes")
    environment = dict(os.environ, CARGO_TARGET_DIR=os.path.join(folder, "target"), CARGO_INCREMENTAL="0")
    environment[NOTES] = notes
    for variable in ("VERILATED_STORE", "RUSTC_WRAPPER"):
        environment.pop(variable, None)
    programs = {"rustc": None, "g++": found("CXX", "g++"), "verilator": found("VERILATOR", "verilator")}
    for tool, program in programs.items():
        path = os.path.join(folder, tool)
        # As a wrapper of rustc, it gets the path of rustc as its first argument.
        call = f'"{program}" ' if program else ""
        with open(path, "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" --wrap {tool} {call}"$@"\n')
        os.chmod(path, 0o755)
    environment["RUSTC_WRAPPER"] = os.path.join(folder, "rustc")
    environment["CXX"] = os.path.join(folder, "g++")
    environment["VERILATOR"] = os.path.join(folder, "verilator")
    subprocess.run(["cargo", "fetch", "--quiet"], cwd=ROOT, check=True)
    start = time.monotonic()
    subprocess.run(["cargo", *BUILDS[build]], cwd=ROOT, env=environment, check=True)
    wall = time.monotonic() - start
    with open(notes, encoding="utf-8") as lines:
        return wall, [line.rstrip("\n").split("\t") for line in lines]


def table(wall, rows):
    """Prints the totals of tools, then the crates and models that take most."""
    tools = collections.defaultdict(lambda: [0.0, 0])
    parts = collections.defaultdict(lambda: [0.0, 0])
    for tool, part, seconds, kilobytes in rows:
        for key, sums in ((tool, tools), (f"{tool} {part}", parts)):
            sums[key][0] += float(seconds)
            sums[key][1] = max(sums[key][1], int(kilobytes))
    total = sum(seconds for seconds, _ in tools.values())
    print(f"{'':<44} {'CPU s':>8} {'share':>7} {'peak MB':>8}")
    shown = 0.01 * total
    for sums in (tools, {key: value for key, value in parts.items() if value[0] >= shown}):
        for key, (seconds, kilobytes) in sorted(sums.items(), key=lambda item: -item[1][0]):
            print(f"{key:<44} {seconds:>8.1f} {100 * seconds / total:>6.1f}% {kilobytes / 1024:>8.0f}")
        print()
    print(f"{'all':<44} {total:>8.1f} {'':>7} {max(peak for _, peak in tools.values()) / 1024:>8.0f}")
    print(f"wall-clock time: {wall:.0f} s on {os.cpu_count()} processors")


def main():
    if sys.argv[1:2] == ["--wrap"]:
        tool, program, *arguments = sys.argv[2:]
        sys.exit(wrap(tool, program, arguments))
    [build] = sys.argv[1:] or ["demo"]
    if build not in BUILDS:
        sys.exit(f"build-cost: {build}: expected {' or '.join(BUILDS)}")
    with tempfile.TemporaryDirectory(prefix="xoff-build-cost-") as folder:
        table(*measure(folder, build))


if __name__ == "__main__":
    main()
