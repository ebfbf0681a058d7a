//! Deadlocks and storms: nothing moves any more.

use std::collections::BTreeSet;

use xoff_sim::time::{ByteCount, Duration};

use super::{Broken, Cure, Seen};
use crate::detect::{Cycle, Storm};
use crate::metrics::Quantity;
use crate::scenario::switch::Watched;
use crate::scenario::{Action, SwitchSettings};
use crate::words::{at, bytes, count, length, part};
use xoff_sim::switch::forwarding::Miss;

/// Time after which watchdogs of networks in service act (SIGCOMM 2016, section 4.3).
const USUAL_WATCHDOG: Duration = Duration::from_ms(100);

/// After which time a watchdog has to act so that it cures what lasted for so long, and why it is not the usual one if
/// it is another: a run is often shorter than what watchdogs of networks in service wait for.
fn watchdog(lasted: Duration) -> (Duration, String) {
    if lasted > USUAL_WATCHDOG {
        return (USUAL_WATCHDOG, String::new());
    }
    // A quarter, down to 1, 2 or 5 of a power of ten.
    let quarter = (lasted.as_ps() / 4).max(1_000_000);
    let power = 10_u64.pow(quarter.ilog10());
    let factor = [5, 2, 1]
        .into_iter()
        .find(|factor| factor * power <= quarter);
    let detect = Duration::from_ps(factor.unwrap_or(1) * power);
    let why = format!(
        "; {} are usual, and it lasted for {} here",
        length(USUAL_WATCHDOG),
        length(lasted)
    );
    (detect, why)
}

impl Seen<'_> {
    /// How many flows stand, if any do: `, 20 flows stand`.
    fn standing(&self) -> String {
        match self.recorder.standing(self.simulation).len() as u64 {
            0 => String::new(),
            flows => format!(", {}", count(flows, "flow stands", "flows stand")),
        }
    }

    fn held(&self) -> String {
        bytes(ByteCount::new(self.total(Quantity::HeldBytes) as u64))
    }

    pub(super) fn deadlock(&self) -> Option<Broken> {
        let mut locked = self.recorder.detector().deadlocks();
        let first = locked.next()?;
        let others = match locked.count() as u64 {
            0 => String::new(),
            more => format!(", and {}", count(more, "cycle more", "cycles more")),
        };
        let how_long = match first.opened {
            Some(opened) => format!(" to {}", at(opened)),
            None => String::new(),
        };
        let much = match first.opened {
            // What is held and stands now has nothing to do with it.
            Some(_) => format!("{} held", bytes(ByteCount::new(first.bytes()))),
            None => format!("{} held{}", self.held(), self.standing()),
        };
        let headline = format!(
            "Deadlock in class {}: {} from {}{how_long}: {much}{others}",
            first.class(),
            first.text(self.simulation),
            at(first.closed),
        );
        Some(Broken::new(headline, self.cures_of(first)))
    }

    /// What would have kept a cycle from closing, and what breaks it.
    fn cures_of(&self, cycle: &Cycle) -> Vec<Cure> {
        let nodes = cycle
            .dependencies
            .iter()
            .map(|dependency| dependency.link.node);
        let names: Vec<&str> = nodes.map(|node| self.name(node)).collect();
        let switches = || names.iter().filter_map(|name| self.switch(name));
        let mut cures = Vec::new();
        let strays = self.dropped("other_mac").len() + self.dropped("address").len();
        let floods = |switch: &&SwitchSettings| {
            switch.on_mac_miss == Miss::Flood && !switch.lossless_never_floods
        };
        let never = switches().filter(floods).filter(|_| strays > 0);
        let never: Vec<String> = never
            .map(|switch| format!("{}.lossless_never_floods=true", switch.place()))
            .collect();
        if !never.is_empty() {
            let why = "frames for a host without a MAC entry are flooded, also up again; so they are dropped";
            cures.push(Cure::all(never, why));
        }
        let failed = self
            .scenario
            .events
            .iter()
            .any(|event| matches!(event.action, Action::LinkDown(_)));
        let looped = !self.dropped("ttl_expired").is_empty();
        if looped {
            cures.push(Cure::by_hand("`routes`: packets go around until their TTL ends: the routes of these switches lead back to where they came from",
            ));
        } else if failed && switches().any(|switch| switch.reroute) {
            cures.push(Cure::by_hand("`routes`: switches that reroute by themselves send packets up again; routes that know of the failed links do not",
            ));
        } else if cures.is_empty() {
            cures.push(Cure::by_hand("`routes`: the paths of the flows depend on each other in a cycle: routes that go up and then down do not",
            ));
        }
        let watches = |switch: &SwitchSettings| {
            let watchdog = switch.watchdog.as_ref();
            watchdog.is_some_and(|watchdog| watchdog.ports == Watched::All)
        };
        // One is enough for a cycle.
        let first = switches().next();
        if let Some(switch) = first.filter(|_| !switches().any(watches)) {
            let end = cycle.opened.unwrap_or(self.simulation.now());
            let (detect, unusual) = watchdog(end.saturating_since(cycle.closed));
            let detect = match detect == USUAL_WATCHDOG {
                true => String::new(),
                false => format!(", detect = \"{detect}\""),
            };
            cures.push(Cure::new(
                format!("{}.watchdog={{ ports = \"all\"{detect} }}", switch.place()),
                format!(
                    "a pause watchdog breaks it: it gives up the class at a port that is stuck{unusual}"
                ),
            ));
        }
        cures
    }

    pub(super) fn storm(&self) -> Option<Broken> {
        let storms = self.recorder.detector().storms();
        let storm = storms
            .iter()
            .max_by_key(|storm| (storm.stopped.len(), std::cmp::Reverse(storm.from)))?;
        let origin = self.name(storm.origin);
        let end = storm.to.unwrap_or(self.simulation.now());
        let share =
            storm.paused.as_ps() as f64 / end.saturating_since(storm.from).as_ps().max(1) as f64;
        let until = match storm.to {
            Some(to) => format!("to {}", at(to)),
            None => "to the end".into(),
        };
        let stands = match storm.to {
            Some(_) => String::new(),
            None => format!("{}, {} held", self.standing(), self.held()),
        };
        let headline = format!(
            "Pause storm: {origin} pauses class {} from {} {until}, {} of that time: {}{stands}{}",
            storm.link.class,
            at(storm.from),
            part(share),
            count(
                storm.stopped.len() as u64,
                "link is stopped",
                "links are stopped"
            ),
            self.more_storms(&storms, storm),
        );
        let cures = self.cures_of_storm(storm);
        Some(Broken::new(headline, cures))
    }

    /// What ends a storm.
    fn cures_of_storm(&self, storm: &Storm) -> Vec<Cure> {
        let origin = self.name(storm.origin);
        let end = storm.to.unwrap_or(self.simulation.now());
        let lasted = end.saturating_since(storm.from);
        let (detect, unusual) = watchdog(lasted);
        let edge = self.switch(self.name(storm.link.node));
        let bite = self.scenario.host.watchdog_bite;
        let dog = edge.and_then(|edge| Some(edge.watchdog.as_ref()?.detect));
        // A NIC that pauses of itself does so while its receive side goes on.
        let of_itself = self.scenario.events.iter().any(
            |event| matches!(&event.action, Action::PauseStorm(storm) if storm.host == origin),
        );
        let acted = |after: &Duration| storm.to.is_some() && *after <= lasted;
        if bite.filter(|_| !of_itself).iter().chain(&dog).any(acted) {
            return vec![Cure::by_hand(format!(
                "a watchdog has ended it; {origin} has to be mended"
            ))];
        }
        let mut cures = Vec::new();
        if !of_itself && bite.is_none_or(|bite| bite > detect) {
            cures.push(Cure::new(
                format!("host.watchdog_bite=\"{detect}\""),
                format!(
                    "the NIC stops pausing when its receive side stands still for so long{unusual}"
                ),
            ));
        }
        if let Some(switch) = edge.filter(|_| dog.is_none_or(|dog| dog > detect)) {
            cures.push(Cure::new(
                format!("{}.watchdog={{ detect = \"{detect}\" }}", switch.place()),
                format!(
                    "the switch gives up the class at the port to {origin} when it is stuck for so long{unusual}"
                ),
            ));
        }
        if cures.is_empty() {
            cures.push(Cure::by_hand(format!("{origin} has to be mended")));
        }
        cures
    }

    /// The storms beside the one that is told of: those of the same host, and other hosts.
    fn more_storms(&self, storms: &[Storm], told: &Storm) -> String {
        let again = storms
            .iter()
            .filter(|storm| storm.link == told.link)
            .count() as u64
            - 1;
        let others = storms.iter().map(|storm| storm.origin);
        let others: BTreeSet<_> = others.filter(|origin| *origin != told.origin).collect();
        let mut text = match again {
            0 => String::new(),
            more => format!("; and {} more", count(more, "time", "times")),
        };
        if !others.is_empty() {
            let hosts = count(others.len() as u64, "more host does", "more hosts do");
            text += &format!("; {hosts} too");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A watchdog that is proposed acts within what it is to cure.
    #[test]
    fn watchdogs_act_while_it_lasts() {
        let acts = |lasted| watchdog(lasted).0;
        assert_eq!(acts(Duration::from_ms(140)), USUAL_WATCHDOG);
        assert_eq!(acts(Duration::from_ms(100)), Duration::from_ms(20));
        assert_eq!(acts(Duration::from_ms(5)), Duration::from_ms(1));
        assert_eq!(acts(Duration::from_us(840)), Duration::from_us(200));
        let (_, why) = watchdog(Duration::from_us(840));
        assert_eq!(why, "; 100 ms are usual, and it lasted for 840 µs here");
        assert_eq!(watchdog(Duration::from_ms(140)).1, "");
    }
}
