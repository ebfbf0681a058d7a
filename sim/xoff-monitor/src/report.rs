//! What the monitors found.

use std::collections::BTreeMap;
use std::ops::Index;

use serde::Serialize;
use xoff_sim::time::Time;

use crate::{Habit, Rule};

/// How many violations of a rule are kept with their texts; further ones are only counted, unless
/// [`Monitor::keep_all`](crate::Monitor::keep_all) says otherwise.
pub const KEPT_VIOLATIONS: u64 = 1_000;

/// A frame that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The frame's number, as the caller gave it.
    pub frame: u64,
    /// The name of the tap.
    pub tap: String,
    /// When the frame's last bit passed the tap.
    pub time: Time,
    /// What in the frame breaks the rule, and what would be right.
    pub text: String,
}

/// An observation of something that is allowed but worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What was observed.
    pub remark: Habit,
    /// Number of frames.
    pub count: u64,
    /// Number of the first such frame.
    pub frame: u64,
    /// Details of the first such frame.
    pub text: String,
}

/// How often a rule was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Number of frames that could be judged by the rule.
    pub checked: u64,
    /// How many of these break it.
    pub violations: u64,
}

/// The tallies of all rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tallies([Tally; Rule::ALL.len()]);

impl Default for Tallies {
    fn default() -> Self {
        Self([Tally::default(); Rule::ALL.len()])
    }
}

impl Tallies {
    /// Each rule with its tally, in the order of the rules.
    pub fn iter(&self) -> impl Iterator<Item = (Rule, &Tally)> {
        Rule::ALL.iter().copied().zip(&self.0)
    }
}

impl Index<Rule> for Tallies {
    type Output = Tally;

    fn index(&self, rule: Rule) -> &Tally {
        &self.0[rule as usize]
    }
}

/// Numbers of frames by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FrameCounts {
    /// RoCE packets, broken ones included.
    pub roce: u64,
    /// PFC and PAUSE frames.
    pub pause: u64,
    /// All other frames.
    pub other: u64,
    /// Frames with a wrong FCS, whose content is not looked at.
    pub bad_fcs: u64,
    /// Frames of which not even the headers were recorded, which are not judged. A connection that misses one of them
    /// may seem to break rules that it has kept.
    pub headless: u64,
    /// Those of the RoCE packets of which the headers were recorded but not the end: their ICRC, UDP checksum and pad
    /// are not judged.
    pub cut: u64,
}

/// All findings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Number of frames seen.
    pub frames: u64,
    /// Their kinds.
    pub kinds: FrameCounts,
    /// Every rule, and how often it was applied.
    pub rules: Tallies,
    /// Frames that break rules, in the order in which they were seen; at most [`KEPT_VIOLATIONS`] for each rule.
    pub violations: Vec<Violation>,
    /// Observations of what is allowed but worth knowing, at most one entry for each habit.
    pub remarks: BTreeMap<Habit, Remark>,
}

impl Report {
    /// Number of frames that break `rule`.
    pub fn violations_of(&self, rule: Rule) -> u64 {
        self.rules[rule].violations
    }

    /// Number of violations of all rules together.
    pub fn violation_count(&self) -> u64 {
        self.rules.iter().map(|(_, tally)| tally.violations).sum()
    }
}

/// The interface through which rules report: the current frame, and the findings so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub report: Report,
    pub frame: u64,
    pub tap: String,
    pub time: Time,
    /// Whether the current frame breaks a rule.
    pub named: bool,
    /// How many violations of a rule are kept.
    pub keep: u64,
}

impl Findings {
    pub fn new() -> Self {
        Self {
            keep: KEPT_VIOLATIONS,
            ..Self::default()
        }
    }

    /// Applies `rule` to the current frame: records whether it `holds`, with the message `text` if not. Returns
    /// `holds`.
    pub fn check(&mut self, rule: Rule, holds: bool, text: impl FnOnce() -> String) -> bool {
        let tally = &mut self.report.rules.0[rule as usize];
        tally.checked += 1;
        if !holds {
            self.named = true;
            tally.violations += 1;
            if tally.violations <= self.keep {
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

    /// Records an observation of something that is allowed.
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
