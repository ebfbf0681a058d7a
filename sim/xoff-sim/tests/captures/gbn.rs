//! Compares the go-back-N responder with Linux. The requests in Linux's captures are passed to the model in order.
//! The model's NAKs must be those of Linux in PSN, syndrome and MSN, and Linux's ACKs must acknowledge what the model
//! has accepted.
//!
//! The model does not support READ and atomics yet, so their PSNs are skipped.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use pcap_file::pcap::PcapReader;
use xoff_sim::protocol::gbn::{
    Arrival, Recv, ResponderConfig, ResponderEvent, ResponderQp, ResponderStep, mtu_code,
};
use xoff_sim::protocol::parse;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_sim::wire::{Opcode, Psn};

/// PSN, syndrome and MSN of an answer.
type Answer = (u32, u8, u32);

const RNR: std::ops::Range<u8> = 0x20..0x40;
const SEQUENCE: u8 = 0x60;
/// Linux's answer to a SEND that is longer than its buffer. IBTA volume 1 specifies invalid request for it,
/// and the length of a buffer is not visible on the wire.
const OPERATION: u8 = 0x63;

/// The RoCE frames of a capture that have a correct ICRC.
fn read(path: &Path) -> Vec<ParsedFrame> {
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        frames.push(parse(&packet.unwrap().data));
    }
    frames.retain(|frame| frame.icrc_ok == Some(true));
    frames
}

/// Paths of the captures with this name, in all folders that have one.
fn captures(name: &str) -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![
        here.join("tests/data"),
        here.join("../../testbenches/captures"),
    ];
    folders.extend(std::env::var_os("XOFF_CAPTURES").map(PathBuf::from));
    let paths = folders.iter().map(|it| it.join(format!("{name}.pcap")));
    paths.filter(|path| path.is_file()).collect()
}

/// Memory that was registered according to the log: key, first address, length. Without a log everything is
/// permitted.
fn regions(path: &Path) -> Option<Vec<(u64, u64, u64)>> {
    let log = fs::read_to_string(path.with_extension("log")).ok()?;
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
    let region = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [_, "mr", _, "addr", addr, "rkey", rkey, _, _, "len", len] => {
            Some((hex(rkey), hex(addr), len.parse().unwrap()))
        }
        _ => None,
    };
    Some(log.lines().filter_map(region).collect())
}

/// A responder in the capture, identified by node and QP.
struct Flow {
    qp: ResponderQp,
    mtu: u32,
    /// The model's answers.
    model: Vec<Answer>,
    linux: Vec<Answer>,
    /// PSNs of READs and atomics, which were skipped.
    passed: Vec<u32>,
}

impl Flow {
    fn step(&mut self, event: ResponderEvent) -> ResponderStep {
        let step = self.qp.step(event);
        let mut walks = step.walk;
        while walks {
            walks = self.qp.step(ResponderEvent::Walk).walk;
        }
        step
    }

    /// Passes a request to the model. `buffer` says whether there is a receive buffer for it.
    fn request(&mut self, arrival: Arrival, buffer: bool) {
        let in_order = arrival.psn == self.qp.context.expected_psn;
        if buffer && in_order && self.qp.buffer().is_none() {
            self.step(ResponderEvent::Post(Recv {
                length: u32::MAX,
                ..Recv::default()
            }));
        }
        let context = &mut self.qp.context;
        let served = ![0x0C, 0x13, 0x14].contains(&arrival.operation);
        if !served && arrival.psn == context.expected_psn {
            let packets = match arrival.operation {
                0x0C => arrival.dma_len.div_ceil(self.mtu).max(1),
                _ => 1,
            };
            self.passed.push(arrival.psn.get());
            context.expected_psn = arrival.psn.advance(packets);
            context.silent = false;
            context.msn = (context.msn.get() + 1).try_into().unwrap();
            return;
        }
        self.step(ResponderEvent::Packet(arrival));
        if let Some(answer) = self.step(ResponderEvent::Grant).response {
            let answer = (answer.psn.get(), answer.syndrome.0, answer.msn.get());
            self.model.push(answer);
        }
    }
}

fn is_answer(opcode: Opcode) -> bool {
    (Opcode::RC_READ_RESP_FIRST..=Opcode::RC_ATOMIC_ACK).contains(&opcode)
}

/// The flows of a capture, by the responder's address and QP. In all captures, the two nodes' QPs have equal numbers.
fn flows(path: &Path) -> BTreeMap<(u8, u32), Flow> {
    let frames = read(path);
    let regions = regions(path);
    let mut flows = BTreeMap::<(u8, u32), Flow>::new();
    for (at, frame) in frames.iter().enumerate() {
        let (bth, ext, ip) = (frame.bth.unwrap(), frame.ext.unwrap(), frame.ip.unwrap());
        if bth.opcode.0 >= 0x20 {
            continue;
        }
        let qpn = bth.dest_qp.get();
        if is_answer(bth.opcode) {
            let flow = flows.get_mut(&(ip.src as u8, qpn));
            if let (Some(flow), Opcode::RC_ACK, Some(aeth)) = (flow, bth.opcode, ext.aeth) {
                let answer = (bth.psn.get(), aeth.syndrome.0, aeth.msn.get());
                flow.linux.push(answer);
            }
            continue;
        }
        let key = (ip.dst as u8, qpn);
        let to_same = |other: &&ParsedFrame| {
            let (bth, ip) = (other.bth.unwrap(), other.ip.unwrap());
            (ip.dst as u8, bth.dest_qp.get()) == key && !is_answer(bth.opcode)
        };
        let flow = flows.entry(key).or_insert_with(|| {
            let full = |other: &&ParsedFrame| {
                matches!(other.bth.unwrap().opcode.0, 0x00 | 0x01 | 0x06 | 0x07)
            };
            let size = (frames.iter().filter(to_same).find(full))
                .map_or(1_024, |other| other.payload_bytes.unwrap().into());
            let mtu = mtu_code(size).unwrap();
            let mut qp = ResponderQp::new(2);
            let configuration = ResponderConfig {
                mtu,
                rnr_timer: 20,
                restart: false,
            };
            qp.step(ResponderEvent::Open {
                configuration,
                psn: bth.psn,
            });
            Flow {
                qp,
                mtu: size,
                model: Vec::new(),
                linux: Vec::new(),
                passed: Vec::new(),
            }
        });
        let reth = ext.reth.unwrap_or_default();
        let within = |&(key, start, length): &(u64, u64, u64)| {
            key == u64::from(reth.rkey)
                && start <= reth.va
                && reth.va + u64::from(reth.dma_len) <= start + length
        };
        let arrival = Arrival {
            operation: bth.opcode.0,
            psn: bth.psn,
            ack_req: bth.ack_req,
            solicited: bth.solicited,
            payload_bytes: frame.payload_bytes.unwrap(),
            access: regions.as_ref().is_none_or(|all| all.iter().any(within)),
            va: reth.va,
            rkey: reth.rkey,
            dma_len: reth.dma_len,
            ..Arrival::default()
        };
        // When software posted a buffer is not visible on the wire; the first answer that depends on it shows whether
        // it had.
        let refused = frames[at + 1..].iter().find_map(|it| {
            let (answer, ip) = (it.bth.unwrap(), it.ip.unwrap());
            let of_flow = (ip.src as u8, answer.dest_qp.get()) == key;
            let aeth = it.ext.unwrap().aeth.filter(|_| of_flow)?;
            match aeth.syndrome.0 {
                timer if RNR.contains(&timer) && answer.psn == bth.psn => Some(true),
                0..0x20 if answer.psn.ahead_of(bth.psn) >= 0 => Some(false),
                _ => None,
            }
        });
        flow.request(arrival, refused != Some(true));
    }
    flows
}

fn naks(answers: &[Answer], passed: &[u32]) -> Vec<Answer> {
    let all = answers.iter().copied();
    all.filter(|(psn, syndrome, _)| *syndrome >= 0x20 && !passed.contains(psn))
        .collect()
}

/// Asserts that Linux's ACKs are for PSNs that the model has accepted.
fn acks_hold(flow: &Flow, first: Psn) {
    let end = flow.qp.context.expected_psn;
    for (psn, syndrome, _) in &flow.linux {
        let psn = Psn::new(*psn).unwrap();
        if *syndrome < 0x20 {
            assert!(psn.ahead_of(end) < 0 && psn.ahead_of(first) >= -1, "{psn}");
        }
    }
}

#[test]
fn refusals_are_linuxs() {
    let paths = captures("nak_access_and_invalid");
    assert!(!paths.is_empty());
    for path in paths.iter().filter(|path| regions(path).is_some()) {
        let mut count = 0;
        for ((node, qpn), flow) in flows(path) {
            let mut linux = naks(&flow.linux, &flow.passed);
            linux.retain(|nak| nak.1 != OPERATION);
            let model = naks(&flow.model, &flow.passed);
            assert_eq!(model, linux, "{}: node {node}, QP {qpn:#x}", path.display());
            count += linux.len();
        }
        println!("{}: {count} NAKs", path.display());
        assert!(count > 0);
    }
}

#[test]
fn sequence_naks_are_linuxs() {
    let paths = captures("loss_mtu256_all_ops");
    assert!(!paths.is_empty());
    for path in paths {
        let (mut count, mut acks) = (0, 0);
        for ((node, qpn), flow) in flows(&path) {
            // Some of Linux's NAKs were lost on the way.
            let model = naks(&flow.model, &flow.passed);
            let mut left = model.iter();
            for nak in naks(&flow.linux, &flow.passed) {
                assert!(
                    left.any(|it| *it == nak),
                    "{}: node {node}, QP {qpn:#x}: Linux's {nak:x?}, the model's {model:x?}",
                    path.display()
                );
                count += 1;
            }
            let of_model = |ack: &&Answer| flow.model.contains(ack);
            acks += flow.linux.iter().filter(of_model).count();
            acks_hold(&flow, Psn::new(0x1000).unwrap());
        }
        println!("{}: {count} NAKs, {acks} answers alike", path.display());
        assert!(count > 0 && acks > 0);
    }
}

#[test]
fn rnr_naks_are_linuxs() {
    for path in captures("rnr_nak_then_success") {
        let mut count = 0;
        for ((node, qpn), flow) in flows(&path) {
            // Packets after an RNR NAK cause Linux to send a sequence NAK, too; the standard requires silence.
            let rnr = |all: &[Answer]| -> Vec<Answer> {
                let naks = naks(all, &flow.passed);
                naks.into_iter().filter(|it| it.1 != SEQUENCE).collect()
            };
            let linux = rnr(&flow.linux);
            assert_eq!(rnr(&flow.model), linux, "node {node}, QP {qpn:#x}");
            count += linux.len();
        }
        println!("{}: {count} RNR NAKs", path.display());
        assert!(count > 0);
    }
}
