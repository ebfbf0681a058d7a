//! One test for each rule of the switch.

use super::*;
use crate::headers::Headers;
use crate::testing::{pfc_frame, roce_frame};
use crate::time::ByteCount;
use crate::wire::{EtherType, Ipv4};

fn quiet() -> Source {
    Source::new(LineRate::G40, Duration::ZERO)
}

#[test]
fn a_routed_frame_has_a_hop_less_new_addresses_and_a_right_checksum() {
    let mut config = star_config(2, LineRate::G40);
    config.latency = Duration::from_ns(500);
    let sender = quiet().then(Time::ZERO, 0, roce_frame(1, 2).bytes(1086));
    let mut network = star(config, vec![sender, quiet()], &short_link());
    network.run_until(us(5), |_| ());
    let received = &source(&network, 2).received;
    assert_eq!(received.len(), 1);
    let headers = Headers::at(received[0].bytes.headers()).unwrap();
    assert_eq!(headers.dst, host_mac(2));
    assert_eq!(headers.src.to_string(), "02:00:00:00:00:fe");
    let ip = headers.ip.unwrap();
    assert_eq!(ip.ttl, 63);
    assert!(
        Ipv4::new_checked(&received[0].bytes.headers()[ip.offset..])
            .unwrap()
            .checksum_ok()
    );
    // Twice 1,094 bytes of 200 ps, two links of 110 ns, and 500 ns in the switch: store-and-forward.
    assert_eq!(
        received[0].end,
        Time::from_ps(2 * 1094 * 200 + 2 * 110_000 + 500_000)
    );
}

#[test]
fn a_pause_frame_goes_ahead_of_all_but_behind_the_frame_on_the_wire() {
    let mut config = star_config(3, LineRate::G40);
    config.buffer.priorities[3] =
        PriorityBuffer::lossless(Limit::Static(ByteCount::ZERO), ByteCount::new(10_000));
    // Host 3 keeps the port to host 1 busy with a strict priority; host 2 accepts nothing.
    config.services[7] = Service::Strict;
    let busy = (0..10).fold(quiet(), |source, psn| {
        source.then(
            Time::ZERO,
            7,
            roce_frame(3, 1).dscp(56).psn(psn).bytes(1086),
        )
    });
    let sender = quiet().then(us(1), 3, roce_frame(1, 2).dscp(24).bytes(64));
    let receiver = quiet().then(Time::ZERO, 0, pfc_frame(3, 10_000));
    let mut network = star(config, vec![sender, receiver, busy], &short_link());
    network.tap(NodeId(0), PortId(0), true);
    let mut records = Vec::new();
    network.run_until(us(10), |window| records.extend_from_slice(window));
    let asked = records
        .iter()
        .find(|record| record.direction == crate::kernel::Direction::Received)
        .unwrap()
        .frame
        .end;
    let sent: Vec<_> = records
        .iter()
        .filter(|record| record.direction == crate::kernel::Direction::Sent)
        .map(|record| &record.frame)
        .collect();
    let pause = sent
        .iter()
        .position(|frame| {
            Headers::at(frame.bytes.headers()).unwrap().ether_type == EtherType::MAC_CONTROL
        })
        .unwrap();
    assert!(0 < pause && pause < sent.len() - 1);
    assert!(sent[pause - 1].start <= asked && asked < sent[pause].start);
    assert_eq!(sent[pause].start, sent[pause - 1].line_free(LineRate::G40));
}

#[test]
fn a_paused_priority_waits_and_others_go_on() {
    let sender = quiet()
        .then(us(1), 3, roce_frame(1, 2).dscp(24).psn(1).bytes(200))
        .then(us(1), 0, roce_frame(1, 2).dscp(0).psn(2).bytes(200));
    let receiver = quiet().then(Time::ZERO, 0, pfc_frame(3, 1000));
    let config = star_config(2, LineRate::G40);
    let mut network = star(config, vec![sender, receiver], &short_link());
    network.run_until(us(40), |_| ());
    let received = &source(&network, 2).received;
    let psn = |i: usize| {
        Headers::at(received[i].bytes.headers())
            .unwrap()
            .bth
            .unwrap()
            .psn
            .get()
    };
    assert_eq!((psn(0), psn(1)), (2, 1));
    // The pause arrives after 72 bytes and 110 ns; 1,000 quanta are 12.8 us; then 208 bytes and 110 ns follow.
    let expected = 72 * 200 + 110_000 + 12_800_000 + 208 * 200 + 110_000;
    assert_eq!(received[1].end, Time::from_ps(expected));
}

#[test]
fn weights_are_shares_of_the_line() {
    let mut config = star_config(3, LineRate::G40);
    config.services[1] = Service::Weighted(1000);
    config.services[2] = Service::Weighted(3000);
    // Both hosts send more than half of the line rate for the whole time; both lossy classes have enough buffer.
    let sender = |host: u8, priority: u8, size: usize| {
        (0..900).fold(quiet(), |source, psn| {
            let frame = roce_frame(host, 3).dscp(8 * priority).psn(psn);
            source.then(Time::ZERO, priority, frame.bytes(size))
        })
    };
    let sources = vec![sender(1, 1, 500), sender(2, 2, 1086), quiet()];
    let mut network = star(config, sources, &short_link());
    network.run_until(us(90), |_| ());
    let sent = &switch(&network).counters(PortId(2)).sent;
    let (one, three) = (sent[1].bytes, sent[2].bytes);
    assert!(
        one > 50_000 && (3 * one).abs_diff(three) < 6_000,
        "{one} and {three}"
    );
}

#[test]
fn marks_those_that_can_be_marked_when_the_queue_is_long() {
    let mut config = star_config(3, LineRate::G40);
    config.red[0] = Some(RedConfig {
        kmin: ByteCount::new(2_000),
        kmax: ByteCount::new(20_000),
        pmax_ppm: 100_000,
        drop_incapable: false,
        line: None,
    });
    let sender = |host: u8, ecn: u8| {
        (0..100).fold(quiet(), |source, psn| {
            let frame = roce_frame(host, 3).ecn(ecn).psn(psn).bytes(1086);
            source.then(Time::ZERO, 0, frame)
        })
    };
    let sources = vec![sender(1, 0b01), sender(2, 0b00), quiet()];
    let mut network = star(config, sources, &short_link());
    network.run_until(us(200), |_| ());
    let received = &source(&network, 3).received;
    assert_eq!(received.len(), 200);
    let (mut marked, mut last_unmarked) = (0, 0);
    for frame in received {
        let headers = Headers::at(frame.bytes.headers()).unwrap();
        let ip = headers.ip.unwrap();
        assert!(
            Ipv4::new_checked(&frame.bytes.headers()[ip.offset..])
                .unwrap()
                .checksum_ok()
        );
        match (ip.src as u32 == u32::from(host_ip(1)), ip.traffic_class & 3) {
            (true, 0b11) => marked += 1,
            (true, 0b01) => last_unmarked = last_unmarked.max(headers.bth.unwrap().psn.get()),
            (false, ecn) => assert_eq!(ecn, 0),
            (true, ecn) => panic!("ECN {ecn}"),
        }
    }
    assert_eq!(switch(&network).counters(PortId(2)).marked[0], marked);
    // The queue grows by a frame for each frame sent. From about the 19th frame on it is above 20,000 bytes, and all
    // frames are marked.
    assert!((80..=99).contains(&marked), "{marked}");
    assert!((2..=21).contains(&last_unmarked), "{last_unmarked}");
}

#[test]
fn flooding_goes_everywhere_but_back() {
    let mut config = star_config(4, LineRate::G40);
    config.forwarding.hosts.pop();
    config.forwarding.on_mac_miss = Miss::Flood;
    let mut arp = Switch::new(config).unwrap();
    // Host 4 has an ARP entry but no MAC entry.
    arp.forwarding_mut()
        .arp
        .learn(Time::ZERO, host_ip(4).into(), host_mac(4));
    let mut builder = NetworkBuilder::new(Seed(1));
    let node = builder.node(Either::Switch(Box::new(arp)));
    for port in 0..4 {
        let source = match port {
            0 => quiet()
                .then(Time::ZERO, 0, roce_frame(1, 4).bytes(100))
                .then(us(10), 0, roce_frame(1, 4).bytes(100)),
            // Host 4 sends a frame, from which its address is learned.
            3 => quiet().then(us(5), 0, roce_frame(4, 1).bytes(100)),
            _ => quiet(),
        };
        let host = builder.node(Either::Source(Box::new(source)));
        builder
            .connect((host, PortId(0)), (node, PortId(port)), &short_link())
            .unwrap();
    }
    let mut network = builder.build();
    network.run_until(us(4), |_| ());
    let counts =
        |network: &Network<Either>| [1, 2, 3, 4].map(|host| source(network, host).received.len());
    assert_eq!(counts(&network), [0, 1, 1, 1]);
    network.run_until(us(20), |_| ());
    assert_eq!(counts(&network), [1, 1, 1, 2]);
    conserved(switch(&network)).unwrap();
}

#[test]
fn one_of_256_is_dropped_by_its_ip_id() {
    let mut config = star_config(2, LineRate::G40);
    config.faults = vec!["ip_id_low 0xff: drop".parse().unwrap()];
    let sender = (0..512).fold(quiet(), |source, id| {
        source.then(Time::ZERO, 0, roce_frame(1, 2).ip_id(id).bytes(64))
    });
    let mut network = star(config, vec![sender, quiet()], &short_link());
    network.run_until(us(100), |_| ());
    assert_eq!(source(&network, 2).received.len(), 510);
    let port = switch(&network).counters(PortId(0));
    assert_eq!(port.dropped_for(DropReason::Fault), 2);
    let hits: Vec<u64> = switch(&network)
        .faults()
        .counters()
        .map(|(_, counters)| counters.hit)
        .collect();
    assert_eq!(hits, [2]);
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let error = |change: fn(&mut SwitchConfig)| {
        let mut config = star_config(2, LineRate::G40);
        change(&mut config);
        Switch::new(config).unwrap_err().to_string()
    };
    assert_eq!(
        error(|config| {
            config.pause.quanta = 10;
            config.pause.refresh = Some(Duration::from_us(1));
        }),
        "pause refresh 1 us is not shorter than the pause: 10 quanta are 128 ns at port 0"
    );
    // A pause frame, with preamble and gap, has 84 bytes of 200 ps.
    let too_soon = |config: &mut SwitchConfig| {
        config.pause.refresh = Some(Duration::from_ps(16_799));
    };
    assert!(error(too_soon).starts_with(
        "pause refresh 16.799 ns is shorter than a pause frame on the wire, 16.8 ns at port 0"
    ));
    let mut config = star_config(2, LineRate::G40);
    config.pause.refresh = Some(Duration::from_ps(16_800));
    Switch::new(config).unwrap();
    assert!(error(|config| config.group_priority = 3).contains("never ride in a lossless class"));
    assert!(error(|config| config.forwarding.hosts[1].port = PortId(7)).contains("port 7"));
    assert!(error(|config| config.buffer.total = ByteCount::new(100)).contains("nothing is left"));
    assert!(
        error(|config| config.red[2] = Some(RedConfig {
            kmin: RedConfig::DCQCN.kmax,
            ..RedConfig::DCQCN
        }))
        .contains("ECN of priority 2")
    );
}
