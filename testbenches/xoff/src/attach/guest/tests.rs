//! A guest that a thread plays: its clock goes between `cont` and `stop` alone.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration as Wall, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use xoff_sim::time::{Duration, Time};

use super::*;
use crate::attach::Clock;
use crate::attach::clock::on_wall;

const GREETING: &str = r#"{"QMP": {"version": {}, "capabilities": []}}"#;
/// How long a monitor is waited for at which nobody listens, or that says nothing.
const BRIEF: Wall = Wall::from_millis(300);

/// What a played guest does otherwise.
#[derive(Clone, Copy, Default)]
struct Play {
    /// Its machine has no timer at the port.
    no_timer: bool,
    /// The state that it says to be in.
    state: Option<&'static str>,
    /// How many times it stops before it is gone.
    stops: Option<usize>,
    /// How long `stop` takes.
    stop_takes: Wall,
}

/// What the guest has seen.
#[derive(Default)]
struct Played {
    /// The commands, in their order.
    commands: Vec<String>,
    /// Since when it runs.
    since: Option<Instant>,
    /// What has passed of its time.
    time: Wall,
}

impl Played {
    fn time(&self) -> Wall {
        self.time + self.since.map_or(Wall::ZERO, |since| since.elapsed())
    }
}

/// A monitor's socket, in a folder of its own, and the guest behind it.
struct Qemu {
    folder: TempDir,
    played: Arc<Mutex<Played>>,
    thread: JoinHandle<()>,
}

impl Qemu {
    fn play(play: Play) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("qmp.sock")).unwrap();
        let played = Arc::new(Mutex::new(Played {
            since: Some(Instant::now()),
            ..Played::default()
        }));
        let seen = Arc::clone(&played);
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            serve(&stream, play, &seen);
        });
        Self {
            folder,
            played,
            thread,
        }
    }

    fn options(&self, step: Duration) -> StepOptions {
        options(self.folder.path(), step)
    }

    fn guest(&self, step: Duration) -> anyhow::Result<Guest> {
        let guest = Guest::stop(&self.options(step), BRIEF)?;
        Ok(guest.expect("nobody interrupts it"))
    }

    fn time(&self) -> Wall {
        self.played.lock().unwrap().time()
    }

    /// Waits until the other end is gone. Returns what was seen.
    fn end(self) -> Played {
        self.thread.join().unwrap();
        std::mem::take(&mut *self.played.lock().unwrap())
    }
}

fn options(folder: &Path, step: Duration) -> StepOptions {
    StepOptions {
        monitor: format!("unix:{}/qmp.sock", folder.display())
            .parse()
            .unwrap(),
        step,
    }
}

/// An event, which tells when it was since the guest was made.
fn event(name: &str, since: Wall, data: Value) -> Value {
    let timestamp = json!({"seconds": since.as_secs(), "microseconds": since.subsec_micros()});
    json!({"event": name, "timestamp": timestamp, "data": data})
}

fn serve(stream: &UnixStream, play: Play, played: &Mutex<Played>) {
    let mut write = stream;
    let mut say = |line: String| drop(write.write_all(format!("{line}\r\n").as_bytes()));
    say(GREETING.into());
    let (made, mut stops) = (Instant::now(), 0);
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        let command = message["execute"].as_str().unwrap().to_owned();
        let mut played = played.lock().unwrap();
        played.commands.push(command.clone());
        let answer = match command.as_str() {
            "query-status" => {
                let state = play.state.unwrap_or("running");
                json!({"status": state, "running": state == "running", "singlestep": false})
            }
            "cont" => {
                if played.since.is_none() {
                    let now = Instant::now();
                    say(event("RESUME", now - made, Value::Null).to_string());
                    played.since = Some(now);
                }
                json!({})
            }
            "stop" => {
                thread::sleep(play.stop_takes);
                if let Some(since) = played.since.take() {
                    let now = Instant::now();
                    played.time += now - since;
                    say(event("STOP", now - made, Value::Null).to_string());
                }
                stops += 1;
                if play.stops.is_some_and(|most| stops > most) {
                    let reason = json!({"guest": true, "reason": "guest-shutdown"});
                    say(event("SHUTDOWN", made.elapsed(), reason).to_string());
                    return;
                }
                json!({})
            }
            "human-monitor-command" => {
                assert_eq!(message["arguments"]["command-line"], "i /w 0x608");
                let ticks = played.time().as_nanos() * 3_579_545 / 1_000_000_000;
                let value = match play.no_timer {
                    true => u32::MAX,
                    false => (ticks as u32).wrapping_add(0xFF_0000) & 0xFF_FFFF,
                };
                // Between a command and its answer anything may be said.
                let change = event("RTC_CHANGE", made.elapsed(), json!({"offset": 1}));
                say(change.to_string());
                json!(format!("portl[0x0608] = {value:#010x}\r\n"))
            }
            _ => json!({}),
        };
        drop(played);
        say(json!({"return": answer}).to_string());
    }
}

/// Nanoseconds by which two times differ.
fn apart(guest: Wall, simulated: Duration) -> u64 {
    let simulated = on_wall(simulated);
    guest.abs_diff(simulated).as_nanos() as u64
}

/// Steps a guest in turn with a simulation that takes long, and returns how far the clocks were apart at most, and what
/// the longest step was.
fn in_turn(qemu: &Qemu, step: Duration) -> (u64, u64) {
    let clock = Clock::start(&super::super::ClockOptions::Step(qemu.options(step)), BRIEF);
    let mut clock = clock.unwrap().unwrap();
    let start = Time::ZERO + Duration::from_ms(3);
    let (first, mut now, mut most) = (qemu.time(), start, 0);
    for _ in 0..50 {
        clock.wait(now, Some(now)).unwrap();
        loop {
            // The guest stands still meanwhile.
            thread::sleep(Wall::from_micros(100));
            let guest = qemu.time() - first;
            let simulated = now.saturating_since(start);
            most = most.max(apart(guest, simulated));
            let until = clock.until(now, Some(now));
            assert!(until >= now, "simulated time does not go back");
            if until == now {
                break;
            }
            now = until;
        }
        // Each step ends with both at the same time, but for what the timer cannot tell.
        assert_eq!(on_wall(now.saturating_since(start)), clock.passed());
    }
    let guest = qemu.time() - first;
    most = most.max(apart(guest, now.saturating_since(start)));
    let stepped = clock.stepped().unwrap();
    assert_eq!(stepped.steps, 50);
    assert_eq!(now.saturating_since(start), stepped.guest);
    (most, on_wall(stepped.longest).as_nanos() as u64)
}

#[test]
fn the_clocks_are_never_further_apart_than_a_step() {
    for (step, stop_takes) in [(1000, 200), (50, 300)] {
        let qemu = Qemu::play(Play {
            stop_takes: Wall::from_micros(stop_takes),
            ..Play::default()
        });
        let began = Instant::now();
        let (most, longest) = in_turn(&qemu, Duration::from_us(step));
        let wall = began.elapsed();
        // A tick of the timer is 279 ns.
        assert!(
            most <= longest + 1000,
            "{most} ns apart, {longest} ns the longest step"
        );
        let played = qemu.end();
        assert!(played.since.is_some(), "the guest is left running");
        // The simulation has taken 0.1 ms for 20 us, and the guest's time has not passed meanwhile.
        assert!(played.time < wall / 2, "{:?} of {wall:?}", played.time);
        let commands: Vec<&str> = played.commands.iter().map(String::as_str).collect();
        let begin = [
            "qmp_capabilities",
            "query-status",
            "stop",
            "human-monitor-command",
        ];
        assert_eq!(commands[..4], begin);
        let steps = &commands[4..commands.len() - 1];
        assert_eq!(steps.len(), 150);
        for step in steps.chunks(3) {
            assert_eq!(step, ["cont", "stop", "human-monitor-command"]);
        }
        assert_eq!(commands.last(), Some(&"cont"));
    }
}

#[test]
fn without_a_timer_events_tell_the_time() {
    let qemu = Qemu::play(Play {
        no_timer: true,
        stop_takes: Wall::from_micros(200),
        ..Play::default()
    });
    let mut guest = qemu.guest(Duration::from_us(500)).unwrap();
    let first = qemu.time();
    for _ in 0..100 {
        guest.step().unwrap();
    }
    let (time, told) = (qemu.time() - first, guest.time());
    let told = on_wall(told);
    // Events tell microseconds.
    let apart = told.abs_diff(time);
    assert!(apart <= Wall::from_micros(200), "{told:?}, {time:?}");
    drop(guest);
    assert!(qemu.end().since.is_some());
}

#[test]
fn a_guest_that_goes_says_why() {
    let qemu = Qemu::play(Play {
        stops: Some(3),
        ..Play::default()
    });
    let mut guest = qemu.guest(Duration::from_us(100)).unwrap();
    assert!(guest.step().is_ok() && guest.step().is_ok());
    let error = guest.step().unwrap_err().to_string();
    assert!(error.contains("QEMU closed it"), "{error}");
    let reason = r#"its last event was SHUTDOWN {"guest":true,"reason":"guest-shutdown"}"#;
    assert!(error.contains(reason), "{error}");
}

#[test]
fn a_guest_that_cannot_go_on_is_refused_and_one_that_waits_is_not() {
    for state in ["paused", "prelaunch"] {
        let qemu = Qemu::play(Play {
            state: Some(state),
            ..Play::default()
        });
        drop(qemu.guest(Duration::from_ms(1)).unwrap());
        assert!(qemu.end().since.is_some(), "{state}");
    }
    let qemu = Qemu::play(Play {
        state: Some("guest-panicked"),
        ..Play::default()
    });
    let error = qemu.guest(Duration::from_ms(1)).err().unwrap().to_string();
    assert!(error.contains("state 'guest-panicked'"), "{error}");
    let commands = qemu.end().commands;
    assert_eq!(commands, ["qmp_capabilities", "query-status"]);
}

/// The error of a monitor whose socket is in a folder.
#[track_caller]
fn refused(folder: &Path, said: &[&str]) {
    refused_within(PATIENCE, folder, said);
}

/// The same, where each answer may take so long.
#[track_caller]
fn refused_within(patience: Wall, folder: &Path, said: &[&str]) {
    let options = options(folder, Duration::from_ms(1));
    let guest = Guest::stop_patiently(&options, BRIEF, patience);
    let error = format!("{:#}", guest.err().expect("it is refused"));
    for said in said {
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn sockets_that_are_no_monitor_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("qmp.sock");
    let right = "QEMU does with -qmp unix:";
    refused(folder.path(), &["nobody listened in 0 s", right]);
    // What a QEMU has left that was killed.
    drop(UnixListener::bind(&path).unwrap());
    refused(folder.path(), &["nobody listened in 0 s", right]);
    std::fs::remove_file(&path).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
    refused(
        folder.path(),
        &[
            "its mode is 777, so that anybody here may stop the guest",
            "chmod o-w is right",
        ],
    );
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    // A monitor that another program has takes connections and says nothing.
    refused_within(
        BRIEF,
        folder.path(),
        &[
            "no greeting in 0.3 s",
            "another program has this monitor",
            "-qmp makes another",
        ],
    );
    drop(listener);
    for (greeting, said) in [
        ("", "closed without a greeting"),
        ("{\"QMP\"", "closed without a greeting"),
        ("SSH-2.0-x\r\n", "it says 'SSH-2.0-x'; the greeting of QMP"),
        ("{\"return\": {}}\n", "the greeting of QMP"),
    ] {
        std::fs::remove_file(&path).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        let thread = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(greeting.as_bytes()).unwrap();
        });
        refused(folder.path(), &[said]);
        thread.join().unwrap();
    }
}

#[test]
fn answers_that_are_none_are_named() {
    for (answer, said) in [
        ("{}\n", "no message of QMP"),
        ("nothing\n", "'nothing'"),
        (
            "{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"no such command\"}}\n",
            "qmp_capabilities: QEMU refuses it: no such command",
        ),
        ("", "qmp_capabilities: QEMU closed it"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("qmp.sock")).unwrap();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            (&stream)
                .write_all(format!("{GREETING}\n").as_bytes())
                .unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            (&stream).write_all(answer.as_bytes()).unwrap();
        });
        refused(folder.path(), &[said]);
        thread.join().unwrap();
    }
}

#[test]
fn places_are_read_as_qemu_writes_them() {
    for text in ["unix:a/qmp.sock", "tcp:127.0.0.1:4444"] {
        assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
    }
    for (text, said) in [
        ("qmp.sock", "expected unix:PATH or tcp:127.0.0.1:PORT"),
        ("unix:", "expected unix:PATH"),
        ("unix:qmp.sock,server=on,wait=off", "expected unix:PATH"),
        ("tcp:0.0.0.0:4444", "127.0.0.1 or [::1] is right"),
        ("tap:xoff0", "expected unix:PATH"),
    ] {
        let wrong = text.parse::<Place>().unwrap_err();
        assert!(wrong.contains(said) && wrong.contains(text), "{wrong}");
    }
}
