//! Swift beside DCQCN, and in checkpoints.

use own_congestion::Swift;
use xoff_network::metrics::{Metric, Quantity, Recorder};
use xoff_network::scenario::Scenario;
use xoff_network::{Endpoints, Simulation};
use xoff_sim::nic::congestion::CongestionKind;
use xoff_sim::time::Time;

fn scenario(us: u64) -> Scenario {
    let text = include_str!("../swift.toml");
    let mut scenario: Scenario = toml::from_str(text).unwrap();
    scenario.duration = xoff_sim::time::Duration::from_us(us);
    scenario.measure_from = xoff_sim::time::Duration::from_us(us / 4);
    scenario
}

fn endpoints() -> Endpoints {
    Endpoints::default().with_congestion("swift", CongestionKind::of::<Swift>())
}

#[test]
fn a_checkpoint_has_its_state() {
    let scenario = scenario(800);
    let end = Time::ZERO + scenario.duration;
    let mut whole = Simulation::with(&scenario.checked().unwrap(), &endpoints()).unwrap();
    whole.run_until(end).unwrap();
    let mut first = Simulation::with(&scenario.checked().unwrap(), &endpoints()).unwrap();
    first.run_until(Time::from_us(300)).unwrap();
    let saved = first.save().unwrap();
    let mut second = Simulation::restore(&saved, &endpoints()).unwrap();
    second.run_until(end).unwrap();
    assert_eq!(second.digest(), whole.digest());
    let error = Simulation::restore(&saved, &Endpoints::default()).unwrap_err();
    assert!(error.to_string().contains("no congestion control 'swift'"), "{error}");
}

/// Without any control the queue is as long as the windows of sixteen senders allow. Swift begins with the same window:
/// what it lets out first, 4.4 MB, has left after 0.9 ms.
#[test]
fn it_is_swift_that_keeps_the_queue_short() {
    let peak = |congestion: Option<&str>| {
        let mut scenario = scenario(3_000);
        scenario.host.congestion = congestion.map(Into::into);
        scenario.host.congestion_parameters.clear();
        let mut simulation = Simulation::with(&scenario.checked().unwrap(), &endpoints()).unwrap();
        let mut recorder = Recorder::new(&simulation);
        let mut ends = 0.0_f64;
        for us in (10..=3_000).step_by(10) {
            simulation.run_until(Time::from_us(us)).unwrap();
            recorder.sample(&mut simulation);
            if us > 2_000 {
                let queue = recorder.samples().queue.iter().filter_map(|node| node.last());
                ends = queue.fold(ends, |most, bytes| most.max(bytes.greatest));
            }
        }
        let metrics = recorder.metrics(&simulation);
        (ends, metrics[&Metric::total(Quantity::GoodputGbps)])
    };
    let (swift, goodput) = peak(Some("swift"));
    let (none, _) = peak(None);
    assert!(swift * 3.0 < none, "{swift}, {none}");
    assert!(goodput > 33.0, "{goodput}");
}
