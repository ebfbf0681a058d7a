//! Makes a scenario of a case, and runs it.

use std::collections::{BTreeMap, BTreeSet};

use xoff_network::Simulation;
use xoff_network::metrics::Recorder;
use xoff_network::scenario::event::{Faults, Stall};
use xoff_network::scenario::host::Dcqcn;
use xoff_network::scenario::switch::Ecn;
use xoff_network::scenario::{
    Action, Clos, Event as Happens, FlowSettings, NicKind, Scenario, SwitchSettings, Topology,
};
use xoff_sim::kernel::{NodeId, Record};
use xoff_sim::link::FaultRule;
use xoff_sim::nic_registers::{self as reg, COUNTERS};
use xoff_sim::switch::{DropReason, Limit};
use xoff_sim::time::{ByteCount, Duration, Length, LineRate, Time};

use super::events::{Event, Head, LOSSLESS};
use super::ledger::Ledger;
use crate::property::Disagreement;
use xoff::run::monitors::Monitors;

/// Times between two looks of detectors.
const SAMPLE: Duration = Duration::from_us(20);
/// When the books are balanced while traffic flows.
const DURING: Duration = Duration::from_us(100);
/// Time within which every lossless message has arrived. Twelve flows of three messages of 200 KB to one host at 10
/// Gb/s take 6 ms.
const ENOUGH: Duration = Duration::from_ms(60);
/// Time after which a network without flows is empty: the longest pause at 10 Gb/s is 3.4 ms.
const REST: Duration = Duration::from_ms(4);
/// Timeout of lossless flows, 67 ms: a pause is no loss. Those of lossy ones is 0.5 ms.
const TIMEOUTS: [u8; 2] = [14, 7];
/// Number of the first QP of a host.
const FIRST_QPN: u32 = 0x100;

/// What happened in a case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Frames that ports sent.
    pub frames: u64,
    /// Ingress queues that entered XOFF.
    pub xoff: u64,
    /// Frames marked.
    pub marked: u64,
    /// Frames of lossy classes that switches dropped and wires lost.
    pub dropped: u64,
    /// The most bytes of headroom that a queue used.
    pub headroom: u64,
}

/// The scenario of a case.
pub fn scenario(head: &Head, events: &[Event]) -> Scenario {
    let mut scenario = Scenario::new("a network of xoff fuzz", ENOUGH + REST);
    scenario.name = "network".into();
    scenario.seed = head.seed >> 1;
    scenario.sample = Some(SAMPLE);
    scenario.host.nic = NicKind::Model;
    scenario.host.lossless = LOSSLESS.into();
    scenario.host.dcqcn = head.dcqcn.then(Dcqcn::default);
    let rates = head.rates.map(rate);
    let [to_host, to_leaf, to_spine] = head.cables.map(|metres| Length::from_m(metres.into()));
    let clos = Clos {
        podsets: head.podsets.into(),
        tors: head.tors.into(),
        hosts: head.hosts.into(),
        leafs: head.leafs.into(),
        spines: u32::from(head.spines) * u32::from(head.leafs),
        host_cable: to_host,
        leaf_cable: to_leaf,
        spine_cable: to_spine,
        host_rate: Some(rates[0]),
        leaf_rate: Some(rates[1]),
        spine_rate: Some(rates[2]),
    };
    let mut switch = SwitchSettings {
        lossless: LOSSLESS.into(),
        xoff: match head.xoff {
            0 => Limit::Alpha {
                num: 1,
                den: 1 << head.alpha,
            },
            bytes => Limit::Static(ByteCount::new(bytes.into())),
        },
        pause_quanta: head.quanta,
        pause_response: Duration::from_ns(head.response.into()),
        // Lossy classes are short of buffer, so that they lose packets in an incast.
        lossy_limit: Limit::Static(ByteCount::new(60_000)),
        ecn: head.dcqcn.then(Ecn::default),
        ..SwitchSettings::default()
    };
    let hosts = head.all_hosts();
    let mut qps = BTreeMap::<u32, u32>::new();
    for (number, event) in events.iter().enumerate() {
        match *event {
            Event::Flow {
                from,
                to,
                class,
                mtu,
                message,
                count,
                start,
                loss,
            } => {
                let [from, to] = ends(from, to, hosts);
                let name = |host: u32| format!("h{host}");
                let mut flow = FlowSettings::new(&format!("f{number}"), &name(from), &name(to))
                    .messages(count.into(), ByteCount::new(message.into()));
                flow.mtu = 256 << mtu;
                flow.dscp = class << 3;
                flow.start = Duration::from_ns(start.into());
                let lossless = LOSSLESS.contains(&class);
                flow.timeout = TIMEOUTS[usize::from(!lossless)];
                // QPs of a host have numbers in the order of the flows that begin or end there.
                *qps.entry(from).or_default() += 1;
                let qp = qps.entry(to).or_default();
                let (qpn, ip) = (FIRST_QPN + *qp, to + 1);
                *qp += 1;
                scenario = scenario.flow(flow);
                if lossless || loss == 0 {
                    continue;
                }
                let rule = format!("dst 10.0.0.{ip}, qpn {qpn}, chance {loss}/1000: drop");
                let rule: FaultRule = rule.parse().expect("a rule");
                match loss % 2 {
                    0 => switch.faults.push(rule),
                    _ => {
                        let faults = Action::Faults(Faults {
                            from: name(from),
                            to: format!("t{}", from / u32::from(head.hosts)),
                            rules: vec![rule],
                        });
                        scenario.events.push(Happens::once(Duration::ZERO, faults));
                    }
                }
            }
            Event::Stall { host, at, time } => {
                let stall = Action::Stall(Stall {
                    host: format!("h{}", u32::from(host) % hosts),
                    time: Some(Duration::from_ns(time.into())),
                });
                let at = Duration::from_ns(at.into());
                scenario.events.push(Happens::once(at, stall));
            }
        }
    }
    scenario.topology = Some(Topology {
        switch: Some(switch),
        ..Topology::from(clos)
    });
    scenario
}

/// Sender and receiver of a flow, who are never the same.
fn ends(from: u8, to: u8, hosts: u32) -> [u32; 2] {
    let from = u32::from(from) % hosts;
    [from, (from + 1 + u32::from(to) % (hosts - 1)) % hosts]
}

fn rate(gbps: u16) -> LineRate {
    match gbps {
        10 => LineRate::G10,
        25 => LineRate::G25,
        40 => LineRate::G40,
        100 => LineRate::G100,
        _ => LineRate::G400,
    }
}

/// What does not hold in a case, and when that was noticed.
#[derive(Debug)]
pub struct Violated {
    /// What does not hold.
    pub what: Disagreement,
    /// When it was noticed: exactly for a frame that breaks a rule of the monitors, some microseconds later for a frame
    /// that is dropped, and at the end for a message that does not arrive.
    pub at: Time,
}

/// Runs the scenario of a case and checks what holds in all of them.
///
/// # Errors
///
/// Returns what does not hold.
pub fn check(scenario: &Scenario) -> Result<Outcome, Violated> {
    recorded(scenario, None)
}

/// Like [`check`], with a recorder of what happens.
///
/// # Errors
///
/// As [`check`].
pub fn recorded<'a>(
    scenario: &'a Scenario,
    recording: Option<&'a mut (dyn Recording + 'a)>,
) -> Result<Outcome, Violated> {
    if scenario.flows.is_empty() {
        return Ok(Outcome::default());
    }
    let made = scenario.checked().map_err(Into::into);
    let made = made.and_then(|scenario| xoff_cosim::simulation(&scenario));
    let mut simulation = made.map_err(|error| Violated {
        what: format!("{error:?}"),
        at: Time::ZERO,
    })?;
    let mut observed = Observed::new(scenario, &mut simulation, recording);
    observed.check(&mut simulation).map_err(|what| {
        let first = observed.monitors.report().violations.first();
        Violated {
            what,
            at: first.map_or(simulation.now(), |violation| violation.time),
        }
    })
}

/// What looks at a run besides its checks. It changes no result.
pub trait Recording {
    /// When it has to look at the network next; `None`: never again.
    fn due(&self) -> Option<Time>;
    /// Looks at the network.
    fn look(&mut self, simulation: &Simulation);
    /// Sees a frame at a port.
    fn see(&mut self, record: &Record);
}

/// What looks at a run.
struct Observed<'a> {
    scenario: &'a Scenario,
    recording: Option<&'a mut (dyn Recording + 'a)>,
    ledger: Ledger,
    monitors: Monitors,
    recorder: Recorder,
    /// Hosts with a flow that may lose packets.
    with_lossy: BTreeSet<NodeId>,
}

impl<'a> Observed<'a> {
    /// Taps all ports.
    fn new(
        scenario: &'a Scenario,
        simulation: &mut Simulation,
        recording: Option<&'a mut (dyn Recording + 'a)>,
    ) -> Self {
        let ports = simulation.all_ports();
        let lossy = (simulation.flows().iter().zip(&scenario.flows))
            .filter(|(_, settings)| is_lossy(settings.dscp));
        Self {
            with_lossy: lossy.flat_map(|(flow, _)| [flow.from, flow.to]).collect(),
            scenario,
            recording,
            ledger: Ledger::default(),
            monitors: Monitors::at(Monitors::rules(scenario), simulation, &ports, |_, _| ()),
            recorder: Recorder::new(simulation),
        }
    }

    /// Runs the case to its end.
    fn check(&mut self, simulation: &mut Simulation) -> Result<Outcome, Disagreement> {
        // Twice on the way, while buffers and wires are full.
        for _ in 0..2 {
            let until = simulation.now() + DURING;
            while simulation.now() < until {
                let next = simulation.now() + SAMPLE;
                self.run(simulation, next)?;
            }
            self.balance(simulation)?;
        }
        while !simulation.finished() && simulation.now() < Time::ZERO + ENOUGH {
            let next = simulation.now() + SAMPLE;
            self.run(simulation, next)?;
        }
        let rest = simulation.now() + REST;
        self.run(simulation, rest)?;
        let dropped = self.balance(simulation)?;
        arrived(self.scenario, simulation)?;
        let mut outcome = Outcome {
            frames: self.ledger.frames,
            dropped,
            ..Outcome::default()
        };
        for (node, station) in simulation.stations() {
            let Some(switch) = station.switch() else {
                continue;
            };
            if simulation.finished() && switch.frames() > 0 {
                let name = &simulation.names()[node.0 as usize];
                return Err(format!(
                    "{name}: {} frames are left when all is done",
                    switch.frames()
                ));
            }
            for port in simulation.ports(node) {
                let counters = switch.counters(port);
                outcome.xoff += counters.xoff.iter().sum::<u64>();
                outcome.marked += counters.marked.iter().sum::<u64>();
                let most = counters.headroom_peak.iter().max().copied();
                outcome.headroom = outcome.headroom.max(most.unwrap_or(0));
            }
        }
        Ok(outcome)
    }

    /// Runs until a point of time, and checks what has to hold at any time.
    fn run(&mut self, simulation: &mut Simulation, until: Time) -> Result<(), Disagreement> {
        while simulation.now() < until {
            let due = match &mut self.recording {
                Some(recording) => {
                    recording.look(simulation);
                    recording.due()
                }
                None => None,
            };
            self.step(simulation, due.unwrap_or(until).min(until))?;
        }
        if let Some(recording) = &mut self.recording {
            recording.look(simulation);
        }
        self.recorder.sample(simulation);
        if let Some(violation) = self.monitors.report().violations.first() {
            return Err(format!("a protocol monitor: {violation:?}"));
        }
        nothing_lossless_dropped(&self.with_lossy, simulation)?;
        match self.recorder.detector().deadlocks().next() {
            None => Ok(()),
            Some(cycle) => Err(format!(
                "a deadlock, in a network without cyclic buffer dependency: {cycle:?}"
            )),
        }
    }

    fn step(&mut self, simulation: &mut Simulation, until: Time) -> Result<(), Disagreement> {
        let see = |records: &[Record]| {
            for record in records {
                if let Some(recording) = &mut self.recording {
                    recording.see(record);
                }
                self.ledger.see(record);
                self.monitors.see(record);
            }
        };
        let ran = simulation.run_until_observed(until, see);
        ran.map_err(|error| error.to_string())
    }

    fn balance(&self, simulation: &Simulation) -> Result<u64, Disagreement> {
        let lost = self.ledger.balance(simulation);
        lost.map_err(|what| format!("at {}: {what}", simulation.now()))
    }
}

fn is_lossy(dscp: u8) -> bool {
    !LOSSLESS.contains(&(dscp >> 3))
}

/// All that the senders of lossless flows posted has arrived.
fn arrived(scenario: &Scenario, simulation: &Simulation) -> Result<(), Disagreement> {
    for (flow, settings) in simulation.flows().iter().zip(&scenario.flows) {
        if is_lossy(settings.dscp) {
            continue;
        }
        let sender = simulation.sender(flow);
        let sent = settings.count.unwrap_or(0) * settings.message.get();
        let arrived = simulation.receiver(flow).fresh_bytes();
        if !sender.finished()
            || sender.delivered().len() as u64 != settings.count.unwrap_or(0)
            || arrived != sent
        {
            return Err(format!(
                "{}: lossless, {arrived} of {sent} bytes have arrived, {} messages are complete, at {}",
                flow.name,
                sender.delivered().len(),
                simulation.now()
            ));
        }
    }
    Ok(())
}

/// No switch dropped a frame of a lossless class, no NIC that has only lossless flows dropped or resent any, and no byte
/// is wrong.
fn nothing_lossless_dropped(
    with_lossy: &BTreeSet<NodeId>,
    simulation: &Simulation,
) -> Result<(), Disagreement> {
    for (node, station) in simulation.stations() {
        let name = &simulation.names()[node.0 as usize];
        if let Some(switch) = station.switch() {
            for port in simulation.ports(node) {
                for reason in DropReason::ALL {
                    let dropped = switch.counters(port).dropped[reason as usize];
                    let class = LOSSLESS
                        .iter()
                        .find(|class| dropped[usize::from(**class)] > 0);
                    if let Some(class) = class {
                        let count = dropped[usize::from(*class)];
                        return Err(format!(
                            "{name}, port {}: {count} frames of the lossless class {class} were dropped: {reason}",
                            port.0
                        ));
                    }
                }
            }
            continue;
        }
        if let Some(host) = station.host() {
            let errors = host.errors();
            if errors.payload_bytes + errors.completions > 0 {
                return Err(format!("{name}: {errors:?}"));
            }
        }
        if with_lossy.contains(&node) {
            continue;
        }
        let Some(nic) = station.nic_counters() else {
            continue;
        };
        let dropped = (COUNTERS.iter()).filter(|counter| counter.name.starts_with("drop_"));
        for counter in dropped {
            let count = nic.get(counter.address);
            if count > 0 {
                return Err(format!(
                    "{name}: a lossless NIC dropped {count} frames: {}",
                    counter.name
                ));
            }
        }
        let mac = station.mac_counters().unwrap_or_default();
        if mac.overflows + mac.bad_fcs + mac.runts + mac.giants > 0 {
            return Err(format!("{name}: a lossless NIC dropped frames: {mac:?}"));
        }
        let resent = nic
            .get(reg::RESENT_OUT)
            .saturating_sub(nic.get(reg::WITHDRAWN));
        if resent > 0 {
            return Err(format!(
                "{name}: {resent} packets were sent again, with lossless flows only"
            ));
        }
    }
    Ok(())
}
