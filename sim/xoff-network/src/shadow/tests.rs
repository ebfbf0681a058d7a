//! The captures of the repository, and of the folder `XOFF_CAPTURES`, whole and broken on purpose.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use pcap_file::pcap::PcapReader;
use xoff_sim::headers::Headers;
use xoff_sim::protocol::icrc;
use xoff_sim::time::Time;
use xoff_sim::wire::frame::IpKind;

use super::*;

/// Where the BTH of an untagged packet over IPv4 begins.
const BTH: usize = 14 + 20 + 8;

/// Paths of all captures whose names begin so.
fn captures(name: &str) -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![
        here.join("../xoff-sim/tests/data"),
        here.join("../../testbenches/captures"),
    ];
    folders.extend(std::env::var_os("XOFF_CAPTURES").map(PathBuf::from));
    let files = folders.iter().flat_map(|folder| folder.read_dir().unwrap());
    let paths = files.map(|file| file.unwrap().path());
    let of_name = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_str().unwrap();
        file.starts_with(name) && file.ends_with(".pcap")
    };
    paths.filter(of_name).collect()
}

fn read(path: &Path) -> Vec<Recorded> {
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    let mut frames = Vec::new();
    let mut begin = None;
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let begin = *begin.get_or_insert(packet.timestamp);
        frames.push(Recorded {
            number: frames.len() as u64 + 1,
            time: Time::from_ns((packet.timestamp - begin).as_nanos() as u64),
            bytes: packet.data.into_owned().into(),
        });
    }
    frames
}

fn capture(name: &str) -> Vec<Recorded> {
    read(&captures(name)[0])
}

fn settings(side: &str) -> Settings {
    Settings {
        side: side.parse().unwrap(),
        nic: NicKind::Model,
        granted: GRANTED,
        connections: Vec::new(),
        regions: Vec::new(),
    }
}

fn held_against(frames: &[Recorded], side: &str) -> Result<Report, Error> {
    shadow(frames, &settings(side), &Endpoints::default())
}

/// Changes bytes of a frame, counted from its BTH, and corrects the ICRC.
fn change(frames: &mut [Recorded], number: u64, changes: &[(usize, u8)]) {
    let frame = &mut frames[number as usize - 1];
    let mut bytes = frame.bytes.to_vec();
    for (at, value) in changes {
        bytes[BTH + at] = *value;
    }
    let ip = Headers::at(&bytes).unwrap().ip.unwrap();
    let end = usize::from(u16::from_be_bytes([bytes[16], bytes[17]])) + ip.offset - 4;
    let right = icrc(IpKind::V4, &bytes[ip.offset..end]).unwrap();
    bytes[end..end + 4].copy_from_slice(&right);
    frame.bytes = Bytes::from(bytes);
}

/// The fields of the differences, with their frames.
fn different(frames: &[Recorded]) -> Vec<(u64, Vec<&'static str>)> {
    let report = held_against(frames, "192.0.2.2").unwrap();
    assert_eq!(report.different as usize, report.differences.len());
    assert_eq!(report.held(), report.different == 0);
    (report.differences.into_iter())
        .map(|it| (it.frame, it.fields))
        .collect()
}

#[test]
fn every_answer_of_every_capture_is_matched_or_allowed() {
    let mut judged = BTreeMap::<String, u64>::new();
    let mut rules = BTreeMap::<&str, u64>::new();
    for path in captures("") {
        let frames = read(&path);
        for side in [
            "192.0.2.1",
            "192.0.2.2",
            "198.51.100.2",
            "2001:db8::1",
            "2001:db8::2",
        ] {
            match held_against(&frames, side) {
                Ok(report) => {
                    assert_eq!(report.differences, [], "{} {side}", path.display());
                    let allowed: u64 = report.allowed.values().sum();
                    assert!(report.held() && report.answers == report.matched + allowed);
                    assert!(report.matched > 0, "{} {side}", path.display());
                    for (rule, count) in &report.allowed {
                        *rules.entry(rule.name()).or_default() += count;
                    }
                    let name = path.file_stem().unwrap().to_str().unwrap();
                    *judged.entry(name.to_owned()).or_default() += report.answers;
                }
                Err(Error::NoSuchSide { .. } | Error::NothingToJudge { .. }) => {}
                Err(error) => panic!("{} {side}: {error}", path.display()),
            }
        }
    }
    assert!(rules.contains_key("linux-invalidation"), "{rules:?}");
    for (name, least) in [
        ("corrupt_bad_icrc_some", 330),
        ("directed_all_ops_lengths_first300", 100),
        ("loss_mtu256_all_ops", 175),
        ("nak_access_and_invalid", 16),
        ("retry_exceeded_no_responder", 11),
        ("rnr_nak_then_success_first30", 10),
        ("rping_ipv4_rdmacm_first39", 17),
        ("vlan100", 38),
    ] {
        assert!(judged.get(name) >= Some(&least), "{name}: {judged:?}");
    }
    println!("{judged:?} {rules:?}");
}

#[test]
fn connections_are_told_by_the_communication_manager() {
    let frames = capture("rping");
    for (side, first_psn, answers) in [("192.0.2.2", 0xCF_2539, 6), ("192.0.2.1", 0xEA_9957, 11)] {
        let report = held_against(&frames, side).unwrap();
        let [it] = &report.connections[..] else {
            panic!("{:?}", report.connections);
        };
        assert_eq!(it.told, Told::ConnectionManager);
        assert_eq!(
            (it.first_psn, it.mtu, it.mtu_shown),
            (first_psn, 4096, true)
        );
        assert_eq!((it.qpn, it.peer_qpn, it.answers), (0x2E, 0x2E, answers));
        assert_eq!(report.not_judged.unreliable, 3);
    }
}

/// Byte 12 of a packet is the syndrome of an AETH, 15 the last of the MSN.
#[test]
fn a_wrong_answer_is_found() {
    let whole = capture("loss_mtu256_all_ops");
    assert_eq!(different(&whole), []);
    let broken = |number: u64, changes: &[(usize, u8)]| {
        let mut frames = whole.clone();
        change(&mut frames, number, changes);
        different(&frames)
    };
    // Frame 6 is an ACK of two messages, 8 a READ's first response, 9 the next one, 69 the response to an atomic, 71 a
    // sequence NAK.
    assert_eq!(broken(6, &[(15, 9)]), [(6, vec!["msn"])]);
    assert_eq!(broken(8, &[(15, 9)]), [(8, vec!["msn"])]);
    assert_eq!(broken(69, &[(15, 99)]), [(69, vec!["msn"])]);
    assert_eq!(broken(71, &[(15, 7)]), [(71, vec!["msn"])]);
    assert_ne!(broken(71, &[(12, 0x61)]), []);
    assert_eq!(
        broken(8, &[(0, 0x0E)]).len(),
        1,
        "another opcode, without an AETH"
    );
    // An ACK of what was not asked yet may be one of a request that the tap lost.
    let mut frames = whole.clone();
    change(&mut frames, 6, &[(11, 0x04)]);
    let report = held_against(&frames, "192.0.2.2").unwrap();
    assert_eq!(report.connections[0].lost_at_tap, Some(6));
}

#[test]
fn credits_are_allowed() {
    let mut frames = capture("loss_mtu256_all_ops");
    let before = held_against(&frames, "192.0.2.2").unwrap().allowed;
    change(&mut frames, 6, &[(12, 5)]);
    let mut allowed = held_against(&frames, "192.0.2.2").unwrap().allowed;
    assert_eq!(allowed.remove(&Allowed::Credits), Some(1));
    assert_eq!(allowed, before);
}

#[test]
fn an_answer_that_is_missing_is_found_where_nothing_shows_that_it_was_lost() {
    let whole = capture("loss_mtu256_all_ops");
    // The response to an atomic that does not come again.
    let without = |number: u64| -> Vec<Recorded> {
        let frames = whole.iter().filter(|it| it.number != number);
        frames.cloned().collect()
    };
    let differences = different(&without(69));
    assert_eq!(differences, [(68, vec![])]);
    // An ACK, which a later answer covers.
    assert_eq!(different(&without(67)), []);
}

#[test]
fn an_atomic_that_is_performed_twice_is_found() {
    let mut frames = capture("corrupt_bad_icrc_some");
    assert_eq!(different(&frames), []);
    // Frame 675 answers the duplicate of 664, of which 665 is the first answer: byte 23 is the last of the original.
    let last = frames[674].bytes[BTH + 23];
    change(&mut frames, 675, &[(23, last ^ 1)]);
    assert_eq!(different(&frames), [(675, vec!["original"])]);
}

#[test]
fn a_request_that_the_tap_lost_ends_the_judgement() {
    let mut frames = capture("loss_mtu256_all_ops");
    // A WRITE that was acknowledged and did not come again.
    frames.retain(|it| it.number != 66);
    let report = held_against(&frames, "192.0.2.2").unwrap();
    assert!(report.held(), "{:?}", report.differences);
    let it = &report.connections[0];
    assert_eq!(it.lost_at_tap, Some(67));
    assert!(
        it.unjudged > 100 && report.answers + it.unjudged < 175,
        "{it:?}"
    );
}

#[test]
fn half_a_conversation_is_not_judged() {
    let whole = capture("loss_mtu256_all_ops");
    let of = |side: u8| -> Vec<Recorded> {
        let from = |it: &&Recorded| it.bytes[29] == side;
        whole.iter().filter(from).cloned().collect()
    };
    for (half, requests, answers) in [(1, 266, 0), (2, 0, 172)] {
        let error = held_against(&of(half), "192.0.2.2")
            .unwrap_err()
            .to_string();
        let expected = match half {
            1 => format!(
                "192.0.2.2: no conversation of RC in which this end answers: {requests} requests to it without answers \
                 in the capture, {answers} answers of it without requests, 0 packets of UC and UD, which nothing answers"
            ),
            _ => "192.0.2.2: no packet is to this address; the capture has packets to 192.0.2.1"
                .into(),
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn the_beginning_of_a_capture_may_be_inside_of_a_message() {
    let frames = capture("loss_mtu256_all_ops");
    // Frame 57 begins a SEND of eight packets, the seventh message.
    let report = held_against(&frames[58..], "192.0.2.2").unwrap();
    assert!(report.held(), "{:?}", report.differences);
    let it = &report.connections[0];
    assert_eq!((it.skipped, it.msn, it.unjudged), (6, 6, 1));
    let told = report.answers;
    // What settings say of the same is taken.
    let known = Settings {
        connections: vec![Known {
            qpn: 0x54,
            msn: Some(5),
            ..Known::default()
        }],
        ..settings("192.0.2.2")
    };
    let wrong = shadow(&frames[58..], &known, &Endpoints::default()).unwrap();
    assert!(wrong.different > told / 2, "{}", wrong.different);
}

#[test]
fn known_memory_is_taken_as_it_is() {
    let frames = capture("nak_access_and_invalid");
    let mut known = settings("192.0.2.2");
    let region = |length, write| KnownRegion {
        key: 0x31CD,
        base: 0x7F37_28BF_E000,
        length,
        write,
        read: true,
        atomic: true,
    };
    known.regions = vec![region(65536, true)];
    let report = shadow(&frames, &known, &Endpoints::default()).unwrap();
    assert_eq!((report.differences, report.denied), (vec![], 0));
    // Memory that may not be written: the first WRITE of each QP is refused.
    known.regions = vec![region(65536, false)];
    let report = shadow(&frames, &known, &Endpoints::default()).unwrap();
    assert_eq!(report.different, 16, "{:?}", report.differences);
}

#[test]
fn one_kind_of_nic_more_or_less() {
    let frames = capture("vlan100");
    let rtl = Settings {
        nic: NicKind::Rtl,
        ..settings("198.51.100.2")
    };
    let error = shadow(&frames, &rtl, &Endpoints::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rtl: this program has no RTL NIC; \"model\" is right"
    );
    let granted = Settings {
        granted: 1,
        ..settings("198.51.100.2")
    };
    shadow(&frames, &granted, &Endpoints::default()).unwrap();
}
