//! Policies in runs: what they see and change, and that their changes as events come to the same.

use proptest::prelude::*;
use xoff_sim::switch::Limit;
use xoff_sim::time::{ByteCount, Rate, Time};

use super::*;
use crate::metrics::{Metric, Quantity};
use crate::results::Summary;
use crate::scenario::event::{Pace, Set, SetDcqcn};
use crate::scenario::switch::Ecn;
use crate::scenario::{FlowSettings, PolicySettings};
use crate::testing::refusal;
use crate::{Endpoints, Run, Simulation, SimulationError};

/// So many hosts write to one behind a switch whose Kmin is much too high.
fn incast(senders: u32, duration: Duration) -> Scenario {
    let text = format!(
        "
        title = 'incast'
        duration = '{duration}'
        measure_from = '{}'
        host.nic = 'model'
        host.dcqcn = {{}}
        hosts = [{{ name = 's', count = {senders} }}, {{ name = 'r' }}]
        switches = [{{ name = 't', ecn = {{ kmin = '1 MB', kmax = '4 MB', pmax = 0.1 }} }}]
        links = [{{ ends = ['s', 't'] }}, {{ ends = ['r', 't'] }}]
        flows = [{{ name = 'f', from = 's', to = 'r', message = '64 KiB' }}]
        ",
        duration / 2
    );
    toml::from_str(&text).unwrap()
}

fn steered(mut scenario: Scenario, name: &str, every: Duration) -> Scenario {
    scenario.policy = Some(PolicySettings {
        name: name.into(),
        every,
        parameters: BTreeMap::new(),
    });
    scenario
}

/// Does everything that a policy may do, one thing at each look, and keeps a figure so that it has a state.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Everything {
    looks: u64,
    cnps: f64,
}

impl Policy for Everything {
    fn new(_: &PolicySetup<'_>) -> Result<Self, String> {
        Ok(Self {
            looks: 0,
            cnps: 0.0,
        })
    }

    fn step(&mut self, measured: &Measured) -> Vec<Action> {
        self.looks += 1;
        self.cnps += measured.get("cnps_rx.total").unwrap();
        let set = |xoff, ecn| {
            Action::Set(Box::new(Set {
                switch: "t".into(),
                xoff,
                ecn,
                lossless_never_floods: None,
            }))
        };
        let dcqcn = |host: Option<&str>, flow: Option<&str>, g: f64| {
            Action::Dcqcn(Box::new(SetDcqcn {
                host: host.map(Into::into),
                flow: flow.map(Into::into),
                g: Some(g),
                rate_ai: Some(Rate::from_bits_per_second(123_456_789)),
                alpha_timer: Some(Duration::from_ps(33_333_333)),
                ..SetDcqcn::default()
            }))
        };
        match self.looks {
            1 => vec![
                Action::Stop("f.s1".into()),
                set(Some(Limit::Alpha { num: 1, den: 64 }), None),
            ],
            2 => {
                let kmin = ByteCount::new(12_345 + self.cnps as u64);
                let ecn = Ecn {
                    kmin: Some(kmin),
                    kmax: Some(ByteCount::new(234_567)),
                    pmax: 0.1 / 3.0,
                    ..Ecn::default()
                };
                vec![set(None, Some(ecn)), Action::Start("f.s1".into())]
            }
            3 => vec![
                dcqcn(Some("s"), None, 1.0 / 64.0),
                dcqcn(None, Some("f.s0"), 0.3),
            ],
            4 => vec![Action::Pace(Pace {
                flow: "f.s0".into(),
                rate: Some(Rate::from_bits_per_second(1_234_567_000)),
                window: Some(9),
            })],
            _ => Vec::new(),
        }
    }
}

/// Returns these changes at its first look.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Once(String);

impl Policy for Once {
    fn new(setup: &PolicySetup<'_>) -> Result<Self, String> {
        Ok(Self(setup.parameters["actions"].to_string()))
    }

    fn step(&mut self, _: &Measured) -> Vec<Action> {
        let actions = std::mem::replace(&mut self.0, "[]".into());
        serde_json::from_str(&actions).unwrap()
    }
}

fn once(mut scenario: Scenario, every: Duration, actions: &str) -> Scenario {
    let actions: Value = serde_json::from_str(actions).unwrap();
    scenario = steered(scenario, "once", every);
    let parameters = &mut scenario.policy.as_mut().unwrap().parameters;
    parameters.insert("actions".into(), actions);
    scenario
}

fn endpoints() -> Endpoints {
    Endpoints::default()
        .with_policy("everything", PolicyKind::of::<Everything>())
        .with_policy("once", PolicyKind::of::<Once>())
}

fn try_run(scenario: &Scenario) -> Result<(Run, Summary), SimulationError> {
    let mut run = Run::new(&scenario.checked().unwrap(), &endpoints())?;
    while !run.has_ended() {
        let end = run.end();
        run.advance(end, |_| ())?;
    }
    let summary = Summary::of(&mut run, &scenario.checked()?).unwrap();
    Ok((run, summary))
}

fn run(scenario: &Scenario) -> Summary {
    try_run(scenario).unwrap().1
}

/// The scenario with the events that a run caused, through its text.
fn recorded(scenario: &Scenario, summary: &Summary) -> Scenario {
    let changes = &summary.policy.as_ref().unwrap().changes;
    let text = toml::to_string(&scenario.recorded(changes)).unwrap();
    let read: Scenario = toml::from_str(&text).unwrap();
    assert_eq!(read, scenario.recorded(changes), "{text}");
    read
}

/// What both runs have in common: everything but the policy, and settings that name it.
fn plain(summary: &Summary) -> Summary {
    Summary {
        policy: None,
        notes: Vec::new(),
        ..summary.clone()
    }
}

fn in_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// The events that a policy caused, in its place, come to the same results: digest, metrics, findings. Events of
    /// the scenario at the instants of looks happen first in both. Nor do threads make a difference, nor a checkpoint
    /// anywhere.
    #[test]
    fn changes_are_events(
        seed in any::<u64>(),
        every_us in 7_u64..60,
        sample_us in 3_u64..40,
        stop_us in 0_u64..500,
        everything in any::<bool>(),
    ) {
        let every = Duration::from_us(every_us);
        let name = if everything { "everything" } else { "ecn-tuner" };
        let mut scenario = steered(incast(3, Duration::from_us(500)), name, every);
        scenario.seed = seed;
        scenario.sample = Some(Duration::from_us(sample_us));
        // At the second look: what the policy sets comes behind it.
        let text = "at = '1 us'\ndo.set = { switch = 't', ecn = { kmin = '1 KB', kmax = '2 KB' } }";
        let mut event: Event = toml::from_str(text).unwrap();
        event.at = every * 2;
        scenario.events.push(event);
        let summary = in_threads(1, || run(&scenario));
        let done = summary.policy.clone().unwrap();
        prop_assert!(!done.changes.is_empty());
        // Looks at the end of the run change nothing, so there are none.
        prop_assert_eq!(done.looks, 499 / every_us);
        let again = recorded(&scenario, &summary);
        for threads in [1, 2] {
            let came = in_threads(threads, || run(&again));
            prop_assert_eq!(&came.digest, &summary.digest);
            prop_assert_eq!(plain(&came), plain(&summary));
            prop_assert_eq!(&in_threads(threads, || run(&scenario)), &summary);
        }
        // From a checkpoint, also between a look and its changes.
        let mut first = Run::new(&scenario.checked().unwrap(), &endpoints()).unwrap();
        while first.now() < Time::from_us(stop_us) {
            first.advance(Time::from_us(stop_us), |_| ()).unwrap();
        }
        let saved = postcard::to_stdvec(&first).unwrap();
        let mut second: Run = postcard::from_bytes(&saved).unwrap();
        second.attach(&endpoints()).unwrap();
        while !second.has_ended() {
            let end = second.end();
            second.advance(end, |_| ()).unwrap();
        }
        prop_assert_eq!(Summary::of(&mut second, &scenario.checked().unwrap()).unwrap(), summary);
    }
}

/// Figures are those of the time since the last look: their sums over all looks are those of results.
#[test]
fn what_is_measured_adds_up() {
    /// Keeps what it sees.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Sums {
        bits: f64,
        counts: BTreeMap<String, f64>,
    }
    const COUNTS: [&str; 5] = [
        "messages.f.s0",
        "cnps_rx.s1",
        "ecn_marked.t",
        "pause_frames_tx.total",
        "request_packets.total",
    ];
    impl Policy for Sums {
        fn new(setup: &PolicySetup<'_>) -> Result<Self, String> {
            assert_eq!(setup.nodes.len(), 5);
            assert_eq!(setup.flows, ["f.s0", "f.s1", "f.s2"]);
            let ports: Vec<usize> = setup.switches().map(|node| node.ports.len()).collect();
            assert_eq!(ports, [4]);
            Ok(Self {
                bits: 0.0,
                counts: BTreeMap::new(),
            })
        }
        fn step(&mut self, measured: &Measured) -> Vec<Action> {
            let ns = measured.time().as_ps() as f64 / 1e3;
            self.bits += measured.get("goodput_gbps.total").unwrap() * ns;
            for name in COUNTS {
                let sum = self.counts.entry(name.into()).or_default();
                *sum += measured.get(name).unwrap();
            }
            let queue = measured.queue["t"];
            assert!(queue.least <= queue.mean && queue.mean <= queue.greatest);
            assert!(measured.ingress["t"].greatest > 0.0);
            assert!(
                measured
                    .rate
                    .values()
                    .all(|rate| (0.01..=40.0).contains(rate))
            );
            assert_eq!(measured.rate.len(), 3);
            for (metric, value) in &measured.metrics {
                let part = metric.quantity == Quantity::WireUtilization;
                assert!(!part || (0.0..=1.0).contains(value), "{metric} {value}");
            }
            // There is no other end of the run.
            assert_eq!(measured.get("jain_index"), None);
            match measured.until == Time::from_us(490) {
                true => vec![Action::Stop("f".into())],
                false => Vec::new(),
            }
        }
    }
    let mut scenario = steered(
        incast(3, Duration::from_us(490)),
        "sums",
        Duration::from_us(70),
    );
    scenario.measure_from = Duration::ZERO;
    scenario.switches[0].ecn = Some(Ecn::default());
    // The last look is the end of what is measured here.
    let endpoints = Endpoints::default().with_policy("sums", PolicyKind::of::<Sums>());
    let mut longer = scenario.clone();
    longer.duration = Duration::from_us(500);
    let mut run = Run::new(&longer.checked().unwrap(), &endpoints).unwrap();
    while run.now() < Time::from_us(490) {
        run.advance(Time::from_us(490), |_| ()).unwrap();
    }
    let metrics = run.recorder.metrics(&run.simulation);
    let sums = run.slow_loop().unwrap().saved();
    let sums: Sums = postcard::from_bytes(&sums).unwrap();
    for (name, sum) in &sums.counts {
        assert_eq!(metrics[&name.parse::<Metric>().unwrap()], *sum, "{name}");
    }
    assert!(sums.counts["cnps_rx.s1"] > 0.0 && sums.counts["ecn_marked.t"] > 0.0);
    let gbps = metrics[&Metric::total(Quantity::GoodputGbps)];
    assert!(
        (sums.bits / 490e3 / gbps - 1.0).abs() < 1e-3,
        "{} {gbps}",
        sums.bits
    );
}

/// A bound of 10 Gb/s is one of what is on the wire: 1,106 bytes for 1,024 of payload. With a window of four packets a
/// round trip takes as much longer than with one of two as two packets are on the wire.
#[test]
fn bounds_bind() {
    let flow = FlowSettings::new("f", "a", "b");
    let mut pair = crate::testing::pair(
        crate::scenario::NicKind::Model,
        flow,
        Duration::from_us(400),
    );
    pair.host.dcqcn = Some(Default::default());
    let goodput = |pace: &str| {
        let mut scenario = pair.clone();
        scenario.measure_from = Duration::from_us(100);
        let event = format!("at = '20 us'\ndo.pace = {{ flow = 'f', {pace} }}");
        scenario.events.push(toml::from_str(&event).unwrap());
        run(&scenario).metrics["goodput_gbps.f"]
    };
    let bounded = goodput("rate = '10 Gb/s'");
    assert!(
        (bounded / (10.0 * 1024.0 / 1106.0) - 1.0).abs() < 0.01,
        "{bounded}"
    );
    let whole = goodput("rate = '40 Gb/s'");
    assert!((whole / 37.03 - 1.0).abs() < 0.01, "{whole}");
    // The time of a round, in ns.
    let [two, four] = [2, 4].map(|packets| {
        let bits = f64::from(packets) * 8.0 * 1024.0;
        bits / goodput(&format!("window = {packets}"))
    });
    let packet = 1106.0 * 8.0 / 40.0;
    assert!(
        ((four - two) / (2.0 * packet) - 1.0).abs() < 0.05,
        "{two} {four}"
    );
}

/// Without any increase, the rates of two senders stay where the first marks have brought them.
#[test]
fn parameters_of_dcqcn_change_at_run_time() {
    let rates = |event: &str| {
        let mut scenario = incast(2, Duration::from_us(600));
        scenario.switches[0].ecn = Some(Ecn::default());
        if !event.is_empty() {
            scenario.events.push(toml::from_str(event).unwrap());
        }
        let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
        [300, 599].map(|us| {
            simulation.run_until(Time::from_us(us)).unwrap();
            let rate = |flow: usize| {
                let flow = &simulation.flows()[flow];
                let station = simulation.network().node(flow.source);
                station.dcqcn(flow.source_qp()).unwrap().0
            };
            [rate(0), rate(1)]
        })
    };
    let [early, late] = rates("");
    assert!(early[0] < 40e9 && late[0] > early[0], "{early:?} {late:?}");
    // Neither by time nor by bytes.
    let still = "rate_timer = '0', byte_counter = '0 B'";
    let [early, late] = rates(&format!(
        "at = '300 us'\ndo.dcqcn = {{ host = 's', {still} }}"
    ));
    assert!(
        late[0] <= early[0] && late[1] <= early[1],
        "{early:?} {late:?}"
    );
    let [early, late] = rates(&format!(
        "at = '300 us'\ndo.dcqcn = {{ flow = 'f.s0', {still} }}"
    ));
    assert!(
        late[0] <= early[0] && late[1] > early[1],
        "{early:?} {late:?}"
    );
}

#[test]
fn what_does_not_fit_is_named() {
    let refused = |scenario: &Scenario| {
        let said = refusal(scenario, &endpoints());
        if let Ok(scenario) = scenario.checked() {
            let made = Run::new(&scenario, &endpoints()).unwrap_err();
            assert_eq!(made.to_string(), said);
        }
        said
    };
    let base = incast(3, Duration::from_us(100));
    let every = Duration::from_us(20);
    assert_eq!(
        refused(&steered(base.clone(), "ecn-tunr", every)),
        "policy.name: no policy of the name 'ecn-tunr': this program has ecn-tuner, everything, once; \
         docs/own-policy.md says how to add one; did you mean 'ecn-tuner'?"
    );
    assert_eq!(
        refused(&steered(base.clone(), "ecn-tuner", Duration::ZERO)),
        "policy.every: must be above 0, for example '1 ms'"
    );
    assert_eq!(
        refused(&steered(base.clone(), "ecn-tuner", Duration::from_ns(10))),
        "policy.every: 10 ns: 1 us or longer"
    );
    assert_eq!(
        refused(&steered(base.clone(), "ecn-tuner", Duration::from_us(100))),
        "policy.every: 100 us: the run ends at 100 us, before the policy sees anything"
    );
    let mut unmarked = steered(base.clone(), "ecn-tuner", every);
    unmarked.switches[0].ecn = None;
    assert_eq!(
        refused(&unmarked),
        "policy.parameters: no switch marks packets: switches.NAME.ecn has it do so"
    );
    let with = |key: &str, value: Value| {
        let mut scenario = steered(base.clone(), "ecn-tuner", every);
        let policy = scenario.policy.as_mut().unwrap();
        policy.parameters.insert(key.into(), value);
        refused(&scenario)
    };
    assert_eq!(
        with("targets", "1 us".into()),
        "policy.parameters: unknown field `targets`, expected one of `target`, `least`, `most`, `full`"
    );
    assert_eq!(
        with("target", "0".into()),
        "policy.parameters: target: above 0, such as '40 us'"
    );
    assert_eq!(
        with("full", 1.5.into()),
        "policy.parameters: full: 1.5: above 0 to 1"
    );
    assert_eq!(
        with("least", "20 MB".into()),
        "policy.parameters: least: 20 MB: 2 B up to most, 10 MB"
    );
}

/// A change that cannot be made ends the run at the look, and says what would be right.
#[test]
fn a_wrong_change_ends_the_run() {
    let said = |actions: &str| {
        let scenario = once(
            incast(3, Duration::from_us(100)),
            Duration::from_us(20),
            actions,
        );
        let error = try_run(&scenario).unwrap_err().to_string();
        let rest = error.strip_prefix("at 20 us: policy 'once': ");
        rest.unwrap_or_else(|| panic!("{error}")).to_owned()
    };
    for (actions, right) in [
        (
            r#"[{"set": {"switch": "tt", "ecn": {}}}]"#,
            "set.switch: 'tt' is no switch: there are t",
        ),
        (
            r#"[{"set": {"switch": "t", "ecn": {"kmin": "2 MB", "kmax": "1 MB"}}}]"#,
            "set.ecn.kmin: 2 MB is not below kmax, 1 MB",
        ),
        (
            r#"[{"set": {"switch": "t", "ecn": {"pmax": 1.5}}}]"#,
            "set.ecn.pmax: 1.5: a probability is 0 to 1",
        ),
        (
            r#"[{"set": {"switch": "t"}}]"#,
            "set: nothing is set: xoff, ecn or lossless_never_floods",
        ),
        (
            r#"[{"stop": "f.r0"}]"#,
            "stop: 'f.r0' is no flow: there are f.s0, f.s1, f.s2; did you mean 'f.s0'?",
        ),
        (
            r#"[{"die": "s0"}]"#,
            "die: it does something to the network: set, dcqcn, pace, stop and start are changes of settings",
        ),
        (
            r#"[{"dcqcn": {"host": "x", "g": 0.1}}]"#,
            "dcqcn.host: 'x' is no host: there are s0, s1, s2, r",
        ),
        (
            r#"[{"dcqcn": {"host": "s0", "g": 1.0}}]"#,
            "dcqcn.g: 1: a gain is 0 to below 1",
        ),
        (
            r#"[{"dcqcn": {"host": "s0", "flow": "f", "g": 0.1}}]"#,
            "dcqcn: whose? Either host or flow is right",
        ),
        (
            r#"[{"pace": {"flow": "f", "rate": "1 Mb/s"}}]"#,
            "pace.rate: 1 Mb/s: 10 Mb/s or more",
        ),
        (
            r#"[{"pace": {"flow": "f.s0", "window": 0}}]"#,
            "pace.window: 0: 1 packet or more",
        ),
    ] {
        assert_eq!(said(actions), right);
    }
}

/// Events that set QPs are checked before the run, by NICs that cannot be set so.
#[test]
fn events_of_qps_are_checked() {
    let said = |change: fn(&mut Scenario), event: &str| {
        let mut scenario = incast(3, Duration::from_us(100));
        change(&mut scenario);
        let event = format!("at = '10 us'\n{event}");
        scenario.events.push(toml::from_str(&event).unwrap());
        scenario.checked().unwrap_err().to_string()
    };
    let rtl = |scenario: &mut Scenario| scenario.hosts[0].nic = Some(crate::scenario::NicKind::Rtl);
    let off = |scenario: &mut Scenario| scenario.host.dcqcn = None;
    let own = |scenario: &mut Scenario| scenario.host.congestion = Some("swift".into());
    for (change, event, right) in [
        (
            rtl as fn(&mut Scenario),
            "do.pace = { flow = 'f', window = 3 }",
            "events.0.do.pace.flow: s0 has the NIC 'rtl', which has no register for it: \"model\" NICs can be bounded",
        ),
        (
            rtl,
            "do.dcqcn = { flow = 'f.s1', g = 0.1 }",
            "events.0.do.dcqcn.flow: the registers of s1, an RTL NIC, are those of all flows: host = \"s1\"",
        ),
        (
            off,
            "do.dcqcn = { host = 's', g = 0.1 }",
            "events.0.do.dcqcn: DCQCN is off at s0: host.dcqcn turns it on",
        ),
        (
            off,
            "do.pace = { flow = 'f', window = 3 }",
            "events.0.do.pace.flow: s0 paces nothing without congestion control: host.dcqcn turns it on, and without \
             marks it leaves rates alone",
        ),
        (
            own,
            "do.dcqcn = { host = 's', g = 0.1 }",
            "events.0.do.dcqcn: s0 has swift in place of DCQCN",
        ),
        (
            |_| (),
            "do.dcqcn = { host = 's' }",
            "events.0.do.dcqcn: nothing is set: g, rate_ai, rate_hai, alpha_timer, rate_timer, byte_counter, stages or \
             cnp_interval",
        ),
        (
            |_| (),
            "do.dcqcn = { flow = 'f', cnp_interval = '1 us' }",
            "events.0.do.dcqcn.cnp_interval: it is that of a whole NIC: with host",
        ),
    ] {
        assert_eq!(said(change, event), right);
    }
}
