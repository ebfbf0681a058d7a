//! READs that the NIC asks for: what it sends, what it writes, and what it tells software. Each test paraphrases the
//! statement of the standard that it checks (IBTA volume 1).

use std::collections::BTreeMap;

use crate::fixture::{MTU, Tested};
use crate::standard::packet;
use xoff_cosim::units::PERIOD_256_PS;
use xoff_sim::frame::Frame;
use xoff_sim::host::Stalled;
use xoff_sim::host::memory::content;
use xoff_sim::nic::{QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_sim::wire::{AethRepr, Opcode, Psn, Syndrome};
use xoff_verify::property::nic::pair::{REGION, REGION_BYTES, Wire, all, qp};

/// Base address of the region of the second NIC that may be read.
const BASE: u64 = 0x20_0000_0000;
const READABLE: Region = Region {
    base: BASE,
    length: 1 << 31,
    tag: 0x33,
    pd: 0,
    local_write: false,
    remote_write: false,
};
/// Its place in the table.
const INDEX: u16 = 7;
/// The class of the QPs.
const CLASS: usize = 3;
/// READs that a QP may have unanswered: `Reads` of `nic`.
const READS: usize = 16;

const REQUEST: Opcode = Opcode::RC_READ_REQUEST;
const FIRST: Opcode = Opcode::RC_READ_RESP_FIRST;
const MIDDLE: Opcode = Opcode::RC_READ_RESP_MIDDLE;
const LAST: Opcode = Opcode::RC_READ_RESP_LAST;
const ONLY: Opcode = Opcode::RC_READ_RESP_ONLY;

/// The first NIC READs from the second one.
struct Bench {
    pair: Tested,
    /// What the memory of the first one has to be.
    expected: BTreeMap<u64, u8>,
    posted: u64,
}

impl Bench {
    fn new() -> Self {
        Self::with(1, |_| {})
    }

    fn with(qps: u16, change: impl Fn(&mut QpSettings)) -> Self {
        let mut pair = Tested::new(change, qps);
        pair.let_read(1, INDEX, &READABLE).unwrap();
        Self {
            pair,
            expected: BTreeMap::new(),
            posted: 0,
        }
    }

    /// A READ of so many bytes, each at a place of its own.
    fn work(&mut self, bytes: u32) -> Work {
        let id = self.posted;
        self.posted += 1;
        Work {
            kind: WorkKind::READ,
            signaled: true,
            length: bytes,
            local_va: REGION + (id << 20) + 5 * id,
            local_key: self.pair.key[0],
            remote_va: BASE + (id << 21) + 3 * id,
            remote_key: READABLE.key(INDEX),
            id,
            ..Work::default()
        }
    }

    fn read(&mut self, qp: u16, bytes: u32) -> Work {
        let work = self.work(bytes);
        self.post(qp, work);
        work
    }

    fn post(&mut self, qp: u16, work: Work) {
        if work.kind == WorkKind::READ {
            self.expect(&work, work.length);
        }
        self.pair.post(0, qp, work);
    }

    /// The first bytes of a READ will be in memory.
    fn expect(&mut self, work: &Work, bytes: u32) {
        let bytes = (0..u64::from(bytes))
            .map(|i| (work.local_va + i, content(work.remote_va.wrapping_add(i))));
        self.expected.extend(bytes);
    }

    /// Runs until so many works are complete, and checks that they are in their order.
    fn run(&mut self, cycles: u64, completions: usize, wire: &mut Wire) {
        (self.pair).run(cycles, wire, |pair| {
            pair.completions[0].len() >= completions
        });
    }

    fn ids_and_statuses(&self) -> Vec<(u64, Status)> {
        let all = self.pair.completions[0].iter();
        all.map(|(_, done)| (done.id, done.status)).collect()
    }

    fn memory_is_right(&self) {
        assert!(self.pair.memory(0) == self.expected, "memory");
    }

    /// The packets of a side: opcode, PSN after the first one.
    fn sent(&self, side: usize) -> Vec<(Opcode, i32)> {
        let first = qp(0, 0).requester_psn;
        let sent = self.pair.frames.iter().filter(|(from, ..)| *from == side);
        sent.map(|(_, _, parsed)| {
            let bth = parsed.bth.unwrap();
            (bth.opcode, bth.psn.ahead_of(first))
        })
        .collect()
    }

    fn requests(&self) -> Vec<i32> {
        let requests = self.sent(0).into_iter().filter(|it| it.0 == REQUEST);
        requests.map(|(_, psn)| psn).collect()
    }
}

/// 9.7.5.1.1: a READ takes a PSN for each of its responses. 10.7.3.1: its data is in memory when it completes, with the
/// length that was asked for.
#[test]
fn what_is_read_is_written() {
    let mut bench = Bench::new();
    let lengths = [1, 0, MTU - 1, MTU, MTU + 1, 4 * MTU, 10_000, 0, 3, 70_000];
    let works = lengths.map(|bytes| bench.read(0, bytes));
    bench.run(60_000, lengths.len(), &mut all);
    bench.memory_is_right();
    let done = bench.pair.completions[0].clone();
    for ((qp, done), work) in done.iter().zip(works) {
        assert_eq!((*qp, done.status), (0, Status::Success));
        assert_eq!((done.id, done.length), (work.id, work.length));
        assert_eq!(done.operation, WorkKind::READ.0);
    }
    let mut next = 0;
    let psns = lengths.map(|bytes| {
        next += bytes.div_ceil(MTU).max(1) as i32;
        next - bytes.div_ceil(MTU).max(1) as i32
    });
    assert_eq!(bench.requests(), psns);
    bench.pair.rest(10_000, &mut all);
    bench.pair.pulses_are_counted();
}

/// 10.8.3.1: works of a queue complete in the order in which they were posted, READs among WRITEs and SENDs, and the
/// data of a READ is in memory first, however slow the host is.
#[test]
fn completions_keep_their_order() {
    let mut bench = Bench::new();
    for i in 0..12u64 {
        let work = bench.work(2_000 + 100 * i as u32);
        match i % 3 {
            0 => bench.post(
                0,
                Work {
                    kind: WorkKind::WRITE,
                    remote_va: REGION + (i << 16),
                    remote_key: bench.pair.key[1],
                    ..work
                },
            ),
            1 => bench.post(0, work),
            _ => {
                let recv = Recv {
                    length: work.length,
                    local_va: REGION + (1 << 28) + (i << 16),
                    local_key: bench.pair.key[1],
                    id: i,
                };
                bench.pair.post_recv(1, 0, recv);
                bench.post(
                    0,
                    Work {
                        kind: WorkKind::SEND,
                        ..work
                    },
                );
            }
        }
    }
    bench.pair.stall(0, Stalled::Writes, 12, u64::MAX);
    for completions in 1..=12 {
        bench.run(60_000, completions, &mut all);
        let memory = bench.pair.memory(0);
        for id in (0..completions as u64).filter(|id| id % 3 == 1) {
            let last = REGION + (id << 20) + 5 * id + 2_000 + 100 * id - 1;
            assert!(memory.contains_key(&last), "the end of READ {id}");
        }
    }
    let ids: Vec<u64> = bench.ids_and_statuses().iter().map(|it| it.0).collect();
    assert_eq!(ids, (0..12).collect::<Vec<_>>());
    bench.memory_is_right();
}

/// 9.4.4, `max_rd_atomic`: no more READs are unanswered than the QP may have. The next one follows an answer.
#[test]
fn no_more_are_unanswered_than_may_be() {
    for (setting, most) in [(0, READS), (1, 1), (3, 3), (16, READS), (31, READS)] {
        let mut bench = Bench::with(1, |qp| qp.requester.reads = setting);
        for _ in 0..40 {
            bench.read(0, 100);
        }
        bench.run(200_000, 40, &mut all);
        let (mut unanswered, mut highest) = (0, 0);
        for (side, _, parsed) in &bench.pair.frames {
            match (side, parsed.bth.unwrap().opcode) {
                (0, REQUEST) => unanswered += 1,
                (1, ONLY) => unanswered -= 1,
                _ => {}
            }
            highest = highest.max(unanswered);
        }
        // A response may be on its way to the NIC when the next request leaves.
        assert_eq!(highest, most, "{setting}");
        bench.memory_is_right();
    }
}

/// 10.8.3.2: a fenced work waits until all READs before it are complete; others do not.
#[test]
fn a_fence_waits_for_reads() {
    for fence in [false, true] {
        let mut bench = Bench::new();
        bench.read(0, 8 * MTU);
        let work = bench.work(64);
        bench.post(
            0,
            Work {
                kind: WorkKind::WRITE,
                fence,
                remote_va: REGION,
                remote_key: bench.pair.key[1],
                ..work
            },
        );
        bench.run(20_000, 2, &mut all);
        let order: Vec<_> = bench.pair.frames.iter().collect();
        let place = |side: usize, opcode: Opcode| {
            let is = |it: &&(usize, Frame, ParsedFrame)| {
                it.0 == side && it.2.bth.unwrap().opcode == opcode
            };
            order.iter().position(is).unwrap()
        };
        let after = place(0, Opcode::RC_WRITE_ONLY) > place(1, LAST);
        assert_eq!(after, fence);
        bench.memory_is_right();
    }
}

/// 9.7.5.2.8 and 9.7.6: whatever is lost of a READ is asked for again, from what is missing on, and the data comes once.
#[test]
fn what_is_lost_is_asked_again() {
    let lost = [
        (0, REQUEST, 1),
        (0, REQUEST, 2),
        (1, FIRST, 1),
        (1, FIRST, 2),
        (1, MIDDLE, 1),
        (1, MIDDLE, 4),
        (1, LAST, 1),
        (1, ONLY, 1),
    ];
    for (side, opcode, times) in lost {
        for more in [false, true] {
            let mut bench = Bench::with(1, |qp| {
                (qp.requester.timeout, qp.requester.retry) = (3, 7);
            });
            bench.read(0, if opcode == ONLY { 10 } else { 6 * MTU });
            if more {
                bench.read(0, 3 * MTU);
                bench.read(0, 1);
            }
            let count = if more { 3 } else { 1 };
            let mut left = times;
            bench.run(80_000, count, &mut |from, _, parsed| {
                let hit = from == side && parsed.bth.is_some_and(|bth| bth.opcode == opcode);
                let lose = hit && left > 0;
                left -= i32::from(lose);
                !lose
            });
            assert_eq!(left, 0, "{opcode:?}");
            bench.memory_is_right();
            let statuses = bench.ids_and_statuses();
            assert!(
                statuses.iter().all(|it| it.1 == Status::Success),
                "{statuses:?}"
            );
            // What follows tells of it at once.
            if more && side == 1 && times == 1 && opcode != ONLY {
                assert_eq!(bench.pair.count(0, reg::TIMEOUTS), 0, "{opcode:?}");
                assert_eq!(bench.pair.count(0, reg::IMPLIED_NAKS), 1, "{opcode:?}");
            }
        }
    }
}

/// A READ goes on where it is asked again: what was written before is not asked for a second time.
#[test]
fn it_is_asked_again_from_its_inside() {
    let mut bench = Bench::new();
    let work = bench.read(0, 6 * MTU);
    let mut lost = false;
    bench.run(40_000, 1, &mut |from, _, parsed| {
        let bth = parsed.bth.unwrap();
        let third = from == 1 && bth.psn.ahead_of(qp(0, 0).requester_psn) == 2;
        let lose = third && !lost;
        lost |= lose;
        !lose
    });
    bench.memory_is_right();
    assert_eq!(bench.requests(), [0, 2]);
    let again = bench
        .pair
        .frames
        .iter()
        .filter(|it| it.0 == 0)
        .nth(1)
        .unwrap();
    let reth = again.2.ext.unwrap().reth.unwrap();
    assert_eq!(reth.va, work.remote_va + u64::from(2 * MTU));
    assert_eq!(reth.dma_len, 4 * MTU);
}

/// 10.2.3.2 and 11.6.2: READ data that its memory does not take is a local error. The READ fails, signaled or not, in
/// its place; what is behind it is flushed, nothing of it is written, and other QPs go on.
#[test]
fn memory_that_is_not_registered_fails_the_read() {
    for (signaled, bytes) in [(true, 100), (false, 100), (true, 5 * MTU), (false, 5 * MTU)] {
        let mut bench = Bench::with(2, |_| {});
        bench.read(0, 300);
        let work = bench.work(bytes);
        bench.pair.post(
            0,
            0,
            Work {
                signaled,
                local_key: 0x1234,
                ..work
            },
        );
        for _ in 0..3 {
            let behind = bench.work(2_000);
            bench.pair.post(0, 0, behind);
        }
        bench.run(40_000, 5, &mut all);
        let other = bench.read(1, 5_000);
        bench.run(40_000, 6, &mut all);
        assert_eq!(
            bench.ids_and_statuses(),
            [
                (0, Status::Success),
                (1, Status::LocalAccess),
                (2, Status::Flushed),
                (3, Status::Flushed),
                (4, Status::Flushed),
                (other.id, Status::Success)
            ],
            "{signaled} {bytes}"
        );
        bench.memory_is_right();
        // What is posted afterwards is flushed, too, on both sides of the QP.
        let late = bench.work(1);
        bench.pair.post(0, 0, late);
        bench.run(10_000, 7, &mut all);
        assert_eq!(bench.ids_and_statuses()[6], (late.id, Status::Flushed));
    }
}

/// What comes before the end of a region is written, and what goes beyond is not.
#[test]
fn a_read_fails_at_the_end_of_its_memory() {
    let mut bench = Bench::new();
    let work = Work {
        local_va: REGION + REGION_BYTES - u64::from(2 * MTU),
        ..bench.work(4 * MTU)
    };
    bench.expect(&work, 2 * MTU);
    bench.pair.post(0, 0, work);
    bench.run(40_000, 1, &mut all);
    assert_eq!(bench.ids_and_statuses(), [(0, Status::LocalAccess)]);
    bench.pair.rest(20_000, &mut all);
    bench.memory_is_right();
}

/// A QP that failed with its READ data under way works again when it is opened again.
#[test]
fn a_qp_reads_again_when_it_is_opened_again() {
    let mut bench = Bench::new();
    let bad = Work {
        local_key: 0x1234,
        ..bench.work(20 * MTU)
    };
    bench.pair.post(0, 0, bad);
    bench.run(20_000, 1, &mut all);
    for side in 0..2 {
        bench.pair.close(side, 0).unwrap();
    }
    bench.pair.reopen(&[0], &qp);
    bench.read(0, 5_000);
    bench.run(20_000, 2, &mut all);
    let [_, (_, status)] = bench.ids_and_statuses()[..] else {
        panic!("{:?}", bench.ids_and_statuses());
    };
    assert_eq!(status, Status::Success);
    bench.memory_is_right();
}

/// What a completion tells of data holds although its QP is being closed: the data of a READ was refused, which is told
/// when the data of an earlier READ, of another QP, is written.
#[test]
fn a_read_that_was_refused_does_not_succeed_because_its_qp_is_closed() {
    let mut bench = Bench::with(2, |setup| setup.requester.timeout = 0);
    let landing = Region {
        base: 0x30_0000_0000,
        local_write: true,
        ..READABLE
    };
    bench
        .pair
        .permit(0, INDEX, &landing, Default::default())
        .unwrap();
    let stalled = bench.pair.now() + 3_000;
    bench.pair.stall(0, Stalled::Writes, 16, stalled);
    bench.read(1, 64);
    let refused = Work {
        local_va: landing.base,
        local_key: landing.key(INDEX),
        ..bench.work(64)
    };
    bench.pair.post(0, 0, refused);
    bench.pair.withdraw(0, &[INDEX]);
    (0..1_000).for_each(|_| bench.pair.step(&mut all));
    let answered = bench.pair.arrivals.iter().filter(|(side, _)| *side == 0);
    assert_eq!(answered.count(), 2);
    assert_eq!(bench.ids_and_statuses(), [], "both wait");
    bench.pair.close(0, 0).unwrap();
    assert!(bench.pair.now() > stalled);
    let right = [(0, Status::Success), (1, Status::LocalAccess)];
    assert_eq!(bench.ids_and_statuses(), right);
    bench.pair.rest(20_000, &mut all);
    bench.memory_is_right();
}

fn response(opcode: Opcode, psn: Psn, bytes: usize) -> Vec<u8> {
    packet(1, 0, psn, |roce| {
        roce.bth.opcode = opcode;
        roce.ext.aeth = (opcode != MIDDLE).then_some(AethRepr {
            syndrome: Syndrome::ACK,
            ..AethRepr::default()
        });
        roce.payload = vec![0xEE; bytes];
    })
}

/// 9.7.5.2.8: what is missing of a READ is asked for again, although responses of the answer before come while the request
/// waits for the wire. Before that nothing is sent that stands behind it.
#[test]
fn its_request_waits_until_all_is_answered() {
    let first = qp(0, 0).requester_psn;
    let wait = |bench: &mut Bench| (0..500).for_each(|_| bench.pair.step(&mut all));
    let mut bench = Bench::new();
    let read = bench.work(2 * MTU);
    let write = Work {
        kind: WorkKind::WRITE,
        remote_va: REGION,
        remote_key: bench.pair.key[1],
        ..bench.work(64)
    };
    for work in [read, write] {
        bench.pair.post(0, 0, work);
    }
    // Both get lost.
    (bench.pair).run(5_000, &mut |_, _, _| false, |pair| pair.frames.len() == 2);
    bench.pair.write(0, reg::PFC_CLASSES, 0xFF).unwrap();
    bench.pair.pause(0, CLASS, u16::MAX);
    wait(&mut bench);
    // An ACK of the WRITE, as if the network had put it in front of the responses.
    let ack = response(Opcode::RC_ACK, first.advance(2), 0);
    let begin = response(FIRST, first, MTU as usize);
    for frame in [ack, begin] {
        let at = bench.pair.time();
        bench.pair.receive(0, at, frame);
        wait(&mut bench);
    }
    assert_eq!(bench.pair.count(0, reg::IMPLIED_NAKS), 1);
    bench.pair.pause(0, CLASS, 0);
    bench.run(5_000, 2, &mut all);
    let (asks, writes) = ((REQUEST, 0), (Opcode::RC_WRITE_ONLY, 2));
    assert_eq!(bench.sent(0), [asks, writes, asks, writes]);
    assert_eq!(
        bench.ids_and_statuses(),
        [(0, Status::Success), (1, Status::Success)]
    );
}

/// Responses that nothing asked for are dropped and counted, while nothing is asked for as well as while something is.
#[test]
fn responses_that_nothing_asked_for_are_dropped() {
    let first = qp(0, 0).requester_psn;
    let mut bench = Bench::new();
    let stray = [ONLY, FIRST, MIDDLE, LAST].map(|opcode| response(opcode, first, 100));
    bench.pair.receive_back_to_back(0, stray);
    bench.pair.rest(10_000, &mut all);
    assert_eq!(bench.pair.count(0, reg::DROP_RESPONSE), 4);
    bench.read(0, 3 * MTU);
    let ahead = response(ONLY, first.advance(50), 100);
    let at = bench.pair.time();
    bench.pair.receive(0, at, ahead);
    bench.run(20_000, 1, &mut all);
    bench.memory_is_right();
    assert_eq!(bench.ids_and_statuses(), [(0, Status::Success)]);
}

/// 9.7.5.2.8 and table 58: a response of a wrong length or place in its message ends the QP, and nothing of it is
/// written.
#[test]
fn a_wrong_response_ends_the_qp() {
    let first = qp(0, 0).requester_psn;
    let wrong = [
        (FIRST, MTU as usize - 1),
        (FIRST, MTU as usize + 1),
        (ONLY, MTU as usize),
        (ONLY, 10),
        (ONLY, 0),
    ];
    for (opcode, bytes) in wrong {
        let mut bench = Bench::new();
        let work = bench.work(3 * MTU);
        bench.pair.post(0, 0, work);
        // The request gets lost; this answers it.
        let mut asked = false;
        (bench.pair).run(5_000, &mut |_, _, _| false, |pair| {
            asked |= !pair.frames.is_empty();
            asked
        });
        let at = bench.pair.time();
        bench.pair.receive(0, at, response(opcode, first, bytes));
        bench.run(5_000, 1, &mut |_, _, _| false);
        assert_eq!(
            bench.ids_and_statuses(),
            [(0, Status::BadResponse)],
            "{opcode:?} {bytes}"
        );
        assert!(bench.pair.memory(0).is_empty());
        assert_eq!(bench.pair.count(0, reg::REMOTE_ERRORS_IN), 1);
    }
}

/// 9.7.3.1: an ACK for what was sent behind a READ says that the responses are missing. It does not pass those that wait
/// for memory.
#[test]
fn acks_do_not_pass_responses() {
    let mut bench = Bench::new();
    bench.pair.stall(0, Stalled::Writes, 15, u64::MAX);
    for i in 0..6u64 {
        bench.read(0, 3 * MTU);
        let work = bench.work(64);
        let write = Work {
            kind: WorkKind::WRITE,
            remote_va: REGION + (i << 12),
            remote_key: bench.pair.key[1],
            ..work
        };
        bench.post(0, write);
    }
    bench.run(200_000, 12, &mut all);
    bench.memory_is_right();
    assert_eq!(bench.pair.count(0, reg::IMPLIED_NAKS), 0);
    assert_eq!(bench.pair.count(0, reg::RESENT_OUT), 0);
}

/// 10.7.2.2: READs of nothing go as fast as the number that may be unanswered and the round trip allow.
#[test]
fn empty_reads_take_their_turns() {
    let mut bench = Bench::new();
    let count = 400;
    for _ in 0..count {
        bench.read(0, 0);
    }
    bench.run(100_000, count, &mut all);
    let times = |side: usize, opcode: Opcode| -> Vec<u64> {
        let of =
            |it: &&(usize, Frame, ParsedFrame)| it.0 == side && it.2.bth.unwrap().opcode == opcode;
        let frames = bench.pair.frames.iter().filter(of);
        frames.map(|it| it.1.start.as_ps()).collect()
    };
    let requests = times(0, REQUEST);
    // The time from a request to the one that its answer makes room for.
    let trips: Vec<u64> = (requests.windows(READS + 1))
        .map(|it| it[READS] - it[0])
        .collect();
    let trip = trips.iter().min().unwrap();
    let whole = requests[count - 1] - requests[0];
    let ideal = trip * (count as u64 - READS as u64) / READS as u64;
    println!(
        "{whole} ps, at best {ideal} ps, round trip {} cycles",
        trip / PERIOD_256_PS
    );
    assert!(whole * 100 <= ideal * 105 + 100 * trip);
}
