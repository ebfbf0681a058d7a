//! Drives the go-back-N units: a cycle a call, their ports as the reference's values.
//!
//! [`Unit`] is what a bench needs of either, and what the reference models can be too ([`End`] says which of the two ends it is).

use std::fmt::Debug;

use verilated::{BadEnum, Model, Settings};
use xoff_rtl::gbn_pkg::{RequesterKind, ResponderKind};
use xoff_rtl::{
    GbnRequester, GbnRequester4, GbnResponder, GbnResponder4, gbn_pkg, gbn_requester,
    gbn_requester4, gbn_responder, gbn_responder4,
};
use xoff_sim::protocol::gbn::{
    After, Arrival, Cycle, Owed, Place, QpState, Request, RequesterConfig, RequesterContext,
    RequesterEvent, RequesterNote, RequesterQp, RequesterStep, ResponderConfig, ResponderContext,
    ResponderEvent, ResponderNote, ResponderQp, ResponderStep, Response, Times,
};
use xoff_sim::wire::{Msn, Opcode, Psn, Syndrome};

use super::verbs::{put_recv, put_work, status, take_completion};
use super::{PERIOD_256_PS, Rest, UnitError};

/// The times at the tops' clock.
pub const TIMES: Times = Times {
    period_ps: PERIOD_256_PS,
};

/// The unit's own steps. `responder_kind_e` has the same code for a walk.
const KIND_TIMER: u8 = RequesterKind::RequesterTimer as u8;
const KIND_WALK: u8 = RequesterKind::RequesterWalk as u8;

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
            RequesterEvent::Open { .. } => RequesterKind::RequesterOpen as u8,
            RequesterEvent::Close => RequesterKind::RequesterClose as u8,
            RequesterEvent::Post(_) => RequesterKind::RequesterPost as u8,
            RequesterEvent::Send => RequesterKind::RequesterSend as u8,
            RequesterEvent::Ack { .. } => RequesterKind::RequesterAck as u8,
            RequesterEvent::Timer => KIND_TIMER,
            RequesterEvent::Walk => KIND_WALK,
            RequesterEvent::Fail => RequesterKind::RequesterFail as u8,
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
            ResponderEvent::Open { .. } => ResponderKind::ResponderOpen as u8,
            ResponderEvent::Close => ResponderKind::ResponderClose as u8,
            ResponderEvent::Post(_) => ResponderKind::ResponderPost as u8,
            ResponderEvent::Packet(_) => ResponderKind::ResponderPacket as u8,
            ResponderEvent::Grant => ResponderKind::ResponderGrant as u8,
            ResponderEvent::Walk => ResponderKind::ResponderWalk as u8,
            ResponderEvent::Fail => ResponderKind::ResponderFail as u8,
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

fn requester_config(configuration: &RequesterConfig) -> gbn_pkg::RequesterConfig {
    gbn_pkg::RequesterConfig {
        mtu: configuration.mtu,
        timeout: configuration.timeout,
        retry: configuration.retry,
        nak_retry: configuration.nak_retry,
        rnr_retry: configuration.rnr_retry,
        ack_every: configuration.ack_every,
        window: configuration.window,
        restart: configuration.restart,
    }
}

fn arrival_ports(arrival: &Arrival) -> gbn_pkg::Arrival {
    gbn_pkg::Arrival {
        operation: arrival.operation,
        psn: arrival.psn.get(),
        ack_req: arrival.ack_req,
        solicited: arrival.solicited,
        payload_bytes: arrival.payload_bytes,
        access: arrival.access,
        va: arrival.va,
        rkey: arrival.rkey,
        dma_len: arrival.dma_len,
        imm: arrival.imm,
        swap_add: arrival.swap_add,
        compare: arrival.compare,
    }
}

fn responder_config(configuration: &ResponderConfig) -> gbn_pkg::ResponderConfig {
    gbn_pkg::ResponderConfig {
        mtu: configuration.mtu,
        rnr_timer: configuration.rnr_timer,
        restart: configuration.restart,
    }
}

fn qp_state(state: gbn_pkg::QpState) -> QpState {
    match state {
        gbn_pkg::QpState::QpClosed => QpState::Closed,
        gbn_pkg::QpState::QpReady => QpState::Ready,
        gbn_pkg::QpState::QpError => QpState::Error,
    }
}

fn read_requester_context(context: &gbn_pkg::RequesterContext) -> RequesterContext {
    let configuration = &context.configuration;
    RequesterContext {
        state: qp_state(context.state),
        configuration: RequesterConfig {
            mtu: configuration.mtu,
            timeout: configuration.timeout,
            retry: configuration.retry,
            nak_retry: configuration.nak_retry,
            rnr_retry: configuration.rnr_retry,
            ack_every: configuration.ack_every,
            window: configuration.window,
            restart: configuration.restart,
        },
        head: context.head,
        current: context.current,
        tail: context.tail,
        post_psn: Psn::wrapping(context.post_psn),
        next_psn: Psn::wrapping(context.next_psn),
        top_psn: Psn::wrapping(context.top_psn),
        una_psn: Psn::wrapping(context.una_psn),
        asked_psn: Psn::wrapping(context.asked_psn),
        unasked: context.unasked,
        retries: context.retries,
        rnr_retries: context.rnr_retries,
        after: match context.after {
            gbn_pkg::After::AfterNone => After::None,
            gbn_pkg::After::AfterRewind => After::Rewind,
            gbn_pkg::After::AfterFail => After::Fail,
        },
        status: status(context.status),
        rnr_wait: context.rnr_wait,
        timer_runs: context.timer_runs,
        deadline: Cycle(context.deadline),
    }
}

fn read_request(request: &gbn_pkg::Request) -> Request {
    Request {
        opcode: Opcode(request.opcode),
        psn: Psn::wrapping(request.psn),
        ack_req: request.ack_req,
        solicited: request.solicited,
        again: request.again,
        payload_bytes: request.payload_bytes,
        local_va: request.local_va,
        local_key: request.local_key,
        va: request.va,
        rkey: request.rkey,
        dma_len: request.dma_len,
        imm: request.imm,
        swap_add: request.swap_add,
        compare: request.compare,
    }
}

fn read_responder_context(context: &gbn_pkg::ResponderContext) -> ResponderContext {
    let configuration = &context.configuration;
    ResponderContext {
        state: qp_state(context.state),
        configuration: ResponderConfig {
            mtu: configuration.mtu,
            rnr_timer: configuration.rnr_timer,
            restart: configuration.restart,
        },
        head: context.head,
        tail: context.tail,
        expected_psn: Psn::wrapping(context.expected_psn),
        first_psn: Psn::wrapping(context.first_psn),
        msn: msn(context.msn),
        under_way: context.under_way,
        writing: context.writing,
        offset: context.offset,
        va: context.va,
        rkey: context.rkey,
        dma_len: context.dma_len,
        silent: context.silent,
        owed: match context.owed {
            gbn_pkg::Owed::OwedNone => Owed::None,
            gbn_pkg::Owed::OwedAck => Owed::Ack,
            gbn_pkg::Owed::OwedNak => Owed::Nak,
        },
        syndrome: Syndrome(context.syndrome),
        status: status(context.status),
    }
}

fn read_place(place: &gbn_pkg::Place) -> Place {
    Place {
        va: place.va,
        key: place.key,
        remote: place.remote,
        bytes: place.bytes,
    }
}

fn read_response(response: &gbn_pkg::Response) -> Response {
    Response {
        opcode: Opcode(response.opcode),
        psn: Psn::wrapping(response.psn),
        syndrome: Syndrome(response.syndrome),
        msn: msn(response.msn),
        original: response.original,
    }
}

/// A port has as many bits as an MSN.
fn msn(bits: u32) -> Msn {
    Msn::new(bits).expect("24 bits")
}

/// A code that its enum has no name for, as a broken rule of the ports.
fn unnamed(error: BadEnum) -> String {
    error.to_string()
}

/// A port that counts while its valid is 1.
fn valid<T>(valid: u8, value: impl FnOnce() -> T) -> Option<T> {
    (valid != 0).then(value)
}

macro_rules! requester_top {
    ($Top:ident, $ports:ident) => {
        impl GbnTop for $Top {
            type End = Requesting;
            const QPS: u16 = $ports::QPS as u16;
            const SLOTS: usize = $ports::WQES as usize;

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
                        pins.set_event_configuration_i(&requester_config(configuration));
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
                        context: read_requester_context(&pins.step_context_o().map_err(unnamed)?),
                        step: RequesterStep {
                            note: RequesterNote::ALL[pins.step_note_o() as usize],
                            request: valid(pins.request_valid_o, || {
                                read_request(&pins.request_o())
                            }),
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

requester_top!(GbnRequester, gbn_requester);
requester_top!(GbnRequester4, gbn_requester4);

macro_rules! responder_top {
    ($Top:ident, $ports:ident) => {
        impl GbnTop for $Top {
            type End = Responding;
            const QPS: u16 = $ports::QPS as u16;
            const SLOTS: usize = $ports::RECVS as usize;

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
                        pins.set_event_configuration_i(&responder_config(configuration));
                        pins.event_psn_i = psn.get();
                    }
                    ResponderEvent::Post(recv) => put_recv(&mut pins.event_recv_i, recv),
                    ResponderEvent::Packet(arrival) => {
                        pins.set_event_arrival_i(&arrival_ports(arrival));
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
                        context: read_responder_context(&pins.step_context_o().map_err(unnamed)?),
                        step: ResponderStep {
                            note: ResponderNote::from_code(pins.step_note_o)
                                .ok_or_else(|| format!("step_note_o is {}", pins.step_note_o))?,
                            completion: valid(pins.completion_valid_o, || {
                                take_completion(&pins.completion_o)
                            })
                            .transpose()?,
                            place: valid(pins.place_valid_o, || read_place(&pins.place_o())),
                            response: valid(pins.response_valid_o, || {
                                read_response(&pins.response_o())
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

responder_top!(GbnResponder, gbn_responder);
responder_top!(GbnResponder4, gbn_responder4);
