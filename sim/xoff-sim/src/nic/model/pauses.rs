//! Pauses in both directions: the cycle models of the three units, evaluated only in cycles in which something
//! changes.

use serde::{Deserialize, Serialize};

use super::NEVER;
use crate::nic::NicSettings;
use crate::protocol::pause_watchdog::WatchdogIn;
use crate::protocol::pfc_rx::{PfcRxEvent, PfcRxIn};
use crate::protocol::pfc_tx::PfcTxIn;
use crate::protocol::{CyclesPerQuantum, Idle, PauseWatchdog, PfcRx, PfcTx, Quanta};
use crate::wire::PRIORITIES;
use crate::wire::frame::ControlHead;

/// The pause units, each with the cycle in which it has to be evaluated next.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pauses {
    link_down: bool,
    rx: PfcRx,
    rx_next: u64,
    paused: u8,
    tx: PfcTx,
    tx_next: u64,
    /// Whether a PFC frame waits for the wire.
    waiting: bool,
    xoff: u8,
    dog: PauseWatchdog,
    dog_next: u64,
    pausing: bool,
    silence: bool,
}

/// What the watchdog did in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Watched {
    pub(super) bark: bool,
    pub(super) bite: bool,
}

fn next_of(idle: Idle, now: u64) -> u64 {
    match idle {
        Idle::No => now + 1,
        Idle::Until(at) => at.0.max(now + 1),
        Idle::Forever => NEVER,
    }
}

impl Pauses {
    pub(super) fn new(quantum: CyclesPerQuantum) -> Self {
        Self {
            link_down: false,
            rx: PfcRx::new(quantum),
            rx_next: NEVER,
            paused: 0,
            tx: PfcTx::new(),
            tx_next: NEVER,
            waiting: false,
            xoff: 0,
            dog: PauseWatchdog::new(),
            dog_next: NEVER,
            pausing: false,
            silence: false,
        }
    }

    /// Classes that may not send, one bit each.
    pub(super) const fn paused(&self) -> u8 {
        self.paused
    }

    /// Classes that the peer was last told to stop, one bit each.
    pub(super) const fn xoff(&self) -> u8 {
        self.xoff
    }

    /// The next cycle in which something changes without an input. A waiting PFC frame is sent at `wire_free` or
    /// later.
    pub(super) fn next(&self, wire_free: u64) -> u64 {
        let tx = if self.waiting {
            self.tx_next.min(wire_free)
        } else {
            self.tx_next
        };
        self.rx_next.min(tx).min(self.dog_next)
    }

    /// Notes at `now` that the link went down or came up. A link that is down ends the pauses of the peer, which forgets
    /// what it was told.
    pub(super) fn set_link(&mut self, now: u64, up: bool) {
        self.link_down = !up;
        self.rx_next = self.rx_next.min(now);
        self.tx_next = self.tx_next.min(now);
    }

    /// Takes a PFC or PAUSE frame at `now`. Returns its effect; `paused` is updated in the next cycle.
    pub(super) fn receive(
        &mut self,
        now: u64,
        frame: ControlHead,
        settings: &NicSettings,
    ) -> PfcRxEvent {
        let mut inputs = PfcRxIn {
            link_down: self.link_down,
            frame: Some(frame),
            pfc_classes: settings.pfc.classes,
            pause_enable: settings.pause_obeyed,
        };
        self.rx.cycle(now, &inputs);
        // Frames have at least two beats, so no frame comes in the cycle that shows the event.
        inputs.frame = None;
        let out = self.rx.cycle(now + 1, &inputs);
        self.rx_next = now + 1;
        out.event.unwrap_or(PfcRxEvent::Ignored)
    }

    /// Updates the timers of received pauses. Returns the classes that may send again, one bit each.
    pub(super) fn obey(&mut self, now: u64, settings: &NicSettings) -> u8 {
        if now < self.rx_next {
            return 0;
        }
        let quiet = PfcRxIn {
            link_down: self.link_down,
            frame: None,
            pfc_classes: settings.pfc.classes,
            pause_enable: settings.pause_obeyed,
        };
        let out = self.rx.cycle(now, &quiet);
        let before = std::mem::replace(&mut self.paused, out.paused);
        // The timer still runs in the cycle that `idle` names, and stops in the next one.
        self.rx_next = match out.idle {
            Idle::Until(last) => last.0.max(now) + 1,
            idle => next_of(idle, now),
        };
        before & !self.paused
    }

    /// Notes that the receive buffer's depth changed in the cycle before `now`.
    pub(super) fn depth_changed(
        &mut self,
        now: u64,
        class: u8,
        depth: u32,
        settings: &NicSettings,
    ) {
        let p = usize::from(class);
        let pfc = &settings.pfc;
        if pfc.classes >> class & 1 == 0 {
            return;
        }
        let crosses = if self.xoff >> class & 1 == 0 {
            depth >= pfc.xoff[p]
        } else {
            depth <= pfc.xon[p]
        };
        if crosses {
            self.tx_next = self.tx_next.min(now);
        }
    }

    /// Steps the watchdog. `progress`: a request left the receive buffer in this cycle.
    pub(super) fn watch(
        &mut self,
        now: u64,
        progress: bool,
        settings: &NicSettings,
    ) -> Option<Watched> {
        let watchdog = &settings.watchdog;
        if watchdog.bark == 0 && watchdog.bite == 0 {
            return None;
        }
        let pausing = self.xoff != 0;
        let stirs = pausing || self.silence || self.dog_next != NEVER;
        let changes = progress && stirs || pausing != self.pausing;
        if now < self.dog_next && !changes {
            return None;
        }
        self.pausing = pausing;
        let out = self.dog.cycle(
            now,
            &WatchdogIn {
                pausing,
                progress,
                bark: watchdog.bark,
                bite: watchdog.bite,
                rearm: false,
                auto_rearm: watchdog.auto_rearm,
            },
        );
        // `progress` lasts for one cycle.
        self.dog_next = if progress {
            now + 1
        } else {
            next_of(out.idle, now)
        };
        let bite = out.silence && !self.silence;
        if out.silence != self.silence {
            self.silence = out.silence;
            self.tx_next = self.tx_next.min(now);
        }
        Some(Watched {
            bark: out.bark,
            bite,
        })
    }

    /// The PFC frame that is sent at `now`, if any. `free` says whether the wire is free.
    pub(super) fn ask(
        &mut self,
        now: u64,
        free: bool,
        depth: &[u32; PRIORITIES],
        settings: &NicSettings,
    ) -> Option<ControlHead> {
        if now < self.tx_next && !(self.waiting && free) {
            return None;
        }
        let pfc = &settings.pfc;
        let out = self.tx.cycle(
            now,
            &PfcTxIn {
                depth: *depth,
                xoff: pfc.xoff,
                xon: pfc.xon,
                classes: pfc.classes,
                quanta: Quanta(pfc.quanta),
                refresh: pfc.refresh,
                silence: self.silence || self.link_down,
                frame_ready: free,
            },
        );
        self.xoff = out.xoff;
        self.waiting = out.frame.is_some() && !free;
        self.tx_next = if self.waiting {
            NEVER
        } else {
            next_of(out.idle, now)
        };
        out.frame.filter(|_| free)
    }
}
