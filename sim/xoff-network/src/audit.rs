//! The audit of the configuration: what each device uses, against what was wanted and against what the other end of its
//! links uses, as DCBX compares PFC and ETS of neighbours (IEEE 802.1Q clause 38).
//!
//! What switches use is asked of the running switches, so that an event that changes one is seen; what hosts use is as
//! in the scenario, for nothing changes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::switch::{Limit, PauseKind, RedConfig, Service, Switch};
use xoff_sim::time::Time;

use crate::plan::{class_bits, service};
use crate::results::{Finding, FindingKind, ns};
use crate::scenario::{Audit, Checked, HostSettings, NicKind};
use crate::words::{bytes, grouped, part};
use crate::{Simulation, Station};

/// A setting of a device that is not as it was wanted, or not as at the other end of a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Difference {
    /// The device; of a link the two ends: `t0 – l1`.
    pub device: String,
    /// The setting, such as `xoff of class 3`, or `PFC of class 3` of a link.
    pub setting: String,
    /// What was wanted; of a link, what the first end uses.
    pub wanted: String,
    /// What is used; of a link, what the second end uses.
    pub used: String,
    /// Whether it is of the two ends of a link.
    pub of_link: bool,
}

/// What a host uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OfHost {
    /// Classes of PFC, a bit each; `None` of TCP, which no neighbour expects to pause.
    pfc: Option<u8>,
    dcqcn: bool,
    watchdog_bite: String,
}

impl OfHost {
    fn new(settings: &HostSettings) -> Self {
        Self {
            pfc: (!matches!(settings.nic, NicKind::Tcp | NicKind::Attached))
                .then(|| class_bits(&settings.lossless)),
            dcqcn: settings.marks().is_some(),
            watchdog_bite: after(settings.watchdog_bite),
        }
    }
}

fn after(time: Option<xoff_sim::time::Duration>) -> String {
    time.map_or("never".into(), |time| time.to_string())
}

/// Classes in words, from one bit each.
fn classes(bits: u8) -> String {
    let named: Vec<String> = (0..8)
        .filter(|class| bits >> class & 1 == 1)
        .map(|class| class.to_string())
        .collect();
    match &named[..] {
        [] => "no class".into(),
        [one] => format!("class {one}"),
        many => format!("classes {}", many.join(", ")),
    }
}

/// The classes of a switch that pause, a bit each.
fn pfc(switch: &Switch) -> u8 {
    (0..8).fold(0, |bits, class| {
        bits | u8::from(switch.buffer().lossless(class)) << class
    })
}

fn limit(limit: Limit) -> String {
    match limit {
        Limit::Static(limit) => bytes(limit),
        Limit::Alpha { num, den } => format!("{num}/{den} of what is free"),
    }
}

fn marks(red: Option<RedConfig>) -> String {
    match red {
        None => "no marks".into(),
        Some(red) => format!(
            "Kmin {}, Kmax {}, Pmax {}",
            bytes(red.kmin),
            bytes(red.kmax),
            part(f64::from(red.pmax_ppm) / 1e6)
        ),
    }
}

fn turns(service: Service) -> String {
    match service {
        Service::Strict => "before all that have turns".into(),
        Service::Weighted(bytes) => format!("{} bytes a turn", grouped(bytes.into())),
    }
}

const fn pauses(kind: PauseKind) -> &'static str {
    match kind {
        PauseKind::Pfc => "PFC",
        PauseKind::Link => "PAUSE of all classes",
        PauseKind::Off => "none",
    }
}

/// Compares settings of a device, or of the ends of a link: name, what was wanted, what is used.
fn comparing(
    device: String,
    of_link: bool,
    found: &mut Vec<Difference>,
) -> impl FnMut(String, String, String) {
    move |setting, wanted, used| {
        if wanted != used {
            found.push(Difference {
                device: device.clone(),
                setting,
                wanted,
                used,
                of_link,
            });
        }
    }
}

/// Compares what devices use with what was wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Auditor {
    #[serde(with = "crate::as_text")]
    wanted: Audit,
    hosts: BTreeMap<NodeId, OfHost>,
    /// Each difference that was ever there, and when it was found and seen last.
    found: BTreeMap<Difference, (Time, Time)>,
    /// When it looked last.
    at: Time,
}

impl Auditor {
    /// Looks at a scenario's network as it is now.
    pub fn new(simulation: &Simulation, scenario: &Checked, wanted: Audit) -> Self {
        let mut hosts = BTreeMap::new();
        for entry in &scenario.hosts {
            let used = OfHost::new(&scenario.settings_of(entry));
            let nodes = entry
                .names()
                .into_iter()
                .filter_map(|name| simulation.node(&name));
            hosts.extend(nodes.map(|node| (node, used.clone())));
        }
        let mut this = Self {
            wanted,
            hosts,
            found: BTreeMap::new(),
            at: simulation.now(),
        };
        this.look(simulation);
        this
    }

    /// Compares everything now.
    pub fn look(&mut self, simulation: &Simulation) {
        let now = simulation.now();
        let mut found = Vec::new();
        for (node, station) in simulation.stations() {
            let device = &simulation.names()[node.0 as usize];
            match station {
                Station::Switch(switch) => self.of_switch(device, switch, &mut found),
                Station::Endpoint(_) => self.of_host(device, node, &mut found),
            }
        }
        for (node, port) in simulation.all_ports() {
            let peer = simulation.network().peer(node, port);
            // Each link once, from its first end.
            if let Some(peer) = peer.filter(|peer| (node, port) < *peer) {
                self.of_link(simulation, [(node, port), peer], &mut found);
            }
        }
        for difference in found {
            self.found.entry(difference).or_insert((now, now)).1 = now;
        }
        self.at = now;
    }

    fn of_switch(&self, device: &str, switch: &Switch, found: &mut Vec<Difference>) {
        let wanted = &self.wanted.switch;
        let mut compare = comparing(device.into(), false, found);
        let config = switch.config();
        if let Some(kind) = wanted.pauses {
            let used = pauses(config.pause.kind);
            compare("pauses".into(), pauses(kind).into(), used.into());
        }
        if let Some(total) = wanted.buffer {
            compare("buffer".into(), bytes(total), bytes(config.buffer.total));
        }
        let used = pfc(switch);
        if let Some(lossless) = &wanted.lossless {
            compare(
                "lossless".into(),
                classes(class_bits(lossless)),
                classes(used),
            );
        }
        // Kmin and Kmax are those of the fastest port.
        let rates = config.ports.iter().map(|port| port.rate);
        let fastest = rates.min_by_key(|rate| rate.byte_time());
        let at = |red: RedConfig| fastest.map_or(red, |rate| red.at(rate));
        for class in (0..8_u8).filter(|class| used >> class & 1 == 1) {
            let buffer = switch.buffer().of_priority(class);
            if let Some(xoff) = wanted.xoff {
                compare(
                    format!("xoff of class {class}"),
                    limit(xoff),
                    limit(buffer.limit),
                );
            }
            if let Some(offset) = wanted.xon_offset {
                let setting = format!("xon_offset of class {class}");
                compare(setting, bytes(offset), bytes(buffer.xon_offset));
            }
            if let Some(ecn) = &wanted.ecn {
                let used = config.red[usize::from(class)].map(at);
                compare(
                    format!("ecn of class {class}"),
                    marks(Some(at(ecn.red()))),
                    marks(used),
                );
            }
        }
        for (class, weight) in wanted.weights.iter().flatten().enumerate() {
            let used = turns(config.services[class]);
            compare(
                format!("weight of class {class}"),
                turns(service(*weight)),
                used,
            );
        }
    }

    fn of_host(&self, device: &str, node: NodeId, found: &mut Vec<Difference>) {
        let (wanted, used) = (&self.wanted.host, &self.hosts[&node]);
        let mut compare = comparing(device.into(), false, found);
        if let (Some(lossless), Some(used)) = (&wanted.lossless, used.pfc) {
            compare(
                "lossless".into(),
                classes(class_bits(lossless)),
                classes(used),
            );
        }
        if let Some(dcqcn) = wanted.dcqcn {
            let word = |on| if on { "on" } else { "off" };
            compare("dcqcn".into(), word(dcqcn).into(), word(used.dcqcn).into());
        }
        if let Some(bite) = wanted.watchdog_bite {
            compare(
                "watchdog_bite".into(),
                after(Some(bite)),
                used.watchdog_bite.clone(),
            );
        }
    }

    /// What DCBX compares: the classes of PFC, which have to be the same at both ends, and how switches serve the
    /// classes.
    fn of_link(
        &self,
        simulation: &Simulation,
        ends: [(NodeId, PortId); 2],
        found: &mut Vec<Difference>,
    ) {
        let of = |(node, _): (NodeId, PortId)| simulation.network().node(node);
        let names = ends.map(|(node, _)| &*simulation.names()[node.0 as usize]);
        let mut compare = comparing(format!("{} – {}", names[0], names[1]), true, found);
        let enabled = ends.map(|end| match of(end) {
            Station::Switch(switch) => Some(pfc(switch)),
            Station::Endpoint(_) => self.hosts[&end.0].pfc,
        });
        if let [Some(first), Some(second)] = enabled {
            for class in 0..8_u8 {
                let word = |bits: u8| if bits >> class & 1 == 1 { "on" } else { "off" };
                let setting = format!("PFC of class {class}");
                compare(setting, word(first).into(), word(second).into());
            }
        }
        if let [Some(first), Some(second)] = ends.map(|end| of(end).switch()) {
            for class in 0..8 {
                let [first, second] = [first, second].map(|it| it.config().services[class]);
                let setting = format!("ETS of class {class}");
                compare(setting, turns(first), turns(second));
            }
        }
    }

    /// Each difference that was ever there, with when it was found.
    pub fn differences(&self) -> impl Iterator<Item = (&Difference, Time)> {
        self.found
            .iter()
            .map(|(difference, (from, _))| (difference, *from))
    }

    /// The differences that were there when it looked last.
    pub fn open(&self) -> impl Iterator<Item = &Difference> {
        let last = self.found.iter().filter(|(_, (_, seen))| *seen == self.at);
        last.map(|(difference, _)| difference)
    }

    /// A finding for each setting that differs alike, with all devices that differ so.
    pub fn findings(&self) -> Vec<Finding> {
        type Alike<'a> = (bool, &'a str, &'a str, &'a str);
        let mut alike = BTreeMap::<Alike<'_>, Vec<(&str, Time, Time)>>::new();
        for (difference, (from, seen)) in &self.found {
            let key = (
                difference.of_link,
                &*difference.setting,
                &*difference.wanted,
                &*difference.used,
            );
            let devices = alike.entry(key).or_default();
            devices.push((&difference.device, *from, *seen));
        }
        let finding = |(alike, devices): (Alike<'_>, Vec<(&str, Time, Time)>)| {
            let (of_link, setting, wanted, used) = alike;
            let first = devices.iter().map(|(_, from, _)| *from).min();
            let last = devices.iter().map(|(.., seen)| *seen).max();
            let names: Vec<&str> = devices.iter().map(|(name, ..)| *name).collect();
            let text = match of_link {
                false => format!(
                    "{}: {setting} is {used}, wanted is {wanted}",
                    listed(&names)
                ),
                true => format!(
                    "{}: {setting} is {wanted} at the first end and {used} at the second",
                    listed(&names)
                ),
            };
            Finding {
                kind: FindingKind::Audit,
                text,
                details: match names.len() > MOST_NAMED {
                    true => names.into_iter().map(String::from).collect(),
                    false => Vec::new(),
                },
                from_ns: first.map_or(0, ns),
                to_ns: last.filter(|last| *last < self.at).map(ns),
            }
        };
        alike.into_iter().map(finding).collect()
    }
}

/// Devices that are named in a line; of more the first, and how many more.
const MOST_NAMED: usize = 4;

fn listed(names: &[&str]) -> String {
    match names {
        names if names.len() <= MOST_NAMED => names.join(", "),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests;
