//! Waves of a whole NIC, in both formats, against what the Rust side saw. `tools/waves.py` compares two readers.

use std::collections::BTreeMap;
use std::fmt::Debug;

use verilated::Settings;
use wellen::simple;
use xoff_rtl::nic::Out;

use crate::fixture::traffic;

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
            let mut vars = hierarchy.all_vars().map(|var| &hierarchy[var]);
            let var = vars.find(named);
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

/// The last value of each signal up to a time, and its changes from then on, by name.
type Signals = BTreeMap<String, (Option<String>, Vec<(u64, String)>)>;

fn signals_from(path: &std::path::Path, from: u64) -> Signals {
    let mut waves = simple::read(path).unwrap();
    let hierarchy = waves.hierarchy();
    let vars: Vec<_> = (hierarchy.all_vars())
        .map(|var| &hierarchy[var])
        .map(|var| (var.full_name(hierarchy), var.signal_ref()))
        .collect();
    let all: Vec<_> = vars.iter().map(|(_, signal)| *signal).collect();
    waves.load_signals(&all);
    let times = waves.time_table().to_vec();
    let read = |signal| {
        let (mut first, mut changes) = (None, Vec::new());
        for (at, value) in waves.get_signal(signal).unwrap().iter_changes() {
            match times[at as usize] {
                time if time <= from => first = Some(value.to_string()),
                time => changes.push((time, value.to_string())),
            }
        }
        (first, changes)
    };
    (vars.into_iter())
        .map(|(name, signal)| (name, read(signal)))
        .collect()
}

/// The NIC has its waves in a second model, which takes over the state when a file is opened. Every signal of a window
/// has the values that it has in waves of the whole run.
#[test]
#[cfg_attr(
    feature = "mutants",
    ignore = "netlists of mutants have no code for waves"
)]
fn every_signal_of_a_window_has_the_values_of_waves_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, window] = ["whole.fst", "window.fst"].map(|name| folder.path().join(name));
    let begin = CYCLES * 2 / 3;
    let mut states = Vec::new();
    for (path, from) in [(&whole, 0), (&window, begin)] {
        let mut model = xoff_rtl::Nic::new(&Settings::new(SCOPE).seed(3)).unwrap();
        let mut out = Out::default();
        for (cycle, pins_in) in (0..).zip(traffic(CYCLES, &[])) {
            if cycle == from {
                model.trace_open(path).unwrap();
            }
            model.cycle(&pins_in, &mut out).unwrap();
        }
        model.trace_close().unwrap();
        states.push(model.state().unwrap());
    }
    assert!(states[0] == states[1], "the state is the same");
    let from = begin * Settings::new(SCOPE).period_ps;
    let [whole, window] = [whole, window].map(|path| signals_from(&path, from));
    assert!(whole.len() > 1_000 && whole.keys().eq(window.keys()));
    // A loop variable of a process has no value before the process runs.
    let differs: Vec<_> = (whole.iter())
        .filter(|(name, _)| !name.contains("unnamedblk"))
        .filter(|(name, values)| window[*name] != **values)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(differs, [""; 0], "{} of {}", differs.len(), whole.len());
}
