//! iWARP: RDMA over TCP, the streams of MPA in a capture and what ends in each of their segments.
//!
//! A stream is known by the frames with which its ends begin (RFC 5044 §7.1), or else by a segment that begins with a
//! PDU whose CRC is right. From there on its segments are followed in order. Behind a gap, a stream with CRCs is found
//! again at the next segment that begins with a PDU; markers are found only in streams whose beginning was seen.

mod part;
mod stream;

use std::collections::HashMap;

pub use part::Part;
use stream::Stream;

use super::segment::Segment;

/// One direction of a connection: addresses and ports of its sender and its receiver.
type Direction = [(u128, u16); 2];

/// The streams of a capture.
#[derive(Debug, Default)]
pub struct Iwarp {
    streams: HashMap<Direction, Stream>,
}

impl Iwarp {
    /// Follows its stream by a segment between these addresses. Returns what ends in it. `frame` is all of it, of which
    /// `kept` bytes were recorded.
    pub fn follow(
        &mut self,
        [src, dst]: [u128; 2],
        segment: &Segment,
        frame: &[u8],
        kept: usize,
    ) -> Vec<Part> {
        let there: Direction = [(src, segment.src_port), (dst, segment.dst_port)];
        let back = [there[1], there[0]];
        if segment.opens() {
            // The ports belong to another connection from now on.
            self.streams.remove(&there);
        }
        let data = frame.get(segment.data.clone()).unwrap_or_default();
        if data.is_empty() {
            return Vec::new();
        }
        let recorded = kept.saturating_sub(segment.data.start).min(data.len());
        let mut parts = Vec::new();
        if let Some((start, bytes)) = part::Start::of(&data[..recorded]) {
            // What one end says of markers is about what it receives, and a CRC is in both directions or in none.
            let answer = self.streams.entry(back).or_default();
            answer.markers = start.markers;
            answer.crc |= start.crc;
            let crc = answer.crc;
            let stream = self.streams.entry(there).or_default();
            stream.crc = crc;
            stream.begin(segment.seq.wrapping_add(bytes));
            parts.push(Part::Start(start));
        }
        match self.streams.get_mut(&there) {
            Some(stream) => parts.extend(stream.follow(segment.seq, data, recorded)),
            None => {
                let mut stream = Stream::default();
                parts.extend(stream.follow(segment.seq, data, recorded));
                if stream.is_found() {
                    self.streams.insert(there, stream);
                }
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests;
