//! Drivers for `pfc_rx`, `pfc_tx` and `pause_watchdog`, one cycle per call.

use std::fmt::Debug;

use verilated::{Model, Settings};
use xoff_rtl_units::eth_pkg::Control;
use xoff_rtl_units::pfc_pkg::PfcRxEvent as Event;
use xoff_rtl_units::{
    PauseWatchdog, PfcRx40, PfcRx100, PfcTx, pause_watchdog, pfc_rx40, pfc_rx100, pfc_tx,
};
use xoff_sim::protocol::pause_watchdog::{WatchdogIn, WatchdogOut};
use xoff_sim::protocol::pfc_rx::{PfcRxEvent, PfcRxIn, PfcRxOut};
use xoff_sim::protocol::pfc_tx::{PfcTxIn, PfcTxOut};
use xoff_sim::protocol::{Cycle, Idle};
use xoff_sim::wire::CONTROL_PFC;
use xoff_sim::wire::frame::ControlHead;

use xoff_cosim::units::driven::Driven;
use xoff_cosim::units::{PERIOD_256_PS, PERIOD_512_PS, UnitError};

/// The ports of one of the units.
pub trait PauseTop: Model {
    /// The inputs, in the type of the unit's reference model.
    type Inputs: Copy + Default + PartialEq + Debug;
    /// The outputs, in the type of the unit's reference model.
    type Outputs: Copy + PartialEq + Debug;
    /// Clock period in picoseconds.
    const PERIOD_PS: u64;
    /// Drives all inputs other than time and reset. Inputs that have no effect keep their last value.
    fn drive(pins: &mut Self::In, inputs: &Self::Inputs);
    /// Drives the time.
    fn set_time(pins: &mut Self::In, now: u64);
    /// Drives the reset.
    fn reset(pins: &mut Self::In, reset: bool);
    /// Reads the outputs of cycle `now`.
    ///
    /// # Errors
    ///
    /// Bits that have no meaning.
    fn read(pins: &Self::Out, now: u64) -> Result<Self::Outputs, String>;
}

macro_rules! time_and_reset {
    ($period:expr) => {
        const PERIOD_PS: u64 = $period;

        #[inline]
        fn set_time(pins: &mut Self::In, now: u64) {
            pins.now_i = Cycle(now).bits();
        }

        #[inline]
        fn reset(pins: &mut Self::In, reset: bool) {
            pins.rst_i = u8::from(reset);
        }
    };
}

macro_rules! pfc_rx_top {
    ($Top:ident, $ports:ident, $period:ident) => {
        impl PauseTop for $Top {
            type Inputs = PfcRxIn;
            type Outputs = PfcRxOut;
            time_and_reset!($period);

            #[inline]
            fn drive(pins: &mut $ports::In, inputs: &PfcRxIn) {
                pins.link_down_i = u8::from(inputs.link_down);
                pins.frame_valid_i = u8::from(inputs.frame.is_some());
                if let Some(frame) = &inputs.frame {
                    pins.frame_pfc_i = u8::from(frame.opcode == CONTROL_PFC);
                    pins.set_control_i(&control_ports(frame));
                }
                pins.pfc_classes_i = inputs.pfc_classes;
                pins.pause_enable_i = u8::from(inputs.pause_enable);
            }

            #[inline]
            fn read(pins: &$ports::Out, now: u64) -> Result<PfcRxOut, String> {
                Ok(PfcRxOut {
                    paused: pins.paused_o,
                    event: match pins.event_o() {
                        Event {
                            pfc: false,
                            pause: false,
                            ignored: false,
                        } => None,
                        Event {
                            pfc: true,
                            pause: false,
                            ignored: false,
                        } => Some(PfcRxEvent::Pfc),
                        Event {
                            pfc: false,
                            pause: true,
                            ignored: false,
                        } => Some(PfcRxEvent::Pause),
                        Event {
                            pfc: false,
                            pause: false,
                            ignored: true,
                        } => Some(PfcRxEvent::Ignored),
                        event => return Err(format!("event_o is {event:?}: one frame, one fate")),
                    },
                    idle: idle(pins.idle_o, pins.wake_o, now),
                })
            }
        }
    };
}

pfc_rx_top!(PfcRx40, pfc_rx40, PERIOD_256_PS);
pfc_rx_top!(PfcRx100, pfc_rx100, PERIOD_512_PS);

impl PauseTop for PfcTx {
    type Inputs = PfcTxIn;
    type Outputs = PfcTxOut;
    time_and_reset!(PERIOD_256_PS);

    #[inline]
    fn drive(pins: &mut pfc_tx::In, inputs: &PfcTxIn) {
        pins.set_depth_i(&inputs.depth);
        pins.set_xoff_i(&inputs.xoff);
        pins.set_xon_i(&inputs.xon);
        pins.classes_i = inputs.classes;
        pins.quanta_i = inputs.quanta.0;
        pins.refresh_i = inputs.refresh;
        pins.silence_i = u8::from(inputs.silence);
        pins.frame_ready_i = u8::from(inputs.frame_ready);
    }

    #[inline]
    fn read(pins: &pfc_tx::Out, now: u64) -> Result<PfcTxOut, String> {
        Ok(PfcTxOut {
            frame: (pins.frame_valid_o != 0).then(|| read_control(&pins.frame_o())),
            xoff: pins.xoff_o,
            idle: idle(pins.idle_o, pins.wake_o, now),
        })
    }
}

impl PauseTop for PauseWatchdog {
    type Inputs = WatchdogIn;
    type Outputs = WatchdogOut;
    time_and_reset!(PERIOD_256_PS);

    #[inline]
    fn drive(pins: &mut pause_watchdog::In, inputs: &WatchdogIn) {
        pins.pausing_i = u8::from(inputs.pausing);
        pins.progress_i = u8::from(inputs.progress);
        pins.bark_i = inputs.bark;
        pins.bite_i = inputs.bite;
        pins.rearm_i = u8::from(inputs.rearm);
        pins.auto_rearm_i = u8::from(inputs.auto_rearm);
    }

    #[inline]
    fn read(pins: &pause_watchdog::Out, now: u64) -> Result<WatchdogOut, String> {
        Ok(WatchdogOut {
            bark: pins.bark_o != 0,
            silence: pins.silence_o != 0,
            idle: idle(pins.idle_o, pins.wake_o, now),
        })
    }
}

/// A verilated pause unit.
pub struct RtlPause<M: PauseTop> {
    unit: Driven<M>,
    /// The inputs that the pins have now. Comparing them is cheaper than packing eight thresholds again.
    driven: Option<M::Inputs>,
}

impl<M: PauseTop> RtlPause<M> {
    /// Creates the unit without resetting it. `seed` determines the random initial state of its registers.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        let settings = Settings::new(M::NAME).seed(seed).period_ps(M::PERIOD_PS);
        Ok(Self {
            unit: Driven::new(&settings)?,
            driven: None,
        })
    }

    /// Runs a cycle with reset. Its outputs have no meaning.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn reset(&mut self, now: u64, inputs: &M::Inputs) -> Result<(), UnitError> {
        self.drive(now, inputs);
        M::reset(&mut self.unit.pins_in, true);
        self.unit.cycle()?;
        M::reset(&mut self.unit.pins_in, false);
        Ok(())
    }

    /// Returns the outputs in cycle `now`, then applies the clock edge that ends it.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or outputs have no meaning.
    #[inline]
    pub fn cycle(&mut self, now: u64, inputs: &M::Inputs) -> Result<M::Outputs, UnitError> {
        self.drive(now, inputs);
        self.unit.cycle()?;
        M::read(&self.unit.pins_out, now).map_err(|what| Driven::<M>::broken(now, what))
    }

    /// The saved state with the inputs of cycle `now` applied, before its clock edge.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn state(&mut self, now: u64, inputs: &M::Inputs) -> Result<Vec<u8>, UnitError> {
        self.drive(now, inputs);
        self.unit.state()
    }

    /// The model, for tracing, saving or inspecting it.
    pub fn model(&mut self) -> &mut M {
        &mut self.unit.model
    }

    #[inline]
    fn drive(&mut self, now: u64, inputs: &M::Inputs) {
        M::set_time(&mut self.unit.pins_in, now);
        if self.driven.as_ref() != Some(inputs) {
            M::drive(&mut self.unit.pins_in, inputs);
            self.driven = Some(*inputs);
        }
    }
}

/// Combines `idle_o` and `wake_o` of cycle `now`; `wake_o` is meaningful only while `idle_o` is 1.
#[inline]
fn idle(idle_o: u8, wake_o: u64, now: u64) -> Idle {
    match Idle::of_ports(idle_o, wake_o, Cycle(now)) {
        Idle::Until(wake) if wake.0 == now + Cycle::FARTHEST => Idle::Forever,
        idle => idle,
    }
}

fn control_ports(frame: &ControlHead) -> Control {
    Control {
        opcode: frame.opcode,
        class_enable: frame.class_enable,
        timer: frame.timers,
    }
}

fn read_control(control: &Control) -> ControlHead {
    ControlHead {
        opcode: control.opcode,
        class_enable: control.class_enable,
        timers: control.timer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_goes_to_its_port_and_back() {
        let frame = ControlHead {
            opcode: 0x0101,
            class_enable: 0xA55A,
            timers: [1, 2, 3, 4, 5, 6, 7, 0xFFFF],
        };
        let mut pins = pfc_rx40::In::default();
        pins.set_control_i(&control_ports(&frame));
        assert_eq!(read_control(&pins.control_i()), frame);
        // The opcode is in the most significant bits, the timer of class 0 in the least significant ones.
        let port = pins.control_i;
        assert_eq!((port[4], port[0]), (0x0101_A55A, 0x0002_0001));
    }

    #[test]
    fn class_0_is_lowest() {
        let mut pins = pfc_tx::In::default();
        pins.set_depth_i(&[1, 0xFF_FFFF, 0, 0, 0, 0, 0, 0]);
        assert_eq!(pins.depth_i, [0xFF00_0001, 0xFFFF, 0, 0, 0, 0]);
    }
}
