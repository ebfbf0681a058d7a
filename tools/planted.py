#!/usr/bin/env python3
"""Plants bugs, lets `xoff fuzz` find them, and checks that `xoff replay` shows where each begins.

`planted.py [--seed N] [--time 300s] [NAME…]` takes the patches tools/planted/NAME.patch (default: all). A patch breaks
a module of rtl/. Its first lines say what it breaks, which unit of `xoff fuzz` should find it, and which of its tops
(rtl/units.toml), by their modules, get the broken one. The models of the other tops stay as they are and are not
compiled again. Patches that different properties find are built together.

For each bug, `xoff fuzz` runs on a seed from the clock until it finds a difference, and `xoff replay` runs the shrunk
case. Then the case is run once more by the broken and by the sound build, with waves of the whole case, and the values
of the outputs before each clock edge are compared. The first one that is different has to be in the waves that
`xoff replay` wrote, at their marker or before it.

A row says how long the search took, shrinking included, how many histories it ran, how large the case is, how long the
replay took, and the number of clock cycles from the first wrong output to the marker. Everything is written to
target/planted/NAME/. Exit code 1: a bug was not found, or not shown.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import units

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target/planted"
PATCHES = ROOT / "tools/planted"
HEAD = re.compile(r"breaks: (?P<breaks>.+)\nunit: (?P<unit>\w+)\ntops: (?P<tops>[\w ]+)\n\n--- a/")
COLUMNS = ["planted in", "found in", "histories", "case", "replay", "wrong before marker"]


class Bug:
    def __init__(self, path):
        self.name, self.path, text = path.stem, path, path.read_text()
        head = HEAD.match(text)
        if not head:
            expected = "the lines 'breaks: …', 'unit: …', 'tops: …', an empty one, then a diff"
            sys.exit(f"{path.relative_to(ROOT)}: expected {expected}")
        self.breaks, self.unit, self.tops = head["breaks"], head["unit"], []
        for module in head["tops"].split():
            tops = [top.rust for top in units.tops() if (top.unit, top.module) == (self.unit, module) and top.rust]
            if not tops:
                sys.exit(f"{path.relative_to(ROOT)}: no top '{module}' of the unit {self.unit} in rtl/units.toml")
            self.tops += tops
        self.files = re.findall(r"^\+\+\+ b/(\S+)$", text, re.MULTILINE)
        self.folder = OUT / self.name


def bugs(names):
    paths = {path.stem: path for path in sorted(PATCHES.glob("*.patch"))}
    unknown = [name for name in names if name not in paths]
    if unknown:
        sys.exit(f"planted: no bug '{unknown[0]}'; the bugs are {', '.join(paths)}")
    return [Bug(paths[name]) for name in names or paths]


def meet(one, other):
    """Whether the property of a unit would meet both bugs: that of the builder has its frames parsed."""
    return one.unit == other.unit or {one.unit, other.unit} == {"builder", "parser"}


def rounds(all_bugs):
    """Bugs that can be built together: no property meets two of them."""
    together = []
    for bug in all_bugs:
        fits = (group for group in together if not any(meet(bug, other) for other in group))
        group = next(fits, None)
        if group is None:
            together.append(group := [])
        group.append(bug)
    return together


def plant(group, folder):
    """Writes the broken modules of each top to the folder with its name."""
    shutil.rmtree(folder, ignore_errors=True)
    for bug in group:
        scratch = bug.folder / "rtl"
        shutil.rmtree(scratch, ignore_errors=True)
        for file in bug.files:
            (scratch / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, scratch / file)
        # Outside of a repository, where git applies patches to the files of the folder.
        done = subprocess.run(
            ["git", "apply", "-p1", str(bug.path)],
            cwd=scratch,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(bug.folder)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{bug.path.relative_to(ROOT)}: does not apply to rtl/ as it is now\n{done.stderr.rstrip()}")
        for top in bug.tops:
            (folder / top).mkdir(parents=True, exist_ok=True)
            for file in bug.files:
                shutil.copy(scratch / file, folder / top)


def build(place, modules=None):
    """Builds xoff-verify, with broken modules or without, and returns a copy of it."""
    command = ["cargo", "build", "--quiet", "--bin", "xoff-verify"]
    command += ["--message-format", "json-render-diagnostics"]
    environment = {**os.environ, "XOFF_PLANTED": str(modules)} if modules else os.environ
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("planted: xoff-verify was not built")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    program = next(message["executable"] for message in messages if message.get("executable"))
    place.mkdir(parents=True, exist_ok=True)
    copy = place / "xoff-verify"
    copy.unlink(missing_ok=True)
    shutil.copy2(program, copy)
    if modules:
        # Nobody should find a broken program where Cargo leaves those that are whole. The next build puts one there.
        Path(program).unlink()
    return copy


def xoff(program, *arguments):
    began = time.monotonic()
    done = subprocess.run([program, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    return done, time.monotonic() - began


def last_lines(done):
    return "\n".join((done.stdout + done.stderr).splitlines()[-8:])


class Missed(Exception):
    """A bug was not found, or not shown."""


def outputs(program, file):
    """The values of a top's outputs before each rising edge of its clock: time in ps, then value by name."""
    # The outermost scope is the instance's name; behind a hyphen in the file's name is a number.
    top = file.stem.split("-")[0]
    ask = ["wave", file, "--signals", f"{top}.*_o", "--at", f"{top}.clk_i", "--format", "json"]
    done, _ = xoff(program, *ask)
    if done.returncode:
        raise Missed(f"xoff wave {file}: {last_lines(done)}")
    is_port = lambda name: name.count(".") == 1
    return {row.pop("time_ps"): {name: row[name] for name in row if is_port(name)} for row in json.loads(done.stdout)}


def first_wrong(sound, broken, files):
    """The first clock edge before which an output is different: its time, the file, the output, both values."""
    found = []
    for name in files:
        whole, right = (folder / name for folder in (broken[1], sound[1]))
        if not right.exists():
            continue
        rows, expected = outputs(broken[0], whole), outputs(sound[0], right)
        # Registers without a reset start with values that are random in each build: an output is compared from the
        # first edge on at which both are equal.
        known = set()
        # A model that is idle is not evaluated, so the edges are not the same.
        for at in sorted(rows.keys() & expected.keys()):
            differ = {name for name, value in rows[at].items() if value != expected[at].get(name)}
            wrong = sorted(differ & known)
            known |= rows[at].keys() - differ
            if wrong:
                found.append((at, name, wrong[0], rows[at][wrong[0]], expected[at].get(wrong[0])))
                break
    return min(found, default=None)


def marker(layout):
    """The time of the primary marker of a GTKWave layout in ps."""
    line = next(line for line in layout.read_text().splitlines() if line.startswith("*"))
    return int(line.split()[1])


def judge(bug, program, sound, seed, limit):
    """Lets fuzz find a bug, and replay show it. Returns the cells of its row, and what was wrong first."""
    cases = bug.folder / "cases"
    shutil.rmtree(cases, ignore_errors=True)
    done, seconds = xoff(program, "fuzz", bug.unit, "--seed", seed, "--time", limit, "--cases", cases)
    kept = re.search(r"^kept; again: xoff replay (\S+)$", done.stdout, re.MULTILINE)
    if done.returncode != 1 or not kept:
        command = f"xoff fuzz {bug.unit} --seed {seed} --time {limit}"
        raise Missed(f"{command} does not find it\n{last_lines(done)}")
    histories = re.search(r": (\d+) cases,", done.stdout).group(1)
    case = Path(kept.group(1))
    # Behind the first line, which names the unit, is what was wrong, and what the case is.
    lines = case.read_text().splitlines()[1:]
    events = [line for line in lines if not line.startswith("#")]
    size = f"{sum(not line.startswith('bench ') for line in events)} events, {sum(map(len, events))} characters"

    shown, replayed = xoff(program, "replay", case, "--out", bug.folder)
    folder = bug.folder / "replay" / case.stem
    waves = sorted(folder.glob("*.fst"))
    if shown.returncode != 1 or not waves:
        raise Missed(f"xoff replay {case} leaves no waves\n{last_lines(shown)}")
    marked = marker(waves[0].with_suffix(".gtkw"))

    wholes = []
    for build, name, expected in (sound, "sound", 0), (program, "broken", 1):
        again, _ = xoff(build, "replay", case, "--whole", "--out", bug.folder / name)
        if again.returncode != expected:
            raise Missed(f"{case}: the {name} build ends with exit code {again.returncode}\n{last_lines(again)}")
        wholes.append((build, bug.folder / name / "replay" / case.stem))
    first = first_wrong(*wholes, sorted(path.name for path in wholes[1][1].glob("*.fst")))
    if first is None:
        raise Missed(f"{case}: no output of the broken build is different")
    at, file, output, is_value, right = first
    edges = [edge for wave in waves for edge in outputs(program, wave)]
    if not min(edges) <= at <= max(edges):
        window = f"{min(edges)} to {max(edges)} ps"
        raise Missed(f"{case}: {output} is wrong first at {at} ps, and the waves are from {window}")
    # The marker is at the beginning of a cycle; its clock edge comes later.
    edges = sorted(outputs(program, wholes[1][1] / file))
    marked_edge = min((edge for edge in edges if edge >= marked), default=edges[-1])
    cycles = round((marked_edge - at) / min(later - edge for edge, later in zip(edges, edges[1:])))
    if cycles < 0:
        raise Missed(f"{case}: {output} is wrong first at {at} ps, behind the marker at {marked} ps")
    wrong = f"{at / 1000:.2f} ns: {output} is {is_value}, right is {right}; marker at {marked / 1000:.2f} ns"
    return [f"{seconds:.1f} s", histories, size, f"{replayed:.2f} s", f"{cycles} cycles"], wrong, case, lines


def main():
    parser = argparse.ArgumentParser(description="Plants bugs, which xoff fuzz has to find and xoff replay has to show.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a patch in tools/planted/ [default: all]")
    seed = int(time.time())
    parser.add_argument("--seed", type=int, default=seed, help="seed of the histories [default: the clock]")
    parser.add_argument("--time", default="300s", help="how long to look for each bug [default: 300s]")
    arguments = parser.parse_args()
    wanted = bugs(arguments.names)
    print(f"seed {arguments.seed}", flush=True)
    sound = build(OUT / "sound")
    missed = []
    for number, group in enumerate(rounds(wanted), 1):
        modules = OUT / f"modules-{number}"
        plant(group, modules)
        program = build(OUT / f"round-{number}", modules)
        for bug in group:
            print(f"\n{bug.name}: {bug.breaks}", flush=True)
            try:
                cells, wrong, case, lines = judge(bug, program, sound, arguments.seed, arguments.time)
            except Missed as why:
                missed.append(bug.name)
                print(f"  MISSED: {why}", flush=True)
                continue
            print(f"  {case.relative_to(ROOT) if case.is_absolute() else case}")
            for line in lines:
                print(f"    {line[:150]}{'…' if len(line) > 150 else ''}")
            print(f"  {wrong}")
            print("  " + "; ".join(f"{name} {cell}" for name, cell in zip(COLUMNS[1:], cells)), flush=True)
    rest = f"; missed: {', '.join(missed)}" if missed else ""
    print(f"\n{len(wanted) - len(missed)} of {len(wanted)} found and shown{rest}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
