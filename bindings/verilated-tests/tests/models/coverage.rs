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
    } else {
        let error = result.unwrap_err().to_string();
        assert_eq!(
            error,
            "Counter was not built for coverage: build with the feature `coverage`"
        );
        assert!(!path.exists());
    }
}
