"""Synthesizes tops with Yosys for a Xilinx part and prints their cost: those that rtl/units.toml says to map.

Fails on a latch, a combinational loop, a driver conflict or anything else that Yosys' check finds, and when the cells of
a path take longer than the limit ("Speed" in rtl/nic/README.md). The tops that it says to check are only checked for
latches and the like, and mapped with --large. Clock gates are wires for the mapping; a second check has them as cells,
with the latch of each gate and no other. `synth.py MODULE …` maps only the tops of these modules, and prints the slowest
paths to ten ends. `synth.py --read` only has Yosys read all of them (`make check`), which takes seconds: it refuses what
Verilator takes, such as a name that is used before its declaration. Run it with the Python in .tools/.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import timing
import units

ROOT = Path(__file__).resolve().parent.parent
# What the NIC needs, with a little for what ABC does otherwise when something else changes. The period is 5,120.
LIMIT_PS = 5_500

# One process per top, because Yosys keeps its state in globals.
READER = """
import sys
from pyosys import libyosys as ys
top, parameters, source = sys.argv[1], sys.argv[2].split(), sys.argv[3]
overrides = " ".join("-G " + p for p in parameters)

def elaborate(define):
    design = ys.Design()
    ys.run_pass(f"read_slang --ignore-assertions {define} --top {top} {overrides} -F rtl/rtl.f {source}", design)
    ys.run_pass(f"hierarchy -check -top {top}", design)
    return design
"""

READ = READER + "elaborate('')"

WORKER = READER + """
stat, maps = sys.argv[4], sys.argv[5] == "True"

def read(define, latches):
    design = elaborate(define)
    ys.run_pass("proc", design)
    ys.run_pass(f"select -assert-none t:$dlatch t:$adlatch %u t:$dlatchsr %u {latches}", design)
    return design

# The latch of a gate drives its `enable_q`.
cells = read("", "w:*enable_q %ci1 %d")
ys.run_pass("flatten", cells)
ys.run_pass("opt_clean", cells)
ys.run_pass("check -assert", cells)
design = read("-D CLOCK_GATE_WIRE", "")
if not maps:
    ys.run_pass("flatten", design)
    ys.run_pass("opt_clean", design)
    ys.run_pass("check -assert", design)
    sys.exit()
# They tell a simulator how far it may skip. Hardware leaves them open, and what only they need goes.
ys.run_pass(f"delete -output {top}/w:idle_o {top}/w:wake_o", design)
# ABC would prove its own result for four fifths of the time that the whole NIC takes.
ys.run_pass("scratchpad -set abc9.verify 0", design)
ys.run_pass(f"synth_xilinx -flatten -noiopad -top {top}", design)
ys.run_pass("check -assert", design)
ys.run_pass(f"tee -q -o {stat} stat -json", design)
ys.run_pass(f"select {top}", design)
ys.run_pass(f"write_json -selected {stat}.netlist", design)
"""


def named(arguments):
    """Returns the modules whose tops are wanted."""
    return [argument for argument in arguments if argument != "--large"]


def choose(arguments):
    """Returns tops, and whether they are mapped."""
    wanted = named(arguments)
    tops = units.of_modules(wanted)
    maps = "--large" in arguments or bool(wanted)
    chosen = [(top, True) for top in tops if top.synth == "map"]
    return chosen + [(top, maps) for top in tops if top.synth == "check"]


def run(program, top, *arguments):
    """Runs a program for a top. Returns whether it succeeded, and the end of what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", program, top.module, top.params, str(top.source), *arguments],
        cwd=ROOT, capture_output=True, text=True,
    )
    return done.returncode == 0, (done.stdout + done.stderr).splitlines()[-25:]


def read_all():
    """Has Yosys read every top. Exits."""
    tops = [top for top, _ in choose([])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [(top, log) for top, (done, log) in zip(tops, pool.map(lambda top: run(READ, top), tops)) if not done]
    for top, log in failed:
        print(f"{top}: Yosys does not read it", *log, sep="\n", file=sys.stderr)
    sys.exit(1 if failed else 0)


def synthesize(top, maps):
    with tempfile.TemporaryDirectory() as folder:
        stat = Path(folder) / "stat.json"
        done, log = run(WORKER, top, str(stat), str(maps))
        if not done or stat.exists() != maps:
            return None, log
        if not maps:
            return ("-",) * 5 + (["-"],), []
        cells = json.loads(stat.read_text())["design"]["num_cells_by_type"]
        [module] = json.loads(Path(f"{stat}.netlist").read_text())["modules"].values()
        paths = timing.slowest_paths(module)
    count = lambda *prefixes: sum(n for kind, n in cells.items() if kind.startswith(prefixes))
    return (count("LUT"), count("FD"), count("CARRY"), count("RAMB"), count("RAM32", "RAM64", "RAM128", "RAM256"), paths), []


def main():
    if sys.argv[1:] == ["--read"]:
        read_all()
    tops = choose(sys.argv[1:])
    if not tops:
        sys.exit(f"synth: none of these tops has `synth` in rtl/units.toml: {' '.join(sys.argv[1:])}")
    failed = False
    print(f"{'top':34} {'LUT':>7} {'FF':>7} {'CARRY4':>7} {'BRAM':>5} {'LUTRAM':>7} {'logic':>9} slowest path")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # Large tops are in the last part of the list, which is started first, so that no processor is idle at the end.
        jobs = [pool.submit(synthesize, *top) for top in reversed(tops)][::-1]
        for (name, _), (costs, log) in zip(tops, (job.result() for job in jobs)):
            if costs is None:
                failed = True
                print(f"{name}: failed", *log, sep="\n", file=sys.stderr)
            else:
                path, *others = costs[5]
                print(f"{str(name):34} {costs[0]:>7} {costs[1]:>7} {costs[2]:>7} {costs[3]:>5} {costs[4]:>7} {path}", flush=True)
                if path != "-" and path.ps > LIMIT_PS:
                    failed = True
                    print(f"{name}: a path takes {path.ps} ps, more than {LIMIT_PS}", file=sys.stderr)
                for path in others[:9] if named(sys.argv[1:]) else ():
                    print(f"{'':73}{path}", flush=True)
    sys.exit(1 if failed else 0)


main()
