//! Reads the packets of RC whose extension headers the parser does not know: FLUSH and ATOMIC WRITE (IBTA release 1.5,
//! annex A19).
//!
//! | operation | behind the BTH | answered by |
//! |---|---|---|
//! | FLUSH | FETH 4 (reserved 26, selectivity 2, placement 4), RETH 16 | READ response 'only' of 0 bytes |
//! | ATOMIC WRITE | RETH 16, 8 bytes of payload | READ response 'only' of 0 bytes, or ACK |

use xoff_sim::protocol;
use xoff_sim::protocol::parser::parse_walk;
use xoff_sim::wire::frame::{ParsedFrame, Reason, Verdict};
use xoff_sim::wire::{BthRepr, ExtHeaders, ICRC_BYTES, Opcode, Reth, RethRepr, Walk};

use crate::format;

/// Bytes of the FLUSH extended transport header.
const FETH_BYTES: usize = 4;
/// Bytes that an ATOMIC WRITE writes.
const ATOMIC_WRITE_BYTES: usize = 8;

/// Bytes of the extension headers of these operations; `None` for all other opcodes.
pub(crate) fn header_bytes(opcode: Opcode) -> Option<usize> {
    match opcode {
        Opcode::RC_FLUSH => Some(FETH_BYTES + RethRepr::LEN),
        Opcode::RC_ATOMIC_WRITE => Some(RethRepr::LEN),
        _ => None,
    }
}

/// Parses a frame whose headers `walk` has found. Packets of these operations are read like those of the others.
pub(crate) fn parse(frame: &[u8], walk: Option<&Walk<'_>>) -> ParsedFrame {
    let mut parsed = walk.map_or_else(|| protocol::parse(frame), parse_walk);
    if parsed.reason == Some(Reason::UnknownOpcode)
        && let Some(header_bytes) = parsed.bth.and_then(|bth| header_bytes(bth.opcode))
        && let Some((_, bth, end)) = walk.and_then(format::packet)
        && let Some(rest) = frame.get(bth + BthRepr::LEN..end - ICRC_BYTES)
    {
        complete(&mut parsed, header_bytes, rest);
        if parsed.reason.is_none() {
            parsed.verdict = Verdict::RoceV2;
        }
    }
    parsed
}

/// Adds to `parsed` what is behind the BTH: `rest`, without the ICRC.
fn complete(parsed: &mut ParsedFrame, header_bytes: usize, rest: &[u8]) {
    let opcode = parsed.bth.unwrap_or_default().opcode;
    let Some((headers, payload)) = rest.split_at_checked(header_bytes) else {
        parsed.reason = Some(Reason::HeaderTruncated);
        return;
    };
    let reth = &headers[header_bytes - RethRepr::LEN..];
    let expected = match opcode {
        Opcode::RC_ATOMIC_WRITE => ATOMIC_WRITE_BYTES,
        _ => 0,
    };
    parsed.reason = match payload.len() {
        bytes if bytes == expected => None,
        bytes if bytes < expected => Some(Reason::HeaderTruncated),
        _ => Some(Reason::UnexpectedPayload),
    };
    if parsed.reason.is_none() {
        parsed.ext = Some(ExtHeaders {
            reth: Some(RethRepr::parse(&Reth::new_unchecked(reth))),
            ..ExtHeaders::default()
        });
        parsed.payload_bytes = Some(expected as u16);
        parsed.payload = payload.to_vec();
    }
}
