#!/usr/bin/env python3
"""Compares two readers of a file of waves, which have no code in common: that of `xoff wave` and GTKWave's.

`waves.py COMMAND…`, the command that starts `xoff`, runs a short scenario with waves of the whole NIC, and compares the
lists of signals and the values of each before each clock edge. Exit code 1: they differ.
"""

import csv
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pylibfst import ffi, get_scopes_signals2, lib

HOST, FROM_NS, UNTIL_NS = "a", 5_000, 5_200


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"waves: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def by_gtkwave(path, clock):
    """The values of all signals before each rising edge: a dictionary for each time in ps, by all names of a signal."""
    file = lib.fstReaderOpen(str(path).encode())
    if file == ffi.NULL:
        sys.exit(f"waves: GTKWave's reader does not open {path}")
    names = {}
    for name, signal in get_scopes_signals2(file)[1].by_name.items():
        # A range behind a name says how many bits it has.
        names.setdefault(signal.handle, []).append(re.sub(r" \[-?\d+(:-?\d+)?\]$", "", name))
    clock_handle = next(handle for handle, of in names.items() if clock in of)
    changes = {}

    @ffi.callback("void(void*, uint64_t, fstHandle, const unsigned char*)")
    def changed(_, at, handle, value):
        changes.setdefault(at, {})[handle] = ffi.string(value).decode()

    lib.fstReaderSetFacProcessMaskAll(file)
    lib.fstReaderIterBlocks(file, changed, ffi.NULL, ffi.NULL)
    scale = 10 ** (12 + lib.fstReaderGetTimescale(file))
    rows, now = {}, {}
    for at in sorted(changes):
        if changes[at].get(clock_handle) == "1" and now.get(clock_handle) == "0":
            rows[at * scale] = {tuple(of): now[handle] for handle, of in names.items()}
        now |= changes[at]
    lib.fstReaderClose(file)
    return rows


def by_xoff(program, path, clock):
    """The same, by `xoff wave`, which shows a signal once, by one of its names."""
    text = run(*program, "wave", path, "--signals", "*", "--at", clock, "--radix", "bin", "--format", "csv")
    csv.field_size_limit(1 << 30)
    rows = csv.DictReader(io.StringIO(text))
    return {round(float(row.pop("time_ns")) * 1_000): row for row in rows}


def main():
    program = sys.argv[1:] or sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        window = f"{HOST}:{FROM_NS}ns-{UNTIL_NS}ns"
        settings = ["--set", 'duration="60 us"', "--set", 'measure_from="20 us"']
        run(*program, "run", "pair", *settings, "--waves", window, "--out", folder)
        # Beside the waves of the host are those of the network.
        path, = (path for path in Path(folder).rglob("*.fst") if path.name != "fabric.fst")
        theirs = by_gtkwave(path, f"{HOST}.clk_i")
        ours = by_xoff(program, str(path), f"{HOST}.clk_i")
    if list(theirs) != list(ours):
        sys.exit(f"waves: other clock edges: {list(theirs)} and {list(ours)}")
    compared, enums = 0, {}
    for at, row in theirs.items():
        shown_once = [[name for name in names if name in ours[at]] for names in row]
        if len(row) != len(ours[at]) or any(len(shown) != 1 for shown in shown_once):
            wrong = [names[0] for names, shown in zip(row, shown_once) if len(shown) != 1]
            sys.exit(f"waves: {len(row)} and {len(ours[at])} signals; not shown once: {wrong[:5]}")
        for (name,), value in zip(shown_once, row.values()):
            # `xoff wave` shows names of enums, each of which stands for one value.
            shown = ours[at][name].removeprefix("0b")
            is_name = not set(shown) <= set("01")
            if value != (enums.setdefault((name, shown), value) if is_name else shown):
                sys.exit(f"waves: {name} before {at} ps: {value} and {shown}")
            compared += 1
    if len(theirs) < 30 or compared < 10_000 * len(theirs):
        sys.exit(f"waves: only {compared} values at {len(theirs)} clock edges")
    print(f"waves: two readers agree on {compared // len(theirs)} signals at {len(theirs)} clock edges")


main()
