//! A driver for `packet_parser`.

use std::collections::VecDeque;
use std::convert::Infallible;

use verilated::{Model, Packed, Settings};
use xoff_rtl::eth_pkg::{self, Control, EthHead as EthHeadPorts, IpHead as IpHeadPorts};
use xoff_rtl::roce_pkg::{self, ExtHead, ParseResult};
use xoff_rtl::{PacketParser256, PacketParser512, packet_parser256, packet_parser512};
use xoff_sim::wire::frame::{ControlHead, EthHead, IpHead, IpKind, ParsedFrame, Reason, Verdict};
use xoff_sim::wire::{
    AethRepr, AtomicAckEthRepr, AtomicEthRepr, Bth, BthRepr, DethRepr, EtherType, ExtHeaders,
    IethRepr, ImmDtRepr, MacAddr, Msn, Qpn, RethRepr, Syndrome, Tci,
};

use super::driven::Driven;
use super::{PERIOD_256_PS, PERIOD_512_PS, UnitError, beat};

/// Most cycles from a frame's last beat in to its `done_valid_o`: ten, according to the parser's header comment.
const MAX_LATENCY: u64 = 10;

/// The ports of `packet_parser` at one data width.
pub trait ParserTop: Model {
    /// Bytes of a beat.
    const BEAT: usize;
    /// Clock period in picoseconds.
    const PERIOD_PS: u64;
    /// Drives a beat, or `valid` low if there is none, and the reset.
    fn drive(pins: &mut Self::In, beat: Option<(&[u8], bool)>, reset: bool);
    /// Reads the outputs, whatever their width.
    fn read(pins: &Self::Out) -> ParserOut<'_>;
}

/// Outputs of `packet_parser`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParserOut<'a> {
    head_valid: bool,
    done_valid: bool,
    result: u64,
    fields: FieldPorts<'a>,
    payload_valid: bool,
    payload_last: bool,
    payload_bytes: u8,
    payload: &'a [u32],
}

/// The ports that must not change from `head_valid_o` to `done_valid_o`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FieldPorts<'a> {
    eth: &'a [u32; 5],
    control: &'a [u32; 5],
    ip: &'a [u32; 11],
    udp_src_port: u16,
    bth: &'a [u32; 3],
    ext: &'a [u32; 14],
}

macro_rules! parser_top {
    ($Top:ident, $ports:ident, $period:ident) => {
        impl ParserTop for $Top {
            const BEAT: usize = $ports::DATA_BYTES as usize;
            const PERIOD_PS: u64 = $period;

            #[inline]
            fn drive(pins: &mut $ports::In, beat: Option<(&[u8], bool)>, reset: bool) {
                pins.rst_i = u8::from(reset);
                pins.rx_valid_i = u8::from(beat.is_some());
                if let Some((bytes, last)) = beat {
                    pins.rx_last_i = u8::from(last);
                    pins.rx_bytes_i = bytes.len() as u8;
                    beat::put(&mut pins.rx_data_i, bytes);
                }
            }

            #[inline]
            fn read(pins: &$ports::Out) -> ParserOut<'_> {
                ParserOut {
                    head_valid: pins.head_valid_o != 0,
                    done_valid: pins.done_valid_o != 0,
                    result: pins.result_o,
                    fields: FieldPorts {
                        eth: &pins.eth_o,
                        control: &pins.control_o,
                        ip: &pins.ip_o,
                        udp_src_port: pins.udp_src_port_o,
                        bth: &pins.bth_o,
                        ext: &pins.ext_o,
                    },
                    payload_valid: pins.payload_valid_o != 0,
                    payload_last: pins.payload_last_o != 0,
                    payload_bytes: pins.payload_bytes_o,
                    payload: &pins.payload_data_o,
                }
            }
        }
    };
}

parser_top!(PacketParser256, packet_parser256, PERIOD_256_PS);
parser_top!(PacketParser512, packet_parser512, PERIOD_512_PS);

/// The verilated parser, and the frames for which it has not answered yet.
pub struct RtlParser<M: Model = PacketParser256> {
    unit: Driven<M>,
    cycle: u64,
    /// Length of each frame in the pipeline, and the cycle of its last beat once that has been sent.
    waiting: VecDeque<(usize, Option<u64>)>,
    /// Between `head_valid_o` and `done_valid_o`: the outputs at `head_valid_o`.
    head: Option<M::Out>,
    payload: Vec<u8>,
    payload_ended: bool,
    parsed: Vec<ParsedFrame>,
}

impl RtlParser<PacketParser256> {
    /// Creates the 256-bit parser and resets it. `seed` determines the random initial state of its registers.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        Self::of_width(seed)
    }
}

impl<M: ParserTop> RtlParser<M> {
    /// Creates the parser of the width that `M` has and resets it.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn of_width(seed: u64) -> Result<Self, UnitError> {
        let settings = Settings::new("packet_parser")
            .seed(seed)
            .period_ps(M::PERIOD_PS);
        let mut this = Self {
            unit: Driven::new(&settings)?,
            cycle: 0,
            waiting: VecDeque::new(),
            head: None,
            payload: Vec::new(),
            payload_ended: false,
            parsed: Vec::new(),
        };
        this.reset()?;
        Ok(this)
    }

    /// Resets the unit, discarding its state.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn reset(&mut self) -> Result<(), UnitError> {
        M::drive(&mut self.unit.pins_in, None, true);
        self.unit.cycle()?;
        self.waiting.clear();
        self.head = None;
        self.payload.clear();
        self.payload_ended = false;
        self.parsed.clear();
        self.unit.forget_answers();
        Ok(())
    }

    /// Tells a [watch](super::watch) which frame since the last reset, counted from 0, was parsed wrongly.
    pub fn blame(&self, frame: usize) {
        self.unit.blame(frame);
    }

    /// The model, for tracing, saving or inspecting it.
    pub fn model(&mut self) -> &mut M {
        &mut self.unit.model
    }

    /// Parses frames back to back.
    ///
    /// # Errors
    ///
    /// As [`RtlParser::parse_with_gaps`].
    pub fn parse(&mut self, frames: &[&[u8]]) -> Result<Vec<ParsedFrame>, UnitError> {
        self.parse_with_gaps(frames, |_, _| 0)
    }

    /// Parses frames; before beat b of frame f the line is idle for `gap(f, b)` cycles.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or a rule of the ports was broken: an answer too many, too late or too early,
    /// or fields that change while they must be stable.
    ///
    /// # Panics
    ///
    /// If a frame is empty, which no line can carry.
    pub fn parse_with_gaps(
        &mut self,
        frames: &[&[u8]],
        mut gap: impl FnMut(usize, usize) -> u32,
    ) -> Result<Vec<ParsedFrame>, UnitError> {
        for (f, frame) in frames.iter().enumerate() {
            assert!(!frame.is_empty(), "frame {f} is empty");
            let last = (frame.len() - 1) / M::BEAT;
            for (b, bytes) in frame.chunks(M::BEAT).enumerate() {
                for _ in 0..gap(f, b) {
                    self.step(None)?;
                }
                if b == 0 {
                    self.waiting.push_back((frame.len(), None));
                }
                self.step(Some((bytes, b == last)))?;
            }
        }
        while !self.waiting.is_empty() {
            self.step(None)?;
        }
        // An answer too many would appear within these cycles.
        for _ in 0..MAX_LATENCY {
            self.step(None)?;
        }
        Ok(std::mem::take(&mut self.parsed))
    }

    fn broken(&self, what: impl Into<String>) -> UnitError {
        Driven::<M>::broken(self.cycle, what)
    }

    fn step(&mut self, beat: Option<(&[u8], bool)>) -> Result<(), UnitError> {
        M::drive(&mut self.unit.pins_in, beat, false);
        self.unit.cycle()?;
        let out = M::read(&self.unit.pins_out);

        if out.head_valid {
            if self.head.is_some() {
                return Err(self.broken("head_valid_o twice without done_valid_o between"));
            }
            if self.waiting.is_empty() {
                return Err(self.broken("head_valid_o, and no frame is in the pipeline"));
            }
            self.head = Some(self.unit.pins_out);
        }
        if (out.payload_valid || out.done_valid) && self.head.is_none() {
            return Err(self.broken("payload_valid_o or done_valid_o before head_valid_o"));
        }
        if let Some(head) = &self.head
            && M::read(head).fields != out.fields
        {
            return Err(self.broken("a field changed between head_valid_o and done_valid_o"));
        }
        if out.payload_valid {
            let bytes = usize::from(out.payload_bytes);
            if self.payload_ended {
                return Err(self.broken("payload after payload_last_o"));
            }
            if bytes == 0 || bytes > M::BEAT || (!out.payload_last && bytes != M::BEAT) {
                return Err(self.broken(format!(
                    "payload_bytes_o is {bytes} with payload_last_o {}",
                    out.payload_last
                )));
            }
            if !beat::zero_behind(out.payload, bytes) {
                return Err(self.broken("unused payload bytes are not zero"));
            }
            beat::take(out.payload, bytes, &mut self.payload);
            self.payload_ended = out.payload_last;
        }
        if out.done_valid {
            let (frame_bytes, ended) = self.waiting.pop_front().expect("head_valid_o was checked");
            if ended.is_none() && !matches!(beat, Some((_, true))) {
                return Err(self.broken("done_valid_o before the frame's last beat"));
            }
            if !self.payload.is_empty() && !self.payload_ended {
                return Err(self.broken("done_valid_o without payload_last_o"));
            }
            let payload = std::mem::take(&mut self.payload);
            let parsed = read_frame(&out, payload).map_err(|what| self.broken(what))?;
            if parsed.frame_bytes != frame_bytes {
                return Err(self.broken(format!(
                    "frame_bytes is {}, the frame had {frame_bytes}",
                    parsed.frame_bytes
                )));
            }
            self.parsed.push(parsed);
            self.unit.answered();
            self.payload_ended = false;
            self.head = None;
        }
        if matches!(beat, Some((_, true))) {
            let cycle = self.cycle;
            if let Some(frame) = self.waiting.back_mut() {
                frame.1 = Some(cycle);
            }
        }
        if let Some(&(bytes, Some(ended))) = self.waiting.front()
            && self.cycle > ended + MAX_LATENCY
        {
            return Err(self.broken(format!(
                "no done_valid_o within {MAX_LATENCY} cycles after a frame of {bytes} bytes"
            )));
        }
        self.cycle += 1;
        Ok(())
    }
}

/// Reads the frame that the outputs describe at `done_valid_o`.
fn read_frame(out: &ParserOut<'_>, payload: Vec<u8>) -> Result<ParsedFrame, String> {
    let result = ParseResult::unpack(&out.result).map_err(|error| error.to_string())?;
    let fields = &out.fields;
    let bth = read_bth(fields.bth);
    let ip = read_ip(&sure(IpHeadPorts::unpack(fields.ip)));
    let grh = ip.is_some_and(|ip| ip.kind == IpKind::Grh);
    Ok(ParsedFrame {
        verdict: Verdict::from_code(result.verdict as u8)
            .ok_or_else(|| format!("there is no verdict {:?}", result.verdict))?,
        reason: match result.reason {
            roce_pkg::Reason::ReasonNone => None,
            reason => Some(
                Reason::from_code(reason as u8)
                    .ok_or_else(|| format!("there is no reason {reason:?}"))?,
            ),
        },
        frame_bytes: result.frame_bytes.into(),
        eth: (result.has_eth).then(|| read_eth(&sure(EthHeadPorts::unpack(fields.eth)))),
        control: (result.has_control).then(|| read_control(&sure(Control::unpack(fields.control)))),
        ip: if result.has_ip { ip } else { None },
        udp_src_port: (result.has_bth && !grh).then_some(fields.udp_src_port),
        bth: result.has_bth.then_some(bth),
        ext: (result.has_ext).then(|| read_ext(&sure(ExtHead::unpack(fields.ext)), &bth)),
        payload_bytes: result.has_payload.then_some(result.payload_bytes),
        icrc_ok: result.has_icrc.then_some(result.icrc_ok),
        payload,
    })
}

/// The value of a struct that contains no enum, for which all bit patterns are valid.
fn sure<T>(Ok(value): Result<T, Infallible>) -> T {
    value
}

fn read_control(control: &Control) -> ControlHead {
    ControlHead {
        opcode: control.opcode,
        class_enable: control.class_enable,
        timers: control.timer,
    }
}

fn read_eth(eth: &EthHeadPorts) -> EthHead {
    let address = |bits: u64| MacAddr(bits.to_be_bytes()[2..].try_into().expect("6 bytes"));
    let tci = |tci: eth_pkg::Tci| Tci {
        pcp: tci.pcp,
        dei: tci.dei,
        vid: tci.vid,
    };
    let both = [tci(eth.outer), tci(eth.inner)];
    EthHead {
        dst: address(eth.dst),
        src: address(eth.src),
        tags: both[..usize::from(eth.tags).min(2)].to_vec(),
        ether_type: EtherType(eth.ether_type),
    }
}

/// Returns `None` for `IpNone`.
fn read_ip(ip: &IpHeadPorts) -> Option<IpHead> {
    let kind = match ip.kind {
        eth_pkg::IpKind::IpNone => return None,
        eth_pkg::IpKind::IpV4 => IpKind::V4,
        eth_pkg::IpKind::IpV6 => IpKind::V6,
        eth_pkg::IpKind::IpGrh => IpKind::Grh,
    };
    Some(IpHead {
        kind,
        traffic_class: ip.traffic_class,
        flow_label: ip.flow_label,
        id: ip.id,
        flags: ip.flags,
        fragment_offset: ip.offset,
        hop_limit: ip.hop_limit,
        next_header: ip.next_header,
        length: ip.length,
        src: ip.src,
        dst: ip.dst,
    })
}

/// Reads the port of the BTH: `bth_t` is the header as it is on the wire.
fn read_bth(port: &[u32; 3]) -> BthRepr {
    let mut wire = Vec::with_capacity(BthRepr::LEN);
    beat::take(port, BthRepr::LEN, &mut wire);
    BthRepr::parse(&Bth::new_unchecked(&wire[..]))
}

/// Reads the extension headers. Of the fields of all headers, those of the opcode are meaningful.
fn read_ext(ext: &ExtHead, bth: &BthRepr) -> ExtHeaders {
    let layout = bth.opcode.layout().unwrap_or_default();
    ExtHeaders {
        deth: layout.deth.then(|| DethRepr {
            qkey: ext.qkey,
            src_qp: Qpn::new(ext.src_qp).expect("24 bits"),
        }),
        reth: layout.reth.then_some(RethRepr {
            va: ext.va,
            rkey: ext.rkey,
            dma_len: ext.dma_len,
        }),
        atomic: layout.atomic.then_some(AtomicEthRepr {
            va: ext.va,
            rkey: ext.rkey,
            swap_add: ext.swap_add,
            compare: ext.compare,
        }),
        aeth: layout.aeth.then(|| AethRepr {
            syndrome: Syndrome(ext.syndrome),
            msn: Msn::new(ext.msn).expect("24 bits"),
        }),
        atomic_ack: layout.atomic_ack.then_some(AtomicAckEthRepr {
            original: ext.original,
        }),
        imm: layout.imm.then_some(ImmDtRepr { imm: ext.imm }),
        ieth: layout.ieth.then_some(IethRepr { rkey: ext.imm }),
    }
}
