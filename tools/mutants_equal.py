"""Says which surviving mutants are equivalent to the original, and how many of the rest were killed.

`mutants_equal.py UNIT FOLDER [--seconds S]` reads list.tsv and verdicts.tsv in the folder, which tools/mutants.py and
xoff-mutants wrote, and the netlists that were judged. A survivor is equivalent if a proof shows it, or if
tools/equivalent.txt has a reason. Exit code 1: less than 95 % of the others were killed, a mutant that has a reason was
killed after all, or a reason belongs to no survivor. Run it with the Python in .tools/, through `make mutants`.

The proof is an induction over two copies of the netlist that get the same inputs, one with the mutation. They start in
the same state. The set of register bits that are the same in both begins with all of them; a step that makes some of
them differ takes these out, and the induction begins again. The mutant is equivalent if in the end no step makes an
output differ. RAMs must stay the same as a whole. What is equivalent only by what the inputs or the reachable states
are cannot be shown like this, and needs a reason. So does what survives in a netlist with gated clocks, since a step of
the induction is a cycle of one clock.
"""

import argparse
import collections
import fnmatch
import os
import re
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
REASONS = ROOT / "tools/equivalent.txt"
LEAST = 95.0

# One process per netlist, because Yosys keeps its state in globals. The module becomes `top`, the number of the mutation
# an input, and every register a wire of its own. Yosys cannot read the module that takes the number from a plusarg.
WORKER = r"""
import sys
from pathlib import Path
from pyosys import libyosys as ys

netlist, module, out = sys.argv[1:]
design = ys.Design()
ident = lambda name: ys.IdString("\\" + name)
alone = Path(out).with_suffix(".alone.v")
alone.write_text(Path(netlist).read_text().partition("module mutant_select")[0])
ys.run_pass(f"read_verilog -sv {alone}", design)
alone.unlink()
top = design.module(ident(module))
top.remove(top.cell(ident("u_mutant_select")))
top.wire(ident("mutsel")).port_input = True
top.fixup_ports()
steps = ["proc", "opt_clean", "memory_collect", "bwmuxmap", "bmuxmap", "demuxmap", "async2sync", "dffunmap"]
for step in [f"hierarchy -check -top {module}", *steps, "setundef -zero"]:
    ys.run_pass(step, design)
for number, cell in enumerate([cell for cell in top.cells_.values() if cell.type.str() == "$dff"]):
    old = cell.getPort(ident("Q"))
    wire = ys.SigSpec(top.addWire(ident(f"equal_register{number}"), old.size()))
    cell.setPort(ident("Q"), wire)
    top.connect(old, wire)
for step in [f"rename {module} top", f"write_smt2 {out}"]:
    ys.run_pass(step, design)
"""

Mutant = collections.namedtuple("Mutant", "number top broken source")
Reason = collections.namedtuple("Reason", "line top broken text why")


def read_list(folder):
    mutants = {}
    for line in (folder / "list.tsv").read_text().splitlines():
        number, _, top, broken, source = line.split("\t")
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


def read_reasons():
    """Lines of TOP `BROKEN` `TEXT`: why; tools/equivalent.txt says what they mean."""
    reasons = []
    for number, line in enumerate(REASONS.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+) `([^`]+)` `([^`]+)`: (.+)", line)
        if not match:
            sys.exit(f"{REASONS.relative_to(ROOT)}:{number}: '{line}'; expected TOP `BROKEN` `TEXT`: why")
        reasons.append(Reason(number, *match.groups()))
    return reasons


def matches(reason, mutant):
    # Brackets are those of a bit, not of a set of characters.
    pattern = reason.broken.replace("[", "[[]")
    if reason.top != mutant.top or not fnmatch.fnmatchcase(mutant.broken, pattern):
        return False
    if mutant.source == reason.text == "no source":
        return True
    for place in mutant.source.split():
        file, _, lines = place.partition(":")
        if not lines:
            continue
        first, last = lines.split("-")[0], lines.split("-")[-1]
        text = (ROOT / file).read_text().splitlines()[int(first.split(".")[0]) - 1 : int(last.split(".")[0])]
        if any(reason.text in line for line in text):
            return True
    return False


class Netlist:
    """A netlist of `write_smt2`: expressions over a state, named, and for each register and RAM the one that follows.

    A copy of it has a suffix behind all names. What copies have in common is defined by one copy as the other's, so
    that Yices builds the expressions behind it once: where a mutation does not come, both copies are one.
    """

    def __init__(self, smt2):
        text = smt2.read_text()
        self.following = dict(re.findall(r"\(= \((\|[^|]+\|) state\) \((\|[^|]+\|) next_state\)\)", text))
        self.following = {register: value for value, register in self.following.items()}
        self.lines, self.sorts, self.names = [], {}, {}
        for line in text.splitlines():
            declared = re.match(r"\(declare-fun (\|top#[^|]+\|) \(\|top_s\|\) (.+)\) ; (.+)", line)
            defined = re.match(r"\(define-fun (\|top[#_][^|]+\|) \(\(state \|top_s\|\)\) ", line)
            if declared:
                name, sort, signal = declared.groups()
                self.sorts[name], self.names[name] = sort, signal.lstrip("\\")
                self.lines.append((name, None))
            elif defined and not re.match(r"\|top_[a-z]+\|", defined.group(1)):
                self.lines.append((defined.group(1), line))
        self.outputs = re.findall(r"^; yosys-smt2-output (\S+) ", text, re.MULTILINE)

    def instance(self, suffix, declared):
        """A copy. `declared` gives the definition of an input, a register or a RAM; without one it is free."""
        place = lambda name: f"{name[:-1]}{suffix}|"
        for name, line in self.lines:
            if line is not None:
                line = line.replace("((state |top_s|))", "()", 1).replace(name, place(name), 1)
                yield re.sub(r"\((\|[^|]+\|) state\)", lambda match: place(match.group(1)), line)
            elif definition := declared.get(name):
                yield f"(define-fun {place(name)} () {self.sorts[name]} {definition})"
            else:
                yield f"(declare-fun {place(name)} () {self.sorts[name]})"


def bits(mask, width):
    return f"#b{mask:0{width}b}"


def ask(lines, questions, seconds):
    """Asks Yices whether one of the questions can be true. Returns its word, and each question's value if so."""
    text = ["(set-option :produce-models true)", "(set-logic QF_AUFBV)", *lines]
    text += [f"(define-fun question{number} () {sort} {one})" for number, (sort, one) in enumerate(questions)]
    differs = [
        f"question{number}" if sort == "Bool" else f"(not (= question{number} {bits(0, int(sort.split()[2][:-1]))}))"
        for number, (sort, _) in enumerate(questions)
    ]
    text += [f"(assert (or false {' '.join(differs)}))", "(check-sat)"]
    values = [f"(get-value (question{number}))" for number in range(len(questions))]
    command = [str(BIN / "yices-smt2"), "--incremental"]
    # Of processor time, so that a machine with other work comes to the same result.
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    run = subprocess.run(
        command, input="\n".join(text + values), capture_output=True, text=True, preexec_fn=limit
    )
    if run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "timeout", []
    word, _, rest = run.stdout.partition("\n")
    if word == "sat":
        found = re.findall(r"\(\(question\d+\s+(true|false|#b[01]+)\)\)", rest)
        if len(found) != len(questions):
            raise RuntimeError(f"yices-smt2: {run.stdout[:2000]}")
        return word, [int(value[2:], 2) if value[0] == "#" else value == "true" for value in found]
    if word not in ("unsat", "unknown"):
        raise RuntimeError(f"yices-smt2: {run.stdout[:2000]} {run.stderr[:2000]}")
    return word, []


def equivalent(smt2, number, seconds):
    """Returns whether the mutation is shown to change no output, and if not, why."""
    netlist = Netlist(smt2)
    width = lambda name: int(netlist.sorts[name].split()[2][:-1])
    vectors = [name for name in netlist.following if netlist.sorts[name].startswith("(_ BitVec")]
    rams = [name for name in netlist.following if name not in vectors]
    mutsel = next(name for name, signal in netlist.names.items() if signal == "mutsel")
    masks = {name: (1 << width(name)) - 1 for name in vectors}
    while True:
        common = {name: f"{name[:-1]}@a|" for name in netlist.sorts}
        free = []
        for name, mask in masks.items():
            if mask != (1 << width(name)) - 1:
                own = f"{name[:-1]}@own|"
                free.append(f"(declare-fun {own} () {netlist.sorts[name]})")
                others = bits(~mask & ((1 << width(name)) - 1), width(name))
                same = f"(bvand {common[name]} {bits(mask, width(name))})"
                common[name] = f"(bvor {same} (bvand {own} {others}))"
        lines = list(netlist.instance("@a", {mutsel: bits(0, 16)})) + free
        lines += netlist.instance("@b", {**common, mutsel: bits(number, 16)})
        questions = []
        for output in netlist.outputs:
            questions.append(("Bool", f"(not (= |top_n {output}@a| |top_n {output}@b|))"))
        for ram in rams:
            after = netlist.following[ram][:-1]
            questions.append(("Bool", f"(not (= {after}@a| {after}@b|))"))
        wholes = [*netlist.outputs, *(netlist.names[ram] for ram in rams)]
        for name, mask in masks.items():
            after = netlist.following[name][:-1]
            differ = f"(bvand (bvxor {after}@a| {after}@b|) {bits(mask, width(name))})"
            questions.append((netlist.sorts[name], differ))
        word, values = ask(lines, questions, seconds)
        if word != "sat":
            return word == "unsat", "" if word == "unsat" else f"not decided in {seconds} s"
        for whole, differs in zip(wholes, values):
            if differs:
                return False, f"{whole} may differ"
        for (name, mask), differs in zip(masks.items(), values[len(wholes) :]):
            masks[name] = mask & ~differs


def modules(unit):
    """The modules of a unit's tops."""
    lines = (ROOT / "tools/mutants.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {row[2]: row[3] for row in rows if row[0] == unit}


def has_one_clock(netlist):
    return len(set(re.findall(r"@\(posedge ([^)]+)\)", netlist.read_text()))) < 2


def write_smt2(folder, top, module):
    out = folder / f"{top}.smt2"
    command = [sys.executable, "-c", WORKER, str(folder / f"{top}.v"), module, str(out)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        sys.exit("\n".join([f"mutants_equal: {top}", *(run.stdout + run.stderr).splitlines()[-12:]]))
    return out


def prove(folder, unit, survivors, seconds):
    """For each survivor: whether it is proven equivalent, and if not, why."""
    module = modules(unit)
    tops = sorted({mutant.top for mutant in survivors})
    smt2 = {top: write_smt2(folder, top, module[top]) for top in tops if has_one_clock(folder / f"{top}.v")}

    def proof(mutant):
        if mutant.top not in smt2:
            return False, "the netlist has gated clocks"
        return equivalent(smt2[mutant.top], mutant.number, seconds)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(proof, survivors))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("unit")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=60, help="of processor time for one question of a proof; 0: no proofs")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    if not modules(arguments.unit):
        sys.exit(f"mutants_equal: no unit '{arguments.unit}' in tools/mutants.txt")
    for file, writer in (("list.tsv", "tools/mutants.py"), ("verdicts.tsv", "xoff-mutants")):
        if not (folder / file).is_file():
            sys.exit(f"mutants_equal: no {folder / file}; {writer} writes it")
    mutants, reasons = read_list(folder), read_reasons()
    killed, survived, seconds, threads = read_verdicts(folder)
    survivors = [mutants[number] for number in survived]
    whole = len(killed) + len(survived) == len(mutants)

    begin = time.monotonic()
    proofs = [(False, "")] * len(survivors)
    if arguments.seconds:
        proofs = prove(folder, arguments.unit, survivors, arguments.seconds)
    proving = time.monotonic() - begin

    of_unit = [reason for reason in reasons if reason.top in modules(arguments.unit)]
    needed, alive, proven, explained, wrong = set(), [], 0, 0, 0
    for mutant, (equal, unproven) in zip(survivors, proofs):
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
    if whole and arguments.seconds:
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
        f"equivalent ({proven} proven); cases {seconds:.0f} s on {threads} threads, proofs {proving:.0f} s"
    )
    return 1 if wrong or (whole and share < LEAST) else 0


if __name__ == "__main__":
    sys.exit(main())
