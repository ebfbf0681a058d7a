//! What changes a running switch: settings, links, and the decisions of watchdogs.

use super::super::watchdog::Decision;
use super::super::{DropReason, Limit, RedConfig, Route};
use super::Switch;
use crate::kernel::PortId;
use crate::time::Time;
use crate::wire::PRIORITIES;

impl Switch {
    /// Changes the limit of a lossless or lossy priority at `now`.
    pub fn set_limit(&mut self, now: Time, priority: u8, limit: Limit) {
        self.buffer.set_limit(priority, limit);
        self.resume();
        self.wake_touched(now);
    }

    /// Changes the ECN marking of a priority.
    pub fn set_red(&mut self, priority: u8, red: Option<RedConfig>) {
        self.config.red[usize::from(priority)] = red;
    }

    /// Sets whether lossless packets with an incomplete ARP entry are dropped instead of flooded.
    pub fn set_lossless_never_floods(&mut self, never: bool) {
        self.forwarding.set_lossless_never_floods(never);
    }

    /// Replaces the routes. What waits already goes where it was to go.
    pub fn set_routes(&mut self, routes: &[Route]) {
        self.forwarding.set_routes(routes);
    }

    /// States at `now` that the link of a port went down or came up.
    ///
    /// What waits for a link that goes down is dropped, pauses of its other end are over, and packets are routed
    /// over the remaining links. The peer is told about queues in XOFF again when the link comes up.
    pub fn set_link(&mut self, now: Time, port: PortId, up: bool) {
        let state = &mut self.ports[usize::from(port.0)];
        state.up = up;
        state.egress.pauses.clear(now);
        state.egress.xoff.tell_again();
        self.forwarding.set_link(port, up);
        if !up {
            for priority in 0..PRIORITIES as u8 {
                self.discard(now, port, priority, DropReason::LinkDown);
            }
        }
        self.touch(port);
        self.resume();
        self.wake_touched(now);
    }

    /// Has the next step, at `now`, process the ports that a change from outside has touched.
    fn wake_touched(&mut self, now: Time) {
        for port in std::mem::take(&mut self.touched) {
            self.wakes[usize::from(port.0)] = now;
            self.next = self.next.min(now);
        }
    }

    /// Drops what waits in an egress queue. Returns whether there was anything.
    fn discard(&mut self, now: Time, port: PortId, priority: u8, reason: DropReason) -> bool {
        let frames = self.ports[usize::from(port.0)].egress.drain(priority);
        for frame in &frames {
            if let Some(levels) = &mut self.levels {
                levels.left(now, port, frame.size());
            }
            self.release(now, frame.charge);
            self.drop(frame.charge.ingress, priority, reason);
        }
        !frames.is_empty()
    }

    /// Carries out what the watchdog of a port decides now. Returns whether buffer was released.
    pub(super) fn watch(&mut self, now: Time, port: PortId) -> bool {
        let mut released = false;
        while let Some((priority, decision)) =
            self.ports[usize::from(port.0)].egress.watchdog_decides(now)
        {
            if decision == Decision::Act {
                let counters = &mut self.ports[usize::from(port.0)].counters;
                counters.watchdog[usize::from(priority)] += 1;
                released |= self.discard(now, port, priority, DropReason::Watchdog);
            }
        }
        released
    }
}
