//! Messages from host to host.

use super::*;
use crate::kernel::{Digest, Direction};
use crate::protocol::gbn::Status;
use crate::protocol::parse;
use crate::wire::frame::Verdict;

/// Goodput of the flow to B between two instants, as a fraction of what the wire can carry: a packet of 1,024 bytes
/// takes 1,106 bytes of line time.
pub(super) fn share(network: &mut Network<ModelNic>, from: Time, to: Time) -> f64 {
    let fresh = |network: &Network<ModelNic>| network.node(B).host().receivers()[0].fresh_bytes();
    network.run_until(from, |_| ());
    let before = fresh(network);
    network.run_until(to, |_| ());
    let bytes = fresh(network) - before;
    let time = to.saturating_since(from).as_ps() as f64;
    bytes as f64 / 1024.0 * 1106.0 * 200.0 / time
}

pub(super) fn one_flow(
    config: &FlowConfig,
    change: impl Fn(&mut QpSettings),
    faults: [&[&str]; 2],
) -> Network<ModelNic> {
    let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), |_| ()));
    let [a, b] = &mut nics;
    connect((a, 1), (b, 2), 0, config, change);
    pair(nics, faults)
}

#[test]
fn one_flow_fills_the_wire() {
    for kind in [WorkKind::SEND, WorkKind::WRITE] {
        let config = flow(0, kind, 1 << 20, None);
        let mut network = one_flow(&config, |_| (), [&[], &[]]);
        let share = share(&mut network, us(100), us(600));
        println!("{share:.4} of the wire's limit");
        assert!(share > 0.99, "{share}");
        good(network.node(A));
        good(network.node(B));
        assert_eq!(network.node(A).counters().get(reg::RESENT_OUT), 0);
    }
}

// SEND comes twice: with an odd number of kinds each goes both ways.
const KINDS: [WorkKind; 5] = [
    WorkKind::SEND,
    WorkKind::SEND_IMM,
    WorkKind::SEND,
    WorkKind::WRITE,
    WorkKind::WRITE_IMM,
];
const LENGTHS: [u32; 6] = [1, 1023, 1024, 1025, 5 * 1024, 30 * 1024 + 2];

/// Flows of all kinds and lengths at once, half of them in each direction.
fn both_ways(
    change: impl Fn(&mut QpSettings),
    global: impl Fn(&mut ModelNicConfig),
) -> Network<ModelNic> {
    let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), &global));
    let mut index = 0;
    for length in LENGTHS {
        for kind in KINDS {
            let [a, b] = &mut nics;
            let config = flow(index, kind, length, Some(12));
            let (from, to) = match index % 2 {
                0 => ((a, 1), (b, 2)),
                _ => ((b, 2), (a, 1)),
            };
            connect(from, to, index as u16, &config, &change);
            index += 1;
        }
    }
    pair(nics, [&[], &[]])
}

fn check(mut network: Network<ModelNic>) {
    network.tap(A, PortId(0), true);
    let mut next_id = [None; 2];
    let mut frames = 0;
    finish(&mut network, us(10_000), |records| {
        for record in records {
            frames += 1;
            let parsed = parse(&record.frame.bytes.whole());
            assert_eq!(
                (parsed.verdict, parsed.icrc_ok),
                (Verdict::RoceV2, Some(true))
            );
            let ip = parsed.ip.unwrap();
            let side = usize::from(record.direction == Direction::Sent);
            if let Some(id) = next_id[side].filter(|_| ip.kind == crate::wire::frame::IpKind::V4) {
                assert_eq!(ip.id, id, "identification counts up by one");
            }
            next_id[side] = Some(ip.id.wrapping_add(1));
        }
    });
    assert!(frames > 1000);
    for node in [A, B] {
        let nic = network.node(node);
        good(nic);
        for sender in nic.host().senders() {
            assert_eq!(sender.delivered().len(), 12, "{:?}", sender.config);
        }
        for receiver in nic.host().receivers() {
            assert_eq!(receiver.whole(), 12);
            assert_eq!(
                receiver.fresh_bytes(),
                12 * u64::from(receiver.config.shapes.longest())
            );
        }
        assert_eq!(nic.buffer_bytes(), 0);
    }
    let [a, b] = [A, B].map(|node| network.node(node));
    for (from, to) in [(a, b), (b, a)] {
        assert_eq!(from.counters().get(reg::RESENT_OUT), 0);
        for (out, into) in [
            (reg::FRAMES_OUT, reg::FRAMES_IN),
            (reg::BYTES_OUT, reg::BYTES_IN),
            (reg::REQUESTS_OUT, reg::REQUESTS_IN),
        ] {
            assert_eq!(from.counters().get(out), to.counters().get(into));
        }
    }
    // No timer runs, but a NIC keeps the least deadline that it has known until that passes: at most T, 4.096 µs · 2⁴.
    // Nothing is sent then.
    let frames = |network: &Network<ModelNic>| [A, B].map(|node| network.counters(node, PortId(0)));
    let sent = frames(&network);
    network.run_until(network.now() + Duration::from_us(66), |_| ());
    assert_eq!(network.next_event(), None, "a network without work rests");
    assert_eq!(frames(&network), sent);
}

#[test]
fn messages_of_all_kinds_and_lengths_both_ways() {
    check(both_ways(|_| (), |_| ()));
}

#[test]
fn over_ipv6_with_tags_by_pcp() {
    let change = |qp: &mut QpSettings| {
        qp.tags = vec![0xA00C, 0x6002];
        for address in [&mut qp.own, &mut qp.peer] {
            if let std::net::IpAddr::V4(ip) = address.ip {
                address.ip = ip.to_ipv6_mapped().into();
            }
        }
    };
    check(both_ways(change, |config| {
        config.settings.class_by_pcp = true
    }));
}

#[test]
fn at_100_gigabits_too() {
    let mut nics = [1, 2].map(|host| {
        let clock = Clock::new(Clock::PERIOD_100G, Duration::from_ps(900 * u64::from(host)));
        let mut config = ModelNicConfig::new(clock, NicSettings::new(address(host).mac));
        config.rate = LineRate::G100;
        config.data_bytes = 64;
        let pcie = PcieConfig {
            rate: None,
            ..PcieConfig::default()
        };
        ModelNic::new(config, Host::new(clock, 64, &pcie))
    });
    let [a, b] = &mut nics;
    let config = flow(0, WorkKind::WRITE, 1 << 20, None);
    connect((a, 1), (b, 2), 0, &config, |_| ());
    let mut network = pair(nics, [&[], &[]]);
    let share = share(&mut network, us(100), us(300)) * 80.0 / 200.0;
    assert!(share > 0.99, "{share}");
}

#[test]
fn small_messages_of_many_qps_fill_the_wire() {
    // 64 bytes in one packet: 58 + 64 bytes, and 24 bytes of line time around it.
    let mut nics = [1, 2].map(|host| {
        nic(
            host,
            &PcieConfig {
                latency: Duration::from_ns(50),
                rate: None,
            },
            |_| (),
        )
    });
    for index in 0..32 {
        let [a, b] = &mut nics;
        let mut config = flow(index, WorkKind::WRITE, 64, None);
        config.outstanding = 16;
        connect((a, 1), (b, 2), index as u16, &config, |_| ());
    }
    let mut network = pair(nics, [&[], &[]]);
    network.run_until(us(20), |_| ());
    let before = network.counters(A, PortId(0));
    network.run_until(us(120), |_| ());
    let after = network.counters(A, PortId(0));
    let bytes =
        after.bytes_sent - before.bytes_sent + 20 * (after.frames_sent - before.frames_sent);
    let share = bytes as f64 * 200.0 / 100_000_000.0;
    assert!(share > 0.97, "{share}");
    good(network.node(B));
}

/// The outcome of `both_ways` with occasional marks, losses and pauses.
fn eventful(change: impl FnOnce(Network<ModelNic>) -> Network<ModelNic>) -> (Digest, [Digest; 2]) {
    let mut nics = [1, 2].map(|host| {
        nic(host, &PcieConfig::default(), |config| {
            config.settings.pfc.classes = 1 << 3;
            config.settings.pfc.xoff[3] = 6_000;
            config.settings.pfc.xon[3] = 3_000;
            config.settings.watchdog.bark = 500;
            config.settings.watchdog.bite = 900;
            config.settings.watchdog.auto_rearm = true;
            config.settings.dcqcn = Some(switched::dcqcn());
        })
    });
    for index in 0..20u32 {
        let [a, b] = &mut nics;
        let mut config = flow(
            index,
            KINDS[index as usize % 5],
            700 * (1 + index),
            Some(12),
        );
        config.interval = (index % 3 == 0).then_some(Duration::from_us(7));
        let (from, to) = match index % 4 {
            0 => ((b, 2), (a, 1)),
            _ => ((a, 1), (b, 2)),
        };
        connect(from, to, index as u16, &config, |_| ());
    }
    let faults = [
        "any, chance 1/200: drop",
        "any, chance 1/50: ecn",
        "any, chance 1/300: corrupt",
        "any, chance 1/100: duplicate",
    ];
    let mut network = change(pair(nics, [&faults, &faults]));
    network.run_until(us(3_000), |_| ());
    let hosts = [A, B].map(|node| network.node(node).host().digest());
    let [a, b] = [A, B].map(|node| network.node(node).counters());
    assert!(
        a.get(reg::RESENT_OUT) > 10 && a.get(reg::CNPS_IN) > 3 && b.get(reg::DUPLICATES_IN) > 3
    );
    (network.digest(), hosts)
}

#[test]
fn windows_and_checkpoints_change_nothing() {
    let plain = eventful(|network| network);
    let narrow = eventful(|mut network| {
        network.limit_lookahead(Duration::from_ps(3_333));
        network
    });
    assert_eq!(plain, narrow);
    for at in [10, 77, 400] {
        let restored = eventful(|mut network| {
            network.run_until(us(at), |_| ());
            crate::testing::checkpointed(&network)
        });
        assert_eq!(plain, restored, "saved at {at} us");
    }
}

/// Measures packets a second on one core: `cargo test --release -p xoff-sim --lib speed -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    for (what, flows, kind) in [
        ("one flow", 1, WorkKind::SEND),
        ("32 flows both ways", 32, WorkKind::WRITE),
    ] {
        let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), |_| ()));
        for index in 0..flows {
            let [a, b] = &mut nics;
            let config = flow(index, kind, 1 << 20, None);
            let (from, to) = match index % 2 {
                0 => ((a, 1), (b, 2)),
                _ => ((b, 2), (a, 1)),
            };
            connect(from, to, index as u16, &config, |_| ());
        }
        let mut network = pair(nics, [&[], &[]]);
        let start = std::time::Instant::now();
        network.run_until(us(100_000), |_| ());
        let seconds = start.elapsed().as_secs_f64();
        let count = |register: u16| {
            [A, B]
                .map(|node| network.node(node).counters().get(register))
                .iter()
                .sum::<u64>() as f64
        };
        let (packets, frames) = (count(reg::REQUESTS_OUT), count(reg::FRAMES_OUT));
        println!(
            "{what}: {:.0} data packets a second, {:.0} frames",
            packets / seconds,
            frames / seconds
        );
    }
}

/// IBTA volume 1: a SEND with invalidate takes its key from the memory table; a key that is not there is an access
/// error.
#[test]
fn a_send_with_invalidate_invalidates_its_key() {
    for length in [1, 5 * 1024] {
        let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), |_| ()));
        let [a, b] = &mut nics;
        // The keys of a flow's messages are their numbers: 0, which names this region, then 1, which names none.
        let config = flow(0, WorkKind::SEND_INV, length, Some(3));
        connect((a, 1), (b, 2), 5, &config, |_| ());
        let region = Region {
            base: 0x5000,
            length: 0x1000,
            tag: 0,
            pd: 0,
            local_write: false,
            remote_write: true,
        };
        assert_eq!(b.register(0, region), 0);
        assert!(b.memory.allows(0, 0, 0x5000, 8, true));
        let mut network = pair(nics, [&[], &[]]);
        network.run_until(us(200), |_| ());
        let [a, b] = [A, B].map(|node| network.node(node));
        assert!(!b.memory.allows(0, 0, 0x5000, 8, true));
        let sender = &a.host().senders()[0];
        assert_eq!(sender.delivered().len(), 1, "{length} bytes");
        assert_eq!(sender.failed(), Some(Status::RemoteAccess));
        let receiver = &b.host().receivers()[0];
        assert_eq!(receiver.whole(), 1);
        assert_eq!(receiver.failed(), Some(Status::Flushed));
        assert_eq!(b.counters().get(reg::LOCAL_ACCESS), 1);
    }
}
