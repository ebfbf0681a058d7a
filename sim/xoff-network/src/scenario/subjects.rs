//! Whom settings are changed of while a network runs: switches, hosts and flows by their names, or by those of their
//! entries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::NodeId;
use xoff_sim::time::{ByteCount, Rate};

use super::check::{Issue, issue};
use super::check_events::check_set;
use super::event::{Free, Pace, SetDcqcn};
use super::{Action, Connection, NicKind, Operation, Scenario};
use crate::words::did_you_mean;

/// The least bound of a rate: DCQCN's slowest one.
const SLOWEST: Rate = Rate::from_bits_per_second(10_000_000);
/// Most names that a message lists.
const MOST_NAMES: usize = 12;

/// What may be set while a network runs, by name, with the numbers of nodes and flows in a simulation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Subjects {
    switches: Vec<SwitchSubject>,
    hosts: Vec<HostSubject>,
    flows: Vec<FlowSubject>,
}

/// A switch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SwitchSubject {
    name: String,
    /// The entry, if that has a count.
    group: Option<String>,
    pub(crate) node: NodeId,
    pub(crate) lossless: Vec<u8>,
}

/// A host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HostSubject {
    name: String,
    group: Option<String>,
    pub(crate) node: NodeId,
    /// The name of the kind of its NIC.
    nic: String,
    control: Control,
    /// Whether its NIC translates addresses.
    translates: bool,
}

/// How a NIC controls congestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Control {
    None,
    Dcqcn,
    Own(String),
}

/// A flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FlowSubject {
    name: String,
    /// The entry of `flows`.
    entry: String,
    pub(crate) number: u32,
    /// The host that posts its messages.
    pub(crate) posts: NodeId,
    /// The host at the other end.
    other: NodeId,
    /// The host that its data comes from.
    source: NodeId,
    /// Bytes of its memory.
    memory: u64,
}

impl Subjects {
    /// Those of a scenario written out with these flows.
    pub(crate) fn of(scenario: &Scenario, flows: &[Connection<'_>]) -> Self {
        let mut hosts = Vec::new();
        for entry in &scenario.hosts {
            let settings = scenario.settings_of(entry);
            let control = match settings.own_congestion() {
                _ if settings.nic == NicKind::Tcp => Control::None,
                Some(own) => Control::Own(own.into()),
                None if settings.marks().is_some() => Control::Dcqcn,
                None => Control::None,
            };
            for name in entry.names() {
                hosts.push(HostSubject {
                    name,
                    group: entry.count.map(|_| entry.name.clone()),
                    node: NodeId(hosts.len() as u32),
                    nic: settings.nic.name().into(),
                    control: control.clone(),
                    translates: settings.translation.is_some(),
                });
            }
        }
        let mut switches = Vec::new();
        for entry in &scenario.switches {
            for name in entry.names() {
                switches.push(SwitchSubject {
                    name,
                    group: entry.count.map(|_| entry.name.clone()),
                    node: NodeId((hosts.len() + switches.len()) as u32),
                    lossless: entry.lossless.clone(),
                });
            }
        }
        let numbers: BTreeMap<&str, NodeId> =
            hosts.iter().map(|host| (&*host.name, host.node)).collect();
        let subject = |(number, flow): (u32, &Connection<'_>)| {
            let [from, to] = [&flow.from, &flow.to].map(|end| numbers[&**end]);
            let read = flow.operations().all(Operation::returns);
            FlowSubject {
                name: flow.name.clone(),
                entry: flow.settings.name.clone(),
                number,
                posts: from,
                other: to,
                memory: flow.settings.memory_bytes(),
                source: if read { to } else { from },
            }
        };
        let flows = (0..).zip(flows).map(subject).collect();
        Self {
            switches,
            hosts,
            flows,
        }
    }

    /// The switches that a name means.
    pub(crate) fn switches<'s>(
        &'s self,
        name: &'s str,
    ) -> impl Iterator<Item = &'s SwitchSubject> + 's {
        let switches = self.switches.iter();
        switches.filter(move |it| it.name == name || it.group.as_deref() == Some(name))
    }

    /// The hosts that a name means.
    pub(crate) fn hosts<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s HostSubject> + 's {
        let hosts = self.hosts.iter();
        hosts.filter(move |it| it.name == name || it.group.as_deref() == Some(name))
    }

    /// The flows that a name means.
    pub(crate) fn flows<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s FlowSubject> + 's {
        let flows = self.flows.iter();
        flows.filter(move |it| it.name == name || it.entry == name)
    }

    /// Checks an action that changes settings, or lets flows post messages or not. Keys of what is wrong begin with
    /// that of the action.
    pub(crate) fn check(&self, action: &Action) -> Result<(), Issue> {
        match action {
            Action::Set(set) => {
                self.one_switch("set.switch", &set.switch)?;
                check_set("set", set)
            }
            Action::Dcqcn(set) => self.check_dcqcn(set),
            Action::Pace(pace) => self.check_pace(pace),
            Action::Stop(flow) => self.one_flow("stop", flow),
            Action::Start(flow) => self.one_flow("start", flow),
            _ => {
                let key = action.name();
                let right = "set, dcqcn, pace, stop and start are changes of settings";
                Err(issue(
                    key,
                    format!("it does something to the network: {right}"),
                ))
            }
        }
    }

    fn one_switch(&self, key: &str, name: &str) -> Result<(), Issue> {
        let known = self.switches.iter().map(|it| &*it.name);
        self.one(
            key,
            name,
            "switch",
            self.switches(name).next().is_some(),
            known,
        )
    }

    fn one_host(&self, key: &str, name: &str) -> Result<(), Issue> {
        let known = self.hosts.iter().map(|it| &*it.name);
        self.one(key, name, "host", self.hosts(name).next().is_some(), known)
    }

    fn one_flow(&self, key: &str, name: &str) -> Result<(), Issue> {
        let known = self.flows.iter().map(|it| &*it.name);
        self.one(key, name, "flow", self.flows(name).next().is_some(), known)
    }

    fn one<'s>(
        &self,
        key: &str,
        name: &str,
        what: &str,
        there: bool,
        known: impl Iterator<Item = &'s str> + Clone,
    ) -> Result<(), Issue> {
        if there {
            return Ok(());
        }
        let mut listed: Vec<&str> = known.clone().take(MOST_NAMES).collect();
        if known.clone().nth(MOST_NAMES).is_some() {
            listed.push("…");
        }
        let listed = match listed.is_empty() {
            true => "there is none".into(),
            false => format!("there are {}", listed.join(", ")),
        };
        // A name of one letter is like too many others.
        let hint = did_you_mean(name, known.filter(|known| known.len() > 1));
        Err(issue(key, format!("'{name}' is no {what}: {listed}{hint}")))
    }

    fn check_dcqcn(&self, set: &SetDcqcn) -> Result<(), Issue> {
        let wrong = |key: &str, problem: String| Err(issue(format!("dcqcn{key}"), problem));
        match (&set.host, &set.flow) {
            (Some(host), None) => self.one_host("dcqcn.host", host)?,
            (None, Some(flow)) => self.one_flow("dcqcn.flow", flow)?,
            _ => return wrong("", "whose? Either host or flow is right".into()),
        }
        let nothing = SetDcqcn {
            host: set.host.clone(),
            flow: set.flow.clone(),
            ..SetDcqcn::default()
        };
        if *set == nothing {
            let problem = "nothing is set: g, rate_ai, rate_hai, alpha_timer, rate_timer, byte_counter, stages or \
                           cnp_interval";
            return wrong("", problem.into());
        }
        if let Some(g) = set.g.filter(|g| !(0.0..1.0).contains(g)) {
            return wrong(".g", format!("{g}: a gain is 0 to below 1"));
        }
        if let Some(stages) = set.stages.filter(|stages| *stages > 31) {
            return wrong(".stages", format!("{stages}: 0 to 31"));
        }
        if set.cnp_interval.is_some() && set.flow.is_some() {
            return wrong(
                ".cnp_interval",
                "it is that of a whole NIC: with host".into(),
            );
        }
        let of_host = set.host.iter().flat_map(|host| self.hosts(host));
        for host in of_host.chain(set.flow.iter().flat_map(|flow| self.sources(flow))) {
            let HostSubject {
                name, nic, control, ..
            } = host;
            match (control, &**nic) {
                (Control::None, _) => {
                    return wrong(
                        "",
                        format!("DCQCN is off at {name}: host.dcqcn turns it on"),
                    );
                }
                (Control::Own(own), _) => {
                    return wrong("", format!("{name} has {own} in place of DCQCN"));
                }
                (Control::Dcqcn, "model") => {}
                (Control::Dcqcn, "rtl") if set.flow.is_none() => {}
                (Control::Dcqcn, "rtl") => {
                    let problem = format!(
                        "the registers of {name}, an RTL NIC, are those of all flows: host = \"{name}\""
                    );
                    return wrong(".flow", problem);
                }
                (Control::Dcqcn, nic) => {
                    let problem =
                        format!("{name} has the NIC '{nic}', of which no register is known");
                    return wrong("", problem);
                }
            }
        }
        Ok(())
    }

    fn check_pace(&self, pace: &Pace) -> Result<(), Issue> {
        let wrong = |key: &str, problem: String| Err(issue(format!("pace{key}"), problem));
        self.one_flow("pace.flow", &pace.flow)?;
        if pace.rate.is_none() && pace.window.is_none() {
            return wrong("", "nothing is set: rate or window".into());
        }
        if let Some(rate) = pace.rate.filter(|rate| *rate < SLOWEST) {
            return wrong(".rate", format!("{rate}: {SLOWEST} or more"));
        }
        if pace.window == Some(0) {
            return wrong(".window", "0: 1 packet or more".into());
        }
        for host in self.sources(&pace.flow) {
            let HostSubject {
                name, nic, control, ..
            } = host;
            if nic != "model" {
                let problem = format!(
                    "{name} has the NIC '{nic}', which has no register for it: \"model\" NICs can be bounded"
                );
                return wrong(".flow", problem);
            }
            if *control == Control::None {
                let problem = format!(
                    "{name} paces nothing without congestion control: host.dcqcn turns it on, and without marks it \
                     leaves rates alone"
                );
                return wrong(".flow", problem);
            }
        }
        Ok(())
    }

    /// Checks what pages are freed.
    pub(crate) fn check_free(&self, free: &Free) -> Result<(), Issue> {
        let wrong = |key: &str, problem: String| Err(issue(format!("free.{key}"), problem));
        self.one_flow("free.flow", &free.flow)?;
        self.one_host("free.host", &free.host)?;
        if let Some(other) = self.hosts(&free.host).find(|host| !host.translates) {
            let name = &other.name;
            let problem = format!(
                "{name} has no pages to free: its NIC does not translate addresses, which host.translation turns on"
            );
            return wrong("host", problem);
        }
        if self.freed(free).next().is_none() {
            let mut ends: Vec<&str> = (self.flows(&free.flow))
                .flat_map(|flow| [flow.posts, flow.other])
                .map(|node| &*self.hosts[node.0 as usize].name)
                .collect();
            ends.sort_unstable();
            ends.dedup();
            let problem = format!(
                "'{}' is no end of {}: its ends are {}",
                free.host,
                free.flow,
                ends.join(", ")
            );
            return wrong("host", problem);
        }
        let (offset, bytes) = (free.offset.get(), free.bytes.get());
        let least = self.flows(&free.flow).map(|flow| flow.memory).min();
        let memory = least.unwrap_or(0);
        if offset >= memory {
            let problem = format!(
                "{}: the memory of {} has {}",
                free.offset,
                free.flow,
                ByteCount::new(memory)
            );
            return wrong("offset", problem);
        }
        if !(1..=memory - offset).contains(&bytes) {
            let problem = format!(
                "{} from {} on: the memory of {} has {}, so that 1 B to {} are right",
                free.bytes,
                free.offset,
                free.flow,
                ByteCount::new(memory),
                ByteCount::new(memory - offset)
            );
            return wrong("bytes", problem);
        }
        Ok(())
    }

    /// The ends of flows at which pages are freed: the flow, and 0 where its messages are posted, 1 at the other end.
    pub(crate) fn freed<'s>(
        &'s self,
        free: &'s Free,
    ) -> impl Iterator<Item = (&'s FlowSubject, usize)> + 's {
        let hosts: Vec<NodeId> = self.hosts(&free.host).map(|host| host.node).collect();
        let ends =
            (self.flows(&free.flow)).flat_map(|flow| [(flow, flow.posts), (flow, flow.other)]);
        let ends = ends.zip([0, 1].into_iter().cycle());
        ends.filter(move |((_, node), _)| hosts.contains(node))
            .map(|((flow, _), side)| (flow, side))
    }

    /// The hosts whose QPs send the data of the flows of a name.
    fn sources<'s>(&'s self, flow: &'s str) -> impl Iterator<Item = &'s HostSubject> + 's {
        self.flows(flow)
            .map(|flow| &self.hosts[flow.source.0 as usize])
    }
}
