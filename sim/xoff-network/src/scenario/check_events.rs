//! Checks of events, of given routes, and of settings of switches.

use xoff_sim::switch::{Limit, RedConfig};
use xoff_sim::time::Duration;

use super::check::{Issue, issue};
use super::event::{Faults, Forget, PauseStorm, Set, Stall};
use super::subjects::Subjects;
use super::switch::{Curve, Ecn};
use super::{Action, ClassSettings, Connection, Names, Scenario, Series, SwitchSettings};

/// The shortest period of an event that repeats: a run stops at each.
pub(super) const LEAST_PERIOD: Duration = Duration::from_us(1);

impl Scenario {
    /// Checks the settings of switches that are not sizes of buffers.
    pub(super) fn check_switches(&self) -> Vec<Issue> {
        let switches = self.switches.iter();
        let mut found: Vec<Issue> = switches
            .filter_map(|switch| check_switch(switch).err())
            .collect();
        // Tiers of a topology may have the same settings.
        found.dedup();
        found
    }

    /// Checks the routes that are given.
    pub(super) fn check_routes(&self, names: &Names) -> Vec<Issue> {
        if self.routes.is_empty() {
            return Vec::new();
        }
        let cables = self.cables_of(names);
        let joined = |a: &str, b: &str| joined(&cables, a, b);
        let mut found = Vec::new();
        for (place, route) in self.routes.iter().enumerate() {
            let mut wrong = |key: &str, problem: String| {
                found.push(issue(format!("routes.{place}.{key}"), problem));
            };
            if !names.switches().contains(&route.switch) {
                let problem = format!("'{}' is no switch: {}", route.switch, switches(names));
                wrong("switch", problem);
                continue;
            }
            let host = names.hosts().contains(&route.to);
            if !host && !names.switches().contains(&route.to) {
                let problem = format!(
                    "'{}' is no node: nodes are {}",
                    route.to,
                    names.list_nodes()
                );
                wrong("to", problem);
            }
            if route.to == route.switch || host && joined(&route.to, &route.switch) {
                let problem = format!(
                    "{} has a link to {}: no route is needed",
                    route.switch, route.to
                );
                wrong("to", problem);
            }
            if route.via.is_empty() {
                wrong("via", "no neighbour is named".into());
            }
            for via in &route.via {
                if !names.switches().contains(via) || !joined(via, &route.switch) {
                    let next = names
                        .switches()
                        .iter()
                        .filter(|name| joined(name, &route.switch));
                    let next: Vec<&str> = next.map(String::as_str).collect();
                    let problem = format!(
                        "'{via}' is no neighbouring switch of {}: these are {}",
                        route.switch,
                        next.join(", ")
                    );
                    wrong("via", problem);
                }
            }
        }
        found
    }

    /// Checks that events happen during the run, and that what they are about is there.
    pub(super) fn check_events(&self, names: &Names) -> Vec<Issue> {
        let mut found = Vec::new();
        let cables = match self.events.is_empty() {
            true => Vec::new(),
            false => self.cables_of(names),
        };
        for (place, event) in self.events.iter().enumerate() {
            let place = format!("events.{place}");
            if event.at >= self.duration {
                let problem = format!("{}: the run ends at {}", event.at, self.duration);
                found.push(issue(format!("{place}.at"), problem));
            }
            if let Some(every) = event.every.filter(|every| *every < LEAST_PERIOD) {
                let problem = format!("{every}: {LEAST_PERIOD} or longer");
                found.push(issue(format!("{place}.every"), problem));
            }
            let of_link = matches!(event.action, Action::LinkDown(_) | Action::LinkUp(_));
            if event.converge.is_some() && !of_link {
                let problem = "only link_down and link_up are known to other switches later";
                found.push(issue(format!("{place}.converge"), problem));
            }
            let action = self.check_action(&format!("{place}.do"), &event.action, (names, &cables));
            found.extend(action.err());
        }
        found
    }

    /// Checks that events about flows name flows, and those about QPs such as can be set. The flows have passed their
    /// checks.
    pub(super) fn check_events_of_flows(
        &self,
        flows: &[Connection<'_>],
        series: &[Series],
    ) -> Vec<Issue> {
        let mut found = Vec::new();
        let of_qps = |action: &Action| {
            matches!(action, Action::Dcqcn(_) | Action::Pace(_) | Action::Free(_))
        };
        let any = self.events.iter().any(|event| of_qps(&event.action));
        let subjects = any.then(|| Subjects::of(self, flows));
        for (place, event) in self.events.iter().enumerate() {
            if let Some(subjects) = subjects.as_ref().filter(|_| of_qps(&event.action)) {
                let wrong = match &event.action {
                    Action::Free(free) => subjects.check_free(free),
                    action => subjects.check(action),
                };
                let wrong = wrong.err();
                found.extend(wrong.map(|Issue { key, message }| {
                    issue(format!("events.{place}.do.{key}"), message)
                }));
            }
            let (key, name) = match &event.action {
                Action::Stop(name) => ("stop", name),
                Action::Start(name) => ("start", name),
                _ => continue,
            };
            let entries = self.flows.iter().map(|flow| &flow.name);
            let known = series.iter().map(|series| &series.name).chain(entries);
            if !known.into_iter().any(|known| known == name) {
                let names: Vec<&str> = self.flows.iter().map(|flow| flow.name.as_str()).collect();
                let problem = format!("'{name}' is no flow: flows are {}", names.join(", "));
                found.push(issue(format!("events.{place}.do.{key}"), problem));
            }
        }
        found
    }

    fn check_action(
        &self,
        place: &str,
        action: &Action,
        (names, cables): (&Names, &[(String, String, usize)]),
    ) -> Result<(), Issue> {
        let host = |key: &str, name: &String| match names.hosts().contains(name) {
            true => Ok(()),
            false => {
                let problem = format!("'{name}' is no host: hosts are {}", names.list_hosts());
                Err(issue(format!("{place}.{key}"), problem))
            }
        };
        let switch = |key: &str, name: &String| {
            let group = self.switches.iter().any(|entry| entry.name == *name);
            if group || names.switches().contains(name) {
                return Ok(());
            }
            let problem = format!("'{name}' is no switch: {}", switches(names));
            Err(issue(format!("{place}.{key}"), problem))
        };
        let link = |key: &str, a: &String, b: &String| match joined(cables, a, b) {
            true => Ok(()),
            false => Err(issue(
                format!("{place}.{key}"),
                format!("no link joins '{a}' and '{b}'"),
            )),
        };
        match action {
            Action::LinkDown([a, b]) => link("link_down", a, b),
            Action::LinkUp([a, b]) => link("link_up", a, b),
            Action::Faults(Faults { from, to, .. }) => link("faults", from, to),
            Action::Die(name) => host("die", name),
            Action::Revive(name) => host("revive", name),
            Action::Stall(Stall { host: name, .. }) => host("stall.host", name),
            Action::PauseStorm(PauseStorm {
                host: name,
                classes,
                interval,
                ..
            }) => {
                host("pause_storm.host", name)?;
                let over = classes.iter().flatten().find(|class| **class > 7);
                if let Some(class) = over {
                    let problem = format!("class {class}: classes are 0 to 7");
                    return Err(issue(format!("{place}.pause_storm.classes"), problem));
                }
                match interval {
                    Some(interval) if *interval < Duration::from_ns(100) => Err(issue(
                        format!("{place}.pause_storm.interval"),
                        format!("{interval}: 100 ns or longer"),
                    )),
                    _ => Ok(()),
                }
            }
            Action::Forget(Forget {
                switch: name,
                host: about,
                ..
            }) => {
                switch("forget.switch", name)?;
                host("forget.host", about)?;
                link("forget.host", about, name)
            }
            Action::Set(set) => {
                switch("set.switch", &set.switch)?;
                check_set(&format!("{place}.set"), set)
            }
            // Flows are checked when it is known which there are, and with them what is set of their QPs.
            Action::Stop(_)
            | Action::Start(_)
            | Action::Dcqcn(_)
            | Action::Pace(_)
            | Action::Free(_) => Ok(()),
        }
    }
}

/// Checks new settings of a switch, whose name has been checked.
pub(super) fn check_set(place: &str, set: &Set) -> Result<(), Issue> {
    let Set {
        switch: _,
        xoff,
        ecn,
        lossless_never_floods,
    } = set;
    if xoff.is_none() && ecn.is_none() && lossless_never_floods.is_none() {
        let problem = "nothing is set: xoff, ecn or lossless_never_floods";
        return Err(issue(place, problem));
    }
    if let Some(xoff) = xoff {
        check_limit(&format!("{place}.xoff"), *xoff)?;
    }
    match ecn {
        Some(ecn) => check_ecn(&format!("{place}.ecn"), ecn),
        None => Ok(()),
    }
}

/// Whether a cable joins two nodes.
fn joined(cables: &[(String, String, usize)], a: &str, b: &str) -> bool {
    let joins = |(x, y, _): &(String, String, usize)| x == a && y == b || x == b && y == a;
    cables.iter().any(joins)
}

/// The switches there are, for a message.
fn switches(names: &Names) -> String {
    let all: Vec<&str> = names.switches().iter().map(String::as_str).collect();
    match all.is_empty() {
        true => "there is none".into(),
        false => format!("switches are {}", all.join(", ")),
    }
}

fn check_switch(switch: &SwitchSettings) -> Result<(), Issue> {
    let wrong =
        |key: &str, problem: String| Err(issue(format!("{}.{key}", switch.place()), problem));
    if switch.pause_quanta == 0 {
        return wrong("pause_quanta", "0 pauses nothing: 1 to 65535".into());
    }
    if let Some(vlan) = switch.trunk.filter(|vlan| *vlan > 4094) {
        return wrong("trunk", format!("{vlan}: VLANs are 0 to 4094"));
    }
    for (key, limit) in [("xoff", switch.xoff), ("lossy_limit", switch.lossy_limit)] {
        check_limit(&format!("{}.{key}", switch.place()), limit)?;
    }
    if let Some(dog) = &switch.watchdog
        && (dog.detect == Duration::ZERO || dog.restore == Duration::ZERO)
    {
        let problem = "detect and restore are times above 0, such as '100 ms'";
        return wrong("watchdog", problem.into());
    }
    for (place, own) in switch.classes.iter().enumerate() {
        let place = format!("{}.classes.{place}", switch.place());
        let others = &switch.classes;
        check_class(&place, own, switch.lossless.contains(&own.class))?;
        if others
            .iter()
            .filter(|other| other.class == own.class)
            .count()
            > 1
        {
            let problem = format!("{} has settings twice", own.class);
            return Err(issue(format!("{place}.class"), problem));
        }
    }
    match &switch.ecn {
        Some(ecn) => check_ecn(&format!("{}.ecn", switch.place()), ecn),
        None => Ok(()),
    }
}

/// Checks the settings of one class, lossless or lossy.
fn check_class(place: &str, own: &ClassSettings, lossless: bool) -> Result<(), Issue> {
    let wrong = |key: &str, problem: String| Err(issue(format!("{place}.{key}"), problem));
    if own.class > 7 {
        return wrong("class", format!("{}: classes are 0 to 7", own.class));
    }
    let pausing = [
        ("xoff", own.xoff.is_some()),
        ("xon_offset", own.xon_offset.is_some()),
        ("headroom", own.headroom.is_some()),
    ];
    let dropping = [("lossy_limit", own.lossy_limit.is_some())];
    let (others, kind, of) = match lossless {
        true => (&dropping[..], "lossless", "a lossy one"),
        false => (&pausing[..], "lossy", "a lossless one"),
    };
    if let Some((key, _)) = others.iter().find(|(_, given)| *given) {
        let problem = format!("class {} is {kind}, and this is for {of}", own.class);
        return wrong(key, problem);
    }
    for (key, limit) in [("xoff", own.xoff), ("lossy_limit", own.lossy_limit)] {
        if let Some(limit) = limit {
            check_limit(&format!("{place}.{key}"), limit)?;
        }
    }
    match &own.ecn {
        Some(curve) => check_curve(&format!("{place}.ecn"), curve),
        None => Ok(()),
    }
}

fn check_limit(place: &str, limit: Limit) -> Result<(), Issue> {
    match limit {
        Limit::Alpha { den: 0, .. } => {
            let problem = "den 0: a part such as 1/16 has a denominator";
            Err(issue(place, problem))
        }
        _ => Ok(()),
    }
}

fn check_ecn(place: &str, ecn: &Ecn) -> Result<(), Issue> {
    if let Some(class) = ecn.classes.iter().flatten().find(|class| **class > 7) {
        let problem = format!("class {class}: classes are 0 to 7");
        return Err(issue(format!("{place}.classes"), problem));
    }
    check_curve(place, &ecn.curve())
}

fn check_curve(place: &str, curve: &Curve) -> Result<(), Issue> {
    if !(0.0..=1.0).contains(&curve.pmax) {
        let problem = format!("{}: a probability is 0 to 1", curve.pmax);
        return Err(issue(format!("{place}.pmax"), problem));
    }
    let RedConfig { kmin, kmax, .. } = curve.red();
    if kmin >= kmax {
        let problem = format!("{kmin} is not below kmax, {kmax}");
        return Err(issue(format!("{place}.kmin"), problem));
    }
    Ok(())
}
