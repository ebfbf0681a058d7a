use proptest::prelude::*;

use super::*;
use crate::kernel::{Channels, NetworkBuilder, PortId};
use crate::link::{Link, MIN_LATENCY};
use crate::seeded::Seed;
use crate::testing::Source;
use crate::time::{Length, LineRate};

const END: Time = Time::from_ps(60_000_000);

/// Sources that send to each other in pairs, over links of different lengths, some with faults.
fn network(pairs: u32, seed: u64) -> Network<Source> {
    let mut draws = Seed(seed).draws();
    let mut builder = NetworkBuilder::new(Seed(seed + 1));
    for _ in 0..pairs {
        let [a, b] = [0, 1].map(|_| builder.node(Source::random(&mut draws, LineRate::G40, 20)));
        let cable = Length::from_m(draws.below(3) * 100);
        let mut link = Link::new(cable, MIN_LATENCY + Duration::from_ps(draws.below(1_000)));
        link.faults[0] = vec!["any, chance 1/5: drop".parse().unwrap()];
        link.faults[1] = vec!["any, chance 1/5: delay 700 ns".parse().unwrap()];
        let ends = [(a, PortId(0)), (b, PortId(0))];
        builder.connect(ends[0], ends[1], &link).unwrap();
    }
    let mut network = builder.build();
    for node in 0..network.nodes() as u32 {
        network.tap(NodeId(node), PortId(0), true);
    }
    network
}

/// Runs a copy of the network in each part, stopping at `stops`. Returns them, with the records that part 0 saw.
fn run_parts(
    network: &Network<Source>,
    owners: &[u32],
    parts: u32,
    stops: &[Time],
) -> (Vec<Network<Source>>, Vec<Record>) {
    let run = |mut way: Channels| {
        let mut part = network.clone();
        part.take_part(way.part(), owners.to_vec());
        let mut records = Vec::new();
        for stop in stops {
            let seen = |window: &[Record]| records.extend_from_slice(window);
            part.run_part_until(*stop, &mut way, seen).unwrap();
        }
        (part, records)
    };
    let ran = Channels::run(parts, run).into_iter();
    let (networks, mut records): (Vec<_>, Vec<_>) = ran.unzip();
    assert!(records[1..].iter().all(Vec::is_empty));
    (networks, records.swap_remove(0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whoever has which nodes, and wherever the runs end: what happens is what happens in one part, and part 0 sees
    /// all of it.
    #[test]
    fn parts_do_what_the_whole_does(
        pairs in 1_u32..6,
        seed in 0_u64..1_000,
        parts in 1_u32..5,
        owners in prop::collection::vec(any::<u32>(), 12),
        mut stops in prop::collection::vec(0_u64..60_000_000, 0..4),
    ) {
        let mut whole = network(pairs, seed);
        let owners: Vec<u32> = owners.iter().map(|owner| owner % parts).take(whole.nodes()).collect();
        stops.sort_unstable();
        let stops: Vec<Time> = stops.into_iter().map(Time::from_ps).chain([END]).collect();
        let (ran, seen) = run_parts(&whole, &owners, parts, &stops);
        let mut expected = Vec::new();
        whole.run_until(END, |window| expected.extend_from_slice(window));
        let key = |record: &Record| (record.frame.end, record.node, record.port, record.direction);
        expected.sort_by_key(key);
        prop_assert!(seen.is_sorted_by_key(|record| record.frame.end));
        let mut seen = seen;
        seen.sort_by_key(key);
        prop_assert_eq!(seen, expected);
        // What all parts show makes the whole's digest.
        let mut first = ran[0].clone();
        for (node, owner) in (0..).map(NodeId).zip(&owners).filter(|(_, owner)| **owner > 0) {
            first.see(node, ran[*owner as usize].ports_shown(node), |_| ());
        }
        prop_assert_eq!(first.digest(), whole.digest());
        let exchanged: Vec<ExchangeCounters> = ran.iter().map(Network::exchanged).collect();
        prop_assert!(exchanged.iter().all(|part| part.windows == exchanged[0].windows));
    }
}

#[test]
fn a_part_that_ends_early_ends_the_others() {
    let whole = network(2, 1);
    let mut ways = Channels::between(2);
    drop(ways.pop());
    let mut part = whole;
    part.take_part(0, vec![0, 1, 0, 1]);
    let error = part.run_part_until(END, &mut ways[0], |_| ()).unwrap_err();
    assert_eq!(error, ExchangeError::Gone { part: 1, parts: 2 });
}

#[test]
#[should_panic(expected = "node 1 runs in another part")]
fn another_parts_node_cannot_be_changed() {
    let mut part = network(1, 1);
    part.take_part(0, vec![0, 1]);
    part.update(NodeId(1), |_| ());
}
