//! Signals and memories inside a model, read by name.

use verilated::{Dimension, Packed, Settings, SignalError};
use verilated_tests::{Counter, Lanes, Ram, kinds_pkg, lanes};

fn lanes() -> Lanes {
    Lanes::new(&Settings::new("dut").seed(3)).expect("builds")
}

fn write(model: &mut Lanes, lane: u8, row: u8, column: u8, data: [u32; 4]) {
    let inputs = lanes::In {
        write_i: 1,
        lane_i: lane,
        row_i: row,
        column_i: column,
        data_i: data,
        ..Default::default()
    };
    model
        .cycle(&inputs, &mut lanes::Out::default())
        .expect("runs");
}

#[test]
fn what_the_build_made_readable_is_listed_and_nothing_else() {
    let listed: Vec<(String, u32, usize)> = lanes()
        .signals()
        .iter()
        .map(|signal| {
            (
                signal.path().to_owned(),
                signal.bits(),
                signal.dimensions().len(),
            )
        })
        .collect();
    let expected = [
        ("count_q", 40, 0),
        ("g_lane[0].u_store.narrow_q", 7, 1),
        ("g_lane[0].u_store.wide_q", 100, 1),
        ("g_lane[1].u_store.narrow_q", 7, 1),
        ("g_lane[1].u_store.wide_q", 100, 1),
        ("meta_q", 155, 0),
    ];
    assert_eq!(
        listed,
        expected.map(|(path, bits, dims)| (path.to_owned(), bits, dims))
    );
}

#[test]
fn every_element_holds_what_was_written_last() {
    let mut model = lanes();
    let reset = lanes::In {
        rst_i: 1,
        ..Default::default()
    };
    model
        .cycle(&reset, &mut lanes::Out::default())
        .expect("runs");
    let mut count = 0u64;
    let data = |lane: u8, row: u8, column: u8| {
        let word = u32::from(lane) << 16 | u32::from(row) << 8 | u32::from(column);
        [!word, word, word.rotate_left(9), word & 0xf]
    };
    let places = (0..2)
        .flat_map(|lane| (0..8).flat_map(move |row| (0..4).map(move |column| (lane, row, column))));
    for (lane, row, column) in places.clone() {
        write(&mut model, lane, row, column, data(lane, row, column));
        count += 1;
        let meta = model.signal("meta_q").expect("readable");
        let meta = kinds_pkg::Meta::unpack(&model.read::<[u32; 5]>(&meta, &[]).expect("fits"))
            .expect("a kind");
        let kind = if lane == 1 {
            kinds_pkg::Kind::Two
        } else {
            kinds_pkg::Kind::One
        };
        assert_eq!((meta.kind, meta.last), (kind, row == 7));
        assert_eq!(meta.psn, data(lane, row, column)[0] & 0xff_ffff);
        let counted = model.signal("count_q").expect("readable");
        assert_eq!(model.read::<u64>(&counted, &[]), Ok(count));
    }
    for (lane, row, column) in places {
        let wide = model
            .signal(&format!("g_lane[{lane}].u_store.wide_q"))
            .expect("readable");
        assert_eq!(
            wide.dimensions(),
            [Dimension {
                low: 8,
                elements: 32
            }]
        );
        let index = [8 + 4 * i32::from(row) + i32::from(column)];
        assert_eq!(
            model.read::<[u32; 4]>(&wide, &index),
            Ok(data(lane, row, column))
        );
        let narrow = model
            .signal(&format!("g_lane[{lane}].u_store.narrow_q"))
            .expect("readable");
        let last = data(lane, 7, column)[0] as u8 & 0x7f;
        assert_eq!(model.read::<u8>(&narrow, &[i32::from(column)]), Ok(last));
    }
}

#[test]
fn a_signal_serves_every_instance_of_its_model_and_no_other_model() {
    let first = lanes();
    let mut second = Lanes::new(&Settings::new("another one")).expect("builds");
    write(&mut second, 0, 0, 2, [5, 0, 0, 0]);
    let signal = first
        .signal("g_lane[0].u_store.narrow_q")
        .expect("readable");
    assert_eq!(second.read::<u64>(&signal, &[2]), Ok(5));
    let ram = Ram::new(&Settings::new("ram")).expect("builds");
    assert!(matches!(
        ram.read::<u64>(&signal, &[2]),
        Err(SignalError::Model { .. })
    ));
}

#[test]
fn errors_say_what_would_be_right() {
    let model = lanes();
    let text = |error: SignalError| error.to_string();
    assert_eq!(
        text(model.signal("g_lane[0].u_store.narow_q").unwrap_err()),
        "Lanes has no readable signal `g_lane[0].u_store.narow_q`: did you mean `g_lane[0].u_store.narrow_q`?"
    );
    let counter = Counter::new(&Settings::new("dut")).expect("builds");
    assert_eq!(
        text(counter.signal("count_q").unwrap_err()),
        "Counter has no readable signal `count_q`: its build script makes none readable; say \
         `.readable(\"module\", \"signal\")` there"
    );
    let wide = model.signal("g_lane[1].u_store.wide_q").expect("readable");
    for index in [&[7][..], &[40], &[-1], &[8, 0], &[]] {
        assert_eq!(
            text(model.read::<[u32; 4]>(&wide, index).unwrap_err()),
            format!("`g_lane[1].u_store.wide_q` has no element {index:?}: its index is [8..=39]")
        );
    }
    assert_eq!(
        text(model.read::<u64>(&wide, &[8]).unwrap_err()),
        "`g_lane[1].u_store.wide_q` has 100 bits, and is read as a type of 64"
    );
}
