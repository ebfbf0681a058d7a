//! Rules of READs and atomics.

use super::log::*;
use super::wire::seal;
use crate::fact::*;

const FIRST: u8 = 0x0D;
const MIDDLE: u8 = 0x0E;
const LAST: u8 = 0x0F;
const ONLY: u8 = 0x10;

/// A READ of three packets that was asked for.
fn asked() -> Log {
    let mut log = Log::new();
    log.post_read(0, Operation::Read, 700);
    log.ask(0, 0);
    log
}

/// The same with all responses, the second of which is changed and sealed again.
fn changed(change: impl Fn(&mut Vec<u8>)) -> Log {
    let mut log = asked();
    log.respond(0, 0, FIRST);
    let mut bytes = log.response(0, 1, MIDDLE);
    change(&mut bytes);
    seal(&mut bytes);
    log.push(1, What::Sent(bytes));
    log
}

/// A fetch and add behind another one, with this original; and the same again.
fn added(original: impl Fn(u64) -> u64) -> Log {
    let mut log = Log::new();
    for _ in 0..2 {
        log.post_read(0, Operation::FetchAdd, 8);
    }
    // Both at the same word.
    let mut log = with(log, 1, |work| work.remote_va = BASE);
    for number in 0..2 {
        log.ask(0, number);
    }
    log.respond(0, 0, ONLY);
    log.complete_send(0, 0, Status::Success);
    let mut bytes = log.response(0, 1, ONLY);
    let at = bytes.len() - 12;
    let found = u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight"));
    // As if it had been performed first.
    let first = u64::from_le_bytes(std::array::from_fn(|at| source(1, BASE + at as u64)));
    assert_eq!(found, first);
    bytes[at..at + 8].copy_from_slice(&original(first).to_be_bytes());
    seal(&mut bytes);
    log.push(1, What::Sent(bytes));
    log
}

/// Changes a work request that was posted, in the log and in what is made of it.
fn with(mut log: Log, index: usize, change: impl Fn(&mut Work)) -> Log {
    let mut posted = 0;
    let mut messages = crate::message::Messages::new(MTU);
    for fact in &mut log.facts {
        if let What::Posted { work, .. } = &mut fact.what {
            if posted == index {
                change(work);
            }
            posted += 1;
            messages.post(*work, fact.at);
        }
    }
    log.messages[0] = messages;
    log
}

#[test]
fn reads_and_atomics_hold() {
    let mut log = asked();
    log.respond(0, 0, FIRST);
    log.respond(0, 1, MIDDLE);
    log.respond(0, 2, LAST);
    log.complete_send(0, 0, Status::Success);
    log.post_read(0, Operation::FetchAdd, 8);
    log.ask(0, 3);
    log.respond(0, 3, ONLY);
    log.complete_send(0, 1, Status::Success);
    log.post_read(0, Operation::Read, 0);
    log.ask(0, 4);
    log.respond(0, 4, ONLY);
    log.complete_send(0, 2, Status::Success);
    log.holds();
}

#[test]
fn a_read_goes_on_where_a_response_is_missing() {
    let mut log = asked();
    log.respond(0, 0, FIRST);
    log.push(1, What::Sent(log.response(0, 1, MIDDLE)));
    log.cross(1, log.response(0, 2, LAST));
    log.ask(0, 1);
    log.respond(0, 1, FIRST);
    log.respond(0, 2, LAST);
    log.complete_send(0, 0, Status::Success);
    log.holds();
}

#[test]
fn a_response_comes_when_it_is_asked_for_again() {
    let mut log = asked();
    log.respond(0, 0, FIRST);
    log.respond(0, 1, MIDDLE);
    log.wait(TIMEOUT);
    // The NIC has decided to ask again, and takes this for an answer to what it asked before.
    log.cross(1, log.response(0, 2, LAST));
    log.ask(0, 2);
    log.wait(TIMEOUT / 2);
    log.post_read(0, Operation::Read, 0);
    log.ask(0, 3);
    log.wait(TIMEOUT / 2);
    log.ask(0, 2);
    log.ask(0, 3);
    log.respond(0, 2, ONLY);
    log.complete_send(0, 0, Status::Success);
    log.respond(0, 3, ONLY);
    log.complete_send(0, 1, Status::Success);
    log.holds();
}

/// A go-back-0 requester goes back when its timer runs out, and once more when the rest of the answer before comes.
#[test]
fn a_response_is_missing_when_its_read_began_anew() {
    let mut log = Log::with(|qp| qp.restart = true);
    log.post_read(0, Operation::Read, 700);
    log.ask(0, 0);
    log.respond(0, 0, FIRST);
    log.wait(TIMEOUT);
    log.cross(1, log.response(0, 1, MIDDLE));
    log.ask(0, 0);
    log.ask(0, 0);
    log.respond(0, 0, FIRST);
    log.respond(0, 1, MIDDLE);
    log.respond(0, 2, LAST);
    log.complete_send(0, 0, Status::Success);
    log.holds();
}

#[test]
fn a_read_goes_on_before_what_is_missing_is_known() {
    let mut log = asked();
    log.respond(0, 0, FIRST);
    log.ask(0, 1);
    log.breaks("requests.repeated");
    // And not behind it.
    let mut log = asked();
    log.respond(0, 0, FIRST);
    log.wait(TIMEOUT);
    log.ask(0, 2);
    log.breaks("requests.order");
}

#[test]
fn too_many_are_asked_for() {
    let mut log = Log::new();
    for number in 0..3 {
        log.post_read(0, Operation::Read, 10);
        log.ask(0, number);
    }
    log.breaks("requests.granted");
}

#[test]
fn a_fence_is_passed() {
    let fenced = |answered: bool| {
        let mut log = Log::new();
        log.post_read(0, Operation::Read, 10);
        log.post_changed(0, Operation::Write, 10, |work| work.fence = true);
        log.ask(0, 0);
        if answered {
            log.respond(0, 0, ONLY);
            log.complete_send(0, 0, Status::Success);
        }
        log.carry(0, 1);
        log
    };
    fenced(true).holds();
    fenced(false).breaks("requests.fence");
}

#[test]
fn nobody_asked() {
    let mut log = Log::new();
    log.post_read(0, Operation::Read, 10);
    log.lose(0, 0);
    log.push(1, What::Sent(log.response(0, 0, ONLY)));
    log.breaks("responses.asked");
}

#[test]
fn a_response_is_left_out() {
    let mut log = asked();
    log.respond(0, 0, FIRST);
    log.push(1, What::Sent(log.response(0, 2, LAST)));
    log.breaks("responses.order");
}

#[test]
fn the_opcode_is_another() {
    changed(|_| ()).breaks("sends.missing");
    changed(|bytes| bytes[42] = 0x0D).breaks("responses.opcode");
}

#[test]
fn the_payload_is_another() {
    changed(|bytes| bytes[54] ^= 1).breaks("responses.payload");
    let mut log = asked();
    let mut bytes = log.response(0, 0, FIRST);
    bytes[60] ^= 1;
    seal(&mut bytes);
    log.push(1, What::Sent(bytes));
    log.breaks("responses.payload");
}

#[test]
fn a_read_returns_what_was_written_before() {
    let both = |order: [u64; 2]| {
        let mut log = Log::new();
        log.post_changed(0, Operation::Write, 10, |work| work.va = 0x5000_0003);
        log.post_read(0, Operation::Read, 10);
        let log = &mut with(log, 1, |work| work.remote_va = BASE);
        for number in order {
            match number {
                0 => {
                    log.ask(0, 0);
                    log.write(0, 0);
                }
                _ => log.ask(0, 1),
            }
        }
        // What was there before the WRITE.
        log.push(1, What::Sent(log.response(0, 1, ONLY)));
        log.judge_with(crate::Options::default())
            .expect_err("old")
            .rule
            .name
    };
    assert_eq!(both([0, 1]), "responses.payload");
}

#[test]
fn the_msn_of_a_response_is_another() {
    let mut log = asked();
    let mut bytes = log.response(0, 0, FIRST);
    bytes[57] += 1;
    seal(&mut bytes);
    log.push(1, What::Sent(bytes));
    log.breaks("responses.headers");
}

#[test]
fn an_atomic_is_performed_twice_or_not_at_all() {
    added(|first| first + 3).breaks("sends.missing");
    added(|first| first).breaks("atomics.once");
    added(|first| first + 6).breaks("atomics.once");
}

#[test]
fn an_ack_passes_a_response() {
    let acknowledged = |first: bool| {
        let mut log = Log::new();
        log.post_read(0, Operation::Read, 10);
        log.post(0, Operation::Write, 10);
        log.ask(0, 0);
        log.arrive(0, 1);
        if first {
            log.respond(0, 0, ONLY);
            log.complete_send(0, 0, Status::Success);
        }
        log.ack(0, 1);
        log.complete_send(0, 1, Status::Success);
        log
    };
    acknowledged(true).holds();
    acknowledged(false).breaks("answers.behind");
}

#[test]
fn a_read_completes_before_it_is_in_memory() {
    let mut log = asked();
    log.respond(0, 0, FIRST);
    log.respond(0, 1, MIDDLE);
    log.cross(1, log.response(0, 2, LAST));
    log.complete_send(0, 0, Status::Success);
    log.breaks("sends.returned");
}

#[test]
fn what_comes_back_is_written_elsewhere_or_is_something_else() {
    let written = |change: fn(&mut u64, &mut Vec<u8>)| {
        let mut log = asked();
        log.respond(0, 0, FIRST);
        if let Some(Fact {
            what: What::Written { va, bytes },
            ..
        }) = log.facts.last_mut()
        {
            change(va, bytes);
        }
        log
    };
    written(|_, bytes| bytes[3] ^= 1).breaks("memory.value");
    written(|va, _| *va += 1).breaks("memory.place");
    let mut log = asked();
    log.bring(0, 0);
    log.breaks("memory.arrived");
}

#[test]
fn a_completion_without_the_last_response_is_early() {
    let mut log = asked();
    log.respond(0, 0, FIRST);
    log.respond(0, 1, MIDDLE);
    log.complete_send(0, 0, Status::Success);
    log.breaks("sends.acknowledged");
}
