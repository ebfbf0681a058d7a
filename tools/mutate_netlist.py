"""Writes the netlist of one top with mutations; tools/mutants.py runs it, once per top.

A process of its own, because Yosys keeps its state in globals. Prints a line per mutation: `mutant`, its number, the
type of the cell that it breaks and the options of Yosys' `mutate`; or `enable`, its number, the term that the enable of
a clock gate lacks, and the enable.

Each mutation gets a mutant_watch, which says when a run of the original reaches it: when the mutated cell would give
another value. A run that does not reach it is the same with it, and one that does has to be repeated with it. An enable
without a term is reached (gate_watch) in a cycle in which its gate would rest and something behind the gate would
change, which is an error by itself.
"""

import re
import sys
from pathlib import Path

from pyosys import libyosys as ys

module, source, netlist, first, count, seed, rooms, *parameters = sys.argv[1:]
design = ys.Design()


def run(*steps):
    for step in steps:
        ys.run_pass(step, design)


def ident(name):
    return ys.IdString(name if name[0] in "$\\" else "\\" + name)


overrides = " ".join("-G " + p for p in parameters)
run(
    f"read_slang --ignore-assertions --top {module} {overrides} -F rtl/rtl.f {source}",
    f"hierarchy -check -top {module}", "proc", "flatten", "opt -full",
)
top = design.top_module()


def kind(cell):
    return cell.type.str()


def port(cell, name):
    return cell.getPort(ident(name))


def key(signal):
    """Names the bit that a signal is. After `opt` every reader of a bit names it as its driver does."""
    bit = signal.as_bit()
    return (bit.wire.name.str(), bit.offset) if bit.is_wire() else None


def unpack_stages():
    """An array of pipeline stages, with constant indexes alone, is no memory: as registers it loses what nobody
    reads."""
    memories = {}
    for cell in top.cells_.values():
        if kind(cell) in ("$memrd_v2", "$memwr_v2"):
            name = cell.getParam(ident("MEMID")).decode_string()
            memories.setdefault(name, []).append(port(cell, "ADDR").is_fully_const())
    stages = [name for name, constant in memories.items() if all(constant)]
    if stages:
        run("memory_collect", *[f"memory_map c:{name[1:]}" for name in stages], "memory_unpack", "opt -full")


def place_cells():
    """Registers that passes have made without a place in the source get that of a signal that they store."""
    for cell in top.cells_.values():
        if not cell.has_attribute(ident("\\src")) and cell.hasPort(ident("Q")):
            bits = [bit for name in "QD" for bit in port(cell, name).to_sigbit_vector() if bit.is_wire()]
            placed = [bit.wire for bit in bits if bit.wire.has_attribute(ident("\\src"))]
            if placed:
                cell.set_src_attribute(placed[0].get_src_attribute())


def is_none(mutation):
    """A constant stuck at its own value breaks nothing. A bit of what is compared with a constant breaks nothing while
    another bit differs from the constant."""
    words = mutation.split()
    value = dict(zip(words[1::2], words[2::2]))
    cell = top.cell(ident(value["-cell"]))
    if value["-mode"] in ("const0", "const1"):
        bit = port(cell, value["-port"]).extract(int(value["-portbit"]), 1)
        return bit.is_fully_const() and bit.as_const().as_bool() == (value["-mode"] == "const1")
    if value["-mode"] in ("cnot0", "cnot1") and kind(cell) in ("$eq", "$ne"):
        other = {"A": "B", "B": "A"}.get(value["-port"].lstrip("\\"))
        at = int(value["-ctrlbit"])
        if other and at < port(cell, other).size():
            bit = port(cell, other).extract(at, 1)
            return bit.is_fully_const() and bit.as_const().as_bool() != (value["-mode"] == "cnot1")
    return False


def in_other_rooms(thing):
    """Whether a place in the source is in the room of another unit."""
    return any(f"rtl/{room}/" in thing.get_src_attribute() for room in rooms.split(",") if room)


def elsewhere():
    """The cells of other units. Shared modules have rooms of their own: there what a cell drives has a name that begins
    like the unit's, or goes only to cells of the unit."""
    scopes = tuple({
        wire.name.str()[1:].rpartition(".")[0] + "."
        for wire in top.wires_.values() if "." in wire.name.str() and in_other_rooms(wire)
    })
    found, left, readers = set(), {}, {}
    for cell in top.cells_.values():
        name = cell.name.str()
        driven = set()
        for at, signal in cell.connections_.items():
            bits = [bit for bit in signal.to_sigbit_vector() if bit.is_wire()]
            if cell.output(at):
                driven |= {bit.wire.name.str() for bit in bits}
            else:
                for wire in {bit.wire.name.str() for bit in bits}:
                    readers.setdefault(wire, set()).add(name)
        named = [wire[1:] for wire in driven if wire[0] == "\\"]
        if kind(cell).startswith("$mem"):
            named.append(name_of(cell))
        if in_other_rooms(cell) or named and all(wire.startswith(scopes) for wire in named):
            found.add(name)
        elif driven and not named:
            left[name] = driven
    while more := {n for n, driven in left.items() if set().union(*(readers.get(w, {n}) for w in driven)) <= found}:
        found |= more
        left = {name: driven for name, driven in left.items() if name not in more}
    return found


def drawn():
    """Mutations that Yosys draws, of cells that are not in the rooms of other units."""
    for name in elsewhere():
        top.cell(ident(name)).set_bool_attribute(ident("\\elsewhere"))
    cells = "c:* a:elsewhere %d"

    def of(seed):
        run(f"mutate -list {count} -seed {seed} -o {netlist}.list {cells}")
        with open(netlist + ".list") as file:
            return file.read().splitlines()

    mutations, others = of(seed), of(int(seed) + 1_000)
    spare = iter([other for other in others if other not in mutations and not is_none(other)])
    return [next(spare) if is_none(mutation) else mutation for mutation in mutations]


class Gate:
    """A clock gate: its latch, and the cells on the clock that it makes."""

    def __init__(self, latch):
        self.latch = latch
        self.name = port(latch, "D").as_bit().wire.name.str()[1:]
        held = key(port(latch, "Q"))
        ands = [cell for cell in top.cells_.values() if kind(cell) in ("$and", "$logic_and")]
        ands = [cell for cell in ands if port(cell, "A").size() == port(cell, "B").size() == 1]
        clock, = [key(port(cell, "Y")) for cell in ands if held in (key(port(cell, "A")), key(port(cell, "B")))]
        clocked = [cell for cell in top.cells_.values() if cell.hasPort(ident("CLK"))]
        self.clock = clock
        self.behind = [cell for cell in clocked if key(port(cell, "CLK")) == clock]


def drivers():
    """For each bit the cell that drives it, and the place in the cell's output."""
    return {
        key(signal.extract(i, 1)): (cell, i)
        for cell in top.cells_.values() for name, signal in cell.connections_.items() if cell.output(name)
        for i in range(signal.size())
    }


def operands(bit, driven):
    """The operands of the OR that drives a bit."""
    driver, at = driven.get(key(bit), (None, 0))
    if driver and kind(driver) == "$logic_or" and at == 0:
        read = [port(driver, name).extract(i, 1) for name in "AB" for i in range(port(driver, name).size())]
    elif driver and kind(driver) == "$or":
        read = [port(driver, name).extract(at, 1) for name in "AB" if at < port(driver, name).size()]
    else:
        return [bit]
    return [operand for each in read for operand in operands(each, driven)]


def words_of(bit, driven):
    """What a bit is called, or the text in the source that it is the value of."""
    wire = bit.as_bit().wire
    driver, _ = driven.get(key(bit), (None, 0))
    place = re.search(r"(\S+):(\d+)\.(\d+)-(\d+)\.(\d+)", driver.get_src_attribute() if driver else "")
    if wire.name.str()[0] == "\\" or not place:
        return wire.name.str()[1:] + (f"[{bit.as_bit().offset}]" if wire.width > 1 else "")
    file, *numbers = place.groups()
    first, begin, last, end = (int(number) - 1 for number in numbers)
    lines = Path(file).read_text().splitlines()[first : last + 1]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    return " ".join(" ".join(lines).split())


def without_terms(gate, driven):
    """The terms of a clock gate's enable, in words. `gate.needs` is the number of the mutant that lacks the only term
    that is 1, or 0."""
    terms = list({key(bit): bit for bit in operands(port(gate.latch, "D"), driven)}.values())
    gate.needs = ys.SigSpec(ys.Const(0, 16))
    for number, term in enumerate(terms, gate.first):
        others = ys.SigSpec(ys.Const(0, 1))
        for other in terms:
            if other is not term:
                others.append(other)
        alone = top.And(fresh(), term, top.Not(fresh(), top.ReduceOr(fresh(), others)))
        gate.needs = top.Mux(fresh(), gate.needs, ys.SigSpec(ys.Const(number, 16)), alone)
        yield words_of(term, driven)


created = 0


def fresh():
    global created
    created += 1
    return ident(f"$watch${created}")


def following(cell, values):
    """What a register holds behind the next edge of its clock, when `values` are at its ports."""

    def when(name, otherwise, then):
        high = cell.getParam(ident(name + "_POLARITY")).as_bool()
        return top.Mux(fresh(), *((otherwise, then) if high else (then, otherwise)), values(name))

    held, result = values("Q"), values("D")
    # The reset of $sdffce waits for the enable; that of $sdffe does not.
    enables, resets = cell.hasPort(ident("EN")), cell.hasPort(ident("SRST"))
    late = kind(cell) == "$sdffce"
    if enables and not late:
        result = when("EN", held, result)
    if resets:
        result = when("SRST", result, ys.SigSpec(cell.getParam(ident("SRST_VALUE"))))
    if enables and late:
        result = when("EN", held, result)
    return result


def change(cell):
    """A signal that is not zero in a cycle in which the clock would change a register, or write to a memory."""
    if kind(cell).startswith("$mem"):
        return port(cell, "EN")
    return top.Ne(fresh(), following(cell, lambda name: port(cell, name)), port(cell, "Q"))


def with_bit(signal, index, bit):
    """A signal with another bit at an index."""
    result = signal.extract(0, index)
    result.append(bit)
    result.append(signal.extract(index + 1, signal.size() - index - 1))
    return result


def reached(mutation, clocks, resets):
    """A signal that is 1 in a cycle in which the mutated cell would give another value, and which matters: not what a
    register holds before it is written for the first time, and, of cells that do not carry on the reset, not what
    becomes of such values while it lasts. Of clocks, for which it is too late at their edge, always 1."""
    words = mutation.split()
    value = dict(zip(words[1::2], words[2::2]))
    cell, name, index = top.cell(ident(value["-cell"])), value["-port"].lstrip("\\"), int(value["-portbit"])
    ports = {at.str()[1:]: signal for at, signal in cell.connections_.items()}
    if name == "CLK" or kind(cell) == "$dlatch" and name == "EN" or clocks & {key(s) for s in single_bits(ports)}:
        return ys.SigSpec(ys.Const(1, 1))

    def changed(signal):
        """Whether the mutation changes this value of the port."""
        at = lambda option: signal.extract(int(value[option]), 1)
        return {
            "inv": lambda: ys.SigSpec(ys.Const(1, 1)),
            "const0": lambda: at("-portbit"),
            "const1": lambda: top.Not(fresh(), at("-portbit")),
            "cnot0": lambda: top.Not(fresh(), at("-ctrlbit")),
            "cnot1": lambda: at("-ctrlbit"),
        }[value["-mode"]]()

    signal = ports[name]
    register = "Q" in ports and kind(cell) != "$dlatch"
    if register and name == "Q":
        return top.And(fresh(), changed(following(cell, ports.get)), written(cell))
    changes = changed(signal)
    mutated = with_bit(signal, index, top.Xor(fresh(), signal.extract(index, 1), changes))
    if register:
        both = [following(cell, values) for values in (ports.get, {**ports, name: mutated}.get)]
        return top.Ne(fresh(), *both)
    if kind(cell).startswith("$mem"):
        if name in ("ADDR", "DATA") and not cell.output(ident(name)):
            return top.And(fresh(), changes, top.ReduceOr(fresh(), ports["EN"]))
        return changes
    if not cell.output(ident(name)) and "Y" in ports:
        copy = top.addCell(fresh(), cell)
        copy.setPort(ident(name), mutated)
        result = ys.SigSpec(top.addWire(fresh(), ports["Y"].size()))
        copy.setPort(ident("Y"), result)
        changes = top.Ne(fresh(), result, ports["Y"])
    if kind(cell) == "$dlatch" or cell.name.str() in resets:
        return changes
    return top.And(fresh(), changes, top.Not(fresh(), ys.SigSpec(top.wire(ident("rst_i")))))


def written(cell):
    """A signal that is 1 in a cycle in which a register takes a new value, from its input or by a reset."""
    if not cell.hasPort(ident("EN")):
        return ys.SigSpec(ys.Const(1, 1))

    def active(name):
        high = cell.getParam(ident(name + "_POLARITY")).as_bool()
        return port(cell, name) if high else top.Not(fresh(), port(cell, name))

    # As in following().
    if cell.hasPort(ident("SRST")) and kind(cell) != "$sdffce":
        return top.Or(fresh(), active("EN"), active("SRST"))
    return active("EN")


def behind_reset():
    """The combinational cells whose outputs depend on the reset."""
    readers = {}
    for cell in top.cells_.values():
        if not cell.hasPort(ident("Q")) and not kind(cell).startswith("$mem"):
            for name, signal in cell.connections_.items():
                if not cell.output(name):
                    for i in range(signal.size()):
                        readers.setdefault(key(signal.extract(i, 1)), []).append(cell)
    found, left = set(), [("\\rst_i", 0)]
    while left:
        for cell in readers.get(left.pop(), ()):
            if cell.name.str() not in found:
                found.add(cell.name.str())
                for name, signal in cell.connections_.items():
                    if cell.output(name):
                        left += [key(signal.extract(i, 1)) for i in range(signal.size())]
    return found


def single_bits(ports):
    return [signal.extract(i, 1) for name, signal in ports.items() if name != "CLK" for i in range(signal.size())]


def add_watch(number, signal):
    """Adds a mutant_watch, which says when the signal is 1 for the first time."""
    watch = top.addCell(fresh(), ident("mutant_watch"))
    watch.setParam(ident("Number"), ys.Const(number, 16))
    watch.setPort(ident("clk_i"), ys.SigSpec(top.wire(ident("clk_i"))))
    watch.setPort(ident("mutant_i"), ys.SigSpec(top.wire(ident("mutsel"))))
    watch.setPort(ident("reached_i"), signal)


def name_of(cell):
    """The register or memory that a cell writes to."""
    if kind(cell).startswith("$mem"):
        return cell.getParam(ident("MEMID")).decode_string()[1:]
    return port(cell, "Q").extract(0, 1).as_bit().wire.name.str()[1:]


def take_terms(gate):
    """Has a gate rest where its enable needs the term that the selected mutant lacks."""
    select = ys.SigSpec(top.wire(ident("mutsel")))
    lacks = top.And(fresh(), top.Eq(fresh(), select, gate.needs), top.ReduceOr(fresh(), select))
    gate.latch.setPort(ident("D"), top.And(fresh(), port(gate.latch, "D"), top.Not(fresh(), lacks)))


def add_watches(gate, first):
    """Adds a gate_watch for each register and memory behind a gate. `first` is the first mutant of an enable."""
    rests = top.Not(fresh(), port(gate.latch, "Q"))
    for number, cell in enumerate(gate.behind):
        name = f"{gate.name}.{number}.{name_of(cell)}".replace(".", "__")
        watch = top.addCell(ident("\\" + name), ident("gate_watch"))
        watch.setParam(ident("First"), ys.Const(first, 32))
        watch.setPort(ident("clk_i"), ys.SigSpec(top.wire(ident("clk_i"))))
        watch.setPort(ident("mutant_i"), ys.SigSpec(top.wire(ident("mutsel"))))
        watch.setPort(ident("rests_i"), rests)
        watch.setPort(ident("changes_i"), top.ReduceOr(fresh(), change(cell)))
        watch.setPort(ident("needs_i"), gate.needs)


unpack_stages()
run("wreduce", "opt -full", "bwmuxmap")
place_cells()
mutations = drawn()
gates = [Gate(cell) for cell in top.cells_.values() if kind(cell) == "$dlatch"]
first_enable = int(first) + len(mutations)
clocks = {("\\clk_i", 0), *(gate.clock for gate in gates)}
# Before cells are added that read, too.
driven, resets = drivers(), behind_reset()
watches = [reached(mutation, clocks, resets) for mutation in mutations]
terms = 0
for gate in gates:
    gate.first = first_enable + terms
    gate.terms = list(without_terms(gate, driven))
    terms += len(gate.terms)
for number, mutation in enumerate(mutations, int(first)):
    command, options = mutation.split(maxsplit=1)
    words = options.split()
    cell = words[words.index("-cell") + 1]
    print(f"mutant\t{number}\t{kind(top.cell(ident(cell)))}\t{options.strip()}")
    run(f"{command} -ctrl mutsel 16 {number} {options.strip()}")
for gate in gates:
    for number, term in enumerate(gate.terms, gate.first):
        print(f"enable\t{number}\t{term}\t{gate.name}")
    take_terms(gate)
    add_watches(gate, first_enable)
for number, signal in enumerate(watches, int(first)):
    add_watch(number, signal)
# A vector of which one bit depends on another looks like a loop to Verilator: apart with them, inside of the ports.
for wire in [w for w in top.wires_.values() if w.port_output]:
    outer = top.addWire(ident("\\mutated_" + wire.name.str()[1:]), wire.width)
    top.swap_names(outer, wire)
    outer.port_output, wire.port_output = True, False
    top.connect(ys.SigSpec(outer), ys.SigSpec(wire))
top.fixup_ports()
run("splitnets -driver")
# The wire that selects is no port: the plusarg drives it.
run(f"delete -port {module}/w:mutsel")
select = top.addCell(ident("\\u_mutant_select"), ident("\\mutant_select"))
select.setPort(ident("mutant_o"), ys.SigSpec(top.wire(ident("mutsel"))))
run(f"write_verilog -noattr -norename -noparallelcase {netlist}")
