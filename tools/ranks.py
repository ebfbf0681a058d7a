#!/usr/bin/env python3
"""Runs of several ranks against runs of one: `make mpi`.

Each scenario runs with 1, 2 and 4 ranks: its results have to be the same to the byte, whoever ran what. So have they
where 4, 2 and 1 rank go on from a checkpoint of four. Then what has to be refused or named is: options that runs of
several ranks do not have yet, scenarios that are wrong, and a rank that dies, behind which the run goes on. At last the
commands of docs/ranks.md run as they stand there. Without RTL in the program, rows with RTL NICs are left out.

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


def clos(name, nic, duration, tors, hosts, leafs, spines, xoff="", incast=0):
    """A Clos network of two podsets in which each host has 8 QPs to its partner in the other podset. So many hosts of
    the second podset send to the first host of the first one too, in an incast."""
    half = tors * hosts
    here, there = f"h0..{half - 1}", f"h{half}..{2 * half - 1}"
    flows = "".join(
        f'[[flows]]\nname = "{flow}"\nfrom = "{a}"\nto = "{b}"\nqps = 8\nmessage = "64 KiB"\n'
        for flow, a, b in (("there", here, there), ("back", there, here))
    )
    if incast:
        flows += (
            f'[[flows]]\nname = "incast"\nfrom = "h{half}..{half + incast - 1}"\nto = "h0"\nmessage = "64 KiB"\n'
        )
    xoff = f'xoff = {{ static = "{xoff}" }}\n' if xoff else ""
    return (
        f'title = "{name}"\nduration = "{duration}"\n[host]\nnic = "{nic}"\n[host.dcqcn]\n[topology.clos]\n'
        f"podsets = 2\ntors = {tors}\nhosts = {hosts}\nleafs = {leafs}\nspines = {spines}\n"
        f"[topology.switch]\n{xoff}[topology.switch.ecn]\n{flows}"
    )


# Scenarios of this tool: the paper's network, and one of RTL NICs, in which switches mark and pause.
OWN = {
    "clos384": clos("384 model NICs", "model", "60 us", 24, 8, 4, 64),
    "clos16": clos("16 RTL NICs", "rtl", "60 us", 2, 4, 2, 4, xoff="100 KB", incast=8),
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


# Rows in which ranks go on from a checkpoint: name, scenario, options, interval of checkpoints, time.
RESUMED = (
    ("resumed-clos384", "clos384", [], "20us", "50us"),
    ("resumed-clos16", "clos16", [], "15us", "45us"),
    ("resumed-onboarding", "onboarding", ["--set", "variant=healthy"], "500us", "2ms"),
)
# Rows of which something has to have happened, or they say little: metrics that are not 0.
HAPPENED = {"clos16": ("ecn_marked.total", "pause_frames_rx.total"), "clos384": ("ecn_marked.total",)}


def arguments_of(scenario, options, folder):
    """The arguments of a scenario's run in a folder, in which its file is then."""
    if scenario in OWN:
        (folder / f"{scenario}.toml").write_text(OWN[scenario])
        return [f"{scenario}.toml", *options]
    return [scenario, "--set", "host.nic=model", *options]


def run(xoff, ranks, arguments, folder, checkpoints="off"):
    """Runs the command with so many ranks, without mpirun if it is one."""
    launch = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    command = [*launch, xoff, "run", *arguments, "--out", "out", "--checkpoints", checkpoints]
    ran = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=RUN_LIMIT, check=False
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
        run(xoff, ranks, arguments_of(scenario, options, folder), folder)
        found, told = results(folder / "out")
        if not found:
            raise Failed(f"{scenario}: no results with {ranks} ranks")
        first = first or found
        same(f"{scenario}: with {ranks} ranks other than with 1", first, found)
        name = next(name for name in told)
        if scenario in OWN and ranks > 1:
            on_page(found[name]["settings"]["title"], ranks, told[name]["exchange"])
        nothing = [metric for metric in HAPPENED.get(scenario, ()) if not found[name]["metrics"].get(metric)]
        if nothing:
            raise Failed(f"{scenario}: nothing of {', '.join(nothing)}")
        lines.append(f"  {ranks} ranks: {figures(told[name])}, digest {found[name]['digest']}")
        if (told[name]["exchange"] is None) != (ranks == 1):
            raise Failed(f"{scenario}: {ranks} ranks exchanged {told[name]['exchange']}")
    return lines


def same(what, first, other):
    """Whether two runs have the same results."""
    different = [name for name in {**first, **other} if first.get(name) != other.get(name)]
    if different:
        raise Failed(f"{what}: {', '.join(different)}")


def resumed(xoff, scenario, options, every, until, folder):
    """Four ranks take checkpoints; four, two and one go on from one. All come to what one comes to without a stop."""
    arguments = arguments_of(scenario, options, folder)
    run(xoff, 1, arguments, folder)
    whole, _ = results(folder / "out")
    run(xoff, 4, arguments, folder, every)
    same(f"{scenario}: with checkpoints other than without", whole, results(folder / "out")[0])
    lists = sorted((folder / "out/.checkpoints").glob("*/*.ckpt"))
    parts = [part for path in lists for part in path.with_suffix(".parts").iterdir()]
    if len(lists) < 3 or len(parts) != 4 * len(lists):
        raise Failed(f"{scenario}: {len(lists)} checkpoints of 4 ranks have {len(parts)} parts")
    size = sum(path.stat().st_size for path in [*lists, *parts]) / len(lists)
    lines = [f"  {len(lists)} checkpoints of 4 parts, {size / 1e6:.1f} MB each"]
    for ranks in (4, 2, 1):
        ran = run(xoff, ranks, [*arguments, f"--resume={until}"], folder, "auto")
        said = [line for line in ran.stderr.splitlines() if "goes on from a checkpoint at" in line]
        if len(said) != 1:
            raise Failed(f"{scenario}: {ranks} ranks went on from no checkpoint, or from several: {ran.stderr}")
        found, told = results(folder / "out")
        same(f"{scenario}: {ranks} ranks that went on came to something else", whole, found)
        name = next(name for name in told)
        lines.append(f"  {ranks} ranks: {said[0].removeprefix('xoff: ')}, {figures(told[name])}")
    return lines


def waves(xoff, folder):
    """One rank writes waves, from a checkpoint that two have written."""
    arguments = ["pair", "--set", "duration=120us"]
    run(xoff, 2, arguments, folder, "50us")
    digest = json.loads((folder / "out/pair/summary.json").read_text())["digest"]
    ran = run(xoff, 1, [*arguments, "--waves", "b:110us-111us"], folder, "auto")
    if "goes on from a checkpoint at" not in ran.stderr or not (folder / "out/pair/b.fst").exists():
        raise Failed(f"no waves from a checkpoint of two ranks: {ran.stderr}")
    if json.loads((folder / "out/pair/summary.json").read_text())["digest"] != digest:
        raise Failed("waves from a checkpoint of two ranks: another digest")


def unsaved(xoff, folder):
    """Hosts with TCP are in no checkpoint. That is said once if checkpoints were asked for, and else not."""
    arguments = ["latency", "--set", "host.nic=model", "--set", "duration=300us"]
    for checkpoints, times in (("100us", 1), ("auto", 0)):
        said = run(xoff, 2, arguments, folder, checkpoints).stderr.count("--checkpoints: there are none: hosts.")
        if said != times:
            raise Failed(f"--checkpoints {checkpoints}: said {said} times that there are none, wanted {times}")


def on_page(title, ranks, exchange):
    """Whether docs/ranks.md has what a run has exchanged."""
    megabytes = f"{exchange['bytes'] / 1e6:,.1f} MB"
    row = f"| {title} | {ranks} | {exchange['windows']:,} | {exchange['frames']:,} | {megabytes} |"
    if row not in (ROOT / "docs/ranks.md").read_text():
        raise Failed(f"docs/ranks.md does not have {row}")


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
    """A rank that dies ends the run, and is named. The run goes on from the last checkpoint before."""
    arguments = ["deadlock", "--set", "host.nic=model"]
    (folder / "whole").mkdir()
    run(xoff, 1, arguments, folder / "whole")
    whole, _ = results(folder / "whole/out")
    command = ["mpirun", "-n", "2", xoff, "run", *arguments, "--out", "out", "--checkpoints", "100us"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as ran:
        victim = None
        while victim is None and ran.poll() is None:
            time.sleep(0.02)
            begun = len(list(folder.glob("out/.checkpoints/*/*.ckpt"))) > 1
            victim = rank_of(ran.pid, 1) if begun else None
        if victim is None:
            raise Failed(f"deadlock ended before its rank could be ended: {ran.stdout.read()}")
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
    went_on = run(xoff, 2, [*arguments, "--resume"], folder, "auto").stderr
    if "goes on from a checkpoint at" not in went_on:
        raise Failed(f"a rank has died, and the run does not go on: {went_on}")
    same("a rank has died, and the run that goes on came to something else", whole, results(folder / "out")[0])


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
    for name, *row in RESUMED:
        if rtl or row[0] != "clos16":
            yield name, lambda folder, row=row: resumed(xoff, *row, folder)
    if rtl:
        yield "waves-after", lambda folder: waves(xoff, folder)
    yield "unsaved", lambda folder: unsaved(xoff, folder)
    yield "waves", lambda folder: refused(xoff, ["pair", "--waves", "fabric"], "--waves", folder)
    yield "no-checkpoint", lambda folder: refused(xoff, ["pair", "--resume"], "--resume: no checkpoint", folder)
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
            print("mpi: the program has no RTL NIC, so rows with it are left out")
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
