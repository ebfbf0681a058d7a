//! Rules of completions.

use super::log::*;
use super::stories::{gives_up, refused};
use crate::fact::*;

/// Two WRITEs whose packets were written and acknowledged.
fn acknowledged() -> Log {
    let mut log = Log::new();
    for message in 0..2 {
        log.post(0, Operation::Write, 10);
        log.arrive(0, message);
        log.ack(0, message as u64);
    }
    log
}

#[test]
fn out_of_order() {
    let mut log = acknowledged();
    log.complete_send(0, 1, Status::Success);
    log.breaks("sends.order");
}

#[test]
fn twice() {
    let mut log = acknowledged();
    log.complete_send(0, 0, Status::Success);
    log.complete_send(0, 0, Status::Success);
    log.breaks("sends.order");
}

#[test]
fn a_success_that_was_not_asked_for() {
    let mut log = Log::new();
    log.post_changed(0, Operation::Write, 10, |work| work.signaled = false);
    log.carry(0, 0);
    log.holds();
    log.complete_send(0, 0, Status::Success);
    log.breaks("sends.order");
}

#[test]
fn with_another_length_or_operation() {
    for change in [
        |it: &mut Completion| it.length += 1,
        |it: &mut Completion| it.operation = Some(Operation::Send),
    ] {
        let mut log = acknowledged();
        let mut completion = log.sent(0, 0, Status::Success);
        change(&mut completion);
        log.completion(0, completion);
        log.breaks("sends.facts");
    }
}

#[test]
fn without_an_acknowledgement() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 300);
    log.arrive(0, 0);
    log.ack(0, 0);
    log.complete_send(0, 0, Status::Success);
    log.breaks("sends.acknowledged");
}

#[test]
fn before_its_bytes_are_written() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.ask(0, 0);
    log.ack(0, 0);
    log.complete_send(0, 0, Status::Success);
    log.breaks("sends.written");
    let lax = crate::Options {
        written_first: false,
        ..Default::default()
    };
    assert_eq!(log.judge_with(lax).unwrap_err().rule.name, "sends.written");
    log.write(0, 0);
    log.judge_with(lax).unwrap();
    log.breaks("sends.written");
}

#[test]
fn and_the_receiver_never_says_so() {
    let mut log = Log::new();
    log.buffer(1, 10);
    log.post(0, Operation::Send, 10);
    log.ask(0, 0);
    log.write(0, 0);
    log.ack(0, 0);
    log.complete_send(0, 0, Status::Success);
    log.breaks("sends.delivered");
    log.push(1, What::Closed { qpn: qpn(1) });
    log.breaks("sends.delivered");
}

#[test]
fn retries_are_left() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.lose(0, 0);
    log.wait(2 * TIMEOUT - US);
    log.complete_send(0, 0, Status::RetryExceeded);
    log.breaks("sends.cause");
}

#[test]
fn rnr_retries_are_left_or_endless() {
    for (retries, naks) in [(1, 1), (7, 9)] {
        let mut log = Log::with(|qp| qp.rnr_retries = retries);
        log.post(0, Operation::Send, 10);
        for _ in 0..naks {
            log.ask(0, 0);
            log.nak(0, 0, 0x21);
            log.wait(10 * US);
        }
        log.complete_send(0, 0, Status::RnrExceeded);
        log.breaks("sends.cause");
    }
}

#[test]
fn progress_gives_rnr_retries_back() {
    let mut log = Log::new();
    for message in 0..2 {
        log.post(0, Operation::Send, 10);
        log.ask(0, message);
        log.nak(0, message, 0x21);
        log.wait(10 * US);
        log.buffer(1, 10);
        if message == 0 {
            log.carry(0, 0);
        }
    }
    log.complete_send(0, 1, Status::RnrExceeded);
    log.breaks("sends.cause");
}

#[test]
fn another_error_than_the_nak_says() {
    let mut log = Log::new();
    refused(&mut log);
    log.complete_send(0, 0, Status::RemoteOperation);
    log.breaks("sends.cause");
}

#[test]
fn the_source_is_not_registered_or_it_is() {
    for (key, rule) in [(KEY, Some("sends.cause")), (0x33, None)] {
        let mut log = Log::new();
        log.post_changed(0, Operation::Write, 10, |work| {
            (work.key, work.va) = (key, BASE)
        });
        log.complete_send(0, 0, Status::LocalAccess);
        match rule {
            Some(rule) => log.breaks(rule),
            None => log.holds(),
        }
    }
}

#[test]
fn the_source_cannot_be_read_or_it_can() {
    for (bytes, rule) in [(0, Some("sends.cause")), (1, None)] {
        let mut log = Log::new();
        log.post_changed(0, Operation::Write, 10, |work| {
            (work.key, work.va) = (KEY, BASE)
        });
        let va = BASE + 9;
        log.push(0, What::Unreadable { va, bytes });
        log.complete_send(0, 0, Status::LocalAccess);
        match rule {
            Some(rule) => log.breaks(rule),
            None => log.holds(),
        }
    }
}

#[test]
fn none_at_all() {
    let mut log = acknowledged();
    log.complete_send(0, 0, Status::Success);
    log.breaks("sends.missing");
}

#[test]
fn a_qp_in_error_leaves_work_behind() {
    let mut log = Log::new();
    gives_up(&mut log);
    log.post_changed(0, Operation::Write, 10, |work| work.signaled = false);
    log.breaks("sends.missing");
}

#[test]
fn a_qp_in_error_leaves_a_buffer_behind() {
    let mut log = Log::new();
    gives_up(&mut log);
    log.buffer(0, 10);
    log.breaks("receives.missing");
}

#[test]
fn a_success_behind_an_error() {
    let mut log = acknowledged();
    log.wait(2 * TIMEOUT);
    log.post(0, Operation::Write, 10);
    log.complete_send(0, 0, Status::Flushed);
    log.complete_send(0, 1, Status::Success);
    log.breaks("flush");
}

#[test]
fn two_errors() {
    let mut log = Log::new();
    log.buffer(1, 9);
    log.buffer(1, 9);
    log.post(0, Operation::Send, 10);
    log.post(0, Operation::Send, 10);
    log.ask(0, 0);
    log.ask(0, 1);
    log.nak(0, 0, 0x61);
    log.complete_receive(0, 0, Status::LocalLength);
    log.complete_receive(0, 1, Status::LocalLength);
    log.breaks("flush");
}

#[test]
fn flushed_for_no_reason() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.complete_send(0, 0, Status::Flushed);
    log.breaks("flush.cause");
    log.push(0, What::Closed { qpn: qpn(0) });
    log.breaks("flush.cause");
}

/// Two SENDs that have arrived and are written.
fn written() -> Log {
    let mut log = Log::new();
    for message in 0..2 {
        log.buffer(1, 20);
        log.post(0, Operation::SendImmediate, 10);
        log.ask(0, message);
        log.write(0, message);
    }
    log
}

#[test]
fn a_buffer_out_of_order() {
    let mut log = written();
    log.complete_receive(0, 1, Status::Success);
    log.breaks("receives.order");
}

#[test]
fn a_buffer_twice() {
    let mut log = written();
    log.complete_receive(0, 0, Status::Success);
    log.complete_receive(0, 0, Status::Success);
    log.breaks("receives.order");
}

#[test]
fn a_receive_with_other_facts() {
    let changes: [fn(&mut Completion); 4] = [
        |it| it.length += 1,
        |it| it.immediate += 1,
        |it| it.solicited = !it.solicited,
        |it| it.operation = Some(Operation::Send),
    ];
    for change in changes {
        let mut log = written();
        let mut completion = log.received(0, 0, Status::Success);
        change(&mut completion);
        log.completion(1, completion);
        log.breaks("receives.facts");
    }
}

#[test]
fn a_receive_of_a_message_that_is_not_whole() {
    let mut log = Log::new();
    log.buffer(1, 1024);
    log.post(0, Operation::Send, 300);
    log.ask(0, 0);
    log.write(0, 0);
    let early = log.received(0, 0, Status::Success);
    log.completion(1, early);
    log.breaks("receives.whole");
    log.facts.pop();
    log.ask(0, 1);
    log.completion(1, early);
    log.breaks("receives.whole");
}

#[test]
fn a_receive_tells_of_a_write_that_was_refused() {
    let mut log = Log::new();
    log.buffer(1, 10);
    log.post(0, Operation::Write, 10);
    log.post(0, Operation::WriteImmediate, 0);
    log.push(1, What::Removed { key: KEY });
    log.ask(0, 0);
    log.ask(0, 1);
    log.nak(0, 0, 0x62);
    log.complete_receive(0, 1, Status::Success);
    log.breaks("receives.whole");
}

#[test]
fn a_buffer_fails_without_a_cause() {
    for status in [
        Status::LocalLength,
        Status::LocalAccess,
        Status::RetryExceeded,
    ] {
        let mut log = written();
        log.complete_receive(0, 0, status);
        log.breaks("receives.cause");
    }
}

#[test]
fn what_is_acknowledged_has_to_be_delivered_though_its_sender_is_silent() {
    let mut log = Log::new();
    log.buffer(1, 10);
    log.post_changed(0, Operation::Send, 10, |work| work.signaled = false);
    log.ask(0, 0);
    log.ack(0, 0);
    log.breaks("sends.written");
    log.write(0, 0);
    log.breaks("sends.delivered");
    log.complete_receive(0, 0, Status::Success);
    log.holds();
}
