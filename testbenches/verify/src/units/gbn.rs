//! Drivers for the go-back-N units. Each call is one cycle; ports have the types of the reference models.
//!
//! [`Unit`] is the interface that a bench needs of either unit; reference models can implement it too. [`End`] says
//! which of the two ends of a connection it is.

use std::fmt::Debug;
use std::ops::Deref;

use verilated::{BadEnum, Model, PortBits, Settings};
use xoff_rtl_units::gbn_pkg::{RequesterKind, ResponderKind};
use xoff_rtl_units::{
    GbnRequester, GbnRequester4, GbnResponder, GbnResponder4, gbn_pkg, gbn_requester,
    gbn_requester4, gbn_responder, gbn_responder4,
};
use xoff_sim::protocol::gbn::requester::reading::{AskedReads, Reading};
use xoff_sim::protocol::gbn::responder::reads::{ReadResponse, Reads, Reread};
use xoff_sim::protocol::gbn::{
    After, Arrival, Completion, Owed, Place, QpState, Request, RequesterConfig, RequesterContext,
    RequesterEvent, RequesterNote, RequesterQp, RequesterStep, ResponderConfig, ResponderContext,
    ResponderEvent, ResponderNote, ResponderQp, ResponderStep, Response, Status, Times,
};
use xoff_sim::protocol::{Cycle, Idle};
use xoff_sim::wire::{Msn, Opcode, Psn, Syndrome};

use xoff_cosim::units::driven::Driven;
use xoff_cosim::units::verbs::{put_recv, put_work, take_completion};
use xoff_cosim::units::{PERIOD_256_PS, UnitError};

/// Timeouts and RNR waits at the clock of the tops.
pub const TIMES: Times = Times {
    period_ps: PERIOD_256_PS,
};

/// READs of a QP that a unit keeps, at most.
const READS_MAX: usize = gbn_pkg::READS_MAX as usize;

/// Codes of the steps that a unit takes by itself. `responder_kind_e` has the same code for a walk.
const KIND_TIMER: u8 = RequesterKind::RequesterTimer as u8;
const KIND_WALK: u8 = RequesterKind::RequesterWalk as u8;

/// One end of a connection: the types of its events, and its reference model.
pub trait End: Copy + Debug + PartialEq + 'static {
    /// An event of a QP.
    type Event: Copy + Debug + PartialEq + Send;
    /// The state that the unit keeps for a QP.
    type Context: Copy + Debug + PartialEq + Default + Send;
    /// The result of a step.
    type Step: Copy + Debug + PartialEq + Send;
    /// The reference model of a QP.
    type Qp: Clone + Debug + Send;
    /// The event for a walk.
    const WALK: Self::Event;
    /// The event for an expired deadline, if this end has one.
    const TIMER: Option<Self::Event>;

    /// The context as the pins have it: times are 48 bits.
    fn on_pins(context: Self::Context) -> Self::Context {
        context
    }
    /// Creates a closed QP.
    fn qp(slots: usize) -> Self::Qp;
    /// The QP's context.
    fn context(qp: &Self::Qp) -> &Self::Context;
    /// The code of an event's kind at the port.
    fn kind(event: &Self::Event) -> u8;
    /// Takes a step of the reference model. Returns its result, and whether a walk comes next.
    fn step(qp: &mut Self::Qp, event: Self::Event, now: Cycle) -> (Self::Step, bool);
    /// Whether the step was of an event that has no meaning.
    fn ignored(step: &Self::Step) -> bool;
    /// The QP's bit of `sendable_o` or `owed_o`.
    fn bit(context: &Self::Context) -> bool;
    /// The QP's bit of `reads_answerable_o`.
    fn answerable(_context: &Self::Context) -> bool {
        false
    }
    /// When the QP's timer is due.
    fn due(context: &Self::Context) -> Option<Cycle>;
    /// Whether the step started an ACK timer: of a SEND or an ACK.
    fn starts(_before: &Self::Context, _event: &Self::Event, _after: &Self::Context) -> bool {
        false
    }
    /// Holds the QP's due ACK timer if a packet is still waiting for the wire, or left at `left`, less than the timeout
    /// before `now`. One that left in this cycle or the one before counts as waiting. Returns whether it is held.
    fn hold(_qp: &mut Self::Qp, _waits: bool, _left: Option<Cycle>, _now: Cycle) -> bool {
        false
    }
    /// The step of a timer that is held.
    fn held() -> Option<Self::Step> {
        None
    }
    /// Whether a timer runs that does not run out while an answer waits.
    fn awaits_answer(_context: &Self::Context) -> bool {
        false
    }
}

/// The reference of a requester's QP, with its READs.
#[derive(Debug, Clone)]
pub struct AskingQp {
    qp: RequesterQp,
    reading: Reading,
}

impl AskingQp {
    /// A closed QP with a ring of `slots`, that may have as many READs unanswered.
    pub fn new(slots: usize) -> Self {
        Self {
            qp: RequesterQp::new(slots, TIMES),
            reading: Reading::default(),
        }
    }

    /// Takes a step. All memory may be written.
    fn step(&mut self, event: RequesterEvent, now: Cycle) -> RequesterStep {
        if let RequesterEvent::Open { configuration, .. } = event {
            let most = self.qp.slots().min(READS_MAX) as u16;
            self.reading = Reading::new(match configuration.reads.into() {
                0 => most,
                reads => most.min(reads),
            });
        }
        (self.qp).step_reading(event, now, &mut self.reading, |_| true)
    }
}

impl Deref for AskingQp {
    type Target = RequesterQp;

    fn deref(&self) -> &RequesterQp {
        &self.qp
    }
}

/// What the owner tells the ACK timers of a requester in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wire {
    /// By QP: a packet that asks for an ACK waits for the wire.
    pub asks: u64,
    /// Such a packet of this QP leaves: `true` with its last bit, `false` when it is about to.
    pub left: Option<(u16, bool)>,
    /// By QP: an answer of its peer waits to become an event.
    pub answers: u64,
}

/// The requester: the end that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requesting {}

impl End for Requesting {
    type Event = RequesterEvent;
    type Context = RequesterContext;
    type Step = RequesterStep;
    type Qp = AskingQp;
    const WALK: RequesterEvent = RequesterEvent::Walk;
    const TIMER: Option<RequesterEvent> = Some(RequesterEvent::Timer);

    fn on_pins(context: RequesterContext) -> RequesterContext {
        RequesterContext {
            deadline: Cycle(context.deadline.bits()),
            ..context
        }
    }

    fn qp(slots: usize) -> AskingQp {
        AskingQp::new(slots)
    }

    fn context(qp: &AskingQp) -> &RequesterContext {
        &qp.qp.context
    }

    fn kind(event: &RequesterEvent) -> u8 {
        match event {
            RequesterEvent::Open { .. } => RequesterKind::RequesterOpen as u8,
            RequesterEvent::Close => RequesterKind::RequesterClose as u8,
            RequesterEvent::Post(_) => RequesterKind::RequesterPost as u8,
            RequesterEvent::Send => RequesterKind::RequesterSend as u8,
            RequesterEvent::Ack { .. } => RequesterKind::RequesterAck as u8,
            RequesterEvent::Response(_) => RequesterKind::RequesterResponse as u8,
            RequesterEvent::Unread { .. } => RequesterKind::RequesterUnread as u8,
            RequesterEvent::Timer => KIND_TIMER,
            RequesterEvent::Walk => KIND_WALK,
            RequesterEvent::Fail => RequesterKind::RequesterFail as u8,
            RequesterEvent::Other(kind) => *kind,
        }
    }

    fn step(qp: &mut AskingQp, event: RequesterEvent, now: Cycle) -> (RequesterStep, bool) {
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

    fn starts(before: &RequesterContext, event: &RequesterEvent, after: &RequesterContext) -> bool {
        let runs = |context: &RequesterContext| context.timer_runs && !context.rnr_wait;
        let again = || before.deadline != after.deadline;
        let starting = matches!(
            event,
            RequesterEvent::Send | RequesterEvent::Ack { .. } | RequesterEvent::Response(_)
        );
        starting && runs(after) && (!runs(before) || again())
    }

    fn hold(qp: &mut AskingQp, waits: bool, left: Option<Cycle>, now: Cycle) -> bool {
        let Some(timeout) = qp.timeout().filter(|_| !qp.context.rnr_wait) else {
            return false;
        };
        let waits = waits || left.is_some_and(|left| left <= now && now.0 <= left.0 + 1);
        let left = left.filter(|left| left.0 + timeout > now.0);
        if !waits && left.is_none() {
            return false;
        }
        qp.qp.hold(left.filter(|_| !waits), now);
        true
    }

    fn held() -> Option<RequesterStep> {
        Some(RequesterNote::None.into())
    }

    fn awaits_answer(context: &RequesterContext) -> bool {
        context.timer_runs && !context.rnr_wait
    }
}

/// The responder: the end that receives.
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
        // As many READs as receive buffers.
        ResponderQp::with_reads(slots, slots)
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
            ResponderEvent::Refuse(_) => ResponderKind::ResponderRefuse as u8,
            ResponderEvent::Settle => ResponderKind::ResponderSettle as u8,
            ResponderEvent::Read => ResponderKind::ResponderRead as u8,
            ResponderEvent::Return(_) => ResponderKind::ResponderReturn as u8,
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
        context.owed != Owed::None && !context.reads.wait()
    }

    fn answerable(context: &ResponderContext) -> bool {
        context.reads.answerable(context.state == QpState::Error)
    }

    fn due(_: &ResponderContext) -> Option<Cycle> {
        None
    }
}

/// A step as the pins report it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown<E: End> {
    /// Kind of the step: that of an event, or of a step that the unit takes by itself.
    pub kind: u8,
    /// The QP.
    pub qp: u16,
    /// The time used in the step; the responder has none.
    pub now: Option<Cycle>,
    /// The context after the step, as the pins have it.
    pub context: E::Context,
    /// The result of the step.
    pub step: E::Step,
}

impl<E: End> Shown<E> {
    /// Whether it is a WALK step, which the unit takes by itself.
    pub fn walks(&self) -> bool {
        self.kind == KIND_WALK && !E::ignored(&self.step)
    }

    /// Whether it is a TIMER step that holds the timer.
    pub fn holds(&self) -> bool {
        self.times() && Some(self.step) == E::held()
    }

    /// Whether it is a TIMER step, which the unit takes by itself.
    pub fn times(&self) -> bool {
        E::TIMER.is_some() && self.kind == KIND_TIMER && !E::ignored(&self.step)
    }
}

/// The outputs in a cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Out<E: End> {
    /// The event is taken in this cycle.
    pub ready: bool,
    /// The step that the unit reports in this cycle, if any.
    pub step: Option<Shown<E>>,
    /// `sendable_o` or `owed_o`, one bit per QP.
    pub bits: u64,
    /// `reads_answerable_o`, likewise; 0 at a requester.
    pub answerable: u64,
    /// Whether the next cycles may be skipped.
    pub idle: Idle,
}

/// A go-back-N unit: verilated, or a model in its place.
pub trait Unit {
    /// Which end of a connection it is.
    type End: End;
    /// The unit's name.
    const NAME: &'static str;
    /// Number of QPs.
    const QPS: u16;
    /// Number of slots of a QP's ring.
    const SLOTS: usize;

    /// Runs one cycle of reset at `now`.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    fn reset(&mut self, now: Cycle) -> Result<(), UnitError>;

    /// Runs one cycle, with an event of a QP offered or without.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or outputs have no meaning.
    fn cycle(
        &mut self,
        now: Cycle,
        event: Option<(u16, &<Self::End as End>::Event)>,
    ) -> Result<Out<Self::End>, UnitError>;

    /// Sets whether TIMER steps may be taken, from the next cycle on; a reset allows them. A unit without timers
    /// ignores this.
    fn let_timers(&mut self, allowed: bool);

    /// Sets what the wire tells the ACK timers from the next cycle on; a reset makes it nothing. A unit without timers
    /// ignores this.
    fn tell(&mut self, wire: Wire);

    /// The values of registers and memories, always with the same inputs applied, for comparison.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    fn rest_state(&mut self) -> Result<Vec<u8>, UnitError>;
}

/// A top of either end, built for some number of QPs.
pub trait GbnTop: Model {
    /// Which end of a connection it is.
    type End: End;
    /// Number of QPs.
    const QPS: u16;
    /// Number of slots of a QP's ring.
    const SLOTS: usize;
    /// Drives all inputs other than `timers_i`, `asks_i`, `left_…` and `answers_i`.
    fn drive(
        pins: &mut Self::In,
        reset: bool,
        now: Cycle,
        event: Option<(u16, &<Self::End as End>::Event)>,
    );
    /// Drives `timers_i`, if there is one.
    fn let_timers(pins: &mut Self::In, allowed: bool);
    /// Drives `asks_i`, `left_…` and `answers_i`, if there are any.
    fn tell(pins: &mut Self::In, wire: Wire);
    /// Reads the outputs of cycle `now`.
    ///
    /// # Errors
    ///
    /// The outputs that have no meaning.
    fn read(pins: &Self::Out, now: Cycle) -> Result<Out<Self::End>, String>;
}

/// A verilated unit.
pub struct Rtl<M: Model> {
    unit: Driven<M>,
}

impl<M: GbnTop> Rtl<M> {
    /// Creates the unit; a reset must follow. `seed` determines the random initial state of its registers.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            unit: Driven::new(&Settings::new(M::NAME).seed(seed))?,
        })
    }
}

impl<M: GbnTop> Unit for Rtl<M> {
    type End = M::End;
    const NAME: &'static str = M::NAME;
    const QPS: u16 = M::QPS;
    const SLOTS: usize = M::SLOTS;

    fn reset(&mut self, now: Cycle) -> Result<(), UnitError> {
        M::drive(&mut self.unit.pins_in, true, now, None);
        self.let_timers(true);
        self.tell(Wire::default());
        self.unit.cycle()
    }

    fn cycle(
        &mut self,
        now: Cycle,
        event: Option<(u16, &<M::End as End>::Event)>,
    ) -> Result<Out<M::End>, UnitError> {
        M::drive(&mut self.unit.pins_in, false, now, event);
        self.unit.cycle()?;
        M::read(&self.unit.pins_out, now).map_err(|what| Driven::<M>::broken(now.0, what))
    }

    fn let_timers(&mut self, allowed: bool) {
        M::let_timers(&mut self.unit.pins_in, allowed);
    }

    fn tell(&mut self, wire: Wire) {
        M::tell(&mut self.unit.pins_in, wire);
    }

    fn rest_state(&mut self) -> Result<Vec<u8>, UnitError> {
        self.unit.state_with(M::In::default())
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
        reads: configuration.reads,
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
            reads: configuration.reads,
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
        status: Status::ALL[context.status as usize],
        rnr_wait: context.rnr_wait,
        timer_runs: context.timer_runs,
        deadline: Cycle(context.deadline),
        asking: read_asking(&context.asking),
        unread: context.unread.then(|| Psn::wrapping(context.unread_psn)),
    }
}

/// Indexes of READs count modulo 32.
fn read_asking(asking: &gbn_pkg::Asking) -> AskedReads {
    let from_tail = |index: u8| index.wrapping_sub(asking.tail) & 31;
    AskedReads {
        unanswered: from_tail(asking.head),
        asked: from_tail(asking.asked),
        first_psn: Psn::wrapping(asking.first_psn),
        psns: asking.psns,
        resumed: asking.resumes.then(|| Psn::wrapping(asking.resumed_psn)),
        went_back: asking.went_back,
        blocked: asking.blocked,
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
        status: Status::ALL[context.status as usize],
        reads: Reads {
            head: context.reads.head,
            settled: context.reads.settled,
            done: context.reads.done,
            kept: context.reads.kept,
            again: context.reads.again,
            performing: context.reads.performing,
            top_psn: Psn::wrapping(context.reads.top_psn),
        },
    }
}

fn read_read_response(response: &gbn_pkg::ReadResponse) -> ReadResponse {
    ReadResponse {
        opcode: Opcode(response.opcode),
        psn: Psn::wrapping(response.psn),
        msn: msn(response.msn),
        again: response.again,
        va: response.va,
        key: response.key,
        bytes: response.bytes,
    }
}

fn read_reread(reread: &gbn_pkg::Reread) -> Reread {
    Reread {
        first_psn: Psn::wrapping(reread.first_psn),
        end_psn: Psn::wrapping(reread.end_psn),
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

/// Converts the bits of a port, which has the width of an MSN.
fn msn(bits: u32) -> Msn {
    Msn::new(bits).expect("24 bits")
}

/// Reports a code without a name in its enum as a broken rule of the ports.
fn unnamed(error: BadEnum) -> String {
    error.to_string()
}

/// The value of a port that is meaningful only while its `valid` is 1.
fn valid<T>(valid: u8, value: impl FnOnce() -> T) -> Option<T> {
    (valid != 0).then(value)
}

/// The completion of a step, if it has one.
fn completion<P: PortBits>(is_valid: u8, port: &P) -> Result<Option<Completion>, String> {
    valid(is_valid, || take_completion(port)).transpose()
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
                pins.now_i = now.bits();
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
                    RequesterEvent::Unread { psn } => pins.event_psn_i = psn.get(),
                    RequesterEvent::Response(returned) => {
                        pins.event_psn_i = returned.psn.get();
                        pins.event_syndrome_i = returned.syndrome.0;
                        pins.set_event_returned_i(&gbn_pkg::Returned {
                            operation: returned.opcode.0 & 0x1F,
                            bytes: returned.bytes,
                        });
                    }
                    _ => {}
                }
            }

            #[inline]
            fn let_timers(pins: &mut $ports::In, allowed: bool) {
                pins.timers_i = u8::from(allowed);
            }

            #[inline]
            fn tell(pins: &mut $ports::In, wire: Wire) {
                pins.asks_i = wire.asks as _;
                pins.answers_i = wire.answers as _;
                pins.left_valid_i = u8::from(wire.left.is_some());
                if let Some((qp, end)) = wire.left {
                    pins.left_qp_i = qp as u8;
                    pins.left_end_i = u8::from(end);
                }
            }

            #[inline]
            fn read(pins: &$ports::Out, now: Cycle) -> Result<Out<Requesting>, String> {
                let step = match pins.step_valid_o {
                    0 => None,
                    _ => Some(Shown {
                        kind: pins.step_kind_o,
                        qp: pins.step_qp_o.into(),
                        now: Some(now.near(pins.step_now_o)),
                        context: read_requester_context(&pins.step_context_o().map_err(unnamed)?),
                        step: RequesterStep {
                            note: RequesterNote::ALL[pins.step_note_o().map_err(unnamed)? as usize],
                            request: valid(pins.request_valid_o, || {
                                read_request(&pins.request_o())
                            }),
                            // A silent one is for the NIC alone.
                            completion: completion(
                                pins.completion_valid_o & !pins.completion_silent_o,
                                &pins.completion_o,
                            )?,
                            place: valid(pins.place_valid_o, || read_place(&pins.place_o())),
                            walk: false,
                        },
                    }),
                };
                let results = pins.request_valid_o | pins.completion_valid_o | pins.place_valid_o;
                if step.is_none() && results != 0 {
                    return Err("a request, a completion or a place without a step".to_owned());
                }
                Ok(Out {
                    ready: pins.event_ready_o != 0,
                    step,
                    #[allow(clippy::unnecessary_cast)]
                    bits: pins.sendable_o as u64,
                    answerable: 0,
                    idle: Idle::of_ports(pins.idle_o, pins.wake_o, now),
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
                    ResponderEvent::Refuse(refusal) => {
                        pins.set_event_refusal_i(&gbn_pkg::Refusal {
                            psn: refusal.psn.get(),
                            msn: refusal.msn.get(),
                            remote: refusal.remote,
                        });
                    }
                    ResponderEvent::Return(returned) => {
                        pins.set_event_original_i(&gbn_pkg::Original {
                            index: returned.index,
                            original: returned.original,
                        });
                    }
                    _ => {}
                }
            }

            #[inline]
            fn let_timers(_: &mut $ports::In, _: bool) {}

            #[inline]
            fn tell(_: &mut $ports::In, _: Wire) {}

            #[inline]
            fn read(pins: &$ports::Out, _: Cycle) -> Result<Out<Responding>, String> {
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
                            completion: completion(pins.completion_valid_o, &pins.completion_o)?,
                            place: valid(pins.place_valid_o, || read_place(&pins.place_o())),
                            response: valid(pins.response_valid_o, || {
                                read_response(&pins.response_o())
                            }),
                            accepts_read: valid(pins.accepts_read_o, || pins.accepts_index_o),
                            read: valid(pins.read_valid_o, || read_read_response(&pins.read_o())),
                            reread: valid(pins.reread_valid_o, || read_reread(&pins.reread_o())),
                            walk: false,
                        },
                    }),
                };
                let more = pins.place_valid_o | pins.response_valid_o | pins.completion_valid_o;
                let reads = pins.accepts_read_o | pins.read_valid_o | pins.reread_valid_o;
                if step.is_none() && more | reads != 0 {
                    return Err("a place, an answer or a completion without a step".to_owned());
                }
                Ok(Out {
                    ready: pins.event_ready_o != 0,
                    step,
                    #[allow(clippy::unnecessary_cast)]
                    bits: pins.owed_o as u64,
                    #[allow(clippy::unnecessary_cast)]
                    answerable: pins.reads_answerable_o as u64,
                    idle: match pins.idle_o {
                        0 => Idle::No,
                        _ => Idle::Forever,
                    },
                })
            }
        }
    };
}

responder_top!(GbnResponder, gbn_responder);
responder_top!(GbnResponder4, gbn_responder4);
