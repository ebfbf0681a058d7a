#!/usr/bin/env python3
"""Runs of several ranks against runs of one: `make mpi`.

Each scenario runs with 1, 2 and 4 ranks: its results have to be the same to the byte, whoever ran what. Then what has
to be refused or named is: options that runs of several ranks do not have yet, scenarios that are wrong, and a rank
that dies. At last the commands of docs/ranks.md run as they stand there. Without RTL in the program, rows with RTL
NICs are left out.

    tools/ranks.py --xoff target/release/xoff [ROW…]
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RANKS = (1, 2, 4)
# Seconds that a run, and the end of one whose rank has died, may take.
RUN_LIMIT, END_LIMIT = 600, 60
# More ranks than processors, which others use too, and containers, in which everybody is root: Open MPI's variables.
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
# What differs from run to run, or says how many ranks there were.
OF_THE_RUN = ("wall_s", "exchange")


def clos(name, nic, duration, tors, hosts, leafs, spines):
    """A Clos network of two podsets in which each host has 8 QPs to its partner in the other podset."""
    half = tors * hosts
    here, there = f"h0..{half - 1}", f"h{half}..{2 * half - 1}"
    flows = "".join(
        f'[[flows]]\nname = "{flow}"\nfrom = "{a}"\nto = "{b}"\nqps = 8\nmessage = "64 KiB"\n'
        for flow, a, b in (("there", here, there), ("back", there, here))
    )
    return (
        f'title = "{name}"\nduration = "{duration}"\n[host]\nnic = "{nic}"\n[host.dcqcn]\n[topology.clos]\n'
        f"podsets = 2\ntors = {tors}\nhosts = {hosts}\nleafs = {leafs}\nspines = {spines}\n"
        f"[topology.switch]\n[topology.switch.ecn]\n{flows}"
    )


# Scenarios of this tool: the paper's network, and one of RTL NICs.
OWN = {
    "clos384": clos("384 model NICs", "model", "60 us", 24, 8, 4, 64),
    "clos16": clos("16 RTL NICs", "rtl", "40 us", 2, 4, 2, 4),
}
# Rows: name, scenario, options. Faults, events, stages, patterns, monitors and captures go through the cut.
ROWS = (
    ("clos384", "clos384", []),
    ("clos16", "clos16", []),
    ("onboarding", "onboarding", []),
    ("collectives", "collectives", ["--check"]),
    ("headroom", "headroom", ["--set", "measure_from=0us", "--set", "duration=500us", "--pcap"]),
    ("tcp", "latency", ["--set", "duration=1ms"]),
    ("sweep", "lossy", ["--set", "measure_from=0us", "--set", "duration=300us", "--sweep", "seed=1..2"]),
)


class Failed(Exception):
    """What is not as it has to be."""


def run(xoff, ranks, arguments, folder, environment=ENVIRONMENT):
    """Runs the command with so many ranks, without mpirun if it is one."""
    launch = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    command = [*launch, xoff, "run", *arguments, "--out", "out", "--checkpoints", "off"]
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=RUN_LIMIT, check=False
    )
    # Exit code 1: an expectation failed, as they do in a part of a run.
    if ran.returncode not in (0, 1):
        raise Failed(f"{' '.join(command)}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran


def results(folder):
    """All files of results that do not tell of the run itself, and the parts of `summary.json` that do."""
    found, told = {}, {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name == "summary.json":
            summary = json.loads(path.read_text())
            told[name] = {key: summary.pop(key, None) for key in OF_THE_RUN}
            found[name] = summary
        elif path.suffix in (".csv", ".pcapng"):
            found[name] = path.read_bytes()
    return found, told


def compare(xoff, scenario, options, base):
    """Runs a scenario with all numbers of ranks. Returns lines about the runs."""
    lines, first = [], None
    for ranks in RANKS:
        folder = base / str(ranks)
        folder.mkdir()
        if scenario in OWN:
            (folder / f"{scenario}.toml").write_text(OWN[scenario])
            arguments = [f"{scenario}.toml", *options]
        else:
            arguments = [scenario, "--set", "host.nic=model", *options]
        run(xoff, ranks, arguments, folder)
        found, told = results(folder / "out")
        if not found:
            raise Failed(f"{scenario}: no results with {ranks} ranks")
        first = first or found
        different = [name for name in {**first, **found} if first.get(name) != found.get(name)]
        if different:
            raise Failed(f"{scenario}: with {ranks} ranks other than with 1: {', '.join(different)}")
        name = next(name for name in told)
        lines.append(f"  {ranks} ranks: {figures(told[name])}, digest {found[name]['digest']}")
        if (told[name]["exchange"] is None) != (ranks == 1):
            raise Failed(f"{scenario}: {ranks} ranks exchanged {told[name]['exchange']}")
    return lines


def figures(told):
    """Seconds of a run, and what was exchanged."""
    words, exchange = f"{told['wall_s']:.1f} s", told["exchange"]
    if exchange:
        waited = ", ".join(f"{100 * s / told['wall_s']:.0f} %" for s in exchange["waited_s"])
        words += (
            f", {exchange['windows']:,} windows, {exchange['frames']:,} frames, "
            f"{exchange['bytes'] / 1e6:,.1f} MB, waited {waited}"
        )
    return words


def refused(xoff, arguments, says, folder):
    """A run of two ranks that is refused: exit code 2, and the reason once."""
    command = ["mpirun", "-n", "2", xoff, "run", *arguments]
    ran = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=RUN_LIMIT, check=False
    )
    said = [line for line in ran.stderr.splitlines() if line.startswith("xoff: ")]
    if ran.returncode != 2 or len(said) != 1 or says not in said[0]:
        raise Failed(f"{' '.join(arguments)}: exit code {ran.returncode}, said {said}, wanted 2 and '{says}'")


def dies(xoff, folder):
    """A rank that dies ends the run, and is named."""
    command = ["mpirun", "-n", "2", xoff, "run", "deadlock", "--out", "out"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as ran:
        victim = None
        while victim is None and ran.poll() is None:
            time.sleep(0.1)
            begun = (folder / "out/deadlock/summary.json").exists()
            victim = rank_of(ran.pid, 1) if begun else None
        if victim is None:
            raise Failed(f"deadlock ended before its rank could be ended: {ran.stdout.read()}")
        time.sleep(0.5)
        os.kill(victim, signal.SIGKILL)
        try:
            said, _ = ran.communicate(timeout=END_LIMIT)
        except subprocess.TimeoutExpired as late:
            ran.kill()
            raise Failed(f"a rank has died, and the run goes on for {END_LIMIT} s") from late
    if ran.returncode == 0 or "rank 1" not in said:
        raise Failed(f"a rank has died: exit code {ran.returncode}, said\n{said}")
    state = json.loads((folder / "out/deadlock/summary.json").read_text())["state"]
    if state == "finished":
        raise Failed("a rank has died, and the run says that it has finished")


def rank_of(launcher, rank):
    """The process of a rank below a launcher."""
    for process in Path("/proc").iterdir():
        try:
            parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
            variables = (process / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            continue
        if parent == launcher and f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables:
            return int(process.name)
    return None


def documented(xoff, folder):
    """The commands of docs/ranks.md that begin with mpirun."""
    blocks = (ROOT / "docs/ranks.md").read_text().split("```sh\n")[1:]
    lines = [line for block in blocks for line in block.split("```")[0].splitlines()]
    commands = [line for line in lines if line.startswith("mpirun")]
    if not commands:
        raise Failed("docs/ranks.md has no command that begins with mpirun")
    path = f"{Path(xoff).parent}:{os.environ['PATH']}"
    for command in commands:
        ran = subprocess.run(
            command, shell=True, cwd=folder, env={**ENVIRONMENT, "PATH": path}, capture_output=True, text=True,
            timeout=RUN_LIMIT, check=False,
        )
        if ran.returncode != 0 or "exchange: " not in ran.stdout:
            raise Failed(f"{command}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")


def has_rtl(xoff, folder):
    """Whether the program has RTL NICs."""
    command = [xoff, "run", "pair", "--set", "duration=110us", "--out", "rtl"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_LIMIT, check=False)
    return "no RTL NIC" not in ran.stderr


def checks(xoff, rtl):
    """Everything that is tried: name, and what does it in a folder."""
    for name, scenario, options in ROWS:
        if rtl or scenario != "clos16":
            yield name, lambda folder, scenario=scenario, options=options: compare(xoff, scenario, options, folder)
    yield "waves", lambda folder: refused(xoff, ["pair", "--waves", "fabric"], "--waves", folder)
    yield "checkpoints", lambda folder: refused(xoff, ["pair", "--checkpoints", "1ms"], "--checkpoints", folder)
    yield "unknown", lambda folder: refused(xoff, ["nobody"], "'nobody'", folder)
    yield "dies", lambda folder: dies(xoff, folder)
    yield "documented", lambda folder: documented(xoff, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xoff", required=True, help="the program, built with --features mpi")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only rows whose names begin so")
    arguments = parser.parse_args()
    xoff = os.path.abspath(arguments.xoff)
    failed = 0
    with tempfile.TemporaryDirectory() as base:
        base = Path(base)
        rtl = has_rtl(xoff, base)
        if not rtl:
            print("mpi: the program has no RTL NIC, so clos16 is left out")
        for name, check in checks(xoff, rtl):
            if arguments.rows and not name.startswith(tuple(arguments.rows)):
                continue
            folder = base / name
            folder.mkdir()
            try:
                lines = check(folder) or []
                print("\n".join([f"mpi: {name} holds", *lines]), flush=True)
            except (Failed, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"mpi: {name} FAILED: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
