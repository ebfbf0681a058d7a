//! Directed tests: what is asked for, what is taken, and what sends a QP back.

use super::*;
use crate::protocol::gbn::{RequesterConfig, Times};
use crate::wire::{NakCode, RnrTimer};

const MTU: u32 = 256;
/// Near the wrap.
const FIRST: u32 = 0xFF_FFFE;
const NOW: Cycle = Cycle(1_000);

fn psn(n: u32) -> Psn {
    Psn::wrapping(FIRST + n)
}

const FIRST_: Opcode = Opcode::RC_READ_RESP_FIRST;
const MIDDLE: Opcode = Opcode::RC_READ_RESP_MIDDLE;
const LAST: Opcode = Opcode::RC_READ_RESP_LAST;
const ONLY: Opcode = Opcode::RC_READ_RESP_ONLY;
const ATOMIC: Opcode = Opcode::RC_ATOMIC_ACK;

/// A requester with READs, and whether its memory may be written.
struct Bench {
    qp: RequesterQp,
    reading: Reading,
    allowed: bool,
    now: Cycle,
    /// IDs and statuses of what was completed.
    done: Vec<(u64, Status)>,
}

/// What is sent: opcode, PSN after the first one, address, length, whether again.
type Sent = (Opcode, i32, u64, u32, bool);

impl Bench {
    fn new(limit: u16, change: impl FnOnce(&mut RequesterConfig)) -> Self {
        let mut configuration = RequesterConfig {
            timeout: 1,
            retry: 3,
            nak_retry: true,
            window: 8,
            rnr_retry: 3,
            ..RequesterConfig::default()
        };
        change(&mut configuration);
        let mut bench = Self {
            qp: RequesterQp::new(16, Times { period_ps: 5_120 }),
            reading: Reading::new(limit),
            allowed: true,
            now: NOW,
            done: Vec::new(),
        };
        bench.event(RequesterEvent::Open {
            configuration,
            psn: psn(0),
        });
        bench
    }

    fn take(&mut self, event: RequesterEvent) -> (RequesterNote, Option<Request>, Option<Place>) {
        let (now, allowed) = (self.now, self.allowed);
        let mut step = self
            .qp
            .step_reading(event, now, &mut self.reading, |_| allowed);
        let (note, request, place) = (step.note, step.request, step.place);
        loop {
            let done = step.completion.map(|it| (it.id, it.status));
            self.done.extend(done);
            if !step.walk {
                return (note, request, place);
            }
            step = self.qp.step(RequesterEvent::Walk, now);
        }
    }

    fn event(&mut self, event: RequesterEvent) -> RequesterNote {
        self.take(event).0
    }

    fn post(&mut self, work: Work) -> RequesterNote {
        self.event(RequesterEvent::Post(work))
    }

    /// Sends all that may be.
    fn send(&mut self) -> Vec<Sent> {
        let next = || {
            let request = self.take(RequesterEvent::Send).1?;
            let ahead = request.psn.ahead_of(psn(0));
            Some((
                request.opcode,
                ahead,
                request.va,
                request.dma_len,
                request.again,
            ))
        };
        std::iter::from_fn(next).collect()
    }

    fn response(&mut self, opcode: Opcode, n: u32, bytes: u16) -> (RequesterNote, Option<Place>) {
        let returned = Returned {
            opcode,
            psn: psn(n),
            syndrome: Syndrome::ACK,
            bytes,
        };
        let (note, _, place) = self.take(RequesterEvent::Response(returned));
        (note, place)
    }

    /// Takes a response that is the right one, and returns the address that its payload goes to.
    fn right(&mut self, opcode: Opcode, n: u32, bytes: u16) -> Option<u64> {
        let (note, place) = self.response(opcode, n, bytes);
        assert_eq!(note, RequesterNote::Progress, "{opcode:?} {n}");
        place.map(|place| place.va)
    }

    fn answer(&mut self, syndrome: Syndrome, n: u32) -> RequesterNote {
        self.event(RequesterEvent::Ack {
            psn: psn(n),
            syndrome,
        })
    }
}

fn work(id: u64, kind: WorkKind, length: u32) -> Work {
    Work {
        kind,
        id,
        length,
        signaled: true,
        local_va: 0x1000,
        remote_va: 0x7000,
        remote_key: 6,
        ..Work::default()
    }
}

fn read(id: u64, length: u32) -> Work {
    work(id, WorkKind::READ, length)
}

fn ok(id: u64) -> (u64, Status) {
    (id, Status::Success)
}

#[test]
fn a_read_takes_as_many_psns_as_responses() {
    for (length, responses) in [
        (0, vec![(ONLY, 0)]),
        (1, vec![(ONLY, 1)]),
        (MTU, vec![(ONLY, 256)]),
        (MTU + 1, vec![(FIRST_, 256), (LAST, 1)]),
        (3 * MTU, vec![(FIRST_, 256), (MIDDLE, 256), (LAST, 256)]),
    ] {
        let mut bench = Bench::new(16, |_| ());
        bench.post(read(1, length));
        bench.post(read(2, 1));
        let count = responses.len() as u32;
        let (request, more) = (Opcode::RC_READ_REQUEST, count as i32);
        assert_eq!(
            bench.send(),
            [
                (request, 0, 0x7000, length, false),
                (request, more, 0x7000, 1, false)
            ]
        );
        for (n, (opcode, bytes)) in (0..).zip(responses) {
            assert_eq!(bench.done, []);
            let va = 0x1000 + u64::from(n * MTU);
            assert_eq!(bench.right(opcode, n, bytes), (bytes > 0).then_some(va));
        }
        assert_eq!(bench.done, [ok(1)]);
        bench.right(ONLY, count, 1);
        assert_eq!(bench.done, [ok(1), ok(2)]);
        assert!(!bench.qp.context.timer_runs);
    }
}

#[test]
fn no_more_are_asked_for_than_may_be() {
    let mut bench = Bench::new(2, |_| ());
    let add = |id| work(id, WorkKind::FETCH_ADD, 8);
    for it in [
        read(0, 3 * MTU),
        add(1),
        add(2),
        read(3, 1),
        work(4, WorkKind::WRITE, 1),
    ] {
        bench.post(it);
    }
    assert_eq!(bench.send().len(), 2);
    for (opcode, n) in [(FIRST_, 0), (MIDDLE, 1)] {
        bench.right(opcode, n, 256);
        assert_eq!(bench.send(), []);
    }
    bench.right(LAST, 2, 256);
    assert_eq!(bench.send().len(), 1);
    bench.right(ATOMIC, 3, 8);
    assert_eq!(bench.send().len(), 2, "a WRITE is not one of them");
    assert_eq!(bench.done, [ok(0), ok(1)]);
}

/// The window is one of requests: a READ fits whatever it asks for, and takes no room from what follows.
#[test]
fn responses_are_not_in_the_window() {
    let mut bench = Bench::new(16, |it| it.window = 2);
    bench.post(read(0, 100 * MTU));
    for id in 1..=3 {
        bench.post(work(id, WorkKind::SEND, 1));
    }
    assert_eq!(bench.send().len(), 3);
    // Fewer than 2^23 PSNs are under way.
    let mut bench = Bench::new(16, |_| ());
    for id in 0..3 {
        assert_eq!(bench.post(read(id, 1 << 30)), RequesterNote::None);
    }
    assert_eq!(bench.send().len(), 1, "2^22 and 2^22 are too many");
}

#[test]
fn a_fence_waits_for_what_is_read() {
    let mut bench = Bench::new(16, |_| ());
    bench.post(read(0, 1));
    bench.post(Work {
        fence: true,
        ..work(1, WorkKind::SEND, 2 * MTU)
    });
    assert_eq!(bench.send().len(), 1);
    bench.right(ONLY, 0, 1);
    assert_eq!(bench.send().len(), 2);
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    let mut bench = Bench::new(16, |_| ());
    for wrong in [
        work(0, WorkKind::FETCH_ADD, 4),
        work(0, WorkKind::CMP_SWAP, 0),
        read(0, (1 << 31) + 1),
        read(0, 1 << 31),
        work(0, WorkKind(8), 0),
    ] {
        assert_eq!(bench.post(wrong), RequesterNote::RefusedWork, "{wrong:?}");
    }
    let mut bench = Bench::new(16, |it| it.mtu = 1);
    assert_eq!(
        bench.post(read(0, 1 << 31)),
        RequesterNote::None,
        "2^22 responses"
    );
}

#[test]
fn a_response_acknowledges_what_was_sent_before() {
    let mut bench = Bench::new(16, |_| ());
    bench.post(work(0, WorkKind::SEND, 1));
    bench.post(work(1, WorkKind::WRITE, 2 * MTU));
    bench.post(read(2, 1));
    bench.post(work(3, WorkKind::SEND, 1));
    assert_eq!(bench.send().len(), 5);
    bench.right(ONLY, 3, 1);
    assert_eq!(bench.done, [ok(0), ok(1), ok(2)]);
    assert!(bench.qp.context.timer_runs, "for the last one");
}

#[test]
fn what_skips_a_response_sends_the_qp_back_once() {
    let sequence = Syndrome::PSN_SEQUENCE_ERROR;
    let rnr = Syndrome::rnr_nak(RnrTimer::from_code(1).unwrap());
    let access = Syndrome::nak(NakCode::RemoteAccessError);
    // Behind the missing response: another one, one of the next READ, an ACK, NAKs.
    for behind in 0..6 {
        let mut bench = Bench::new(16, |_| ());
        bench.post(read(0, 4 * MTU));
        bench.post(read(1, 1));
        bench.post(work(2, WorkKind::SEND, 1));
        assert_eq!(bench.send().len(), 3);
        bench.right(FIRST_, 0, 256);
        let note = match behind {
            0 => bench.response(MIDDLE, 2, 256).0,
            1 => bench.response(ONLY, 4, 1).0,
            2 => bench.answer(Syndrome::ACK, 5),
            3 => bench.answer(sequence, 5),
            4 => bench.answer(rnr, 5),
            _ => bench.answer(access, 5),
        };
        assert_eq!(note, RequesterNote::Implied, "case {behind}");
        // What else comes of the old answer changes nothing, before and after the READ is asked again.
        for _ in 0..2 {
            assert_eq!(bench.response(LAST, 3, 256).0, RequesterNote::Stale);
            assert_eq!(bench.answer(Syndrome::ACK, 5), RequesterNote::Stale);
            if !bench.qp.can_send(&bench.reading) {
                break;
            }
            let again = bench.send();
            assert_eq!(
                again[0],
                (Opcode::RC_READ_REQUEST, 1, 0x7100, 3 * MTU, true)
            );
            assert_eq!(again.len(), 3);
        }
        assert_eq!(bench.response(MIDDLE, 1, 256).0, RequesterNote::Stale);
        assert_eq!(bench.done, []);
        assert_eq!(bench.right(FIRST_, 1, 256), Some(0x1100));
        assert_eq!(bench.qp.context.retries, 3, "the count begins again");
        bench.right(MIDDLE, 2, 256);
        bench.right(LAST, 3, 256);
        bench.right(ONLY, 4, 1);
        bench.answer(Syndrome::ACK, 5);
        assert_eq!(bench.done, [ok(0), ok(1), ok(2)]);
    }
}

#[test]
fn an_atomic_is_asked_for_again_as_it_was() {
    let mut bench = Bench::new(16, |_| ());
    let swap = Work {
        swap_add: 3,
        compare: 4,
        ..work(0, WorkKind::CMP_SWAP, 8)
    };
    bench.post(swap);
    bench.post(read(1, 0));
    bench.send();
    assert_eq!(bench.response(ONLY, 1, 0).0, RequesterNote::Implied);
    let again = bench
        .take(RequesterEvent::Send)
        .1
        .expect("it is asked again");
    assert_eq!(
        (
            again.opcode,
            again.psn,
            again.swap_add,
            again.compare,
            again.va
        ),
        (Opcode::RC_CMP_SWAP, psn(0), 3, 4, 0x7000)
    );
    bench.right(ATOMIC, 0, 8);
    bench.send();
    bench.right(ONLY, 1, 0);
    assert_eq!(bench.done, [ok(0), ok(1)]);
}

#[test]
fn under_go_back_0_a_read_begins_again() {
    let mut bench = Bench::new(16, |it| it.restart = true);
    bench.post(read(0, 4 * MTU));
    bench.send();
    bench.right(FIRST_, 0, 256);
    bench.right(MIDDLE, 1, 256);
    bench.response(LAST, 3, 256);
    assert_eq!(
        bench.send(),
        [(Opcode::RC_READ_REQUEST, 0, 0x7000, 4 * MTU, true)]
    );
    assert_eq!(bench.response(MIDDLE, 2, 256).0, RequesterNote::Stale);
    bench.right(FIRST_, 0, 256);
}

#[test]
fn each_response_restarts_the_timer() {
    let mut bench = Bench::new(16, |_| ());
    bench.post(read(0, 3 * MTU));
    bench.send();
    let first = bench.qp.context.due().expect("it runs");
    bench.now = Cycle(NOW.0 + 500);
    bench.right(FIRST_, 0, 256);
    assert_eq!(bench.qp.context.due(), Some(Cycle(first.0 + 500)));
    // It goes back to what is missing, as often as it may in a row.
    for _ in 0..3 {
        assert_eq!(bench.event(RequesterEvent::Timer), RequesterNote::Timeout);
        assert_eq!(bench.send()[0].1, 1);
        // Behind a timeout what is missing shows again; it uses up a retry, too.
        if bench.qp.context.retries == 1 {
            assert_eq!(bench.response(LAST, 2, 256).0, RequesterNote::Implied);
            bench.send();
            break;
        }
    }
    assert_eq!(bench.event(RequesterEvent::Timer), RequesterNote::Exhausted);
    assert_eq!(bench.done, [(0, Status::RetryExceeded)]);
}

#[test]
fn a_response_that_cannot_be_ends_the_qp() {
    let cases: [(Opcode, u32, u16); 7] = [
        (MIDDLE, 1, 255),
        (FIRST_, 1, 256),
        (LAST, 1, 256),
        (ONLY, 1, 256),
        (ATOMIC, 1, 8),
        (MIDDLE, 1, 0x8000),
        (LAST, 1, 10),
    ];
    for (opcode, n, bytes) in cases {
        let mut bench = Bench::new(16, |_| ());
        bench.post(read(0, 2 * MTU + 10));
        bench.post(read(1, 1));
        bench.send();
        bench.right(FIRST_, 0, 256);
        let (note, place) = bench.response(opcode, n, bytes);
        assert_eq!(
            (note, place),
            (RequesterNote::RemoteError, None),
            "{opcode:?}"
        );
        assert_eq!(bench.done, [(0, Status::BadResponse), (1, Status::Flushed)]);
        assert_eq!(bench.response(MIDDLE, 1, 256).0, RequesterNote::Ignored);
    }
    let mut bench = Bench::new(16, |_| ());
    bench.post(work(0, WorkKind::FETCH_ADD, 8));
    bench.send();
    bench.response(ONLY, 0, 8);
    assert_eq!(bench.done, [(0, Status::BadResponse)]);
}

#[test]
fn what_nobody_asked_for_is_left_alone() {
    let mut bench = Bench::new(16, |_| ());
    assert_eq!(bench.response(ONLY, 0, 1).0, RequesterNote::Unsent);
    bench.post(work(0, WorkKind::SEND, 1));
    bench.post(read(1, 1));
    bench.post(read(2, 1));
    for not_yet in [1, 2] {
        bench.take(RequesterEvent::Send);
        let sends = bench.response(ONLY, 0, 1).0;
        assert_eq!(sends, RequesterNote::Unsent, "a SEND's PSN");
        let early = bench.response(ONLY, not_yet, 1).0;
        assert_eq!(early, RequesterNote::Unsent, "not yet");
    }
    bench.right(ONLY, 1, 1);
    assert_eq!(bench.response(ONLY, 1, 1).0, RequesterNote::Stale);
    assert_eq!(bench.done, [ok(0), ok(1)]);
}

#[test]
fn memory_that_is_gone_ends_the_qp() {
    let mut bench = Bench::new(16, |_| ());
    bench.post(work(0, WorkKind::SEND, 1));
    bench.post(read(1, 2 * MTU));
    bench.post(read(2, 0));
    bench.send();
    bench.right(FIRST_, 1, 256);
    bench.allowed = false;
    let (note, place) = bench.response(LAST, 2, 256);
    assert_eq!((note, place), (RequesterNote::RemoteError, None));
    let flushed = (2, Status::Flushed);
    assert_eq!(bench.done, [ok(0), (1, Status::LocalAccess), flushed]);
    // Nothing needs no memory.
    let mut bench = Bench::new(16, |_| ());
    bench.allowed = false;
    bench.post(read(0, 0));
    bench.send();
    bench.right(ONLY, 0, 0);
    assert_eq!(bench.done, [ok(0)]);
}

#[test]
fn a_refused_read_fails_with_the_reason() {
    let mut bench = Bench::new(16, |_| ());
    bench.post(read(0, 3 * MTU));
    bench.post(read(1, 1));
    bench.send();
    bench.right(FIRST_, 0, 256);
    // In the place of its second response.
    let access = Syndrome::nak(NakCode::RemoteAccessError);
    assert_eq!(bench.answer(access, 1), RequesterNote::RemoteError);
    assert_eq!(
        bench.done,
        [(0, Status::RemoteAccess), (1, Status::Flushed)]
    );
    // A request that was lost.
    let mut bench = Bench::new(16, |_| ());
    bench.post(read(0, 3 * MTU));
    bench.post(read(1, 1));
    bench.send();
    assert_eq!(
        bench.answer(Syndrome::PSN_SEQUENCE_ERROR, 0),
        RequesterNote::Nak
    );
    assert_eq!(bench.send().len(), 2);
}
