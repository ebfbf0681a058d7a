//! What detectors have found, in words.

use xoff_sim::time::{ByteCount, Duration, Time};

use super::pauses::name;
use super::{Cycle, Detector, Root, Storm, Victim, nowhere, pingmesh};
use crate::Simulation;
use crate::results::{Finding, FindingKind, ns};

fn at(time: Time) -> String {
    time.since_start().to_string()
}

/// A part in per cent, with as many digits as are of use.
fn percent(part: Duration, of: Duration) -> String {
    let percent = 100.0 * part.as_ps() as f64 / of.as_ps().max(1) as f64;
    match percent {
        10.0.. => format!("{percent:.0} %"),
        _ => format!("{percent:.1} %"),
    }
}

fn bytes(count: u64) -> ByteCount {
    ByteCount::new(count)
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
        let storms = storms.iter().map(|storm| self.of_storm(storm, simulation));
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
        // Flows that stood at the same link because of the same root are one finding, in the order of the longest.
        let mut victims: Vec<Vec<&Victim>> = Vec::new();
        for victim in self.victims() {
            let alike = |group: &&mut Vec<&Victim>| group[0].most() == victim.most();
            match victims.iter_mut().find(alike) {
                Some(group) => group.push(victim),
                None => victims.push(vec![victim]),
            }
        }
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

    /// Victims of the same root at the same link, those that stood longest first.
    fn of_victims(&self, victims: &[&Victim], simulation: &Simulation) -> Finding {
        let victim = victims[0];
        let flow = |victim: &Victim| &simulation.flows()[victim.flow].name;
        let part = |victim: &Victim| percent(victim.stood, self.observed());
        let (flows, stood) = match victims {
            [one] => (format!("flow {}", flow(one)), part(one)),
            [first, .., last] => {
                let (most, least) = (part(first), part(last));
                let others = victims.len() - 1;
                (
                    format!("flow {} and {others} more", flow(first)),
                    match most == least {
                        true => most,
                        false => format!("{least} to {most}"),
                    },
                )
            }
            [] => unreachable!("a group has a first one"),
        };
        let why = victim.most().map_or(String::new(), |(link, root)| {
            let root = match root {
                Root::Congested(link) => format!("the congested {}", link.text(simulation)),
                Root::Paused(link) => {
                    let host = link
                        .peer(simulation)
                        .map(|(host, _)| name(simulation, host));
                    format!("{} that pauses", host.unwrap_or("a host"))
                }
                Root::Cycle(_) => "a cyclic wait".into(),
            };
            format!(
                ", most at {}, because of {root}, which is not on its path",
                link.text(simulation)
            )
        });
        Finding {
            kind: FindingKind::Victim,
            text: format!("{flows} stood for {stood} of the time{why}"),
            details: match victims.len() {
                1 => Vec::new(),
                _ => (victims.iter())
                    .map(|victim| format!("flow {}: {}", flow(victim), part(victim)))
                    .collect(),
            },
            from_ns: ns(victims.iter().fold(victim.from, |at, one| at.min(one.from))),
            to_ns: victims.iter().map(|victim| ns(victim.to)).max(),
        }
    }
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
            bytes(dependency.bytes)
        )
    };
    Finding {
        kind: match cycle.locked {
            Some(_) => FindingKind::Deadlock,
            None => FindingKind::CyclicWait,
        },
        text: format!(
            "class {} waits in a cycle: {}, closed at {}, {}, {ended}",
            cycle.class(),
            cycle.text(simulation),
            at(cycle.closed),
            bytes(cycle.bytes())
        ),
        details: cycle.dependencies.iter().map(detail).collect(),
        from_ns: ns(cycle.closed),
        to_ns: cycle.opened.map(ns),
    }
}
