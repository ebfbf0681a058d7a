//! What a request has to say: that of its work request.

use crate::breach::{Breach, Place};
use crate::fact::Operation;
use crate::message::{Message, Messages};
use crate::packet::{AtomicEth, Packet, Reth};
use crate::rules;

/// Whether a packet is one of a message by its opcode and length, whatever it carries.
pub fn resembles(message: &Message, number: u64, mtu: u32, packet: &Packet) -> bool {
    let payload = match message.work.operation.returns() {
        true => 0,
        false => message.part(number, mtu).1,
    };
    packet.opcode == message.opcode(number) && packet.payload.len() as u64 == payload
}

/// Judges a request by the message that it belongs to; `source` is the sender's memory.
pub fn judge(
    place: &Place,
    messages: &Messages,
    number: u64,
    packet: &Packet,
    source: &dyn Fn(u64) -> u8,
) -> Result<(), Breach> {
    let Some(message) = messages.of(number) else {
        return place.breaks(
            &rules::REQUEST_POSTED,
            format!(
                "PSN {:#x} is packet {number}, and {} are posted",
                packet.psn,
                messages.packets()
            ),
        );
    };
    let opcode = message.opcode(number);
    place.holds(packet.opcode == opcode, &rules::REQUEST_OPCODE, || {
        format!(
            "PSN {:#x}: opcode {:#x}, not {opcode:#x}, of {:?}",
            packet.psn, packet.opcode, message.work
        )
    })?;
    let work = &message.work;
    let (first, last) = (number == message.first, number + 1 == message.end);
    let reads = work.operation == Operation::Read;
    let (skipped, _) = message.part(number, messages.mtu);
    // A READ may be asked for again from its inside, for the rest.
    let skipped = if reads { skipped } else { 0 };
    let reth = (first && work.operation.writes() || reads).then_some(Reth {
        va: work.remote_va.wrapping_add(skipped),
        key: work.remote_key,
        length: work.length - skipped as u32,
    });
    let atomic = work.operation.is_atomic().then_some(AtomicEth {
        va: work.remote_va,
        key: work.remote_key,
        swap_add: work.swap_add,
        // Of a fetch and add it is reserved.
        compare: match work.operation {
            Operation::CompareSwap => work.compare,
            _ => packet.atomic.map_or(0, |it| it.compare),
        },
    });
    let word = (last && work.operation.has_word()).then_some(work.immediate);
    let solicited = last && work.solicited && !work.operation.returns();
    let right = (packet.reth, packet.word, packet.atomic) == (reth, word, atomic)
        && packet.solicited == solicited;
    place.holds(right, &rules::REQUEST_HEADERS, || {
        format!(
            "PSN {:#x}: {:x?}, {:x?}, word {:x?}, solicited {}; right are {reth:x?}, {atomic:x?}, {word:x?}, \
             {solicited}",
            packet.psn, packet.reth, packet.atomic, packet.word, packet.solicited
        )
    })?;
    let (start, length) = match work.operation.returns() {
        true => (0, 0),
        false => message.part(number, messages.mtu),
    };
    let pad = (length.wrapping_neg() & 3) as usize;
    let sizes = (packet.payload.len() as u64, packet.pad);
    place.holds(sizes == (length, pad), &rules::REQUEST_PAYLOAD, || {
        format!(
            "PSN {:#x}: payload and pad of {sizes:?} bytes, not {:?}",
            packet.psn,
            (length, pad)
        )
    })?;
    let from = work.va.wrapping_add(start);
    match differing(&packet.payload, from, source) {
        None => Ok(()),
        Some(wrong) => place.breaks(
            &rules::REQUEST_PAYLOAD,
            format!("PSN {:#x}, {wrong}", packet.psn),
        ),
    }
}

/// Says which is the first byte that is not the source's.
pub fn differing(bytes: &[u8], from: u64, source: &dyn Fn(u64) -> u8) -> Option<String> {
    let mut places = (from..).zip(bytes).enumerate();
    let (offset, (va, byte)) = places.find(|(_, (va, byte))| source(*va) != **byte)?;
    Some(format!(
        "byte {offset} is {byte:#04x}, and at {va:#x} the source has {:#04x}",
        source(va)
    ))
}
