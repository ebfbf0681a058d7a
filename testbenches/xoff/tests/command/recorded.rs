//! Captures that hold something else than whole Ethernet frames: cut ones, other links, frames that were on no line.

use std::process::Command;

use serde_json::Value;
use xoff::injection::captured;
use xoff_network::scenario::InjectEntry;

use crate::command_line::LOSS;
use crate::common::file;
use crate::common::{said, xoff};

const SNAP: &str = "data/enc_snap64.pcap";
const MIXED: &str = "data/enc_mixed_linktypes.pcapng";
const COOKED: &str = "data/enc_sll2.pcap";
const TUNNELS: &str = "data/tunnels.pcap";
const MARKED: &str = "data/marked_in_vxlan.pcap";
const IWARP: &str = "data/iwarp.pcap";

fn rows(arguments: &[&str], input: &[u8]) -> Vec<Value> {
    let (out, err) = said(
        &[&["decode", "--both", "--format", "jsonl"], arguments].concat(),
        input,
        0,
    );
    assert!(err.contains("agree about "), "{err}");
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A classic pcap of records of a link type: bytes and length on the line.
fn pcap(link_type: u32, records: &[(&[u8], usize)]) -> Vec<u8> {
    let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, link_type];
    let mut file = words.map(u32::to_le_bytes).concat();
    for (bytes, length) in records {
        let words = [0, 0, bytes.len() as u32, *length as u32];
        file.extend(words.map(u32::to_le_bytes).concat());
        file.extend(*bytes);
    }
    file
}

/// The fields are those that tshark 4.0.17 shows of the same file.
#[test]
fn of_cut_frames_the_headers_are_shown() {
    let rows = rows(&[SNAP], &[]);
    let fields = |row: &Value| {
        [
            "verdict", "bytes", "kept", "src_ip", "opcode", "dest_qp", "psn", "icrc_ok",
        ]
        .map(|key| row.get(key).cloned().unwrap_or_default())
    };
    let none = Value::Null;
    assert_eq!(
        fields(&rows[0]),
        [
            "cut".into(),
            122.into(),
            64.into(),
            "10.0.0.1".into(),
            4.into(),
            17.into(),
            100.into(),
            none.clone()
        ]
    );
    // The RETH of a WRITE does not fit into 64 bytes.
    assert_eq!(
        fields(&rows[1]),
        [
            "cut".into(),
            106.into(),
            64.into(),
            "10.0.0.1".into(),
            10.into(),
            17.into(),
            101.into(),
            none.clone()
        ]
    );
    assert_eq!(rows[1].get("va"), None);
    assert_eq!(
        fields(&rows[2]),
        [
            "roce_v2".into(),
            58.into(),
            none,
            "10.0.0.1".into(),
            4.into(),
            17.into(),
            102.into(),
            true.into()
        ]
    );
}

#[test]
fn the_summary_counts_what_is_no_whole_frame() {
    let (out, _) = said(&["decode", "--model", SNAP], [], 0);
    assert!(
        out.ends_with("3 frames: 1 roce_v2, 2 cut; ICRC 1 ok\n"),
        "{out}"
    );
    let (out, _) = said(&["decode", "--model", "--summary", SNAP], [], 0);
    let line = |name: &str| out.lines().find(|line| line.trim().starts_with(name));
    assert!(
        line("cut").is_some_and(|line| line.contains(" 2 ")),
        "{out}"
    );
    // Operations and conversations of cut packets count when all their headers are there.
    assert!(
        line("SEND_ONLY")
            .or(line("RC_SEND_ONLY"))
            .is_some_and(|line| line.contains(" 2 ")),
        "{out}"
    );
    let other = pcap(147, &[(&[1, 2, 3], 3)]);
    let (out, _) = said(&["decode", "--model", "-"], other.clone(), 0);
    assert!(out.contains("other link"), "{out}");
    assert!(
        out.ends_with("1 frame: 1 other link (1 private use)\n"),
        "{out}"
    );
    let (out, _) = said(&["decode", "--model", "--summary", "-"], other, 0);
    assert!(
        out.contains("other link") && out.contains("private use"),
        "{out}"
    );
}

#[test]
fn after_a_record_of_another_link_the_next_is_read() {
    let all = rows(&[MIXED], &[]);
    let kinds: Vec<_> = all.iter().map(|row| &row["verdict"]).collect();
    assert_eq!(kinds, ["roce_v2", "roce_v2", "roce_v2"]);
    // The second is of a Linux cooked capture, with the sender's address alone.
    assert_eq!(all[1]["link_type"], 113);
    assert_eq!(all[1]["src_mac"], "02:00:00:00:00:01");
    assert_eq!(
        (all[1].get("dst_mac"), &all[1]["direction"]),
        (None, &"received".into())
    );
    assert_eq!(
        (&all[1]["psn"], &all[1]["icrc_ok"]),
        (&100.into(), &true.into())
    );

    let whole = std::fs::read(file(LOSS)).unwrap();
    let other = pcap(1, &[(&[7; 60], 70_000), (&whole[40..40 + 86], 86)]);
    let kinds: Vec<_> = rows(&["-"], &other)
        .into_iter()
        .map(|row| row["verdict"].clone())
        .collect();
    assert_eq!(kinds, ["too_long", "roce_v2"]);
}

#[test]
fn linux_cooked_v2_names_device_and_direction() {
    let rows = rows(&[COOKED], &[]);
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!(
        (&row["verdict"], &row["link_type"]),
        (&"roce_v2".into(), &276.into())
    );
    assert_eq!(
        (&row["interface"], &row["bytes"]),
        (&"if2".into(), &128.into())
    );
    assert_eq!((&row["psn"], &row["icrc_ok"]), (&100.into(), &true.into()));
    let (out, _) = said(&["decode", "--model", COOKED], [], 0);
    assert!(out.contains("→if2"), "{out}");
    // ARP behind a cooked header: the sender's address, and the protocol.
    let arp = [
        8, 6, 0, 0, 0, 0, 0, 2, 0, 1, 1, 6, 2, 0, 0, 0, 0, 9, 0, 0, 0, 1, 8, 0,
    ];
    let (out, _) = said(&["decode", "--model", "-"], pcap(276, &[(&arp, 24)]), 0);
    assert!(
        out.contains("02:00:00:00:00:09→") && out.contains("ARP"),
        "{out}"
    );
}

/// An ACK in IPv4 and a SEND in IPv6, as `tcpdump` records them at the end of a tunnel. tshark 4.0.17 shows the same
/// fields.
#[test]
fn packets_of_a_tunnels_end_are_rows_without_mac_addresses() {
    let bytes = |hex: &str| -> Vec<u8> {
        let digits = (0..hex.len()).step_by(2);
        digits
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    };
    let v4 = bytes(
        "4500003000004000401126bb0a0000010a000002c00012b7001c0000\
         1100ffff00000011000000641f0000008cedeb2b",
    );
    let v6 = bytes(
        "6000000000201140fd000000000000000000000000000001fd000000000000000000000000000002c00012b700200000\
         0400ffff00000011000000650123456789abcdefdc4fc959",
    );
    let packets: [(&[u8], usize); 2] = [(&v4, v4.len()), (&v6, v6.len())];
    let raw = rows(&["-"], &pcap(101, &packets));
    let fields = |row: &Value| {
        let keys = ["verdict", "bytes", "src_ip", "opcode", "psn", "icrc_ok"];
        keys.map(|key| row[key].to_string())
    };
    assert_eq!(
        raw.iter().map(fields).collect::<Vec<_>>(),
        [
            ["\"roce_v2\"", "48", "\"10.0.0.1\"", "17", "100", "true"],
            ["\"roce_v2\"", "72", "\"fd00::1\"", "4", "101", "true"],
        ]
    );
    // Behind an Ethernet header they are the same rows, with its addresses.
    let framed = |packet: &[u8], ether_type: u16| {
        let addresses = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        [&addresses[..], &ether_type.to_be_bytes(), packet].concat()
    };
    let frames = [framed(&v4, 0x0800), framed(&v6, 0x86dd)];
    let frames: Vec<(&[u8], usize)> = frames.iter().map(|it| (&it[..], it.len())).collect();
    for (mut ethernet, mut raw) in rows(&["-"], &pcap(1, &frames)).into_iter().zip(raw) {
        let ethernet = ethernet.as_object_mut().unwrap();
        let raw = raw.as_object_mut().unwrap();
        assert_eq!(raw.remove("link_type"), Some(101.into()));
        // It is not encoded again, so it has its bytes and no payload beside them.
        assert!(raw.remove("raw").is_some());
        ethernet.remove("payload");
        for address in ["src_mac", "dst_mac"] {
            assert!(ethernet.remove(address).is_some() && !raw.contains_key(address));
        }
        let [ethernet_bytes, raw_bytes] =
            [&mut *ethernet, &mut *raw].map(|row| row.remove("bytes"));
        let length = |bytes: Option<Value>| bytes.unwrap().as_u64().unwrap();
        assert_eq!(length(ethernet_bytes), length(raw_bytes) + 14);
        assert_eq!(raw, ethernet);
    }
    // By the version alone: the link types that name one.
    for (link_type, packet) in [(228, packets[0]), (229, packets[1])] {
        let of = rows(&["-"], &pcap(link_type, &[packet]));
        assert_eq!(
            (&of[0]["verdict"], &of[0]["icrc_ok"]),
            (&"roce_v2".into(), &true.into())
        );
    }
    let (out, _) = said(&["decode", "--model", "-"], pcap(101, &packets), 0);
    assert!(out.contains("10.0.0.1") && out.contains("fd00::1"), "{out}");
}

#[test]
fn rows_of_other_links_are_not_encoded() {
    let (out, _) = said(&["decode", "--model", "--format", "jsonl", COOKED], [], 0);
    let (_, err) = said(&["encode", "--model", "--jsonl", "-"], out.clone(), 2);
    assert!(
        err.contains("link_type=276: only whole Ethernet frames"),
        "{err}"
    );
    let (_, err) = said(&["encode", "--model", "--jsonl", "-", "--skip"], out, 0);
    assert!(
        err.contains("1 row of a frame that cannot be built left out"),
        "{err}"
    );
}

/// `xoff check` judges the packets of a cooked capture as those of the same capture with Ethernet headers.
#[test]
fn check_judges_packets_behind_other_headers() {
    let checked = |input: Vec<u8>| -> Value {
        let (out, _) = said(&["check", "--json", "-"], input, 0);
        serde_json::from_str(&out).unwrap()
    };
    let ethernet = std::fs::read(file(LOSS)).unwrap();
    let mut reader = xoff_waves::capture::Reader::new("loss", &ethernet[..]).unwrap();
    let frames: Vec<Vec<u8>> = reader
        .by_ref()
        .map(|record| record.unwrap().bytes)
        .collect();
    let header = [8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 3, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    let cooked: Vec<Vec<u8>> = frames
        .iter()
        .map(|frame| [&header[..], &frame[14..]].concat())
        .collect();
    let file = |link_type: u32, frames: &[Vec<u8>]| {
        let records: Vec<(&[u8], usize)> = frames.iter().map(|it| (&it[..], it.len())).collect();
        pcap(link_type, &records)
    };
    let (plain, cooked) = (checked(file(1, &frames)), checked(file(276, &cooked)));
    assert_eq!(plain["kinds"], cooked["kinds"]);
    assert_eq!(plain["rules"], cooked["rules"]);
    assert_eq!(plain["unseen"]["without_addresses"], serde_json::json!({}));
    assert_eq!(
        cooked["unseen"]["without_addresses"],
        serde_json::json!({ "276": 438 })
    );
    let (out, _) = said(&["check", COOKED], [], 0);
    assert!(
        out.contains("Without Ethernet header: 1 Linux cooked v2. Their packets are judged, MAC addresses and pauses are not."),
        "{out}"
    );
    let (_, err) = said(&["check", "-"], pcap(147, &[(&[1], 1)]), 2);
    assert!(
        err.contains("of link types that are not read: 1 private use"),
        "{err}"
    );
}

/// In a tunnel of each kind the parser sees the SEND that is inside, and the row names what is around. The first is the
/// VXLAN of `enc_vxlan.pcap`, its outer addresses and VNI as tshark 4.0.17 shows them.
#[test]
fn the_frame_in_a_tunnel_has_the_row() {
    let rows = rows(&[TUNNELS], &[]);
    for row in rows.iter().filter(|row| row.get("tunnels").is_some()) {
        assert_eq!((&row["psn"], &row["dest_qp"]), (&100.into(), &17.into()));
        let whole = row["verdict"] == "roce_v2" && row["icrc_ok"] == true;
        assert!(whole || row["verdict"] == "cut", "{row}");
    }
    assert_eq!(
        rows[0]["tunnels"],
        serde_json::json!([{
            "kind": "vxlan", "vni": 100, "src_ip": "192.0.2.1", "dst_ip": "192.0.2.2", "dscp": 0, "ecn": 0
        }])
    );
    let kinds: Vec<Vec<&str>> = (rows.iter())
        .map(|row| {
            let tunnels = row["tunnels"].as_array().into_iter().flatten();
            tunnels
                .map(|tunnel| tunnel["kind"].as_str().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(kinds[13], ["erspan", "vxlan"]);
    assert_eq!(kinds.iter().filter(|kinds| kinds.is_empty()).count(), 2);
    let (out, _) = said(&["decode", "--model", TUNNELS], [], 0);
    assert!(
        out.ends_with(
            "ICRC 14 ok; 1 in ERSPAN I, 2 in ERSPAN II, 1 in ERSPAN III, 1 in GENEVE, 1 in GRE, 1 in IP, 4 in MPLS, \
             1 in NVGRE, 3 in VXLAN\n"
        ),
        "{out}"
    );
    // What is written again is the frame inside.
    let one = [
        "decode", "--model", "--format", "jsonl", "--limit", "1", TUNNELS,
    ];
    let (jsonl, _) = said(&one, [], 0);
    let (hex, _) = said(&["encode", "--model", "--jsonl", "-"], jsonl, 0);
    assert_eq!(hex.trim_end().len(), 2 * 122);
}

/// A CE mark on the packet around is one on the packet inside, so that a CNP has its cause.
#[test]
fn check_sees_marks_of_the_fabric() {
    let whole = std::fs::read(file(MARKED)).unwrap();
    let broken = |capture: &[u8]| {
        let options = [
            "--host-port",
            "standard input=10.0.0.2",
            "--cnp-interval",
            "50us",
            "--json",
            "-",
        ];
        let output = xoff()
            .arg("check")
            .args(options)
            .write_stdin(capture)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rules = report["rules"].as_array().unwrap().iter();
        let rule = rules
            .into_iter()
            .find(|rule| rule["rule"] == "cnp-cause")
            .unwrap();
        (rule["checked"].clone(), rule["violations"].clone())
    };
    assert_eq!(broken(&whole), (1.into(), 0.into()));
    // Without the mark: ECN and checksum of the outer IPv4 header of the first frame.
    let mut unmarked = whole;
    let ip = 24 + 16 + 14;
    assert_eq!(unmarked[ip + 1], 0x6B);
    unmarked[ip + 1] = 0x6A;
    unmarked[ip + 11] += 1;
    assert_eq!(broken(&unmarked), (1.into(), 1.into()));
}

/// A scenario injects the frames that were recorded, all of them or none.
#[test]
fn what_is_no_whole_frame_is_not_injected() {
    let entry =
        |keys: &str| -> InjectEntry { toml::from_str(&format!("host = 'a'\n{keys}")).unwrap() };
    let folder = file("data");
    let refused = |keys: &str| captured(&entry(keys), &folder).unwrap_err();
    assert_eq!(
        refused("file = 'enc_snap64.pcap'"),
        (
            "file",
            "enc_snap64.pcap, record 1: 64 of its 122 bytes were recorded; record whole frames (tcpdump -s 0); 2 of 3 \
             records cannot be injected"
                .into()
        )
    );
    let (key, why) = refused("file = 'enc_mixed_linktypes.pcapng'");
    assert_eq!(key, "file");
    assert!(
        why.starts_with(
            "enc_mixed_linktypes.pcapng, record 2: a packet of link type 113 (Linux cooked v1)"
        ) && why.contains("interface = \"NAME\"")
            && why.ends_with("it is the only one of 3 that cannot be injected"),
        "{why}"
    );
    // Records that are not meant do not matter.
    let cut = std::fs::read(folder.join("enc_mixed_linktypes.pcapng")).unwrap();
    let name = |text: &str| {
        let mut option = [2_u16.to_le_bytes(), (text.len() as u16).to_le_bytes()].concat();
        option.extend(text.as_bytes());
        option.resize(option.len().next_multiple_of(4), 0);
        option.extend([0; 4]);
        option
    };
    // The first interface description gets a name: it starts behind the section header of 28 bytes and has 20.
    let named = name("eth");
    let length = (20 + named.len() as u32).to_le_bytes();
    let mut file = cut[..28].to_vec();
    file.extend(1_u32.to_le_bytes());
    file.extend(length);
    file.extend(&cut[36..44]);
    file.extend(&named);
    file.extend(length);
    file.extend(&cut[48..]);
    let temporary = tempfile::tempdir().unwrap();
    std::fs::write(temporary.path().join("named.pcapng"), file).unwrap();
    let frames = captured(
        &entry("file = 'named.pcapng'\ninterface = 'eth'"),
        temporary.path(),
    );
    assert_eq!(frames.unwrap().len(), 2);
}

/// Opcodes and numbers are compared with tshark's by `every_row_agrees_with_tshark`, and its CRC check says 'Good' of
/// all 22 PDUs.
#[test]
fn of_iwarp_the_headers_are_shown() {
    let rows = rows(&[IWARP], &[]);
    let parts: Vec<&Value> = (rows.iter())
        .flat_map(|row| row["iwarp"].as_array().into_iter().flatten())
        .collect();
    let keys = |key: &str| parts.iter().filter(|part| part.get(key).is_some()).count();
    assert_eq!((keys("mpa"), keys("opcode"), keys("crc_ok")), (4, 22, 22));
    assert!(
        parts
            .iter()
            .all(|part| part["crc_ok"] != Value::Bool(false))
    );
    let read = parts
        .iter()
        .find(|part| part.get("read").is_some())
        .unwrap();
    assert_eq!(
        read["read"],
        serde_json::json!({
            "bytes": 1800, "from_stag": 0x3333, "from": "0x0000000000006000",
            "to_stag": 0x2222, "to": "0x0000000000005000"
        })
    );
    let (out, _) = said(&["decode", "--model", IWARP], [], 0);
    insta::assert_snapshot!("decode_iwarp", out);
    // The rows build the same frames again.
    let (jsonl, _) = said(&["decode", "--model", "--format", "jsonl", IWARP], [], 0);
    let (hex, _) = said(&["encode", "--model", "--jsonl", "-"], jsonl, 0);
    let raw = rows.iter().map(|row| row["raw"].as_str().unwrap());
    assert!(
        hex.lines()
            .eq(raw.map(|raw| raw.trim_start_matches("hex:")))
    );
}

/// Compares every row of the captures with tshark's fields, which `make test` installs.
#[test]
fn every_row_agrees_with_tshark() {
    let tshark = Command::new("tshark").arg("--version").output();
    assert!(tshark.is_ok(), "no tshark: `tools/setup.sh tshark`");
    let more = std::env::var_os("XOFF_CAPTURES").map(std::path::PathBuf::from);
    let paths = ["captures", "data"]
        .map(file)
        .into_iter()
        .chain(more)
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path());
    let is_capture = |end: &std::ffi::OsStr| end == "pcap" || end == "pcapng";
    let output = Command::new("python3")
        .arg(file("../tools/against_tshark.py"))
        .args(paths.filter(|path| path.extension().is_some_and(is_capture)))
        .env("XOFF", crate::PROGRAM)
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}");
    assert!(
        out.contains(" rows, ") && out.trim_end().ends_with(" 0 differences"),
        "{out}"
    );
}
