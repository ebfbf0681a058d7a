//! Messages one by one: when each began and ended, and how long it would have taken alone.

use std::sync::Arc;

use xoff_sim::time::{Duration, Time};

use crate::Simulation;
use crate::results::ns;
use crate::scenario::entry_of;

/// A message, or a flow of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRow {
    /// The entry of `flows` that it belongs to.
    pub group: Arc<str>,
    /// The flow.
    pub flow: Arc<str>,
    /// The host that sends.
    pub from: Arc<str>,
    /// The host that receives.
    pub to: Arc<str>,
    /// The class of its packets, 0 to 7.
    pub class: u8,
    /// When it was due to be posted, in nanoseconds.
    pub start_ns: u64,
    /// When the application saw that it was complete, in nanoseconds; `None` if it did not.
    pub end_ns: Option<u64>,
    /// Bytes of payload.
    pub bytes: u64,
    /// How long it takes when nothing else is on its way, in nanoseconds.
    pub ideal_ns: u64,
    /// How many times as long as alone it took; `None` if it is not complete.
    pub slowdown: Option<f64>,
}

/// All messages that were due by now, flow by flow in the order of their posts; of workloads, all flows that have
/// started.
pub fn messages(simulation: &Simulation) -> Vec<MessageRow> {
    let names: Vec<Arc<str>> = (simulation.names().iter())
        .map(|name| Arc::from(&**name))
        .collect();
    let mut rows = Vec::new();
    for series in simulation.series() {
        let group: Arc<str> = Arc::from(entry_of(&series.name));
        for flow in &simulation.flows()[series.flows.clone()] {
            let sender = simulation.sender(flow);
            let name: Arc<str> = Arc::from(&*flow.name);
            let mut add = |start: Time, end: Option<Time>, bytes: u64, alone: Duration| {
                let took = end.map(|end| end.saturating_since(start).as_ps() as f64);
                rows.push(MessageRow {
                    group: group.clone(),
                    flow: name.clone(),
                    from: names[flow.from.0 as usize].clone(),
                    to: names[flow.to.0 as usize].clone(),
                    class: flow.class,
                    start_ns: ns(start),
                    end_ns: end.map(ns),
                    bytes,
                    ideal_ns: alone.as_ps() / 1_000,
                    slowdown: took.map(|took| took / alone.as_ps().max(1) as f64),
                });
            };
            if !flow.workload {
                let due = |number| Some((number, sender.due_at(number)?));
                for (number, start) in (0..).map_while(due) {
                    let end = sender.delivered().get(number as usize);
                    let (_, bytes) = sender.config.shape(number);
                    add(
                        start,
                        end.map(|message| message.at),
                        bytes.into(),
                        flow.ideal(number),
                    );
                }
            } else if flow.start < simulation.now() {
                let whole = sender.finished() && sender.failed().is_none();
                let end = sender.delivered().last().filter(|_| whole);
                let count = sender.config.count.unwrap_or(1);
                let bytes = (0..count).map(|number| u64::from(sender.config.shape(number).1));
                add(
                    flow.start,
                    end.map(|message| message.at),
                    bytes.sum(),
                    flow.ideal(0),
                );
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{FlowSettings, NicKind, Pattern, Scenario};
    use crate::testing::ran;
    use xoff_sim::time::{ByteCount, Length};

    #[test]
    fn alone_messages_take_as_long_as_alone_and_open_ones_have_no_end() {
        let cable = Length::from_m(2);
        let mut flow = FlowSettings::new("f", "a", "b");
        flow.message = ByteCount::new(1 << 20);
        (flow.outstanding, flow.count) = (1, Some(10));
        let mut scenario = Scenario::new("messages", Duration::from_us(500))
            .host("a")
            .host("b")
            .link("a", "b", cable)
            .flow(flow);
        scenario.host.nic = NicKind::Model;
        let simulation = ran(&scenario);
        let rows = messages(&simulation);
        // A mebibyte takes some 222 µs at 40 Gb/s.
        let ends: Vec<bool> = rows.iter().map(|row| row.end_ns.is_some()).collect();
        assert_eq!(ends, [true, true, false]);
        let first = &rows[0];
        assert_eq!((&*first.group, &*first.from, &*first.to), ("f", "a", "b"));
        assert_eq!((first.class, first.bytes), (3, 1 << 20));
        let slowdown = first.slowdown.unwrap();
        assert!((0.999..1.01).contains(&slowdown), "{slowdown}");
        assert!(rows[1].start_ns >= first.end_ns.unwrap());
        assert_eq!(rows[2].slowdown, None);
    }

    /// A target sends data and completions in turn, which have their own lengths and times.
    #[test]
    fn every_second_message_may_be_another() {
        let mut flow = FlowSettings::new("io", "a", "b");
        flow.pattern = Some(Pattern::NvmeRead);
        flow.message = ByteCount::new(1 << 16);
        flow.count = Some(2);
        let mut scenario = Scenario::new("messages", Duration::from_us(100))
            .host("a")
            .host("b")
            .link("a", "b", Length::from_m(2))
            .flow(flow);
        scenario.host.nic = NicKind::Model;
        let simulation = ran(&scenario);
        let rows = messages(&simulation);
        let of_target = || rows.iter().filter(|row| &*row.from == "b");
        let bytes: Vec<u64> = of_target().map(|row| row.bytes).collect();
        assert_eq!(bytes, [1 << 16, 16, 1 << 16, 16]);
        // 64 packets of 1,086 bytes and 20 more on the wire at 40 Gb/s are 14 µs; a completion is a packet.
        let times: Vec<u64> = of_target().map(|row| row.ideal_ns / 1_000).collect();
        assert!(times[0] > 14 && times[1] < 4, "{times:?}");
        assert_eq!((times[0], times[1]), (times[2], times[3]));
    }
}
