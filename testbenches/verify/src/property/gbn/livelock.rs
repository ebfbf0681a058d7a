//! The livelock of SIGCOMM 2016, section 4.1, as packets: a switch drops every packet whose IP identification ends in
//! 0xFF, and the sender counts those up by one a packet, retransmissions included. Under go-back-0 a message of 256 − W
//! packets never ends, W being the packets sent between the drop and the NAK's arrival; under go-back-N the goodput is
//! (255 − W) / 256.

use std::collections::VecDeque;

use crate::units::gbn::{End, Requesting, Responding, Unit};
use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::gbn::{
    RequesterConfig, RequesterEvent, ResponderConfig, ResponderEvent, ResponderNote, Response,
    Status, Work, WorkKind,
};
use xoff_sim::wire::Psn;

use super::bins::Binned;
use super::judge::{Judged, Seen};
use crate::property::Disagreement;

/// Counts of a measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// Packets on the wire.
    pub sent: u64,
    /// Packets of messages that the responder has completed.
    pub delivered: u64,
    /// Messages that the requester has completed.
    pub messages: u64,
}

/// The link and the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Livelock {
    /// Both ends go back to the first packet of the message (go-back-0).
    pub restart: bool,
    /// Packets per message.
    pub packets: u32,
    /// W, the packets sent between the drop and the arrival of the NAK.
    pub wasted: u64,
    /// Packets to send before and during the measurement.
    pub slots: (u64, u64),
}

/// Measures the goodput with always a WRITE to send, one packet per slot. The answer to a packet arrives W slots later.
///
/// # Errors
///
/// Returns what [`super::judge`] finds, or an error if the requester has nothing to send.
pub fn measure<A, B>(a: &mut A, b: &mut B, setting: Livelock) -> Result<Measured, Disagreement>
where
    A: Unit<End = Requesting>,
    B: Unit<End = Responding>,
{
    let mut requester = Judged::new(a, Cycle(1), true, false)?;
    let mut responder = Judged::new(b, Cycle(1), true, false)?;
    let (mtu, psn) = (2, Psn::wrapping(0xFF_FF00));
    let open = RequesterEvent::Open {
        configuration: RequesterConfig {
            mtu,
            retry: 7,
            restart: setting.restart,
            ..RequesterConfig::default()
        },
        psn,
    };
    let listen = ResponderEvent::Open {
        configuration: ResponderConfig {
            mtu,
            restart: setting.restart,
            ..ResponderConfig::default()
        },
        psn,
    };
    requester.offer(0, &open)?;
    responder.offer(0, &listen)?;
    let work = Work {
        kind: WorkKind::WRITE,
        signaled: true,
        length: setting.packets * 1_024,
        ..Work::default()
    };
    let mut answers: VecDeque<(u64, Response)> = VecDeque::new();
    let mut measured = Measured::default();
    for slot in 0..setting.slots.0 + setting.slots.1 {
        if slot == setting.slots.0 {
            measured = Measured::default();
        }
        while answers.front().is_some_and(|(at, _)| *at <= slot) {
            let (_, answer) = answers.pop_front().expect("it is there");
            let event = RequesterEvent::Ack {
                psn: answer.psn,
                syndrome: answer.syndrome,
            };
            stepped(&mut requester, &event, |seen| {
                let ended = seen.step.and_then(|shown| shown.step.completion);
                measured.messages +=
                    u64::from(ended.is_some_and(|it| it.status == Status::Success));
            })?;
        }
        let context = requester.latest(0).context;
        if usize::from(context.head.wrapping_sub(context.tail)) < A::SLOTS {
            requester.offer(0, &RequesterEvent::Post(work))?;
        }
        let mut request = None;
        stepped(&mut requester, &RequesterEvent::Send, |seen| {
            request = request.or(seen.step.and_then(|shown| shown.step.request));
        })?;
        let request = request.ok_or("the wire falls silent")?;
        measured.sent += 1;
        if slot & 0xFF == 0xFF {
            continue;
        }
        let before = responder.context(0).msn;
        let event = ResponderEvent::Packet(request.arrival(true));
        stepped(&mut responder, &event, |seen| {
            if let Some(shown) = seen.step {
                let accepted = shown.step.note == ResponderNote::Accepted;
                let ended = accepted && shown.context.msn != before;
                measured.delivered += u64::from(ended) * u64::from(setting.packets);
            }
        })?;
        if Responding::bit(responder.context(0)) {
            stepped(&mut responder, &ResponderEvent::Grant, |seen| {
                let answer = seen.step.and_then(|shown| shown.step.response);
                answers.extend(answer.map(|answer| (slot + setting.wasted, answer)));
            })?;
        }
    }
    Ok(measured)
}

/// Offers an event and waits until it and its walks have come out.
fn stepped<U: Unit<End: Binned>>(
    unit: &mut Judged<'_, U>,
    event: &<U::End as End>::Event,
    mut see: impl FnMut(&Seen<U::End>),
) -> Result<(), Disagreement> {
    let mut offered = Some((0, event));
    loop {
        let seen = unit.cycle(offered)?;
        see(&seen);
        if seen.taken {
            offered = None;
        } else if offered.is_none() && unit.quiet() {
            return Ok(());
        }
    }
}
