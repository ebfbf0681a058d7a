//! One connection, from the request for it until both ends have parted (IBTA volume 1 §12.9).

use std::net::IpAddr;

use xoff_sim::nic::Address;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{
    CmBody, CmDreqRepr, CmIdsRepr, CmMessage, CmRejRepr, CmRepRepr, CmReqRepr, Psn, Qpn,
    RejectReason,
};

/// The unit of times that messages tell, 4.096 µs (IBTA volume 1 §12.7).
const UNIT_PS: u64 = 4_096_000;
/// Which message a REJ or an MRA is about.
const OF_REQ: u8 = 0;
const OF_REP: u8 = 1;
const OF_NONE: u8 = 2;

/// The time of a code: 4.096 µs · 2^code.
pub fn time_of(code: u8) -> Duration {
    Duration::from_ps(UNIT_PS << code.min(31))
}

/// What one end tells the other of its queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Its number.
    pub qpn: Qpn,
    /// The PSN with which the other end's requests begin.
    pub psn: Psn,
    /// How many READs and atomics it answers, and has under way, at a time.
    pub answers: u8,
    pub asks: u8,
    /// Code of the path MTU: 1 is 256 bytes. Of a reply it is that of the request.
    pub mtu: u8,
    /// Code of the other end's ACK timeout, and how often it may send again. Of a reply they are those of the request.
    pub ack_timeout: u8,
    pub retries: u8,
    /// How often the other end may try again when this one is not ready.
    pub rnr_retries: u8,
}

/// What the peer has told, and its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    pub ip: IpAddr,
    pub told: Told,
}

/// What has happened to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The peer asks for a connection.
    Request(Offer),
    /// The peer agrees.
    Reply(Offer),
    /// The peer knows that this end is ready.
    Established,
    /// The peer refuses, or gives up what was agreed.
    Rejected(RejectReason),
    /// The peer has not answered a message, however often it was sent.
    Unanswered(&'static str, u32),
    /// The ends have parted.
    Parted,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was asked for here.
    ReqSent,
    /// The peer has agreed; this end is not ready yet.
    RepReceived,
    /// The peer asks for it; nobody has agreed yet.
    ReqReceived,
    /// It was agreed to here.
    RepSent,
    /// Both ends are ready.
    Established,
    /// This end wants to part.
    DreqSent,
    /// Both have parted. What is late is answered.
    Parted,
}

/// A message that is sent again until it is answered.
#[derive(Debug, Clone)]
struct Unanswered {
    message: CmMessage,
    due: Time,
    sent: u32,
    left: u8,
}

/// What is to be done now.
#[derive(Debug, Default)]
pub struct Outcome {
    pub send: Option<CmMessage>,
    pub event: Option<Event>,
    /// Whether nothing is to be remembered of the connection.
    pub over: bool,
}

/// Why a message changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    /// It has come before, and needs no answer now.
    Duplicate,
    /// Nobody waits for it in this state.
    Unexpected(State),
    /// It is about another queue pair: the one that it names, and the one that would be right.
    Qpn(Qpn, Qpn),
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    pub local_id: u32,
    /// The peer's number for it, once it has told one.
    pub remote_id: Option<u32>,
    pub own: Address,
    pub peer: Address,
    state: State,
    transaction: u64,
    /// The request, of which the reply's offer has some.
    request: CmReqRepr,
    /// The queue pairs.
    own_qpn: Qpn,
    peer_qpn: Qpn,
    /// How long an answer is waited for, and how often a message is sent again.
    wait: Duration,
    retries: u8,
    unanswered: Option<Unanswered>,
    /// What duplicates are answered with.
    answer: Option<CmMessage>,
}

impl Connection {
    /// A connection that this end asks for. Returns the REQ, too.
    pub fn ask(
        (own, peer): (Address, Address),
        request: CmReqRepr,
        private: Vec<u8>,
        now: Time,
    ) -> (Self, CmMessage) {
        let mut connection = Self {
            local_id: request.local_id,
            remote_id: None,
            own,
            peer,
            state: State::ReqSent,
            transaction: request.local_id.into(),
            request,
            own_qpn: request.qpn,
            peer_qpn: Qpn::default(),
            wait: time_of(request.remote_timeout),
            retries: request.cm_retries,
            unanswered: None,
            answer: None,
        };
        let mut message = connection.message(CmBody::Req(request));
        message.private = private;
        connection.await_answer(&message, now);
        (connection, message)
    }

    /// A connection that the peer asks for, with a number of this end.
    pub fn asked(
        (own, peer): (Address, Address),
        local_id: u32,
        transaction: u64,
        request: CmReqRepr,
    ) -> Self {
        Self {
            local_id,
            remote_id: Some(request.local_id),
            own,
            peer,
            state: State::ReqReceived,
            transaction,
            request,
            own_qpn: Qpn::default(),
            peer_qpn: request.qpn,
            // In what time the peer says that it answers.
            wait: time_of(request.local_timeout),
            retries: request.cm_retries,
            unanswered: None,
            answer: None,
        }
    }

    pub const fn state(&self) -> State {
        self.state
    }

    /// When a message is sent again.
    pub fn due(&self) -> Option<Time> {
        self.unanswered.as_ref().map(|it| it.due)
    }

    /// What the peer's request offers.
    pub const fn offer(&self) -> Offer {
        let it = &self.request;
        let told = Told {
            qpn: it.qpn,
            psn: it.psn,
            answers: it.responder_resources,
            asks: it.initiator_depth,
            mtu: it.mtu,
            ack_timeout: it.ack_timeout,
            retries: it.retries,
            rnr_retries: it.rnr_retries,
        };
        Offer {
            ip: self.peer.ip,
            told,
        }
    }

    fn message(&self, body: CmBody) -> CmMessage {
        CmMessage {
            transaction: self.transaction,
            body,
            private: Vec::new(),
        }
    }

    fn ids(&self) -> CmIdsRepr {
        CmIdsRepr {
            local_id: self.local_id,
            remote_id: self.remote_id.unwrap_or_default(),
        }
    }

    fn await_answer(&mut self, message: &CmMessage, now: Time) {
        self.unanswered = Some(Unanswered {
            message: message.clone(),
            due: now + self.wait,
            sent: 1,
            left: self.retries,
        });
    }

    /// Agrees to what the peer has asked for.
    pub fn agree(&mut self, rep: CmRepRepr, now: Time) -> CmMessage {
        self.own_qpn = rep.qpn;
        self.state = State::RepSent;
        let rep = CmRepRepr {
            local_id: self.local_id,
            remote_id: self.ids().remote_id,
            ..rep
        };
        let message = self.message(CmBody::Rep(rep));
        self.await_answer(&message, now);
        message
    }

    /// Says that this end is ready for what was agreed.
    pub fn ready(&mut self) -> CmMessage {
        self.state = State::Established;
        let message = self.message(CmBody::Rtu(self.ids()));
        self.answer = Some(message.clone());
        message
    }

    /// Wants to part.
    pub fn part(&mut self, now: Time) -> CmMessage {
        self.state = State::DreqSent;
        let ids = self.ids();
        let message = self.message(CmBody::Dreq(CmDreqRepr {
            local_id: ids.local_id,
            remote_id: ids.remote_id,
            remote_qpn: self.peer_qpn,
        }));
        self.await_answer(&message, now);
        message
    }

    /// Refuses what is being agreed to.
    pub fn reject(&self, reason: RejectReason) -> CmMessage {
        let ids = self.ids();
        self.message(CmBody::Rej(CmRejRepr {
            local_id: ids.local_id,
            remote_id: ids.remote_id,
            message: match self.state {
                State::ReqReceived => OF_REQ,
                State::RepReceived => OF_REP,
                _ => OF_NONE,
            },
            info_bytes: 0,
            reason: reason.0,
        }))
    }

    /// The peer's requests come: it is ready, even if its RTU was lost.
    pub fn heard(&mut self) {
        if self.state == State::RepSent {
            self.state = State::Established;
            self.unanswered = None;
        }
    }

    fn parted(&mut self) -> Outcome {
        let was = self.state;
        self.state = State::Parted;
        self.unanswered = None;
        Outcome {
            event: (was != State::Parted).then_some(Event::Parted),
            ..Outcome::default()
        }
    }

    /// Takes a message of the peer about this connection.
    ///
    /// # Errors
    ///
    /// [`Odd`]: it changes nothing.
    pub fn take(&mut self, message: &CmMessage, now: Time) -> Result<Outcome, Odd> {
        match message.body {
            CmBody::Req(_) => match (self.state, &mut self.unanswered) {
                // The peer has not got the answer.
                (State::RepSent, Some(reply)) => {
                    reply.due = now + self.wait;
                    Ok(Outcome {
                        send: Some(reply.message.clone()),
                        ..Outcome::default()
                    })
                }
                _ => Err(Odd::Duplicate),
            },
            CmBody::Rep(rep) => self.reply(&rep),
            CmBody::Rtu(_) => match self.state {
                State::RepSent => {
                    self.heard();
                    Ok(Outcome {
                        event: Some(Event::Established),
                        ..Outcome::default()
                    })
                }
                State::Established => Err(Odd::Duplicate),
                state => Err(Odd::Unexpected(state)),
            },
            CmBody::Mra(mra) => {
                let about = match self.state {
                    State::ReqSent => OF_REQ,
                    State::RepSent => OF_REP,
                    state => return Err(Odd::Unexpected(state)),
                };
                match &mut self.unanswered {
                    Some(it) if mra.message == about => {
                        it.due = now + time_of(mra.service_timeout) + self.wait;
                        Ok(Outcome::default())
                    }
                    _ => Err(Odd::Unexpected(self.state)),
                }
            }
            CmBody::Rej(_) if self.state == State::Parted => Err(Odd::Unexpected(self.state)),
            CmBody::Rej(rej) => {
                self.unanswered = None;
                Ok(Outcome {
                    event: Some(Event::Rejected(RejectReason(rej.reason))),
                    over: true,
                    ..Outcome::default()
                })
            }
            CmBody::Dreq(dreq) => {
                if matches!(self.state, State::ReqSent | State::ReqReceived) {
                    return Err(Odd::Unexpected(self.state));
                }
                if dreq.remote_qpn != self.own_qpn {
                    return Err(Odd::Qpn(dreq.remote_qpn, self.own_qpn));
                }
                let mut drep = self.message(CmBody::Drep(self.ids()));
                drep.transaction = message.transaction;
                let parted = self.parted();
                Ok(Outcome {
                    send: Some(drep),
                    ..parted
                })
            }
            CmBody::Drep(_) => match self.state {
                State::DreqSent => Ok(self.parted()),
                State::Parted => Err(Odd::Duplicate),
                state => Err(Odd::Unexpected(state)),
            },
        }
    }

    fn reply(&mut self, rep: &CmRepRepr) -> Result<Outcome, Odd> {
        match self.state {
            State::ReqSent => {
                self.state = State::RepReceived;
                self.unanswered = None;
                self.remote_id = Some(rep.local_id);
                self.peer_qpn = rep.qpn;
                let mut offer = self.offer();
                offer.told = Told {
                    qpn: rep.qpn,
                    psn: rep.psn,
                    answers: rep.responder_resources,
                    asks: rep.initiator_depth,
                    rnr_retries: rep.rnr_retries,
                    ..offer.told
                };
                Ok(Outcome {
                    event: Some(Event::Reply(offer)),
                    ..Outcome::default()
                })
            }
            // The peer has not got the RTU.
            State::Established if self.answer.is_some() => Ok(Outcome {
                send: self.answer.clone(),
                ..Outcome::default()
            }),
            State::RepReceived => Err(Odd::Duplicate),
            state => Err(Odd::Unexpected(state)),
        }
    }

    /// Sends again what was not answered in time, or gives it up.
    pub fn late(&mut self, now: Time) -> Outcome {
        let wait = self.wait;
        let Some(it) = self.unanswered.as_mut().filter(|it| it.due <= now) else {
            return Outcome::default();
        };
        if it.left > 0 {
            it.left -= 1;
            it.sent += 1;
            it.due = now + wait;
            return Outcome {
                send: Some(it.message.clone()),
                ..Outcome::default()
            };
        }
        let unanswered = Event::Unanswered(it.message.body.name(), it.sent);
        if self.state == State::DreqSent {
            // The peer is gone: so be it.
            return self.parted();
        }
        self.unanswered = None;
        Outcome {
            send: Some(self.reject(RejectReason::TIMEOUT)),
            event: Some(unanswered),
            over: true,
        }
    }
}
