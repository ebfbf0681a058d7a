#!/usr/bin/env python3
"""Has Linux talk to the RTL NIC: `make interop`.

Debian's kernel boots in QEMU, with rdma_rxe on a port whose cable is a socket. Each row runs a tool of libibverbs,
librdmacm or perftest there, unchanged, and `xoff attach` at the other end of the cable. It holds when both ends say so,
the messages that came are those that were sent, and `xoff check` finds nothing in the capture.

    tools/interop.py --xoff target/release/xoff --guest target/interop --out out/interop [--model] [ROW…]
"""
import argparse
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

GUEST_IP, NIC_IP = "192.0.2.1", "192.0.2.2"
# In a network the first host is the guest, and the second one has the tool.
HOST_IP, FAR_IP = "10.0.0.1", "10.0.0.2"
GUEST_MAC, HOST_MAC = "52:54:00:00:00:01", "02:00:00:00:00:01"
SCENARIO = Path(__file__).parent / "interop" / "incast.toml"
# Seconds: until the guest has to be there, a tool in it has to end, and the attached end has to follow.
BOOT_LIMIT, TOOL_LIMIT, END_LIMIT = 300, 120, 30
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
    guest_options: list = field(default_factory=list)  # of the guest's tool alone
    code: int = 0  # with which `xoff attach` ends
    failed: str = ""  # what its failure has to name
    manager: dict = field(default_factory=dict)  # messages of RDMA CM that the NIC's end has counted, at least
    guest_fails: bool | None = None  # whether the guest's tool fails, if not as `xoff attach`
    guest_says: str = ""  # what the guest has to say
    limit: int = TOOL_LIMIT  # seconds after which the guest's tool is killed, of the guest's clock
    pace: str = ""  # if not that of the command line
    step: str = ""  # how long the guest runs at a time, in step with the simulation
    again: int | None = None  # how many requests Linux may send again
    cable: str = "stream"  # QEMU's network backend
    run: list = field(default_factory=list)  # of `xoff run`, if the guest is a host of a network
    netem: str = ""  # what the guest's queueing discipline netem does with what the guest sends


def faults(opcodes, what, ways=("in", "out")):
    """Rules for both ways, or one. The opcodes are those of the BTH, without the bits of the service: RC has 0."""
    return [word for code in opcodes for way in ways for word in (f"--fault-{way}", f"opcode {code}, {what}")]


# SENDs and WRITEs; their acknowledgements too; READs and atomics with their answers.
REQUESTS = (0, 1, 2, 4, 6, 7, 8, 10)
ACK, CNP = 17, 129
ALL = (*REQUESTS, ACK)
# Of the service UD: messages of RDMA CM.
DATAGRAM = 100
ANSWERED = (ACK, 12, 13, 14, 15, 16, 18, 19, 20)


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
    # An end of ibv_rc_pingpong is gone when it has got its last message, so that nobody would send its last ACK again.
    one = faults(REQUESTS, "chance 1/100: drop")
    rows.append(Row("pingpong-loss", "ibv_rc_pingpong", "linux", lossy, attach=one))
    # The capture is taken at the NIC's port. A request that comes twice there while others come again looks like one
    # that goes back where nothing asked for it, and an answer to what is late behind the port like one to nothing.
    twice = faults(REQUESTS, "chance 1/50: duplicate", ["out"]) + faults([ACK], "chance 1/10: duplicate", ["in"])
    rows.append(Row("pingpong-duplicates", "ibv_rc_pingpong", "linux", lossy, attach=twice))
    late = faults(REQUESTS, "chance 1/50: delay 50 us", ["in"])
    rows.append(Row("pingpong-reorder", "ibv_rc_pingpong", "linux", lossy, attach=late))
    for tool in ("ib_send_bw", "ib_write_bw"):
        options = ["-s", "8192", "-n", "200", "-m", "1024"]
        lost = faults(ALL, "chance 1/100: drop")
        for client in ("linux", "nic"):
            rows.append(Row(f"{tool}-{client}", tool, client, options))
            rows.append(Row(f"{tool}-loss-{client}", tool, client, options, attach=lost))
    read = ["-s", "8192", "-n", "200", "-m", "1024"]
    rows += one_sided("ib_read_bw", "ib_read_bw", read)
    # Linux answers a READ that is asked again from within as if nothing had been lost, with a middle response where the
    # standard has a first one, and a NIC that holds it to that never gets its answer.
    within = faults([14], "skip 20, shots 1: drop", ["in"])
    rows.append(Row("read-within-nic", "ib_read_bw", "nic", read, attach=within, code=1, failed="RetryExceeded"))
    rows += one_sided("fetch-add", "ib_atomic_bw", ["-n", "200", "-A", "FETCH_AND_ADD"])
    rows += one_sided("cmp-swap", "ib_atomic_bw", ["-n", "200", "-A", "CMP_AND_SWAP"])
    # The guest's kernel loses, doubles and delays what it sends, TCP and ARP too: requests, or ACKs with the NIC as the
    # client. ACKs out of order in front of the port cannot be told from those of a responder that goes back.
    rows += rping()
    some = ["-s", "8192", "-n", "200", "-m", "1024"]
    netems = ("loss", "loss 1%"), ("duplicates", "duplicate 2%"), ("reorder", "delay 300us reorder 98%")
    rows += [Row(f"netem-{name}-linux", "ib_send_bw", "linux", some, netem=netem) for name, netem in netems]
    rows += [Row(f"netem-{name}-nic", "ib_write_bw", "nic", some, netem=netem) for name, netem in netems[:2]]
    rows.append(Row("dgram", "ibv_rc_pingpong", "linux", ["-s", "10000", "-n", "50"], cable="dgram"))
    rows += [*network(), *steps()]
    # One buffer for all that is on its way: the receiver is not ready again and again.
    few = ["-s", "4096", "-n", "50", "-m", "1024", "-r", "1"]
    # Linux takes longer for a window of packets than the NIC waits: it would get them again before it has answered.
    rows += [Row("rnr-linux", "ib_send_bw", "linux", few), Row("rnr-nic", "ib_send_bw", "nic", few, pace="0.02")]
    wrong = ["-s", "8192", "-n", "5", "-m", "1024"]
    rows.append(
        Row("wrong-key-nic", "ib_write_bw", "nic", wrong, nic_options=["--wrong-key"], code=1, failed="RemoteAccess")
    )
    rows.append(
        Row("wrong-key-linux", "ib_write_bw", "linux", wrong, nic_options=["--wrong-key"], code=2,
            failed="closed", guest_says="remote access error|syndrom")
    )
    # Linux's tool is killed while it sends, or is sent to: its queue pair is destroyed under load.
    endless = ["-s", "8192", "-n", "1000000", "-m", "1024"]
    rows += [
        Row("destroyed-linux", "ib_send_bw", "linux", endless, limit=2, code=2, failed="closed the TCP connection"),
        Row("destroyed-nic", "ib_send_bw", "nic", endless, limit=2, code=1, failed="RetryExceeded"),
    ]
    return rows


def one_sided(name, tool, options):
    """Rows of a tool of READs or atomics: either end as the client, with and without losses."""
    lost = faults(ANSWERED, "chance 1/100: drop")
    for client in ("linux", "nic"):
        yield Row(f"{name}-{client}", tool, client, options)
        if (tool, client) == ("ib_read_bw", "nic"):
            # One response each: none is asked for again from within.
            options = ["-s", "1024", "-n", "400", "-m", "1024"]
        yield Row(f"{name}-loss-{client}", tool, client, options, attach=lost)


def rping():
    """Rows of rping, whose ends connect by RDMA CM: either end as the client."""
    # One packet a buffer: no READ is asked for again from within.
    some = ["-S", "4000", "-C", "30", "-V"]
    # A ping is one message after the other, so that whatever is lost is sent again when a time is over.
    lost = faults((*REQUESTS, *ANSWERED), "chance 1/100: drop")
    for client in ("linux", "nic"):
        yield Row(f"rping-{client}", "rping", client, ["-S", "60000", "-C", "30", "-V"])
        yield Row(f"rping-loss-{client}", "rping", client, some, attach=lost, pace="1")
        # The client sends REQ, RTU and DREQ, the server REP and DREP.
        asks, answers = ("in", "out") if client == "linux" else ("out", "in")
        # Whoever is first sends again when the REP is lost: both wait.
        again = {"req": {"REQ resent": 1}, "rep": {"REP in": 1}, "rtu": {"RTU out": 2}}
        if client == "linux":
            # Its first SEND says what its RTU does.
            again = {"req": {"REQ in": 1}, "rep": {"REP out": 2}, "rtu": {}}
        for name, way, place in (("req", asks, 0), ("rep", answers, 0), ("rtu", asks, 1)):
            one = faults([DATAGRAM], f"skip {place}, shots 1: drop", [way])
            yield Row(f"rping-no-{name}-{client}", "rping", client, some, attach=one, pace="1", manager=again[name])
    # Linux's tool forgets the connection when it has sent its DREQ: nobody sends that again, and a server waits on.
    one = faults([DATAGRAM], "skip 2, shots 1: drop", ["in"])
    yield Row("rping-no-dreq-linux", "rping", "linux", some, attach=[*one, "--wait", "5"], pace="1",
              code=2, failed="30 of 30 pings went", guest_fails=False)
    one = faults([DATAGRAM], "skip 2, shots 1: drop", ["out"])
    yield Row("rping-no-dreq-nic", "rping", "nic", some, attach=one, pace="1", manager={"DREQ resent": 1})
    # Nobody waits at that port.
    yield Row("rping-refused-linux", "rping", "linux", some, guest_options=["-p", "7175"], attach=["--wait", "5"],
              code=2, failed="its service ID is 0x0000000001061c07", guest_says="REJECTED, error 8")
    yield Row("rping-refused-nic", "rping", "nic", some, nic_options=["-p", "7175"], pace="1", limit=5,
              code=2, failed="invalid service ID")


def ping(size):
    """The first ping of rping."""
    text = b"rdma-ping-0: "
    letters = bytes(range(ord("A"), ord("z") + 1)) * (size // 58 + 1)
    return (text + letters)[: size - 1] + bytes(1)


# Class 3, whose DSCPs are 24 to 31, is lossless there; the lowest bits say that packets may be marked.
TRAFFIC_CLASS = 26 << 2 | 2


def steps():
    """Rows in which the guest's clock goes with the simulation, however slow waves make it: no timer of Linux ends."""
    one = {"attach": ["--waves"], "step": "50us", "again": 0}
    yield Row("step-pingpong", "ibv_rc_pingpong", "linux", ["-m", "4096", "-s", "10000", "-n", "3"], **one)
    # An ACK timeout of 4.096 us * 2^12: 17 ms.
    short = {"guest_options": ["-u", "12"], **one}
    yield Row("step-write", "ib_write_bw", "linux", ["-m", "4096", "-s", "8192", "-n", "10"], **short)
    some = ["-m", "1024", "-s", "8192", "-n", "200", f"--tclass={TRAFFIC_CLASS}", "-t", "4"]
    sets = ["--set", "hosts.far.tool.name=ib_send_bw"]
    yield Row("step-network", "ib_send_bw", "linux", some, cable="network", run=sets, step="50us", again=0)


def network():
    """Rows with the guest behind two switches: tools/interop/incast.toml."""
    some = ["-s", "8192", "-n", "200", "-m", "1024"]
    # Linux does not obey pauses: four messages are the most that fit where its packets wait then.
    classed = [*some, f"--tclass={TRAFFIC_CLASS}", "-t", "4"]
    for name, tool, client, options in (
        ("send", "ib_send_bw", "linux", classed),
        ("read", "ib_read_bw", "linux", classed),
        ("pingpong", "ibv_rc_pingpong", "nic", some),
    ):
        sets = [f"hosts.far.tool.name={tool}"] + ["hosts.far.tool.server=linux"] * (client == "nic")
        run = [word for key in sets for word in ("--set", key)]
        yield Row(f"network-{name}-{client}", tool, client, options, cable="network", run=run)
    # Its length is that of the scenario.
    pings = ["-S", "8192", "-C", "200", "-V"]
    for client in ("linux", "nic"):
        sets = ["hosts.far.tool.name=rping"] + ["hosts.far.tool.server=linux"] * (client == "nic")
        run = [word for key in sets for word in ("--set", key)]
        yield Row(f"network-rping-{client}", "rping", client, pings, cable="network", run=run)


def guest_command(row):
    """The command in the guest."""
    words = [f"timeout -s KILL {row.limit}", row.tool]
    if row.tool == "rping":
        words += ["-c", "-a", FAR_IP if row.run else NIC_IP] if row.client == "linux" else ["-s"]
    else:
        words += ["-d", "rxe0"] + (["-g", "1"] if row.tool == "ibv_rc_pingpong" else ["-x", "1", "-F"])
    words += row.options + row.guest_options
    if row.client == "linux" and row.tool != "rping":
        words.append(FAR_IP if row.run else NIC_IP)
    command = " ".join(words)
    if row.netem:
        command = (
            f"/usr/bin/tc qdisc add dev eth0 root netem {row.netem} && {command}; ended=$?; "
            "/usr/bin/tc -s qdisc show dev eth0; /usr/bin/tc qdisc del dev eth0 root; exit $ended"
        )
    return command


class Guest:
    """The machine. QEMU listens at the cable's socket, for one end after the other; or has a socket for datagrams."""

    def __init__(self, guest, folder, log, cable):
        line, link, nic, monitor = (folder / f"{name}.sock" for name in ("line", "link", "nic", "qmp"))
        self.monitor = f"unix:{monitor}"
        if cable == "dgram":
            backend = f"dgram,id=net0,local.type=unix,local.path={link},remote.type=unix,remote.path={nic}"
            self.cable = [f"dgram:{nic},{link}"]
        else:
            backend = f"stream,id=net0,server=on,addr.type=unix,addr.path={link}"
            self.cable = [f"unix:{link}", "--connect"]
        ip, mac = (HOST_IP, HOST_MAC) if cable == "network" else (GUEST_IP, GUEST_MAC)
        off = ",".join(f"{name}=off" for name in OFFLOADS)
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg", "-M", "pc,usb=off", "-cpu", "max", "-m", "384", "-smp", "1"]
            + ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-rtc", "clock=vm"]
            + ["-qmp", f"{self.monitor},server=on,wait=off"]
            + ["-kernel", str(guest / "vmlinuz"), "-initrd", str(guest / "initramfs.gz")]
            + ["-append", f"console=ttyS0 loglevel=4 panic=-1 mitigations=off ADDRESS={ip}"]
            + ["-serial", f"file:{log}", "-serial", f"unix:{line},server=on,wait=off"]
            + ["-netdev", backend]
            + ["-device", f"virtio-net-pci,netdev=net0,mac={mac},romfile=,{off}"],
            stdin=subprocess.DEVNULL,
        )
        self.line = socket.socket(socket.AF_UNIX)
        self.said = ""
        try:
            self.connect(line)
            self.until("guest: ready", BOOT_LIMIT)
        except (OSError, EOFError) as error:
            self.stop()
            sys.exit(f"interop: the guest did not boot ({error}); its words are in {log}")

    def connect(self, line):
        for _ in range(500):
            if self.process.poll() is not None:
                raise EOFError("QEMU ended")
            try:
                return self.line.connect(str(line))
            except OSError:
                time.sleep(0.02)
        raise EOFError("no serial line")

    def until(self, word, limit):
        """Reads until the guest says a word. Returns what it said before and the rest of the line."""
        end = time.time() + limit
        while not (found := re.search(f"{word}(.*)\n", self.said)):
            self.line.settimeout(max(0.1, end - time.time()))
            more = self.line.recv(65536)
            if not more:
                raise EOFError("the guest is gone")
            self.said += more.decode(errors="replace")
        before, self.said = self.said[: found.start()], self.said[found.end() :]
        return before, found[1]

    def begin(self, command):
        self.line.sendall(f"{command}\n".encode())

    def end(self, limit):
        """Waits until the command ends, so many seconds. Returns what it said and its exit code."""
        said, code = self.until("guest: ended with ", limit)
        return said, int(code)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def time_of(arguments, row, guest):
    """How simulated time goes."""
    if row.step and not arguments.free:
        return ["--step", row.step, "--qmp", guest.monitor]
    return ["--pace", row.pace or ("1" if row.step else arguments.pace)]


def network_command(arguments, row, guest, out):
    """The command for a row in a network."""
    place, connect = guest.cable
    command = [str(arguments.xoff), "run", str(SCENARIO), "--attach", f"linux={place}", connect, "--json"]
    command += ["--out", str(out), "--pcap", "linux", *time_of(arguments, row, guest), *row.run]
    return command + (["--set", "host.nic=model"] if arguments.model else [])


def attach_command(arguments, row, guest, out):
    command = [str(arguments.xoff), "attach", *guest.cable, "--json", "--out", str(out)]
    command += time_of(arguments, row, guest)
    command += ["--model"] if arguments.model else []
    command += ["--waves"] if arguments.waves and "--waves" not in row.attach else []
    command += row.attach + [row.tool] + row.options + row.nic_options
    if row.tool == "rping":
        return command + (["-c", "-a", GUEST_IP] if row.client == "nic" else ["-s"])
    return command + ([GUEST_IP] if row.client == "nic" else [])


def run(arguments, row, guest):
    """Runs a row. Returns what is wrong, and the summary of the NIC's end."""
    out = arguments.out / row.name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    command = (network_command if row.run else attach_command)(arguments, row, guest, out)
    # A client that finds nobody asks again, and rules that count messages would count those.
    guest_first = row.tool == "rping" and row.client == "nic"
    if guest_first:
        guest.begin(guest_command(row))
        time.sleep(0.5)
    end = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    # It creates the capture, and connects.
    while not (results(row, out) / "capture.pcapng").exists() and end.poll() is None:
        time.sleep(0.02)
    if not guest_first:
        time.sleep(0.2)
        guest.begin(guest_command(row))
    try:
        # In step, the guest's clock goes slower than that on the wall.
        said, code = guest.end((TOOL_LIMIT + END_LIMIT) * (10 if row.step else 1))
        _, words = end.communicate(timeout=END_LIMIT)
    except subprocess.TimeoutExpired as late:
        end.terminate()
        _, words = end.communicate()
        words += f"did not end in {late.timeout:.0f} s"
    (out / "attach.log").write_text(words)
    (out / "guest.log").write_text(f"{guest_command(row)}\n{said}ended with {code}\n")
    return judge(arguments, row, out, end.returncode, code, said, words)


def results(row, out):
    """The folder with the capture and the summary: that of the scenario, if there is one."""
    return out / SCENARIO.stem if row.run else out


def summary_of(row, out):
    """The summary of the NIC's end. Of a network it is that of the host with the tool."""
    summary = json.loads((results(row, out) / "summary.json").read_text())
    if not row.run:
        return summary
    attached = summary["attached"]
    broken = [it["metric"] for it in summary["expectations"] if not it["held"]]
    error = attached["error"] or (f"expected otherwise: {', '.join(broken)}" if broken else None)
    return {"error": error, **attached["tools"][0]}


def sent_again(arguments, row, out):
    """How many of the guest's requests are in the capture once more: each has a PSN of its own."""
    capture = str(results(row, out) / "capture.pcapng")
    command = [str(arguments.xoff), "decode", "--model", "--format", "jsonl", capture]
    rows = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    if not rows:
        raise ValueError(f"{' '.join(command)}: no rows")
    guest = HOST_IP if row.run else GUEST_IP
    seen, again = set(), 0
    for frame in map(json.loads, rows):
        # Of RC's opcodes 13 to 18 are answers.
        if frame.get("src_ip") != guest or frame.get("opcode", ACK) in (*range(13, 19), CNP):
            continue
        request = frame["dest_qp"], frame["psn"]
        again += request in seen
        seen.add(request)
    return again


def judge(arguments, row, out, code, guest_code, said, words):
    """What is wrong with a row, and the summary of the NIC's end."""
    try:
        summary = summary_of(row, out)
    except (OSError, ValueError, KeyError):
        return [f"xoff wrote no summary: {words.strip()}"], {}
    wrong = []
    try:
        summary["again"] = sent_again(arguments, row, out)
    except ValueError as error:
        wrong.append(str(error))
    if (guest_code != 0) != (row.code != 0 if row.guest_fails is None else row.guest_fails):
        wrong.append(f"the guest's tool ended with {guest_code}")
    if code != row.code:
        wrong.append(f"xoff ended with {code}: {summary['error'] or json.dumps(summary['ended'])}")
    if row.failed not in json.dumps(summary["ended"]) + str(summary["error"]):
        wrong.append(f"xoff does not say {row.failed}")
    if row.guest_says and not re.search(row.guest_says, said, re.IGNORECASE):
        wrong.append(f"the guest does not say {row.guest_says}")
    sent = None
    if row.tool == "ibv_rc_pingpong" and row.client == "linux":
        # Linux's tool sends a buffer full of 0x7b.
        sent = bytes([0x7B]) * option(row, "-s")
    elif row.tool == "rping" and row.code == 0:
        sent = ping(option(row, "-S"))
    if sent and not wrong:
        expected, found = zlib.crc32(sent), summary["messages"]["checksum"]
        if found != expected:
            wrong.append(f"the first message has checksum {found:#x}, not {expected:#x}")
    counted = summary.get("manager", {})
    for what, least in row.manager.items():
        if counted.get(what, 0) < least:
            wrong.append(f"RDMA CM: {counted.get(what, 0)} of '{what}', {least} or more is right")
    if row.name.startswith("fetch-add") and not wrong and summary["messages"]["received"] != option(row, "-n"):
        wrong.append(f"{summary['messages']['received']} atomics were performed, not {option(row, '-n')}")
    if not arguments.free and row.again is not None and summary.get("again", 0) > row.again:
        wrong.append(f"Linux sent {summary['again']} requests again, {row.again} is right")
    checked = subprocess.run(
        [str(arguments.xoff), "check", str(results(row, out) / "capture.pcapng")], capture_output=True, text=True
    )
    (out / "check.txt").write_text(checked.stdout + checked.stderr)
    if checked.returncode != 0:
        wrong.append(f"xoff check: {(checked.stdout + checked.stderr).strip().splitlines()[-1]}")
    return wrong, summary


def option(row, name):
    return int(row.options[row.options.index(name) + 1])


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
    # A guest without a processor of its own takes milliseconds to answer, and 67 ms when others build beside it.
    parser.add_argument("--pace", default="0.2", help="simulated seconds a second")
    parser.add_argument("--free", action="store_true", help="rows in step with the guest free running instead")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to run, by the beginnings of their names")
    arguments = parser.parse_args()
    rows = [row for row in matrix() if not arguments.rows or row.name.startswith(tuple(arguments.rows))]
    if not rows:
        names = ", ".join(row.name for row in matrix())
        sys.exit(f"interop: no row begins with {', '.join(arguments.rows)}; there are {names}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for cable in dict.fromkeys(row.cable for row in rows):
        with tempfile.TemporaryDirectory() as folder:
            began = time.time()
            guest = Guest(arguments.guest, Path(folder), arguments.out / "boot.log", cable)
            print(f"Linux is there after {time.time() - began:.0f} s, with a cable of the kind {cable}\n")
            try:
                failed += table(arguments, [row for row in rows if row.cable == cable], guest)
            finally:
                guest.stop()
    print(f"{len(rows) - failed} held, {failed} failed; captures and what the guest says: {arguments.out}")
    sys.exit(failed > 0)


def table(arguments, rows, guest):
    """Runs the rows and prints what came of each. Returns how many failed."""
    say(("row", "client", "sent", "received", "resent", "again", "lost", "s"), "result")
    failed = 0
    for row in rows:
        began = time.time()
        wrong, summary = run(arguments, row, guest)
        failed += bool(wrong)
        messages, counters = summary.get("messages", {}), summary.get("counters", {})
        lost = sum(count for why, count in summary.get("dropped", {}).items() if why.startswith("fault"))
        resent = counters.get("resent_out", 0), summary.get("again", "")
        counts = (messages.get("sent", ""), messages.get("received", ""), *resent, lost)
        verdict = "; ".join(wrong) if wrong else "held" if row.code == 0 else f"held: {row.failed}"
        say((row.name, row.client, *counts, round(time.time() - began)), verdict)
    print()
    return failed


main()
