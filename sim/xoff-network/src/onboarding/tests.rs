//! Two racks and a leaf; in the second stage frames cross the leaf.

use super::*;
use crate::scenario::{Audit, FlowSettings, NicKind, Scenario, WantedSwitch};
use crate::{Endpoints, Run};
use xoff_sim::time::{ByteCount, Duration, Length};

fn scenario() -> Scenario {
    let mut scenario = Scenario::new("stages", Duration::from_ms(1))
        .switch("t0")
        .switch("t1")
        .switch("l");
    for (host, switch) in [("a", "t0"), ("b", "t0"), ("c", "t1"), ("d", "t1")] {
        scenario = scenario.host(host).link(host, switch, Length::from_m(2));
    }
    let cable = Length::from_m(20);
    scenario = scenario.link("t0", "l", cable).link("t1", "l", cable);
    scenario.host.nic = NicKind::Model;
    for (name, from, to) in [("rack", "a", "b"), ("far", "a", "d"), ("last", "c", "b")] {
        let mut flow = FlowSettings::new(name, from, to);
        flow.message = ByteCount::new(64_000);
        scenario = scenario.flow(flow);
    }
    scenario.onboarding = Some(Onboarding {
        every: Duration::from_us(200),
        stages: vec![vec!["rack".into()], vec!["far".into()], vec!["last".into()]],
        heed_audit: true,
    });
    scenario.audit = Some(Audit {
        switch: WantedSwitch {
            lossless: Some(vec![3]),
            ..WantedSwitch::default()
        },
        ..Audit::default()
    });
    scenario
}

fn run(scenario: &Scenario) -> Run {
    let mut run = Run::new(&scenario.checked().unwrap(), &Endpoints::default()).unwrap();
    run.go(&mut (), &mut []).unwrap();
    run
}

/// When each stage began, in µs, and the findings.
fn seen(run: &Run) -> (Vec<Option<u64>>, Vec<String>) {
    let gatekeeper = run.recorder.gatekeeper().unwrap();
    let began = gatekeeper
        .stages()
        .iter()
        .map(|stage| stage.from_ns.map(|ns| ns / 1_000));
    let findings = gatekeeper
        .findings()
        .into_iter()
        .map(|finding| finding.text);
    (began.collect(), findings.collect())
}

/// The first arrival of each flow is in its stage.
fn delivered(run: &Run) -> Vec<usize> {
    let flows = run.simulation.flows().iter();
    flows
        .map(|flow| run.simulation.sender(flow).delivered().len())
        .collect()
}

#[test]
fn stages_begin_one_after_another() {
    let run = run(&scenario());
    assert_eq!(seen(&run), (vec![Some(0), Some(200), Some(400)], vec![]));
    for (flow, from) in run.simulation.flows().iter().zip([0, 200, 400]) {
        let first = run.simulation.sender(flow).delivered()[0];
        let began = first.at.saturating_since(Time::ZERO + first.latency);
        assert!(began.as_ps() / 1_000_000 >= from, "{}: {began}", flow.name);
    }
}

/// A leaf without PFC on the way of the second stage keeps it out, and all behind it, though nothing was lost yet. A
/// host that differs and is on nobody's way yet keeps nobody out.
#[test]
fn the_audit_keeps_a_stage_out() {
    let mut scenario = scenario();
    scenario.switches[2].lossless = Vec::new();
    let audited = run(&scenario);
    let (began, findings) = seen(&audited);
    assert_eq!(began, [Some(0), None, None]);
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0].starts_with(
            "stage 2 of 3 (far) is not let in at 200 µs: l: lossless is no class, wanted is class 3"
        ),
        "{findings:?}"
    );
    assert_eq!(delivered(&audited)[1..], [0, 0]);
    // Nobody asks the audit.
    scenario.onboarding.as_mut().unwrap().heed_audit = false;
    assert_eq!(seen(&run(&scenario)).0, [Some(0), Some(200), Some(400)]);
}

/// Frames are dropped in the second stage: it ends there, and the third never begins. What ran before goes on.
#[test]
fn harm_stops_a_stage() {
    let mut scenario = scenario();
    scenario.links[4].faults = vec!["chance 1/20: drop".parse().unwrap()];
    let run = run(&scenario);
    let (began, findings) = seen(&run);
    assert_eq!(began, [Some(0), Some(200), None]);
    assert_eq!(
        findings,
        ["stage 2 of 3 (far) is stopped at 400 µs: frames are dropped at t0 → l (link)"]
    );
    let last = |place: usize| {
        let sender = run.simulation.sender(&run.simulation.flows()[place]);
        sender.delivered().last().map(|message| message.at)
    };
    assert!(last(0) > Some(Time::from_us(900)));
    assert!(last(1) < Some(Time::from_us(600)));
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut scenario = scenario();
    let onboarding = scenario.onboarding.as_mut().unwrap();
    onboarding.every = Duration::ZERO;
    onboarding.stages = vec![vec!["rack".into(), "near".into()], vec!["rack".into()]];
    assert_eq!(
        scenario.checked().unwrap_err().to_string(),
        "onboarding.every: must be above 0, for example '1 ms'\n\
         onboarding.stages: 'near' is no entry of flows: they are rack, far, last\n\
         onboarding.stages: 'rack' is in two stages"
    );
}
