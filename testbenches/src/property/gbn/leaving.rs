//! What holds the ACK timers of a requester: packets that ask for an ACK and wait for the wire, or left a while ago
//! (rtl/gbn/README.md, "When the ACK timer is held").

use xoff_sim::protocol::Cycle;

/// Number of cycles before and with a TIMER step's `now` in which a change at the ports may or may not count.
const NEAR: u64 = 1;

/// What the ports said about a QP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Told {
    /// Its ACK timer was started, and no packet has left since.
    armed: bool,
    /// A packet waits for the wire.
    waits: bool,
    /// When the last packet left while the QP was armed.
    left: Option<Cycle>,
}

/// The packets of a QP on their way to the wire.
#[derive(Debug, Clone, Copy, Default)]
pub struct Packets {
    told: Told,
    /// What was told before the last change at the ports, and when that was.
    before: Told,
    changed: Option<Cycle>,
}

impl Packets {
    /// A step started the ACK timer.
    pub fn arm(&mut self) {
        self.told.armed = true;
        self.before.armed = true;
    }

    /// A packet waits for the wire from cycle `now` on, or none does.
    pub fn wait(&mut self, waits: bool, now: Cycle) {
        if self.told.waits != waits {
            self.change(now).waits = waits;
        }
    }

    /// A packet leaves in cycle `now`; `end`: with its last bit.
    pub fn leave(&mut self, end: bool, now: Cycle) {
        let told = self.change(now);
        if told.armed {
            told.left = Some(now);
            told.armed = !end;
        }
    }

    fn change(&mut self, now: Cycle) -> &mut Told {
        self.before = self.told;
        self.changed = Some(now);
        &mut self.told
    }

    /// The packets for which an ACK timer that is due at `at` may be held, the first that holds it: `None` for one that
    /// waits, or when it left. There are several lists, of which any is right, if the ports changed with the step.
    pub fn held(&self, at: Cycle) -> Vec<Vec<Option<Cycle>>> {
        let of = |told: &Told| {
            let waits = (told.armed && told.waits).then_some(None);
            waits.into_iter().chain(told.left.map(Some)).collect()
        };
        let near = |changed: Cycle| changed.0 + NEAR >= at.0;
        match self.changed {
            Some(changed) if near(changed) => vec![
                of(&self.told),
                of(&self.before),
                vec![None],
                self.before.left.map(Some).into_iter().collect(),
                vec![],
            ],
            _ => vec![of(&self.told)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_counts_until_the_end_of_the_first_that_leaves() {
        let (at, left) = (Cycle(100), Cycle(10));
        let mut packets = Packets::default();
        // Without a timer that was started nothing counts.
        packets.wait(true, Cycle(5));
        packets.leave(true, left);
        assert_eq!(packets.held(at), [vec![]]);
        packets.arm();
        assert_eq!(packets.held(at), [vec![None]]);
        packets.leave(false, Cycle(20));
        packets.leave(true, Cycle(21));
        packets.leave(true, Cycle(22));
        // The packet that waits is another one, which the timer does not wait for.
        assert_eq!(packets.held(at), [vec![Some(Cycle(21))]]);
        // In the cycle of the step or the one before, either may be seen.
        assert!(packets.held(Cycle(24)).len() == 1);
        assert!(packets.held(Cycle(23)).len() > 1);
    }
}
