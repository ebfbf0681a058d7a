//! Wave files hold the right values at the right times, as read by an independent reader.

use std::path::Path;
use std::thread;

use serde_json::{Value, json};
use verilated::{Settings, TraceError, TraceFormat};
use verilated_tests::{
    ArrayPorts, Counter, Lanes, Ram, WavelessCounter, WidePorts, array_ports, counter, ram,
    waveless_counter, wide_ports,
};
use wellen::simple;

/// Returns the times and values of a signal, as text.
fn signal(path: &Path, name: &str) -> Vec<(u64, String)> {
    let mut waves = simple::read(path).unwrap();
    let hierarchy = waves.hierarchy();
    let var = hierarchy
        .all_vars()
        .map(|var| &hierarchy[var])
        .find(|var| var.full_name(hierarchy) == name)
        .unwrap_or_else(|| panic!("no {name} among {:?}", names(path)));
    let signal = var.signal_ref();
    waves.load_signals(&[signal]);
    let times = waves.time_table().to_vec();
    let signal = waves.get_signal(signal).unwrap();
    signal
        .iter_changes()
        .map(|(at, value)| (times[at as usize], value.to_string()))
        .collect()
}

fn names(path: &Path) -> Vec<String> {
    let waves = simple::read(path).unwrap();
    let hierarchy = waves.hierarchy();
    hierarchy
        .all_vars()
        .map(|var| hierarchy[var].full_name(hierarchy))
        .collect()
}

fn pairs(list: &[(u64, &str)]) -> Vec<(u64, String)> {
    list.iter()
        .map(|(time, value)| (*time, (*value).to_owned()))
        .collect()
}

fn count(model: &mut Counter, cycles: usize) {
    let mut out = counter::Out::default();
    for _ in 0..cycles {
        model
            .cycle(&counter::In { rst_i: 0, en_i: 1 }, &mut out)
            .unwrap();
    }
}

/// Beside waves stands what their structs and packed arrays are made of, in generated instances too.
#[test]
fn types_stand_beside_waves() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = Lanes::new(&Settings::new("dut")).unwrap();
    model.trace_open(folder.path().join("w.fst")).unwrap();
    model.trace_close().unwrap();
    let text = std::fs::read(folder.path().join("w.types.json")).unwrap();
    let shapes: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(shapes["top"], "lanes");
    let modules = &shapes["modules"];
    assert_eq!(
        modules["lanes"]["instances"],
        json!({ "g_lane[0].u_store": "lane_store", "g_lane[1].u_store": "lane_store" })
    );
    let kind = |module: &str, signal: &str| {
        let place = modules[module]["signals"][signal].as_u64().unwrap();
        shapes["types"][place as usize].clone()
    };
    let last = kind("lane_store", "last");
    assert_eq!(last["array"], json!([1, 0]));
    let element = last["of"].as_u64().unwrap() as usize;
    assert_eq!(shapes["types"][element], json!({ "bits": [2, 0] }));
    let meta = kind("lanes", "meta_q");
    let members = meta["struct"].as_array().unwrap().iter();
    let names: Vec<&str> = members.map(|member| member[0].as_str().unwrap()).collect();
    assert_eq!(names, ["kind", "psn", "addr", "last"]);
    assert_eq!(modules["lanes"]["signals"].as_object().unwrap().len(), 1);
}

/// A model without waves counts as others do, and says why it writes none.
#[test]
fn a_model_without_waves_writes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.fst");
    let mut model = WavelessCounter::new(&Settings::new("c")).unwrap();
    let error = model.trace_open(&path).unwrap_err().to_string();
    assert_eq!(
        error,
        "WavelessCounter was built without waves: remove `without_waves` from its entry in the table of tops"
    );
    assert!(!path.exists() && !model.tracing());
    let mut out = waveless_counter::Out::default();
    for rst_i in [1, 0, 0, 0, 0, 0] {
        let inputs = waveless_counter::In { rst_i, en_i: 1 };
        model.cycle(&inputs, &mut out).unwrap();
    }
    assert_eq!(out.count_o, 4);
}

#[test]
fn both_formats_show_clock_and_values() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["w.fst", "w.vcd"] {
        let path = folder.path().join(name);
        let mut model =
            Counter::new(&Settings::new("nic 0").period_ps(100).start_ps(1_000)).unwrap();
        model.trace_open(&path).unwrap();
        assert!(model.tracing());
        count(&mut model, 3);
        model.trace_close().unwrap();
        assert!(!model.tracing());
        let expected = pairs(&[
            (1000, "0"),
            (1050, "1"),
            (1100, "0"),
            (1150, "1"),
            (1200, "0"),
            (1250, "1"),
        ]);
        assert_eq!(signal(&path, "nic_0.clk_i"), expected, "{name}");
        let expected = pairs(&[
            (1000, "00000000"),
            (1050, "00000001"),
            (1150, "00000010"),
            (1250, "00000011"),
        ]);
        assert_eq!(signal(&path, "nic_0.count_o"), expected, "{name}");
        assert_eq!(signal(&path, "nic_0.counter.count_o"), expected, "{name}");
    }
    assert!(
        !folder.path().join("w.vcd.fst").exists(),
        "the interim file goes"
    );
}

#[test]
fn windows_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (
        folder.path().join("first.fst"),
        folder.path().join("second.fst"),
    );
    let mut model = Counter::new(&Settings::new("c").period_ps(10)).unwrap();
    count(&mut model, 5);
    model.trace_open(&first).unwrap();
    count(&mut model, 2);
    model.trace_close().unwrap();
    count(&mut model, 5);
    // Opening another file closes the open one; dropping the model closes the last.
    model
        .trace_open(folder.path().join("replaced.fst"))
        .unwrap();
    model.trace_open(&second).unwrap();
    count(&mut model, 1);
    drop(model);
    assert_eq!(
        signal(&first, "c.count_o"),
        pairs(&[(50, "00000101"), (55, "00000110"), (65, "00000111")])
    );
    assert_eq!(
        signal(&second, "c.count_o"),
        pairs(&[(120, "00001100"), (125, "00001101")])
    );
}

#[test]
fn waves_of_some_signals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.fst");
    let mut model = Counter::new(&Settings::new("c").period_ps(10)).unwrap();
    model.trace_only(&["c.counter.count_o".into(), "c.none".into()]);
    model.trace_open(&path).unwrap();
    count(&mut model, 2);
    model.trace_close().unwrap();
    assert_eq!(names(&path), ["c.counter.count_o"]);
    let expected = pairs(&[(0, "00000000"), (5, "00000001"), (15, "00000010")]);
    assert_eq!(signal(&path, "c.counter.count_o"), expected);
    // A scope stands for the signals in it. The restriction holds for all files until it is replaced.
    let mut all = |only: &[String]| {
        model.trace_only(only);
        model.trace_open(&path).unwrap();
        count(&mut model, 1);
        model.trace_close().unwrap();
        names(&path)
    };
    let of_scope = all(&["c.counter".into()]);
    assert!(of_scope.len() > 1 && of_scope.iter().all(|name| name.starts_with("c.counter.")));
    assert!(all(&[]).contains(&"c.count_o".into()));
}

#[test]
fn wide_things_do_not_vanish() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.fst");
    let mut model = WidePorts::new(&Settings::new("w")).unwrap();
    model.trace_open(&path).unwrap();
    let mut inputs = wide_ports::In::default();
    inputs.p1000_i[31] = 0x80;
    model
        .cycle(&inputs, &mut wide_ports::Out::default())
        .unwrap();
    model.trace_close().unwrap();
    let changes = signal(&path, "w.p1000_o");
    let last = &changes.last().unwrap().1;
    assert_eq!(last.len(), 1000);
    assert_eq!(last.find('1'), Some(0));
    let names = names(&path);
    assert!(
        names.iter().any(|name| name.starts_with("w.grid_i")),
        "{names:?}"
    );
}

#[test]
fn memories_do_not_vanish_either() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ram.fst");
    let mut model = Ram::new(&Settings::new("r")).unwrap();
    model.trace_open(&path).unwrap();
    let inputs = ram::In {
        write_i: 1,
        addr_i: 1000,
        data_i: 5,
    };
    model.cycle(&inputs, &mut ram::Out::default()).unwrap();
    model.trace_close().unwrap();
    let written = names(&path)
        .into_iter()
        .find(|name| name.contains("words_q") && name.contains("1000"))
        .unwrap();
    assert_eq!(
        signal(&path, &written).last().unwrap().1,
        format!("{:064b}", 5)
    );
}

#[test]
fn elements_of_arrays_of_structs_are_there() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["arrays.fst", "arrays.vcd"] {
        let path = folder.path().join(file);
        let mut model = ArrayPorts::new(&Settings::new("a").period_ps(10)).unwrap();
        model.trace_open(&path).unwrap();
        let mut inputs = array_ports::In {
            line_i: 0x15_5551,
            ..Default::default()
        };
        inputs.cells_i[2] = 0x201;
        for _ in 0..2 {
            model
                .cycle(&inputs, &mut array_ports::Out::default())
                .unwrap();
        }
        model.trace_close().unwrap();
        let last = |array: &str, element: &str| {
            let names = names(&path);
            let found = |name: &&String| name.contains(array) && name.ends_with(element);
            let name = names.iter().find(found);
            let name = name.unwrap_or_else(|| panic!("no {array} {element} in {names:?}"));
            signal(&path, name).last().unwrap().clone()
        };
        assert_eq!(
            last("lines_q", "[0]"),
            (5, format!("{:021b}", 0x15_5551)),
            "{file}"
        );
        assert_eq!(
            last("lines_q", "[1]"),
            (15, format!("{:021b}", 0x15_5551)),
            "{file}"
        );
        assert_eq!(
            last("cells_o", "[2]"),
            (5, format!("{:010b}", 0x201)),
            "{file}"
        );
    }
}

/// A file that is closed before a cycle has the values with which it was opened.
#[test]
fn a_file_without_a_cycle_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["none.fst", "none.vcd"] {
        let path = folder.path().join(file);
        let mut model = Counter::new(&Settings::new("c").period_ps(10)).unwrap();
        count(&mut model, 3);
        model.trace_open(&path).unwrap();
        model.trace_close().unwrap();
        assert_eq!(signal(&path, "c.count_o"), pairs(&[(30, "00000011")]));
        assert!(names(&path).contains(&"c.counter.count_o".into()));
    }
}

#[test]
fn many_models_trace_at_once() {
    let folder = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for at in 0..8usize {
            let folder = folder.path();
            scope.spawn(move || {
                let path = folder.join(format!("{at}.fst"));
                let mut model =
                    Counter::new(&Settings::new(format!("c{at}")).period_ps(10)).unwrap();
                model.trace_open(&path).unwrap();
                count(&mut model, 20 + at);
                model.trace_close().unwrap();
                assert_eq!(signal(&path, &format!("c{at}.count_o")).len(), 21 + at);
            });
        }
    });
}

#[cfg(not(feature = "coverage"))]
#[test]
fn a_restore_does_not_turn_waves_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("back.fst");
    let mut model = Counter::new(&Settings::new("c").period_ps(10)).unwrap();
    let saved = model.save().unwrap();
    model.trace_open(&path).unwrap();
    count(&mut model, 3);
    model.restore(&saved).unwrap();
    count(&mut model, 5);
    assert_eq!(
        model.take_output(),
        "",
        "Verilator has nothing to complain of"
    );
    model.trace_close().unwrap();
    let times: Vec<u64> = signal(&path, "c.clk_i")
        .iter()
        .map(|change| change.0)
        .collect();
    assert_eq!(times, [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]);
}

#[test]
fn a_failure_is_in_the_wave() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fail.fst");
    let mut model = Counter::new(&Settings::new("c").period_ps(10)).unwrap();
    model.trace_open(&path).unwrap();
    let mut out = counter::Out::default();
    while model
        .cycle(&counter::In { rst_i: 0, en_i: 1 }, &mut out)
        .is_ok()
    {}
    let failed = model.failure().unwrap().time_ps();
    model.trace_close().unwrap();
    assert_eq!(signal(&path, "c.clk_i").last().unwrap().0, failed);
}

#[test]
fn files_that_cannot_be() {
    let mut model = Counter::new(&Settings::new("c")).unwrap();
    let error = model.trace_open("/nonexistent/w.fst").unwrap_err();
    assert!(matches!(error, TraceError::File { .. }));
    assert!(
        error
            .to_string()
            .starts_with("cannot write waves of `c` to `/nonexistent/w.fst`: "),
        "{error}"
    );
    assert!(matches!(
        model.trace_open("w.wave"),
        Err(TraceError::Format { .. })
    ));
    let folder = tempfile::tempdir().unwrap();
    model
        .trace_open_as(folder.path().join("w.wave"), TraceFormat::Fst)
        .unwrap();
    count(&mut model, 1);
    model.trace_close().unwrap();
    assert!(folder.path().join("w.wave").exists());
}
