//! Two ends at one cable, without sockets and clocks.

use super::*;

const END: Time = Time::from_ps(10_000_000_000_000);
const WINDOW: Duration = Duration::from_us(10);

fn settings(number: u8, tool: Tool, role: Role) -> Settings {
    Settings {
        nic: NicKind::Model,
        mac: MacAddr([2, 0, 0, 0, 0, number]),
        ipv4: Ipv4Addr::new(192, 0, 2, number),
        ipv6: Some(Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, number.into())),
        tool,
        role,
        dscp: 0,
        faults_in: Vec::new(),
        faults_out: Vec::new(),
        seed: number.into(),
    }
}

fn pingpong(iterations: u64) -> Tool {
    Tool::Pingpong(Pingpong {
        size: 3000,
        iterations,
        ..Pingpong::default()
    })
}

/// Runs both ends until their tools have ended, and shortly beyond.
fn run(settings: [Settings; 2]) -> [Report; 2] {
    run_with(settings, |_| {})
}

/// The same, and does something to the ends now and again.
fn run_with(settings: [Settings; 2], meddle: impl Fn(&mut [Attached; 2])) -> [Report; 2] {
    let endpoints = Endpoints::default();
    let mut ends = settings.map(|it| Attached::new(&it, &endpoints).unwrap());
    let mut now = Time::ZERO;
    let mut left = 100;
    while now < END && left > 0 {
        now += WINDOW;
        for end in &mut ends {
            end.run_until(now).unwrap();
        }
        meddle(&mut ends);
        let [a, b] = &mut ends;
        a.take_sent().into_iter().for_each(|frame| b.arrive(frame));
        b.take_sent().into_iter().for_each(|frame| a.arrive(frame));
        let ended = ends.iter().all(|end| *end.ended() != Ended::Running);
        left -= u32::from(ended);
    }
    ends.map(|end| end.report())
}

#[test]
fn a_server_is_found_by_all_of_its_addresses() {
    for server in ["192.0.2.2", "2001:db8::2", "fe80::ff:fe00:2"] {
        let server: IpAddr = server.parse().unwrap();
        let reports = run([
            settings(2, pingpong(5), Role::Server),
            settings(1, pingpong(5), Role::Client(server)),
        ]);
        for report in &reports {
            assert_eq!(report.ended, Ended::Complete, "{report:?}");
            assert_eq!((report.messages.received, report.messages.changed), (5, 0));
        }
        let (peer, ..) = reports[1].peer.unwrap();
        assert_eq!(peer, server);
    }
}

fn rping(count: u64) -> Tool {
    Tool::Rping(Rping {
        size: 5000,
        count: Some(count),
        mtu: 1024,
        ..Rping::default()
    })
}

#[test]
fn rping_connects_by_the_communication_manager() {
    for server in ["192.0.2.2", "2001:db8::2", "fe80::ff:fe00:2"] {
        let server: IpAddr = server.parse().unwrap();
        let reports = run([
            settings(2, rping(5), Role::Server),
            settings(1, rping(5), Role::Client(server)),
        ]);
        for report in &reports {
            assert_eq!(report.ended, Ended::Complete, "{report:#?}");
            assert_eq!((report.messages.received, report.messages.changed), (5, 0));
            assert_eq!(report.messages.sent, 5);
            assert_eq!(report.complaints, Vec::<String>::new());
            // REQ, REP, RTU, DREQ, DREP.
            assert_eq!(report.frames_in.manager + report.frames_out.manager, 5);
        }
        let (peer, ..) = reports[1].peer.unwrap();
        assert_eq!(peer, server);
        assert_eq!(reports[0].messages.checksum, reports[1].messages.checksum);
    }
}

#[test]
fn a_ping_that_comes_back_changed_is_found() {
    let client = Role::Client(Ipv4Addr::new(192, 0, 2, 2).into());
    let ends = [
        settings(2, rping(5), Role::Server),
        settings(1, rping(5), client),
    ];
    // The server's buffer is written to between its READ and its WRITE.
    let reports = run_with(ends, |[server, _]| {
        server.verbs.write(rping::FIRST + 3000, b"#");
    });
    assert_eq!(reports[1].ended, Ended::Changed);
    assert_eq!(reports[1].messages.changed, 5);
}

#[test]
fn rping_ends_in_order_when_nobody_waits_or_what_is_told_is_wrong() {
    let client = Role::Client(Ipv4Addr::new(192, 0, 2, 2).into());
    let other = Tool::Rping(Rping {
        port: 7175,
        ..Rping::default()
    });
    let asks = [
        settings(2, other, Role::Server),
        settings(1, rping(5), client),
    ];
    let [server, client_end] = run_with(asks, |[server, _]| {
        let said = server.waits_for();
        assert!(said.starts_with("a client of rping at port 7175"), "{said}");
    });
    let said = "the peer rejects the request for a connection to port 7174: reason 8 (invalid service ID: nobody \
                waits there)";
    assert_eq!(client_end.ended, Ended::Refused(said.into()));
    assert_eq!(server.ended, Ended::Running);
    let refused = server.dropped["cm.rejected"];
    assert!((10..30).contains(&refused), "{refused}");

    // A server with a smaller buffer than the client's.
    let small = Tool::Rping(Rping {
        size: 100,
        ..Rping::default()
    });
    let asks = [
        settings(2, small, Role::Server),
        settings(1, rping(5), client),
    ];
    let [server, client_end] = run(asks);
    let said = "the client's buffer has 5000 bytes; 1 to 100 is right, as -S says";
    assert_eq!(server.ended, Ended::Refused(said.into()));
    let Ended::Failed(why) = &client_end.ended else {
        panic!("{client_end:#?}");
    };
    assert!(
        why.starts_with("the peer has parted; this end waited for"),
        "{why}"
    );
}

#[test]
fn rping_goes_on_when_packets_are_lost() {
    let client = Role::Client(Ipv4Addr::new(192, 0, 2, 2).into());
    for lost in [
        "opcode 100, shots 2: drop",
        "opcode 100, skip 1, shots 1: drop",
        "any, chance 1/20: drop",
    ] {
        let mut server = settings(2, rping(20), Role::Server);
        server.faults_in = vec![lost.parse().unwrap()];
        server.faults_out = server.faults_in.clone();
        let reports = run([server, settings(1, rping(20), client)]);
        assert!(reports[0].dropped["fault_in.lost"] > 0, "{reports:#?}");
        for report in &reports {
            assert_eq!(report.ended, Ended::Complete, "{lost}: {report:#?}");
            assert_eq!((report.messages.received, report.messages.changed), (20, 0));
        }
    }
}

#[test]
fn the_same_frames_at_the_same_times_have_the_same_result() {
    let both = || {
        let client = Role::Client(Ipv4Addr::new(192, 0, 2, 2).into());
        let mut server = settings(2, pingpong(20), Role::Server);
        server.faults_in = vec!["opcode 2, chance 1/5: drop".parse().unwrap()];
        let reports = run([server, settings(1, pingpong(20), client)]);
        assert!(reports[0].dropped["fault_in.lost"] > 0, "{reports:?}");
        reports.map(|report| format!("{report:?}"))
    };
    assert_eq!(both(), both());
}

#[test]
fn a_client_waits_for_a_server_that_comes_later() {
    let client = Role::Client(Ipv4Addr::new(192, 0, 2, 2).into());
    let mut client =
        Attached::new(&settings(1, pingpong(1), client), &Endpoints::default()).unwrap();
    client.run_until(Time::from_us(300_000)).unwrap();
    assert_eq!(*client.ended(), Ended::Running);
    let said = "a server of ibv_rc_pingpong at 192.0.2.2, TCP port 18515";
    assert_eq!(client.waits_for(), said);
    // ARP alone: nobody answers.
    assert!(
        client
            .take_sent()
            .iter()
            .all(|frame| frame[12..14] == [8, 6])
    );
}

/// A frame is the NIC's, the stack's, or nobody's here.
#[test]
fn frames_go_to_whom_they_are_for() {
    let mac = MacAddr([2, 0, 0, 0, 0, 2]);
    let frame = |dst: [u8; 6], ether_type: u16, rest: &[u8]| {
        let mut bytes = dst.to_vec();
        bytes.extend_from_slice(&[2, 0, 0, 0, 0, 1]);
        bytes.extend_from_slice(&ether_type.to_be_bytes());
        bytes.extend_from_slice(rest);
        bytes.resize(bytes.len().max(60), 0);
        bytes
    };
    let udp = |port: u16| {
        let mut packet = vec![
            0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
        ];
        packet.extend_from_slice(&[0xC0, 0]);
        packet.extend_from_slice(&port.to_be_bytes());
        packet.extend_from_slice(&[0, 26, 0, 0]);
        packet
    };
    let to_qp = |number: u8| {
        let bth = [0x64, 0, 0xFF, 0xFF, 0, 0, 0, number, 0, 0, 0, 0];
        [&udp(4791)[..], &bth].concat()
    };
    let all = [0xFF; 6];
    for (bytes, whom) in [
        (frame(mac.0, 0x0800, &udp(4791)), For::Nic),
        (frame(mac.0, 0x0800, &to_qp(1)), For::Manager),
        (frame(mac.0, 0x0800, &to_qp(17)), For::Nic),
        (frame([2, 0, 0, 0, 0, 9], 0x0800, &to_qp(1)), For::Nic),
        (frame(mac.0, 0x0800, &udp(53)), For::Stack),
        (frame([2, 0, 0, 0, 0, 9], 0x0800, &udp(53)), For::Nobody),
        (frame(all, 0x0806, &[]), For::Stack),
        (frame([1, 0x80, 0xC2, 0, 0, 1], 0x8808, &[1, 1]), For::Nic),
        (frame(mac.0, 0x88CC, &[]), For::Nobody),
        (vec![0; 8], For::Nobody),
    ] {
        assert_eq!(addressee(&bytes, mac), whom, "{bytes:02x?}");
    }
}
