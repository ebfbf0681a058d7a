//! The plain loop of the parser drives and samples what the Rust side does: otherwise their times are of different work.

use verilated::Settings;
use xoff_rtl::{PacketParser256, packet_parser256, plain};

const CYCLES: u64 = 3_000;

/// Pseudo-random bits.
fn mixed(at: u64) -> u64 {
    let bits = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^ (bits >> 27)
}

/// A beat of a frame of 96 bytes.
fn beat(cycle: u64) -> [u32; 8] {
    let mut data = std::array::from_fn(|word| mixed(cycle * 8 + word as u64) as u32);
    if cycle.is_multiple_of(4) {
        // IPv4, or a pause of classes. The first byte is the most significant one.
        let control = (cycle / 4).is_multiple_of(3);
        data[4] = if control { 0x8808_0101 } else { 0x0800_4500 };
    }
    data
}

#[test]
fn the_parser() {
    let stimulus: Vec<packet_parser256::In> = (0..CYCLES)
        .map(|cycle| packet_parser256::In {
            rst_i: u8::from(cycle < 2),
            rx_valid_i: u8::from(cycle > 3 && cycle % 4 < 3),
            rx_last_i: u8::from(cycle % 4 == 2),
            rx_bytes_i: 32,
            rx_data_i: beat(cycle),
        })
        .collect();
    let mut parser = PacketParser256::new(&Settings::new("parser")).unwrap();
    let mut out = packet_parser256::Out::default();
    let (mut digest, mut done) = (0u64, 0);
    for inputs in &stimulus {
        parser.cycle(inputs, &mut out).unwrap();
        let mut add = |value: u64| digest = digest.wrapping_mul(31).wrapping_add(value);
        if out.done_valid_o == 1 {
            add(out.result_o + u64::from(out.bth_o[0]));
            done += 1;
        }
        if out.payload_valid_o == 1 {
            add(u64::from(out.payload_data_o[7]));
        }
    }
    assert!(done > CYCLES / 5);
    assert_eq!(plain::parser_loop(&stimulus, CYCLES), digest);
}
