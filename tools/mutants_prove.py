"""Proves which surviving mutants are equivalent to the original.

`mutants_prove.py UNIT FOLDER [--seconds S]` reads list.tsv and verdicts.tsv in the folder, which tools/mutants.py and
xoff-mutants wrote, and the netlists that were judged, and writes proofs.tsv. Run it with the Python in .tools/, through
`make mutants`.

The proof is an induction over two copies of the netlist that get the same inputs, one with the mutation. They start in
the same state. The set of register bits that are the same in both begins with all of them; a step that makes some of
them differ takes these out, and the induction begins again. The mutant is equivalent if in the end no step makes an
output differ. A RAM has such bits, too, one for each column: a column differs once different bits are written to it, or
any when the addresses differ. What is equivalent only by what the inputs or the reachable states are cannot be shown
like this, and needs a reason.

A step of the induction is a cycle of one clock. Clock gates are taken out for it, and their enables become outputs:
when no enable differs, a gate rests in both copies or in none, and what it holds stays the same too.
"""

import argparse
import collections
import itertools
import os
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutant_files import ROOT, check, modules, read_list, read_verdicts

BIN = Path(sys.executable).parent
# How often a register or RAM may lose some of the bits that are the same in both copies before it loses all of them.
PATIENCE = 3

# One process per netlist, because Yosys keeps its state in globals. The module becomes `top`, the number of the mutation
# an input, what a clock gate gets an output, every register a wire of its own, and what RAMs read inputs.
WORKER = r"""
import sys
from pyosys import libyosys as ys

netlist, module, out = sys.argv[1:]
design = ys.Design()
ident = lambda name: ys.IdString("\\" + name)
ys.run_pass(f"read_verilog -sv {netlist}", design)
top = design.module(ident(module))
for cell in list(top.cells_.values()):
    if cell.type.str() in ("\\mutant_select", "\\gate_watch", "\\mutant_watch"):
        top.remove(cell)
top.wire(ident("mutsel")).port_input = True
for wire in top.wires_.values():
    if wire.name.str().startswith("\\equal_gate"):
        wire.port_output = True
top.fixup_ports()
steps = ["proc", "opt_clean", "memory_collect", "memory_nordff", "bwmuxmap", "bmuxmap", "demuxmap", "async2sync", "dffunmap"]
for step in [f"hierarchy -check -top {module}", *steps, "setundef -zero"]:
    ys.run_pass(step, design)
for number, cell in enumerate([cell for cell in top.cells_.values() if cell.type.str() == "$dff"]):
    old = cell.getPort(ident("Q"))
    wire = ys.SigSpec(top.addWire(ident(f"equal_register{number}"), old.size()))
    cell.setPort(ident("Q"), wire)
    top.connect(old, wire)

def port(name, signal):
    wire = top.addWire(ident(name), signal.size())
    wire.port_output = True
    top.connect(ys.SigSpec(wire), signal)

for number, cell in enumerate([cell for cell in top.cells_.values() if cell.type.str() == "$mem_v2"]):
    width = cell.getParam(ident("WIDTH")).as_int()
    pins = {name.str()[1:]: signal for name, signal in cell.connections_.items()}
    label = f"equal_ram{number}_{width}"
    read = top.addWire(ident(label + "_read"), max(2, pins["RD_DATA"].size()))
    read.port_input = True
    top.connect(pins["RD_DATA"], ys.SigSpec(read).extract(0, pins["RD_DATA"].size()))
    where = pins["RD_ADDR"]
    where.append(pins["WR_ADDR"])
    port(label + "_where", where)
    if pins["WR_EN"].size():
        write = top.And(ident("$" + label), pins["WR_EN"], pins["WR_DATA"])
        write.append(pins["WR_EN"])
        port(label + "_write", write)
    top.remove(cell)
top.fixup_ports()
for step in [f"rename {module} top", f"write_smt2 {out}"]:
    ys.run_pass(step, design)
"""


class Netlist:
    """A netlist of `write_smt2`: expressions over a state, named, and for each register the one that follows.

    A copy of it has a suffix behind all names. Where two copies cannot differ, both are one: the second has only what
    depends on what differs.
    """

    def __init__(self, smt2):
        text = smt2.read_text()
        following = re.findall(r"\(= \((\|[^|]+\|) state\) \((\|[^|]+\|) next_state\)\)", text)
        self.following = {register: value for value, register in following}
        self.lines, self.sorts, self.names, self.reads = {}, {}, {}, {}
        for line in text.splitlines():
            declared = re.match(r"\(declare-fun (\|top#[^|]+\|) \(\|top_s\|\) (.+)\) ; (.+)", line)
            defined = re.match(r"\(define-fun (\|top[#_][^|]+\|) \(\(state \|top_s\|\)\) ", line)
            if declared:
                name, sort, signal = declared.groups()
                self.sorts[name], self.names[name] = sort, signal.lstrip("\\")
            elif defined and not re.match(r"\|top_[a-z]+\|", defined.group(1)):
                name = defined.group(1)
                self.lines[name] = line.split(" ; ")[0]
                self.reads[name] = set(re.findall(r"\((\|[^|]+\|) state\)", line))
        outputs = re.findall(r"^; yosys-smt2-output (\S+) (\d+)", text, re.MULTILINE)
        self.outputs = {name: int(width) for name, width in outputs}
        self.mutsel = next(name for name, signal in self.names.items() if signal == "mutsel")

    def differing(self, number, sources):
        """What can differ between the original and a mutant, when `sources` do: each is behind what it reads."""
        found = set(sources)
        for name, reads in self.reads.items():
            if self.mutsel in reads and len(reads) == 1:
                chosen = re.search(r"#b([01]{16})\b", self.lines[name])
                differs = chosen is None or int(chosen[1], 2) == number
            else:
                differs = not reads.isdisjoint(found)
            if differs:
                found.add(name)
        return found

    def behind(self, names):
        """What these depend on, with themselves."""
        found, left = set(), list(names)
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += self.reads.get(name, ())
        return found

    def instance(self, suffix, wanted, declared, other=None):
        """The wanted part of a copy. `declared` gives the definition of an input or a register; without one it is
        free. What is not wanted is that of the copy with the suffix `other`."""
        place = lambda name: f"{name[:-1]}{suffix if other is None or name in wanted else other}|"
        for name, sort in self.sorts.items():
            if name in wanted and name in declared:
                yield f"(define-fun {place(name)} () {sort} {declared[name]})"
            elif name in wanted:
                yield f"(declare-fun {place(name)} () {sort})"
        for name, line in self.lines.items():
            if name in wanted:
                line = line.replace("((state |top_s|))", "()", 1).replace(name, place(name), 1)
                yield re.sub(r"\((\|[^|]+\|) state\)", lambda match: place(match.group(1)), line)


def bits(mask, width):
    return f"#b{mask:0{width}b}"


class Ram:
    """A RAM that WORKER took out: its ports, and how many bits each has."""

    def __init__(self, netlist, read):
        label = netlist.names[read].removesuffix("_read")
        self.read, self.width = read, int(label.rpartition("_")[2])
        self.where = f"{label}_where"
        self.write = f"{label}_write" if f"{label}_write" in netlist.outputs else None
        self.writes = netlist.outputs.get(self.write, 0)
        self.name = label

    def spread(self, mask, width):
        """The mask of columns for as many bits as a port has."""
        return sum(mask << at for at in range(0, width, self.width)) & ((1 << width) - 1)

    def fold(self, bits):
        """The columns that bits of a port are of."""
        columns = 0
        while bits:
            columns |= bits & ((1 << self.width) - 1)
            bits >>= self.width
        return columns


class Undecided(Exception):
    """The solver found neither an answer nor that there is none."""


class Solver:
    """Yices with the lines of a round, which is asked again and again what else can differ."""

    def __init__(self, lines, seconds):
        self.seconds = seconds
        # Of processor time, so that a machine with other work comes to the same result.
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        self.run = subprocess.Popen(
            [str(BIN / "yices-smt2"), "--incremental"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, preexec_fn=limit,
        )
        self.tell(["(set-option :produce-models true)", "(set-logic QF_BV)", *lines])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run.kill()
        self.run.communicate()

    def tell(self, lines):
        self.run.stdin.write("\n".join(lines) + "\n")

    def hear(self, lines):
        """Everything that it says to these."""
        try:
            self.tell([*lines, '(echo "heard")'])
            self.run.stdin.flush()
        except BrokenPipeError:
            raise Undecided(f"a question is not decided in {self.seconds} s") from None
        said = []
        for line in self.run.stdout:
            if line.strip().strip('"') == "heard":
                return "\n".join(said)
            said.append(line.rstrip("\n"))
        raise Undecided(f"a question is not decided in {self.seconds} s")

    def values(self, questions):
        """The values of the questions where one of them is not 0; None if all of them always are."""
        anything = " ".join(f"(not (= {question} {bits(0, width)}))" for question, width in questions)
        word = self.hear(["(push 1)", f"(assert (or false {anything}))", "(check-sat)"])
        found = None
        if word == "sat":
            text = self.hear([f"(get-value ({question}))" for question, _ in questions])
            found = [int(value, 2) for value in re.findall(r"#b([01]+)\)\)", text)]
            if len(found) != len(questions):
                raise RuntimeError(f"yices-smt2: {text[:2000]}")
        elif word == "unknown":
            raise Undecided("a question cannot be decided")
        elif word != "unsat":
            raise RuntimeError(f"yices-smt2: {word[:2000]}")
        self.hear(["(pop 1)"])
        return found


def equivalent(netlist, number, seconds):
    """Returns whether the mutation is shown to change no output, and if not, why."""
    width = lambda name: int(netlist.sorts[name].split()[2][:-1])
    ports = [name for name, signal in netlist.names.items() if re.fullmatch(r"equal_ram\d+_\d+_read", signal)]
    rams = [Ram(netlist, name) for name in ports]
    masks = {name: (1 << width(name)) - 1 for name in netlist.following}
    columns = {ram.name: (1 << ram.width) - 1 for ram in rams}
    of_rams = {port for ram in rams for port in (ram.where, ram.write)}
    port = lambda output: f"|top_n {output}|"
    found_in = collections.Counter()

    def without(name, mask, differs):
        """A mask without bits that differ. What loses some again and again loses all, which ends sooner."""
        found_in[name] += differs != 0
        return 0 if found_in[name] > PATIENCE else mask & ~differs

    while True:
        declared = {}
        for name, mask in [*masks.items(), *((ram.read, ram.spread(columns[ram.name], width(ram.read))) for ram in rams)]:
            whole = (1 << width(name)) - 1
            if mask != whole:
                same, others = bits(mask, width(name)), bits(~mask & whole, width(name))
                declared[name] = f"(bvor (bvand {name[:-1]}@a| {same}) (bvand {name[:-1]}@own| {others}))"
        differing = netlist.differing(number, {netlist.mutsel, *declared})
        outputs = [output for output in netlist.outputs if output not in of_rams and port(output) in differing]
        moved = [ram for ram in rams if columns[ram.name] and port(ram.where) in differing]
        written = [ram for ram in rams if columns[ram.name] and ram.write and port(ram.write) in differing]
        registers = [name for name, mask in masks.items() if mask and netlist.following[name] in differing]
        both = lambda name: f"{name[:-1]}@a| {name[:-1]}@b|"
        unequal = lambda name: f"(ite (= {both(name)}) #b0 #b1)"
        asked = [*map(port, outputs), *(port(ram.where) for ram in moved), *(port(ram.write) for ram in written)]
        asked = netlist.behind([*asked, *(netlist.following[name] for name in registers)])
        lines = list(netlist.instance("@a", asked, {netlist.mutsel: bits(0, 16)}))
        lines += [f"(declare-fun {name[:-1]}@own| () {netlist.sorts[name]})" for name in declared if name in asked]
        declared[netlist.mutsel] = bits(number, 16)
        lines += netlist.instance("@b", asked & differing, declared, "@a")
        ends = [(unequal(port(output)), 1) for output in outputs]
        ends += [(unequal(port(ram.where)), 1) for ram in moved]
        ends += [(f"(bvxor {both(port(ram.write))})", ram.writes) for ram in written]
        ends += [(f"(bvxor {both(netlist.following[name])})", width(name)) for name in registers]
        lines += [f"(define-fun end{at} () (_ BitVec {size}) {end})" for at, (end, size) in enumerate(ends)]

        def questions():
            """The ends in what is still the same."""
            yield from (1 for _ in outputs)
            yield from (columns[ram.name] and 1 for ram in moved)
            yield from (ram.spread(columns[ram.name], ram.writes) for ram in written)
            yield from (masks[name] for name in registers)

        with Solver(lines, seconds) as solver:
            changed = False
            while True:
                left = {at: mask for at, mask in enumerate(questions()) if mask}
                values = solver.values([(f"(bvand end{at} {bits(mask, ends[at][1])})", ends[at][1]) for at, mask in left.items()])
                if values is None:
                    break
                found = dict(zip(left, values))
                differs = iter([found.get(at, 0) for at in range(len(ends))])
                for output in outputs:
                    if next(differs):
                        return False, f"{output} may differ"
                for ram in moved:
                    columns[ram.name] &= 0 if next(differs) else -1
                for ram in written:
                    columns[ram.name] = without(ram.name, columns[ram.name], ram.fold(next(differs)))
                for name in registers:
                    masks[name] = without(name, masks[name], next(differs))
                changed = True
        if not changed:
            return True, ""


# As Yosys writes the latch and the AND of rtl/prim/clock_gate.sv, and a clock that is mutated.
LATCH = re.compile(r"  always @\*\n    if \(!clk_i\) (\S+) += (\S+) ;\n")
AND = re.compile(r"  assign (\S+) += clk_i & (\S+) ;\n")
MUTATED = re.compile(r"  assign (\S+) += \S+ +\? \S+ +: (\S+) ?;\n")
ALIAS = re.compile(r"  assign (\S+) += (\S+) ;\n")
EDGE = re.compile(r"@\(posedge (\S+?) ?\)")


def with_one_clock(text):
    """The text of a netlist without its clock gates; None if it has another clock all the same."""
    # Yosys cannot read the modules behind it, one of which takes the number from a plusarg.
    text = text.partition("module mutant_select")[0]
    count = itertools.count()
    watch = lambda value: f"  wire equal_gate{next(count)} = {value} ;\n"
    text = LATCH.sub(lambda match: f"{watch(match[2])}  assign {match[1]} = 1'b1 ;\n", text)
    clocks = {"clk_i"} | {match[1] for match in AND.finditer(text)}
    text = AND.sub(lambda match: f"{watch(match[2])}  assign {match[1]} = clk_i ;\n", text)
    mutated = {match[1] for match in MUTATED.finditer(text) if match[2] in clocks}
    mutated |= {match[1] for match in ALIAS.finditer(text) if match[2] in mutated}
    others = set(EDGE.findall(text)) - clocks
    if not others <= mutated:
        return None
    text = EDGE.sub("@(posedge clk_i)", text)
    return text.replace("endmodule", "".join(map(watch, sorted(f"{other} " for other in others))) + "endmodule", 1)


def write_smt2(folder, top, module):
    """Writes what the proofs read; None if the netlist has more than one clock."""
    text = with_one_clock((folder / f"{top}.v").read_text())
    if text is None:
        return None
    alone, out = folder / f"{top}.alone.v", folder / f"{top}.smt2"
    alone.write_text(text)
    command = [sys.executable, "-c", WORKER, str(alone), module, str(out)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    alone.unlink()
    if run.returncode:
        sys.exit("\n".join([f"mutants_equal: {top}", *(run.stdout + run.stderr).splitlines()[-12:]]))
    return out


def prove(folder, unit, survivors, seconds):
    """For each survivor: whether it is proven equivalent, and if not, why."""
    module = modules(unit)
    tops = sorted({mutant.top for mutant in survivors})
    netlists = {top: write_smt2(folder, top, module[top]) for top in tops}
    netlists = {top: smt2 and Netlist(smt2) for top, smt2 in netlists.items()}

    def proof(mutant):
        if netlists[mutant.top] is None:
            return False, "the netlist has more than one clock"
        try:
            return equivalent(netlists[mutant.top], mutant.number, seconds)
        except Undecided as why:
            return False, str(why)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(proof, survivors))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("unit")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=60, help="of processor time for one question of a proof")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    check(arguments.unit, folder, ["list.tsv", "verdicts.tsv"])
    mutants = read_list(folder)
    _, survived, _, _ = read_verdicts(folder)

    begin = time.monotonic()
    proofs = prove(folder, arguments.unit, [mutants[number] for number in survived], arguments.seconds)
    lines = [f"{number}\t{'equivalent' if equal else 'unknown'}\t{why}\n" for number, (equal, why) in zip(survived, proofs)]
    (folder / "proofs.tsv").write_text("".join(lines))
    proven = sum(equal for equal, _ in proofs)
    print(f"{arguments.unit}: {proven} of {len(proofs)} survivors proven to be equivalent in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
