//! Two hosts of any kinds of NIC that the program has, a NIC of one's own among them: what one sends arrives at the other,
//! whatever the wire does to it.
//!
//! A case names the kinds, and has what their limits allow: operations, MTUs, lengths, as many flows as both have QPs.
//! Packets are lost, damaged, duplicated and delayed on the wire; hosts stall. Pause frames arrive: who misses the end of
//! a pause stands still for longer than the retries of a QP take. In each case:
//!
//! - every message arrives, whole and once, and is completed at both ends; no byte is wrong
//! - the protocol monitors find no violation at any port, unless wires send frames twice or late
//! - without faults nothing is dropped
//! - the same frames are on the wires whether idle cycles of NICs are skipped or not
//!
//! A program with NICs of its own draws one of them for the first host of every case.

use std::sync::OnceLock;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use xoff_cosim::units::UnitError;
use xoff_network::endpoint::Limits;
use xoff_network::results::{FindingKind, Summary};
use xoff_network::scenario::event::Stall;
use xoff_network::scenario::{
    Action, Event as Happens, FlowSettings, HostEntry, NicKind, Operation, Scenario,
};
use xoff_network::{Clocked, Control, Endpoints, Observer, ObserverError, Run, WaveWindow};
use xoff_sim::seeded::SplitMix;
use xoff_sim::time::{ByteCount, Duration, Length, Time};
use xoff_waves::capture::RunCapture;

use super::bins::Bins;
use super::history::{Histories, History, Part, in_ranges};
use super::retrace::{BEFORE, Failed, Retraced, Shows, Wanted, Waves};
use super::{Case, Disagreement, Property, unit};
use xoff::run::monitors::Monitors;

/// Time within which all is done, however much is lost.
const ENOUGH: Duration = Duration::from_ms(20);
/// Time for what is still on its way when all messages are complete.
const REST: Duration = Duration::from_us(20);
/// Names of the hosts.
const NAMES: [&str; 2] = ["a", "b"];
/// The timeout of a QP: 4.096 µs · 2^4.
const TIMEOUT: u8 = 4;
/// The latest start of a flow or a stall, in nanoseconds.
const LATEST: u32 = 20_000;
/// Most flows of a case.
const MOST_FLOWS: u64 = 6;

/// The kinds of hosts that the program has.
static KINDS: OnceLock<Endpoints> = OnceLock::new();

/// Sets the kinds of hosts that the program has. The first call counts; without one they are those of this repository.
pub fn set_kinds(endpoints: &Endpoints) {
    KINDS.get_or_init(|| endpoints.clone());
}

fn kinds() -> &'static Endpoints {
    KINDS.get_or_init(xoff_cosim::endpoints)
}

/// The hosts and the wires of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Seed of the scenario.
    pub seed: u64,
    /// The NICs of the two hosts.
    pub nics: [NicKind; 2],
    /// Length of the cables in metres, 1 to 300.
    pub cable: u16,
    /// Of 1,000 packets from each host so many are lost, 0 to 30.
    pub lost: [u8; 2],
    /// So many arrive with a wrong FCS.
    pub damaged: [u8; 2],
    /// So many arrive twice.
    pub twice: [u8; 2],
    /// So many arrive 2 µs late, behind others.
    pub late: [u8; 2],
}

/// Messages from a host to the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The sender, 0 or 1.
    pub from: u8,
    /// What is done with each message.
    pub operation: Operation,
    /// The MTU in bytes.
    pub mtu: u32,
    /// Bytes of a message.
    pub message: u32,
    /// Number of messages, 1 to 20.
    pub count: u8,
    /// How many of them are posted and not completed, 1 to 16.
    pub outstanding: u8,
    /// When it starts, in nanoseconds.
    pub start: u32,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Messages from a host to the other one.
    Flow(Flow),
    /// A host that takes nothing from its NIC.
    Stall {
        /// The host, 0 or 1.
        host: u8,
        /// When, in nanoseconds.
        at: u32,
        /// For how long, in nanoseconds: at most 100,000.
        time: u32,
    },
}

impl Head {
    /// The faults of the wire from a host, in the language of scenarios.
    fn faults(&self, side: usize) -> Vec<String> {
        let each = [
            (self.lost, "drop"),
            (self.damaged, "corrupt"),
            (self.twice, "duplicate"),
            (self.late, "delay 2 us"),
        ];
        let some = each.into_iter().filter(|(of, _)| of[side] > 0);
        some.map(|(of, what)| format!("roce, chance {}/1000: {what}", of[side]))
            .collect()
    }

    fn is_clean(&self) -> bool {
        NAMES
            .iter()
            .enumerate()
            .all(|(side, _)| self.faults(side).is_empty())
    }
}

impl Part for Head {
    fn simpler(&self) -> Vec<Self> {
        let mut simpler = Vec::new();
        let mut less = |change: &dyn Fn(&mut Self)| {
            let mut head = self.clone();
            change(&mut head);
            if head != *self {
                simpler.push(head);
            }
        };
        less(&|head| (head.lost, head.damaged) = ([0; 2], [0; 2]));
        less(&|head| (head.twice, head.late) = ([0; 2], [0; 2]));
        for side in 0..2 {
            less(&|head| head.lost[side] = 0);
            less(&|head| head.damaged[side] = 0);
            less(&|head| head.twice[side] = 0);
            less(&|head| head.late[side] = 0);
        }
        less(&|head| head.cable = 1);
        simpler
    }

    fn valid(&self) -> Result<(), String> {
        if !(1..=300).contains(&self.cable) {
            return Err(format!("cable {}; expected 1 to 300", self.cable));
        }
        let each = [
            ("lost", self.lost),
            ("damaged", self.damaged),
            ("twice", self.twice),
            ("late", self.late),
        ];
        in_ranges(each.map(|(name, of)| (name, of[0].max(of[1]), 0..=30)))
    }
}

impl Part for Event {
    fn simpler(&self) -> Vec<Self> {
        let mut simpler = Vec::new();
        let mut less = |event: Self| {
            if event != *self {
                simpler.push(event);
            }
        };
        match *self {
            Self::Flow(flow) => {
                less(Self::Flow(Flow {
                    count: flow.count.div_ceil(2),
                    ..flow
                }));
                less(Self::Flow(Flow {
                    message: flow.message.div_ceil(2),
                    ..flow
                }));
                less(Self::Flow(Flow {
                    outstanding: 1,
                    ..flow
                }));
                less(Self::Flow(Flow { start: 0, ..flow }));
            }
            Self::Stall { host, at, time } => {
                less(Self::Stall {
                    host,
                    at,
                    time: time / 2,
                });
            }
        }
        simpler
    }

    fn valid(&self) -> Result<(), String> {
        match *self {
            Self::Flow(Flow { from: 2.., .. }) | Self::Stall { host: 2.., .. } => {
                Err("from and host; expected 0 or 1".into())
            }
            Self::Flow(Flow { count, .. }) if !(1..=20).contains(&count) => {
                Err(format!("count {count}; expected 1 to 20"))
            }
            Self::Flow(Flow { outstanding, .. }) if !(1..=16).contains(&outstanding) => {
                Err(format!("outstanding {outstanding}; expected 1 to 16"))
            }
            Self::Flow(Flow { message: 0, .. }) => Err("message 0; expected 1 or more".into()),
            Self::Flow(Flow { start: at, .. }) | Self::Stall { at, .. } if at > LATEST => {
                Err(format!("{at} ns; expected {LATEST} or less"))
            }
            Self::Stall { time, .. } if time > 100_000 => {
                Err(format!("time {time}; expected 100000 or less"))
            }
            _ => Ok(()),
        }
    }
}

/// Draws a case for hosts of these kinds.
fn history(draw: &mut SplitMix) -> History<Head, Event> {
    let own: Vec<NicKind> = kinds()
        .names()
        .filter(|kind| matches!(kind, NicKind::Custom(_)))
        .collect();
    let all: Vec<NicKind> = (kinds().names())
        .filter(|kind| *kind != NicKind::Tcp)
        .collect();
    let one = |of: &[NicKind], draw: &mut SplitMix| {
        of[draw.within(0, of.len() as u64 - 1) as usize].clone()
    };
    let mut nics = [
        one(if own.is_empty() { &all } else { &own }, draw),
        one(&all, draw),
    ];
    if draw.once_in(2) {
        nics.reverse();
    }
    let limits = nics
        .clone()
        .map(|nic| kinds().limits(&nic).expect("it is one of them"));
    let rare = |draw: &mut SplitMix| match draw.once_in(4) {
        true => draw.within(1, 30) as u8,
        false => 0,
    };
    let clean = draw.once_in(4);
    let mut both = || match clean {
        true => [0, 0],
        false => [rare(draw), rare(draw)],
    };
    let [lost, damaged, twice, late] = [both(), both(), both(), both()];
    let head = Head {
        seed: draw.bits() >> 1,
        nics,
        cable: 1 + draw.any_length(8) as u16,
        lost,
        damaged,
        twice,
        late,
    };
    let least = |of: fn(&Limits) -> u64| of(&limits[0]).min(of(&limits[1]));
    let qps = least(|limits| limits.qps.into());
    let longest = least(|limits| limits.message.into()).min(16 << 10);
    let outstanding = least(|limits| limits.outstanding.into()).min(16);
    let operations = [
        Operation::Send,
        Operation::SendImm,
        Operation::Write,
        Operation::WriteImm,
        Operation::Read,
    ];
    // By the host that posts them.
    let operations = [0, 1].map(|from: usize| -> Vec<Operation> {
        let can = |operation: &Operation| {
            let kind = (*operation).into();
            let (posts, answers) = (&limits[from], &limits[1 - from]);
            posts.operations.contains(&kind) && answers.answers.contains(&kind)
        };
        operations.into_iter().filter(can).collect()
    });
    let mtus: Vec<u32> = (limits[0].mtus.iter().copied())
        .filter(|mtu| limits[1].mtus.contains(mtu))
        .collect();
    let mut events = Vec::new();
    if operations.iter().any(Vec::is_empty) || mtus.is_empty() {
        return History { head, events };
    }
    for _ in 0..draw.within(1, qps.clamp(1, MOST_FLOWS)) {
        let from = draw.within(0, 1) as u8;
        events.push(Event::Flow(Flow {
            from,
            operation: draw.one_of(&operations[usize::from(from)]),
            mtu: draw.one_of(&mtus),
            message: match draw.once_in(2) {
                true => 1 + draw.any_length(14).min(longest - 1) as u32,
                false => draw.within(1, longest) as u32,
            },
            count: draw.within(1, 20) as u8,
            outstanding: draw.within(1, outstanding) as u8,
            start: draw.any_length(14).min(u64::from(LATEST)) as u32,
        }));
    }
    if draw.once_in(3) {
        events.push(Event::Stall {
            host: draw.within(0, 1) as u8,
            at: draw.within(0, u64::from(LATEST)) as u32,
            time: draw.any_length(16) as u32,
        });
    }
    History { head, events }
}

/// The scenario of a case.
fn scenario(head: &Head, events: &[Event]) -> Scenario {
    let mut scenario = Scenario::new("hosts of xoff fuzz", ENOUGH + REST);
    scenario.name = "hosts".into();
    scenario.seed = head.seed;
    scenario = scenario.switch("s");
    for (side, name) in NAMES.into_iter().enumerate() {
        scenario.hosts.push(HostEntry {
            nic: Some(head.nics[side].clone()),
            ..HostEntry::new(name)
        });
        scenario = scenario.link(name, "s", Length::from_m(head.cable.into()));
        let link = scenario.links.last_mut().expect("it was added");
        let rules = head.faults(side).into_iter();
        link.faults = rules.map(|rule| rule.parse().expect("a rule")).collect();
    }
    for (number, event) in events.iter().enumerate() {
        match *event {
            Event::Flow(flow) => {
                let [from, to] = [flow.from, 1 - flow.from].map(|side| NAMES[usize::from(side)]);
                scenario = scenario.flow(FlowSettings {
                    operation: flow.operation,
                    mtu: flow.mtu,
                    outstanding: flow.outstanding.into(),
                    start: Duration::from_ns(flow.start.into()),
                    timeout: TIMEOUT,
                    ..FlowSettings::new(&format!("f{number}"), from, to)
                        .messages(flow.count.into(), ByteCount::new(flow.message.into()))
                });
            }
            Event::Stall { host, at, time } => {
                let stall = Action::Stall(Stall {
                    host: NAMES[usize::from(host)].into(),
                    time: Some(Duration::from_ns(time.into())),
                });
                let at = Duration::from_ns(at.into());
                scenario.events.push(Happens::once(at, stall));
            }
        }
    }
    scenario
}

/// A run of a case.
struct Ran {
    summary: Summary,
    end: Time,
    /// What does not hold.
    wrong: Option<Disagreement>,
    frames: u64,
}

/// Ends a run when nothing moves any more behind its last message.
struct UntilRest {
    last: Time,
    /// What is acknowledged may wait until then, in a NIC whose host takes nothing.
    stalled: Time,
}

impl Control for UntilRest {
    fn before(&mut self, run: &mut Run) -> Result<Option<Time>, ObserverError> {
        if run.now() >= self.last {
            return Ok(None);
        }
        if run.simulation.finished() && self.last == run.end() {
            self.last = self.last.min(run.now().max(self.stalled) + REST);
        }
        Ok(Some(run.end()))
    }
}

/// Who watches a run besides the monitors.
type Prepared = anyhow::Result<Vec<Box<dyn Observer>>>;

/// Runs a case until all messages are complete and nothing moves any more.
fn run(
    head: &Head,
    scenario: &Scenario,
    skip: bool,
    prepare: &mut dyn FnMut(&mut Run) -> Prepared,
) -> anyhow::Result<Ran> {
    let scenario = &scenario.checked()?;
    let mut run = Run::new(scenario, kinds())?;
    run.simulation.set_skip(skip);
    let mut others = prepare(&mut run)?;
    // What a wire sends twice, or late, monitors take for what a NIC did.
    let faithful = [head.late, head.twice] == [[0; 2]; 2];
    let ports = match faithful {
        true => run.simulation.all_ports(),
        false => Vec::new(),
    };
    let mut monitors = Monitors::new(scenario, &mut run.simulation, &ports)?;
    let mut observers: Vec<&mut dyn Observer> = vec![&mut monitors];
    observers.extend(others.iter_mut().map(|it| &mut **it as &mut dyn Observer));
    let mut until_rest = UntilRest {
        last: run.end(),
        stalled: stalled_until(scenario),
    };
    let gone = run.go(&mut until_rest, &mut observers);
    let summary = run
        .finish(scenario, &mut observers)
        .map_err(anyhow::Error::from_boxed)?;
    let mut found = summary.findings.iter();
    let violation = found.find(|found| found.kind == FindingKind::Violation);
    let wrong = (gone.err().map(|error| error.to_string()))
        .or_else(|| violation.map(|found| found.text.clone()))
        .or_else(|| arrived(&run, scenario))
        .or_else(|| nothing_wrong(&run))
        .or_else(|| match (head.is_clean(), summary.drops.first()) {
            (true, Some(drop)) => Some(format!(
                "{}: {} frames dropped, {}, and no wire has faults",
                drop.node, drop.count, drop.reason
            )),
            _ => None,
        });
    Ok(Ran {
        end: run.now(),
        wrong,
        frames: monitors.report().frames,
        summary,
    })
}

/// When the last stall is over.
fn stalled_until(scenario: &Scenario) -> Time {
    let ends = scenario
        .events
        .iter()
        .filter_map(|event| match &event.action {
            Action::Stall(stall) => Some(Time::ZERO + event.at + stall.time?),
            _ => None,
        });
    ends.max().unwrap_or(Time::ZERO)
}

/// Every message has arrived once and is complete.
fn arrived(run: &Run, scenario: &Scenario) -> Option<Disagreement> {
    let simulation = &run.simulation;
    simulation.flows().iter().zip(&scenario.flows).find_map(|(flow, settings)| {
        let (sender, receiver) = (simulation.sender(flow), simulation.receiver(flow));
        let count = settings.count.unwrap_or(0);
        let complete = sender.delivered().len() as u64;
        if let Some(status) = sender.failed() {
            return Some(format!("{}: its QP ended: {status:?}", flow.name));
        }
        let bytes = receiver.fresh_bytes();
        (complete != count || bytes != count * settings.message.get()).then(|| {
            format!(
                "{}: of {count} messages of {} bytes {complete} are complete and {bytes} bytes have arrived, at {}",
                flow.name,
                settings.message.get(),
                simulation.now()
            )
        })
    })
}

/// No byte and no completion is wrong.
fn nothing_wrong(run: &Run) -> Option<Disagreement> {
    NAMES.into_iter().find_map(|name| {
        let errors = run.simulation.station(name).host()?.errors();
        (errors.payload_bytes + errors.completions > 0).then(|| format!("{name}: {errors:?}"))
    })
}

/// The property. Hosts are made for each case, so there is nothing to keep between two.
#[derive(Debug)]
pub struct Hosts;

impl Property for Hosts {
    type Head = Head;
    type Event = Event;
    const UNIT: &'static str = unit::HOSTS.name;
    const EVENTS: &'static str = "frames";
    const CASES: u64 = unit::HOSTS.cases;
    const OWN_UNITS: bool = true;

    fn new(_: u64) -> Result<Self, UnitError> {
        Ok(Self)
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        Histories(history).boxed()
    }

    fn check(&mut self, case: &Case<Self>, _: &mut Bins) -> Result<u64, Disagreement> {
        let scenario = scenario(&case.head, &case.events);
        let ran = |skip| {
            run(&case.head, &scenario, skip, &mut |_| Ok(Vec::new()))
                .map_err(|error| format!("{error:#}"))
        };
        let first = ran(true)?;
        if let Some(wrong) = first.wrong {
            return Err(wrong);
        }
        let whole = ran(false)?;
        if whole.summary.digest != first.summary.digest {
            return Err("other frames are on the wires if idle cycles are not skipped".into());
        }
        Ok(first.frames)
    }

    fn retrace(_: u64, case: &Case<Self>, wanted: &Wanted) -> anyhow::Result<Retraced> {
        retraced(&case.head, &scenario(&case.head, &case.events), wanted)
    }
}

/// Runs a scenario with hosts of a case, and again with waves and a capture if it fails.
fn retraced(head: &Head, scenario: &Scenario, wanted: &Wanted) -> anyhow::Result<Retraced> {
    let plain = run(head, scenario, true, &mut |_| Ok(Vec::new()))?;
    let Some(disagreement) = plain.wrong else {
        return Ok(Retraced::Held {
            events: plain.frames,
            waves: Vec::new(),
        });
    };
    wanted.create()?;
    let capture = wanted.folder.join("capture.pcapng");
    let mut files = Vec::new();
    let until = plain.end;
    let again = run(head, scenario, true, &mut |run| {
        for (name, nic) in NAMES.into_iter().zip(&head.nics) {
            let Some(clocked) = clocked(run, name) else {
                continue;
            };
            let before = clocked.period() * wanted.before.unwrap_or(BEFORE);
            let from = match wanted.whole {
                true => 0,
                false => until.as_ps().saturating_sub(before.as_ps()),
            };
            let path = wanted.folder.join(name).with_extension("fst");
            let window = WaveWindow {
                path: path.clone(),
                from: Time::from_ps(from),
                until,
                only: Vec::new(),
            };
            run.simulation.set_waves(name, window)?;
            files.push(Waves {
                path,
                shows: match nic {
                    NicKind::Custom(_) => Shows::Unit,
                    _ => Shows::Nic(name.into()),
                },
                failed_ps: until.as_ps(),
            });
        }
        let ports = run.simulation.all_ports();
        let capture = RunCapture::create(run, &ports, &capture)?;
        Ok(vec![Box::new(capture) as Box<dyn Observer>])
    })?;
    anyhow::ensure!(
        again.wrong.as_ref() == Some(&disagreement),
        "the case did not fail again in the same way: something is not deterministic"
    );
    // A NIC that rests until the end has none.
    files.retain(|waves| waves.path.exists());
    Ok(Retraced::Failed(Failed {
        disagreement,
        waves: files,
        capture: Some(capture),
        ..Failed::default()
    }))
}

fn clocked<'r>(run: &'r Run, name: &str) -> Option<&'r dyn Clocked> {
    run.simulation.station(name).endpoint()?.clocked()
}

#[cfg(test)]
mod tests {
    use super::super::history::cases_are_what_their_text_says;
    use super::*;

    #[test]
    fn text_of_cases() {
        cases_are_what_their_text_says::<Hosts>();
    }

    /// Waves of an RTL NIC that fails so have all signals of its layout.
    fn the_layout_of_a_failure_fits(head: &Head, broken: &Scenario) {
        let folder = tempfile::tempdir().unwrap();
        let mut broken = broken.clone();
        broken.hosts[0].nic = Some(NicKind::Rtl);
        let head = Head {
            nics: [NicKind::Rtl, NicKind::Model],
            ..head.clone()
        };
        let wanted = Wanted {
            folder: folder.path().into(),
            before: None,
            after: 0,
            whole: true,
        };
        let Retraced::Failed(failed) = retraced(&head, &broken, &wanted).unwrap() else {
            panic!("it does not fail");
        };
        let [
            Waves {
                path,
                shows: Shows::Nic(host),
                ..
            },
        ] = &failed.waves[..]
        else {
            panic!("{:?}", failed.waves);
        };
        xoff_waves::layout::nic_layout(host)
            .write_beside(path)
            .unwrap();
    }

    /// A receiver that takes nothing for longer than all retries: not all messages are complete, and that is found.
    #[test]
    fn a_message_that_does_not_arrive_is_found() {
        let mut head = Head {
            seed: 1,
            nics: [NicKind::Model, NicKind::Model],
            cable: 2,
            lost: [0; 2],
            damaged: [0; 2],
            twice: [0; 2],
            late: [0; 2],
        };
        let events = [Event::Flow(Flow {
            from: 0,
            operation: Operation::Write,
            mtu: 1_024,
            message: 5_000,
            count: 3,
            outstanding: 2,
            start: 0,
        })];
        let check = |head: &Head| {
            let case = History {
                head: head.clone(),
                events: events.to_vec(),
            };
            Hosts.check(&case, &mut Bins::new(&[]))
        };
        assert!(check(&head).unwrap() > 30);
        let scenario = scenario(&head, &events);
        let mut broken = scenario.clone();
        broken.links[0].faults = vec!["opcode 0x08: drop".parse().unwrap()];
        let ran = run(&head, &broken, true, &mut |_| Ok(Vec::new())).unwrap();
        assert!(ran.wrong.unwrap().contains("its QP ended"));
        the_layout_of_a_failure_fits(&head, &broken);
        head.twice = [30, 30];
        check(&head).unwrap();
    }
}
