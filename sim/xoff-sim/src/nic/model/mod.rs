//! A NIC as a behavioural model: the contract of `rtl/nic/README.md` at the level of packets, built from the
//! reference models. A scenario may use it in place of an RTL NIC: it sends the same packets in the same order, some
//! cycles earlier or later.
//!
//! | module | what is in it |
//! |---|---|
//! | [`latency`] | latencies of the RTL's stages, which make the model's timing resemble the RTL's |
//! | `inlet`, `outlet` | MACs: when a frame has been received, and when one is sent |
//! | `classify`, `icrc`, `path` | fast parsing and building of frames, tested against the reference models |
//! | `receive`, `buffer`, `memory_table` | lookup of a frame's QP; the receive buffer, DMA writes, registered memory |
//! | `transmit`, `answers`, `slots`, `reads`, `turns`, `class_scheduler`, `qp_set` | grants, what waits for the wire, arbitration |
//! | `responses` | READs and atomics |
//! | `selective` | packets ahead of a missing one, of QPs that repeat selectively |
//! | `translating` | page tables and their cache |
//! | `pauses`, `pacing` | PFC, PAUSE and watchdog; DCQCN |
//! | [`mod@pair`] | two such NICs at a cable, for tests |
//!
//! Time is in cycles of the NIC's clock, and only cycles in which something is due are stepped. The order within such
//! a cycle is: pauses that end, frames, posts, the responder, DMA writes, timers, pauses to be sent, grants, the
//! wire.

use serde::{Deserialize, Serialize};

use self::answers::Answers;
use self::buffer::ReceiveBuffer;
use self::class_scheduler::ClassScheduler;
use self::inlet::Inlet;
use self::memory_table::MemoryTable;
use self::outlet::Outlet;
use self::pacing::Pacing;
use self::path::Path;
use self::pauses::Pauses;
use self::qp_set::QpSet;
use self::responses::Responses;
use self::selective::Ahead;
use self::slots::Slots;
use self::translating::Translating;
use self::turns::Turns;
use super::congestion::{Chosen, Pace};
use super::{DcqcnChange, NicCounters, NicSettings, PauseLog, QpSettings, ReadRights, Region};
use crate::host::Host;
use crate::kernel::{Arrivals, Departures, Node, PortId};
use crate::mac::ReceiveCounters;
use crate::nic::qp::vlans;
use crate::nic_registers as reg;
use crate::protocol::Cycle;
use crate::protocol::CyclesPerQuantum;
use crate::protocol::dcqcn::{Alpha, Rate};
use crate::protocol::gbn::{
    RequesterConfig, RequesterEnd, RequesterEvent, ResponderEnd, ResponderEvent, Times, mtu_bytes,
};
use crate::time::{ByteCount, Clock, Cycles, Duration, LineRate, Time};
use crate::wire::QUANTUM_BITS;
use crate::wire::address_bits;
use crate::wire::frame;

mod answers;
mod buffer;
mod class_scheduler;
mod classify;
mod inlet;
pub mod latency;
mod memory_table;
mod outlet;
mod pacing;
pub mod pair;
pub(super) mod path;
mod pauses;
mod qp_set;
mod reads;
mod receive;
mod responses;
mod selective;
mod slots;
#[cfg(test)]
mod tests;
mod translating;
mod transmit;
mod turns;

/// A cycle that never comes.
const NEVER: u64 = u64::MAX;

/// Parameters corresponding to those of an RTL NIC, and the NIC's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelNicConfig {
    /// The NIC's clock.
    pub clock: Clock,
    /// The rate of its port.
    pub rate: LineRate,
    /// Bytes of a beat: 32 or 64.
    pub data_bytes: usize,
    /// Number of QPs, 2 to 65,536.
    pub qps: usize,
    /// Number of work requests that a QP holds: a power of two, 2 to 128.
    pub wqes: usize,
    /// Number of receive buffers that a QP holds: a power of two, 2 to 128.
    pub recvs: usize,
    /// Size of the receive buffer in bytes, a multiple of 64.
    pub buffer_bytes: u64,
    /// Number of packets whose payload can be fetched at the same time.
    pub slots: usize,
    /// The global registers.
    pub settings: NicSettings,
    /// The largest frame accepted, FCS included.
    pub max_frame: ByteCount,
}

impl ModelNicConfig {
    /// Size in bytes of the receive buffer at 40 Gb/s, `BufferBytes` of the RTL.
    pub const BUFFER_40G: u64 = 128 << 10;

    /// The RTL's default parameters at 40 Gb/s.
    pub fn new(clock: Clock, settings: NicSettings) -> Self {
        Self {
            clock,
            rate: LineRate::G40,
            data_bytes: 32,
            qps: 64,
            wqes: 16,
            recvs: 16,
            buffer_bytes: Self::BUFFER_40G,
            slots: 32,
            settings,
            max_frame: ByteCount::new(9216),
        }
    }

    /// A NIC for a line of this rate: the RTL's default parameters, and a receive buffer that grows with the rate,
    /// because what is in flight when a pause goes out does so too.
    pub fn at(rate: LineRate, clock: Clock, settings: NicSettings) -> Self {
        Self {
            rate,
            buffer_bytes: Self::buffer_at(rate),
            ..Self::new(clock, settings)
        }
    }

    /// Size in bytes of the receive buffer of a NIC for a line of this rate.
    pub fn buffer_at(rate: LineRate) -> u64 {
        let times = LineRate::G40.byte_time().as_ps() as f64 / rate.byte_time().as_ps() as f64;
        Self::BUFFER_40G * (times.ceil().max(1.0) as u64).next_power_of_two()
    }

    /// The period of a clock at which 32 bytes a cycle carry a line of this rate and a quarter more, as
    /// [`Clock::PERIOD_40G`] does at 40 Gb/s; a third more where a quarter would be no whole number of picoseconds,
    /// such as 62.5 Gb/s. A quantum of pause is 5/2 or 8/3 cycles.
    pub fn period(rate: LineRate) -> Duration {
        let byte = rate.byte_time().as_ps();
        Duration::from_ps(match byte.is_multiple_of(5) {
            true => byte / 5 * 128,
            false => byte * 24,
        })
    }

    /// Cycles per quantum of pause.
    fn quantum(&self) -> CyclesPerQuantum {
        let quantum = self.rate.time_of(u64::from(QUANTUM_BITS / 8)).as_ps();
        let period = self.clock.period.as_ps();
        let common = gcd(quantum, period);
        let ratio = u8::try_from(quantum / common)
            .ok()
            .zip(u8::try_from(period / common).ok());
        ratio
            .and_then(|(num, den)| CyclesPerQuantum::new(num, den))
            .expect("a quantum of pause is n/d cycles, n up to 255, d up to 15")
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// An open QP: what both directions need.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct OpenQp {
    path: Path,
    class: u8,
    /// Class of ACKs and NAKs.
    answer_class: u8,
    ipv6: bool,
    /// Own address; IPv4 in the low 32 bits.
    #[serde(with = "frame::address")]
    own: u128,
    /// The peer's address; IPv4 in the low 32 bits.
    #[serde(with = "frame::address")]
    peer: u128,
    vlans: [u16; 2],
    pkey: u16,
    /// Whether a packet of the message in progress could not be written into its buffer.
    spoilt: bool,
    /// Earliest cycle of the next SEND.
    locked_until: u64,
    /// Whether the ACK timer was started and no packet that asks for an ACK has left since.
    armed: bool,
    /// When such a packet left, the first after a start of the timer.
    left: Option<u64>,
    /// What the responder keeps, if the QP repeats selectively.
    ahead: Option<Box<Ahead>>,
}

/// The turns of QPs, wherever they wait for each other.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AllTurns {
    /// At the requester and at the responder.
    sender: Turns,
    answerer: Turns,
    cnp: Turns,
    /// At the wire.
    answer: Turns,
}

impl AllTurns {
    fn new(qps: usize) -> Self {
        let turns = Turns::new(qps);
        Self {
            sender: turns.clone(),
            answerer: turns.clone(),
            cnp: turns.clone(),
            answer: turns,
        }
    }
}

/// A NIC with its host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelNic {
    config: ModelNicConfig,
    host: Host,
    counters: NicCounters,
    memory: MemoryTable,
    /// Page tables and their cache, unless all translations are on chip.
    translation: Option<Box<Translating>>,
    qps: Vec<Option<OpenQp>>,
    /// Classes of the open QPs, one bit each.
    classes: u8,
    /// Classes that some QP has ever had, one bit each; all packets are of these.
    classes_in_use: u8,
    inlet: Inlet,
    buffer: ReceiveBuffer,
    responder: ResponderEnd,
    /// What belongs to READs and atomics, unless they are refused.
    responses: Option<Box<Responses>>,
    requester: RequesterEnd,
    pauses: Pauses,
    pause_log: PauseLog,
    pacing: Option<Pacing>,
    slots: Slots,
    outlet: Outlet,
    /// IPv4 identification of the next frame.
    ip_id: u16,
    turns: AllTurns,
    class_scheduler: ClassScheduler,
    sendable: QpSet,
    owed: QpSet,
    cnps: QpSet,
    answers: Answers,
    /// Earliest cycle in which a CNP may be selected.
    cnp_from: u64,
    /// When to look for a request that can be granted.
    send_next: u64,
    /// When to look for an answer that can be granted.
    grant_next: u64,
    /// Earliest cycle of the next GRANT.
    grant_from: u64,
    /// No deadline of the requester is before this cycle. When an ACK stops a timer the bound stays: finding the next
    /// least one means looking at all QPs, which is done once, when this cycle comes, and has no other effect.
    timer_next: u64,
    /// Whether the ring of the QP that the host posts to next is full.
    work_blocked: bool,
    recv_blocked: bool,
    /// The next cycle: all cycles before it have been stepped or skipped.
    cycle: u64,
}

impl ModelNic {
    /// Creates a NIC without open QPs.
    ///
    /// # Panics
    ///
    /// When a quantum of pause is not a ratio of cycles that fits the RTL's parameters.
    pub fn new(config: ModelNicConfig, host: Host) -> Self {
        let ModelNicConfig {
            clock,
            rate,
            data_bytes,
            qps,
            ..
        } = config;
        let period_ps = clock.period.as_ps();
        let pacing = config
            .settings
            .dcqcn
            .map(|dcqcn| Pacing::new(dcqcn, (clock, rate), qps));
        Self {
            counters: NicCounters::default(),
            memory: MemoryTable::default(),
            translation: None,
            qps: vec![None; qps],
            classes: 0,
            classes_in_use: 0,
            inlet: Inlet::new(clock, data_bytes, config.max_frame),
            buffer: ReceiveBuffer::new(
                config.buffer_bytes,
                &config.settings.buffer,
                data_bytes,
                config.recvs,
            ),
            responder: ResponderEnd::new(qps, config.recvs),
            responses: None,
            requester: RequesterEnd::new(qps, config.wqes, Times { period_ps }),
            pauses: Pauses::new(config.quantum()),
            pause_log: PauseLog::default(),
            pacing,
            slots: Slots::new(config.slots, config.settings.read_ahead),
            outlet: Outlet::new(clock, rate, data_bytes),
            ip_id: 0,
            turns: AllTurns::new(qps),
            class_scheduler: ClassScheduler::new(config.settings.class_costs),
            sendable: QpSet::new(qps),
            owed: QpSet::new(qps),
            cnps: QpSet::new(qps),
            answers: Answers::default(),
            cnp_from: 0,
            send_next: NEVER,
            grant_next: NEVER,
            grant_from: 0,
            timer_next: NEVER,
            work_blocked: false,
            recv_blocked: false,
            cycle: 0,
            config,
            host,
        }
    }

    /// Opens a QP, or opens it again. What was received for it before and what is waiting to be sent from it is
    /// discarded.
    ///
    /// # Panics
    ///
    /// When the index does not exist, or the settings do not allow a frame: one IPv4 and one IPv6 address, more than
    /// two tags, or a peer's QP number of more than 24 bits.
    pub fn open(&mut self, index: u16, settings: &QpSettings) {
        let qp = usize::from(index);
        let global = &self.config.settings;
        let class_of = |dscp, pcp| match global.class_by_pcp {
            true if settings.tags.is_empty() => global.pcp_classes[0],
            true => global.pcp_classes[usize::from(pcp)],
            false => global.class_of(dscp),
        };
        let class = class_of(settings.dscp, settings.pcp());
        let (answer_dscp, answer_pcp) = settings.of_answers();
        let answer_class = class_of(answer_dscp, answer_pcp);
        let path = Path::new(settings)
            .expect("addresses of one kind, two tags at most, a QP number of 24 bits");
        let (gone, _) = self.buffer.forget(index);
        let ahead = self.qps[qp].as_ref().and_then(|open| open.ahead.as_ref());
        let gone = gone + ahead.map_or(0, |ahead| ahead.len());
        self.counters.add(reg::NOT_READY_IN, gone);
        self.withdraw(self.cycle, index, |_| false);
        self.answers.discard(index);
        self.memory.open(index, settings.pd);
        self.qps[qp] = Some(OpenQp {
            path,
            class,
            answer_class,
            ipv6: settings.peer.ip.is_ipv6(),
            own: address_bits(settings.own.ip),
            peer: address_bits(settings.peer.ip),
            vlans: vlans(settings.tags.iter().copied()),
            pkey: settings.pkey,
            spoilt: false,
            locked_until: 0,
            armed: false,
            left: None,
            ahead: (settings.selective).map(|selective| Box::new(Ahead::new(selective))),
        });
        self.classes = self
            .qps
            .iter()
            .flatten()
            .fold(0, |set, qp| set | 1 << qp.class);
        self.classes_in_use |= self.classes | 1 << answer_class;
        let now = self.cycle;
        let requester = RequesterEvent::Open {
            configuration: settings.requester,
            psn: settings.requester_psn,
        };
        self.requester.event(qp, requester, Cycle(now), |_| ());
        if let Some(selective) = settings.selective {
            self.requester.qps[qp].repeat_selectively(selective);
        }
        let responder = ResponderEvent::Open {
            configuration: settings.responder,
            psn: settings.responder_psn,
        };
        self.responder.event(qp, responder, |_| ());
        if let Some(responses) = &mut self.responses {
            responses.open(qp);
        }
        for set in [&mut self.sendable, &mut self.owed, &mut self.cnps] {
            set.set(qp, false);
        }
        if let Some(pacing) = &mut self.pacing {
            let RequesterConfig { mtu, window, .. } = settings.requester;
            pacing.open(qp, (mtu_bytes(mtu), window), now);
            self.set_window(qp);
        }
    }

    /// Has the QPs that are opened from now on another congestion control than DCQCN. Notification points stay, with
    /// the settings of DCQCN.
    ///
    /// # Panics
    ///
    /// When the NIC has no settings of DCQCN.
    pub fn choose_congestion(&mut self, own: Chosen) {
        let pacing = self.pacing.as_mut();
        pacing.expect("a NIC with settings of DCQCN").choose(own);
    }

    /// The congestion control in place of DCQCN.
    pub fn own_congestion(&self) -> Option<&Chosen> {
        self.pacing.as_ref()?.own()
    }

    /// Gives a NIC that was read from a checkpoint its own congestion control.
    ///
    /// # Errors
    ///
    /// A kind that cannot go on from the saved state.
    pub fn attach_congestion(&mut self, own: Chosen) -> Result<(), String> {
        match &mut self.pacing {
            Some(pacing) => pacing.attach(own),
            None => Ok(()),
        }
    }

    /// Changes parameters of DCQCN, of one QP or of all, and of those that are opened later. Returns whether it has
    /// DCQCN.
    pub fn set_dcqcn(&mut self, qp: Option<u16>, change: &DcqcnChange) -> bool {
        let pacing = self.pacing.as_mut();
        pacing.is_some_and(|pacing| pacing.change(qp.map(usize::from), change))
    }

    /// Bounds the rate and the window of a QP from now on, whatever its congestion control allows; what is `None`
    /// stays. Returns whether the NIC paces its QPs.
    pub fn set_pace(&mut self, qp: u16, bound: Pace) -> bool {
        let Some(pacing) = &mut self.pacing else {
            return false;
        };
        pacing.bound(qp.into(), bound);
        if self.qps[usize::from(qp)].is_some() {
            self.set_window(qp.into());
        }
        self.send_soon(self.cycle);
        true
    }

    /// Has all QPs ask for READs and atomics and answer them, at most `limit` unanswered at a time in each direction of
    /// a QP (`max_rd_atomic`, `max_dest_rd_atomic`), 1 or more. Without it, the NIC refuses them as the RTL does.
    /// Forgets what is under way, so it is for NICs without open QPs.
    pub fn enable_reads(&mut self, limit: u16) {
        self.responses = Some(Box::new(Responses::new(self.qps.len(), limit)));
    }

    /// Sets what the peer's READs and atomics may do with the region that is registered at an index.
    pub fn permit(&mut self, index: u16, rights: ReadRights) {
        self.memory.permit(index, rights);
    }

    /// Registers a region of memory and returns its key. Its rights for READs and atomics are
    /// [`permit`](Self::permit)ted apart.
    pub fn register(&mut self, index: u16, region: Region) -> u32 {
        self.map(index, &region);
        self.memory.register(index, region)
    }

    /// Notes that the link went down or came up. No pause of either side outlives a link.
    pub fn set_link(&mut self, up: bool) {
        self.pauses.set_link(self.cycle, up);
    }

    /// The host behind the NIC.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Mutable access to the host behind the NIC.
    pub const fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// The configuration that the NIC was created with.
    pub const fn config(&self) -> &ModelNicConfig {
        &self.config
    }

    /// The NIC's counters.
    pub const fn counters(&self) -> &NicCounters {
        &self.counters
    }

    /// The counters of its receive MAC.
    pub const fn mac_counters(&self) -> ReceiveCounters {
        self.inlet.counters()
    }

    /// When each class could not be sent.
    pub const fn pauses(&self) -> &PauseLog {
        &self.pause_log
    }

    /// Classes that the peer was last told to stop, one bit each.
    pub const fn xoff(&self) -> u8 {
        self.pauses.xoff()
    }

    /// Rate and α of a QP, and whether the QP is limited to the rate. `None` if DCQCN is off or the QP is not open.
    pub fn rate(&self, qp: u16) -> Option<(Rate, Alpha, bool)> {
        self.pacing.as_ref()?.rate(qp.into())
    }

    /// Bytes of frames in the receive buffer.
    pub fn buffer_bytes(&self) -> u64 {
        self.buffer
            .depth()
            .iter()
            .map(|bytes| u64::from(*bytes))
            .sum()
    }

    fn count(&mut self, register: u16) {
        self.counters.add(register, 1);
    }

    /// The next cycle in which something is due.
    fn next_cycle(&self) -> u64 {
        let next = [
            self.inlet.next(),
            self.next_post(),
            self.buffer.next_step(),
            self.buffer.next_job(&self.host),
            self.timer_next,
            self.pacing.as_ref().map_or(NEVER, Pacing::next),
            self.pauses.next(self.outlet.select_from()),
            self.slots.next(),
            self.grant_next,
            self.send_next,
            self.next_select(),
        ];
        next.into_iter().fold(NEVER, u64::min).max(self.cycle)
    }

    /// When the host has something to post for which there is room.
    fn next_post(&self) -> u64 {
        let work = self.host.next_work().filter(|_| !self.work_blocked);
        let recv = self.host.next_recv().filter(|_| !self.recv_blocked);
        let next = |at: Option<Cycles>| at.map_or(NEVER, |at| at.0);
        next(work).min(next(recv))
    }

    fn step(&mut self, now: u64) {
        let resumed = self.pauses.obey(now, &self.config.settings);
        let edge = self.config.clock.edge(Cycles(now));
        self.pause_log.set(self.pauses.paused(), edge);
        if let Some(pacing) = self.pacing.as_mut().filter(|_| resumed != 0) {
            pacing.resumed(resumed, now);
        }
        if self.slots.release(now) || resumed != 0 {
            self.send_soon(now);
        }
        self.fetch(now);
        while let Some(frame) = self.inlet.take(now) {
            self.judge(now, &frame);
        }
        self.post(now);
        self.respond(now);
        let progress = self.work(now);
        self.timers(now);
        self.pause(now, progress);
        self.grant_answer(now);
        self.grant_request(now);
        self.select(now);
    }

    /// Takes what the host posts.
    fn post(&mut self, now: u64) {
        if self.next_post() > now {
            return;
        }
        while let Some((qp, recv)) = self.host.recv(Cycles(now)) {
            let Some(ring) = self.responder.qps.get(usize::from(qp)) else {
                self.host.recv_taken();
                self.count(reg::RECV_REFUSED);
                continue;
            };
            let context = &ring.context;
            self.recv_blocked =
                usize::from(context.head.wrapping_sub(context.tail)) == self.config.recvs;
            if self.recv_blocked {
                break;
            }
            self.host.recv_taken();
            self.responder_event(now, qp, ResponderEvent::Post(recv), None);
        }
        while let Some((qp, work)) = self.host.work(Cycles(now)) {
            let Some(ring) = self.requester.qps.get(usize::from(qp)) else {
                self.host.work_taken(Cycles(now));
                self.count(reg::WORK_REFUSED);
                continue;
            };
            let context = &ring.context;
            self.work_blocked =
                usize::from(context.head.wrapping_sub(context.tail)) == self.config.wqes;
            if self.work_blocked {
                break;
            }
            self.host.work_taken(Cycles(now));
            self.requester_event(now, qp, RequesterEvent::Post(work));
            self.send_soon(now + latency::POST);
        }
    }

    /// Whether a due ACK timer keeps running, because a packet that asked for an ACK is still waiting for the wire or
    /// left less than the timeout T ago.
    fn hold(&mut self, index: usize, now: u64) -> bool {
        let ring = &mut self.requester.qps[index];
        let (Some(qp), Some(timeout)) = (&self.qps[index], ring.timeout()) else {
            return false;
        };
        if ring.context.rnr_wait {
            return false;
        }
        if qp.armed && self.slots.asks(index as u16) {
            ring.hold(None, Cycle(now));
            return true;
        }
        let left = qp.left.filter(|left| left + timeout > now);
        if let Some(left) = left {
            ring.hold(Some(Cycle(left)), Cycle(now));
        }
        left.is_some()
    }

    fn timers(&mut self, now: u64) {
        if self.timer_next <= now {
            self.timer_next = NEVER;
            while let Some((deadline, qp)) = self.requester.next_timer() {
                if deadline.0 > now {
                    self.timer_next = self.timer_next.min(deadline.0);
                    break;
                }
                if self.hold(qp, now) {
                    continue;
                }
                let timed_out = !self.requester.qps[qp].context.rnr_wait;
                self.requester_event(now, qp as u16, RequesterEvent::Timer);
                if let Some(pacing) = self.pacing.as_mut().filter(|_| timed_out)
                    && pacing.listens(qp)
                {
                    pacing.timed_out(qp, now);
                    self.set_window(qp);
                }
                self.send_soon(now + latency::SCHEDULE);
            }
        }
        if let Some(pacing) = &mut self.pacing
            && pacing.next() <= now
        {
            pacing.timers(now);
            if pacing.own().is_some() {
                (0..self.qps.len()).for_each(|qp| self.set_window(qp));
            }
            self.send_soon(now);
        }
    }

    /// Gives a QP's requester the window that its congestion control has set. If no packet under way asks for an ACK
    /// there is room for one more, which does: nothing else would open a window that has shrunk.
    fn set_window(&mut self, qp: usize) {
        let pacing = self.pacing.as_ref();
        let Some(window) = pacing.and_then(|pacing| pacing.window(qp)) else {
            return;
        };
        let context = &mut self.requester.qps[qp].context;
        let outstanding = context.next_psn.ahead_of(context.una_psn).max(0) as u32;
        context.configuration.window = match context.asked_psn.ahead_of(context.una_psn) > 0 {
            true => window,
            false => window.max(outstanding + 1),
        };
        self.sendable.set(qp, self.can_send(qp));
    }

    /// Whether a QP has a request to send, and may.
    fn can_send(&self, index: usize) -> bool {
        let qp = &self.requester.qps[index];
        match &self.responses {
            _ if qp.is_selective() => qp.sendable(),
            None => qp.context.sendable(),
            Some(responses) => qp.can_send(&responses.reading[index]),
        }
    }
}

impl Node for ModelNic {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![self.config.rate]
    }

    fn cost(&self) -> u32 {
        3
    }

    fn sending_since(&self, _port: PortId) -> Option<Time> {
        self.outlet.sending_since()
    }

    fn next_event(&self) -> Option<Time> {
        let next = self.next_cycle();
        let cycle = (next != NEVER).then(|| self.config.clock.edge(Cycles(next)));
        cycle.into_iter().chain(self.outlet.next_departure()).min()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        // A frame has no effect before the first edge after its last bit, so all frames can be taken in first.
        for arrival in arrivals {
            self.inlet.arrive(arrival.frame);
        }
        let end = self.config.clock.edges_before(until);
        loop {
            let now = self.next_cycle();
            if now >= end {
                break;
            }
            self.step(now);
            self.cycle = now + 1;
        }
        self.cycle = self.cycle.max(end);
        while let Some(frame) = self.outlet.depart(until) {
            departures.push(PortId(0), frame);
        }
    }
}
