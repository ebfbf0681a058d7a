//! A rack of which some device differs from what was wanted.

use super::*;
use crate::scenario::event::{Action, Event, Set};
use crate::scenario::switch::{Curve, Ecn};
use crate::scenario::{FlowSettings, Scenario, WantedHost, WantedSwitch};
use crate::{Endpoints, Run};
use xoff_sim::time::{ByteCount, Duration, Length, LineRate};

/// Two hosts at a ToR each, and a leaf, all as wanted.
fn scenario() -> Scenario {
    let cable = Length::from_m(2);
    let mut scenario = Scenario::new("audited", Duration::from_us(400))
        .host("a")
        .host("b")
        .switch("t0")
        .switch("t1")
        .switch("l")
        .link("a", "t0", cable)
        .link("b", "t1", cable)
        .link("t0", "l", cable)
        .link("t1", "l", cable)
        .flow(FlowSettings::new("f", "a", "b"));
    scenario.host.nic = NicKind::Model;
    scenario.sample = Some(Duration::from_us(100));
    for switch in &mut scenario.switches {
        switch.ecn = Some(Ecn::default());
    }
    scenario.audit = Some(Audit {
        switch: WantedSwitch {
            buffer: Some(ByteCount::new(12_000_000)),
            lossless: Some(vec![3]),
            xoff: Some(Limit::Alpha { num: 1, den: 16 }),
            xon_offset: Some(ByteCount::new(2_172)),
            ecn: Some(Curve::default()),
            weights: Some(scenario.switches[0].weights),
            pauses: Some(PauseKind::Pfc),
        },
        host: WantedHost {
            lossless: Some(vec![3]),
            dcqcn: Some(false),
            watchdog_bite: None,
        },
    });
    scenario
}

fn findings(scenario: &Scenario) -> Vec<(String, u64)> {
    let mut run = Run::new(&scenario.checked().unwrap(), &Endpoints::default()).unwrap();
    run.go(&mut (), &mut []).unwrap();
    let findings = run.recorder.auditor().unwrap().findings();
    findings
        .into_iter()
        .map(|finding| (finding.text, finding.from_ns))
        .collect()
}

fn changed(change: fn(&mut Scenario)) -> Vec<(String, u64)> {
    let mut scenario = scenario();
    change(&mut scenario);
    findings(&scenario)
}

fn at_the_start<const N: usize>(texts: [&str; N]) -> Vec<(String, u64)> {
    texts.map(|text| (text.to_owned(), 0)).into()
}

#[test]
fn what_is_as_wanted_is_no_finding() {
    assert_eq!(findings(&scenario()), []);
    // The defaults at 100 Gb/s.
    let faster = changed(|it| {
        it.host.rate = LineRate::G100;
        let ecn = it.audit.as_mut().unwrap().switch.ecn.as_mut().unwrap();
        ecn.kmin = Some(ByteCount::new(12_500));
        ecn.kmax = Some(ByteCount::new(500_000));
    });
    assert_eq!(faster, []);
    // What nobody wants is not compared.
    let nothing = changed(|it| {
        it.switches[0].xoff = Limit::Alpha { num: 1, den: 64 };
        it.audit = Some(Audit::default());
    });
    assert_eq!(nothing, []);
}

/// The α of the incident is found before a frame is sent.
#[test]
fn alpha_of_a_new_model_of_switch() {
    assert_eq!(
        changed(|it| it.switches[2].xoff = Limit::Alpha { num: 1, den: 64 }),
        at_the_start([
            "l: xoff of class 3 is 1/64 of what is free, wanted is 1/16 of what is free"
        ])
    );
}

/// PFC that is on at one end of a link, with the end and the class.
#[test]
fn pfc_on_one_end() {
    assert_eq!(
        changed(|it| it.switches[2].lossless = Vec::new()),
        at_the_start([
            "l: lossless is no class, wanted is class 3",
            "t0 – l, t1 – l: PFC of class 3 is on at the first end and off at the second",
        ])
    );
    assert_eq!(
        changed(|it| it.hosts[1].lossless = Some(vec![4])),
        at_the_start([
            "b: lossless is class 4, wanted is class 3",
            "b – t1: PFC of class 3 is off at the first end and on at the second",
            "b – t1: PFC of class 4 is on at the first end and off at the second",
        ])
    );
}

/// The neighbours serve a class in different ways.
#[test]
fn ets_of_one_end() {
    let ets = changed(|it| {
        it.switches[0].weights[3] = 0;
        it.audit = Some(Audit::default());
    });
    assert_eq!(
        ets,
        at_the_start([
            "t0 – l: ETS of class 3 is before all that have turns at the first end and 1,600 bytes a turn at the second"
        ])
    );
}

/// A switch that gets another profile of marks during the run: found at the next sample, and the setting is of the
/// switch that runs, not of the scenario's text.
#[test]
fn ecn_that_changes() {
    let ecn = changed(|it| {
        let set = Set {
            switch: "t1".into(),
            xoff: None,
            ecn: Some(Ecn {
                kmin: Some(ByteCount::new(400_000)),
                kmax: Some(ByteCount::new(1_600_000)),
                ..Ecn::default()
            }),
            lossless_never_floods: None,
        };
        let set = Action::Set(Box::new(set));
        it.events.push(Event::once(Duration::from_us(150), set));
    });
    let text = "t1: ecn of class 3 is Kmin 400 KB, Kmax 1.6 MB, Pmax 1.0 %, wanted is Kmin 5 KB, Kmax 200 KB, Pmax 1.0 %";
    assert_eq!(ecn, [(text.to_owned(), 200_000)]);
}

#[test]
fn hosts_are_compared_too() {
    let dcqcn = changed(|it| it.audit.as_mut().unwrap().host.dcqcn = Some(true));
    assert_eq!(dcqcn, at_the_start(["a, b: dcqcn is off, wanted is on"]));
    // TCP has no class that pauses, and nobody expects it.
    let tcp = changed(|it| {
        it.host.nic = NicKind::Tcp;
        it.flows[0].dscp = 0;
    });
    assert_eq!(tcp, []);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut scenario = scenario();
    let audit = scenario.audit.as_mut().unwrap();
    audit.host.lossless = Some(vec![8]);
    audit.switch.xoff = Some(Limit::Alpha { num: 1, den: 0 });
    assert_eq!(
        scenario.checked().unwrap_err().to_string(),
        "audit.host.lossless: 8: 0 to 7\naudit.switch.xoff: den must not be 0"
    );
}
