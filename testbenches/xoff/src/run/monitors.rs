//! The protocol monitors over a run: `xoff run --check`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use xoff_monitor::{Monitor, Report, Rule, Sighting, Tally, Tap, UnknownRule, Violation};
use xoff_network::results::{Finding, FindingKind, Monitored, Summary, ns};
use xoff_network::scenario::switch::Classify;
use xoff_network::scenario::{HostSettings, Scenario, SwitchSettings};
use xoff_network::{Observer, ObserverError, Simulation};
use xoff_sim::kernel::{NodeId, PortId, Record};
use xoff_sim::mac::PauseKind;

/// Maximum number of frames of a rule that are named in its finding.
const NAMED: usize = 8;

/// Monitors at ports of a simulation.
#[derive(Debug)]
pub struct Monitors {
    monitor: Monitor,
    taps: BTreeMap<(NodeId, PortId), usize>,
    seen: u64,
    /// Rules that frames break by design of the scenario.
    by_design: BTreeSet<Rule>,
}

impl Monitors {
    /// Watches `ports`, with the rules of `monitor`. Of each port the name, the rate and whether it is a host's are
    /// known; `complete` adds what else is.
    pub fn at(
        mut monitor: Monitor,
        simulation: &mut Simulation,
        ports: &[(NodeId, PortId)],
        complete: impl Fn(NodeId, &mut Tap),
    ) -> Self {
        let mut taps = BTreeMap::new();
        for &(node, port) in ports {
            let mut tap = Tap {
                host: simulation.network().node(node).switch().is_none(),
                rate: Some(simulation.line_rate(node, port)),
                ..Tap::new(simulation.port_name(node, port))
            };
            complete(node, &mut tap);
            taps.insert((node, port), monitor.add_tap(tap));
        }
        simulation.tap(ports, true);
        Self {
            monitor,
            taps,
            seen: 0,
            by_design: BTreeSet::new(),
        }
    }

    /// Watches `ports`, with how each node classifies frames and which pauses it obeys. Where switches spray packets,
    /// only hosts are watched: other ports see a part of each flow. `scenario` is written out.
    ///
    /// # Errors
    ///
    /// Returns an error if the scenario says that it breaks a rule that does not exist.
    pub fn new(
        scenario: &Scenario,
        simulation: &mut Simulation,
        ports: &[(NodeId, PortId)],
    ) -> anyhow::Result<Self> {
        let switches: BTreeMap<String, &SwitchSettings> = (scenario.switches.iter())
            .flat_map(|settings| {
                settings
                    .names()
                    .into_iter()
                    .map(move |name| (name, settings))
            })
            .collect();
        let of_node: Vec<Option<&SwitchSettings>> = (simulation.names().iter())
            .map(|name| switches.get(name).copied())
            .collect();
        let sprayed = scenario.switches.iter().any(|switch| switch.spray);
        let watched: Vec<_> = (ports.iter().copied())
            .filter(|(node, _)| !sprayed || of_node[node.0 as usize].is_none())
            .collect();
        let monitor = Self::rules(scenario);
        let mut this = Self::at(monitor, simulation, &watched, |node, tap| {
            tap.orderly = !sprayed;
            match of_node[node.0 as usize] {
                Some(switch) => at_switch(tap, switch),
                None => at_host(tap, &scenario.host),
            }
        });
        this.by_design = broken_by_design(scenario)?;
        Ok(this)
    }

    /// The rules for a scenario: also the time between CNPs, if there are any.
    pub fn rules(scenario: &Scenario) -> Monitor {
        match scenario.host.dcqcn.as_ref().filter(|dcqcn| dcqcn.on) {
            Some(dcqcn) => Monitor::new().with_cnp_interval(dcqcn.cnp_interval),
            None => Monitor::new(),
        }
    }

    /// Judges a frame, if it is of a port that is watched.
    pub fn see(&mut self, record: &Record) {
        let Some(&tap) = self.taps.get(&(record.node, record.port)) else {
            return;
        };
        self.seen += 1;
        let bytes = record.frame.bytes.whole();
        self.monitor.see(&Sighting {
            tap,
            number: self.seen,
            time: record.frame.end,
            direction: Some(record.direction),
            bytes: &bytes,
            line: None,
            kept: bytes.len(),
            addressed: true,
            fcs_ok: record.frame.fcs_ok,
        });
    }

    /// What was found so far.
    pub fn report(&self) -> &Report {
        self.monitor.report()
    }

    /// Returns what was found.
    pub fn into_report(self) -> Report {
        self.monitor.into_report()
    }
}

impl Observer for Monitors {
    fn frames(&mut self, records: &[Record]) -> Result<(), ObserverError> {
        records.iter().for_each(|record| self.see(record));
        Ok(())
    }

    /// Adds what was watched, and a finding for each rule that was broken.
    fn add_to(&self, summary: &mut Summary) {
        let (report, by_design) = (self.report(), &self.by_design);
        let meant = (report.rules.iter())
            .filter(|(rule, _)| by_design.contains(rule))
            .map(|(_, tally)| tally.violations)
            .sum();
        summary.monitored = Some(Monitored {
            ports: self.taps.len(),
            frames: report.frames,
            checks: report.rules.iter().map(|(_, tally)| tally.checked).sum(),
            violations: report.violation_count() - meant,
            by_design: meant,
        });
        let broken = |(rule, tally): (Rule, &Tally)| {
            let mut all = report.violations.iter().filter(|it| it.rule == rule);
            let first = all.clone().next()?;
            let line =
                |it: &Violation| format!("{} at {}: {}", it.time.since_start(), it.tap, it.text);
            let frames = all.clone().take(NAMED).map(line);
            Some(Finding {
                kind: match by_design.contains(&rule) {
                    true => FindingKind::ByDesign,
                    false => FindingKind::Violation,
                },
                text: format!(
                    "{rule}: {} of {} frames break it, the first at {}",
                    tally.violations,
                    tally.checked,
                    line(first)
                ),
                details: std::iter::once(rule.statement().to_owned())
                    .chain(frames)
                    .collect(),
                from_ns: ns(first.time),
                to_ns: all.next_back().map(|last| ns(last.time)),
            })
        };
        summary
            .findings
            .extend(report.rules.iter().filter_map(broken));
    }
}

/// The rules that frames break by design of a scenario.
///
/// # Errors
///
/// Returns an error that names a rule that does not exist.
pub fn broken_by_design(scenario: &Scenario) -> anyhow::Result<BTreeSet<Rule>> {
    let rule = |id: &String| {
        id.parse()
            .map_err(|error: UnknownRule| anyhow!("breaks: {error}"))
    };
    scenario.breaks.iter().map(rule).collect()
}

fn at_host(tap: &mut Tap, host: &HostSettings) {
    tap.pfc_classes = bits(&host.lossless);
    if host.classify == Classify::Dscp {
        tap.pcp_classes = None;
    }
}

fn at_switch(tap: &mut Tap, switch: &SwitchSettings) {
    match switch.classify {
        Classify::Dscp => tap.pcp_classes = None,
        // Frames without a tag have class 0.
        Classify::Pcp => tap.classes = [0; 64],
    }
    tap.pause = switch.pauses == PauseKind::Link;
    tap.pfc_classes = match switch.pauses {
        PauseKind::Pfc => bits(&switch.lossless),
        PauseKind::Link | PauseKind::Off => 0,
    };
}

fn bits(classes: &[u8]) -> u8 {
    classes.iter().fold(0, |bits, class| bits | 1 << class)
}
