//! An example bench: two hosts and a switch, work, time, a look into the RTL, assertions.

use xoff_network::prelude::*;
use xoff_sim::nic_registers as reg;

/// Runs the bench.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenario = Scenario::new("my first bench", Duration::from_us(100))
        .host("a")
        .host("b")
        .switch("s")
        .link("a", "s", Length::from_m(2))
        .link("b", "s", Length::from_m(300))
        .flow(FlowSettings::new("hello", "a", "b").messages(10, ByteCount::new(10_000)));
    let mut simulation = xoff_cosim::simulation(&scenario.checked()?)?;
    simulation.run_until(Time::from_us(100))?;
    assert!(simulation.finished());
    let host = simulation.station("a").endpoint().expect("a is a host");
    assert_eq!(host.counters().get(reg::REQUESTS_OUT), 100);
    let nic = host.clocked().expect("the default NIC is RTL");
    println!("10 messages, {} cycles", nic.cycles_evaluated());
    Ok(())
}
