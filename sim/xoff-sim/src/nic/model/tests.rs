//! Model NICs connected by links and by a switch.

use super::pair::{address, connect, nic, pair, qp, region};
use super::*;
use crate::host::{FlowConfig, PcieConfig, Receiver, Shapes};
use crate::kernel::{Network, NetworkBuilder, NodeId, Record};
use crate::link::Link;
use crate::protocol::gbn::WorkKind;
use crate::seeded::Seed;
use crate::time::{Duration, Length};
use crate::wire::{MacAddr, Psn};

mod answered;
mod dropped;
mod flows;
mod losses;
mod pausing;
mod reads;
mod selective;
mod switched;
mod translating;

fn flow(number: u32, kind: WorkKind, message: u32, count: Option<u64>) -> FlowConfig {
    FlowConfig {
        number,
        shapes: Shapes::all(kind, message),
        count,
        outstanding: 8,
        start: Time::ZERO,
        interval: None,
        working_set: None,
    }
}

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);

/// Asserts that the host found no error.
fn good(nic: &ModelNic) {
    assert_eq!(nic.host().errors(), Default::default());
    assert_eq!(nic.host().failure(), None);
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// Runs until all flows have finished and nothing is in progress. Frames seen go to `observe`.
fn finish(network: &mut Network<ModelNic>, limit: Time, mut observe: impl FnMut(&[Record])) {
    let busy = |network: &Network<ModelNic>| {
        [A, B]
            .iter()
            .any(|node| !network.node(*node).host().finished())
    };
    while busy(network) {
        assert!(network.now() < limit, "not done at {limit}");
        network.run_until(network.now() + Duration::from_us(20), &mut observe);
    }
    network.run_until(network.now() + Duration::from_us(20), &mut observe);
}
