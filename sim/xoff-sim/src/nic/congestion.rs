//! Congestion control of model NICs: DCQCN, or one of one's own.
//!
//! A [`Congestion`] sees what happens to one QP as a sender and says how fast it may send. DCQCN is one
//! ([`Dcqcn`]); [`CongestionKind::of`] makes any other known to a program, which gives it a name for scenarios.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::Cycle;
use crate::protocol::dcqcn::parameters::SLOWEST_RATE;
use crate::protocol::dcqcn::{Alpha, RateAction, RpContext, RpEvent, RpParameters};
use crate::time::{Clock, Cycles, LineRate};

pub use crate::protocol::dcqcn::Rate;

/// How fast a QP may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The rate at which its packets may start, preambles and gaps included, 10 Mb/s and more; `None`:
    /// that of the line.
    pub rate: Option<Rate>,
    /// Most packets that are sent and not acknowledged, 1 or more; `None`: as many as the scenario's `window`.
    pub window: Option<u32>,
}

/// An acknowledgement that a QP has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledged {
    /// Packets that it acknowledges and no other did before; 0 for a repeated one.
    pub packets: u32,
    /// Packets that are sent and not acknowledged, behind it.
    pub outstanding: u32,
    /// Whether it says that a packet was lost (a NAK).
    pub lost: bool,
}

/// What is known when a QP is opened.
#[derive(Debug, Clone)]
pub struct CongestionSetup<'a> {
    /// The clock in whose cycles all times are.
    pub clock: Clock,
    /// The rate of the NIC's port.
    pub rate: LineRate,
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// The numbers of the scenario's `congestion_parameters`, by name.
    pub parameters: &'a BTreeMap<String, f64>,
}

impl CongestionSetup<'_> {
    /// The rate of the port in kb/s.
    pub fn line(&self) -> Rate {
        Rate((8_000_000_000 / self.rate.byte_time().as_ps()) as u32)
    }

    /// A parameter, or its default.
    pub fn parameter(&self, name: &str, default: f64) -> f64 {
        self.parameters.get(name).copied().unwrap_or(default)
    }
}

/// Congestion control of one QP as a sender. Its state is plain data, so that it can be part of a checkpoint; nothing
/// but what it is told may have an effect on it.
///
/// Times are in cycles of the NIC's clock and never go back. After each call the NIC asks for [`pace`](Self::pace) and
/// [`deadline`](Self::deadline).
pub trait Congestion: Debug + Clone + Serialize + DeserializeOwned + Send + 'static {
    /// The names of its parameters in scenarios.
    const PARAMETERS: &'static [&'static str] = &[];

    /// The control of a QP that is being opened.
    ///
    /// # Errors
    ///
    /// A parameter with a value that does not fit: its name, and what would be right.
    fn open(setup: &CongestionSetup<'_>) -> Result<Self, String>;

    /// How fast the QP may send.
    fn pace(&self) -> Pace;

    /// Notes that a packet of `bytes` bytes on the wire was granted.
    fn sent(&mut self, bytes: u16, now: Cycles) {
        let _ = (bytes, now);
    }

    /// Notes that an ACK or a NAK has come.
    fn acknowledged(&mut self, ack: &Acknowledged, now: Cycles) {
        let _ = (ack, now);
    }

    /// Notes a measured time from a packet's last bit to its acknowledgement. There is at most one measurement at a
    /// time, and none of a packet that was sent again.
    fn round_trip(&mut self, time: Cycles, now: Cycles) {
        let _ = (time, now);
    }

    /// Notes that a CNP has come.
    fn cnp(&mut self, now: Cycles) {
        let _ = now;
    }

    /// Notes that the retransmission timer has expired.
    fn timed_out(&mut self, now: Cycles) {
        let _ = now;
    }

    /// When [`timer`](Self::timer) is due; `None`: not before something else happens.
    fn deadline(&self) -> Option<Cycles> {
        None
    }

    /// The deadline has come. It has to be a later one then, or none.
    fn timer(&mut self, now: Cycles) {
        let _ = now;
    }
}

/// The same as an object.
pub(crate) trait Object: Debug + Send {
    fn pace(&self) -> Pace;
    fn sent(&mut self, bytes: u16, now: Cycles);
    fn acknowledged(&mut self, ack: &Acknowledged, now: Cycles);
    fn round_trip(&mut self, time: Cycles, now: Cycles);
    fn cnp(&mut self, now: Cycles);
    fn timed_out(&mut self, now: Cycles);
    fn deadline(&self) -> Option<Cycles>;
    fn timer(&mut self, now: Cycles);
    fn copy(&self) -> Box<dyn Object>;
    fn save(&self) -> Vec<u8>;
}

impl<C: Congestion> Object for C {
    fn pace(&self) -> Pace {
        Congestion::pace(self)
    }
    fn sent(&mut self, bytes: u16, now: Cycles) {
        Congestion::sent(self, bytes, now);
    }
    fn acknowledged(&mut self, ack: &Acknowledged, now: Cycles) {
        Congestion::acknowledged(self, ack, now);
    }
    fn round_trip(&mut self, time: Cycles, now: Cycles) {
        Congestion::round_trip(self, time, now);
    }
    fn cnp(&mut self, now: Cycles) {
        Congestion::cnp(self, now);
    }
    fn timed_out(&mut self, now: Cycles) {
        Congestion::timed_out(self, now);
    }
    fn deadline(&self) -> Option<Cycles> {
        Congestion::deadline(self)
    }
    fn timer(&mut self, now: Cycles) {
        Congestion::timer(self, now);
    }
    fn copy(&self) -> Box<dyn Object> {
        Box::new(self.clone())
    }
    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("plain data can be written into memory")
    }
}

/// A control, or why there is none.
type Made = Result<Box<dyn Object>, String>;

/// A kind of congestion control.
#[derive(Debug, Clone, Copy)]
pub struct CongestionKind {
    /// The names of its parameters.
    pub parameters: &'static [&'static str],
    open: fn(&CongestionSetup<'_>) -> Made,
    restore: fn(&[u8]) -> Made,
}

impl CongestionKind {
    /// The kind of a type.
    pub fn of<C: Congestion>() -> Self {
        Self {
            parameters: C::PARAMETERS,
            open: |setup| Ok(Box::new(C::open(setup)?)),
            restore: |saved| {
                let control: C = postcard::from_bytes(saved).map_err(|error| error.to_string())?;
                Ok(Box::new(control))
            },
        }
    }

    /// Checks what a scenario asks for.
    ///
    /// # Errors
    ///
    /// A parameter that is not one of its own, or whose value does not fit.
    pub fn check(&self, setup: &CongestionSetup<'_>) -> Result<(), String> {
        let mut names = setup.parameters.keys();
        if let Some(unknown) = names.find(|name| !self.parameters.contains(&name.as_str())) {
            return Err(match self.parameters {
                [] => format!("{unknown}: it has no parameters"),
                known => format!("{unknown}: it has {}", known.join(", ")),
            });
        }
        (self.open)(setup).map(drop)
    }

    pub(crate) fn control(&self, setup: &CongestionSetup<'_>) -> Result<Control, String> {
        Ok(Control::Own((self.open)(setup)?))
    }
}

/// A kind by its name, with the parameters that a scenario has for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Chosen {
    /// The name.
    pub name: String,
    /// The parameters.
    pub parameters: BTreeMap<String, f64>,
    /// The kind; absent behind a checkpoint, until it is attached.
    #[serde(skip)]
    pub kind: Option<CongestionKind>,
}

/// DCQCN's reaction point (SIGCOMM 2015).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Dcqcn {
    context: RpContext,
    parameters: RpParameters,
}

impl Dcqcn {
    /// The control of a QP that is opened at `now`.
    pub fn new(parameters: RpParameters, now: Cycles) -> Self {
        let (context, _) = RpContext::default().step(&parameters, RpEvent::Open, Cycle(now.0));
        Self {
            context,
            parameters,
        }
    }

    /// The estimate of congestion, α.
    pub const fn alpha(&self) -> Alpha {
        self.context.alpha
    }

    fn step(&mut self, event: RpEvent, now: Cycles) {
        self.context = self.context.step(&self.parameters, event, Cycle(now.0)).0;
    }

    /// The rate, which is there also while the QP is not limited to it.
    const fn action(&self) -> RateAction {
        RateAction {
            rate: self.context.rate_current,
            limited: self.context.limited,
        }
    }
}

impl Congestion for Dcqcn {
    /// With the paper's parameters. Scenarios have more of them, in `host.dcqcn`.
    fn open(setup: &CongestionSetup<'_>) -> Result<Self, String> {
        let parameters = RpParameters::paper(setup.line(), setup.clock.period.as_ps());
        Ok(Self::new(parameters, Cycles(0)))
    }

    fn pace(&self) -> Pace {
        Pace {
            rate: self.context.limited.then_some(self.context.rate_current),
            window: None,
        }
    }

    fn sent(&mut self, bytes: u16, now: Cycles) {
        // The byte counter runs only while the QP is limited.
        if self.context.limited {
            self.step(RpEvent::Bytes(bytes), now);
        }
    }

    fn cnp(&mut self, now: Cycles) {
        self.step(RpEvent::Cnp, now);
    }

    fn deadline(&self) -> Option<Cycles> {
        Some(Cycles(self.context.deadline()?.0))
    }

    fn timer(&mut self, now: Cycles) {
        self.step(RpEvent::Timer, now);
    }
}

/// The control of a QP of a model NIC.
#[derive(Debug)]
pub(crate) enum Control {
    /// The QP has not been opened.
    Closed,
    /// Most NICs have it, so calls of it are direct.
    Dcqcn(Dcqcn),
    Own(Box<dyn Object>),
    /// Read from a checkpoint, and of no use until it is attached.
    Saved(Vec<u8>),
}

/// The same event for either of the two.
macro_rules! tell {
    ($control:expr, $call:ident($($argument:expr),*)) => {
        match $control {
            Control::Dcqcn(dcqcn) => Congestion::$call(dcqcn, $($argument),*),
            Control::Own(own) => own.$call($($argument),*),
            Control::Closed => {}
            Control::Saved(_) => panic!("congestion control that was read from a checkpoint is attached first"),
        }
    };
}

impl Control {
    pub(crate) fn sent(&mut self, bytes: u16, now: Cycles) {
        tell!(self, sent(bytes, now));
    }
    pub(crate) fn acknowledged(&mut self, ack: &Acknowledged, now: Cycles) {
        tell!(self, acknowledged(ack, now));
    }
    pub(crate) fn round_trip(&mut self, time: Cycles, now: Cycles) {
        tell!(self, round_trip(time, now));
    }
    pub(crate) fn cnp(&mut self, now: Cycles) {
        tell!(self, cnp(now));
    }
    pub(crate) fn timed_out(&mut self, now: Cycles) {
        tell!(self, timed_out(now));
    }
    pub(crate) fn timer(&mut self, now: Cycles) {
        tell!(self, timer(now));
    }

    pub(crate) fn deadline(&self) -> Option<Cycles> {
        match self {
            Self::Dcqcn(dcqcn) => Congestion::deadline(dcqcn),
            Self::Own(own) => own.deadline(),
            Self::Closed | Self::Saved(_) => None,
        }
    }

    /// The parameters of DCQCN, for changes, if it is that.
    pub(crate) const fn parameters_mut(&mut self) -> Option<&mut RpParameters> {
        match self {
            Self::Dcqcn(dcqcn) => Some(&mut dcqcn.parameters),
            _ => None,
        }
    }

    /// The rate, at most that of the line, and whether the QP is limited to it.
    pub(crate) fn action(&self, line: Rate) -> RateAction {
        match self {
            Self::Dcqcn(dcqcn) => dcqcn.action(),
            Self::Own(own) => {
                let rate = own.pace().rate;
                RateAction {
                    rate: rate.unwrap_or(line).clamped(SLOWEST_RATE, line),
                    limited: rate.is_some_and(|rate| rate.0 < line.0),
                }
            }
            Self::Closed | Self::Saved(_) => RateAction {
                rate: line,
                limited: false,
            },
        }
    }

    pub(crate) fn window(&self) -> Option<u32> {
        match self {
            Self::Own(own) => own.pace().window.map(|packets| packets.max(1)),
            _ => None,
        }
    }

    pub(crate) fn alpha(&self) -> Alpha {
        match self {
            Self::Dcqcn(dcqcn) => dcqcn.alpha(),
            _ => Alpha(0),
        }
    }

    /// Whether it wants to know of acknowledgements and round trips.
    pub(crate) const fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    pub(crate) const fn is_open(&self) -> bool {
        !matches!(self, Self::Closed)
    }

    /// Restores what was read from a checkpoint.
    pub(crate) fn attach(&mut self, kind: &CongestionKind) -> Result<(), String> {
        if let Self::Saved(saved) = self {
            *self = Self::Own((kind.restore)(saved)?);
        }
        Ok(())
    }
}

impl Clone for Control {
    fn clone(&self) -> Self {
        match self {
            Self::Closed => Self::Closed,
            Self::Dcqcn(dcqcn) => Self::Dcqcn(dcqcn.clone()),
            Self::Own(own) => Self::Own(own.copy()),
            Self::Saved(saved) => Self::Saved(saved.clone()),
        }
    }
}

/// How a control is written.
#[derive(Serialize, Deserialize)]
enum Written {
    Closed,
    Dcqcn(Dcqcn),
    Own(Vec<u8>),
}

impl Serialize for Control {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match self {
            Self::Closed => Written::Closed,
            Self::Dcqcn(dcqcn) => Written::Dcqcn(dcqcn.clone()),
            Self::Own(own) => Written::Own(own.save()),
            Self::Saved(saved) => Written::Own(saved.clone()),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Control {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Closed => Self::Closed,
            Written::Dcqcn(dcqcn) => Self::Dcqcn(dcqcn),
            Written::Own(saved) => Self::Saved(saved),
        })
    }
}
