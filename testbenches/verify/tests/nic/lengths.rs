//! Frames of every length, in every class and part of the receive buffer: what of a frame is written is exactly its
//! payload, and what is not written is counted with its reason.

use std::ops::RangeInclusive;

use crate::fixture::{Tested, good, opened};
use crate::receive_buffer;
use crate::standard::packet;
use xoff_network::Endpoint;
use xoff_sim::frame::Frame;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::Recv;
use xoff_sim::seeded::SplitMix;
use xoff_sim::time::{Duration, LineRate, Time};
use xoff_sim::wire::{Ipv4, Opcode, Psn, RethRepr};
use xoff_verify::property::nic::pair::{REGION, STEP_MAX};

/// Lengths of the frames, without FCS.
const LENGTHS: RangeInclusive<usize> = 60..=9_600;
/// The longest frame that the MAC takes: 9,216 bytes with FCS.
const LONGEST: usize = 9_212;
/// Bytes of a WRITE's headers and ICRC: Ethernet, IPv4, UDP, BTH, RETH.
const WRITE: usize = 74;
/// The same of a SEND.
const SEND: usize = 58;
/// Most bytes of payload of a packet: the largest path MTU.
const PAYLOAD_MAX: usize = 4_096;
/// Bytes of memory of a packet, and of all packets of a class.
const PLACE: u64 = 0x2000;
const CLASS: u64 = 0x800_0000;
/// Classes.
const CLASSES: usize = 8;

/// The first PSN of the QP of a class.
fn first_psn(class: usize) -> Psn {
    Psn::wrapping(0xFF_FF00 + 0x1000 * class as u32)
}

/// Frames that one NIC receives back to back at line rate, and what has to come of them.
struct Run {
    pair: Tested,
    /// The wire is free from then on.
    free: Time,
    /// Passes over the lengths that are over.
    pass: usize,
    /// By class: the next PSN, the number of packets with payload, and what is to be written.
    psn: [Psn; CLASSES],
    places: [u64; CLASSES],
    expected: [Vec<(u64, Vec<u8>)>; CLASSES],
    /// Number of accepted requests, of SENDs among them, and of giants.
    accepted: u32,
    sends: usize,
    giants: u64,
    /// Frames by the counter of their reason.
    dropped: [(u16, u32); 5],
}

impl Run {
    fn new() -> Self {
        let mut pair = opened(
            &receive_buffer::registers(&[512; 4]),
            2 * CLASSES as u16,
            |_, index, setup| {
                let class = index % CLASSES as u16;
                setup.dscp = 8 * class as u8;
                (setup.requester.mtu, setup.responder.mtu) = (4, 4);
                let psn = first_psn(class.into());
                (setup.requester_psn, setup.responder_psn) = (psn, psn);
            },
        );
        pair.set_skip(true);
        let reasons = [
            reg::DROP_NOT_ROCE,
            reg::DROP_ICRC,
            reg::DROP_MALFORMED,
            reg::DROP_ADDRESS,
            reg::NOT_READY_IN,
        ];
        Self {
            free: pair.time() + Duration::from_us(1),
            pair,
            pass: 0,
            psn: std::array::from_fn(first_psn),
            places: [0; CLASSES],
            expected: Default::default(),
            accepted: 0,
            sends: 0,
            giants: 0,
            dropped: reasons.map(|reason| (reason, 0)),
        }
    }

    fn count(&mut self, reason: u16) {
        let counted = self.dropped.iter_mut().find(|(of, _)| *of == reason);
        counted.expect("a reason").1 += 1;
    }

    /// The class of a length: within four passes each part of the buffer once.
    fn class(&self, length: usize) -> usize {
        (length / 4 + 3 * self.pass) % CLASSES
    }

    /// A RoCE packet, the longest that fits in a frame of this length, with its address and payload; the frame is
    /// longer by what is left. Packets too short for a WRITE are SENDs.
    fn roce(&self, length: usize) -> (Vec<u8>, u64, Vec<u8>) {
        let class = self.class(length);
        let headers = if length < WRITE { SEND } else { WRITE };
        let padded = (length - headers) / 4 * 4;
        let pad = (length / 4 + length / 16 + self.pass) % 4;
        let payload: Vec<u8> = (0..padded.saturating_sub(pad))
            .map(|i| (i * 7 + i / 256 + length * 3 + self.pass * 101) as u8)
            .collect();
        // Each payload has a place of its own, whose alignment does not follow the length.
        let align = (length / 4 + length / 128 + 17 * self.pass) % 64;
        let va = REGION + CLASS * class as u64 + PLACE * self.places[class] + align as u64;
        // Packets that are too long are for QPs of their own.
        let (index, psn) = match payload.len() > PAYLOAD_MAX {
            true => (class + CLASSES, first_psn(class)),
            false => (class, self.psn[class]),
        };
        let frame = packet(0, index as u16, psn, |roce| {
            roce.ip.traffic_class = (8 * class as u8) << 2;
            if headers == SEND {
                roce.bth.opcode = Opcode::RC_SEND_ONLY;
            } else {
                roce.ext.reth = Some(RethRepr {
                    va,
                    rkey: self.pair.key[1],
                    dma_len: payload.len() as u32,
                });
            }
            roce.payload = payload.clone();
        });
        (frame, va, payload)
    }

    /// Sends a frame of this length.
    fn send(&mut self, length: usize) {
        let class = self.class(length);
        let (mut bytes, va, payload) = self.roce(length);
        let packet_bytes = bytes.len();
        bytes.resize(length, 0xEE);
        // Bytes behind a packet are not its own. Some frames of the lengths that no packet has are other frames.
        let other = (length % 4 != 2 && length > 60).then_some(length / 4 % 5);
        match other {
            _ if length > LONGEST => self.giants += 1,
            Some(0) => {
                bytes[12..14].copy_from_slice(&[0x88, 0xB5]);
                self.count(reg::DROP_NOT_ROCE);
            }
            Some(1) => {
                // In the payload, or in the ICRC.
                let end = packet_bytes.max(SEND + 2) - 2 * usize::from(packet_bytes == 60);
                let at = if length < WRITE + 16 {
                    end - 1
                } else {
                    WRITE - 4 + length % payload.len()
                };
                bytes[at] ^= 1 << (length % 8);
                self.count(reg::DROP_ICRC);
            }
            Some(2) => {
                // All of the frame is the packet, and what is behind the BTH no multiple of four bytes.
                bytes[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
                bytes[38..40].copy_from_slice(&((length - 34) as u16).to_be_bytes());
                Ipv4::new_unchecked(&mut bytes[14..]).fill_checksum();
                self.count(reg::DROP_MALFORMED);
            }
            Some(3) => {
                bytes[5] ^= 0x40;
                self.count(reg::DROP_ADDRESS);
            }
            // The first one ends its QP.
            _ if payload.len() > PAYLOAD_MAX => self.count(reg::NOT_READY_IN),
            _ => {
                if length < WRITE {
                    let recv = Recv {
                        length: payload.len() as u32,
                        local_va: va,
                        local_key: self.pair.key[1],
                        id: length as u64,
                    };
                    self.pair.post_recv(1, class as u16, recv);
                    self.free += Duration::from_us(2);
                    self.sends += 1;
                }
                self.psn[class] = self.psn[class].advance(1);
                self.accepted += 1;
                self.places[class] += 1;
                if !payload.is_empty() {
                    self.expected[class].push((va, payload));
                }
            }
        }
        let sent = Frame::sent(bytes.clone().into(), self.free, LineRate::G40);
        self.free = sent.line_free(LineRate::G40);
        self.pair.receive(1, sent.end, bytes);
        while self.pair.time() + Duration::from_us(20) < self.free {
            self.step();
        }
    }

    /// Nothing reaches the other NIC.
    fn step(&mut self) {
        let stepped = self.pair.step_over(STEP_MAX, &mut |_, _, _| vec![]);
        stepped.unwrap();
    }

    fn all(&mut self, mut lengths: Vec<usize>, draw: &mut SplitMix) {
        for place in (1..lengths.len()).rev() {
            lengths.swap(place, (draw.bits() % (place as u64 + 1)) as usize);
        }
        for length in lengths {
            self.send(length);
        }
        self.pass += 1;
    }
}

/// IEEE 802.3 (3.2.7, 4A.4.2): a frame has 64 bytes with FCS or more, and a MAC discards those that are longer than it
/// takes. IBTA volume 1, 9.7.4.1.6: payload fills up with pad bytes to a multiple of four, and is no longer than the
/// path MTU, which is 4,096 bytes at most; a longer one ends its QP. rtl/nic/README.md: every drop is counted with its reason; a class takes no
/// room from the classes of other parts.
#[test]
fn frames_of_every_length_are_written_to_the_byte_or_dropped_with_a_reason() {
    let mut draw = SplitMix::new(1);
    let mut run = Run::new();
    run.all(LENGTHS.collect(), &mut draw);
    let packets = LENGTHS.filter(|length| *length == 60 || length % 4 == 2);
    let packets: Vec<_> = packets
        .filter(|length| *length <= WRITE + PAYLOAD_MAX)
        .collect();
    for _ in 1..4 {
        run.all(packets.clone(), &mut draw);
    }
    let end = run.free + Duration::from_us(10);
    while run.pair.time() < end {
        run.step();
    }
    let pair = &mut run.pair;
    for (class, expected) in run.expected.iter().enumerate() {
        let of_class = |va: u64| (va - REGION) / CLASS == class as u64;
        let written: Vec<_> = (pair.written[1].iter())
            .filter(|write| of_class(write.va))
            .map(|write| (write.va, &write.bytes))
            .collect();
        let right = expected.iter().map(|(va, bytes)| (*va, bytes));
        let same = written
            .iter()
            .zip(right)
            .take_while(|(a, b)| *a == b)
            .count();
        let next = [
            written.get(same).copied(),
            expected.get(same).map(|(va, bytes)| (*va, bytes)),
        ];
        let lengths = next.map(|write| write.map(|(va, bytes)| (va, bytes.len())));
        assert!(
            written.len() == expected.len() && same == expected.len(),
            "class {class}: {} writes, {} expected, the first {same} are right; then {lengths:x?}",
            written.len(),
            expected.len(),
        );
    }
    let all: usize = run.expected.iter().map(Vec::len).sum();
    assert_eq!(
        pair.written[1].len(),
        all,
        "writes outside of the classes' memory"
    );
    let ended = pair.count(1, reg::INVALID_IN);
    assert_eq!(
        ended, CLASSES as u32,
        "QPs ended by a packet that is too long"
    );
    let found = run.dropped.map(|(reason, _)| {
        let more = if reason == reg::NOT_READY_IN {
            ended
        } else {
            0
        };
        (reason, pair.count(1, reason) + more)
    });
    assert_eq!(found, run.dropped, "drops by reason");
    assert!(
        run.dropped.iter().all(|(_, count)| *count > 300),
        "{:?}",
        run.dropped
    );
    assert_eq!(
        [pair.count(1, reg::DROP_FULL), pair.count(1, reg::GAPS_IN)],
        [0; 2]
    );
    assert_eq!(pair.count(1, reg::REQUESTS_IN), run.accepted);
    assert_eq!(pair.host(1).mac_counters().giants, run.giants);
    assert_eq!(run.giants, (LENGTHS.end() - LONGEST) as u64);
    assert_eq!(pair.completions[1].len(), run.sends);
    good(pair);
    let dropped: u32 = run.dropped.iter().map(|(_, count)| count).sum();
    println!(
        "{} requests, {dropped} frames dropped, {} giants",
        run.accepted, run.giants
    );
}
