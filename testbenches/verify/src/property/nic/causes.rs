//! What makes messages fail and frames be dropped in a case. Without a cause, neither is right.

use serde::{Deserialize, Serialize};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::Status;

use super::events::{FEW, Head, Path};
use crate::property::Disagreement;

/// The causes that a case has, and those that it has met so far.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Causes {
    /// The path may carry frames with wrong bits.
    flips: bool,
    /// Messages may be READs.
    reads: bool,
    /// Answers may fail to come in time although nothing else goes wrong: the path loses, damages, doubles or delays
    /// frames, or requesters wait only once or twice. Three times the least timeout is longer than all packets take
    /// that a few other QPs may have in front.
    late_answers: bool,
    /// Every class is lossless, and no pause is lost, late or silenced: no buffer is ever full.
    lossless: bool,
    /// A QP was closed and opened.
    pub reopened: bool,
    /// A region was withdrawn.
    pub withdrawn: bool,
    /// A host stalled, or a class was paused.
    pub held: bool,
    /// A receive buffer came later than its message.
    pub late_buffer: bool,
}

/// Counters of what only a wrong bit can cause: the NICs send nothing of it.
const OF_FLIPS: [u16; 9] = [
    reg::DROP_NOT_ROCE,
    reg::DROP_MALFORMED,
    reg::DROP_ROCE_V1,
    reg::DROP_SERVICE,
    reg::DROP_ICRC,
    reg::DROP_RESPONSE,
    reg::DROP_PKEY,
    reg::DROP_VLAN,
    reg::DROP_ADDRESS,
];

impl Causes {
    /// Those of a case before its first event.
    pub fn of(head: &Head) -> Self {
        let Path {
            drops,
            flips,
            doubles,
            late,
            forged,
            ..
        } = head.path;
        Self {
            flips: (flips, forged) != (0, 0),
            reads: head.reads,
            late_answers: [drops, flips, doubles, late, forged] != [0; 5]
                || head.requester.retry < 2
                // The data of READs may be longer on its way than the timeout.
                || head.reads
                || u64::from(head.qps) > FEW,
            // The third class is lossy.
            lossless: head.pfc
                && head.classes <= 2
                && !head.watchdog
                // Without a tag there is no PCP but 0, whose class may be another one.
                && !(head.by_pcp && head.tags == 0)
                && [drops, flips, doubles, late, forged] == [0; 5],
            reopened: false,
            withdrawn: false,
            // What waits for translations holds receive as a host that stalls does.
            held: head.translation != 0,
            late_buffer: false,
        }
    }

    /// Whether a message may end like this. `full`: a NIC has dropped frames because its buffer was full.
    pub fn allow(&self, status: Status, full: bool) -> bool {
        let Self {
            reopened,
            withdrawn,
            held,
            late_buffer,
            ..
        } = *self;
        let events = reopened || withdrawn || held || late_buffer;
        match status {
            Status::RetryExceeded => events || self.late_answers || full,
            Status::RnrExceeded => events,
            _ => true,
        }
    }

    /// Checks that a NIC has dropped nothing without a cause.
    ///
    /// # Errors
    ///
    /// The first counter that counts something else.
    pub fn check_drops(&self, counted: impl Fn(u16) -> u64) -> Result<(), Disagreement> {
        for counter in reg::COUNTERS {
            let allowed = match counter.address {
                reg::DROP_QP => self.reopened,
                reg::DROP_FULL => !self.lossless,
                reg::ACCESS_IN => self.withdrawn,
                // A READ that was asked again is answered again.
                reg::DROP_RESPONSE => self.reads || self.flips,
                address => self.flips || !OF_FLIPS.contains(&address),
            };
            let count = counted(counter.address);
            if count > 0 && !allowed {
                return Err(format!(
                    "{} is {count}, and nothing causes it",
                    counter.name
                ));
            }
        }
        Ok(())
    }
}
