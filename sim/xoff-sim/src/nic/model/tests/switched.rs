//! Model NICs around a switch: incast, pauses, marks.

use serde::{Deserialize, Serialize};

use super::*;
use crate::nic::DcqcnSettings;
use crate::protocol::dcqcn::{Rate, RpParameters};
use crate::switch::forwarding::HostEntry;
use crate::switch::{NextHop, RedConfig, Route, Switch, SwitchConfig};

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Member {
    Nic(Box<ModelNic>),
    Switch(Box<Switch>),
}

impl Node for Member {
    fn line_rates(&self) -> Vec<LineRate> {
        match self {
            Self::Nic(nic) => nic.line_rates(),
            Self::Switch(switch) => switch.line_rates(),
        }
    }

    fn next_event(&self) -> Option<Time> {
        match self {
            Self::Nic(nic) => nic.next_event(),
            Self::Switch(switch) => switch.next_event(),
        }
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        match self {
            Self::Nic(nic) => nic.advance(until, arrivals, departures),
            Self::Switch(switch) => switch.advance(until, arrivals, departures),
        }
    }
}

/// The paper's DCQCN parameters, at 40 Gb/s.
pub(super) fn dcqcn() -> DcqcnSettings {
    DcqcnSettings {
        rp: RpParameters::paper(Rate::mbps(40_000), 5_120),
        cnp_interval: 9_766,
        cnp_dscp: 48,
        cnp_pcp: 6,
        burst: 512,
    }
}

/// Hosts 1 and 2 send to host 3; the switch is node 0.
fn incast(dcqcn: Option<DcqcnSettings>) -> Network<Member> {
    let mut config = SwitchConfig::new(3, LineRate::G40);
    config.forwarding.routes = vec![Route {
        prefix: [10, 0, 0, 0].into(),
        length: 24,
        hop: NextHop::Connected,
    }];
    let host = |port: u8| HostEntry {
        ip: [10, 0, 0, port + 1].into(),
        mac: address(port + 1).mac,
        port: PortId(port.into()),
    };
    config.forwarding.hosts = (0..3).map(host).collect();
    if dcqcn.is_some() {
        config.red[3] = Some(RedConfig::DCQCN);
    }
    let mut nics = [1, 2, 3].map(|host| {
        nic(host, &PcieConfig::default(), |config| {
            config.settings.pfc.classes = 1 << 3;
            config.settings.dcqcn = dcqcn;
        })
    });
    let [a, b, to] = &mut nics;
    for (index, (from, number)) in [(a, 1), (b, 2)].into_iter().enumerate() {
        let config = flow(index as u32, WorkKind::SEND, 1 << 20, None);
        // Without a window, only pauses and rates limit a sender.
        connect((from, number), (to, 3), index as u16, &config, |qp| {
            qp.requester.window = 0;
        });
    }
    let mut builder = NetworkBuilder::new(Seed(1));
    let switch = builder.node(Member::Switch(Box::new(Switch::new(config).unwrap())));
    let link = Link::new(Length::from_m(20), Duration::from_ns(150));
    for (port, nic) in (0..).map(PortId).zip(nics) {
        let host = builder.node(Member::Nic(Box::new(nic)));
        builder
            .connect((host, PortId(0)), (switch, port), &link)
            .unwrap();
    }
    builder.build()
}

fn host(network: &Network<Member>, number: u32) -> &ModelNic {
    match network.node(NodeId(number)) {
        Member::Nic(nic) => nic,
        Member::Switch(_) => unreachable!("node 0 is the switch"),
    }
}

fn switch(network: &Network<Member>) -> &Switch {
    match network.node(NodeId(0)) {
        Member::Switch(switch) => switch,
        Member::Nic(_) => unreachable!("node 0 is the switch"),
    }
}

fn fresh(network: &Network<Member>) -> [f64; 2] {
    [0, 1].map(|i: usize| host(network, 3).host().receivers()[i].fresh_bytes() as f64)
}

#[test]
fn pfc_alone_keeps_an_incast_lossless() {
    let mut network = incast(None);
    network.run_until(us(1_000), |_| ());
    let before = fresh(&network);
    network.run_until(us(3_000), |_| ());
    let now = fresh(&network);
    let shares = [0, 1].map(|i| (now[i] - before[i]) / 1024.0 * 1106.0 * 200.0 / 2e9);
    println!("{shares:?} of the wire");
    assert!(shares.iter().sum::<f64>() > 0.99, "{shares:?}");
    assert!((shares[0] - 0.5).abs() < 0.03, "{shares:?}");
    good(host(&network, 3));
    for number in [1, 2] {
        let counters = host(&network, number).counters();
        assert!(counters.get(reg::PFC_IN) > 10);
        assert_eq!(counters.get(reg::RESENT_OUT), 0);
    }
    let dropped = |port: u16| switch(&network).counters(PortId(port)).dropped_in_all();
    assert_eq!((0..3).map(dropped).sum::<u64>(), 0);
}

#[test]
fn dcqcn_brings_rates_down_and_pauses_to_an_end() {
    let mut network = incast(Some(dcqcn()));
    network.run_until(us(4_000), |_| ());
    let pauses = |network: &Network<Member>| -> u64 {
        [1, 2]
            .map(|number| host(network, number).counters().get(reg::PFC_IN))
            .iter()
            .sum()
    };
    let (before, early) = (fresh(&network), pauses(&network));
    network.run_until(us(12_000), |_| ());
    let now = fresh(&network);
    let shares = [0, 1].map(|i| (now[i] - before[i]) / 1024.0 * 1106.0 * 200.0 / 8e9);
    println!(
        "{shares:?} of the wire, {} pauses",
        pauses(&network) - early
    );
    let rates = [1, 2].map(|number| host(&network, number).rate((number - 1) as u16).unwrap());
    for (rate, alpha, limited) in rates {
        println!("{rate} {:.3}", alpha.as_real());
        assert!(limited && rate < Rate::mbps(35_000), "{rate}");
    }
    assert!(shares.iter().sum::<f64>() > 0.6, "{shares:?}");
    assert!((shares[0] - shares[1]).abs() < 0.3, "{shares:?}");
    let to = host(&network, 3);
    good(to);
    assert!(to.counters().get(reg::MARKED_IN) > 100);
    // At most one CNP in 50 us for each QP.
    let cnps = to.counters().get(reg::CNPS_OUT);
    assert!((4..=2 * (12_000 / 50 + 1)).contains(&cnps), "{cnps}");
    let taken: u64 = [1, 2]
        .map(|number| host(&network, number).counters().get(reg::CNPS_IN))
        .iter()
        .sum();
    assert!(cnps - taken <= 2);
    let mut without = incast(None);
    without.run_until(us(4_000), |_| ());
    let early_without = pauses(&without);
    without.run_until(us(12_000), |_| ());
    assert!(
        (pauses(&network) - early) * 4 < pauses(&without) - early_without,
        "fewer pauses"
    );
}

#[test]
fn a_checkpoint_in_the_middle_changes_nothing() {
    let run = |saved: bool| {
        let mut network = incast(Some(dcqcn()));
        network.run_until(us(700), |_| ());
        if saved {
            network = crate::testing::checkpointed(&network);
        }
        network.run_until(us(1_500), |_| ());
        network.digest()
    };
    assert_eq!(run(true), run(false));
}
