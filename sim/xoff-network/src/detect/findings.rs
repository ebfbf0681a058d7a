//! What detectors have found, in words.

use std::collections::BTreeSet;

use xoff_sim::time::{ByteCount, Duration, Time};

use super::pauses::name;
use super::{Cycle, Detector, LinkClass, Root, Storm, Victim, nowhere, pingmesh};
use crate::Simulation;
use crate::results::{Finding, FindingKind, ns};
use crate::scenario::entry_of;
use crate::words::{at, bytes, count, length, part};

/// Congested links for each of which the victims are a finding of their own. Victims of more are one finding: flows that
/// a hash has put on the same links.
pub(crate) const MOST_CONGESTED: usize = 6;

/// A part of the time in per cent.
fn percent(time: Duration, of: Duration) -> String {
    part(time.as_ps() as f64 / of.as_ps().max(1) as f64)
}

/// Victims of one entry of the scenario that stood at the same link.
struct Alike<'a> {
    entry: &'a str,
    link: Option<LinkClass>,
    victims: Vec<&'a Victim>,
}

impl Detector {
    /// Everything found until the last observation: deadlocks, other cyclic waits, storms, alarms, victims, QPs that gave
    /// up, frames that had nowhere to go.
    pub fn findings(&self, simulation: &Simulation) -> Vec<Finding> {
        let (locked, other): (Vec<_>, Vec<_>) =
            (self.cycles().iter()).partition(|cycle| cycle.locked.is_some());
        let cycles = locked.into_iter().chain(other);
        let cycles = cycles.map(|cycle| of_cycle(cycle, simulation));
        let storms = self.storms();
        let storms = by_origin(&storms).into_iter();
        let storms = storms.map(|storms| self.of_storms(&storms, simulation));
        let alarms = self.alarms().into_iter().map(|alarm| Finding {
            kind: FindingKind::Alarm,
            text: format!(
                "{} was stopped by its host for {} of the time, class {}",
                alarm.link.text(simulation),
                percent(alarm.paused, self.observed()),
                alarm.link.class
            ),
            details: Vec::new(),
            from_ns: ns(self.began),
            to_ns: None,
        });
        let victims = self.victims_by_root();
        let victims = victims.iter();
        let victims = victims.map(|group| self.of_victims(group, simulation));
        let nowhere = nowhere::findings(simulation, self.began);
        cycles
            .chain(storms)
            .chain(alarms)
            .chain(victims)
            .chain(nowhere)
            .chain(self.probed(simulation))
            .collect()
    }

    /// What stops traffic at the last observation, deadlocks and pause storms, in the words of one who does not know yet how
    /// it ends.
    pub fn broken(&self, simulation: &Simulation) -> Vec<Finding> {
        let cycles = self.deadlocks().filter(|cycle| cycle.opened.is_none());
        let cycles = cycles.map(|cycle| of_cycle(cycle, simulation));
        let storms = self.storms();
        let storms = storms.iter().filter(|storm| storm.to.is_none());
        let storms = storms.map(|storm| Finding {
            text: format!(
                "{} pauses class {} since {}",
                name(simulation, storm.origin),
                storm.link.class,
                at(storm.from)
            ),
            ..self.of_storm(storm, simulation)
        });
        cycles.chain(storms).collect()
    }

    /// What probes of Pingmesh tell until now.
    pub fn probed(&self, simulation: &Simulation) -> Vec<Finding> {
        pingmesh::findings(simulation, self.began)
    }

    fn of_storm(&self, storm: &Storm, simulation: &Simulation) -> Finding {
        let end = storm.to.unwrap_or(self.pauses.observed());
        let lasted = end.saturating_since(storm.from);
        let origin = name(simulation, storm.origin);
        let others = storm.stopped.len().saturating_sub(1);
        let others = match others {
            0 => "no other link stood".into(),
            1 => "one more link stood".into(),
            _ => format!("{others} more links stood"),
        };
        let until = match storm.to {
            Some(to) => format!("until {}", at(to)),
            None => "to the end".into(),
        };
        let mut stopped: Vec<_> = storm.stopped.iter().collect();
        stopped.sort_by_key(|(link, since)| (**since, **link));
        let detail = |(link, since): &(&super::LinkClass, &Time)| {
            format!("{} from {}", link.text(simulation), at(**since))
        };
        Finding {
            kind: FindingKind::Storm,
            text: format!(
                "{origin} paused class {} from {} {until}, {} of that time; {others} because of it",
                storm.link.class,
                at(storm.from),
                percent(storm.paused, lasted),
            ),
            details: stopped.iter().map(detail).collect(),
            from_ns: ns(storm.from),
            to_ns: storm.to.map(ns),
        }
    }

    /// The storms of a host, which may pause again and again.
    fn of_storms(&self, storms: &[&Storm], simulation: &Simulation) -> Finding {
        let (first, last) = match storms {
            [one] => return self.of_storm(one, simulation),
            [first, .., last] => (*first, *last),
            [] => unreachable!("a group has a storm"),
        };
        let paused = storms
            .iter()
            .fold(Duration::ZERO, |sum, storm| sum + storm.paused);
        let others = storms
            .iter()
            .map(|storm| storm.stopped.len().saturating_sub(1));
        let others = count(others.max().unwrap_or(0) as u64, "more link", "more links");
        let end = |storm: &Storm| match storm.to {
            Some(to) => format!("until {}", at(to)),
            None => "to the end".into(),
        };
        Finding {
            kind: FindingKind::Storm,
            text: format!(
                "{} paused class {} {} times from {} {}, for {} in all; up to {others} stood because of it",
                name(simulation, first.origin),
                first.link.class,
                storms.len(),
                at(first.from),
                end(last),
                length(paused),
            ),
            details: storms
                .iter()
                .map(|storm| format!("from {} {}", at(storm.from), end(storm)))
                .collect(),
            from_ns: ns(first.from),
            to_ns: last.to.map(ns),
        }
    }

    /// Victims of the same root, in the order of those that stood longest; those of many congested links together.
    fn victims_by_root(&self) -> Vec<Vec<&Victim>> {
        let victims = self.victims();
        let root_of = |victim: &Victim| victim.most().map(|(_, root)| root);
        let congested = |root: &Option<Root>| matches!(root, Some(Root::Congested(_)));
        let mut roots: Vec<Option<Root>> = Vec::new();
        for root in victims
            .iter()
            .map(|victim| root_of(victim))
            .filter(congested)
        {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        // The first congested link stands for all, if there are many.
        let many = roots.len() > MOST_CONGESTED;
        let mut groups: Vec<(Option<Root>, Vec<&Victim>)> = Vec::new();
        for victim in victims {
            let root = match root_of(victim) {
                root if many && congested(&root) => roots[0],
                root => root,
            };
            match groups.iter_mut().find(|group| group.0 == root) {
                Some(group) => group.1.push(victim),
                None => groups.push((root, vec![victim])),
            }
        }
        groups.into_iter().map(|(_, victims)| victims).collect()
    }

    /// Victims of the same root, or of many congested links, those that stood longest first.
    fn of_victims(&self, victims: &[&Victim], simulation: &Simulation) -> Finding {
        let flow = |victim: &Victim| &*simulation.flows()[victim.flow].name;
        let stood = |of: &[&Victim]| {
            let times = of.iter().map(|victim| victim.stood);
            let ends = (times.clone().min(), times.max());
            let [least, most] = [ends.0, ends.1]
                .map(|time| percent(time.unwrap_or(Duration::ZERO), self.observed()));
            match most == least {
                true => most,
                false => format!("{least} to {most}"),
            }
        };
        // Those of an entry that stood at the same link are one.
        let mut alike: Vec<Alike<'_>> = Vec::new();
        for victim in victims {
            let (entry, link) = (entry_of(flow(victim)), victim.most().map(|(link, _)| link));
            let same = |group: &&mut Alike<'_>| (group.entry, group.link) == (entry, link);
            match alike.iter_mut().find(same) {
                Some(group) => group.victims.push(victim),
                None => alike.push(Alike {
                    entry,
                    link,
                    victims: vec![victim],
                }),
            }
        }
        let of_entry = |entry: &str, of: &[&Victim]| match of {
            [one] => format!("flow {}", flow(one)),
            many => format!("{} flows of {entry}", many.len()),
        };
        let entries: BTreeSet<&str> = alike.iter().map(|group| group.entry).collect();
        let who = match (entries.len(), victims) {
            (1, _) => of_entry(alike[0].entry, victims),
            _ => count(victims.len() as u64, "flow", "flows"),
        };
        let links: BTreeSet<LinkClass> = (victims.iter())
            .filter_map(|victim| Some(victim.most()?.0))
            .collect();
        let place = match (victims[0].most(), links.len()) {
            (Some((link, _)), 1) => format!(", most at {}", link.text(simulation)),
            _ => String::new(),
        };
        let why = self.why(victims, simulation).unwrap_or_default();
        let detail = |group: &Alike<'_>| {
            let at = |link: LinkClass| format!(" at {}", link.text(simulation));
            let place = group.link.map_or(String::new(), at);
            let of = &group.victims;
            format!("{}{place}: {}", of_entry(group.entry, of), stood(of))
        };
        let from = victims.iter().map(|victim| victim.from).min();
        Finding {
            kind: FindingKind::Victim,
            text: format!("{who} stood for {} of the time{place}{why}", stood(victims)),
            details: match alike.len() {
                1 => Vec::new(),
                _ => alike.iter().map(detail).collect(),
            },
            from_ns: from.map_or(0, ns),
            to_ns: victims.iter().map(|victim| ns(victim.to)).max(),
        }
    }
}

impl Detector {
    /// Why victims of the same root, or of many congested links, stood.
    fn why(&self, victims: &[&Victim], simulation: &Simulation) -> Option<String> {
        let mut roots: Vec<Root> = Vec::new();
        for (_, root) in victims.iter().filter_map(|victim| victim.most()) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        let its = if victims.len() == 1 {
            "its path"
        } else {
            "their paths"
        };
        let host = |link: LinkClass| {
            link.peer(simulation)
                .map(|(host, _)| name(simulation, host))
        };
        Some(match (roots.first()?, roots.len()) {
            (Root::Congested(link), 1) => format!(
                ", because of the congested {}, which is not on {its}",
                link.text(simulation)
            ),
            (Root::Congested(_), many) => {
                // The one with the most victims, as in the answer.
                let of = |root: &Root| {
                    victims
                        .iter()
                        .filter(|victim| victim.most().map(|(_, root)| root) == Some(*root))
                        .count()
                };
                let link = |root: &Root| match root {
                    Root::Congested(link) => Some((std::cmp::Reverse(of(root)), *link)),
                    _ => None,
                };
                let (_, link) = roots.iter().filter_map(link).min()?;
                format!(
                    ", because of {many} congested links, such as {}, which are not on {its}",
                    link.text(simulation)
                )
            }
            (Root::Paused(link), _) => format!(
                ", because of {} that pauses, which is not on {its}",
                host(*link).unwrap_or("a host")
            ),
            (Root::Cycle(link), _) => {
                let of = |cycle: &&Cycle| cycle.dependencies.iter().any(|one| one.link == *link);
                let what = match self.deadlocks().any(|cycle| of(&cycle)) {
                    true => "deadlock",
                    false => "cyclic wait",
                };
                format!(
                    ", because of the {what}, of which {} no part",
                    if victims.len() == 1 {
                        "it is"
                    } else {
                        "they are"
                    }
                )
            }
        })
    }
}

/// Storms by what they stop, each in the order of time, in the order of the first of each.
fn by_origin(storms: &[Storm]) -> Vec<Vec<&Storm>> {
    let mut groups: Vec<Vec<&Storm>> = Vec::new();
    for storm in storms {
        match groups.iter_mut().find(|group| group[0].link == storm.link) {
            Some(group) => group.push(storm),
            None => groups.push(vec![storm]),
        }
    }
    for group in &mut groups {
        group.sort_by_key(|storm| storm.from);
    }
    groups
}

fn of_cycle(cycle: &Cycle, simulation: &Simulation) -> Finding {
    let ended = match (cycle.opened, cycle.locked) {
        (Some(opened), _) => format!("opened at {}", at(opened)),
        (None, Some(_)) => "cannot end by itself".into(),
        (None, None) => "still closed at the end".into(),
    };
    let detail = |dependency: &super::Dependency| {
        format!(
            "{} stopped from {}: {} that came by it wait for the next",
            dependency.link.text(simulation),
            at(dependency.since),
            bytes(ByteCount::new(dependency.bytes))
        )
    };
    Finding {
        kind: match cycle.locked {
            Some(_) => FindingKind::Deadlock,
            None => FindingKind::CyclicWait,
        },
        text: format!(
            "class {} waits in a cycle: {}, closed at {}, {} wait in it, {ended}",
            cycle.class(),
            cycle.text(simulation),
            at(cycle.closed),
            bytes(ByteCount::new(cycle.bytes()))
        ),
        details: cycle.dependencies.iter().map(detail).collect(),
        from_ns: ns(cycle.closed),
        to_ns: cycle.opened.map(ns),
    }
}
