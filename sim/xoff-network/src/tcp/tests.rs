//! TCP against itself, over cables and switches.

use xoff_sim::time::{ByteCount, Duration, Length, Time};

use crate::Simulation;
use crate::scenario::{FlowSettings, NicKind, Scenario};

fn pair(messages: u64, size: u64) -> Scenario {
    let mut flow = FlowSettings::new("f", "a", "b").messages(messages, ByteCount::new(size));
    flow.dscp = 0;
    let mut scenario = Scenario::new("tcp", Duration::from_ms(100))
        .host("a")
        .host("b")
        .switch("s")
        .link("a", "s", Length::from_m(2))
        .link("b", "s", Length::from_m(2))
        .flow(flow);
    scenario.host.nic = NicKind::Tcp;
    scenario
}

fn ran(scenario: &Scenario) -> Simulation {
    let mut simulation = Simulation::new(scenario).unwrap();
    simulation
        .run_until(Time::ZERO + scenario.duration)
        .unwrap();
    simulation
}

#[test]
fn messages_arrive_whole() {
    let simulation = ran(&pair(20, 100_000));
    let flow = &simulation.flows()[0];
    assert!(simulation.finished());
    assert_eq!(simulation.receiver(flow).fresh_bytes(), 2_000_000);
    assert_eq!(simulation.host(flow.to).errors().payload_bytes, 0);
}
