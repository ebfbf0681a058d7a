//! RDMAP, the verbs of iWARP: opcodes, and the headers that stand behind that of DDP.

use std::fmt;

/// An opcode of RDMAP, 0 to 15 (RFC 5040 §4.2; 8 to 11: RFC 7306 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RdmapOpcode(pub u8);

impl RdmapOpcode {
    /// RDMA Write.
    pub const WRITE: Self = Self(0);
    /// Request of an RDMA Read.
    pub const READ_REQUEST: Self = Self(1);
    /// Response of an RDMA Read.
    pub const READ_RESPONSE: Self = Self(2);
    /// The end of the stream, with its reason.
    pub const TERMINATE: Self = Self(7);

    /// What it does; `None` if it is not assigned.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "Write",
            1 => "Read Request",
            2 => "Read Response",
            3 => "Send",
            4 => "Send Invalidate",
            5 => "Send SE",
            6 => "Send SE Invalidate",
            7 => "Terminate",
            8 => "Immediate",
            9 => "Immediate SE",
            10 => "Atomic Request",
            11 => "Atomic Response",
            _ => return None,
        })
    }

    /// Whether it names a buffer to be invalidated.
    pub const fn invalidates(self) -> bool {
        matches!(self.0, 4 | 6)
    }
}

impl fmt::Display for RdmapOpcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("opcode {}", self.0)),
        }
    }
}

header! {
    /// What an RDMA Read asks for, 28 bytes (RFC 5040 §4.4):
    ///
    /// ```text
    ///  bit 0           32            96        128          160             224
    ///     | to STag 32 | to offset 64 | bytes 32 | from STag 32 | from offset 64 |
    /// ```
    RdmapRead, RdmapReadRepr, "RDMA Read request", 28 bytes;
    /// The buffer of the end that asks.
    to_stag, set_to_stag: u32 = 0..32;
    /// Where the data goes in it.
    to_offset, set_to_offset: u64 = 32..96;
    /// How much is read.
    bytes, set_bytes: u32 = 96..128;
    /// The buffer of the end that is asked.
    from_stag, set_from_stag: u32 = 128..160;
    /// Where the data comes from in it.
    from_offset, set_from_offset: u64 = 160..224;
}

header! {
    /// Why the stream ends, 4 bytes, before the headers that it is about (RFC 5040 §4.8):
    ///
    /// ```text
    ///  bit 0       4        8        16                  19         32
    ///     | layer | type 4 | code 8 | headers follow 3 | reserved 13 |
    /// ```
    RdmapTerminate, RdmapTerminateRepr, "Terminate", 4 bytes;
    /// Layer that found the error: 0 RDMAP, 1 DDP, 2 MPA.
    layer, set_layer: u8 = 0..4;
    /// Kind of the error, by layer.
    error_type, set_error_type: u8 = 4..8;
    /// The error, by layer and kind.
    code, set_code: u8 = 8..16;
    /// What follows, from the highest bit on: the length of the segment, its DDP header, its RDMAP header.
    headers, set_headers: u8 = 16..19;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip_of_read, RdmapRead, RdmapReadRepr);
    round_trip!(round_trip_of_terminate, RdmapTerminate, RdmapTerminateRepr);

    #[test]
    fn as_rfc_5040_draws_them() {
        let bytes = [
            0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5,
        ];
        let repr = RdmapReadRepr::parse(&RdmapRead::new_checked(bytes).unwrap());
        assert_eq!(
            repr,
            RdmapReadRepr {
                to_stag: 1,
                to_offset: 2,
                bytes: 3,
                from_stag: 4,
                from_offset: 5
            }
        );
        let view = RdmapTerminate::new_checked([0x12, 0x05, 0xC0, 0]).unwrap();
        assert_eq!(
            RdmapTerminateRepr::parse(&view),
            RdmapTerminateRepr {
                layer: 1,
                error_type: 2,
                code: 5,
                headers: 0b110
            }
        );
    }

    #[test]
    fn an_opcode_without_a_name_shows_its_number() {
        assert_eq!(RdmapOpcode(12).to_string(), "opcode 12");
        assert_eq!(RdmapOpcode::READ_RESPONSE.to_string(), "Read Response");
    }
}
