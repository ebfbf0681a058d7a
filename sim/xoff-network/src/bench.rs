//! A NIC alone, with a hand at its line and one at its host.

use std::collections::VecDeque;

use bytes::Bytes;
use xoff_sim::frame::Frame;
use xoff_sim::host::PcieConfig;
use xoff_sim::kernel::{Arrival, Arrivals, Departures, PortId};

use xoff_sim::nic::{Address, ModelNicConfig, NicSettings, QpSettings, Region};
use xoff_sim::protocol::gbn::{Completion, Recv, Work};
use xoff_sim::seeded::Seed;
use xoff_sim::time::{ByteCount, Clock, Duration, LineRate, Time};
use xoff_sim::wire::Psn;

use crate::endpoint::{Created, Endpoint, EndpointError, EndpointSetup, HostSetup, Kind};
use crate::scenario::TcpSettings;

/// The line's rate. Neither captures nor attached peers say theirs; nothing that is judged depends on it.
pub(crate) const RATE: LineRate = LineRate::G40;
/// The largest frame that the NIC takes, FCS included.
const MAX_FRAME: ByteCount = ByteCount::new(9_216);
const SEED: u64 = 1;
/// How long software of the host may take to connect a QP.
const CONNECT: Duration = Duration::from_ms(10);
/// How often it is asked.
const POLL: Duration = Duration::from_us(1);

/// A NIC with its host, and what has left it.
#[derive(Debug)]
pub(crate) struct Bench {
    pub nic: Box<dyn Endpoint>,
    /// Its line's.
    pub rate: LineRate,
    clock: Clock,
    now: Time,
    /// Frames that have not arrived yet, in the order of their ends.
    inbox: VecDeque<Arrival>,
    out: Departures,
}

impl Bench {
    pub fn new(
        name: &str,
        kind: &Kind,
        address: Address,
        qps: usize,
    ) -> Result<Self, EndpointError> {
        let setup = EndpointSetup {
            host: HostSetup {
                name: name.into(),
                address,
                clock: Clock::new((kind.period)(RATE), Duration::ZERO),
                rate: RATE,
                settings: NicSettings::new(address.mac),
                neighbours: Vec::new(),
            },
            seed: SEED,
            max_frame: MAX_FRAME,
            buffer: ModelNicConfig::buffer_at(RATE),
            qps,
            pcie: PcieConfig::default(),
            congestion: None,
            translation: None,
            tcp: TcpSettings::default(),
        };
        Self::of(kind, setup)
    }

    /// A NIC as it is set up in a network.
    pub fn of(kind: &Kind, setup: EndpointSetup) -> Result<Self, EndpointError> {
        let (clock, rate) = (setup.host.clock, setup.host.rate);
        let mut nic = (kind.make)(setup)?;
        nic.host_mut().take_over(Seed(SEED));
        Ok(Self {
            nic,
            rate,
            clock,
            now: Time::ZERO,
            inbox: VecDeque::new(),
            out: Departures::default(),
        })
    }

    /// The time that it has reached.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Creates a QP with its memory. `psn` is a proposal for the PSN of its first request.
    pub fn create(
        &mut self,
        index: u16,
        psn: Psn,
        region: &Region,
    ) -> Result<Created, EndpointError> {
        let created = self.nic.create(index, psn, region)?;
        let end = self.now + CONNECT;
        let mut known = created;
        while known.is_none() && self.now < end {
            self.run_until(self.now + POLL);
            known = self.nic.created(index);
        }
        known.ok_or_else(|| EndpointError::new(format!("QP {index} was not created in {CONNECT}")))
    }

    /// Connects a QP.
    pub fn connect(&mut self, index: u16, settings: &QpSettings) -> Result<(), EndpointError> {
        self.nic.connect(index, settings)?;
        let end = self.now + CONNECT;
        while !self.nic.connected(index) {
            if self.now >= end {
                let late = format!("QP {index} was not connected in {CONNECT}");
                return Err(EndpointError::new(late));
            }
            self.run_until(self.now + POLL);
        }
        Ok(())
    }

    /// Posts a receive buffer.
    pub fn post(&mut self, index: u16, recv: Recv) {
        let at = self.clock.edge_from(self.now);
        self.nic.host_mut().post_recv(at, index, recv);
    }

    /// Posts a work request.
    pub fn post_work(&mut self, index: u16, work: Work) {
        let at = self.clock.edge_from(self.now);
        self.nic.host_mut().post(at, index, work);
    }

    /// What has completed since the last call, each with the index of its QP.
    pub fn completions(&mut self) -> Vec<(u16, Completion)> {
        self.nic.host_mut().take_completions()
    }

    /// When something happens in the NIC or at its port.
    pub fn next_event(&self) -> Option<Time> {
        let arrival = self.inbox.front().map(|arrival| arrival.frame.end);
        self.nic.next_event().into_iter().chain(arrival).min()
    }

    /// Runs until `until`.
    pub fn run_until(&mut self, until: Time) {
        let mut arrivals = Arrivals::new(&mut self.inbox, until);
        self.nic.advance(until, &mut arrivals, &mut self.out);
        self.now = self.now.max(until);
    }

    /// Has a frame arrive at its end, which is not before the time that was reached.
    pub fn queue(&mut self, frame: Frame) {
        let later = |other: &Arrival| other.frame.end <= frame.end;
        let place = self.inbox.partition_point(later);
        self.inbox.insert(place, Arrival::new(PortId(0), frame));
    }

    /// Has a frame arrive whose last bit comes at `time`, or as soon as it can if it begins now. Runs until then.
    pub fn arrive(&mut self, bytes: Bytes, time: Time) {
        let mut frame = Frame::sent(bytes.into(), self.now, RATE);
        frame.end = frame.end.max(time);
        let end = frame.end;
        self.queue(frame);
        self.run_until(end + Duration::from_ps(1));
    }

    /// What has left since the last call.
    pub fn take(&mut self) -> Vec<Frame> {
        let frames = self.out.take();
        frames.into_iter().map(|(_, frame)| frame).collect()
    }
}
