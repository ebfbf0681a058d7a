//! Rules of memory.

use super::log::*;
use super::stories::refused;
use crate::fact::*;

/// A WRITE of three packets, of which all have arrived and none is written.
fn arrived() -> Log {
    let mut log = Log::new();
    log.post(0, Operation::Write, 700);
    (0..3).for_each(|number| log.ask(0, number));
    log
}

#[test]
fn bytes_in_the_wrong_place() {
    let mut log = arrived();
    let (va, bytes) = log.payload(0, 0);
    log.push(1, What::Written { va: va + 1, bytes });
    log.breaks("memory.place");
}

#[test]
fn bytes_at_the_wrong_side() {
    let mut log = arrived();
    let (va, bytes) = log.payload(0, 0);
    log.push(0, What::Written { va, bytes });
    log.breaks("memory.place");
}

#[test]
fn a_packet_is_left_out() {
    let mut log = arrived();
    log.write(0, 1);
    log.breaks("memory.place");
}

#[test]
fn a_packet_is_written_twice() {
    let mut log = arrived();
    log.write(0, 0);
    log.write(0, 0);
    log.breaks("memory.place");
}

#[test]
fn a_message_is_written_again_that_go_back_0_did_not_send_again() {
    let mut log = Log::with(|qp| qp.restart = true);
    log.post(0, Operation::Write, 700);
    log.ask(0, 0);
    log.write(0, 0);
    log.write(0, 0);
    log.breaks("memory.place");
}

#[test]
fn more_is_written_than_a_packet_has() {
    let mut log = arrived();
    let (va, mut bytes) = log.payload(0, 0);
    bytes.extend(log.payload(0, 1).1);
    log.push(1, What::Written { va, bytes });
    log.breaks("memory.place");
}

#[test]
fn a_packet_may_be_written_in_parts() {
    let mut log = arrived();
    let (va, bytes) = log.payload(0, 0);
    log.push(
        1,
        What::Written {
            va,
            bytes: bytes[..100].to_vec(),
        },
    );
    log.push(
        1,
        What::Written {
            va: va + 100,
            bytes: bytes[100..].to_vec(),
        },
    );
    log.write(0, 1);
    log.write(0, 2);
    log.ack(0, 2);
    log.complete_send(0, 0, Status::Success);
    log.holds();
}

#[test]
fn a_byte_is_wrong() {
    let mut log = arrived();
    let (va, mut bytes) = log.payload(0, 0);
    bytes[255] ^= 1;
    log.push(1, What::Written { va, bytes });
    log.breaks("memory.value");
}

#[test]
fn a_packet_is_written_that_did_not_arrive() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 700);
    log.ask(0, 0);
    log.write(0, 0);
    log.lose(0, 1);
    log.write(0, 1);
    log.breaks("memory.arrived");
}

#[test]
fn a_packet_behind_a_gap_is_written() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 700);
    log.lose(0, 0);
    log.ask(0, 1);
    log.write(0, 0);
    log.breaks("memory.arrived");
}

#[test]
fn memory_is_written_whose_region_was_removed() {
    let mut log = arrived();
    log.write(0, 0);
    log.push(1, What::Removing { key: KEY });
    // What was permitted before.
    log.write(0, 1);
    log.push(1, What::Removed { key: KEY });
    log.write(0, 2);
    log.breaks("memory.right");
}

#[test]
fn memory_is_written_without_the_right() {
    let mut log = Log::new();
    log.push(1, What::Removed { key: SPARE });
    let base = BASE;
    log.push(
        1,
        What::Registered(Region {
            base,
            length: 0x1000,
            key: SPARE,
            domain: domain(1),
            local_write: true,
            remote_write: false,
            remote_read: false,
            remote_atomic: false,
        }),
    );
    log.post_changed(0, Operation::Write, 10, |work| work.remote_key = SPARE);
    log.ask(0, 0);
    log.write(0, 0);
    log.breaks("memory.right");
}

#[test]
fn memory_is_used_of_another_domain() {
    let write = |log: &mut Log| {
        log.post_changed(0, Operation::Write, 10, |work| work.remote_key = FOREIGN);
        log.ask(0, 0);
    };
    let mut log = Log::new();
    write(&mut log);
    log.write(0, 0);
    log.breaks("memory.right");

    let mut log = Log::new();
    write(&mut log);
    log.nak(0, 0, 0x62);
    log.complete_send(0, 0, Status::RemoteAccess);
    log.holds();

    let mut log = Log::new();
    log.post_changed(0, Operation::Write, 10, |work| {
        (work.va, work.key) = (BASE, FOREIGN);
    });
    log.ask(0, 0);
    log.breaks("memory.read");

    let mut log = Log::new();
    log.post_changed(0, Operation::Read, 10, |work| {
        (work.va, work.key, work.remote_key) = (BASE + 0xC_0000, KEY, FOREIGN);
    });
    log.ask(0, 0);
    // RDMA READ response only.
    log.respond(0, 0, 0x10);
    log.breaks("memory.read");

    let mut log = Log::new();
    log.buffer(1, 10);
    log.post_changed(0, Operation::SendInvalidate, 0, |work| {
        work.immediate = FOREIGN;
    });
    log.carry(0, 0);
    log.breaks("memory.key");
}

#[test]
fn memory_is_written_behind_the_end_of_its_region() {
    let mut log = Log::new();
    log.post_changed(0, Operation::Write, 10, |work| {
        work.remote_va = BASE + 0x10_0000 - 9
    });
    log.ask(0, 0);
    log.write(0, 0);
    log.breaks("memory.right");
}

#[test]
fn memory_is_written_whose_key_was_invalidated() {
    let mut log = Log::new();
    log.buffer(1, 10);
    log.post(0, Operation::SendInvalidate, 0);
    log.post_changed(0, Operation::Write, 10, |work| work.remote_key = SPARE);
    log.carry(0, 0);
    log.ask(0, 1);
    log.write(0, 1);
    log.breaks("memory.right");
}

#[test]
fn a_refused_packet_is_written() {
    let mut log = Log::new();
    refused(&mut log);
    log.push(
        1,
        What::Registered(Region {
            base: BASE,
            length: 0x1000,
            key: KEY,
            domain: domain(1),
            local_write: true,
            remote_write: true,
            remote_read: false,
            remote_atomic: false,
        }),
    );
    log.write(0, 1);
    log.breaks("memory.refused");
}

/// A WRITE under go-back-0 whose first packet the network copies so often, and which is refused.
fn refused_anew(copies: u32) -> Log {
    let mut log = Log::with(|qp| qp.restart = true);
    log.post(0, Operation::Write, 500);
    log.ask(0, 0);
    let bytes = log.request(0, 0);
    (0..copies).for_each(|_| log.push(1, What::Arrived(bytes.clone())));
    log.push(1, What::Removing { key: KEY });
    log.nak(0, 0, 0x62);
    log.write(0, 0);
    log
}

#[test]
fn a_copy_that_was_accepted_is_written_behind_the_nak_of_another() {
    let mut log = refused_anew(1);
    log.complete_send(0, 0, Status::RemoteAccess);
    log.holds();
}

#[test]
fn a_refused_packet_is_written_that_came_once() {
    refused_anew(0).breaks("memory.refused");
}

#[test]
fn a_packet_is_written_and_then_refused() {
    let mut log = arrived();
    log.write(0, 0);
    log.push(1, What::Removing { key: KEY });
    log.nak(0, 0, 0x62);
    log.breaks("memory.refused");
}

/// That a READ cannot be read is found when its data is wanted. What had arrived behind it may be accepted by then.
#[test]
fn what_is_behind_a_refused_read_is_written() {
    let written = |first: bool| {
        let mut log = Log::new();
        log.post_read(0, Operation::Read, 10);
        log.post(0, Operation::Write, 10);
        log.ask(0, 0);
        if first {
            log.ask(0, 1);
        }
        log.push(1, What::Removing { key: KEY });
        log.nak(0, 0, 0x62);
        if !first {
            log.ask(0, 1);
        }
        log.write(0, 1);
        log.complete_send(0, 0, Status::RemoteAccess);
        log.complete_send(0, 1, Status::Flushed);
        log
    };
    written(true).holds();
    written(false).breaks("memory.refused");
}

#[test]
fn something_else_is_read() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    let Work { va, key, .. } = log.messages[0].list()[0].work;
    let bytes = (0..10).map(|at| source(0, va + 1 + at)).collect();
    log.push(
        0,
        What::Read {
            va: va + 1,
            key,
            bytes,
        },
    );
    log.breaks("memory.read");
}

#[test]
fn memory_gives_what_it_does_not_hold() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 10);
    let Work { va, key, .. } = log.messages[0].list()[0].work;
    let bytes = (0..10).map(|at| source(1, va + at)).collect();
    log.push(0, What::Read { va, key, bytes });
    log.breaks("log");
}
