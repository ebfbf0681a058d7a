//! pcapng: sections of blocks. Interface descriptions and packet blocks are read. Other blocks are skipped, because
//! they hold no frames.

use std::io::Read;

use pcap_parser::pcapng::{Block, OptionCode, PcapNGOption, parse_block_be, parse_block_le};
use pcap_parser::traits::PcapNGPacketBlock;

use super::reader::Found;
use super::source::Source;
use super::{Interface, MAX_RECORD_BYTES, Problem};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// The packet block of the drafts before 2009, which is no longer written. Its fields are those of the enhanced one, but
/// for the interface, of 16 bits, and a count of drops behind it.
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// The least length of a block: type, length, and length again.
const LEAST_BLOCK_BYTES: u32 = 12;
/// The longest block that is held in memory. It has room for a frame over the limit and its options, so that such a
/// frame gets its own error.
const MAX_BLOCK_BYTES: u32 = 1 << 20;

/// `epb_flags`: direction and errors of a frame.
const OPTION_FLAGS: OptionCode = OptionCode(2);
/// `if_fcslen`: bytes of FCS after each frame.
const OPTION_FCS_LENGTH: OptionCode = OptionCode(13);
/// The value of `if_tsresol` if the option is absent: microseconds.
const DEFAULT_RESOLUTION: u8 = 6;

/// Returns whether a file with these first bytes is a pcapng.
pub(super) fn is_magic(first: [u8; 4]) -> bool {
    u32::from_be_bytes(first) == SECTION_HEADER
}

/// The state of the reader within the sections.
#[derive(Default)]
pub(super) struct Format {
    big_endian: bool,
    /// The number of interfaces in earlier sections. Each section numbers its interfaces from 0.
    base: usize,
    /// The first four bytes of the file, which selected the format and are also the first block's type.
    first: Option<[u8; 4]>,
}

impl Format {
    /// Starts a file whose first four bytes have already been read.
    pub fn open(first: [u8; 4]) -> Self {
        Self {
            first: Some(first),
            ..Self::default()
        }
    }

    /// Reads blocks up to and including the next one with a frame. Returns `None` at the end of the file. `start` is
    /// set to the offset of the last block.
    pub fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
        block: &mut Vec<u8>,
        interfaces: &mut Vec<Interface>,
        start: &mut u64,
    ) -> Result<Option<Found>, Problem> {
        loop {
            block.clear();
            *start = source.offset();
            if let Some(first) = self.first.take() {
                *start -= 4;
                block.extend(first);
            }
            match source.append(block, 8 - block.len(), "a block header") {
                Err(Problem::Truncated { have: 0, .. }) => return Ok(None),
                other => other?,
            }
            let Some(kind) = self.read_block(source, block)? else {
                continue;
            };
            let length = self.word(block, 4);
            if kind == OBSOLETE_PACKET {
                return self.obsolete(block, interfaces, *start).map(Some);
            }
            let parsed = if self.big_endian {
                parse_block_be(block)
            } else {
                parse_block_le(block)
            };
            let Ok((_, parsed)) = parsed else {
                return Err(Problem::Block {
                    kind,
                    length,
                    why: "its content does not fit into it",
                });
            };
            match parsed {
                Block::SectionHeader(section) if section.major_version != 1 => {
                    let (major, minor) = (section.major_version, section.minor_version);
                    return Err(Problem::Version {
                        format: "pcapng",
                        major,
                        minor,
                        expected: 1,
                    });
                }
                Block::SectionHeader(_) => self.base = interfaces.len(),
                Block::InterfaceDescription(description) => {
                    interfaces.push(self.describe(
                        description.linktype.0 as u32,
                        description.snaplen,
                        &description.options,
                    )?);
                }
                Block::EnhancedPacket(packet) => {
                    let (id, interface) = self.interface(interfaces, packet.if_id)?;
                    let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                    check_length(packet.caplen)?;
                    let time_ns = interface.nanoseconds(ticks)?;
                    return Ok(Some(Found {
                        offset: *start,
                        time_ns,
                        interface: id,
                        frame: packet.packet_data().to_vec(),
                        original: packet.origlen.max(packet.caplen),
                        flags: self.flags(&packet.options),
                    }));
                }
                Block::SimplePacket(packet) => {
                    // A simple packet block states no captured length, which is the smaller of the original length
                    // and the interface's limit. It states no time either.
                    let (id, interface) = self.interface(interfaces, 0)?;
                    let limit = if interface.snap_bytes == 0 {
                        u32::MAX
                    } else {
                        interface.snap_bytes
                    };
                    let captured = packet.origlen.min(limit);
                    check_length(captured)?;
                    let Some(frame) = packet.data.get(..captured as usize) else {
                        return Err(Problem::Block {
                            kind,
                            length,
                            why: "the frame does not fit into it",
                        });
                    };
                    return Ok(Some(Found {
                        offset: *start,
                        time_ns: 0,
                        interface: id,
                        frame: frame.to_vec(),
                        original: packet.origlen,
                        flags: 0,
                    }));
                }
                _ => unreachable!("other blocks are passed over"),
            }
        }
    }

    /// Reads the rest of a block whose type and length are in `block`. Returns `None` if it is of a type without
    /// frames and was skipped.
    fn read_block<R: Read>(
        &mut self,
        source: &mut Source<R>,
        block: &mut Vec<u8>,
    ) -> Result<Option<u32>, Problem> {
        if is_magic(block[..4].try_into().expect("four bytes")) {
            source.append(block, 4, "a section header")?;
            self.big_endian = match u32::from_be_bytes(block[8..12].try_into().expect("four bytes"))
            {
                BYTE_ORDER_MAGIC => true,
                magic if magic.swap_bytes() == BYTE_ORDER_MAGIC => false,
                _ => {
                    return Err(Problem::Block {
                        kind: SECTION_HEADER,
                        length: self.word(block, 4),
                        why: "its byte order magic is neither 1a 2b 3c 4d nor 4d 3c 2b 1a",
                    });
                }
            };
        }
        let kind = self.word(block, 0);
        let length = self.word(block, 4);
        let wrong = |why| Problem::Block { kind, length, why };
        if length < LEAST_BLOCK_BYTES.max(block.len() as u32) || !length.is_multiple_of(4) {
            return Err(wrong("block lengths are multiples of 4, at least 12"));
        }
        let rest = length - block.len() as u32;
        if !matches!(
            kind,
            SECTION_HEADER
                | INTERFACE_DESCRIPTION
                | OBSOLETE_PACKET
                | SIMPLE_PACKET
                | ENHANCED_PACKET
        ) {
            let have = source.skip(rest.into())?;
            if have < rest.into() {
                return Err(Problem::Truncated {
                    what: "a block",
                    have: block.len() as u64 + have,
                    need: length.into(),
                });
            }
            return Ok(None);
        }
        if length > MAX_BLOCK_BYTES {
            return Err(wrong("longer than any block with a frame of an Ethernet"));
        }
        source.append(block, rest as usize, "a block")?;
        if self.word(block, length as usize - 4) != length {
            return Err(wrong("the length at its end is another"));
        }
        Ok(Some(kind))
    }

    /// Reads an obsolete packet block.
    fn obsolete(
        &self,
        block: &[u8],
        interfaces: &[Interface],
        start: u64,
    ) -> Result<Found, Problem> {
        const FRAME: usize = 28;
        let length = self.word(block, 4);
        let wrong = || Problem::Block {
            kind: OBSOLETE_PACKET,
            length,
            why: "the frame does not fit into it",
        };
        if block.len() < FRAME + 4 {
            return Err(wrong());
        }
        let id = match self.big_endian {
            true => u16::from_be_bytes([block[8], block[9]]),
            false => u16::from_le_bytes([block[8], block[9]]),
        };
        let (id, interface) = self.interface(interfaces, id.into())?;
        let ticks = u64::from(self.word(block, 12)) << 32 | u64::from(self.word(block, 16));
        let captured = self.word(block, 20);
        check_length(captured)?;
        let frame = block[FRAME..block.len() - 4].get(..captured as usize);
        Ok(Found {
            offset: start,
            time_ns: interface.nanoseconds(ticks)?,
            interface: id,
            frame: frame.ok_or_else(wrong)?.to_vec(),
            original: self.word(block, 24).max(captured),
            flags: 0,
        })
    }

    /// Returns the value of `epb_flags`, or 0 without that option.
    fn flags(&self, options: &[PcapNGOption<'_>]) -> u32 {
        options
            .iter()
            .find(|option| option.code == OPTION_FLAGS)
            .and_then(|option| option.as_bytes().ok())
            .filter(|bytes| bytes.len() == 4)
            .map_or(0, |bytes| self.word(bytes, 0))
    }

    /// Returns the interface that a description block describes.
    fn describe(
        &self,
        link_type: u32,
        snap_bytes: u32,
        options: &[PcapNGOption<'_>],
    ) -> Result<Interface, Problem> {
        let option = |code| {
            options
                .iter()
                .find(|option| option.code == code)
                .and_then(|option| option.as_bytes().ok())
        };
        let eight = |code| {
            let bytes: [u8; 8] = option(code)?.try_into().ok()?;
            Some(match self.big_endian {
                true => u64::from_be_bytes(bytes),
                false => u64::from_le_bytes(bytes),
            })
        };
        let byte = |code| option(code).and_then(|bytes| bytes.first().copied());
        let raw = byte(OptionCode::IfTsresol).unwrap_or(DEFAULT_RESOLUTION);
        // Bit 7 selects between powers of 10 and powers of 2.
        let ticks_per_second = match raw & 0x7f {
            power if raw & 0x80 == 0 => 10_u64.checked_pow(power.into()),
            power => 1_u64.checked_shl(power.into()),
        };
        Ok(Interface {
            name: option(OptionCode::IfName).map(|name| String::from_utf8_lossy(name).into_owned()),
            link_type,
            ticks_per_second: ticks_per_second.ok_or(Problem::TimeResolution { raw })?,
            offset_seconds: eight(OptionCode::IfTsoffset).map_or(0, u64::cast_signed),
            bits_per_second: eight(OptionCode::IfSpeed),
            fcs_bytes: byte(OPTION_FCS_LENGTH).unwrap_or(0).into(),
            snap_bytes,
        })
    }

    /// Returns the interface that this section numbers `id`.
    fn interface<'a>(
        &self,
        interfaces: &'a [Interface],
        id: u32,
    ) -> Result<(usize, &'a Interface), Problem> {
        let index = self.base + id as usize;
        let interface = interfaces.get(index).ok_or(Problem::Interface {
            id,
            known: interfaces.len() - self.base,
        })?;
        Ok((index, interface))
    }

    fn word(&self, block: &[u8], at: usize) -> u32 {
        let bytes = block[at..at + 4].try_into().expect("four bytes");
        if self.big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    }
}

fn check_length(captured: u32) -> Result<(), Problem> {
    if captured as usize > MAX_RECORD_BYTES {
        return Err(Problem::RecordTooLong { bytes: captured });
    }
    Ok(())
}
