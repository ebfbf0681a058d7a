use proptest::prelude::*;
use xoff_sim::host::schedule::Point;

use super::*;
use crate::metrics::jobs::rounds;
use crate::testing::{finished, ran};
use crate::{Endpoints, Simulation};

/// What a frame of 1,024 bytes of payload takes at 40 Gb/s: 1,024 and 62 of headers, ICRC and FCS, 20 of preamble and
/// gap.
const FRAME_NS: f64 = 1_106.0 * 8.0 / 40.0;
/// A cycle of a host.
const CYCLE_NS: f64 = 5.12;
const RING: &str = include_str!("../../../../../testbenches/goal/ring.goal");

/// Model NICs at one switch, and these entries of flows. A schedule stands for the file of all of them.
fn with(hosts: u32, us: u64, flows: &str, text: &str) -> Scenario {
    let scenario = format!(
        "title = 't'\nduration = '{us} us'\nhost.nic = 'model'\ntopology.star.hosts = {hosts}\n{flows}"
    );
    let mut scenario: Scenario = toml::from_str(&scenario).unwrap();
    for flow in scenario.flows.iter_mut().filter(|flow| flow.goal.is_some()) {
        flow.schedule = Some(Goal::parse("a.goal", text).map(Arc::new));
    }
    scenario
}

fn scenario(hosts: u32, us: u64, text: &str) -> Scenario {
    with(hosts, us, &entry(""), text)
}

fn entry(keys: &str) -> String {
    format!("[[flows]]\nname = 'job'\ngoal = 'a.goal'\n{keys}\n")
}

/// Lines with the beginning of a file, and each rank's block.
fn file(ranks: &[&str]) -> String {
    let mut text = format!("num_ranks {}\n", ranks.len());
    for (rank, block) in ranks.iter().enumerate() {
        text += &format!("rank {rank} {{\n{}\n}}\n", block.replace("; ", "\n"));
    }
    text
}

/// When each operation of each rank started and ended, in nanoseconds.
fn times(simulation: &Simulation) -> Vec<Vec<[f64; 2]>> {
    let hosts = simulation
        .stations()
        .filter_map(|(_, station)| station.host());
    let ns = |time: Time| time.as_ps() as f64 / 1e3;
    let of = |host: &xoff_sim::host::Host| {
        let times = host.operation_times(0).into_iter();
        times.map(|times| times.map(ns)).collect()
    };
    hosts.map(of).collect()
}

/// How long the job took, in nanoseconds.
fn completion(simulation: &Simulation) -> f64 {
    finished(simulation);
    let rounds = rounds(simulation, &simulation.jobs()[0], Time::ZERO);
    assert_eq!(rounds.len(), 1);
    rounds[0].end.saturating_since(rounds[0].begin).as_ps() as f64 / 1e3
}

/// The time of a schedule, on so many hosts as it has ranks.
fn took(ranks: &[&str]) -> f64 {
    completion(&ran(&scenario(ranks.len() as u32, 500, &file(ranks))))
}

/// The time from a post until the application at the other end has seen the message, alone, in nanoseconds.
fn one_way(bytes: u32) -> f64 {
    let flows = format!(
        "[[flows]]\nname = 'f'\nfrom = 'h0'\nto = 'h1'\ncount = 1\nmessage = '{bytes} B'\n\
         [[flows]]\nname = 'g'\nanswers = 'f'\n"
    );
    let simulation = ran(&with(2, 2_000, &flows, ""));
    let flow = &simulation.flows()[0];
    let posted = simulation.sender(flow).due_at(0).unwrap();
    let seen = simulation.receiver(flow).arrivals()[0];
    seen.saturating_since(posted).as_ps() as f64 / 1e3
}

/// Up to the last operation of the rank that began. The job ends when the other rank's send is complete, an
/// acknowledgement later.
#[test]
fn a_ping_pong_takes_the_sum_of_its_parts() {
    let pong = |bytes: u32, [first, between, last]: [u32; 3]| {
        let ranks = [
            format!(
                "c: calc {first}; s: send {bytes}b to 1 tag 7; r: recv 100b from 1 tag 8; d: calc {last}; \
                 s requires c; d requires r"
            ),
            format!(
                "r: recv {bytes}b from 0 tag 7; c: calc {between}; s: send 100b to 0 tag 8; c requires r; s requires c"
            ),
        ];
        let simulation = ran(&scenario(2, 500, &file(&[&ranks[0], &ranks[1]])));
        let [pong, acknowledged] = [times(&simulation)[0][3][1], times(&simulation)[1][2][1]];
        assert_eq!(completion(&simulation), pong.max(acknowledged));
        pong
    };
    for bytes in [100, 50_000] {
        let messages = one_way(bytes) + one_way(100);
        // A message is posted at a cycle, and comes at one.
        let cycles = 3.0 * CYCLE_NS;
        for calcs in [[0, 0, 0], [1_000, 0, 0], [1_234, 5_678, 91_011]] {
            let expected = messages + f64::from(calcs.iter().sum::<u32>());
            let measured = pong(bytes, calcs);
            assert!(
                (measured - expected).abs() < cycles,
                "{bytes} {calcs:?}: {measured}, not {expected}"
            );
        }
    }
}

/// 2(n − 1)/n · S/B + 2(n − 1) · latency, the latency that of a message of one frame; and the built-in pattern.
#[test]
fn a_ring_takes_the_time_of_its_closed_form_and_of_the_pattern() {
    let measured = completion(&ran(&scenario(4, 1_000, RING)));
    let latency = one_way(1_024) - FRAME_NS;
    let expected = 6.0 * (64.0 * FRAME_NS + latency);
    assert!(
        (measured / expected - 1.0).abs() < 0.03,
        "{measured}, not {expected}"
    );
    let pattern = "[[flows]]\nname = 'f'\nfrom = 'h'\npattern = 'ring-all-reduce'\nmessage = '256 KiB'\ncount = 1\n";
    let pattern = completion(&ran(&with(4, 1_000, pattern, "")));
    println!("{measured:.0} ns, closed form {expected:.0} ns, pattern {pattern:.0} ns");
    assert!(
        (measured / pattern - 1.0).abs() < 0.01,
        "{measured}, not {pattern}"
    );
}

#[test]
fn a_start_is_not_an_end() {
    let of = |word: &str| {
        let ranks = [
            &*format!("c: calc 20000; s: send 1000b to 1; s {word} c"),
            "r: recv 1000b from 0",
        ];
        let simulation = ran(&scenario(2, 100, &file(&ranks)));
        finished(&simulation);
        times(&simulation)
    };
    let [after, beside] = [of("requires"), of("irequires")];
    let message = one_way(1_000);
    assert_eq!((after[0][1][0], beside[0][1][0]), (20_000.0, 0.0));
    assert!((after[1][0][1] - 20_000.0 - message).abs() < 2.0 * CYCLE_NS);
    assert!((beside[1][0][1] - message).abs() < 2.0 * CYCLE_NS);
    // A receive has started before it ends: what requires its start alone goes at once.
    let ranks = [
        "r: recv 100b from 1; c: calc 10; c irequires r",
        "s: send 100b to 0",
    ];
    let of_receive = times(&ran(&scenario(2, 100, &file(&ranks))));
    assert_eq!(of_receive[0][1], [0.0, 10.0]);
}

#[test]
fn processors_compute_side_by_side_and_each_one_after_another() {
    let calcs = |cpus: [u32; 3]| {
        let calcs = cpus.map(|cpu| format!("calc 1000 cpu {cpu}"));
        took(&[&calcs.join("; "), ""])
    };
    assert_eq!(calcs([0, 0, 0]), 3_000.0);
    assert_eq!(calcs([0, 1, 0]), 2_000.0);
    assert_eq!(calcs([0, 1, 255]), 1_000.0);
}

/// The second message is taken first: by its tag, not by its turn.
#[test]
fn messages_are_matched_by_tag() {
    let ranks = [
        "a: send 1000b to 1 tag 1; b: send 3000b to 1 tag 2; b requires a",
        "q: recv 3000b from 0 tag 2; p: recv 1000b from 0 tag 1; p requires q",
    ];
    let simulation = ran(&scenario(2, 100, &file(&ranks)));
    finished(&simulation);
    let times = times(&simulation);
    assert_eq!(simulation.flows().len(), 1);
    // What waited for it ends with it: the first message came before.
    let [q, p] = [times[1][0], times[1][1]];
    assert_eq!(p, [q[1], q[1]]);
    // A send ends when its acknowledgement has come.
    assert!(times[0][1][0] > one_way(1_000), "{times:?}");
}

/// In file order the first message of the QP would wait for what the second one brings about.
#[test]
fn messages_of_a_qp_do_not_wait_in_a_circle() {
    let ranks = [
        "a: send 100b to 1 tag 1; x: recv 100b from 1 tag 9; a requires x; b: send 100b to 1 tag 2",
        "s: send 100b to 0 tag 9; r: recv 100b from 0 tag 2; s requires r; recv 100b from 0 tag 1",
    ];
    finished(&ran(&scenario(2, 100, &file(&ranks))));
    // The same with one tag for both.
    let ranks = ranks.map(|block| block.replace("tag 1", "tag 2"));
    finished(&ran(&scenario(2, 100, &file(&[&ranks[0], &ranks[1]]))));
}

#[test]
fn tags_take_turns_among_qps() {
    let ranks = [
        "c: calc 50000; a: send 100b to 1 tag 5; a requires c; send 9b to 1 tag 7; send 9b to 1 tag 6",
        "recv 100b from 0 tag 5; recv 9b from 0 tag 7; recv 9b from 0 tag 6",
    ];
    let goal = Goal::parse("a.goal", &file(&ranks)).unwrap();
    let lanes = |qps: u32| -> Vec<Vec<u32>> {
        let tags = |lane: Lane| {
            lane.messages
                .iter()
                .map(|it| goal.messages[*it].tag)
                .collect()
        };
        goal.lanes(qps).into_iter().map(tags).collect()
    };
    assert_eq!(lanes(1), [vec![7, 6, 5]]);
    assert_eq!(lanes(2), [vec![7, 5], vec![6]]);
    assert_eq!(lanes(9), [vec![7], vec![6], vec![5]]);
    let scenario = with(2, 100, &entry("qps = 2"), &file(&ranks));
    let simulation = ran(&scenario);
    finished(&simulation);
    let names: Vec<&str> = simulation.flows().iter().map(|flow| &*flow.name).collect();
    assert_eq!(names, ["job.h0.h1.0", "job.h0.h1.1"]);
}

#[test]
fn ranks_are_on_the_hosts_of_from() {
    let ranks = ["send 5000b to 1", "recv 5000b from 0"];
    let scenario = with(
        9,
        100,
        &entry("from = 'h4..6'\nstart = '7 us'"),
        &file(&ranks),
    );
    let simulation = ran(&scenario);
    finished(&simulation);
    assert_eq!(simulation.flows()[0].name, "job.h4.h5");
    assert_eq!(times(&simulation)[4][0][0], 7_000.0);
    assert!(completion(&simulation) < 7_000.0);
}

#[test]
fn checkpoints_and_threads_change_nothing() {
    let scenario = with(4, 300, &entry("operation = 'send'"), RING);
    let end = Time::ZERO + scenario.duration;
    let whole = ran(&scenario);
    let took = completion(&whole);
    for stop in [0, 1, 20, 55, 90, 200] {
        let mut first = Simulation::new(&scenario.checked().unwrap()).unwrap();
        first.run_until(Time::from_us(stop)).unwrap();
        let saved = first.save().unwrap();
        let mut second = Simulation::restore(&saved, &Endpoints::default()).unwrap();
        second.run_until(end).unwrap();
        assert_eq!(second.digest(), whole.digest(), "stopped at {stop} us");
        assert_eq!(completion(&second), took);
    }
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
        simulation.network_mut().set_parallel_from(0);
        pool.install(|| simulation.run_until(end)).unwrap();
        assert_eq!(simulation.digest(), whole.digest(), "{threads} threads");
        assert_eq!(completion(&simulation), took);
    }
}

/// A random schedule of three ranks: operations in an order in which they can go one after another, each with those
/// that it requires; the lines of a rank are in another order.
fn random() -> impl Strategy<Value = String> {
    let requires = prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3);
    let one = (0..3_usize, 1..3_usize, 0..2_u32, any::<bool>(), requires);
    let all = prop::collection::vec((one, any::<u64>()), 1..24);
    all.prop_map(|drawn| {
        let mut ranks = [const { Vec::<(u64, String)>::new() }; 3];
        let mut known = [0; 3];
        for ((rank, far, tag, calc, requires), order) in drawn {
            let peer = (rank + far) % 3;
            // Whichever of those with the same ends takes which, their sizes are the same.
            let bytes = 1 + 700 * (rank as u32 * 6 + peer as u32 * 2 + tag);
            let mut add = |rank: usize, what: String| {
                let own = known[rank];
                let mut lines = format!("l{own}: {what}\n");
                for (other, end) in requires.iter().filter(|_| own > 0) {
                    let word = if *end { "requires" } else { "irequires" };
                    lines += &format!("l{own} {word} l{}\n", other.index(own));
                }
                ranks[rank].push((order.rotate_left(own as u32 * 7), lines));
                known[rank] += 1;
            };
            match calc {
                true => add(rank, format!("calc {} cpu {tag}", bytes / 2)),
                false => {
                    add(rank, format!("send {bytes}b to {peer} tag {tag}"));
                    add(peer, format!("recv {bytes}b from {rank} tag {tag}"));
                }
            }
        }
        for lines in &mut ranks {
            lines.sort();
        }
        let blocks = ranks.map(|lines| lines.into_iter().map(|(_, line)| line).collect::<String>());
        file(&[&blocks[0], &blocks[1], &blocks[2]])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every operation starts and ends, and never before what it requires; a message is received behind its send.
    #[test]
    fn random_schedules_run_to_their_end(text in random()) {
        let goal = Goal::parse("a.goal", &text).unwrap();
        let simulation = ran(&scenario(3, 2_000, &text));
        finished(&simulation);
        let times = times(&simulation);
        for (operations, times) in goal.ranks.iter().zip(&times) {
            prop_assert_eq!(operations.len(), times.len());
            for (operation, own) in operations.iter().zip(times) {
                for (other, point) in &operation.requires {
                    let before = times[*other as usize][usize::from(*point == Point::End)];
                    prop_assert!(own[0] >= before, "line {}: {:?} {}", operation.line, own, before);
                }
                match operation.action {
                    Action::Calc { time, .. } => {
                        prop_assert!((own[1] - own[0] - time.as_ps() as f64 / 1e3).abs() < 1e-6);
                    }
                    Action::Send(_) => prop_assert!(own[1] > own[0]),
                    Action::Receive(_) => prop_assert!(own[1] >= own[0] && own[1] < 2e6),
                }
            }
        }
        for message in &goal.messages {
            let [send, receive] = [0, 1].map(|end| {
                times[message.ends[end] as usize][message.operations[end] as usize]
            });
            let least = f64::from(message.bytes.get() as u32) * 8.0 / 40.0;
            prop_assert!(receive[1] > send[0] + least, "{:?}: {:?} {:?}", message, send, receive);
        }
        let carried: u64 = simulation.flows().iter().map(|flow| {
            simulation.receiver(flow).whole()
        }).sum();
        prop_assert_eq!(carried, goal.messages.len() as u64);
    }
}

/// Lines as they are in files: labels or none, sizes with and without `b`, comments, tabs, fields in any order.
#[test]
fn lines_are_read_as_files_have_them() {
    let text = "// a file\r\n/* of two\nlines */ num_ranks 2\n\nrank 0 {\r\n  l_1: send 100b to 1 tag 5 cpu 3 nic 1\r\n\
                \tsend 20 b to 1 // nothing more\nl3 : calc 17 cpu 2\nl_1 requires l3\nl3: /* why */ \n}\n\
                rank 1 {\nrecv 20 from 0 nic 2 cpu 1\nx1: recv 100b from 0 tag 5 }\n";
    let wrong = Goal::parse("a.goal", text).unwrap_err().to_string();
    assert_eq!(
        wrong,
        "a.goal:10: 'l3 :': right is such as 'l1: send 100b to 1 tag 5', 'l2: recv 100b from 0 tag 5', 'l3: calc 1000' \
         or 'l3 requires l2'"
    );
    let goal = Goal::parse("a.goal", &text.replace("l3: /* why */ \n", "")).unwrap();
    let envelope = |peer, tag, bytes| Envelope {
        peer,
        tag,
        bytes: ByteCount::new(bytes),
    };
    let first = &goal.ranks[0];
    assert_eq!(first[0].action, Action::Send(envelope(1, 5, 100)));
    assert_eq!(first[0].requires, [(2, Point::End)]);
    assert_eq!(first[1].action, Action::Send(envelope(1, 0, 20)));
    let time = Duration::from_ns(17);
    assert_eq!(first[2].action, Action::Calc { cpu: 2, time });
    assert_eq!(first[2].line, 8);
    let second = &goal.ranks[1];
    assert_eq!(second[0].action, Action::Receive(envelope(0, 0, 20)));
    assert_eq!(second[1].action, Action::Receive(envelope(0, 5, 100)));
    // The one that waits for nothing is sent first.
    let tags: Vec<u32> = goal.messages.iter().map(|message| message.tag).collect();
    assert_eq!(tags, [0, 5]);
    assert_eq!(goal.messages[1].operations, [0, 1]);
}

/// What is said of a file.
fn said(text: &str) -> String {
    match Goal::parse("a.goal", text) {
        Ok(_) => "nothing".into(),
        Err(issues) => issues.to_string(),
    }
}

#[test]
fn what_is_wrong_in_a_line_is_said_with_what_is_right() {
    for (line, right) in [
        (
            "put 5b to 1",
            "'put 5b to 1': right is such as 'l1: send 100b to 1 tag 5', 'l2: recv 100b from 0 tag 5', 'l3: calc 1000' \
             or 'l3 requires l2'",
        ),
        (
            "l1: send 5kb to 1",
            "'l1: send 5kb to 1': size '5k': whole bytes are right, such as 100b",
        ),
        ("send 0b to 1", "'send 0b to 1': 0 bytes: 1 to 2147483648"),
        (
            "send 2147483649b to 1",
            "'send 2147483649b to 1': size 2147483649: 2147483648 at most",
        ),
        (
            "send 5b from 1",
            "'send 5b from 1': 'from': to is right here",
        ),
        ("send 5b", "'send 5b': right is such as '100b to 1 tag 5'"),
        ("send 5b to 2", "'send 5b to 2': rank 2: ranks are 0 to 1"),
        (
            "send 5b to -1",
            "'send 5b to -1': rank '-1': a number is right",
        ),
        (
            "send 5b to 0",
            "'send 5b to 0': rank 0 is its own peer: another rank is right",
        ),
        (
            "recv 5b from -1 tag 2",
            "'recv 5b from -1 tag 2': from any rank: what it takes would depend on the time; a rank is right",
        ),
        (
            "recv 5b from 1 tag -1",
            "'recv 5b from 1 tag -1': any tag: what it takes would depend on the time; a tag is right",
        ),
        (
            "send 5b to 1 tag 4294967295",
            "'send 5b to 1 tag 4294967295': tag 4294967295: 4294967294 at most",
        ),
        (
            "send 5b to 1 rail 2",
            "'send 5b to 1 rail 2': 'rail': tag, cpu or nic with a number is right here",
        ),
        (
            "send 5b to 1 tag",
            "'send 5b to 1 tag': 'tag' without a number: tag, cpu or nic with a number is right here",
        ),
        (
            "send 5b to 1 tag 1 tag 2",
            "'send 5b to 1 tag 1 tag 2': 'tag' is here twice",
        ),
        (
            "send 5b to 1 nic 256",
            "'send 5b to 1 nic 256': nic 256: 255 at most",
        ),
        (
            "calc 1.5",
            "'calc 1.5': calc '1.5': whole nanoseconds are right",
        ),
        (
            "calc 5 nic 1",
            "'calc 5 nic 1': 'nic': cpu with a number is right here",
        ),
        (
            "calc 9999999999999999",
            "'calc 9999999999999999': calc 9999999999999999: 1000000000000000 at most",
        ),
        (
            "1a: calc 5",
            "label '1a': a letter, then letters, digits and _",
        ),
        (
            "l9 requires x",
            "'l9 requires x': no operation of rank 0 is 'l9': labels are those of the same rank",
        ),
        (
            "x requires l9",
            "'x requires l9': no operation of rank 0 is 'l9': labels are those of the same rank",
        ),
        (
            "x: calc 7",
            "label 'x' is that of line 3 too: each operation of a rank has its own",
        ),
        ("x irequires x", "'x irequires x': it would wait for itself"),
    ] {
        let text = file(&[&format!("x: calc 1; {line}"), ""]);
        assert_eq!(said(&text), format!("a.goal:4: {right}"), "{line}");
    }
}

/// An operation that could not be read has a label: nothing more is said of what requires it.
#[test]
fn one_wrong_line_is_one_message() {
    let text = file(&["a: calc one; b: calc 2; b requires a; a requires b", ""]);
    assert_eq!(
        said(&text),
        "a.goal:3: 'a: calc one': calc 'one': whole nanoseconds are right"
    );
    let many = "nonsense\n".repeat(5_000);
    let issues = Goal::parse("a.goal", &file(&[&many, ""])).unwrap_err();
    assert_eq!(issues.0.len(), 101);
    assert_eq!(
        issues.0[100].to_string(),
        "a.goal:103: 4900 more from here on"
    );
}

#[test]
fn files_that_are_not_whole_are_said() {
    for (text, right) in [
        (
            "",
            "a.goal:1: the file is empty: num_ranks and a block for each rank are right",
        ),
        (
            "rank 0 {\n}\n",
            "a.goal:1: rank: right is first the number of ranks: num_ranks 4",
        ),
        (
            "5 hosts\nrank 0 {\n",
            "a.goal:1: '5 hosts': right is first the number of ranks: num_ranks 4",
        ),
        ("num_ranks\n", "a.goal:1: num_ranks '': 1 to 65536 is right"),
        (
            "num_ranks 0\n",
            "a.goal:1: num_ranks '0': 1 to 65536 is right",
        ),
        (
            "num_ranks 2\nnum_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n",
            "a.goal:2: num_ranks 2: the number of ranks was given before",
        ),
        (
            "num_ranks 2\nrank 0 {\n}\ncalc 5\nrank 1 {\n}\n",
            "a.goal:4: 'calc 5': outside of a rank: rank R { is right, or the end of the file",
        ),
        (
            "num_ranks 2\nrank 0\n{\n}\n",
            "a.goal:2: 'rank 0': rank R { is right",
        ),
        (
            "num_ranks 2\nrank 0 {\n}\nrank 2 {\n}\nrank 1 {\n}\n",
            "a.goal:4: rank 2: ranks are 0 to 1",
        ),
        (
            "num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\nrank 1 {\n}\n",
            "a.goal:4: rank 0 is in line 2 already: one block a rank",
        ),
        (
            "num_ranks 4\nrank 0 {\n}\nrank 2 {\n}\n\n",
            "a.goal:5: the file ends here with 2 of 4 ranks: rank 1 has no block, and may have an empty one",
        ),
        (
            "num_ranks 2\nrank 0 {\n}\nrank 1 {\na: calc 5\n",
            "a.goal:5: the file ends here, and rank 1 of line 4 has not ended: } is right",
        ),
        (
            "num_ranks 2\nrank 0 {\ncalc 5\nrank 1 {\n}\n",
            "a.goal:4: rank 1 begins, and rank 0 of line 2 has not ended: } is right before",
        ),
        (
            "num_ranks 1\n/* never\nends\nrank 0 {\n}\n",
            "a.goal:2: '/*': a comment without an end: */ is right",
        ),
    ] {
        assert_eq!(said(text), right, "{text}");
    }
}

#[test]
fn messages_without_their_other_end_are_said() {
    let one = "send 5b to 1 tag 3; send 5b to 1 tag 3; recv 9b from 1";
    assert_eq!(
        said(&file(&[one, "recv 5b from 0 tag 3"])),
        "a.goal:4: send without its recv: rank 0 sends 2 to rank 1 with tag 3, which receives 1\n\
         a.goal:5: recv without its send: rank 1 sends 0 to rank 0 with tag 0, which receives 1"
    );
    assert_eq!(
        said(&file(&[
            "a: send 5b to 1; b: send 7b to 1; b requires a",
            "recv 5b from 0; recv 8b from 0"
        ])),
        "a.goal:9: recv of 8 bytes from rank 0 with tag 0: the send in line 4 has 7, and the same is right"
    );
}

#[test]
fn operations_that_wait_for_each_other_are_said() {
    assert_eq!(
        said(&file(&[
            "a: calc 1; b: calc 2; c: calc 3; b requires c; c irequires b; a requires b",
            ""
        ])),
        "a.goal:4: b of rank 0 (line 4), c of rank 0 (line 5) wait for each other, so none begins"
    );
    let both = |other: u32| {
        format!("r: recv 5b from {other}; send 5b to {other}; s: calc 0; s requires r")
    };
    assert_eq!(said(&file(&[&both(1), &both(0)])), "nothing");
    let both = |other: u32| format!("r: recv 5b from {other}; s: send 5b to {other}; s requires r");
    assert_eq!(
        said(&file(&[&both(1), &both(0)])),
        "a.goal:3: r of rank 0 (line 3), s of rank 1 (line 9), r of rank 1 (line 8), s of rank 0 (line 4) wait for \
         each other, so none begins"
    );
}

#[test]
fn schedules_that_do_not_fit_a_scenario_are_refused() {
    let three = file(&["send 5b to 1", "recv 5b from 0", ""]);
    for (keys, right) in [
        (
            "",
            "flows.job.goal: a.goal has 3 ranks, and there is no host h2: a host h0, h1, … for each rank, or `from`, \
             which names them; hosts are h0, h1",
        ),
        (
            "from = 'h'",
            "flows.job.from: a.goal has 3 ranks, and 'h' is 2 hosts: a host for each rank",
        ),
        (
            "from = 'x'",
            "flows.job.from: 'x' is no host: hosts are h0, h1",
        ),
    ] {
        let wrong = with(2, 100, &entry(keys), &three).checked().unwrap_err();
        assert_eq!(wrong.to_string(), right, "{keys}");
    }
    let answered = entry("") + "[[flows]]\nname = 'back'\nanswers = 'job'\n";
    let wrong = with(3, 100, &answered, &three).checked().unwrap_err();
    let right = "flows.back.answers: 'job': only flows between pairs can be answered";
    assert!(wrong.to_string().starts_with(right), "{wrong}");
    for (keys, right) in [
        ("to = 'h1'", "flows.job.to: not with goal: the file says it"),
        (
            "pairs = 'each'",
            "flows.job.pairs: not with goal: the file says it",
        ),
        (
            "message = '5 KB'",
            "flows.job.message: not with goal: the file says it",
        ),
        (
            "count = 3",
            "flows.job.count: not with goal: the file says it",
        ),
        (
            "think = '1 us'",
            "flows.job.think: not with goal: a `calc` of the file is compute time",
        ),
        (
            "interval = '1 us'",
            "flows.job.interval: not with goal: operations start when what they require is there",
        ),
        (
            "ns3 = 'x'",
            "flows.job.ns3: not with goal: an entry has one file",
        ),
        (
            "operation = 'read'",
            "flows.job.operation: not with goal: its messages arrive at another host, and those of READs and atomics \
             do not",
        ),
        (
            "mix = { write = 3, send = 1 }",
            "flows.job.mix: not with goal, which says what messages are",
        ),
        (
            "working_set = '1 MiB'",
            "flows.job.working_set: not with goal: its messages have places of their own",
        ),
    ] {
        let wrong = with(3, 100, &entry(keys), &three).checked().unwrap_err();
        assert_eq!(wrong.to_string(), right, "{keys}");
    }
    let mut unread = scenario(3, 100, &three);
    unread.flows[0].schedule = None;
    let wrong = unread.checked().unwrap_err().to_string();
    assert_eq!(wrong, "flows.job.goal: a.goal has not been read");
    let broken = scenario(3, 100, "num_ranks x")
        .checked()
        .unwrap_err()
        .to_string();
    assert_eq!(broken, "a.goal:1: num_ranks 'x': 1 to 65536 is right");
}

/// As long as a rank has an operation left, there is no round, also where others are through.
#[test]
fn a_job_is_over_when_all_of_it_is() {
    let ranks = ["calc 5000", "calc 20000", ""];
    for (us, over) in [(19, 0), (21, 1)] {
        let simulation = ran(&scenario(3, us, &file(&ranks)));
        let job = &simulation.jobs()[0];
        assert_eq!(rounds(&simulation, job, Time::ZERO).len(), over);
        assert_eq!(simulation.finished(), over == 1);
    }
}

/// Another entry can come after a schedule, whose flows end.
#[test]
fn an_entry_comes_after_a_schedule() {
    let ranks = [
        "c: calc 30000; s: send 5b to 1; s requires c",
        "recv 5b from 0",
    ];
    let flows = entry("")
        + "[[flows]]\nname = 'b'\nfrom = 'h1'\nto = 'h0'\nmessage = '1 KB'\ncount = 1\nafter = ['job']\n";
    let simulation = ran(&with(2, 100, &flows, &file(&ranks)));
    finished(&simulation);
    let due = simulation.sender(&simulation.flows()[1]).due_at(0).unwrap();
    let came = times(&simulation)[1][0][1];
    assert!((due.as_ps() as f64 / 1e3 - came) < CYCLE_NS, "{due} {came}");
}

/// A file of 100,000 operations is read in a time that does not grow faster than it.
#[test]
fn large_files_are_read_quickly() {
    let (ranks, steps) = (20, 2_500);
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        text += &format!("rank {rank} {{\n");
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        for step in 0..steps {
            text += &format!(
                "s{step}: send 1000b to {next} tag {step} cpu 0 nic 0\nr{step}: recv 1000b from {before} tag {step}\n"
            );
            if step > 0 {
                text += &format!("s{step} requires r{}\n", step - 1);
            }
        }
        text += "}\n";
    }
    let begin = std::time::Instant::now();
    let goal = Goal::parse("a.goal", &text).unwrap();
    let read = begin.elapsed();
    println!("{} messages in {read:?}", goal.messages.len());
    assert_eq!(goal.messages.len(), ranks * steps);
    assert!(read.as_secs() < 10, "{read:?}");
}
