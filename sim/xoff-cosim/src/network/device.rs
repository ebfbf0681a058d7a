//! A NIC top at its pins, and the software that drives it: what one implements to put an own NIC into the network.

use std::fmt::Debug;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use verilated::{Failure, Instance, Top};
use xoff_sim::host::Host;
use xoff_sim::kernel::Frame;
use xoff_sim::mac::Beat;
use xoff_sim::nic::{Address, NicCounters, NicSettings, PauseLog, QpSettings, Region};
use xoff_sim::protocol::dcqcn::{Alpha, Rate};
use xoff_sim::protocol::gbn::WorkKind;
use xoff_sim::time::{ByteCount, Clock, Cycles, Duration, LineRate, Time};
use xoff_sim::wire::Psn;

use crate::units::{Rest, UnitError};

/// Inputs of a device's top.
pub type Inputs<D> = <<D as Device>::Top as Top>::In;
/// Outputs of a device's top.
pub type Outputs<D> = <<D as Device>::Top as Top>::Out;

/// How the MAC gives frames to the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receive {
    /// The NIC takes every beat.
    EveryBeat,
    /// The stream has `ready`. The MAC keeps so many bytes of frames; what does not fit is dropped and counted as an overflow.
    Ready {
        /// Bytes of the MAC's FIFO.
        fifo: ByteCount,
    },
}

/// How the NIC gives frames to the MAC. The stream has `ready` in both cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transmit {
    /// A frame is on the wire from its first beat on. `valid` never falls inside it, and beats are no slower than the line.
    CutThrough,
    /// The MAC starts a frame when it is whole: `valid` may fall inside it.
    StoreAndForward,
}

/// The port of a NIC top to its MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortShape {
    /// Bytes of a beat, 1 to 128, both ways.
    pub width: usize,
    /// Period of the clock of the port, the only one that is driven.
    pub period: Duration,
    /// Frames from the MAC.
    pub receive: Receive,
    /// Frames to the MAC.
    pub transmit: Transmit,
    /// Whether frames have their FCS in the NIC, both ways; otherwise the MAC adds, checks and removes it.
    pub fcs: bool,
    /// Whether the MAC pads frames below 60 bytes; otherwise they are an error.
    pub padded: bool,
}

impl PortShape {
    /// What keeps a port from carrying a line, in words for a warning: fewer bytes a period than the line's.
    pub fn too_slow(&self, rate: LineRate) -> Option<String> {
        let line = rate.time_of(self.width as u64);
        (self.period > line).then(|| {
            format!(
                "{} bytes every {} are less than the line's {rate}, which takes {line} for them",
                self.width, self.period
            )
        })
    }
}

/// The pins of a NIC top: clock, reset, and the streams to and from the MAC. All functions are about one cycle of the clock.
pub trait Device: Debug + Send + 'static {
    /// The verilated top.
    type Top: Top;
    /// The port to the MAC.
    const PORT: PortShape;
    /// Cycles for which reset is held, before time starts.
    const RESET_CYCLES: u32 = 1;
    /// Whether registers and memories start at random bits, which the seed fixes; otherwise at 0. Random is the stricter test, but
    /// many designs count on 0.
    const RANDOM_START: bool = false;

    /// Drives reset, in the top's own polarity. It stays as it is until the next call.
    fn reset(pins: &mut Inputs<Self>, active: bool);

    /// Drives the number of the cycle, for a top that takes time as an input. Not called during reset.
    fn time(_pins: &mut Inputs<Self>, _now: Cycles) {}

    /// Drives the stream from the MAC: a beat, or no `valid`.
    fn receive(pins: &mut Inputs<Self>, beat: Option<&Beat>);

    /// Whether the beat was taken. Asked only of a port with [`Receive::Ready`].
    fn received(_out: &Outputs<Self>) -> bool {
        true
    }

    /// Drives the `ready` of the stream to the MAC.
    fn transmit_ready(pins: &mut Inputs<Self>, ready: bool);

    /// The beat that the NIC offers to the MAC.
    ///
    /// # Errors
    ///
    /// Which rule of the stream it breaks, such as a `tkeep` with a hole.
    fn transmit(out: &Outputs<Self>) -> Result<Option<Beat>, String>;

    /// What the top says of the cycles to come. `None`: it has no such pins, and every cycle is evaluated.
    #[inline]
    fn rest(_out: &Outputs<Self>) -> Option<Rest> {
        None
    }
}

/// One cycle of a NIC, as its driver sees it.
#[derive(Debug)]
pub struct Edge<'a> {
    /// Number of the cycle since the simulation started.
    pub now: Cycles,
    /// When its clock edge is.
    pub time: Time,
    /// The host: memory, work requests, completions.
    pub host: &'a mut Host,
    /// For metrics and charts.
    pub seen: &'a mut Seen,
}

/// What is known of a NIC from its pins, for metrics and charts. What a driver does not fill in stays 0.
#[derive(Debug, Clone, Default, Serialize, serde::Deserialize)]
pub struct Seen {
    /// Counters. Bytes in and out are counted by the node itself.
    pub counters: NicCounters,
    /// When which class could not be sent.
    pub pauses: PauseLog,
    /// By QP index: the last rate that DCQCN set, α, and whether the QP is held to the rate.
    pub rates: std::collections::BTreeMap<u16, (Rate, Alpha, bool)>,
}

/// A reset NIC before time starts: its cycles take no time.
#[derive(Debug)]
pub struct Still<'a, D: Device> {
    pub(super) model: &'a mut Instance<D::Top>,
    /// What is driven in the next cycle.
    pub pins: &'a mut Inputs<D>,
    /// What the last cycle had.
    pub out: &'a mut Outputs<D>,
    pub(super) record: Option<&'a mut Vec<Inputs<D>>>,
}

impl<D: Device> Still<'_, D> {
    /// One cycle.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn cycle(&mut self) -> Result<(), Failure> {
        if let Some(record) = &mut self.record {
            record.push(*self.pins);
        }
        self.model.cycle(self.pins, self.out)
    }
}

/// What a QP's other end has to know of it before it can connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Created {
    /// QP number.
    pub qpn: u32,
    /// PSN of its first request.
    pub psn: Psn,
    /// Key of its memory.
    pub key: u32,
}

/// What a NIC and its driver can do. A scenario that asks for more is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// QPs.
    pub qps: u16,
    /// Operations, as sender and as receiver.
    pub operations: &'static [WorkKind],
    /// Path MTUs, bytes.
    pub mtus: &'static [u32],
    /// Bytes of a message at most.
    pub message: u32,
    /// Work requests of a QP that it holds, and receive buffers: 1 or more.
    pub outstanding: u32,
}

/// What a driver may want to know when its NIC is made.
#[derive(Debug, Clone)]
pub struct HostSetup {
    /// The host's name.
    pub name: String,
    /// Its addresses.
    pub address: Address,
    /// The clock of the NIC's port.
    pub clock: Clock,
    /// The port's line.
    pub rate: LineRate,
    /// Settings of the scenario: classes, pauses, DCQCN.
    pub settings: NicSettings,
    /// MAC addresses of all hosts, for answers to ARP.
    pub neighbours: Vec<Address>,
}

/// The software around a device: it sets registers, opens QPs, hands over work, serves DMA and takes completions, all at the pins.
///
/// [`before`](Self::before) and [`after`](Self::after) are called once in each cycle that is evaluated.
pub trait Driver: Debug + Send + Serialize + DeserializeOwned + 'static {
    /// What it drives.
    type Device: Device;
    /// Bytes of a beat of DMA data.
    const DMA_BYTES: usize = <Self::Device as Device>::PORT.width;

    /// What the pair can do.
    fn limits() -> Limits;

    /// The software of a NIC that is being reset.
    fn new(setup: &HostSetup) -> Self;

    /// What is done before time starts and takes none: after reset, and after each call of `create` and `connect` before time starts.
    /// A driver that needs simulated time for it leaves this out.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL, or a register that refuses.
    fn settle(&mut self, _nic: &mut Still<'_, Self::Device>) -> Result<(), String> {
        Ok(())
    }

    /// Asks for a QP with a region of memory. `psn` is a proposal for its first PSN.
    fn create(&mut self, index: u16, psn: Psn, region: &Region);

    /// What `create` came to, once it is done.
    fn created(&self, index: u16) -> Option<Created>;

    /// Connects a QP that was created. Settings have the other end's [`Created`].
    fn connect(&mut self, index: u16, settings: &QpSettings);

    /// Whether `connect` is done: work may come.
    fn connected(&self, index: u16) -> bool;

    /// Drives all inputs but clock, reset, time and the streams of the MAC.
    fn before(&mut self, pins: &mut Inputs<Self::Device>, edge: &mut Edge<'_>);

    /// Reads the outputs of the same cycle.
    ///
    /// # Errors
    ///
    /// Which rule of its pins the NIC broke.
    fn after(
        &mut self,
        pins: &Inputs<Self::Device>,
        out: &Outputs<Self::Device>,
        edge: &mut Edge<'_>,
    ) -> Result<(), String>;

    /// The first cycle in which an input changes, for a device that can rest.
    fn next_event(&self, host: &Host) -> Option<Cycles> {
        host.next_event()
    }

    /// Answers a frame that the NIC has sent, in the place of the network: an ARP request, connection management. A frame that is
    /// answered is not sent on; the answer reaches the NIC after [`ANSWER_DELAY`](super::rtl_host::ANSWER_DELAY).
    #[inline]
    fn answer(&mut self, _frame: &Frame) -> Option<Bytes> {
        None
    }
}

/// Why a NIC cannot be made.
pub(super) fn broken(name: &str, cycle: Cycles, what: &str) -> UnitError {
    UnitError::Protocol {
        unit: "nic",
        cycle: cycle.0,
        what: format!("{name}: {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_slower_than_its_line_is_said() {
        let port = |width, period_ps| PortShape {
            width,
            period: Duration::from_ps(period_ps),
            receive: Receive::EveryBeat,
            transmit: Transmit::CutThrough,
            fcs: false,
            padded: true,
        };
        assert_eq!(port(32, 5_120).too_slow(LineRate::G40), None);
        assert_eq!(port(32, 6_400).too_slow(LineRate::G40), None);
        let why = port(8, 5_120).too_slow(LineRate::G40).unwrap();
        assert!(why.starts_with("8 bytes every 5.12 ns are less"), "{why}");
    }
}
