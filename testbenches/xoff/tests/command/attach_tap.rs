//! `xoff attach tap:NAME`: the kernel of this machine is the peer, in a network namespace that a test has for itself.
//!
//! They need root, `ip` and /dev/net/tun. Where one of them is missing, a test says on stderr what it has not checked.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::process::CommandExt as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use clap::Parser as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl, opcode};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use serde_json::Value;
use tempfile::TempDir;
use xoff::Outcome;
use xoff::cli::Cli;

use crate::attach::checksum;
use crate::common::run;

/// What came of an end: `Ok` or the error's text, and `summary.json`.
type Came = (Result<Outcome, String>, Value);

/// The address of the kernel, of the scripts and of the page.
const KERNEL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// That of the host beside the NIC.
const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// What a ping says.
const PING: &[u8] = b"a ping of Xoff";
const READY: &str = "ip tuntap add dev xoff0 mode tap && ip link set xoff0 up && ip addr add 192.0.2.1/24 dev xoff0";

/// Runs a test in a thread with network devices of its own, which are gone with it. Says so if there can be none.
fn with_devices(test: &str, run: impl FnOnce() + Send) {
    let ready = |reason: Option<String>| match reason {
        None => true,
        Some(reason) => {
            // Not by `eprintln`: what a test that holds has printed so is not shown.
            let said = writeln!(io::stderr(), "attach_tap::{test}: NOT CHECKED: {reason}");
            said.unwrap();
            false
        }
    };
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: file descriptors stay those of the process.
            let own = unsafe { unshare_unsafe(UnshareFlags::NEWNET) };
            let own = own.map_err(|error| format!("no network namespace: {error}"));
            let tun = own.and_then(|()| match fs::File::open("/dev/net/tun") {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("/dev/net/tun: {error}")),
            });
            let ip = tun.and_then(|()| match Command::new("ip").arg("-V").output() {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("ip of iproute2: {error}")),
            });
            if ready(ip.err()) {
                run();
            }
        });
        if let Err(panic) = thread.join() {
            resume_unwind(panic);
        }
    });
}

/// Runs commands of a shell in this thread's namespace.
#[track_caller]
fn shell(script: &str) {
    let done = Command::new("sh").args(["-ec", script]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{script}: {said}");
}

/// Starts an end in a thread of its own.
fn end(out: &Path, device: &str, arguments: &[&str]) -> JoinHandle<Came> {
    let place = format!("tap:{device}");
    let out = out.to_owned();
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    thread::spawn(move || {
        let mut words = vec![
            "attach",
            &place,
            "--model",
            "--json",
            "--out",
            out.to_str().unwrap(),
        ];
        words.extend(arguments.iter().map(String::as_str));
        let said = run(&words, None, false);
        let summary = fs::read(out.join("summary.json")).unwrap_or_default();
        let summary = serde_json::from_slice(&summary).unwrap_or(Value::Null);
        (said.outcome.map_err(|error| format!("{error:#}")), summary)
    })
}

/// What an end at a device says that cannot be.
#[track_caller]
fn refused(device: &str, arguments: &[&str], said: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let words = [arguments, &["ibv_rc_pingpong"]].concat();
    let (outcome, summary) = end(folder.path(), device, &words).join().unwrap();
    let error = outcome.unwrap_err();
    assert!(said.iter().all(|said| error.contains(said)), "{error}");
    assert!(error.contains(&format!("tap:{device}")), "{error}");
    assert_eq!(summary["error"], error);
}

/// Waits until something is so.
#[track_caller]
fn until(what: &str, is: impl Fn() -> bool) {
    for _ in 0..1000 {
        if is() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("{what}: not within 10 s");
}

fn is_there(device: &str) -> bool {
    let devices = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    devices.contains(&format!("{device}:"))
}

/// A folder of results, whose capture is whole.
struct Results(TempDir);

impl Results {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn of(&self, end: &str) -> PathBuf {
        self.0.path().join(end)
    }

    /// How often the capture of an end has some bytes.
    fn captured(&self, end: &str, bytes: &[u8]) -> usize {
        let capture = fs::read(self.of(end).join("capture.pcapng")).unwrap();
        let windows = capture.windows(bytes.len());
        windows.filter(|window| *window == bytes).count()
    }

    /// Has the rules of the standards judge it.
    fn check(&self, end: &str) {
        let capture = self.of(end).join("capture.pcapng");
        let said = run(&["check", capture.to_str().unwrap()], None, false);
        assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);
    }
}

/// Connects to the tool at a host as soon as it listens.
fn connected(host: Ipv4Addr) -> TcpStream {
    let at = SocketAddr::from((host, 18515));
    for _ in 0..10 {
        match TcpStream::connect_timeout(&at, Duration::from_secs(1)) {
            Ok(stream) => return stream,
            Err(_) => sleep(Duration::from_millis(50)),
        }
    }
    panic!("nobody listens at {at}");
}

/// Opens a device as another program does, with headers of virtio.
fn held(device: &str) -> fs::File {
    const IFF_TAP_NO_PI_VNET_HDR: u16 = 0x5002;
    const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);
    let tun = (fs::File::options().read(true).write(true))
        .open("/dev/net/tun")
        .unwrap();
    let mut request = [0; 40];
    request[..device.len()].copy_from_slice(device.as_bytes());
    request[16..18].copy_from_slice(&IFF_TAP_NO_PI_VNET_HDR.to_ne_bytes());
    // A program that another test starts has all files of this process for a moment, and so the device.
    until("the device is free", || {
        let mut request = request;
        // SAFETY: it takes a `struct ifreq`, which has 40 bytes at most.
        unsafe { ioctl(&tun, Updater::<TUNSETIFF, [u8; 40]>::new(&mut request)) }.is_ok()
    });
    tun
}

/// Has a device that stays keep what a program before has told it: that checksums and segments are not the kernel's
/// business. Its frames would have half a checksum.
fn leave_offloads(device: &str) {
    const TUNSETOFFLOAD: Opcode = opcode::write::<u32>(b'T', 208);
    const CHECKSUMS_AND_TSO: usize = 7;
    // SAFETY: it takes a number.
    unsafe {
        ioctl(
            held(device),
            IntegerSetter::<TUNSETOFFLOAD>::new_usize(CHECKSUMS_AND_TSO),
        )
    }
    .unwrap();
}

/// Sends a ping to the host, and waits for the answer.
fn ping(marker: &[u8]) {
    let icmp = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).unwrap();
    let timeout = Some(Duration::from_secs(5));
    rustix::net::sockopt::set_socket_timeout(&icmp, rustix::net::sockopt::Timeout::Recv, timeout)
        .unwrap();
    let mut echo = [&[8, 0, 0, 0, 0, 7, 0, 1], marker].concat();
    let sum = checksum(&echo);
    echo[2..4].copy_from_slice(&sum);
    let to = SocketAddr::from((HOST, 0));
    sendto(&icmp, &echo, SendFlags::empty(), &to).unwrap();
    let mut answer = [0; 200];
    let (bytes, _) = recv(&icmp, &mut answer, RecvFlags::empty()).unwrap();
    // Behind the header of IP.
    assert_eq!((answer[20], &answer[28..bytes]), (0, marker));
}

#[test]
fn the_kernel_pings_the_host_and_speaks_tcp_with_it() {
    with_devices("the_kernel_pings_the_host_and_speaks_tcp_with_it", || {
        shell(READY);
        leave_offloads("xoff0");
        let results = Results::new();
        let server = end(
            &results.of("server"),
            "xoff0",
            &["--wait", "20", "ibv_rc_pingpong"],
        );
        let mut stream = connected(HOST);
        ping(PING);
        // What each end tells of its queue pair.
        let own = b"0000:000123:000456:00000000000000000000ffffc0000201\0";
        stream.write_all(own).unwrap();
        let mut other = [0; 52];
        stream.read_exact(&mut other).unwrap();
        assert!(
            other.ends_with(b":00000000000000000000ffffc0000202\0"),
            "{other:?}"
        );
        drop(stream);
        let (outcome, summary) = server.join().unwrap();
        let error = outcome.unwrap_err();
        assert!(
            error.contains("the peer closed the TCP connection"),
            "{error}"
        );
        assert_eq!(
            summary["peer"],
            serde_json::json!(["192.0.2.1", 0x123, 0x456])
        );
        // The request and the answer: frames that are shorter than Ethernet has them.
        assert_eq!(results.captured("server", PING), 2);
        assert_eq!(results.captured("server", own), 1);
        assert_eq!(results.captured("server", &other), 1);
        let frames = ["frames_in", "frames_out"].map(|way| summary[way]["stack"].as_u64().unwrap());
        assert!(frames.iter().all(|count| *count >= 4), "{summary:#}");
        let dropped = summary["dropped"].as_object().unwrap();
        assert!(
            !dropped.keys().any(|reason| reason.starts_with("cable.")),
            "{dropped:?}"
        );
    });
}

#[test]
fn roce_passes_the_kernel_between_two_devices() {
    with_devices("roce_passes_the_kernel_between_two_devices", || {
        shell(
            "ip link add br0 type bridge
             for device in xoff0 xoff1; do
                 ip tuntap add dev $device mode tap
                 ip link set $device master br0 mtu 4200 up
             done
             ip link set br0 up",
        );
        let results = Results::new();
        let tool = ["ibv_rc_pingpong", "-s", "20000", "-m", "4096", "-n", "20"];
        let server = end(&results.of("server"), "xoff0", &tool);
        let other = ["--mac", "02:00:00:00:00:01", "--ip", "192.0.2.1"];
        let client = [&other, &tool[..], &["192.0.2.2"]].concat();
        let client = end(&results.of("client"), "xoff1", &client);
        for (name, end) in [("server", server), ("client", client)] {
            let (outcome, summary) = end.join().unwrap();
            assert_eq!(outcome, Ok(Outcome::Held), "{summary:#}");
            let messages = &summary["messages"];
            assert_eq!(
                (&messages["received"], &messages["changed"]),
                (&20.into(), &0.into())
            );
            // Five packets each way, and their ACKs.
            assert!(
                summary["frames_in"]["nic"].as_u64().unwrap() >= 20 * 6,
                "{summary:#}"
            );
            results.check(name);
        }
        // They were there before.
        assert!(is_there("xoff0") && is_there("xoff1"));
    });
}

#[test]
fn a_host_of_a_network_has_the_kernel_as_its_peer() {
    with_devices("a_host_of_a_network_has_the_kernel_as_its_peer", || {
        shell(&READY.replace("192.0.2.1", "10.0.0.1"));
        shell("ip link set xoff0 address 02:00:00:00:00:01");
        let results = Results::new();
        let out = results.of("network");
        let network = {
            let out = out.display().to_string();
            thread::spawn(move || {
                let scenario = "../../tools/interop/incast.toml";
                let model = [
                    "--set",
                    "host.nic=model",
                    "--json",
                    "--pcap",
                    "linux",
                    "--out",
                    &out,
                ];
                let attach = ["--attach", "linux=tap:xoff0", "--wait", "20"];
                let words = [&["run", scenario], &attach[..], &model].concat();
                run(&words, None, false)
                    .outcome
                    .map_err(|error| format!("{error:#}"))
            })
        };
        let _stream = connected(Ipv4Addr::new(10, 0, 0, 2));
        shell("ip link del xoff0");
        let error = network.join().unwrap().unwrap_err();
        assert!(error.contains("the device xoff0 was removed"), "{error}");
        let summary = fs::read(out.join("incast/summary.json")).unwrap();
        let summary: Value = serde_json::from_slice(&summary).unwrap();
        assert_eq!(summary["attached"]["cable"], "linux=tap:xoff0");
        // SYN and its answer have passed the switches.
        for ends in [[10, 0, 0, 1, 10, 0, 0, 2], [10, 0, 0, 2, 10, 0, 0, 1]] {
            assert!(results.captured("network/incast", &ends) >= 1, "{ends:?}");
        }
    });
}

#[test]
fn what_is_no_device_for_it_is_said_with_what_is_right() {
    with_devices(
        "what_is_no_device_for_it_is_said_with_what_is_right",
        || {
            shell("ip tuntap add dev tun0 mode tun && ip tuntap add dev xoff0 mode tap");
            for device in ["lo", "tun0"] {
                let is = format!("ip -d link show dev {device}");
                refused(device, &[], &["is no TAP device with one queue", &is]);
            }
            refused(
                "xoff0",
                &["--connect"],
                &["there is no socket to connect to"],
            );
            refused(
                "xoff0",
                &["--wait", "1"],
                &[
                    "xoff0 is still down after 1 s",
                    "sudo ip link set xoff0 up is right",
                ],
            );
            let _held = held("xoff0");
            refused(
                "xoff0",
                &[],
                &["the device xoff0 is in use: another program has it open"],
            );
        },
    );
}

#[test]
fn a_user_without_the_right_is_told_what_to_do() {
    with_devices("a_user_without_the_right_is_told_what_to_do", || {
        shell("ip tuntap add dev xoff0 mode tap user 65533");
        let results = Results::new();
        let mode = fs::metadata("/dev/net/tun").unwrap();
        let all = std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o006 == 0o006;
        for (device, said) in [
            ("xoff0", "xoff0 is there and not for this user"),
            ("xoff1", "there is no device xoff1"),
        ] {
            let said = if all { said } else { "chmod a+rw /dev/net/tun" };
            let program = results.of("xoff");
            fs::copy(env!("CARGO_BIN_EXE_xoff"), &program).unwrap();
            std::os::unix::fs::chown(results.0.path(), Some(65534), None).unwrap();
            let out = results.of(device);
            let done = Command::new(&program)
                .args(["attach", &format!("tap:{device}"), "--model", "--out"])
                .args([out.to_str().unwrap(), "ibv_rc_pingpong"])
                .uid(65534)
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&done.stderr).into_owned();
            assert_eq!(done.status.code(), Some(2), "{error}");
            assert!(error.contains(said), "{error}");
        }
    });
}

#[test]
fn a_device_that_is_made_is_gone_at_the_end() {
    with_devices("a_device_that_is_made_is_gone_at_the_end", || {
        let results = Results::new();
        let server = end(
            &results.of("server"),
            "xoff7",
            &["--wait", "20", "ibv_rc_pingpong"],
        );
        until("the device is there", || is_there("xoff7"));
        shell("ip link set xoff7 up && ip addr add 192.0.2.1/24 dev xoff7");
        drop(connected(HOST));
        server.join().unwrap().0.unwrap_err();
        assert!(!is_there("xoff7"));
    });
}

#[test]
fn a_device_that_is_removed_or_set_down_ends_it_in_order() {
    with_devices(
        "a_device_that_is_removed_or_set_down_ends_it_in_order",
        || {
            // It asks for the kernel's address again and again, which is none.
            let client = ["--wait", "4", "ibv_rc_pingpong", "192.0.2.9"];
            for (script, said, down) in [
                (
                    "ip link del xoff0",
                    &["behind ", "of the peer: the device xoff0 was removed"],
                    false,
                ),
                (
                    "ip link set xoff0 down",
                    &[
                        "no frame of the peer in 4 s: the device xoff0 is down",
                        "sudo ip link set xoff0 up is right",
                    ],
                    true,
                ),
            ] {
                shell(READY);
                let results = Results::new();
                let running = end(&results.of("client"), "xoff0", &client);
                until("the kernel hears it", || {
                    let devices = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
                    let device = devices
                        .lines()
                        .find(|line| line.contains("xoff0:"))
                        .unwrap();
                    device.split_whitespace().nth(2) > Some("0")
                });
                shell(script);
                let (outcome, summary) = running.join().unwrap();
                let error = outcome.unwrap_err();
                assert!(said.iter().all(|said| error.contains(said)), "{error}");
                assert!(error.contains("this end waited for"), "{error}");
                assert_eq!(summary["error"], error);
                assert_eq!(
                    summary["dropped"]["cable.down"].as_u64() > Some(0),
                    down,
                    "{summary:#}"
                );
                // What it has asked.
                assert!(results.captured("client", &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2]) >= 1);
                if down {
                    shell("ip link del xoff0");
                }
            }
        },
    );
}

#[test]
fn a_frame_that_is_too_long_is_named() {
    with_devices("a_frame_that_is_too_long_is_named", || {
        shell(READY);
        shell("ip link set xoff0 mtu 20000");
        let results = Results::new();
        let running = end(
            &results.of("server"),
            "xoff0",
            &["--wait", "20", "ibv_rc_pingpong"],
        );
        // It stays open, so that the frame is what ends it.
        let _stream = connected(HOST);
        let socket = UdpSocket::bind((KERNEL, 0)).unwrap();
        socket.send_to(&[7; 17_000], (HOST, 9)).unwrap();
        let error = running.join().unwrap().0.unwrap_err();
        let said = "a frame of more than 16000 bytes; an MTU of 9000 or less is right";
        assert!(error.contains(said), "{error}");
    });
}

#[test]
fn frames_that_the_kernel_could_not_keep_are_counted() {
    with_devices("frames_that_the_kernel_could_not_keep_are_counted", || {
        shell(READY);
        shell("ip link set xoff0 txqueuelen 100");
        let results = Results::new();
        let out = results.of("server");
        let mut program = Command::new(env!("CARGO_BIN_EXE_xoff"))
            .args([
                "attach",
                "tap:xoff0",
                "--model",
                "--wait",
                "2",
                "--json",
                "--out",
            ])
            .args([out.to_str().unwrap(), "ibv_rc_pingpong"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let id = Pid::from_raw(program.id().cast_signed());
        // Its frames are taken from here on.
        let _stream = connected(HOST);
        kill(id, Signal::SIGSTOP).unwrap();
        until("all its threads stand still", || {
            let threads = fs::read_dir(format!("/proc/{id}/task")).unwrap();
            let states =
                threads.map(|it| fs::read_to_string(it.unwrap().path().join("stat")).unwrap());
            states.into_iter().all(|stat| stat.contains(") T "))
        });
        // Broadcast, so that nobody has to be asked for an address.
        let socket = UdpSocket::bind((KERNEL, 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        for _ in 0..1000 {
            socket.send_to(PING, "192.0.2.255:9").unwrap();
        }
        kill(id, Signal::SIGCONT).unwrap();
        assert_eq!(program.wait().unwrap().code(), Some(2));
        let summary = fs::read(out.join("summary.json")).unwrap();
        let summary: Value = serde_json::from_slice(&summary).unwrap();
        let lost = summary["dropped"]["cable.overrun"].as_u64().unwrap();
        let came = results.captured("server", PING) as u64;
        // What the kernel says itself, such as which groups it has joined, may be among both.
        assert!((80..=110).contains(&came), "{came}");
        assert!(
            (1000 - came..1000 - came + 20).contains(&lost),
            "{came} came, {lost} were lost"
        );
    });
}

/// The commands of the page, but for those that need rdma_rxe in the kernel.
#[test]
fn the_pages_commands_make_a_device_that_works() {
    let page = fs::read_to_string(crate::common::file("../docs/interop.md")).unwrap();
    let (_, section) = page.split_once("## Without QEMU").unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let commands = |begin: &str| -> Vec<String> {
        let lines = block.lines().filter_map(|line| line.strip_prefix(begin));
        lines
            .map(|line| line.split('#').next().unwrap().trim().to_owned())
            .collect()
    };
    let attach = commands("target/release/xoff attach");
    let [attach] = &attach[..] else {
        panic!("{attach:?}")
    };
    let words = shlex::split(attach.trim_end_matches('&')).unwrap();
    let words = ["xoff", "attach"]
        .into_iter()
        .map(str::to_owned)
        .chain(words);
    let parsed = Cli::try_parse_from(words);
    assert!(parsed.is_ok(), "{}", parsed.unwrap_err());
    // As the guest does it, which `make interop` boots.
    let guest = fs::read_to_string(crate::common::file("../tools/interop/init")).unwrap();
    let rxe = commands("sudo rdma link add").concat();
    assert!(guest.contains(&rxe.replace("xoff0", "eth0")), "{rxe}");
    let ip = commands("sudo ip");
    assert_eq!(ip.len(), 4, "{ip:?}");
    let (clear, make): (Vec<_>, Vec<_>) = ip.iter().partition(|it| it.contains("tuntap del"));
    assert_eq!((clear.len(), make.len()), (1, 3));
    with_devices("the_pages_commands_make_a_device_that_works", || {
        for command in &make {
            shell(&format!("USER=root; ip {command}"));
        }
        let results = Results::new();
        let server = end(
            &results.of("server"),
            "xoff0",
            &["--wait", "20", "ibv_rc_pingpong"],
        );
        drop(connected(HOST));
        server.join().unwrap().0.unwrap_err();
        shell(&format!("ip {}", clear[0]));
        assert!(!is_there("xoff0"));
    });
}
