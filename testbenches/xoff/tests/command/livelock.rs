//! Transport livelock (SIGCOMM 2016, 4.1): the goodput of go-back-0 and go-back-N under one loss in 256, and the W of
//! go-back-N measured in a capture.

use std::path::Path;

use crate::scenario_runs::{holds, scenario, summary};
use xoff::run::execute::{self, RunOptions};
use xoff_network::scenario::{NicKind, Scenario};
use xoff_sim::kernel::PortId;
use xoff_sim::time::Duration;
use xoff_sim::wire::Syndrome;
use xoff_waves::capture::{self, Direction};

/// Bytes on the wire of a packet with 1,024 bytes of payload: preamble, headers, ICRC, FCS and gap.
const PACKET_BYTES: u64 = 1_024 + 82;
/// Bytes on the wire of a NAK.
const NAK_BYTES: u64 = 62 + 24;
/// Packets that the NIC sends after the NAK has come: those that were selected for the wire before (rtl/nic/README.md).
const SELECTED: f64 = 2.0;

/// SENDs in one direction and READs in the other.
#[test]
fn livelock_on_the_rtl() {
    // 400 kB are 391 packets, more than any W leaves of 256.
    let short = ["go_back_0", "go_back_n", "loss_free"].map(|flow| format!("flows.{flow}.message"));
    let mut settings: Vec<(&str, &str)> =
        short.iter().map(|key| (key.as_str(), "400 KB")).collect();
    settings.push(("duration", "1 ms"));
    for (variant, full) in [("base", "a0"), ("read", "b0")] {
        let settings = [settings.as_slice(), &[("variant", variant)]].concat();
        let summary = summary("livelock", &settings);
        let metrics = &summary.metrics;
        assert_eq!(metrics["messages.go_back_0"], 0.0);
        assert!(metrics[format!("wire_utilization.{full}.0").as_str()] >= 0.95);
        assert!(metrics["messages.go_back_n"] >= 7.0, "{metrics:?}");
    }
}

#[test]
fn livelock_as_the_paper_has_it() {
    let model = ("host.nic", "model");
    holds(&summary("livelock", &[model]));
    // With long cables more packets are sent until the NAK arrives.
    let far: Vec<String> = (0..6).map(|link| format!("links.{link}.cable")).collect();
    let mut settings: Vec<(&str, &str)> = far.iter().map(|key| (key.as_str(), "300 m")).collect();
    settings.push(model);
    holds(&summary("livelock", &settings));
    // Messages of 128 packets are completed under go-back-0.
    let small = summary("livelock", &[model, ("flows.go_back_0.message", "128 KiB")]);
    assert!(small.metrics["messages.go_back_0"] > 20.0);
}

/// The paper's three operations: SEND is the base.
#[test]
fn livelock_with_writes_and_reads() {
    for variant in ["write", "read"] {
        let settings = [("host.nic", "model"), ("variant", variant)];
        holds(&summary("livelock", &settings));
    }
}

/// Scenario `livelock`, reduced to the pair with go-back-N.
fn pair(nic: NicKind, cable: &str, duration: &str) -> Scenario {
    let mut scenario = scenario("livelock", &[("duration", duration)]);
    scenario.host.nic = nic;
    scenario.expect.clear();
    scenario.hosts.retain(|host| host.name.ends_with('n'));
    scenario.switches.retain(|switch| switch.name == "sn");
    // The addresses of hosts follow from their numbers.
    scenario.switches[0].faults = vec!["src 10.0.0.1, ip_id_low 0xff: drop".parse().unwrap()];
    scenario.links.retain(|link| link.ends[1] == "sn");
    scenario.flows.retain(|flow| flow.name == "go_back_n");
    for link in &mut scenario.links {
        link.cable = cable.parse().unwrap();
    }
    scenario
}

/// Returns the time from the last bit of a lost packet to the last bit of the NAK at the sender, computed from the
/// settings. The receiver detects the loss by the packet after the lost one.
fn until_the_nak(scenario: &Scenario) -> Duration {
    let on_the_wire = |bytes| scenario.host.rate.time_of(bytes);
    let legs: Duration = (scenario.links.iter())
        .map(|link| link.cable.delay() + link.interface)
        .fold(Duration::ZERO, |sum, leg| sum + leg);
    on_the_wire(PACKET_BYTES) * 2
        + on_the_wire(NAK_BYTES) * 2
        + (legs + scenario.switches[0].latency) * 2
}

/// Losses, as seen in the capture of the sender's port.
#[derive(Debug, Default)]
struct Losses {
    /// Number of losses whose NAK arrived and whose packet was sent again.
    count: u32,
    /// Packets after the lost one that were sent until the NAK had arrived.
    until_nak: u32,
    /// Packets sent until the lost one was sent again.
    until_resent: u32,
    /// From the first to the last packet that was sent, and how many came after the first.
    time_ns: u64,
    packets: u32,
}

fn losses(path: &Path) -> Losses {
    let mut losses = Losses::default();
    let mut lost = None;
    let (mut behind, mut behind_at_nak) = (0, None);
    let mut begin = None;
    for record in capture::open(path).unwrap() {
        let record = record.unwrap();
        let parsed = xoff_sim::protocol::parse(&record.bytes);
        let (Some(bth), Some(ip)) = (parsed.bth, parsed.ip) else {
            continue;
        };
        let psn = bth.psn;
        if record.direction == Some(Direction::Sent) {
            losses.packets += u32::from(begin.is_some());
            losses.time_ns = record.time_ns - *begin.get_or_insert(record.time_ns);
        }
        match (record.direction.unwrap(), lost) {
            (Direction::Sent, None) if ip.id & 0xFF == 0xFF => {
                lost = Some(psn);
                (behind, behind_at_nak) = (0, None);
            }
            (Direction::Sent, Some(again)) if again == psn => {
                losses.count += 1;
                losses.until_nak += behind_at_nak.expect("a NAK before what is sent again");
                losses.until_resent += behind;
                // It may be lost again.
                lost = (ip.id & 0xFF == 0xFF).then_some(psn);
                (behind, behind_at_nak) = (0, None);
            }
            (Direction::Sent, Some(_)) => behind += 1,
            (Direction::Received, Some(psn)) => {
                let aeth = parsed.ext.and_then(|ext| ext.aeth);
                let nak = aeth.is_some_and(|aeth| aeth.syndrome == Syndrome::PSN_SEQUENCE_ERROR);
                if nak && bth.psn == psn {
                    behind_at_nak = Some(behind);
                }
            }
            (Direction::Received | Direction::Sent, None) => {}
        }
    }
    losses
}

#[test]
fn w_is_what_the_delays_say() {
    for (nic, cable, duration) in [
        (NicKind::Model, "2 m", "5 ms"),
        (NicKind::Model, "300 m", "5 ms"),
        (NicKind::Rtl, "2 m", "1 ms"),
        (NicKind::Rtl, "300 m", "1 ms"),
    ] {
        let scenario = pair(nic.clone(), cable, duration);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("an.pcapng");
        let sender = xoff_cosim::simulation(&scenario.checked().unwrap())
            .unwrap()
            .node("an")
            .unwrap();
        let options = RunOptions {
            capture: Some((vec![(sender, PortId(0))], path.clone())),
            ..RunOptions::new(xoff_cosim::endpoints())
        };
        let report = execute::run(&scenario.checked().unwrap(), &options).unwrap();
        let losses = losses(&path);
        let packet = scenario.host.rate.time_of(PACKET_BYTES);
        let says = until_the_nak(&scenario).as_ps() as f64 / packet.as_ps() as f64;
        let mean = |packets: u32| f64::from(packets) / f64::from(losses.count);
        let (until_nak, w) = (mean(losses.until_nak), mean(losses.until_resent));
        println!(
            "{nic:?}, {cable}: {} losses, {until_nak:.2} packets until the NAK ({says:.2}), W {w:.2}",
            losses.count
        );
        assert!(losses.count > 10, "{losses:?}");
        assert!((until_nak - says).abs() < 2.0, "{until_nak} {says}");
        assert!((w - until_nak - SELECTED).abs() < 1.0, "{w} {until_nak}");
        if nic == NicKind::Model {
            // Of loss-free goodput, 1,024 of 1,106 bytes; the message that the end cuts counts in neither. After a NAK
            // the wire rests until the payload is read again.
            let share = report.summary.metrics["goodput_gbps.go_back_n"]
                / (40.0 * 1_024.0 / PACKET_BYTES as f64);
            let busy =
                (packet * u64::from(losses.packets)).as_ps() as f64 / 1e3 / losses.time_ns as f64;
            let expected = (255.0 - w) / 256.0 * busy;
            println!(
                "  {share:.4} of the loss-free goodput, (255 - W)/256 of a wire busy {busy:.4}: {expected:.4}"
            );
            assert!((share / expected - 1.0).abs() < 0.003, "{share} {expected}");
        }
    }
}
