//! READ requests, as the NIC answers them on the wire. Each test paraphrases the statement of the standard that it
//! checks (IBTA volume 1).

use crate::fixture::{MTU, Tested, pfc};
use crate::standard::packet;
use xoff_cosim::units::PERIOD_256_PS;
use xoff_network::Endpoint;
use xoff_sim::host::memory::content;
use xoff_sim::nic::Region;
use xoff_sim::nic_registers as reg;
use xoff_sim::wire::{Opcode, Psn, RethRepr, Syndrome};
use xoff_verify::property::nic::pair::{REGION, all, qp};

/// Base address of the region that may be read.
const BASE: u64 = 0x20_0000_0000;
const BYTES: u64 = 1 << 31;
const READABLE: Region = Region {
    base: BASE,
    length: BYTES,
    tag: 0x33,
    pd: 0,
    local_write: false,
    remote_write: true,
};
/// Its place in the table.
const INDEX: u16 = 7;
/// READs that a QP may have unanswered: `Reads` of `nic`.
const GRANTED: u32 = 16;

const FIRST: Opcode = Opcode::RC_READ_RESP_FIRST;
const MIDDLE: Opcode = Opcode::RC_READ_RESP_MIDDLE;
const LAST: Opcode = Opcode::RC_READ_RESP_LAST;
const ONLY: Opcode = Opcode::RC_READ_RESP_ONLY;
const ACK: Opcode = Opcode::RC_ACK;
const INVALID: u8 = 0x61;
const ACCESS: u8 = 0x62;

/// What the second NIC sends: opcode, PSN after the first one, syndrome and MSN of the AETH, payload.
type Answer = (Opcode, i32, Option<(u8, u32)>, Vec<u8>);

struct Bench {
    pair: Tested,
    seen: usize,
}

impl Bench {
    fn new() -> Self {
        let mut pair = Tested::new(|_| {}, 2);
        pair.let_read(1, INDEX, &READABLE).unwrap();
        Self { pair, seen: 0 }
    }

    /// Sends packets to the second NIC, one behind the other.
    fn send(&mut self, frames: Vec<Vec<u8>>) {
        self.pair.receive_back_to_back(1, frames);
    }

    /// What it sends in so many cycles.
    fn answers(&mut self, cycles: u64) -> Vec<Answer> {
        for _ in 0..cycles {
            self.pair.step(&mut all);
        }
        let first = qp(0, 0).requester_psn;
        let sent = self.pair.frames[self.seen..].iter();
        let answers = sent.filter(|(side, ..)| *side == 1).map(|(_, _, parsed)| {
            let (bth, ext) = (parsed.bth.unwrap(), parsed.ext.unwrap());
            let aeth = ext.aeth.map(|it| (it.syndrome.0, it.msn.get()));
            let ahead = bth.psn.ahead_of(first);
            (bth.opcode, ahead, aeth, parsed.payload.clone())
        });
        let answers = answers.collect();
        self.seen = self.pair.frames.len();
        answers
    }

    fn asked(&mut self, frames: Vec<Vec<u8>>, cycles: u64) -> Vec<Answer> {
        self.send(frames);
        self.answers(cycles)
    }
}

fn psn(n: u32) -> Psn {
    qp(0, 0).requester_psn.advance(n)
}

fn read_of(qp: u16, n: u32, va: u64, bytes: u32) -> Vec<u8> {
    packet(0, qp, psn(n), |roce| {
        roce.bth.opcode = Opcode::RC_READ_REQUEST;
        roce.bth.ack_req = true;
        roce.ext.reth = Some(RethRepr {
            va,
            rkey: READABLE.key(INDEX),
            dma_len: bytes,
        });
    })
}

fn read(n: u32, va: u64, bytes: u32) -> Vec<u8> {
    read_of(0, n, va, bytes)
}

fn write(n: u32, bytes: usize, ack_req: bool) -> Vec<u8> {
    packet(0, 0, psn(n), |roce| {
        roce.bth.ack_req = ack_req;
        roce.ext.reth = Some(RethRepr {
            va: BASE + (1 << 20),
            rkey: READABLE.key(INDEX),
            dma_len: bytes as u32,
        });
        roce.payload = vec![0x5A; bytes];
    })
}

fn memory(va: u64, bytes: u32) -> Vec<u8> {
    (va..va + u64::from(bytes)).map(content).collect()
}

/// The responses to a READ.
fn responses(n: u32, va: u64, bytes: u32, msn: u32) -> Vec<Answer> {
    let count = bytes.div_ceil(MTU).max(1);
    let response = |i: u32| {
        let opcode = match (i == 0, i + 1 == count) {
            (true, true) => ONLY,
            (true, false) => FIRST,
            (false, false) => MIDDLE,
            (false, true) => LAST,
        };
        let aeth = (opcode != MIDDLE).then_some((Syndrome::ACK.0, msn));
        let from = i * MTU;
        let payload = memory(va + u64::from(from), (bytes - from).min(MTU));
        (opcode, (n + i) as i32, aeth, payload)
    };
    (0..count).map(response).collect()
}

/// Opcode, PSN from the first one on, and syndrome and MSN of the AETH.
type Head = (Opcode, i32, Option<(u8, u32)>);

fn heads(answers: &[Answer]) -> Vec<Head> {
    answers.iter().map(|it| (it.0, it.1, it.2)).collect()
}

/// 9.4.4, 9.7.4: responses carry as much as the path MTU, take a PSN each, and all but middle ones have an AETH; a READ
/// of no bytes has one response without payload, and needs no right to any memory (9.4.4.1).
#[test]
fn a_read_has_as_many_responses_as_path_mtus() {
    for bytes in [0, 1, 4, 1023, 1024, 1025, 2048, 2049, 9 * 1024 + 7] {
        let mut bench = Bench::new();
        let va = BASE + 0x123;
        let frame = match bytes {
            0 => packet(0, 0, psn(0), |roce| {
                roce.bth.opcode = Opcode::RC_READ_REQUEST;
                roce.ext.reth = Some(RethRepr::default());
            }),
            _ => read(0, va, bytes),
        };
        let answers = bench.asked(vec![frame], 3_000);
        assert_eq!(answers, responses(0, va, bytes, 1), "{bytes}");
        // The PSN behind them is expected next.
        let next = bytes.div_ceil(MTU).max(1);
        let answers = bench.asked(vec![write(next, 9, true)], 1_000);
        assert_eq!(heads(&answers), [(ACK, next as i32, Some((0x1F, 2)))]);
        bench.pair.pulses_are_counted();
    }
}

/// 9.7.3.1, 9.7.5.1.1: responses come in the order of the requests, and an ACK of what comes behind a READ is not sent
/// before its responses.
#[test]
fn no_ack_goes_past_a_response() {
    let mut bench = Bench::new();
    let frames = vec![
        write(0, 64, true),
        read(1, BASE, 5_000),
        write(6, 64, true),
        read(7, BASE + 9, 2_000),
        read(9, BASE + 7, 10),
        write(10, 64, true),
    ];
    let answers = bench.asked(frames, 10_000);
    let mut expected = vec![];
    for answer in &answers {
        if answer.0 != ACK {
            expected.push(answer.clone());
        }
    }
    let mut wanted = responses(1, BASE, 5_000, 2);
    wanted.extend(responses(7, BASE + 9, 2_000, 4));
    wanted.extend(responses(9, BASE + 7, 10, 5));
    assert_eq!(expected, wanted);
    let mut highest = -1;
    for (opcode, n, aeth, _) in &answers {
        assert!(*n > highest, "{:?}", heads(&answers));
        highest = *n;
        if *opcode == ACK {
            assert!([(0, 1), (6, 3), (10, 6)].contains(&(*n, aeth.unwrap().1)));
        }
    }
    assert_eq!(answers.last().unwrap().1, 10);
}

/// 9.7.5.2.4, 9.9.3: a NAK has the PSN of the request, and comes behind the responses before it.
#[test]
fn a_nak_waits_behind_the_responses_before_it() {
    let mut bench = Bench::new();
    let frames = vec![read(0, BASE, 8 * MTU), write(9, 64, true)];
    let answers = bench.asked(frames, 10_000);
    let mut expected = heads(&responses(0, BASE, 8 * MTU, 1));
    expected.push((ACK, 8, Some((0x60, 1))));
    assert_eq!(heads(&answers), expected);
}

/// 9.7.4.1, 9.9.3: what a READ has to be. A READ without the right, or beyond a region's end, is NAK remote access
/// error; one that is too long, has a payload, comes inside a message, or beyond the granted number is NAK invalid
/// request.
#[test]
fn what_a_read_must_not_be() {
    let reth = |va, rkey, dma_len| RethRepr { va, rkey, dma_len };
    let key = READABLE.key(INDEX);
    let bad = |reth: RethRepr, payload: usize| {
        packet(0, 0, psn(0), |roce| {
            roce.bth.opcode = Opcode::RC_READ_REQUEST;
            roce.ext.reth = Some(reth);
            roce.payload = vec![1; payload];
        })
    };
    let region_1 = Bench::new().pair.key[1];
    for (what, frame, syndrome) in [
        ("right", bad(reth(REGION, region_1, 1), 0), ACCESS),
        ("tag", bad(reth(BASE, key ^ 1, 1), 0), ACCESS),
        ("end", bad(reth(BASE + BYTES - 3, key, 4), 0), ACCESS),
        ("begin", bad(reth(BASE - 1, key, 4), 0), ACCESS),
        ("length", bad(reth(BASE, key, (1 << 31) + 1), 0), INVALID),
    ] {
        let mut bench = Bench::new();
        let answers = bench.asked(vec![frame], 2_000);
        assert_eq!(heads(&answers), [(ACK, 0, Some((syndrome, 0)))], "{what}");
        assert_eq!(bench.asked(vec![read(0, BASE, 1)], 1_000), [], "{what}");
        bench.pair.pulses_are_counted();
    }
}

/// 9.7.5.1.2: a READ that is asked again, from its beginning or its inside, is answered again from there, with what its
/// requester has; one that was never asked is not answered.
#[test]
fn a_read_is_answered_again_from_where_it_is_asked() {
    let mut bench = Bench::new();
    let first = bench.asked(vec![read(0, BASE, 5 * MTU), read(5, BASE, 9)], 5_000);
    assert_eq!(first.len(), 6);
    let rest = BASE + 2 * u64::from(MTU);
    let again = bench.asked(vec![read(2, rest, 3 * MTU)], 3_000);
    assert_eq!(again, responses(2, rest, 3 * MTU, 1));
    let again = bench.asked(vec![read(0, BASE, 5 * MTU), read(5, BASE, 9)], 3_000);
    assert_eq!(heads(&again), heads(&first));
    for other in [
        read(2, rest + 1, 3 * MTU),
        read(2, rest, 3 * MTU + 1),
        read(5, rest, 9),
    ] {
        assert_eq!(bench.asked(vec![other], 1_000), []);
    }
    let answers = bench.asked(vec![write(6, 1, true)], 1_000);
    assert_eq!(heads(&answers), [(ACK, 6, Some((0x1F, 3)))]);
    bench.pair.pulses_are_counted();
}

/// 9.7.5.1.2: likewise while its responses are being sent: none of what was still to be sent passes what is asked
/// again.
#[test]
fn what_is_asked_again_is_not_passed() {
    for after in (200..1_200).step_by(37) {
        let mut bench = Bench::new();
        bench.send(vec![read(0, BASE, 30 * MTU)]);
        let mut answers = bench.answers(after);
        bench.send(vec![read(3, BASE + 3 * u64::from(MTU), 27 * MTU)]);
        answers.extend(bench.answers(5_000));
        let at = answers.iter().rposition(|it| it.1 == 3).unwrap();
        let again = &answers[at..];
        assert_eq!(
            again,
            responses(3, BASE + 3 * u64::from(MTU), 27 * MTU, 1),
            "{after}"
        );
        for (n, answer) in answers[..at].iter().enumerate() {
            assert_eq!(answer.1, n as i32, "{after}");
        }
    }
}

/// 9.7.5.1.2: responses that are built and wait under a pause are not sent beside those to the same READ asked again; but
/// those to a later READ are, since nobody asks for them again.
#[test]
fn what_waits_under_a_pause_is_not_sent_twice() {
    const TWO: u32 = 2 * MTU;
    let behind = BASE + u64::from(TWO);
    for later in [false, true] {
        let mut withdrawn = 0;
        for after in (40..400).step_by(13) {
            let mut bench = Bench::new();
            bench.pair.write(1, reg::PFC_CLASSES, 0xFF).unwrap();
            let paused = |bench: &mut Bench, quanta| {
                let at = bench.pair.time();
                bench.pair.receive(1, at, pfc([Some(quanta); 8]));
                bench.answers(100)
            };
            let first = read(0, BASE, TWO);
            let mut asked = vec![first.clone()];
            asked.extend(later.then(|| read(2, behind, TWO)));
            let mut answers = bench.asked(asked, after);
            answers.extend(paused(&mut bench, u16::MAX));
            answers.extend(bench.asked(vec![first], 500));
            let mut since = paused(&mut bench, 0);
            since.extend(bench.answers(3_000));
            // One may have been on its way to the wire.
            assert!(later || since.len() <= 3, "{after}: {:?}", heads(&since));
            answers.extend(since);
            let of = |psns: std::ops::Range<i32>| -> Vec<Answer> {
                let mut these = answers.clone();
                these.retain(|it| psns.contains(&it.1));
                these
            };
            let again = responses(0, BASE, TWO, 1);
            assert!(of(0..2).ends_with(&again), "{after}: {:?}", heads(&answers));
            if later {
                assert_eq!(of(2..4), responses(2, behind, TWO, 2), "{after}");
            }
            withdrawn += bench.pair.count(1, reg::WITHDRAWN);
        }
        assert!(later || withdrawn > 0, "nothing waited");
    }
}

/// 9.4.4, `max_dest_rd_atomic`: so many READs may be unanswered; the next is an invalid request.
#[test]
fn one_read_more_than_is_granted_is_invalid() {
    let mut bench = Bench::new();
    let reads = |count: u32| {
        (0..count)
            .map(|n| read(64 * n, BASE, 64 * MTU))
            .collect::<Vec<_>>()
    };
    let answers = bench.asked(reads(GRANTED), 60_000);
    assert_eq!(answers.len(), 64 * GRANTED as usize);
    let mut bench = Bench::new();
    let answers = bench.asked(reads(GRANTED + 1), 60_000);
    let (last, before) = answers.split_last().unwrap();
    assert_eq!(before.len(), 64 * GRANTED as usize);
    let end = 64 * GRANTED;
    assert_eq!(
        heads(std::slice::from_ref(last)),
        [(ACK, end as i32, Some((INVALID, GRANTED)))]
    );
}

/// 9.7.4.1.4, 10.6.3: memory that is taken away while it is read is not sent any more: a NAK takes the place of the
/// next response, and the QP ends.
#[test]
fn memory_that_goes_while_it_is_read_ends_the_qp() {
    let mut bench = Bench::new();
    bench.send(vec![read(0, BASE, 99 * MTU)]);
    let mut answers = bench.answers(900);
    assert!((1..60).contains(&answers.len()), "{}", answers.len());
    bench.pair.withdraw(1, &[INDEX]);
    answers.extend(bench.answers(6_000));
    let (last, before) = answers.split_last().unwrap();
    assert_eq!(
        heads(std::slice::from_ref(last)),
        [(ACK, before.len() as i32, Some((ACCESS, 0)))]
    );
    for (n, answer) in before.iter().enumerate() {
        assert_eq!(answer.1, n as i32);
    }
    assert_eq!(bench.asked(vec![read(99, BASE, 1)], 1_000), []);
    bench.pair.pulses_are_counted();
}

/// CLOSE and OPEN end all that is owed: nothing of the old connection is sent on the new one.
#[test]
fn a_qp_that_is_opened_again_owes_nothing() {
    for after in (150..900).step_by(41) {
        let mut bench = Bench::new();
        bench.send(vec![read(0, BASE, 40 * MTU), read(40, BASE, 40 * MTU)]);
        bench.answers(after);
        bench.pair.open(1, 0, &qp(1, 0)).unwrap();
        bench.answers(100);
        let answers = bench.answers(3_000);
        assert_eq!(answers, [], "{after}");
        let answers = bench.asked(vec![read(0, BASE, 2 * MTU)], 2_000);
        assert_eq!(answers, responses(0, BASE, 2 * MTU, 1), "{after}");
        bench.pair.pulses_are_counted();
    }
}

/// DCQCN (SIGCOMM 2015, 3.3): a CNP halves the rate of its QP, since α is 1 at first, and what it sends keeps to that
/// rate: READ responses too.
#[test]
fn responses_keep_to_the_rate() {
    const RESPONSES: u32 = 12;
    for cnps in [0, 1, 4] {
        let mut bench = Bench::new();
        let control = 1 << reg::DCQCN_ON_LOW;
        for (address, word) in [(reg::CONTROL, control), (reg::LIMITER_BURST, 0)] {
            bench.pair.write(1, address, word).unwrap();
        }
        let cnp = packet(0, 0, psn(0), |roce| {
            roce.bth.opcode = Opcode::CNP;
            roce.bth.becn = true;
        });
        for _ in 0..cnps {
            bench.asked(vec![cnp.clone()], 500);
        }
        let mut rate = || {
            bench.pair.step(&mut all);
            Some(bench.pair.host(1).rate(0)?.0)
        };
        let rate = (0..100).find_map(|_| rate()).unwrap();
        assert_eq!(rate.0, 40_000_000 >> cnps, "kb/s");
        let answers = bench.asked(vec![read(0, BASE, RESPONSES * MTU)], 20_000);
        assert_eq!(answers, responses(0, BASE, RESPONSES * MTU, 1));
        let sent = bench.pair.frames.iter().rev();
        let sent: Vec<_> = (sent.filter(|(side, ..)| *side == 1))
            .take(RESPONSES as usize)
            .map(|(_, frame, _)| (frame.start.as_ps(), 8 * frame.wire_bytes()))
            .collect();
        let took = sent[0].0 - sent[sent.len() - 1].0;
        // Of all but the last one; a kilobit a second is a bit in 10^9 ps.
        let bits: u64 = sent[1..].iter().map(|(_, bits)| bits).sum();
        let right = bits * 1_000_000_000 / u64::from(rate.0);
        // One response is under way at a time, which at line rate takes some cycles more than the wire.
        let under_way = u64::from(RESPONSES) * 20 * PERIOD_256_PS;
        let range = right - right / 20..=right + right / 20 + under_way;
        assert!(
            range.contains(&took),
            "{cnps} CNPs: {took} ps, {right} at the rate"
        );
    }
}

/// The READs of several QPs do not wait for each other, and the NIC rests when all are answered.
#[test]
fn qps_take_turns() {
    let mut bench = Bench::new();
    let frames = vec![read_of(0, 0, BASE, 64 * MTU), read_of(1, 0, BASE, 64 * MTU)];
    let answers = bench.asked(frames, 10_000);
    assert_eq!(answers.len(), 128);
    let last = answers.iter().position(|it| it.0 == LAST).unwrap();
    assert!(last > 120, "{last}");
    bench.pair.rest(1_000, &mut all);
    let out = bench.pair.count(1, reg::ANSWERS_OUT);
    assert_eq!(out, 128);
}
