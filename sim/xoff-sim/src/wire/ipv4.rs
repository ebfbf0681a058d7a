//! The IPv4 header.

use serde::{Deserialize, Serialize};

view! {
    /// The IPv4 header, 20 bytes and up to 40 of options (RFC 791 §3.1):
    ///
    /// ```text
    ///  bit 0       4       8              16    19
    ///     | ver 4 | IHL 4 | DSCP 6  ECN 2 | total length 16        |
    ///     | identification 16             | flags 3 | offset 13    |
    ///     | TTL 8         | protocol 8    | header checksum 16     |
    ///     | source 32                                              |
    ///     | destination 32                                         |
    /// ```
    Ipv4, "IPv4", 20 bytes;
    /// Version; 4.
    version, set_version: u8 = 0..4;
    /// Header length in words of 4 bytes, 5 … 15.
    ihl, set_ihl: u8 = 4..8;
    /// DSCP in the high six bits (RFC 2474), ECN in the low two (RFC 3168).
    traffic_class, set_traffic_class: u8 = 8..16;
    /// Header and payload in bytes.
    total_length, set_total_length: u16 = 16..32;
    /// Identification.
    id, set_id: u16 = 32..48;
    /// Flags, from the high bit: reserved, DF (do not fragment), MF (more fragments).
    flags, set_flags: u8 = 48..51;
    /// Fragment offset in units of 8 bytes, 13 bits.
    fragment_offset, set_fragment_offset: u16 = 51..64;
    /// Time to live, hops.
    ttl, set_ttl: u8 = 64..72;
    /// Protocol; 17 is UDP.
    protocol, set_protocol: u8 = 72..80;
    /// Header checksum.
    checksum, set_checksum: u16 = 80..96;
    /// Source address.
    src, set_src: u32 = 96..128;
    /// Destination address.
    dst, set_dst: u32 = 128..160;
}

impl<T: AsRef<[u8]>> Ipv4<T> {
    /// The whole header with its options, if IHL is 5 or more and that many bytes are present.
    pub fn header(&self) -> Option<&[u8]> {
        let len = usize::from(self.ihl()) * 4;
        (len >= Self::LEN).then(|| self.buffer.as_ref().get(..len))?
    }

    /// Whether the checksum over the header with its options is correct (RFC 791, RFC 1071). False when
    /// [`header`](Self::header) is `None`.
    pub fn checksum_ok(&self) -> bool {
        self.header()
            .is_some_and(|header| ones_complement_sum(header) == 0xFFFF)
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Ipv4<T> {
    /// Writes the correct checksum. Does nothing when [`header`](Self::header) is `None`.
    pub fn fill_checksum(&mut self) {
        if self.header().is_some() {
            self.set_checksum(0);
            let sum = self.header().map_or(0, ones_complement_sum);
            self.set_checksum(!sum);
        }
    }
}

/// Sum of 16-bit words with the carries added back in (RFC 1071 §1). IPv4 headers have a whole number of words.
pub(crate) fn ones_complement_sum(header: &[u8]) -> u16 {
    let sum: u32 = header
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    ((folded & 0xFFFF) + (folded >> 16)) as u16
}

/// The fields of an IPv4 header without options. See [`Ipv4`] for the diagram. Version, IHL and checksum are added by
/// `emit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Ipv4Repr {
    /// DSCP in the high six bits, ECN in the low two.
    pub traffic_class: u8,
    /// Header and payload in bytes.
    pub total_length: u16,
    /// Identification.
    pub id: u16,
    /// Flags, three bits from the high one: reserved, DF, MF.
    pub flags: u8,
    /// Fragment offset in units of 8 bytes, 13 bits.
    pub fragment_offset: u16,
    /// Time to live, hops.
    pub ttl: u8,
    /// Protocol; 17 is UDP.
    pub protocol: u8,
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
}

impl Ipv4Repr {
    /// Bytes of the header without options.
    pub const LEN: usize = 20;

    /// Reads all fields. Options are skipped.
    pub fn parse<T: AsRef<[u8]>>(view: &Ipv4<T>) -> Self {
        Self {
            traffic_class: view.traffic_class(),
            total_length: view.total_length(),
            id: view.id(),
            flags: view.flags(),
            fragment_offset: view.fragment_offset(),
            ttl: view.ttl(),
            protocol: view.protocol(),
            src: view.src(),
            dst: view.dst(),
        }
    }

    /// Writes version 4, IHL 5, all fields and the correct checksum. Panics when there are fewer than 20 bytes.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, view: &mut Ipv4<T>) {
        view.buffer.as_mut()[..Self::LEN].fill(0);
        view.set_version(4);
        view.set_ihl(5);
        view.set_traffic_class(self.traffic_class);
        view.set_total_length(self.total_length);
        view.set_id(self.id);
        view.set_flags(self.flags);
        view.set_fragment_offset(self.fragment_offset);
        view.set_ttl(self.ttl);
        view.set_protocol(self.protocol);
        view.set_src(self.src);
        view.set_dst(self.dst);
        view.fill_checksum();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    round_trip!(round_trip, Ipv4, Ipv4Repr);

    /// The sum of the words 4500 0073 0000 4000 4011 c0a8 0001 c0a8 00c7 is 0x2479C, folded 0x479E, its complement
    /// 0xB861.
    const HEADER: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xB8, 0x61, 0xC0, 0xA8, 0x00,
        0x01, 0xC0, 0xA8, 0x00, 0xC7,
    ];

    #[test]
    fn as_rfc_791_draws_it() {
        let view = Ipv4::new_checked(HEADER).unwrap();
        assert_eq!(
            (view.version(), view.ihl(), view.fragment_offset()),
            (4, 5, 0)
        );
        assert!(view.checksum_ok());
        let repr = Ipv4Repr::parse(&view);
        let expected = Ipv4Repr {
            traffic_class: 0,
            total_length: 0x73,
            id: 0,
            flags: 0b010,
            fragment_offset: 0,
            ttl: 64,
            protocol: 17,
            src: 0xC0A8_0001,
            dst: 0xC0A8_00C7,
        };
        assert_eq!(repr, expected);
        let mut out = [0xFF; 20];
        repr.emit(&mut Ipv4::new_unchecked(&mut out));
        assert_eq!(out, HEADER);
    }

    #[test]
    fn header_needs_an_ihl_that_fits() {
        let mut bytes = [0; 23];
        let mut view = Ipv4::new_unchecked(&mut bytes);
        view.set_ihl(4);
        assert_eq!(view.header(), None);
        view.set_ihl(6);
        assert_eq!(view.header(), None);
        view.fill_checksum();
        assert_eq!(view.checksum(), 0);
        view.set_ihl(5);
        assert_eq!(view.header().map(<[u8]>::len), Some(20));
    }

    proptest! {
        #[test]
        fn a_filled_checksum_is_right_and_a_flipped_bit_is_seen(bytes: [u8; 60], ihl in 5u8..=15, bit in 0usize..160) {
            let mut view = Ipv4::new_unchecked(bytes);
            view.set_ihl(ihl);
            view.fill_checksum();
            prop_assert!(view.checksum_ok());
            let mut bytes = view.into_inner();
            if !(4..8).contains(&bit) {
                bytes[bit / 8] ^= 0x80 >> (bit % 8);
                prop_assert!(!Ipv4::new_unchecked(bytes).checksum_ok());
            }
        }
    }
}
