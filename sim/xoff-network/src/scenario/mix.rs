//! Messages of several operations on one QP.

use std::collections::BTreeMap;

use xoff_sim::host::Shapes;
use xoff_sim::protocol::gbn::WorkKind;
use xoff_sim::time::ByteCount;

use super::check::{Issue, issue};
use super::{FlowSettings, Operation};

/// Bytes of an atomic.
const ATOMIC: ByteCount = ByteCount::new(8);
/// The largest weight.
const WEIGHT_MAX: u32 = 100;

/// What carries a message, and its bytes.
pub type Message = (Operation, ByteCount);

/// The operations of a mix, message by message: each as often as its weight says, spread evenly, and then from the
/// start again.
///
/// At each message every operation gets its weight in credit, and the one with the most pays for all (smooth weighted
/// round robin, as nginx has it).
fn in_turn(mix: &BTreeMap<Operation, u32>) -> Vec<Operation> {
    let total: u32 = mix.values().sum();
    let mut credits: Vec<(Operation, i64)> = mix.keys().map(|it| (*it, 0)).collect();
    let mut turns = Vec::new();
    for _ in 0..total {
        for ((_, credit), weight) in credits.iter_mut().zip(mix.values()) {
            *credit += i64::from(*weight);
        }
        // Of equal ones the first.
        let richest = credits.iter_mut().rev().max_by_key(|(_, credit)| *credit);
        if let Some((operation, credit)) = richest {
            *credit -= i64::from(total);
            turns.push(*operation);
        }
    }
    turns
}

impl FlowSettings {
    /// The operations that its messages have.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        match &self.mix {
            Some(mix) => mix.keys().copied().collect(),
            None => vec![self.operation],
        }
    }

    /// The messages of flow number `flow` of the entry, one after the other and round again. The flows of a mix begin
    /// with its operations in turn.
    pub(super) fn turns(&self, flow: usize, message: ByteCount) -> Vec<Message> {
        let Some(mix) = &self.mix else {
            return vec![(self.operation, message)];
        };
        let mut turns = in_turn(mix);
        let first = flow % turns.len().max(1);
        turns.rotate_left(first);
        let bytes = |it: Operation| if it.is_atomic() { ATOMIC } else { message };
        turns.into_iter().map(|it| (it, bytes(it))).collect()
    }

    /// Checks the mix.
    pub(super) fn check_mix(&self, answered: bool) -> Vec<Issue> {
        let Some(mix) = &self.mix else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut wrong = |problem: String| {
            found.push(issue(format!("flows.{}.mix", self.name), problem));
        };
        if mix.is_empty() {
            wrong("it has no operation, such as { write = 3, read = 1 }".into());
        }
        for (operation, weight) in mix {
            if !(1..=WEIGHT_MAX).contains(weight) {
                let name = operation.name();
                wrong(format!("{name} = {weight}: weights are 1 to {WEIGHT_MAX}"));
            }
        }
        let other = [
            ("operation", self.operation != Operation::default()),
            ("pattern", self.pattern.is_some()),
            ("goal", self.goal.is_some()),
            ("lockstep", self.lockstep),
            ("answers", self.answers.is_some()),
        ];
        for (key, _) in other.iter().filter(|(_, given)| *given) {
            wrong(format!("not with {key}, which says what messages are"));
        }
        if answered {
            wrong(
                "another entry answers this one: its messages are to arrive at the other host"
                    .into(),
            );
        }
        found
    }
}

/// The shapes of messages, for a host.
pub(crate) fn shapes(messages: &[Message]) -> Shapes {
    let shape = |(operation, bytes): &Message| (WorkKind::from(*operation), bytes.get() as u32);
    Shapes::in_turn(messages.iter().map(shape).collect())
}

#[cfg(test)]
mod tests {
    use xoff_sim::time::Duration;

    use super::*;
    use crate::scenario::NicKind;
    use crate::testing::pair;

    #[test]
    fn operations_have_their_weights_and_are_spread() {
        let (write, read, add) = (Operation::Write, Operation::Read, Operation::FetchAdd);
        let turns = |mix: &[(Operation, u32)]| in_turn(&mix.iter().copied().collect());
        assert_eq!(turns(&[(write, 1)]), [write]);
        assert_eq!(turns(&[(write, 3), (read, 1)]), [write, write, read, write]);
        assert_eq!(
            turns(&[(write, 4), (read, 2), (add, 1)]),
            [write, read, write, add, write, read, write]
        );
    }

    #[test]
    fn flows_begin_in_turn() {
        let mut flow = FlowSettings::new("f", "a", "b");
        let kib = ByteCount::new(1024);
        assert_eq!(flow.turns(7, kib), [(Operation::Write, kib)]);
        flow.mix = Some([(Operation::Write, 1), (Operation::CmpSwap, 1)].into());
        let (write, swap) = ((Operation::Write, kib), (Operation::CmpSwap, ATOMIC));
        assert_eq!(flow.turns(0, kib), [write, swap]);
        assert_eq!(flow.turns(3, kib), [swap, write]);
    }

    #[test]
    fn what_cannot_be_mixed_is_said() {
        let wrong = |change: fn(&mut FlowSettings)| {
            let mut flow = FlowSettings::new("f", "a", "b");
            flow.mix = Some([(Operation::Write, 3), (Operation::Read, 1)].into());
            change(&mut flow);
            let scenario = pair(NicKind::Model, flow, Duration::from_ms(1));
            scenario
                .checked()
                .map_or_else(|wrong| wrong.to_string(), |_| String::new())
        };
        assert_eq!(wrong(|_| ()), "");
        assert_eq!(
            wrong(|flow| flow.mix = Some(BTreeMap::new())),
            "flows.f.mix: it has no operation, such as { write = 3, read = 1 }"
        );
        assert_eq!(
            wrong(|flow| flow.mix = Some([(Operation::Read, 101)].into())),
            "flows.f.mix: read = 101: weights are 1 to 100"
        );
        assert_eq!(
            wrong(|flow| flow.operation = Operation::Send),
            "flows.f.mix: not with operation, which says what messages are"
        );
        assert_eq!(
            wrong(|flow| {
                flow.mix = Some([(Operation::Read, 1), (Operation::FetchAdd, 1)].into());
                flow.working_set = Some(ByteCount::new(1 << 30));
            }),
            "flows.f.working_set: not with atomics: they all go to one word"
        );
    }
}
