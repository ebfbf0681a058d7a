//! Rules at work on a stream of frames.

use serde::{Deserialize, Serialize};

use super::{FaultAction, FaultRule};
use crate::frame::Frame;
use crate::headers::{Headers, rewrite};
use crate::seeded::{Draws, Seed};

/// What a rule has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RuleCounters {
    /// Frames that matched.
    pub matched: u64,
    /// Frames that were hit.
    pub hit: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ActiveRule {
    rule: FaultRule,
    counters: RuleCounters,
    draws: Draws,
}

impl ActiveRule {
    /// Whether this frame, which matches, is hit.
    fn hits(&mut self) -> bool {
        self.counters.matched += 1;
        let hit = self.counters.matched > self.rule.skip
            && self
                .rule
                .shots
                .is_none_or(|shots| self.counters.hit < shots)
            && self.draws.happens(self.rule.chance);
        self.counters.hit += u64::from(hit);
        hit
    }
}

/// Rules over one direction of a link, or in a switch. Rules apply one after the other; what one has dropped no later one sees. Each rule draws from a stream of its own, by frame, so that
/// the same frames in the same order meet the same fate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FaultInjector {
    rules: Vec<ActiveRule>,
}

impl FaultInjector {
    /// Rules, none of them used yet.
    pub fn new(rules: Vec<FaultRule>, seed: Seed) -> Self {
        let active = |(i, rule)| ActiveRule {
            rule,
            counters: RuleCounters::default(),
            draws: seed.derive(&[i as u64]).draws(),
        };
        Self {
            rules: rules.into_iter().enumerate().map(active).collect(),
        }
    }

    /// Each rule and what it has done.
    pub fn counters(&self) -> impl Iterator<Item = (&FaultRule, RuleCounters)> {
        self.rules
            .iter()
            .map(|active| (&active.rule, active.counters))
    }

    /// Sends a frame through; what comes out goes to `out`, none to several.
    pub fn pass(&mut self, frame: Frame, mut out: impl FnMut(Frame)) {
        if self.rules.is_empty() {
            return out(frame);
        }
        let Some(headers) = Headers::at(&frame.bytes) else {
            return out(frame);
        };
        let on_wire = frame.end.saturating_since(frame.start);
        let mut frames = vec![frame];
        for active in &mut self.rules {
            if !active.rule.matches.matches(&headers) || !active.hits() {
                continue;
            }
            for action in &active.rule.actions {
                match action {
                    FaultAction::Drop => return,
                    FaultAction::Corrupt => {
                        frames.iter_mut().for_each(|frame| frame.fcs_ok = false);
                    }
                    FaultAction::Ecn => frames.iter_mut().for_each(|frame| mark(frame, &headers)),
                    FaultAction::Delay(by) => {
                        for frame in &mut frames {
                            frame.start += *by;
                            frame.end += *by;
                        }
                    }
                    FaultAction::Duplicate => {
                        let mut copy = frames[frames.len() - 1].clone();
                        copy.start += on_wire;
                        copy.end += on_wire;
                        frames.push(copy);
                    }
                }
            }
        }
        frames.into_iter().for_each(out);
    }
}

fn mark(frame: &mut Frame, headers: &Headers) {
    if let Some(ip) = &headers.ip {
        let mut bytes = frame.bytes.to_vec();
        rewrite::mark_ce(&mut bytes, ip);
        frame.bytes = bytes.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::roce_frame;
    use crate::time::{Duration, LineRate, Time};

    fn injector(rules: &[&str]) -> FaultInjector {
        let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        FaultInjector::new(rules, Seed(5))
    }

    fn through(injector: &mut FaultInjector, psn: u32) -> Vec<Frame> {
        let bytes = roce_frame(1, 2).psn(psn).bytes(100);
        let frame = Frame::sent(bytes, Time::ZERO, LineRate::G40);
        let mut out = Vec::new();
        injector.pass(frame, |frame| out.push(frame));
        out
    }

    #[test]
    fn shots_are_used_up_after_those_skipped() {
        let mut faults = injector(&["psn 10-20, skip 2, shots 3: drop"]);
        let lost: Vec<u32> = (0..30)
            .filter(|psn| through(&mut faults, *psn).is_empty())
            .collect();
        assert_eq!(lost, [12, 13, 14]);
        let (_, counters) = faults.counters().next().unwrap();
        assert_eq!((counters.matched, counters.hit), (11, 3));
    }

    #[test]
    fn actions_do_what_they_say() {
        let plain = through(&mut injector(&[]), 1).remove(0);
        assert!(!through(&mut injector(&["any: corrupt"]), 1)[0].fcs_ok);
        let late = through(&mut injector(&["any: delay 1 us"]), 1).remove(0);
        assert_eq!(late.end, plain.end + Duration::from_us(1));
        let twice = through(&mut injector(&["any: duplicate"]), 1);
        assert_eq!(twice.len(), 2);
        assert_eq!(twice[1].start, twice[0].end);
        let marked = through(&mut injector(&["any: ecn"]), 1).remove(0);
        let ip = Headers::at(&marked.bytes).unwrap().ip.unwrap();
        assert_eq!(ip.traffic_class & 3, rewrite::ECN_CE);
    }

    #[test]
    fn later_rules_do_not_see_what_is_dropped() {
        let mut faults = injector(&["psn 1: drop", "any: corrupt"]);
        through(&mut faults, 1);
        through(&mut faults, 2);
        let hits: Vec<u64> = faults
            .counters()
            .map(|(_, counters)| counters.hit)
            .collect();
        assert_eq!(hits, [1, 1]);
    }

    #[test]
    fn chances_follow_the_seed_and_go_on_after_a_checkpoint() {
        let run = |checkpoint: bool| {
            let mut faults = injector(&["any, chance 1/4: drop"]);
            (0..400)
                .filter(|psn| {
                    if checkpoint && *psn == 100 {
                        let text = serde_json::to_string(&faults).unwrap();
                        faults = serde_json::from_str(&text).unwrap();
                    }
                    through(&mut faults, *psn).is_empty()
                })
                .collect::<Vec<u32>>()
        };
        let lost = run(false);
        // A hundred expected; the standard deviation is under 9.
        assert!((65..=135).contains(&lost.len()), "{}", lost.len());
        assert_eq!(lost, run(true));
    }
}
