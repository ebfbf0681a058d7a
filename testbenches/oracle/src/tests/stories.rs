//! Whole histories that hold: what a path does, and what hosts do.

use super::log::*;
use crate::fact::*;

const ALL: [Operation; 5] = [
    Operation::Send,
    Operation::SendImmediate,
    Operation::SendInvalidate,
    Operation::Write,
    Operation::WriteImmediate,
];

#[test]
fn every_operation_of_every_length() {
    for operation in ALL {
        for length in [0, 1, 255, 256, 257, 700, 1024] {
            for side in 0..2 {
                let mut log = Log::new();
                log.buffer(1 - side, 2048);
                log.post(side, operation, length);
                log.carry(side, 0);
                log.holds();
            }
        }
    }
}

#[test]
fn many_messages_both_ways() {
    let mut log = Log::new();
    for (place, operation) in ALL.into_iter().enumerate() {
        for side in 0..2 {
            if operation.takes_buffer() {
                log.buffer(1 - side, 2048);
            }
            log.post(side, operation, 250 * place as u32);
        }
    }
    for place in 0..ALL.len() {
        log.carry(0, place);
        log.carry(1, place);
    }
    log.holds();
}

#[test]
fn unsignaled_messages_are_passed_in_silence() {
    let mut log = Log::new();
    for signaled in [false, false, true] {
        log.post_changed(0, Operation::Write, 10, |work| work.signaled = signaled);
    }
    (0..3).for_each(|message| log.carry(0, message));
    log.holds();
}

/// The second of three packets is lost; a sequence NAK brings it again, with the third.
fn gap(log: &mut Log) {
    log.post(0, Operation::Write, 700);
    log.ask(0, 0);
    log.write(0, 0);
    log.lose(0, 1);
    log.ask(0, 2);
    log.nak(0, 1, 0x60);
}

#[test]
fn a_lost_packet_comes_again_after_a_nak() {
    let mut log = Log::new();
    gap(&mut log);
    for number in 1..3 {
        log.ask(0, number);
        log.write(0, number);
    }
    log.ack(0, 2);
    log.complete_send(0, 0, Status::Success);
    log.holds();
}

#[test]
fn under_go_back_0_a_message_is_written_again() {
    let mut log = Log::with(|qp| qp.restart = true);
    log.post(0, Operation::Write, 700);
    log.ask(0, 0);
    log.write(0, 0);
    log.lose(0, 1);
    log.ask(0, 2);
    log.nak(0, 0, 0x60);
    log.carry(0, 0);
    log.holds();
}

#[test]
fn a_lost_tail_comes_again_after_the_timeout() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.lose(0, 0);
    log.wait(TIMEOUT);
    log.carry(0, 0);
    log.holds();
}

#[test]
fn duplicates_are_acknowledged_again_and_not_written_again() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.carry(0, 0);
    let again = log.request(0, 0);
    log.push(1, What::Arrived(again));
    log.ack(0, 0);
    log.holds();
}

#[test]
fn a_late_buffer_makes_an_rnr_nak_and_a_wait() {
    let mut log = Log::new();
    log.post(0, Operation::Send, 10);
    log.ask(0, 0);
    log.nak(0, 0, 0x21);
    log.buffer(1, 10);
    log.wait(US);
    log.carry(0, 0);
    log.holds();
}

#[test]
fn broken_frames_are_dropped() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    let mut bytes = log.request(0, 0);
    log.push(0, What::Sent(bytes.clone()));
    bytes[60] ^= 1;
    log.push(1, What::Arrived(bytes));
    log.wait(TIMEOUT);
    log.carry(0, 0);
    log.holds();
}

/// The first message is never acknowledged: the QP gives up after its retries, and flushes the second and a buffer.
pub fn gives_up(log: &mut Log) {
    log.buffer(0, 10);
    log.post(0, Operation::Write, 10);
    log.post(0, Operation::Write, 10);
    for _ in 0..2 {
        log.lose(0, 0);
        log.wait(TIMEOUT);
    }
    log.complete_send(0, 0, Status::RetryExceeded);
    log.complete_send(0, 1, Status::Flushed);
    let flushed = Completion {
        id: log.buffers[0][0].id,
        receive: true,
        status: Status::Flushed,
        length: 0,
        immediate: 0,
        solicited: false,
        operation: None,
    };
    log.completion(0, flushed);
}

#[test]
fn retries_end_and_the_rest_is_flushed() {
    let mut log = Log::new();
    gives_up(&mut log);
    log.holds();
}

#[test]
fn rnr_retries_end() {
    let mut log = Log::new();
    log.post(0, Operation::Send, 10);
    for _ in 0..2 {
        log.ask(0, 0);
        log.nak(0, 0, 0x21);
        log.wait(10 * US);
    }
    log.complete_send(0, 0, Status::RnrExceeded);
    log.holds();
}

/// A region is removed between two packets of a WRITE; the second one is refused.
pub fn refused(log: &mut Log) {
    log.post(0, Operation::Write, 500);
    log.ask(0, 0);
    log.write(0, 0);
    log.push(1, What::Removing { key: KEY });
    log.push(1, What::Removed { key: KEY });
    log.ask(0, 1);
    log.nak(0, 1, 0x62);
}

#[test]
fn a_write_to_a_region_that_was_removed_is_refused() {
    let mut log = Log::new();
    refused(&mut log);
    log.complete_send(0, 0, Status::RemoteAccess);
    log.holds();
}

#[test]
fn a_buffer_in_a_region_that_was_removed_is_refused() {
    let mut log = Log::new();
    log.buffer(1, 10);
    log.post(0, Operation::Send, 10);
    log.push(1, What::Removed { key: KEY });
    log.ask(0, 0);
    log.nak(0, 0, 0x63);
    log.complete_receive(0, 0, Status::LocalAccess);
    log.complete_send(0, 0, Status::RemoteOperation);
    log.holds();
}

#[test]
fn a_message_that_is_too_long_is_refused() {
    let mut log = Log::new();
    log.buffer(1, 9);
    log.post(0, Operation::Send, 10);
    log.ask(0, 0);
    log.nak(0, 0, 0x61);
    log.complete_receive(0, 0, Status::LocalLength);
    log.complete_send(0, 0, Status::RemoteInvalid);
    log.holds();
}

#[test]
fn qps_are_closed_and_opened_again() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 700);
    log.ask(0, 0);
    let late = log.request(0, 1);
    for side in 0..2 {
        log.push(side, What::Closed { qpn: qpn(side) });
    }
    // A frame that was selected before.
    log.push(0, What::Sent(late));
    log.messages = [MTU, MTU].map(crate::message::Messages::new);
    for side in 0..2 {
        log.open(side);
    }
    log.post(0, Operation::Write, 300);
    log.carry(0, 0);
    log.holds();
}

#[test]
fn pauses_and_reads_are_no_matter() {
    let mut log = Log::new();
    let mut pause = vec![1, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1];
    pause.resize(60, 0);
    log.cross(0, pause);
    log.post(0, Operation::Write, 10);
    let work = log.messages[0].list()[0].work;
    let bytes = (0..10).map(|at| source(0, work.va + at)).collect();
    log.push(
        0,
        What::Read {
            va: work.va,
            key: work.key,
            bytes,
        },
    );
    log.carry(0, 0);
    log.holds();
}

#[test]
fn figures_are_those_of_the_log() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 300);
    log.carry(0, 0);
    let mut oracle = crate::Oracle::new(crate::Options::default(), source);
    log.facts.iter().cloned().for_each(|fact| oracle.tell(fact));
    oracle.finish().unwrap();
    let stats = oracle.stats();
    // Ethernet, IP, UDP, BTH, RETH, payload, ICRC, and FCS, preamble and gap around.
    let frames = [
        14 + 20 + 8 + 12 + 16 + 256 + 4 + 24,
        14 + 20 + 8 + 12 + 44 + 4 + 24,
    ];
    assert_eq!(stats.requests[&(0, qpn(1))], frames.iter().sum::<u64>());
    assert_eq!(stats.classes[&(1, 0)], 14 + 20 + 8 + 12 + 4 + 4 + 24);
    let delay = stats.longest_delay().unwrap();
    assert_eq!((delay.side, delay.answered - delay.asked), (1, 2 * US / 10));
}

#[test]
fn a_log_is_judged_as_it_grows() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.carry(0, 0);
    let (before, after) = log.facts.split_at(5);
    let mut oracle = crate::Oracle::new(crate::Options::default(), source);
    // In any order.
    before
        .iter()
        .rev()
        .cloned()
        .for_each(|fact| oracle.tell(fact));
    oracle.judge_until(after[0].at).unwrap();
    after.iter().cloned().for_each(|fact| oracle.tell(fact));
    oracle.judge_until(log.now).unwrap();
    oracle.finish().unwrap();
    oracle.tell(before[0].clone());
    assert_eq!(oracle.finish().unwrap_err().rule.name, "log");
}

#[test]
fn a_breach_says_where_and_what() {
    let mut log = Log::new();
    log.push(
        1,
        What::Written {
            va: 5,
            bytes: vec![1],
        },
    );
    let breach = log
        .judge_with(crate::Options::default())
        .unwrap_err()
        .to_string();
    let place = format!(
        "{}.{:06} us, side 1",
        (log.now - US / 10) / US,
        (log.now - US / 10) % US
    );
    assert!(breach.starts_with(&place), "{breach}");
    assert!(
        breach.contains("memory.place (9.7.4.1): 1 bytes at 0x5"),
        "{breach}"
    );
}

#[test]
fn a_timeout_that_an_answer_crossed_still_repeats() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 500);
    for number in 0..2 {
        log.ask(0, number);
        log.write(0, number);
    }
    log.wait(TIMEOUT - 2 * US);
    log.ack(0, 0);
    log.ask(0, 1);
    log.ack(0, 1);
    log.complete_send(0, 0, Status::Success);
    log.holds();
}

#[test]
fn a_host_that_stalls_takes_completions_late() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.lose(0, 0);
    log.wait(TIMEOUT);
    log.ask(0, 0);
    log.write(0, 0);
    log.wait(TIMEOUT);
    // The NIC has given up; this answer comes too late, and the host learns it later still.
    log.ack(0, 0);
    log.wait(30 * US);
    log.complete_send(0, 0, Status::RetryExceeded);
    let stalls = |stall| crate::Options {
        stall,
        ..Default::default()
    };
    log.judge_with(stalls(40 * US)).unwrap();
    assert_eq!(
        log.judge_with(stalls(20 * US)).unwrap_err().rule.name,
        "sends.cause"
    );
}

#[test]
fn a_timeout_and_a_nak_at_once_repeat_twice() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 500);
    log.lose(0, 0);
    log.wait(TIMEOUT - 2 * US);
    log.ask(0, 1);
    log.nak(0, 0, 0x60);
    log.lose(0, 0);
    for number in 0..2 {
        log.ask(0, number);
        log.write(0, number);
    }
    log.ack(0, 1);
    log.complete_send(0, 0, Status::Success);
    log.holds();
}
