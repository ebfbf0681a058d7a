#!/usr/bin/env python3
"""Has Linux talk to the RTL NIC: `make interop`.

Each row boots Debian's kernel in QEMU, with rdma_rxe on a port whose cable is a socket, and runs a tool of libibverbs
or perftest there, unchanged. At the other end of the cable is `xoff attach`. A row holds when both ends say so, the
messages that came are those that were sent, and `xoff check` finds nothing in the capture.

    tools/interop.py --xoff target/release/xoff --guest target/interop --out out/interop [--model] [ROW…]
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

GUEST_IP, NIC_IP = "192.0.2.1", "192.0.2.2"
# Seconds: a guest that does not end, and one that an attached end has to follow.
GUEST_LIMIT, END_LIMIT = 240, 60
OFFLOADS = ["csum", "guest_csum", "gso"] + [
    f"{side}_{what}" for side in ("host", "guest") for what in ("tso4", "tso6", "ecn", "ufo")
]


@dataclass
class Row:
    """One run: the tool of both ends, their options, and what is expected."""

    name: str
    tool: str
    client: str  # "linux" or "nic"
    options: list = field(default_factory=list)  # of both ends
    attach: list = field(default_factory=list)  # of `xoff attach`, before the tool
    nic_options: list = field(default_factory=list)  # of the tool at the NIC alone
    code: int = 0  # with which `xoff attach` ends
    failed: str = ""  # what its failure has to name
    guest_says: str = ""  # what the guest has to say
    not_yet: str = ""


def loss(rule):
    return ["--fault-in", rule, "--fault-out", rule]


def matrix():
    rows = []
    for client in ("linux", "nic"):
        for mtu in (256, 512, 1024, 2048, 4096):
            options = ["-m", str(mtu), "-s", "10000", "-n", "50"]
            rows.append(Row(f"pingpong-{mtu}-{client}", "ibv_rc_pingpong", client, options))
    short = ["-s", "1", "-n", "50"]
    long = ["-m", "4096", "-s", "1000000", "-n", "3"]
    rows.append(Row("pingpong-1-byte", "ibv_rc_pingpong", "linux", short))
    rows.append(Row("pingpong-1-mb", "ibv_rc_pingpong", "linux", long))
    lossy = ["-m", "1024", "-s", "10000", "-n", "100"]
    one = loss("opcode 1, chance 1/100: drop")
    rows.append(Row("pingpong-loss", "ibv_rc_pingpong", "linux", lossy, attach=one))
    twice = loss("opcode 1, chance 1/50: duplicate")
    rows.append(Row("pingpong-duplicates", "ibv_rc_pingpong", "linux", lossy, attach=twice))
    late = loss("opcode 1, chance 1/50: delay 50 us")
    rows.append(Row("pingpong-reorder", "ibv_rc_pingpong", "linux", lossy, attach=late))
    for tool in ("ib_send_bw", "ib_write_bw"):
        for client in ("linux", "nic"):
            options = ["-s", "8192", "-n", "200", "-m", "1024"]
            rows.append(Row(f"{tool}-{client}", tool, client, options))
        rows.append(Row(f"{tool}-loss", tool, "linux", ["-s", "8192", "-n", "200", "-m", "1024"], attach=one))
    wrong = ["-s", "1024", "-n", "5", "-m", "1024"]
    rows.append(
        Row("wrong-key-nic", "ib_write_bw", "nic", wrong, nic_options=["--wrong-key"], code=1, failed="RemoteAccess")
    )
    rows.append(
        Row("wrong-key-linux", "ib_write_bw", "linux", wrong, nic_options=["--wrong-key"], code=2,
            failed="closed", guest_says="remote access error|syndrom")
    )
    later = "the RTL has no READ and no atomics yet"
    rows += [Row(tool, tool, "linux", not_yet=later) for tool in ("ib_read_bw", "ib_atomic_bw")]
    return rows


def guest_command(row):
    """The command in the guest."""
    words = [row.tool, "-d", "rxe0"]
    words += ["-g", "1"] if row.tool == "ibv_rc_pingpong" else ["-x", "1", "-F"]
    words += row.options
    if row.client == "linux":
        words.append(NIC_IP)
    return " ".join(words)


def boot(guest, socket, log, command):
    """Starts the machine."""
    off = ",".join(f"{name}=off" for name in OFFLOADS)
    append = f'console=ttyS0 loglevel=4 panic=-1 mitigations=off RUN="{command}"'
    return subprocess.Popen(
        ["qemu-system-x86_64", "-accel", "tcg", "-M", "pc,usb=off", "-cpu", "max", "-m", "384", "-smp", "1"]
        + ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        + ["-kernel", str(guest / "vmlinuz"), "-initrd", str(guest / "initramfs.gz"), "-append", append]
        + ["-serial", f"file:{log}"]
        + ["-netdev", f"stream,id=net0,server=off,addr.type=unix,addr.path={socket}"]
        + ["-device", f"virtio-net-pci,netdev=net0,mac=52:54:00:00:00:01,romfile=,{off}"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def attach_command(arguments, row, socket, out):
    command = [str(arguments.xoff), "attach", f"unix:{socket}", "--wait", "60", "--json", "--out", str(out)]
    command += ["--model"] if arguments.model else []
    command += ["--waves"] if arguments.waves else []
    command += row.attach + [row.tool] + row.options + row.nic_options
    return command + ([GUEST_IP] if row.client == "nic" else [])


def run(arguments, row):
    """Runs a row. Returns what is wrong, and the summary of the NIC's end."""
    out = arguments.out / row.name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "link.sock"
        command = attach_command(arguments, row, socket, out)
        end = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not socket.exists() and end.poll() is None:
            time.sleep(0.02)
        machine = boot(arguments.guest, socket, out / "guest.log", guest_command(row))
        try:
            machine.wait(GUEST_LIMIT)
            _, said = end.communicate(timeout=END_LIMIT)
        except subprocess.TimeoutExpired as late:
            return [f"did not end in {late.timeout:.0f} s"], {}
        finally:
            for process in (machine, end):
                if process.poll() is None:
                    process.kill()
                    process.wait()
    (out / "attach.log").write_text(said)
    return judge(arguments, row, out, end.returncode, said)


def judge(arguments, row, out, code, said):
    log = (out / "guest.log").read_text(errors="replace")
    try:
        summary = json.loads((out / "summary.json").read_text())
    except (OSError, ValueError):
        return [f"xoff attach wrote no summary: {said.strip()}"], {}
    wrong = []
    ended = re.search(r"guest: ended with (\d+)", log)
    if not ended:
        wrong.append("the guest's tool did not end")
    elif (ended[1] == "0") != (row.code == 0):
        wrong.append(f"the guest's tool ended with {ended[1]}")
    if code != row.code:
        wrong.append(f"xoff attach ended with {code}: {summary['error'] or json.dumps(summary['ended'])}")
    if row.failed not in json.dumps(summary["ended"]) + str(summary["error"]):
        wrong.append(f"xoff attach does not say {row.failed}")
    if row.guest_says and not re.search(row.guest_says, log, re.IGNORECASE):
        wrong.append(f"the guest does not say {row.guest_says}")
    if row.tool == "ibv_rc_pingpong" and row.client == "linux" and not wrong:
        # Linux's tool sends a buffer full of 0x7b.
        size = int(row.options[row.options.index("-s") + 1])
        expected = zlib.crc32(bytes([0x7B]) * size)
        if summary["messages"]["checksum"] != expected:
            wrong.append(f"the first message has checksum {summary['messages']['checksum']:#x}, not {expected:#x}")
    checked = subprocess.run(
        [str(arguments.xoff), "check", str(out / "capture.pcapng")], capture_output=True, text=True
    )
    (out / "check.txt").write_text(checked.stdout + checked.stderr)
    if checked.returncode != 0:
        wrong.append(f"xoff check: {(checked.stdout + checked.stderr).strip().splitlines()[-1]}")
    return wrong, summary


def say(cells, verdict):
    """Prints a row of the table."""
    name, client, *numbers = cells
    columns = [f"{name:<22} {client:<6}"] + [f"{number:>8}" for number in numbers]
    print(*columns, "", verdict, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xoff", type=Path, required=True)
    parser.add_argument("--guest", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", action="store_true", help="the model NIC instead of the RTL")
    parser.add_argument("--waves", action="store_true", help="write waves of the RTL")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to run, by the beginnings of their names")
    arguments = parser.parse_args()
    rows = [row for row in matrix() if not arguments.rows or row.name.startswith(tuple(arguments.rows))]
    if not rows:
        names = ", ".join(row.name for row in matrix())
        sys.exit(f"interop: no row begins with {', '.join(arguments.rows)}; there are {names}")
    heads = ("row", "client", "sent", "received", "resent", "lost", "s")
    say(heads, "result")
    failed = skipped = 0
    for row in rows:
        if row.not_yet:
            skipped += 1
            say((row.name, row.client, "", "", "", "", ""), f"not yet: {row.not_yet}")
            continue
        began = time.time()
        wrong, summary = run(arguments, row)
        failed += bool(wrong)
        messages, counters = summary.get("messages", {}), summary.get("counters", {})
        lost = sum(count for why, count in summary.get("dropped", {}).items() if why.startswith("fault"))
        counts = (messages.get("sent", ""), messages.get("received", ""), counters.get("resent_out", 0), lost)
        verdict = "; ".join(wrong) if wrong else "held" if row.code == 0 else f"held: {row.failed}"
        say((row.name, row.client, *counts, round(time.time() - began)), verdict)
    held = len(rows) - failed - skipped
    print(f"\n{held} held, {failed} failed, {skipped} not yet; captures and what the guest says: {arguments.out}")
    sys.exit(failed > 0)


main()
