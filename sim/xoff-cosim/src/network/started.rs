//! How flows start, and start again behind a link that was down, with NICs of both kinds.

use xoff_sim::nic_registers as reg;
use xoff_sim::time::Time;

use xoff_network::Simulation;
use xoff_network::scenario::Scenario;

fn us(time: u64) -> Time {
    Time::from_us(time)
}

fn simulation(text: &str, nic: &str) -> Simulation {
    let text = format!("{text}\n[host]\nnic = \"{nic}\"\n");
    let scenario: Scenario = toml::from_str(&text).unwrap();
    crate::simulation(&scenario.checked().unwrap()).unwrap()
}

/// IBTA volume 1, 9.7.5: a message that finds no receive buffer is answered with an RNR NAK. Software posts buffers
/// before its peer may send (10.3.1: buffers may be posted from state INIT on), so nothing runs out in a run in which
/// nothing is wrong, without a single retry.
#[test]
fn flows_start_when_their_receive_buffers_are_posted() {
    const TEXT: &str = r#"
        title = "Many QPs whose messages need receive buffers"
        duration = "200 us"
        [[hosts]]
        name = "a"
        [[hosts]]
        name = "b"
        [[links]]
        ends = ["a", "b"]
        [[flows]]
        name = "f"
        from = "a"
        to = "b"
        operation = "send"
        message = "64 B"
        qps = 32
        count = 100
        rnr_retries = 0
        [[flows]]
        name = "back"
        from = "b"
        to = "a"
        message = "64 KiB"
        qps = 4
    "#;
    for nic in ["rtl", "model"] {
        let mut simulation = simulation(TEXT, nic);
        simulation.run_until(us(200)).unwrap();
        for host in ["a", "b"] {
            let counters = simulation.station(host).nic_counters().unwrap();
            let missing = [reg::NO_BUFFER, reg::RNR_NAKS_OUT, reg::EXHAUSTED];
            assert_eq!(
                missing.map(|register| counters.get(register)),
                [0; 3],
                "{nic}"
            );
        }
        let delivered = |name: &str| -> Vec<usize> {
            (simulation.flows().iter())
                .filter(|flow| flow.name.starts_with(name))
                .map(|flow| simulation.sender(flow).delivered().len())
                .collect()
        };
        assert_eq!(delivered("f"), [100; 32], "{nic}");
        assert!(delivered("back").iter().all(|count| *count > 0), "{nic}");
    }
}

/// IEEE 802.3 annex 31B, 802.1Q clause 36: a pause is a state between the two ends of a link, which begins anew when the
/// link comes up.
#[test]
fn a_link_that_comes_back_is_not_paused() {
    const TEXT: &str = r#"
        title = "A link goes down while its host is paused"
        duration = "1500 us"
        [[hosts]]
        name = "a"
        [[hosts]]
        name = "b"
        [[switches]]
        name = "s"
        xoff = { static = "24.47 KB" }
        [[links]]
        ends = ["a", "s"]
        [[links]]
        ends = ["b", "s"]
        [[events]]
        at = "50 us"
        do.stall = { host = "b", for = "100 us" }
        [[events]]
        at = "120 us"
        do.link_down = ["a", "s"]
        [[events]]
        at = "200 us"
        do.link_up = ["a", "s"]
        [[flows]]
        name = "f"
        from = "a"
        to = "b"
        message = "64 KiB"
        timeout = 4
    "#;
    for nic in ["rtl", "model"] {
        let mut simulation = simulation(TEXT, nic);
        simulation.run_until(us(300)).unwrap();
        let spans = simulation.station("a").pause_spans(3, us(300));
        let (from, until) = *spans.last().unwrap();
        assert!(from < us(120), "{nic}: {spans:?}");
        assert!(until >= us(120) && until < us(121), "{nic}: {spans:?}");
        // The ACK timer of 65.5 µs has run out by then, so the flow goes on.
        let flow = &simulation.flows()[0];
        let late = |at: Time| at > us(210);
        let after = simulation.sender(flow).delivered().iter();
        let after = after.filter(|delivered| late(delivered.at)).count();
        assert!(
            after > 2,
            "{nic}: {after} messages behind the link's return"
        );
    }
}
