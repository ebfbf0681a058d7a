//! DCQCN: a reaction point, a rate limiter and a notification point a QP.

use serde::{Deserialize, Serialize};

use super::NEVER;
use crate::nic::DcqcnSettings;
use crate::protocol::dcqcn::{
    Alpha, Cycle, LimiterContext, NpContext, Rate, RateAction, RpContext, RpEvent,
};
use crate::wire::PRIORITIES;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Paced {
    rp: RpContext,
    limiter: LimiterContext,
    np: NpContext,
}

/// DCQCN that is on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pacing {
    settings: DcqcnSettings,
    period_ps: u64,
    qps: Vec<Paced>,
    /// Until when a class, whose pause has ended, catches up nothing.
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

    /// A QP is made.
    pub(super) fn open(&mut self, qp: usize, now: u64) {
        self.qps[qp].np = NpContext::default();
        self.step(qp, RpEvent::Open, now);
    }

    /// A CNP came.
    pub(super) fn cnp(&mut self, qp: usize, now: u64) {
        self.step(qp, RpEvent::Cnp, now);
    }

    /// These classes, a bit each, may send again: what the pause held back they must not catch up.
    pub(super) fn resumed(&mut self, classes: u8, now: u64) {
        for (class, until) in self.fresh_until.iter_mut().enumerate() {
            if classes >> class & 1 != 0 {
                *until = now + u64::from(self.settings.burst);
            }
        }
    }

    /// A packet of so many bytes on the wire was granted.
    pub(super) fn sent(&mut self, qp: usize, class: u8, bytes: u16, now: u64) {
        let burst = match now < self.fresh_until[usize::from(class)] {
            true => 0,
            false => self.settings.burst,
        };
        let paced = &mut self.qps[qp];
        paced.limiter = paced.limiter.sent(bytes, Cycle(now), burst);
        // A free QP counts no bytes.
        if paced.rp.limited {
            self.step(qp, RpEvent::Bytes(bytes), now);
        }
    }

    /// A packet with CE came that counts. Gives whether a CNP goes out.
    pub(super) fn marked(&mut self, qp: usize, now: u64) -> bool {
        let np = &mut self.qps[qp].np;
        let (context, cnp) = np.marked(self.settings.cnp_interval, Cycle(now));
        *np = context;
        cnp
    }

    /// Fires what is due.
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

    /// From when on a QP may send.
    pub(super) fn eligible_from(&self, qp: usize) -> u64 {
        self.qps[qp].limiter.eligible_from().0
    }

    /// Rate, α, whether the rate counts; of an open QP.
    pub(super) fn rate(&self, qp: usize) -> Option<(Rate, Alpha, bool)> {
        let rp = &self.qps.get(qp)?.rp;
        rp.open.then_some((rp.rate_current, rp.alpha, rp.limited))
    }
}
