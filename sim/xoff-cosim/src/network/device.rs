//! The pins of a NIC top and the software that drives it: the traits to implement in order to put a NIC of your own
//! into the network.

use std::fmt::Debug;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use verilated::{Failure, Instance, Model, Top};
use xoff_sim::frame::Frame;
use xoff_sim::host::Host;
use xoff_sim::mac::Beat;
use xoff_sim::nic::translation::PageSize;
use xoff_sim::nic::{DcqcnChange, NicCounters, PauseLog, QpSettings, ReadRights, Region};
use xoff_sim::protocol::Idle;
use xoff_sim::protocol::dcqcn::{Alpha, Rate};
use xoff_sim::time::{ByteCount, Clock, Cycles, Duration, LineRate, Time};
use xoff_sim::wire::Psn;

pub use xoff_network::endpoint::{Created, HostSetup, Limits};

use super::page_tables::PageTables;
use crate::units::UnitError;

/// Input pins of a device's top.
pub type Inputs<D> = <<D as Device>::Model as Model>::In;
/// Output pins of a device's top.
pub type Outputs<D> = <<D as Device>::Model as Model>::Out;

/// A clocked model that can be a host's NIC: every verilated top is one, and a model in Rust with the same pins can be.
pub trait DeviceModel: Model + Debug + 'static {
    /// Sets the time at which the next cycle starts, in picoseconds, for waves and messages.
    fn set_time_ps(&mut self, picoseconds: u64);
    /// Whether a file of waves is open.
    fn tracing(&self) -> bool;
}

impl<T: Top> DeviceModel for Instance<T> {
    fn set_time_ps(&mut self, picoseconds: u64) {
        Instance::set_time_ps(self, picoseconds);
    }

    fn tracing(&self) -> bool {
        Instance::tracing(self)
    }
}

/// How the MAC hands received frames to the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receive {
    /// The NIC takes every beat; the stream has no `ready`.
    EveryBeat,
    /// The stream has `ready`. The MAC buffers frames in a FIFO; a frame that does not fit is dropped and counted as
    /// an overflow.
    Ready {
        /// Size of the MAC's FIFO in bytes.
        fifo: ByteCount,
    },
}

/// How the NIC hands frames to the MAC for transmission. The stream has `ready` in both cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transmit {
    /// A frame goes onto the wire from its first beat on. `valid` must not fall inside a frame, and beats must not
    /// come slower than the line.
    CutThrough,
    /// The MAC starts a frame once all of it is there: `valid` may fall inside a frame.
    StoreAndForward,
}

/// Who receives and sends pauses: PFC (IEEE 802.1Q clause 36) and PAUSE (IEEE 802.3 annex 31B).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pauses {
    /// The NIC: pause frames are on its streams, in both directions.
    Nic,
    /// The MAC, on behalf of a NIC that has pins for it. The MAC takes all MAC control frames, counts their quanta (512
    /// bit times at the port's rate), and shows by [`Device::paused`] which classes must not start a frame. For the
    /// classes of [`Device::pause_requests`] it sends XOFF, repeats it before it ends, and sends XON.
    ///
    /// Only lossless classes of the scenario obey PFC and send it. The host then counts pauses, and
    /// keeps [`Seen::pauses`].
    Pins,
    /// Nobody: the MAC counts pause frames as ignored, and drops them.
    Nobody,
}

/// What the frames on the NIC's streams begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// The Ethernet header: frames are as on the wire.
    Ethernet,
    /// The BTH: a packet is on the streams from its BTH to its last pad byte, a multiple of 4 bytes, in both
    /// directions.
    ///
    /// The MAC puts Ethernet, IP, UDP and ICRC around what is sent, once it is whole, and pads it. The addresses, DSCP,
    /// tags and UDP port are those of the QP that sends it: see [`Driver::sends_from`]. What is received has to be for
    /// a connected QP and to come from its other end, with a right ICRC; else the MAC drops it, and counts it by reason
    /// in [`Seen::counters`]. A CE mark of the IP header does not reach the NIC.
    ///
    /// Needs [`Transmit::StoreAndForward`], and streams without FCS. Only RC is carried.
    Bth,
}

/// The shape of the port between a NIC top and its MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortShape {
    /// Bytes of a beat, 1 to 128, in both directions.
    pub width: usize,
    /// Period of the port's clock, which is the only clock that is driven.
    pub period: Duration,
    /// The stream of frames from the MAC.
    pub receive: Receive,
    /// The stream of frames to the MAC.
    pub transmit: Transmit,
    /// Whether frames carry their FCS on the NIC's streams, in both directions. If not, the MAC adds, checks and
    /// removes it.
    pub fcs: bool,
    /// Whether the MAC pads frames below 60 bytes. If not, such frames are an error.
    pub padded: bool,
    /// Who receives and sends pauses.
    pub pauses: Pauses,
    /// What frames begin with.
    pub framing: Framing,
}

impl PortShape {
    /// The reason why the port cannot carry the line's rate, as text for a warning: it moves fewer bytes a period
    /// than the line. `None` if it can.
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

/// The pins of a NIC top: clock, reset, and the streams from and to the MAC.
///
/// Each function concerns a single cycle of the clock.
pub trait Device: Debug + Send + 'static {
    /// The verilated top: the type that `verilated::tops!()` makes for it.
    type Model: DeviceModel;
    /// The port to the MAC.
    const PORT: PortShape;
    /// Number of cycles for which reset is held, before simulated time starts.
    const RESET_CYCLES: u32 = 1;
    /// Whether registers and memories start with random bits, derived from the seed; if not, they start at 0. A
    /// random start is the stricter test, but many designs rely on 0.
    const RANDOM_START: bool = false;
    /// Whether the MAC hands on frames of MAC control ahead of others, also between the beats of one, so that no pause
    /// waits behind a long frame. [`receive_control`](Self::receive_control) tells these beats apart. Only for a port
    /// with [`Receive::EveryBeat`].
    const CONTROL_AHEAD: bool = false;
    /// Whether hosts with this NIC are part of checkpoints.
    ///
    /// `true` promises that all state of the device is in its model, which saves and restores it: nothing is in files
    /// or behind DPI. Pins are not saved: [`Driver::before`] has to drive, in each cycle, all inputs that matter in it.
    const CHECKPOINTS: bool = false;

    /// Drives reset, in the top's own polarity. The pins keep this value until the next call.
    fn reset(pins: &mut Inputs<Self>, active: bool);

    /// Drives the number of the cycle, for a top that takes the time as an input. Not called during reset.
    fn time(_pins: &mut Inputs<Self>, _now: Cycles) {}

    /// Drives the stream from the MAC with a beat, or with `valid` low if there is none.
    fn receive(pins: &mut Inputs<Self>, beat: Option<&Beat>);

    /// Drives whether the beat is one of a frame of MAC control that goes ahead of others. Called after
    /// [`receive`](Self::receive) for a device with [`CONTROL_AHEAD`](Self::CONTROL_AHEAD).
    fn receive_control(_pins: &mut Inputs<Self>, _control: bool) {}

    /// Drives whether the link is up, in every cycle, for a NIC that pauses by itself ([`Pauses::Nic`]): no pause of
    /// either side outlives a link.
    fn link(_pins: &mut Inputs<Self>, _up: bool) {}

    /// Whether the NIC took the beat. Called only for a port with [`Receive::Ready`].
    fn received(_out: &Outputs<Self>) -> bool {
        true
    }

    /// Drives the `ready` of the stream to the MAC.
    fn transmit_ready(pins: &mut Inputs<Self>, ready: bool);

    /// The beat that the NIC offers to the MAC.
    ///
    /// # Errors
    ///
    /// The rule of the stream that the NIC breaks, such as a `tkeep` with a hole.
    fn transmit(out: &Outputs<Self>) -> Result<Option<Beat>, String>;

    /// Drives the classes that must not start a frame, one bit each. Called before each evaluated cycle for a port with
    /// [`Pauses::Pins`].
    fn paused(_pins: &mut Inputs<Self>, _classes: u8) {}

    /// The classes for which the NIC wants its peer to pause, one bit each. Called after each evaluated cycle for a
    /// port with [`Pauses::Pins`].
    fn pause_requests(_out: &Outputs<Self>) -> u8 {
        0
    }

    /// What the top reports in cycle `now` about the cycles to come: without such pins nothing, so that every cycle is
    /// evaluated.
    #[inline]
    fn idle(_out: &Outputs<Self>, _now: Cycles) -> Idle {
        Idle::No
    }
}

/// One clock cycle of a NIC, as its driver sees it.
#[derive(Debug)]
pub struct Edge<'a> {
    /// Number of the cycle since the simulation started.
    pub now: Cycles,
    /// The instant of its clock edge.
    pub time: Time,
    /// The host: memory, work requests and completions.
    pub host: &'a mut Host,
    /// What the driver observes, for metrics and charts.
    pub seen: &'a mut Seen,
}

/// What a driver observes of a NIC at its pins, for metrics and charts. Fields that a driver does not fill in stay 0
/// or empty.
#[derive(Debug, Clone, Default, Serialize, serde::Deserialize)]
pub struct Seen {
    /// Counters. The node itself counts the bytes in and out.
    pub counters: NicCounters,
    /// When each class could not be sent.
    pub pauses: PauseLog,
    /// By QP index: the last rate that DCQCN set, α, and whether the QP is limited to that rate.
    pub rates: std::collections::BTreeMap<u16, (Rate, Alpha, bool)>,
}

/// A NIC during reset and setup, before simulated time starts: its cycles take no simulated time.
#[derive(Debug)]
pub struct BringUp<'a, D: Device> {
    pub(super) model: &'a mut D::Model,
    /// The inputs driven in the next cycle.
    pub pins: &'a mut Inputs<D>,
    /// The outputs of the last cycle.
    pub out: &'a mut Outputs<D>,
    pub(super) record: Option<&'a mut Vec<Inputs<D>>>,
}

impl<D: Device> BringUp<'_, D> {
    /// Runs one clock cycle.
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

/// The software around a device: sets registers, opens QPs, hands over work, serves DMA and takes completions, all at
/// the pins.
///
/// [`before`](Self::before) and [`after`](Self::after) are each called once in every cycle that is evaluated.
pub trait Driver: Debug + Send + Serialize + DeserializeOwned + 'static {
    /// The device that it drives.
    type Device: Device;
    /// Bytes of a beat of DMA data.
    const DMA_BYTES: usize = <Self::Device as Device>::PORT.width;

    /// The limits of the device together with this driver.
    fn limits() -> Limits;

    /// Creates the software for a NIC that is in reset.
    fn new(setup: &HostSetup) -> Self;

    /// Does the work that takes no simulated time. Called after reset, and after each call of `create` and `connect`
    /// before simulated time starts. A driver whose work needs simulated time does not implement this.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or a register refused an access.
    fn settle(&mut self, _nic: &mut BringUp<'_, Self::Device>) -> Result<(), String> {
        Ok(())
    }

    /// Asks for a QP with a region of memory. `psn` is a proposal for the PSN of its first request.
    fn create(&mut self, index: u16, psn: Psn, region: &Region);

    /// Sets what the peer's READs and atomics may do with the region that was created with a QP. Returns the region and
    /// its key, if it can.
    fn permit(&mut self, _index: u16, _rights: ReadRights) -> Option<(Region, u32)> {
        None
    }

    /// Has the NIC translate addresses, with page tables of the regions that are created from now on. Called before the
    /// first QP is created, for a device that does it.
    fn translate(&mut self, _tables: PageTables) {}

    /// Has the region that is created with a QP from now on pages of a size of its own, if the NIC translates.
    fn set_page(&mut self, _index: u16, _size: PageSize) {}

    /// Has the pages of the regions that were created with these QPs used, one after the other. Called before the first QP
    /// is connected, and takes no simulated time.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or the NIC does not do as it should.
    fn touch(&mut self, _qps: &[u16], _nic: &mut BringUp<'_, Self::Device>) -> Result<(), String> {
        Ok(())
    }

    /// Frees the pages that have the `bytes` from an address of the region on that was created with a QP, and has the NIC
    /// forget them, which may take simulated time. Returns whether it can.
    fn free(&mut self, _index: u16, _va: u64, _bytes: u64) -> bool {
        false
    }

    /// The NIC was reset: what it has asked for is not delivered any more.
    fn was_reset(&mut self) {}

    /// Whether the NIC translates addresses, and counts what that costs in its counters.
    fn translates(&self) -> bool {
        false
    }

    /// The result of `create`, once it is done.
    fn created(&self, index: u16) -> Option<Created>;

    /// Connects a QP that was created. The settings contain the other end's [`Created`].
    fn connect(&mut self, index: u16, settings: &QpSettings);

    /// Whether `connect` is done, so that work may be posted.
    fn connected(&self, index: u16) -> bool;

    /// Drives all inputs other than clock, reset, time, the streams from and to the MAC, and pauses.
    fn before(&mut self, pins: &mut Inputs<Self::Device>, edge: &mut Edge<'_>);

    /// Reads the outputs of the same cycle.
    ///
    /// # Errors
    ///
    /// The rule of its pins that the NIC broke.
    fn after(
        &mut self,
        pins: &Inputs<Self::Device>,
        out: &Outputs<Self::Device>,
        edge: &mut Edge<'_>,
    ) -> Result<(), String>;

    /// Changes parameters of DCQCN while the NIC runs, for all its QPs; times become cycles of this clock. Returns
    /// whether the device can do that.
    fn set_dcqcn(&mut self, _change: &DcqcnChange, _clock: &Clock) -> bool {
        false
    }

    /// The first cycle in which an input changes. Used for a device whose idle cycles may be skipped.
    fn next_event(&self, host: &Host) -> Option<Cycles> {
        host.next_event()
    }

    /// The index of the QP that sent a packet, for a device with [`Framing::Bth`]. `packet` is what the NIC handed
    /// over, from the BTH on.
    ///
    /// Called once for each packet in their order, in the cycle of its last beat and after [`after`](Self::after), so
    /// that what pins say about a packet can be noted there. Without it, or if it returns `None`, the QP is the one
    /// that is connected to the packet's destination QPN. Where two peers use the same QPN, that does not tell which is
    /// meant, and the run ends with an error.
    fn sends_from(&mut self, _packet: &[u8]) -> Option<u16> {
        None
    }

    /// Answers a frame that the NIC has sent on behalf of the network, such as an ARP request or connection
    /// management.
    ///
    /// A frame that is answered is not forwarded. The answer reaches the NIC after
    /// [`ANSWER_DELAY`](super::rtl_host::ANSWER_DELAY).
    #[inline]
    fn answer(&mut self, _frame: &Frame) -> Option<Bytes> {
        None
    }
}

/// The error for a NIC that cannot be created or that has failed.
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
            pauses: Pauses::Nic,
            framing: Framing::Ethernet,
        };
        assert_eq!(port(32, 5_120).too_slow(LineRate::G40), None);
        assert_eq!(port(32, 6_400).too_slow(LineRate::G40), None);
        let why = port(8, 5_120).too_slow(LineRate::G40).unwrap();
        assert!(why.starts_with("8 bytes every 5.12 ns are less"), "{why}");
    }
}
