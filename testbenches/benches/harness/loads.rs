//! What the NIC is measured under, and the measurement of one load in a process of its own.

use std::time::Instant;

use xoff::property::nic::pair::{Pair, PairConfig, REGION, all};
use xoff_rtl::nic::In;
use xoff_rtl::plain;
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Work, WorkKind};

/// The argument with which the bench measures one load in its own build and prints the result.
pub const SINGLE: &str = "--one-load";
const QPS: u16 = 8;
/// Cycles under load.
const BUSY: u64 = 20_000;
/// Idle cycles.
const IDLE: u64 = 40_000;
/// With DCQCN, one packet in so many is marked.
const MARKED: u64 = 200;

/// What the NIC does in the measured cycles.
#[derive(Clone, Copy)]
enum Load {
    /// QPs write 64 kB messages in both directions.
    Busy,
    /// The NIC only sends.
    Sends,
    /// The NIC only receives.
    Receives,
    /// As `Busy`, with DCQCN and marked packets.
    Dcqcn,
    /// Nothing after reset.
    Rest,
}

/// The names of all loads.
pub const NAMES: [&str; 5] = ["busy", "half, sending", "half, receiving", "DCQCN", "rest"];

const LOADS: [(&str, Load); 5] = [
    (NAMES[0], Load::Busy),
    (NAMES[1], Load::Sends),
    (NAMES[2], Load::Receives),
    (NAMES[3], Load::Dcqcn),
    (NAMES[4], Load::Rest),
];

impl Load {
    /// The inputs of the NIC from its reset on.
    fn stimulus(self) -> Vec<In> {
        let sides: &[usize] = match self {
            Self::Busy | Self::Dcqcn => &[0, 1],
            Self::Sends => &[0],
            Self::Receives => &[1],
            Self::Rest => return rest(),
        };
        let dcqcn = matches!(self, Self::Dcqcn);
        load(sides, dcqcn)
    }
}

/// Returns the inputs for a reset followed by idle cycles.
pub fn rest() -> Vec<In> {
    let mut stimulus: Vec<_> = (0..IDLE)
        .map(|now_i| In {
            now_i,
            ..In::default()
        })
        .collect();
    stimulus[0].rst_i = 1;
    stimulus
}

/// Returns the inputs of a NIC from its reset on: registers, then QPs that write 64 kB messages from these sides.
pub fn load(sides: &[usize], dcqcn: bool) -> Vec<In> {
    let keeps = "the NIC keeps its rules";
    let mut pair = Pair::of(&PairConfig {
        qps: &(0..QPS).collect::<Vec<_>>(),
        record: true,
        ..PairConfig::default()
    })
    .expect(keeps);
    if dcqcn {
        for side in 0..2 {
            (pair.write(side, reg::CONTROL, 1 << reg::DCQCN_ON_LOW)).expect(keeps);
        }
    }
    for id in 0..16 {
        for qp in 0..QPS {
            for &side in sides {
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
    for _ in 0..BUSY {
        match dcqcn {
            true => pair.step(&mut mark),
            false => pair.step(&mut all),
        }
        .expect(keeps);
    }
    pair.update(0, |host| host.take_record())
}

/// Runs one load and prints nanoseconds per cycle and the digest of the outputs.
pub fn single(name: &str) {
    let (_, load) = (LOADS.iter().find(|(known, _)| *known == name)).expect("a load of the list");
    let stimulus = load.stimulus();
    let start = Instant::now();
    let digest = plain::nic_loop(&stimulus);
    let per_cycle = start.elapsed().as_secs_f64() * 1e9 / stimulus.len() as f64;
    println!("{per_cycle} {digest:x}");
}
