//! A measurement of speed, printed but not judged: `cargo test -p xoff-sim --lib throughput -- --nocapture`.

use std::time::Instant;

use super::*;
use crate::testing::roce_frame;

#[test]
fn throughput_of_a_four_port_switch() {
    let sender = |host: u8| {
        let to = 1 + host % 4;
        (0..5_000).fold(Source::new(LineRate::G40, Duration::ZERO), |source, psn| {
            let frame = roce_frame(host, to).dscp(24).psn(psn).bytes(1086);
            source.then(Time::ZERO, 3, frame)
        })
    };
    let sources = (1..=4).map(sender).collect();
    let mut network = star(star_config(4, LineRate::G40), sources, &short_link());
    let start = Instant::now();
    network.run_until(us(2_000), |_| ());
    let seconds = start.elapsed().as_secs_f64();
    let frames: u64 = (0..4)
        .map(|port| switch(&network).counters(PortId(port)).frames_sent())
        .sum();
    assert_eq!(frames, 20_000);
    println!(
        "4-port switch at 40 Gb/s: {:.0} frames a second, {} threads",
        frames as f64 / seconds,
        rayon::current_num_threads()
    );
}
