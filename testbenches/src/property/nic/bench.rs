//! Runs a case: two NICs, their hosts and the path.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::kernel::Frame;
use xoff_sim::nic::{BufferParts, DcqcnSettings, NicSettings, PfcSettings, QpSettings};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::dcqcn::{Rate, RpParameters};
use xoff_sim::protocol::gbn::{Status, WorkKind};
use xoff_sim::protocol::icrc;
use xoff_sim::time::Duration;
use xoff_sim::wire::MacAddr;
use xoff_sim::wire::frame::{IpKind, ParsedFrame, Verdict};

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
        compare(&first, &whole)?;
    }
    Ok(first.frames.len() as u64)
}

/// Compares two runs of a case, without idle cycles and with them.
///
/// # Errors
///
/// The first difference.
pub fn compare(first: &Pair, whole: &Pair) -> Result<(), Disagreement> {
    if let Some(cycle) = first_other_frame(first, whole) {
        return Err(format!(
            "cycle {cycle}: other frames when idle cycles are left out"
        ));
    }
    if first.completions != whole.completions || first.written != whole.written {
        return Err("other completions or bytes when idle cycles are left out".into());
    }
    Ok(())
}

/// The cycle in which the first frame begins that two runs do not have in common.
pub fn first_other_frame(first: &Pair, whole: &Pair) -> Option<u64> {
    let both = first.frames.iter().zip(&whole.frames);
    let same = both.take_while(|(a, b)| a == b).count();
    let next = [first, whole].map(|pair| pair.frames.get(same));
    let starts = next.into_iter().flatten();
    let start = starts.map(|(_, frame, _)| frame.start.as_ps()).min()?;
    Some(start / PERIOD.as_ps())
}

/// The faults of the path between the NICs.
#[derive(Serialize, Deserialize)]
struct Wire {
    path: Path,
    draw: SplitMix,
    arrived: [u64; 2],
    /// What happened to frames. A bench that goes on from a checkpoint counts anew.
    #[serde(skip, default = "no_bins")]
    bins: Bins,
}

fn no_bins() -> Bins {
    Bins::new(bins::GROUPS)
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
            forged,
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
        // No draw where there is none, so that kept cases stay the same.
        if forged > 0 && chance(forged) {
            forge(&mut bytes, frame);
        }
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

/// Changes the last byte of a packet's payload, and its ICRC.
fn forge(bytes: &mut [u8], frame: &ParsedFrame) {
    let (Some(eth), Some(ip)) = (&frame.eth, &frame.ip) else {
        return;
    };
    let pad = frame.bth.map_or(0, |bth| usize::from(bth.pad));
    let start = 14 + 4 * eth.tags.len();
    let length = usize::from(ip.length) + if ip.kind == IpKind::V6 { 40 } else { 0 };
    if frame.payload.is_empty() {
        return;
    }
    let end = start + length - 4;
    bytes[end - pad - 1] ^= 0xFF;
    if let Ok(right) = icrc(ip.kind, &bytes[start..end]) {
        bytes[end..end + 4].copy_from_slice(&right);
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

/// A pair in the middle of a case. In serialized form it is a checkpoint.
#[derive(Serialize, Deserialize)]
pub struct Bench {
    /// The NICs, their hosts and the path.
    pub pair: Pair,
    wire: Wire,
    /// By sender's side and QP.
    ledgers: BTreeMap<(usize, u16), Ledger>,
    /// By receiver's side and QP: the cycle of the last buffer.
    last_buffer: BTreeMap<(usize, u16), u64>,
    /// Number of completions and writes already judged, by side.
    judged: [(usize, usize); 2],
    /// Cycle in which something happened last.
    stirred: u64,
    stage: Stage,
    steps: u64,
}

/// Where a bench stands in its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// This event is next.
    Event(usize),
    /// A wait until a cycle; then this event is next.
    Wait { until: u64, next: usize },
    /// All messages are to be reported since this cycle.
    Drain { begin: u64 },
    /// Both NICs are to become idle; all messages were reported in this cycle.
    Rest { settled: u64 },
    /// The case is over, and everything held.
    Done,
}

/// Runs a case to its end and returns the pair and what was hit.
fn run(seed: u64, head: &Head, events: &[Event], skip: bool) -> Result<(Pair, Bins), Disagreement> {
    let mut bench = Bench::new(seed, head, skip).map_err(|error| error.to_string())?;
    while bench.advance(events)? {}
    let mut bins = bench.wire.bins;
    for (_, completion) in bench.pair.completions.iter().flatten() {
        bins::completion(&mut bins, completion);
    }
    Ok((bench.pair, bins))
}

impl Bench {
    /// Creates the bench at the beginning of a case.
    pub fn new(seed: u64, head: &Head, skip: bool) -> Result<Self, UnitError> {
        let mut pair = connect(seed, head)?;
        pair.set_skip(skip);
        let mut ledgers = BTreeMap::new();
        for side in 0..2 {
            for qp in 0..head.qps {
                let base = REGION + (u64::from(qp) << 24);
                ledgers.insert((side, qp), Ledger::new(base, head.requester.restart));
            }
        }
        Ok(Self {
            stirred: pair.now(),
            pair,
            wire: Wire {
                path: head.path,
                draw: SplitMix::new(head.path.seed),
                arrived: [0; 2],
                bins: no_bins(),
            },
            ledgers,
            last_buffer: BTreeMap::new(),
            judged: [(0, 0); 2],
            stage: Stage::Event(0),
            steps: 0,
        })
    }

    /// The next cycle of both NICs.
    pub fn now(&self) -> u64 {
        self.pair.now()
    }

    /// How often [`advance`](Self::advance) was called.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Carries out an event, or at most [`STEP_MAX`] cycles. Returns whether the case goes on.
    ///
    /// # Errors
    ///
    /// The first violation.
    pub fn advance(&mut self, events: &[Event]) -> Result<bool, Disagreement> {
        let now = self.now();
        self.steps += 1;
        match self.stage {
            Stage::Event(place) => match events.get(place) {
                None => self.close(),
                Some(event) => {
                    let next = place + 1;
                    self.stage = match *event {
                        Event::Wait(cycles) => Stage::Wait {
                            until: now + u64::from(cycles),
                            next,
                        },
                        _ => Stage::Event(next),
                    };
                    self.happen(event);
                }
            },
            Stage::Wait { until, next } if now >= until => self.stage = Stage::Event(next),
            Stage::Wait { until, .. } => self.step((until - now).min(STEP_MAX))?,
            Stage::Drain { .. } if self.ledgers.values().all(Ledger::settled) => {
                self.stage = Stage::Rest { settled: now };
            }
            Stage::Drain { begin } => self.drain(begin)?,
            Stage::Rest { .. } if self.pair.rests() => {
                self.end()?;
                self.stage = Stage::Done;
            }
            Stage::Rest { settled } => {
                self.step(STEP_MAX)?;
                if self.now() > settled + REST_MAX {
                    return Err(format!("cycle {}: not idle, and all is done", self.now()));
                }
            }
            Stage::Done => return Ok(false),
        }
        Ok(true)
    }

    fn happen(&mut self, event: &Event) {
        let now = self.now();
        match *event {
            Event::Wait(_) => {}
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

    /// Runs a number of cycles, at most [`STEP_MAX`], and judges their results.
    ///
    /// # Errors
    ///
    /// The first violation.
    pub fn step(&mut self, cycles: u64) -> Result<(), Disagreement> {
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

    /// Runs a number of cycles, at most [`STEP_MAX`], and judges nothing.
    ///
    /// # Errors
    ///
    /// A NIC failed.
    pub fn run_on(&mut self, cycles: u64) -> Result<(), UnitError> {
        let wire = &mut self.wire;
        (self.pair).step_over(cycles, &mut |side, sent, frame| {
            wire.carry(side, sent, frame)
        })
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

    /// Begins the end of the case: all messages are to be reported.
    fn close(&mut self) {
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
        self.stage = Stage::Drain { begin };
    }

    fn drain(&mut self, begin: u64) -> Result<(), Disagreement> {
        self.step(STEP_MAX)?;
        let now = self.now();
        if now > self.stirred + QUIET_MAX || now > begin + CYCLES_MAX {
            let open = self.ledgers.iter().filter(|(_, ledger)| !ledger.settled());
            let open: Vec<_> = open.map(|(direction, _)| direction).collect();
            return Err(format!(
                "cycle {now}: no completion comes any more from (side, QP) {open:?}"
            ));
        }
        Ok(())
    }

    /// Judges what is left when all messages are reported and both NICs are idle.
    fn end(&self) -> Result<(), Disagreement> {
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
