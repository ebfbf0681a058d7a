//! A connection: messages over a byte stream of the crate's stack.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use smoltcp::iface::{
    Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet,
};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Packet, Ipv6Packet, TcpPacket};
use xoff_sim::host::{FlowConfig, memory};
use xoff_sim::nic::QpSettings;
use xoff_sim::protocol::gbn::Work;
use xoff_sim::time::Time;

use super::clock::{StackClock, TICK};
use super::device::StackDevice;
use super::packets::{Envelope, Tuple};
use crate::scenario::{TcpCongestion, TcpSettings};

/// Bytes of the buffer that a connection's data never goes through: they go one way.
const UNUSED: usize = 64;

/// Which side of a connection this is.
#[derive(Debug)]
enum Side {
    /// Sends the flow's messages, and opened the connection.
    Sender {
        /// Work that the application has posted and that is not in the socket's buffer in full, the first with the
        /// bytes that are.
        unsent: VecDeque<Work>,
        offset: u32,
        /// Bytes that were given to the socket.
        given: u64,
        /// Messages that are not acknowledged, each with the place in the stream where it ends.
        open: VecDeque<(u64, Work)>,
    },
    /// Receives them.
    Receiver {
        flow: FlowConfig,
        /// The next message, and its bytes that have come.
        message: u64,
        offset: u32,
    },
}

/// What a call of the stack has brought.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Frames for the line.
    pub(super) frames: Vec<Sent>,
    /// Bytes for the memory, each piece with its address.
    pub(super) written: Vec<(u64, Vec<u8>)>,
    /// Messages that are acknowledged.
    pub(super) completed: Vec<Work>,
}

/// A frame of a connection.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) bytes: Bytes,
    /// Whether it has data.
    pub(super) data: bool,
    /// Whether all of its data was sent before.
    pub(super) again: bool,
}

/// One end of a connection.
pub(super) struct Connection {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    packets: StackDevice,
    clock: StackClock,
    pub(super) envelope: Envelope,
    pub(super) tuple: Tuple,
    side: Side,
    /// Bytes of data in a full segment.
    segment: u64,
    /// The sequence number of the first byte of the stream, and the bytes that were sent.
    first: Option<i32>,
    sent: u64,
}

/// What a connection is opened with.
pub(super) struct Opening<'a> {
    pub(super) settings: &'a TcpSettings,
    pub(super) qp: &'a QpSettings,
    /// The own port for connections that others open.
    pub(super) port: u16,
    pub(super) seed: u64,
    /// The flow that is received. `None`: this end sends.
    pub(super) receives: Option<FlowConfig>,
}

fn congestion(kind: TcpCongestion) -> CongestionControl {
    match kind {
        TcpCongestion::Reno => CongestionControl::Reno,
        TcpCongestion::Cubic => CongestionControl::Cubic,
        TcpCongestion::None => CongestionControl::None,
    }
}

impl Connection {
    /// Opens one end. The sender's SYN goes out with the first [`poll`](Self::poll).
    ///
    /// # Errors
    ///
    /// An address that no connection can have.
    pub(super) fn open(opening: Opening<'_>, now: Time) -> Result<Self, String> {
        let Opening { settings, qp, .. } = opening;
        let clock = StackClock::new(settings.min_rto);
        let mut packets = StackDevice::ip(settings.mtu as usize);
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = opening.seed;
        let mut interface = Interface::new(config, &mut packets, clock.at(now));
        let own = IpAddress::from(qp.own.ip);
        let peer = IpAddress::from(qp.peer.ip);
        interface.update_ip_addrs(|list| {
            let bits = if qp.own.ip.is_ipv6() { 128 } else { 32 };
            // There is room for an address in a list without any.
            let _ = list.push(IpCidr::new(own, bits));
        });
        let window = settings.window.get() as usize;
        let buffer = |bytes: usize| SocketBuffer::new(vec![0; bytes]);
        let (receive, send) = match opening.receives {
            Some(_) => (window, UNUSED),
            None => (UNUSED, window),
        };
        let mut socket = Socket::new(buffer(receive), buffer(send));
        socket.set_congestion_control(congestion(settings.congestion));
        // Every segment is acknowledged at once, for a message is complete when it is acknowledged.
        socket.set_ack_delay(None);
        socket.set_hop_limit(Some(qp.hop_limit));
        let remote = qp.peer_qpn as u16;
        let (tuple, side) = match opening.receives {
            None => {
                let local = (own, qp.udp_port);
                (socket.connect(interface.context(), (peer, remote), local))
                    .map_err(|error| error.to_string())?;
                let side = Side::Sender {
                    unsent: VecDeque::new(),
                    offset: 0,
                    given: 0,
                    open: VecDeque::new(),
                };
                ((qp.udp_port, peer, remote), side)
            }
            Some(flow) => {
                (socket.listen((own, opening.port))).map_err(|error| error.to_string())?;
                let side = Side::Receiver {
                    flow,
                    message: 0,
                    offset: 0,
                };
                ((opening.port, peer, qp.udp_port), side)
            }
        };
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Ok(Self {
            interface,
            sockets,
            handle,
            packets,
            clock,
            envelope: Envelope::new(qp),
            tuple,
            side,
            segment: u64::from(settings.mtu) - if qp.own.ip.is_ipv6() { 60 } else { 40 },
            first: None,
            sent: 0,
        })
    }

    /// Whether both ends have agreed on the connection.
    pub(super) fn established(&self) -> bool {
        self.sockets.get::<Socket<'_>>(self.handle).state() == State::Established
    }

    /// Takes a message that the application has posted.
    pub(super) fn post(&mut self, work: Work) {
        if let Side::Sender { unsent, .. } = &mut self.side {
            unsent.push_back(work);
        }
    }

    /// Gives the stack a packet.
    pub(super) fn receive(&mut self, packet: Bytes, now: Time) -> Outcome {
        self.packets.received.push_back(packet);
        self.poll(now)
    }

    /// Has the stack do what is due.
    pub(super) fn poll(&mut self, now: Time) -> Outcome {
        let stack = self.clock.at(now);
        let mut outcome = Outcome::default();
        let Self {
            interface,
            packets,
            sockets,
            ..
        } = self;
        interface.poll_maintenance(stack);
        while interface.poll_ingress_single(stack, packets, sockets)
            != PollIngressSingleResult::None
        {}
        // Before the acknowledgement goes out: the application has read, and the window is as wide as ever. One that
        // changed would hide from the sender that an ACK is a duplicate.
        self.take(&mut outcome);
        self.fill();
        // With Nagle's rule the stack sends full segments alone, else whatever a window has room for, down to a byte.
        // The end of what there is to send waits for nobody, as with TCP_NODELAY.
        for end in [false, true] {
            if end && !(1..self.segment).contains(&self.unsent()) {
                break;
            }
            let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
            socket.set_nagle_enabled(!end);
            while (self.interface).poll_egress(stack, &mut self.packets, &mut self.sockets)
                != PollResult::None
            {}
            while let Some(packet) = self.packets.sent.pop_front() {
                let frame = self.frame(packet);
                outcome.frames.push(frame);
            }
        }
        outcome
    }

    /// Bytes in the socket's buffer that were never sent.
    const fn unsent(&self) -> u64 {
        match &self.side {
            Side::Sender { given, .. } => given.saturating_sub(self.sent),
            Side::Receiver { .. } => 0,
        }
    }

    /// When the stack has something to do unless a packet comes before. Not before `now`.
    pub(super) fn deadline(&mut self, now: Time) -> Option<Time> {
        let stack = self.clock.at(now);
        let due = self.interface.poll_at(stack, &self.sockets)?;
        Some(self.clock.when(due.max(stack + TICK)))
    }

    /// Fills the socket's buffer with what is to be sent.
    fn fill(&mut self) {
        let Side::Sender {
            unsent,
            offset,
            given,
            open,
        } = &mut self.side
        else {
            return;
        };
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        while let Some(work) = unsent.front() {
            if !socket.can_send() {
                return;
            }
            let (from, left) = (work.local_va + u64::from(*offset), work.length - *offset);
            let sent = socket.send(|buffer| {
                let length = buffer.len().min(left as usize);
                memory::fill(from, &mut buffer[..length]);
                (length, length)
            });
            let sent = sent.unwrap_or(0);
            *given += sent as u64;
            *offset += sent as u32;
            if *offset == work.length {
                open.push_back((*given, *work));
                unsent.pop_front();
                *offset = 0;
            }
        }
    }

    /// Takes what has come and what was acknowledged.
    fn take(&mut self, outcome: &mut Outcome) {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        match &mut self.side {
            Side::Sender { given, open, .. } => {
                let acknowledged = *given - socket.send_queue() as u64;
                while let Some((end, work)) = open.front()
                    && *end <= acknowledged
                {
                    outcome.completed.push(*work);
                    open.pop_front();
                }
            }
            Side::Receiver {
                flow,
                message,
                offset,
            } => {
                while socket.can_recv() {
                    let got = socket.recv(|bytes| {
                        let length = flow.shape(*message).1 - *offset;
                        let length = bytes.len().min(length as usize);
                        (length, bytes[..length].to_vec())
                    });
                    let Ok(bytes) = got else { break };
                    let va = flow.address(*message) + u64::from(*offset);
                    *offset += bytes.len() as u32;
                    if *offset == flow.shape(*message).1 {
                        *message += 1;
                        *offset = 0;
                    }
                    outcome.written.push((va, bytes));
                }
            }
        }
    }

    /// A packet of the stack as a frame.
    fn frame(&mut self, packet: BytesMut) -> Sent {
        let header = match packet[0] >> 4 {
            6 => Ipv6Packet::new_unchecked(&packet[..]).header_len(),
            _ => usize::from(Ipv4Packet::new_unchecked(&packet[..]).header_len()),
        };
        let tcp = TcpPacket::new_unchecked(&packet[header..]);
        let length = packet.len() - header - usize::from(tcp.header_len());
        let (from, data) = (tcp.seq_number().0, length > 0);
        let mut again = false;
        if data {
            // Of the stream's place the low 32 bits are known, and that it is near the last one.
            let first = *self.first.get_or_insert(from);
            let end = from.wrapping_sub(first).wrapping_add(length as i32);
            let ahead = end.wrapping_sub(self.sent as i32);
            again = ahead <= 0;
            self.sent += u64::try_from(ahead).unwrap_or(0);
        }
        Sent {
            bytes: self.envelope.frame(packet),
            data,
            again,
        }
    }
}
