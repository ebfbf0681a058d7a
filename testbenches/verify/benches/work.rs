//! The work of the benches. It is generated from verbs and frames alone, so that it is the same whatever the RTL does in
//! which cycle.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use xoff_cosim::units::beat;
use xoff_network::{Endpoint as _, Simulation};
use xoff_rtl::{nic, packet_parser256};
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::nic::translation::{PageSize, TranslationConfig};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Work, WorkKind};
use xoff_verify::property::nic::pair::{Pair, PairConfig, REGION, all};

/// Work of the NIC.
#[derive(Debug, Clone, Copy)]
pub struct NicLoad {
    /// Number of QPs that write 64 kB messages, from each side that sends.
    pub qps: u16,
    /// The sides that send: 0 is the NIC that is measured.
    pub sides: &'static [usize],
    /// Whether DCQCN is on, and one packet in 200 is marked.
    pub dcqcn: bool,
    /// Whether the NIC that is measured translates addresses. Its pages, of 2 MiB, are used in the first cycles; all
    /// lookups behind them are hits.
    pub translation: bool,
    /// Cycles from the reset on, registers aside.
    pub cycles: u64,
}

/// Cycles in which pages are used first.
const WARM_CYCLES: u64 = 1_000;
/// With DCQCN, one packet in so many is marked.
const MARKED: u64 = 200;

/// Returns the inputs of a NIC from its reset on: registers, then its work.
pub fn nic(load: NicLoad) -> Vec<nic::In> {
    let keeps = "the NIC keeps its rules";
    let translation = TranslationConfig {
        page: PageSize::MOST,
        ..TranslationConfig::default()
    };
    let mut pair = Pair::of(&PairConfig {
        qps: &(0..load.qps).collect::<Vec<_>>(),
        record: true,
        translation: [load.translation.then_some(translation), None],
        ..PairConfig::default()
    })
    .expect(keeps);
    if load.dcqcn {
        for side in 0..2 {
            (pair.write(side, reg::CONTROL, 1 << reg::DCQCN_ON_LOW)).expect(keeps);
        }
    }
    for id in 0..16 {
        for qp in 0..load.qps {
            for &side in load.sides {
                let work = Work {
                    kind: WorkKind::WRITE,
                    length: 1 << 16,
                    local_va: 0x7F00_0000_0000 + (u64::from(qp) << 20),
                    remote_va: REGION + (u64::from(qp) << 20),
                    remote_key: pair.key[1 - side],
                    id,
                    ..Work::default()
                };
                pair.post(side, qp, work);
            }
        }
    }
    let mut packets = 0;
    let mut mark = |_: usize, bytes: &mut Vec<u8>, _: &_| {
        packets += 1;
        if packets % MARKED == 0 {
            let headers = Headers::at(bytes).expect("the NIC sends whole headers");
            rewrite::mark_ce(bytes, &headers.ip.expect("the NIC sends IP packets"));
        }
        true
    };
    let counted = |pair: &Pair| {
        let counters = [reg::TRANSLATION_HITS, reg::TRANSLATION_MISSES];
        counters.map(|register| pair.host(0).counters().get(register))
    };
    let mut warm = [0; 2];
    for cycle in 0..load.cycles {
        if cycle == WARM_CYCLES {
            warm = counted(&pair);
        }
        match load.dcqcn {
            true => pair.step(&mut mark),
            false => pair.step(&mut all),
        }
        .expect(keeps);
    }
    if load.translation {
        let [hits, misses] = counted(&pair);
        assert!(
            hits > warm[0] && misses == warm[1] && misses > 0,
            "all are hits in the end"
        );
    }
    pair.update(0, |host| host.take_record())
}

/// Returns the inputs for a reset of a NIC and idle cycles behind it.
pub fn nic_at_rest(cycles: u64) -> Vec<nic::In> {
    let mut stimulus: Vec<_> = (0..cycles)
        .map(|now_i| nic::In {
            now_i,
            ..nic::In::default()
        })
        .collect();
    stimulus[0].rst_i = 1;
    stimulus
}

/// Returns two cycles of reset, then this many frames of all kinds and lengths for the parser, back to back.
pub fn parser(frames: usize) -> Vec<packet_parser256::In> {
    let mut runner = TestRunner::deterministic();
    let reset = packet_parser256::In {
        rst_i: 1,
        ..packet_parser256::In::default()
    };
    let mut stimulus = vec![reset; 2];
    for _ in 0..frames {
        let frame = xoff_strategies::frame()
            .new_tree(&mut runner)
            .expect("nothing is rejected")
            .current();
        let last = (frame.bytes.len() - 1) / 32;
        for (b, bytes) in frame.bytes.chunks(32).enumerate() {
            let mut pins = packet_parser256::In {
                rx_valid_i: 1,
                rx_last_i: u8::from(b == last),
                rx_bytes_i: bytes.len() as u8,
                ..packet_parser256::In::default()
            };
            beat::put(&mut pins.rx_data_i, bytes);
            stimulus.push(pins);
        }
    }
    stimulus
}

/// Frames that all ports have sent.
pub fn frames_sent(simulation: &Simulation) -> u64 {
    let network = simulation.network();
    let of_node = |(node, _)| {
        let ports = simulation.ports(node);
        ports
            .map(|port| network.counters(node, port).frames_sent)
            .sum::<u64>()
    };
    simulation.stations().map(of_node).sum()
}
