"""Breaks a unit in many small ways: writes netlists of its tops in which a number selects the active mutation.

`mutants.py UNIT FOLDER [COUNT [SEED]]` takes the unit's tops from tools/mutants.txt and writes FOLDER/NAME.v for each:
the top after Yosys has read it, with the same ports, its share of the mutations, and an instance of mutant_select that
selects the active one. To these come, for each clock gate, one mutation per term of its enable: the enable without the
term. FOLDER/list.tsv has one line per mutation: number, property that judges it, top, what is broken, source location.
The same COUNT (default 200) and SEED (default 1) give the same mutants. Run it with the Python in
.tools/, through `make mutants`.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# One process per top, because Yosys keeps its state in globals. Prints one line per mutation.
WORKER = """
import sys
from pyosys import libyosys as ys
module, source, netlist, first, count, seed, *parameters = sys.argv[1:]
design = ys.Design()
overrides = " ".join("-G " + p for p in parameters)
def run(*steps):
    for step in steps:
        ys.run_pass(step, design)
run(
    f"read_slang --ignore-assertions --top {module} {overrides} -F rtl/rtl.f {source}",
    f"hierarchy -check -top {module}", "proc", "flatten", "opt -full",
)
top = design.top_module()
# An array of pipeline stages, which has constant indexes alone, is no memory: as registers it loses what nobody reads.
memories = {}
for cell in top.cells_.values():
    if cell.type.str() in ("$memrd_v2", "$memwr_v2"):
        memories.setdefault(cell.getParam(ys.IdString("\\MEMID")).decode_string(), []).append(cell.getPort(ys.IdString("\\ADDR")).is_fully_const())
stages = [name for name, constant in memories.items() if all(constant)]
if stages:
    run("memory_collect", *[f"memory_map c:{name[1:]}" for name in stages], "memory_unpack", "opt -full")
run("wreduce", "opt -full", "bwmuxmap")
ident = lambda name: ys.IdString(name if name[0] in "$\\\\" else "\\\\" + name)
def is_none(line):
    # A constant stuck at its own value breaks nothing.
    words = line.split()
    value = dict(zip(words[1::2], words[2::2]))
    if value["-mode"] not in ("const0", "const1"):
        return False
    bit = top.cell(ident(value["-cell"])).getPort(ident(value["-port"])).extract(int(value["-portbit"]), 1)
    return bit.is_fully_const() and bit.as_const().as_bool() == (value["-mode"] == "const1")
def drawn(seed):
    run(f"mutate -list {count} -seed {seed} -o {netlist}.list")
    return open(netlist + ".list").read().splitlines()
lines, others = drawn(seed), drawn(int(seed) + 1_000)
spare = iter([line for line in others if line not in lines and not is_none(line)])
lines = [next(spare) if is_none(line) else line for line in lines]
def key(bit):
    # After `opt` every reader of a bit names it as its driver does.
    bit = bit.as_bit()
    return (bit.wire.name.str(), bit.offset) if bit.is_wire() else None
def terms(bit, cell, port, index):
    # The operands of the OR that drives a bit, each as the cell and the port bit that reads it.
    driver, at = drivers.get(key(bit), (None, 0))
    kind = driver and driver.type.str()
    if kind == "$logic_or" and at == 0:
        read = [(p, i) for p in "AB" if driver.hasPort(ident(p)) for i in range(driver.getPort(ident(p)).size())]
    elif kind == "$or":
        read = [(p, at) for p in "AB" if at < driver.getPort(ident(p)).size()]
    else:
        return [(cell, port, index)]
    return [leaf for p, i in read for leaf in terms(driver.getPort(ident(p)).extract(i, 1), driver, p, i)]
# Enables of clock gates, each without one of its terms.
drivers = {}
for cell in top.cells_.values():
    for port, signal in cell.connections_.items():
        if cell.output(port):
            for i in range(signal.size()):
                drivers[key(signal.extract(i, 1))] = (cell, i)
for latch in [cell for cell in top.cells_.values() if cell.type.str() == "$dlatch"]:
    enable = latch.getPort(ident("D"))
    gate = enable.as_bit().wire.name.str()[1:]
    for cell, port, index in terms(enable, latch, "D", 0):
        lines.append(f"mutate -mode const0 -module {module} -cell {cell.name.str()} -port \\\\{port} -portbit {index} -src {gate}")
kind = {}
for number, line in enumerate(lines, int(first)):
    command, options = line.split(maxsplit=1)
    words = options.split()
    cell = words[words.index("-cell") + 1]
    kind[cell] = top.cell(ident(cell)).type.str()
    ys.run_pass(f"{command} -ctrl mutsel 16 {number} {options.strip()}", design)
    print(f"mutant\\t{number}\\t{kind[cell]}\\t{options.strip()}")
# A vector of which one bit depends on another looks like a loop to Verilator: apart with them, inside of the ports.
for wire in [w for w in top.wires_.values() if w.port_output]:
    port = top.addWire(ys.IdString("\\mutated_" + wire.name.str()[1:]), wire.width)
    top.swap_names(port, wire)
    port.port_output, wire.port_output = True, False
    top.connect(ys.SigSpec(port), ys.SigSpec(wire))
top.fixup_ports()
ys.run_pass("splitnets -driver", design)
# The wire that selects is no port: the plusarg drives it.
ys.run_pass(f"delete -port {module}/w:mutsel", design)
select = top.addCell(ys.IdString("\\\\u_mutant_select"), ys.IdString("\\\\mutant_select"))
select.setPort(ys.IdString("\\\\mutant_o"), ys.SigSpec(top.wire(ys.IdString("\\\\mutsel"))))
ys.run_pass(f"write_verilog -noattr -norename -noparallelcase {netlist}", design)
"""

MODES = {
    "inv": "inverted",
    "const0": "stuck at 0",
    "const1": "stuck at 1",
    "cnot0": "inverted while its bit {} is 0",
    "cnot1": "inverted while its bit {} is 1",
}


def read_tops():
    lines = (ROOT / "tools/mutants.txt").read_text().splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


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


def netlist(folder, row, first, count, seed):
    _, judge, name, module, *parameters = row
    source = next(ROOT.glob(f"rtl/*/{module}.sv"))
    file = folder / f"{name}.v"
    arguments = [module, source.relative_to(ROOT), file, first, count, seed, *parameters]
    run = subprocess.run(
        [sys.executable, "-c", WORKER, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True
    )
    if run.returncode != 0:
        sys.exit("\n".join([f"mutants: {name}", *(run.stdout + run.stderr).splitlines()[-20:]]))
    Path(f"{file}.list").unlink()
    # Nobody looks at waves of mutants, and the code that traces a netlist takes longest to compile.
    select = (ROOT / "tools/mutant_select.v").read_text()
    file.write_text("/* verilator tracing_off */\n" + file.read_text() + select)
    for line in run.stdout.splitlines():
        if line.startswith("mutant\t"):
            _, number, kind, options = line.split("\t")
            broken, place = in_words(kind, options)
            if place.endswith(".enable_i"):
                broken = f"enable of a clock gate without a term: {broken}"
            yield "\t".join([number, judge, name, broken, place])


def main():
    rows = read_tops()
    units = list(dict.fromkeys(row[0] for row in rows))
    if len(sys.argv) < 3 or sys.argv[1] not in units:
        asked = sys.argv[1] if len(sys.argv) > 1 else ""
        sys.exit(f"mutants: no unit '{asked}'; make mutants UNIT={'|'.join(units)}")
    rows = [row for row in rows if row[0] == sys.argv[1]]
    folder = Path(sys.argv[2]).resolve()
    count, seed = (int(argument) for argument in (sys.argv[3:] + ["200", "1"][len(sys.argv) - 3 :])[:2])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.v"):
        old.unlink()
    lines = []
    for i, row in enumerate(rows):
        share = count * (i + 1) // len(rows) - count * i // len(rows)
        lines += netlist(folder, row, len(lines) + 1, share, seed)
    (folder / "list.tsv").write_text("".join(line + "\n" for line in lines))


main()
