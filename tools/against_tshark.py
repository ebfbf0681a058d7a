#!/usr/bin/env python3
"""Compares the rows of `xoff decode` with the fields of tshark, frame by frame.

usage: tools/against_tshark.py CAPTURE...

Every key of a row that tshark has a field for has to be the same number, address or flag, and every field of tshark
that a row has a key for has to be in the row. Where one of the two sees less by design, SEES_LESS says why, and the
frames are counted. The programs are those of the path; XOFF and TSHARK name others. Exit code 1: a difference, or a
capture that one of the two gave up.
"""

import ipaddress
import json
import os
import subprocess
import sys
from collections import Counter

XOFF = os.environ.get("XOFF", "xoff")
TSHARK = os.environ.get("TSHARK", "tshark")
SHOWN = 20  # differences of a capture that are printed


def number(text):
    """A number in any of the forms of tshark: decimal, 0x, True, bytes with colons."""
    if text in ("True", "False"):
        return int(text == "True")
    return int(text, 0)


def octets(text):
    return int(text.replace(":", ""), 16)


def address(text):
    return ipaddress.ip_address(text)


# Key of a row, fields of tshark of which the first that is there is meant, how tshark's text is read, how the key is.
KEYS = [
    ("bytes", ["frame.len"], number, int),
    ("kept", ["frame.cap_len"], number, int),
    ("src_mac", ["eth.src", "sll.src.eth"], str, str),
    ("dst_mac", ["eth.dst"], str, str),
    ("vlan", ["vlan.id"], number, int),
    ("pcp", ["vlan.priority"], number, int),
    ("dei", ["vlan.dei", "vlan.cfi"], number, int),
    ("src_ip", ["ip.src", "ipv6.src"], address, address),
    ("dst_ip", ["ip.dst", "ipv6.dst"], address, address),
    ("dscp", ["ip.dsfield.dscp", "ipv6.tclass.dscp"], number, int),
    ("ecn", ["ip.dsfield.ecn", "ipv6.tclass.ecn"], number, int),
    ("ttl", ["ip.ttl", "ipv6.hlim"], number, int),
    ("ip_id", ["ip.id"], number, int),
    ("dont_fragment", ["ip.flags.df"], number, int),
    ("flow_label", ["ipv6.flow"], number, int),
    ("opcode", ["infiniband.bth.opcode"], number, int),
    ("solicited", ["infiniband.bth.se"], number, int),
    ("mig_req", ["infiniband.bth.m"], number, int),
    ("pad", ["infiniband.bth.padcnt"], number, int),
    ("pkey", ["infiniband.bth.p_key"], number, int),
    ("dest_qp", ["infiniband.bth.destqp"], number, int),
    ("ack_req", ["infiniband.bth.a"], number, int),
    ("psn", ["infiniband.bth.psn"], number, int),
    ("va", ["infiniband.reth.va"], number, lambda text: int(text, 0)),
    ("rkey", ["infiniband.reth.r_key"], number, int),
    ("dma_len", ["infiniband.reth.dmalen"], number, int),
    ("compare", ["infiniband.atomiceth.cmpdt"], number, lambda text: int(text, 0)),
    ("swap_add", ["infiniband.atomiceth.swapdt"], number, lambda text: int(text, 0)),
    ("original", ["infiniband.atomicacketh.origremdt"], number, lambda text: int(text, 0)),
    ("syndrome", ["infiniband.aeth.syndrome"], number, int),
    ("msn", ["infiniband.aeth.msn"], number, int),
    ("imm", ["infiniband.immdt"], octets, int),
    ("inv_rkey", ["infiniband.ieth"], octets, int),
    ("qkey", ["infiniband.deth.q_key"], number, int),
    ("src_qp", ["infiniband.deth.srcqp"], number, int),
    ("class_enable", ["macc.cbfc.enbv"], number, int),
]
# Keys of the PDUs of iWARP that end in a frame: a list in both.
IWARP = [
    ("opcode", "iwarp_rdma.opcode"),
    ("last", "iwarp_ddp.last_flag"),
    ("stag", "iwarp_ddp.stag"),
    ("to", "iwarp_ddp.tagged_offset"),
    ("qn", "iwarp_ddp.qn"),
    ("msn", "iwarp_ddp.msn"),
    ("mo", "iwarp_ddp.mo"),
    ("inv_stag", "iwarp_rdma.inval_stag"),
]
# The UDP source port is a key of RoCE packets only.
ROCE = [("src_port", ["udp.srcport"], number, int)]
OTHERS = ["frame.number", "frame.time_epoch", "frame.protocols", "_ws.malformed"] + [name for _, name in IWARP]
FIELDS = list(dict.fromkeys(OTHERS + [name for _, names, _, _ in KEYS + ROCE for name in names]))

# Why one of the two may see less of a frame: what it is called, and for which frames and keys.
CNP = 0x81
TRANSPORT = {key for key, names, _, _ in KEYS if names[0].startswith("infiniband.")} | {"src_port"}
HEADERS = 14 + 20  # of Ethernet and IPv4: what is shorter has no whole IP header
SEES_LESS = [
    ("tshark: the payload is no message of a protocol that it guessed, or the frame is damaged",
     lambda row, seen, key: bool(seen["_ws.malformed"]) and key in TRANSPORT and not seen_by_tshark(seen, key)),
    ("tshark: the opcode of a CNP is none that it knows",
     lambda row, seen, key: row.get("opcode") == CNP and not seen_by_tshark(seen, key)),
    ("xoff: headers of an opcode that no NIC of ours takes are not read",
     lambda row, seen, key: row.get("reason") == "unknown_opcode" and key not in row),
    ("xoff: what follows the fault of a malformed frame is not read",
     lambda row, seen, key: row["verdict"] == "malformed" and key not in row),
    ("xoff: a VXLAN header that says that it has no VNI is none",
     lambda row, seen, key: row["verdict"] == "other" and ":vxlan:" in seen["frame.protocols"]),
    ("xoff: headers that were cut are not read in part",
     lambda row, seen, key: row["verdict"] == "cut" and key not in row and (key in TRANSPORT or row["kept"] < HEADERS)),
    ("xoff: link types that are not read",
     lambda row, seen, key: row["verdict"] == "other_link" and key not in row),
]
PSEUDOWIRE = "tshark: a pseudowire whose first bytes it takes for something else"
# Keys that are of the frame inside of tunnels, where tshark has those of the whole one, or of tags around.
OF_WHOLE = {"bytes", "kept", "vlan", "pcp", "dei"}


def inside(row, seen):
    """The fields of the frame that a row is of: the last of each, where there are several in each other."""
    last = -1 if row.get("tunnels") else 0
    return {name: text.split(",")[last] if name != "frame.protocols" else text for name, text in seen.items()}


def seen_by_tshark(seen, key):
    names = next(names for known, names, _, _ in KEYS + ROCE if known == key)
    return any(seen[name] for name in names)


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    said = [line for line in result.stderr.splitlines() if not line.startswith("Running as user")]
    return result.returncode, result.stdout, said


def rows(capture):
    # Both parsers, which have to agree as well.
    code, out, said = run([XOFF, "decode", "--both", "--format", "jsonl", capture])
    return code, [json.loads(line) for line in out.splitlines()], said


def fields(capture):
    # Conversations of the TCP streams and the like are of no interest, and name resolution would change addresses.
    command = [TSHARK, "-n", "-r", capture, "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,", "-E", "separator=/t"]
    code, out, said = run(command + [part for name in FIELDS for part in ("-e", name)])
    return code, [dict(zip(FIELDS, line.split("\t"))) for line in out.splitlines()], said


def nanoseconds(text):
    seconds, _, fraction = text.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


def compare(row, seen, excused, counts):
    """The differences of a frame, as text."""
    seen = inside(row, seen)
    if row["frame"] != number(seen["frame.number"]):
        yield f"is frame {seen['frame.number']} of tshark"
    if "time_ns" in row and seen["frame.time_epoch"]:
        counts["fields"] += 1
        if int(row["time_ns"]) != nanoseconds(seen["frame.time_epoch"]):
            yield f"time_ns: {row['time_ns']}, tshark {seen['frame.time_epoch']}"
    keys = KEYS + (ROCE if "src_port" in row or "infiniband" in seen["frame.protocols"] else [])
    if "pwethheuristic" in seen["frame.protocols"]:
        excused[PSEUDOWIRE].add(row["frame"])
        return
    other = {4: "ipv6.", 6: "ip."}.get(row.get("ip_version"), "neither")
    for key, names, of_tshark, of_row in keys:
        if row.get("tunnels"):
            if key in OF_WHOLE or ("link_type" in row and key in ("src_mac", "dst_mac")):
                continue
            names = [name for name in names if not name.startswith(other)]
        if key == "kept" and "kept" not in row:
            row = row | {"kept": row["bytes"]}  # the key is there for cut frames only
        if key == "rkey" and "compare" in row or key == "va" and "compare" in row:
            continue  # tshark has no fields for the address and key of an atomic
        text = next((seen[name] for name in names if seen[name]), "")
        if key not in row and not text:
            continue
        same = key in row and text and of_row(row[key]) == of_tshark(text)
        if same:
            counts["fields"] += 1
            continue
        why = next((why for why, holds in SEES_LESS if (key not in row or not text) and holds(row, seen, key)), None)
        if why:
            excused[why].add(row["frame"])
        else:
            yield f"{key}: {row.get(key, 'nothing')}, tshark {text or 'nothing'} ({seen['frame.protocols']})"


def compare_iwarp(row, seen, counts):
    """The differences of the PDUs of iWARP that end in a frame, as text."""
    for key, name in IWARP:
        ours = [pdu[key] for pdu in row.get("iwarp", []) if key in pdu]
        ours = [int(value, 0) if isinstance(value, str) else int(value) for value in ours]
        theirs = [number(text) for text in seen[name].split(",") if text]
        if ours == theirs:
            counts["fields"] += len(ours)
        else:
            yield f"iwarp.{key}: {ours}, tshark {theirs}"


def main(captures):
    counts = Counter()
    version = run([TSHARK, "--version"])[1].splitlines()[0]
    print(f"against {version}")
    for capture in captures:
        code, ours, said = rows(capture)
        tshark_code, theirs, tshark_said = fields(capture)
        excused = {why: set() for why in [why for why, _ in SEES_LESS] + [PSEUDOWIRE]}
        problems = []
        if (code != 0) != (tshark_code != 0):
            problems.append(f"xoff ended with {code}: {' '.join(said)}; tshark with {tshark_code}: {' '.join(tshark_said)}")
        elif code != 0:
            print(f"{os.path.basename(capture)}: damaged, for both: {said[-1]}")
        if len(ours) != len(theirs):
            problems.append(f"{len(ours)} rows, tshark has {len(theirs)}")
        for row, seen in zip(ours, theirs):
            texts = [*compare(row, seen, excused, counts), *compare_iwarp(row, seen, counts)]
            problems += [f"frame {row['frame']}: {text}" for text in texts]
        kinds = Counter(row["verdict"] for row in ours)
        kinds = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        print(f"{os.path.basename(capture)}: {len(ours)} rows ({kinds}), {len(problems)} differences")
        for problem in problems[:SHOWN]:
            print(f"  {problem}")
        for why, frames in excused.items():
            if frames:
                print(f"  {len(frames)} frames: {why}")
        counts["rows"] += len(ours)
        counts["differences"] += len(problems)
        counts["captures"] += 1
    print("{captures} captures, {rows} rows, {fields} fields that are the same, {differences} differences".format(
        **{name: counts[name] for name in ("captures", "rows", "fields", "differences")}))
    return 1 if counts["differences"] else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) > 1 else 2)
    sys.exit(main(sys.argv[1:]))
