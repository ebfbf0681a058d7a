//! Keeps simulated time at the pace of the clock on the wall, and carries frames between cable and NIC.

use std::time::{Duration as Wall, Instant};

use anyhow::anyhow;
use xoff_network::attach::{Attached, Ended};
use xoff_sim::time::{Duration, Time};

use super::cable::{Cable, Came};
use super::recording::Recording;
use crate::interruption::interrupted;

/// How far the NIC runs before it is looked again for frames.
const SLICE: Duration = Duration::from_us(20);
/// How far simulated time may be behind and still catch up. What is more was too much for the simulation: time stood
/// still meanwhile, as far as the NIC can tell.
const BEHIND: Duration = Duration::from_ms(5);
/// Frames that are taken at once.
const AT_ONCE: usize = 256;
/// The shortest and the longest wait for a frame.
const SHORT: Wall = Wall::from_micros(50);
const LONG: Wall = Wall::from_millis(50);
/// How long the peer has to be silent until the tool's end is the end: it may not have got the last answer.
const SILENCE: Wall = Wall::from_millis(500);
/// How long that may take.
const LINGER: Wall = Wall::from_secs(10);
const PS_PER_NS: u64 = 1_000;

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The tool has ended.
    Tool,
    /// The process was asked to.
    Interrupted,
}

/// Runs until the tool has ended and the peer is silent, at a pace in simulated seconds a second on the wall. A peer is
/// waited for so long at most.
///
/// # Errors
///
/// The peer goes away, is silent, or sends no frames; the NIC stops working; the capture cannot be written.
pub(super) fn drive(
    attached: &mut Attached,
    cable: &mut Cable,
    recording: &mut Recording,
    wait: Wall,
    pace: f64,
) -> anyhow::Result<End> {
    let mut pace = Pace::new(pace);
    let mut heard = Instant::now();
    let mut over: Option<Instant> = None;
    loop {
        if interrupted() {
            return Ok(End::Interrupted);
        }
        let mut pause = pace.pause(attached);
        for _ in 0..AT_ONCE {
            match cable.next(pause) {
                Came::Frame(frame) => {
                    attached.arrive(frame.into());
                    heard = Instant::now();
                }
                Came::Nothing => break,
                // A peer whose tool has ended may go.
                Came::End(_) if over.is_some() => return Ok(End::Tool),
                Came::End(why) => return Err(lost(attached, &why)),
            }
            pause = Wall::ZERO;
        }
        let until = pace.until(attached);
        attached.run_until(until)?;
        recording.write(attached.take_seen())?;
        for frame in attached.take_sent() {
            if let Err(error) = cable.send(&frame)
                && over.is_none()
            {
                return Err(lost(
                    attached,
                    &format!("a frame could not be sent: {error}"),
                ));
            }
        }
        let silent = heard.elapsed();
        match over {
            Some(since) if silent >= SILENCE || since.elapsed() >= LINGER => return Ok(End::Tool),
            None if *attached.ended() != Ended::Running => over = Some(Instant::now()),
            None if silent >= wait => {
                let seconds = wait.as_secs();
                return Err(lost(
                    attached,
                    &format!("no frame of the peer in {seconds} s"),
                ));
            }
            _ => {}
        }
    }
}

/// The peer is gone before its time.
fn lost(attached: &Attached, why: &str) -> anyhow::Error {
    anyhow!("{why}; this end waited for {}", attached.waits_for())
}

/// The clock on the wall, as the simulation follows it.
struct Pace {
    /// Simulated seconds a second.
    pace: f64,
    last: Instant,
    /// Time that has passed on the wall and not in the simulation.
    owed: Duration,
}

impl Pace {
    fn new(pace: f64) -> Self {
        Self {
            pace,
            last: Instant::now(),
            owed: Duration::ZERO,
        }
    }

    fn look(&mut self) {
        let now = Instant::now();
        let passed = (now - self.last).mul_f64(self.pace).as_nanos();
        self.last = now;
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        self.owed += Duration::from_ps(passed.saturating_mul(PS_PER_NS));
    }

    /// How long may be waited for a frame.
    fn pause(&mut self, attached: &mut Attached) -> Wall {
        let idle = (attached.next_event()).map(|at| at.saturating_since(attached.now()));
        let idle = idle.map_or(LONG, |it| {
            Wall::from_nanos(it.saturating_sub(self.owed).as_ps() / PS_PER_NS).div_f64(self.pace)
        });
        idle.clamp(SHORT, LONG)
    }

    /// Until when the simulation may go.
    fn until(&mut self, attached: &mut Attached) -> Time {
        self.look();
        let now = attached.now();
        let next = attached
            .next_event()
            .map_or(now + self.owed, |at| at.max(now));
        let until = (now + self.owed).min(next + SLICE);
        let left = self.owed.saturating_sub(until.saturating_since(now));
        self.owed = left.min(BEHIND);
        until
    }
}
