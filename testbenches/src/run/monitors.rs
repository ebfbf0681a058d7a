//! The protocol monitors over a run: `xoff run --check`.

use std::collections::BTreeMap;

use xoff_cosim::network::Simulation;
use xoff_cosim::scenario::switch::Classify;
use xoff_cosim::scenario::{HostSettings, Scenario, SwitchSettings};
use xoff_monitor::{Monitor, Rule, Sighting, Tap};
use xoff_sim::kernel::{NodeId, PortId, Record};
use xoff_sim::mac::PauseKind;
use xoff_sim::time::Time;
use xoff_waves::report::{Finding, FindingKind, Monitored};

/// Maximum number of frames of a rule that are named in its finding.
const NAMED: usize = 8;

/// Monitors at ports of a simulation.
#[derive(Debug)]
pub(super) struct Monitors {
    monitor: Monitor,
    taps: BTreeMap<(NodeId, PortId), usize>,
    seen: u64,
}

impl Monitors {
    /// Creates monitors at `ports`, which know how each node classifies frames and which pauses it obeys. Where
    /// switches spray packets, only hosts have monitors: other ports see a part of each flow. `scenario` is the
    /// [expanded](Scenario::expanded) one.
    pub fn new(scenario: &Scenario, simulation: &Simulation, ports: &[(NodeId, PortId)]) -> Self {
        let hosts: Vec<(Vec<String>, HostSettings)> = (scenario.hosts.iter())
            .map(|entry| (entry.names(), scenario.settings_of(entry)))
            .collect();
        let switches: Vec<(Vec<String>, &SwitchSettings)> = (scenario.switches.iter())
            .map(|settings| (settings.names(), settings))
            .collect();
        let of_switch: BTreeMap<&str, &SwitchSettings> = (switches.iter())
            .flat_map(|(names, settings)| names.iter().map(|name| (name.as_str(), *settings)))
            .collect();
        let of_host: BTreeMap<&str, &HostSettings> = (hosts.iter())
            .flat_map(|(names, settings)| names.iter().map(move |name| (name.as_str(), settings)))
            .collect();
        let intervals = of_host.values().filter_map(|host| {
            let dcqcn = host.dcqcn.as_ref().filter(|dcqcn| dcqcn.on)?;
            Some(dcqcn.cnp_interval)
        });
        let mut monitor = Monitor::new();
        if let Some(interval) = intervals.min() {
            monitor = monitor.with_cnp_interval(interval);
        }
        let sprayed = scenario.switches.iter().any(|switch| switch.spray);
        let mut taps = BTreeMap::new();
        for &(node, port) in ports {
            let name = simulation.names()[node.0 as usize].as_str();
            let mut tap = Tap::new(format!("{name}.{}", port.0));
            tap.rate = Some(simulation.line_rate(node, port));
            if let Some(host) = of_host.get(name) {
                at_host(&mut tap, host);
            } else if let Some(switch) = of_switch.get(name) {
                if sprayed {
                    continue;
                }
                at_switch(&mut tap, switch);
            }
            tap.orderly = !sprayed;
            taps.insert((node, port), monitor.add_tap(tap));
        }
        Self {
            monitor,
            taps,
            seen: 0,
        }
    }

    /// Judges a frame, if it is of a port with a monitor.
    pub fn see(&mut self, record: &Record) {
        let Some(&tap) = self.taps.get(&(record.node, record.port)) else {
            return;
        };
        self.seen += 1;
        self.monitor.see(&Sighting {
            tap,
            number: self.seen,
            time: record.frame.end,
            direction: Some(record.direction),
            bytes: &record.frame.bytes,
            fcs_ok: record.frame.fcs_ok,
        });
    }

    /// Returns what was watched, and a finding for each rule that was broken.
    pub fn end(self) -> (Monitored, Vec<Finding>) {
        let ports = self.taps.len();
        let report = self.monitor.into_report();
        let monitored = Monitored {
            ports,
            frames: report.frames,
            checks: report.rules.values().map(|tally| tally.checked).sum(),
            violations: report.violation_count(),
        };
        let broken = |(rule, tally): (&Rule, &xoff_monitor::Tally)| {
            let mut all = report.violations.iter().filter(|it| it.rule == *rule);
            let first = all.clone().next()?;
            let line = |it: &xoff_monitor::Violation| {
                format!("{} at {}: {}", it.time.since_start(), it.tap, it.text)
            };
            let frames = all.clone().take(NAMED).map(line);
            Some(Finding {
                kind: FindingKind::Violation,
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
        let findings = report.rules.iter().filter_map(broken).collect();
        (monitored, findings)
    }
}

fn ns(time: Time) -> u64 {
    time.as_ps() / 1_000
}

fn at_host(tap: &mut Tap, host: &HostSettings) {
    tap.host = true;
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
