//! TCP segments: frames that are none of RoCE's, and what is shown of them.

use std::ops::Range;

use serde::Serialize;
use xoff_sim::wire::{IP_PROTOCOL_TCP, Tcp, Walk};

/// Letters of the flags, from the highest bit on: CWR, ECE, URG, ACK, PSH, RST, SYN, FIN.
const FLAGS: [char; 8] = ['W', 'E', 'U', 'A', 'P', 'R', 'S', 'F'];

/// The header of a TCP segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// A letter for each flag that is set: CWR W, ECE E, URG U, ACK A, PSH P, RST R, SYN S, FIN F.
    pub flags: String,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number, with the flag ACK.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<u32>,
    /// Window, not scaled.
    pub window: u16,
    /// Bytes of data.
    pub payload_bytes: u32,
    /// Where the data are in the frame.
    #[serde(skip)]
    pub data: Range<usize>,
}

impl Segment {
    /// The segment in a frame, of which so many bytes were recorded. `None` if it is none, or its header is not all
    /// there.
    pub fn of(frame: &[u8], kept: usize) -> Option<Self> {
        let walk = Walk::of(frame)?;
        let ip = walk.ip()?;
        if ip.head.next_header != IP_PROTOCOL_TCP {
            return None;
        }
        // What follows in a later fragment, which has no ports, is not the header.
        walk.ports()?;
        let start = ip.inside.ok()?;
        let tcp = Tcp::new_checked(frame.get(start..)?).ok()?;
        if start + Tcp::<&[u8]>::LEN > kept {
            return None;
        }
        let header = usize::from(tcp.data_offset()) * 4;
        let data = (start + header).min(ip.end)..ip.end;
        let flags = tcp.flags();
        let set = |place: usize| flags & 0x80 >> place != 0;
        let letters = FLAGS.iter().enumerate();
        Some(Self {
            src_port: tcp.src_port(),
            dst_port: tcp.dst_port(),
            flags: (letters.filter(|(place, _)| set(*place)))
                .map(|(_, letter)| letter)
                .collect(),
            seq: tcp.seq(),
            ack: set(3).then(|| tcp.ack()),
            window: tcp.window(),
            payload_bytes: data.len() as u32,
            data,
        })
    }

    /// Whether it opens a connection.
    pub fn opens(&self) -> bool {
        self.flags.contains('S')
    }

    /// Ports, numbers and length, as pieces of a row.
    pub fn pieces(&self) -> Vec<String> {
        let mut pieces = vec![
            format!("port {}→{}", self.src_port, self.dst_port),
            format!("seq {}", self.seq),
        ];
        pieces.extend(self.ack.map(|ack| format!("ack {ack}")));
        pieces.push(format!("win {}", self.window));
        pieces.push(format!("{} B", self.payload_bytes));
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment of 3 bytes with ACK and PSH, padded to 60 bytes.
    fn frame() -> Vec<u8> {
        let eth = "020000000002 020000000001 0800";
        let ip = "4500 002b 0000 4000 4006 0000 0a000001 0a000002";
        let tcp = "c001 2710 00000007 00000009 5018 0102 abcd 0000 616263 000000";
        let digits: String = [eth, ip, tcp].concat().split_whitespace().collect();
        (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect()
    }

    #[test]
    fn padding_is_no_data() {
        let frame = frame();
        assert_eq!(frame.len(), 60);
        let segment = Segment::of(&frame, 60).unwrap();
        assert_eq!(
            (segment.pieces().join(", "), &segment.flags[..]),
            ("port 49153→10000, seq 7, ack 9, win 258, 3 B".into(), "AP")
        );
    }

    #[test]
    fn nothing_is_said_of_what_is_not_there() {
        let mut frame = frame();
        assert_eq!(Segment::of(&frame, 53), None);
        assert!(Segment::of(&frame, 54).is_some());
        // A later fragment has no TCP header, and UDP is none.
        frame[21] = 1;
        assert_eq!(Segment::of(&frame, 60), None);
        (frame[21], frame[23]) = (0, 17);
        assert_eq!(Segment::of(&frame, 60), None);
    }
}
