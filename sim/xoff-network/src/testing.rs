//! What tests of several modules need.

use xoff_sim::time::{Duration, Length, Time};

use crate::scenario::{FlowSettings, NicKind, Scenario};
use crate::{Endpoints, Simulation};

/// A scenario's network at the scenario's end.
pub fn ran(scenario: &Scenario) -> Simulation {
    ran_with(scenario, &Endpoints::default())
}

/// The same with these kinds of endpoints.
pub fn ran_with(scenario: &Scenario, endpoints: &Endpoints) -> Simulation {
    let mut simulation = Simulation::with(&scenario.checked().unwrap(), endpoints).unwrap();
    to_the_end(&mut simulation, scenario);
    simulation
}

/// Why a scenario is refused, or the network that it describes, with these kinds of endpoints.
pub fn refusal(scenario: &Scenario, endpoints: &Endpoints) -> String {
    match scenario.checked() {
        Err(issues) => issues.to_string(),
        Ok(scenario) => {
            let refused = Simulation::check(&scenario, endpoints).unwrap_err();
            refused.to_string()
        }
    }
}

/// Runs to the end of the scenario.
pub fn to_the_end(simulation: &mut Simulation, scenario: &Scenario) {
    let end = Time::ZERO + scenario.duration;
    simulation.run_until(end).unwrap();
}

/// Checks that all is done, and that no application has found an error.
pub fn finished(simulation: &Simulation) {
    assert!(simulation.finished());
    for (_, station) in simulation.stations() {
        let errors = station.host().map(|host| host.errors());
        assert_eq!(errors.unwrap_or_default(), Default::default());
    }
}

/// Two hosts with such NICs at a switch, and a flow between them.
pub fn pair(nic: NicKind, flow: FlowSettings, duration: Duration) -> Scenario {
    let mut scenario = Scenario::new("pair", duration)
        .host("a")
        .host("b")
        .switch("s")
        .link("a", "s", Length::from_m(2))
        .link("b", "s", Length::from_m(2))
        .flow(flow);
    scenario.host.nic = nic;
    scenario
}

/// The same with TCP, whose flow is in the lossy class 0.
pub fn tcp_pair(mut flow: FlowSettings, duration: Duration) -> Scenario {
    flow.dscp = 0;
    pair(NicKind::Tcp, flow, duration)
}
