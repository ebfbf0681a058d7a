//! A NIC alone, with a hand at its line and one at its host.

use std::collections::VecDeque;

use bytes::Bytes;
use xoff_sim::host::PcieConfig;
use xoff_sim::kernel::{Arrival, Arrivals, Departures, Frame, PortId};

use xoff_sim::nic::{Address, ModelNicConfig, NicSettings, QpSettings, Region};
use xoff_sim::protocol::gbn::Recv;
use xoff_sim::seeded::Seed;
use xoff_sim::time::{ByteCount, Clock, Duration, LineRate, Time};
use xoff_sim::wire::Psn;

use crate::endpoint::{Created, Endpoint, EndpointError, EndpointSetup, HostSetup, Kind};
use crate::scenario::TcpSettings;

/// The line's rate. Captures do not say theirs; nothing that is judged depends on it.
const RATE: LineRate = LineRate::G40;
/// The largest frame that the NIC takes, FCS included.
const MAX_FRAME: ByteCount = ByteCount::new(9_216);
const SEED: u64 = 1;
/// How long software of the host may take to connect a QP.
const CONNECT: Duration = Duration::from_ms(10);
/// How often it is asked.
const POLL: Duration = Duration::from_us(1);

/// A NIC with its host, and what has left it.
#[derive(Debug)]
pub(super) struct Bench {
    pub nic: Box<dyn Endpoint>,
    clock: Clock,
    now: Time,
    out: Departures,
}

impl Bench {
    pub fn new(kind: &Kind, address: Address, qps: usize) -> Result<Self, EndpointError> {
        let clock = Clock::new((kind.period)(RATE), Duration::ZERO);
        let mut nic = (kind.make)(EndpointSetup {
            host: HostSetup {
                name: "shadow".into(),
                address,
                clock,
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
            tcp: TcpSettings::default(),
        })?;
        nic.host_mut().take_over(Seed(SEED));
        Ok(Self {
            nic,
            clock,
            now: Time::ZERO,
            out: Departures::default(),
        })
    }

    /// The time that it has reached.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Creates a QP with its memory.
    pub fn create(&mut self, index: u16, region: &Region) -> Result<Created, EndpointError> {
        let created = self.nic.create(index, Psn::default(), region)?;
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

    /// Runs until `until`.
    pub fn run_until(&mut self, until: Time) {
        self.advance(until, &mut VecDeque::new());
    }

    /// Has a frame arrive whose last bit comes at `time`, or as soon as it can if it begins now.
    pub fn arrive(&mut self, bytes: Bytes, time: Time) {
        let mut frame = Frame::sent(bytes, self.now, RATE);
        frame.end = frame.end.max(time);
        let end = frame.end;
        let mut inbox = VecDeque::from([Arrival::new(PortId(0), frame)]);
        self.advance(end + Duration::from_ps(1), &mut inbox);
    }

    fn advance(&mut self, until: Time, inbox: &mut VecDeque<Arrival>) {
        let mut arrivals = Arrivals::new(inbox, until);
        self.nic.advance(until, &mut arrivals, &mut self.out);
        self.now = self.now.max(until);
    }

    /// What has left since the last call.
    pub fn take(&mut self) -> Vec<Bytes> {
        let frames = self.out.take();
        frames.into_iter().map(|(_, frame)| frame.bytes).collect()
    }
}
