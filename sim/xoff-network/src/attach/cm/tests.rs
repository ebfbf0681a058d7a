//! The communication manager, by its messages: against those of Linux, and two of them with a cable that loses and
//! doubles.

use std::fs::File;
use std::path::Path;

use pcap_file::pcap::PcapReader;
use xoff_sim::time::Duration;
use xoff_sim::wire::{CmDreqRepr, CmMraRepr, MacAddr, Qpn};

use super::connection::time_of;
use super::*;

const PORT: u16 = 7174;

fn address(number: u8) -> Address {
    Address {
        mac: MacAddr([0x52, 0x54, 0, 0, 0, number]),
        ip: format!("192.0.2.{number}").parse().unwrap(),
    }
}

fn manager(number: u8) -> Manager {
    let guid = 0x5054_00FF_FE00_0000 | u64::from(number);
    Manager::new(vec![address(number)], 0, guid, Seed(number.into()))
}

/// What a tool tells, with the values of Linux's rping.
fn told(qpn: u32, psn: u32) -> Told {
    Told {
        qpn: Qpn::new(qpn).unwrap(),
        psn: Psn::wrapping(psn),
        answers: 1,
        asks: 1,
        mtu: 5,
        ack_timeout: 19,
        retries: 7,
        rnr_retries: 7,
    }
}

/// The messages of Linux in a capture of the repository.
fn of_linux(capture: &str) -> Vec<([u8; 256], CmMessage)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbenches/captures");
    let mut reader = PcapReader::new(File::open(folder.join(capture)).unwrap()).unwrap();
    let mut found = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let parsed = xoff_sim::protocol::parse(&packet.unwrap().data);
        if parsed.bth.is_some_and(|bth| is_for_it(bth.dest_qp))
            && let Ok(mad) = <[u8; 256]>::try_from(&parsed.payload[..])
        {
            let message = CmMessage::parse(&mad);
            found.extend(message.map(|message| (mad, message)));
        }
    }
    found
}

#[test]
fn messages_are_written_as_linux_writes_them() {
    let mut names = Vec::new();
    for capture in ["rdmacm_messages.pcap", "rping_ipv4_rdmacm_first39.pcap"] {
        for (bytes, message) in of_linux(capture) {
            assert_eq!(message.emit(), bytes, "{message:?}");
            names.push(message.body.name());
        }
    }
    let expected = [
        "REQ", "RTU", "DREQ", "REP", "DREP", "REJ", "REQ", "REP", "RTU",
    ];
    assert_eq!(names, expected);
}

/// A request and a reply of this manager are those of Linux but for what each draws, and how long it waits.
#[test]
fn what_is_asked_is_what_linux_asks() {
    let linux = of_linux("rping_ipv4_rdmacm_first39.pcap");
    let [(_, req), (_, rep), (_, rtu)] = &linux[..] else {
        panic!("{linux:?}");
    };
    let mut client = manager(1);
    let ends = (address(1), address(2));
    client.connect(ends, PORT, &told(0x2E, 0xEA_9957), Time::ZERO);
    let (.., mut own) = client.out.pop_back().unwrap();
    let (CmBody::Req(ours), CmBody::Req(theirs)) = (&mut own.body, &req.body) else {
        panic!("{own:?}");
    };
    assert_eq!((theirs.local_timeout, theirs.remote_timeout), (20, 20));
    (ours.local_timeout, ours.remote_timeout) = (20, 20);
    ours.local_id = theirs.local_id;
    ours.flow_label = theirs.flow_label;
    own.private.resize(req.private.len(), 0);
    own.private[2..4].copy_from_slice(&req.private[2..4]);
    own.transaction = req.transaction;
    assert_eq!(&own, req);

    let mut server = manager(2);
    server.listen(PORT);
    let frame = datagram::write(address(1), address(2), 0, Psn::default(), req);
    server.receive(&frame, Time::ZERO);
    server.accept(&told(0x2E, 0xCF_2539), Time::ZERO);
    let (.., mut own) = server.out.pop_back().unwrap();
    let (CmBody::Rep(ours), CmBody::Rep(theirs)) = (&mut own.body, &rep.body) else {
        panic!("{own:?}");
    };
    // Linux says how slowly it acknowledges.
    assert_eq!((theirs.ack_delay, ours.ack_delay), (15, 0));
    ours.ack_delay = 15;
    assert_eq!(ours.local_id, server.current.unwrap());
    ours.local_id = theirs.local_id;
    own.private = rep.private.clone();
    assert_eq!(&own, rep);
    assert_eq!(rtu.body.ids(), (0xDAA2_19CA, Some(0x2D6F_DC17)));
}

/// Two managers at a cable, of which the first is the client.
struct Pair {
    ends: [Manager; 2],
    now: Time,
    /// The messages of this name that are lost yet.
    lose: (&'static str, u32),
    /// Whether each message comes twice.
    doubled: bool,
    events: [Vec<Event>; 2],
}

impl Pair {
    fn new() -> Self {
        let mut ends = [manager(1), manager(2)];
        ends[1].listen(PORT);
        Self {
            ends,
            now: Time::ZERO,
            lose: ("", 0),
            doubled: false,
            events: [const { Vec::new() }; 2],
        }
    }

    fn ask(&mut self) {
        let ends = (address(1), address(2));
        self.ends[0].connect(ends, PORT, &told(17, 100), self.now);
    }

    /// Carries messages, and does as a tool does, for so long.
    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            for from in 0..2 {
                for frame in self.ends[from].poll(self.now) {
                    let (.., message) = datagram::read(&frame).unwrap();
                    if message.body.name() == self.lose.0 && self.lose.1 > 0 {
                        self.lose.1 -= 1;
                        continue;
                    }
                    for _ in 0..=u32::from(self.doubled) {
                        self.ends[1 - from].receive(&frame, self.now);
                    }
                }
            }
            for (place, end) in self.ends.iter_mut().enumerate() {
                while let Some(event) = end.event() {
                    match event {
                        Event::Request(_) => end.accept(&told(18, 200), self.now),
                        Event::Reply(_) => end.ready(),
                        _ => {}
                    }
                    self.events[place].push(event);
                }
            }
            self.now += Duration::from_ms(1);
        }
    }

    fn count(&self, end: usize, what: &str) -> u64 {
        self.ends[end].counts.get(what).copied().unwrap_or_default()
    }

    /// Connects, parts, and looks at what both have heard.
    #[track_caller]
    fn connect_and_part(&mut self) {
        self.ask();
        self.run(Duration::from_s(3));
        let now = self.now;
        self.ends[0].part(now);
        self.run(Duration::from_s(3));
        let [client, server] = &self.events;
        let [Event::Reply(reply), Event::Parted] = client[..] else {
            panic!("{client:?}");
        };
        let [Event::Request(request), Event::Established, Event::Parted] = server[..] else {
            panic!("{server:?}");
        };
        let told = |of: &Offer| (of.told.qpn.get(), of.told.psn.get(), of.told.mtu);
        assert_eq!(told(&request), (17, 100, 5));
        assert_eq!(told(&reply), (18, 200, 5));
        assert_eq!((request.ip, reply.ip), (address(1).ip, address(2).ip));
        for end in &self.ends {
            assert!(end.dropped.is_empty(), "{:?}", end.complaints);
        }
    }
}

#[test]
fn two_ends_connect_and_part() {
    let mut pair = Pair::new();
    pair.connect_and_part();
    let counts = |end: usize| format!("{:?}", pair.ends[end].counts);
    let client = r#"{"DREP in": 1, "DREQ out": 1, "REP in": 1, "REQ out": 1, "RTU out": 1}"#;
    assert_eq!(counts(0), client);
    let server = r#"{"DREP out": 1, "DREQ in": 1, "REP out": 1, "REQ in": 1, "RTU in": 1}"#;
    assert_eq!(counts(1), server);
}

#[test]
fn what_is_lost_is_sent_again_by_who_waits_for_the_answer() {
    for (lost, again) in [
        ("REQ", (0, "REQ")),
        ("REP", (0, "REQ")),
        ("RTU", (1, "REP")),
        ("DREQ", (0, "DREQ")),
        ("DREP", (0, "DREQ")),
    ] {
        for times in [1, 3] {
            let mut pair = Pair::new();
            pair.lose = (lost, times);
            pair.connect_and_part();
            let (end, what) = again;
            let resent = pair.count(end, &format!("{what} resent"));
            assert_eq!(
                resent,
                u64::from(times),
                "{lost}, {:?}",
                pair.ends[end].counts
            );
        }
    }
}

#[test]
fn what_comes_twice_happens_once() {
    let mut pair = Pair::new();
    pair.doubled = true;
    pair.connect_and_part();
    assert_eq!(pair.count(1, "RTU again"), 1 + pair.count(0, "RTU out") - 1);
    // Each DREQ is answered.
    assert_eq!(pair.count(1, "DREP out"), 2);
}

#[test]
fn a_port_at_which_nobody_waits_is_said() {
    let mut pair = Pair::new();
    pair.ends[1].listen(PORT + 1);
    pair.ask();
    pair.run(Duration::from_ms(10));
    assert_eq!(
        pair.events[0],
        [Event::Rejected(RejectReason::INVALID_SERVICE)]
    );
    assert_eq!(pair.ends[1].dropped["cm.rejected"], 1);
    assert_eq!(
        pair.ends[1].complaints[0],
        "a REQ from 192.0.2.1: its service ID is 0x0000000001061c06; 0x0000000001061c07, port 7175, is right"
    );
    // It may ask again.
    pair.ends[1].listen(PORT);
    pair.events = [const { Vec::new() }; 2];
    pair.ends[1].dropped.clear();
    pair.connect_and_part();
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let mut client = manager(1);
    client.connect((address(1), address(2)), PORT, &told(17, 100), Time::ZERO);
    let mut now = Time::ZERO;
    let mut sent = client.poll(now).len();
    while let Some(due) = client.deadline(now) {
        now = due;
        sent += client.poll(now).len();
    }
    assert_eq!(client.event(), Some(Event::Unanswered("REQ", 16)));
    // The peer is told, should it be there after all.
    assert_eq!((sent, client.counts["REJ out"]), (17, 1));
    assert_eq!(now, Time::ZERO + time_of(RESPONSE) * 16);
}

/// A message of the second end for the first.
fn inject(pair: &mut Pair, body: CmBody) {
    let message = CmMessage {
        transaction: 9,
        body,
        private: Vec::new(),
    };
    let frame = datagram::write(address(2), address(1), 0, Psn::default(), &message);
    let now = pair.now;
    pair.ends[0].receive(&frame, now);
}

#[test]
fn a_peer_that_needs_more_time_gets_it() {
    let mut pair = Pair::new();
    pair.lose = ("REQ", u32::MAX);
    pair.ask();
    let id = pair.ends[0].current.unwrap();
    let before = pair.ends[0].deadline(pair.now + Duration::from_ms(1));
    pair.run(Duration::from_ms(2));
    inject(
        &mut pair,
        CmBody::Mra(CmMraRepr {
            local_id: 5,
            remote_id: id,
            message: 0,
            service_timeout: 20,
        }),
    );
    let due = pair.ends[0].deadline(pair.now).unwrap();
    assert_eq!(due, pair.now + time_of(20) + time_of(RESPONSE));
    assert!(before.unwrap() < due && pair.ends[0].dropped.is_empty());
}

#[test]
fn messages_about_nothing_are_counted_and_a_dreq_is_answered() {
    let mut pair = Pair::new();
    let ids = CmIdsRepr {
        local_id: 5,
        remote_id: 6,
    };
    inject(&mut pair, CmBody::Rtu(ids));
    assert_eq!(pair.ends[0].dropped["cm.unknown_id"], 1);
    let said = "a RTU from 192.0.2.2 for communication ID 0x6: there is no connection";
    assert_eq!(pair.ends[0].complaints[0], said);
    let dreq = CmDreqRepr {
        local_id: 5,
        remote_id: 6,
        remote_qpn: Qpn::default(),
    };
    inject(&mut pair, CmBody::Dreq(dreq));
    let (.., answer) = pair.ends[0].out.pop_back().unwrap();
    let swapped = CmIdsRepr {
        local_id: 6,
        remote_id: 5,
    };
    assert_eq!(
        (answer.body, answer.transaction),
        (CmBody::Drep(swapped), 9)
    );

    // Of a connection that is known, but in another state, and of another queue pair.
    pair.ask();
    pair.run(Duration::from_ms(10));
    let (remote_id, connection) = pair.ends[0].connections.first_key_value().unwrap();
    let (local_id, remote_id) = (connection.remote_id.unwrap(), *remote_id);
    inject(
        &mut pair,
        CmBody::Drep(CmIdsRepr {
            local_id,
            remote_id,
        }),
    );
    assert_eq!(pair.ends[0].dropped["cm.unexpected"], 1);
    let dreq = CmDreqRepr {
        local_id,
        remote_id,
        remote_qpn: Qpn::new(99).unwrap(),
    };
    inject(&mut pair, CmBody::Dreq(dreq));
    assert_eq!(pair.ends[0].dropped["cm.qpn"], 1);
    let said = &pair.ends[0].complaints[2];
    assert_eq!(said, "a DREQ names QP 0x63; 0x11 is right");
}

#[test]
fn requests_that_cannot_be_met_are_refused_with_their_reason() {
    let request = |change: &dyn Fn(&mut CmReqRepr, &mut IpCmRepr)| {
        let mut client = manager(1);
        client.connect((address(1), address(2)), PORT, &told(17, 100), Time::ZERO);
        let (.., mut message) = client.out.pop_back().unwrap();
        let mut header = IpCmRepr::parse(&IpCm::new_unchecked(&message.private));
        let CmBody::Req(req) = &mut message.body else {
            panic!("{message:?}");
        };
        change(req, &mut header);
        header.emit(&mut IpCm::new_unchecked(&mut message.private));
        let frame = datagram::write(address(1), address(2), 0, Psn::default(), &message);
        let mut server = manager(2);
        server.listen(PORT);
        server.receive(&frame, Time::ZERO);
        let (.., answer) = server.out.pop_back().unwrap();
        let CmBody::Rej(rej) = answer.body else {
            panic!("{answer:?}");
        };
        assert_eq!(Some(rej.remote_id), client.current);
        (rej.reason, server.complaints[0].clone())
    };
    let from = "a REQ from 192.0.2.1: ";
    let (reason, said) = request(&|req, _| req.service_type = 1);
    let right = format!("{from}its transport service type is 1; 0, RC, is right");
    assert_eq!((reason, said), (9, right));
    let (reason, said) = request(&|req, _| req.mtu = 6);
    assert_eq!(
        (reason, said),
        (
            26,
            format!("{from}the code of its path MTU is 6; 1 to 5 is right")
        )
    );
    let (reason, said) = request(&|_, ip| ip.src = 0xC000_0209);
    let right = format!(
        "{from}the source in the IP addressing of its private data is 192.0.2.9; 192.0.2.1 is right"
    );
    assert_eq!((reason, said), (28, right));
    let (reason, said) = request(&|_, ip| ip.ip_version = 6);
    assert!(reason == 28 && said.ends_with("is 6; 4 is right"), "{said}");
    let (reason, said) = request(&|_, ip| ip.major = 1);
    assert!(reason == 28 && said.contains("major version"), "{said}");
}

#[test]
fn a_second_connection_is_refused() {
    let mut pair = Pair::new();
    pair.ask();
    pair.run(Duration::from_ms(10));
    pair.ask();
    pair.run(Duration::from_ms(10));
    assert_eq!(
        pair.events[0].last(),
        Some(&Event::Rejected(RejectReason::NO_QP))
    );
}
