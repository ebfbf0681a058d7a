//! Model NICs connected by links and by a switch.

use super::*;
use crate::host::{FlowConfig, PcieConfig, Receiver, Sender};
use crate::kernel::{Network, NetworkBuilder, NodeId, Record};
use crate::link::Link;
use crate::nic::Address;
use crate::protocol::gbn::{RequesterConfig, ResponderConfig, WorkKind};
use crate::seeded::Seed;
use crate::time::{Duration, Length};
use crate::wire::{MacAddr, Psn};

mod dropped;
mod flows;
mod losses;
mod pausing;
mod switched;

fn address(host: u8) -> Address {
    Address {
        mac: MacAddr([0x02, 0, 0, 0, 0, host]),
        ip: std::net::Ipv4Addr::new(10, 0, 0, host).into(),
    }
}

/// The NIC of host `host` of a network. The phase of its clock differs a little from those of the others.
fn nic(host: u8, pcie: &PcieConfig, change: impl FnOnce(&mut ModelNicConfig)) -> ModelNic {
    let phase = Duration::from_ps(977 * u64::from(host));
    let clock = Clock::new(Clock::PERIOD_40G, phase);
    let mut config = ModelNicConfig::new(clock, NicSettings::new(address(host).mac));
    change(&mut config);
    let host = Host::new(config.clock, 32, pcie);
    ModelNic::new(config, host)
}

fn qp(own: u8, peer: u8, own_index: u16, peer_index: u16) -> QpSettings {
    let psn =
        |host: u8, index: u16| Psn::wrapping(0xFF_FFF0 + u32::from(host) * 1000 + u32::from(index));
    QpSettings {
        own: address(own),
        peer: address(peer),
        tags: vec![],
        dscp: 24,
        hop_limit: 64,
        udp_port: 0xC000 + own_index,
        pkey: 0xFFFF,
        peer_qpn: 0x100 + u32::from(peer_index),
        requester: RequesterConfig {
            mtu: 2,
            timeout: 4,
            retry: 7,
            rnr_retry: 7,
            ack_every: 4,
            window: 200,
            ..RequesterConfig::default()
        },
        requester_psn: psn(own, own_index),
        responder: ResponderConfig {
            mtu: 2,
            rnr_timer: 1,
            restart: false,
        },
        responder_psn: psn(peer, peer_index),
    }
}

fn flow(number: u32, kind: WorkKind, message: u32, count: Option<u64>) -> FlowConfig {
    FlowConfig {
        number,
        kind,
        message,
        count,
        outstanding: 8,
        start: Time::ZERO,
        interval: None,
    }
}

/// Opens QP `index` at both ends and starts a flow on it from the first to the second. Regions have the same indices
/// as the QPs.
fn connect(
    from: (&mut ModelNic, u8),
    to: (&mut ModelNic, u8),
    index: u16,
    config: &FlowConfig,
    change: impl Fn(&mut QpSettings),
) {
    let (from, from_host) = from;
    let (to, to_host) = to;
    let region = Region {
        base: config.base(),
        length: config.region_bytes(),
        tag: 0x5A,
        local_write: true,
        remote_write: true,
    };
    let mut settings = qp(from_host, to_host, index, index);
    change(&mut settings);
    from.open(index, &settings);
    let mut settings = qp(to_host, from_host, index, index);
    change(&mut settings);
    to.open(index, &settings);
    let local = from.register(index, region);
    let remote = to.register(index, region);
    from.host_mut()
        .send(Sender::new(config.clone(), index, local, remote));
    to.host_mut()
        .receive(Receiver::new(config.clone(), index, remote, 16));
}

/// Two NICs and a cable of 20 m.
fn pair(nics: [ModelNic; 2], faults: [&[&str]; 2]) -> Network<ModelNic> {
    let mut builder = NetworkBuilder::new(Seed(3));
    let [a, b] = nics.map(|nic| builder.node(nic));
    let mut link = Link::new(Length::from_m(20), Duration::from_ns(150));
    for (rules, texts) in link.faults.iter_mut().zip(faults) {
        *rules = texts.iter().map(|text| text.parse().unwrap()).collect();
    }
    builder
        .connect((a, PortId(0)), (b, PortId(0)), &link)
        .unwrap();
    builder.build()
}

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);

/// Asserts that the host found no error.
fn good(nic: &ModelNic) {
    assert_eq!(nic.host().errors(), Default::default());
    assert_eq!(nic.host().failure(), None);
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
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
