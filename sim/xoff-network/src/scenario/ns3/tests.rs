use super::*;

fn wrong<T: std::fmt::Debug>(read: Result<T, Issues>) -> String {
    read.unwrap_err().to_string()
}

/// Two hosts at a switch, in the manner of the HPCC artefact: the switch's number need not be the last, and what stands
/// behind the announced lines is a comment.
const DUMBBELL: &str = "3 1 2\n1\n0 1 100Gbps 1000ns 0\n2 1 25Gbps 0.001ms 0.004\n\nFirst line: total node #, switch node #, link #\n";

#[test]
fn a_topology_is_read() {
    let network = Network::parse("n.txt", DUMBBELL).unwrap();
    assert_eq!(network.hosts().collect::<Vec<_>>(), [0, 2]);
    let link = |line, ends, rate: &str, loss| NetworkLink {
        line,
        ends,
        rate: rate.parse().unwrap(),
        delay: Duration::from_us(1),
        loss,
    };
    assert_eq!(
        network.links,
        [
            link(3, [0, 1], "100 Gb/s", Chance::NEVER),
            link(
                4,
                [2, 1],
                "25 Gb/s",
                Chance::new(4_000_000, 1_000_000_000).unwrap()
            ),
        ]
    );
}

/// The heads that HPCC, PowerTCP, Reverie and SimAI (also newer) write, over one network.
#[test]
fn heads_of_all_forks_are_read() {
    let links = "0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n4 5 100Gbps 1us 0\n";
    let read = |head: &str| Network::parse("n.txt", &format!("{head}\n4 5\n{links}")).unwrap();
    let hpcc = read("6 2 5");
    for head in [
        "6 2 2 5",
        "6 2 2 5 25000000000 100000000000",
        "6 8 0 2 5 H100",
        "6 8 1 1 5 A100",
        "6 8 1 1 5 H100 8",
    ] {
        assert_eq!(read(head), hpcc, "{head}");
    }
    let said = wrong(Network::parse(
        "n.txt",
        "6 8 4294967295 4294967295 5 H100\n",
    ));
    assert_eq!(
        said,
        "n.txt:1: 4294967295 switches among 6 nodes: none is a host"
    );
}

#[test]
fn rates_have_any_unit_of_ns3_or_none() {
    for text in [
        "100Gbps",
        "0.1Tbps",
        "100000Mbps",
        "1e5Mbps",
        "100000000000",
        "100000000000.0",
        "100e9bps",
        "1E+11",
        "100Gb/s",
    ] {
        assert_eq!(rate(text), Ok(LineRate::G100), "{text}");
    }
    assert_eq!(
        rate("800Gbps"),
        "800 Gb/s".parse().map_err(|_| String::new())
    );
    for text in [
        "100", "Gbps", "", "1e", "100GBps", "-1e11", "1e400", "NaN", "1..0Tbps",
    ] {
        assert!(rate(text).is_err(), "{text}");
    }
}

/// Four hosts, each at an NVLink switch and at a ToR, as SimAI writes them: one line says what does not fit, and not
/// that rates and delays do not either.
#[test]
fn hosts_with_two_links_are_refused_in_one_line() {
    let text = "6 2 1 1 4 H100\n4 5\n0 4 2880Gbps 0.000025ms 0\n0 5 400Gbps 0.0005ms 0\n1 4 2880Gbps 0.000025ms 0\n1 5 400Gbps 0.0005ms 0\n";
    assert_eq!(
        wrong(Network::parse("s.txt", text)),
        "s.txt:4: a second link of host 0, after line 3, and another host has several: a host has one link here; second rails, dual ToRs and NVLink switches have no counterpart"
    );
}

#[test]
fn every_break_of_a_topology_has_its_line() {
    let of = |text: &str| wrong(Network::parse("n.txt", text));
    for (text, said) in [
        (
            "",
            "n.txt:1: the file is empty: nodes switches links are right",
        ),
        (
            "\n3 1\n",
            "n.txt:2: '3 1': right is nodes switches links, or nodes switches tors links, or nodes switches tors links leaf_server_capacity spine_leaf_capacity, or nodes gpus_per_server nvswitches switches links gpu_type",
        ),
        (
            "3 x 2\n",
            "n.txt:1: number of switches 'x': a number is right",
        ),
        ("0 0 0\n", "n.txt:1: 0 nodes: 1 to 131072"),
        (
            "3 3 2\n",
            "n.txt:1: 3 switches among 3 nodes: none is a host",
        ),
        (
            "3 1 1\n",
            "n.txt:1: the file ends here with 0 of 1 switches\nn.txt:1: the file ends here with 0 of 1 links",
        ),
        (
            "3 1 2\n1 2\n0 1 1Gbps 1us 0\n",
            "n.txt:2: '2': more numbers than the 1 switches\nn.txt:3: rate '1Gbps': 10 to 800 Gbps of whole picoseconds a byte, such as 100Gbps or, in bits a second, 100000000000\nn.txt:3: the file ends here with 1 of 2 links",
        ),
        ("4 2 0\n1 1\n", "n.txt:2: switch 1 is here twice"),
        ("4 2 0\n1 4\n", "n.txt:2: switch 4: nodes are 0 to 3"),
        (
            "2 1 1\n1\n0 0 40Gbps 1us 0\n",
            "n.txt:3: node 0 is joined with itself",
        ),
        (
            "2 1 1\n1\n0 2 40Gbps 1us 0\n",
            "n.txt:3: node 2: nodes are 0 to 1",
        ),
        (
            "2 1 1\n1\n0 1 40Gbps 1us\n",
            "n.txt:3: '0 1 40Gbps 1us': 5 fields are right: a b rate delay error_rate",
        ),
        (
            "2 1 1\n1\n0 1 40 1us 0\n",
            "n.txt:3: rate '40': 10 to 800 Gbps of whole picoseconds a byte, such as 100Gbps or, in bits a second, 100000000000",
        ),
        (
            "2 1 1\n1\n0 1 30Gbps 1us 0\n",
            "n.txt:3: rate '30Gbps': 10 to 800 Gbps of whole picoseconds a byte, such as 100Gbps or, in bits a second, 100000000000",
        ),
        (
            "2 1 1\n1\n0 1 40Gbps 1 0\n",
            "n.txt:3: delay '1': a time with unit (ps, ns, us, ms or s) is right, such as 1000ns",
        ),
        (
            "2 1 1\n1\n0 1 40Gbps 99ns 0\n",
            "n.txt:3: delay '99ns': 100 ns or more",
        ),
        (
            "2 1 1\n1\n0 1 40Gbps 1us 1.5\n",
            "n.txt:3: error_rate 1.5: a part of the frames, 0 to 1",
        ),
        (
            "2 1 1\n1\n0 1 40Gbps 1us NaN\n",
            "n.txt:3: error_rate NaN: a part of the frames, 0 to 1",
        ),
        (
            "3 1 1\n1\n0 1 40Gbps 1us 0\n",
            "n.txt:3: no link has node 2: a host has one",
        ),
        (
            "2 1 2\n1\n0 1 40Gbps 1us 0\n1 0 40Gbps 1us 0\n",
            "n.txt:4: a second link of host 0, after line 3: a host has one link here; second rails, dual ToRs and NVLink switches have no counterpart",
        ),
    ] {
        assert_eq!(of(text), said, "{text}");
    }
}

#[test]
fn a_list_of_flows_is_read() {
    let list = "2\n0 5 3 100 200000 2\n5 0 0 100 1 2.000001\n1 1 this is not read\n";
    let list = FlowList::parse("f.txt", list).unwrap();
    let flow = |line, src, dst, priority, bytes, start| ListedFlow {
        line,
        src,
        dst,
        priority,
        bytes: ByteCount::new(bytes),
        start,
    };
    assert_eq!(
        list.flows,
        [
            flow(2, 0, 5, 3, 200_000, Duration::from_s(2)),
            flow(3, 5, 0, 0, 1, Duration::from_ps(2_000_001_000_000)),
        ]
    );
    // As Python writes small numbers.
    let small = FlowList::parse("f.txt", "1\n0 1 3 100 1 1.5e-05\n").unwrap();
    assert_eq!(small.flows[0].start, Duration::from_us(15));
}

/// Generators write 10¹² bytes for a flow that does not end, which no message can have.
#[test]
fn a_long_flow_has_several_messages() {
    let of = |bytes: u64| {
        let list = FlowList::parse("f.txt", &format!("1\n0 1 3 100 {bytes} 0\n")).unwrap();
        let (count, message) = list.flows[0].messages();
        (count, message.get())
    };
    assert_eq!(of(1), (1, 1));
    assert_eq!(of(1 << 31), (1, 1 << 31));
    assert_eq!(of((1 << 31) + 1), (2, (1 << 30) + 1));
    assert_eq!(of(1_000_000_000_000), (466, 2_145_922_747));
}

#[test]
fn every_break_of_a_list_of_flows_has_its_line() {
    let of = |text: &str| wrong(FlowList::parse("f.txt", text));
    for (text, said) in [
        (
            "",
            "f.txt:1: the file is empty: the number of flows is right",
        ),
        ("many", "f.txt:1: number of flows 'many': a number is right"),
        (
            "1 2",
            "f.txt:1: '1 2': 1 fields are right: the number of flows",
        ),
        (
            "2\n0 1 3 100 1 0\n",
            "f.txt:2: the file ends here with 1 of 2 flows",
        ),
        (
            "1\n0 1 3 100 1\n",
            "f.txt:2: '0 1 3 100 1': 6 fields are right: src dst priority dst_port bytes start_s",
        ),
        ("1\n0 b 3 100 1 0\n", "f.txt:2: dst 'b': a number is right"),
        ("1\n4 4 3 100 1 0\n", "f.txt:2: host 4 would send to itself"),
        ("1\n0 1 8 100 1 0\n", "f.txt:2: priority 8: 0 to 7"),
        (
            "1\n0 1 3 65536 1 0\n",
            "f.txt:2: dst_port 65536: 0 to 65535",
        ),
        (
            "1\n0 1 3 100 0 0\n",
            "f.txt:2: 0 bytes: 1 to 1000000000000000",
        ),
        (
            "1\n0 1 3 100 1000000000000001 0\n",
            "f.txt:2: 1000000000000001 bytes: 1 to 1000000000000000",
        ),
        (
            "1\n0 1 3 100 1 -1\n",
            "f.txt:2: start_s '-1': a time in seconds is right, such as 2.0001",
        ),
        (
            "2\n0 0 3 100 1 0\n0 1 9 100 0 0\n",
            "f.txt:2: host 0 would send to itself\nf.txt:3: priority 9: 0 to 7\nf.txt:3: 0 bytes: 1 to 1000000000000000",
        ),
    ] {
        assert_eq!(of(text), said, "{text}");
    }
}

/// WebSearch, as the HPCC artefact has it. Its mean by hand: Σ Δ% · (size + size before) / 2 = 750 + 750 + 2,500 +
/// 4,000 + 8,450 + 9,800 + 60,000 + 150,000 + 350,000 + 525,000 + 600,000 bytes.
const WEB_SEARCH: &str = "0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n1000000 70\n2000000 80\n5000000 90\n10000000 97\n30000000 100\n";

#[test]
fn sizes_lie_on_straight_lines() {
    let sizes = Sizes::parse("w.txt", WEB_SEARCH).unwrap();
    let mean =
        750 + 750 + 2_500 + 4_000 + 8_450 + 9_800 + 60_000 + 150_000 + 350_000 + 525_000 + 600_000;
    assert!(
        (sizes.mean() - f64::from(mean)).abs() < 1.0,
        "{}",
        sizes.mean()
    );
    for (part, bytes) in [
        (0.0, 1),
        (0.15, 10_000),
        (0.175, 15_000),
        (0.465, 65_000),
        (0.985, 20_000_000),
        (0.999_999_999_9, 30_000_000),
    ] {
        assert_eq!(sizes.at(part).get(), bytes, "{part}");
    }
    // One size, and a jump between two.
    let one = Sizes::parse("o.txt", "4096 0\n4096 100").unwrap();
    assert_eq!((one.mean(), one.at(0.3).get()), (4096.0, 4096));
    let two = Sizes::parse("t.txt", "10 0\n10 50\n30 50\n30 100").unwrap();
    assert_eq!(
        (two.mean(), two.at(0.49).get(), two.at(0.51).get()),
        (20.0, 10, 30)
    );
}

#[test]
fn named_distributions_are_those_of_the_papers() {
    assert_eq!(
        Sizes::known("websearch"),
        Sizes::parse("w.txt", WEB_SEARCH).ok()
    );
    // 258 + 35,175 + 240,000 bytes: the mean of each range by its part.
    let irn = Sizes::known("irn").unwrap();
    assert_eq!(irn.mean().round(), 275_433.0);
    assert!(irn.at(0.499).get() <= 1_000 && irn.at(0.851).get() > 200_000);
    assert_eq!(Sizes::known("irn.txt"), None);
}

#[test]
fn sizes_with_fractions_are_those_with_percentiles() {
    let fractions = WEB_SEARCH.lines().map(|line| {
        let (bytes, percent) = line.split_once(' ').unwrap();
        format!("{bytes} {}\n", percent.parse::<f64>().unwrap() / 100.0)
    });
    let fractions: String = fractions.collect();
    assert!(fractions.ends_with("30000000 1\n"), "{fractions}");
    assert_eq!(
        Sizes::parse("f.txt", &fractions).unwrap(),
        Sizes::parse("p.txt", WEB_SEARCH).unwrap()
    );
}

#[test]
fn what_is_no_distribution_has_its_line() {
    let of = |text: &str| wrong(Sizes::parse("w.txt", text));
    for (text, said) in [
        (
            "",
            "w.txt:1: the file is empty: lines of bytes and percentile are right",
        ),
        (
            "0 0\n10 x\n20 100",
            "w.txt:2: percentile 'x': a number is right",
        ),
        ("0\n", "w.txt:1: '0': 2 fields are right: bytes percentile"),
        (
            "0 10\n20 100",
            "w.txt:1: percentile 10: the first is 0, of the least size",
        ),
        (
            "0 0\n20 99",
            "w.txt:2: ends at 99 %: the last percentile is 100, or the last fraction 1",
        ),
        ("0 0\n20 101", "w.txt:2: percentile 101: 0 to 100"),
        (
            "0 0\n20 50\n10 100",
            "w.txt:3: 10 bytes, 100 %: neither may be less than on the line before, 20 bytes and 50 %",
        ),
        (
            "0 0\n20 50\n30 40\n40 100",
            "w.txt:3: 30 bytes, 40 %: neither may be less than on the line before, 20 bytes and 50 %",
        ),
        (
            "-1 0\n20 100",
            "w.txt:1: -1 bytes: 0 to 2147483648\nw.txt:2: percentile 100: the first is 0, of the least size",
        ),
        ("0 0\n3e9 100", "w.txt:2: 3000000000 bytes: 0 to 2147483648"),
        (
            "0 0\n1 100",
            "w.txt:2: flows of less than a byte on average",
        ),
    ] {
        assert_eq!(of(text), said, "{text}");
    }
}
