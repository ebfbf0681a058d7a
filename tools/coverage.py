"""Runs the properties of units on models that count, and shows which lines and toggles of the RTL they reach.

`coverage.py [UNIT…]` (default: all that rtl/units.toml does not exclude) builds `xoff-verify` with the feature
`coverage`, runs its `fuzz UNIT` with the seed and the number of cases of `make test`, and adds up the counts of the
unit's tops, of all instances, parameters and threads: a point of the source is reached if it is reached anywhere. A top
that runs in no case is an error. It prints a line per unit and writes target/coverage/UNIT.html, the source with marks
(by `verilator_coverage --annotate`) under the list of what is not reached. `coverage.py --list` prints the units with
their tops instead.

`line` are Verilator's points for blocks and branches, `toggle` those for the two directions of a bit of a signal: it has
changed and changed back within one instance. Verilator counts no toggles of signals wider than 256 bits.
tools/unreached.txt says of points why nothing reaches them; a reason that no point needs is an error. Exit code 1: a
unit reaches less than 95 % of its points, those with a reason aside.
"""

import collections
import fnmatch
import functools
import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import units

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target/coverage"
REASONS = ROOT / "tools/unreached.txt"
# The units with tops that count, by name.
COVERED = {unit.name: unit for unit in units.units() if unit.covered}
SEED = 1
LEAST = 95.0

Point = collections.namedtuple("Point", "file line kind what")

STYLE = """:root{color-scheme:light dark;--ink:#1b1f24;--back:#fff;--line:#d0d7de;--no:#f9d6d2;--some:#fbf0cf}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--back:#0d1117;--line:#30363d;--no:#4a1a16;--some:#3d3212}}
body{font:16px/1.5 system-ui,sans-serif;max-width:1200px;margin:24px auto;padding:0 16px;color:var(--ink);background:var(--back)}
table{border-collapse:collapse;font-size:14px}
td,th{text-align:left;padding:3px 14px 3px 0;border-bottom:1px solid var(--line);vertical-align:top}
pre{font:13px/1.45 ui-monospace,monospace;white-space:pre;overflow-x:auto}.no{background:var(--no)}
.some{background:var(--some)}td.number{text-align:right}summary{cursor:pointer;font-weight:600;margin:8px 0}"""


def points(files):
    """Adds up the counts of files in Verilator's format: `C '\\x01key\\x02value…' count`."""
    counts = collections.Counter()
    for file in files:
        for line in file.read_text(errors="replace").splitlines():
            if not line.startswith("C '"):
                continue
            keys, count = line[3:].rsplit("' ", 1)
            value = dict(part.split("\x02", 1) for part in keys.split("\x01") if "\x02" in part)
            # The page is v_line/…, v_branch/…, v_toggle/… or v_user/… (assertions, which are no code to reach).
            kind = value.get("page", "").split("/")[0]
            if kind in ("v_line", "v_branch", "v_toggle"):
                kind = "toggle" if kind == "v_toggle" else "line"
                place = f"{value.get('n', '')} {value['o']}" if kind == "line" else value["o"]
                counts[Point(value["f"], int(value["l"]), kind, place)] += int(count)
    return counts


def read_reasons():
    """Lines of `UNIT FILE KIND PATTERN: why`; tools/unreached.txt says what they mean."""
    reasons = []
    for number, line in enumerate(REASONS.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+) (\S+) (toggle|function|line) `([^`]+)`: (.+)", line)
        if not match:
            expected = "UNIT FILE toggle|function|line `PATTERN`: why"
            sys.exit(f"{REASONS.relative_to(ROOT)}:{number}: '{line}'; expected {expected}")
        if match[1] not in ("*", *COVERED):
            sys.exit(f"{REASONS.relative_to(ROOT)}:{number}: no unit '{match[1]}'; the units are {', '.join(COVERED)}")
        reasons.append((number, *match.groups()))
    return reasons


@functools.cache
def source(file):
    """The lines of a file, and for each the function that it is in, or an empty name."""
    lines, functions, inside = (ROOT / file).read_text().splitlines(), [], ""
    for line in lines:
        begins = re.match(r"\s*function\s.*?(\w+)\s*\(", line)
        inside = begins.group(1) if begins else inside
        functions.append(inside)
        inside = "" if re.match(r"\s*endfunction\b", line) else inside
    return lines, functions


def matches(reason, unit, point):
    _, of_unit, file, kind, pattern, _ = reason
    if of_unit not in (unit, "*") or not fnmatch.fnmatchcase(point.file, file):
        return False
    if kind == "toggle":
        # Brackets are those of a bit, not of a set of characters.
        return point.kind == "toggle" and fnmatch.fnmatchcase(point.what, pattern.replace("[", "[[]"))
    lines, functions = source(point.file)
    if kind == "function":
        function = functions[point.line - 1]
        return point.kind == "line" and function != "" and fnmatch.fnmatchcase(function, pattern)
    return point.kind == "line" and pattern in lines[point.line - 1]


def counted(unit):
    """The files of counts of a unit's tops. There may be some of other units too, which its property also runs."""
    files = []
    for top in COVERED[unit].covered:
        of_top = sorted((OUT / unit).glob(f"{top}-*.dat"))
        if not of_top:
            sys.exit(f"coverage: {unit}: {top} is one of its tops in rtl/units.toml, and its property does not run it")
        files += of_top
    return files


def run(unit):
    folder = OUT / unit
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # A folder for failing cases of its own: kept cases of the sources run elsewhere.
    command = ["cargo", "run", "--quiet", "-p", "xoff-verify", "--features", "coverage", "--", "fuzz", unit]
    command += ["--seed", str(SEED), "--count", str(COVERED[unit].cases), "--cases", str(folder / "cases")]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "VERILATED_COVERAGE": str(folder)})
    if done.returncode:
        sys.exit(f"coverage: {unit}: its properties do not hold on the models that count")
    return counted(unit)


def page(unit, files, counts, why):
    """The source with marks, and above it what is not reached."""
    annotated = OUT / unit / "source"
    annotated.mkdir()
    command = ["verilator_coverage", "--annotate", str(annotated), "--annotate-min", "1", "--annotate-all"]
    subprocess.run(command + [str(file) for file in files], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    parts = [f"<!DOCTYPE html><meta charset=utf-8><title>{unit}</title><style>{STYLE}</style><h1>{unit}</h1>"]
    by_file = collections.defaultdict(list)
    for point in counts:
        by_file[point.file].append(point)
    for file in sorted(by_file):
        reached = sum(counts[point] > 0 for point in by_file[file])
        missing = sorted(point for point in by_file[file] if counts[point] == 0)
        parts.append(f"<h2>{html.escape(file)}</h2><p>{reached} of {len(by_file[file])} points</p>")
        if missing:
            parts.append("<table><tr><th>line<th>kind<th>point<th>why")
            for point in missing:
                cells = [str(point.line), point.kind, point.what, why.get(point, "")]
                parts.append("<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in cells))
            parts.append("</table>")
        source = annotated / Path(file).name
        if source.exists():
            parts.append("<details><summary>source: count of the point reached least on a line</summary><pre>")
            for line in source.read_text().splitlines():
                mark = {"%": "no", "~": "some"}.get(line[:1])
                text = html.escape(line)
                parts.append(f'<span class="{mark}">{text}</span>' if mark else text)
            parts.append("</pre></details>")
    (OUT / f"{unit}.html").write_text("\n".join(parts))


def main():
    if sys.argv[1:] == ["--list"]:
        for unit in COVERED.values():
            print(f"{unit.name}: {', '.join(unit.covered)}; {unit.cases} cases")
        return 0
    wanted = sys.argv[1:] or list(COVERED)
    for unit in wanted:
        if unit not in COVERED:
            sys.exit(f"coverage: no unit '{unit}'; the units are {', '.join(COVERED)}")
    reasons = read_reasons()
    rows, short = [], []
    for unit in wanted:
        files = run(unit)
        counts = points(files)
        missing = [point for point in counts if counts[point] == 0]
        why = {}
        for point in missing:
            for reason in reasons:
                if matches(reason, unit, point):
                    why[point] = reason[5]
                    break
        for reason in reasons:
            if reason[1] == unit and not any(matches(reason, unit, point) for point in missing):
                place = f"{REASONS.relative_to(ROOT)}:{reason[0]}"
                sys.exit(f"{place}: every point that this describes is reached, or none exists")
        page(unit, files, counts, why)
        share = {}
        for kind in ("line", "toggle"):
            of_kind = [point for point in counts if point.kind == kind]
            reached = sum(counts[point] > 0 for point in of_kind)
            share[kind] = f"{reached} of {len(of_kind)}, {100 * reached / max(len(of_kind), 1):.1f} %"
        unexplained = [point for point in missing if point not in why]
        rest = 100 * (1 - len(unexplained) / max(len(counts) - len(why), 1))
        rows.append((unit, share["line"], share["toggle"], str(len(why)), str(len(unexplained)), f"{rest:.1f} %"))
        if rest < LEAST:
            short.append(unit)
        files_short = collections.Counter((point.file, point.kind) for point in unexplained)
        for (file, kind), number in sorted(files_short.items()):
            print(f"  {unit}: {file}: {number} {kind} points without a reason")
    head = ("unit", "line", "toggle", "with a reason", "without", "reached of the rest")
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    print(f"pages: {OUT.relative_to(ROOT)}/UNIT.html")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
