//! What happened when: events and findings as marks on axes of time, and the part of a run that they are in.

use std::collections::BTreeMap;

use xoff_network::policy::Steered;
use xoff_network::results::{Finding, ns};
use xoff_network::scenario::{Action, Scenario};
use xoff_sim::time::{Duration, Time};
use xoff_waves::report::{Chart, Marker, Shape};

/// Marks that are set at most, the first ones.
const MOST_MARKS: usize = 12;

/// An event in a few words.
fn words(action: &Action) -> String {
    match action {
        Action::LinkDown([a, b]) => format!("{a}–{b} down"),
        Action::LinkUp([a, b]) => format!("{a}–{b} up"),
        Action::Faults(faults) => format!("faults {} → {}", faults.from, faults.to),
        Action::Die(host) => format!("{host} dies"),
        Action::Revive(host) => format!("{host} lives again"),
        Action::Stall(stall) => format!("{} stalls", stall.host),
        Action::PauseStorm(storm) => format!("{} pauses", storm.host),
        Action::Forget(forget) => format!("{} forgets {}", forget.switch, forget.host),
        Action::Free(free) => format!("{} frees pages of {}", free.host, free.flow),
        Action::Set(set) => format!("settings of {}", set.switch),
        Action::Dcqcn(set) => {
            let whose = set.host.as_ref().or(set.flow.as_ref());
            format!("DCQCN of {}", whose.map_or("nobody", |name| name))
        }
        Action::Pace(pace) => format!("bound of {}", pace.flow),
        Action::Stop(flow) => format!("{flow} stops"),
        Action::Start(flow) => format!("{flow} starts"),
    }
}

/// Texts of one kind at one time, the first of them and how many more there are.
fn folded(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
    }
}

/// Marks of the events, of the first change that a policy made, and of the first finding of each kind that did not
/// begin with the run.
pub fn marks(
    scenario: &Scenario,
    policy: Option<&Steered>,
    findings: &[Finding],
    end: Time,
) -> Vec<Marker> {
    let mut events = BTreeMap::<u64, Vec<String>>::new();
    for event in &scenario.events {
        let repeated = event.every.map(|every| format!(", every {every}"));
        if let Some(at) = event.times(end).next() {
            let text = words(&event.action) + &repeated.unwrap_or_default();
            events.entry(ns(at)).or_default().push(text);
        }
    }
    if let Some(policy) = policy
        && let Some(first) = policy.changes.first()
    {
        let text = format!("{}: {}", policy.name, words(&first.action));
        let text = match policy.changes.len() {
            1 => text,
            count => format!("{text}, first of {count}"),
        };
        let at = ns(Time::ZERO + first.at);
        events.entry(at).or_default().push(text);
    }
    let mut marks: Vec<Marker> = (events.into_iter())
        .map(|(at_ns, texts)| Marker {
            at_ns,
            text: folded(&texts),
        })
        .collect();
    for kind in findings.chunk_by(|a, b| a.kind == b.kind) {
        let began = kind.iter().map(|finding| finding.from_ns);
        if let Some(at_ns) = began.filter(|from| *from > 0).min() {
            let text = kind[0].kind.words();
            let text = match kind.len() {
                1 => text.to_owned(),
                count => format!("{text}, first of {count}"),
            };
            marks.push(Marker { at_ns, text });
        }
    }
    marks.sort_by_key(|mark| mark.at_ns);
    marks.truncate(MOST_MARKS);
    marks
}

/// When what comes up at the start is over: where the measured window begins, or a twentieth of the run if it begins with
/// the run. `None` if something is marked before.
pub fn settled(scenario: &Scenario, marks: &[Marker]) -> Option<u64> {
    let settled = match scenario.measure_from {
        Duration::ZERO => scenario.duration / 20,
        begins => begins,
    };
    let settled = ns(Time::ZERO + settled);
    let quiet = marks.iter().all(|mark| mark.at_ns > settled);
    quiet.then_some(settled)
}

/// The most of a run that a part of it may be to be shown enlarged.
const MOST_OF_RUN: f64 = 0.4;
/// A value moves if it is this much of the greatest away from the one before.
const MOVES: f64 = 0.03;

/// The part of the run from the first event to the last finding, and in which values move, with some time around it, if
/// that is a small part: then most of an axis would be flat.
pub fn part(
    marks: &[Marker],
    findings: &[Finding],
    charts: &[Chart],
    end_ns: u64,
) -> Option<(u64, u64)> {
    let first = marks.iter().map(|mark| mark.at_ns).min()?;
    let began = findings.iter().map(|finding| finding.from_ns);
    let (from, to) = moving(charts)
        .into_iter()
        .fold((first, began.fold(first, u64::max)), |all, moves| {
            (all.0.min(moves.0), all.1.max(moves.1))
        });
    let around = ((to - from) / 20).max(end_ns / 200);
    let (from, to) = (from.saturating_sub(around), (to + around).min(end_ns));
    let small = (to - from) as f64 <= MOST_OF_RUN * end_ns as f64;
    small.then_some((from, to))
}

/// The time in which values of charts move.
fn moving(charts: &[Chart]) -> Option<(u64, u64)> {
    let mut all: Option<(u64, u64)> = None;
    for chart in charts {
        let lines = || chart.lines.iter().filter(|line| line.shape == Shape::Mean);
        let values = lines().flat_map(|line| &line.points).map(|point| point.1);
        let greatest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let pairs = lines().flat_map(|line| line.points.windows(2));
        for pair in pairs.filter(|pair| (pair[1].1 - pair[0].1).abs() > MOVES * greatest) {
            let (from, to) = all.unwrap_or((pair[0].0, pair[1].0));
            all = Some((from.min(pair[0].0), to.max(pair[1].0)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_network::results::FindingKind;
    use xoff_network::scenario::Event;
    use xoff_waves::report::Line;

    fn finding(kind: FindingKind, from_ns: u64, to_ns: Option<u64>) -> Finding {
        Finding {
            kind,
            text: String::new(),
            details: Vec::new(),
            from_ns,
            to_ns,
        }
    }

    #[test]
    fn events_of_a_time_and_findings_of_a_kind_are_one_mark() {
        let mut scenario = Scenario::new("marked", Duration::from_us(100));
        let down = |a: &str| Action::LinkDown([a.into(), "t".into()]);
        scenario.events = vec![
            Event::once(Duration::from_us(20), Action::Die("h".into())),
            Event::once(Duration::from_us(10), down("a")),
            Event::once(Duration::from_us(10), down("b")),
            Event::once(Duration::from_us(200), down("c")),
        ];
        let findings = [
            finding(FindingKind::Deadlock, 30_000, None),
            finding(FindingKind::Victim, 0, None),
            finding(FindingKind::Victim, 50_000, None),
            finding(FindingKind::Victim, 40_000, None),
        ];
        let policy = Steered {
            name: "p".into(),
            every_ns: 40_000,
            looks: 2,
            changes: [40, 80]
                .map(|us| Event::once(Duration::from_us(us), Action::Stop("f".into())))
                .into(),
            recorded: None,
        };
        let end = Time::ZERO + scenario.duration;
        let marks = marks(&scenario, Some(&policy), &findings, end);
        let marks: Vec<_> = marks.iter().map(|mark| (mark.at_ns, &*mark.text)).collect();
        let expected = [
            (10_000, "a–t down and 1 more"),
            (20_000, "h dies"),
            (30_000, "deadlock"),
            (40_000, "p: f stops, first of 2"),
            (40_000, "victim, first of 3"),
        ];
        assert_eq!(marks, expected);
    }

    #[test]
    fn a_small_part_is_enlarged_where_the_rest_is_still() {
        let chart = |value: fn(u64) -> f64| Chart {
            lines: vec![Line {
                points: (1..=1_000).map(|at| (at, value(at))).collect(),
                shape: Shape::Mean,
                ..Line::default()
            }],
            ..Chart::default()
        };
        let marks = [Marker {
            at_ns: 500,
            text: String::new(),
        }];
        let dip = [chart(|at| if (520..600).contains(&at) { 1.0 } else { 9.0 })];
        assert_eq!(part(&marks, &[], &dip, 1_000), Some((495, 605)));
        // Up to where the last finding begins; what is large is no part.
        let late = [finding(FindingKind::Storm, 700, Some(990))];
        assert_eq!(part(&marks, &late, &dip, 1_000), Some((490, 710)));
        let restless = [chart(|at| (at % 7) as f64)];
        assert_eq!(part(&marks, &[], &restless, 1_000), None);
        assert_eq!(part(&[], &[], &dip, 1_000), None);
    }
}
