//! Waves of a whole NIC, in both formats, against what the Rust side saw. `tools/waves.py` compares two readers.

use std::collections::BTreeMap;
use std::fmt::Debug;

use verilated::Settings;
use wellen::simple;
use xoff_rtl::nic::Out;

use crate::tested::traffic;

/// Cycles with traffic: reset, registers, packets in both directions.
const CYCLES: u64 = 1_500;
/// Outermost scope of the waves.
const SCOPE: &str = "nic";

/// The fields of a struct of pins, as bits: the first word of an array is the least significant one.
fn pins(fields: &impl Debug) -> BTreeMap<String, Vec<bool>> {
    let text = format!("{fields:?}");
    let (_, fields) = text.split_once('{').expect("a struct");
    let mut pins = BTreeMap::new();
    // A comma inside of an array is followed by a number.
    let mut name = "";
    for part in fields.trim_end_matches([' ', '}']).split(", ") {
        let value = match part.split_once(": ") {
            Some((field, value)) => {
                name = field.trim();
                value
            }
            None => part,
        };
        let wide = value.contains(['[', ']']) || pins.contains_key(name);
        let number: u64 = value.trim_matches(['[', ']']).parse().expect(part);
        let bits = (0..if wide { 32 } else { 64 }).map(|bit| number >> bit & 1 != 0);
        pins.entry(name.to_owned())
            .or_insert_with(Vec::new)
            .extend(bits);
    }
    pins
}

/// A value of a wave file, as bits, least significant first.
fn bits(value: &str) -> Vec<bool> {
    value.bytes().rev().map(|digit| digit == b'1').collect()
}

/// Bits as in a wave file, most significant first.
fn text(bits: &[bool]) -> String {
    let digit = |bit: &bool| if *bit { '1' } else { '0' };
    bits.iter().rev().map(digit).collect()
}

#[test]
#[cfg_attr(
    feature = "mutants",
    ignore = "netlists of mutants have no code for waves"
)]
fn every_pin_has_in_every_cycle_the_value_that_rust_saw() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["w.fst", "w.vcd"] {
        let path = folder.path().join(file);
        let mut model = xoff_rtl::Nic::new(&Settings::new(SCOPE)).unwrap();
        model.trace_open(&path).unwrap();
        let mut out = Out::default();
        let mut seen = Vec::new();
        for pins_in in traffic(CYCLES, &[]) {
            let start = model.time_ps();
            model.cycle(&pins_in, &mut out).unwrap();
            let mut all = pins(&pins_in);
            all.append(&mut pins(&out));
            seen.push((start, all));
        }
        model.trace_close().unwrap();

        let mut waves = simple::read(&path).unwrap();
        let hierarchy = waves.hierarchy();
        let mut compared = 0;
        let ports: Vec<_> = xoff_rtl::Nic::PORTS.iter().collect();
        let vars = ports.iter().map(|port| {
            let name = format!("{SCOPE}.{}", port.name);
            let named = |var: &&wellen::Var| var.full_name(hierarchy) == name;
            let var = hierarchy.iter_vars().find(named);
            var.unwrap_or_else(|| panic!("{file} has no {name}"))
                .signal_ref()
        });
        let vars: Vec<_> = vars.collect();
        waves.load_signals(&vars);
        let times = waves.time_table();
        for (port, var) in ports.iter().zip(&vars) {
            let signal = waves.get_signal(*var).unwrap();
            for (start, seen) in &seen {
                // The last change that is not later.
                let at = times.partition_point(|time| time <= start) - 1;
                let value = signal
                    .get_offset(at as u32)
                    .expect("a value from the start on");
                let value = signal.get_value_at(&value, value.elements - 1).to_string();
                let (mut shown, right) = (bits(&value), &seen[port.field]);
                assert_eq!(shown.len() as u32, port.bits, "{file}: {}", port.name);
                shown.resize(right.len(), false);
                assert!(
                    shown == *right,
                    "{file}: {} at {start} ps: {value}, Rust saw {}",
                    port.name,
                    text(right)
                );
                compared += 1;
            }
        }
        assert_eq!(compared, ports.len() * seen.len());
        assert!(seen.len() as u64 >= CYCLES && ports.len() > 60);
        // Nothing was compared that never changes.
        let busy = ["tx_data_o", "rx_data_i", "write_data_o", "now_i", "event_o"];
        for name in busy {
            let values: std::collections::BTreeSet<_> =
                seen.iter().map(|(_, pins)| &pins[name]).collect();
            assert!(values.len() > 5, "{name} has {} values", values.len());
        }
    }
}
