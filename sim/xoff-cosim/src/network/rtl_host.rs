//! The RTL NIC as a node: MACs on one side of its pins, a host on the other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use verilated::Settings;
use xoff_rtl::{Nic, nic};
use xoff_sim::host::{DataBeat, Host};
use xoff_sim::kernel::{Arrivals, Departures, Node, PortId};
use xoff_sim::mac::{Beat, ReceiveCounters, ReceiveMac, TransmitMac};
use xoff_sim::nic::{NicCounters, NicSettings, PauseLog};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::dcqcn::{Alpha, Cycle, Rate};
use xoff_sim::time::{ByteCount, Clock, Cycles, LineRate, Time};

use crate::units::nic::CLEARING;
use crate::units::registers::Registers;
use crate::units::verbs::{put_recv, put_work, take_completion};
use crate::units::{UnitError, beat};

/// Bytes of a beat at 256 bits.
const BEAT_BYTES: usize = 32;

/// What an RTL host is made of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RtlHostConfig {
    /// Its name: in messages and as the outermost scope of waves.
    pub name: String,
    /// Fixes the random start of its registers.
    pub seed: u64,
    /// The NIC's clock.
    pub clock: Clock,
    /// The port.
    pub rate: LineRate,
    /// Largest frame, FCS included.
    pub max_frame: ByteCount,
    /// Registers.
    pub settings: NicSettings,
}

/// Waves of a window of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaveWindow {
    /// The file, `.fst` or `.vcd`.
    pub path: PathBuf,
    /// The first instant.
    pub from: Time,
    /// The first instant after it.
    pub until: Time,
}

/// An RTL NIC with its MACs and its host.
///
/// Cycles in which the NIC says that nothing changes are not evaluated, unless [`set_skip`](Self::set_skip) says so; the result is the same.
#[derive(Debug)]
pub struct RtlHost {
    config: RtlHostConfig,
    // Saving needs the model to itself, and a checkpoint has only a shared borrow of the node.
    model: RefCell<Nic>,
    pins_in: Box<nic::In>,
    pins_out: Box<nic::Out>,
    rx: ReceiveMac,
    tx: TransmitMac,
    host: Host,
    /// The cycle to be evaluated next.
    next: Cycles,
    /// Nothing changes by itself before this cycle.
    rests_until: Cycles,
    /// The cycle at which the model's own time stands.
    model_at: Cycles,
    skip: bool,
    evaluated: u64,
    counters: NicCounters,
    pauses: PauseLog,
    /// What DCQCN made of each QP last: its rate, α, whether it is held to the rate.
    rates: BTreeMap<u16, (Rate, Alpha, bool)>,
    waves: Option<WaveWindow>,
    failure: Option<String>,
}

/// All of a node but the model, with the model's saved state: what a checkpoint keeps.
#[derive(Serialize, Deserialize)]
struct Saved {
    config: RtlHostConfig,
    model: Vec<u8>,
    rx: ReceiveMac,
    tx: TransmitMac,
    host: Host,
    next: Cycles,
    rests_until: Cycles,
    skip: bool,
    evaluated: u64,
    counters: NicCounters,
    pauses: PauseLog,
    rates: BTreeMap<u16, (Rate, Alpha, bool)>,
    failure: Option<String>,
}

impl RtlHost {
    /// A NIC, reset, with its settings in force, at the first edge of its clock; and the host behind it.
    ///
    /// # Errors
    ///
    /// The model cannot be made, an assertion of it failed, or a register refused.
    pub fn new(config: RtlHostConfig, host: Host) -> Result<Self, UnitError> {
        let writes = config.settings.writes();
        let mut this = Self {
            model: RefCell::new(Self::model(&config)?),
            pins_in: Box::default(),
            pins_out: Box::default(),
            rx: ReceiveMac::new(config.clock, BEAT_BYTES, config.max_frame),
            tx: TransmitMac::new(config.rate, 2 * BEAT_BYTES as u64),
            host,
            next: Cycles(0),
            rests_until: Cycles(0),
            model_at: Cycles(u64::MAX),
            skip: true,
            evaluated: 0,
            counters: NicCounters::default(),
            pauses: PauseLog::default(),
            rates: BTreeMap::new(),
            waves: None,
            failure: None,
            config,
        };
        // Time stands still until the simulation starts.
        this.pins_in.rst_i = 1;
        this.evaluate()?;
        this.pins_in.rst_i = 0;
        for _ in 0..CLEARING {
            this.evaluate()?;
        }
        for (offset, word) in writes {
            this.write(offset, word)?;
        }
        Ok(this)
    }

    fn model(config: &RtlHostConfig) -> Result<Nic, UnitError> {
        let settings = Settings::new(&config.name)
            .seed(config.seed)
            .period_ps(config.clock.period.as_ps());
        Ok(Nic::new(&settings)?)
    }

    /// The host.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The host, for flows. Before time starts.
    pub const fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// What the NIC has counted.
    pub const fn counters(&self) -> &NicCounters {
        &self.counters
    }

    /// What the receive MAC has seen.
    pub const fn mac_counters(&self) -> ReceiveCounters {
        self.rx.counters()
    }

    /// When which class could not be sent.
    pub const fn pauses(&self) -> &PauseLog {
        &self.pauses
    }

    /// What DCQCN made of a QP last: its rate, α, whether it is held to the rate. `None` while it is closed or DCQCN off.
    pub fn rate(&self, qp: u16) -> Option<(Rate, Alpha, bool)> {
        self.rates.get(&qp).copied()
    }

    /// Cycles since the simulation started.
    pub const fn cycles(&self) -> u64 {
        self.next.0
    }

    /// Cycles that were evaluated since the simulation started.
    pub const fn cycles_evaluated(&self) -> u64 {
        self.evaluated
    }

    /// Whether idle cycles are left out.
    pub const fn set_skip(&mut self, skip: bool) {
        self.skip = skip;
    }

    /// Writes waves of a window of time, in place of those asked for before.
    pub fn set_waves(&mut self, window: WaveWindow) {
        self.waves = Some(window);
    }

    /// Ends a file of waves whose window has not passed.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn close_waves(&mut self) -> Result<(), verilated::TraceError> {
        self.waves = None;
        self.model.get_mut().trace_close()
    }

    /// Why the NIC no longer works: an assertion that failed, a rule of its pins that it broke.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn evaluate(&mut self) -> Result<(), UnitError> {
        self.model
            .get_mut()
            .cycle(&self.pins_in, &mut self.pins_out)?;
        Ok(())
    }

    /// The first cycle from `next` on that has to be evaluated. `None`: only a frame can make one.
    fn due(&self) -> Option<Cycles> {
        if !self.skip || self.rests_until <= self.next {
            return Some(self.next);
        }
        let own = (self.rests_until.0 < Cycle::MAX.0).then_some(self.rests_until);
        let inputs = [self.rx.next_beat(), self.host.next_event()];
        let first = inputs.into_iter().flatten().chain(own).min();
        first.map(|first| first.max(self.next))
    }

    fn cycle(&mut self) -> Result<(), UnitError> {
        let now = self.next;
        let edge = self.config.clock.edge(now);
        self.follow_waves(now, edge)?;
        self.drive(now, edge);
        self.evaluate()?;
        self.sample(now, edge)?;
        self.evaluated += 1;
        self.next.0 += 1;
        self.model_at = self.next;
        self.rests_until = if self.pins_out.idle_o != 0 {
            Cycles(self.pins_out.wake_o)
        } else {
            Cycles(0)
        };
        Ok(())
    }

    /// Keeps the model's time, which its waves and messages have, at the edge; opens and closes its file.
    fn follow_waves(&mut self, now: Cycles, edge: Time) -> Result<(), UnitError> {
        let model = self.model.get_mut();
        if self.model_at != now {
            model.set_time_ps(edge.as_ps());
        }
        let Some(waves) = &self.waves else {
            return Ok(());
        };
        if edge >= waves.until {
            let closed = model.trace_close();
            self.waves = None;
            closed.map_err(|error| self.broken(error.to_string()))?;
        } else if edge >= waves.from && !model.tracing() {
            let opened = model.trace_open(&waves.path);
            opened.map_err(|error| self.broken(error.to_string()))?;
        }
        Ok(())
    }

    fn drive(&mut self, now: Cycles, edge: Time) {
        let pins = &mut *self.pins_in;
        pins.now_i = now.0;
        let beat = self.rx.cycle(now);
        pins.rx_valid_i = beat.is_some().into();
        if let Some(beat) = beat {
            pins.rx_last_i = beat.last.into();
            pins.rx_bytes_i = beat.data.len() as u8;
            beat::put(&mut pins.rx_data_i, &beat.data);
            self.counters.add(reg::BYTES_IN, beat.data.len() as u64);
        }
        pins.tx_ready_i = self.tx.ready(edge).into();
        let work = self.host.work(now);
        pins.work_valid_i = work.is_some().into();
        if let Some((qp, work)) = &work {
            pins.work_qp_i = *qp as u8;
            put_work(&mut pins.work_i, work);
        }
        let recv = self.host.recv(now);
        pins.recv_valid_i = recv.is_some().into();
        if let Some((qp, recv)) = &recv {
            pins.recv_qp_i = *qp as u8;
            put_recv(&mut pins.recv_i, recv);
        }
        pins.cqe_ready_i = 1;
        pins.read_ready_i = 1;
        pins.write_ready_i = self.host.takes_write(now).into();
        let data = self.host.data(now);
        pins.data_valid_i = data.is_some().into();
        if let Some(DataBeat { tag, bytes, last }) = data {
            pins.data_tag_i = tag;
            pins.data_last_i = last.into();
            beat::put(&mut pins.data_data_i, &bytes);
        }
    }

    fn sample(&mut self, now: Cycles, edge: Time) -> Result<(), UnitError> {
        let (pins, out) = (&*self.pins_in, &*self.pins_out);
        let offered = (out.tx_valid_o != 0).then(|| {
            let mut data = Vec::with_capacity(BEAT_BYTES);
            beat::take(&out.tx_data_o, out.tx_bytes_o.into(), &mut data);
            Beat {
                data: Bytes::from(data),
                last: out.tx_last_o != 0,
            }
        });
        let taken = self.tx.cycle(edge, offered.as_ref());
        if let (Ok(true), Some(beat)) = (&taken, &offered) {
            self.counters.add(reg::BYTES_OUT, beat.data.len() as u64);
        }
        if out.work_ready_o & pins.work_valid_i != 0 {
            self.host.work_taken(now);
        }
        if out.recv_ready_o & pins.recv_valid_i != 0 {
            self.host.recv_taken();
        }
        if out.cqe_valid_o != 0 {
            match take_completion(&out.cqe_o) {
                Ok(completion) => self.host.complete(now, out.cqe_qp_o.into(), &completion),
                Err(what) => return Err(self.broken(what)),
            }
        }
        if out.read_valid_o != 0 {
            self.host
                .read(now, out.read_tag_o, out.read_va_o, out.read_bytes_o.into());
        }
        if out.write_valid_o & pins.write_ready_i != 0 {
            let mut bytes = Vec::with_capacity(BEAT_BYTES);
            beat::take(&out.write_data_o, out.write_bytes_o.into(), &mut bytes);
            self.host.write(now, out.write_va_o, &bytes);
        }
        self.counters.events(out.event_o);
        self.pauses.set(out.paused_o, edge);
        if out.rate_valid_o != 0 {
            let now = (
                Rate(out.rate_o),
                Alpha(out.alpha_o),
                out.rate_limited_o != 0,
            );
            self.rates.insert(out.rate_qp_o.into(), now);
        }
        taken.map_err(|error| self.broken(error.to_string()))?;
        Ok(())
    }
}

/// For before time starts: a cycle here takes none.
impl Registers for RtlHost {
    fn pins(&mut self) -> (&mut nic::In, &nic::Out) {
        (&mut self.pins_in, &self.pins_out)
    }

    fn tick(&mut self) -> Result<(), UnitError> {
        self.evaluate()
    }

    fn broken(&self, what: String) -> UnitError {
        UnitError::Protocol {
            unit: "nic",
            cycle: self.next.0,
            what: format!("{}: {what}", self.config.name),
        }
    }
}

impl Node for RtlHost {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![self.config.rate]
    }

    fn cost(&self) -> u32 {
        // A window of 100 ns is 20 cycles of a few microseconds each.
        40
    }

    fn sending_since(&self, _port: PortId) -> Option<Time> {
        self.tx.sending_since()
    }

    fn next_event(&self) -> Option<Time> {
        if self.failure.is_some() {
            return None;
        }
        let cycle = self.due().map(|cycle| self.config.clock.edge(cycle));
        match (cycle, self.tx.next_departure()) {
            (Some(cycle), Some(departure)) => Some(cycle.min(departure)),
            (cycle, departure) => cycle.or(departure),
        }
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        for arrival in arrivals {
            self.rx.arrive(arrival.frame);
        }
        let end = Cycles(self.config.clock.edges_before(until));
        while self.failure.is_none() {
            match self.due().filter(|due| *due < end) {
                None => break,
                Some(due) => self.next = due,
            }
            if let Err(error) = self.cycle() {
                self.failure = Some(error.to_string());
            }
        }
        self.next = self.next.max(end);
        while let Some(frame) = self.tx.depart(until) {
            departures.push(PortId(0), frame);
        }
    }
}

impl Serialize for RtlHost {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let model = self.model.borrow_mut().save();
        Saved {
            config: self.config.clone(),
            model: model.map_err(serde::ser::Error::custom)?,
            rx: self.rx.clone(),
            tx: self.tx.clone(),
            host: self.host.clone(),
            next: self.next,
            rests_until: self.rests_until,
            skip: self.skip,
            evaluated: self.evaluated,
            counters: self.counters.clone(),
            pauses: self.pauses.clone(),
            rates: self.rates.clone(),
            failure: self.failure.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RtlHost {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Saved::deserialize(deserializer)?;
        let mut model = Self::model(&saved.config).map_err(serde::de::Error::custom)?;
        model
            .restore(&saved.model)
            .map_err(serde::de::Error::custom)?;
        Ok(Self {
            config: saved.config,
            model: RefCell::new(model),
            pins_in: Box::default(),
            pins_out: Box::default(),
            rx: saved.rx,
            tx: saved.tx,
            host: saved.host,
            next: saved.next,
            rests_until: saved.rests_until,
            model_at: Cycles(u64::MAX),
            skip: saved.skip,
            evaluated: saved.evaluated,
            counters: saved.counters,
            pauses: saved.pauses,
            rates: saved.rates,
            waves: None,
            failure: saved.failure,
        })
    }
}
