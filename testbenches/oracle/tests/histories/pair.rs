//! A case: two model NICs, what is posted, the path between them, and the log of it.

use std::collections::BTreeMap;

use xoff_oracle::{Fact, Ps, What};
use xoff_sim::host::{Host, PcieConfig, memory};
use xoff_sim::kernel::{Direction, Network, NetworkBuilder, NodeId, PortId, Record};
use xoff_sim::link::Link;
use xoff_sim::nic::model::pair::{address, qp};
use xoff_sim::nic::model::{ModelNic, ModelNicConfig};
use xoff_sim::nic::{self, NicSettings, ReadRights};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{self, WorkKind};
use xoff_sim::seeded::{Seed, SplitMix};
use xoff_sim::time::{Clock, Duration, Length, Time};

use crate::facts::{self, OPERATIONS};

/// Where the region of both sides begins, and its size.
const BASE: u64 = 1 << 36;
const BYTES: u64 = 1 << 30;
/// The region that messages are sent from, and its index.
const SENT: nic::Region = nic::Region {
    base: 0x5555_0000_0000,
    length: 1 << 40,
    tag: 0x34,
    pd: 0,
    local_write: false,
    remote_write: false,
};
const SENT_INDEX: u16 = 2;
/// Room for a message.
const ROOM: u64 = 1 << 16;
/// Time of a step.
const STEP: Duration = Duration::from_ns(300);
/// A case that goes on until then does not come to rest.
pub const REST: Ps = 1_200_000_000;
/// The number of the first QP, as the helper for pairs has it.
const QPN: u32 = 0x100;
/// First index of regions that messages may invalidate.
const SPARE: u16 = 10;

/// Two model NICs, and their log.
struct Pair {
    network: Network<ModelNic>,
    clocks: [Clock; 2],
    key: u32,
    spares: Vec<u32>,
    posted: [u64; 2],
    facts: Vec<Fact>,
    overflowed: [bool; 2],
    /// By side and QP: what WRITEs have put into the peer's memory, and what the last atomic leaves in the word there.
    written: BTreeMap<(usize, u16), (u64, u32)>,
    words: BTreeMap<(usize, u16), u64>,
}

/// What a case draws.
struct Case {
    seed: u64,
    draw: SplitMix,
    qps: u16,
    restart: bool,
    /// Most READs and atomics unanswered.
    reads: u16,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut draw = SplitMix::new(seed);
        Self {
            seed,
            qps: draw.within(1, 3) as u16,
            restart: draw.once_in(4),
            reads: draw.one_of(&[1, 2, 16]),
            draw,
        }
    }

    fn settings(&self, side: usize, index: u16) -> nic::QpSettings {
        let [own, peer] = [1 + side as u8, 2 - side as u8];
        let mut settings = qp(own, peer, index);
        settings.requester.timeout = 2;
        settings.requester.window = 40;
        settings.requester.retry = 3;
        settings.requester.rnr_retry = 3;
        settings.requester.restart = self.restart;
        settings.responder.restart = self.restart;
        settings
    }

    fn pair(&mut self) -> Pair {
        let clocks =
            [1, 2].map(|host| Clock::new(Clock::PERIOD_40G, Duration::from_ps(977 * host)));
        let mut facts = vec![];
        let mut builder = NetworkBuilder::new(Seed(self.seed));
        let region = nic::Region {
            base: BASE,
            length: BYTES,
            tag: 0x5A,
            pd: 0,
            local_write: true,
            remote_write: true,
        };
        let mut spares = vec![];
        for (side, &clock) in clocks.iter().enumerate() {
            let config = ModelNicConfig::new(clock, NicSettings::new(address(1 + side as u8).mac));
            let mut host = Host::new(clock, 32, &PcieConfig::default());
            host.take_over(Seed(self.seed));
            let mut nic = ModelNic::new(config, host);
            nic.enable_reads(self.reads);
            let mut push = |what| facts.push(Fact { at: 0, side, what });
            for (index, length) in [(1, BYTES)]
                .into_iter()
                .chain((SPARE..SPARE + 4).map(|index| (index, 1)))
            {
                let region = nic::Region { length, ..region };
                let key = nic.register(index, region);
                let (read, atomic) = (true, true);
                let rights = ReadRights { read, atomic };
                nic.permit(index, rights);
                if side == 0 {
                    spares.push(key);
                }
                push(What::Registered(facts::region(index, &region, rights)));
            }
            nic.register(SENT_INDEX, SENT);
            let none = ReadRights::default();
            push(What::Registered(facts::region(SENT_INDEX, &SENT, none)));
            for index in 0..self.qps {
                let settings = self.settings(side, index);
                nic.open(index, &settings);
                let qpn = QPN + u32::from(index);
                let reads = Some(self.reads.into());
                push(What::Opened(facts::qp(qpn, &settings, reads)));
            }
            assert_eq!(builder.node(nic), NodeId(side as u32));
        }
        let mut link = Link::new(Length::from_m(20), Duration::from_ns(150));
        for rules in &mut link.faults {
            for what in ["drop", "flip", "duplicate", "delay 2 us"] {
                let chance = self.draw.one_of(&[0, 0, 3, 20, 100]);
                rules.push(
                    format!("chance {chance}/1000: {what}")
                        .parse()
                        .expect("a rule"),
                );
            }
        }
        let ends = [0, 1].map(|side| (NodeId(side), PortId(0)));
        builder
            .connect(ends[0], ends[1], &link)
            .expect("both ports are free");
        let mut network = builder.build();
        for (node, port) in ends {
            network.tap(node, port, true);
        }
        Pair {
            network,
            clocks,
            key: spares.remove(0),
            spares,
            posted: [0; 2],
            facts,
            overflowed: [false; 2],
            written: BTreeMap::new(),
            words: BTreeMap::new(),
        }
    }

    /// Posts a message, and the buffer that it needs, which may be late, short or missing.
    fn post(&mut self, pair: &mut Pair) {
        let side = self.draw.below(2) as usize;
        let index = self.draw.below(self.qps.into()) as u16;
        let id = pair.posted[side];
        pair.posted[side] += 1;
        let (mut kind, mut operation) = self.draw.one_of(&OPERATIONS);
        let draw = &mut self.draw;
        let length = draw.one_of(&[0, 1, 77, 1_023, 1_024, 1_025, 5_000, 20_000]);
        let mut imm = draw.bits() as u32;
        if kind == WorkKind::SEND_INV {
            match pair.spares.pop() {
                Some(key) => imm = key,
                None => (kind, operation) = OPERATIONS[0],
            }
        }
        let place = BASE + (2 * id + side as u64) * ROOM + draw.within(0, 63);
        let mut work = gbn::Work {
            kind,
            signaled: !draw.once_in(3),
            fence: draw.once_in(8),
            solicited: draw.once_in(2),
            length,
            local_va: SENT.base + id * 0x1_2345,
            // Rarely one that names nothing.
            local_key: SENT.key(SENT_INDEX) ^ u32::from(id % 61 == 60),
            remote_va: place,
            remote_key: pair.key,
            imm,
            id: 1_000_000 + id,
            ..gbn::Work::default()
        };
        if kind.returns() {
            pair.returns((side, index), place, draw, &mut work);
        } else if kind.writes() {
            pair.written.insert((side, index), (place, length));
        }
        let late = if draw.once_in(4) {
            Duration::from_us(draw.within(1, 60))
        } else {
            Duration::ZERO
        };
        if operation.takes_buffer() && !draw.once_in(60) {
            let recv = gbn::Recv {
                length: if draw.once_in(60) {
                    length / 2
                } else {
                    length + draw.below(3)
                },
                local_va: place,
                local_key: pair.key,
                id: 2_000_000 + id,
            };
            pair.post_recv(1 - side, index, recv, late);
        }
        pair.post(side, index, work);
    }
}

impl Pair {
    /// Makes a READ or an atomic of a work request, whose data goes to `place`. What is read was never written, or by
    /// the same QP before: by a WRITE, or by an atomic. Each QP has a word of its own.
    fn returns(&mut self, qp: (usize, u16), place: u64, draw: &mut SplitMix, work: &mut gbn::Work) {
        (work.local_va, work.local_key) = (place, self.key);
        let own = qp.0 as u64 * 8 + u64::from(qp.1);
        let word = BASE + BYTES / 2 + own * 64;
        work.remote_va = BASE + BYTES / 2 + work.id % 1_000 * ROOM + ROOM + draw.within(0, 63);
        match (work.kind, draw.below(3)) {
            (WorkKind::READ, 0) => {
                if let Some(&(va, length)) = self.written.get(&qp) {
                    (work.remote_va, work.length) = (va, length);
                }
            }
            (WorkKind::READ, 1) => (work.remote_va, work.length) = (word - 3, 14),
            (WorkKind::READ, _) => {}
            (kind, _) => {
                (work.remote_va, work.length) = (word, 8);
                let held = self.words.entry(qp).or_insert_with(|| memory::number(word));
                work.swap_add = draw.bits();
                work.compare = match draw.once_in(4) {
                    true => draw.bits(),
                    false => *held,
                };
                *held = match kind {
                    WorkKind::FETCH_ADD => held.wrapping_add(work.swap_add),
                    _ if *held == work.compare => work.swap_add,
                    _ => *held,
                };
            }
        }
    }

    fn push(&mut self, at: Time, side: usize, what: What) {
        self.facts.push(Fact {
            at: at.as_ps(),
            side,
            what,
        });
    }

    fn post(&mut self, side: usize, index: u16, work: gbn::Work) {
        let now = self.network.now();
        let at = self.clocks[side].edge_from(now);
        self.network.update(NodeId(side as u32), |nic| {
            nic.host_mut().post(at, index, work)
        });
        let work = facts::work(&work);
        self.push(
            now,
            side,
            What::Posted {
                qpn: QPN + u32::from(index),
                work,
            },
        );
    }

    fn post_recv(&mut self, side: usize, index: u16, recv: gbn::Recv, late: Duration) {
        let at = self.clocks[side].edge_from(self.network.now() + late);
        self.network.update(NodeId(side as u32), |nic| {
            nic.host_mut().post_recv(at, index, recv)
        });
        let buffer = facts::buffer(&recv);
        let at = self.clocks[side].edge(at);
        self.push(
            at,
            side,
            What::Buffer {
                qpn: QPN + u32::from(index),
                buffer,
            },
        );
    }

    /// Withdraws the region of a side.
    fn withdraw(&mut self, side: usize) {
        let none = nic::Region {
            base: BASE,
            length: 0,
            tag: 0,
            pd: 0,
            local_write: false,
            remote_write: false,
        };
        self.network
            .update(NodeId(side as u32), |nic| nic.register(1, none));
        let key = self.key;
        self.push(self.network.now(), side, What::Removing { key });
    }

    /// Runs both for a time.
    fn run(&mut self, time: Duration) {
        let until = self.network.now() + time;
        while self.network.now() < until {
            let mut records: Vec<Record> = vec![];
            let next = self.network.now() + STEP;
            self.network
                .run_until(next, |seen| records.extend_from_slice(seen));
            for record in records {
                let (side, bytes) = (record.node.0 as usize, record.frame.bytes.whole().to_vec());
                match record.direction {
                    Direction::Sent => self.push(record.frame.start, side, What::Sent(bytes)),
                    Direction::Received if record.frame.fcs_ok => {
                        self.push(record.frame.end, side, What::Arrived(bytes))
                    }
                    Direction::Received => {}
                }
            }
            for side in 0..2 {
                self.take(side);
            }
        }
    }

    fn take(&mut self, side: usize) {
        let now = self.network.now();
        let node = NodeId(side as u32);
        let (written, completions) = self.network.update(node, |nic| {
            let host = nic.host_mut();
            (host.take_written(), host.take_completions())
        });
        for write in written {
            self.push(
                now,
                side,
                What::Written {
                    va: write.va,
                    bytes: write.bytes,
                },
            );
        }
        for (index, it) in completions {
            let completion = facts::completion(&it);
            self.push(
                now,
                side,
                What::Completed {
                    qpn: QPN + u32::from(index),
                    completion,
                },
            );
        }
        let full = self.network.node(node).counters().get(reg::DROP_FULL) > 0;
        if full && !self.overflowed[side] {
            self.overflowed[side] = true;
            // What was dropped has arrived in this step.
            let begin = Time::from_ps(now.as_ps().saturating_sub(STEP.as_ps()));
            self.push(begin, side, What::Overflowed);
        }
    }
}

/// The log of a case.
pub fn log(seed: u64) -> Vec<Fact> {
    let mut case = Case::new(seed);
    let mut pair = case.pair();
    for _ in 0..case.draw.within(1, 14) {
        case.post(&mut pair);
        let time = case.draw.any_length(15);
        pair.run(Duration::from_ns(time));
    }
    if case.draw.once_in(4) {
        pair.withdraw(case.draw.below(2) as usize);
    }
    pair.run(Duration::from_us(1_500));
    pair.facts
}
