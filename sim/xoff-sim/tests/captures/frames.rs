//! Frames that Linux's `rdma_rxe` wrote, parsed by the reference parser and built again by the reference builder.
//!
//! Some captures are in `data/`. If `XOFF_CAPTURES` names a folder, all of its captures are read, too.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use pcap_file::pcap::PcapReader;
use xoff_sim::protocol::{Descriptor, parse};
use xoff_sim::wire::frame::{ParsedFrame, Verdict};
use xoff_sim::wire::{EtherType, MIN_FRAME_BYTES, Opcode};

/// Number of frames with a bad ICRC in `corrupt_bad_icrc_some`, counted when it was recorded.
const BAD_ICRCS: usize = 15;

struct Frame {
    bytes: Vec<u8>,
    parsed: ParsedFrame,
}

fn read(path: &Path) -> Vec<Frame> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader =
        PcapReader::new(file).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap_or_else(|error| {
            panic!("{}: packet {}: {error}", path.display(), frames.len() + 1)
        });
        let bytes = packet.data.into_owned();
        let parsed = parse(&bytes);
        frames.push(Frame { bytes, parsed });
    }
    assert!(!frames.is_empty(), "{}: no frames", path.display());
    frames
}

/// The captures of `data/`, and those of the folder that `XOFF_CAPTURES` names.
fn captures() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let more = std::env::var_os("XOFF_CAPTURES").map(PathBuf::from);
    let mut captures = Vec::new();
    for folder in [Some(data), more].into_iter().flatten() {
        let entries =
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let paths = entries.map(|entry| entry.unwrap().path());
        captures.extend(paths.filter(|path| path.extension().is_some_and(|ext| ext == "pcap")));
    }
    captures.sort();
    captures
}

fn is_damaged_capture(path: &Path) -> bool {
    path.file_stem()
        .is_some_and(|name| name == "corrupt_bad_icrc_some")
}

#[test]
fn every_icrc_is_right_but_the_damaged_ones() {
    for path in captures() {
        let frames = read(&path);
        let roce: Vec<_> = frames
            .iter()
            .filter(|frame| frame.parsed.bth.is_some())
            .collect();
        assert!(!roce.is_empty(), "{}: no RoCE", path.display());
        let bad = roce
            .iter()
            .filter(|frame| frame.parsed.icrc_ok != Some(true))
            .count();
        assert_eq!(
            bad,
            if is_damaged_capture(&path) {
                BAD_ICRCS
            } else {
                0
            },
            "{}",
            path.display()
        );
    }
}

#[test]
fn linux_sends_nothing_malformed() {
    for path in captures() {
        for (i, Frame { parsed, .. }) in read(&path).iter().enumerate() {
            let expected = match parsed.verdict {
                Verdict::RoceV2 | Verdict::Other => true,
                // Damage between the nodes shows in the ICRC, too.
                Verdict::Malformed => is_damaged_capture(&path) && parsed.icrc_ok == Some(false),
                Verdict::RoceV1 | Verdict::Cnp | Verdict::Pfc | Verdict::Pause => false,
            };
            assert!(expected, "{}: frame {}: {parsed:?}", path.display(), i + 1);
        }
    }
}

#[test]
fn what_linux_built_the_reference_builds_byte_for_byte() {
    for path in captures() {
        let mut rebuilt = 0;
        for (i, Frame { bytes, parsed }) in read(&path).iter().enumerate() {
            let Some(descriptor) = Descriptor::from_parsed(parsed) else {
                continue;
            };
            let built = descriptor
                .build()
                .unwrap_or_else(|error| panic!("{}: frame {}: {error}", path.display(), i + 1));
            // The frame was captured before the NIC padded it.
            let mut expected = bytes.clone();
            expected.resize(expected.len().max(MIN_FRAME_BYTES), 0);
            if parsed.icrc_ok == Some(true) {
                assert_eq!(
                    built,
                    expected,
                    "{}: frame {}: {parsed:?}",
                    path.display(),
                    i + 1
                );
                rebuilt += 1;
            } else {
                // For a damaged frame, the builder generates the correct ICRC; nothing else may differ.
                let icrc = expected.len() - 4;
                assert_eq!(
                    built[..icrc],
                    expected[..icrc],
                    "{}: frame {}",
                    path.display(),
                    i + 1
                );
                assert_ne!(
                    built[icrc..],
                    expected[icrc..],
                    "{}: frame {}",
                    path.display(),
                    i + 1
                );
            }
        }
        assert!(rebuilt > 0, "{}", path.display());
    }
}

#[test]
fn the_tag_of_vlan100() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/vlan100.pcap");
    for Frame { parsed, .. } in read(&path) {
        let eth = parsed.eth.unwrap();
        assert_eq!(
            eth.tags.iter().map(|tag| tag.vid).collect::<Vec<_>>(),
            [100]
        );
        assert_ne!(eth.ether_type, EtherType::C_TAG);
    }
}

/// The facts in a log that the capture must agree with.
#[derive(Debug, Default)]
struct Log {
    /// QP numbers.
    qpns: BTreeSet<u64>,
    /// The `up` commands: node, the peer's QP number, the node's own first PSN.
    first_psns: Vec<(u8, u64, u64)>,
    /// PSNs that a program printed, for either node.
    psns: BTreeSet<u64>,
    /// Registered memory: node, rkey, first address, length.
    regions: Vec<(u8, u64, u64, u64)>,
    /// All hexadecimal numbers in the log, which include values that are requested although they are wrong.
    named: BTreeSet<u64>,
}

impl Log {
    fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let mut log = Self::default();
        for line in text.lines() {
            let node: u8 = if line.starts_with("node2") { 2 } else { 1 };
            let words: Vec<&str> = line
                .split([' ', ',', '\t'])
                .filter(|word| !word.is_empty())
                .collect();
            let hex = |word: &str| {
                word.strip_prefix("0x")
                    .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            };
            log.named.extend(
                words
                    .iter()
                    .filter_map(|word| hex(word.rsplit('=').next().unwrap_or(word))),
            );
            for pair in words.windows(2) {
                match (pair[0], hex(pair[1])) {
                    ("qpn" | "QPN", Some(qpn)) => _ = log.qpns.insert(qpn),
                    ("PSN", Some(psn)) => _ = log.psns.insert(psn),
                    _ => {}
                }
            }
            match words[..] {
                [_, "up", _, peer, _, own, ..] => {
                    log.first_psns.push((node, hex(peer)?, hex(own)?))
                }
                [_, "mr", _, "addr", addr, "rkey", rkey, _, _, "len", len] => {
                    log.regions
                        .push((node, hex(rkey)?, hex(addr)?, len.parse().ok()?))
                }
                _ => {}
            }
        }
        Some(log)
    }

    /// Whether the node has registered the address under the key, or the log contains the request with a wrong key or
    /// address.
    fn explains(&self, node: u8, rkey: u64, va: u64) -> bool {
        let in_region = |&(of, key, start, len): &(u8, u64, u64, u64)| {
            of == node && key == rkey && (start..start + len).contains(&va)
        };
        self.regions.iter().any(in_region)
            || (self.named.contains(&rkey) && self.named.contains(&va))
    }
}

/// Whether packets with this opcode are sent by the requester, so that their PSNs are the sender's own.
fn is_request(opcode: Opcode) -> bool {
    !(Opcode::RC_READ_RESP_FIRST..=Opcode::RC_ATOMIC_ACK).contains(&opcode)
}

#[test]
fn the_wire_shows_what_the_logs_say() {
    let (mut logs, mut keys) = (0, 0);
    for path in captures() {
        let Some(log) = Log::read(&path.with_extension("log")) else {
            continue;
        };
        logs += 1;
        let at = path.display();
        let frames = read(&path);
        let good: Vec<_> = frames
            .iter()
            .map(|frame| &frame.parsed)
            .filter(|parsed| parsed.icrc_ok == Some(true))
            .collect();
        // The nodes' IP addresses end in 1 and 2. MAC addresses would not do: the ICRC does not protect them, and
        // damage can turn one into the other.
        let node = |parsed: &ParsedFrame| parsed.ip.unwrap().src as u8;

        let seen_qpns: BTreeSet<u64> = good
            .iter()
            .map(|parsed| parsed.bth.unwrap().dest_qp.get().into())
            .collect();
        assert!(
            log.qpns.is_subset(&seen_qpns),
            "{at}: QP numbers in the log {:x?}, on the wire {seen_qpns:x?}",
            log.qpns
        );

        let psns_of = |of: Option<u8>, to: Option<u64>| -> BTreeSet<u64> {
            let of_node = |parsed: &&&ParsedFrame| of.is_none_or(|of| node(parsed) == of);
            let bths = good
                .iter()
                .filter(of_node)
                .map(|parsed| parsed.bth.unwrap());
            bths.filter(|bth| {
                is_request(bth.opcode) && to.is_none_or(|to| u64::from(bth.dest_qp.get()) == to)
            })
            .map(|bth| bth.psn.get().into())
            .collect()
        };
        for &(node, peer, first) in &log.first_psns {
            // A node that only answers does not use its own PSNs.
            let psns = psns_of(Some(node), Some(peer));
            assert!(
                psns.is_empty() || psns.contains(&first),
                "{at}: node {node} to QP {peer:#x}: first PSN {first:#x}, on the wire {psns:x?}"
            );
        }
        let all_psns = psns_of(None, None);
        assert!(
            log.psns.is_subset(&all_psns),
            "{at}: PSNs in the log {:x?}",
            log.psns
        );

        if log.regions.is_empty() {
            continue;
        }
        for parsed in &good {
            let ext = parsed.ext.unwrap();
            let target = ext
                .reth
                .map(|reth| (reth.rkey, reth.va))
                .or(ext.atomic.map(|atomic| (atomic.rkey, atomic.va)));
            if let Some((rkey, va)) = target {
                // The memory belongs to the receiver.
                assert!(
                    log.explains(3 - node(parsed), rkey.into(), va),
                    "{at}: rkey {rkey:#x}, address {va:#x}: {parsed:?}"
                );
                keys += 1;
            }
        }
    }
    assert!(logs >= 2 && keys > 0, "{logs} logs, {keys} keys");
}
