//! The MAC control sublayer (IEEE 802.3 clause 31) of a port whose NIC leaves pauses to its MAC: received pauses as a
//! set of classes, and pause frames for the classes that the NIC names.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{PauseKind, PauseReceiver, PauseSender};
use crate::frame::Frame;
use crate::protocol::parse;
use crate::time::{Duration, LineRate, Time};
use crate::wire::frame::Verdict;
use crate::wire::{EthernetRepr, MacAddr, PRIORITIES};

/// Settings of a port's pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlConfig {
    /// The port's address: the source of pause frames, and besides 01-80-C2-00-00-01 the destination of PAUSE.
    pub mac: MacAddr,
    /// The port's rate, which gives the length of a quantum, 512 bit times.
    pub rate: LineRate,
    /// Lossless classes, one bit each: they obey PFC and send it.
    pub classes: u8,
    /// Whether PAUSE stops all classes; otherwise it is ignored.
    pub pause_obeyed: bool,
    /// The pause time of an XOFF in quanta, 1 or more.
    pub quanta: u16,
    /// Time after which an XOFF is repeated while it lasts. Half of the pause time if that is shorter.
    pub refresh: Duration,
}

/// What became of a received MAC control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlFrame {
    /// PFC that is obeyed in at least one class.
    Pfc,
    /// PAUSE that is obeyed.
    Pause,
    /// A pause of which nothing is obeyed.
    Ignored,
    /// A pause to another port: dropped.
    Address,
    /// A pause that is too short, or to a group address that is not for pauses: dropped.
    Malformed,
    /// An opcode other than those of pauses: dropped (IEEE 802.3 §31.5.3).
    Unknown,
}

/// The pauses of a port, in both directions.
///
/// No MAC control frame reaches the NIC. A pause counts from the last bit of its frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacControl {
    config: ControlConfig,
    pfc: PauseReceiver,
    pause: PauseReceiver,
    sender: PauseSender,
    /// The last call of [`tick`](Self::tick).
    now: Time,
}

impl MacControl {
    /// The state of a port that is not paused and pauses nobody.
    pub fn new(config: ControlConfig) -> Self {
        let most = config.rate.time_of_quanta(config.quanta) / 2;
        let refresh = config.refresh.min(most);
        Self {
            config,
            pfc: PauseReceiver::new(PauseKind::Pfc, u8::MAX, Duration::ZERO),
            pause: PauseReceiver::new(PauseKind::Link, u8::MAX, Duration::ZERO),
            sender: PauseSender::new(PauseKind::Pfc, config.mac, config.quanta, refresh),
            now: Time::ZERO,
        }
    }

    /// Takes an intact frame of MAC control, as [`is_control`](super::is_control) says, whose last bit arrives at its
    /// `end`. Must be called before the [`tick`](Self::tick) that follows, in the order of time.
    pub fn receive(&mut self, frame: &Frame) -> ControlFrame {
        let parsed = parse(frame.bytes.headers());
        let (verdict, control) = match (parsed.verdict, parsed.control) {
            (verdict @ (Verdict::Pfc | Verdict::Pause), Some(control)) => (verdict, control),
            (Verdict::Malformed, _) => return ControlFrame::Malformed,
            _ => return ControlFrame::Unknown,
        };
        let dst = parsed.eth.map(|eth| eth.dst);
        if dst != Some(MacAddr::CONTROL) && dst != Some(self.config.mac) {
            return ControlFrame::Address;
        }
        let body = &frame.bytes.headers()[EthernetRepr::LEN..];
        let [_, enabled] = control.class_enable.to_be_bytes();
        match verdict {
            Verdict::Pfc if enabled & self.config.classes != 0 => {
                self.pfc.receive(frame.end, body);
                ControlFrame::Pfc
            }
            Verdict::Pause if self.config.pause_obeyed => {
                self.pause.receive(frame.end, body);
                ControlFrame::Pause
            }
            _ => ControlFrame::Ignored,
        }
    }

    /// Advances time to `now`, which must not decrease. Returns the classes that must not start a frame at `now`, one
    /// bit each.
    pub fn tick(&mut self, now: Time) -> u8 {
        self.now = now;
        self.pfc.tick(now, self.config.rate);
        self.pause.tick(now, self.config.rate);
        self.sender.tick(now);
        if self.pause.until(0) > now {
            return u8::MAX;
        }
        let paused = |class: &usize| self.pfc.until(*class) > now;
        let all = (0..PRIORITIES).filter(paused);
        all.fold(0, |set, class| set | 1 << class) & self.config.classes
    }

    /// States at `now` that the link went down or came up: pauses of the peer are over, and the peer is told anew for
    /// which classes it has to pause.
    pub fn set_link(&mut self, now: Time) {
        self.pfc.clear(now);
        self.pause.clear(now);
        self.sender.tell_again();
    }

    /// Sets the classes for which the peer has to pause, one bit each. Classes that are not lossless never do.
    pub fn request(&mut self, classes: u8) {
        for class in 0..PRIORITIES as u8 {
            let wanted = classes & self.config.classes & 1 << class;
            self.sender.set(class, wanted != 0);
        }
    }

    /// Whether a pause frame is due.
    pub const fn pending(&self) -> bool {
        self.sender.pending()
    }

    /// The pause frame to send at `now`, without FCS: XOFF, its repetition or XON, for all classes that it concerns.
    pub fn frame(&mut self, now: Time) -> Bytes {
        self.sender.frame(now)
    }

    /// The next instant at which [`tick`](Self::tick) returns another set, or a pause frame is due, unless frames
    /// arrive or requests change before.
    pub fn next_event(&self) -> Option<Time> {
        let ends = (0..PRIORITIES)
            .filter(|class| self.config.classes >> class & 1 != 0)
            .map(|class| self.pfc.until(class))
            .chain([self.pause.until(0)])
            .filter(|until| *until > self.now);
        let coming = [self.pfc.next_event(), self.pause.next_event()];
        let events = coming.into_iter().chain([self.sender.refresh_at()]);
        events.flatten().chain(ends).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::is_control;
    use crate::wire::{Pause, PauseRepr, Pfc, PfcRepr, control_frame};

    const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// Classes 3 and 4 are lossless, at 40 Gb/s.
    fn control(pause_obeyed: bool) -> MacControl {
        MacControl::new(ControlConfig {
            mac: OWN,
            rate: LineRate::G40,
            classes: 0b1_1000,
            pause_obeyed,
            quanta: 1_000,
            refresh: Duration::from_us(6),
        })
    }

    fn frame(bytes: Bytes, end: Time) -> Frame {
        Frame {
            bytes: bytes.into(),
            fcs_ok: true,
            start: Time::ZERO,
            end,
        }
    }

    fn pfc(class_enable: u16, quanta: u16) -> Bytes {
        pfc_of(class_enable, [quanta; 8])
    }

    fn pfc_of(class_enable: u16, timers: [u16; 8]) -> Bytes {
        control_frame(PEER, |bytes| {
            PfcRepr {
                class_enable,
                timers,
            }
            .emit(&mut Pfc::new_unchecked(bytes));
        })
    }

    fn pause(timer: u16) -> Bytes {
        control_frame(PEER, |bytes| {
            PauseRepr { timer }.emit(&mut Pause::new_unchecked(bytes));
        })
    }

    fn with_dst(bytes: &Bytes, dst: MacAddr) -> Bytes {
        [&dst.0[..], &bytes[6..]].concat().into()
    }

    #[test]
    fn a_received_pause_lasts_its_quanta() {
        let mut control = control(false);
        let receive = |control: &mut MacControl, bytes, ns| control.receive(&frame(bytes, at(ns)));
        assert_eq!(
            receive(&mut control, pfc(1 << 3, 10), 100),
            ControlFrame::Pfc
        );
        assert_eq!(control.next_event(), Some(at(100)));
        assert_eq!(control.tick(at(99)), 0);
        assert_eq!(control.tick(at(100)), 1 << 3);
        // Ten quanta of 512 bits at 40 Gb/s: 128 ns.
        assert_eq!(control.next_event(), Some(at(228)));
        assert_eq!(control.tick(at(227)), 1 << 3);
        assert_eq!((control.tick(at(228)), control.next_event()), (0, None));
        // Class 0 is not lossless: only class 4 stops. XON ends it.
        receive(&mut control, pfc(1 << 4 | 1, 100), 300);
        assert_eq!(control.tick(at(310)), 1 << 4);
        receive(&mut control, pfc(1 << 4, 0), 320);
        assert_eq!(control.tick(at(320)), 0);
        // Nor does anything happen when its time is over.
        let timers = [10, 0, 0, 0, 20, 0, 0, 0];
        receive(&mut control, pfc_of(1 << 4 | 1, timers), 400);
        assert_eq!(control.tick(at(400)), 1 << 4);
        assert_eq!(control.next_event(), Some(at(656)));
    }

    #[test]
    fn what_is_not_obeyed_is_told_apart() {
        let mut deaf = control(false);
        for (bytes, what) in [
            (pfc(1 << 3, 5), ControlFrame::Pfc),
            (pfc(1 << 2, 5), ControlFrame::Ignored),
            // The high byte of the vector is reserved.
            (pfc(0x0800, 5), ControlFrame::Ignored),
            (pause(5), ControlFrame::Ignored),
            (with_dst(&pause(5), OWN), ControlFrame::Ignored),
            (with_dst(&pause(5), PEER), ControlFrame::Address),
            (with_dst(&pfc(8, 5), OWN), ControlFrame::Malformed),
            (
                control_frame(PEER, |bytes| bytes[1] = 9),
                ControlFrame::Unknown,
            ),
        ] {
            let frame = frame(bytes, at(1));
            assert!(is_control(frame.bytes.headers()));
            assert_eq!(deaf.receive(&frame), what, "{frame:?}");
        }
        assert!(!is_control(&[0; 60]));
        // PAUSE stops all classes, PFC's timers apart from it.
        let mut obeying = control(true);
        let pause = frame(with_dst(&pause(10), OWN), at(10));
        assert_eq!(obeying.receive(&pause), ControlFrame::Pause);
        obeying.receive(&frame(pfc(1 << 3, 20), at(10)));
        assert_eq!(obeying.tick(at(10)), 0xFF);
        assert_eq!(obeying.next_event(), Some(at(138)));
        assert_eq!(obeying.tick(at(138)), 1 << 3);
        assert_eq!(obeying.next_event(), Some(at(266)));
    }

    #[test]
    fn a_request_is_told_repeated_and_taken_back() {
        let timers = |bytes: &Bytes| {
            let pfc = PfcRepr::parse(&Pfc::new_checked(&bytes[14..]).unwrap());
            (pfc.class_enable, pfc.timers[3], pfc.timers[4])
        };
        let mut control = control(false);
        // Class 0 is not lossless.
        control.request(1);
        assert!(!control.pending());
        control.request(1 << 3 | 1);
        control.tick(at(50));
        assert!(control.pending());
        let xoff = control.frame(at(50));
        assert_eq!((timers(&xoff), &xoff[6..12]), ((8, 1_000, 0), &OWN.0[..]));
        // 1,000 quanta are 12,800 ns: repeated after 6,000, which is before half of it.
        assert_eq!(control.next_event(), Some(at(6_050)));
        control.request(1 << 3);
        control.tick(at(6_049));
        assert!(!control.pending());
        control.tick(at(6_050));
        assert!(control.pending());
        control.request(1 << 4);
        assert_eq!(timers(&control.frame(at(6_060))), (0b1_1000, 0, 1_000));
        control.request(0);
        assert_eq!(timers(&control.frame(at(6_070))), (1 << 4, 0, 0));
        assert!(!control.pending());
        assert_eq!(control.next_event(), None);
    }

    #[test]
    fn a_refresh_is_never_later_than_half_of_the_pause() {
        let mut control = MacControl::new(ControlConfig {
            refresh: Duration::from_us(100),
            ..control(false).config
        });
        control.request(1 << 4);
        control.frame(at(0));
        assert_eq!(control.next_event(), Some(at(6_400)));
    }
}
