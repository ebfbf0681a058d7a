//! Counters for the closing line. Nothing is lost silently.

use xoff_sim::wire::frame::{ParsedFrame, Reason, Verdict};

use super::details::is_unread;
use crate::terminal::{Ink, Paint};

/// Frames by verdict and reason, and their ICRCs.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// All frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// By [`Verdict::code`].
    verdicts: [u64; Verdict::ALL.len()],
    /// By position in [`Reason::ALL`].
    reasons: [u64; Reason::ALL.len()],
    /// Packets with an assigned opcode whose extension headers are not read; they are in none of the two above.
    pub unread: u64,
    /// ICRCs that are right.
    pub icrc_ok: u64,
    /// ICRCs that are wrong.
    pub icrc_bad: u64,
}

impl Tally {
    /// Counts a frame.
    pub fn add(&mut self, frame: &ParsedFrame) {
        self.frames += 1;
        self.bytes += frame.frame_bytes as u64;
        if is_unread(frame) {
            self.unread += 1;
        } else {
            self.verdicts[usize::from(frame.verdict.code())] += 1;
        }
        if let Some(index) = Reason::ALL
            .iter()
            .position(|&reason| Some(reason) == frame.reason && !is_unread(frame))
        {
            self.reasons[index] += 1;
        }
        match frame.icrc_ok {
            Some(true) => self.icrc_ok += 1,
            Some(false) => self.icrc_bad += 1,
            None => {}
        }
    }

    /// Returns the verdicts that occurred, roce_v2 first, the worst last.
    pub fn verdicts(&self) -> impl Iterator<Item = (Verdict, u64)> {
        const ORDER: [Verdict; Verdict::ALL.len()] = [
            Verdict::RoceV2,
            Verdict::RoceV1,
            Verdict::Cnp,
            Verdict::Pfc,
            Verdict::Pause,
            Verdict::Other,
            Verdict::Malformed,
        ];
        ORDER
            .into_iter()
            .map(|verdict| (verdict, self.verdicts[usize::from(verdict.code())]))
            .filter(|&(_, count)| count > 0)
    }

    /// Returns the reasons that occurred, in the order of the layers.
    pub fn reasons(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL
            .iter()
            .copied()
            .zip(self.reasons)
            .filter(|&(_, count)| count > 0)
    }

    /// Formats the closing line.
    pub fn line(&self, paint: Paint) -> String {
        let mut line = format!(
            "{} {}",
            self.frames,
            if self.frames == 1 { "frame" } else { "frames" }
        );
        for (index, (verdict, count)) in self.verdicts().enumerate() {
            line += if index == 0 { ": " } else { ", " };
            line += &paint.paint(
                super::table::verdict_ink(verdict),
                format_args!("{count} {verdict}"),
            );
            if verdict == Verdict::Malformed {
                let reasons: Vec<String> = self
                    .reasons()
                    .map(|(reason, count)| format!("{count} {reason}"))
                    .collect();
                line += &format!(" ({})", reasons.join(", "));
            }
        }
        if self.unread > 0 {
            line += if self.verdicts().next().is_none() {
                ": "
            } else {
                ", "
            };
            line += &format!("{} {}", self.unread, super::table::UNREAD);
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
        line
    }
}
