//! Rules of answers.

use super::log::*;
use super::stories::refused;
use crate::fact::*;

/// A WRITE of three packets, of which the first has arrived and is written.
fn begun() -> Log {
    let mut log = Log::new();
    log.post(0, Operation::Write, 700);
    log.ask(0, 0);
    log.write(0, 0);
    log
}

#[test]
fn of_what_did_not_arrive() {
    let mut log = begun();
    log.lose(0, 1);
    log.ack(0, 1);
    log.breaks("answers.arrived");
}

#[test]
fn of_what_came_behind_a_gap() {
    let mut log = begun();
    log.lose(0, 1);
    log.ask(0, 2);
    log.ack(0, 2);
    log.breaks("answers.arrived");
}

#[test]
fn of_what_arrived_broken() {
    let mut log = begun();
    let mut bytes = log.request(0, 1);
    log.push(0, What::Sent(bytes.clone()));
    bytes[60] ^= 1;
    log.push(1, What::Arrived(bytes));
    log.ack(0, 1);
    log.breaks("answers.arrived");
}

#[test]
fn with_another_msn() {
    for msn in [0, 2] {
        let mut log = Log::new();
        log.post(0, Operation::Write, 10);
        log.ask(0, 0);
        log.cross(1, log.answer(0, 0, 0x1F, msn));
        log.breaks("answers.msn");
    }
}

#[test]
fn without_a_buffer() {
    let mut log = Log::new();
    log.post(0, Operation::Send, 10);
    log.ask(0, 0);
    log.ack(0, 0);
    log.breaks("answers.buffer");
}

#[test]
fn of_the_first_part_of_a_message_without_a_buffer() {
    for (operation, breaks) in [(Operation::Send, true), (Operation::WriteImmediate, false)] {
        let mut log = Log::new();
        log.post_changed(0, operation, 500, |work| work.signaled = false);
        log.ask(0, 0);
        log.ack(0, 0);
        match breaks {
            true => log.breaks("answers.buffer"),
            false => log.holds(),
        }
    }
}

#[test]
fn of_what_was_refused() {
    let mut log = Log::new();
    refused(&mut log);
    log.ack(0, 1);
    log.breaks("answers.refused");
}

#[test]
fn what_was_acknowledged_is_refused() {
    let mut log = begun();
    log.ack(0, 0);
    log.push(1, What::Removed { key: KEY });
    log.nak(0, 0, 0x62);
    log.breaks("answers.refused");
}

#[test]
fn a_sequence_nak_without_a_gap() {
    let mut log = begun();
    log.nak(0, 1, 0x60);
    log.breaks("answers.gap");
}

#[test]
fn a_sequence_nak_of_another_packet() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 1000);
    log.ask(0, 0);
    log.ask(0, 1);
    log.lose(0, 2);
    log.ask(0, 3);
    log.nak(0, 1, 0x60);
    log.breaks("answers.gap");
}

#[test]
fn a_second_sequence_nak() {
    let mut log = begun();
    log.lose(0, 1);
    log.ask(0, 2);
    log.nak(0, 1, 0x60);
    log.nak(0, 1, 0x60);
    log.breaks("answers.once");
}

#[test]
fn not_ready_with_a_buffer() {
    let mut log = Log::new();
    log.buffer(1, 10);
    log.post(0, Operation::Send, 10);
    log.ask(0, 0);
    log.nak(0, 0, 0x21);
    log.breaks("answers.not-ready");
}

#[test]
fn not_ready_for_a_write() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    log.ask(0, 0);
    log.nak(0, 0, 0x21);
    log.breaks("answers.not-ready");
}

#[test]
fn not_ready_twice_for_one_packet() {
    let mut log = Log::new();
    log.post(0, Operation::Send, 10);
    log.ask(0, 0);
    log.nak(0, 0, 0x21);
    log.nak(0, 0, 0x21);
    log.breaks("answers.not-ready");
}

#[test]
fn refused_without_a_cause() {
    for syndrome in [0x61, 0x62, 0x63] {
        let mut log = begun();
        log.ask(0, 1);
        log.nak(0, 1, syndrome);
        log.breaks("answers.cause");
    }
    let mut log = begun();
    log.push(1, What::Removed { key: KEY });
    log.lose(0, 1);
    log.nak(0, 1, 0x62);
    log.breaks("answers.cause");
}

#[test]
fn a_reserved_syndrome() {
    for syndrome in [0x40, 0x64, 0x7F] {
        let mut log = begun();
        log.nak(0, 1, syndrome);
        log.breaks("answers.syndrome");
    }
}
