//! Atomics, as the NIC asks for them and has them performed. Each test paraphrases the statement of the standard that
//! it checks (IBTA volume 1).

use crate::fixture::{MTU, Tested};
use crate::standard::packet;
use xoff_network::Endpoint;
use xoff_sim::host::Stalled;
use xoff_sim::host::memory::number as word;
use xoff_sim::nic::{QpSettings, ReadRights, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Status, Work, WorkKind};
use xoff_sim::time::Time;
use xoff_sim::wire::{AethRepr, AtomicEthRepr, Msn, Opcode, Psn, RethRepr, Syndrome};
use xoff_verify::property::nic::pair::{READ_AND_ATOMIC, REGION, Wire, all, qp};

/// Base address of the region of the second NIC in which atomics are performed.
const BASE: u64 = 0x20_0000_0000;
const WORDS: Region = Region {
    base: BASE,
    length: 1 << 20,
    tag: 0x44,
    pd: 0,
    local_write: false,
    remote_write: true,
};
/// Its place in the table.
const INDEX: u16 = 7;
/// READs and atomics that a QP may have unanswered: `Reads` of `nic`.
const GRANTED: u32 = 16;
const INVALID: u8 = 0x61;
const ACCESS: u8 = 0x62;

/// What the second NIC sends: opcode, PSN after the first one, syndrome and MSN of the AETH, original.
type Answer = (Opcode, i32, Option<(u8, u32)>, Option<u64>);

struct Bench {
    pair: Tested,
    seen: usize,
    posted: u64,
}

impl Bench {
    fn with(qps: u16, rights: ReadRights, change: impl Fn(&mut QpSettings)) -> Self {
        let mut pair = Tested::new(change, qps);
        pair.permit(1, INDEX, &WORDS, rights).unwrap();
        Self {
            pair,
            seen: 0,
            posted: 0,
        }
    }

    fn new() -> Self {
        Self::with(2, READ_AND_ATOMIC, |_| {})
    }

    /// Sends packets to the second NIC, one behind the other, and returns what it sends in so many cycles.
    fn asked(&mut self, frames: Vec<Vec<u8>>, cycles: u64) -> Vec<Answer> {
        self.pair.receive_back_to_back(1, frames);
        for _ in 0..cycles {
            self.pair.step(&mut all);
        }
        let first = qp(0, 0).requester_psn;
        let sent = self.pair.frames[self.seen..].iter();
        let answers = sent.filter(|(side, ..)| *side == 1).map(|(_, _, parsed)| {
            let (bth, ext) = (parsed.bth.unwrap(), parsed.ext.unwrap());
            let aeth = ext.aeth.map(|it| (it.syndrome.0, it.msn.get()));
            let original = ext.atomic_ack.map(|it| it.original);
            (bth.opcode, bth.psn.ahead_of(first), aeth, original)
        });
        let answers = answers.collect();
        self.seen = self.pair.frames.len();
        answers
    }

    /// The number in the second host's memory.
    fn word(&self, va: u64) -> u64 {
        let mut bytes = [0; 8];
        self.pair.host(1).host().read_memory(va, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Posts an atomic to the first NIC; what it returns goes to a place of its own.
    fn post(&mut self, qp: u16, kind: WorkKind, va: u64, [swap_add, compare]: [u64; 2]) -> Work {
        let id = self.posted;
        self.posted += 1;
        let work = Work {
            kind,
            signaled: true,
            length: 8,
            local_va: REGION + 24 * id,
            local_key: self.pair.key[0],
            remote_va: va,
            remote_key: WORDS.key(INDEX),
            swap_add,
            compare,
            id,
            ..Work::default()
        };
        self.pair.post(0, qp, work);
        work
    }

    fn run(&mut self, cycles: u64, completions: usize, wire: &mut Wire) {
        (self.pair).run(cycles, wire, |pair| {
            pair.completions[0].len() >= completions
        });
    }

    /// The number that a work has brought into the first host's memory.
    fn brought(&self, work: &Work) -> Option<u64> {
        let memory = self.pair.memory(0);
        let bytes: Option<Vec<u8>> = (work.local_va..work.local_va + 8)
            .map(|va| memory.get(&va).copied())
            .collect();
        Some(u64::from_le_bytes(bytes?.try_into().unwrap()))
    }

    fn statuses(&self) -> Vec<(u64, Status)> {
        let all = self.pair.completions[0].iter();
        all.map(|(_, done)| (done.id, done.status)).collect()
    }
}

fn psn(n: u32) -> Psn {
    qp(0, 0).requester_psn.advance(n)
}

fn atomic(n: u32, opcode: Opcode, va: u64, swap_add: u64, compare: u64) -> Vec<u8> {
    packet(0, 0, psn(n), |roce| {
        roce.bth.opcode = opcode;
        roce.bth.ack_req = true;
        roce.ext.atomic = Some(AtomicEthRepr {
            va,
            rkey: WORDS.key(INDEX),
            swap_add,
            compare,
        });
    })
}

fn add(n: u32, va: u64, value: u64) -> Vec<u8> {
    atomic(n, Opcode::RC_FETCH_ADD, va, value, 0)
}

fn write(n: u32, va: u64, payload: Vec<u8>) -> Vec<u8> {
    packet(0, 0, psn(n), |roce| {
        roce.ext.reth = Some(RethRepr {
            va,
            rkey: WORDS.key(INDEX),
            dma_len: payload.len() as u32,
        });
        roce.payload = payload;
    })
}

fn answer(n: i32, msn: u32, original: u64) -> Answer {
    (Opcode::RC_ATOMIC_ACK, n, Some((0x1F, msn)), Some(original))
}

const fn nak(n: i32, syndrome: u8, msn: u32) -> Answer {
    (Opcode::RC_ACK, n, Some((syndrome, msn)), None)
}

/// 9.4.5: the responder returns what the memory had. A compare and swap stores its value if that is the value to
/// compare; a fetch and add stores the sum, modulo 2^64.
#[test]
fn an_atomic_is_performed_and_returns_what_was_there() {
    let mut bench = Bench::new();
    let had = word(BASE);
    let frames = vec![
        atomic(0, Opcode::RC_CMP_SWAP, BASE, 7, had ^ 1),
        atomic(1, Opcode::RC_CMP_SWAP, BASE, 7, had),
        add(2, BASE, u64::MAX),
        add(3, BASE, u64::MAX - 9),
    ];
    let answers = bench.asked(frames, 2_000);
    let originals = [had, had, 7, 6];
    let expected: Vec<_> = (0..4i32)
        .zip(originals)
        .map(|(n, original)| answer(n, n as u32 + 1, original))
        .collect();
    assert_eq!(answers, expected);
    assert_eq!(bench.word(BASE), 6u64.wrapping_sub(10));
    bench.pair.pulses_are_counted();
}

/// 9.4.5.2: an atomic that comes again is answered from what was saved, and never performed again; also when it comes
/// before the first answer was sent.
#[test]
fn a_duplicate_is_not_performed_again() {
    let mut bench = Bench::new();
    let had = word(BASE);
    let frames = vec![add(0, BASE, 5), add(1, BASE, 5)];
    let expected = vec![answer(0, 1, had), answer(1, 2, had.wrapping_add(5))];
    assert_eq!(bench.asked(frames.clone(), 2_000), expected);
    for _ in 0..3 {
        assert_eq!(bench.asked(frames.clone(), 2_000), expected);
    }
    let mut again = vec![add(2, BASE, 5); 3];
    again.push(add(3, BASE, 1));
    let answers = bench.asked(again, 3_000);
    let third = answer(2, 3, had.wrapping_add(10));
    assert!(answers.contains(&answer(3, 4, had.wrapping_add(15))));
    assert!(answers.iter().filter(|it| it.1 == 2).all(|it| *it == third));
    assert_eq!(bench.word(BASE), had.wrapping_add(16));
}

/// 9.5: what a WRITE in front of an atomic has put there is what the atomic finds, and a READ behind it what it has left.
#[test]
fn it_keeps_its_place_among_writes_and_reads() {
    let mut bench = Bench::new();
    bench.pair.stall(1, Stalled::Writes, 14, 3_000);
    let mut payload = vec![0; 900];
    payload[800..808].copy_from_slice(&1_000u64.to_le_bytes());
    let read = packet(0, 0, psn(2), |roce| {
        roce.bth.opcode = Opcode::RC_READ_REQUEST;
        roce.ext.reth = Some(RethRepr {
            va: BASE,
            rkey: WORDS.key(INDEX),
            dma_len: 8,
        });
    });
    let frames = vec![write(0, BASE + 512, payload), add(1, BASE, 24), read];
    bench.pair.receive_back_to_back(1, frames);
    while bench.word(BASE) == word(BASE) {
        bench.pair.step(&mut all);
        assert!(bench.pair.time() < Time::from_ns(40_000));
    }
    let written = bench.pair.written[1].iter().map(|it| it.bytes.len());
    assert_eq!(written.sum::<usize>(), 900, "in memory before the atomic");
    let answers = bench.asked(vec![], 3_000);
    assert_eq!(answers[0], answer(1, 2, word(BASE)));
    let sent = bench.pair.frames.iter().rfind(|(side, ..)| *side == 1);
    let payload = sent.unwrap().2.payload.clone();
    assert_eq!(payload, word(BASE).wrapping_add(24).to_le_bytes());
}

/// 9.4.5.1, 9.7.4.1: the address is aligned, the key permits atomics, and there is no payload; else nothing is
/// performed, a NAK says why, and the QP ends.
#[test]
fn what_is_not_permitted_is_refused() {
    let both = READ_AND_ATOMIC;
    let read = ReadRights {
        atomic: false,
        ..both
    };
    let other = packet(0, 0, psn(0), |roce| {
        roce.bth.opcode = Opcode::RC_FETCH_ADD;
        roce.ext.atomic = Some(AtomicEthRepr {
            va: BASE,
            rkey: WORDS.key(INDEX) ^ 1,
            ..AtomicEthRepr::default()
        });
    });
    let cases = [
        ("unaligned", both, add(0, BASE + 4, 1), INVALID),
        ("no right", read, add(0, BASE, 1), ACCESS),
        ("another key", both, other, ACCESS),
        (
            "behind the end",
            both,
            add(0, BASE + WORDS.length, 1),
            ACCESS,
        ),
        (
            "across the end",
            both,
            add(0, BASE + WORDS.length - 4, 1),
            ACCESS,
        ),
    ];
    for (what, rights, frame, syndrome) in cases {
        let mut bench = Bench::with(2, rights, |_| {});
        assert_eq!(
            bench.asked(vec![frame], 2_000),
            [nak(0, syndrome, 0)],
            "{what}"
        );
        assert_eq!(bench.asked(vec![add(0, BASE, 1)], 1_000), [], "{what}");
        assert_eq!(bench.word(BASE), word(BASE), "{what}");
        bench.pair.pulses_are_counted();
    }
}

/// 9.4.4, `max_dest_rd_atomic`: so many may be unanswered, READs and atomics together; the next is an invalid request,
/// and those before it are answered.
#[test]
fn one_more_than_is_granted_is_invalid() {
    let mut bench = Bench::new();
    bench.pair.stall(1, Stalled::Data, 16, 2_000);
    let frames = (0..=GRANTED).map(|n| add(n, BASE + 8 * u64::from(n), 1));
    let answers = bench.asked(frames.collect(), 6_000);
    let mut expected: Vec<_> = (0..GRANTED)
        .map(|n| answer(n as i32, n + 1, word(BASE + 8 * u64::from(n))))
        .collect();
    expected.push(nak(GRANTED as i32, INVALID, GRANTED));
    assert_eq!(answers, expected);
}

/// 10.6.3: memory that is taken away before the host was asked is not touched; those before are answered, and a NAK says
/// where it ended.
#[test]
fn memory_that_goes_is_not_touched() {
    let mut refused = 0;
    for before in (0..60).step_by(3) {
        let mut bench = Bench::new();
        let frames: Vec<_> = (0..8).map(|n| add(n, BASE, 1)).collect();
        bench.pair.receive_back_to_back(1, frames);
        for _ in 0..before {
            bench.pair.step(&mut all);
        }
        bench.pair.withdraw(1, &[INDEX]);
        let answers = bench.asked(vec![], 4_000);
        let performed = bench.word(BASE).wrapping_sub(word(BASE)) as usize;
        let answered = answers.iter().filter(|it| it.0 == Opcode::RC_ATOMIC_ACK);
        assert_eq!(answered.count(), performed, "{before}: {answers:?}");
        if performed < 8 {
            let end = performed as i32;
            assert_eq!(answers.last(), Some(&nak(end, ACCESS, performed as u32)));
            refused += 1;
        }
    }
    assert!(refused > 0, "no memory went in time");
}

/// The same for memory that goes while the atomic waits in the receive buffer: it was permitted when it came.
#[test]
fn memory_that_goes_while_an_atomic_waits_is_not_touched() {
    let mut bench = Bench::new();
    bench.pair.stall(1, Stalled::Writes, 16, 2_000);
    let key = bench.pair.key[1];
    // So many WRITEs of another QP that no more requests are taken.
    let write = |n: u32| {
        packet(0, 1, psn(n), |roce| {
            roce.ext.reth = Some(RethRepr {
                va: REGION,
                rkey: key,
                dma_len: 1,
            });
            roce.payload = vec![1];
        })
    };
    let frames = (0..100).map(write).chain([add(0, BASE, 1)]).collect();
    assert_eq!(bench.asked(frames, 1_000), []);
    bench.pair.withdraw(1, &[INDEX]);
    assert_eq!(bench.asked(vec![], 4_000), [nak(0, ACCESS, 0)]);
    assert_eq!(bench.word(BASE), word(BASE));
}

/// What the host has still to say of an atomic when its QP is closed is not taken for the first one of the QP that is
/// opened in its place.
#[test]
fn an_original_of_a_closed_qp_is_nobodys() {
    let mut bench = Bench::new();
    bench.pair.stall(1, Stalled::Data, 16, 2_000);
    assert_eq!(bench.asked(vec![add(0, BASE, 1)], 400), []);
    assert_ne!(bench.word(BASE), word(BASE), "performed");
    bench.pair.open(1, 0, &qp(1, 0)).unwrap();
    let answers = bench.asked(vec![add(0, BASE + 64, 1)], 4_000);
    assert_eq!(answers, [answer(0, 1, word(BASE + 64))]);
}

/// CLOSE and OPEN end what is owed: what the host has still to perform answers nothing on the new connection.
#[test]
fn a_qp_that_is_opened_again_owes_nothing() {
    for after in (60..400).step_by(17) {
        let mut bench = Bench::new();
        bench.asked(vec![add(0, BASE, 1), add(1, BASE, 1)], after);
        bench.pair.open(1, 0, &qp(1, 0)).unwrap();
        bench.asked(vec![], 100);
        assert_eq!(bench.asked(vec![], 3_000), [], "{after}");
        let had = bench.word(BASE + 64);
        let answers = bench.asked(vec![add(0, BASE + 64, 1)], 2_000);
        assert_eq!(answers, [answer(0, 1, had)], "{after}");
    }
}

/// 9.7.5.1.1, 10.7.3.1: an atomic takes a PSN; what it returns is in memory when it completes, with 8 bytes. Among
/// READs and WRITEs completions keep their order.
#[test]
fn what_is_returned_is_written() {
    let mut bench = Bench::new();
    let had = word(BASE);
    let mut expected = vec![];
    let mut value = had;
    for i in 0..20u64 {
        let (kind, operands) = match i % 3 {
            0 => (WorkKind::FETCH_ADD, [i << 40 | 3, 0]),
            1 => (WorkKind::CMP_SWAP, [i * 1_000, value]),
            _ => (WorkKind::CMP_SWAP, [1, value ^ 2]),
        };
        let work = bench.post(0, kind, BASE, operands);
        expected.push((work, value));
        value = match (kind, operands) {
            (WorkKind::FETCH_ADD, [add, _]) => value.wrapping_add(add),
            (_, [swap, compare]) if value == compare => swap,
            _ => value,
        };
        if i % 5 == 0 {
            let id = bench.posted;
            bench.posted += 1;
            let read = Work {
                kind: WorkKind::READ,
                signaled: true,
                length: 3 * MTU,
                local_va: REGION + (1 << 20) * (id + 1),
                local_key: bench.pair.key[0],
                remote_va: BASE + 4_096,
                remote_key: WORDS.key(INDEX),
                id,
                ..Work::default()
            };
            bench.pair.post(0, 0, read);
        }
    }
    let count = bench.posted as usize;
    bench.run(60_000, count, &mut all);
    let ids = 0..count as u64;
    assert_eq!(
        bench.statuses(),
        ids.map(|id| (id, Status::Success)).collect::<Vec<_>>()
    );
    for (work, value) in expected {
        assert_eq!(bench.brought(&work), Some(value), "{work:?}");
        let done = &bench.pair.completions[0][work.id as usize].1;
        assert_eq!((done.operation, done.length), (work.kind.0, 8));
    }
    assert_eq!(bench.word(BASE), value);
    bench.pair.rest(10_000, &mut all);
    bench.pair.pulses_are_counted();
}

/// 9.4.5, 9.7.5.2.8: request or answer may be lost: the atomic is asked for again, performed once, and its original comes
/// once.
#[test]
fn what_is_lost_is_asked_again_and_performed_once() {
    for (side, opcode) in [(0, Opcode::RC_FETCH_ADD), (1, Opcode::RC_ATOMIC_ACK)] {
        for which in 0..4 {
            for times in 1..3 {
                let mut bench = Bench::with(1, READ_AND_ATOMIC, |qp| {
                    (qp.requester.timeout, qp.requester.retry) = (3, 7);
                });
                let works: Vec<_> = (0..4)
                    .map(|_| bench.post(0, WorkKind::FETCH_ADD, BASE, [1, 0]))
                    .collect();
                let mut left = times;
                bench.run(80_000, 4, &mut |from, _, parsed| {
                    let bth = parsed.bth.unwrap();
                    let hit = bth.opcode == opcode && bth.psn == psn(which) && from == side;
                    let lose = hit && left > 0;
                    left -= i32::from(lose);
                    !lose
                });
                assert_eq!(left, 0);
                for (work, n) in works.iter().zip(0..) {
                    let original = word(BASE).wrapping_add(n);
                    assert_eq!(bench.brought(work), Some(original), "{opcode:?} {which}");
                }
                assert_eq!(bench.word(BASE), word(BASE).wrapping_add(4));
                let statuses = bench.statuses();
                assert!(statuses.iter().all(|it| it.1 == Status::Success));
            }
        }
    }
}

/// 9.7.5.1.4, 10.7.2: an atomic of other than 8 bytes is refused when it is posted; one whose answer cannot be ends the
/// QP, and the works behind it are flushed.
#[test]
fn an_answer_that_cannot_be_ends_the_qp() {
    let mut bench = Bench::new();
    for length in [0, 4, 16] {
        let work = Work {
            kind: WorkKind::FETCH_ADD,
            length,
            ..Work::default()
        };
        bench.pair.post(0, 0, work);
    }
    for _ in 0..300 {
        bench.pair.step(&mut all);
    }
    assert_eq!(bench.pair.count(0, reg::WORK_REFUSED), 3);
    bench.post(0, WorkKind::FETCH_ADD, BASE, [1, 0]);
    bench.post(0, WorkKind::CMP_SWAP, BASE, [1, 0]);
    let response = packet(1, 0, psn(0), |roce| {
        roce.bth.opcode = Opcode::RC_READ_RESP_ONLY;
        roce.ext.aeth = Some(AethRepr {
            syndrome: Syndrome::ACK,
            msn: Msn::new(1).unwrap(),
        });
        roce.payload = vec![0; 8];
    });
    let mut sent = false;
    for _ in 0..3_000 {
        // The NIC's own answer is lost.
        bench.pair.step(&mut |from, _, _| from == 0);
        if !sent && !bench.pair.frames.is_empty() {
            sent = true;
            let now = bench.pair.time();
            bench.pair.receive(0, now, response.clone());
        }
    }
    assert_eq!(
        bench.statuses(),
        [(0, Status::BadResponse), (1, Status::Flushed)]
    );
}

/// Two QPs with atomics on one word: each number is returned once.
#[test]
fn qps_share_a_word() {
    let mut bench = Bench::with(8, READ_AND_ATOMIC, |_| {});
    bench.pair.stall(1, Stalled::Writes, 8, u64::MAX);
    bench.pair.stall(0, Stalled::Writes, 8, u64::MAX);
    let works: Vec<_> = (0..96)
        .map(|i| bench.post(i % 8, WorkKind::FETCH_ADD, BASE, [1, 0]))
        .collect();
    bench.run(60_000, 96, &mut all);
    let mut originals: Vec<_> = (works.iter())
        .map(|work| bench.brought(work).unwrap().wrapping_sub(word(BASE)))
        .collect();
    originals.sort_unstable();
    assert_eq!(originals, (0..96).collect::<Vec<_>>());
}
