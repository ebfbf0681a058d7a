//! Frames that are dropped, and what that costs.

use std::collections::{BTreeMap, BTreeSet};

use xoff_sim::switch::{Limit, PauseKind};
use xoff_sim::time::ByteCount;

use super::{Broken, Cure, HARMLESS, Seen};
use crate::metrics::{Metric, Quantity, Subject};
use crate::plan::Plan;
use crate::scenario::switch::Classify;
use crate::scenario::{Recovery, entry_of};
use crate::words::{bytes, count, list, part};

/// Names in a headline.
const MOST_NAMES: usize = 3;

/// Which flows deliver nothing, as the end of a sentence.
fn silence(entries: &[&str]) -> String {
    match entries {
        [] => String::new(),
        [one] => format!(", and {one} delivers nothing"),
        many => format!(", and {} deliver nothing", list(many, MOST_NAMES)),
    }
}

impl Seen<'_> {
    /// Nodes that drop frames for a reason, how many, and since when the first of them does.
    fn who_drops(&self, reason: &str) -> Option<(String, String, u64, String)> {
        let of = self.dropped(reason);
        of.first()?;
        let names: Vec<&str> = of.iter().map(|(node, _)| *node).collect();
        let frames = of.iter().map(|(_, frames)| frames).sum();
        let verb = if of.len() == 1 { "drops" } else { "drop" };
        let since = self.drops_from(&names);
        Some((list(&names, MOST_NAMES), verb.into(), frames, since))
    }

    /// A lossless class that loses frames, because its headroom is too small.
    pub(super) fn lossless_lost(&self) -> Option<Broken> {
        let (who, verb, frames, since) = self.who_drops("headroom_full")?;
        let (first, _) = self.dropped("headroom_full")[0];
        let switch = self.switch(first)?;
        let plan = Plan::new(self.scenario);
        let needs = plan.headroom(self.scenario, plan.number(first));
        let has = switch.headroom.unwrap_or(needs);
        let headline = format!(
            "{who} {verb} {} of a lossless class{since}: {} of headroom are full",
            count(frames, "frame", "frames"),
            bytes(has),
        );
        let cure = match needs > has {
            true => Cure::new(
                format!("{}.headroom=\"{needs}\"", switch.place()),
                format!(
                    "what is under way on its cables after a pause needs {} a port; left out, it follows from the links",
                    bytes(needs)
                ),
            ),
            false => Cure::by_hand("find which peer sends on after a pause"),
        };
        Some(Broken::new(headline, vec![cure]))
    }

    /// Priorities in VLAN tags, which do not survive a routed hop, and trunks, which drop what has no tag.
    pub(super) fn behind_tags(&self) -> Option<Broken> {
        if self.scenario.host.classify != Classify::Pcp {
            return None;
        }
        let untagged = self.who_drops("untagged");
        let overflow = self.who_drops("over_limit");
        let mut parts = Vec::new();
        if let Some((who, verb, frames, since)) = &overflow {
            parts.push(format!(
                "{who} {verb} {}{since}: their class is lossy behind a routed hop",
                count(*frames, "frame", "frames")
            ));
        }
        if let Some((who, verb, frames, since)) = &untagged {
            let silent = self.silent();
            let silent = silence(&silent);
            parts.push(format!(
                "{who} {verb} {}{since} at a trunk{silent}",
                count(*frames, "untagged frame", "untagged frames")
            ));
        }
        if parts.is_empty() {
            return None;
        }
        let mut places: Vec<String> = (self.scenario.switches.iter())
            .filter(|switch| switch.classify == Classify::Pcp)
            .map(|switch| switch.place())
            .collect();
        places.dedup();
        let switches = places
            .into_iter()
            .map(|place| format!("{place}.classify=\"dscp\""));
        let all = std::iter::once("host.classify=\"dscp\"".to_owned()).chain(switches);
        let why = "a DSCP is in the IP header, which every hop keeps; ports need no tags then (without `trunk`, `pcp`)";
        Some(Broken::new(parts.join("; "), vec![Cure::all(all, why)]))
    }

    /// Entries of flows that delivered nothing in the window.
    fn silent(&self) -> Vec<&str> {
        let delivered = |entry: &str| {
            let of = self
                .simulation
                .series()
                .iter()
                .filter(|series| entry_of(&series.name) == entry);
            let rates =
                of.map(|series| self.value(&Metric::flow(Quantity::GoodputGbps, &series.name)));
            rates.into_iter().any(|rate| rate > 0.0)
        };
        let entries = self.scenario.flows.iter().map(|flow| &*flow.name);
        entries.filter(|entry| !delivered(entry)).collect()
    }

    /// A flow that keeps its wire busy and completes no message, because losses make it start again.
    pub(super) fn livelock(&self) -> Option<Broken> {
        let flows = self.simulation.flows();
        self.simulation.series().iter().find_map(|series| {
            let flow = flows.get(series.flows.start)?;
            let host = self.name(flow.source);
            let messages = self.value(&Metric::flow(Quantity::Messages, &series.name));
            let again = self.value(&Metric::node(Quantity::RetransmittedPackets, host));
            let busy = self.value(&Metric {
                quantity: Quantity::WireUtilization,
                subject: Subject::Port(host.into(), 0),
            });
            let settings = self.scenario.flows.iter().find(|entry| entry.name == series.name)?;
            let stuck = messages == 0.0 && again > 100.0 && busy > 0.5;
            if !stuck {
                return None;
            }
            let path = crate::detect::victims::path(self.simulation, flow);
            let on_path = |node: &&super::Drop| path.iter().any(|(link, _)| self.name(link.node) == node.node);
            let lost: Vec<&super::Drop> = self.drops.iter().filter(on_path).collect();
            let lost = match lost.first() {
                Some(drop) => format!(
                    "; {} loses {}{}",
                    drop.node,
                    count(drop.count, "frame", "frames"),
                    self.drops_from(&[&drop.node])
                ),
                None => String::new(),
            };
            let headline = format!(
                "Livelock: {} fills {} of the wire of {host} and completes no message; {} were sent again{lost}",
                series.name,
                part(busy),
                count(again as u64, "packet", "packets"),
            );
            let cure = match settings.recovery {
                Recovery::GoBack0 => Cure::new(
                    format!("flows.{}.recovery=\"go-back-n\"", settings.name),
                    "a loss costs the packets behind it, not the whole message",
                ),
                _ => Cure::by_hand("find what loses the frames"),
            };
            Some(Broken::new(headline, vec![cure]))
        })
    }

    /// A lossy class whose buffer is full.
    pub(super) fn overflow(&self) -> Option<Broken> {
        let (who, verb, frames, since) = self.who_drops("over_limit")?;
        let sent = self.total(Quantity::RequestPackets);
        let again = self.total(Quantity::RetransmittedPackets);
        let again = match again > 0.0 {
            true => format!("; {} of the packets are sent again", part(again / sent)),
            false => String::new(),
        };
        let (first, _) = self.dropped("over_limit")[0];
        let switch = self.switch(first)?;
        let full = match switch.lossy_limit {
            Limit::Static(limit) if limit < switch.buffer => {
                format!("queues of {} are full", bytes(limit))
            }
            _ => format!("{} of buffer are full", bytes(switch.buffer)),
        };
        // A class that hosts pause for and the switch does not: it is lossy by mistake.
        let lossless = &self.scenario.host.lossless;
        let flows = self.simulation.flows();
        let missing = lossless.iter().filter(|class| {
            !switch.lossless.contains(class) && flows.iter().any(|flow| flow.class == **class)
        });
        let missing: Vec<String> = missing.map(u8::to_string).collect();
        let by_mistake = switch.pauses != PauseKind::Off && !missing.is_empty();
        let what = match by_mistake {
            true => format!(
                "class {} that only hosts take for lossless",
                list(&missing, MOST_NAMES)
            ),
            false => "a lossy class".into(),
        };
        let headline = format!(
            "{who} {verb} {} of {what}{since}: {full}{again}",
            count(frames, "frame", "frames"),
        );
        let mut cures = Vec::new();
        if by_mistake {
            let all: BTreeSet<u8> = lossless.iter().chain(&switch.lossless).copied().collect();
            let all = Vec::from_iter(all);
            cures.push(Cure::new(
                format!("{}.lossless={all:?}", switch.place()),
                format!(
                    "{first} pauses its peers as hosts expect it, instead of dropping their frames"
                ),
            ));
        }
        if !self.controlled() {
            cures.push(self.slow_down("senders slow down before the buffer is full"));
        }
        // Flows that repeat selectively are slower with pauses than with losses.
        let mut flows = self.scenario.flows.iter();
        let selective = flows.all(|flow| flow.recovery == Recovery::Selective);
        if switch.pauses == PauseKind::Off && !selective {
            let pfc = [
                format!("{}.pauses=\"pfc\"", switch.place()),
                "host.lossless=[3]".into(),
            ];
            cures.push(Cure::all(
                pfc,
                "the switch pauses senders instead of dropping their frames",
            ));
        }
        if cures.is_empty() {
            let twice = ByteCount::new(2 * switch.buffer.get());
            cures.push(Cure::new(
                format!("{}.buffer=\"{twice}\"", switch.place()),
                "more room for bursts",
            ));
        }
        Some(Broken::new(headline, cures))
    }

    /// Packets whose TTL ended, without a deadlock.
    pub(super) fn looped(&self) -> Option<Broken> {
        let (who, verb, frames, since) = self.who_drops("ttl_expired")?;
        let silent = self.silent();
        let silent = silence(&silent);
        let headline = format!(
            "{who} {verb} {}{since} whose TTL ended: a routing loop{silent}",
            count(frames, "frame", "frames"),
        );
        let cure = Cure::by_hand("`routes`: the routes lead back to where packets came from");
        Some(Broken::new(headline, vec![cure]))
    }

    /// Frames that were lost for another reason than those above, most of one first.
    pub(super) fn lost(&self) -> Option<Broken> {
        let lost = self
            .drops
            .iter()
            .filter(|drop| !HARMLESS.contains(&&*drop.reason));
        let mut places = BTreeMap::<&str, Vec<&super::Drop>>::new();
        for drop in lost {
            places.entry(&drop.reason).or_default().push(drop);
        }
        let frames = |drops: &[&super::Drop]| drops.iter().map(|drop| drop.count).sum::<u64>();
        let most = places
            .into_iter()
            .max_by_key(|(reason, drops)| (frames(drops), std::cmp::Reverse(*reason)));
        let (reason, mut drops) = most?;
        drops.sort_by_key(|drop| (std::cmp::Reverse(drop.count), &drop.node));
        let names: Vec<&str> = drops.iter().map(|drop| &*drop.node).collect();
        let again =
            self.total(Quantity::RetransmittedPackets) / self.total(Quantity::RequestPackets);
        let again = match again > 0.0 {
            true => format!("; {} of the packets are sent again", part(again)),
            false => String::new(),
        };
        let headline = format!(
            "{} lost at {}{} ({reason}){again}",
            count(frames(&drops), "frame is", "frames are"),
            list(&names, MOST_NAMES),
            self.drops_from(&names),
        );
        let cure = Cure::by_hand(format!("find what loses the frames at {}", names[0]));
        Some(Broken::new(headline, vec![cure]))
    }
}
