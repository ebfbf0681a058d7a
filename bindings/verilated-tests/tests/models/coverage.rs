//! Coverage counts, in builds that have them.

use verilated::Settings;
use verilated_tests::{Counter, counter};

#[test]
fn counts_are_written_or_it_says_why_not() {
    let mut model = Counter::new(&Settings::new("c")).unwrap();
    model
        .cycle(
            &counter::In { rst_i: 0, en_i: 1 },
            &mut counter::Out::default(),
        )
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("coverage.dat");
    let result = model.coverage_write(&path);
    if cfg!(feature = "coverage") {
        result.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("# SystemC::Coverage") && text.contains("sv/counter.sv"),
            "{text}"
        );
        let error = model.restore(&[]).unwrap_err().to_string();
        assert!(
            error.starts_with("Counter was built for coverage"),
            "{error}"
        );
        // Writing them changes none.
        model.coverage_write(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    } else {
        let error = result.unwrap_err().to_string();
        assert_eq!(
            error,
            "Counter was not built for coverage: build with the feature `coverage`"
        );
        assert!(!path.exists());
    }
}

/// A bit toggles when it changes and changes back. A constant one does not, whatever seed its model has.
#[cfg(feature = "coverage")]
#[test]
fn a_constant_bit_does_not_toggle() {
    let folder = tempfile::tempdir().unwrap();
    let mut toggled = std::collections::BTreeMap::<String, u64>::new();
    for seed in 1..20 {
        let mut model = Counter::new(&Settings::new("c").seed(seed)).unwrap();
        let mut cycle = |rst_i| {
            let inputs = counter::In { rst_i, en_i: 1 };
            model.cycle(&inputs, &mut counter::Out::default())
        };
        cycle(1).unwrap();
        for _ in 0..6 {
            cycle(0).unwrap();
        }
        let path = folder.path().join("coverage.dat");
        model.coverage_write(&path).unwrap();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            if let Some((_, signal)) = line.split_once("\u{1}o\u{2}count_o[")
                && let Some((_, count)) = line.rsplit_once(' ')
            {
                let bit = signal.split(']').next().unwrap().to_owned();
                let count: u64 = count.parse().unwrap();
                *toggled.entry(bit).or_default() += count;
            }
        }
    }
    // 0 to 6: bit 0 changes six times, bit 1 three times, bit 2 once.
    let counts = ["0", "1", "2"].map(|bit| toggled[bit]);
    assert_eq!(counts, [3, 1, 0].map(|each| each * 19), "{toggled:?}");
    for bit in 3..8 {
        assert_eq!(toggled[&bit.to_string()], 0, "{toggled:?}");
    }
}
