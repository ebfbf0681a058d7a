//! `axis_nic` and the NIC of Xoff across a switch.

use own_nic::AxisDriver;
use xoff::run::execute::{self, RunOptions};
use xoff_cosim::network::kind;
use xoff_network::scenario::flow::Operation;
use xoff_network::prelude::*;
use xoff_sim::kernel::{NodeId, PortId};

/// The endpoints of this program: those of Xoff, and its own.
fn endpoints() -> Endpoints {
    xoff_cosim::endpoints().with("axis", kind::<AxisDriver>())
}

/// Messages of every length modulo 8 are sent one after the other; their count fits the run.
fn flow(name: &str, from: &str, to: &str, bytes: u64) -> FlowSettings {
    FlowSettings {
        operation: Operation::Send,
        // 4.096 us · 2^4: what is lost is sent again soon.
        timeout: 4,
        ..FlowSettings::new(name, from, to).messages(20, ByteCount::new(bytes))
    }
}

/// Two hosts with `axis_nic` and one with `nic` at a switch. One of the two sends to it, the other receives.
fn scenario(bytes: u64) -> Scenario {
    let mut scenario = Scenario::new("own", Duration::from_ms(4));
    for host in ["axis0", "axis1", "xoff"] {
        scenario = scenario.host(host);
    }
    for host in &mut scenario.hosts[..2] {
        host.nic = Some(NicKind::Custom("axis".into()));
    }
    scenario = scenario.switch("s");
    for host in ["axis0", "axis1", "xoff"] {
        scenario = scenario.link(host, "s", Length::from_m(2));
    }
    scenario
        .flow(flow("there", "axis0", "xoff", bytes))
        .flow(flow("back", "xoff", "axis1", bytes))
}

/// Runs until all messages are acknowledged, and checks that each came whole and right, once.
fn delivered(scenario: &Scenario) -> Simulation {
    let mut simulation = Simulation::with(&scenario.checked().unwrap(), &endpoints()).unwrap();
    simulation
        .run_until(Time::ZERO + scenario.duration)
        .unwrap();
    assert_eq!(simulation.connecting_flows(), 0, "all QPs are connected");
    for flow in simulation.flows() {
        let (sender, receiver) = (simulation.sender(flow), simulation.receiver(flow));
        assert_eq!(sender.failed(), None, "{}", flow.name);
        assert_eq!(sender.delivered().len(), 20, "{}: acknowledged", flow.name);
        assert_eq!(receiver.whole(), 20, "{}: written", flow.name);
    }
    for (_, station) in simulation.stations() {
        if let Some(host) = station.host() {
            assert_eq!(host.errors(), Default::default());
        }
    }
    simulation
}

#[test]
fn messages_of_all_lengths_both_ways() {
    for bytes in [1, 2, 3, 4, 7, 8, 9, 500, 1021, 1022, 1023, 1024] {
        let simulation = delivered(&scenario(bytes));
        // ARP and registers took their time: no flow started at once.
        let first = simulation.sender(&simulation.flows()[0]).delivered()[0];
        assert!(first.at > Time::from_us(2));
    }
}

#[test]
fn losses_are_recovered() {
    let mut scenario = scenario(1000);
    // Requests and answers, both ways.
    for link in [0, 1] {
        scenario.links[link].faults = vec!["chance 1/8: drop".parse().unwrap()];
        scenario.links[link].faults_back = vec!["chance 1/8: drop".parse().unwrap()];
    }
    let simulation = delivered(&scenario);
    let dropped = |host: u32| {
        let faults = simulation
            .network()
            .faults(NodeId(host), PortId(0))
            .unwrap();
        faults
            .counters()
            .map(|(_, counters)| counters.hit)
            .sum::<u64>()
    };
    assert!(dropped(0) > 0 && dropped(1) > 0);
}

#[test]
fn a_peer_that_never_answers_is_reported() {
    let mut scenario = scenario(100);
    scenario.links[0].faults = vec!["any: drop".parse().unwrap()];
    scenario.flows[0].retries = 2;
    let mut simulation = Simulation::with(&scenario.checked().unwrap(), &endpoints()).unwrap();
    simulation
        .run_until(Time::ZERO + scenario.duration)
        .unwrap();
    let sender = simulation.sender(&simulation.flows()[0]);
    assert!(sender.failed().is_some());
    assert!(sender.delivered().is_empty());
}

#[test]
fn a_run_with_capture_and_report() {
    let folder = std::env::temp_dir().join(format!("own-nic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let capture = folder.join("own.pcapng");
    let options = RunOptions {
        capture: Some((vec![(NodeId(0), PortId(0))], capture.clone())),
        ..RunOptions::new(endpoints())
    };
    let report = execute::run(&scenario(1000).checked().unwrap(), &options).unwrap();
    // 8 bytes every 6.4 ns are less than 40 Gb/s.
    assert!(report.html().contains("axis0"));
    std::fs::write(folder.join("report.html"), report.html()).unwrap();
    // 20 requests and 20 answers of some 70 bytes and more.
    assert!(std::fs::metadata(&capture).unwrap().len() > 20_000);
    let again = execute::run(&scenario(1000).checked().unwrap(), &options).unwrap();
    assert_eq!(report.summary.digest, again.summary.digest);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_run_goes_on_from_a_checkpoint() {
    let scenario = scenario(500);
    let at = |us| Time::from_us(us);
    let mut whole = Simulation::with(&scenario.checked().unwrap(), &endpoints()).unwrap();
    whole.run_until(at(50)).unwrap();
    let saved = whole.save().unwrap();
    whole.run_until(at(300)).unwrap();
    let mut resumed = Simulation::restore(&saved, &endpoints()).unwrap();
    resumed.run_until(at(300)).unwrap();
    // Every frame with its time, and every completion.
    assert_eq!(resumed.digest(), whole.digest());
    // Messages were sent before and behind the checkpoint.
    let sent = |at: Time| {
        let completions = whole.sender(&whole.flows()[0]).delivered().iter();
        completions.filter(|one| one.at < at).count()
    };
    assert!(0 < sent(at(50)) && sent(at(50)) < sent(at(300)));
}

#[test]
fn what_the_nic_cannot_carry_is_refused() {
    let refused = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = scenario(1000);
        change(&mut scenario);
        Simulation::with(&scenario.checked().unwrap(), &endpoints())
            .unwrap_err()
            .to_string()
    };
    for (change, why) in [
        (
            &(|scenario: &mut Scenario| scenario.flows[0].operation = Operation::Write)
                as &dyn Fn(&mut Scenario),
            "flows.there.operation: the NIC of axis0 does send",
        ),
        (
            &|scenario| scenario.flows[1].message = ByteCount::new(1025),
            "flows.back.message: 1.025 KB: the NIC of axis1 carries 1024 bytes at most",
        ),
        (
            &|scenario| scenario.flows[0].mtu = 512,
            "flows.there.mtu: 512: the NIC of axis0 has 1024, 2048, 4096",
        ),
        (
            &|scenario| scenario.flows.push(flow("more", "xoff", "axis0", 8)),
            "host axis0 has more than 1 flows, as many as its NIC has QPs",
        ),
        (
            &|scenario| scenario.hosts[0].nic = Some(NicKind::Custom("axes".into())),
            "hosts.axis0.nic: no own NIC of the name 'axes': there are axis",
        ),
    ] {
        let found = refused(change);
        assert!(found.contains(why), "{found}");
    }
    let slow = Simulation::with(&scenario(1000).checked().unwrap(), &endpoints()).unwrap();
    assert!(slow.notes()[0].contains("8 bytes every 6.4 ns"));
}
