//! The communication manager of RDMA beside the NIC: it agrees with the peer's on a connection of two queue pairs, by
//! datagrams to QP 1, and parts them again (IBTA volume 1 chapter 12; its annex A11 for IP addresses and ports).
//!
//! | module | what is in it |
//! |---|---|
//! | `datagram` | the frames |
//! | `connection` | one connection, from the request for it until both ends have parted |
//!
//! Messages may be lost and come twice. What is not answered in time is sent again, as often as was agreed; what comes
//! again is answered again. What is no message, or about no connection that is known, is counted by its reason, and the
//! first of each reason is kept in words.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use bytes::Bytes;
use xoff_sim::nic::Address;
use xoff_sim::seeded::{Draws, Seed};
use xoff_sim::time::Time;
use xoff_sim::wire::{
    CmBody, CmIdsRepr, CmMessage, CmRejRepr, CmRepRepr, CmReqRepr, IpCm, IpCmRepr, Psn,
    RejectReason, address_bits, address_of, port_of_service, service_of_port,
};

use super::verbs::{HOP_LIMIT, gid_of};

mod connection;
mod datagram;
#[cfg(test)]
mod tests;

pub use connection::{Event, Offer, Told};
pub use datagram::is_for_it;

use connection::{Connection, Odd, State};

/// In what time answers are expected and given: 0.5 s. Linux says 4.3 s; a simulation that stands still while it
/// computes need not wait that long.
const RESPONSE: u8 = 17;
/// How often a message is sent again; Linux's.
const RETRIES: u8 = 15;
/// The LID of a port that has none: over Ethernet.
const NO_LID: u16 = 0xFFFF;
/// P_Key, of the default partition.
const PKEY: u16 = 0xFFFF;
/// The service type of RC.
const RC: u8 = 0;
/// The version of the header of IP addressing.
const IP_MAJOR: u8 = 0;
/// The first port of those from which clients connect.
const LOCAL_PORT: u16 = 49_152;

/// The communication manager of a port.
#[derive(Debug)]
pub struct Manager {
    /// The port's addresses.
    own: Vec<Address>,
    dscp: u8,
    guid: u64,
    draws: Draws,
    /// The PSN of the next packet of QP 1.
    psn: Psn,
    /// The port at which connections are waited for.
    listens: Option<u16>,
    connections: BTreeMap<u32, Connection>,
    /// The connection of the tool.
    current: Option<u32>,
    events: VecDeque<Event>,
    out: VecDeque<(Address, Address, CmMessage)>,
    counts: BTreeMap<String, u64>,
    dropped: BTreeMap<String, u64>,
    complaints: Vec<String>,
}

impl Manager {
    /// The manager of a port with these addresses, whose packets have this DSCP.
    pub fn new(own: Vec<Address>, dscp: u8, guid: u64, seed: Seed) -> Self {
        Self {
            own,
            dscp,
            guid,
            draws: seed.draws(),
            psn: Psn::default(),
            listens: None,
            connections: BTreeMap::new(),
            current: None,
            events: VecDeque::new(),
            out: VecDeque::new(),
            counts: BTreeMap::new(),
            dropped: BTreeMap::new(),
            complaints: Vec::new(),
        }
    }

    /// Waits for a request for a connection to a port.
    pub fn listen(&mut self, port: u16) {
        self.listens = Some(port);
    }

    /// Asks for a connection from an own address to a port of the peer.
    pub fn connect(&mut self, (own, peer): (Address, Address), port: u16, told: &Told, now: Time) {
        let local_id = self.new_id();
        let request = CmReqRepr {
            local_id,
            service: service_of_port(port),
            ca_guid: self.guid,
            qpn: told.qpn,
            responder_resources: told.answers,
            initiator_depth: told.asks,
            remote_timeout: RESPONSE,
            service_type: RC,
            psn: told.psn,
            local_timeout: RESPONSE,
            retries: told.retries,
            pkey: PKEY,
            mtu: told.mtu,
            rnr_retries: told.rnr_retries,
            cm_retries: RETRIES,
            local_lid: NO_LID,
            remote_lid: NO_LID,
            local_gid: gid_of(own.ip),
            remote_gid: gid_of(peer.ip),
            traffic_class: self.dscp << 2,
            hop_limit: HOP_LIMIT,
            ack_timeout: told.ack_timeout,
            ..CmReqRepr::default()
        };
        let addressing = IpCmRepr {
            ip_version: if peer.ip.is_ipv4() { 4 } else { 6 },
            port: LOCAL_PORT + (local_id & 0x3FFF) as u16,
            src: address_bits(own.ip),
            dst: address_bits(peer.ip),
            ..IpCmRepr::default()
        };
        let mut private = vec![0; IpCmRepr::LEN];
        addressing.emit(&mut IpCm::new_unchecked(&mut private));
        let (connection, message) = Connection::ask((own, peer), request, private, now);
        self.send(own, peer, message);
        self.connections.insert(local_id, connection);
        self.current = Some(local_id);
    }

    /// Agrees to the connection that the peer asks for.
    pub fn accept(&mut self, told: &Told, now: Time) {
        let rep = CmRepRepr {
            qpn: told.qpn,
            psn: told.psn,
            responder_resources: told.answers,
            initiator_depth: told.asks,
            rnr_retries: told.rnr_retries,
            ca_guid: self.guid,
            ..CmRepRepr::default()
        };
        self.with_current(|connection| connection.agree(rep, now));
    }

    /// Says that this end is ready for what the peer has agreed to.
    pub fn ready(&mut self) {
        self.with_current(Connection::ready);
    }

    /// The peer's requests come over the connection.
    pub fn heard(&mut self) {
        let current = self.current.and_then(|id| self.connections.get_mut(&id));
        if let Some(connection) = current {
            connection.heard();
        }
    }

    /// Wants to part.
    pub fn part(&mut self, now: Time) {
        self.with_current(|connection| connection.part(now));
    }

    /// Gives up, whatever was agreed: the peer need not wait.
    pub fn abort(&mut self, now: Time) {
        let Some(connection) = self.current.and_then(|id| self.connections.get(&id)) else {
            return;
        };
        match connection.state() {
            State::Established => self.part(now),
            State::DreqSent | State::Parted => {}
            _ => {
                self.with_current(|connection| connection.reject(RejectReason::CONSUMER));
                self.forget();
            }
        }
    }

    /// What has happened to the tool's connection.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Messages that were sent and received, by name.
    pub const fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Messages that were dropped, by reason.
    pub const fn dropped(&self) -> &BTreeMap<String, u64> {
        &self.dropped
    }

    /// The first that was dropped for each reason, in words.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    fn new_id(&mut self) -> u32 {
        // 0 is none.
        1 + self.draws.below(u32::MAX.into()) as u32
    }

    fn send(&mut self, own: Address, to: Address, message: CmMessage) {
        self.count(format!("{} out", message.body.name()));
        self.out.push_back((own, to, message));
    }

    /// Has the tool's connection make a message, and sends it.
    fn with_current(&mut self, make: impl FnOnce(&mut Connection) -> CmMessage) {
        let current = self.current.and_then(|id| self.connections.get_mut(&id));
        if let Some(connection) = current {
            let message = make(connection);
            let (own, peer) = (connection.own, connection.peer);
            self.send(own, peer, message);
        }
    }

    /// Remembers nothing of the tool's connection.
    fn forget(&mut self) {
        if let Some(id) = self.current.take() {
            self.connections.remove(&id);
        }
    }

    fn count(&mut self, what: String) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn refuse(&mut self, reason: &str, words: String) {
        let count = self.dropped.entry(format!("cm.{reason}")).or_default();
        *count += 1;
        if *count == 1 {
            self.complaints.push(words);
        }
    }

    /// Takes a frame to QP 1.
    pub fn receive(&mut self, frame: &[u8], now: Time) {
        let (from, to, message) = match datagram::read(frame) {
            Ok(read) => read,
            Err(refused) => {
                return self.refuse(refused.reason(), format!("a frame to QP 1: {refused}"));
            }
        };
        let name = message.body.name();
        self.count(format!("{name} in"));
        let Some(own) = self.own.iter().copied().find(|own| own.ip == to) else {
            let own: Vec<String> = self.own.iter().map(|own| own.ip.to_string()).collect();
            let words = format!(
                "a {name} from {} to {to}: {} is right",
                from.ip,
                own.join(" or ")
            );
            return self.refuse("address", words);
        };
        let known = self.known(from, &message);
        match (known, message.body) {
            (Some(id), _) => self.about(id, &message, now),
            (None, CmBody::Req(request)) => self.asked(own, from, request, &message),
            // The peer may have forgotten that it has parted.
            (None, CmBody::Dreq(dreq)) => {
                let ids = CmIdsRepr {
                    local_id: dreq.remote_id,
                    remote_id: dreq.local_id,
                };
                let answer = CmMessage {
                    transaction: message.transaction,
                    body: CmBody::Drep(ids),
                    private: Vec::new(),
                };
                self.send(own, from, answer);
            }
            (None, body) => {
                let ids: Vec<String> = self
                    .connections
                    .keys()
                    .map(|id| format!("{id:#x}"))
                    .collect();
                let right = match &ids[..] {
                    [] => "there is no connection".into(),
                    ids => format!("{} is right", ids.join(" or ")),
                };
                let words = format!(
                    "a {name} from {} for communication ID {:#x}: {right}",
                    from.ip,
                    body.ids().1.unwrap_or_default()
                );
                self.refuse("unknown_id", words);
            }
        }
    }

    /// The own number of the connection that a message is about.
    fn known(&self, from: Address, message: &CmMessage) -> Option<u32> {
        let (theirs, own) = message.body.ids();
        let is_it = |it: &Connection| match own {
            Some(own) => {
                it.local_id == own && it.remote_id.is_none_or(|id| id == theirs || theirs == 0)
            }
            None => it.remote_id == Some(theirs),
        };
        let mut all = self.connections.values();
        all.find(|it| it.peer.ip == from.ip && is_it(it))
            .map(|it| it.local_id)
    }

    fn about(&mut self, id: u32, message: &CmMessage, now: Time) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let name = message.body.name();
        match connection.take(message, now) {
            Ok(outcome) => self.follow(id, outcome),
            Err(Odd::Duplicate) => self.count(format!("{name} again")),
            Err(Odd::Unexpected(state)) => {
                let words =
                    format!("a {name} for communication ID {id:#x}, which is in state {state:?}");
                self.refuse("unexpected", words);
            }
            Err(Odd::Qpn(found, right)) => {
                let (found, right) = (found.get(), right.get());
                let words = format!("a {name} names QP {found:#x}; {right:#x} is right");
                self.refuse("qpn", words);
            }
        }
    }

    /// Does what a connection wants.
    fn follow(&mut self, id: u32, outcome: connection::Outcome) {
        let Some(connection) = self.connections.get(&id) else {
            return;
        };
        let (own, peer) = (connection.own, connection.peer);
        if let Some(message) = outcome.send {
            self.send(own, peer, message);
        }
        if self.current == Some(id) {
            self.events.extend(outcome.event);
        }
        if outcome.over {
            self.connections.remove(&id);
            self.current = self.current.filter(|current| *current != id);
        }
    }

    /// The peer asks for a connection that is not known.
    fn asked(&mut self, own: Address, from: Address, request: CmReqRepr, message: &CmMessage) {
        if let Some((reason, words)) = self.unwanted(own, from, &request, &message.private) {
            let body = CmBody::Rej(CmRejRepr {
                remote_id: request.local_id,
                reason: reason.0,
                ..CmRejRepr::default()
            });
            let answer = CmMessage {
                transaction: message.transaction,
                body,
                private: Vec::new(),
            };
            self.send(own, from, answer);
            let words = format!("a REQ from {}: {words}", from.ip);
            return self.refuse("rejected", words);
        }
        let id = self.new_id();
        let connection = Connection::asked((own, from), id, message.transaction, request);
        self.events.push_back(Event::Request(connection.offer()));
        self.connections.insert(id, connection);
        self.current = Some(id);
    }

    /// Why a request is refused, and in words what was read and what would be right.
    fn unwanted(
        &self,
        own: Address,
        from: Address,
        request: &CmReqRepr,
        private: &[u8],
    ) -> Option<(RejectReason, String)> {
        let port = port_of_service(request.service);
        if self.listens.is_none() || port != self.listens {
            let right = match self.listens {
                Some(port) => format!("{:#018x}, port {port}, is right", service_of_port(port)),
                None => "nobody waits for connections".into(),
            };
            let words = format!("its service ID is {:#018x}; {right}", request.service);
            return Some((RejectReason::INVALID_SERVICE, words));
        }
        if request.service_type != RC {
            let found = request.service_type;
            let words = format!("its transport service type is {found}; 0, RC, is right");
            return Some((RejectReason::INVALID_SERVICE_TYPE, words));
        }
        if !(1..=5).contains(&request.mtu) {
            let words = format!(
                "the code of its path MTU is {}; 1 to 5 is right",
                request.mtu
            );
            return Some((RejectReason::INVALID_MTU, words));
        }
        if let Err(words) = read_addressing(private, own.ip, from.ip) {
            return Some((RejectReason::CONSUMER, words));
        }
        let busy = self.current.and_then(|id| self.connections.get(&id));
        if busy.is_some() {
            let words = "there is a connection already, and one at a time".into();
            return Some((RejectReason::NO_QP, words));
        }
        None
    }

    /// Sends again what was not answered in time. Returns the frames that are sent.
    pub fn poll(&mut self, now: Time) -> Vec<Bytes> {
        let ids: Vec<u32> = self.connections.keys().copied().collect();
        for id in ids {
            if let Some(connection) = self.connections.get_mut(&id) {
                let outcome = connection.late(now);
                if let Some(message) = &outcome.send {
                    self.count(format!("{} resent", message.body.name()));
                }
                self.follow(id, outcome);
            }
        }
        let mut frames = Vec::new();
        while let Some((own, to, message)) = self.out.pop_front() {
            frames.push(datagram::write(own, to, self.dscp, self.psn, &message));
            self.psn = self.psn.advance(1);
        }
        frames
    }

    /// When a message is sent, unless a frame comes before.
    pub fn deadline(&self, now: Time) -> Option<Time> {
        let due = self.connections.values().filter_map(Connection::due);
        due.chain((!self.out.is_empty()).then_some(now)).min()
    }
}

/// Looks whether the private data of a request has the addresses that its packet has.
fn read_addressing(private: &[u8], own: IpAddr, from: IpAddr) -> Result<(), String> {
    let view = IpCm::new_checked(private).map_err(|error| format!("its private data: {error}"))?;
    let header = IpCmRepr::parse(&view);
    let version = if from.is_ipv4() { 4 } else { 6 };
    let within = "in the IP addressing of its private data";
    if header.major != IP_MAJOR {
        let found = header.major;
        return Err(format!(
            "the major version {within} is {found}; {IP_MAJOR} is right"
        ));
    }
    if header.ip_version != version {
        let found = header.ip_version;
        return Err(format!(
            "the IP version {within} is {found}; {version} is right"
        ));
    }
    let is_v4 = version == 4;
    for (which, found, right) in [
        ("source", header.src, from),
        ("destination", header.dst, own),
    ] {
        let found = address_of(found, is_v4);
        if found != right {
            return Err(format!("the {which} {within} is {found}; {right} is right"));
        }
    }
    Ok(())
}
