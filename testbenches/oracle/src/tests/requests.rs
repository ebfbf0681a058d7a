//! Rules of requests.

use super::log::*;
use super::stories::{gives_up, refused};
use super::wire::seal;
use crate::fact::*;

/// A WRITE with immediate data of three packets, posted; and its request `number`, changed and sealed again.
fn changed(number: u64, change: impl Fn(&mut Vec<u8>)) -> Log {
    let mut log = Log::new();
    log.buffer(1, 1024);
    log.post(0, Operation::WriteImmediate, 700);
    (0..number).for_each(|number| log.ask(0, number));
    let mut bytes = log.request(0, number);
    change(&mut bytes);
    seal(&mut bytes);
    log.push(0, What::Sent(bytes));
    log
}

#[test]
fn nothing_is_posted() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    let bytes = log.request(0, 0);
    log.facts.pop();
    log.push(0, What::Sent(bytes));
    log.breaks("requests.posted");
}

#[test]
fn a_psn_is_left_out() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 700);
    log.ask(0, 0);
    log.ask(0, 2);
    log.breaks("requests.order");
}

#[test]
fn the_first_psn_is_another() {
    changed(0, |bytes| bytes[53] -= 1).breaks("requests.order");
}

#[test]
fn what_is_not_acknowledged_is_left_out_when_repeated() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 700);
    (0..3).for_each(|number| log.lose(0, number));
    log.wait(TIMEOUT);
    log.lose(0, 0);
    log.lose(0, 2);
    log.breaks("requests.order");
}

/// A WRITE of so many packets, which arrive and are written. The first one is repeated at the timeout, and then the
/// first two are acknowledged.
fn acknowledged_late(packets: u64) -> Log {
    let mut log = Log::new();
    log.post(0, Operation::Write, packets as u32 * MTU - 10);
    for number in 0..packets {
        log.ask(0, number);
        log.write(0, number);
    }
    log.wait(TIMEOUT);
    log.lose(0, 0);
    log.ack(0, 1);
    log
}

#[test]
fn what_is_acknowledged_is_left_out_when_repeated() {
    let mut log = acknowledged_late(3);
    log.lose(0, 2);
    log.ack(0, 2);
    log.complete_send(0, 0, Status::Success);
    log.holds();
}

/// A packet is sent again although it is acknowledged by then, and a new one so long behind it. That one is repeated
/// when the ACK timeout has passed since the first of the two.
fn behind_a_stale_copy(gap: Ps) -> Log {
    let mut log = acknowledged_late(2);
    log.complete_send(0, 0, Status::Success);
    log.lose(0, 1);
    log.post(0, Operation::Write, 10);
    log.wait(gap);
    log.lose(0, 2);
    log.wait(TIMEOUT - gap);
    log.ask(0, 2);
    log.write(0, 2);
    log.ack(0, 2);
    log.complete_send(0, 1, Status::Success);
    log
}

#[test]
fn the_timer_runs_since_a_stale_copy_that_was_in_front() {
    behind_a_stale_copy(US).holds();
    behind_a_stale_copy(10 * US).breaks("requests.repeated");
}

#[test]
fn repeated_for_no_reason() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.lose(0, 0);
    log.wait(TIMEOUT - US);
    log.lose(0, 0);
    log.breaks("requests.repeated");
}

#[test]
fn repeated_once_too_often_for_one_nak() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 500);
    log.lose(0, 0);
    log.ask(0, 1);
    log.nak(0, 0, 0x60);
    log.lose(0, 0);
    log.lose(0, 0);
    log.breaks("requests.repeated");
}

#[test]
fn repeated_before_the_time_of_an_rnr_nak() {
    let mut log = Log::new();
    log.post(0, Operation::Send, 10);
    log.ask(0, 0);
    log.nak(0, 0, 0x21);
    log.wait(9 * US);
    log.ask(0, 0);
    log.breaks("requests.repeated");
}

#[test]
fn a_timeout_counts_from_the_last_progress() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 500);
    log.ask(0, 0);
    log.lose(0, 1);
    log.wait(TIMEOUT / 2);
    log.ack(0, 0);
    log.wait(TIMEOUT / 2);
    log.lose(0, 1);
    log.breaks("requests.repeated");
}

#[test]
fn a_nic_that_drops_answers_counts_from_earlier() {
    let mut log = Log::new();
    log.push(0, What::Overflowed);
    log.post(0, Operation::Write, 500);
    for number in 0..2 {
        log.ask(0, number);
        log.write(0, number);
    }
    log.wait(TIMEOUT / 2);
    log.ack(0, 0);
    log.wait(TIMEOUT / 2);
    log.lose(0, 1);
    log.ack(0, 1);
    log.complete_send(0, 0, Status::Success);
    log.holds();
}

#[test]
fn another_opcode() {
    changed(0, |bytes| bytes[42] = 0x0A).breaks("requests.opcode");
    changed(1, |bytes| bytes[42] = 0x08).breaks("requests.opcode");
}

#[test]
fn other_headers() {
    // Address, key and length in the first, immediate data and SE in the last.
    for place in [61, 65, 69] {
        changed(0, |bytes| bytes[place] ^= 1).breaks("requests.headers");
    }
    changed(2, |bytes| bytes[57] ^= 1).breaks("requests.headers");
    changed(2, |bytes| bytes[43] ^= 0x80).breaks("requests.headers");
}

#[test]
fn another_payload() {
    changed(0, |bytes| bytes[100] ^= 1).breaks("requests.payload");
    // Three bytes fewer, as pad.
    changed(1, |bytes| {
        bytes[43] = 0x30;
        let end = bytes.len() - 7;
        bytes[end..].fill(0);
    })
    .breaks("requests.payload");
}

#[test]
fn more_than_the_window() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 1500);
    (0..5).for_each(|number| log.ask(0, number));
    log.breaks("requests.window");
}

#[test]
fn a_qp_in_error_sends() {
    let mut log = Log::new();
    gives_up(&mut log);
    // What was selected before.
    log.lose(0, 1);
    log.holds();
    log.wait(5 * US);
    log.lose(0, 1);
    log.breaks("requests.failed");
}

#[test]
fn a_qp_that_has_refused_sends() {
    let mut log = Log::new();
    refused(&mut log);
    log.post(1, Operation::Write, 10);
    log.wait(5 * US);
    log.ask(1, 0);
    log.breaks("requests.failed");
}

#[test]
fn what_is_completed_is_repeated() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.carry(0, 0);
    log.wait(TIMEOUT);
    log.ask(0, 0);
    log.breaks("requests.done");
}
