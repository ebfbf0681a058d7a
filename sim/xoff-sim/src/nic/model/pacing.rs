//! DCQCN: for each QP a reaction point, a rate limiter and a notification point.

use serde::{Deserialize, Serialize};

use super::NEVER;
use crate::kernel::prefetch::prefetch_one;
use crate::nic::DcqcnSettings;
use crate::protocol::Cycle;
use crate::protocol::dcqcn::{
    Alpha, LimiterContext, NpContext, Rate, RateAction, RpContext, RpEvent,
};
use crate::wire::PRIORITIES;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Paced {
    rp: RpContext,
    limiter: LimiterContext,
    np: NpContext,
}

/// The state of DCQCN, if it is on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pacing {
    settings: DcqcnSettings,
    period_ps: u64,
    qps: Vec<Paced>,
    /// For each class, the cycle until which its QPs may not catch up, since a pause of the class has just ended.
    fresh_until: [u64; PRIORITIES],
    /// No deadline of a reaction point is before this cycle.
    next: u64,
}

impl Pacing {
    pub(super) fn new(settings: DcqcnSettings, period_ps: u64, qps: usize) -> Self {
        Self {
            settings,
            period_ps,
            qps: vec![Paced::default(); qps],
            fresh_until: [0; PRIORITIES],
            next: NEVER,
        }
    }

    pub(super) const fn settings(&self) -> &DcqcnSettings {
        &self.settings
    }

    /// Asks for the memory of a QP's state.
    pub(super) fn prefetch(&self, qp: usize) {
        self.qps.get(qp).into_iter().for_each(prefetch_one);
    }

    /// When a timer may be due.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    fn step(&mut self, qp: usize, event: RpEvent, now: u64) {
        let paced = &mut self.qps[qp];
        let (context, action) = paced.rp.step(&self.settings.rp, event, Cycle(now));
        paced.rp = context;
        if let Some(RateAction { rate, limited }) = action {
            paced.limiter = paced.limiter.update(rate, limited, self.period_ps);
        }
        if let Some(deadline) = context.deadline() {
            self.next = self.next.min(deadline.0);
        }
    }

    /// Notes that a QP is opened.
    pub(super) fn open(&mut self, qp: usize, now: u64) {
        self.qps[qp].np = NpContext::default();
        self.step(qp, RpEvent::Open, now);
    }

    /// Notes that a CNP was received.
    pub(super) fn cnp(&mut self, qp: usize, now: u64) {
        self.step(qp, RpEvent::Cnp, now);
    }

    /// Notes that these classes, one bit each, may send again. They must not catch up on what the pause held back.
    pub(super) fn resumed(&mut self, classes: u8, now: u64) {
        for (class, until) in self.fresh_until.iter_mut().enumerate() {
            if classes >> class & 1 != 0 {
                *until = now + u64::from(self.settings.burst);
            }
        }
    }

    /// Notes that a packet of `bytes` bytes on the wire was granted.
    pub(super) fn sent(&mut self, qp: usize, class: u8, bytes: u16, now: u64) {
        let burst = match now < self.fresh_until[usize::from(class)] {
            true => 0,
            false => self.settings.burst,
        };
        let paced = &mut self.qps[qp];
        paced.limiter = paced.limiter.sent(bytes, Cycle(now), burst);
        // The byte counter runs only while the QP is limited.
        if paced.rp.limited {
            self.step(qp, RpEvent::Bytes(bytes), now);
        }
    }

    /// Notes that a packet marked CE was received. Returns whether a CNP is to be sent.
    pub(super) fn marked(&mut self, qp: usize, now: u64) -> bool {
        let np = &mut self.qps[qp].np;
        let (context, cnp) = np.marked(self.settings.cnp_interval, Cycle(now));
        *np = context;
        cnp
    }

    /// Steps the timers that are due.
    pub(super) fn timers(&mut self, now: u64) {
        if now < self.next {
            return;
        }
        let due = |rp: &RpContext| rp.deadline().is_some_and(|deadline| deadline.0 <= now);
        for qp in 0..self.qps.len() {
            while due(&self.qps[qp].rp) {
                self.step(qp, RpEvent::Timer, now);
            }
        }
        let deadlines = self.qps.iter().filter_map(|paced| paced.rp.deadline());
        self.next = deadlines.map(|deadline| deadline.0).min().unwrap_or(NEVER);
    }

    /// The cycle from which on a QP may send.
    pub(super) fn eligible_from(&self, qp: usize) -> u64 {
        self.qps[qp].limiter.eligible_from().0
    }

    /// Rate, α, and whether the QP is limited to the rate; `None` if it is not open.
    pub(super) fn rate(&self, qp: usize) -> Option<(Rate, Alpha, bool)> {
        let rp = &self.qps.get(qp)?.rp;
        rp.open.then_some((rp.rate_current, rp.alpha, rp.limited))
    }
}
