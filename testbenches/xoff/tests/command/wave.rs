//! Tests of `xoff wave`: tables, windows, conditions, rejected input, and values that agree with those that the Rust
//! side saw.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use verilated::Settings;
use xoff::Outcome;
use xoff_rtl::{PacketParser256, gbn_pkg, packet_parser256};

use crate::common::{Said, argument, run, said};

/// A counter of two bits behind an enable, for a clock of 2 ns, and a vector with unknown bits.
const VCD: &str = "\
$timescale 1ns $end
$scope module top $end
$var wire 1 ! clk $end
$var wire 1 \" en $end
$scope module counter $end
$var wire 1 ! clk $end
$var wire 2 # count [1:0] $end
$upscope $end
$var wire 6 % mixed [5:0] $end
$upscope $end
$enddefinitions $end
#0
0!
0\"
b00 #
b0x1 %
#1
1!
#2
0!
1\"
#3
1!
b01 #
#4
0!
#5
1!
b10 #
#6
0!
0\"
b111111 %
#7
1!
";

fn file(folder: &TempDir, text: &str) -> String {
    let path = folder.path().join("w.vcd");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn wave(arguments: &[&str]) -> Said {
    run(&[&["wave"], arguments].concat(), None, false)
}

fn table(arguments: &[&str]) -> String {
    let said = wave(arguments);
    assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.err);
    said.out
}

fn refused(arguments: &[&str]) -> String {
    wave(arguments).outcome.unwrap_err().to_string()
}

#[test]
fn rows_are_changes_edges_or_what_fulfils_a_condition() {
    let folder = tempfile::tempdir().unwrap();
    let path = &file(&folder, VCD);
    assert_eq!(
        table(&[path]),
        "signal             bits  names\n\
         top.clk               1\n\
         top.en                1\n\
         top.counter.clk       1\n\
         top.counter.count     2\n\
         top.mixed             6\n"
    );
    // The beginning, and each change of either; 0x1 has an unknown bit and is extended by zeros.
    assert_eq!(
        table(&[path, "--signals", "count,mixed"]),
        "time ns  count   mixed\n  \
           0.000      0  0000x1\n  \
           3.000      1  0000x1\n  \
           5.000      2  0000x1\n  \
           6.000      2      3f\n"
    );
    // The value at the beginning of a window is that of the last change before it.
    assert_eq!(
        table(&[
            path,
            "--signals",
            "count",
            "--from",
            "4ns",
            "--to",
            "5500 ps",
            "--radix",
            "bin"
        ]),
        "time ns  count\n  4.000     01\n  5.000     10\n"
    );
    // What flip-flops take in at edges 1, 3, 5 and 7 ns: the values just before.
    assert_eq!(
        table(&[path, "--signals", "en,count", "--at", "top.clk"]),
        "time ns  en  count\n  \
           1.000   0      0\n  \
           3.000   1      0\n  \
           5.000   1      1\n  \
           7.000   0      2\n"
    );
    let csv = [
        "--at",
        "clk",
        "--when",
        "en && count != 0",
        "--format",
        "csv",
    ];
    assert_eq!(
        table(&[&[&path[..], "--signals", "*.en", "*unt"], &csv[..]].concat()),
        "time_ns,top.en,top.counter.count\n5.000,1,0x1\n"
    );
    let said = table(&[
        path,
        "--signals",
        "count,mixed",
        "--from",
        "5ns",
        "--format",
        "json",
    ]);
    assert_eq!(
        serde_json::from_str::<Value>(&said).unwrap(),
        json!([
            { "time_ps": 5_000, "top.counter.count": 2, "top.mixed": "0000x1" },
            { "time_ps": 6_000, "top.counter.count": 2, "top.mixed": 63 },
        ])
    );
    // A condition that never holds is said, with exit code 1.
    let said = wave(&[path, "--signals", "en", "--when", "count == 3"]);
    assert_eq!(said.outcome.unwrap(), Outcome::Failed);
    assert_eq!(
        said.err,
        "xoff: no row fulfils 'count == 3' from 0.000 ns to 7.000 ns\n"
    );
}

/// Two clocks of one name, a port that goes through a module under its name, and one that does not.
const NESTED: &str = "\
$timescale 1ns $end
$scope module top $end
$var wire 1 ! clk_i $end
$var wire 2 # data_o [1:0] $end
$scope module gated $end
$var wire 1 % clk_i $end
$var wire 2 # data_o [1:0] $end
$var wire 1 & depth $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
0!
0%
b00 #
1&
#1
1!
b01 #
#2
0!
#3
1!
1%
b10 #
";

#[test]
fn a_name_means_the_outermost_signal_that_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = &file(&folder, NESTED);
    // The clock of the top, which has two edges; one column for two names of one signal; in the order that was asked for.
    assert_eq!(
        table(&[path, "--signals", "depth,data_o,clk_i", "--at", "clk_i"]),
        "time ns  depth  data_o  top.clk_i  gated.clk_i\n  \
           1.000      1       0          0            0\n  \
           3.000      1       1          0            0\n"
    );
    assert_eq!(
        table(&[path, "--signals", "data_o", "--at", "gated.clk_i"]),
        "time ns  data_o\n  3.000       1\n"
    );
    // A name with its scope is meant as it stands.
    let csv = ["--signals", "gated.data_o", "--format", "csv"];
    let out = table(&[&[&path[..]], &csv[..]].concat());
    assert!(out.starts_with("time_ns,top.gated.data_o\n"), "{out}");
}

#[test]
fn enums_have_their_names() {
    let path = &argument("../waves/tests/waves/enum.fst");
    let listed: Value = serde_json::from_str(&table(&[path, "--format", "json"])).unwrap();
    let signals = listed.as_array().unwrap();
    let named = |signal: &&Value| !signal["names"].as_array().unwrap().is_empty();
    let signal = signals.iter().find(named).expect("a signal of an enum");
    let name = signal["signal"].as_str().unwrap();
    let names: Vec<&str> = (signal["names"].as_array().unwrap().iter())
        .map(|name| name.as_str().unwrap())
        .collect();
    let rows: Value =
        serde_json::from_str(&table(&[path, "--signals", name, "--format", "json"])).unwrap();
    for row in rows.as_array().unwrap() {
        let value = row[name].as_str().unwrap();
        assert!(names.contains(&value), "{value}");
        // A condition may compare with the name.
        let condition = format!("{name} == {value}");
        let found = table(&[path, "--signals", name, "--when", &condition]);
        assert!(found.contains(value), "{found}");
    }
    // Names of the enum are listed in the order of nearness.
    for name_of_value in &names {
        let misspelt = format!("{name_of_value}X");
        let wrong = format!("{name} == {misspelt}");
        let said = refused(&[path, "--signals", name, "--when", &wrong]);
        let begin = format!("--when {misspelt}: no such signal; did you mean {name_of_value}");
        assert!(said.starts_with(&begin), "{said}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = &file(&folder, VCD);
    assert_eq!(
        refused(&[path, "--signals", "cuont"]),
        "--signals cuont: no such signal; did you mean top.counter.count?"
    );
    assert_eq!(
        refused(&[path, "--signals", "counter.cont"]),
        "--signals counter.cont: no such signal; did you mean top.counter.count?"
    );
    assert_eq!(
        refused(&[path, "--signals", "nic.rx_*"]),
        "--signals nic.rx_*: no such signal; without --signals all signals are listed"
    );
    assert_eq!(
        refused(&[path, "--signals", "en", "--at", "counter.c*"]),
        "--at counter.c*: several signals: top.counter.clk, top.counter.count"
    );
    assert_eq!(
        refused(&[path, "--signals", "en", "--from", "8ns"]),
        "--from 8 ns: the file has values from 0.000 ns to 7.000 ns"
    );
    assert_eq!(
        refused(&[path, "--signals", "en", "--from", "3ns", "--to", "2ns"]),
        "--from 3 ns --to 2 ns: the window ends before it begins"
    );
    assert_eq!(
        refused(&[path, "--when", "en"]),
        "--at and --when choose rows: say which signals to print with --signals"
    );
    for (name, bytes, said) in [
        (
            "text",
            &b"no waves\n"[..],
            "neither FST nor VCD: a wave file is needed",
        ),
        ("empty", &b""[..], "empty; a wave file (FST, VCD) is needed"),
        (
            "elf",
            &b"\x7fELF\x02\x01\x01"[..],
            "neither FST nor VCD: a wave file is needed",
        ),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(refused(&[path]), format!("{path}: {said}"));
    }
    let path = folder.path().to_str().unwrap();
    assert_eq!(
        refused(&[path]),
        format!("{path}: not a file; a wave file (FST, VCD) is needed")
    );
    // The beginning of a file only.
    let whole = fs::read(argument("../waves/tests/waves/enum.fst")).unwrap();
    let cut = folder.path().join("cut.fst");
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let cut = cut.to_str().unwrap();
    assert!(
        refused(&[cut]).starts_with(&format!("{cut}: ")),
        "{}",
        refused(&[cut])
    );
    // The header alone, whose list of signals the reader looks for in another file.
    fs::write(cut, &whole[..330]).unwrap();
    assert_eq!(
        refused(&[cut]),
        format!(
            "{cut}: a damaged FST file: the list of its signals is missing, and no file cut.fst.hier has it"
        )
    );
}

/// Runs a unit with a trace and compares every port of every cycle with what `xoff wave` prints for it.
#[test]
fn values_are_those_that_the_rust_side_saw() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["w.fst", "w.vcd"] {
        let path = folder.path().join(name);
        let seen = trace(&path);
        let ports =
            "rst_i,rx_valid_i,rx_last_i,rx_bytes_i,head_valid_o,done_valid_o,udp_src_port_o";
        let out = table(&[
            path.to_str().unwrap(),
            "--signals",
            &ports
                .split(',')
                .map(|port| format!("parser.{port}"))
                .collect::<Vec<_>>()
                .join(","),
            "--at",
            "parser.clk_i",
            "--format",
            "json",
        ]);
        let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
        assert_eq!(rows.len(), seen.len());
        for (cycle, (row, seen)) in rows.iter().zip(&seen).enumerate() {
            let printed = ports.split(',').map(|port| {
                let name = format!("parser.{port}");
                row[&name]
                    .as_u64()
                    .unwrap_or_else(|| panic!("{name} in {row}"))
            });
            assert_eq!(&printed.collect::<Vec<_>>(), seen, "{name}, cycle {cycle}");
        }
        assert!(seen.iter().any(|seen| seen[5] == 1), "no frame was parsed");
    }
}

#[test]
fn an_element_of_an_array_has_the_name_that_it_has_in_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nic.fst");
    let mut model = xoff_rtl::Nic::new(&Settings::new("nic")).unwrap();
    model.trace_open(&path).unwrap();
    let reset = xoff_rtl::nic::In {
        rst_i: 1,
        ..Default::default()
    };
    model.cycle(&reset, &mut Default::default()).unwrap();
    model.trace_close().unwrap();
    let path = path.to_str().unwrap();
    let element = "u_answers_in.u_answers.gen_ram.u_ram.words_q[0]";
    assert!(table(&[path]).contains(element));
    let condition = format!("{element} >= 0");
    let out = table(&[path, "--signals", element, "--when", &condition]);
    assert!(out.contains("words_q[0]"), "{out}");
}

/// Members of structs and elements of packed arrays of the NIC, at its ports and within: the values that were driven.
#[test]
fn parts_have_the_names_that_they_have_in_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nic.fst");
    let mut model = xoff_rtl::Nic::new(&Settings::new("a").seed(7)).unwrap();
    model.trace_open(&path).unwrap();
    let work = gbn_pkg::Work {
        kind: gbn_pkg::WorkE::WorkWrite,
        length: 0x1234,
        local_va: 0xfeed_0000_0000_0042,
        id: 77,
        ..Default::default()
    };
    let mut inputs = xoff_rtl::nic::In {
        rst_i: 1,
        ..Default::default()
    };
    inputs.set_work_i(&work);
    for _ in 0..2 {
        model.cycle(&inputs, &mut Default::default()).unwrap();
    }
    model.trace_close().unwrap();
    let path = path.to_str().unwrap();
    let first = |signals: &str| {
        let out = table(&[
            path,
            "--signals",
            signals,
            "--at",
            "a.clk_i",
            "--format",
            "csv",
        ]);
        let row = out.lines().nth(1).unwrap();
        row.split(',')
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        first("a.work_i.kind,a.work_i.length,work_i.local_va,work_i.local_va[7:0],work_i.id"),
        [
            "WorkWrite",
            "0x00001234",
            "0xfeed000000000042",
            "0x42",
            "0x000000000000004d"
        ]
    );
    // In an instance: the same port, by the name that it has there.
    assert_eq!(first("u_transmit.work_i.length"), ["0x00001234"]);
    // An element of three bits, not a bit, and those on its left.
    let whole = first("nic.classes[3],nic.classes[5:4],nic.classes");
    assert_eq!(whole[0].len(), 3, "{whole:?}");
    assert!(table(&[path]).contains(".kind .signaled .solicited .fence .length"));
    let condition = "work_i.length == 0x1234 && work_i.kind == WorkWrite";
    let out = table(&[path, "--signals", "work_i.id", "--when", condition]);
    assert!(out.contains("4d"), "{out}");
    assert_eq!(
        refused(&[path, "--signals", "a.work_i.lenght"]),
        "--signals a.work_i.lenght: a.work_i has no member 'lenght', but kind, signaled, solicited, fence, length, local_va, \
         local_key, remote_va, remote_key, imm, swap_add, compare, id"
    );
    assert_eq!(
        refused(&[path, "--signals", "nic.classes[64]"]),
        "--signals nic.classes[64]: a.pins.nic.classes has the elements 63 to 0"
    );
}

/// Since 5.048 Verilator says of an array that it is one, which its reader has to know. `d` counts from 1 by 77, `mem` is
/// a shift register behind it whose last element is never written.
#[test]
fn arrays_of_newer_verilators_are_read() {
    let path = &argument("data/verilator_5_050_array.fst");
    let signals = ["d.d", "mem[0]", "mem[1]", "mem[2]"].join(",");
    let format = ["--at", "d.clk", "--radix", "dec", "--format", "csv"];
    assert_eq!(
        table(&[&[&path[..], "--signals", &signals], &format[..]].concat()),
        "time_ns,d.d,d.t.mem[0],d.t.mem[1],d.t.mem[2]\n\
         0.500,1,0,0,0\n\
         1.500,78,1,0,0\n\
         2.500,155,78,1,0\n\
         3.500,232,155,78,0\n\
         4.500,309,232,155,0\n"
    );
}

/// Sends a frame through the parser. Returns the values of ports in each cycle.
fn trace(path: &Path) -> Vec<Vec<u64>> {
    let settings = Settings::new("parser").seed(1).period_ps(5_120);
    let mut parser = PacketParser256::new(&settings).unwrap();
    let mut out = packet_parser256::Out::default();
    parser.trace_open(path).unwrap();
    let mut seen = Vec::new();
    for cycle in 0..24_u8 {
        let mut pins = packet_parser256::In {
            rst_i: u8::from(cycle < 2),
            ..Default::default()
        };
        // 70 bytes: two whole beats and one of 6 bytes.
        if let beat @ 3..6 = cycle {
            pins.rx_valid_i = 1;
            pins.rx_last_i = u8::from(beat == 5);
            pins.rx_bytes_i = if beat == 5 { 6 } else { 32 };
            pins.rx_data_i = [0x0101_0101 * u32::from(beat); 8];
        }
        parser.cycle(&pins, &mut out).unwrap();
        seen.push(vec![
            pins.rst_i.into(),
            pins.rx_valid_i.into(),
            pins.rx_last_i.into(),
            pins.rx_bytes_i.into(),
            out.head_valid_o.into(),
            out.done_valid_o.into(),
            out.udp_src_port_o.into(),
        ]);
    }
    parser.trace_close().unwrap();
    seen
}

/// An event is 1 at each time at which it happens, 0 between, and may stand for a clock.
#[test]
fn each_event_is_found() {
    let path = &argument("data/events.vcd");
    let rows = |more: &[&str]| -> Vec<(Value, Value)> {
        let arguments = [&[path, "--signals", "done,clk", "--format", "json"], more].concat();
        let rows: Vec<Value> = serde_json::from_str(&table(&arguments)).unwrap();
        rows.iter()
            .map(|row| (row["time_ps"].clone(), row["top.done"].clone()))
            .collect()
    };
    let at = |times: &[u64]| -> Vec<(Value, Value)> {
        times
            .iter()
            .map(|time| (json!(time * 1_000), json!(1)))
            .collect()
    };
    assert_eq!(rows(&["--when", "done"]), at(&[10, 40, 45]));
    let changes = rows(&[]);
    assert_eq!(changes[2], (json!(20_000), json!(0)));
    let times: Vec<Value> = rows(&["--at", "done"])
        .into_iter()
        .map(|(time, _)| time)
        .collect();
    assert_eq!(times, [json!(10_000), json!(40_000), json!(45_000)]);
}

/// What the reader says goes to standard error: rows alone are on standard output.
#[test]
fn remarks_of_the_reader_are_not_among_the_rows() {
    let path = argument("data/time_back.vcd");
    let output = crate::common::xoff()
        .args(["wave", &path, "--signals", "a", "--format", "json"])
        .assert()
        .code(0)
        .get_output()
        .clone();
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows, json!([{ "time_ps": 5_000, "top.a": 1 }]));
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        err,
        format!("xoff: {path}: WARN: time decreased from 5 to 3. Skipping!\n")
    );
}

/// Numbers with signs and fractions, slices, and what an index means where the file has no types.
#[test]
fn conditions_on_parts_and_on_numbers_of_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = &file(
        &folder,
        "$timescale 1ns $end\n$scope module top $end\n$var integer 32 i level $end\n$var real 64 r rate $end\n\
         $var wire 16 d depth [15:0] $end\n$upscope $end\n$enddefinitions $end\n\
         #0\nb11111111111111111111111111111011 i\nr0.5 r\nb0000001000110100 d\n\
         #1\nb101 i\nr-2.5 r\nb0000000000000000 d\n",
    );
    let times = |condition: &str| -> Vec<u64> {
        let arguments = [
            path,
            "--signals",
            "*",
            "--when",
            condition,
            "--format",
            "json",
        ];
        let said = wave(&arguments);
        let rows: Vec<Value> = serde_json::from_str(&said.out).unwrap();
        rows.iter()
            .map(|row| row["time_ps"].as_u64().unwrap())
            .collect()
    };
    for (condition, expected) in [
        ("level == -5", &[0][..]),
        ("level < 0", &[0]),
        ("level >= -5", &[0, 1_000]),
        ("rate > 0.25", &[0]),
        ("rate == -2.5", &[1_000]),
        ("rate < level", &[1_000]),
        ("depth[15:8] == 2", &[0]),
        ("depth[7:4] == 3", &[0]),
        ("depth[9]", &[0]),
    ] {
        assert_eq!(times(condition), expected, "{condition}");
    }
    let said = wave(&[path, "--signals", "depth[7:4],depth[2]"]);
    assert!(said.out.contains("depth[7:4]"), "{}", said.out);
    assert_eq!(
        said.err,
        "xoff: top.depth[2] is a bit: no file of types says whether an index counts bits or elements ([7:4] are bits)\n"
    );
    assert_eq!(
        refused(&[path, "--signals", "depth[16]"]),
        "--signals depth[16]: top.depth has the bits 0 to 15"
    );
    let csv = table(&[path, "--signals", "depth,level,rate", "--format", "csv"]);
    assert_eq!(
        csv,
        "time_ns,top.depth,top.level,top.rate\n0.000,0x0234,-5,0.5\n1.000,0x0000,5,-2.5\n"
    );
}

/// Of a VCD that cannot be read, the line is named, and what is missing there.
#[test]
fn the_fault_of_a_vcd_has_a_line() {
    let folder = tempfile::tempdir().unwrap();
    // As migen 0.10 writes it without the name of a module, and as MyHDL 0.10 writes a signal of an enum.
    for (text, said) in [
        (
            "$var wire 1 ! a $end\n$dumpvars\n0!\n$end\n#0\n1!\n",
            "line 2: $dumpvars among the declarations: $enddefinitions $end is missing before it (migen leaves it out)",
        ),
        (
            "$scope module top $end\n$var real 1 , state $end\n$upscope $end\n$enddefinitions $end\n#0\nscount ,\n",
            "line 6: text 'count' for a signal of type real: string is right (MyHDL declares enums so)",
        ),
    ] {
        let path = &file(&folder, text);
        assert_eq!(
            refused(&[path, "--signals", "*"]),
            format!("{path}: a damaged VCD file: {said}")
        );
    }
}

/// A panic of the library that reads waves: as it opens the file, and as it reads the values.
#[test]
fn where_the_reader_of_waves_panics_one_line_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(argument("../waves/tests/waves/enum.fst")).unwrap();
    // Found by inverting each byte: in the header of the file, and among the compressed values.
    for (at, reason) in [(25, "not yet implemented"), (419, "index out of bounds")] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        let path = folder.path().join("w.fst");
        fs::write(&path, damaged).unwrap();
        let path = path.to_str().unwrap();
        let (out, err) = said(&["wave", path, "--signals", "*"], [], 2);
        let line = format!(
            "xoff: {path}: a damaged wave file, or one of a kind that is not read: {reason}"
        );
        assert!(err.starts_with(&line), "{err}");
        assert_eq!((&out[..], err.lines().count()), ("", 1), "{err}");
    }
}

/// 50,000 signals, which took ten minutes when each name was compared with all others. A flattened design has ten times
/// as many.
#[test]
fn all_signals_of_a_large_file_are_printed_at_once() {
    let (modules, each) = (50, 1_000);
    let mut text = "$timescale 1ns $end\n$scope module top $end\n".to_owned();
    let mut values = "$upscope $end\n$enddefinitions $end\n#0\n".to_owned();
    for module in 0..modules {
        text += &format!("$scope module m{module} $end\n");
        for signal in 0..each {
            text += &format!("$var wire 1 i{module}.{signal} s{signal} $end\n");
            values += &format!("1i{module}.{signal}\n");
        }
        text += "$upscope $end\n";
    }
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, &(text + &values));
    for format in ["table", "csv", "json"] {
        let output = crate::common::xoff()
            .args(["wave", &path, "--signals", "*", "--format", format])
            .timeout(std::time::Duration::from_secs(60))
            .assert()
            .success();
        let out = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        assert!(out.contains("m7.s0"), "{format}");
        // The time is the first.
        if format == "table" {
            let values = out.lines().nth(1).unwrap().split_whitespace().skip(1);
            assert_eq!(values.filter(|value| *value == "1").count(), modules * each);
        }
    }
}
