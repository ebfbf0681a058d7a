//! How late a unit may notice a deadline: it examines QPs in groups, those of a group one after the other, when the
//! least deadline of the group has come (`rtl/prim/deadline_sweep.sv`).

/// QPs of a group.
const GROUP: u16 = 16;

/// The groups whose QPs have had events. Others have no deadlines, and a deadline does not wait for them.
#[derive(Debug, Default)]
pub struct Swept(u64);

impl Swept {
    /// A QP has an event.
    pub fn touch(&mut self, qp: u16) {
        self.0 |= 1 << (qp / GROUP);
    }

    /// Returns the maximum number of cycles from a visit of a QP to its next one, in a unit of this many QPs in which
    /// each visit takes at most two cycles.
    pub fn round(&self, qps: u16) -> u64 {
        let group = u64::from(qps.min(GROUP));
        u64::from(self.0.count_ones()) * (2 * group + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_with_events_count() {
        let mut swept = Swept::default();
        swept.touch(3);
        swept.touch(15);
        assert_eq!([4, 64].map(|qps| swept.round(qps)), [9, 33]);
        swept.touch(16);
        swept.touch(63);
        assert_eq!(swept.round(64), 99);
    }
}
