//! Captured frames that a scenario injects into the wire of a host.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::frame::Frame;
use xoff_sim::time::{Duration, LineRate, Time};

/// Resolution of `scale`: a millionth.
const SCALE_PARTS: f64 = 1e6;
/// Picoseconds in a nanosecond.
const PS_PER_NS: u128 = 1_000;

/// Which way injected frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Towards {
    /// Towards the host, as if its peer had sent them.
    #[default]
    Host,
    /// Away from the host, as if it had sent them.
    Network,
}

/// Which frames of a capture are injected, by the direction that the capture states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Only {
    Received,
    Sent,
}

/// Frames of a capture that are put on a host's wire. They go out at the times of the capture, shifted so that the
/// first frame begins at `start`. A frame that finds the wire taken waits until it is free (a store-and-forward
/// injector).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InjectEntry {
    /// The capture, pcap or pcapng; a relative path starts at the folder of the scenario file.
    pub file: String,
    /// The host at whose link the frames are injected. The name of a host with a count means each of its hosts.
    pub host: String,
    /// Which way the frames go.
    #[serde(default)]
    pub towards: Towards,
    /// When the first frame begins.
    #[serde(default)]
    pub start: Duration,
    /// By what the times between frames are multiplied: 0.5 is twice as fast. Rounded to a millionth.
    #[serde(default = "unscaled")]
    pub scale: f64,
    /// Time from the beginning of one frame to that of the next, in place of the capture's times; 0 is back to back.
    #[serde(default)]
    pub interval: Option<Duration>,
    /// Injects only frames of this interface of the capture, by its name.
    #[serde(default)]
    pub interface: Option<String>,
    /// Injects only frames that the capture marks as received or as sent at their interface.
    #[serde(default)]
    pub only: Option<Only>,
    /// The frames of `file`, read by whoever reads the scenario; a simulation without them is refused.
    #[serde(skip)]
    pub frames: Option<Vec<CapturedFrame>>,
}

const fn unscaled() -> f64 {
    1.0
}

/// A captured frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFrame {
    /// When its last bit passed, in nanoseconds since an arbitrary instant that is the same for all frames.
    pub time_ns: u64,
    /// The frame from the destination address to the end of data, without FCS.
    pub bytes: Bytes,
    /// Whether its FCS was correct.
    pub fcs_ok: bool,
}

impl InjectEntry {
    /// Returns the frames, in the order of time, with the times at which they would pass a free wire. Frames that
    /// were captured closer together than a line of `rate` can carry follow back to back.
    pub fn on_wire(&self, rate: LineRate) -> Vec<Frame> {
        let mut captured: Vec<&CapturedFrame> = self.frames.iter().flatten().collect();
        if self.interval.is_none() {
            captured.sort_by_key(|frame| frame.time_ns);
        }
        let parts = (self.scale * SCALE_PARTS).round() as u128;
        let mut frames: Vec<Frame> = Vec::with_capacity(captured.len());
        // End of the first frame: in the capture, and when injected.
        let mut origin = None;
        for (place, captured) in (0u64..).zip(&captured) {
            let frame = Frame::sent(captured.bytes.clone().into(), Time::ZERO + self.start, rate);
            let (first_ns, first_end) = *origin.get_or_insert((captured.time_ns, frame.end));
            let late = match self.interval {
                Some(interval) => u128::from(interval.as_ps()) * u128::from(place),
                None => {
                    let ps = u128::from(captured.time_ns - first_ns) * PS_PER_NS;
                    let end = u128::from(first_end.as_ps()) + ps * parts / SCALE_PARTS as u128;
                    end.saturating_sub(frame.end.as_ps().into())
                }
            };
            let start = frame
                .start
                .saturating_add(Duration::from_ps(u64::try_from(late).unwrap_or(u64::MAX)));
            let free = frames
                .last()
                .map_or(Time::ZERO, |last| last.line_free(rate));
            let start = start.max(free);
            // A frame that starts beyond the range of time is never injected.
            if start.as_ps() > u64::MAX / 2 {
                break;
            }
            frames.push(Frame {
                fcs_ok: captured.fcs_ok,
                ..Frame::sent(captured.bytes.clone().into(), start, rate)
            });
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(keys: &str, times_ns: &[u64]) -> InjectEntry {
        let mut entry: InjectEntry =
            toml::from_str(&format!("file = 'c.pcap'\nhost = 'a'\n{keys}")).unwrap();
        let frame = |&time_ns| CapturedFrame {
            time_ns,
            bytes: vec![0; 60].into(),
            fcs_ok: true,
        };
        entry.frames = Some(times_ns.iter().map(frame).collect());
        entry
    }

    /// When the frames, of 60 bytes each, begin, in nanoseconds.
    fn starts(keys: &str, times_ns: &[u64]) -> Vec<f64> {
        let frames = entry(keys, times_ns).on_wire(LineRate::G40);
        let ns = |frame: &Frame| frame.start.as_ps() as f64 / 1e3;
        frames.iter().map(ns).collect()
    }

    #[test]
    fn the_first_begins_at_start_and_the_others_keep_their_distance() {
        let times = [5_000, 6_000, 9_000];
        assert_eq!(starts("", &times), [0.0, 1_000.0, 4_000.0]);
        let keys = "start = '2 us'\nscale = 0.5";
        assert_eq!(starts(keys, &times), [2_000.0, 2_500.0, 4_000.0]);
        assert_eq!(starts("interval = '700 ns'", &times), [0.0, 700.0, 1_400.0]);
    }

    #[test]
    fn frames_come_in_the_order_of_time_and_one_behind_the_other() {
        // Each frame takes 84 bytes of 200 ps on the wire, gap included.
        assert_eq!(starts("", &[9, 9, 2]), [0.0, 16.8, 33.6]);
        assert_eq!(starts("interval = '0 ns'", &[9, 5, 2]), [0.0, 16.8, 33.6]);
    }

    #[test]
    fn times_that_no_simulation_reaches_are_left_out() {
        assert_eq!(starts("scale = 1000000.0", &[0, 1, u64::MAX]).len(), 2);
    }
}
