//! The digest does not depend on threads, windows and checkpoints.

use super::*;
use crate::kernel::Digest;
use crate::seeded::Draws;
use crate::testing::{checkpointed, roce_frame};
use crate::time::ByteCount;

/// Two leaves, two spines, and two hosts on each leaf. The leaves are nodes 0 and 1, the spines nodes 2 and 3, hosts
/// 1 to 4 nodes 4 to 7. Marks, pauses and faults are all on.
fn clos(draws: &mut Draws) -> Network<Either> {
    let mut builder = NetworkBuilder::new(Seed(9));
    for leaf in 0..2u8 {
        let mut config = star_config(4, LineRate::G40);
        config.seed = Seed(leaf.into());
        config.forwarding.ecmp_seed = Seed(77 + u64::from(leaf));
        config.forwarding.hosts.truncate(2);
        for (port, host) in config.forwarding.hosts.iter_mut().enumerate() {
            let number = 2 * leaf + port as u8 + 1;
            (host.ip, host.mac) = (host_ip(number).into(), host_mac(number));
        }
        let up = NextHop::Ports(vec![PortId(2), PortId(3)]);
        config.forwarding.routes = vec![Route {
            prefix: [0, 0, 0, 0].into(),
            length: 0,
            hop: up,
        }];
        for host in &config.forwarding.hosts {
            config.forwarding.routes.push(Route {
                prefix: host.ip,
                length: 32,
                hop: NextHop::Connected,
            });
        }
        settings(&mut config);
        builder.node(Either::Switch(Box::new(Switch::new(config).unwrap())));
    }
    for spine in 2..4u8 {
        let mut config = SwitchConfig::new(2, LineRate::G40);
        config.seed = Seed(spine.into());
        config.forwarding.routes = (1..=4)
            .map(|host| Route {
                prefix: host_ip(host).into(),
                length: 32,
                hop: NextHop::Ports(vec![PortId(u16::from((host - 1) / 2))]),
            })
            .collect();
        routes_between(&mut config);
        settings(&mut config);
        builder.node(Either::Switch(Box::new(Switch::new(config).unwrap())));
    }
    let long = Link::new(Length::from_m(300), Duration::from_ns(100));
    for host in 1..=4u8 {
        let mut sender = Source::new(LineRate::G40, Duration::ZERO);
        let mut at = Time::ZERO;
        for psn in 0..300 {
            // Most frames go to host 4: an incast.
            let to = match draws.below(3) {
                0 => 1 + draws.below(4) as u8,
                _ => 4,
            };
            let class = if draws.below(4) == 0 { 0 } else { 3 };
            at += Duration::from_ps(draws.below(300_000));
            let frame = roce_frame(host, if to == host { 1 + host % 4 } else { to })
                .dscp(class * 8)
                .psn(psn)
                .src_port(0xC000 + draws.below(16) as u16)
                .bytes(64 + draws.below(1500) as usize);
            sender = sender.then(at, class, frame);
        }
        let node = builder.node(Either::Source(Box::new(sender)));
        let leaf = NodeId(u32::from(host - 1) / 2);
        let mut link = short_link();
        link.faults[0] = vec!["any, chance 1/100: drop".parse().unwrap()];
        link.faults[1] = vec!["psn 50-60: corrupt".parse().unwrap()];
        builder
            .connect(
                (node, PortId(0)),
                (leaf, PortId(u16::from(host - 1) % 2)),
                &link,
            )
            .unwrap();
    }
    for (leaf, spine) in [(0, 2), (0, 3), (1, 2), (1, 3)] {
        let up = (NodeId(leaf), PortId(spine as u16));
        builder
            .connect(up, (NodeId(spine), PortId(leaf as u16)), &long)
            .unwrap();
    }
    builder.build()
}

fn settings(config: &mut SwitchConfig) {
    config.red[3] = Some(RedConfig {
        kmin: ByteCount::new(2_000),
        kmax: ByteCount::new(30_000),
        pmax_ppm: 200_000,
        drop_incapable: false,
        line: None,
    });
    for priority in [3, 4] {
        config.buffer.priorities[priority].limit = Limit::Static(ByteCount::new(20_000));
    }
    config.faults = vec!["any, chance 1/200: duplicate".parse().unwrap()];
}

fn digest(threads: usize, change: impl FnOnce(&mut Network<Either>) + Send) -> Digest {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        let mut network = clos(&mut Seed(4).draws());
        network.set_parallel_from(0);
        change(&mut network);
        network.run_until(us(400), |_| ());
        let (mut marked, mut xoff) = (0, 0);
        for node in 0..4 {
            let Either::Switch(switch) = network.node(NodeId(node)) else {
                panic!("not a switch")
            };
            conserved(switch).unwrap();
            for port in 0..switch.line_rates().len() as u16 {
                let counters = switch.counters(PortId(port));
                marked += counters.marked[3];
                xoff += counters.xoff[3];
                assert_eq!(counters.dropped_for(DropReason::HeadroomFull), 0);
                assert_eq!(counters.dropped_for(DropReason::NoRoute), 0);
            }
        }
        // Otherwise the digest would cover little.
        assert!(marked > 50 && xoff > 5, "{marked} marked, {xoff} XOFF");
        network.digest()
    })
}

#[test]
fn one_digest_with_any_threads_windows_and_checkpoints() {
    let one = digest(1, |_| ());
    assert_eq!(one, digest(2, |_| ()));
    assert_eq!(
        one,
        digest(2, |network| network.limit_lookahead(Duration::from_ns(13)))
    );
    let resumed = digest(2, |network| {
        network.run_until(Time::from_ps(20_000_123), |_| ());
        *network = checkpointed(network);
    });
    assert_eq!(one, resumed);
}
