//! Counters for the closing line. Nothing is lost silently.

use std::collections::BTreeMap;

use xoff_sim::wire::frame::{Reason, Verdict};
use xoff_waves::capture::link_name;

use super::seen::{Class, Seen};
use super::table::class_ink;
use crate::terminal::{Ink, Paint};

/// Frames by what they are and by reason, and their ICRCs.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// All frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    classes: BTreeMap<Class, u64>,
    /// Reasons of malformed frames, by position in [`Reason::ALL`].
    reasons: [u64; Reason::ALL.len()],
    /// Frames of link types that are not read.
    links: BTreeMap<u32, u64>,
    /// Frames by the tunnel right around them.
    tunnels: BTreeMap<&'static str, u64>,
    /// ICRCs that are right.
    pub icrc_ok: u64,
    /// ICRCs that are wrong.
    pub icrc_bad: u64,
}

impl Tally {
    /// Counts a frame.
    pub fn add(&mut self, seen: &Seen<'_>) {
        let frame = &seen.frame;
        self.frames += 1;
        self.bytes += frame.frame_bytes as u64;
        *self.classes.entry(seen.class).or_default() += 1;
        match seen.class {
            Class::OtherLink => *self.links.entry(seen.record.link_type).or_default() += 1,
            Class::Judged(Verdict::Malformed) => {
                let known = |&reason: &Reason| Some(reason) == frame.reason;
                if let Some(index) = Reason::ALL.iter().position(known) {
                    self.reasons[index] += 1;
                }
            }
            _ => {}
        }
        if let Some(tunnel) = seen.record.tunnels.last() {
            *self.tunnels.entry(tunnel.carrier.name()).or_default() += 1;
        }
        match frame.icrc_ok {
            Some(true) => self.icrc_ok += 1,
            Some(false) => self.icrc_bad += 1,
            None => {}
        }
    }

    /// Returns the classes that occurred, roce_v2 first.
    pub fn classes(&self) -> impl Iterator<Item = (Class, u64)> {
        Class::ALL
            .into_iter()
            .filter_map(|class| Some((class, *self.classes.get(&class)?)))
    }

    /// Returns what the frames of a class are in detail, with their numbers: reasons in the order of the layers, names
    /// of link types.
    pub fn parts(&self, class: Class) -> Vec<(String, u64)> {
        match class {
            Class::Judged(Verdict::Malformed) => Reason::ALL
                .iter()
                .zip(self.reasons)
                .filter(|&(_, count)| count > 0)
                .map(|(reason, count)| (reason.to_string(), count))
                .collect(),
            Class::OtherLink => {
                let links = self.links.iter();
                links
                    .map(|(link, count)| (link_text(*link), *count))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the tunnels right around frames, with the numbers of frames.
    pub fn tunnels(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.tunnels.iter().map(|(name, count)| (*name, *count))
    }

    /// Formats the closing line.
    pub fn line(&self, paint: Paint) -> String {
        let mut line = format!(
            "{} {}",
            self.frames,
            if self.frames == 1 { "frame" } else { "frames" }
        );
        for (index, (class, count)) in self.classes().enumerate() {
            line += if index == 0 { ": " } else { ", " };
            line += &match class {
                Class::Unread => format!("{count} {class}"),
                _ => paint.paint(class_ink(class), format_args!("{count} {class}")),
            };
            let parts: Vec<String> = (self.parts(class).iter())
                .map(|(part, count)| format!("{count} {part}"))
                .collect();
            if !parts.is_empty() {
                line += &format!(" ({})", parts.join(", "));
            }
        }
        if self.icrc_ok + self.icrc_bad > 0 {
            line += &format!("; ICRC {} ok", self.icrc_ok);
            if self.icrc_bad > 0 {
                line += &format!(
                    ", {}",
                    paint.paint(Ink::Bad, format_args!("{} BAD", self.icrc_bad))
                );
            }
        }
        let tunnels: Vec<String> = (self.tunnels())
            .map(|(name, count)| format!("{count} in {name}"))
            .collect();
        if !tunnels.is_empty() {
            line += &format!("; {}", tunnels.join(", "));
        }
        line
    }
}

/// Names a link type.
pub fn link_text(link_type: u32) -> String {
    link_name(link_type).map_or_else(|| format!("link type {link_type}"), str::to_owned)
}
