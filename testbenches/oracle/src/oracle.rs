//! Takes the log, puts it in order, and hands each fact to the rules that it concerns.

use std::collections::BTreeMap;

use crate::breach::{Breach, Place};
use crate::connection::Connection;
use crate::fact::{Fact, Ps, Qp, What};
use crate::held::Held;
use crate::message::Message;
use crate::region::Regions;
use crate::rules;
use crate::stats::Stats;

/// What depends on the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long a frame may still leave a NIC after what ends its QP was seen, and how long an answer may be on its way
    /// through the NIC.
    pub grace: Ps,
    /// How long a receive buffer may wait until the NIC has it, and a completion until the host has it: at least
    /// the longest time for which hosts stall.
    pub stall: Ps,
    /// Whether all bytes of a message have to be in the peer's memory when the sender completes it. With `false`, as
    /// of a NIC that answers when it has accepted a packet and before its host takes the bytes, they are when the log
    /// ends.
    pub written_first: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            grace: 5_000_000,
            stall: 5_000_000,
            written_first: true,
        }
    }
}

/// Judges a log of two NICs.
///
/// Facts may be told in any order until [`Oracle::judge_until`] names a later time; facts of the same time are judged
/// in the order in which they were told.
pub struct Oracle<F> {
    pub(crate) options: Options,
    /// What the memory of a side holds where messages come from.
    pub(crate) source: F,
    pending: BTreeMap<(Ps, u64), Fact>,
    told: u64,
    judged: Ps,
    pub(crate) regions: [Regions; 2],
    /// What was written to the memory of each side.
    pub(crate) held: [Held; 2],
    pub(crate) connections: Vec<Connection>,
    /// By side and QP number, the connection of the QP that is open, or was.
    current: [BTreeMap<u32, usize>; 2],
    /// The connection before it.
    before: [BTreeMap<u32, usize>; 2],
    pub(crate) stats: Stats,
}

impl<F: Fn(usize, u64) -> u8> Oracle<F> {
    /// Judges two NICs without QPs; `source(side, va)` is the byte in a side's memory where its messages come from.
    pub fn new(options: Options, source: F) -> Self {
        Self {
            options,
            source,
            pending: BTreeMap::new(),
            told: 0,
            judged: 0,
            regions: Default::default(),
            held: Default::default(),
            connections: vec![],
            current: Default::default(),
            before: Default::default(),
            stats: Stats::default(),
        }
    }

    /// Takes a fact.
    pub fn tell(&mut self, fact: Fact) {
        self.pending.insert((fact.at, self.told), fact);
        self.told += 1;
    }

    /// Judges everything before a time. All facts of before have to be told.
    ///
    /// # Errors
    ///
    /// The first breach. Nothing that is judged after one means anything.
    pub fn judge_until(&mut self, until: Ps) -> Result<(), Breach> {
        while let Some(entry) = self.pending.first_entry() {
            let at = entry.key().0;
            if at >= until {
                break;
            }
            let fact = entry.remove();
            let place = Place {
                at,
                side: fact.side,
                qpn: None,
            };
            place.holds(at >= self.judged, &rules::LOG, || {
                format!("told after {}: {:?}", self.judged, fact.what)
            })?;
            self.judge(place, fact.what)?;
        }
        self.judged = self.judged.max(until);
        Ok(())
    }

    /// Judges all facts, and what has to hold when nothing happens any more.
    ///
    /// # Errors
    ///
    /// As [`Oracle::judge_until`].
    pub fn finish(&mut self) -> Result<(), Breach> {
        let end = self
            .pending
            .last_key_value()
            .map_or(self.judged, |((at, _), _)| *at);
        self.judge_until(Ps::MAX)?;
        for connection in &mut self.connections {
            rest(end, connection)?;
        }
        Ok(())
    }

    /// Figures of what was judged.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    fn judge(&mut self, place: Place, what: What) -> Result<(), Breach> {
        let side = place.side;
        match what {
            What::Registered(region) => self.regions[side].register(region, place.at),
            What::Removing { key } => self.regions[side].remove_begins(key),
            What::Removed { key } => self.regions[side].remove_ends(key),
            What::Unreadable { va, bytes } => self.regions[side].forbid_reads(va, bytes),
            What::Opened(qp) => self.open(place, qp)?,
            What::Closed { qpn } => self.close(place, qpn)?,
            What::Posted { qpn, work } => {
                let index = self.open_qp(place, qpn)?;
                self.connections[index].ways[side]
                    .messages
                    .post(work, place.at);
            }
            What::Buffer { qpn, buffer } => {
                let index = self.open_qp(place, qpn)?;
                self.connections[index].ways[1 - side]
                    .buffers
                    .push((place.at, buffer));
            }
            What::Completed { qpn, completion } => {
                let index = self.open_qp(place, qpn)?;
                let place = Place {
                    qpn: Some(qpn),
                    ..place
                };
                self.completed(&place, index, &completion)?;
            }
            What::Read { va, key, bytes } => self.read(&place, va, key, &bytes)?,
            What::Written { va, bytes } => self.written(&place, va, &bytes)?,
            What::Sent(bytes) => self.sent(place, &bytes)?,
            What::Arrived(bytes) => self.arrived(place, &bytes),
            What::Overflowed => {
                let ends = self
                    .connections
                    .iter_mut()
                    .filter_map(|connection| connection.ends[side].as_mut());
                ends.for_each(|end| end.lossy = true);
            }
        }
        Ok(())
    }

    /// The connection of a QP that is open.
    fn open_qp(&self, place: Place, qpn: u32) -> Result<usize, Breach> {
        match self.current[place.side].get(&qpn) {
            Some(&index) if self.is_open(index, place.side) => Ok(index),
            _ => place.breaks(&rules::LOG, format!("QP {qpn:#x} is not open")),
        }
    }

    pub(crate) fn is_open(&self, index: usize, side: usize) -> bool {
        self.connections[index].ends[side]
            .as_ref()
            .is_some_and(|end| end.closed.is_none())
    }

    /// The connections of a side's QPs that are open.
    pub(crate) fn open_on(&self, side: usize) -> impl Iterator<Item = usize> {
        let all = self.current[side].values().copied();
        all.filter(move |index| self.is_open(*index, side))
    }

    /// The connection of a side's QP, and the one before it, which may have closed lately.
    pub(crate) fn connections_of(&self, side: usize, qpn: u32) -> [Option<usize>; 2] {
        [&self.current, &self.before].map(|map| map[side].get(&qpn).copied())
    }

    /// The number of a side's QP whose peer's is this one.
    pub(crate) fn qpn_to(&self, side: usize, peer_qpn: u32) -> Option<u32> {
        let to = |(_, index): &(&u32, &usize)| {
            self.connections[**index].ends[side]
                .as_ref()
                .is_some_and(|end| end.qp.peer_qpn == peer_qpn)
        };
        self.current[side].iter().find(to).map(|(qpn, _)| *qpn)
    }

    fn open(&mut self, place: Place, qp: Qp) -> Result<(), Breach> {
        let side = place.side;
        let own = self.current[side].get(&qp.qpn).copied();
        let closed = own.is_none_or(|index| !self.is_open(index, side));
        place.holds(closed, &rules::LOG, || format!("{qp:?} is open"))?;
        let peer = self.current[1 - side].get(&qp.peer_qpn).copied();
        let waiting = peer.filter(|index| {
            self.connections[*index].ends[side].is_none() && self.is_open(*index, 1 - side)
        });
        let index = match waiting {
            Some(index) => {
                self.connections[index].join(&place, qp, self.options)?;
                index
            }
            None => {
                self.connections
                    .push(Connection::new(side, qp, self.options));
                self.connections.len() - 1
            }
        };
        if let Some(old) = self.current[side].insert(qp.qpn, index) {
            self.before[side].insert(qp.qpn, old);
        }
        Ok(())
    }

    fn close(&mut self, place: Place, qpn: u32) -> Result<(), Breach> {
        let side = place.side;
        let index = self.open_qp(place, qpn)?;
        let place = Place {
            qpn: Some(qpn),
            ..place
        };
        let any_removed = self.regions[side].any_removed;
        let connection = &mut self.connections[index];
        let way = &mut connection.ways[1 - side];
        way.check_delivered(&place)?;
        if let Some(end) = &mut connection.ends[side] {
            end.closed = Some(place.at);
            // The NAK that would have said why may have been discarded.
            let long = way.buffers.iter().enumerate().any(|(index, (_, buffer))| {
                let message = way
                    .messages
                    .taking(index)
                    .map(|place| &way.messages.list()[place].work);
                message.is_some_and(|work| work.length > buffer.length)
            });
            if !any_removed && !long {
                end.check_flushes()?;
            }
        }
        Ok(())
    }
}

/// Judges a connection when nothing happens any more.
fn rest(at: Ps, connection: &mut Connection) -> Result<(), Breach> {
    for side in 0..2 {
        let Some(end) = connection.ends[side]
            .as_ref()
            .filter(|end| end.closed.is_none())
        else {
            continue;
        };
        let place = Place {
            at,
            side,
            qpn: Some(end.qp.qpn),
        };
        end.check_flushes()?;
        let failed = end.failed.is_some();
        let way = &connection.ways[side];
        let left = &way.messages.list()[way.sends.done..];
        // Of a QP in error, success may still be silent until the first work request that fails.
        let silent = |message: &Message| {
            let succeeded = !way.sends.failed && way.requests.acked >= message.end;
            !message.work.signaled && (!failed || succeeded)
        };
        let missing = left.iter().find(|message| !silent(message));
        place.holds(missing.is_none(), &rules::SEND_MISSING, || {
            format!("the QP is in error: {failed}; left is {missing:?}")
        })?;
        let way = &mut connection.ways[1 - side];
        let left = way.buffers.len() - way.receives.done;
        place.holds(!failed || left == 0, &rules::RECEIVE_MISSING, || {
            format!("{left} receive buffers are left")
        })?;
        way.check_delivered(&place)?;
    }
    Ok(())
}
