//! Values of every width and shape of port, written and read back.

use proptest::prelude::*;
use verilated::{Direction, Settings};
use verilated_tests::cells_pkg::{Cell, Colour, Line};
use verilated_tests::kinds_pkg::{Kind, Meta};
use verilated_tests::wide_ports::{In, Out};
use verilated_tests::{
    Adder, ArrayPorts, Counter, Counter12, Match, RescheduledCounter, SampledCounter, WidePorts,
    adder, array_ports, counter, counter12, r#match, rescheduled_counter, sampled_counter,
};

/// Clocks `inputs` in and returns the outputs.
fn through(inputs: &In) -> Out {
    let mut model = WidePorts::new(&Settings::new("wide").seed(1)).unwrap();
    let mut out = Out::default();
    model.cycle(inputs, &mut out).unwrap();
    model.eval(&In::default(), &mut out).unwrap();
    out
}

/// Clears the bits from bit `bits` up.
fn cut<const N: usize>(words: [u32; N], bits: u32) -> [u32; N] {
    let mut words = words;
    if !bits.is_multiple_of(32) {
        words[N - 1] &= (1 << (bits % 32)) - 1;
    }
    words
}

/// Ports that are integers, and ports that are arrays of words.
macro_rules! round_trips {
    (integers: $($bits:literal $input:ident $output:ident $kind:ty;)* words: $($wide_bits:literal $wide_input:ident $wide_output:ident $words:literal;)*) => {
        proptest! {
            #[test]
            fn integers($($input: $kind,)*) {
                let out = through(&In { $($input,)* ..In::default() });
                $(prop_assert_eq!(out.$output, $input & (<$kind>::MAX >> (<$kind>::BITS - $bits)), "{} bits", $bits);)*
            }
        }
        proptest! {
            #[test]
            fn words($($wide_input in proptest::array::uniform::<_, $words>(any::<u32>()),)*) {
                let out = through(&In { $($wide_input,)* ..In::default() });
                $(prop_assert_eq!(out.$wide_output, cut($wide_input, $wide_bits), "{} bits", $wide_bits);)*
            }
        }
    };
}

round_trips! {
    integers:
    1 p1_i p1_o u8; 2 p2_i p2_o u8; 7 p7_i p7_o u8; 8 p8_i p8_o u8;
    9 p9_i p9_o u16; 15 p15_i p15_o u16; 16 p16_i p16_o u16;
    17 p17_i p17_o u32; 31 p31_i p31_o u32; 32 p32_i p32_o u32;
    33 p33_i p33_o u64; 63 p63_i p63_o u64; 64 p64_i p64_o u64;
    words:
    65 p65_i p65_o 3; 95 p95_i p95_o 3; 96 p96_i p96_o 3; 97 p97_i p97_o 4; 128 p128_i p128_o 4; 145 p145_i p145_o 5;
    511 p511_i p511_o 16; 512 p512_i p512_o 16; 513 p513_i p513_o 17; 1000 p1000_i p1000_o 32;
}

#[test]
fn widths_beyond_what_std_gives_a_default() {
    let mut inputs = In::default();
    for (at, word) in inputs.p2049_i.iter_mut().enumerate() {
        *word = 0x0101_0101 * (at as u32 + 1);
    }
    inputs.p1024_i = [0xa5a5_0001; 32];
    let out = through(&inputs);
    assert_eq!(out.p2049_o, cut(inputs.p2049_i, 2049));
    assert_eq!(out.p1024_o, inputs.p1024_i);
}

#[test]
fn odd_shapes_and_names() {
    let mut inputs = In {
        list_i: [0xffff, 2, 0x155],
        high_i: 0x3a5,
        r#type: 1,
        bool: 1,
        kind_i: 2,
        ..In::default()
    };
    for (row, words) in inputs.grid_i.iter_mut().flatten().enumerate() {
        *words = [row as u32, 7, 8, 0xffff_fff5];
    }
    let out = through(&inputs);
    assert_eq!(out.list_o, [0x1ff, 2, 0x155]);
    assert_eq!(
        (out.high_o, out.r#dyn, out.a_b, out.kind_o),
        (0x3a5, 1, 1, 2)
    );
    for (row, words) in out.grid_o.iter().flatten().enumerate() {
        assert_eq!(*words, [row as u32, 7, 8, 5]);
    }
}

#[test]
fn packed_structs_first_field_on_top() {
    // kinds_pkg::meta_t: kind 2, psn 24, addr 128, last 1.
    let meta = Meta {
        kind: Kind::Two,
        psn: 0x123456,
        addr: 1 << 127 | 5,
        last: true,
    };
    let mut inputs = In::default();
    inputs.set_meta_i(&meta);
    assert_eq!(inputs.meta_i[4], 2 << 25 | 0x123456 << 1 | 1);
    assert_eq!(inputs.meta_i[..4], [11, 0, 0, 0]);
    assert_eq!(through(&inputs).meta_o(), Ok(meta));
}

#[test]
fn arrays_of_structs() {
    let cell = |data| Cell {
        data,
        colour: Colour::ALL[usize::from(data) % 3],
    };
    let mut inputs = array_ports::In::default();
    for at in 0..4 {
        inputs.set_cells_i(at, &cell(0xa0 + at as u8));
    }
    // Colour 2 of the element whose number is 0xa1: 161 = 3 · 53 + 2.
    assert_eq!(inputs.cells_i[1], 0xa1 << 2 | 2);
    inputs.set_pair_i(&[cell(7), cell(8)]);
    let line = Line {
        pair: [cell(1), cell(2)],
        valid: true,
    };
    inputs.set_line_i(&line);
    let mut model = ArrayPorts::new(&Settings::new("arrays").seed(1)).unwrap();
    let mut out = array_ports::Out::default();
    for _ in 0..2 {
        model.cycle(&inputs, &mut out).unwrap();
    }
    model.eval(&inputs, &mut out).unwrap();
    for at in 0..4 {
        assert_eq!(out.cells_o(at), Ok(cell(0xa0 + at as u8)));
    }
    assert_eq!(out.pair_o(), Ok([cell(7), cell(8)]));
    assert_eq!(out.line_o(), Ok(line));
    let port = |name| (ArrayPorts::PORTS.iter()).find(|port| port.name == name);
    let port = |name| port(name).map(|port| (port.direction, port.bits, port.dims));
    assert_eq!(port("cells_i"), Some((Direction::In, 10, &[4][..])));
    assert_eq!(port("cells_o"), Some((Direction::Out, 10, &[4][..])));
    assert_eq!(port("pair_o"), Some((Direction::Out, 20, &[][..])));
}

#[test]
fn a_module_may_have_the_name_of_a_keyword() {
    let mut model = Match::new(&Settings::new("m")).unwrap();
    let mut out = r#match::Out::default();
    model.cycle(&r#match::In { d_i: 1 }, &mut out).unwrap();
    model.eval(&r#match::In { d_i: 0 }, &mut out).unwrap();
    assert_eq!((Match::NAME, out.q_o), ("Match", 1));
}

#[test]
fn the_port_table_tells_names_widths_and_shapes() {
    let port = |name| {
        WidePorts::PORTS
            .iter()
            .find(|port| port.name == name)
            .unwrap()
    };
    assert_eq!(
        (port("p1000_o").bits, port("p1000_o").direction),
        (1000, Direction::Out)
    );
    assert_eq!(
        (port("grid_i").bits, port("grid_i").dims),
        (100, &[2, 4][..])
    );
    assert_eq!(port("type").field, "r#type");
    assert_eq!(port("a.b").field, "a_b");
    assert!(
        WidePorts::PORTS.iter().all(|port| port.name != "clk_i"),
        "the clock is not data"
    );
    assert_eq!((Counter::NAME, Counter::PORTS.len()), ("Counter", 4));
}

#[test]
fn outputs_are_those_before_the_edge() {
    let mut model = Counter::new(&Settings::new("c0")).unwrap();
    let mut out = counter::Out::default();
    for expected in 0..5 {
        model
            .cycle(&counter::In { rst_i: 0, en_i: 1 }, &mut out)
            .unwrap();
        assert_eq!((out.count_o, out.next_o), (expected, expected + 1));
    }
    // And eval shows the outputs after the edge, without a clock.
    for en_i in [0, 1, 0] {
        model
            .eval(&counter::In { rst_i: 0, en_i }, &mut out)
            .unwrap();
        assert_eq!((out.count_o, out.next_o), (5, 5 + en_i));
    }
    assert_eq!(model.time_ps(), 5_000);
}

#[test]
fn two_tops_of_one_module_are_two_models() {
    let mut small = Counter::new(&Settings::new("small")).unwrap();
    let mut large = Counter12::new(&Settings::new("large")).unwrap();
    let (mut a, mut b) = (counter::Out::default(), counter12::Out::default());
    for _ in 0..50 {
        small
            .cycle(&counter::In { rst_i: 0, en_i: 1 }, &mut a)
            .unwrap();
        large
            .cycle(&counter12::In { rst_i: 0, en_i: 1 }, &mut b)
            .unwrap();
    }
    assert_eq!((u16::from(a.count_o), b.count_o), (49, 49));
}

#[test]
fn combinational_modules_need_no_clock() {
    let mut model = Adder::new(&Settings::new("add").period_ps(7)).unwrap();
    let mut out = adder::Out::default();
    model
        .eval(
            &adder::In {
                a_i: u32::MAX,
                b_i: 2,
            },
            &mut out,
        )
        .unwrap();
    assert_eq!((out.sum_o, model.time_ps()), (0x1_0000_0001, 0));
    model
        .cycle(&adder::In { a_i: 1, b_i: 2 }, &mut out)
        .unwrap();
    assert_eq!((out.sum_o, model.time_ps()), (3, 7));
}

proptest! {
    /// A model with sampled inputs gives what the same model without gives: from the first cycle on, for outputs that
    /// depend on inputs of the same cycle, when a cycle is evaluated several times, and behind a checkpoint.
    #[test]
    fn sampled_inputs_and_another_schedule_change_nothing(cycles in proptest::collection::vec(any::<[bool; 3]>(), 1..60), at in 0usize..60) {
        let mut plain = Counter::new(&Settings::new("plain")).unwrap();
        let mut sampled = SampledCounter::new(&Settings::new("sampled")).unwrap();
        let mut rescheduled = RescheduledCounter::new(&Settings::new("rescheduled")).unwrap();
        let mut outs = (counter::Out::default(), sampled_counter::Out::default(), rescheduled_counter::Out::default());
        for (cycle, [rst, en, before]) in cycles.into_iter().enumerate() {
            let rst_i = u8::from(rst || cycle == 0);
            for en_i in [u8::from(before), u8::from(en)] {
                plain.eval(&counter::In { rst_i, en_i }, &mut outs.0).unwrap();
                sampled.eval(&sampled_counter::In { rst_i, en_i }, &mut outs.1).unwrap();
                rescheduled.eval(&rescheduled_counter::In { rst_i, en_i }, &mut outs.2).unwrap();
                prop_assert_eq!([outs.0.next_o; 2], [outs.1.next_o, outs.2.next_o], "cycle {}", cycle);
            }
            if cycle == at {
                let state = sampled.save().unwrap();
                sampled = SampledCounter::new(&Settings::new("sampled")).unwrap();
                sampled.restore(&state).unwrap();
                let state = rescheduled.save().unwrap();
                rescheduled = RescheduledCounter::new(&Settings::new("rescheduled")).unwrap();
                rescheduled.restore(&state).unwrap();
            }
            let en_i = u8::from(en);
            plain.cycle(&counter::In { rst_i, en_i }, &mut outs.0).unwrap();
            sampled.cycle(&sampled_counter::In { rst_i, en_i }, &mut outs.1).unwrap();
            rescheduled.cycle(&rescheduled_counter::In { rst_i, en_i }, &mut outs.2).unwrap();
            let right = (outs.0.count_o, outs.0.next_o);
            prop_assert_eq!([right; 2], [(outs.1.count_o, outs.1.next_o), (outs.2.count_o, outs.2.next_o)], "cycle {}", cycle);
        }
    }
}
