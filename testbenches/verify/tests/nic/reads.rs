//! DMA reads of payload.

use xoff_rtl::nic::{In, Out};
use xoff_sim::nic_registers as reg;

use crate::fixture::{judged, traffic};

/// Cycles with traffic.
const CYCLES: u64 = 3_000;
/// Bytes of a unit, and beats.
const UNIT: u32 = 256;
const UNIT_BEATS: u32 = 8;

/// Runs traffic with this `read_ahead`, and returns the most units that were to come when a read was first offered, and
/// the most of all.
fn most_units(read_ahead: u32) -> [u32; 2] {
    let stimulus = traffic(CYCLES, &[(reg::READ_AHEAD, read_ahead)]);
    let nic = judged(|| xoff_rtl::Nic::new(&verilated::Settings::new("nic")));
    let mut nic = nic.unwrap();
    let mut out = Out::default();
    let (mut ahead, mut beats, mut offered) = (0, 0, false);
    let mut most = [0; 2];
    for (cycle, pins) in stimulus.iter().enumerate() {
        nic.cycle(pins, &mut out).unwrap();
        let In {
            read_ready_i,
            data_valid_i,
            data_last_i,
            ..
        } = *pins;
        let valid = out.read_valid_o != 0;
        assert!(
            valid || !offered,
            "cycle {cycle}: what was offered is not any more"
        );
        if valid && !offered {
            most[0] = most[0].max(ahead);
        }
        offered = valid && read_ready_i == 0;
        if valid && read_ready_i != 0 {
            ahead += u32::from(out.read_bytes_o).div_ceil(UNIT);
        }
        if data_valid_i != 0 {
            beats += 1;
            if data_last_i != 0 || beats == UNIT_BEATS {
                (ahead, beats) = (ahead - 1, 0);
            }
        }
        most[1] = most[1].max(ahead);
    }
    most
}

#[test]
fn no_read_is_offered_while_read_ahead_units_are_to_come() {
    for read_ahead in [1, 5, 17] {
        let [when_offered, most] = most_units(read_ahead);
        // A packet of 1,024 bytes has four units.
        assert!(
            when_offered < read_ahead,
            "{when_offered} with {read_ahead}"
        );
        assert!(
            (read_ahead..read_ahead + 4).contains(&most),
            "{most} with {read_ahead}"
        );
    }
    // Without a bound, as many as packets in slots have.
    let [_, most] = most_units(0);
    assert!(most > 20, "{most} without a bound");
}
