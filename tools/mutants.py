"""Breaks a unit in many small ways: writes netlists of its tops in which a number selects the active mutation.

`mutants.py UNIT FOLDER [COUNT [SEED]]` takes the tops with mutants whose modules are in rtl/UNIT (rtl/units.toml) and
writes FOLDER/NAME.v for each: the top after Yosys has read it, with the same ports, its share of the mutations, and an
instance of mutant_select that selects the active one. What is in the room of another unit is not mutated: that unit's
property judges it.

To these come, for each clock gate, one mutation per term of its enable: the enable without the term. With these, and
without any mutation, the netlist is wrong (gate_watch) as soon as a gate rests in a cycle in which something behind it
would change, so that it does not take an output that differs to find such a term.

FOLDER/list.tsv has one line per mutation: number, property that judges it, top, what kills it (a `run` with it that
fails, or one of the original that comes to `reach` it), what is broken, source location. The same COUNT (default 200)
and SEED (default 1) give the same mutants. Run it with the Python in .tools/, through `make mutants`.
"""

import subprocess
import sys
from pathlib import Path

from mutant_files import mutated

ROOT = Path(__file__).resolve().parent.parent

MODES = {
    "inv": "inverted",
    "const0": "stuck at 0",
    "const1": "stuck at 1",
    "cnot0": "inverted while its bit {} is 0",
    "cnot1": "inverted while its bit {} is 1",
}


def in_words(kind, options):
    """Describes what a mutation breaks, and where it is in the source: files with lines and columns."""
    words = options.split()
    value = {}
    for name, argument in zip(words[::2], words[1::2]):
        value.setdefault(name, []).append(argument)
    one = lambda name: value[name][0]
    place = f"{kind} {one('-port')}[{one('-portbit')}]"
    if "-wire" in value:
        place += f" ({one('-wire')}[{one('-wirebit')}])"
    broken = MODES[one("-mode")].format(value.get("-ctrlbit", [""])[0])
    return f"{place} {broken}", " ".join(value.get("-src", ["no source"]))


def netlist(folder, top, first, count, seed, rooms):
    file = folder / f"{top.rust}.v"
    others = ",".join(other for other in rooms if other != top.room)
    arguments = [top.module, top.source, file, first, count, seed, others, *top.words]
    run = subprocess.run(
        [sys.executable, ROOT / "tools/mutate_netlist.py", *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True,
    )
    if run.returncode != 0:
        sys.exit("\n".join([f"mutants: {top.rust}", *(run.stdout + run.stderr).splitlines()[-20:]]))
    Path(f"{file}.list").unlink()
    # Nobody looks at waves of mutants, and the code that traces a netlist takes longest to compile.
    select = (ROOT / "tools/mutant_select.v").read_text()
    file.write_text("/* verilator tracing_off */\n" + file.read_text() + select)
    for line in run.stdout.splitlines():
        if line.startswith("mutant\t"):
            _, number, kind, options = line.split("\t")
            yield "\t".join([number, top.unit, top.rust, "run", *in_words(kind, options)])
        elif line.startswith("enable\t"):
            _, number, term, place = line.split("\t")
            broken = f"enable of a clock gate without {term}"
            yield "\t".join([number, top.unit, top.rust, "reach", broken, place])


def main():
    by_room = mutated()
    if len(sys.argv) < 3 or sys.argv[1] not in by_room:
        asked = sys.argv[1] if len(sys.argv) > 1 else ""
        sys.exit(f"mutants: no unit '{asked}'; make mutants UNIT={'|'.join(by_room)}")
    tops = by_room[sys.argv[1]]
    folder = Path(sys.argv[2]).resolve()
    count, seed = (int(argument) for argument in (sys.argv[3:] + ["200", "1"][len(sys.argv) - 3 :])[:2])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.v"):
        old.unlink()
    lines = []
    for i, top in enumerate(tops):
        share = count * (i + 1) // len(tops) - count * i // len(tops)
        lines += netlist(folder, top, len(lines) + 1, share, seed, by_room)
    (folder / "list.tsv").write_text("".join(line + "\n" for line in lines))


main()
