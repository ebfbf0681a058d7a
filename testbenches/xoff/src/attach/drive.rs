//! Carries frames between cable and NIC, as the clock goes that simulated time follows.

use std::time::Duration as Wall;

use anyhow::anyhow;
use xoff_network::attach::{Attached, Ended};
use xoff_sim::time::Duration;

use super::cable::{Cable, Came};
use super::clock::Clock;
use super::recording::Recording;
use crate::interruption::interrupted;

/// How long the NIC runs on when the peer is gone: all frames that are taken at once have passed by then.
const LAST: Duration = Duration::from_ms(1);
/// Frames that are taken at once.
const AT_ONCE: usize = 256;
/// How long the peer has to be silent until the tool's end is the end: it may not have got the last answer.
pub(crate) const SILENCE: Wall = Wall::from_millis(500);
/// How long that may take.
pub(crate) const LINGER: Wall = Wall::from_secs(10);

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The tool has ended.
    Tool,
    /// The process was asked to.
    Interrupted,
}

/// Runs until the tool has ended and the peer is silent. A peer is waited for so long at most, of the time that it has.
///
/// # Errors
///
/// The peer goes away, is silent, or sends no frames; the NIC stops working; the capture cannot be written.
pub(super) fn drive(
    attached: &mut Attached,
    cable: &mut Cable,
    recording: &mut Recording,
    wait: Wall,
    clock: &mut Clock,
) -> anyhow::Result<End> {
    let mut heard = clock.passed();
    let mut over: Option<Wall> = None;
    loop {
        if interrupted() {
            return Ok(End::Interrupted);
        }
        let (mut pause, mut gone) = match clock.wait(attached.now(), attached.next_event()) {
            Ok(pause) => (pause, None),
            Err(why) => (Wall::ZERO, Some(format!("{why:#}"))),
        };
        for _ in 0..AT_ONCE {
            match cable.next(pause) {
                Came::Frame(frame) => {
                    attached.arrive(frame.into());
                    heard = clock.passed();
                }
                Came::Nothing => break,
                Came::End(why) => {
                    gone.get_or_insert(why);
                    break;
                }
            }
            pause = Wall::ZERO;
        }
        match gone {
            None => {}
            // A peer whose tool has ended may go.
            Some(_) if over.is_some() => return Ok(End::Tool),
            Some(why) => {
                // What came before it is in the capture.
                attached.run_until(attached.now() + LAST)?;
                recording.write(attached.take_seen())?;
                return Err(lost(attached, &why));
            }
        }
        let until = clock.until(attached.now(), attached.next_event());
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
        let now = clock.passed();
        let silent = now - heard;
        match over {
            Some(since) if silent >= SILENCE || now - since >= LINGER => return Ok(End::Tool),
            None if *attached.ended() != Ended::Running => over = Some(now),
            None if silent >= wait => {
                return Err(lost(attached, &cable.silence(wait)));
            }
            _ => {}
        }
    }
}

/// The peer is gone before its time.
fn lost(attached: &Attached, why: &str) -> anyhow::Error {
    anyhow!("{why}; this end waited for {}", attached.waits_for())
}
