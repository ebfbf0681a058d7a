//! Deadlocks and storms: nothing moves any more.

use xoff_sim::time::ByteCount;

use super::{Broken, Cure, Seen};
use crate::detect::Cycle;
use crate::metrics::Quantity;
use crate::scenario::switch::Watched;
use crate::scenario::{Action, SwitchSettings};
use crate::words::{at, bytes, count, part};
use xoff_sim::switch::forwarding::Miss;

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
        let unwatched = |name: &&&str| {
            let watchdog = self
                .switch(name)
                .and_then(|switch| switch.watchdog.as_ref());
            watchdog.is_none_or(|watchdog| watchdog.ports != Watched::All)
        };
        if let Some(switch) = names
            .iter()
            .find(unwatched)
            .and_then(|name| self.switch(name))
        {
            cures.push(Cure::new(
                format!("{}.watchdog={{ ports = \"all\" }}", switch.place()),
                "a pause watchdog breaks it: it gives up the class at a port that is stuck",
            ));
        }
        cures
    }

    pub(super) fn storm(&self) -> Option<Broken> {
        let storms = self.recorder.detector().storms();
        let storm = storms
            .iter()
            .max_by_key(|storm| (storm.stopped.len(), std::cmp::Reverse(storm.from)))?;
        let others = match storms.len() as u64 - 1 {
            0 => String::new(),
            more => format!("; {} too", count(more, "more host does", "more hosts do")),
        };
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
            "Pause storm: {origin} pauses class {} from {} {until}, {} of that time: {}{stands}{others}",
            storm.link.class,
            at(storm.from),
            part(share),
            count(
                storm.stopped.len() as u64,
                "link is stopped",
                "links are stopped"
            ),
        );
        let mut cures = Vec::new();
        if self.scenario.host.watchdog_bite.is_none() {
            cures.push(Cure::new(
                "host.watchdog_bite=\"100 ms\"",
                "the NIC stops pausing when its receive side stands still for so long",
            ));
        }
        let edge = self.switch(self.name(storm.link.node));
        if let Some(switch) = edge.filter(|switch| switch.watchdog.is_none()) {
            cures.push(Cure::new(
                format!("{}.watchdog={{ detect = \"100 ms\" }}", switch.place()),
                format!("the switch gives up the class at the port to {origin} when it is stuck for so long"),
            ));
        }
        if cures.is_empty() {
            cures.push(Cure::by_hand(format!(
                "watchdogs have ended it; {origin} has to be mended"
            )));
        }
        Some(Broken::new(headline, cures))
    }
}
