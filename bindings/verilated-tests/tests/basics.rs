//! First things: a model counts.
use verilated::Settings;
use verilated_tests::{Counter, counter};

#[test]
fn counts() {
    let mut model = Counter::new(&Settings::new("c0")).unwrap();
    let mut out = counter::Out::default();
    for _ in 0..5 {
        model
            .cycle(&counter::In { rst_i: 0, en_i: 1 }, &mut out)
            .unwrap();
    }
    assert_eq!((out.count_o, out.next_o), (4, 5));
    assert_eq!(model.time_ps(), 5000);
}
