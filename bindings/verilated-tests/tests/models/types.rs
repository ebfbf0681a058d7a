//! Types of the source in Rust. `sample.sv` of verilated-build has one of each kind.

use verilated::{BadEnum, Packed, Settings};
use verilated_tests::sample::{self, DOUBLE, In, Out, WIDTH};
use verilated_tests::sample_pkg::{
    self, All, AllColour, AllNameless, Either, EitherParts, Kind, Signed,
};
use verilated_tests::unit::Unit;
use verilated_tests::{Counter12, Sample, counter, counter12};

fn all() -> All {
    All {
        first: Kind::One,
        second: Kind::Two,
        two: 3,
        aliased: Kind::Two,
        kinds: [Kind::Zero, Kind::One, Kind::Two, Kind::One],
        ascending: [1, 2, 0x7f],
        offset: -16,
        sign: Signed::Less,
        unit: Unit::UnitB,
        either: Either::of_parts(EitherParts {
            kind: Kind::Two,
            rest: 0x15,
        }),
        nameless: AllNameless { x: true, y: 5 },
        colour: AllColour::Green,
        words: [1, 2, 3, 4, 5, 6, 0xff],
        wide: 1 << 99 | 7,
        r#type: 9,
    }
}

/// Reads bits `low` to `low + bits - 1`, one by one.
fn bits(words: &[u32], low: u32, bits: u32) -> u128 {
    (low..low + bits).rev().fold(0, |value, at| {
        value << 1 | u128::from(words[(at / 32) as usize] >> (at % 32) & 1)
    })
}

#[test]
fn a_struct_goes_through_the_model_and_comes_back() {
    let mut inputs = In::default();
    inputs.set_all_i(&all());
    assert_eq!(inputs.all_i(), Ok(all()));
    let mut model = Sample::new(&Settings::new("dut")).unwrap();
    let mut out = Out::default();
    model.cycle(&inputs, &mut out).unwrap();
    model.eval(&inputs, &mut out).unwrap();
    assert_eq!(out.all_o(), Ok(all()));
}

#[test]
fn members_lie_where_systemverilog_puts_them() {
    assert_eq!(All::BITS, 425);
    let port: [u32; 14] = all().pack();
    // From the most significant member down: low bit, width and value, counted by hand from sample.sv.
    let members = [
        (423, 2, 1),                        // first
        (421, 2, 2),                        // second
        (419, 2, 3),                        // two
        (417, 2, 2),                        // aliased
        (409, 8, 0b01_10_01_00),            // kinds, [3] on top
        (388, 21, 1 << 14 | 2 << 7 | 0x7f), // ascending, [0] on top
        (383, 5, 0x10),                     // offset
        (351, 32, 0xffff_ffff),             // sign
        (319, 32, 1),                       // unit
        (311, 8, 0x95),                     // either
        (307, 4, 0xd),                      // nameless
        (304, 3, 1),                        // colour
        (104, 32, 1),                       // words, the lowest
        (296, 8, 0xff),                     // words, the highest
        (4, 100, 1 << 99 | 7),              // wide
        (0, 4, 9),                          // type
    ];
    for (low, width, value) in members {
        assert_eq!(bits(&port, low, width), value, "{width} bits from {low}");
    }
    assert_eq!(all().either.raw(), 0x95);
    assert_eq!(Either::of_raw(0x95), all().either);
}

#[test]
fn a_code_without_a_name_is_an_error_that_says_which() {
    let (mut inputs, mut out) = (In::default(), Out::default());
    let mut port: [u32; 14] = all().pack();
    port[13] |= 3 << (423 - 13 * 32);
    out.all_o = port;
    let error = out.all_o().unwrap_err();
    assert_eq!((error.name, error.code), ("sample_pkg::kind_e", 3));
    assert_eq!(
        error.to_string(),
        "3 is no value of the enum `sample_pkg::kind_e`"
    );
    let bad = BadEnum {
        name: "sample_pkg::signed_e",
        code: -2,
    };
    assert_eq!(Signed::unpack(&0xffff_fffeu32), Err(bad));
    // A testbench can still drive such a code on purpose.
    inputs.set_all_i(&all());
    All::FIRST.put(&mut inputs.all_i, 3);
    assert_eq!((inputs.all_i, All::FIRST.take(&port)), (port, 3));
    // The same in an array and through a union; the union itself can hold any bits.
    inputs.kinds_i[1] = 0b11_00;
    assert_eq!(inputs.kinds_i(0), Ok([Kind::Zero; 2]));
    assert_eq!(inputs.kinds_i(1).unwrap_err().code, 3);
    assert_eq!(Either::of_raw(0xc0).parts().unwrap_err().code, 3);
}

#[test]
#[should_panic(expected = "all_t.two: 0x4 has more than 2 bits")]
fn a_value_too_wide_panics_with_its_member() {
    In::default().set_all_i(&All { two: 4, ..all() });
}

#[test]
#[should_panic(expected = "all_t.offset: -17 has more than 5 bits")]
fn a_signed_value_too_wide_panics_too() {
    In::default().set_all_i(&All {
        offset: -17,
        ..all()
    });
}

#[test]
fn ports_of_arrays_and_enums() {
    let mut inputs = In::default();
    inputs.set_kinds_i(2, &[Kind::One, Kind::Two]);
    assert_eq!(inputs.kinds_i, [0, 0, 0b10_01]);
    inputs.set_kind_i(Kind::Two);
    assert_eq!((inputs.kind_i, inputs.kind_i()), (2, Ok(Kind::Two)));
    inputs.set_nibbles_i(&[3, 0xa]);
    assert_eq!((inputs.nibbles_i, inputs.nibbles_i()), (0xa3, [3, 0xa]));
    let plain: u16 = inputs.plain_i;
    assert_eq!(plain, 0);
}

#[test]
fn constants_and_parameters_have_their_values() {
    assert_eq!((WIDTH, DOUBLE), (7, 14));
    assert_eq!((counter::WIDTH, counter12::WIDTH), (8, 12));
    assert_eq!((sample::WIDTH, Counter12::NAME), (7, "Counter12"));
    assert_eq!(sample_pkg::KIND, Kind::One);
    assert_eq!((sample_pkg::NEGATIVE, sample_pkg::YES), (-5, true));
    assert_eq!(sample_pkg::WIDE, 1 << 96 | 2);
    assert_eq!(sample_pkg::PAIR, [1, 2]);
}

#[test]
fn defaults_are_zero_or_the_first_name() {
    let zero: [u32; 14] = All {
        sign: Signed::More,
        ..All::default()
    }
    .pack();
    assert_eq!(bits(&zero, 0, 64) + bits(&zero, 351, 32), 5);
    // `signed_e` has no name for 0.
    assert_eq!(Signed::default(), Signed::Less);
    assert_eq!(Kind::ALL, [Kind::Zero, Kind::One, Kind::Two]);
}
