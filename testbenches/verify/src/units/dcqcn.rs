//! Drivers for the DCQCN units. Each call is one cycle; ports have the types of the reference models.

use verilated::{Model, Settings};
use xoff_rtl_units::dcqcn_pkg::{self, RP_STEP_LATENCY, RpKind, RpParams};
use xoff_rtl_units::{
    DcqcnNp, DcqcnRp, DcqcnRp4, DcqcnRpStep, RateLimiter, RateLimiter4, dcqcn_np, dcqcn_rp,
    dcqcn_rp4, rate_limiter, rate_limiter4,
};
use xoff_sim::protocol::dcqcn::{Alpha, ByteGap, Rate, RpContext, RpEvent, RpParameters};
use xoff_sim::protocol::{Cycle, Idle};

use xoff_cosim::units::driven::Driven;
use xoff_cosim::units::{PERIOD_256_PS, UnitError};

/// Cycles from an event at `dcqcn_rp_step` until the resulting context is output.
pub const STEP_LATENCY: usize = RP_STEP_LATENCY as usize;
/// Cycles from a mark that `dcqcn_np` takes until its CNP request.
pub const CNP_LATENCY: u64 = 2;

fn parameter_ports(parameters: &RpParameters) -> RpParams {
    RpParams {
        rate_max: parameters.rate_max.0,
        rate_min: parameters.rate_min.0,
        rate_ai: parameters.rate_ai.0,
        rate_hai: parameters.rate_hai.0,
        g: parameters.g,
        alpha_time: parameters.alpha_time,
        rate_time: parameters.rate_time,
        byte_limit: parameters.byte_limit,
        stages: parameters.stages,
    }
}

fn context_ports(context: &RpContext) -> dcqcn_pkg::RpContext {
    dcqcn_pkg::RpContext {
        open: context.open,
        limited: context.limited,
        alpha_runs: context.alpha_runs,
        rate_runs: context.rate_runs,
        rate_current: context.rate_current.0,
        rate_target: context.rate_target.0,
        alpha: context.alpha.0,
        timer_count: context.timer_count,
        byte_count: context.byte_count,
        bytes: context.bytes,
        alpha_deadline: context.alpha_deadline.bits(),
        rate_deadline: context.rate_deadline.bits(),
    }
}

fn read_context(context: &dcqcn_pkg::RpContext) -> RpContext {
    RpContext {
        open: context.open,
        limited: context.limited,
        alpha_runs: context.alpha_runs,
        rate_runs: context.rate_runs,
        rate_current: Rate(context.rate_current),
        rate_target: Rate(context.rate_target),
        alpha: Alpha(context.alpha),
        timer_count: context.timer_count,
        byte_count: context.byte_count,
        bytes: context.bytes,
        alpha_deadline: Cycle(context.alpha_deadline),
        rate_deadline: Cycle(context.rate_deadline),
    }
}

/// The kind of an event and its byte count, as the ports have them.
fn event_ports(event: RpEvent) -> (RpKind, u16) {
    match event {
        RpEvent::Open => (RpKind::RpOpen, 0),
        RpEvent::Close => (RpKind::RpClose, 0),
        RpEvent::Cnp => (RpKind::RpCnp, 0),
        RpEvent::Bytes(bytes) => (RpKind::RpBytes, bytes),
        RpEvent::Timer => (RpKind::RpTimer, 0),
    }
}

fn read_event(kind: RpKind, bytes: u16) -> Option<RpEvent> {
    Some(match kind {
        RpKind::RpOpen => RpEvent::Open,
        RpKind::RpClose => RpEvent::Close,
        RpKind::RpCnp => RpEvent::Cnp,
        RpKind::RpBytes => RpEvent::Bytes(bytes),
        RpKind::RpTimer => RpEvent::Timer,
        RpKind::RpNone => return None,
    })
}

/// `dcqcn_rp_step`: the step function without the state of QPs.
pub struct RtlRpStep {
    unit: Driven<DcqcnRpStep>,
}

impl RtlRpStep {
    /// Creates the unit and resets it. `seed` determines the random initial state of its registers.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        let settings = Settings::new("dcqcn_rp_step").seed(seed);
        let mut this = Self {
            unit: Driven::new(&settings)?,
        };
        this.reset()?;
        Ok(this)
    }

    /// Resets the unit, discarding its state.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn reset(&mut self) -> Result<(), UnitError> {
        self.unit.pins_in.rst_i = 1;
        self.unit.pins_in.valid_i = 0;
        self.unit.cycle()?;
        self.unit.pins_in.rst_i = 0;
        Ok(())
    }

    /// Runs one cycle, with an event or without. Returns the context that is output, and whether the rate limiter is
    /// to be updated.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn cycle(
        &mut self,
        event: Option<(&RpParameters, &RpContext, RpEvent, Cycle)>,
    ) -> Result<Option<(RpContext, bool)>, UnitError> {
        let pins = &mut self.unit.pins_in;
        pins.valid_i = u8::from(event.is_some());
        if let Some((parameters, context, event, now)) = event {
            pins.set_params_i(&parameter_ports(parameters));
            pins.set_context_i(&context_ports(context));
            let (kind, bytes) = event_ports(event);
            pins.set_kind_i(kind);
            pins.bytes_i = bytes;
            pins.now_i = now.bits();
        }
        self.unit.cycle()?;
        let out = &self.unit.pins_out;
        Ok((out.valid_o != 0).then(|| (read_context(&out.context_o()), out.rate_valid_o != 0)))
    }
}

/// `dcqcn_rp` built for some number of QPs.
pub trait RpTop: Model {
    /// Number of QPs.
    const QPS: u16;
    /// Drives all inputs other than the parameters.
    fn drive(pins: &mut Self::In, reset: bool, now: Cycle, event: Option<(RpEvent, u16)>);
    /// Drives the parameters.
    fn set(pins: &mut Self::In, parameters: &RpParameters);
    /// Reads the outputs of cycle `now`.
    fn read(pins: &Self::Out, now: Cycle) -> Result<RpOut, String>;
}

/// Outputs of `dcqcn_rp` in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpOut {
    /// The event is taken in this cycle.
    pub ready: bool,
    /// The step that the unit reports in this cycle, if any.
    pub step: Option<RpStep>,
    /// Whether the next cycles may be skipped.
    pub idle: Idle,
}

/// A step of `dcqcn_rp`, as its pins report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpStep {
    /// The event of the step.
    pub event: RpEvent,
    /// The QP that the event belongs to.
    pub qp: u16,
    /// The time used in the step.
    pub now: Cycle,
    /// The context after the step; its deadlines are the 48 bits of the pins.
    pub context: RpContext,
    /// Whether the rate limiter is to be updated.
    pub rate_valid: bool,
}

macro_rules! rp_top {
    ($Top:ident, $ports:ident) => {
        impl RpTop for $Top {
            const QPS: u16 = $ports::QPS as u16;

            #[inline]
            fn drive(
                pins: &mut $ports::In,
                reset: bool,
                now: Cycle,
                event: Option<(RpEvent, u16)>,
            ) {
                pins.rst_i = u8::from(reset);
                pins.now_i = now.bits();
                pins.event_valid_i = u8::from(event.is_some());
                if let Some((event, qp)) = event {
                    let (kind, bytes) = event_ports(event);
                    pins.event_kind_i = kind as u8;
                    pins.event_bytes_i = bytes;
                    pins.event_qp_i = qp as u8;
                }
            }

            #[inline]
            fn set(pins: &mut $ports::In, parameters: &RpParameters) {
                pins.set_params_i(&parameter_ports(parameters));
            }

            #[inline]
            fn read(pins: &$ports::Out, now: Cycle) -> Result<RpOut, String> {
                let step = if pins.step_valid_o != 0 {
                    let kind = pins.step_kind_o().map_err(|error| error.to_string())?;
                    let event = read_event(kind, pins.step_bytes_o);
                    Some(RpStep {
                        event: event.ok_or_else(|| format!("step_kind_o is {kind:?}"))?,
                        qp: u16::from(pins.step_qp_o),
                        now: now.near(pins.step_now_o),
                        context: read_context(&pins.step_context_o()),
                        rate_valid: pins.rate_valid_o != 0,
                    })
                } else {
                    None
                };
                Ok(RpOut {
                    ready: pins.event_ready_o != 0,
                    step,
                    idle: Idle::of_ports(pins.idle_o, pins.wake_o, now),
                })
            }
        }
    };
}

rp_top!(DcqcnRp, dcqcn_rp);
rp_top!(DcqcnRp4, dcqcn_rp4);

/// The verilated reaction point.
pub struct RtlRp<M: Model = DcqcnRp> {
    unit: Driven<M>,
}

impl<M: RpTop> RtlRp<M> {
    /// Creates the unit; [`RtlRp::reset`] must be called first. `seed` determines the random initial state of its
    /// registers.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            unit: Driven::new(&Settings::new("dcqcn_rp").seed(seed))?,
        })
    }

    /// Runs one cycle of reset at `now`.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn reset(&mut self, now: Cycle) -> Result<(), UnitError> {
        M::drive(&mut self.unit.pins_in, true, now, None);
        self.unit.cycle()
    }

    /// Sets the parameters, from the next cycle on.
    pub fn set(&mut self, parameters: &RpParameters) {
        M::set(&mut self.unit.pins_in, parameters);
    }

    /// Runs one cycle, with an event offered or without.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or the unit reported a step of an unknown kind.
    pub fn cycle(&mut self, now: Cycle, event: Option<(RpEvent, u16)>) -> Result<RpOut, UnitError> {
        M::drive(&mut self.unit.pins_in, false, now, event);
        self.unit.cycle()?;
        M::read(&self.unit.pins_out, now).map_err(|what| Driven::<M>::broken(now.0, what))
    }

    /// The values of registers, memories and wires in cycle `now`, before its clock edge and without an event, for
    /// comparison.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn state(&mut self, now: Cycle) -> Result<Vec<u8>, UnitError> {
        M::drive(&mut self.unit.pins_in, false, now, None);
        self.unit.state()
    }
}

/// Outputs of `dcqcn_np` in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NpOut {
    /// The event is taken in this cycle.
    pub ready: bool,
    /// The QP to which a CNP is to be sent, if any.
    pub cnp: Option<u16>,
    /// Whether the next cycles may be skipped.
    pub idle: Idle,
}

/// An event of `dcqcn_np`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NpEvent {
    /// The QP is opened.
    Open,
    /// A packet marked CE was received on the QP.
    Marked,
}

/// The verilated notification point.
pub struct RtlNp {
    unit: Driven<DcqcnNp>,
}

impl RtlNp {
    /// Number of QPs.
    pub const QPS: u16 = dcqcn_np::QPS as u16;

    /// Creates the unit; [`RtlNp::reset`] must be called first. `seed` determines the random initial state of its
    /// registers.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            unit: Driven::new(&Settings::new("dcqcn_np").seed(seed))?,
        })
    }

    /// Runs one cycle of reset.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn reset(&mut self, now: Cycle) -> Result<(), UnitError> {
        self.unit.pins_in.rst_i = 1;
        self.unit.pins_in.now_i = now.bits();
        self.unit.pins_in.event_valid_i = 0;
        self.unit.cycle()?;
        self.unit.pins_in.rst_i = 0;
        Ok(())
    }

    /// Runs one cycle, with an event offered or without.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn cycle(
        &mut self,
        now: Cycle,
        interval: u32,
        event: Option<(NpEvent, u16)>,
    ) -> Result<NpOut, UnitError> {
        let pins = &mut self.unit.pins_in;
        pins.now_i = now.bits();
        pins.interval_i = interval;
        pins.event_valid_i = u8::from(event.is_some());
        if let Some((event, qp)) = event {
            pins.event_open_i = u8::from(event == NpEvent::Open);
            pins.event_qp_i = qp as u8;
        }
        self.unit.cycle()?;
        let out = &self.unit.pins_out;
        Ok(NpOut {
            ready: out.event_ready_o != 0,
            cnp: (out.cnp_valid_o != 0).then(|| u16::from(out.cnp_qp_o)),
            idle: Idle::of_ports(out.idle_o, out.wake_o, now),
        })
    }

    /// The values of registers, memories and wires in cycle `now`, before its clock edge and without an event, for
    /// comparison.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn state(&mut self, now: Cycle, interval: u32) -> Result<Vec<u8>, UnitError> {
        self.unit.pins_in.now_i = now.bits();
        self.unit.pins_in.interval_i = interval;
        self.unit.pins_in.event_valid_i = 0;
        self.unit.state()
    }
}

/// A rate update for the limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// The QP.
    pub qp: u16,
    /// The rate to which the QP is limited.
    pub rate: Rate,
    /// Whether the QP is limited at all.
    pub limited: bool,
}

/// A packet that a QP starts to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The QP.
    pub qp: u16,
    /// The length of the packet as it counts on the wire.
    pub bytes: u16,
}

/// Outputs of `rate_limiter` in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimiterOut {
    /// The update is taken in this cycle.
    pub update_ready: bool,
    /// The packet is counted in this cycle.
    pub sent_ready: bool,
    /// Bit q: QP q may start a packet.
    pub eligible: u64,
    /// A rate that has taken effect: the QP, its gap, and whether it is limited.
    pub in_force: Option<(u16, ByteGap, bool)>,
    /// Whether the next cycles may be skipped.
    pub idle: Idle,
}

/// `rate_limiter` built for some number of QPs, up to 64.
pub trait LimiterTop: Model {
    /// Number of QPs.
    const QPS: u16;
    /// Clock period in picoseconds.
    const PERIOD_PS: u64;
    /// Drives all inputs.
    fn drive(
        pins: &mut Self::In,
        reset: bool,
        now: Cycle,
        burst: u16,
        update: Option<Update>,
        sent: Option<Sent>,
    );
    /// Reads the outputs of cycle `now`.
    fn read(pins: &Self::Out, now: Cycle) -> LimiterOut;
}

macro_rules! limiter_top {
    ($Top:ident, $ports:ident) => {
        impl LimiterTop for $Top {
            const QPS: u16 = $ports::QPS as u16;
            const PERIOD_PS: u64 = PERIOD_256_PS;

            #[inline]
            fn drive(
                pins: &mut $ports::In,
                reset: bool,
                now: Cycle,
                burst: u16,
                update: Option<Update>,
                sent: Option<Sent>,
            ) {
                pins.rst_i = u8::from(reset);
                pins.now_i = now.bits();
                pins.burst_i = burst;
                pins.update_valid_i = u8::from(update.is_some());
                if let Some(update) = update {
                    pins.update_qp_i = update.qp as u8;
                    pins.update_rate_i = update.rate.0;
                    pins.update_limited_i = u8::from(update.limited);
                }
                pins.sent_valid_i = u8::from(sent.is_some());
                if let Some(sent) = sent {
                    pins.sent_qp_i = sent.qp as u8;
                    pins.sent_bytes_i = sent.bytes;
                }
            }

            #[inline]
            fn read(pins: &$ports::Out, now: Cycle) -> LimiterOut {
                LimiterOut {
                    update_ready: pins.update_ready_o != 0,
                    sent_ready: pins.sent_ready_o != 0,
                    eligible: u64::from(pins.eligible_o),
                    in_force: (pins.gap_valid_o != 0).then(|| {
                        let limited = pins.gap_limited_o != 0;
                        (u16::from(pins.gap_qp_o), ByteGap(pins.gap_o), limited)
                    }),
                    idle: Idle::of_ports(pins.idle_o, pins.wake_o, now),
                }
            }
        }
    };
}

limiter_top!(RateLimiter, rate_limiter);
limiter_top!(RateLimiter4, rate_limiter4);

/// The verilated rate limiter.
pub struct RtlLimiter<M: Model = RateLimiter> {
    unit: Driven<M>,
}

impl<M: LimiterTop> RtlLimiter<M> {
    /// Creates the unit; [`RtlLimiter::reset`] must be called first. `seed` determines the random initial state of
    /// its registers.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            unit: Driven::new(&Settings::new("rate_limiter").seed(seed))?,
        })
    }

    /// Runs one cycle of reset.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn reset(&mut self, now: Cycle) -> Result<(), UnitError> {
        M::drive(&mut self.unit.pins_in, true, now, 0, None, None);
        self.unit.cycle()
    }

    /// Runs one cycle, with an update and a packet each offered or not.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn cycle(
        &mut self,
        now: Cycle,
        burst: u16,
        update: Option<Update>,
        sent: Option<Sent>,
    ) -> Result<LimiterOut, UnitError> {
        M::drive(&mut self.unit.pins_in, false, now, burst, update, sent);
        self.unit.cycle()?;
        Ok(M::read(&self.unit.pins_out, now))
    }

    /// The values of registers, memories and wires in cycle `now`, before its clock edge and without an event, for
    /// comparison.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn state(&mut self, now: Cycle, burst: u16) -> Result<Vec<u8>, UnitError> {
        M::drive(&mut self.unit.pins_in, false, now, burst, None, None);
        self.unit.state()
    }
}
