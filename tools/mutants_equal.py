"""Says which surviving mutants are equivalent to the original, and how many of the rest were killed.

`mutants_equal.py UNIT FOLDER` reads list.tsv, verdicts.tsv and proofs.tsv in the folder, which tools/mutants.py,
xoff-mutants and tools/mutants_prove.py wrote. A survivor is equivalent if a proof shows it, or if tools/equivalent.txt
has a reason. Exit code 1: less than 95 % of the others were killed, a mutant that has a reason was killed after all, or
a reason belongs to no survivor without a proof. Run it through `make mutants`.
"""

import argparse
import collections
import fnmatch
import itertools
import re
import sys
from pathlib import Path

from mutant_files import ROOT, check, modules, mutated, read_list, read_proofs, read_verdicts

REASONS = ROOT / "tools/equivalent.txt"
LEAST = 95.0

Reason = collections.namedtuple("Reason", "line top broken text why")


def read_reasons():
    """Lines of TOP `BROKEN` `TEXT`: why; tools/equivalent.txt says what they mean."""
    reasons = []
    tops = [top.rust for tops in mutated().values() for top in tops]
    for number, line in enumerate(REASONS.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+) `([^`]+)` `([^`]+)`: (.+)", line)
        if not match:
            sys.exit(f"{REASONS.relative_to(ROOT)}:{number}: '{line}'; expected TOP `BROKEN` `TEXT`: why")
        if match[1] not in tops:
            sys.exit(f"{REASONS.relative_to(ROOT)}:{number}: no top '{match[1]}' with mutants in rtl/units.toml")
        reasons.append(Reason(number, *match.groups()))
    return reasons


def matches(reason, mutant):
    # Brackets are those of a bit, not of a set of characters.
    pattern = reason.broken.replace("[", "[[]")
    if reason.top != mutant.top or not fnmatch.fnmatchcase(mutant.broken, pattern):
        return False
    # Where it is no place in a file, it is that, or the enable of a clock gate.
    if mutant.source == reason.text:
        return True
    return any(reason.text in line for place in mutant.source.split() for line in lines_of(place))


def lines_of(place):
    """The lines of FILE:LINE.COLUMN-LINE.COLUMN; of a block, of which Yosys keeps the first line, all."""
    file, _, numbers = place.partition(":")
    if not numbers:
        return []
    first, last = (int(number.split(".")[0]) for number in (numbers.split("-")[0], numbers.split("-")[-1]))
    text = (ROOT / file).read_text().splitlines()
    lines, behind = text[first - 1 : last], text[last:]
    if lines[-1].endswith("begin"):
        end = re.match(" *", lines[-1])[0] + "end"
        lines += itertools.takewhile(lambda line: not line.startswith(end), behind)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("unit")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    check(arguments.unit, folder, ["list.tsv", "verdicts.tsv", "proofs.tsv"])
    mutants, reasons = read_list(folder), read_reasons()
    killed, survived, seconds, threads = read_verdicts(folder)
    survivors = [mutants[number] for number in survived]
    whole = len(killed) + len(survived) == len(mutants)

    proofs = read_proofs(folder)
    unknown = [number for number in survived if number not in proofs]
    if unknown:
        sys.exit(f"mutants_equal: {folder / 'proofs.tsv'} has nothing about mutant {unknown[0]}; run tools/mutants_prove.py")
    of_unit = [reason for reason in reasons if reason.top in modules(arguments.unit)]
    needed, alive, proven, explained, wrong = set(), [], 0, 0, 0
    for mutant in survivors:
        equal, unproven = proofs[mutant.number]
        where = f"{mutant.number:3} {mutant.top}: {mutant.broken}\n              {mutant.source}"
        reason = next((reason for reason in of_unit if matches(reason, mutant)), None)
        if equal:
            proven += 1
            print(f"equivalent {where}\n              proven")
        elif reason:
            explained += 1
            needed.add(reason)
            print(f"equivalent {where}\n              {reason.why}")
        else:
            alive.append(mutant)
            print(f"survived   {where}" + (f"\n              no proof: {unproven}" if unproven else ""))
    file = REASONS.relative_to(ROOT)
    for number in killed:
        for reason in of_unit:
            if matches(reason, mutants[number]):
                wrong += 1
                print(f"{file}:{reason.line}: mutant {number} is said to be equivalent, and was killed")
    if whole:
        for reason in of_unit:
            if reason not in needed:
                wrong += 1
                print(f"{file}:{reason.line}: no survivor without a proof needs this reason")

    judged = len(killed) + len(alive)
    for top in sorted({mutant.top for mutant in mutants.values()}):
        number = lambda of_verdict: sum(mutant.top == top for mutant in of_verdict)
        dead = number([mutants[number] for number in killed])
        print(f"{top}: {dead} of {dead + number(alive)} killed, {number(survivors) - number(alive)} equivalent")
    share = 100 * len(killed) / max(judged, 1)
    print(
        f"{arguments.unit}: {len(killed)} of {judged} judged mutants killed, {share:.1f} %; {proven + explained} "
        f"equivalent ({proven} proven); judged in {seconds:.0f} s on {threads} threads"
    )
    return 1 if wrong or (whole and share < LEAST) else 0


if __name__ == "__main__":
    sys.exit(main())
