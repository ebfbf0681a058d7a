//! Frames and bytes at every port, and whether they add up.

use std::collections::BTreeMap;

use xoff_network::Simulation;
use xoff_sim::headers::Headers;
use xoff_sim::kernel::{Direction, NodeId, PortId, Record};
use xoff_sim::link::FaultInjector;
use xoff_sim::switch::{DropReason, Switch};
use xoff_sim::wire::{EtherType, PRIORITIES};

use crate::property::Disagreement;

/// Frames and their bytes, FCS included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Frames.
    pub frames: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What a port received and sent, without MAC control, which belongs to a link and not to a class.
#[derive(Debug, Clone, Copy, Default)]
struct Port {
    /// Of each class: received and sent.
    classes: [[Sum; 2]; PRIORITIES],
    /// All frames, MAC control too: received and sent.
    frames: [u64; 2],
}

/// Counts the frames at all ports from the outside, by their bytes.
#[derive(Debug, Default)]
pub struct Ledger {
    ports: BTreeMap<(NodeId, PortId), Port>,
    /// Frames so far, sent ones only.
    pub frames: u64,
}

/// The smallest and the largest frame, FCS included.
const SIZES: [u64; 2] = [64, 4_096 + 90];

impl Ledger {
    /// Counts a frame at a port.
    pub fn see(&mut self, record: &Record) {
        let place = match record.direction {
            Direction::Received => 0,
            Direction::Sent => 1,
        };
        self.frames += place as u64;
        let port = self.ports.entry((record.node, record.port)).or_default();
        port.frames[place] += 1;
        let headers = Headers::at(record.frame.bytes.headers());
        let data = headers.filter(|headers| headers.ether_type != EtherType::MAC_CONTROL);
        if let Some(headers) = data {
            // DSCP / 8.
            let class = headers.ip.map_or(0, |ip| ip.traffic_class >> 5);
            let sum = &mut port.classes[usize::from(class)][place];
            sum.frames += 1;
            sum.bytes += record.frame.size();
        }
    }

    /// Checks that nothing is missing: neither in a switch nor on a wire. Returns how many frames switches and wires
    /// lost, each with a reason.
    ///
    /// # Errors
    ///
    /// Returns what does not add up.
    pub fn balance(&self, simulation: &Simulation) -> Result<u64, Disagreement> {
        let mut lost = 0;
        for (node, station) in simulation.stations() {
            let name = &simulation.names()[node.0 as usize];
            if let Some(switch) = station.switch() {
                lost += (self.of_switch(simulation, node, switch))
                    .map_err(|what| format!("{name}: {what}"))?;
            }
            lost += (self.of_wires(simulation, node)).map_err(|what| format!("{name}: {what}"))?;
        }
        Ok(lost)
    }

    /// What a switch received is what it sent, holds, and dropped.
    fn of_switch(
        &self,
        simulation: &Simulation,
        node: NodeId,
        switch: &Switch,
    ) -> Result<u64, Disagreement> {
        let none = Port::default();
        let ports: Vec<_> = (simulation.ports(node))
            .map(|port| (port, self.ports.get(&(node, port)).unwrap_or(&none)))
            .collect();
        let mut passed = [[Sum::default(); 2]; PRIORITIES];
        let mut dropped = [0; PRIORITIES];
        for (port, seen) in &ports {
            for (sums, seen) in passed.iter_mut().zip(seen.classes) {
                for (sum, seen) in sums.iter_mut().zip(seen) {
                    sum.frames += seen.frames;
                    sum.bytes += seen.bytes;
                }
            }
            for reason in DropReason::ALL {
                let of_reason = &switch.counters(*port).dropped[reason as usize];
                for (dropped, count) in dropped.iter_mut().zip(of_reason) {
                    *dropped += count;
                }
            }
        }
        balance(
            passed,
            dropped,
            Sum {
                frames: switch.frames(),
                bytes: switch.occupancy(),
            },
        )
    }

    /// What the neighbours of a node sent to it has arrived, is under way, or was lost to a fault.
    fn of_wires(&self, simulation: &Simulation, node: NodeId) -> Result<u64, Disagreement> {
        let network = simulation.network();
        let (mut sent, mut received, mut lost) = (0, 0, 0);
        for port in simulation.ports(node) {
            let (from, from_port) = network.peer(node, port).ok_or("a port without a cable")?;
            sent += self
                .ports
                .get(&(from, from_port))
                .map_or(0, |port| port.frames[1]);
            received += self
                .ports
                .get(&(node, port))
                .map_or(0, |port| port.frames[0]);
            lost += network
                .faults(from, from_port)
                .map_or(0, FaultInjector::lost);
        }
        let under_way = network.in_flight(node) as u64;
        match sent == received + under_way + lost {
            true => Ok(lost),
            false => Err(format!(
                "its neighbours sent {sent} frames: {received} arrived, {under_way} are under way, {lost} were lost to faults"
            )),
        }
    }
}

/// Balances a switch: for each class what came and what left, and the frames dropped; and all that is held, of which
/// the class is not known.
fn balance(
    passed: [[Sum; 2]; PRIORITIES],
    dropped: [u64; PRIORITIES],
    held: Sum,
) -> Result<u64, Disagreement> {
    let mut stayed = Sum::default();
    for (class, ([came, left], dropped)) in passed.iter().zip(dropped).enumerate() {
        let frames = came
            .frames
            .checked_sub(left.frames + dropped)
            .ok_or_else(|| {
                format!(
                    "class {class}: {} frames came, {} left, {dropped} were dropped",
                    came.frames, left.frames
                )
            })?;
        stayed.frames += frames;
        stayed.bytes += came.bytes.checked_sub(left.bytes).ok_or_else(|| {
            format!(
                "class {class}: {} bytes came, {} left",
                came.bytes, left.bytes
            )
        })?;
    }
    let dropped: u64 = dropped.iter().sum();
    // Drops are counted in frames.
    let bytes = stayed.bytes.checked_sub(held.bytes);
    let fits = |bytes| (SIZES[0] * dropped..=SIZES[1] * dropped).contains(&bytes);
    match stayed.frames == held.frames && bytes.is_some_and(fits) {
        true => Ok(dropped),
        false => Err(format!(
            "{} frames and {} bytes came and did not leave; it holds {} and {}, and dropped {dropped} frames",
            stayed.frames + dropped,
            stayed.bytes,
            held.frames,
            held.bytes
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn sum(frames: u64, bytes: u64) -> Sum {
        Sum { frames, bytes }
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut passed = [[Sum::default(); 2]; PRIORITIES];
        passed[0] = [sum(10, 1_000), sum(7, 700)];
        passed[3] = [sum(5, 5_000), sum(4, 4_000)];
        let drops = |count| {
            let mut dropped = [0; PRIORITIES];
            dropped[0] = count;
            dropped
        };
        // Two of class 0 are dropped, one of it and one of class 3 are held.
        assert_eq!(balance(passed, drops(2), sum(2, 1_100)), Ok(2));
        // A drop that is not counted, and one that did not happen.
        for dropped in [1, 3] {
            assert!(balance(passed, drops(dropped), sum(2, 1_100)).is_err());
        }
        assert!(
            balance(passed, drops(4), sum(2, 1_100))
                .unwrap_err()
                .starts_with("class 0")
        );
        // A byte less is held than can be, and more.
        assert!(balance(passed, drops(2), sum(2, 1_300 - 127)).is_err());
        assert!(balance(passed, drops(2), sum(2, 1_301)).is_err());
        assert!(balance(passed, drops(2), sum(1, 1_100)).is_err());
    }
}
