//! Messages from host to host.

use super::*;

#[test]
fn one_flow_fills_the_wire() {
    let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), |_| ()));
    let config = flow(0, WorkKind::SEND, 1 << 20, None);
    let [a, b] = &mut nics;
    connect((a, 1), (b, 2), 0, &config, |_| ());
    let mut network = pair(nics, [&[], &[]]);
    network.run_until(Time::from_ps(100_000_000), |_| ());
    let before = network.node(B).host().receivers()[0].fresh_bytes();
    network.run_until(Time::from_ps(1_100_000_000), |_| ());
    let bytes = network.node(B).host().receivers()[0].fresh_bytes() - before;
    good(network.node(A));
    good(network.node(B));
    // 1 ms: a packet of 1,024 bytes takes 1,106 bytes of time.
    let limit = 1_000_000_000.0 / (1106.0 * 200.0) * 1024.0;
    let share = bytes as f64 / limit;
    println!("{share:.4} of the wire's limit");
    assert!(share > 0.99, "{share}");
    assert_eq!(network.node(A).counters().get(reg::RESENT_OUT), 0);
}
