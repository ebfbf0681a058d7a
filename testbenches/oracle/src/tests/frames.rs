//! Rules of frames.

use super::log::*;
use super::wire::seal;
use crate::fact::*;

/// A WRITE whose first request is changed.
fn changed(change: impl Fn(&mut Vec<u8>)) -> Log {
    let mut log = Log::new();
    log.post(0, Operation::Write, 13);
    let mut bytes = log.request(0, 0);
    change(&mut bytes);
    log.push(0, What::Sent(bytes));
    log
}

#[test]
fn that_cannot_be_read() {
    changed(|bytes| bytes[12] = 0).breaks("frames.format");
    // UDP port, UDP length, IPv4 checksum.
    for place in [37, 39, 24] {
        changed(|bytes| bytes[place] ^= 4).breaks("frames.format");
    }
    changed(|bytes| bytes.truncate(50)).breaks("frames.format");
}

#[test]
fn with_reserved_bits() {
    // Header version, reserved bits of the QP number and of the PSN, the last pad byte.
    for (place, bit) in [(43, 1), (46, 1), (50, 1), (85, 1)] {
        changed(|bytes| {
            bytes[place] ^= bit;
            seal(bytes);
        })
        .breaks("frames.format");
    }
}

#[test]
fn with_a_wrong_icrc() {
    changed(|bytes| bytes[80] ^= 1).breaks("frames.icrc");
}

#[test]
fn of_another_path() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 500);
    log.ask(0, 0);
    let mut bytes = log.request(0, 1);
    bytes[45] ^= 1;
    seal(&mut bytes);
    log.push(0, What::Sent(bytes));
    log.breaks("frames.path");
}

#[test]
fn of_no_qp() {
    changed(|bytes| {
        bytes[49] ^= 1;
        seal(bytes);
    })
    .breaks("frames.qp");
}

#[test]
fn of_a_qp_that_is_closed() {
    let mut log = Log::new();
    log.post(0, Operation::Write, 500);
    log.lose(0, 0);
    log.push(0, What::Closed { qpn: qpn(0) });
    log.lose(0, 1);
    log.holds();
    log.wait(5 * US);
    log.lose(0, 1);
    log.breaks("frames.qp");
}
