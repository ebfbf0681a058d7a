//! An RTL NIC as a node: MACs at the network side of its pins, its driver and a host at the other side.

use std::any::type_name;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Debug;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use verilated::{Model as _, Settings};
use xoff_network::endpoint::{Kind, NOT_SAVED, TranslationCost};
use xoff_network::{Clocked, Endpoint, EndpointError, WaveWindow};
use xoff_sim::frame::Frame;
use xoff_sim::host::Host;
use xoff_sim::kernel::{Arrivals, Departures, Node, PortId};
use xoff_sim::mac::{
    Beat, ControlConfig, ControlFrame, MacControl, ReceiveCounters, ReceiveMac, TransmitMac,
    is_control,
};
use xoff_sim::nic::translation::PageSize;
use xoff_sim::nic::{
    DcqcnChange, Encapsulation, NicCounters, PauseLog, QpSettings, ReadRights, Region,
};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::dcqcn::{Alpha, Rate};
use xoff_sim::protocol::{Cycle, Idle};
use xoff_sim::seeded::Seed;
use xoff_sim::time::{ByteCount, Clock, Cycles, Duration, LineRate, Time};
use xoff_sim::wire::Psn;

use super::device::{
    BringUp, Created, Device, DeviceModel as _, Driver, Edge, Framing, HostSetup, Inputs, Outputs,
    Pauses, PortShape, Receive, Seen, Transmit, broken,
};
use super::page_tables::PageTables;
use super::xoff_nic::XoffNic;

use crate::units::{Skip, UnitError};

/// Time from the last bit of a frame that the driver answers on behalf of the network to the last bit of the answer.
pub const ANSWER_DELAY: Duration = Duration::from_us(1);

/// Settings of an RTL host, other than its driver.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RtlHostConfig {
    /// The host's name, used in messages and as the outermost scope of waves.
    pub name: String,
    /// Seed of the random initial state of its registers, for devices that have one.
    pub seed: u64,
    /// The port's clock. Its period must be that of the device.
    pub clock: Clock,
    /// The port's line rate.
    pub rate: LineRate,
    /// Largest frame, FCS included.
    pub max_frame: ByteCount,
    /// What the NIC's time input shows in cycle 0 of simulated time. In hardware that counter runs free, so nothing
    /// that a NIC does may depend on it.
    pub time: Cycles,
}

/// Cycles between two checks whether the disk of the wave file is nearly full.
const WAVES_CHECKED_EVERY: u64 = 1 << 12;

/// The kind of endpoint that a driver makes of its device, for [`Endpoints::with`](xoff_network::Endpoints::with).
pub fn kind<D: Driver>() -> Kind {
    Kind {
        limits: D::limits,
        period: |_| D::Device::PORT.period,
        too_slow: |rate| D::Device::PORT.too_slow(rate),
        make: |setup| {
            let told = &setup.host;
            let host = Host::new(told.clock, D::DMA_BYTES, &setup.pcie);
            let config = RtlHostConfig {
                name: told.name.clone(),
                seed: setup.seed,
                clock: told.clock,
                rate: told.rate,
                max_frame: setup.max_frame,
                time: Cycles(0),
            };
            let node = RtlHost::<D>::with_setup(config, told, host);
            let mut node = node.map_err(EndpointError::new)?;
            if let Some(translation) = setup.translation {
                let seed = Seed(setup.seed).derive(&[1]);
                let tables = PageTables::new(translation, &told.clock, seed);
                let tables = tables
                    .map_err(|what| EndpointError::new(broken(&told.name, Cycles(0), &what)))?;
                node.driver_mut().translate(tables);
                node.settled().map_err(EndpointError::new)?;
            }
            Ok(Box::new(node))
        },
        restore: |saved| Ok(Box::new(RtlHost::<D>::restore(saved)?)),
    }
}

type ModelOf<D> = <<D as Driver>::Device as Device>::Model;

/// An RTL NIC with its MACs, its driver and its host.
///
/// Cycles in which the NIC reports that nothing changes are not evaluated, unless [`set_skip`](Clocked::set_skip)
/// turns that off. The result is the same either way.
#[derive(Debug)]
pub struct RtlHost<D: Driver = XoffNic> {
    config: RtlHostConfig,
    // Saving needs exclusive access to the model, but a checkpoint only has a shared borrow of the node.
    model: RefCell<ModelOf<D>>,
    pins_in: Box<Inputs<D::Device>>,
    pins_out: Box<Outputs<D::Device>>,
    /// The cycle to which the model's own time is set.
    model_at: Cycles,
    waves: Option<WaveWindow>,
    /// The inputs of every cycle, if they are recorded.
    record: Option<Vec<Inputs<D::Device>>>,
    state: State<D>,
}

/// All state of a node other than the model and its pins. A checkpoint holds this and the model's saved state.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
struct State<D: Driver> {
    rx: ReceiveMac,
    tx: TransmitMac,
    /// For a NIC that leaves pauses to the MAC.
    control: Option<MacControl>,
    /// For a NIC whose frames begin with the BTH.
    layers: Option<Encapsulation>,
    host: Host,
    driver: D,
    seen: Seen,
    /// Ends of frames from the NIC that the driver has answered. These frames leave the MAC, but not the host.
    answered: VecDeque<Time>,
    link_up: bool,
    /// The next cycle to be evaluated.
    next: Cycles,
    skip: Skip,
    evaluated: u64,
    failure: Option<String>,
}

/// The content of a checkpoint of a node.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Saved<D: Driver> {
    config: RtlHostConfig,
    // As one piece: a sequence of numbers would take longer than all the rest of a checkpoint.
    model: Bytes,
    state: State<D>,
}

impl<D: Driver> RtlHost<D> {
    /// Creates a NIC that has been reset and stands at the first edge of its clock, with its driver and the host
    /// behind it.
    ///
    /// # Errors
    ///
    /// The model cannot be created, one of its assertions failed, a register refused an access, or the clock's period
    /// is not the device's.
    pub fn new(config: RtlHostConfig, driver: D, host: Host) -> Result<Self, UnitError> {
        Self::make(config, driver, host, None, None)
    }

    /// Creates a NIC for a host of a scenario, with a driver of its own. Only this gives the MAC what it needs for a
    /// device that leaves pauses or layers of its frames to it.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_setup(
        config: RtlHostConfig,
        setup: &HostSetup,
        host: Host,
    ) -> Result<Self, UnitError> {
        Self::make(config, D::new(setup), host, None, Some(setup))
    }

    /// Like [`new`](Self::new), but records the inputs of every cycle from reset on, so that they can be replayed.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn recording(config: RtlHostConfig, driver: D, host: Host) -> Result<Self, UnitError> {
        Self::make(config, driver, host, Some(Vec::new()), None)
    }

    /// Takes the recorded inputs.
    pub fn take_record(&mut self) -> Vec<Inputs<D::Device>> {
        self.record.take().unwrap_or_default()
    }

    fn make(
        config: RtlHostConfig,
        driver: D,
        host: Host,
        record: Option<Vec<Inputs<D::Device>>>,
        setup: Option<&HostSetup>,
    ) -> Result<Self, UnitError> {
        let port = D::Device::PORT;
        if config.clock.period != port.period || !(1..=128).contains(&port.width) {
            let what = format!(
                "a clock of {} and {} bytes a beat: the device has {}, and a beat 1 to 128 bytes",
                config.clock.period, port.width, port.period
            );
            return Err(broken(&config.name, Cycles(0), &what));
        }
        let mut rx = ReceiveMac::new(config.clock, port.width, config.max_frame);
        let mut tx = TransmitMac::new(config.rate, 2 * port.width as u64);
        if let Receive::Ready { fifo } = port.receive {
            rx = rx.with_fifo(fifo);
        }
        if port.transmit == Transmit::StoreAndForward {
            tx = tx.store_and_forward();
        }
        if D::Device::CONTROL_AHEAD {
            if port.receive != Receive::EveryBeat {
                let what = "frames go ahead of others: a stream without `ready` is right for it";
                return Err(broken(&config.name, Cycles(0), what));
            }
            rx = rx.with_control_ahead();
        }
        if port.fcs {
            (rx, tx) = (rx.with_fcs(), tx.with_fcs());
        }
        if !port.padded {
            tx = tx.without_padding();
        }
        let (control, layers) =
            of_the_mac(&port, setup).map_err(|what| broken(&config.name, Cycles(0), what))?;
        let mut this = Self {
            model: RefCell::new(Self::model(&config)?),
            pins_in: Box::default(),
            pins_out: Box::default(),
            model_at: Cycles(u64::MAX),
            waves: None,
            record,
            state: State {
                rx,
                tx,
                control,
                layers,
                host,
                driver,
                seen: Seen::default(),
                answered: VecDeque::new(),
                link_up: true,
                next: Cycles(0),
                skip: Skip::new(true),
                evaluated: 0,
                failure: None,
            },
            config,
        };
        // Simulated time does not advance during reset.
        D::Device::time(&mut this.pins_in, this.config.time);
        D::Device::reset(&mut this.pins_in, true);
        D::Device::receive(&mut this.pins_in, None);
        for _ in 0..D::Device::RESET_CYCLES {
            this.bring_up().cycle()?;
        }
        D::Device::reset(&mut this.pins_in, false);
        this.settle()?;
        Ok(this)
    }

    fn model(config: &RtlHostConfig) -> Result<ModelOf<D>, UnitError> {
        let mut settings = Settings::new(&config.name).period_ps(config.clock.period.as_ps());
        if D::Device::RANDOM_START {
            settings = settings.seed(config.seed);
        }
        Ok(ModelOf::<D>::new(&settings)?)
    }

    fn bring_up(&mut self) -> BringUp<'_, D::Device> {
        BringUp {
            model: self.model.get_mut(),
            pins: &mut *self.pins_in,
            out: &mut *self.pins_out,
            record: self.record.as_mut(),
        }
    }

    /// Lets the driver do the work that takes no simulated time.
    fn settle(&mut self) -> Result<(), UnitError> {
        self.before_time(|driver, nic| driver.settle(nic))
    }

    /// Lets the driver work at the NIC before simulated time starts.
    fn before_time(
        &mut self,
        work: impl FnOnce(&mut D, &mut BringUp<'_, D::Device>) -> Result<(), String>,
    ) -> Result<(), UnitError> {
        let mut still = BringUp {
            model: self.model.get_mut(),
            pins: &mut *self.pins_in,
            out: &mut *self.pins_out,
            record: self.record.as_mut(),
        };
        work(&mut self.state.driver, &mut still)
            .map_err(|what| broken(&self.config.name, self.state.next, &what))
    }

    /// Restores the node that [`Endpoint::save`] saved.
    ///
    /// # Errors
    ///
    /// The bytes are not the state of a node with this driver and this build of its model.
    pub fn restore(saved: &[u8]) -> Result<Self, String> {
        let wrong = |error: postcard::Error| format!("{}: {error}", type_name::<D>());
        let (driver, node) = postcard::take_from_bytes::<String>(saved).map_err(wrong)?;
        if driver != type_name::<D>() {
            return Err(format!(
                "it has the driver {driver}, not {}",
                type_name::<D>()
            ));
        }
        postcard::from_bytes(node).map_err(wrong)
    }

    /// Resets the NIC in the next cycles, in simulated time, as a function-level reset of its bus does: the host delivers
    /// nothing that was asked for before. Frames that arrive meanwhile wait in the MAC. All registers have to be
    /// written again.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn reset(&mut self) -> Result<(), UnitError> {
        D::Device::reset(&mut self.pins_in, true);
        D::Device::receive(&mut self.pins_in, None);
        for _ in 0..D::Device::RESET_CYCLES {
            let now = self.state.next;
            D::Device::time(&mut self.pins_in, Cycles(self.config.time.0 + now.0));
            self.model
                .get_mut()
                .cycle(&self.pins_in, &mut self.pins_out)?;
            self.state.next.0 += 1;
        }
        D::Device::reset(&mut self.pins_in, false);
        self.state.host.nic_was_reset();
        self.state.driver.was_reset();
        self.state.skip.wake();
        Ok(())
    }

    /// The driver.
    pub const fn driver(&self) -> &D {
        &self.state.driver
    }

    /// The driver, for changes between two runs. Before simulated time starts, a call of [`settled`](Self::settled)
    /// must follow.
    pub const fn driver_mut(&mut self) -> &mut D {
        self.state.skip.wake();
        &mut self.state.driver
    }

    /// Lets the driver complete its pending work without taking simulated time, if simulated time has not started
    /// yet. Afterwards this does nothing, and the work takes simulated time.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or a register refused an access.
    pub fn settled(&mut self) -> Result<(), UnitError> {
        match self.state.next {
            Cycles(0) => self.settle(),
            _ => Ok(()),
        }
    }

    /// The outputs of the last cycle that was evaluated.
    pub const fn pins(&self) -> &Outputs<D::Device> {
        &self.pins_out
    }

    /// Whether the NIC has reported that it is idle.
    pub fn rests(&self) -> bool {
        self.state.skip.idle() != Idle::No
    }

    /// Receives a frame whose last bit arrives at the frame's `end`, as if over a cable; for tests.
    pub fn receive(&mut self, frame: Frame) {
        self.state.arrive(frame);
    }

    /// Whether all received frames have been passed into the NIC.
    pub fn received(&self) -> bool {
        self.state.rx.next_beat().is_none()
    }

    /// The first cycle, from `next` on, that has to be evaluated. `None` if only the arrival of a frame can cause
    /// one.
    fn due(&self) -> Option<Cycles> {
        let State {
            rx,
            tx,
            control,
            host,
            driver,
            skip,
            next,
            ..
        } = &self.state;
        if skip.idle() == Idle::No {
            return Some(*next);
        }
        let edge_from = |time| self.config.clock.edge_from(time);
        let pauses = control.as_ref().and_then(|control| {
            let told = control.pending().then(|| tx.ready_from());
            control.next_event().into_iter().chain(told).min()
        });
        let inputs = [
            rx.next_beat(),
            driver.next_event(host),
            pauses.map(edge_from),
        ];
        let input = inputs.into_iter().flatten().min();
        let due = skip.next(
            Cycle(next.0),
            input.map_or(Cycle::MAX, |input| Cycle(input.0)),
        );
        (due < Cycle::MAX).then_some(Cycles(due.0))
    }

    fn cycle(&mut self) -> Result<(), UnitError> {
        let now = self.state.next;
        let edge = self.config.clock.edge(now);
        self.follow_waves(now, edge)?;
        self.pause(edge);
        let beat = self.state.rx.offer(now);
        D::Device::time(&mut self.pins_in, Cycles(self.config.time.0 + now.0));
        D::Device::receive(&mut self.pins_in, beat.as_ref());
        if D::Device::CONTROL_AHEAD {
            let control = beat.is_some() && self.state.rx.offers_control();
            D::Device::receive_control(&mut self.pins_in, control);
        }
        D::Device::link(&mut self.pins_in, self.state.link_up);
        D::Device::transmit_ready(&mut self.pins_in, self.state.tx.ready(edge));
        let State {
            host, driver, seen, ..
        } = &mut self.state;
        let mut seen_by_driver = Edge {
            now,
            time: edge,
            host,
            seen,
        };
        driver.before(&mut self.pins_in, &mut seen_by_driver);
        if let Some(record) = &mut self.record {
            record.push(*self.pins_in);
        }
        self.model
            .get_mut()
            .cycle(&self.pins_in, &mut self.pins_out)?;
        let wrong = |what: String| broken(&self.config.name, now, &what);
        driver
            .after(&self.pins_in, &self.pins_out, &mut seen_by_driver)
            .map_err(wrong)?;
        if let Some(control) = &mut self.state.control
            && D::Device::PORT.pauses == Pauses::Pins
        {
            control.request(D::Device::pause_requests(&self.pins_out));
        }
        self.sample(now, edge, beat.as_ref())
            .map_err(|what| broken(&self.config.name, now, &what))?;
        let state = &mut self.state;
        state.evaluated += 1;
        state.next.0 += 1;
        self.model_at = state.next;
        let start = self.config.time;
        let idle = D::Device::idle(&self.pins_out, Cycles(start.0 + now.0));
        state.skip.said(idle.since(Cycle(start.0)));
        Ok(())
    }

    /// Shows the NIC which classes are paused, and sends the pause frame that is due, if the MAC does that.
    fn pause(&mut self, edge: Time) {
        let State {
            tx, control, seen, ..
        } = &mut self.state;
        let Some(control) = control else {
            return;
        };
        let paused = control.tick(edge);
        if D::Device::PORT.pauses == Pauses::Pins {
            D::Device::paused(&mut self.pins_in, paused);
            seen.pauses.set(paused, edge);
        }
        if control.pending() && tx.takes_whole(edge) {
            tx.send(edge, control.frame(edge));
            seen.counters.add(reg::PFC_OUT, 1);
        }
    }

    /// Keeps the model's time, which its waves and messages use, at the clock edge; opens and closes the file of
    /// waves.
    fn follow_waves(&mut self, now: Cycles, edge: Time) -> Result<(), UnitError> {
        let model = self.model.get_mut();
        if self.model_at != now {
            model.set_time_ps(edge.as_ps());
        }
        let Some(waves) = &self.waves else {
            return Ok(());
        };
        let done = if edge >= waves.until {
            let closed = model.trace_close();
            self.waves = None;
            closed
        } else if edge >= waves.from && !model.tracing() {
            model.trace_only(&waves.only);
            model.trace_open(&waves.path)
        } else if now.0.is_multiple_of(WAVES_CHECKED_EVERY) {
            model.trace_check()
        } else {
            Ok(())
        };
        done.map_err(|error| broken(&self.config.name, now, &error.to_string()))
    }

    /// Samples the streams from and to the MAC at the end of a cycle.
    fn sample(&mut self, now: Cycles, edge: Time, received: Option<&Beat>) -> Result<(), String> {
        let State { rx, seen, .. } = &mut self.state;
        if let Some(beat) = received.filter(|_| D::Device::received(&self.pins_out)) {
            rx.take(now, beat);
            seen.counters.add(reg::BYTES_IN, beat.data.len() as u64);
        }
        let offered = D::Device::transmit(&self.pins_out)?;
        if let Some(beat) = &offered {
            let width = D::Device::PORT.width;
            let bytes = beat.data.len();
            if bytes == 0 || bytes > width || !beat.last && bytes != width {
                return Err(format!(
                    "a beat of {bytes} bytes to the MAC, last {}: {width} are right, 1 to {width} in a last one",
                    beat.last
                ));
            }
        }
        let taken = self.state.transmit(edge, offered.as_ref())?;
        let State {
            tx,
            driver,
            seen,
            answered,
            ..
        } = &mut self.state;
        if let Some(beat) = offered.filter(|_| taken) {
            seen.counters.add(reg::BYTES_OUT, beat.data.len() as u64);
            if beat.last
                && let Some(frame) = tx.last_frame()
                && let Some(answer) = driver.answer(frame)
            {
                answered.push_back(frame.end);
                let end = frame.end + ANSWER_DELAY;
                let start = end;
                let frame = Frame {
                    bytes: answer.into(),
                    fcs_ok: true,
                    start,
                    end,
                };
                self.state.arrive(frame);
            }
        }
        Ok(())
    }
}

/// What the MAC does for a NIC beside passing frames on: pauses, and layers of its frames.
///
/// # Errors
///
/// The device contradicts itself, or there are no settings.
fn of_the_mac(
    port: &PortShape,
    setup: Option<&HostSetup>,
) -> Result<(Option<MacControl>, Option<Encapsulation>), &'static str> {
    if port.framing == Framing::Bth && (port.fcs || port.transmit == Transmit::CutThrough) {
        return Err(
            "frames from the BTH on are completed when they are whole, FCS included: \
                    `transmit: Transmit::StoreAndForward` and `fcs: false` are right",
        );
    }
    if port.pauses == Pauses::Nic && port.framing == Framing::Ethernet {
        return Ok((None, None));
    }
    let setup = setup.ok_or(
        "its device leaves pauses or layers of its frames to the MAC, which needs the host's settings: \
         `RtlHost::with_setup`",
    )?;
    let settings = &setup.settings;
    let obeys = port.pauses == Pauses::Pins;
    let control = MacControl::new(ControlConfig {
        mac: settings.mac,
        rate: setup.rate,
        classes: if obeys { settings.pfc.classes } else { 0 },
        pause_obeyed: obeys && settings.pause_obeyed,
        quanta: settings.pfc.quanta,
        refresh: setup.clock.period * u64::from(settings.pfc.refresh),
    });
    let layers = Encapsulation::new(setup.address, settings.dcqcn.as_ref());
    Ok((
        Some(control).filter(|_| port.pauses != Pauses::Nic),
        Some(layers).filter(|_| port.framing == Framing::Bth),
    ))
}

impl<D: Driver> State<D> {
    /// Takes a frame whose last bit arrives at its `end`.
    fn arrive(&mut self, mut frame: Frame) {
        let counters = &mut self.seen.counters;
        if let Some(control) = &mut self.control
            && frame.fcs_ok
            && is_control(frame.bytes.headers())
        {
            if self.rx.admit(&frame) {
                let register = match control.receive(&frame) {
                    ControlFrame::Pfc => reg::PFC_IN,
                    ControlFrame::Pause => reg::PAUSE_IN,
                    ControlFrame::Ignored => reg::PAUSE_IGNORED,
                    ControlFrame::Address => reg::DROP_ADDRESS,
                    ControlFrame::Malformed => reg::DROP_MALFORMED,
                    ControlFrame::Unknown => reg::DROP_NOT_ROCE,
                };
                counters.add(register, 1);
            }
            return;
        }
        let Some(layers) = &self.layers else {
            return self.rx.arrive(frame);
        };
        if self.rx.admit(&frame) {
            match layers.strip(&frame.bytes.whole()) {
                Ok(packet) => {
                    frame.bytes = packet.into();
                    self.rx.hand_on(frame);
                }
                Err(register) => counters.add(register, 1),
            }
        }
    }

    /// Takes the beat that the NIC offers to the MAC, if the MAC is ready. Returns whether it was taken.
    fn transmit(&mut self, edge: Time, offered: Option<&Beat>) -> Result<bool, String> {
        let Self {
            tx, layers, driver, ..
        } = self;
        let Some(layers) = layers else {
            return tx.cycle(edge, offered).map_err(|error| error.to_string());
        };
        let Some(beat) = offered.filter(|_| tx.ready(edge)) else {
            return Ok(false);
        };
        if let Some(packet) = layers.take(beat) {
            let from = driver.sends_from(&packet);
            let frame = layers
                .wrap(&packet, from)
                .map_err(|error| error.to_string())?;
            tx.send(edge, frame);
        }
        Ok(true)
    }
}

impl<D: Driver> Endpoint for RtlHost<D> {
    fn host(&self) -> &Host {
        &self.state.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.state.host
    }

    fn create(
        &mut self,
        index: u16,
        psn: Psn,
        region: &Region,
    ) -> Result<Option<Created>, EndpointError> {
        self.driver_mut().create(index, psn, region);
        self.settled().map_err(EndpointError::new)?;
        Ok(self.state.driver.created(index))
    }

    fn created(&self, index: u16) -> Option<Created> {
        self.state.driver.created(index)
    }

    fn connect(&mut self, index: u16, settings: &QpSettings) -> Result<(), EndpointError> {
        let name = &self.config.name;
        if let Some(layers) = &mut self.state.layers {
            let wrong = |what: String| EndpointError::new(broken(name, self.state.next, &what));
            let created = self.state.driver.created(index);
            let created =
                created.ok_or_else(|| wrong(format!("QP index {index} is not created")))?;
            let connected = layers.connect(index, created.qpn, settings);
            connected.map_err(|error| wrong(error.to_string()))?;
        }
        self.driver_mut().connect(index, settings);
        self.settled().map_err(EndpointError::new)
    }

    fn connected(&self, index: u16) -> bool {
        self.state.driver.connected(index)
    }

    fn enable_reads(&mut self, _: u16) -> ReadRights {
        D::limits().read_rights()
    }

    fn permit(&mut self, index: u16, rights: ReadRights) {
        if let Some((region, key)) = self.driver_mut().permit(index, rights)
            && rights != ReadRights::default()
        {
            self.host_mut().permit_reads(&region, key);
        }
    }

    fn set_page(&mut self, index: u16, size: PageSize) {
        self.driver_mut().set_page(index, size);
    }

    fn touch(&mut self, qps: &[u16]) -> Result<(), EndpointError> {
        let touched = self.before_time(|driver, nic| driver.touch(qps, nic));
        touched.map_err(EndpointError::new)
    }

    fn free(&mut self, index: u16, va: u64, bytes: u64) -> bool {
        self.driver_mut().free(index, va, bytes)
    }

    fn translation(&self) -> Option<TranslationCost> {
        let count = |register| self.state.seen.counters.get(register);
        let period = self.config.clock.period;
        self.state.driver.translates().then(|| TranslationCost {
            hits: count(reg::TRANSLATION_HITS),
            misses: count(reg::TRANSLATION_MISSES),
            stalled: std::array::from_fn(|class| {
                period * count(reg::TRANSLATION_STALLED_0 + 4 * class as u16)
            }),
        })
    }

    fn counters(&self) -> &NicCounters {
        &self.state.seen.counters
    }

    fn mac_counters(&self) -> ReceiveCounters {
        self.state.rx.counters()
    }

    fn pauses(&self) -> &PauseLog {
        &self.state.seen.pauses
    }

    fn rate(&self, qp: u16) -> Option<(Rate, Alpha, bool)> {
        self.state.seen.rates.get(&qp).copied()
    }

    fn set_dcqcn(&mut self, qp: Option<u16>, change: &DcqcnChange) -> bool {
        let clock = self.config.clock;
        // Its registers are those of all QPs.
        qp.is_none() && self.driver_mut().set_dcqcn(change, &clock)
    }

    fn set_link(&mut self, now: Time, up: bool) {
        self.state.link_up = up;
        if let Some(control) = &mut self.state.control {
            control.set_link(now);
        }
        self.state.skip.wake();
    }

    fn failure(&self) -> Option<&str> {
        self.state.failure.as_deref()
    }

    fn clocked(&self) -> Option<&dyn Clocked> {
        Some(self)
    }

    fn clocked_mut(&mut self) -> Option<&mut dyn Clocked> {
        Some(self)
    }

    fn unsaved(&self) -> Option<&'static str> {
        let saves = D::Device::CHECKPOINTS && !ModelOf::<D>::COVERAGE;
        (!saves).then_some(NOT_SAVED)
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        let saved = postcard::to_stdvec(&(type_name::<D>(), self));
        saved.map_err(|error| format!("{}: {error}", type_name::<D>()))
    }
}

impl<D: Driver> Clocked for RtlHost<D> {
    fn clock(&self) -> Clock {
        self.config.clock
    }

    fn cycles_evaluated(&self) -> u64 {
        self.state.evaluated
    }

    fn clock_signal(&self) -> Option<String> {
        let clock = ModelOf::<D>::CLOCK?;
        Some(format!("{}.{clock}", self.config.name))
    }

    fn set_skip(&mut self, skip: bool) {
        self.state.skip = Skip::new(skip);
    }

    fn set_waves(&mut self, window: WaveWindow) {
        self.waves = Some(window);
    }

    fn close_waves(&mut self) -> Result<(), EndpointError> {
        self.waves = None;
        let closed = self.model.get_mut().trace_close();
        closed.map_err(EndpointError::new)
    }
}

impl<D: Driver> Node for RtlHost<D> {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![self.config.rate]
    }

    fn cost(&self) -> u32 {
        // A window of 100 ns has about 20 cycles, each of which takes a few microseconds to evaluate.
        40
    }

    fn weight(&self) -> u32 {
        1_000
    }

    fn sending_since(&self, _port: PortId) -> Option<Time> {
        self.state.tx.sending_since()
    }

    fn next_event(&self) -> Option<Time> {
        if self.state.failure.is_some() {
            return None;
        }
        let cycle = self.due().map(|cycle| self.config.clock.edge(cycle));
        let departure = self.state.tx.next_departure();
        cycle.into_iter().chain(departure).min()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        for arrival in arrivals {
            self.state.arrive(arrival.frame);
        }
        let end = Cycles(self.config.clock.edges_before(until));
        while self.state.failure.is_none() {
            match self.due().filter(|due| *due < end) {
                None => break,
                Some(due) => self.state.next = due,
            }
            if let Err(error) = self.cycle() {
                self.state.failure = Some(error.to_string());
            }
        }
        let state = &mut self.state;
        state.next = state.next.max(end);
        while let Some(frame) = state.tx.depart(until) {
            match state.answered.front() {
                Some(end) if *end == frame.end => drop(state.answered.pop_front()),
                _ => departures.push(PortId(0), frame),
            }
        }
    }
}

impl<D: Driver> Serialize for RtlHost<D> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(bound = "")]
        struct Saving<'a, D: Driver> {
            config: &'a RtlHostConfig,
            model: Bytes,
            state: &'a State<D>,
        }
        let model = self.model.borrow_mut().save();
        Saving {
            config: &self.config,
            model: model.map_err(serde::ser::Error::custom)?.into(),
            state: &self.state,
        }
        .serialize(serializer)
    }
}

impl<'de, D: Driver> Deserialize<'de> for RtlHost<D> {
    fn deserialize<S: serde::Deserializer<'de>>(deserializer: S) -> Result<Self, S::Error> {
        let saved = Saved::<D>::deserialize(deserializer)?;
        let mut model = Self::model(&saved.config).map_err(serde::de::Error::custom)?;
        model
            .restore(&saved.model)
            .map_err(serde::de::Error::custom)?;
        let mut pins_in = Box::default();
        D::Device::reset(&mut pins_in, false);
        Ok(Self {
            config: saved.config,
            model: RefCell::new(model),
            pins_in,
            pins_out: Box::default(),
            model_at: Cycles(u64::MAX),
            waves: None,
            record: None,
            state: saved.state,
        })
    }
}

#[cfg(test)]
mod tests;
