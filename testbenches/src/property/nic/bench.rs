//! Runs a case: two NICs, their hosts and the path.

use std::collections::BTreeMap;

use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::kernel::Frame;
use xoff_sim::nic::{BufferParts, DcqcnSettings, NicSettings, PfcSettings, QpSettings};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::dcqcn::{Rate, RpParameters};
use xoff_sim::protocol::gbn::{Status, WorkKind};
use xoff_sim::time::Duration;
use xoff_sim::wire::MacAddr;
use xoff_sim::wire::frame::{ParsedFrame, Verdict};

use super::bins::{self, Fate};
use super::events::{Event, Head, Path};
use super::ledger::Ledger;
use super::pair::{PERIOD, Pair, PairConfig, REGION, STEP_MAX};
use crate::property::Disagreement;
use crate::property::bins::Bins;
use xoff_cosim::network::RtlNode;
use xoff_cosim::units::{PERIOD_256_PS, UnitError};
use xoff_sim::seeded::SplitMix;

/// Maximum number of cycles of a case; a longer case counts as hanging.
const CYCLES_MAX: u64 = 2_000_000;
/// Maximum number of cycles in which nothing happens: a pause, a stall and eight timeouts of 16 us.
const QUIET_MAX: u64 = 60_000;
/// Maximum number of cycles after the last message until both NICs are idle: the longest pause and stall, and DCQCN's
/// timers.
const REST_MAX: u64 = 60_000;
/// Maximum delay of a late frame in cycles.
const LATE_MAX: u64 = 1_000;
/// The class of DSCP 26 in the default map of the settings.
const CLASS: usize = 3;

/// Runs the events and checks the outcome of every message. Returns the number of frames.
///
/// # Errors
///
/// Returns the first violation.
pub fn check(
    seed: u64,
    head: &Head,
    events: &[Event],
    bins: &mut Bins,
) -> Result<u64, Disagreement> {
    bins::case(bins, head, events);
    let (first, hit) = run(seed, head, events, true)?;
    bins.merge(&hit);
    if head.twice {
        let (whole, _) = run(seed, head, events, false)?;
        if first.frames != whole.frames {
            return Err("other frames when idle cycles are left out".into());
        }
        if first.completions != whole.completions || first.written != whole.written {
            return Err("other completions or bytes when idle cycles are left out".into());
        }
    }
    Ok(first.frames.len() as u64)
}

/// The faults of the path between the NICs.
struct Wire {
    path: Path,
    draw: SplitMix,
    arrived: [u64; 2],
    /// What happened to frames.
    bins: Bins,
}

impl Wire {
    fn carry(
        &mut self,
        from: usize,
        sent: &Frame,
        frame: &ParsedFrame,
    ) -> Vec<(Duration, Vec<u8>)> {
        let Path {
            drops,
            flips,
            doubles,
            late,
            marks,
            ..
        } = self.path;
        let mut chance = |of_thousand: u16| self.draw.below(1_000) < of_thousand.into();
        let bins = &mut self.bins;
        let mut seen = |fate| bins::frame(bins, frame, fate);
        if chance(drops) {
            seen(Fate::Loses);
            return vec![];
        }
        if frame.verdict == Verdict::Pfc {
            seen(Fate::Passes);
            // The frame goes directly from port to port, so the path can only lose it.
            self.arrived[1 - from] += 1;
            return vec![(Duration::ZERO, sent.bytes.to_vec())];
        }
        let (flip, twice, mark) = (chance(flips), chance(doubles), chance(marks));
        let delays = [chance(late), chance(late)];
        let mut bytes = sent.bytes.to_vec();
        if mark
            && let Some(ip) = Headers::at(&bytes).and_then(|headers| headers.ip)
            && rewrite::ecn_capable(ip.traffic_class)
        {
            rewrite::mark_ce(&mut bytes, &ip);
            seen(Fate::Marks);
        }
        if flip {
            seen(Fate::Flips);
            let bit = self.draw.below(8 * bytes.len() as u32);
            bytes[bit as usize / 8] ^= 1 << (bit % 8);
        }
        if twice {
            seen(Fate::Doubles);
        }
        seen(match delays[0] {
            true => Fate::Delays,
            false => Fate::Passes,
        });
        let copies = 1 + usize::from(twice);
        self.arrived[1 - from] += copies as u64;
        let mut delay = |late| match late {
            true => PERIOD * self.draw.within(1, LATE_MAX),
            false => Duration::ZERO,
        };
        (delays.into_iter().take(copies))
            .map(|late| (delay(late), bytes.clone()))
            .collect()
    }
}

fn settings(head: &Head, side: usize) -> NicSettings {
    let mut pfc = PfcSettings::default();
    if head.pfc {
        pfc.classes = 1 << CLASS;
        pfc.xoff[CLASS] = 6_000;
        pfc.xon[CLASS] = 3_000;
        pfc.quanta = 2_000;
        pfc.refresh = 2_500;
    }
    NicSettings {
        pfc,
        buffer: BufferParts::new(pfc.classes, xoff_rtl::nic::BUFFER_BYTES.into()),
        dcqcn: head.dcqcn.then(|| DcqcnSettings {
            rp: RpParameters {
                // At a lower rate a packet would take longer than this bench waits.
                rate_min: Rate(1_000_000),
                ..RpParameters::paper(Rate(40_000_000), PERIOD_256_PS)
            },
            cnp_interval: 1_000,
            cnp_dscp: 48,
            cnp_pcp: 6,
            burst: 144,
        }),
        ..NicSettings::new(MacAddr([2, 0, 0, 0, 0, 1 + side as u8]))
    }
}

fn connect(seed: u64, head: &Head) -> Result<Pair, UnitError> {
    let change = |qp: &mut QpSettings| {
        qp.requester = head.requester;
        qp.responder.mtu = head.requester.mtu;
        qp.responder.rnr_timer = head.rnr_timer;
        qp.responder.restart = head.requester.restart;
        qp.tags = [0x6005, 0x6006][..head.tags.into()].to_vec();
        if head.ipv6 {
            for port in [&mut qp.own, &mut qp.peer] {
                if let std::net::IpAddr::V4(ip) = port.ip {
                    port.ip = ip.to_ipv6_mapped().into();
                }
            }
        }
    };
    Pair::of(&PairConfig {
        seed,
        settings: Some(&|side| settings(head, side)),
        change: &change,
        qps: head.qps,
        read_delay: PERIOD * u64::from(head.read_delay),
        record: false,
    })
}

/// Builds a PFC frame that pauses the QPs' class.
fn pause(quanta: u16) -> Vec<u8> {
    let mut frame = MacAddr::CONTROL.0.to_vec();
    frame.extend([2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01, 0, 1 << CLASS]);
    for class in 0..8 {
        let time = if class == CLASS { quanta } else { 0 };
        frame.extend(time.to_be_bytes());
    }
    frame.resize(60, 0);
    frame
}

struct Bench {
    pair: Pair,
    wire: Wire,
    /// By sender's side and QP.
    ledgers: BTreeMap<(usize, u16), Ledger>,
    /// By receiver's side and QP: the cycle of the last buffer.
    last_buffer: BTreeMap<(usize, u16), u64>,
    /// Number of completions and writes already judged, by side.
    judged: [(usize, usize); 2],
    /// Cycle in which something happened last.
    stirred: u64,
}

fn run(seed: u64, head: &Head, events: &[Event], skip: bool) -> Result<(Pair, Bins), Disagreement> {
    let mut pair = connect(seed, head).map_err(|error| error.to_string())?;
    pair.set_skip(skip);
    let mut ledgers = BTreeMap::new();
    for side in 0..2 {
        for qp in 0..head.qps {
            let base = REGION + (u64::from(qp) << 24);
            ledgers.insert((side, qp), Ledger::new(base, head.requester.restart));
        }
    }
    let mut bench = Bench {
        stirred: pair.now(),
        pair,
        wire: Wire {
            path: head.path,
            draw: SplitMix::new(head.path.seed),
            arrived: [0; 2],
            bins: Bins::new(bins::GROUPS),
        },
        ledgers,
        last_buffer: BTreeMap::new(),
        judged: [(0, 0); 2],
    };
    for event in events {
        bench.happen(event)?;
    }
    bench.end()?;
    let mut bins = bench.wire.bins;
    for (_, completion) in bench.pair.completions.iter().flatten() {
        bins::completion(&mut bins, completion);
    }
    Ok((bench.pair, bins))
}

impl Bench {
    fn now(&self) -> u64 {
        self.pair.now()
    }

    fn happen(&mut self, event: &Event) -> Result<(), Disagreement> {
        let now = self.now();
        match *event {
            Event::Wait(cycles) => {
                let until = now + u64::from(cycles);
                while self.now() < until {
                    self.step((until - self.now()).min(STEP_MAX))?;
                }
            }
            Event::Post {
                side,
                qp,
                kind,
                length,
                signaled,
                buffer_late,
            } => {
                let direction = (usize::from(side & 1), qp);
                if self.ledgers.get(&direction).is_some_and(Ledger::has_room) {
                    let late = buffer_late.into();
                    self.post(direction, WorkKind(kind), length, signaled, late);
                }
            }
            Event::Stall {
                side,
                what,
                of_16,
                cycles,
            } => {
                let until = now + u64::from(cycles);
                self.pair.stall(usize::from(side & 1), what, of_16, until);
            }
            Event::Pause { side, quanta } => {
                let side = usize::from(side & 1);
                self.wire.arrived[side] += 1;
                let at = self.pair.time();
                self.pair.receive(side, at, pause(quanta));
            }
            Event::Withdraw { side } => {
                let side = usize::from(side & 1);
                self.pair.withdraw(side);
                for ledger in self.ledgers.values_mut() {
                    ledger.withdraw();
                }
            }
        }
        Ok(())
    }

    /// Posts a message over an existing QP.
    fn post(
        &mut self,
        direction: (usize, u16),
        kind: WorkKind,
        length: u32,
        signaled: bool,
        late: u64,
    ) {
        let now = self.now();
        let (side, qp) = direction;
        let key = self.pair.key[1 - side];
        let Some(ledger) = self.ledgers.get_mut(&direction) else {
            return;
        };
        let (work, buffer) = ledger.post(kind, length, signaled, key);
        self.pair.post(side, qp, work);
        if let Some(buffer) = buffer {
            // In the order of the messages.
            let last = self.last_buffer.entry((1 - side, qp)).or_default();
            *last = (now + late).max(*last);
            self.pair.post_recv_at(1 - side, *last, qp, buffer);
        }
    }

    /// Runs a number of cycles and judges their results.
    fn step(&mut self, cycles: u64) -> Result<(), Disagreement> {
        let before = self.pair.frames.len();
        let wire = &mut self.wire;
        let stepped = (self.pair).step_over(cycles, &mut |side, sent, frame| {
            wire.carry(side, sent, frame)
        });
        stepped.map_err(|error| error.to_string())?;
        let now = self.now();
        if self.pair.frames.len() > before {
            self.stirred = now;
        }
        self.judge(now)
            .map_err(|what| format!("cycle {now}: {what}"))
    }

    /// Judges new completions and writes.
    fn judge(&mut self, now: u64) -> Result<(), Disagreement> {
        for side in 0..2 {
            let (completions, writes) = self.judged[side];
            for (qp, completion) in &self.pair.completions[side][completions..] {
                let qp = *qp;
                let place = |what| format!("side {side}, QP {qp}: {what}");
                let sender = if completion.receive { 1 - side } else { side };
                let ledger = (self.ledgers.get_mut(&(sender, qp)))
                    .ok_or_else(|| place(format!("no such QP: {completion:?}")))?;
                let judged = match completion.receive {
                    true => ledger.received(completion),
                    false => ledger.sent(completion),
                };
                judged.map_err(place)?;
                if !completion.receive
                    && completion.status != Status::Success
                    && let Some(back) = self.ledgers.get_mut(&(1 - side, qp))
                {
                    back.fail_receiver();
                }
            }
            for write in &self.pair.written[side][writes..] {
                let qp = (write.va.wrapping_sub(REGION) >> 24) as u16;
                let place = |what| format!("memory of side {side}: {what}");
                let ledger = (self.ledgers.get_mut(&(1 - side, qp)))
                    .ok_or_else(|| place(format!("a write at {:#x}", write.va)))?;
                ledger.wrote(write).map_err(place)?;
            }
            let seen = (
                self.pair.completions[side].len(),
                self.pair.written[side].len(),
            );
            if seen != self.judged[side] {
                self.stirred = now;
            }
            self.judged[side] = seen;
        }
        Ok(())
    }

    /// Runs until all messages are reported and both NICs are idle.
    fn end(&mut self) -> Result<(), Disagreement> {
        let begin = self.now();
        self.stirred = begin;
        // A message without a completion is only known to be complete by a later completion.
        let used = |(_, ledger): &(&(usize, u16), &Ledger)| ledger.used();
        let used: Vec<_> = (self.ledgers.iter().filter(used))
            .map(|(direction, _)| *direction)
            .collect();
        for direction in used {
            self.post(direction, WorkKind::WRITE, 0, true, 0);
        }
        while !self.ledgers.values().all(Ledger::settled) {
            self.step(STEP_MAX)?;
            let now = self.now();
            if now > self.stirred + QUIET_MAX || now > begin + CYCLES_MAX {
                let open = self.ledgers.iter().filter(|(_, ledger)| !ledger.settled());
                let open: Vec<_> = open.map(|(direction, _)| direction).collect();
                return Err(format!(
                    "cycle {now}: no completion comes any more from (side, QP) {open:?}"
                ));
            }
        }
        let settled = self.now();
        while !self.pair.rests() {
            self.step(STEP_MAX)?;
            if self.now() > settled + REST_MAX {
                return Err(format!("cycle {}: not idle, and all is done", self.now()));
            }
        }
        for ((side, qp), ledger) in &self.ledgers {
            let place = |what| format!("from side {side} over QP {qp}: {what}");
            ledger.end().map_err(place)?;
        }
        for (side, arrived) in self.wire.arrived.into_iter().enumerate() {
            let counted = self.pair.host(side).counters().get(reg::FRAMES_IN);
            if counted != arrived {
                return Err(format!("{counted} frames counted, {arrived} came"));
            }
        }
        Ok(())
    }
}
