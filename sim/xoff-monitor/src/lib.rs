//! State machines of RoCEv2, DCQCN and PFC that observe frames from outside, at one or more ports, and report the
//! frames that break a standard.
//!
//! | module | what is in it |
//! |---|---|
//! | [`Rule`], [`Habit`] | what frames are judged by, and what is only remarked, each with its texts |
//! | [`Tap`], [`Sighting`], [`Monitor`] | a place where frames are seen, a frame seen, and the judge of frames |
//! | [`Report`] | what was found |
//! | [`counters`] | what a NIC's counters should say about the frames |
//! | [`page`] | the table of the rules as text |
//!
//! The rules are written from the standards and from what real captures contain, not from the contract of any NIC.
//! What one tap cannot see is not a violation: a loss before or behind it, a capture that starts in the middle of a
//! connection, or its end. [`Rule::needs`] states for each rule what has to be seen before it is applied. Each tap is
//! judged by itself.
//!
//! ```
//! use xoff_monitor::{Monitor, Rule, Sighting, Tap};
//! use xoff_sim::time::Time;
//!
//! let mut monitor = Monitor::new();
//! let tap = monitor.add_tap(Tap::new("eth0"));
//! let pause = [&[0x01, 0x80, 0xC2, 0, 0, 1], &[2; 6][..], &[0x88, 0x08, 1, 1, 0, 8], &[0; 42]].concat();
//! let (bytes, kept) = (&pause[..], pause.len());
//! monitor.see(&Sighting { tap, number: 1, time: Time::ZERO, direction: None, bytes, line: None, kept,
//! addressed: true, fcs_ok: true });
//! let report = monitor.report();
//! assert_eq!((report.kinds.pause, report.violations_of(Rule::PauseForm)), (1, 0));
//! ```

mod answers;
pub mod counters;
mod extended;
mod flows;
mod format;
mod gap;
mod log;
mod marks;
mod operation;
mod packet;
pub mod page;
mod pauses;
mod report;
mod requests;
mod rules;
mod tap;

use xoff_sim::headers::Headers;
use xoff_sim::kernel::Direction;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::Walk;

use counters::Counts;
use flows::Flows;
use format::Kind;
use packet::Packet;
use pauses::Pauses;
use report::Findings;
use tap::Side;

pub use report::{FrameCounts, KEPT_VIOLATIONS, Remark, Report, Tallies, Tally, Violation};
pub use rules::{Habit, Rule, UnknownRule};
pub use tap::Tap;

/// A frame at a tap. The frames of a tap must be passed in the order of their times.
#[derive(Debug, Clone, Copy)]
pub struct Sighting<'a> {
    /// The tap's number, as returned by [`Monitor::add_tap`].
    pub tap: usize,
    /// The frame's number, for reports.
    pub number: u64,
    /// When its last bit passed the tap.
    pub time: Time,
    /// Its direction at the tap's node, if known.
    pub direction: Option<Direction>,
    /// The frame, without preamble and FCS.
    pub bytes: &'a [u8],
    /// The frame that was on the line if it carried this one in a tunnel: its class is that which is paused, its length
    /// that which takes time.
    pub line: Option<&'a [u8]>,
    /// The number of these bytes that were recorded. The others have no meaning.
    pub kept: usize,
    /// Whether the MAC addresses are the frame's. Captures of IP packets do not have them: pauses are not judged then.
    pub addressed: bool,
    /// Whether its FCS is correct.
    pub fcs_ok: bool,
}

#[derive(Debug)]
struct Watched {
    tap: Tap,
    flows: Flows,
    pauses: Pauses,
    counts: Counts,
}

/// Judges the frames at one or more taps.
#[derive(Debug)]
pub struct Monitor {
    taps: Vec<Watched>,
    findings: Findings,
    cnp_interval: Option<Duration>,
    /// Whether any tap is a host's own port.
    at_hosts: bool,
}

impl Default for Monitor {
    fn default() -> Self {
        Self::new()
    }
}

impl Monitor {
    /// Creates a monitor without taps.
    pub fn new() -> Self {
        Self {
            taps: Vec::new(),
            findings: Findings::new(),
            cnp_interval: None,
            at_hosts: false,
        }
    }

    /// Applies [`Rule::CnpInterval`] with this interval at all taps that are added afterwards.
    #[must_use]
    pub fn with_cnp_interval(mut self, interval: Duration) -> Self {
        self.cnp_interval = Some(interval);
        self
    }

    /// Keeps all violations with their texts, however many there are.
    #[must_use]
    pub fn keep_all(mut self) -> Self {
        self.findings.keep = u64::MAX;
        self
    }

    /// Adds a tap and returns its number. All taps are added before the first frame.
    pub fn add_tap(&mut self, tap: Tap) -> usize {
        self.at_hosts |= tap.host;
        self.taps.push(Watched {
            flows: Flows::new(self.cnp_interval, tap.rate),
            tap,
            pauses: Pauses::default(),
            counts: Counts::default(),
        });
        self.taps.len() - 1
    }

    /// Judges a frame.
    ///
    /// # Panics
    ///
    /// When there is no tap with that number.
    pub fn see(&mut self, seen: &Sighting<'_>) {
        let Watched {
            tap,
            flows,
            pauses,
            counts,
        } = &mut self.taps[seen.tap];
        let out = &mut self.findings;
        (out.frame, out.time, out.named) = (seen.number, seen.time, false);
        out.tap.clone_from(&tap.name);
        out.report.frames += 1;
        if !seen.fcs_ok {
            out.report.kinds.bad_fcs += 1;
            return;
        }
        let direction = seen.direction;
        if let Some(direction) = direction {
            counts.frame(direction);
        }
        let walk = Walk::of(seen.bytes);
        let headers = walk.as_ref().map(Headers::of);
        let parsed = extended::parse(seen.bytes, walk.as_ref());
        let kind = match format::kind(&parsed, walk.as_ref()) {
            Kind::Pause if !seen.addressed => Kind::Other,
            kind => kind,
        };
        let cut = seen.kept < seen.bytes.len();
        if cut && !format::has_headers(seen, kind, &parsed, headers.as_ref()) {
            out.report.kinds.headless += 1;
            return;
        }
        if kind != Kind::Pause {
            let (line, on_line) = match seen.line {
                Some(line) => (line, Headers::at(line)),
                None => (seen.bytes, headers),
            };
            if let Some(headers) = &on_line {
                pauses.frame(line, headers, seen.time, direction, tap, out);
            }
        }
        match kind {
            Kind::Other => out.report.kinds.other += 1,
            Kind::Pause => {
                out.report.kinds.pause += 1;
                let counted = format::pause(seen.bytes, &parsed, out);
                if let Some(control) = parsed.control.filter(|_| counted) {
                    pauses.pause(&control, seen.time, direction, tap, out);
                    if let Some(direction) = direction {
                        counts.pause(direction);
                        if direction == Direction::Received {
                            flows.paused(seen.time);
                        }
                    }
                }
            }
            Kind::Roce => {
                out.report.kinds.roce += 1;
                out.report.kinds.cut += u64::from(cut);
                let good = format::roce(walk.as_ref(), cut, &parsed, out);
                if parsed.icrc_ok == Some(false)
                    && !cut
                    && let Some(direction) = direction
                {
                    counts.bad_icrc(direction);
                }
                let own = tap.host && direction == Some(Direction::Sent);
                let packet = Packet::of(&parsed, cut, seen.time, tap, own || tap.orderly);
                if !good && own {
                    flows.broken(&parsed);
                }
                if let Some(packet) = packet.filter(|_| good) {
                    // Queues on the way change the distance of two CNPs.
                    let paced = own || (tap.orderly && !self.at_hosts);
                    let side = Side::of(direction.filter(|_| tap.host));
                    flows.see(&packet, side, paced, out);
                    if let Some(direction) = direction {
                        counts.packet(&packet, direction);
                    }
                }
            }
        }
    }

    /// Counts at a tap, of the frames whose direction was known.
    ///
    /// # Panics
    ///
    /// When there is no tap with that number.
    pub fn counts(&self, tap: usize) -> &Counts {
        &self.taps[tap].counts
    }

    /// The findings so far.
    pub fn report(&self) -> &Report {
        &self.findings.report
    }

    /// Returns the findings.
    pub fn into_report(self) -> Report {
        self.findings.report
    }
}
