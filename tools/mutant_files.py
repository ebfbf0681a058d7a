"""What several tools read about mutants: the tops that have some, and what is in a folder of netlists."""

import collections
import sys
from pathlib import Path

import units

ROOT = Path(__file__).resolve().parent.parent
WRITERS = {
    "list.tsv": "tools/mutants.py",
    "verdicts.tsv": "xoff-mutants",
    "proofs.tsv": "tools/mutants_prove.py",
}

Mutant = collections.namedtuple("Mutant", "number top broken source")


def mutated():
    """The tops with mutants, by the folders of rtl/ that their modules are in."""
    by_room = {}
    for top in units.tops():
        if top.mutants:
            by_room.setdefault(top.room, []).append(top)
    return by_room


def modules(unit):
    """The modules of the tops in a folder of rtl/, by the names of the tops."""
    return {top.rust: top.module for top in mutated().get(unit, [])}


def check(unit, folder, files):
    """Ends the program if there is no such unit, or if one of the files is not in the folder."""
    tool = Path(sys.argv[0]).stem
    if not modules(unit):
        sys.exit(f"{tool}: no unit '{unit}' with mutants in rtl/units.toml")
    for file in files:
        if not (folder / file).is_file():
            sys.exit(f"{tool}: no {folder / file}; {WRITERS[file]} writes it")


def read_list(folder):
    mutants = {}
    for line in (folder / "list.tsv").read_text().splitlines():
        number, _, top, _, broken, source = line.split("\t")
        mutants[int(number)] = Mutant(int(number), top, broken, source)
    return mutants


def read_verdicts(folder):
    """The numbers of killed mutants and of survivors, seconds, and threads."""
    lines = (folder / "verdicts.tsv").read_text().splitlines()
    seconds, threads = lines[0].split("\t")
    numbers = {"killed": [], "survived": []}
    for line in lines[1:]:
        number, verdict = line.split("\t")
        numbers[verdict].append(int(number))
    return numbers["killed"], numbers["survived"], float(seconds), int(threads)


def read_proofs(folder):
    """For each survivor of the property: whether it is proven to be equivalent, and if not, why."""
    lines = [line.split("\t") for line in (folder / "proofs.tsv").read_text().splitlines()]
    return {int(number): (word == "equivalent", why) for number, word, why in lines}
