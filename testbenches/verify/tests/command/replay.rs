//! `xoff replay`, checkpoints of runs and `--wave-when`: from a failure to its waves.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::strategy::{BoxedStrategy, Just, Strategy as _};
use serde_json::Value;
use xoff::Outcome;
use xoff_cosim::units::UnitError;
use xoff_rtl_units::PfcRx40;
use xoff_sim::protocol::pfc_rx::PfcRxIn;
use xoff_verify::property::bins::Bins;
use xoff_verify::property::history::History;
use xoff_verify::property::retrace::{self, Retraced, Wanted};
use xoff_verify::property::{Case, Disagreement, Property};
use xoff_verify::units::pfc::RtlPause;

use crate::common::{Said, argument, file, run, xoff};

const PLANTED: &str = "cases/planted/forged_payload.case";
/// One cycle of a NIC at 40 Gb/s, in picoseconds.
const PERIOD: u64 = 5_120;

fn command(arguments: &[&str]) -> Said {
    run(arguments, None, false)
}

/// Prints signals of a wave file at the rising edges of a clock: the times in picoseconds, and one signal's values.
fn edges(path: &Path, signal: &str, clock: &str, when: Option<&str>) -> Vec<(u64, Value)> {
    let mut arguments = vec!["wave", path.to_str().unwrap(), "--signals", signal];
    arguments.extend(["--at", clock, "--format", "json"]);
    if let Some(when) = when {
        arguments.extend(["--when", when]);
    }
    let said = command(&arguments);
    said.outcome.unwrap();
    let rows: Value = serde_json::from_str(&said.out).unwrap();
    let row = |row: &Value| (row["time_ps"].as_u64().unwrap(), row[signal].clone());
    rows.as_array().unwrap().iter().map(row).collect()
}

/// The time of the marker in a GTKWave layout.
fn marker(layout: &Path) -> u64 {
    let text = fs::read_to_string(layout).unwrap();
    let line = text.lines().find(|line| line.starts_with('*')).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_failing_case_of_two_nics_leaves_waves_around_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let planted = argument(PLANTED);
    let arguments = ["replay", &planted, "--out", out];
    let said = command(&[&arguments[..], &["--before", "100", "--after", "20"]].concat());
    assert_eq!(said.outcome.unwrap(), Outcome::Failed);
    assert!(
        said.out.contains("memory of side 1: wrong bytes"),
        "{}",
        said.out
    );
    let folder = folder.path().join("replay/forged_payload");
    let waves = folder.join("nic1.fst");
    let failed = marker(&folder.join("nic1.gtkw"));
    let surfer = fs::read_to_string(folder.join("nic1.sucl")).unwrap();
    let expected = format!("\ncursor_set {failed}\nmarker_set failure\n");
    assert!(surfer.ends_with(&expected), "{surfer}");

    // The window: every cycle has an edge, as this NIC has work all the time.
    let all = edges(&waves, "nic1.now_i", "nic1.clk_i", None);
    let before = all.iter().filter(|(time, _)| *time < failed).count();
    let behind = all
        .iter()
        .filter(|(time, _)| *time > failed + PERIOD)
        .count();
    // The window begins before the step of at most 58 cycles in which the failure was found.
    assert!((100..=158).contains(&before), "{before}");
    assert!((20..=78).contains(&behind), "{behind}");

    // What was on the wire, as sent and as received.
    let capture = folder.join("capture.pcapng");
    let decoded = command(&["decode", "--model", capture.to_str().unwrap()]);
    assert_eq!(decoded.outcome.unwrap(), Outcome::Held);
    assert!(decoded.out.matches("RC_WRITE_MIDDLE").count() > 10);
    let bytes = fs::read(&capture).unwrap();
    let comment = b"the failure was found here, in cycle 13";
    assert!(bytes.windows(comment.len()).any(|text| text == comment));

    // The account names the address. The NIC writes the last bytes of that packet in the failing cycle.
    let account = fs::read_to_string(folder.join("failure.txt")).unwrap();
    assert!(account.contains("1024 bytes at 0x1000001c00"), "{account}");
    assert!(
        account.contains("post {\"buffer_late\":0,\"kind\":3"),
        "{account}"
    );
    assert!(
        account.contains("RC_WRITE_MIDDLE to QP 0x1000"),
        "{account}"
    );
    let when = "nic1.write_valid_o && nic1.write_ready_i && nic1.write_va_o == 0x1000001fe0";
    let writes = edges(&waves, "nic1.write_va_o", "nic1.clk_i", Some(when));
    let [(edge, _)] = writes[..] else {
        panic!("{writes:?}")
    };
    assert!((failed..failed + PERIOD).contains(&edge), "{edge} {failed}");

    let only = command(&["replay", &planted, "--no-waves"]);
    assert_eq!(only.outcome.unwrap(), Outcome::Failed);
    assert_eq!(only.out.lines().count(), 2, "{}", only.out);
}

/// Fails when the reference would say so: in the cycle after a PAUSE frame of three, all units of the bench at work.
struct Planted {
    rtl: [RtlPause<PfcRx40>; 2],
    unused: RtlPause<PfcRx40>,
}

const FAILS_AT: u64 = 1_234;

impl Property for Planted {
    type Head = ();
    type Event = Never;
    const UNIT: &'static str = "planted";
    const EVENTS: &'static str = "cycles";
    const CASES: u64 = 1;

    fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            rtl: [RtlPause::new(seed)?, RtlPause::new(seed)?],
            unused: RtlPause::new(seed)?,
        })
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        let events = vec![];
        Just(History { head: (), events }).boxed()
    }

    fn check(&mut self, _: &Case<Self>, _: &mut Bins) -> Result<u64, Disagreement> {
        let _ = &self.unused;
        let inputs = PfcRxIn::default();
        let text = |error: UnitError| error.to_string();
        for unit in &mut self.rtl {
            unit.reset(1_000, &inputs).map_err(text)?;
        }
        for now in 1_001..=FAILS_AT {
            for unit in &mut self.rtl {
                unit.cycle(now, &inputs).map_err(text)?;
            }
        }
        Err("planted".into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Never {}

impl xoff_verify::property::history::Part for Never {}

#[test]
fn a_failing_case_of_a_unit_is_traced_up_to_the_failing_cycle() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = Wanted {
        folder: folder.path().join("a"),
        before: Some(20),
        after: 10,
        whole: false,
    };
    let case = History {
        head: (),
        events: vec![],
    };
    let Retraced::Failed(failed) = retrace::units::<Planted>(3, &case, &wanted).unwrap() else {
        panic!("it fails")
    };
    assert_eq!(failed.disagreement, "planted");
    // The two units that worked, and not the third.
    assert_eq!(failed.waves.len(), 2);
    for (place, waves) in failed.waves.iter().enumerate() {
        let name = format!("PfcRx40-{place}.fst");
        assert_eq!(waves.path, folder.path().join("a").join(name));
        let all = edges(&waves.path, "PfcRx40.now_i", "PfcRx40.clk_i", None);
        // The failing cycle and 20 before it; nothing drives the unit behind it.
        let nows: Vec<u64> = all.iter().map(|(_, now)| now.as_u64().unwrap()).collect();
        let expected: Vec<u64> = (FAILS_AT - 20..=FAILS_AT).collect();
        assert_eq!(nows, expected);
        let (edge, _) = all.last().unwrap();
        assert!((waves.failed_ps..waves.failed_ps + PERIOD).contains(edge));
    }
}

#[test]
fn whole_waves_begin_with_the_case() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = Wanted {
        folder: folder.path().to_owned(),
        before: Some(20),
        after: 10,
        whole: true,
    };
    let case = History {
        head: (),
        events: vec![],
    };
    let Retraced::Failed(failed) = retrace::units::<Planted>(3, &case, &wanted).unwrap() else {
        panic!("it fails")
    };
    assert_eq!(failed.waves.len(), 2);
    let all = edges(
        &failed.waves[0].path,
        "PfcRx40.now_i",
        "PfcRx40.clk_i",
        None,
    );
    let (edge, last) = all.last().unwrap();
    // The bench resets at 1,000 and goes on to the failing cycle without a gap.
    let counted = all
        .iter()
        .filter(|(_, now)| now.as_u64() >= Some(1_000))
        .count() as u64;
    assert!(counted > FAILS_AT - 1_000, "{counted}");
    assert_eq!(last.as_u64(), Some(FAILS_AT));
    assert!((failed.waves[0].failed_ps..failed.waves[0].failed_ps + PERIOD).contains(edge));
}

#[test]
fn a_case_that_holds_has_waves_only_if_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let case = argument("cases/dcqcn/deadline_just_missed.case");
    let arguments = ["replay", &case, "--out", out];
    let left = folder.path().join("replay/deadline_just_missed");
    assert_eq!(command(&arguments).outcome.unwrap(), Outcome::Held);
    assert!(!left.exists());
    let said = command(&[&arguments[..], &["--whole"]].concat());
    assert_eq!(said.outcome.unwrap(), Outcome::Held);
    let files = fs::read_dir(left).unwrap();
    let mut paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "fst"));
    // The unit of that case alone works, and its waves are named in the output.
    assert_eq!(paths.len(), said.out.matches("waves: gtkwave").count());
    assert!(!paths.is_empty(), "{}", said.out);
}

/// What a NIC did wrong may be found long after it, so a short case is shown from its beginning, unless fewer cycles are
/// asked for.
#[test]
fn waves_of_a_short_case_of_nics_begin_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let case = argument(PLANTED);
    let waves = folder.path().join("replay/forged_payload/nic1.fst");
    let first_edge = |more: &[&str]| {
        let said = command(&[&["replay", case.as_str(), "--out", out], more].concat());
        assert_eq!(said.outcome.unwrap(), Outcome::Failed);
        let edges = edges(&waves, "nic1.rst_i", "nic1.clk_i", None);
        (edges[0].0, said.out.contains("reached again from"))
    };
    // The first edge is in the middle of the first cycle.
    assert_eq!(first_edge(&[]), (PERIOD / 2, false));
    // It fails in cycle 1,370.
    let (begin, reached) = first_edge(&["--before", "100"]);
    assert!(begin > 1_200 * PERIOD && reached, "{begin}");
}

#[test]
fn a_kept_case_is_made_smaller() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = ["--shrink", "--no-waves", "--out", out];
    let planted = argument(PLANTED);
    let said = command(&[&["replay", planted.as_str()], &arguments[..]].concat());
    assert_eq!(said.outcome.unwrap(), Outcome::Failed);
    let (_, rest) = said.out.split_once("from 4 events to 2:\n").unwrap();
    let mut lines = rest.lines();
    let small = lines.find_map(|line| line.strip_prefix("written to "));
    let small = small.unwrap();
    // The file is a case that fails by itself.
    let again = command(&["replay", small, "--no-waves"]);
    assert_eq!(again.outcome.unwrap(), Outcome::Failed);
    assert!(
        again.out.contains("memory of side 1: wrong bytes"),
        "{}",
        again.out
    );

    // A case that holds leaves none.
    fs::remove_file(small).unwrap();
    let holds = argument("cases/dcqcn/deadline_just_missed.case");
    let said = command(&[&["replay", holds.as_str()], &arguments[..]].concat());
    assert_eq!(said.outcome.unwrap(), Outcome::Held);
    let left = fs::read_dir(folder.path().join("replay")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn an_interrupted_replay_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // Messages for half a minute, and no fault.
    let planted = fs::read_to_string(file(PLANTED)).unwrap();
    let mut lines: Vec<&str> = planted.lines().collect();
    let post = lines[4];
    lines.truncate(3);
    for _ in 0..60 {
        lines.extend([post, "wait 60000"]);
    }
    let case = lines.join("\n").replace("\"forged\":40,", "");
    let path = folder.path().join("long.case");
    // Every cycle evaluated.
    fs::write(&path, case.replace("\"twice\":false", "\"twice\":true")).unwrap();
    let replay = std::process::Command::new(env!("CARGO_BIN_EXE_xoff-verify"))
        .args(["replay", "long.case"])
        .current_dir(folder.path())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let pid = nix::unistd::Pid::from_raw(replay.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = replay.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "xoff: interrupted before a difference was found\n");
    assert_eq!(output.status.code(), Some(130));
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_full_disk_is_one_message() {
    let full = fs::File::create("/dev/full").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_xoff-verify"))
        .args(["replay", &argument(PLANTED), "--no-waves"])
        .stdout(full)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "xoff: No space left on device (os error 28)\n");
    assert_eq!(output.status.code(), Some(2));

    // A folder that cannot be created.
    let said = command(&["replay", &argument(PLANTED), "--out", "/dev/null"]);
    let error = format!("{:#}", said.outcome.unwrap_err());
    assert_eq!(
        error,
        "/dev/null/replay/forged_payload: Not a directory (os error 20)"
    );
}

/// A run of two hosts with RTL NICs, 60 µs long.
struct Pair {
    folder: tempfile::TempDir,
}

impl Pair {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs it as a process. Returns the summary without what differs between runs, and what was said beside it.
    fn run(&self, more: &[&str], exit: i32) -> (Value, String) {
        let settings = [
            "--set",
            "duration=60 us",
            "--set",
            "measure_from=10 us",
            "--set",
            "sample=2 us",
            "--set",
            "flows.bulk.message=4096 B",
        ];
        let mut command = xoff();
        command.args(["run", "pair", "--json", "--seed", "5"]);
        command.args(settings).args(more);
        let output = command
            .current_dir(self.folder.path())
            .assert()
            .code(exit)
            .get_output()
            .clone();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut summary: Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(fields) = summary.as_object_mut() {
            fields.retain(|key, _| key != "wall_s" && key != "files");
        }
        (summary, String::from_utf8(output.stderr).unwrap())
    }

    fn checkpoints(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.folder.path().join("out/.checkpoints"));
        let Ok(all) = all else { return vec![] };
        let mut files: Vec<PathBuf> = all
            .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        files
    }

    /// The waves of host b from 50 to 51 µs.
    fn waves(&self) -> Vec<(u64, Value)> {
        let path = self.folder.path().join("out/pair/b.fst");
        edges(&path, "b.rx_data_i", "b.clk_i", None)
    }
}

/// Messages of 4 KiB do not fill the wire, which the scenario expects of longer ones.
const MISSED: i32 = 1;
const WAVES: [&str; 2] = ["--waves", "b:50us-51us"];

#[test]
fn waves_from_a_checkpoint_are_those_of_the_whole_run() {
    let pair = Pair::new();
    let (plain, said) = pair.run(&[&WAVES[..], &["--checkpoints", "off"]].concat(), MISSED);
    assert_eq!((said.as_str(), pair.checkpoints().len()), ("", 0));
    let waves = pair.waves();
    // 1 µs has 195.3 cycles.
    assert!((195..=196).contains(&waves.len()), "{}", waves.len());

    // Checkpoints change nothing.
    let (kept, said) = pair.run(&["--checkpoints", "20us"], MISSED);
    assert_eq!((said.as_str(), &kept), ("", &plain));
    let times: Vec<String> = (pair.checkpoints().iter())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        times,
        [20_u64, 40, 60].map(|us| format!("{:020}", us * 1_000_000))
    );

    // The same from a checkpoint; nothing behind the window is simulated again either.
    fs::remove_file(pair.folder.path().join("out/pair/b.fst")).unwrap_or_default();
    let (jumped, said) = pair.run(&WAVES, MISSED);
    assert_eq!(
        said,
        "xoff: goes on from a checkpoint at 40 us\nxoff: goes on from a checkpoint at 60 us\n"
    );
    assert_eq!(jumped, plain);
    assert_eq!(pair.waves(), waves);

    // With another setting it is another run.
    let (_, said) = pair.run(
        &[&WAVES[..], &["--set", "flows.bulk.mtu=512"]].concat(),
        MISSED,
    );
    assert_eq!(said, "");
    // A capture begins at the start.
    let (captured, said) = pair.run(&[&WAVES[..], &["--pcap"]].concat(), MISSED);
    assert_eq!(
        (said.as_str(), captured["digest"].clone()),
        ("", plain["digest"].clone())
    );
}

#[test]
fn checkpoints_that_are_of_no_use_are_named_and_the_run_is_right() {
    let pair = Pair::new();
    let (plain, _) = pair.run(&["--checkpoints", "20us"], MISSED);
    let files = pair.checkpoints();
    let name = |at: usize| {
        let root = pair.folder.path();
        files[at].strip_prefix(root).unwrap().display().to_string()
    };

    // The one at 40 µs is damaged, so the one before it is taken.
    let mut bytes = fs::read(&files[1]).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&files[1], bytes).unwrap();
    let (jumped, said) = pair.run(&WAVES, MISSED);
    assert_eq!(jumped, plain);
    let expected = format!(
        "xoff: {}: damaged: its checksum does not match; not used\nxoff: goes on from a checkpoint at 20 us\n",
        name(1)
    );
    assert!(said.starts_with(&expected), "{said}");

    // As if another build had written them: bytes 8 to 15 are the hash of the program.
    for file in &files {
        let mut bytes = fs::read(file).unwrap();
        bytes[8] ^= 1;
        fs::write(file, bytes).unwrap();
    }
    let (again, said) = pair.run(&WAVES, MISSED);
    assert_eq!(again, plain);
    let folder = Path::new(&name(0)).parent().unwrap().display().to_string();
    let first = said.lines().next().unwrap();
    assert_eq!(
        first,
        format!(
            "xoff: {folder}: 2 checkpoints were written by another build of xoff and are not used"
        )
    );

    // A place where none can be kept.
    let pair = Pair::new();
    fs::create_dir(pair.folder.path().join("out")).unwrap();
    fs::write(pair.folder.path().join("out/.checkpoints"), "").unwrap();
    let (summary, said) = pair.run(&["--checkpoints", "20us"], MISSED);
    assert_eq!(summary, plain);
    assert!(
        said.contains("this run keeps no more checkpoints") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn waves_begin_at_a_condition() {
    let pair = Pair::new();
    let waves = ["--checkpoints", "20us", "--waves", "a:45us-47us"];
    let (plain, _) = pair.run(&waves, MISSED);
    let path = pair.folder.path().join("out/pair/a.fst");
    // The first completion behind 45 µs, as the waves of that time show it: one every 0.9 µs.
    let when = "a.cqe_valid_o && a.cqe_ready_i";
    let all = edges(&path, "a.now_i", "a.clk_i", Some(when));
    let edge = all[0].0;
    let arguments = [
        "--wave-when",
        when,
        "--wave-before",
        "100",
        "--wave-after",
        "20",
    ];
    let from = ["--wave-from", "45us"];
    let (found, said) = pair.run(&[&arguments[..], &from].concat(), MISSED);
    assert_eq!(found, plain);
    let from_checkpoints =
        "xoff: goes on from a checkpoint at 40 us\nxoff: goes on from a checkpoint at 60 us\n";
    let at = edge as f64 / 1e6;
    let holds = format!("xoff: --wave-when '{when}': holds first at {at} us\n");
    assert_eq!(said, format!("{from_checkpoints}{holds}"));
    let window = edges(&path, "a.now_i", "a.clk_i", None);
    let place = window.iter().position(|(time, _)| *time == edge).unwrap();
    assert_eq!((place, window.len() - 1 - place), (100, 20));
    assert_eq!(marker(&path.with_extension("gtkw")), edge);

    // A bit of a vector that is never set: one class of all, and no PFC in this scenario.
    let arguments = [
        "--wave-when",
        "a.pins.nic.u_pause.xoff[3]",
        "--wave-from",
        "59us",
    ];
    let (found, said) = pair.run(&arguments, MISSED);
    assert_eq!(found, plain);
    let nothing = "xoff: --wave-when 'a.pins.nic.u_pause.xoff[3]': no clock edge fulfils it from 59 us to 60 us";
    assert_eq!(said.lines().last(), Some(nothing));
    assert!(!path.exists());
}

#[test]
fn what_is_wrong_with_a_condition_is_said_before_anything_runs() {
    let pair = Pair::new();
    let refused = |condition: &str, more: &[&str]| {
        let (_, said) = pair.run(&[&["--wave-when", condition], more].concat(), 2);
        assert_eq!(said.lines().count(), 1, "{said}");
        said.trim_end().strip_prefix("xoff: ").unwrap().to_owned()
    };
    let unknown = refused("a.pins.nic.u_pause.xof[3]", &[]);
    assert!(
        unknown.starts_with(
            "--wave-when a.pins.nic.u_pause.xof[3]: no such signal; did you mean a.pins.nic.u_pause.xoff"
        ),
        "{unknown}"
    );
    assert_eq!(
        refused("a.pins.nic.u_pause.xoff[8]", &[]),
        "--wave-when a.pins.nic.u_pause.xoff[8]: a.pins.nic.u_pause.xoff has the bits 0 to 7"
    );
    assert_eq!(
        refused("idle_o", &[]),
        "--wave-when 'idle_o': of which host? Write HOST.SIGNAL; hosts with an RTL NIC are a, b"
    );
    assert_eq!(
        refused("a.idle_o && !b.idle_o", &[]),
        "--wave-when 'a.idle_o && !b.idle_o': signals of several hosts: a condition is about one of a, b"
    );
    assert_eq!(
        refused("a.idle_o", &["--wave-from", "60us"]),
        "--wave-from 60 us: the run ends at 60 us"
    );
    assert_eq!(
        refused("a.idle_o", &["--set", "host.nic=model"]),
        "--wave-when: all NICs are models, and only RTL has waves: nic = \"rtl\""
    );
    assert!(!pair.folder.path().join("out").exists());
}

/// The commands of docs/debugging.md, with their exit codes.
fn commands_of_the_page() -> Vec<(Vec<String>, i32)> {
    let page = fs::read_to_string(file("../docs/debugging.md")).unwrap();
    let page = page.replace(" \\\n", " ");
    let blocks = page.split("```").skip(1).step_by(2);
    let lines = blocks.filter_map(|block| block.strip_prefix("sh\n"));
    let commands = lines.flat_map(str::lines).map(|line| {
        let (line, exit) = line.split_once("  # exit code ").unwrap_or((line, "0"));
        let exit = exit.parse().expect("a number");
        // Words, with '…' around some or a part of them.
        let mut words = vec![String::new()];
        for (place, part) in line.split('\'').enumerate() {
            match place % 2 {
                1 => *words.last_mut().unwrap() += part,
                _ => {
                    for (place, word) in part.split(' ').enumerate() {
                        if place > 0 {
                            words.push(String::new());
                        }
                        *words.last_mut().unwrap() += word;
                    }
                }
            }
        }
        words.retain(|word| !word.is_empty());
        (words, exit)
    });
    commands.collect()
}

#[test]
fn the_commands_of_the_page_do_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let sources = file("..").join("testbenches");
    std::os::unix::fs::symlink(sources, folder.path().join("testbenches")).unwrap();
    let commands = commands_of_the_page();
    assert!(commands.len() >= 7, "{commands:?}");
    for (words, exit) in commands {
        assert_eq!(words[0], "xoff");
        let output = xoff()
            .args(&words[1..])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{words:?}: {said}");
        if words.contains(&"b:110us-111us".into()) {
            assert!(
                said.contains("goes on from a checkpoint at 100 us"),
                "{said}"
            );
        }
    }
    // What the page prints of the first one.
    let page = fs::read_to_string(file("../docs/debugging.md")).unwrap();
    let account = folder.path().join("out/replay/forged_payload/failure.txt");
    let account = fs::read_to_string(account).unwrap();
    let verdict = account.lines().nth(2).unwrap();
    assert!(page.contains(verdict), "{verdict}");
}
