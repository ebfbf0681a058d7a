//! All that was measured, by name.
//!
//! | metric | what it is |
//! |---|---|
//! | `goodput_gbps.<flow>`, `.total` | payload of completed messages over time, from the first completion measured (or the start) to the last |
//! | `jain_index` | of the flows' goodput: 1 is even, 1/n is all to one |
//! | `wire_utilization.<node>.<port>` | part of the line's time that frames fill, preamble and gap included |
//! | `drops.<node>.<reason>`, `drops.total` | frames dropped, since the start |
//! | `pause_frames_tx.<node>` | PFC and PAUSE frames sent |
//! | `pause_time_ns.<node>.<class>` | time for which a class could not be sent; of a switch the sum over its ports |
//! | `ecn_marked.<switch>`, `cnps_tx.<host>`, `cnps_rx.<host>` | congestion |
//! | `naks_tx.<host>`, `retransmitted_packets.<host>`, `timeouts.<host>`, `request_packets.<host>` | losses |
//! | `packets_behind_a_loss.<host>`, `first_sent_fraction.<host>` | packets sent between a loss and its NAK's arrival, on average; part of the request packets that were no repetitions |
//! | `message_latency_ns.<flow>.p50`, `.p99`, `.p999` | from post to completion, as the application sees it |
//! | `messages.<flow>` | completed, since the start |
//! | `payload_errors`, `completion_errors`, `failed_qps` | what applications found wrong, since the start; 0 |

use std::collections::BTreeMap;

use xoff_sim::kernel::{Node, NodeId, PortId};
use xoff_sim::nic_registers::{self as reg, COUNTERS};
use xoff_sim::switch::DropReason;
use xoff_sim::time::{Duration, Time};
use xoff_waves::report::{Drop, Fault, Injection};

use xoff_cosim::network::{FlowEnds, InjectionUse, RuleUse, Simulation};
use xoff_cosim::scenario::{Scenario, Towards};

/// Counters at an instant; differences are what was counted between two. Those of `drops` and errors are not among them: they count from the start.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// By metric name.
    named: BTreeMap<String, f64>,
    /// How long frames held the line that leaves a port.
    wire: BTreeMap<(NodeId, PortId), Duration>,
}

impl Counts {
    /// A counter; 0 if nothing was ever counted.
    fn get(&self, name: &str) -> f64 {
        self.named.get(name).copied().unwrap_or(0.0)
    }
}

/// For how long until now frames, with preambles and gaps, held the line that leaves a port.
pub fn wire_time(simulation: &Simulation, node: NodeId, port: PortId) -> Duration {
    let network = simulation.network();
    let rate = network.node(node).line_rates()[usize::from(port.0)];
    rate.time_of(network.counters(node, port).wire_bytes_sent())
}

/// Counters that grow, as of now.
pub fn counts(simulation: &Simulation) -> Counts {
    let mut counts = BTreeMap::new();
    let mut wire = BTreeMap::new();
    for (node, station) in simulation.stations() {
        let name = &simulation.names()[node.0 as usize];
        for port in simulation.ports(node) {
            wire.insert((node, port), wire_time(simulation, node, port));
        }
        if let Some(nic) = station.nic_counters() {
            for (metric, register) in [
                ("pause_frames_tx", reg::PFC_OUT),
                ("cnps_tx", reg::CNPS_OUT),
                ("cnps_rx", reg::CNPS_IN),
                ("naks_tx", reg::NAKS_OUT),
                ("naks_rx", reg::NAKS_IN),
                ("rnr_naks_tx", reg::RNR_NAKS_OUT),
                ("retransmitted_packets", reg::RESENT_OUT),
                ("request_packets", reg::REQUESTS_OUT),
                ("timeouts", reg::TIMEOUTS),
            ] {
                counts.insert(format!("{metric}.{name}"), nic.get(register) as f64);
            }
        }
        for (class, time) in (station.pause_times(simulation.now()).iter()).enumerate() {
            let ns = time.as_ps() as f64 / 1e3;
            counts.insert(format!("pause_time_ns.{name}.{class}"), ns);
        }
        if let Some(switch) = station.switch() {
            let ports = simulation.ports(node);
            let (mut pauses, mut marked) = (0, 0);
            for port in ports {
                let counters = switch.counters(port);
                pauses += counters.pauses_sent;
                marked += counters.marked.iter().sum::<u64>();
            }
            counts.insert(format!("pause_frames_tx.{name}"), pauses as f64);
            counts.insert(format!("ecn_marked.{name}"), marked as f64);
        }
    }
    Counts {
        named: counts,
        wire,
    }
}

/// The scenario's rules of faults and what they have done.
pub fn faults(simulation: &Simulation, scenario: &Scenario) -> Vec<Fault> {
    let fault = |RuleUse {
                     place,
                     rule,
                     counters,
                 }| Fault {
        place,
        rule,
        matched: counters.matched,
        hit: counters.hit,
    };
    simulation
        .rule_uses(scenario)
        .into_iter()
        .map(fault)
        .collect()
}

/// The frames that the scenario injects, a wire each.
pub fn injections(simulation: &Simulation, scenario: &Scenario) -> Vec<Injection> {
    let injection = |wire: InjectionUse| Injection {
        host: wire.host,
        direction: match wire.towards {
            Towards::Host => "towards".into(),
            Towards::Network => "from".into(),
        },
        frames: wire.frames,
        injected: wire.counters.injected,
        waited: wire.counters.waited,
        delayed: wire.counters.delayed,
    };
    let wires = simulation.injection_uses(scenario);
    wires.into_iter().map(injection).collect()
}

/// Drops by node and reason, of all reasons that a node can have.
pub fn drops(simulation: &Simulation) -> Vec<Drop> {
    let mut drops = Vec::new();
    for (node, station) in simulation.stations() {
        let name = &simulation.names()[node.0 as usize];
        let mut add = |reason: String, count: u64| {
            let node = name.clone();
            drops.push(Drop {
                node,
                reason,
                count,
            });
        };
        if let Some(mac) = station.mac_counters() {
            add("bad_fcs".into(), mac.bad_fcs);
            add("runt".into(), mac.runts);
            add("giant".into(), mac.giants);
            add("mac_overflow".into(), mac.overflows);
        }
        if let Some(nic) = station.nic_counters() {
            for counter in COUNTERS
                .iter()
                .filter(|counter| counter.name.starts_with("drop_"))
            {
                add(
                    counter.name.trim_start_matches("drop_").into(),
                    nic.get(counter.address),
                );
            }
        }
        if let Some(switch) = station.switch() {
            for reason in DropReason::ALL {
                let ports = simulation.ports(node);
                let count = ports
                    .map(|port| switch.counters(port).dropped_for(reason))
                    .sum();
                let name = serde_json::to_value(reason).ok();
                let name = name.and_then(|name| name.as_str().map(str::to_owned));
                add(name.unwrap_or_else(|| reason.to_string()), count);
            }
        }
    }
    drops
}

/// Messages completed from `from` on: payload a second, in Gb/s.
fn goodput(simulation: &Simulation, flow: &FlowEnds, from: Time) -> f64 {
    let sender = simulation.sender(flow);
    let delivered = sender.delivered();
    let first = delivered.partition_point(|message| message.at < from);
    // From the start of the flow when all of it counts; else from a completion, so that no message counts in part.
    let (since, first) = if from <= sender.config.start {
        (sender.config.start, 0)
    } else {
        match delivered.get(first) {
            Some(message) => (message.at, first + 1),
            None => return 0.0,
        }
    };
    let (Some(last), messages) = (delivered.last(), delivered.len().saturating_sub(first)) else {
        return 0.0;
    };
    let time = last.at.saturating_since(since).as_ps();
    if time == 0 {
        return 0.0;
    }
    let bits = messages as f64 * f64::from(sender.config.message) * 8.0;
    bits * 1e3 / time as f64
}

/// A quantile of sorted values, by nearest rank.
fn quantile(sorted: &[u64], part: f64) -> u64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Everything, measured from `from` to now; `before` is what [`counts`] gave then. A metric of something of which there was none is not a number; the names are the same at all times.
pub fn metrics(simulation: &Simulation, before: &Counts, from: Time) -> BTreeMap<String, f64> {
    let now = counts(simulation);
    let since = |name: &str| now.get(name) - before.get(name);
    let elapsed = simulation.now().saturating_since(from);
    let mut metrics = BTreeMap::new();
    for name in now.named.keys() {
        metrics.insert(name.clone(), since(name));
    }
    for (&(node, port), held) in &now.wire {
        let before = before.wire.get(&(node, port)).copied().unwrap_or_default();
        let name = &simulation.names()[node.0 as usize];
        metrics.insert(
            format!("wire_utilization.{name}.{}", port.0),
            part(*held - before, elapsed),
        );
    }
    for (node, station) in simulation.stations() {
        if station.host().is_some() {
            let name = &simulation.names()[node.0 as usize];
            let resent = since(&format!("retransmitted_packets.{name}"));
            let naks = since(&format!("naks_rx.{name}"));
            let requests = since(&format!("request_packets.{name}"));
            // The lost packet itself is resent too.
            let behind = (naks > 0.0).then(|| resent / naks - 1.0);
            let first = (requests > 0.0).then(|| 1.0 - resent / requests);
            for (metric, value) in [
                ("packets_behind_a_loss", behind),
                ("first_sent_fraction", first),
            ] {
                metrics.insert(format!("{metric}.{name}"), value.unwrap_or(f64::NAN));
            }
        }
    }
    let mut rates = Vec::new();
    for flow in simulation.flows() {
        let rate = goodput(simulation, flow, from);
        rates.push(rate);
        metrics.insert(format!("goodput_gbps.{}", flow.name), rate);
        let delivered = simulation.sender(flow).delivered();
        metrics.insert(format!("messages.{}", flow.name), delivered.len() as f64);
        let measured = delivered.iter().filter(|message| message.at >= from);
        let mut latencies: Vec<u64> = measured.map(|message| message.latency.as_ps()).collect();
        latencies.sort_unstable();
        for (name, part) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
            let ns = match latencies.is_empty() {
                true => f64::NAN,
                false => quantile(&latencies, part) as f64 / 1e3,
            };
            metrics.insert(format!("message_latency_ns.{}.{name}", flow.name), ns);
        }
    }
    metrics.insert("goodput_gbps.total".into(), rates.iter().sum());
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    let sum: f64 = rates.iter().sum();
    let jain = sum * sum / (rates.len() as f64 * squares);
    metrics.insert("jain_index".into(), jain);
    metrics.insert("drops.total".into(), 0.0);
    for drop in drops(simulation) {
        metrics.insert(
            format!("drops.{}.{}", drop.node, drop.reason),
            drop.count as f64,
        );
        *metrics.entry("drops.total".into()).or_default() += drop.count as f64;
    }
    let pauses: f64 = metrics
        .iter()
        .filter(|(name, _)| name.starts_with("pause_frames_tx."))
        .map(|(_, count)| count)
        .sum();
    metrics.insert("pause_frames_tx.total".into(), pauses);
    let errors = simulation
        .stations()
        .filter_map(|(_, station)| Some(station.host()?.errors()));
    let (mut payload, mut completions, mut failed) = (0, 0, 0);
    for error in errors {
        payload += error.payload_bytes;
        completions += error.completions;
        failed += error.failed_qps;
    }
    metrics.insert("payload_errors".into(), payload as f64);
    metrics.insert("completion_errors".into(), completions as f64);
    metrics.insert("failed_qps".into(), failed as f64);
    metrics
}

/// What part of a time another is.
pub fn part(of: Duration, time: Duration) -> f64 {
    of.as_ps() as f64 / time.as_ps() as f64
}

/// Cycles of all NICs until now, and those of them that were evaluated.
pub fn nic_cycles(simulation: &Simulation) -> (u64, u64) {
    let rtl = simulation
        .stations()
        .filter_map(|(_, station)| station.rtl());
    let both = rtl.map(|nic| (nic.cycles(), nic.cycles_evaluated()));
    both.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_values_that_came() {
        let values: Vec<u64> = (1..=1000).collect();
        assert_eq!(
            [0.5, 0.99, 0.999].map(|part| quantile(&values, part)),
            [500, 990, 999]
        );
        assert_eq!([0.5, 0.999].map(|part| quantile(&[7], part)), [7, 7]);
    }
}
