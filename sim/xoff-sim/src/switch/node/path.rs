//! The path of a frame through the switch, from its arrival to an egress queue, or to a drop.

use super::super::egress::{Charge, Queued};
use super::super::forwarding::Verdict;
use super::super::{DropReason, MarkAt};
use super::Switch;
use crate::frame::{Frame, FrameBytes};
use crate::headers::{Headers, rewrite};
use crate::kernel::PortId;
use crate::mac::pause_receiver::Control;
use crate::time::Time;
use crate::wire::{
    CONTROL_PAUSE, EtherType, Ethernet, EthernetRepr, MIN_FRAME_BYTES, MacAddr, Tci,
};

/// How a frame leaves.
#[derive(Debug, Clone, Copy)]
struct Exit {
    routed: bool,
    dst: Option<MacAddr>,
    /// When it came.
    at: Time,
    ready: Time,
}

/// The decision of RED for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marking {
    Pass,
    Mark,
    Drop,
}

impl Switch {
    pub(super) fn receive(&mut self, now: Time, port: PortId, frame: Frame) {
        let size = frame.size();
        let broken = if !frame.fcs_ok {
            Some(DropReason::BadFcs)
        } else if frame.bytes.len() < MIN_FRAME_BYTES {
            Some(DropReason::Runt)
        } else if size > self.config.max_frame.get() {
            Some(DropReason::Giant)
        } else {
            None
        };
        let headers = match (broken, Headers::at(frame.bytes.headers())) {
            (None, Some(headers)) => headers,
            (reason, _) => {
                self.ports[usize::from(port.0)].counters.received[0].count(size);
                return self.drop(port, 0, reason.unwrap_or(DropReason::Runt));
            }
        };
        if headers.ether_type == EtherType::MAC_CONTROL {
            return self.control(now, port, headers.dst, &frame);
        }
        let priority = self.priority(&headers);
        let ingress = &mut self.ports[usize::from(port.0)].counters;
        ingress.received[usize::from(priority)].count(size);
        if self.ports[usize::from(port.0)].egress.given_up(priority) {
            return self.drop(port, priority, DropReason::Watchdog);
        }
        let trunk = self.config.ports[usize::from(port.0)].trunk.is_some();
        if trunk && headers.tag.is_none() {
            return self.drop(port, priority, DropReason::Untagged);
        }
        if self.faults.is_idle() {
            return self.forward(now, port, priority, frame, &headers);
        }
        let mut passed: Vec<Frame> = Vec::new();
        self.faults.pass(frame, |frame| passed.push(frame));
        if passed.is_empty() {
            return self.drop(port, priority, DropReason::Fault);
        }
        let counters = &mut self.ports[usize::from(port.0)].counters;
        counters.copies += passed.len() as u64 - 1;
        for frame in passed {
            // A fault rule may have changed the frame.
            match Headers::at(frame.bytes.headers()) {
                Some(headers) => self.forward(now, port, priority, frame, &headers),
                None => self.drop(port, priority, DropReason::Runt),
            }
        }
    }

    fn control(&mut self, now: Time, port: PortId, dst: MacAddr, frame: &Frame) {
        let own = self.config.ports[usize::from(port.0)].mac;
        let receiver = &mut self.ports[usize::from(port.0)];
        let control = &frame.bytes.headers()[EthernetRepr::LEN..];
        // PAUSE may also be sent to the port's own address (IEEE 802.3 annex 31B).
        let pause = control.starts_with(&CONTROL_PAUSE.to_be_bytes());
        if dst != MacAddr::CONTROL && !(pause && dst == own) {
            receiver.counters.received[0].count(frame.size());
            return self.drop(port, 0, DropReason::OtherMac);
        }
        match receiver.egress.pauses.receive(now, control) {
            Control::Pause => receiver.counters.pauses_received += 1,
            Control::Unknown => {
                receiver.counters.received[0].count(frame.size());
                self.drop(port, 0, DropReason::Control);
            }
        }
        self.touch(port);
    }

    fn forward(&mut self, now: Time, port: PortId, priority: u8, frame: Frame, headers: &Headers) {
        if self.config.ports[usize::from(port.0)].learn && !headers.src.is_group() {
            self.forwarding.macs.learn(now, headers.src, port);
        }
        let exit = |routed, dst| Exit {
            routed,
            dst,
            at: now,
            // Frames that a rule delays have a later `end`.
            ready: frame.end.max(now) + self.config.latency,
        };
        let lossless = self.buffer.lossless(priority);
        self.forwarding.count_packet();
        let arrived = &self.config.ports[usize::from(port.0)];
        match self
            .forwarding
            .decide(now, port, arrived, headers, lossless)
        {
            Verdict::Drop(reason) => self.drop(port, priority, reason),
            // A router sends back what its routes lead back to, such as in a loop of two.
            Verdict::Port {
                port: out,
                routed: false,
                ..
            } if out == port => {
                self.drop(port, priority, DropReason::SamePort);
            }
            Verdict::Port {
                port: out,
                routed,
                dst,
            } => {
                let exit = exit(routed, dst.or(self.next_router(out, routed)));
                let mark = match self.may_leave(out, priority, headers) {
                    Ok(mark) => mark,
                    Err(reason) => return self.drop(port, priority, reason),
                };
                if let Err(reason) = self.admit(now, port, priority, frame.size()) {
                    return self.drop(port, priority, reason);
                }
                let charge = Charge {
                    ingress: port,
                    priority,
                    size: frame.size(),
                    flooded: None,
                };
                self.enqueue(out, charge, headers, frame, exit, mark);
            }
            Verdict::Flood { routed, dst } => {
                self.flood(port, priority, headers, &frame, exit(routed, dst));
            }
        }
    }

    /// Sends a frame out of all ports but the one where it arrived.
    fn flood(&mut self, port: PortId, priority: u8, headers: &Headers, frame: &Frame, exit: Exit) {
        let others = (0..self.ports.len() as u16).map(PortId);
        let mut copies = Vec::new();
        for out in others.filter(|out| *out != port) {
            match self.may_leave(out, priority, headers) {
                Ok(mark) => copies.push((out, mark)),
                Err(reason) => {
                    self.drop(port, priority, reason);
                    self.ports[usize::from(port.0)].counters.copies += 1;
                }
            }
        }
        if copies.is_empty() {
            // With a single port, or with no link up.
            if self.ports.len() == 1 {
                return self.drop(port, priority, DropReason::SamePort);
            }
            self.ports[usize::from(port.0)].counters.copies -= 1;
            return;
        }
        if let Err(reason) = self.admit(exit.at, port, priority, frame.size()) {
            return self.drop(port, priority, reason);
        }
        self.floods += 1;
        self.flooded.insert(self.floods, copies.len() as u32);
        let counters = &mut self.ports[usize::from(port.0)].counters;
        counters.copies += copies.len() as u64 - 1;
        let charge = Charge {
            ingress: port,
            priority,
            size: frame.size(),
            flooded: Some(self.floods),
        };
        for (out, mark) in copies {
            self.enqueue(out, charge, headers, frame.clone(), exit, mark);
        }
    }

    /// Whether a frame may join an egress queue, and whether it is marked then.
    fn may_leave(
        &mut self,
        out: PortId,
        priority: u8,
        headers: &Headers,
    ) -> Result<bool, DropReason> {
        let exit = &self.ports[usize::from(out.0)];
        if !exit.up {
            return Err(DropReason::LinkDown);
        }
        if exit.egress.given_up(priority) {
            return Err(DropReason::Watchdog);
        }
        match self.marks(out, priority, headers) {
            Marking::Drop => Err(DropReason::RedIncapable),
            marking => Ok(marking == Marking::Mark),
        }
    }

    /// Takes a frame into the buffer, and notes whether the peer has to pause.
    fn admit(
        &mut self,
        now: Time,
        port: PortId,
        priority: u8,
        size: u64,
    ) -> Result<(), DropReason> {
        let queue = usize::from(priority);
        let admitted = self.buffer.admit(port, priority, size);
        let held = *self.buffer.queue(port, priority);
        let ingress = &mut self.ports[usize::from(port.0)];
        if held.xoff && ingress.egress.xoff.set(priority, true) {
            ingress.counters.xoff[queue] += 1;
            self.touched.push(port);
        }
        let peak = &mut ingress.counters.ingress_peak[queue];
        *peak = held.bytes().max(*peak);
        let peak = &mut ingress.counters.headroom_peak[queue];
        *peak = held.headroom.max(*peak);
        if let (Some(levels), Ok(())) = (&mut self.levels, admitted) {
            levels.admitted(now, port, priority, size);
        }
        admitted
    }

    /// Appends a frame that is in the buffer to an egress queue.
    fn enqueue(
        &mut self,
        out: PortId,
        charge: Charge,
        headers: &Headers,
        frame: Frame,
        exit: Exit,
        mark: bool,
    ) {
        let queue = usize::from(charge.priority);
        let bytes = self.rewrite(frame.bytes, headers, out, charge.priority, exit, mark);
        let egress = &mut self.ports[usize::from(out.0)];
        egress.counters.marked[queue] += u64::from(mark);
        let queued = Queued {
            bytes,
            fcs_ok: frame.fcs_ok,
            charge,
            ready: exit.ready,
        };
        if let Some(levels) = &mut self.levels {
            levels.queued(exit.at, out, queued.size());
        }
        egress.egress.push(queued);
        let peak = &mut egress.counters.egress_peak[queue];
        *peak = egress.egress.waiting(charge.priority).max(*peak);
        self.touch(out);
    }

    fn marks(&mut self, out: PortId, priority: u8, headers: &Headers) -> Marking {
        let red = &self.config.red[usize::from(priority)];
        let Some(red) = red.filter(|_| self.config.mark_at == MarkAt::Enqueue) else {
            return Marking::Pass;
        };
        let egress = &mut self.ports[usize::from(out.0)];
        let red = red.at(egress.egress.rate);
        if !red.marks(egress.egress.waiting(priority), &mut egress.marking) {
            return Marking::Pass;
        }
        let capable = headers
            .ip
            .is_some_and(|ip| rewrite::ecn_capable(ip.traffic_class));
        let already = headers
            .ip
            .is_some_and(|ip| rewrite::is_ce(ip.traffic_class));
        match (capable, red.drop_incapable) {
            (true, _) if already => Marking::Pass,
            (true, _) => Marking::Mark,
            (false, true) => Marking::Drop,
            (false, false) => Marking::Pass,
        }
    }

    /// The frame as it is sent: if needed, with TTL decremented, new addresses, without the tags of the network that
    /// it came from, with the tag of a trunk, and marked CE.
    fn rewrite(
        &self,
        bytes: FrameBytes,
        headers: &Headers,
        out: PortId,
        priority: u8,
        exit: Exit,
        mark: bool,
    ) -> FrameBytes {
        let Some(mut ip) = headers.ip.filter(|_| exit.routed || mark) else {
            return bytes;
        };
        let out = &self.config.ports[usize::from(out.0)];
        let bytes = bytes.edited(|mut bytes| {
            if exit.routed {
                rewrite::decrement_ttl(&mut bytes, &ip);
                ip.ttl -= 1;
            }
            if mark {
                rewrite::mark_ce(&mut bytes, &ip);
            }
            if let Some(dst) = exit.dst {
                let mut eth = Ethernet::new_unchecked(&mut bytes[..]);
                eth.set_dst(dst);
                eth.set_src(out.mac);
            }
            let vid = out.trunk;
            if !exit.routed || (headers.tag.is_none() && vid.is_none()) {
                return bytes;
            }
            let tag = vid.map(|vid| Tci {
                pcp: priority,
                dei: false,
                vid,
            });
            rewrite::retag(&bytes, &ip, tag)
        });
        bytes.padded()
    }
}

/// A frame marked CE, if it can be marked and is not yet. Counts it then.
pub(super) fn marked(bytes: FrameBytes, count: &mut u64) -> FrameBytes {
    let ip = Headers::at(bytes.headers()).and_then(|headers| headers.ip);
    let markable = |ip: &crate::headers::IpFields| {
        rewrite::ecn_capable(ip.traffic_class) && !rewrite::is_ce(ip.traffic_class)
    };
    let Some(ip) = ip.filter(markable) else {
        return bytes;
    };
    *count += 1;
    bytes.edited(|mut bytes| {
        rewrite::mark_ce(&mut bytes, &ip);
        bytes
    })
}
