//! The parts of the receive buffer (rtl/nic/receive_buffer.sv): a part of n cells holds n requests without payload, and
//! what does not fit is dropped and counted.

use crate::fixture::{SOURCE, Tested, dscp_maps, good, opened, signaled_write};
use xoff_sim::host::Stalled;
use xoff_sim::host::memory::content;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Work, WorkKind};
use xoff_sim::seeded::SplitMix;
use xoff_sim::wire::Psn;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{QPN_BASE, REGION, all};

const QPS: u16 = xoff_rtl::nic::QPS as u16;
/// Parts of the buffer.
const PARTS: usize = 4;
/// Cells of the buffer.
const CELLS: u32 = xoff_rtl::nic::BUFFER_BYTES / 64;
/// Messages of a QP.
const MESSAGES: u64 = 16;
/// Requests that the responder and the queues behind it may have taken when the host takes no writes.
const TAKEN: u32 = 100;

/// Registers of a buffer with these parts; part 0 has what the others leave. Class c, which has DSCP 8c, is in part c
/// modulo their number.
pub fn registers(cells: &[u32]) -> Vec<(u16, u32)> {
    let sizes = (0..).zip(&cells[1..]);
    let parts = cells.len() as u32;
    let map = (0..8).fold(0, |map, class| map | (class % parts) << (4 * class));
    dscp_maps()
        .chain(sizes.map(|(part, size)| (reg::BUFFER_CELLS + 4 * part, *size)))
        .chain([(reg::BUFFER_MAP, map)])
        .collect()
}

/// First PSN of a QP: another one for each.
fn first_psn(index: u16) -> Psn {
    Psn::wrapping(1_000 * u32::from(index))
}

/// QP i is of class i modulo 8, so in part i modulo 4.
fn pair_of(cells: [u32; PARTS]) -> Tested {
    opened(&registers(&cells), QPS, |_, index, setup| {
        setup.dscp = 8 * (index % 8) as u8;
        setup.requester.timeout = 0;
        (setup.requester_psn, setup.responder_psn) = (first_psn(index), first_psn(index));
    })
}

/// The packets of the messages of all QPs, which are lost on the wire: by QP, in their order. `length` is that of a
/// message, at most a byte.
fn requests(pair: &mut Tested, length: impl Fn(u64) -> u32) -> Vec<Vec<Vec<u8>>> {
    for index in 0..QPS {
        for id in 0..MESSAGES {
            let work = Work {
                kind: WorkKind::WRITE,
                length: length(id),
                local_va: SOURCE,
                remote_va: REGION + u64::from(index),
                remote_key: pair.key[1],
                id,
                ..Work::default()
            };
            pair.post(0, index, work);
        }
    }
    let mut sent = vec![vec![]; usize::from(QPS)];
    let mut lose = |_: usize, bytes: &mut Vec<u8>, frame: &ParsedFrame| {
        let index = frame.bth.unwrap().dest_qp.get() - QPN_BASE;
        sent[index as usize].push(bytes.clone());
        false
    };
    for _ in 0..8_000 {
        pair.step(&mut lose);
    }
    assert!(sent.iter().all(|of_one| of_one.len() == MESSAGES as usize));
    sent
}

/// Sends as many requests to each part of side 1, at line rate, while its host takes no writes: each QP's in their
/// order, then all again, as duplicates. Then the host takes them.
fn fill(pair: &mut Tested, requests: &[Vec<Vec<u8>>], counts: [u32; PARTS], draw: &mut SplitMix) {
    pair.stall(1, Stalled::Writes, 16, u64::MAX);
    let mut left = counts;
    let mut next = vec![0; requests.len()];
    let mut frames = vec![];
    while left != [0; PARTS] {
        let index = (draw.bits() % u64::from(QPS)) as usize;
        let part = index % PARTS;
        // The other QPs of a part may not be behind by more than a pass, so that none has too few.
        let fewest = (part..next.len()).step_by(PARTS).map(|of| next[of]).min();
        if left[part] == 0 || Some(next[index]) > fewest {
            continue;
        }
        left[part] -= 1;
        frames.push(requests[index][next[index] % requests[index].len()].clone());
        next[index] += 1;
    }
    pair.receive_back_to_back(1, frames);
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    while !pair.host(1).received() {
        pair.step(&mut nothing);
    }
    for _ in 0..500 {
        pair.step(&mut nothing);
    }
    pair.stall(1, Stalled::Writes, 16, 0);
    pair.rest(u64::from(20 * CELLS), &mut nothing);
}

/// Random sizes of the parts, each of which has at least 260 cells: with fewer, not every QP's messages fit.
fn sizes(draw: &mut SplitMix) -> [u32; PARTS] {
    let mut sizes = [0; PARTS];
    let mut left = CELLS - 260 * PARTS as u32;
    for size in &mut sizes[1..] {
        let more = (draw.bits() % u64::from(left + 1)) as u32;
        left -= more;
        *size = 260 + more;
    }
    sizes[0] = CELLS - sizes[1..].iter().sum::<u32>();
    sizes
}

#[test]
fn full_parts_lose_nothing_and_keep_their_order() {
    let mut draw = SplitMix::new(1);
    for _ in 0..4 {
        let cells = sizes(&mut draw);
        let mut pair = pair_of(cells);
        let requests = requests(&mut pair, |id| u32::from(id == 0));
        pair.frames.clear();
        fill(&mut pair, &requests, cells, &mut draw);
        assert_eq!(pair.count(1, reg::DROP_FULL), 0, "{cells:?}");
        assert_eq!(pair.count(1, reg::GAPS_IN), 0, "{cells:?}");
        let memory = pair.memory(1);
        for index in 0..QPS {
            let byte = memory.get(&(REGION + u64::from(index)));
            assert_eq!(byte, Some(&content(SOURCE)), "QP {index}, {cells:?}");
            let last = first_psn(index).advance(MESSAGES as u32 - 1);
            let acknowledged = pair.frames.iter().any(|(side, _, frame)| {
                let bth = frame.bth.unwrap();
                let to = bth.dest_qp.get() - QPN_BASE;
                *side == 1 && to == u32::from(index) && bth.psn == last
            });
            assert!(acknowledged, "QP {index}, {cells:?}");
        }
    }
}

#[test]
fn a_part_takes_as_many_requests_as_it_has_cells() {
    let mut draw = SplitMix::new(2);
    let requests = requests(&mut pair_of([CELLS / 4; PARTS]), |id| u32::from(id == 0));
    // One part has more than half of the buffer.
    for sizes in [
        [1_268, 260, 260, 260],
        [300, 1_100, 348, 300],
        [700, 600, 400, 348],
    ] {
        for part in 0..PARTS {
            let mut pair = pair_of(sizes);
            let mut counts = [0; PARTS];
            let over = 2 * TAKEN;
            counts[part] = sizes[part] + over;
            fill(&mut pair, &requests, counts, &mut draw);
            let dropped = pair.count(1, reg::DROP_FULL);
            assert!(
                (over - TAKEN..=over).contains(&dropped),
                "part {part} of {sizes:?}: {dropped} dropped, {over} too many"
            );
        }
    }
}

/// Nothing is lost on the wire and nothing is dropped, so no packet may be missed, wherever in its part it lies.
#[test]
fn parts_that_never_run_empty_go_round() {
    const PACKETS: u32 = 20;
    // Path MTU of 256 bytes.
    let (mtu, bytes) = (0, 256);
    let mut draw = SplitMix::new(3);
    // Parts that end at different places: the second one in the lower half of 512 beats, or in the upper. A part for each
    // class, all of which begin at an odd cell but the first.
    for sizes in [
        &[512; PARTS][..],
        &[450, 640, 500, 458],
        &sizes(&mut draw),
        &sizes(&mut draw),
        &[241, 260, 258, 254, 256, 262, 252, 265],
    ] {
        let mut settings = registers(sizes);
        settings.push((reg::PFC_CLASSES, 0xFF));
        for class in 0..8 {
            settings.push((reg::PFC_XOFF + 4 * class, 8_000));
            settings.push((reg::PFC_XON + 4 * class, 5_000));
        }
        let mut pair = opened(&settings, QPS, |_, index, setup| {
            setup.dscp = 8 * (index % 8) as u8;
            (setup.requester.mtu, setup.responder.mtu) = (mtu, mtu);
            setup.requester.timeout = 0;
            (setup.requester_psn, setup.responder_psn) = (first_psn(index), first_psn(index));
        });
        // Slower than the wire by far.
        pair.stall(1, Stalled::Writes, 12, u64::MAX);
        for index in 0..QPS {
            let work = signaled_write(&pair, 0, 0x1_0000 * u64::from(index), PACKETS * bytes);
            pair.post(0, index, work);
        }
        pair.run(300_000, &mut all, |pair| {
            pair.completions[0].len() == usize::from(QPS)
        });
        good(&pair);
        // What is acknowledged is written some time later.
        pair.rest(5_000, &mut all);
        assert_eq!(pair.count(1, reg::DROP_FULL), 0, "{sizes:?}");
        assert_eq!(pair.count(1, reg::GAPS_IN), 0, "{sizes:?}");
        let pauses = pair.count(1, reg::PFC_OUT);
        assert!(pauses > 50, "{pauses} pauses, {sizes:?}");
        let memory = pair.memory(1);
        assert_eq!(memory.len() as u32, u32::from(QPS) * PACKETS * bytes);
        for (at, byte) in memory {
            assert_eq!(byte, content(SOURCE + (at - REGION)), "at {at:#x}");
        }
    }
}

/// rtl/nic/README.md: the parts take turns, request by request.
#[test]
fn parts_take_turns() {
    let mut pair = pair_of([CELLS / 4; PARTS]);
    let requests = requests(&mut pair, |_| 1);
    for turns in [[0, 1, 2, 3], [3, 1, 0, 2]] {
        pair.written[1].clear();
        pair.stall(1, Stalled::Writes, 16, u64::MAX);
        let mut frames = vec![];
        // Half of the messages at a time.
        let half = usize::from(turns[0] == 3) * 8;
        for place in half..half + 8 {
            for part in turns {
                for of_one in requests.iter().skip(part).step_by(PARTS) {
                    frames.push(of_one[place].clone());
                }
            }
        }
        pair.receive_back_to_back(1, frames);
        let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
        while !pair.host(1).received() {
            pair.step(&mut nothing);
        }
        pair.stall(1, Stalled::Writes, 16, 0);
        pair.rest(10_000, &mut nothing);
        let parts: Vec<_> = (pair.written[1].iter())
            .map(|write| (write.va - REGION) as usize % PARTS)
            .collect();
        assert_eq!(parts.len(), 8 * usize::from(QPS));
        // Behind what was taken before, and while each part has some.
        for eight in parts[TAKEN as usize..parts.len() - 100].windows(8) {
            assert!(
                (0..PARTS).all(|part| eight.contains(&part)),
                "a part has no turn: {eight:?}"
            );
        }
    }
}
