//! A driver for `packet_builder`.

use verilated::{Model, Packed, Settings};
use xoff_rtl::eth_pkg::{self, Control, EthHead, IpHead};
use xoff_rtl::roce_pkg::ExtHead;
use xoff_rtl::{PacketBuilder256, PacketBuilder512, packet_builder256, packet_builder512};
use xoff_sim::protocol::{Content, Descriptor, RocePacket};
use xoff_sim::wire::frame::IpKind;
use xoff_sim::wire::{Bth, BthRepr, CONTROL_PAUSE, CONTROL_PFC, ExtHeaders};

use super::driven::Driven;
use super::{PERIOD_256_PS, PERIOD_512_PS, UnitError, beat};

/// Cycles in which no beat moves although all sides are willing, after which the builder is considered hung.
const MAX_IDLE: u32 = 8;

/// A bound on the length of a frame: more than headers and a payload with a 16-bit length can have.
const MAX_FRAME_BYTES: usize = 1 << 17;

/// The ports of `packet_builder` at one data width.
pub trait BuilderTop: Model {
    /// Bytes of a beat.
    const BEAT: usize;
    /// Clock period in picoseconds.
    const PERIOD_PS: u64;
    /// Drives the reset.
    fn reset(pins: &mut Self::In, reset: bool);
    /// Drives a descriptor, or `valid` low if there is none.
    fn describe(pins: &mut Self::In, descriptor: Option<&DescriptorPorts>);
    /// Drives a payload beat, or `valid` low if there is none.
    fn offer(pins: &mut Self::In, beat: Option<(&[u8], bool)>);
    /// Drives the `ready` of the receiver.
    fn ready(pins: &mut Self::In, ready: bool);
    /// Reads the outputs, whatever their width.
    fn read(pins: &Self::Out) -> BuilderOut<'_>;
}

/// A descriptor in the form that the ports have.
#[derive(Debug, Clone, Copy, Default)]
pub struct DescriptorPorts {
    eth: [u32; 5],
    control: [u32; 5],
    ip: [u32; 11],
    udp_src_port: u16,
    bth: [u32; 3],
    ext: [u32; 14],
    payload_bytes: u16,
}

/// Outputs of `packet_builder`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuilderOut<'a> {
    desc_ready: bool,
    payload_ready: bool,
    valid: bool,
    last: bool,
    bytes: u8,
    data: &'a [u32],
}

macro_rules! builder_top {
    ($Top:ident, $ports:ident, $period:ident) => {
        impl BuilderTop for $Top {
            const BEAT: usize = $ports::DATA_BYTES as usize;
            const PERIOD_PS: u64 = $period;

            fn reset(pins: &mut $ports::In, reset: bool) {
                pins.rst_i = u8::from(reset);
            }

            fn describe(pins: &mut $ports::In, descriptor: Option<&DescriptorPorts>) {
                pins.desc_valid_i = u8::from(descriptor.is_some());
                if let Some(ports) = descriptor {
                    pins.eth_i = ports.eth;
                    pins.control_i = ports.control;
                    pins.ip_i = ports.ip;
                    pins.udp_src_port_i = ports.udp_src_port;
                    pins.bth_i = ports.bth;
                    pins.ext_i = ports.ext;
                    pins.payload_bytes_i = ports.payload_bytes;
                }
            }

            fn offer(pins: &mut $ports::In, beat: Option<(&[u8], bool)>) {
                pins.payload_valid_i = u8::from(beat.is_some());
                if let Some((bytes, last)) = beat {
                    pins.payload_last_i = u8::from(last);
                    pins.payload_beat_bytes_i = bytes.len() as u8;
                    beat::put(&mut pins.payload_data_i, bytes);
                }
            }

            fn ready(pins: &mut $ports::In, ready: bool) {
                pins.tx_ready_i = u8::from(ready);
            }

            fn read(pins: &$ports::Out) -> BuilderOut<'_> {
                BuilderOut {
                    desc_ready: pins.desc_ready_o != 0,
                    payload_ready: pins.payload_ready_o != 0,
                    valid: pins.tx_valid_o != 0,
                    last: pins.tx_last_o != 0,
                    bytes: pins.tx_bytes_o,
                    data: &pins.tx_data_o,
                }
            }
        }
    };
}

builder_top!(PacketBuilder256, packet_builder256, PERIOD_256_PS);
builder_top!(PacketBuilder512, packet_builder512, PERIOD_512_PS);

/// Which sides are willing to transfer in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Willing {
    /// The descriptor's owner offers it. Once offered, it stays valid until taken.
    pub descriptor: bool,
    /// The payload's owner offers a beat. Once offered, it stays valid until taken.
    pub payload: bool,
    /// The receiver takes a beat.
    pub receiver: bool,
}

impl Willing {
    /// All sides are willing.
    pub const ALL: Self = Self {
        descriptor: true,
        payload: true,
        receiver: true,
    };
}

/// The verilated builder.
pub struct RtlBuilder<M: Model = PacketBuilder256> {
    unit: Driven<M>,
    cycle: u64,
}

impl RtlBuilder<PacketBuilder256> {
    /// Creates the 256-bit builder and resets it. `seed` determines the random initial state of its registers.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        Self::of_width(seed)
    }
}

impl<M: BuilderTop> RtlBuilder<M> {
    /// Creates the builder of the width that `M` has and resets it.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn of_width(seed: u64) -> Result<Self, UnitError> {
        let settings = Settings::new("packet_builder")
            .seed(seed)
            .period_ps(M::PERIOD_PS);
        let mut this = Self {
            unit: Driven::new(&settings)?,
            cycle: 0,
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
        M::describe(&mut self.unit.pins_in, None);
        M::offer(&mut self.unit.pins_in, None);
        M::reset(&mut self.unit.pins_in, true);
        self.unit.cycle()?;
        M::reset(&mut self.unit.pins_in, false);
        self.unit.forget_answers();
        Ok(())
    }

    /// Tells a [watch](super::watch) which frame since the last reset, counted from 0, was built wrongly.
    pub fn blame(&self, frame: usize) {
        self.unit.blame(frame);
    }

    /// The model, for tracing, saving or inspecting it.
    pub fn model(&mut self) -> &mut M {
        &mut self.unit.model
    }

    /// Builds frames back to back.
    ///
    /// # Errors
    ///
    /// As [`RtlBuilder::build_with_stalls`].
    pub fn build(&mut self, packets: &[Descriptor]) -> Result<Vec<Vec<u8>>, UnitError> {
        Ok(self.build_with_stalls(packets, || Willing::ALL)?.0)
    }

    /// Builds frames; `willing` returns for each cycle which sides are willing.
    ///
    /// Returns the frames, and the number of cycles from the first beat out to the last one. The packets must pass
    /// [`Descriptor::check`].
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or a rule of the ports was broken: a frame too many or too few, `valid` that
    /// falls or data that changes before the beat was taken, a stall that no side asked for.
    pub fn build_with_stalls(
        &mut self,
        packets: &[Descriptor],
        mut willing: impl FnMut() -> Willing,
    ) -> Result<(Vec<Vec<u8>>, u64), UnitError> {
        let ports: Vec<_> = packets.iter().map(describe).collect();
        let mut payload = packets
            .iter()
            .flat_map(|packet| {
                let bytes = payload_of(packet);
                let last = bytes.len().saturating_sub(1) / M::BEAT;
                (bytes.chunks(M::BEAT).enumerate()).map(move |(b, chunk)| (chunk, b == last))
            })
            .peekable();
        let mut descriptors = ports.iter().peekable();
        let (mut desc_offered, mut payload_offered) = (false, false);
        let mut waiting: Option<M::Out> = None;
        let mut frames = Vec::with_capacity(packets.len());
        let mut frame = Vec::new();
        let (mut first_beat, mut last_beat) = (None, self.cycle);
        let mut idle = 0;

        while frames.len() < packets.len() || idle < MAX_IDLE {
            let sides = willing();
            desc_offered |= sides.descriptor && descriptors.peek().is_some();
            payload_offered |= sides.payload && payload.peek().is_some();
            M::describe(
                &mut self.unit.pins_in,
                descriptors.peek().copied().filter(|_| desc_offered),
            );
            M::offer(
                &mut self.unit.pins_in,
                payload.peek().copied().filter(|_| payload_offered),
            );
            M::ready(&mut self.unit.pins_in, sides.receiver);
            self.unit.cycle()?;
            let out = M::read(&self.unit.pins_out);

            if let Some(before) = &waiting {
                let before = M::read(before);
                if (before.valid, before.last, before.bytes, before.data)
                    != (out.valid, out.last, out.bytes, out.data)
                {
                    return Err(self.broken("tx changed before it was taken"));
                }
            }
            waiting = (out.valid && !sides.receiver).then_some(self.unit.pins_out);
            if out.desc_ready && desc_offered {
                descriptors.next();
                desc_offered = false;
            }
            if out.payload_ready && payload_offered {
                payload.next();
                payload_offered = false;
            }
            if out.valid && sides.receiver {
                let bytes = usize::from(out.bytes);
                if bytes == 0 || bytes > M::BEAT || (!out.last && bytes != M::BEAT) {
                    return Err(
                        self.broken(format!("tx_bytes_o is {bytes} with tx_last_o {}", out.last))
                    );
                }
                if frames.len() == packets.len() {
                    return Err(self.broken("a frame that nobody described"));
                }
                beat::take(out.data, bytes, &mut frame);
                first_beat.get_or_insert(self.cycle);
                last_beat = self.cycle;
                if frame.len() > MAX_FRAME_BYTES {
                    return Err(self.broken(format!(
                        "a frame of more than {MAX_FRAME_BYTES} bytes: it has no end"
                    )));
                }
                if out.last {
                    frames.push(std::mem::take(&mut frame));
                    self.unit.answered();
                }
                idle = 0;
            } else if sides == Willing::ALL {
                idle += 1;
                if idle > MAX_IDLE && frames.len() < packets.len() {
                    return Err(self.broken(format!(
                        "no beat for {MAX_IDLE} cycles with everybody willing; {} of {} frames are out",
                        frames.len(),
                        packets.len()
                    )));
                }
            } else if frames.len() == packets.len() {
                idle += 1;
            }
            self.cycle += 1;
        }
        let cycles = first_beat.map_or(0, |first| last_beat - first + 1);
        Ok((frames, cycles))
    }

    fn broken(&self, what: impl Into<String>) -> UnitError {
        Driven::<M>::broken(self.cycle, what)
    }
}

fn payload_of(packet: &Descriptor) -> &[u8] {
    match &packet.content {
        Content::Roce(roce) => &roce.payload,
        Content::Pfc(_) | Content::Pause(_) => &[],
    }
}

fn describe(packet: &Descriptor) -> DescriptorPorts {
    let mut ports = DescriptorPorts {
        eth: eth_ports(packet).pack(),
        ..DescriptorPorts::default()
    };
    match &packet.content {
        Content::Roce(roce) => {
            ports.ip = ip_ports(roce).pack();
            ports.udp_src_port = roce.udp_src_port.unwrap_or_default();
            ports.bth = write_bth(&roce.bth);
            ports.ext = ext_ports(&roce.ext).pack();
            ports.payload_bytes =
                u16::try_from(roce.payload.len()).expect("Descriptor::check bounds it");
        }
        Content::Pfc(pfc) => {
            let (opcode, class_enable) = (CONTROL_PFC, pfc.class_enable);
            ports.control = control_ports(opcode, class_enable, pfc.timers);
        }
        Content::Pause(pause) => {
            let mut timers = [0; 8];
            timers[0] = pause.timer;
            ports.control = control_ports(CONTROL_PAUSE, 0, timers);
        }
    }
    ports
}

fn control_ports(opcode: u16, class_enable: u16, timer: [u16; 8]) -> [u32; 5] {
    let control = Control {
        opcode,
        class_enable,
        timer,
    };
    control.pack()
}

/// Ports of the Ethernet header. The EtherType is derived by the unit.
fn eth_ports(packet: &Descriptor) -> EthHead {
    let address = |bytes: [u8; 6]| bytes.iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
    let tci = |i: usize| {
        let tci = packet.tags.get(i).copied().unwrap_or_default();
        eth_pkg::Tci {
            pcp: tci.pcp,
            dei: tci.dei,
            vid: tci.vid,
        }
    };
    EthHead {
        dst: address(packet.dst.0),
        src: address(packet.src.0),
        tags: packet.tags.len() as u8,
        outer: tci(0),
        inner: tci(1),
        ether_type: 0,
    }
}

/// Ports of the network header. Length, next header and fragment offset are derived by the unit.
fn ip_ports(roce: &RocePacket) -> IpHead {
    let ip = &roce.ip;
    IpHead {
        kind: match ip.kind {
            IpKind::V4 => eth_pkg::IpKind::IpV4,
            IpKind::V6 => eth_pkg::IpKind::IpV6,
            IpKind::Grh => eth_pkg::IpKind::IpGrh,
        },
        traffic_class: ip.traffic_class,
        flow_label: ip.flow_label,
        id: ip.id,
        flags: ip.flags,
        hop_limit: ip.hop_limit,
        src: ip.src,
        dst: ip.dst,
        ..IpHead::default()
    }
}

/// The ports of the BTH: `bth_t` is the header as it is on the wire.
fn write_bth(bth: &BthRepr) -> [u32; 3] {
    let mut port = [0; 3];
    let mut wire = [0; BthRepr::LEN];
    bth.emit(&mut Bth::new_unchecked(&mut wire[..]));
    beat::put(&mut port, &wire);
    port
}

/// The fields of all extension headers. The builder uses those that the opcode has.
fn ext_ports(ext: &ExtHeaders) -> ExtHead {
    let reth = ext.reth.unwrap_or_default();
    let atomic = ext.atomic.unwrap_or_default();
    let aeth = ext.aeth.unwrap_or_default();
    let deth = ext.deth.unwrap_or_default();
    // At most one of the headers that share a field is present; the other one's value is zero.
    ExtHead {
        va: reth.va | atomic.va,
        rkey: reth.rkey | atomic.rkey,
        dma_len: reth.dma_len,
        swap_add: atomic.swap_add,
        compare: atomic.compare,
        syndrome: aeth.syndrome.0,
        msn: aeth.msn.get(),
        original: ext.atomic_ack.unwrap_or_default().original,
        imm: ext.imm.unwrap_or_default().imm | ext.ieth.unwrap_or_default().rkey,
        qkey: deth.qkey,
        src_qp: deth.src_qp.get(),
    }
}
