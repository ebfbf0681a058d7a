//! Layouts: signals that the file has are shown, and missing ones are named.

use std::fs;
use std::path::{Path, PathBuf};

use fst_reader::{FstHierarchyEntry, FstReader};
use fst_writer::{
    FstFileType, FstInfo, FstScopeType, FstSignalType, FstVarDirection, FstVarType, open_fst,
};
use xoff_waves::layout::{Beside, Format, Group, Layout, Marker, Signal, nic_layout};

/// Creates a wave file with the signals `a.now_i [47:0]`, `a.idle_o`, `a.nic.depth [23:0]`.
fn waves(folder: &Path) -> PathBuf {
    let path = folder.join("a.fst");
    let info = FstInfo {
        start_time: 0,
        timescale_exponent: -12,
        version: "test".into(),
        date: String::new(),
        file_type: FstFileType::Verilog,
    };
    let mut file = open_fst(&path, &info).unwrap();
    let signal = |file: &mut fst_writer::FstHeaderWriter<_>, name: &str, bits| {
        let kind = FstSignalType::bit_vec(bits);
        file.var(
            name,
            kind,
            FstVarType::Logic,
            FstVarDirection::Implicit,
            None,
        )
        .unwrap()
    };
    file.scope("a", "", FstScopeType::Module).unwrap();
    let now = signal(&mut file, "now_i [47:0]", 48);
    signal(&mut file, "idle_o", 1);
    file.scope("nic", "", FstScopeType::Module).unwrap();
    signal(&mut file, "depth [23:0]", 24);
    file.up_scope().unwrap();
    file.up_scope().unwrap();
    let mut file = file.finish().unwrap();
    file.time_change(0).unwrap();
    file.signal_change(now, &[b'0'; 48]).unwrap();
    file.finish().unwrap();
    path
}

fn layout(depth: &str) -> Layout {
    let signal = |path: &str, format| Signal {
        path: path.into(),
        format,
    };
    Layout {
        groups: vec![
            Group {
                name: "time".into(),
                signals: vec![
                    signal("a.now_i", Format::Unsigned),
                    signal("a.idle_o", Format::Binary),
                ],
            },
            Group {
                name: "receive buffer".into(),
                signals: vec![signal(depth, Format::Stairs)],
            },
        ],
    }
}

#[test]
fn both_viewers_get_what_the_file_has() {
    let folder = tempfile::tempdir().unwrap();
    let waves = waves(folder.path());
    let texts = |beside: Beside| {
        let paths = [beside.gtkwave, beside.surfer, beside.start];
        assert_eq!(
            paths,
            ["gtkw", "sucl", "tcl"].map(|end| waves.with_extension(end))
        );
        paths.map(|path| fs::read_to_string(path).unwrap())
    };
    let [gtkwave, surfer, start] = texts(layout("a.nic.depth").write_beside(&waves).unwrap());
    insta::assert_snapshot!(gtkwave);
    insta::assert_snapshot!(surfer);
    assert_eq!(start, "gtkwave::setZoomFactor -17\n");

    // With a marker all files have two more facts, and are otherwise the same.
    let marker = Marker {
        name: "first difference".into(),
        time_ps: 1_000_000,
    };
    let paths = layout("a.nic.depth").write_marked(&waves, Some(marker));
    let [marked, commands, start] = texts(paths.unwrap());
    assert_eq!(
        marked,
        gtkwave.replace("*-17.000000 -1", "[timestart] 600000\n*-17.000000 1000000")
    );
    assert_eq!(
        commands,
        surfer + "cursor_set 1000000\nmarker_set first_difference\n"
    );
    assert_eq!(
        start,
        "gtkwave::setZoomFactor -17\ngtkwave::setMarker 1000000\ngtkwave::setWindowStartTime 600000\n"
    );
}

#[test]
fn ports_are_found_without_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::of_ports(waves(folder.path())).unwrap();
    let groups: Vec<(&str, Vec<(&str, Format)>)> = (layout.groups.iter())
        .map(|group| {
            let signals = group.signals.iter();
            let signals = signals.map(|signal| (&signal.path[..], signal.format));
            (&group.name[..], signals.collect())
        })
        .collect();
    assert_eq!(
        groups,
        [
            ("time", vec![("a.now_i", Format::Unsigned)]),
            ("outputs", vec![("a.idle_o", Format::Binary)]),
        ]
    );
}

#[test]
fn signals_of_an_enum_show_names() {
    // The file was written by Verilator 5.006 for verilated5-build's tests/types/sample.sv: `kind_i` is a `kind_e`,
    // `plain_i` is plain bits.
    let folder = tempfile::tempdir().unwrap();
    let waves = folder.path().join("enum.fst");
    fs::write(&waves, include_bytes!("enum.fst")).unwrap();
    let signal = |path: &str| Signal {
        path: path.into(),
        format: Format::Unsigned,
    };
    let layout = Layout {
        groups: vec![Group {
            name: "kinds".into(),
            signals: vec![signal("TOP.sample.kind_i"), signal("TOP.sample.plain_i")],
        }],
    };
    let gtkwave = layout.find_in(&waves).unwrap().gtkwave();
    let rows: Vec<&str> = gtkwave.lines().collect();
    // GTKWave's analyzer.h: bit 32 is TR_ENUM, bit 5 TR_RJUSTIFY, bit 2 TR_DEC.
    assert!(
        rows.windows(2)
            .any(|rows| rows == ["@100000020", "TOP.sample.kind_i[1:0]"]),
        "{gtkwave}"
    );
    assert!(
        rows.windows(2)
            .any(|rows| rows == ["@24", "TOP.sample.plain_i[13:0]"]),
        "{gtkwave}"
    );

    // The names are in the file, where both viewers look for them.
    let mut reader = FstReader::open(std::io::Cursor::new(fs::read(&waves).unwrap())).unwrap();
    let mut names = Vec::new();
    let read = reader.read_hierarchy(|entry| {
        if let FstHierarchyEntry::EnumTable { name, mapping, .. } = entry {
            names.push((name, mapping));
        }
    });
    read.unwrap();
    let pair = |code: &str, name: &str| (code.to_owned(), name.to_owned());
    let kinds = vec![pair("00", "Zero"), pair("01", "One"), pair("10", "Two")];
    assert_eq!(names, [("sample_pkg::kind_e".to_owned(), kinds)]);
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let waves = waves(folder.path());
    let error = layout("a.nic.dept").find_in(&waves).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: has no signal a.nic.dept; its outermost scopes are a",
            waves.display()
        )
    );
    // After an error, no part of a layout has been written.
    layout("a.nic.dept").write_beside(&waves).unwrap_err();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let error = nic_layout("b").find_in(&waves).unwrap_err().to_string();
    assert!(
        error.contains("has no signal b.pins.nic.now_i, b.pins.nic.wake_o, "),
        "{error}"
    );
    assert!(
        error.contains(" more; its outermost scopes are a"),
        "{error}"
    );
}

#[test]
fn files_that_are_no_waves_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.fst");
    let error = layout("x").find_in(&path).unwrap_err().to_string();
    let start = format!("{}: cannot be opened: ", path.display());
    assert!(error.starts_with(&start), "{error}");
    fs::write(&path, "no waves").unwrap();
    let error = layout("x").find_in(&path).unwrap_err().to_string();
    let start = format!("{}: is no FST file that can be read: ", path.display());
    assert!(error.starts_with(&start), "{error}");
}
