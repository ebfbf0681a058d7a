//! Policies: what the command writes of them, and RTL NICs whose registers they set.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use xoff::Program;
use xoff::run::checkpoint::{restore, save};
use xoff_network::plan::of_dcqcn;
use xoff_network::policy::{Measured, Policy, PolicyKind, PolicySetup};
use xoff_network::results::Summary;
use xoff_network::scenario::event::{Set, SetDcqcn};
use xoff_network::scenario::host::Dcqcn;
use xoff_network::scenario::switch::Ecn;
use xoff_network::scenario::{Action, Scenario};
use xoff_network::{Endpoints, Run, Simulation};
use xoff_sim::nic::{DcqcnChange, NicSettings};
use xoff_sim::protocol::dcqcn::Rate;
use xoff_sim::time::{ByteCount, Clock, Duration, LineRate, Time};
use xoff_sim::wire::MacAddr;

use crate::common::{run_with, said};

/// Two hosts write to a third, with `nic` NICs.
fn incast(nic: &str, rest: &str) -> String {
    format!(
        "
title = 'Two to one'
duration = '300 us'
sample = '20 us'
host.nic = '{nic}'
host.dcqcn = {{ alpha_timer = '20 us', rate_timer = '20 us', cnp_interval = '10 us' }}
hosts = [{{ name = 's', count = 2 }}, {{ name = 'r' }}]
switches = [{{ name = 't', ecn = {{}} }}]
links = [{{ ends = ['s', 't'] }}, {{ ends = ['r', 't'] }}]
flows = [{{ name = 'f', from = 's', to = 'r', message = '16 KiB' }}]
{rest}
"
    )
}

/// Sets parameters of DCQCN at all senders and marks of the switch, by what it has seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Drift(u64);

impl Policy for Drift {
    fn new(_: &PolicySetup<'_>) -> Result<Self, String> {
        Ok(Self(0))
    }

    fn step(&mut self, measured: &Measured) -> Vec<Action> {
        self.0 += measured.queue["t"].mean as u64;
        let dcqcn = SetDcqcn {
            host: Some("s".into()),
            g: Some(1.0 / (64 + self.0 % 64) as f64),
            rate_timer: Some(Duration::from_ns(10_000 + self.0 % 10_000)),
            stages: Some(2),
            ..SetDcqcn::default()
        };
        let set = Set {
            switch: "t".into(),
            xoff: None,
            ecn: Some(Ecn {
                kmax: Some(ByteCount::new(50_000 + self.0 % 50_000)),
                ..Ecn::default()
            }),
            lossless_never_floods: None,
        };
        vec![Action::Dcqcn(Box::new(dcqcn)), Action::Set(Box::new(set))]
    }
}

fn endpoints() -> Endpoints {
    xoff_cosim::endpoints().with_policy("drift", PolicyKind::of::<Drift>())
}

fn drifting() -> String {
    incast("rtl", "policy = { name = 'drift', every = '37 us' }")
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

/// The changes that a policy made to switches and RTL NICs are in a file, which any build of the command runs to the
/// same digest: with one thread and two, and with idle cycles evaluated.
#[test]
fn the_recorded_scenario_has_the_same_digest() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "drift.toml", &drifting());
    let out = folder.path().join("out");
    let json = |program: &Program, file: &str, more: &[&str]| -> Value {
        let words = ["run", file, "--json", "--out", out.to_str().unwrap()];
        let said = run_with(program, &[&words, more].concat(), None, false);
        said.outcome.unwrap();
        serde_json::from_str(&said.out).unwrap()
    };
    let own = Program::new(endpoints());
    let first = json(&own, &file, &[]);
    let policy = &first["policy"];
    assert_eq!(
        (&policy["name"], &policy["looks"]),
        (&"drift".into(), &8.into())
    );
    let changes = policy["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 16);
    assert_eq!(changes[15]["at"], "296 us");
    assert!(
        first["files"]
            .as_array()
            .unwrap()
            .contains(&"recorded.toml".into())
    );
    let recorded = out.join("drift/recorded.toml");
    let text = fs::read_to_string(&recorded).unwrap();
    let recorded = write(folder.path(), "recorded.toml", &text);
    for more in [&["--threads", "1"][..], &["--threads", "2"], &["--no-skip"]] {
        let again = json(&crate::program(), &recorded, more);
        assert_eq!(again["digest"], first["digest"], "{more:?}");
        assert_eq!(again["metrics"], first["metrics"], "{more:?}");
        assert_eq!(
            json(&own, &file, more)["digest"],
            first["digest"],
            "{more:?}"
        );
    }
    // It has its own folder, and what it was made of stays.
    assert!(out.join("drift-recorded/summary.json").exists());
    let without = incast("rtl", "");
    let without = write(folder.path(), "without.toml", &without);
    assert_ne!(json(&own, &without, &[])["digest"], first["digest"]);
}

/// A run with RTL NICs and a policy goes on from its state wherever it was saved.
#[test]
fn a_checkpoint_has_the_policy() {
    let scenario: Scenario = toml::from_str(&drifting()).unwrap();
    let scenario = scenario.checked().unwrap();
    let to = |mut run: Run, until: Time| {
        while run.now() < until {
            run.advance(until, |_| ()).unwrap();
        }
        run
    };
    let end = Time::ZERO + scenario.duration;
    let mut whole = to(Run::new(&scenario, &endpoints()).unwrap(), end);
    let whole = Summary::of(&mut whole, &scenario).unwrap();
    // At a look, whose changes have not happened yet, and between two.
    for us in [111, 130] {
        let half = to(
            Run::new(&scenario, &endpoints()).unwrap(),
            Time::from_us(us),
        );
        let saved = save(&half).unwrap();
        let mut half = to(restore(&saved, &endpoints()).unwrap(), end);
        assert_eq!(Summary::of(&mut half, &scenario).unwrap(), whole);
        let error = restore(&saved, &xoff_cosim::endpoints()).unwrap_err();
        assert!(error.contains("no policy of the name 'drift'"), "{error}");
    }
}

/// Registers of RTL NICs change while they run: without timers and byte counter rates fall and never rise, as in model
/// NICs.
#[test]
fn registers_of_dcqcn_are_set_while_the_nic_runs() {
    let still = "[[events]]\nat = '100 us'\ndo.dcqcn = { host = 's', rate_timer = '0', byte_counter = '0 B' }";
    let rates = |nic: &str, event: &str| {
        let scenario: Scenario = toml::from_str(&incast(nic, event)).unwrap();
        let mut simulation =
            Simulation::with(&scenario.checked().unwrap(), &xoff_cosim::endpoints()).unwrap();
        let mut rises = 0;
        let mut last = [f64::MAX; 2];
        for us in 102..300 {
            simulation.run_until(Time::from_us(us)).unwrap();
            let flows = simulation.flows().iter().zip(&mut last);
            for (flow, last) in flows {
                let station = simulation.network().node(flow.source);
                let (rate, _) = station.dcqcn(flow.source_qp()).unwrap();
                rises += u32::from(rate > *last);
                *last = rate;
            }
        }
        (rises, last)
    };
    for nic in ["model", "rtl"] {
        let (rises, last) = rates(nic, still);
        assert_eq!(rises, 0, "{nic}");
        assert!(last.iter().any(|rate| *rate < 30e9), "{nic}: {last:?}");
        assert!(rates(nic, "").0 > 4, "{nic}");
    }
}

/// The writes of a change are those with which a NIC that has the new values is configured, and no others.
#[test]
fn a_change_writes_the_registers_that_it_names() {
    let clock = Clock::new(Clock::PERIOD_40G, Duration::ZERO);
    let mut settings = NicSettings::new(MacAddr([2, 0, 0, 0, 0, 1]));
    settings.dcqcn = Some(of_dcqcn(&Dcqcn::default(), LineRate::G40, &clock));
    let change = DcqcnChange {
        g: Some(1_234),
        rate_ai: Some(Rate::mbps(77)),
        rate_hai: Some(Rate::mbps(777)),
        alpha_time: Some(Duration::from_us(11)),
        rate_time: Some(Duration::from_us(22)),
        byte_limit: Some(333_333),
        stages: Some(9),
        cnp_interval: Some(Duration::from_us(44)),
    };
    let before: BTreeSet<_> = settings.writes().into_iter().collect();
    change.of_nic(settings.dcqcn.as_mut().unwrap(), &clock);
    let after: BTreeSet<_> = settings.writes().into_iter().collect();
    let new: BTreeSet<_> = after.difference(&before).copied().collect();
    assert_eq!(new, change.writes(&clock).into_iter().collect());
    assert_eq!(new.len(), 8);
    assert_eq!(DcqcnChange::default().writes(&clock), []);
}

#[test]
fn the_terminal_and_the_report_say_what_a_policy_did() {
    let folder = tempfile::tempdir().unwrap();
    let policy =
        "policy = { name = 'ecn-tuner', every = '30 us', parameters = { target = '1 us' } }";
    let file = write(folder.path(), "own.toml", &incast("model", policy));
    let out = folder.path().join("out");
    let (said_, _) = said(&["run", &file, "--out", out.to_str().unwrap()], [], 0);
    assert!(
        said_.contains("  policy ecn-tuner: looked 9 times and made "),
        "{said_}"
    );
    let recorded = out.join("own/recorded.toml");
    let line = format!("xoff run {}", recorded.display());
    assert!(said_.contains(&line), "{said_}");
    let page = fs::read_to_string(out.join("own/report.html")).unwrap();
    for shown in [
        "<h2>Policy</h2>",
        "set t",
        "ecn.kmax = ",
        "ecn-tuner: settings of t",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    // The next run without a policy takes the file away.
    let plain = write(folder.path(), "own.toml", &incast("model", ""));
    said(&["run", &plain, "--out", out.to_str().unwrap()], [], 0);
    assert!(!recorded.exists());
}

/// A name that is not known is refused before anything is written, as is what the policy cannot work with.
#[test]
fn what_cannot_work_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let refused = |policy: &str| {
        let file = write(folder.path(), "own.toml", &incast("model", policy));
        let (_, err) = said(&["run", &file, "--out", out.to_str().unwrap()], [], 2);
        assert!(!out.exists());
        err
    };
    let unknown = refused("policy = { name = 'ecn-tuna', every = '30 us' }");
    let right = "policy.name: no policy of the name 'ecn-tuna': this program has ecn-tuner; docs/own-policy.md says how \
                 to add one; did you mean 'ecn-tuner'?";
    assert!(unknown.contains(right), "{unknown}");
    let long = refused("policy = { name = 'ecn-tuner', every = '1 ms' }");
    assert!(
        long.contains("policy.every: 1 ms: the run ends at 300 us"),
        "{long}"
    );
    let key = refused("policy = { name = 'ecn-tuner', every = '30 us', parameter = {} }");
    assert!(key.contains("did you mean 'parameters'?"), "{key}");
}
