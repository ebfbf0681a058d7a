//! Two model NICs at a cable with flows between them: the smallest network, for tests that need traffic and no
//! scenario.

use std::net::{IpAddr, Ipv4Addr};

use super::{ModelNic, ModelNicConfig};
use crate::host::{FlowConfig, Host, PcieConfig, Receiver, Sender};
use crate::kernel::{Network, NetworkBuilder, PortId};
use crate::link::Link;
use crate::nic::{Address, NicSettings, QpSettings, ReadRights, Region};
use crate::protocol::gbn::{RequesterConfig, ResponderConfig};
use crate::seeded::Seed;
use crate::time::{Clock, Duration, Length};
use crate::wire::{MacAddr, Psn};

/// The addresses of host `host`: 02:00:00:00:00:`host` and 10.0.0.`host`.
pub const fn address(host: u8) -> Address {
    Address {
        mac: MacAddr([0x02, 0, 0, 0, 0, host]),
        ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)),
    }
}

/// The NIC of host `host`, 40 Gb/s unless `change` says otherwise. The phase of its clock is `host` · 977 ps, so that
/// the NICs of a network have different ones.
pub fn nic(host: u8, pcie: &PcieConfig, change: impl FnOnce(&mut ModelNicConfig)) -> ModelNic {
    let phase = Duration::from_ps(977 * u64::from(host));
    let clock = Clock::new(Clock::PERIOD_40G, phase);
    let mut config = ModelNicConfig::new(clock, NicSettings::new(address(host).mac));
    change(&mut config);
    let host = Host::new(config.clock, 32, pcie);
    ModelNic::new(config, host)
}

/// Settings of QP `index` of host `own`, whose peer is the QP of the same index of host `peer`: path MTU 1,024, DSCP
/// 24, a timeout of 4.096 µs · 2⁴, an ACK every 4 packets, 200 packets without an ACK. First PSNs are near the wrap for
/// small numbers.
pub fn qp(own: u8, peer: u8, index: u16) -> QpSettings {
    let psn =
        |host: u8| Psn::wrapping(0xFF_FFF0 + 5_000 * u32::from(index) + 1_000 * u32::from(host));
    QpSettings {
        own: address(own),
        peer: address(peer),
        tags: vec![],
        dscp: 24,
        answer_dscp: None,
        answer_pcp: None,
        hop_limit: 64,
        udp_port: 0xC000 + index,
        pkey: 0xFFFF,
        pd: 0,
        peer_qpn: 0x100 + u32::from(index),
        requester: RequesterConfig {
            mtu: 2,
            timeout: 4,
            retry: 7,
            nak_retry: true,
            rnr_retry: 7,
            ack_every: 4,
            window: 200,
            ..RequesterConfig::default()
        },
        requester_psn: psn(own),
        responder: ResponderConfig {
            mtu: 2,
            rnr_timer: 1,
            restart: false,
        },
        responder_psn: psn(peer),
        selective: None,
    }
}

/// The memory of a flow, as a region that both ends may write.
pub const fn region(config: &FlowConfig) -> Region {
    Region {
        base: config.base(),
        length: config.region_bytes(),
        tag: 0x5A,
        pd: 0,
        local_write: true,
        remote_write: true,
    }
}

/// Opens QP `index` at both ends, with the settings of [`qp`] and a `change` to them, and starts a flow on it from the
/// first NIC to the second; each NIC comes with the number of its host. The flow's memory is a region of the same
/// index. READs and atomics are for NICs that [have them](ModelNic::enable_reads).
pub fn connect(
    from: (&mut ModelNic, u8),
    to: (&mut ModelNic, u8),
    index: u16,
    config: &FlowConfig,
    change: impl Fn(&mut QpSettings),
) {
    let (from, from_host) = from;
    let (to, to_host) = to;
    let region = region(config);
    let mut settings = qp(from_host, to_host, index);
    change(&mut settings);
    from.open(index, &settings);
    let mut settings = qp(to_host, from_host, index);
    change(&mut settings);
    to.open(index, &settings);
    let local = from.register(index, region);
    let remote = to.register(index, region);
    let rights = ReadRights {
        read: true,
        atomic: true,
    };
    to.permit(index, rights);
    from.host_mut()
        .send(Sender::new(config.clone(), index, local, remote));
    if config.arrives() {
        let receiver = Receiver::new(config.clone(), index, remote, 16);
        to.host_mut().receive(receiver);
    }
    if config.returns() {
        let receiver = Receiver::new(config.clone(), index, local, 16);
        from.host_mut().receive(receiver.returning());
    }
}

/// The network of two NICs, nodes 0 and 1, and a cable of 20 m with 150 ns of interfaces. `faults` are fault rules for
/// the way from the first to the second, and back.
///
/// # Panics
///
/// Panics if a rule cannot be read.
pub fn pair(nics: [ModelNic; 2], faults: [&[&str]; 2]) -> Network<ModelNic> {
    let mut builder = NetworkBuilder::new(Seed(3));
    let [a, b] = nics.map(|nic| builder.node(nic));
    let mut link = Link::new(Length::from_m(20), Duration::from_ns(150));
    for (rules, texts) in link.faults.iter_mut().zip(faults) {
        let read = |text: &&str| {
            let rule = text.parse();
            rule.unwrap_or_else(|error| panic!("fault rule '{text}': {error}"))
        };
        *rules = texts.iter().map(read).collect();
    }
    let ends = [(a, PortId(0)), (b, PortId(0))];
    (builder.connect(ends[0], ends[1], &link)).expect("both ports are free");
    builder.build()
}
