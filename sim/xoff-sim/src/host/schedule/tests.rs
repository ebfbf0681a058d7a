use proptest::prelude::*;

use super::*;

const SENDERS: usize = 2;

fn at(ns: u64) -> Time {
    Time::from_ns(ns)
}

fn calc(cpu: u32, ns: u64, requires: &[(u32, Point)]) -> Operation {
    Operation {
        step: Step::Calc {
            cpu,
            time: Duration::from_ns(ns),
        },
        requires: requires.to_vec(),
    }
}

fn config(operations: Vec<Operation>) -> ScheduleConfig {
    ScheduleConfig {
        job: 3,
        start: at(100),
        operations,
    }
}

/// Runs to the end, with calls at every event and at those times.
fn times(operations: Vec<Operation>) -> Vec<[u64; 2]> {
    let mut schedules = Schedules::default();
    schedules.add(config(operations));
    while let Some(next) = schedules.next() {
        schedules.advance(next);
    }
    let ns = |time: Time| time.as_ps() / 1_000;
    schedules.times(3).map(|times| times.map(ns)).collect()
}

#[test]
fn what_is_required_of_the_start_and_of_the_end_is_told_apart() {
    let both = |point| vec![calc(0, 50, &[]), calc(1, 7, &[(0, point)])];
    assert_eq!(times(both(Point::End)), [[100, 150], [150, 157]]);
    assert_eq!(times(both(Point::Start)), [[100, 150], [100, 107]]);
}

#[test]
fn a_processor_takes_what_is_ready_first() {
    let operations = vec![
        calc(0, 10, &[(1, Point::End)]),
        calc(1, 5, &[]),
        calc(0, 20, &[]),
        calc(0, 1, &[(1, Point::Start)]),
    ];
    assert_eq!(
        times(operations),
        [[121, 131], [100, 105], [100, 120], [120, 121]]
    );
}

#[test]
#[should_panic(expected = "each message of a flow has one operation")]
fn a_message_of_two_operations_is_refused() {
    let twice = Operation {
        step: Step::Send {
            sender: 0,
            message: 0,
        },
        requires: Vec::new(),
    };
    Schedules::default().add(config(vec![twice.clone(), twice]));
}

/// Operations that require some of those before them. Messages of a flow have the order of the operations.
fn random() -> impl Strategy<Value = Vec<Operation>> {
    let requirement = (any::<prop::sample::Index>(), any::<bool>());
    let one = (
        0..3_u8,
        0..SENDERS,
        0..40_u64,
        prop::collection::vec(requirement, 0..4),
    );
    prop::collection::vec(one, 1..40).prop_map(|drawn| {
        let mut next = [[0; SENDERS]; 2];
        let operation = |(number, (kind, flow, time, requires)): (usize, _)| {
            let requires: Vec<(prop::sample::Index, bool)> = requires;
            let (kind, flow, time): (u8, usize, u64) = (kind, flow, time);
            let mut message = |end: usize| {
                next[end][flow] += 1;
                next[end][flow] - 1
            };
            let step = match kind {
                0 => Step::Calc {
                    cpu: flow as u32,
                    time: Duration::from_ns(time),
                },
                1 => Step::Send {
                    sender: flow,
                    message: message(0),
                },
                _ => Step::Receive {
                    receiver: flow,
                    message: message(1),
                },
            };
            let before = requires.into_iter().filter(|_| number > 0);
            let requires = before.map(|(other, end)| {
                let point = if end { Point::End } else { Point::Start };
                (other.index(number) as u32, point)
            });
            Operation {
                step,
                requires: requires.collect(),
            }
        };
        drawn.into_iter().enumerate().map(operation).collect()
    })
}

proptest! {
    /// Every operation starts once, in the moment in which what it requires is there and its processor or flow is free,
    /// and ends once. Calls in between change nothing.
    #[test]
    fn operations_start_when_what_they_require_is_there(
        operations in random(),
        delays in prop::collection::vec(1..50_u64, 40),
        arrivals in prop::collection::vec(0..60_u64, 40),
        calls in prop::collection::vec(1..30_u64, 40),
    ) {
        let mut schedules = Schedules::default();
        schedules.add(config(operations.clone()));
        let mut arrived = [const { Vec::new() }; SENDERS];
        for (receiver, arrived) in arrived.iter_mut().enumerate() {
            let mut now = at(90);
            for (number, gap) in (1..).zip(&arrivals) {
                now += Duration::from_ns(*gap);
                arrived.push(now);
                let count = operations.iter().filter(|operation| {
                    matches!(operation.step, Step::Receive { receiver: own, .. } if own == receiver)
                });
                if number <= count.count() as u64 {
                    schedules.notice(End::Receiver(receiver), number, now);
                }
            }
        }
        let mut complete = [const { Vec::new() }; SENDERS];
        let (mut delays, mut calls) = (delays.into_iter().cycle(), calls.into_iter().cycle());
        let mut call = at(0);
        while let Some(next) = schedules.next() {
            let now = next.min(call.max(at(1)));
            if call <= next {
                call += Duration::from_ns(calls.next().unwrap());
            }
            for Opening { sender, messages, from } in schedules.advance(now) {
                prop_assert_eq!(from, now, "an opening of another time");
                let complete: &mut Vec<Time> = &mut complete[sender];
                while (complete.len() as u64) < messages {
                    let last = complete.last().copied().unwrap_or(from);
                    complete.push(last.max(from) + Duration::from_ns(delays.next().unwrap()));
                    let count = complete.len() as u64;
                    schedules.notice(End::Sender(sender), count, complete[count as usize - 1]);
                }
            }
        }
        let times: Vec<[Time; 2]> = schedules.times(3).collect();
        let progress = schedules.progress()[0];
        prop_assert_eq!(progress.left, 0);
        prop_assert_eq!(Some(progress.ended), times.iter().map(|times| times[1]).max());
        let mut sent = [at(0); SENDERS];
        for (operation, own) in operations.iter().zip(&times) {
            let required = operation.requires.iter().map(|(other, point)| {
                times[*other as usize][usize::from(*point == Point::End)]
            });
            let ready = required.max().unwrap_or(at(100)).max(at(100));
            match operation.step {
                Step::Calc { cpu, time } => {
                    prop_assert_eq!(own[1], own[0] + time);
                    let others = operations.iter().zip(&times).filter(|(other, others)| {
                        let same = matches!(other.step, Step::Calc { cpu: its, .. } if its == cpu);
                        same && *others != own
                    });
                    let mut free = own[0] == ready;
                    for (_, other) in others {
                        prop_assert!(other[1] <= own[0] || own[1] <= other[0], "two at once");
                        free |= other[1] == own[0];
                    }
                    prop_assert!(own[0] >= ready && free, "{:?} {:?} {:?}", own, ready, times);
                }
                Step::Send { sender, message } => {
                    sent[sender] = sent[sender].max(ready);
                    let end = complete[sender][message as usize];
                    prop_assert_eq!(*own, [sent[sender], end]);
                }
                Step::Receive { receiver, message } => {
                    let end = ready.max(arrived[receiver][message as usize]);
                    prop_assert_eq!(*own, [ready, end]);
                }
            }
        }
    }
}
