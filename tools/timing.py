"""Finds the slowest paths of a netlist that Yosys mapped to a Xilinx part. Delays of wires are not counted.

The delays of cells are those of Yosys' library, cells_sim.v, in picoseconds: Artix-7, from Project X-Ray. A path begins
with a register's clock, a RAM's clock or an input. It ends at a register, at a RAM or at an output; setup times are not
counted.
"""

import pathlib
import re
from graphlib import TopologicalSorter
from typing import NamedTuple

import pyosys

CELLS = pathlib.Path(pyosys.__file__).parent / "share" / "xilinx" / "cells_sim.v"
ARC = re.compile(r"\((\w+)(?:\[(\d+)\])?\s*[=*]>\s*(\w+)(?:\[(\d+)\])?\)\s*=\s*(\d+)")
LAUNCH = re.compile(r"edge \w+ => \((\w+)(?:\[\d+\])? : [^=]*?\)\)\s*=\s*(\d+)")
# What tells bits of a register from each other, and words and pins of a RAM
PLACE = re.compile(r"\[\d+\]|(\.\d+)+(?= \()| \(\w+\)$|(?<=\$)\d+")


class SlowPath(NamedTuple):
    """A path: its delay, how many of its cells are LUTs and parts of carry chains, and both ends."""

    ps: int
    luts: int
    carries: int
    start: str
    end: str

    def __str__(self):
        cells = f"{self.luts} LUT, {self.carries} CARRY4"
        return f"{self.ps / 1000:>6.2f} ns {cells}: {self.start} to {self.end}"


def read_library():
    """Returns two maps by kind of cell: (from pin, index, to pin, index, ps), and (pin, ps) from the clock."""
    arcs, launches = {}, {}
    for kind, text in re.findall(r"^module (\w+)\b(.*?)^endmodule", CELLS.read_text(), re.S | re.M):
        arcs[kind] = ARC.findall(text)
        # Of several delays for several settings, the first is without the register at a RAM's output.
        launches[kind] = {}
        for pin, ps in LAUNCH.findall(text):
            launches[kind].setdefault(pin, int(ps))
    return arcs, launches


def slowest_paths(module):
    """Returns the slowest path to each end of a module in the form of Yosys' JSON, the slowest first.

    All bits of a register are one end, and so are all words and pins of a RAM.
    """
    arcs, launches = read_library()
    names = {}
    for name, net in module["netnames"].items():
        for index, bit in enumerate(net["bits"]):
            # Of several names of a wire, the shortest that the source has.
            text = f"{name}[{index + net.get('offset', 0)}]" if len(net["bits"]) > 1 else name
            if net["hide_name"] == 0 and len(text) < len(names.get(bit, "x" * 1000)):
                names[bit] = text

    arrival = {}  # of a wire: ps, LUTs, carries, start
    inputs = {}  # of a wire: the wires that it depends on, with the kind of cell and the delay
    ends = []  # wires at which paths end, with a name
    for name, port in module["ports"].items():
        for bit in port["bits"]:
            if port["direction"] == "input":
                arrival[bit] = (0, 0, 0, f"input {names.get(bit, name)}")
            else:
                ends.append((bit, f"output {names.get(bit, name)}"))
    for name, cell in module["cells"].items():
        kind, pins = cell["type"], cell["connections"]
        if kind not in arcs:
            raise SystemExit(f"timing: {kind} is not in {CELLS}")
        outputs = [pin for pin, way in cell["port_directions"].items() if way == "output"]
        own = next((names[bit] for pin in outputs for bit in pins[pin] if bit in names), name)
        for pin in launches[kind].keys() & pins.keys():
            for bit in pins[pin]:
                arrival[bit] = (launches[kind][pin], 0, 0, names.get(bit, own))
        if launches[kind]:
            ends += [(bit, f"{own} ({pin})") for pin in pins.keys() - set(outputs) for bit in pins[pin]]
        for a, a_index, b, b_index, ps in arcs[kind]:
            if a in pins and b in pins:
                for to in pins[b] if b_index == "" else pins[b][int(b_index):int(b_index) + 1]:
                    for source in pins[a] if a_index == "" else pins[a][int(a_index):int(a_index) + 1]:
                        inputs.setdefault(to, []).append((source, kind, int(ps)))

    order = TopologicalSorter({to: [source for source, _, _ in sources] for to, sources in inputs.items()})
    for bit in order.static_order():
        for source, kind, ps in inputs.get(bit, ()):
            before, luts, carries, start = arrival.get(source, (0, 0, 0, None))
            if start is None:
                continue  # a constant
            after = (before + ps, luts + kind.startswith("LUT"), carries + kind.startswith("CARRY"), start)
            arrival[bit] = max(arrival.get(bit, (0, 0, 0, "")), after)
    slowest = {}
    for bit, end in ends:
        if bit in arrival:
            path, name = SlowPath(*arrival[bit], end), PLACE.sub("", end)
            slowest[name] = max(path, slowest.get(name, path))
    return sorted(slowest.values(), reverse=True) or [SlowPath(0, 0, 0, "-", "-")]
