//! A congestion control of one's own in model NICs.

use serde::{Deserialize, Serialize};
use xoff_sim::nic::congestion::{
    Acknowledged, Congestion, CongestionKind, CongestionSetup, Pace, Rate,
};
use xoff_sim::time::{ByteCount, Cycles, Duration, Length, Time};

use super::*;
use crate::Simulation;
use crate::scenario::{FlowSettings, Scenario};
use crate::testing::{ran_with, to_the_end};

/// A window that shrinks with each ACK, down to one packet; and counts what it is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Shrinking {
    window: u32,
    rate: u32,
    acknowledged: u32,
    shortest: u64,
    sent: u64,
    /// When the window shrinks to one packet.
    shrink_at: Option<u64>,
}

impl Congestion for Shrinking {
    const PARAMETERS: &'static [&'static str] = &["window", "mbps", "shrink_us"];

    fn open(setup: &CongestionSetup<'_>) -> Result<Self, String> {
        let window = setup.parameter("window", 40.0);
        let shrink = setup.parameters.get("shrink_us");
        let cycles = |us: &f64| (us * 1e6) as u64 / setup.clock.period.as_ps();
        match window >= 1.0 {
            true => Ok(Self {
                window: window as u32,
                rate: setup.parameter("mbps", 0.0) as u32,
                acknowledged: 0,
                shortest: u64::MAX,
                sent: 0,
                shrink_at: shrink.map(cycles),
            }),
            false => Err(format!("window = {window}: 1 or more")),
        }
    }

    fn pace(&self) -> Pace {
        Pace {
            rate: (self.rate > 0).then(|| Rate::mbps(self.rate)),
            window: Some(self.window),
        }
    }

    fn sent(&mut self, bytes: u16, _now: Cycles) {
        self.sent += u64::from(bytes);
    }

    fn acknowledged(&mut self, ack: &Acknowledged, _now: Cycles) {
        self.acknowledged += ack.packets;
        self.window = self.window.saturating_sub(10).max(1);
    }

    fn deadline(&self) -> Option<Cycles> {
        self.shrink_at.map(Cycles)
    }

    fn timer(&mut self, _now: Cycles) {
        self.window = 1;
        self.shrink_at = None;
    }

    fn round_trip(&mut self, time: Cycles, _now: Cycles) {
        self.shortest = self.shortest.min(time.0);
    }
}

fn scenario(parameters: &[(&str, f64)]) -> Scenario {
    let mut flow = FlowSettings::new("f", "a", "b").messages(4, ByteCount::new(64 << 10));
    flow.ack_every = 0;
    let mut scenario = Scenario::new("pair", Duration::from_us(2_000))
        .host("a")
        .host("b")
        .link("a", "b", Length::from_m(2))
        .flow(flow);
    scenario.host.nic = NicKind::Model;
    scenario.host.congestion = Some("shrinking".into());
    let own = |(name, value): &(&str, f64)| ((*name).into(), *value);
    scenario.host.congestion_parameters = parameters.iter().map(own).collect();
    scenario
}

fn endpoints() -> Endpoints {
    Endpoints::default().with_congestion("shrinking", CongestionKind::of::<Shrinking>())
}

fn ran(scenario: &Scenario) -> Simulation {
    ran_with(scenario, &endpoints())
}

/// When the last message was complete, in microseconds.
fn done(simulation: &Simulation) -> f64 {
    assert!(simulation.finished());
    let sender = simulation.sender(&simulation.flows()[0]);
    assert_eq!((sender.delivered().len(), sender.failed()), (4, None));
    sender.delivered()[3].at.as_ps() as f64 / 1e6
}

/// Only the last packet of a message asks for an ACK, and the packet that fills the window: a window that shrinks below
/// what is under way must not leave the QP waiting for an ACK that nobody asked for.
#[test]
fn a_window_that_shrinks_leaves_nobody_waiting() {
    // While the first forty packets go, of which none asks.
    done(&ran(&scenario(&[("shrink_us", 5.0)])));
    let slow = done(&ran(&scenario(&[])));
    // Of 256 packets all but the first hundred wait for the ACK of the one before.
    let mut free = scenario(&[]);
    free.host.congestion = Some("dcqcn".into());
    let fast = done(&ran(&free));
    assert!(fast * 3.0 < slow, "{fast}, {slow}");
}

#[test]
fn a_rate_is_the_limiters() {
    // 256 packets of 1,106 bytes at 2 Gb/s are 1,132.5 us.
    let at = done(&ran(&scenario(&[("mbps", 2_000.0), ("window", 1e6)])));
    assert!((1_100.0..1_180.0).contains(&at), "{at}");
}

#[test]
fn it_goes_on_from_a_checkpoint() {
    let scenario = scenario(&[("mbps", 10_000.0)]);
    let whole = ran(&scenario);
    let mut first = Simulation::with(&scenario.checked().unwrap(), &endpoints()).unwrap();
    first.run_until(Time::from_us(60)).unwrap();
    let saved = first.save().unwrap();
    let mut second = Simulation::restore(&saved, &endpoints()).unwrap();
    to_the_end(&mut second, &scenario);
    assert_eq!(second.digest(), whole.digest());
    assert_eq!(done(&second), done(&whole));
    let error = Simulation::restore(&saved, &Endpoints::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "hosts.a.nic: the NIC 'model' cannot go on from saved state: it has no congestion control 'shrinking' here"
    );
}

#[test]
fn what_does_not_fit_is_named() {
    let said = |scenario: &Scenario, endpoints: &Endpoints| {
        let error = Simulation::with(&scenario.checked().unwrap(), endpoints)
            .unwrap_err()
            .to_string();
        let checked = Simulation::check(&scenario.checked().unwrap(), endpoints).unwrap_err();
        assert_eq!(checked.to_string(), error);
        error
    };
    assert_eq!(
        said(&scenario(&[]), &Endpoints::default()),
        "host.congestion: no congestion control of the name 'shrinking': this program has dcqcn; docs/own-congestion.md \
         says how to add one"
    );
    assert_eq!(
        said(&scenario(&[("gain", 1.0)]), &endpoints()),
        "host.congestion_parameters: gain: it has window, mbps, shrink_us"
    );
    assert_eq!(
        said(&scenario(&[("window", 0.5)]), &endpoints()),
        "host.congestion_parameters: window = 0.5: 1 or more"
    );
    let mut plain = scenario(&[("window", 5.0)]);
    plain.host.congestion = None;
    assert_eq!(
        said(&plain, &endpoints()),
        "host.congestion_parameters: window: goes with congestion = \"NAME\"; DCQCN's are in host.dcqcn"
    );
    let mut own = scenario(&[]);
    own.hosts[1].nic = Some(NicKind::Custom("mine".into()));
    assert_eq!(
        said(&own, &endpoints().with("mine", model())),
        "host.congestion: shrinking: the NIC 'mine' of b has dcqcn only; \"model\" NICs have any"
    );
}
