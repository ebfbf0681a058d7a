//! Drives the go-back-N units: a cycle a call, their ports as the reference's values.
//!
//! [`Unit`] is what a bench needs of either, and what the reference models can be too ([`End`] says which of the two ends it is).

use std::fmt::Debug;

use verilated::{Fields, FieldsMut, Model, PortBits, Settings};
use xoff_rtl::{
    GbnRequester, GbnRequester4, GbnResponder, GbnResponder4, gbn_requester, gbn_requester4,
    gbn_responder, gbn_responder4,
};
use xoff_sim::protocol::gbn::{
    After, Arrival, Cycle, Owed, Place, QpState, Request, RequesterConfig, RequesterContext,
    RequesterEvent, RequesterNote, RequesterQp, RequesterStep, ResponderConfig, ResponderContext,
    ResponderEvent, ResponderNote, ResponderQp, ResponderStep, Response, Times,
};
use xoff_sim::wire::{Msn, Opcode, Psn, Syndrome};

use super::verbs::{put_recv, put_work, take_completion, take_status};
use super::{PERIOD_256_PS, Rest, UnitError};

/// The times at the tops' clock.
pub const TIMES: Times = Times {
    period_ps: PERIOD_256_PS,
};

/// `requester_kind_e` and `responder_kind_e`: the unit's own steps.
const KIND_TIMER: u8 = 5;
const KIND_WALK: u8 = 6;

/// One end of a connection: its events, and its reference.
pub trait End: Copy + Debug + PartialEq + 'static {
    /// What happens to a QP.
    type Event: Copy + Debug + PartialEq + Send;
    /// What the unit knows of a QP.
    type Context: Copy + Debug + PartialEq + Default + Send;
    /// What a step gives.
    type Step: Copy + Debug + PartialEq + Send;
    /// The reference of a QP.
    type Qp: Clone + Debug + Send;
    /// The event of a walk.
    const WALK: Self::Event;
    /// The event of a deadline, if there is one.
    const TIMER: Option<Self::Event>;

    /// A closed QP.
    fn qp(slots: usize) -> Self::Qp;
    /// Its context.
    fn context(qp: &Self::Qp) -> &Self::Context;
    /// The kind of an event as the port has it.
    fn kind(event: &Self::Event) -> u8;
    /// A step of the reference, and whether a walk comes next.
    fn step(qp: &mut Self::Qp, event: Self::Event, now: Cycle) -> (Self::Step, bool);
    /// The step was of an event without a meaning.
    fn ignored(step: &Self::Step) -> bool;
    /// The QP's bit of `sendable_o` or `owed_o`.
    fn bit(context: &Self::Context) -> bool;
    /// When its timer is due.
    fn due(context: &Self::Context) -> Option<Cycle>;
}

/// The sender's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requesting {}

impl End for Requesting {
    type Event = RequesterEvent;
    type Context = RequesterContext;
    type Step = RequesterStep;
    type Qp = RequesterQp;
    const WALK: RequesterEvent = RequesterEvent::Walk;
    const TIMER: Option<RequesterEvent> = Some(RequesterEvent::Timer);

    fn qp(slots: usize) -> RequesterQp {
        RequesterQp::new(slots, TIMES)
    }

    fn context(qp: &RequesterQp) -> &RequesterContext {
        &qp.context
    }

    fn kind(event: &RequesterEvent) -> u8 {
        match event {
            RequesterEvent::Open { .. } => 0,
            RequesterEvent::Close => 1,
            RequesterEvent::Post(_) => 2,
            RequesterEvent::Send => 3,
            RequesterEvent::Ack { .. } => 4,
            RequesterEvent::Timer => KIND_TIMER,
            RequesterEvent::Walk => KIND_WALK,
            RequesterEvent::Other(kind) => *kind,
        }
    }

    fn step(qp: &mut RequesterQp, event: RequesterEvent, now: Cycle) -> (RequesterStep, bool) {
        let step = qp.step(event, now);
        let shown = RequesterStep {
            walk: false,
            ..step
        };
        (shown, step.walk)
    }

    fn ignored(step: &RequesterStep) -> bool {
        step.note == RequesterNote::Ignored
    }

    fn bit(context: &RequesterContext) -> bool {
        context.sendable()
    }

    fn due(context: &RequesterContext) -> Option<Cycle> {
        context.due()
    }
}

/// The receiver's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responding {}

impl End for Responding {
    type Event = ResponderEvent;
    type Context = ResponderContext;
    type Step = ResponderStep;
    type Qp = ResponderQp;
    const WALK: ResponderEvent = ResponderEvent::Walk;
    const TIMER: Option<ResponderEvent> = None;

    fn qp(slots: usize) -> ResponderQp {
        ResponderQp::new(slots)
    }

    fn context(qp: &ResponderQp) -> &ResponderContext {
        &qp.context
    }

    fn kind(event: &ResponderEvent) -> u8 {
        match event {
            ResponderEvent::Open { .. } => 0,
            ResponderEvent::Close => 1,
            ResponderEvent::Post(_) => 2,
            ResponderEvent::Packet(_) => 3,
            ResponderEvent::Grant => 4,
            ResponderEvent::Walk => KIND_WALK,
            ResponderEvent::Other(kind) => *kind,
        }
    }

    fn step(qp: &mut ResponderQp, event: ResponderEvent, _: Cycle) -> (ResponderStep, bool) {
        let step = qp.step(event);
        let shown = ResponderStep {
            walk: false,
            ..step
        };
        (shown, step.walk)
    }

    fn ignored(step: &ResponderStep) -> bool {
        step.note == ResponderNote::Ignored
    }

    fn bit(context: &ResponderContext) -> bool {
        context.owed != Owed::None
    }

    fn due(_: &ResponderContext) -> Option<Cycle> {
        None
    }
}

/// A step as it shows at the pins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown<E: End> {
    /// Of an event, or the unit's own.
    pub kind: u8,
    /// Of this QP.
    pub qp: u16,
    /// The time that counted; the responder has none.
    pub now: Option<Cycle>,
    /// The context after it.
    pub context: E::Context,
    /// What it gives.
    pub step: E::Step,
}

impl<E: End> Shown<E> {
    /// It is a WALK of the unit's own.
    pub fn walks(&self) -> bool {
        self.kind == KIND_WALK && !E::ignored(&self.step)
    }

    /// It is a TIMER of the unit's own.
    pub fn times(&self) -> bool {
        E::TIMER.is_some() && self.kind == KIND_TIMER && !E::ignored(&self.step)
    }
}

/// Outputs in a cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Out<E: End> {
    /// The event is taken.
    pub ready: bool,
    /// A step shows.
    pub step: Option<Shown<E>>,
    /// `sendable_o`, `owed_o`.
    pub bits: u64,
    /// Whether the unit may be left alone.
    pub rest: Rest,
}

/// A unit of go-back-N: verilated, or a model in its place.
pub trait Unit {
    /// Which end.
    type End: End;
    /// Its name.
    const NAME: &'static str;
    /// How many QPs.
    const QPS: u16;
    /// Slots of a QP's ring.
    const SLOTS: usize;

    /// One cycle of reset at `now`.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL.
    fn reset(&mut self, now: Cycle) -> Result<(), UnitError>;

    /// One cycle, with an event of a QP offered or without.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL, or outputs that mean nothing.
    fn cycle(
        &mut self,
        now: Cycle,
        event: Option<(u16, &<Self::End as End>::Event)>,
    ) -> Result<Out<Self::End>, UnitError>;

    /// Whether TIMER steps may be made, from the next cycle on; they may after a reset. A unit without timers does not listen.
    fn let_timers(&mut self, allowed: bool);

    /// Registers and memories, with the same inputs whenever it is called: to compare.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL.
    fn rest_state(&mut self) -> Result<Vec<u8>, UnitError>;
}

/// A top of either kind, at some number of QPs.
pub trait GbnTop: Model {
    /// Which end.
    type End: End;
    /// How many QPs.
    const QPS: u16;
    /// Slots of a QP's ring.
    const SLOTS: usize;
    /// Drives everything.
    fn drive(
        pins: &mut Self::In,
        reset: bool,
        now: Cycle,
        event: Option<(u16, &<Self::End as End>::Event)>,
    );
    /// Drives `timers_i`, if there is one.
    fn let_timers(pins: &mut Self::In, allowed: bool);
    /// The outputs.
    ///
    /// # Errors
    ///
    /// What means nothing.
    fn read(pins: &Self::Out) -> Result<Out<Self::End>, String>;
}

/// A verilated unit.
pub struct Rtl<M: Model> {
    model: M,
    pins_in: M::In,
    pins_out: M::Out,
}

impl<M: GbnTop> Rtl<M> {
    /// The unit; a reset comes first. `seed` fixes its registers' random start.
    ///
    /// # Errors
    ///
    /// The model cannot be made.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            model: M::new(&Settings::new(M::NAME).seed(seed))?,
            pins_in: M::In::default(),
            pins_out: M::Out::default(),
        })
    }
}

impl<M: GbnTop> Unit for Rtl<M> {
    type End = M::End;
    const NAME: &'static str = M::NAME;
    const QPS: u16 = M::QPS;
    const SLOTS: usize = M::SLOTS;

    fn reset(&mut self, now: Cycle) -> Result<(), UnitError> {
        M::drive(&mut self.pins_in, true, now, None);
        self.let_timers(true);
        Ok(self.model.cycle(&self.pins_in, &mut self.pins_out)?)
    }

    fn cycle(
        &mut self,
        now: Cycle,
        event: Option<(u16, &<M::End as End>::Event)>,
    ) -> Result<Out<M::End>, UnitError> {
        M::drive(&mut self.pins_in, false, now, event);
        self.model.cycle(&self.pins_in, &mut self.pins_out)?;
        M::read(&self.pins_out).map_err(|what| UnitError::Protocol {
            unit: M::NAME,
            cycle: now.0,
            what,
        })
    }

    fn let_timers(&mut self, allowed: bool) {
        M::let_timers(&mut self.pins_in, allowed);
    }

    fn rest_state(&mut self) -> Result<Vec<u8>, UnitError> {
        let pins = M::In::default();
        self.model.eval(&pins, &mut self.pins_out)?;
        Ok(self.model.state()?)
    }
}

/// `requester_config_t`.
const CONFIG_BITS: u32 = 47;
/// `requester_context_t`.
const REQUESTER_CONTEXT_BITS: u32 = 263;
/// `responder_context_t`.
const RESPONDER_CONTEXT_BITS: u32 = 276;

fn requester_config(configuration: &RequesterConfig) -> u64 {
    let mut port = 0u64;
    FieldsMut::of(&mut port, CONFIG_BITS)
        .put(3, configuration.mtu.into())
        .put(5, configuration.timeout.into())
        .put(3, configuration.retry.into())
        .put_bool(configuration.nak_retry)
        .put(3, configuration.rnr_retry.into())
        .put(8, configuration.ack_every.into())
        .put(23, configuration.window.into())
        .put_bool(configuration.restart)
        .end();
    port
}

fn put_arrival<P: PortBits>(port: &mut P, arrival: &Arrival) {
    FieldsMut::of(port, 336)
        .put(5, arrival.operation.into())
        .put(24, arrival.psn.get().into())
        .put_bool(arrival.ack_req)
        .put_bool(arrival.solicited)
        .put(16, arrival.payload_bytes.into())
        .put_bool(arrival.access)
        .put(64, arrival.va)
        .put(32, arrival.rkey.into())
        .put(32, arrival.dma_len.into())
        .put(32, arrival.imm.into())
        .put(64, arrival.swap_add)
        .put(64, arrival.compare)
        .end();
}

fn responder_config(configuration: &ResponderConfig) -> u16 {
    let mut port = 0u16;
    FieldsMut::of(&mut port, 9)
        .put(3, configuration.mtu.into())
        .put(5, configuration.rnr_timer.into())
        .put_bool(configuration.restart)
        .end();
    port
}

/// Reads fields that are not numbers.
trait TakeFields {
    fn psn(&mut self) -> Psn;
    fn state(&mut self) -> Result<QpState, String>;
}

impl<P: PortBits> TakeFields for Fields<'_, P> {
    fn psn(&mut self) -> Psn {
        Psn::wrapping(self.take(24) as u32)
    }

    fn state(&mut self) -> Result<QpState, String> {
        Ok(match self.take(2) {
            0 => QpState::Closed,
            1 => QpState::Ready,
            2 => QpState::Error,
            code => return Err(format!("a QP's state is {code}")),
        })
    }
}

fn read_requester_context<P: PortBits>(port: &P) -> Result<RequesterContext, String> {
    let mut fields = Fields::of(port, REQUESTER_CONTEXT_BITS);
    let context = RequesterContext {
        state: fields.state()?,
        configuration: RequesterConfig {
            mtu: fields.take(3) as u8,
            timeout: fields.take(5) as u8,
            retry: fields.take(3) as u8,
            nak_retry: fields.take_bool(),
            rnr_retry: fields.take(3) as u8,
            ack_every: fields.take(8) as u8,
            window: fields.take(23) as u32,
            restart: fields.take_bool(),
        },
        head: fields.take(8) as u8,
        current: fields.take(8) as u8,
        tail: fields.take(8) as u8,
        post_psn: fields.psn(),
        next_psn: fields.psn(),
        top_psn: fields.psn(),
        una_psn: fields.psn(),
        asked_psn: fields.psn(),
        unasked: fields.take(8) as u8,
        retries: fields.take(3) as u8,
        rnr_retries: fields.take(3) as u8,
        after: match fields.take(2) {
            0 => After::None,
            1 => After::Rewind,
            2 => After::Fail,
            code => return Err(format!("after is {code}")),
        },
        status: take_status(&mut fields)?,
        rnr_wait: fields.take_bool(),
        timer_runs: fields.take_bool(),
        deadline: Cycle(fields.take(48)),
    };
    fields.end();
    Ok(context)
}

fn read_request<P: PortBits>(port: &P) -> Request {
    let mut fields = Fields::of(port, 435);
    let request = Request {
        opcode: Opcode(fields.take(8) as u8),
        psn: fields.psn(),
        ack_req: fields.take_bool(),
        solicited: fields.take_bool(),
        again: fields.take_bool(),
        payload_bytes: fields.take(16) as u16,
        local_va: fields.take(64),
        local_key: fields.take(32) as u32,
        va: fields.take(64),
        rkey: fields.take(32) as u32,
        dma_len: fields.take(32) as u32,
        imm: fields.take(32) as u32,
        swap_add: fields.take(64),
        compare: fields.take(64),
    };
    fields.end();
    request
}

fn read_responder_context<P: PortBits>(port: &P) -> Result<ResponderContext, String> {
    let mut fields = Fields::of(port, RESPONDER_CONTEXT_BITS);
    let context = ResponderContext {
        state: fields.state()?,
        configuration: ResponderConfig {
            mtu: fields.take(3) as u8,
            rnr_timer: fields.take(5) as u8,
            restart: fields.take_bool(),
        },
        head: fields.take(8) as u8,
        tail: fields.take(8) as u8,
        expected_psn: fields.psn(),
        first_psn: fields.psn(),
        msn: Msn::new(fields.take(24) as u32).expect("24 bits"),
        under_way: fields.take_bool(),
        writing: fields.take_bool(),
        offset: fields.take(32) as u32,
        va: fields.take(64),
        rkey: fields.take(32) as u32,
        dma_len: fields.take(32) as u32,
        silent: fields.take_bool(),
        owed: match fields.take(2) {
            0 => Owed::None,
            1 => Owed::Ack,
            2 => Owed::Nak,
            code => return Err(format!("owed is {code}")),
        },
        syndrome: Syndrome(fields.take(8) as u8),
        status: take_status(&mut fields)?,
    };
    fields.end();
    Ok(context)
}

fn read_place<P: PortBits>(port: &P) -> Place {
    let mut fields = Fields::of(port, 112);
    let place = Place {
        va: fields.take(64),
        key: fields.take(32) as u32,
        remote: fields.take_bool(),
        bytes: fields.take(15) as u16,
    };
    fields.end();
    place
}

fn read_response<P: PortBits>(port: &P) -> Response {
    let mut fields = Fields::of(port, 128);
    let response = Response {
        opcode: Opcode(fields.take(8) as u8),
        psn: fields.psn(),
        syndrome: Syndrome(fields.take(8) as u8),
        msn: Msn::new(fields.take(24) as u32).expect("24 bits"),
        original: fields.take(64),
    };
    fields.end();
    response
}

/// A port that counts while its valid is 1.
fn valid<T>(valid: u8, value: impl FnOnce() -> T) -> Option<T> {
    (valid != 0).then(value)
}

macro_rules! requester_top {
    ($Top:ident, $ports:ident, $qps:literal, $slots:literal) => {
        impl GbnTop for $Top {
            type End = Requesting;
            const QPS: u16 = $qps;
            const SLOTS: usize = $slots;

            #[inline]
            fn drive(
                pins: &mut $ports::In,
                reset: bool,
                now: Cycle,
                event: Option<(u16, &RequesterEvent)>,
            ) {
                pins.rst_i = u8::from(reset);
                pins.now_i = now.0;
                pins.event_valid_i = u8::from(event.is_some());
                let Some((qp, event)) = event else {
                    return;
                };
                pins.event_kind_i = Requesting::kind(event);
                pins.event_qp_i = qp as u8;
                match event {
                    RequesterEvent::Open { configuration, psn } => {
                        pins.event_configuration_i = requester_config(configuration);
                        pins.event_psn_i = psn.get();
                    }
                    RequesterEvent::Post(work) => put_work(&mut pins.event_work_i, work),
                    RequesterEvent::Ack { psn, syndrome } => {
                        pins.event_psn_i = psn.get();
                        pins.event_syndrome_i = syndrome.0;
                    }
                    _ => {}
                }
            }

            #[inline]
            fn let_timers(pins: &mut $ports::In, allowed: bool) {
                pins.timers_i = u8::from(allowed);
            }

            #[inline]
            fn read(pins: &$ports::Out) -> Result<Out<Requesting>, String> {
                let step = match pins.step_valid_o {
                    0 => None,
                    _ => Some(Shown {
                        kind: pins.step_kind_o,
                        qp: pins.step_qp_o.into(),
                        now: Some(Cycle(pins.step_now_o)),
                        context: read_requester_context(&pins.step_context_o)?,
                        step: RequesterStep {
                            note: RequesterNote::ALL[usize::from(pins.step_note_o)],
                            request: valid(pins.request_valid_o, || read_request(&pins.request_o)),
                            completion: valid(pins.completion_valid_o, || {
                                take_completion(&pins.completion_o)
                            })
                            .transpose()?,
                            walk: false,
                        },
                    }),
                };
                if step.is_none() && (pins.request_valid_o | pins.completion_valid_o) != 0 {
                    return Err("a request or a completion without a step".to_owned());
                }
                Ok(Out {
                    ready: pins.event_ready_o != 0,
                    step,
                    #[allow(clippy::unnecessary_cast)]
                    bits: pins.sendable_o as u64,
                    rest: Rest {
                        idle: pins.idle_o != 0,
                        wake: Cycle(pins.wake_o),
                    },
                })
            }
        }
    };
}

requester_top!(GbnRequester, gbn_requester, 64, 16);
requester_top!(GbnRequester4, gbn_requester4, 4, 4);

macro_rules! responder_top {
    ($Top:ident, $ports:ident, $qps:literal, $slots:literal) => {
        impl GbnTop for $Top {
            type End = Responding;
            const QPS: u16 = $qps;
            const SLOTS: usize = $slots;

            #[inline]
            fn drive(
                pins: &mut $ports::In,
                reset: bool,
                _: Cycle,
                event: Option<(u16, &ResponderEvent)>,
            ) {
                pins.rst_i = u8::from(reset);
                pins.event_valid_i = u8::from(event.is_some());
                let Some((qp, event)) = event else {
                    return;
                };
                pins.event_kind_i = Responding::kind(event);
                pins.event_qp_i = qp as u8;
                match event {
                    ResponderEvent::Open { configuration, psn } => {
                        pins.event_configuration_i = responder_config(configuration);
                        pins.event_psn_i = psn.get();
                    }
                    ResponderEvent::Post(recv) => put_recv(&mut pins.event_recv_i, recv),
                    ResponderEvent::Packet(arrival) => {
                        put_arrival(&mut pins.event_arrival_i, arrival);
                    }
                    _ => {}
                }
            }

            #[inline]
            fn let_timers(_: &mut $ports::In, _: bool) {}

            #[inline]
            fn read(pins: &$ports::Out) -> Result<Out<Responding>, String> {
                let step = match pins.step_valid_o {
                    0 => None,
                    _ => Some(Shown {
                        kind: pins.step_kind_o,
                        qp: pins.step_qp_o.into(),
                        now: None,
                        context: read_responder_context(&pins.step_context_o)?,
                        step: ResponderStep {
                            note: ResponderNote::from_code(pins.step_note_o)
                                .ok_or_else(|| format!("step_note_o is {}", pins.step_note_o))?,
                            completion: valid(pins.completion_valid_o, || {
                                take_completion(&pins.completion_o)
                            })
                            .transpose()?,
                            place: valid(pins.place_valid_o, || read_place(&pins.place_o)),
                            response: valid(pins.response_valid_o, || {
                                read_response(&pins.response_o)
                            }),
                            walk: false,
                        },
                    }),
                };
                let more = pins.place_valid_o | pins.response_valid_o | pins.completion_valid_o;
                if step.is_none() && more != 0 {
                    return Err("a place, an answer or a completion without a step".to_owned());
                }
                Ok(Out {
                    ready: pins.event_ready_o != 0,
                    step,
                    #[allow(clippy::unnecessary_cast)]
                    bits: pins.owed_o as u64,
                    rest: Rest {
                        idle: pins.idle_o != 0,
                        wake: Cycle(pins.wake_o),
                    },
                })
            }
        }
    };
}

responder_top!(GbnResponder, gbn_responder, 64, 16);
responder_top!(GbnResponder4, gbn_responder4, 4, 4);
