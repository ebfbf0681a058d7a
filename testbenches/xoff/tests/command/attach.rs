//! `xoff attach`: two of its ends at one cable, and peers that are none.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use clap::Parser as _;
use serde_json::Value;
use tempfile::TempDir;
use xoff::Outcome;
use xoff::cli::Cli;

use crate::common::run;

/// What came of an end: `Ok` or the error's text, and `summary.json`.
pub type Came = (Result<Outcome, String>, Value);

/// A cable in a folder of its own.
pub struct Cable {
    folder: TempDir,
}

impl Cable {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("link.sock")
    }

    pub fn results(&self, end: &str) -> PathBuf {
        self.folder.path().join(end)
    }

    /// Starts an end in a thread of its own.
    pub fn end(&self, name: &str, arguments: &[&str]) -> JoinHandle<Came> {
        self.end_at(format!("unix:{}", self.socket().display()), name, arguments)
    }

    /// The same, with a cable of any kind.
    fn end_at(&self, place: String, name: &str, arguments: &[&str]) -> JoinHandle<Came> {
        let out = self.results(name);
        let mut words = vec!["attach".to_owned(), place, "--json".into()];
        words.extend(["--out".into(), out.display().to_string()]);
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        thread::spawn(move || {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let said = run(&words, None, false);
            let summary = fs::read(out.join("summary.json")).unwrap_or_default();
            let summary = serde_json::from_slice(&summary).unwrap_or(Value::Null);
            (said.outcome.map_err(|error| format!("{error:#}")), summary)
        })
    }

    /// Waits until somebody listens.
    pub fn listened(&self) {
        for _ in 0..500 {
            if self.socket().exists() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("nobody listens");
    }

    /// An end that listens and one that connects to it, as 192.0.2.1.
    pub fn both(&self, server: &[&str], client: &[&str]) -> [Came; 2] {
        let server = self.end("server", server);
        self.listened();
        let other = [
            "--connect",
            "--mac",
            "02:00:00:00:00:01",
            "--ip",
            "192.0.2.1",
        ];
        let client = self.end("client", &[&other, client].concat());
        [server, client].map(|end| end.join().unwrap())
    }

    /// Has the rules of the standards judge an end's capture.
    pub fn check(&self, end: &str) {
        let capture = self.results(end).join("capture.pcapng");
        let said = run(&["check", capture.to_str().unwrap()], None, false);
        assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);
    }
}

#[track_caller]
pub fn complete(ends: &[Came], received: [u64; 2]) {
    for ((outcome, summary), received) in ends.iter().zip(received) {
        assert_eq!(outcome.as_ref(), Ok(&Outcome::Held), "{summary:#}");
        assert_eq!(summary["ended"], "complete");
        assert_eq!(summary["messages"]["received"], received);
        assert_eq!(summary["messages"]["changed"], 0);
        assert_eq!(summary["error"], Value::Null);
    }
}

#[test]
fn a_message_goes_to_and_fro() {
    let cable = Cable::new();
    let tool = ["--model", "ibv_rc_pingpong", "-s", "5000", "-n", "20"];
    let ends = cable.both(&tool, &[&tool[..], &["192.0.2.2"]].concat());
    complete(&ends, [20, 20]);
    let [server, client] = ends.map(|(_, summary)| summary);
    // What the server got is what it sent back.
    assert_eq!(
        server["messages"]["checksum"],
        client["messages"]["checksum"]
    );
    assert_eq!(server["peer"][0], "192.0.2.1");
    assert_eq!(server["frames_in"], client["frames_out"]);
    // Five packets each way, and their ACKs.
    assert!(server["frames_in"]["nic"].as_u64().unwrap() >= 20 * 6);
    cable.check("server");
    cable.check("client");
}

#[test]
fn two_ends_connect_by_rdma_cm() {
    let cable = Cable::new();
    let tool = ["rping", "-C", "10", "-S", "5000", "-V"];
    // The first REP is lost, on the way to the client.
    let lost = ["--model", "--fault-in", "opcode 100, shots 1: drop"];
    let client = [&lost, &tool[..], &["-c", "-a", "192.0.2.2"]].concat();
    let ends = cable.both(&[&["--model"], &tool[..], &["-s"]].concat(), &client);
    complete(&ends, [10, 10]);
    let [server, client] = ends.map(|(_, summary)| summary);
    assert_eq!(
        server["messages"]["checksum"],
        client["messages"]["checksum"]
    );
    // The server sends it again until it has an RTU, which takes longer where the client's process has to wait: all but
    // the lost one come.
    let came = client["manager"]["REP in"].as_u64().unwrap();
    let sent = server["manager"]["REP out"].as_u64().unwrap();
    assert!(came > 0 && came == sent - 1, "{client:#}, {server:#}");
    assert_eq!(server["complaints"], Value::Array(Vec::new()));
    cable.check("server");
    cable.check("client");
    let capture = cable.results("server").join("capture.pcapng");
    let said = run(
        &["decode", "--model", capture.to_str().unwrap()],
        None,
        false,
    )
    .out;
    let port = said.matches("port 7174 QP").count();
    assert!(
        port >= 1 && said.contains("CM REP ") && said.contains("CM DREP "),
        "{said}"
    );
}

#[test]
fn what_rping_cannot_be_is_said() {
    for (words, said) in [
        (&["rping"][..], "--server|--client"),
        (&["rping", "-c"], "--address"),
        (&["rping", "-s", "-a", "192.0.2.1"], "cannot be used with"),
        (&["rping", "-s", "-S", "22"], "22 is not in 23..=65535"),
    ] {
        let words = [&["xoff", "attach", "unix:no.sock"], words].concat();
        let error = Cli::try_parse_from(words).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn what_is_lost_is_sent_again() {
    let cable = Cable::new();
    let tool = ["ibv_rc_pingpong", "-s", "20000", "-n", "10"];
    let faults = [
        "--model",
        "--fault-in",
        "opcode 1, skip 7, shots 1: drop",
        "--fault-out",
        "opcode 1, skip 30, shots 1: corrupt",
    ];
    let client = [&["--model"], &tool[..], &["192.0.2.2"]].concat();
    let ends = cable.both(&[&faults[..], &tool].concat(), &client);
    complete(&ends, [10, 10]);
    let server = &ends[0].1;
    assert_eq!(server["dropped"]["fault_in.lost"], 1);
    assert_eq!(server["dropped"]["fault_out.bad_fcs"], 1);
    for (_, summary) in &ends {
        assert!(
            summary["counters"]["resent_out"].as_u64().unwrap() > 0,
            "{summary:#}"
        );
    }
    cable.check("server");
}

#[test]
fn perftests_tools_are_spoken_too() {
    for (tool, received) in [("ib_send_bw", 50), ("ib_write_bw", 0)] {
        let cable = Cable::new();
        let words = ["--model", tool, "-s", "3000", "-n", "50", "-m", "1024"];
        let ends = cable.both(&words, &[&words[..], &["192.0.2.2"]].concat());
        complete(&ends, [received, 0]);
        assert_eq!(ends[1].1["messages"]["sent"], 50);
        assert_eq!(ends[0].1["counters"]["requests_in"], 150);
        cable.check("server");
    }
}

#[test]
fn memory_is_read_and_changed_once() {
    // An RTL NIC and a model NIC, each as the client.
    for (server, client) in [("--model", "--rtl"), ("--rtl", "--model")] {
        let kind = |nic: &'static str| (nic == "--model").then_some(nic);
        for words in [
            &["ib_read_bw", "-s", "3000", "-m", "1024"][..],
            &["ib_atomic_bw"],
            &["ib_atomic_bw", "-A", "CMP_AND_SWAP", "-o", "3"],
        ] {
            let cable = Cable::new();
            let tool = [words, &["-n", "150"]].concat();
            // A request, a response or an answer to an atomic is lost.
            let lost = |opcode| ["--fault-in", opcode];
            let faults = [
                lost("opcode 12, skip 20, shots 1: drop"),
                lost("opcode 20, skip 30, shots 1: drop"),
                lost("opcode 19, skip 5, shots 1: drop"),
            ]
            .concat();
            let faults_out = [
                ["--fault-out", "opcode 14, skip 40, shots 1: drop"],
                ["--fault-out", "opcode 18, skip 40, shots 1: drop"],
            ]
            .concat();
            let server: Vec<&str> = kind(server)
                .into_iter()
                .chain(faults)
                .chain(faults_out)
                .collect();
            let client: Vec<&str> = kind(client).into_iter().collect();
            let server = [&server, &tool[..]].concat();
            let client = [&client, &tool[..], &["192.0.2.2"]].concat();
            let ends = cable.both(&server, &client);
            let performed = if words == ["ib_atomic_bw"] { 150 } else { 0 };
            complete(&ends, [performed, 150]);
            assert_eq!(ends[0].1["dropped"]["fault_in.lost"], 1);
            assert_eq!(ends[0].1["dropped"]["fault_out.lost"], 1);
            cable.check("server");
        }
    }
}

#[test]
fn a_wrong_key_is_refused() {
    let cable = Cable::new();
    let server = ["--model", "--wait", "3", "ib_write_bw", "-n", "5"];
    let client = [
        "--model",
        "ib_write_bw",
        "-n",
        "5",
        "--wrong-key",
        "192.0.2.2",
    ];
    let [(server, _), (client, summary)] = cable.both(&server, &client);
    assert_eq!(client, Ok(Outcome::Failed));
    let why = summary["ended"]["failed"].as_str().unwrap();
    assert!(why.contains("RemoteAccess"), "{why}");
    let gone = server.unwrap_err();
    assert!(
        gone.contains("the peer closed the TCP connection"),
        "{gone}"
    );
    cable.check("server");
}

#[test]
fn the_rtl_speaks_with_the_model() {
    let cable = Cable::new();
    let tool = ["ibv_rc_pingpong", "-s", "3000", "-n", "3"];
    let client = [&["--model"], &tool[..], &["192.0.2.2"]].concat();
    let ends = cable.both(&[&["--waves"], &tool[..]].concat(), &client);
    complete(&ends, [3, 3]);
    assert_eq!(ends[0].1["nic"], "rtl");
    let cycles = &ends[0].1["cycles"];
    let [evaluated, all] = [0, 1].map(|place| cycles[place].as_u64().unwrap());
    assert!(0 < evaluated && evaluated < all, "{cycles}");
    assert!(cable.results("server").join("waves.fst").exists());
    cable.check("server");
}

/// What is said of a peer that does something to the cable, with results that are whole.
#[track_caller]
fn refused(peer: impl FnOnce(UnixStream), said: &[&str]) {
    let cable = Cable::new();
    let end = cable.end("end", &["--model", "--wait", "1", "ibv_rc_pingpong"]);
    cable.listened();
    peer(UnixStream::connect(cable.socket()).unwrap());
    let (outcome, summary) = end.join().unwrap();
    let error = outcome.unwrap_err();
    assert!(said.iter().all(|said| error.contains(said)), "{error}");
    assert_eq!(summary["error"], error);
    assert_eq!(summary["ended"], "running");
    let capture = fs::metadata(cable.results("end").join("capture.pcapng")).unwrap();
    assert!(capture.len() > 0);
    assert!(!cable.socket().exists());
}

#[test]
fn peers_that_are_none_end_it_in_order() {
    let waited = "a client of ibv_rc_pingpong at TCP port 18515";
    refused(drop, &["the peer closed the cable", waited]);
    refused(
        |mut stream| stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap(),
        &[
            "behind 0 frames, at byte 0",
            "[47, 45, 54, 20]",
            "14 to 16000 bytes",
            waited,
        ],
    );
    let frame = [&[0, 0, 0, 60][..], &[0xFF; 60]].concat();
    refused(
        |mut stream| stream.write_all(&[&frame[..], &[0, 0]].concat()).unwrap(),
        &["behind 1 frames, at byte 64", "within a length, [00, 00]"],
    );
    refused(
        |stream| {
            sleep(Duration::from_secs(2));
            drop(stream);
        },
        &["no frame of the peer in 1 s", waited],
    );
}

#[test]
fn a_datagram_is_a_frame_too() {
    let cable = Cable::new();
    let [a, b] = ["a", "b"].map(|end| cable.results(end).display().to_string());
    let ports = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let [c, d] = ports.map(|socket| socket.local_addr().unwrap().to_string());
    for (kind, own, peer) in [("dgram", a, b), ("udp", c, d)] {
        let tool = ["--model", "ibv_rc_pingpong", "-s", "5000", "-n", "20"];
        let server = cable.end_at(format!("{kind}:{own},{peer}"), "server", &tool);
        // It is there before its peer, and its peer before its first frame.
        sleep(Duration::from_millis(300));
        let other = ["--mac", "02:00:00:00:00:01", "--ip", "192.0.2.1"];
        let client = [&other, &tool[..], &["192.0.2.2"]].concat();
        let client = cable.end_at(format!("{kind}:{peer},{own}"), "client", &client);
        complete(&[server, client].map(|end| end.join().unwrap()), [20, 20]);
        cable.check("server");
        assert!(!Path::new(&own).exists());
    }
}

#[test]
fn datagrams_that_are_no_frames_end_it_in_order() {
    let cable = Cable::new();
    let [own, peer] = ["own", "peer"].map(|end| cable.results(end));
    let place = format!("dgram:{},{}", own.display(), peer.display());
    let start = |words: &[&str]| {
        let words = [&["--model", "--wait", "1"], words, &["ibv_rc_pingpong"]].concat();
        cable.end_at(place.clone(), "end", &words)
    };
    let (outcome, _) = start(&["--connect"]).join().unwrap();
    let error = outcome.unwrap_err();
    assert!(error.contains("datagrams have no connection"), "{error}");

    let (outcome, _) = start(&[]).join().unwrap();
    let error = outcome.unwrap_err();
    assert!(error.contains("no frame of the peer in 1 s"), "{error}");

    let end = start(&[]);
    let socket = UnixDatagram::bind(&peer).unwrap();
    for _ in 0..500 {
        if own.exists() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    assert_eq!(mode(&own), 0o600);
    socket.send_to(&[0xFF; 60], &own).unwrap();
    socket.send_to(b"hello", &own).unwrap();
    let (outcome, summary) = end.join().unwrap();
    let error = outcome.unwrap_err();
    assert!(
        error.contains("behind 1 frames of the peer: a datagram of 5 bytes"),
        "{error}"
    );
    assert_eq!(summary["error"], error);
    assert_eq!(summary["dropped"]["host.not_for_it"], 1);
}

#[test]
fn a_peer_that_never_comes_ends_it_in_order() {
    let cable = Cable::new();
    let end = cable.end("end", &["--model", "--wait", "1", "ibv_rc_pingpong"]);
    let (outcome, summary) = end.join().unwrap();
    let error = outcome.unwrap_err();
    assert!(error.contains("no peer came in 1 s"), "{error}");
    assert_eq!(summary["error"], error);
    assert!(!cable.socket().exists());
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn nobody_else_may_write_to_the_socket() {
    let cable = Cable::new();
    let arguments = ["--model", "--wait", "1", "ibv_rc_pingpong"];
    let end = cable.end("end", &arguments);
    cable.listened();
    assert_eq!(mode(&cable.socket()), 0o600);
    end.join().unwrap().0.unwrap_err();

    let _listener = UnixListener::bind(cable.socket()).unwrap();
    let error = cable
        .end("taken", &arguments)
        .join()
        .unwrap()
        .0
        .unwrap_err();
    assert!(error.contains("there is something already"), "{error}");
    fs::set_permissions(cable.socket(), fs::Permissions::from_mode(0o666)).unwrap();
    let connect = [&["--connect"], &arguments[..]].concat();
    let error = cable.end("open", &connect).join().unwrap().0.unwrap_err();
    assert!(
        error.contains("its mode is 666") && error.contains("chmod o-w"),
        "{error}"
    );
}

/// Linux's place in a scenario.
pub const INCAST: &str = "../../tools/interop/incast.toml";

/// Runs the scenario with model NICs, its attached host at the cable.
pub fn network(cable: &Cable, arguments: &[&str]) -> JoinHandle<Came> {
    let place = format!("linux=unix:{}", cable.socket().display());
    let out = cable.results("network");
    let mut words: Vec<String> = ["run", INCAST, "--set", "host.nic=model", "--json", "--pcap"]
        .map(String::from)
        .to_vec();
    words.extend([
        "--attach".into(),
        place,
        "--out".into(),
        out.display().to_string(),
    ]);
    words.extend(arguments.iter().map(|word| (*word).to_owned()));
    thread::spawn(move || {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = run(&words, None, false);
        let summary = fs::read(out.join("incast/summary.json")).unwrap_or_default();
        let summary = serde_json::from_slice(&summary).unwrap_or(Value::Null);
        (said.outcome.map_err(|error| format!("{error:#}")), summary)
    })
}

/// The addresses of the scenario's hosts `linux` and `far`.
pub const LINUX: [&str; 4] = ["--mac", "02:00:00:00:00:01", "--ip", "10.0.0.1"];
pub const FAR: &str = "10.0.0.2";

#[test]
fn a_peer_speaks_through_switches_with_an_incast_beside_it() {
    for (tool, received) in [
        (&["ib_send_bw", "-s", "8192"][..], 200),
        (&["ib_read_bw", "-s", "8192"], 0),
        (&["ib_atomic_bw"], 200),
    ] {
        let cable = Cable::new();
        let name = format!("hosts.far.tool.name={}", tool[0]);
        let network = network(&cable, &["--pace", "0.2", "--set", &name]);
        cable.listened();
        let words = ["-n", "200", "-m", "1024", FAR];
        let connect = ["--model", "--connect", "--pace", "0.2"];
        let peer = cable.end("peer", &[&connect, &LINUX[..], tool, &words].concat());
        let (outcome, summary) = network.join().unwrap();
        let (peer, of_peer) = peer.join().unwrap();
        assert_eq!(peer, Ok(Outcome::Held), "{of_peer:#}");
        assert_eq!(outcome, Ok(Outcome::Held), "{:#}", summary["attached"]);
        let far = &summary["attached"]["tools"][0];
        assert_eq!(far["host"], "far");
        assert_eq!(far["ended"], "complete");
        assert_eq!(far["messages"]["received"], received);
        assert_eq!(far["messages"]["changed"], 0);
        let note = summary["notes"].to_string();
        assert!(note.contains("no run is the same again"), "{note}");
        // It ends when all is said, long before its time.
        assert!(summary["duration_ns"].as_u64().unwrap() < 9_000_000_000);
        cable.check("peer");
        cable.check("network/incast");
    }
}

/// Through switches, either end connects by RDMA CM.
#[test]
fn rping_goes_through_a_network() {
    for (sets, peer) in [
        (
            &["--set", "hosts.far.tool.name=rping"][..],
            &["-c", "-a", FAR][..],
        ),
        (
            &[
                "--set",
                "hosts.far.tool.name=rping",
                "--set",
                "hosts.far.tool.server=linux",
            ],
            &["-s"],
        ),
    ] {
        let cable = Cable::new();
        let network = network(&cable, &[&["--pace", "0.2"], sets].concat());
        cable.listened();
        let words = ["rping", "-S", "8192", "-C", "200", "-m", "1024"];
        let connect = ["--model", "--connect", "--pace", "0.2"];
        let peer = cable.end("peer", &[&connect, &LINUX[..], &words, peer].concat());
        let (outcome, summary) = network.join().unwrap();
        let (peer, of_peer) = peer.join().unwrap();
        assert_eq!(peer, Ok(Outcome::Held), "{of_peer:#}");
        assert_eq!(outcome, Ok(Outcome::Held), "{:#}", summary["attached"]);
        let far = &summary["attached"]["tools"][0]["messages"];
        assert_eq!(
            (&far["received"], &far["changed"]),
            (&200.into(), &0.into())
        );
        assert_eq!(far["checksum"], of_peer["messages"]["checksum"]);
    }
}

#[test]
fn a_tool_in_the_network_may_be_the_client() {
    let cable = Cable::new();
    // An RTL NIC: its queue pair is connected while the network runs, and that takes time.
    let tool = [
        "hosts.far.tool.server=linux",
        "hosts.far.tool.name=ibv_rc_pingpong",
        "hosts.far.nic=rtl",
    ];
    let tool = tool.map(|set| ["--set", set]).concat();
    let network = network(&cable, &[&["--pace", "0.2"], &tool[..]].concat());
    cable.listened();
    let words = ["ibv_rc_pingpong", "-s", "8192", "-n", "200", "-m", "1024"];
    let connect = ["--model", "--connect", "--pace", "0.2"];
    let peer = cable.end("peer", &[&connect, &LINUX[..], &words].concat());
    let (outcome, summary) = network.join().unwrap();
    assert_eq!(peer.join().unwrap().0, Ok(Outcome::Held));
    assert_eq!(outcome, Ok(Outcome::Held), "{:#}", summary["attached"]);
    assert_eq!(summary["attached"]["tools"][0]["messages"]["received"], 200);
}

/// Reads frames until one has a type, and returns it.
fn next_of(stream: &mut UnixStream, ether_type: [u8; 2]) -> Vec<u8> {
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut frame).unwrap();
        if frame[12..14] == ether_type {
            return frame;
        }
    }
}

/// The checksum of the internet (RFC 1071).
pub fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes
        .chunks(2)
        .map(|it| u32::from(u16::from_be_bytes([it[0], it[1]])));
    let sum: u32 = words.sum();
    (!(((sum & 0xFFFF) + (sum >> 16)) as u16)).to_be_bytes()
}

#[test]
fn a_host_behind_switches_is_asked_for_and_answers_a_ping() {
    let cable = Cable::new();
    let network = network(&cable, &[]);
    cable.listened();
    let mut stream = UnixStream::connect(cable.socket()).unwrap();
    let mut send = |frame: &[u8]| {
        let length = (frame.len() as u32).to_be_bytes();
        stream.write_all(&[&length[..], frame].concat()).unwrap();
    };
    let [own, linux, far] = [[2, 0, 0, 0, 0, 1], [10, 0, 0, 1, 0, 0], [10, 0, 0, 2, 0, 0]];
    let arp = [0, 1, 8, 0, 6, 4, 0, 1];
    send(
        &[
            &[0xFF; 6][..],
            &own,
            &[8, 6],
            &arp,
            &own,
            &linux[..4],
            &[0; 6],
            &far[..4],
            &[0; 18],
        ]
        .concat(),
    );
    let told = next_of(&mut stream, [8, 6]);
    let hop = &told[22..28];
    // The first hop is the switch's port, and no host.
    assert_eq!((&told[..6], &told[28..32]), (&own[..], &far[..4]));
    assert_ne!(hop, [2, 0, 0, 0, 0, 2]);

    let mut ip = [
        &[0x45, 0, 0, 32, 0, 1, 0, 0, 64, 1, 0, 0][..],
        &linux[..4],
        &far[..4],
    ]
    .concat();
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    let mut echo = [8, 0, 0, 0, 0, 7, 0, 1, 0x58, 0x4F, 0x46, 0x46];
    let sum = checksum(&echo);
    echo[2..4].copy_from_slice(&sum);
    let mut send = |frame: &[u8]| {
        let length = (frame.len() as u32).to_be_bytes();
        stream.write_all(&[&length[..], frame].concat()).unwrap();
    };
    send(&[hop, &own, &[8, 0], &ip, &echo, &[0; 14]].concat());
    let answer = next_of(&mut stream, [8, 0]);
    assert_eq!((&answer[..6], &answer[6..12]), (&own[..], hop));
    // Two switches have counted it down.
    assert_eq!((answer[22], &answer[26..30]), (62, &far[..4]));
    assert_eq!((answer[34], &answer[38..46]), (0, &echo[4..]));

    drop(stream);
    let (outcome, summary) = network.join().unwrap();
    let error = outcome.unwrap_err();
    assert!(error.contains("the peer closed the cable"), "{error}");
    assert_eq!(
        summary["attached"]["error"],
        "behind 2 frames, at byte 128 of what the peer sent: the peer closed the cable"
    );
    assert_eq!(summary["state"], "interrupted");
    let capture = cable.results("network/incast/capture.pcapng");
    assert!(fs::metadata(capture).unwrap().len() > 0);
}

#[test]
fn what_does_not_go_with_a_peer_is_refused() {
    let refused = |words: &[&str], said: &str| {
        let words = [&["run", INCAST], words].concat();
        let error = format!("{:#}", run(&words, None, false).outcome.unwrap_err());
        assert!(error.contains(said), "{words:?}: {error}");
    };
    let attach = ["--attach", "linux=unix:nowhere.sock"];
    let with = |words: &[&'static str]| [&attach, words].concat();
    for (cable, said) in [
        ("linux=tcp:192.0.2.1:80", "127.0.0.1 or [::1] is right"),
        ("unix", "expected HOST=CABLE"),
    ] {
        let wrong = cable
            .parse::<xoff::run::outside::AttachedHost>()
            .unwrap_err();
        assert!(wrong.contains(said), "{wrong}");
    }
    refused(&[], "hosts.linux.nic: attached: its peer is outside");
    refused(
        &["--attach", "far=unix:x.sock"],
        "no such host is outside; linux is",
    );
    refused(&with(&["--checkpoints", "1ms"]), "nobody can save the peer");
    refused(
        &with(&["--set", "flows.f.to=linux"]),
        "flows.f: begins or ends at linux",
    );
    refused(
        &with(&["--set", "flows.f.to=far"]),
        "flows.f: begins or ends at far",
    );
    refused(
        &with(&["--set", "hosts.far.tool.server=r"]),
        "hosts.far.tool.server: r: linux is attached",
    );
    refused(
        &with(&["--set", "hosts.far.nic=tcp"]),
        "a host with a tool has",
    );
    refused(
        &with(&["--set", "hosts.linux.nic=model"]),
        "hosts.far.tool: no host is outside",
    );
    refused(
        &with(&["--set", "hosts.far.tool.mtu=1500"]),
        "hosts.far.tool.mtu: 1500: 256",
    );
}
