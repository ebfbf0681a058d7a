use std::fs;

use xoff_network::scenario::Scenario;

use super::*;
use crate::scenario_file::Source;

/// The keys of HPCC's `mix/config_doc.txt` with the values of its first example, for a network of two rates.
const CONFIG: &str = "\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1

PACKET_PAYLOAD_SIZE 1000

TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt
TRACE_FILE mix/trace.txt
SIMULATOR_STOP_TIME 4.00

CC_MODE 1
ALPHA_RESUME_INTERVAL 55
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 5
RATE_AI 50Mb/s
RATE_HAI 0.1Gbps
MIN_RATE 100Mb/s
DCTCP_RATE_AI 1000Mb/s

ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 4000
L2_BACK_TO_ZERO 0
HAS_WIN 0
RATE_BOUND 1
ACK_HIGH_PRIO 0
LINK_DOWN 25 3 4
KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 2 25000000000 100 100000000000 400
PMAX_MAP 2 25000000000 0.2 100000000000 0.2
BUFFER_SIZE 16
";
/// Hosts 0 to 2, switches 3 and 4.
const TOPOLOGY: &str = "\
5 2 4
3 4
0 3 25Gbps 1000ns 0
1 3 25Gbps 1000ns 0
2 4 50Gbps 1000ns 0
3 4 100Gbps 1000ns 0
";
const FLOWS: &str = "2\n0 2 3 100 100000 2.0\n1 2 3 100 100000 2.0001\n";

/// A folder as ns-3 has it, and what is made of it.
fn made(config: &str) -> (tempfile::TempDir, Result<String, Issues>) {
    let folder = tempfile::tempdir().unwrap();
    let mix = folder.path().join("mix");
    fs::create_dir(&mix).unwrap();
    for (name, text) in [
        ("config.txt", config),
        ("topology.txt", TOPOLOGY),
        ("flow.txt", FLOWS),
    ] {
        fs::write(mix.join(name), text).unwrap();
    }
    let made = scenario(&mix.join("config.txt"));
    (folder, made)
}

fn read(folder: &Path, text: String) -> Scenario {
    let source = Source {
        name: "mine".into(),
        origin: "mine.toml".into(),
        text,
        folder: folder.to_owned(),
    };
    source.read(&[]).unwrap().written().clone()
}

fn notes(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("# line "))
        .collect()
}

#[test]
fn the_keys_that_there_are_have_their_values() {
    let (folder, text) = made(CONFIG);
    let text = text.unwrap();
    let scenario = read(folder.path(), text.clone());
    let dcqcn = scenario.host.dcqcn.as_ref().unwrap();
    assert_eq!((dcqcn.on, dcqcn.stages, dcqcn.g), (true, 5, 1.0 / 256.0));
    let shown = [dcqcn.alpha_timer, dcqcn.rate_timer].map(|time| time.to_string());
    assert_eq!(shown, ["55 us", "300 us"]);
    let shown = [dcqcn.rate_ai, dcqcn.rate_hai].map(|rate| rate.unwrap().to_string());
    assert_eq!(shown, ["50 Mb/s", "100 Mb/s"]);
    let flow = &scenario.flows[0];
    assert_eq!((flow.mtu, flow.ack_every), (1024, 4));
    let whole = scenario.checked().unwrap();
    let switch = &whole.switches[0];
    let ecn = switch.ecn.as_ref().unwrap();
    let marks = (ecn.kmin.unwrap().get(), ecn.kmax.unwrap().get(), ecn.pmax);
    assert_eq!(
        (marks, switch.buffer.get()),
        ((100_000, 400_000, 0.2), 16 << 20)
    );
    // The second flow starts 100 us behind the first, and 10 ms are left behind that.
    assert_eq!(scenario.duration.to_string(), "10.1 ms");
    assert_eq!(scenario.host.rate.to_string(), "25 Gb/s");
    assert_eq!(scenario.events[0].at.to_string(), "25 us");
    assert!(
        text.contains("link_down = [\n") || text.contains("link_down = [\"s3\", \"s4\"]"),
        "{text}"
    );
    assert_eq!(
        notes(&text),
        [
            "4, PACKET_PAYLOAD_SIZE 1000: no path MTU of InfiniBand; the nearest, 1024, is taken",
            "8, TRACE_FILE mix/trace.txt: runs write their results as ever: docs/results.md",
            "13, RATE_DECREASE_INTERVAL 4: each CNP cuts the rate, and host.dcqcn.cnp_interval spaces them",
            "14, CLAMP_TARGET_RATE 0: each CNP has the target rate follow the current one, as the DCQCN paper says",
            "20, MIN_RATE 100Mb/s: the least rate is fixed here",
            "21, DCTCP_RATE_AI 1000Mb/s: of no meaning for DCQCN",
            "24, L2_CHUNK_SIZE 4000: a lost packet is sent again from its own PSN, or from its message's first",
        ]
    );
    let of_ports: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" ports of "))
        .collect();
    assert_eq!(
        of_ports,
        ["# KMIN_MAP and KMAX_MAP have nothing for ports of 50 Gb/s"]
    );
    let other = "# a switch has one curve for all of its ports: that of the slowest; 100 Gb/s would have 400 KB, \
                 1600 KB and 0.2";
    assert!(text.lines().any(|line| line == other), "{text}");
}

#[test]
fn what_is_not_known_or_built_in_is_named() {
    let changed = CONFIG
        .replace("CC_MODE 1", "CC_MODE 3")
        .replace("HAS_WIN 0", "HAS_WIN 1");
    let (folder, text) = made(&(changed + "OPP_DEBUG 7 8\nACK_HIGH_PRIO 1\n"));
    let text = text.unwrap();
    let scenario = read(folder.path(), text.clone());
    assert!(!scenario.host.dcqcn.unwrap().on);
    assert_eq!(scenario.flows[0].ack_dscp, Some(56));
    let said = notes(&text).join("\n");
    for part in [
        "11, CC_MODE 3: HPCC is not built in",
        "HAS_WIN 1: a window of one BDP",
        "35, OPP_DEBUG 7 8: not known here",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// 8 KiB are two packets of 4 KiB, wherever the line about these stands.
#[test]
fn the_order_of_lines_does_not_matter() {
    let rest = CONFIG
        .replace("PACKET_PAYLOAD_SIZE 1000", "PACKET_PAYLOAD_SIZE 4096")
        .replace("L2_ACK_INTERVAL 4000\n", "");
    for config in [
        format!("L2_ACK_INTERVAL 8192\n{rest}"),
        format!("{rest}L2_ACK_INTERVAL 8192\n"),
    ] {
        let (folder, text) = made(&config);
        let flow = &read(folder.path(), text.unwrap()).flows[0];
        assert_eq!((flow.mtu, flow.ack_every), (4096, 2));
    }
}

#[test]
fn all_that_is_wrong_is_said_with_its_line() {
    let config = CONFIG
        .replace("RATE_AI 50Mb/s", "RATE_AI 50MiB/s")
        .replace("EWMA_GAIN 0.00390625", "EWMA_GAIN much")
        .replace("KMIN_MAP 2", "KMIN_MAP 3")
        .replace("mix/flow.txt", "mix/flows.txt");
    let (folder, made) = made(&config);
    let said: Vec<String> = made
        .unwrap_err()
        .0
        .iter()
        .map(|it| format!("{}: {}", it.key, it.message))
        .collect();
    let said = said
        .join("\n")
        .replace(&folder.path().display().to_string(), "");
    assert_eq!(
        said,
        "/mix/config.txt:7: FLOW_FILE: there is no file mix/flows.txt, nor /mix/mix/flows.txt, nor /mix/flows.txt\n\
         /mix/config.txt:16: EWMA_GAIN: much: a number, 0 or more\n\
         /mix/config.txt:18: RATE_AI: 50MiB/s: a rate such as 50Mb/s\n\
         /mix/config.txt:32: KMIN_MAP: 3 25000000000 100 100000000000 400: a number n, and n times a rate in bits a \
         second and a value"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.txt");
    fs::write(&path, "CC_MODE 1\n").unwrap();
    let said = scenario(&path).unwrap_err().0[0].message.clone();
    assert_eq!(
        said,
        "no TOPOLOGY_FILE: a config.txt of ns-3's RDMA simulations names one"
    );
}
