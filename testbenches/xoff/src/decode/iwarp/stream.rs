//! One direction of a connection: its bytes in order, without markers, divided into PDUs.

use super::part::{Part, Pdu};

/// Markers stand in a stream at each multiple of so many bytes from its beginning (RFC 5044 §4.3).
const MARKER_INTERVAL: u32 = 512;
/// Bytes of a marker.
const MARKER_BYTES: u32 = 4;
/// Bytes of the length before a PDU.
const LENGTH_BYTES: usize = 2;
/// Bytes of the CRC behind it, and of what it is padded to.
const CRC_BYTES: usize = 4;

/// A byte of a stream.
#[derive(Debug, Clone, Copy)]
struct Byte {
    /// `None` if it was not recorded.
    value: Option<u8>,
    /// It is of a marker.
    marker: bool,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub struct Stream {
    /// Whether the other end wants markers.
    pub markers: bool,
    /// Whether an end wants CRCs, as far as that was seen.
    pub crc: bool,
    /// Sequence number of the first byte behind the frame with which the sender begins, if that was seen.
    base: Option<u32>,
    /// Sequence number of the next byte; `None` if it is not known where PDUs begin.
    next: Option<u32>,
    /// Bytes from the beginning of a PDU on.
    bytes: Vec<Byte>,
}

/// What the next bytes of a stream are.
enum Next {
    /// A PDU of so many bytes.
    Pdu(Pdu, usize),
    /// The beginning of a PDU, perhaps.
    Unfinished,
    /// None.
    Nothing,
}

impl Stream {
    /// The first PDU begins at a sequence number.
    pub fn begin(&mut self, base: u32) {
        self.base = Some(base);
        self.next = Some(base);
        self.bytes.clear();
    }

    /// Whether it is known where its PDUs begin.
    pub const fn is_found(&self) -> bool {
        self.next.is_some()
    }

    /// Takes the data of a segment, of which the first `recorded` bytes were recorded. Returns what ends in it.
    pub fn follow(&mut self, seq: u32, data: &[u8], recorded: usize) -> Vec<Part> {
        let mut parts = Vec::new();
        // A retransmission has bytes that were there before; before a gap is what was lost, or not recorded.
        let old = self.next.map(|next| next.wrapping_sub(seq).cast_signed());
        let known = match old.map(usize::try_from) {
            Some(Ok(old)) if old >= data.len() => return parts,
            Some(Ok(old)) => {
                self.push(seq, data, recorded, old);
                true
            }
            _ => {
                self.bytes.clear();
                self.push(seq, data, recorded, 0);
                false
            }
        };
        loop {
            match self.look() {
                // A CRC that is right is no accident.
                Next::Pdu(pdu, _) if !known && parts.is_empty() && pdu.crc_ok != Some(true) => {
                    break self.lose();
                }
                Next::Pdu(pdu, bytes) => {
                    self.bytes.drain(..bytes);
                    self.crc |= pdu.crc_ok == Some(true);
                    parts.push(Part::Pdu(pdu));
                }
                Next::Unfinished if known || !parts.is_empty() => break,
                Next::Unfinished | Next::Nothing => break self.lose(),
            }
        }
        parts
    }

    fn lose(&mut self) {
        self.next = None;
        self.bytes.clear();
    }

    /// Adds the data of a segment, without its first `old` bytes.
    fn push(&mut self, seq: u32, data: &[u8], recorded: usize, old: usize) {
        let bytes = data.iter().enumerate().skip(old).map(|(place, byte)| {
            let from_base = |base| seq.wrapping_add(place as u32).wrapping_sub(base);
            let in_marker = |base| from_base(base) % MARKER_INTERVAL < MARKER_BYTES;
            Byte {
                value: (place < recorded).then_some(*byte),
                marker: self.markers && self.base.is_some_and(in_marker),
            }
        });
        self.bytes.extend(bytes);
        self.next = Some(seq.wrapping_add(data.len() as u32));
    }

    /// What the bytes begin with.
    fn look(&self) -> Next {
        let content = || self.bytes.iter().filter(|byte| !byte.marker);
        let mut length = content().take(LENGTH_BYTES).map(|byte| byte.value);
        let length = match [length.next(), length.next()] {
            [Some(Some(high)), Some(Some(low))] => usize::from(u16::from_be_bytes([high, low])),
            [None, _] | [_, None] => return Next::Unfinished,
            _ => return Next::Nothing,
        };
        let protected = (LENGTH_BYTES + length).next_multiple_of(CRC_BYTES);
        let places = self.bytes.iter().enumerate();
        let places = places.filter(|(_, byte)| !byte.marker);
        let mut places = places.map(|(place, _)| place).skip(protected);
        let (Some(crc), Some(last)) = (places.next(), places.nth(CRC_BYTES - 2)) else {
            return Next::Unfinished;
        };
        let ulpdu = content().skip(LENGTH_BYTES).take(length);
        let ulpdu: Vec<Option<u8>> = ulpdu.map(|byte| byte.value).collect();
        let Some(pdu) = Pdu::of(&ulpdu) else {
            return Next::Nothing;
        };
        let recorded: Option<Vec<u8>> = self.bytes[..=last].iter().map(|byte| byte.value).collect();
        let crc_ok = recorded.and_then(|bytes| {
            let right = crc32c::crc32c(&bytes[..crc]).to_le_bytes() == bytes[crc..];
            (right || self.crc).then_some(right)
        });
        Next::Pdu(Pdu { crc_ok, ..pdu }, last + 1)
    }
}
