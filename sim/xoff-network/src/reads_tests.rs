//! READs and atomics as flows of a scenario: data go from `to` to `from`.

use xoff_sim::nic_registers as reg;
use xoff_sim::time::{ByteCount, Duration};

use crate::scenario::{FlowSettings, NicKind, Operation, Recovery, Scenario};
use crate::testing::{self, ran, refusal};
use crate::{Endpoints, FlowEnds, Simulation};

/// Two hosts with model NICs at a switch, which has these fault rules.
fn pair(flow: FlowSettings, duration: Duration, faults: &[&str]) -> Scenario {
    let mut scenario = testing::pair(NicKind::Model, flow, duration);
    scenario.switches[0].faults = faults.iter().map(|rule| rule.parse().unwrap()).collect();
    scenario
}

fn flow(operation: Operation, message: ByteCount, count: Option<u64>) -> FlowSettings {
    FlowSettings {
        operation,
        message,
        count,
        ..FlowSettings::new("f", "a", "b")
    }
}

/// The flow's ends, and bytes that came, messages that are complete, errors of both hosts.
fn seen(simulation: &Simulation) -> (&FlowEnds, u64, usize, u64) {
    let flow = &simulation.flows()[0];
    let errors = [flow.from, flow.to].map(|node| {
        let errors = simulation
            .network()
            .node(node)
            .host()
            .expect("a host")
            .errors();
        errors.payload_bytes + errors.completions + errors.failed_qps
    });
    let bytes = simulation.fresh_bytes(flow);
    let messages = simulation.sender(flow).delivered().len();
    (flow, bytes, messages, errors.iter().sum())
}

#[test]
fn data_come_back_to_the_host_that_posts() {
    for (operation, message) in [
        (Operation::Read, 100_000),
        (Operation::CmpSwap, 8),
        (Operation::FetchAdd, 8),
    ] {
        let settings = flow(operation, ByteCount::new(message), Some(20));
        let simulation = ran(&pair(settings, Duration::from_ms(2), &[]));
        let (flow, bytes, messages, errors) = seen(&simulation);
        assert_eq!(
            (bytes, messages, errors),
            (20 * message, 20, 0),
            "{operation:?}"
        );
        assert_eq!((flow.source, flow.target), (flow.to, flow.from));
        assert!(simulation.finished());
    }
}

/// READs, atomics, SENDs and WRITEs on one QP, both ends of which receive: with losses too.
#[test]
fn operations_take_turns_on_a_qp() {
    let mix = [
        (Operation::Write, 3),
        (Operation::SendImm, 2),
        (Operation::Read, 2),
        (Operation::CmpSwap, 1),
        (Operation::FetchAdd, 1),
    ];
    for faults in [&["any, chance 1/40: drop"][..], &[]] {
        let settings = FlowSettings {
            mix: Some(mix.into()),
            message: ByteCount::new(3_000),
            count: Some(90),
            outstanding: 8,
            ..FlowSettings::new("f", "a", "b")
        };
        let simulation = ran(&pair(settings, Duration::from_ms(20), faults));
        let (flow, bytes, messages, errors) = seen(&simulation);
        assert_eq!((bytes, messages, errors), (70 * 3_000 + 20 * 8, 90, 0));
        let at = |(node, place): (_, usize)| {
            let receiver = &simulation.host(node).receivers()[place];
            (node, receiver.whole(), receiver.fresh_bytes())
        };
        let (read, sent) = (20 * 3_000 + 20 * 8, 50 * 3_000);
        let sinks: Vec<_> = flow.sinks().map(at).collect();
        assert_eq!(sinks, [(flow.from, 40, read), (flow.to, 50, sent)]);
        assert!(simulation.finished());
    }
}

/// A message alone takes the time that it is said to take, to a few cycles of 5.12 ns.
#[test]
fn a_message_alone_takes_its_ideal_time() {
    for (operation, message) in [
        (Operation::Read, 1),
        (Operation::Read, 1_024),
        (Operation::Read, 5_000),
        (Operation::Read, 1 << 20),
        (Operation::FetchAdd, 8),
    ] {
        let settings = flow(operation, ByteCount::new(message), Some(1));
        let simulation = ran(&pair(settings, Duration::from_ms(1), &[]));
        let (flow, ..) = seen(&simulation);
        let latency = simulation.sender(flow).delivered()[0].latency.as_ps() as f64;
        let ideal = flow.ideal(0).as_ps() as f64;
        println!("{operation:?} of {message}: {latency} ps, said {ideal}");
        assert!(
            (latency - ideal).abs() < 60_000.0,
            "{operation:?} of {message}: {latency}, said {ideal}"
        );
    }
}

#[test]
fn the_nth_response_can_be_lost() {
    let settings = flow(Operation::Read, ByteCount::new(10 * 1_024), Some(4));
    let rules = ["read_response, skip 14, shots 1: drop"];
    let simulation = ran(&pair(settings, Duration::from_ms(1), &rules));
    let (flow, bytes, messages, errors) = seen(&simulation);
    assert_eq!((bytes, messages, errors), (4 * 10_240, 4, 0));
    let counters = |node| {
        simulation
            .network()
            .node(node)
            .endpoint()
            .expect("a NIC")
            .counters()
            .clone()
    };
    assert!(
        counters(flow.from).get(reg::RESENT_OUT) > 0,
        "asked for again"
    );
    assert!(counters(flow.to).get(reg::RESENT_OUT) > 0, "and sent again");
    assert_eq!(counters(flow.from).get(reg::TIMEOUTS), 0);
}

/// READs of 4 MB over a switch that loses one response of 256 (SIGCOMM 2016, section 4.1).
#[test]
fn go_back_0_reads_nothing_where_one_response_of_256_is_lost() {
    let goodput = |recovery: Recovery| {
        let settings = FlowSettings {
            recovery,
            nak_retry: false,
            ..flow(Operation::Read, ByteCount::new(4_000_000), None)
        };
        let rules = ["src 10.0.0.2, ip_id_low 0xff: drop"];
        let simulation = ran(&pair(settings, Duration::from_ms(5), &rules));
        let (_, bytes, messages, errors) = seen(&simulation);
        assert_eq!(errors, 0);
        (bytes as f64 * 8.0 / 5e6, messages)
    };
    let (stuck, none) = goodput(Recovery::GoBack0);
    let (goes_on, some) = goodput(Recovery::GoBackN);
    println!("{stuck:.3} Gb/s and {none} messages, {goes_on:.3} Gb/s and {some}");
    assert!(none == 0 && stuck < 1.0);
    assert!(some >= 3 && goes_on > 34.0, "{goes_on}");
}

#[test]
fn what_does_not_fit_is_said() {
    let why = |change: &dyn Fn(&mut Scenario)| {
        let settings = flow(Operation::FetchAdd, ByteCount::new(8), Some(1));
        let mut scenario = pair(settings, Duration::from_us(10), &[]);
        change(&mut scenario);
        refusal(&scenario, &Endpoints::default())
    };
    assert_eq!(
        why(&|it| it.flows[0].message = ByteCount::new(9)),
        "flows.f.message: 9 B: an atomic has 8 B"
    );
    assert_eq!(
        why(&|it| it.host.max_rd_atomic = 0),
        "host.max_rd_atomic: 0: 1 to 128"
    );
    let lockstep = why(&|it| it.flows[0].lockstep = true);
    let own = "flows.f.lockstep: its messages arrive at another host, and those of READs and atomics do not";
    assert!(lockstep.starts_with(own), "{lockstep}");
}
