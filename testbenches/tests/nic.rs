//! Two NICs back to back: messages both ways, losses, marks, pauses, what is dropped and counted, and rates in cycles.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use xoff::units::PERIOD_256_PS;
use xoff::units::nic::{BYTE_PS, RateChange, RtlNic, Sent, WIRE_OVERHEAD};
use xoff::units::nic_pair::{Pair, QPN_BASE, REGION, Wire, all, qp};
use xoff::units::registers::Registers;
use xoff_sim::host::memory::content;
use xoff_sim::nic::QpSettings;
use xoff_sim::nic_registers as reg;
use xoff_sim::reference::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::reference::icrc;
use xoff_sim::wire::Opcode;
use xoff_sim::wire::frame::{IpKind, ParsedFrame, Verdict};

const MTU: u32 = 1024;
const SOURCE: u64 = 0x7F00_0000_0000;

/// [`Pair`], where whatever does not hold fails the test.
struct Tested(Pair);

impl std::ops::Deref for Tested {
    type Target = Pair;
    fn deref(&self) -> &Pair {
        &self.0
    }
}

impl std::ops::DerefMut for Tested {
    fn deref_mut(&mut self) -> &mut Pair {
        &mut self.0
    }
}

impl Tested {
    fn new(change: impl Fn(&mut QpSettings), qps: u16) -> Self {
        Self(Pair::new(1, change, qps).unwrap())
    }

    fn step(&mut self, wire: &mut Wire) {
        self.0.step(wire).unwrap();
    }

    /// Steps until `done`; fails after so many cycles.
    fn run(&mut self, cycles: u64, wire: &mut Wire, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..cycles {
            self.step(wire);
            if done(self) {
                return;
            }
        }
        let counters = [0, 1].map(|side| self.counters(side).unwrap());
        panic!(
            "not done in {cycles} cycles: {} frames, completions {:?}, counters {counters:?}",
            self.frames.len(),
            self.completions
        );
    }

    fn count(&mut self, side: usize, counter: u16) -> u32 {
        self.read(side, counter).unwrap()
    }

    /// The pulses of `event_o` are what the counters counted.
    fn pulses_are_counted(&mut self) {
        for side in 0..2 {
            // Reading takes cycles, and frames may be on their way: nothing may count meanwhile.
            for _ in 0..2000 {
                self.step(&mut all);
            }
            let events = *self.nics[side].events();
            for counter in reg::COUNTERS {
                if !counter.bytes {
                    let count = self.count(side, counter.address);
                    let pulses = events[counter.bit() as usize];
                    assert_eq!(u64::from(count), pulses, "{} of {side}", counter.name);
                }
            }
            assert_eq!(events, *self.nics[side].events());
        }
    }
}

/// Posts `lengths` as SENDs and WRITEs from one side, and buffers on the other. Gives what must lie in the other's memory then, and how many completions come to both.
fn post(
    pair: &mut Tested,
    side: usize,
    index: u8,
    lengths: &[u32],
) -> (BTreeMap<u64, u8>, [usize; 2]) {
    let mut expected = BTreeMap::new();
    let mut completions = [0; 2];
    let place = |i: usize| {
        REGION + 0x10_0000 * (i as u64 + 1) + 7 * i as u64 + 0x400_0000 * u64::from(index)
    };
    for (i, &length) in lengths.iter().enumerate() {
        let kind = [
            WorkKind::SEND,
            WorkKind::WRITE,
            WorkKind::SEND_IMM,
            WorkKind::WRITE_IMM,
        ][i % 4];
        let local_va = SOURCE + 0x100_0000 * i as u64 + 3 * i as u64;
        if kind != WorkKind::WRITE {
            let recv = Recv {
                length: length + 1,
                local_va: place(i),
                local_key: pair.key[1 - side],
                id: 1000 + i as u64,
            };
            pair.nics[1 - side].post_recv(index, recv);
            completions[1 - side] += 1;
        }
        let remote_va = if kind == WorkKind::WRITE || kind == WorkKind::WRITE_IMM {
            place(i) + 0x8_0000
        } else {
            0
        };
        let work = Work {
            kind,
            signaled: true,
            length,
            local_va,
            local_key: 77,
            remote_va,
            remote_key: pair.key[1 - side],
            imm: 0xABC0 + i as u32,
            id: i as u64,
            ..Work::default()
        };
        pair.nics[side].post(index, work);
        completions[side] += 1;
        let target = if remote_va == 0 { place(i) } else { remote_va };
        for byte in 0..u64::from(length) {
            expected.insert(target + byte, content(local_va + byte));
        }
    }
    (expected, completions)
}

fn done(pair: &Tested, counts: [usize; 2]) -> bool {
    (0..2).all(|side| pair.completions[side].len() == counts[side])
}

fn good(pair: &Tested) {
    for side in 0..2 {
        for (_, completion) in &pair.completions[side] {
            assert_eq!(completion.status, Status::Success, "{completion:?}");
        }
    }
}

const LENGTHS: [u32; 12] = [
    0,
    0,
    1,
    1,
    MTU - 1,
    MTU - 1,
    MTU,
    MTU,
    MTU + 1,
    MTU + 1,
    5 * MTU,
    3 * MTU + 2,
];

fn both_ways(change: impl Fn(&mut QpSettings), skip: bool) -> Tested {
    let mut pair = Tested::new(change, 2);
    pair.skip = skip;
    let mut counts = [0; 2];
    let mut expected = [BTreeMap::new(), BTreeMap::new()];
    for (side, index) in [(0, 0), (1, 0), (0, 1)] {
        let (memory, completions) = post(&mut pair, side, index, &LENGTHS);
        expected[1 - side].extend(memory);
        counts[0] += completions[0];
        counts[1] += completions[1];
    }
    pair.run(60_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    for (side, expected) in expected.iter().enumerate() {
        assert!(pair.memory(side) == *expected, "memory of {side}");
    }
    pair
}

#[test]
fn messages_of_all_lengths_both_ways() {
    let mut pair = both_ways(|_| {}, false);
    // Immediate data and lengths of receives.
    let received: Vec<_> = pair.completions[1]
        .iter()
        .filter(|(qp, completion)| completion.receive && *qp == 0)
        .map(|(_, completion)| completion)
        .collect();
    let lengths: Vec<u32> = received.iter().map(|c| c.length).collect();
    assert_eq!(
        lengths,
        [0, 1, 1, MTU - 1, MTU, MTU, MTU + 1, 5 * MTU, 3 * MTU + 2]
    );
    assert_eq!(received[1].imm, 0xABC2);
    // IPv4 identification counts up frame by frame.
    let ids: Vec<u16> = pair
        .frames
        .iter()
        .filter(|(side, ..)| *side == 0)
        .map(|(_, _, frame)| frame.ip.unwrap().id)
        .collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1));
    for side in 0..2 {
        assert_eq!(pair.count(side, reg::RESENT_OUT), 0);
        let frames = pair.count(side, reg::FRAMES_OUT);
        assert_eq!(
            frames,
            pair.frames
                .iter()
                .filter(|(from, ..)| *from == side)
                .count() as u32
        );
        assert_eq!(frames, pair.count(1 - side, reg::FRAMES_IN));
        assert_eq!(
            pair.count(side, reg::BYTES_OUT),
            pair.count(1 - side, reg::BYTES_IN)
        );
    }
    pair.pulses_are_counted();
}

/// An IPv4 address as the low bits of an IPv6 one.
fn low_word(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => u32::MAX as u128 & u128::from(ip),
    }
}

#[test]
fn over_ipv6_with_tags() {
    for tags in [vec![], vec![0xA00C], vec![0x2001, 0x6002]] {
        let pair = both_ways(
            |setup| {
                for port in [&mut setup.own, &mut setup.peer] {
                    port.ip = Ipv6Addr::from(0x2001_0DB8 << 96 | low_word(port.ip)).into();
                }
                setup.tags = tags.clone();
            },
            false,
        );
        let (.., frame) = &pair.frames[0];
        assert_eq!(frame.eth.as_ref().unwrap().tags.len(), tags.len());
    }
}

#[test]
fn skipping_idle_cycles_changes_no_frame() {
    let [every, skipping] = [false, true].map(|skip| {
        let mut pair = both_ways(|_| {}, skip);
        // Quiet, and then once more.
        for _ in 0..3000 {
            pair.step(&mut all);
        }
        let before = [0, 1].map(|side| pair.completions[side].len());
        let (_, counts) = post(&mut pair, 0, 1, &[3 * MTU + 1]);
        pair.run(10_000, &mut all, |pair| {
            done(pair, [before[0] + counts[0], before[1] + counts[1]])
        });
        pair
    });
    assert_eq!(every.skipped, 0);
    assert!(skipping.skipped > 5000, "{}", skipping.skipped);
    assert_eq!(every.frames, skipping.frames);
    assert_eq!(every.completions, skipping.completions);
    assert_eq!(every.written, skipping.written);
}

#[test]
fn a_lost_frame_is_resent() {
    // In the middle: the next one makes a NAK. The last: nothing comes, a timeout, for which an idle NIC has to be woken.
    for (lost, counter) in [(2, reg::NAKS_IN), (5, reg::TIMEOUTS)] {
        let [every, skipping] = [false, true].map(|skip| {
            let mut pair = Tested::new(|_| {}, 1);
            pair.skip = skip;
            let (expected, counts) = post(&mut pair, 0, 0, &[6 * MTU]);
            let mut seen = 0;
            let mut wire = |side: usize, _: &mut Vec<u8>, _: &ParsedFrame| {
                seen += u32::from(side == 0);
                side == 1 || seen != lost + 1
            };
            pair.run(60_000, &mut wire, |pair| done(pair, counts));
            good(&pair);
            assert!(pair.memory(1) == expected);
            assert_eq!(pair.count(0, counter), 1, "frame {lost}");
            assert!(pair.count(0, reg::RESENT_OUT) > 0);
            assert_eq!(pair.count(1, reg::GAPS_IN) > 0, lost == 2);
            pair.skip = false;
            pair.pulses_are_counted();
            pair.0.frames
        });
        assert_eq!(every, skipping, "frame {lost}");
    }
}

#[test]
fn qps_that_end_together_lose_no_completion() {
    // Many more than the queue holds, while the host takes none: all QPs time out in one sweep, and some have work that comes only then.
    let qps = 64;
    let mut pair = Tested::new(
        |setup| {
            setup.requester.timeout = 1;
            setup.requester.retry = 0;
        },
        qps,
    );
    pair.nics[0].stalls.completions = true;
    let work = |id| Work {
        signaled: true,
        length: 1,
        local_va: SOURCE,
        id,
        ..Work::default()
    };
    for id in 0..16 {
        for index in 0..qps {
            pair.nics[0].post(index as u8, work(id));
        }
    }
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    for _ in 0..10_000 {
        pair.step(&mut nothing);
    }
    assert!(pair.completions[0].is_empty());
    assert!(!pair.rest[0].idle);
    let stalled = pair.count(0, reg::EXHAUSTED);
    assert!(stalled > 0 && stalled < u32::from(qps), "{stalled}");
    pair.nics[0].stalls.completions = false;
    pair.run(10_000, &mut nothing, |pair| {
        pair.completions[0].len() == usize::from(qps) * 16
    });
    for index in 0..qps {
        let of: Vec<_> = pair.completions[0]
            .iter()
            .filter(|(qp, _)| u16::from(*qp) == index)
            .map(|(_, completion)| (completion.id, completion.status))
            .collect();
        let expected: Vec<_> = (0..16)
            .map(|id| match id {
                0 => (id, Status::RetryExceeded),
                _ => (id, Status::Flushed),
            })
            .collect();
        assert_eq!(of, expected, "QP {index}");
    }
    assert_eq!(pair.count(0, reg::EXHAUSTED), u32::from(qps));
    pair.pulses_are_counted();
}

/// Makes the IPv4 checksum right.
fn mend(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum: u32 = frame[14..34]
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]))
        .sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let folded = (folded & 0xFFFF) + (folded >> 16);
    frame[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// Sets CE.
fn mark(frame: &mut [u8]) {
    frame[15] |= 3;
    mend(frame);
}

/// Cycles by which a frame of the first NIC's one QP starts before the rate lets it, at most. A rate that is left still counts for 1,000 cycles: packets of all slots are on their way to the wire.
fn ahead_of_rate(frames: &[(usize, Sent, ParsedFrame)], rates: &[RateChange]) -> u64 {
    let (mut may, mut ahead) = (0, 0);
    for (_, sent, _) in frames.iter().filter(|(side, ..)| *side == 0) {
        let at = sent.start_ps / PERIOD_256_PS;
        let known = rates.partition_point(|change| change.cycle <= at);
        let left = rates[..known].partition_point(|change| change.cycle + 1_000 <= at);
        let rate = (rates[left.saturating_sub(1)..known].iter())
            .map(|change| change.rate)
            .max()
            .unwrap_or(40_000_000);
        let wire_bits = 8 * (sent.bytes.len() as u64 + WIRE_OVERHEAD);
        let cycles = wire_bits * 1_000_000_000 / u64::from(rate) / PERIOD_256_PS;
        ahead = ahead.max(u64::saturating_sub(may, at));
        may = may.max(at) + cycles;
    }
    ahead
}

#[test]
fn a_mark_makes_a_cnp_and_a_cnp_slows_the_sender() {
    let finish = |marked: bool| {
        let mut pair = Tested::new(|_| {}, 1);
        for nic in &mut pair.nics {
            nic.write(reg::CONTROL, 1 << reg::DCQCN_ON_LOW).unwrap();
            nic.write(reg::LIMITER_BURST, 0).unwrap();
        }
        pair.together().unwrap();
        let from = pair.nics[0].now();
        let (expected, counts) = post(&mut pair, 0, 0, &[200 * MTU]);
        let mut wire = |side: usize, frame: &mut Vec<u8>, parsed: &ParsedFrame| {
            if side == 0 {
                assert_eq!(parsed.ip.unwrap().traffic_class & 3, 2, "ECT(0)");
                if marked {
                    mark(frame);
                }
            }
            true
        };
        pair.run(200_000, &mut wire, |pair| done(pair, counts));
        good(&pair);
        assert!(pair.memory(1) == expected);
        let cnps: Vec<_> = pair
            .frames
            .iter()
            .filter(|(.., frame)| frame.verdict == Verdict::Cnp)
            .collect();
        assert_eq!(cnps.is_empty(), !marked);
        for (side, _, cnp) in &cnps {
            assert_eq!(*side, 1);
            assert!(cnp.bth.unwrap().becn);
            assert_eq!(cnp.ip.unwrap().traffic_class, 48 << 2 | 2);
            assert_eq!(cnp.bth.unwrap().dest_qp.get(), QPN_BASE);
        }
        let cnps = cnps.len() as u32;
        assert_eq!(pair.count(1, reg::CNPS_OUT), cnps);
        assert_eq!(pair.count(0, reg::CNPS_IN), cnps);
        let finished = pair.nics[0].now();
        // What is told for charts: line rate and α = 1 from the OPEN on; half the rate with the first CNP, α stays 1; then timers.
        let one = 1 << 24;
        for _ in 0..12_000 {
            pair.step(&mut all);
        }
        let rates = pair.nics[0].take_rates();
        assert!(rates.is_sorted_by_key(|change| change.cycle));
        assert!(rates.iter().all(|change| change.qp == 0));
        let seen: Vec<_> = rates
            .iter()
            .map(|change| (change.rate, change.limited, change.alpha))
            .collect();
        assert_eq!(seen[0], (40_000_000, false, one));
        if marked {
            assert_eq!(seen[1], (20_000_000, true, one));
            assert!(seen[2..].iter().any(|(_, _, alpha)| *alpha < one));
            let ahead = ahead_of_rate(&pair.frames, &rates);
            println!("{ahead} cycles ahead of its rate at most");
            assert!(ahead < 100, "{ahead} cycles ahead of its rate");
        } else {
            assert_eq!(seen.len(), 1);
        }
        pair.nics[0].close(0).unwrap();
        pair.nics[0].close(0).unwrap();
        pair.pulses_are_counted();
        let closed = *pair.nics[0].take_rates().last().unwrap();
        assert_eq!((closed.rate, closed.limited, closed.alpha), (0, false, 0));
        finished - from
    };
    let (free, slowed) = (finish(false), finish(true));
    // α is 1 at first: half the rate from the first CNP on.
    assert!(
        slowed > free * 3 / 2,
        "{slowed} cycles, {free} without marks"
    );
}

#[test]
fn a_receiver_that_stalls_pauses_its_peer_and_drops_nothing() {
    let class = 3;
    let mut pair = Tested::new(|_| {}, 1);
    for nic in &mut pair.nics {
        // DSCP 26 is word 3, entry 2.
        nic.write(reg::DSCP_MAP + 4 * 3, class << 8).unwrap();
        nic.write(reg::PFC_CLASSES, 1 << class).unwrap();
        nic.write(reg::PFC_XOFF + 4 * class as u16, 20_000).unwrap();
        nic.write(reg::PFC_XON + 4 * class as u16, 10_000).unwrap();
        // A tenth of the longest pause.
        nic.write(reg::PFC_QUANTA, 6_553).unwrap();
        nic.write(reg::PFC_REFRESH, 8_000).unwrap();
        // The class of a QP is that of its path when it is opened.
    }
    for side in 0..2 {
        pair.nics[side].open(0, &qp(side, 0)).unwrap();
    }
    pair.together().unwrap();
    let (expected, counts) = post(&mut pair, 0, 0, &[300 * MTU]);
    pair.nics[1].stalls.writes = true;
    let mut paused_at = None;
    let mut late = 0;
    for _ in 0..30_000 {
        let before = pair.frames.len();
        pair.step(&mut all);
        let now = pair.nics[0].now();
        if pair.nics[0].paused() == 0 {
            paused_at = None;
        } else if paused_at.is_none() {
            paused_at = Some(now);
        }
        // A frame that begins more than 20 cycles after the pause.
        for (side, sent, _) in &pair.frames[before..] {
            late += usize::from(
                *side == 0 && paused_at.is_some_and(|at| sent.start_ps > (at + 20) * PERIOD_256_PS),
            );
        }
    }
    assert!(paused_at.is_some());
    assert_eq!(late, 0);
    assert!(pair.count(1, reg::PFC_OUT) >= 3, "refreshed");
    let resynchronised = pair.nics[1].now();
    while pair.nics[0].now() < resynchronised {
        pair.nics[0].cycle().unwrap();
    }
    pair.nics[1].stalls.writes = false;
    pair.run(60_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    assert_eq!(pair.count(1, reg::DROP_FULL), 0);
    assert_eq!(pair.count(1, reg::GAPS_IN), 0);
    assert_eq!(pair.count(0, reg::PFC_IN), pair.count(1, reg::PFC_OUT));
    pair.pulses_are_counted();
}

#[test]
fn what_is_dropped_is_counted() {
    let mut pair = Tested::new(|_| {}, 1);
    let (_, counts) = post(&mut pair, 0, 0, &[100]);
    let mut frame = vec![];
    let mut wire = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
        if side == 0 && frame.is_empty() {
            frame = bytes.clone();
        }
        true
    };
    pair.run(10_000, &mut wire, |pair| done(pair, counts));
    let before = pair.written[1].len();
    let damaged = |at: usize, bits: u8| {
        let mut bytes = frame.clone();
        bytes[at] ^= bits;
        bytes
    };
    // A right ICRC and a right checksum all the same.
    let sealed = |at: usize, bits: u8| {
        let mut bytes = damaged(at, bits);
        mend(&mut bytes);
        let end = bytes.len() - 4;
        let seal = icrc(IpKind::V4, &bytes[14..end]).unwrap();
        bytes[end..].copy_from_slice(&seal);
        bytes
    };
    // Source address at 26 to 29. BTH at 42: QPN 47 to 49, P_Key 44 and 45.
    let mut other = frame.clone();
    other[12] = 0x08;
    other[13] = 0x06;
    for (bytes, counter) in [
        (damaged(80, 1), reg::DROP_ICRC),
        (sealed(47, 0x10), reg::DROP_QP),
        (sealed(49, 1), reg::DROP_QP),
        (sealed(45, 1), reg::DROP_QP),
        (sealed(29, 1), reg::DROP_QP),
        (sealed(42, 0x20), reg::DROP_SERVICE),
        (damaged(24, 1), reg::DROP_MALFORMED),
        (other, reg::DROP_NOT_ROCE),
    ] {
        let count = pair.count(1, counter);
        let at = pair.nics[1].now() * PERIOD_256_PS;
        pair.nics[1].receive(at, bytes);
        for _ in 0..100 {
            pair.nics[1].cycle().unwrap();
        }
        assert_eq!(pair.count(1, counter), count + 1, "{counter:#x}");
    }
    for _ in 0..100 {
        pair.nics[1].cycle().unwrap();
    }
    assert_eq!(
        pair.nics[1].take_written().len() + pair.written[1].len(),
        before
    );
    // What was dropped left nothing in the receive buffer.
    while pair.nics[0].now() < pair.nics[1].now() {
        pair.nics[0].cycle().unwrap();
    }
    let (expected, more) = post(&mut pair, 0, 0, &[3 * MTU]);
    pair.written[1].clear();
    pair.run(10_000, &mut all, |pair| {
        done(pair, [counts[0] + more[0], counts[1] + more[1]])
    });
    assert!(pair.memory(1) == expected);
    pair.pulses_are_counted();
}

#[test]
fn no_write_leaves_a_region() {
    let past = |key: u32| (key, REGION + (1 << 30) - 10);
    for (what, pick) in [("tag", 0), ("index", 1), ("end", 2), ("begin", 3)] {
        let mut pair = Tested::new(|_| {}, 1);
        let key = pair.key[1];
        let (remote_key, remote_va) = match pick {
            0 => (key ^ 1, REGION),
            1 => (key + 256, REGION),
            2 => past(key),
            _ => (key, REGION - 1),
        };
        let work = Work {
            kind: WorkKind::WRITE,
            signaled: true,
            length: 11,
            local_va: SOURCE,
            remote_va,
            remote_key,
            id: 5,
            ..Work::default()
        };
        pair.nics[0].post(0, work);
        pair.run(10_000, &mut all, |pair| done(pair, [1, 0]));
        assert_eq!(
            pair.completions[0][0].1.status,
            Status::RemoteAccess,
            "{what}"
        );
        assert_eq!(pair.count(1, reg::ACCESS_IN), 1);
        assert!(pair.written[1].is_empty(), "{what}");
    }
    // A receive buffer.
    let mut pair = Tested::new(|_| {}, 1);
    let local_key = pair.key[1];
    let recv = Recv {
        length: 11,
        local_va: REGION + (1 << 30) - 10,
        local_key,
        id: 9,
    };
    pair.nics[1].post_recv(0, recv);
    let work = Work {
        signaled: true,
        length: 11,
        local_va: SOURCE,
        ..Work::default()
    };
    pair.nics[0].post(0, work);
    pair.run(10_000, &mut all, |pair| done(pair, [1, 1]));
    assert_eq!(pair.completions[1][0].1.status, Status::LocalAccess);
    assert_eq!(pair.count(1, reg::LOCAL_ACCESS), 1);
    assert!(pair.written[1].is_empty());
}

/// Frames to one side, back to back at line rate.
fn back_to_back(nic: &mut RtlNic, frames: &[Vec<u8>], rounds: usize) {
    let mut at_ps = nic.now() * PERIOD_256_PS;
    for _ in 0..rounds {
        for frame in frames {
            nic.receive(at_ps, frame.clone());
            at_ps += (frame.len() as u64 + WIRE_OVERHEAD) * BYTE_PS;
        }
    }
    while nic.receiving() > 0 {
        nic.cycle().unwrap();
    }
    for _ in 0..5000 {
        nic.cycle().unwrap();
    }
}

#[test]
fn shortest_frames_back_to_back_are_all_taken() {
    // SENDs of 0 and 1 bytes into buffers, of one QP and of many; then the same again and again as duplicates. Each asks for an ACK.
    for (qps, length) in [(1, 0), (16, 0), (64, 0), (1, 1), (64, 1)] {
        let mut pair = Tested::new(|setup| setup.requester.timeout = 0, qps);
        let mut sent = vec![];
        for index in 0..qps {
            for i in 0..16 {
                let recv = Recv {
                    length,
                    local_va: REGION,
                    local_key: pair.key[1],
                    id: i,
                };
                pair.nics[1].post_recv(index as u8, recv);
                let work = Work {
                    signaled: true,
                    length,
                    local_va: SOURCE,
                    id: i,
                    ..Work::default()
                };
                pair.nics[0].post(index as u8, work);
            }
        }
        let mut lose = |side: usize, bytes: &mut Vec<u8>, frame: &ParsedFrame| {
            let bth = frame.bth.unwrap();
            if side == 0 && bth.opcode == Opcode::RC_SEND_ONLY && sent.len() < usize::from(qps) * 16
            {
                assert!(bth.ack_req);
                sent.push(bytes.clone());
            }
            false
        };
        for _ in 0..1000 + u32::from(qps) * 120 {
            pair.step(&mut lose);
        }
        assert_eq!(sent.len(), usize::from(qps) * 16);
        assert!(
            sent.iter()
                .all(|frame| frame.len() == 60 + 2 * length as usize)
        );
        let rounds = 6400 / sent.len();
        back_to_back(&mut pair.nics[1], &sent, rounds);
        assert_eq!(
            pair.count(1, reg::DROP_FULL),
            0,
            "{qps} QPs, {length} bytes"
        );
        assert_eq!(pair.count(1, reg::REQUESTS_IN), sent.len() as u32);
        assert_eq!(
            pair.count(1, reg::DUPLICATES_IN),
            ((rounds - 1) * sent.len()) as u32
        );
        assert!(pair.count(1, reg::ANSWERS_OUT) > 0);
        assert_eq!(pair.nics[1].take_completions().len(), sent.len());
    }
}

#[test]
fn answers_back_to_back_are_all_taken() {
    // Each packet of a long message is acknowledged alone; the peer hears none of it at first, and then all at once, again and again.
    for qps in [1, 16] {
        let change = |setup: &mut QpSettings| {
            setup.requester.ack_every = 1;
            setup.requester.timeout = 0;
        };
        let mut pair = Tested::new(change, qps);
        for index in 0..qps {
            let (local_key, remote_key) = (pair.key[0], pair.key[1]);
            let work = Work {
                kind: WorkKind::WRITE,
                signaled: true,
                length: 64 * MTU,
                local_va: SOURCE,
                local_key,
                remote_va: REGION,
                remote_key,
                ..Work::default()
            };
            pair.nics[0].post(index as u8, work);
        }
        let mut answers = vec![];
        let mut deaf = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
            if side == 1 {
                answers.push(bytes.clone());
            }
            side == 0
        };
        let wait = 5000 + 64 * 50 * u32::from(qps);
        for _ in 0..wait {
            pair.step(&mut deaf);
        }
        assert!(answers.len() > 32, "{}", answers.len());
        back_to_back(&mut pair.nics[0], &answers, 3200 / answers.len() + 1);
        assert_eq!(pair.count(0, reg::DROP_FULL), 0, "{qps} QPs");
        assert_eq!(pair.nics[0].take_completions().len(), usize::from(qps));
    }
}

/// Of the wire's time between the starts of the first and the last of these frames, the share in which it carried frames.
fn busy<'a>(frames: impl IntoIterator<Item = &'a Sent>) -> f64 {
    let frames: Vec<_> = frames.into_iter().collect();
    let took = frames[frames.len() - 1].start_ps - frames[0].start_ps;
    let carried: u64 = frames[..frames.len() - 1]
        .iter()
        .map(|sent| (sent.bytes.len() as u64 + WIRE_OVERHEAD) * BYTE_PS)
        .sum();
    carried as f64 / took as f64
}

#[test]
fn flows_fill_the_wire() {
    for (dcqcn, qps) in [(false, 1), (true, 1), (false, 3), (true, 16)] {
        let mut pair = Tested::new(|setup| setup.requester.window = 200, qps);
        for nic in &mut pair.nics {
            nic.write(reg::CONTROL, u32::from(dcqcn) << reg::DCQCN_ON_LOW)
                .unwrap();
        }
        pair.together().unwrap();
        let mut counts = [0; 2];
        for index in 0..qps {
            let (_, more) = post(&mut pair, 0, index as u8, &[u32::from(480 / qps) * MTU]);
            counts = [counts[0] + more[0], counts[1] + more[1]];
        }
        pair.run(60_000, &mut all, |pair| done(pair, counts));
        good(&pair);
        let from: Vec<_> = pair.frames.iter().filter(|(side, ..)| *side == 0).collect();
        // The first slots are filled in whatever order the host answers: from then on, and before the first flow ends.
        let full = from.iter().skip(20).map(|(_, sent, _)| sent);
        let full: Vec<_> = full
            .take(380)
            .filter(|sent| sent.bytes.len() == 1082)
            .collect();
        assert!(full.len() > 360);
        let busy = busy(full);
        println!("{qps} flows, DCQCN {dcqcn}: {busy:.4} of the wire");
        assert!(busy > 0.99, "{qps} flows, DCQCN {dcqcn}: {busy:.4}");
    }
}

#[test]
fn the_wire_stays_full_while_every_256th_packet_is_lost() {
    // SIGCOMM 2016, 4.1: a switch drops what has 0xFF in the low byte of its IP ID. A message of 4 MB.
    const MESSAGE: u32 = 4 << 20;
    for (restart, window, cycles) in [
        (false, 64, 200_000),
        (false, 256, 40_000),
        (true, 64, 40_000),
        (true, 256, 40_000),
    ] {
        let change = |setup: &mut QpSettings| {
            setup.requester.window = window;
            (setup.requester.restart, setup.responder.restart) = (restart, restart);
        };
        let mut pair = Tested::new(change, 1);
        let (local_key, remote_key) = (pair.key[0], pair.key[1]);
        for id in 0..2 {
            let work = Work {
                kind: WorkKind::WRITE,
                signaled: true,
                length: MESSAGE,
                local_va: SOURCE,
                local_key,
                remote_va: REGION,
                remote_key,
                id,
                ..Work::default()
            };
            pair.nics[0].post(0, work);
        }
        let mut lossy = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
            side == 1 || frame.ip.unwrap().id & 0xFF != 0xFF
        };
        for _ in 0..cycles {
            pair.step(&mut lossy);
        }
        let sent: Vec<_> = pair
            .0
            .frames
            .iter()
            .filter(|(side, ..)| *side == 0)
            .collect();
        let packets = sent.len();
        let busy = busy(sent.iter().skip(20).map(|(_, sent, _)| sent));
        let resent = pair.count(0, reg::RESENT_OUT);
        let messages = pair.completions[0].len();
        println!(
            "restart {restart}, window {window}: {busy:.4} of the wire, {} packets, {resent} resent, {messages} messages",
            packets
        );
        assert!(busy > 0.95, "restart {restart}, window {window}: {busy:.4}");
        assert!(resent > 0);
        // 200,000 cycles are 4,620 packets: go-back-N has sent one message. Go-back-0 never sends any.
        assert_eq!(messages, usize::from(!restart && cycles == 200_000));
        assert_eq!(pair.count(0, reg::TIMEOUTS), 0);
    }
}

/// A PFC frame that stops these classes for the longest time, or a PAUSE.
fn pause_frame(classes: Option<u8>) -> Vec<u8> {
    let mut frame = vec![0x01, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08];
    match classes {
        Some(classes) => frame.extend([0x01, 0x01, 0, classes]),
        None => frame.extend([0x00, 0x01]),
    }
    frame.extend([0xFF; 16]);
    frame.resize(60, 0);
    frame
}

/// Posts a message on each of two QPs of different classes, after the peer paused one of them or all.
fn pausing(
    setup: impl Fn(u16, &mut QpSettings),
    registers: &[(u16, u32)],
    frame: Vec<u8>,
) -> [usize; 2] {
    let mut pair = Tested::new(|_| {}, 0);
    for side in 0..2 {
        for &(address, data) in registers {
            pair.nics[side].write(address, data).unwrap();
        }
        for index in 0..2 {
            let mut qp = qp(side, index);
            setup(index, &mut qp);
            pair.nics[side].open(index, &qp).unwrap();
        }
    }
    pair.together().unwrap();
    let now_ps = pair.nics[0].now() * PERIOD_256_PS;
    pair.nics[0].receive(now_ps, frame);
    for _ in 0..50 {
        pair.step(&mut all);
    }
    for index in 0..2 {
        post(&mut pair, 0, index, &[3 * MTU]);
    }
    for _ in 0..5000 {
        pair.step(&mut all);
    }
    let sent = [0, 1].map(|index| {
        let to = |frame: &ParsedFrame| {
            frame
                .bth
                .is_some_and(|bth| bth.dest_qp.get() == QPN_BASE + index)
        };
        pair.frames
            .iter()
            .filter(|(side, _, frame)| *side == 0 && to(frame))
            .count()
    });
    pair.pulses_are_counted();
    sent
}

#[test]
fn a_paused_class_waits_and_others_pass() {
    // QP 0 has DSCP 26 and PCP 5, QP 1 DSCP 10 and PCP 2.
    let setup = |index: u16, qp: &mut QpSettings| {
        let (dscp, pcp) = [(26, 5), (10, 2)][usize::from(index)];
        qp.dscp = dscp;
        qp.tags = vec![pcp << 13 | 7];
    };
    // By DSCP: 26 is class 3, 10 class 1. By PCP: 5 is class 6, 2 class 0.
    let maps = [
        (reg::DSCP_MAP + 4 * 3, 3 << 8),
        (reg::DSCP_MAP + 4, 1 << 8),
        (reg::PCP_MAP, 6 << 20),
        (reg::PFC_CLASSES, 0xFF),
    ];
    let with = |control: u32| {
        let mut registers = maps.to_vec();
        registers.push((reg::CONTROL, control));
        registers
    };
    let (dscp, pcp) = (with(0), with(1 << reg::CLASS_BY_PCP_LOW));
    assert_eq!(pausing(setup, &dscp, pause_frame(Some(1 << 3))), [0, 3]);
    assert_eq!(pausing(setup, &dscp, pause_frame(Some(1 << 1))), [3, 0]);
    assert_eq!(pausing(setup, &dscp, pause_frame(Some(0x0A))), [0, 0]);
    assert_eq!(pausing(setup, &pcp, pause_frame(Some(1 << 6))), [0, 3]);
    assert_eq!(pausing(setup, &pcp, pause_frame(Some(1 << 3))), [3, 3]);
    // PAUSE stops all, where it is obeyed.
    assert_eq!(pausing(setup, &dscp, pause_frame(None)), [3, 3]);
    let obeyed = with(1 << reg::PAUSE_OBEYED_LOW);
    assert_eq!(pausing(setup, &obeyed, pause_frame(None)), [0, 0]);
}

#[test]
fn no_receive_buffer_makes_the_sender_wait() {
    let work = Work {
        signaled: true,
        length: 2 * MTU,
        local_va: SOURCE,
        id: 1,
        ..Work::default()
    };
    for (rnr_retry, comes) in [(7, true), (1, false)] {
        let mut pair = Tested::new(|setup| setup.requester.rnr_retry = rnr_retry, 1);
        pair.nics[0].post(0, work);
        for _ in 0..20_000 {
            pair.step(&mut all);
        }
        assert!(pair.count(1, reg::NO_BUFFER) > 1);
        assert!(pair.count(1, reg::RNR_NAKS_OUT) > 1);
        assert_eq!(pair.completions[0].len(), usize::from(!comes));
        pair.together().unwrap();
        if comes {
            let local_key = pair.key[1];
            let recv = Recv {
                length: 2 * MTU,
                local_va: REGION,
                local_key,
                id: 2,
            };
            pair.nics[1].post_recv(0, recv);
            pair.run(20_000, &mut all, |pair| done(pair, [1, 1]));
            good(&pair);
            let expected: BTreeMap<_, _> = (0..2 * u64::from(MTU))
                .map(|i| (REGION + i, content(SOURCE + i)))
                .collect();
            assert!(pair.memory(1) == expected);
        } else {
            assert_eq!(pair.completions[0][0].1.status, Status::RnrExceeded);
        }
        assert!(pair.count(0, reg::RNR_NAKS_IN) > 0);
        pair.pulses_are_counted();
    }
}

#[test]
fn a_closed_qp_takes_nothing_and_opens_again() {
    let change = |setup: &mut QpSettings| {
        setup.requester.timeout = 1;
        setup.requester.retry = 1;
    };
    let mut pair = Tested::new(change, 1);
    post(&mut pair, 0, 0, &[40 * MTU]);
    for _ in 0..500 {
        pair.step(&mut all);
    }
    pair.nics[1].close(0).unwrap();
    pair.together().unwrap();
    pair.run(20_000, &mut all, |pair| pair.completions[0].len() == 1);
    assert_eq!(pair.completions[0][0].1.status, Status::RetryExceeded);
    assert!(pair.count(1, reg::DROP_QP) > 0);
    assert!(pair.completions[1].is_empty());
    for side in 0..2 {
        let mut setup = qp(side, 0);
        change(&mut setup);
        pair.nics[side].open(0, &setup).unwrap();
        pair.completions[side].clear();
        pair.written[side].clear();
    }
    pair.together().unwrap();
    let (expected, counts) = post(&mut pair, 0, 0, &[2 * MTU, 5]);
    pair.run(20_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    pair.pulses_are_counted();
}

#[test]
fn what_finds_no_room_is_dropped_and_sent_again() {
    // No PFC: while the host writes nothing, the receive buffer overflows.
    let mut pair = Tested::new(|setup| setup.requester.window = 0, 1);
    let (expected, counts) = post(&mut pair, 0, 0, &[100 * MTU]);
    pair.nics[1].stalls.writes = true;
    for _ in 0..6000 {
        pair.step(&mut all);
    }
    assert!(pair.count(1, reg::DROP_FULL) > 0);
    pair.together().unwrap();
    pair.nics[1].stalls.writes = false;
    pair.run(60_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    pair.pulses_are_counted();
}

#[test]
fn the_watchdog_silences_pauses() {
    let class = 3;
    let mut pair = Tested::new(|_| {}, 0);
    for side in 0..2 {
        for (address, data) in [
            (reg::DSCP_MAP + 4 * 3, class << 8),
            (reg::PFC_CLASSES, 1 << class),
            (reg::PFC_XOFF + 4 * class as u16, 20_000),
            (reg::PFC_XON + 4 * class as u16, 10_000),
            (reg::PFC_QUANTA, 1_000),
            (reg::PFC_REFRESH, 1_000),
            (reg::BARK_LOW, 10_000),
            (reg::BITE_LOW, 20_000),
        ] {
            pair.nics[side].write(address, data).unwrap();
        }
        pair.nics[side].open(0, &qp(side, 0)).unwrap();
    }
    pair.together().unwrap();
    let (expected, counts) = post(&mut pair, 0, 0, &[100 * MTU]);
    pair.nics[1].stalls.writes = true;
    for _ in 0..30_000 {
        pair.step(&mut all);
    }
    assert_eq!(pair.count(1, reg::BARKS), 1);
    assert_eq!(pair.count(1, reg::BITES), 1);
    let silent = pair.count(1, reg::PFC_OUT);
    assert!(silent > 10, "{silent}");
    pair.together().unwrap();
    for _ in 0..5000 {
        pair.step(&mut all);
    }
    assert_eq!(pair.count(1, reg::PFC_OUT), silent);
    assert_eq!(pair.nics[0].paused(), 0);
    pair.together().unwrap();
    pair.nics[1].stalls.writes = false;
    pair.run(100_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    pair.pulses_are_counted();
}
