//! Frames, completions, reads and writes: each with what it is judged by.

use crate::answers;
use crate::breach::{Breach, Place};
use crate::content;
use crate::fact::{Completion, Operation, Status};
use crate::memory::{self, Writing};
use crate::message::Message;
use crate::oracle::Oracle;
use crate::packet::{ACKNOWLEDGE, CNP, Frame, Packet, read};
use crate::region::{Access, Permitted};
use crate::{receive_queue, rules, send_queue};

/// Borrows what answers of a side over a connection are judged by.
macro_rules! judged_answers {
    ($oracle:ident, $way:ident, $end:ident, $side:expr) => {
        answers::Judged {
            messages: &$way.messages,
            buffers: &$way.buffers,
            regions: $oracle.regions[$side].of_domain($end.qp.domain),
            writing: $way.writing.reached,
            responses: &$way.responses,
            lossy: $end.lossy,
            stall: $oracle.options.stall,
        }
    };
}

impl<F: Fn(usize, u64) -> u8> Oracle<F> {
    /// Judges a frame that a side sent.
    pub(crate) fn sent(&mut self, place: Place, bytes: &[u8]) -> Result<(), Breach> {
        let packet = match read(bytes) {
            Frame::Packet(packet) => packet,
            Frame::MacControl => return Ok(()),
            Frame::Other(why) => return place.breaks(&rules::FRAME_FORMAT, why),
        };
        place.holds(packet.icrc, &rules::FRAME_ICRC, || format!("{packet:?}"))?;
        place.holds(
            packet.plain && packet.checksum,
            &rules::FRAME_FORMAT,
            || format!("reserved bits, header version, pad or header checksum: {packet:?}"),
        )?;
        self.stats.sent(place.side, &packet);
        if packet.opcode == CNP {
            return Ok(());
        }
        let side = place.side;
        let Some(qpn) = self.qpn_to(side, packet.qpn) else {
            return place.breaks(
                &rules::FRAME_QP,
                format!("no QP has the peer {:#x}: {packet:?}", packet.qpn),
            );
        };
        let place = Place {
            qpn: Some(qpn),
            ..place
        };
        let [current, before] = self.connections_of(side, qpn);
        if [current, before]
            .into_iter()
            .flatten()
            .any(|index| self.is_late(&place, index, &packet))
        {
            return Ok(());
        }
        match current.filter(|index| self.is_open(*index, side)) {
            Some(index) => self.sent_over(&place, index, &packet),
            None => place.breaks(&rules::FRAME_QP, format!("the QP is closed: {packet:?}")),
        }
    }

    /// Whether a packet is one of a QP that closed a short time before.
    fn is_late(&self, place: &Place, index: usize, packet: &Packet) -> bool {
        let connection = &self.connections[index];
        let closed = connection.ends[place.side]
            .as_ref()
            .and_then(|end| end.closed);
        if closed.is_none_or(|closed| place.at > closed + self.options.grace) {
            return false;
        }
        if !packet.is_request() {
            return connection.ways[1 - place.side].answers.may_name(packet.psn);
        }
        let way = &connection.ways[place.side];
        let source = |va| (self.source)(place.side, va);
        (way.requests.number(packet.psn)).is_some_and(|number| {
            content::judge(place, &way.messages, number, packet, &source).is_ok()
        })
    }

    fn sent_over(&mut self, place: &Place, index: usize, packet: &Packet) -> Result<(), Breach> {
        let side = place.side;
        let connection = &mut self.connections[index];
        let [Some(end), _] = ends(&mut connection.ends, side) else {
            return Ok(());
        };
        let path = end.path.get_or_insert_with(|| packet.path.clone());
        place.holds(*path == packet.path, &rules::FRAME_PATH, || {
            format!("{:?}, before: {path:?}", packet.path)
        })?;
        if packet.is_response() {
            let way = &mut connection.ways[1 - side];
            let number = way.answers.number(packet.psn);
            let before = (&way.messages, way.answers.could);
            let held = &self.held[side];
            let memory = |va| held.at(va).unwrap_or_else(|| (self.source)(side, va));
            (way.responses).sent(place, packet, number, before, &memory)?;
            if let Some(message) = number.and_then(|number| way.messages.of(number)) {
                let regions = self.regions[side].of_domain(end.qp.domain);
                judge_source(place, message, true, regions)?;
            }
            self.stats.answered(place);
            return Ok(());
        }
        if let (Some(aeth), ACKNOWLEDGE) = (packet.aeth, packet.opcode) {
            let way = &mut connection.ways[1 - side];
            let judged = judged_answers!(self, way, end, side);
            way.answers.sent(place, packet, aeth, &judged)?;
            if way.answers.fatal.is_some() {
                end.explained = true;
                end.failed.get_or_insert(place.at);
            }
            self.stats.answered(place);
            return Ok(());
        }
        let over = end
            .failed
            .filter(|failed| place.at > failed + self.options.grace);
        place.holds(over.is_none(), &rules::REQUEST_FAILED, || {
            format!("in error since {over:?}: {packet:?}")
        })?;
        let way = &mut connection.ways[side];
        let Some(number) = way.requests.number(packet.psn) else {
            return place.breaks(
                &rules::REQUEST_ORDER,
                format!("before the first PSN: {packet:?}"),
            );
        };
        let source = |va| (self.source)(side, va);
        content::judge(place, &way.messages, number, packet, &source)?;
        if let Some(message) = way.messages.of(number) {
            let regions = self.regions[side].of_domain(end.qp.domain);
            judge_source(place, message, false, regions)?;
        }
        let over = way
            .done_since
            .filter(|(end, since)| number < *end && place.at > since + self.options.grace);
        place.holds(over.is_none(), &rules::REQUEST_DONE, || {
            format!("completed, end and time: {over:?}, {packet:?}")
        })?;
        way.requests.sent(place, number, &way.messages, end.lossy)
    }

    /// Notes a frame that arrived at a side. What is broken is dropped, as the NIC has to.
    pub(crate) fn arrived(&mut self, place: Place, bytes: &[u8]) {
        let Frame::Packet(packet) = read(bytes) else {
            return;
        };
        let side = place.side;
        let Some(index) =
            self.connections_of(side, packet.qpn)[0].filter(|index| self.is_open(*index, side))
        else {
            return;
        };
        // A datagram with a wrong header checksum is discarded (RFC 1122, 3.2.1.2).
        if !packet.icrc || !packet.checksum || packet.opcode == CNP {
            return;
        }
        let place = Place {
            qpn: Some(packet.qpn),
            ..place
        };
        let connection = &mut self.connections[index];
        let [Some(end), peer] = ends(&mut connection.ends, side) else {
            return;
        };
        // What the ICRC does not cover may still make the NIC drop it.
        let sent = peer.and_then(|peer| peer.path.as_ref());
        end.lossy |= sent != Some(&packet.path);
        if packet.is_response() {
            let way = &mut connection.ways[side];
            let number = (way.requests).responded(place.at, &packet, &way.messages, end.lossy);
            if let Some(number) = number {
                way.returned.arrived(number, &packet);
            }
            return;
        }
        if let (Some(aeth), ACKNOWLEDGE) = (packet.aeth, packet.opcode) {
            let way = &mut connection.ways[side];
            way.requests
                .answered(place.at, &packet, aeth, &way.messages, end.lossy);
            return;
        }
        let way = &mut connection.ways[1 - side];
        let judged = judged_answers!(self, way, end, side);
        let regions = self.regions[side].of_domain(end.qp.domain);
        let number = way.answers.arrived(place.at, &packet, &judged);
        let of = number.and_then(|number| Some((number, way.messages.of(number)?)));
        if let Some((number, message)) = of
            && message.work.operation.returns()
        {
            way.responses.asked(number);
        }
        if let Some((number, message)) = of
            && message.work.operation == Operation::SendInvalidate
            && number + 1 == message.end
            && regions.permits(Access::Invalidate, message.work.immediate, 0, 0)
        {
            self.regions[side].remove_begins(message.work.immediate);
        }
        if packet.ack_request && number.is_some() {
            self.stats.asked(&place);
        }
    }

    /// Judges a completion.
    pub(crate) fn completed(
        &mut self,
        place: &Place,
        index: usize,
        completion: &Completion,
    ) -> Result<(), Breach> {
        let side = place.side;
        let connection = &mut self.connections[index];
        let own = connection.ends[side].as_ref();
        let lossy = own.is_some_and(|end| end.lossy);
        let domain = own.map_or(0, |end| end.qp.domain);
        let peer_closed = connection.ends[1 - side]
            .as_ref()
            .is_some_and(|end| end.closed.is_some());
        if completion.receive {
            let way = &mut connection.ways[1 - side];
            let judged = receive_queue::Judged {
                messages: &way.messages,
                buffers: &way.buffers,
                answers: &way.answers,
                regions: self.regions[side].of_domain(domain),
            };
            way.receives
                .completed(place, completion, &judged, &mut way.writing)?;
            if completion.status == Status::Success
                && completion.operation == Some(Operation::SendInvalidate)
            {
                let key = completion.immediate;
                let permitted = (judged.regions).permitted(Access::Invalidate, key, 0, 0);
                place.holds(permitted, &rules::MEMORY_KEY, || {
                    format!("{completion:?}: no region of this key in the QP's domain")
                })?;
                self.regions[side].remove_ends(key);
            }
        } else {
            let way = &mut connection.ways[side];
            let judged = send_queue::Judged {
                messages: &way.messages,
                requests: &way.requests,
                regions: self.regions[side].of_domain(domain),
                lossy,
            };
            way.sends.completed(place, completion, &judged)?;
            if completion.status == Status::Success {
                let last = way.sends.done - 1;
                way.done_since = Some((way.messages.list()[last].end, place.at));
                let returned = way.returned.has(last, &way.messages);
                place.holds(returned, &rules::SEND_RETURNED, || {
                    format!("{completion:?}: {:?}", way.returned)
                })?;
                let written = !self.options.written_first || way.writing.has(last, &way.messages);
                place.holds(written, &rules::SEND_WRITTEN, || {
                    format!("{completion:?}: {:?}", way.writing)
                })?;
                if peer_closed {
                    way.check_delivered(place)?;
                }
            }
        }
        if let Some(end) = &mut connection.ends[side] {
            end.completed(place, completion);
        }
        Ok(())
    }

    /// Judges a read of a side's memory.
    pub(crate) fn read(
        &self,
        place: &Place,
        va: u64,
        key: u32,
        bytes: &[u8],
    ) -> Result<(), Breach> {
        let source = |va| (self.source)(place.side, va);
        if let Some(wrong) = content::differing(bytes, va, &source) {
            return place.breaks(
                &rules::LOG,
                format!("memory gave what it does not hold: {wrong}"),
            );
        }
        let length = bytes.len() as u64;
        let inside = |index: usize| {
            self.connections[index].ways[place.side]
                .messages
                .list()
                .iter()
                .rev()
                .any(|message| {
                    let (work, offset) = (&message.work, va.wrapping_sub(message.work.va));
                    work.key == key
                        && offset <= work.length.into()
                        && u64::from(work.length) - offset >= length
                })
        };
        let posted = (0..self.connections.len()).rev().any(inside);
        place.holds(posted, &rules::MEMORY_READ, || {
            format!("{length} bytes at {va:#x} with key {key:#x}")
        })
    }

    /// Judges a write to a side's memory. It belongs to the QP whose message goes on there with these bytes.
    pub(crate) fn written(&mut self, place: &Place, va: u64, bytes: &[u8]) -> Result<(), Breach> {
        let side = place.side;
        self.held[side].write(va, bytes);
        let length = bytes.len() as u64;
        let open: Vec<usize> = self.open_on(side).collect();
        let mut wrong = None;
        for index in open {
            let connection = &mut self.connections[index];
            let Some(qp) = connection.ends[side].as_ref().map(|end| end.qp) else {
                continue;
            };
            let place = Place {
                qpn: Some(qp.qpn),
                ..*place
            };
            let regions = self.regions[side].of_domain(qp.domain);
            let own = &mut connection.ways[side];
            if let Some(fit) = own.returned.fits(va, length, &own.messages) {
                let messages = &own.messages;
                return own.returned.write(&place, fit, bytes, messages, regions);
            }
            let way = &mut connection.ways[1 - side];
            let judged = memory::Judged {
                messages: &way.messages,
                buffers: &way.buffers,
                answers: &way.answers,
            };
            let Some(fit) = way.writing.fits(va, length, &judged) else {
                continue;
            };
            let source = |va| (self.source)(1 - side, va);
            match Writing::differing(fit, bytes, &way.messages, &source) {
                None => return (way.writing).write(&place, fit, length, &judged, regions),
                Some(what) => wrong = Some((place, what)),
            }
        }
        match wrong {
            Some((place, what)) => place.breaks(&rules::MEMORY_VALUE, what),
            None => place.breaks(
                &rules::MEMORY_PLACE,
                format!("{length} bytes at {va:#x}: no message goes on there"),
            ),
        }
    }
}

/// Judges that what a request or a response carries may be read, or might have been before its region was removed.
fn judge_source(
    place: &Place,
    message: &Message,
    response: bool,
    regions: Permitted<'_>,
) -> Result<(), Breach> {
    let work = &message.work;
    let (access, key, va) = match work.operation {
        Operation::Read if response => (Access::RemoteRead, work.remote_key, work.remote_va),
        _ if response => (Access::RemoteAtomic, work.remote_key, work.remote_va),
        operation if operation.returns() => return Ok(()),
        _ => (Access::Local { write: false }, work.key, work.va),
    };
    let length = work.length.into();
    let permitted = length == 0 || regions.permitted(access, key, va, length);
    place.holds(permitted, &rules::MEMORY_READ, || {
        format!("{length} bytes at {va:#x}: no region of key {key:#x} in the QP's domain: {work:?}")
    })
}

/// A side's end, and its peer's.
fn ends<T>(ends: &mut [Option<T>; 2], side: usize) -> [Option<&mut T>; 2] {
    let [zero, one] = ends.each_mut().map(Option::as_mut);
    match side {
        0 => [zero, one],
        _ => [one, zero],
    }
}
