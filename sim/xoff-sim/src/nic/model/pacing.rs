//! Congestion control: for each QP its control, a rate limiter, and a notification point.

use serde::{Deserialize, Serialize};

use super::NEVER;
use crate::nic::congestion::{Acknowledged, Chosen, CongestionSetup, Control, Dcqcn, Pace};
use crate::nic::{DcqcnChange, DcqcnSettings};
use crate::protocol::Cycle;
use crate::protocol::dcqcn::parameters::SLOWEST_RATE;
use crate::protocol::dcqcn::{Alpha, LimiterContext, NpContext, Rate, RateAction};
use crate::time::{Clock, Cycles, LineRate};
use crate::wire::{PRIORITIES, Psn};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Paced {
    control: Control,
    limiter: LimiterContext,
    np: NpContext,
    /// The window that the QP was opened with, in packets.
    window: u32,
    /// What its control may allow at most, whatever it sees. It outlives the QP.
    bound: Pace,
    /// A packet that left, by its PSN, and when: the round trip that is being measured.
    probe: Option<(Psn, u64)>,
}

impl Default for Paced {
    fn default() -> Self {
        Self {
            control: Control::Closed,
            limiter: LimiterContext::default(),
            np: NpContext::default(),
            window: 0,
            bound: Pace {
                rate: None,
                window: None,
            },
            probe: None,
        }
    }
}

impl Paced {
    /// The rate, at most that of the line and the bound, and whether the QP is limited to it.
    #[inline]
    fn action(&self, line: Rate) -> RateAction {
        let action = self.control.action(line);
        match self.bound.rate {
            Some(bound) if bound < line && (!action.limited || bound < action.rate) => RateAction {
                rate: bound.max(SLOWEST_RATE),
                limited: true,
            },
            _ => action,
        }
    }

    /// Has the limiter go by the rate. `period` is that of the clock, in picoseconds.
    #[inline]
    fn limit(&mut self, action: RateAction, period: u64) {
        self.limiter = self.limiter.update(action.rate, action.limited, period);
    }
}

/// The state of congestion control, if it is on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pacing {
    settings: DcqcnSettings,
    /// What is in place of DCQCN.
    own: Option<Chosen>,
    clock: Clock,
    rate: LineRate,
    qps: Vec<Paced>,
    /// For each class, the cycle until which its QPs may not catch up, since a pause of the class has just ended.
    fresh_until: [u64; PRIORITIES],
    /// No deadline of a control is before this cycle.
    next: u64,
}

impl Pacing {
    pub(super) fn new(
        settings: DcqcnSettings,
        (clock, rate): (Clock, LineRate),
        qps: usize,
    ) -> Self {
        Self {
            settings,
            own: None,
            clock,
            rate,
            qps: vec![Paced::default(); qps],
            fresh_until: [0; PRIORITIES],
            next: NEVER,
        }
    }

    /// Takes another control in place of DCQCN for the QPs that are opened from now on.
    pub(super) fn choose(&mut self, own: Chosen) {
        self.own = Some(own);
    }

    /// What is in place of DCQCN.
    pub(super) const fn own(&self) -> Option<&Chosen> {
        self.own.as_ref()
    }

    /// Restores the controls that were read from a checkpoint.
    pub(super) fn attach(&mut self, own: Chosen) -> Result<(), String> {
        let kind = own.kind.ok_or("it has no kind")?;
        for paced in &mut self.qps {
            paced.control.attach(&kind)?;
        }
        self.own = Some(own);
        Ok(())
    }

    pub(super) const fn settings(&self) -> &DcqcnSettings {
        &self.settings
    }

    /// When a timer may be due.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Tells a QP's control something, and its limiter and the timers what follows.
    #[inline]
    fn tell(&mut self, qp: usize, event: impl FnOnce(&mut Control)) {
        let line = self.settings.rp.rate_max;
        let paced = &mut self.qps[qp];
        let before = paced.action(line);
        event(&mut paced.control);
        let after = paced.action(line);
        if after != before {
            paced.limit(after, self.clock.period.as_ps());
        }
        if let Some(deadline) = paced.control.deadline() {
            self.next = self.next.min(deadline.0);
        }
    }

    /// Notes that a QP is opened, with packets of `mtu` bytes of payload and at most `window` of them outstanding.
    ///
    /// # Panics
    ///
    /// When parameters do not fit that were checked before, or the kind is not attached.
    pub(super) fn open(&mut self, qp: usize, (mtu, window): (u32, u32), now: u64) {
        let control = match &self.own {
            None => Control::Dcqcn(Dcqcn::new(self.settings.rp, Cycles(now))),
            Some(Chosen {
                parameters, kind, ..
            }) => {
                let setup = CongestionSetup {
                    clock: self.clock,
                    rate: self.rate,
                    mtu,
                    parameters,
                };
                let kind = kind.as_ref().expect("congestion control is attached");
                kind.control(&setup).expect("its parameters were checked")
            }
        };
        let paced = &mut self.qps[qp];
        paced.np = NpContext::default();
        paced.probe = None;
        paced.window = window;
        paced.control = control;
        let action = paced.action(self.settings.rp.rate_max);
        paced.limit(action, self.clock.period.as_ps());
        self.tell(qp, |_| ());
    }

    /// Changes parameters of DCQCN, of one QP or of all. Returns whether there is DCQCN.
    pub(super) fn change(&mut self, qp: Option<usize>, change: &DcqcnChange) -> bool {
        if self.own.is_some() {
            return false;
        }
        let clock = self.clock;
        let of_qp = |paced: &mut Paced| {
            if let Some(parameters) = paced.control.parameters_mut() {
                change.of_reaction_point(parameters, &clock);
            }
        };
        match qp {
            Some(qp) => of_qp(&mut self.qps[qp]),
            None => {
                self.qps.iter_mut().for_each(of_qp);
                change.of_nic(&mut self.settings, &clock);
            }
        }
        true
    }

    /// Bounds what a QP's control may allow. What is `None` stays.
    pub(super) fn bound(&mut self, qp: usize, bound: Pace) {
        let paced = &mut self.qps[qp];
        paced.bound.rate = bound.rate.or(paced.bound.rate);
        paced.bound.window = bound.window.or(paced.bound.window);
        let action = paced.action(self.settings.rp.rate_max);
        paced.limit(action, self.clock.period.as_ps());
    }

    /// Notes that a CNP was received.
    pub(super) fn cnp(&mut self, qp: usize, now: u64) {
        self.tell(qp, |control| control.cnp(Cycles(now)));
    }

    /// Whether a QP's control is told of acknowledgements, or its window has to be looked at with each.
    pub(super) fn listens(&self, qp: usize) -> bool {
        let paced = &self.qps[qp];
        paced.control.is_own() || paced.bound.window.is_some()
    }

    /// Notes that a packet left, with its last bit at `at`; `again`: not for the first time.
    pub(super) fn left(&mut self, qp: usize, psn: Psn, again: bool, at: u64) {
        let probe = &mut self.qps[qp].probe;
        match again {
            // Nobody can tell which of the two an answer is for.
            true => *probe = None,
            false => {
                probe.get_or_insert((psn, at));
            }
        }
    }

    /// Notes an acknowledgement, behind which all packets before `una` are acknowledged.
    pub(super) fn acknowledged(&mut self, qp: usize, ack: &Acknowledged, una: Psn, now: u64) {
        let probe = &mut self.qps[qp].probe;
        if ack.lost {
            *probe = None;
        }
        let answered = probe.take_if(|(psn, _)| psn.ahead_of(una) < 0);
        self.tell(qp, |control| {
            if let Some((_, left)) = answered {
                control.round_trip(Cycles(now.saturating_sub(left)), Cycles(now));
            }
            control.acknowledged(ack, Cycles(now));
        });
    }

    /// Notes that a QP's retransmission timer has expired.
    pub(super) fn timed_out(&mut self, qp: usize, now: u64) {
        self.qps[qp].probe = None;
        self.tell(qp, |control| control.timed_out(Cycles(now)));
    }

    /// Most packets of a QP that are sent and not acknowledged; `None` if nothing but the scenario sets a window.
    pub(super) fn window(&self, qp: usize) -> Option<u32> {
        let paced = &self.qps[qp];
        let set = [paced.control.window(), paced.bound.window];
        Some(set.into_iter().flatten().min()?.min(paced.window))
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
        self.tell(qp, |control| control.sent(bytes, Cycles(now)));
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
        let due = |control: &Control| control.deadline().is_some_and(|deadline| deadline.0 <= now);
        for qp in 0..self.qps.len() {
            while due(&self.qps[qp].control) {
                self.tell(qp, |control| control.timer(Cycles(now)));
            }
        }
        let deadlines = self.qps.iter().filter_map(|paced| paced.control.deadline());
        self.next = deadlines.map(|deadline| deadline.0).min().unwrap_or(NEVER);
    }

    /// The cycle from which on a QP may send.
    pub(super) fn eligible_from(&self, qp: usize) -> u64 {
        self.qps[qp].limiter.eligible_from().0
    }

    /// Rate, α, which is DCQCN's, and whether the QP is limited to the rate; `None` if it is not open.
    pub(super) fn rate(&self, qp: usize) -> Option<(Rate, Alpha, bool)> {
        let paced = self.qps.get(qp)?;
        let (control, action) = (&paced.control, paced.action(self.settings.rp.rate_max));
        (control.is_open()).then_some((action.rate, control.alpha(), action.limited))
    }
}
