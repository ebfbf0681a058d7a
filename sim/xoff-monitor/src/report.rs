//! What the monitors found.

use std::collections::BTreeMap;

use serde::Serialize;
use xoff_sim::time::Time;

use crate::{Habit, Rule};

/// Violations of one rule that are kept with their texts; more are counted.
pub const KEPT_VIOLATIONS: u64 = 1_000;

/// A frame that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The frame's number, as the caller gave it.
    pub frame: u64,
    /// The tap, by its name.
    pub tap: String,
    /// When the frame's last bit was at the tap.
    pub time: Time,
    /// What of the frame breaks the rule, and what would be right.
    pub text: String,
}

/// Something that is allowed and worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What it is.
    pub remark: Habit,
    /// How many frames.
    pub count: u64,
    /// The first of them.
    pub frame: u64,
    /// What the first of them was.
    pub text: String,
}

/// How often a rule was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Frames that could be judged by it.
    pub checked: u64,
    /// Of these, frames that break it.
    pub violations: u64,
}

/// Frames by what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FrameCounts {
    /// RoCE packets, broken ones included.
    pub roce: u64,
    /// PFC and PAUSE.
    pub pause: u64,
    /// Everything else.
    pub other: u64,
    /// Frames with a wrong FCS, of which nothing is read.
    pub bad_fcs: u64,
}

/// All that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Frames seen.
    pub frames: u64,
    /// What they were.
    pub kinds: FrameCounts,
    /// Every rule, and how often it was applied.
    pub rules: BTreeMap<Rule, Tally>,
    /// Frames that break rules, in the order in which they were seen; at most [`KEPT_VIOLATIONS`] a rule.
    pub violations: Vec<Violation>,
    /// What is allowed and worth knowing, once each.
    pub remarks: BTreeMap<Habit, Remark>,
}

impl Report {
    /// Frames that break `rule`.
    pub fn violations_of(&self, rule: Rule) -> u64 {
        self.rules.get(&rule).map_or(0, |tally| tally.violations)
    }

    /// Frames that break rules, all rules together.
    pub fn violation_count(&self) -> u64 {
        self.rules.values().map(|tally| tally.violations).sum()
    }
}

/// Where the rules report to: the frame at hand and what was found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub report: Report,
    pub frame: u64,
    pub tap: String,
    pub time: Time,
}

impl Findings {
    pub fn new() -> Self {
        let mut findings = Self::default();
        findings.report.rules = Rule::ALL
            .iter()
            .map(|rule| (*rule, Tally::default()))
            .collect();
        findings
    }

    /// Applies `rule` to the frame at hand; `text` says what is wrong when it does not hold. Gives `holds` back.
    pub fn check(&mut self, rule: Rule, holds: bool, text: impl FnOnce() -> String) -> bool {
        let tally = self.report.rules.entry(rule).or_default();
        tally.checked += 1;
        if !holds {
            tally.violations += 1;
            if tally.violations <= KEPT_VIOLATIONS {
                self.report.violations.push(Violation {
                    rule,
                    frame: self.frame,
                    tap: self.tap.clone(),
                    time: self.time,
                    text: text(),
                });
            }
        }
        holds
    }

    /// Notes something that is allowed.
    pub fn remark(&mut self, habit: Habit, text: impl FnOnce() -> String) {
        let frame = self.frame;
        self.report
            .remarks
            .entry(habit)
            .or_insert_with(|| Remark {
                remark: habit,
                count: 0,
                frame,
                text: text(),
            })
            .count += 1;
    }
}
