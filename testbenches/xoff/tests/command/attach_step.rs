//! `xoff attach --step`: a thread plays QEMU's monitor, and the guest's clock, which goes while the guest runs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use xoff::Outcome;

use crate::attach::{Cable, FAR, INCAST, LINUX, complete, network};
use crate::common::run;

/// What a monitor was asked for, in this order.
type Asked = Vec<String>;

/// Plays a monitor at a socket, which is gone after so many stops.
fn monitor(path: &Path, most: usize) -> JoinHandle<Asked> {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || serve(&listener.accept().unwrap().0, most))
}

fn serve(stream: &UnixStream, most: usize) -> Asked {
    let mut write = stream;
    let mut say = |line: Value| drop(write.write_all(format!("{line}\r\n").as_bytes()));
    say(json!({"QMP": {"version": {}, "capabilities": ["oob"]}}));
    let (mut asked, mut stops) = (Vec::new(), 0);
    let (mut since, mut time) = (Some(Instant::now()), Duration::ZERO);
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        let command = message["execute"].as_str().unwrap();
        asked.push(command.to_owned());
        let answer = match command {
            "query-status" => json!({"status": "running", "running": true}),
            "cont" => {
                since.get_or_insert_with(Instant::now);
                json!({})
            }
            "stop" if stops == most => return asked,
            "stop" => {
                stops += 1;
                time += since.take().map_or(Duration::ZERO, |it| it.elapsed());
                json!({})
            }
            "human-monitor-command" => {
                let ticks = time.as_nanos() * 3_579_545 / 1_000_000_000;
                json!(format!("portl[0x0608] = {:#010x}\r\n", ticks & 0xFF_FFFF))
            }
            _ => json!({}),
        };
        say(json!({"return": answer}));
    }
    asked
}

/// That a monitor was asked for the guest's steps, and to go on at the end.
#[track_caller]
fn stepped(asked: &Asked, summary: &Value) {
    assert_eq!(asked.last().unwrap(), "cont", "the guest is left running");
    let steps = summary["stepped"]["steps"].as_u64().unwrap();
    let conts = asked.iter().filter(|it| *it == "cont").count() as u64;
    assert!(steps > 10, "{steps}");
    assert_eq!(conts, steps + 1);
}

fn time(value: &Value) -> xoff_sim::time::Duration {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn a_peer_goes_in_step() {
    let cable = Cable::new();
    let socket = cable.results("qmp.sock");
    let asked = monitor(&socket, usize::MAX);
    let place = format!("unix:{}", socket.display());
    let tool = ["--model", "ibv_rc_pingpong", "-s", "5000", "-n", "20"];
    let step = ["--step", "200us", "--qmp", &place];
    let ends = cable.both(
        &[&step, &tool[..]].concat(),
        &[&tool[..], &["192.0.2.2"]].concat(),
    );
    complete(&ends, [20, 20]);
    let [(_, server), (_, client)] = ends;
    stepped(&asked.join().unwrap(), &server);
    assert_eq!(client["stepped"], Value::Null);
    // Simulated time is the guest's, but for a step that was not simulated to its end.
    let [guest, longest] = ["guest", "longest"].map(|key| time(&server["stepped"][key]));
    let simulated = time(&server["duration"]);
    assert!(
        simulated <= guest && guest <= simulated + longest,
        "{simulated}, {guest}, {longest}"
    );
    cable.check("server");
}

#[test]
fn a_host_of_a_network_goes_in_step() {
    let cable = Cable::new();
    let socket = cable.results("qmp.sock");
    let asked = monitor(&socket, usize::MAX);
    let place = format!("unix:{}", socket.display());
    let network = network(&cable, &["--step", "500us", "--qmp", &place]);
    cable.listened();
    let tool = ["ib_send_bw", "-s", "8192", "-n", "200", "-m", "1024", FAR];
    let client = [&["--model", "--connect"], &LINUX[..], &tool].concat();
    let client = cable.end("client", &client);
    let (outcome, summary) = network.join().unwrap();
    assert_eq!(
        outcome.as_ref(),
        Ok(&Outcome::Held),
        "{:#}",
        summary["attached"]
    );
    let (outcome, _) = client.join().unwrap();
    assert_eq!(outcome, Ok(Outcome::Held));
    stepped(&asked.join().unwrap(), &summary["attached"]);
}

#[test]
fn a_machine_that_goes_ends_it_in_order() {
    let cable = Cable::new();
    let socket = cable.results("qmp.sock");
    let asked = monitor(&socket, 20);
    let place = format!("unix:{}", socket.display());
    let step = ["--model", "--step", "1ms", "--qmp", &place];
    let end = cable.end("end", &[&step[..], &["ibv_rc_pingpong"]].concat());
    cable.listened();
    let peer = UnixStream::connect(cable.socket()).unwrap();
    let (outcome, summary) = end.join().unwrap();
    let error = outcome.unwrap_err();
    assert!(error.contains("QEMU closed it"), "{error}");
    assert_eq!(summary["error"], error);
    assert_eq!(summary["stepped"]["steps"], 19);
    assert_eq!(asked.join().unwrap().last().unwrap(), "stop");
    drop(peer);
}

#[test]
fn silence_is_of_the_guests_time() {
    let cable = Cable::new();
    let socket = cable.results("qmp.sock");
    let asked = monitor(&socket, usize::MAX);
    let place = format!("unix:{}", socket.display());
    let step = ["--model", "--step", "1ms", "--qmp", &place, "--wait", "1"];
    let end = cable.end("end", &[&step[..], &["ibv_rc_pingpong"]].concat());
    cable.listened();
    let peer = UnixStream::connect(cable.socket()).unwrap();
    let (outcome, summary) = end.join().unwrap();
    let error = outcome.unwrap_err();
    assert!(error.contains("no frame of the peer in 1 s"), "{error}");
    stepped(&asked.join().unwrap(), &summary);
    let second = xoff_sim::time::Duration::from_s(1);
    assert!(time(&summary["stepped"]["guest"]) >= second, "{summary:#}");
    drop(peer);
}

#[test]
fn an_interrupted_end_leaves_the_guest_running() {
    let cable = Cable::new();
    let socket = cable.results("qmp.sock");
    let asked = monitor(&socket, usize::MAX);
    let path = |name: &str| cable.results(name).display().to_string();
    let mut end = Command::new(crate::PROGRAM)
        .args([
            "attach",
            &format!("dgram:{},{}", path("a.sock"), path("b.sock")),
        ])
        .args(["--model", "--step", "100us", "--out", &path("end")])
        .args(["--qmp", &format!("unix:{}", socket.display())])
        .arg("ibv_rc_pingpong")
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !cable.results("end/capture.pcapng").exists() {
        sleep(Duration::from_millis(10));
    }
    sleep(Duration::from_millis(300));
    kill(Pid::from_raw(end.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(end.wait().unwrap().code(), Some(130));
    assert_eq!(asked.join().unwrap().last().unwrap(), "cont");
}

#[test]
fn what_does_not_go_with_steps_is_refused() {
    let refused = |words: &[&str], said: &str| {
        let tools = [&[][..], &["ibv_rc_pingpong"]];
        for (begin, tool) in [["run", INCAST], ["attach", "unix:x.sock"]]
            .iter()
            .zip(tools)
        {
            let attach = ["--attach", "linux=unix:x.sock"];
            let attach = if begin[0] == "run" { &attach[..] } else { &[] };
            let words = [&begin[..], attach, words, tool].concat();
            let error = format!("{:#}", run(&words, None, false).outcome.unwrap_err());
            assert!(error.contains(said), "{words:?}: {error}");
        }
    };
    let qmp = ["--qmp", "unix:qmp.sock"];
    refused(
        &[&qmp[..], &["--step", "1ms", "--pace", "0.2"]].concat(),
        "--pace: with --step, simulated time goes as far as the guest's clock",
    );
    refused(&["--step", "1ms"], "--qmp unix:PATH says where that is");
    refused(&qmp, "--step 1ms is right");
}

#[test]
fn steps_that_cannot_be_are_refused() {
    use clap::Parser as _;
    for (step, said) in [
        ("5us", "from 10 us to 100 ms is right"),
        ("1s", "from 10 us to 100 ms is right"),
        ("50", "'50'"),
    ] {
        let words = [
            "xoff",
            "attach",
            "unix:x.sock",
            "--qmp",
            "unix:q",
            "--step",
            step,
            "ibv_rc_pingpong",
        ];
        let wrong = xoff::cli::Cli::try_parse_from(words)
            .unwrap_err()
            .to_string();
        assert!(wrong.contains(said), "{wrong}");
    }
}
