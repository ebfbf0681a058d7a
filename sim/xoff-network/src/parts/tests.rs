use proptest::prelude::*;
use xoff_sim::kernel::{Channels, Record};
use xoff_sim::time::{ByteCount, Duration};

use super::*;
use crate::results::Summary;
use crate::scenario::event::{Faults, PauseStorm, Stall};
use crate::scenario::{
    Action, Audit, Clos, Event, FlowSettings, Onboarding, PolicySettings, Scenario, Watch,
};
use crate::testing::tcp_pair;
use crate::{Endpoints, Run};

/// What a run came to: its summary and samples, and frames at ports that were tapped.
#[derive(Debug)]
struct Came {
    summary: Summary,
    samples: String,
    records: Vec<Record>,
}

impl Came {
    fn same(&self, other: &Self) {
        let plain = |came: &Self| Summary {
            exchange: None,
            ..came.summary.clone()
        };
        assert_eq!(plain(self), plain(other));
        assert_eq!(self.samples, other.samples);
        assert!(
            self.records == other.records,
            "other frames at tapped ports"
        );
    }
}

/// Runs a scenario to its end, or obeys. `tapped` are ports whose frames are kept.
fn run(scenario: &Scenario, way: Option<Way>, tapped: &[(NodeId, PortId)]) -> Option<Came> {
    go_on(begun(scenario), scenario, way, tapped)
}

fn begun(scenario: &Scenario) -> Run {
    Run::new(&scenario.checked().unwrap(), &Endpoints::default()).unwrap()
}

/// The same from where a run is.
fn go_on(
    mut run: Run,
    scenario: &Scenario,
    way: Option<Way>,
    tapped: &[(NodeId, PortId)],
) -> Option<Came> {
    if let Some(way) = way {
        run.divide(way);
    }
    if run.simulation.obeys() {
        let keeps_nothing = |_: &Simulation, _: &Place| Err(NotKept::Failed(String::new()));
        run.simulation.obey(keeps_nothing).unwrap();
        return None;
    }
    run.simulation.tap(tapped, true);
    let mut records = Vec::new();
    while !run.has_ended() {
        let end = run.end();
        run.advance(end, |seen| records.extend_from_slice(seen))
            .unwrap();
    }
    let mut summary = Summary::of(&mut run, &scenario.checked().unwrap()).unwrap();
    summary.exchange = run.simulation.end_parts().unwrap();
    records.sort_by_key(|record| (record.frame.end, record.node, record.port, record.direction));
    Some(Came {
        summary,
        samples: format!("{:?}", run.recorder.samples()),
        records,
    })
}

/// The same in parts, each a thread.
fn run_in(parts: u32, scenario: &Scenario, tapped: &[(NodeId, PortId)]) -> Came {
    in_parts(parts, |way| run(scenario, Some(way), tapped))
}

/// What the leading one of parts comes to, each of which is a thread.
fn in_parts<R: Send>(parts: u32, part: impl Fn(Way) -> Option<R> + Sync) -> R {
    let came = all_parts(parts, part);
    came.into_iter().flatten().next().unwrap()
}

fn all_parts<R: Send>(parts: u32, part: impl Fn(Way) -> R + Sync) -> Vec<R> {
    Channels::run(parts, |way: Channels| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let way: Way = Arc::new(Mutex::new(way));
        pool.unwrap().install(|| part(way))
    })
}

/// What each part saves of a run at a time.
fn saved_in(parts: u32, scenario: &Scenario, at: Time) -> Vec<Vec<u8>> {
    all_parts(parts, |way| {
        let mut run = begun(scenario);
        run.divide(way);
        let mut saved = Vec::new();
        let place = Place {
            folder: "checkpoint".into(),
            program: 1,
            content: 2,
            time: at,
        };
        if run.simulation.obeys() {
            let keep = |simulation: &Simulation, asked: &Place| {
                assert_eq!((asked, simulation.now()), (&place, at));
                saved = simulation.save_nodes().unwrap();
                Ok(kept(simulation.part()))
            };
            run.simulation.obey(keep).unwrap();
            return saved;
        }
        while run.now() < at {
            run.advance(at, |_| ()).unwrap();
        }
        run.simulation.begin_keeping(&place).unwrap();
        saved = postcard::to_stdvec(&run).unwrap();
        let others = run.simulation.kept().unwrap();
        assert_eq!(
            others,
            (1..parts).map(|part| Ok(kept(part))).collect::<Vec<_>>()
        );
        let nodes = run.simulation.nodes_of_parts();
        assert_eq!(nodes.len(), parts as usize);
        assert_eq!(nodes.concat().len(), run.simulation.names().len());
        run.simulation.end_parts().unwrap();
        saved
    })
}

fn kept(part: u32) -> Kept {
    Kept {
        file: format!("part {part}"),
        bytes: 0,
        sum: part.into(),
    }
}

/// The run whose parts were saved.
fn restored(saved: &[Vec<u8>]) -> Run {
    let mut run: Run = postcard::from_bytes(&saved[0]).unwrap();
    run.simulation.join(&saved[1..]).unwrap();
    run.attach(&Endpoints::default()).unwrap();
    run
}

/// A Clos network with traffic within and between racks, and all kinds of events.
fn clos(podsets: u32, tors: u32, hosts: u32, seed: u64) -> Scenario {
    let clos = Clos {
        podsets,
        tors,
        hosts,
        leafs: 2,
        spines: 2,
        ..Clos::PAPER
    };
    let mut scenario = Scenario {
        flows: Vec::new(),
        seed,
        watch: Some(Watch {
            interval: Duration::from_us(7),
            ..Watch::default()
        }),
        audit: Some(Audit::default()),
        ..clos.scenario(1, Duration::from_us(60))
    };
    let last = podsets * tors * hosts - 1;
    for (name, from, to) in [("near", 0, 1), ("far", 0, last), ("back", last, 0)] {
        let flow = FlowSettings::new(name, &format!("h{from}"), &format!("h{to}"));
        scenario = scenario.flow(flow.messages(20, ByteCount::new(9_000)));
    }
    let [host, tor, leaf] = ["h1", "t0", "l0"].map(String::from);
    let event = |us: u64, action| Event::once(Duration::from_us(us), action);
    scenario.events = vec![
        event(
            10,
            Action::Faults(Faults {
                from: tor.clone(),
                to: host.clone(),
                rules: vec!["any, chance 1/20: drop".parse().unwrap()],
            }),
        ),
        event(15, Action::LinkDown([tor.clone(), leaf.clone()])),
        event(
            20,
            Action::Stall(Stall {
                host,
                time: Some(Duration::from_us(10)),
            }),
        ),
        event(25, Action::LinkUp([tor, leaf])),
        event(
            30,
            Action::PauseStorm(PauseStorm {
                host: format!("h{last}"),
                time: Some(Duration::from_us(10)),
                classes: None,
                interval: None,
            }),
        ),
        event(40, Action::Stop("far".into())),
        event(50, Action::Start("far".into())),
    ];
    scenario
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// All results of a run are those of the same run in one part: digest, metrics, findings, samples and captures.
    #[test]
    fn parts_come_to_what_the_whole_does(
        podsets in 1_u32..3,
        tors in 1_u32..3,
        hosts in 2_u32..4,
        seed in any::<u64>(),
        node in any::<prop::sample::Index>(),
    ) {
        let scenario = clos(podsets, tors, hosts, seed);
        let node = NodeId(node.index((podsets * tors * hosts) as usize) as u32);
        let tapped = [(node, PortId(0)), (NodeId(0), PortId(0))];
        let whole = run(&scenario, None, &tapped).unwrap();
        prop_assert!(!whole.records.is_empty() && !whole.summary.findings.is_empty());
        for parts in [1, 2, 4] {
            let came = run_in(parts, &scenario, &tapped);
            came.same(&whole);
            let exchanged = came.summary.exchange.unwrap_or_default();
            prop_assert_eq!(exchanged.waited_s.len() as u32, if parts > 1 { parts } else { 0 });
            prop_assert_eq!(exchanged.windows > 0, parts > 1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// A run goes on from a checkpoint in any number of parts, whatever the number that saved it.
    #[test]
    fn parts_go_on_from_what_parts_have_saved(
        parts in 1_u32..5,
        tors in 1_u32..3,
        seed in any::<u64>(),
        ns in 0_u64..60_000,
    ) {
        let scenario = clos(2, tors, 2, seed);
        let whole = run(&scenario, None, &[]).unwrap();
        let at = Time::ZERO + Duration::from_ns(ns);
        let saved = saved_in(parts, &scenario, at);
        let alone = go_on(restored(&saved), &scenario, None, &[]).unwrap();
        alone.same(&whole);
        for parts in [2, 4] {
            let part = |way| go_on(restored(&saved), &scenario, Some(way), &[]);
            in_parts(parts, part).same(&whole);
        }
    }
}

#[test]
fn parts_of_another_checkpoint_are_refused() {
    let scenario = clos(2, 1, 2, 1);
    let at = Time::ZERO + Duration::from_us(20);
    let [two, three] = [2, 3].map(|parts| saved_in(parts, &scenario, at));
    let join = |first: &[u8], others: &[Vec<u8>]| {
        let mut run: Run = postcard::from_bytes(first).unwrap();
        let joined = run.simulation.join(others);
        joined.map_err(|error| error.to_string())
    };
    let missing = join(&two[0], &[]).unwrap_err();
    assert!(missing.ends_with("was saved by no part"), "{missing}");
    let twice = join(&two[0], &three[1..]).unwrap_err();
    assert!(twice.starts_with("checkpoint: node "), "{twice}");
    let unreadable = join(&two[0], &[two[1][..100].to_vec()]).unwrap_err();
    assert!(unreadable.starts_with("checkpoint: "), "{unreadable}");
    assert_eq!(join(&two[0], &two[1..]), Ok(()));
}

/// The hosts of a Clos network of two podsets, 8 flows each, in 2 and 4 parts.
#[test]
fn a_clos_network_has_one_digest() {
    let clos = Clos {
        tors: 4,
        hosts: 4,
        leafs: 2,
        spines: 4,
        ..Clos::PAPER
    };
    let scenario = clos.scenario(8, Duration::from_us(40));
    let whole = run(&scenario, None, &[]).unwrap();
    for parts in [2, 4] {
        let came = run_in(parts, &scenario, &[]);
        came.same(&whole);
        assert!(
            came.summary
                .exchange
                .is_some_and(|exchanged| exchanged.frames > 1_000)
        );
    }
}

/// TCP's connections are made in simulated time, each end by the part that has it.
#[test]
fn connections_are_made_between_parts() {
    let flow = FlowSettings::new("f", "a", "b").messages(50, ByteCount::new(20_000));
    let scenario = tcp_pair(flow, Duration::from_ms(1));
    let whole = run(&scenario, None, &[]).unwrap();
    assert!(whole.summary.metrics["messages.f"] > 0.0);
    for parts in [2, 3] {
        run_in(parts, &scenario, &[]).same(&whole);
    }
}

/// The leading part judges the stages, and the others let the flows in.
#[test]
fn stages_are_let_in_by_all_parts() {
    let mut scenario = clos(2, 1, 2, 3);
    scenario.events.clear();
    scenario.onboarding = Some(Onboarding {
        stages: vec![vec!["near".into()], vec!["far".into()], vec!["back".into()]],
        every: Duration::from_us(15),
        heed_audit: true,
    });
    let whole = run(&scenario, None, &[]).unwrap();
    assert!(
        whole
            .summary
            .onboarding
            .iter()
            .all(|stage| stage.from_ns.is_some())
    );
    run_in(3, &scenario, &[]).same(&whole);
}

/// The leading part has the policy, and each part makes its changes at the nodes that it has.
#[test]
fn a_policy_sets_nodes_of_all_parts() {
    let clos = Clos {
        tors: 2,
        hosts: 2,
        leafs: 2,
        spines: 2,
        ..Clos::PAPER
    };
    let mut scenario = clos.scenario(8, Duration::from_us(60));
    let without = run(&scenario, None, &[]).unwrap();
    let parameters = [("target", "100 ns"), ("least", "2 KB")];
    scenario.policy = Some(PolicySettings {
        name: "ecn-tuner".into(),
        every: Duration::from_us(6),
        parameters: parameters
            .map(|(key, value)| (key.into(), value.into()))
            .into(),
    });
    let whole = run(&scenario, None, &[]).unwrap();
    let policy = whole.summary.policy.as_ref().unwrap();
    assert!(policy.changes.len() > 3, "{policy:?}");
    assert_ne!(whole.summary.digest, without.summary.digest);
    for parts in [2, 4] {
        run_in(parts, &scenario, &[]).same(&whole);
    }
    let recorded = scenario.recorded(&policy.changes);
    let came = run_in(2, &recorded, &[]);
    assert_eq!(came.summary.digest, whole.summary.digest);
}

#[test]
fn a_part_that_is_gone_ends_the_run() {
    let scenario = clos(1, 1, 2, 1);
    let mut ways = Channels::between(2);
    let gone = ways.pop();
    let mut run = Run::new(&scenario.checked().unwrap(), &Endpoints::default()).unwrap();
    run.divide(Arc::new(Mutex::new(ways.remove(0))));
    drop(gone);
    let end = run.end();
    let error = run.advance(end, |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "part 1 of 2 is gone");
}
