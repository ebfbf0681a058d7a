//! Constants of many words.

use verilated::Settings;
use verilated_tests::{WideReset, wide_reset};

/// IEEE 1800, 10.4: an assignment sets all bits of its variable, and no other one. Registers are random at first.
#[test]
fn a_wide_reset_value_sets_its_register_and_no_other() {
    let mut model = WideReset::new(&Settings::new("wide").seed(5)).unwrap();
    let mut out = wide_reset::Out::default();
    let mut bits = |reset: bool, write: bool| {
        let of_bit = |at_i| {
            let inputs = wide_reset::In {
                rst_i: reset.into(),
                write_i: write.into(),
                at_i,
                bit_i: 1,
            };
            model.cycle(&inputs, &mut out).unwrap();
            (out.below_o, out.wide_o, out.above_o)
        };
        (0..2_304).map(of_bit).collect::<Vec<_>>()
    };
    bits(false, true);
    // The outputs of a cycle are those before its edge.
    bits(true, false);
    for (at, bit) in bits(false, false).into_iter().enumerate() {
        assert_eq!(bit, (1, u8::from(at == 600), 1), "bit {at}");
    }
}
