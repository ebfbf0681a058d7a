//! The slow receiver of SIGCOMM 2016, section 4.4: a NIC that misses its translation cache, behind a ToR, with a victim
//! beside it; and what `xoff calc mtt` says of it.

use xoff_sim::host::{Order, PcieConfig, WorkingSet};
use xoff_sim::kernel::Digest;
use xoff_sim::nic::ModelNicConfig;
use xoff_sim::nic::translation::plan::{Forecast, Pattern, Receiver};
use xoff_sim::switch::Limit;
use xoff_sim::time::{ByteCount, Clock, Duration, Length, LineRate, Time};

use crate::metrics::{Metric, Metrics, Recorder};
use crate::scenario::{FlowSettings, LinkEntry, NicKind, Scenario, TranslationSettings};
use crate::{Endpoints, Simulation};

const MIB: u64 = 1 << 20;
/// QPs of the flow to the slow receiver.
const QPS: u64 = 16;
/// Payload that the line brings in WRITEs of 1 KiB, in Gb/s: 1,122 bytes on the wire each.
const LINE: f64 = 40.0 * 1_024.0 / 1_122.0;

/// What differs from run to run.
#[derive(Clone, Copy)]
struct Case {
    page: u64,
    working_set: u64,
    entries: u32,
    latency: Duration,
    order: Order,
    dynamic: bool,
}

/// Pages of 4 KiB, 1 GiB, a static threshold.
const BASE: Case = Case {
    page: 4 << 10,
    working_set: 1_024 * MIB,
    entries: 2_048,
    latency: Duration::from_ns(250),
    order: Order::Uniform,
    dynamic: false,
};

impl Case {
    fn translation(self) -> TranslationSettings {
        TranslationSettings {
            page: ByteCount::new(self.page),
            entries: self.entries,
            ..TranslationSettings::default()
        }
    }

    fn scenario(self) -> Scenario {
        let mut scenario = Scenario::new("slow receiver", Duration::from_ms(3));
        for host in ["s", "v", "r", "w"] {
            scenario = scenario.host(host);
        }
        for switch in ["T0", "T1", "L"] {
            scenario = scenario.switch(switch);
        }
        scenario.host.nic = NicKind::Model;
        scenario.hosts[2].translation = Some(self.translation());
        scenario.hosts[2].pcie_latency = Some(self.latency);
        scenario.switches[0].xoff = match self.dynamic {
            true => Limit::Alpha { num: 1, den: 16 },
            false => Limit::Static(ByteCount::new(24_470)),
        };
        for (host, tor) in [("s", "T1"), ("v", "T1"), ("r", "T0"), ("w", "T0")] {
            scenario = scenario.link(host, tor, Length::from_m(2));
        }
        for tor in ["T0", "T1"] {
            let link = LinkEntry::new(tor.into(), "L".into(), Length::from_m(20));
            let rate = Some("100 Gb/s".parse().unwrap());
            scenario.links.push(LinkEntry { rate, ..link });
        }
        let slow = FlowSettings {
            qps: QPS as u32,
            outstanding: 16,
            message: ByteCount::new(1_024),
            working_set: Some(ByteCount::new(self.working_set / QPS)),
            order: Some(self.order),
            touched: true,
            ..FlowSettings::new("slow", "s", "r")
        };
        let victim = FlowSettings {
            message: ByteCount::new(4_096),
            interval: Some(Duration::from_us(10)),
            ..FlowSettings::new("victim", "v", "w")
        };
        scenario.flow(slow).flow(victim)
    }

    /// What `xoff calc mtt` says of it.
    fn forecast(self) -> Forecast {
        let pattern = Pattern {
            qps: QPS,
            working_set: WorkingSet {
                bytes: self.working_set / QPS,
                order: self.order,
                seed: 1,
            },
            message: 1_024,
            mtu: 1_024,
        };
        let rate = LineRate::G40;
        let receiver = Receiver {
            rate,
            clock: Clock::new(ModelNicConfig::period(rate), Duration::ZERO),
            pcie: PcieConfig {
                latency: self.latency,
                ..PcieConfig::default()
            },
            jitter: Duration::ZERO,
            xoff: 32 << 10,
            xon: 30 << 10,
            response: Duration::ZERO,
            link: Length::from_m(2).delay() + Duration::from_ps(187_500),
        };
        let config = self.translation().config().unwrap();
        receiver.forecast(&pattern, &pattern.misses(&config))
    }

    fn run(self) -> Run {
        let scenario = self.scenario();
        let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
        let [begin, end] = [1, 3].map(Time::from_ms);
        simulation.run_until(begin).unwrap();
        let mut recorder = Recorder::new(&simulation);
        recorder.begin(&simulation);
        simulation.run_until(end).unwrap();
        Run(recorder.metrics(&simulation))
    }
}

/// The metrics of 2 ms.
struct Run(Metrics);

impl Run {
    fn get(&self, name: &str) -> f64 {
        let metric: Metric = name.parse().unwrap();
        self.0[&metric]
    }

    /// Of the slow receiver, in Gb/s.
    fn goodput(&self) -> f64 {
        let flows = (0..QPS).map(|qp| self.get(&format!("goodput_gbps.slow.{qp}")));
        flows.sum()
    }

    /// XOFFs a second, each of which an XON follows.
    fn pauses(&self) -> f64 {
        self.get("pause_frames_tx.r") / 2.0 * 500.0
    }

    /// Part of the time.
    fn stalled(&self) -> f64 {
        self.get("translation_stall_ns.r.3") / 2e6
    }

    fn miss_rate(&self) -> f64 {
        let [hits, misses] = ["hits", "misses"].map(|it| self.get(&format!("translation_{it}.r")));
        misses / (hits + misses)
    }

    /// 99th percentile of the victim's messages, in µs.
    fn victim(&self) -> f64 {
        self.get("message_latency_ns.victim.p99") / 1e3
    }
}

fn near(found: f64, expected: f64, part: f64) -> bool {
    (found - expected).abs() <= part * expected
}

#[test]
fn small_pages_pause_and_either_cure_of_the_paper_helps() {
    let base = BASE.run();
    assert!(base.pauses() >= 1_000.0, "{}", base.pauses());
    assert!(base.goodput() < 0.9 * LINE, "{}", base.goodput());
    assert!(base.get("xoff_transitions.T0") > 0.0);
    assert!(base.victim() > 20.0, "{} µs", base.victim());
    let dynamic = Case {
        dynamic: true,
        ..BASE
    };
    let dynamic = dynamic.run();
    assert!(dynamic.pauses() >= 1_000.0 && dynamic.goodput() < 0.9 * LINE);
    assert_eq!(dynamic.get("xoff_transitions.T0"), 0.0);
    assert!(dynamic.victim() < 10.0, "{} µs", dynamic.victim());
    // Below 4 GiB with large pages, below 8 MiB with small ones.
    for (page, working_set) in [(2 * MIB, 1_024 * MIB), (4 << 10, 8 * MIB)] {
        let cured = Case {
            page,
            working_set,
            ..BASE
        };
        let run = cured.run();
        assert_eq!((run.pauses(), run.miss_rate()), (0.0, 0.0), "{page}");
        assert!(near(run.goodput(), LINE, 0.01), "{page}: {}", run.goodput());
        assert!(run.victim() < 10.0, "{page}: {} µs", run.victim());
    }
    let beyond = Case {
        page: 2 * MIB,
        working_set: 8_192 * MIB,
        ..BASE
    };
    let beyond = beyond.run();
    assert!(beyond.pauses() >= 1_000.0 && beyond.goodput() < 0.9 * LINE);
}

/// Within 10 % of the runs: halved and doubled latency, working set and entries.
#[test]
fn the_calculator_says_what_runs_do() {
    let ns = Duration::from_ns;
    for (what, case) in [
        ("base", BASE),
        (
            "half of the latency",
            Case {
                latency: ns(125),
                ..BASE
            },
        ),
        (
            "double latency",
            Case {
                latency: ns(500),
                ..BASE
            },
        ),
        (
            "half of the memory",
            Case {
                working_set: 512 * MIB,
                ..BASE
            },
        ),
        (
            "double memory",
            Case {
                working_set: 2_048 * MIB,
                ..BASE
            },
        ),
        (
            "half of the entries",
            Case {
                entries: 1_024,
                ..BASE
            },
        ),
        (
            "double entries",
            Case {
                entries: 4_096,
                ..BASE
            },
        ),
        (
            "64 MiB",
            Case {
                working_set: 64 * MIB,
                ..BASE
            },
        ),
        (
            "a walk",
            Case {
                order: Order::Walk,
                ..BASE
            },
        ),
        (
            "2 MiB pages",
            Case {
                page: 2 * MIB,
                ..BASE
            },
        ),
    ] {
        let (run, said) = (case.run(), case.forecast());
        let pauses = [run.pauses(), said.pauses];
        println!(
            "{what}: {:.2} Gb/s, said {:.2}; stalled {:.3}, said {:.3}; pauses {pauses:.0?} a second",
            run.goodput(),
            said.goodput_bps / 1e9,
            run.stalled(),
            said.stalled
        );
        assert!(near(said.goodput_bps / 1e9, run.goodput(), 0.1), "{what}");
        assert!(near(said.stalled, run.stalled(), 0.1), "{what}");
        assert!(near(said.pauses, run.pauses(), 0.1), "{what}: {pauses:?}");
    }
    // With half of the lookups missing chance decides, and pauses come less often than said.
    let half = Case {
        working_set: 16 * MIB,
        ..BASE
    };
    let (run, said) = (half.run(), half.forecast());
    assert!(near(said.goodput_bps / 1e9, run.goodput(), 0.1));
    assert!((0.7..1.0).contains(&(run.pauses() / said.pauses)));
}

/// A flow's pages may have a size of their own: beside one whose messages each need a page of 4 KiB, one of 4 MiB in
/// large pages has the first uses of two, in the cache of the same host.
#[test]
fn a_flow_has_a_page_size_of_its_own() {
    let misses = |small: bool, large: bool| {
        let flow = |name: &str, page: Option<u64>, working_set: u64| FlowSettings {
            message: ByteCount::new(4_096),
            working_set: Some(ByteCount::new(working_set)),
            page: page.map(ByteCount::new),
            ..FlowSettings::new(name, "a", "b")
        };
        let mut scenario = Scenario::new("two sizes", Duration::from_ms(2))
            .host("a")
            .host("b")
            .link("a", "b", Length::from_m(2));
        scenario.host.nic = NicKind::Model;
        scenario.hosts[1].translation = Some(TranslationSettings::default());
        if small {
            scenario =
                scenario.flow(flow("small", None, 16 * MIB).messages(1_000, ByteCount::new(4_096)));
        }
        if large {
            let flow = flow("large", Some(2 * MIB), 4 * MIB);
            scenario = scenario.flow(flow.messages(1_000, ByteCount::new(4_096)));
        }
        let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
        let mut recorder = Recorder::new(&simulation);
        recorder.begin(&simulation);
        simulation.run_until(Time::from_ms(2)).unwrap();
        Run(recorder.metrics(&simulation)).get("translation_misses.b")
    };
    // 1,000 messages of a page each, one behind the other, in pages of 4 KiB; in those of 2 MiB two pages.
    assert_eq!(misses(true, false), 1_000.0);
    assert_eq!(misses(false, true), 2.0);
    assert_eq!(misses(true, true), 1_002.0);
}

/// The digest does not depend on threads, nor on a checkpoint in between.
#[test]
fn one_seed_one_result() {
    let mut scenario = BASE.scenario();
    scenario.duration = Duration::from_us(400);
    let translation = scenario.hosts[2].translation.as_mut().unwrap();
    translation.jitter = Duration::from_us(1);
    scenario.host.translation = Some(TranslationSettings {
        entries: 16,
        ..translation.clone()
    });
    let end = Time::ZERO + scenario.duration;
    let digest = |threads: usize| -> Digest {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
        simulation.network_mut().set_parallel_from(0);
        (pool.unwrap().install(|| simulation.run_until(end))).unwrap();
        simulation.digest()
    };
    let whole = digest(1);
    assert_eq!(whole, digest(3));
    let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    for us in [37, 150, 151] {
        simulation.run_until(Time::from_us(us)).unwrap();
        let saved = simulation.save().unwrap();
        simulation = Simulation::restore(&saved, &Endpoints::default()).unwrap();
    }
    simulation.run_until(end).unwrap();
    assert_eq!(simulation.digest(), whole);
}
