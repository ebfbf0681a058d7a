//! The pair, work for it, and checks of the results.

use std::collections::BTreeMap;

use verilated::with_plusargs;
use xoff_network::Endpoint;
use xoff_rtl::nic::In;
use xoff_sim::frame::Frame;
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::host::memory::content;
use xoff_sim::nic::QpSettings;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Completion, Recv, Status, Work, WorkKind};
use xoff_sim::time::LineRate;
use xoff_sim::wire::MacAddr;
use xoff_verify::property::nic::pair::{Pair, PairConfig, REGION, Wire, all, qp};

/// Path MTU in bytes.
pub const MTU: u32 = 1024;
/// Address of messages at their sender.
pub const SOURCE: u64 = 0x7F00_0000_0000;

/// Creates NICs to be tested. `make mutants` runs these tests on mutants, whose number is in `XOFF_MUTANT`; with that of
/// none, netlists write the mutations that they reach to the file `XOFF_REACHED`.
pub fn judged<R>(create: impl FnOnce() -> R) -> R {
    let plusargs: Vec<_> = [("mutant", "XOFF_MUTANT"), ("reached", "XOFF_REACHED")]
        .into_iter()
        .filter_map(|(plusarg, variable)| {
            Some(format!("{plusarg}={}", std::env::var(variable).ok()?))
        })
        .collect();
    with_plusargs(&plusargs, create)
}

/// A [`Pair`] in which every error fails the test.
pub struct Tested(pub Pair);

impl std::ops::Deref for Tested {
    type Target = Pair;
    fn deref(&self) -> &Pair {
        &self.0
    }
}

impl std::ops::DerefMut for Tested {
    fn deref_mut(&mut self) -> &mut Pair {
        &mut self.0
    }
}

impl Tested {
    pub fn new(change: impl Fn(&mut QpSettings), qps: u16) -> Self {
        Self(judged(|| Pair::new(1, &change, qps)).unwrap())
    }

    /// Creates both NICs as configured.
    pub fn of(config: &PairConfig) -> Self {
        Self(judged(|| Pair::of(config)).unwrap())
    }

    pub fn step(&mut self, wire: &mut Wire) {
        self.0.step(wire).unwrap();
    }

    /// Steps until `done` returns `true`; fails after `cycles` cycles.
    pub fn run(&mut self, cycles: u64, wire: &mut Wire, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..cycles {
            self.step(wire);
            if done(self) {
                return;
            }
        }
        let counters = [0, 1].map(|side| self.counters(side).unwrap());
        panic!(
            "not done in {cycles} cycles: {} frames, completions {:?}, counters {counters:?}",
            self.frames.len(),
            self.completions
        );
    }

    /// Steps until no frame is under way and both NICs are idle, and so for 100 cycles, which is longer than the host
    /// takes for anything; fails after `cycles` cycles.
    pub fn rest(&mut self, cycles: u64, wire: &mut Wire) {
        let mut rests = 0;
        self.run(cycles, wire, |pair| {
            rests = if pair.rests() { rests + 1 } else { 0 };
            rests == 100
        });
    }

    /// Opens QPs again at both sides.
    pub fn reopen(&mut self, qps: &[u16], settings: &dyn Fn(usize, u16) -> QpSettings) {
        self.0.open_both(qps, settings).unwrap();
    }

    /// Sends a PFC frame with quanta for one class to a side.
    pub fn pause(&mut self, side: usize, class: usize, quanta: u16) {
        let mut of_class = [None; 8];
        of_class[class] = Some(quanta);
        let now = self.time();
        self.receive(side, now, pfc(of_class));
    }

    /// Sends frames to a side at line rate, from now on.
    pub fn receive_back_to_back(&mut self, side: usize, frames: impl IntoIterator<Item = Vec<u8>>) {
        let mut start = self.time();
        for bytes in frames {
            let sent = Frame::sent(bytes.clone().into(), start, LineRate::G40);
            start = sent.line_free(LineRate::G40);
            self.receive(side, sent.end, bytes);
        }
    }

    /// The completions of each QP of a side, receive and send apart, in their order.
    pub fn completions_by_qp(&self, side: usize) -> BTreeMap<(u16, bool), Vec<Completion>> {
        let mut by_qp = BTreeMap::<_, Vec<_>>::new();
        for (qp, completion) in &self.completions[side] {
            let key = (*qp, completion.receive);
            by_qp.entry(key).or_default().push(*completion);
        }
        by_qp
    }

    pub fn count(&mut self, side: usize, counter: u16) -> u32 {
        self.read(side, counter).unwrap()
    }

    /// Checks that the counters have counted the pulses of `event_o`.
    pub fn pulses_are_counted(&mut self) {
        for side in 0..2 {
            // Reading takes cycles, and frames may be under way, so wait until nothing counts any more.
            for _ in 0..2000 {
                self.step(&mut all);
            }
            let pulses = self.host(side).counters().clone();
            for counter in reg::COUNTERS {
                if !counter.bytes {
                    let count = self.count(side, counter.address);
                    let counted = pulses.get(counter.address);
                    assert_eq!(u64::from(count), counted, "{} of {side}", counter.name);
                }
            }
            assert_eq!(pulses, *self.host(side).counters());
        }
    }
}

/// Creates both NICs with these registers; QPs are opened after they are written.
pub fn opened(
    registers: &[(u16, u32)],
    qps: u16,
    change: impl Fn(usize, u16, &mut QpSettings),
) -> Tested {
    let mut pair = Tested::new(|_| {}, 0);
    for side in 0..2 {
        for &(address, data) in registers {
            pair.write(side, address, data).unwrap();
        }
        for index in 0..qps {
            let mut setup = qp(side, index);
            change(side, index, &mut setup);
            pair.open(side, index, &setup).unwrap();
        }
    }
    pair
}

/// Marks an IP packet as having met congestion (CE).
pub fn mark_ce(bytes: &mut [u8]) {
    let ip = Headers::at(bytes).unwrap().ip;
    rewrite::mark_ce(bytes, &ip.unwrap());
}

/// The registers with which class c is DSCP 8c to 8c + 7.
pub fn dscp_maps() -> impl Iterator<Item = (u16, u32)> {
    (0..8).map(|word| (reg::DSCP_MAP + 4 * word, u32::from(word) * 0x1111_1111))
}

/// Builds a PFC frame with quanta for some classes.
pub fn pfc(quanta: [Option<u16>; 8]) -> Vec<u8> {
    let enable = (0..8).filter(|&class| quanta[class].is_some());
    let enable = enable.fold(0, |set, class| set | 1u8 << class);
    let mut frame = MacAddr::CONTROL.0.to_vec();
    frame.extend([2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01, 0, enable]);
    for quanta in quanta {
        frame.extend(quanta.unwrap_or(0).to_be_bytes());
    }
    frame.resize(60, 0);
    frame
}

/// A signaled WRITE of `side` with so many bytes from [`SOURCE`] to the other side's [`REGION`], both from `place` on.
pub fn signaled_write(pair: &Pair, side: usize, place: u64, length: u32) -> Work {
    Work {
        kind: WorkKind::WRITE,
        signaled: true,
        length,
        local_va: SOURCE + place,
        remote_va: REGION + place,
        remote_key: pair.key[1 - side],
        ..Work::default()
    }
}

/// Posts `lengths` as SENDs and WRITEs from one side, and buffers on the other. Returns the expected memory of the
/// other side and the number of completions of both.
pub fn post(
    pair: &mut Tested,
    side: usize,
    index: u16,
    lengths: &[u32],
) -> (BTreeMap<u64, u8>, [usize; 2]) {
    let mut expected = BTreeMap::new();
    let mut completions = [0; 2];
    let place = |i: usize| {
        REGION + 0x10_0000 * (i as u64 + 1) + 7 * i as u64 + 0x400_0000 * u64::from(index)
    };
    for (i, &length) in lengths.iter().enumerate() {
        let kind = [
            WorkKind::SEND,
            WorkKind::WRITE,
            WorkKind::SEND_IMM,
            WorkKind::WRITE_IMM,
        ][i % 4];
        let local_va = SOURCE + 0x100_0000 * i as u64 + 3 * i as u64;
        if kind != WorkKind::WRITE {
            let recv = Recv {
                length: length + 1,
                local_va: place(i),
                local_key: pair.key[1 - side],
                id: 1000 + i as u64,
            };
            pair.post_recv(1 - side, index, recv);
            completions[1 - side] += 1;
        }
        let remote_va = if kind == WorkKind::WRITE || kind == WorkKind::WRITE_IMM {
            place(i) + 0x8_0000
        } else {
            0
        };
        let work = Work {
            kind,
            signaled: true,
            length,
            local_va,
            remote_va,
            remote_key: pair.key[1 - side],
            imm: 0xABC0 + i as u32,
            id: i as u64,
            ..Work::default()
        };
        pair.post(side, index, work);
        completions[side] += 1;
        let target = if remote_va == 0 { place(i) } else { remote_va };
        for byte in 0..u64::from(length) {
            expected.insert(target + byte, content(local_va + byte));
        }
    }
    (expected, completions)
}

/// Returns whether each side has this many completions.
pub fn done(pair: &Tested, counts: [usize; 2]) -> bool {
    (0..2).all(|side| pair.completions[side].len() == counts[side])
}

/// Asserts that all completions are successful.
pub fn good(pair: &Tested) {
    for side in 0..2 {
        for (_, completion) in &pair.completions[side] {
            assert_eq!(completion.status, Status::Success, "{completion:?}");
        }
    }
}

/// Inputs of a NIC from its reset on, of so many cycles or more: both sides send, with DCQCN on, these register writes
/// and marked packets; then nothing happens until all counters are read.
pub fn traffic(cycles: u64, settings: &[(u16, u32)]) -> Vec<In> {
    let mut pair = Tested::of(&PairConfig {
        qps: &[0, 1, 2],
        record: true,
        ..PairConfig::default()
    });
    for side in 0..2 {
        for (address, word) in [(reg::CONTROL, 1 << reg::DCQCN_ON_LOW)]
            .iter()
            .chain(settings)
        {
            pair.write(side, *address, *word).unwrap();
        }
    }
    for side in 0..2 {
        for index in [0, 1, 2] {
            post(&mut pair, side, index, &[5_000, 1, 3_000, 64]);
        }
    }
    let mut packets = 0;
    let mut mark = |side: usize, bytes: &mut Vec<u8>, frame: &_| {
        packets += 1;
        if packets % 20 == 0 {
            mark_ce(bytes);
        }
        all(side, bytes, frame)
    };
    for _ in 0..cycles {
        pair.step(&mut mark);
    }
    pair.counters(0).unwrap();
    pair.update(0, |host| host.take_record())
}
