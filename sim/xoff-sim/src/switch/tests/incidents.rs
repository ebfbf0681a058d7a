//! Pauses that do not end, links that fail, tags at routed hops, paths in turn, and when a packet is marked.

use super::*;
use crate::headers::{Headers, rewrite};
use crate::testing::{pfc_frame, roce_frame};
use crate::time::ByteCount;
use crate::wire::Tci;

const LOSSLESS: u8 = 3;

fn quiet() -> Source {
    Source::new(LineRate::G40, Duration::ZERO)
}

/// A source of `frames` lossless frames of 1,086 bytes from one host to another, from `at` on.
fn lossless(from: u8, to: u8, at: Time, frames: u32) -> Source {
    (0..frames).fold(quiet(), |source, psn| {
        let frame = roce_frame(from, to).dscp(LOSSLESS * 8).psn(psn);
        source.then(at, LOSSLESS, frame.bytes(1086))
    })
}

/// A host that pauses the lossless class from `from` until `until`, with a pause frame every 400 us.
fn pauses(from: u64, until: u64) -> Source {
    let times = (from..until).step_by(400);
    let paused = times.fold(quiet(), |source, at| {
        source.then(us(at), 0, pfc_frame(LOSSLESS, u16::MAX))
    });
    paused.then(us(until), 0, pfc_frame(LOSSLESS, 0))
}

/// SIGCOMM 2016, section 4.3: when frames for a server cannot be drained and pauses keep coming, the switch drops the
/// lossless packets to and from it; when the pauses are gone for a time, the class is lossless again.
#[test]
fn the_watchdog_gives_a_class_up_and_restores_it() {
    let mut config = star_config(3, LineRate::G40);
    config.ports[1].watchdog = Some(WatchdogConfig {
        detect: Duration::from_ms(1),
        restore: Duration::from_ms(2),
    });
    // Host 1 sends to host 2 while that pauses, then twice while the class is given up, then after it is restored.
    // Host 2 sends as well while the class is given up.
    let sender = lossless(1, 2, us(100), 10)
        .then(us(2_000), LOSSLESS, roce_frame(1, 2).dscp(24).bytes(200))
        .then(us(4_500), LOSSLESS, roce_frame(1, 2).dscp(24).bytes(250))
        .then(us(6_000), LOSSLESS, roce_frame(1, 2).dscp(24).bytes(300));
    let mut paused = quiet();
    for at in (0..3_000).step_by(400) {
        paused = paused.then(us(at), 0, pfc_frame(LOSSLESS, u16::MAX));
        if at == 2_000 {
            let frame = roce_frame(2, 3).dscp(24).bytes(200);
            paused = paused.then(us(at), LOSSLESS, frame);
        }
    }
    let mut network = star(config, vec![sender, paused, quiet()], &short_link());
    let acts = |network: &Network<Either>| switch(network).counters(PortId(1)).watchdog[3];
    let dropped = |network: &Network<Either>, port| {
        let counters = switch(network).counters(PortId(port));
        counters.dropped_for(DropReason::Watchdog)
    };
    // The first frame is in the queue some 100.5 us after the start.
    network.run_until(us(1_099), |_| ());
    assert_eq!((acts(&network), switch(&network).frames()), (0, 10));
    network.run_until(us(1_102), |_| ());
    assert_eq!((acts(&network), switch(&network).frames()), (1, 0));
    assert_eq!(dropped(&network, 0), 10);
    network.run_until(us(3_000), |_| ());
    assert_eq!((dropped(&network, 0), dropped(&network, 1)), (11, 1));
    assert_eq!(source(&network, 2).received.len(), 0);
    // The last pause came at 2,800 us; the class is restored at 4,800, and serves host 2 again.
    network.run_until(us(7_000), |_| ());
    assert_eq!(source(&network, 2).received.len(), 1);
    assert_eq!((acts(&network), dropped(&network, 0)), (1, 12));
    conserved(switch(&network)).unwrap();
    assert_eq!(switch(&network).occupancy(), 0);
}

/// On both sides of the threshold: a pause that ends just before `detect` costs nothing.
#[test]
fn a_pause_that_ends_in_time_is_no_business_of_the_watchdog() {
    for (until, acts, received) in [(1_090, 0, 10), (1_110, 1, 0)] {
        let mut config = star_config(2, LineRate::G40);
        config.ports[1].watchdog = Some(WatchdogConfig {
            detect: Duration::from_ms(1),
            restore: Duration::from_ms(10),
        });
        let sources = vec![lossless(1, 2, us(100), 10), pauses(0, until)];
        let mut network = star(config, sources, &short_link());
        network.run_until(us(3_000), |_| ());
        assert_eq!(switch(&network).counters(PortId(1)).watchdog[3], acts);
        assert_eq!(source(&network, 2).received.len(), received, "{until} us");
    }
}

/// SONiC's test of RED: with Kmax + 10 packets of 1 KB behind a pause, packet i sees a queue of Kmax + 10 - i KB when
/// it leaves. Here Kmin is Kmax - 1 byte, so that exactly the packets that see more than Kmax are marked.
#[test]
fn at_dequeue_a_packet_is_marked_by_what_waits_behind_it() {
    let mut config = star_config(2, LineRate::G40);
    config.buffer.priorities[3] = PriorityBuffer::lossless(
        Limit::Static(ByteCount::new(1_000_000)),
        ByteCount::new(10_000),
    );
    config.mark_at = MarkAt::Dequeue;
    config.red[3] = Some(RedConfig {
        kmin: ByteCount::new(49_999),
        kmax: ByteCount::new(50_000),
        pmax_ppm: 0,
        drop_incapable: false,
        line: None,
    });
    let sender = (0..60).fold(quiet(), |source, psn| {
        let frame = roce_frame(1, 2).dscp(24).ecn(0b10).psn(psn).bytes(1_000);
        source.then(us(10), LOSSLESS, frame)
    });
    // The last of the marks that the sender could have set itself is not counted again.
    let sender = sender.then(
        us(10),
        LOSSLESS,
        roce_frame(1, 2).dscp(24).ecn(0b11).bytes(1_000),
    );
    let mut network = star(config, vec![sender, pauses(0, 100)], &short_link());
    network.run_until(us(200), |_| ());
    let received = &source(&network, 2).received;
    let ce = |frame: &crate::frame::Frame| {
        let ip = Headers::at(frame.bytes.headers()).unwrap().ip.unwrap();
        rewrite::is_ce(ip.traffic_class)
    };
    // Of 61 packets, the first one leaves 60 behind it, the tenth 51.
    let marked: Vec<bool> = received.iter().map(ce).collect();
    let expected: Vec<bool> = (1..=61).map(|i| 61 - i > 50 || i == 61).collect();
    assert_eq!(marked, expected);
    assert_eq!(switch(&network).counters(PortId(1)).marked[3], 10);
}

/// IEEE 802.1Q: a tag belongs to one bridged network. What is routed loses it; a trunk gives it one of its own, with
/// the priority that the packet has here.
#[test]
fn tags_end_at_routed_hops_and_trunks_give_their_own() {
    let tagged = |bytes: &bytes::Bytes| {
        bytes::Bytes::from([&bytes[..12], &[0x81, 0x00, 0x60, 0x07], &bytes[12..]].concat())
    };
    for (trunk, tag) in [
        (None, None),
        (
            Some(9),
            Some(Tci {
                pcp: 3,
                dei: false,
                vid: 9,
            }),
        ),
    ] {
        let mut config = star_config(2, LineRate::G40);
        config.classify = Classify::Pcp([0, 1, 2, 3, 4, 5, 6, 7]);
        config.ports[1].trunk = trunk;
        config.ports[0].trunk = Some(7);
        let frame = roce_frame(1, 2).bytes(200);
        let sender = quiet()
            .then(Time::ZERO, 3, tagged(&frame))
            .then(Time::ZERO, 0, frame.clone());
        let mut network = star(config, vec![sender, quiet()], &short_link());
        network.run_until(us(10), |_| ());
        let received = &source(&network, 2).received;
        // The frame without a tag is dropped by the trunk.
        assert_eq!(received.len(), 1);
        let port = switch(&network).counters(PortId(0));
        assert_eq!(port.dropped_for(DropReason::Untagged), 1);
        let headers = Headers::at(received[0].bytes.headers()).unwrap();
        assert_eq!(headers.tag, tag);
        assert_eq!(headers.bth, Headers::at(&frame).unwrap().bth);
        let tag_bytes = if trunk.is_some() { 4 } else { 0 };
        assert_eq!(received[0].bytes.len(), frame.len() + tag_bytes);
        assert_eq!(switch(&network).counters(PortId(1)).sent[3].frames, 1);
        assert_eq!(switch(&network).occupancy(), 0);
    }
}

/// A switch with a host at port 0 and three equal paths at ports 1 to 3.
fn paths(change: impl FnOnce(&mut SwitchConfig)) -> SwitchConfig {
    let mut config = star_config(4, LineRate::G40);
    config.forwarding.hosts.clear();
    config.forwarding.routes = vec![Route {
        prefix: [10, 0, 0, 0].into(),
        length: 24,
        hop: NextHop::Ports([1, 2].map(PortId).into()),
    }];
    change(&mut config);
    config
}

fn arrived(network: &Network<Either>) -> [usize; 3] {
    [2, 3, 4].map(|host| source(network, host).received.len())
}

#[test]
fn sprayed_packets_take_all_paths_in_turn() {
    for (spray, expected) in [(true, 10), (false, 20)] {
        let config = paths(|config| config.forwarding.spray = spray);
        let sources = vec![lossless(1, 9, us(1), 20), quiet(), quiet(), quiet()];
        let mut network = star(config, sources, &short_link());
        network.run_until(us(100), |_| ());
        assert_eq!(arrived(&network).into_iter().max(), Some(expected));
    }
}

#[test]
fn a_link_that_is_down_is_routed_around_as_far_as_there_are_paths() {
    for (detour, expected) in [(false, 0), (true, 20)] {
        let config = paths(|config| {
            if detour {
                config.forwarding.detours = vec![PortId(3)];
            }
        });
        let sender = lossless(1, 9, us(1), 20);
        let sender = (0..20).fold(sender, |source, psn| {
            let frame = roce_frame(1, 9).dscp(24).psn(psn).bytes(1086);
            source.then(us(50), LOSSLESS, frame)
        });
        let receiver = || quiet().then(Time::ZERO, 0, pfc_frame(LOSSLESS, 1_000));
        let sources = vec![sender, receiver(), receiver(), quiet()];
        let mut network = star(config, sources, &short_link());
        let down = |network: &mut Network<Either>, at, port, up| {
            network.run_until(us(at), |_| ());
            network.update(NodeId(0), |node| match node {
                Either::Switch(switch) => switch.set_link(us(at), PortId(port), up),
                Either::Source(_) => unreachable!("node 0 is the switch"),
            });
        };
        // What waits for a link that goes down is lost.
        down(&mut network, 10, 1, false);
        down(&mut network, 10, 2, false);
        assert_eq!(switch(&network).frames(), 0);
        assert_eq!(switch(&network).occupancy(), 0);
        network.run_until(us(100), |_| ());
        assert_eq!(arrived(&network), [0, 0, expected]);
        let port = switch(&network).counters(PortId(0));
        let lost = if detour { 20 } else { 40 };
        assert_eq!(port.dropped_for(DropReason::LinkDown), lost);
        conserved(switch(&network)).unwrap();
    }
    // With one of two paths down, the other one carries all.
    let sources = vec![lossless(1, 9, us(20), 20), quiet(), quiet(), quiet()];
    let mut network = star(paths(|_| ()), sources, &short_link());
    network.update(NodeId(0), |node| match node {
        Either::Switch(switch) => switch.set_link(Time::ZERO, PortId(1), false),
        Either::Source(_) => unreachable!("node 0 is the switch"),
    });
    network.run_until(us(100), |_| ());
    assert_eq!(arrived(&network), [0, 20, 0]);
}

#[test]
fn a_flooded_frame_takes_up_buffer_once_until_its_last_copy_has_left() {
    let mut config = star_config(4, LineRate::G40);
    config.forwarding.hosts.pop();
    config.forwarding.on_mac_miss = Miss::Flood;
    let mut node = Switch::new(config).unwrap();
    let tables = node.forwarding_mut();
    tables.arp.learn(Time::ZERO, host_ip(4).into(), host_mac(4));
    let mut builder = NetworkBuilder::new(Seed(1));
    let switch_node = builder.node(Either::Switch(Box::new(node)));
    // Host 3 accepts nothing of the class for 12.8 us; hosts 2 and 4 get their copies at once.
    let sources = [
        lossless(1, 4, us(1), 1),
        quiet(),
        quiet().then(Time::ZERO, 0, pfc_frame(LOSSLESS, 1_000)),
        quiet(),
    ];
    for (port, source) in sources.into_iter().enumerate() {
        let host = builder.node(Either::Source(Box::new(source)));
        let ends = ((host, PortId(0)), (switch_node, PortId(port as u16)));
        builder.connect(ends.0, ends.1, &short_link()).unwrap();
    }
    let mut network = builder.build();
    network.run_until(us(5), |_| ());
    assert_eq!(
        (switch(&network).occupancy(), switch(&network).frames()),
        (1086, 1)
    );
    network.run_until(us(20), |_| ());
    assert_eq!(
        (switch(&network).occupancy(), switch(&network).frames()),
        (0, 0)
    );
    conserved(switch(&network)).unwrap();
}
