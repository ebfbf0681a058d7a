//! The host's own stack, of the crate smoltcp: what a peer asks of a host beside its NIC. It answers ARP, neighbour
//! discovery and pings, and has one TCP connection.

use std::net::IpAddr;

use bytes::{Bytes, BytesMut};
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::socket::icmp;
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{
    EthernetAddress, Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpAddress, IpCidr,
};
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{MIN_FRAME_BYTES, MacAddr};

use crate::tcp::clock::{StackClock, TICK};
use crate::tcp::device::StackDevice;

/// Bytes of each of the connection's buffers: many times what an exchange of addresses has.
const BUFFER: usize = 64 << 10;
/// Largest frame without FCS: that of an Ethernet without jumbo frames, which every peer takes.
const FRAME: usize = 1514;
/// Its second is ours.
const CLOCK: StackClock = StackClock::new(Duration::from_s(1));
/// Bits of a network's prefix.
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;

/// Identifier of the own pings, and the bytes that a ping or its answer may have.
const PING: u16 = 1;
const PING_BYTES: usize = 256;

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connected {
    /// Nobody has connected yet.
    Waiting,
    /// Both sides may write.
    Open,
    /// The other end has sent its last byte, or has reset the connection.
    Closed,
}

/// The stack.
pub(super) struct Stack {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    pings: SocketHandle,
    device: StackDevice,
}

impl Stack {
    /// A stack at a port with these addresses.
    pub fn new(mac: MacAddr, addresses: &[IpAddr], seed: u64) -> Self {
        let mut device = StackDevice::ethernet(FRAME);
        let mut config = Config::new(EthernetAddress(mac.0).into());
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        interface.update_ip_addrs(|list| {
            for address in addresses {
                let bits = if address.is_ipv6() {
                    PREFIX_V6
                } else {
                    PREFIX_V4
                };
                // There is room for four.
                let _ = list.push(IpCidr::new((*address).into(), bits));
            }
        });
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        // Tools read what they expect with one call: what is written at once has to come at once.
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(None);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        let few = || {
            let place = vec![icmp::PacketMetadata::EMPTY; 2];
            icmp::PacketBuffer::new(place, vec![0; PING_BYTES])
        };
        let pings = sockets.add(icmp::Socket::new(few(), few()));
        Self {
            interface,
            sockets,
            socket,
            pings,
            device,
        }
    }

    /// Pings a host: whoever answers, to ARP or to the ping, has told its MAC address. While a ping waits for that
    /// address, there is no second one.
    ///
    /// # Errors
    ///
    /// An address that nobody can have.
    pub fn ping(&mut self, peer: IpAddr) -> Result<(), String> {
        let socket = self.sockets.get_mut::<icmp::Socket<'_>>(self.pings);
        // Nobody looks at the answers.
        while socket.recv().is_ok() {}
        if socket.send_queue() > 0 {
            return Ok(());
        }
        if !socket.is_open() {
            let bound = socket.bind(icmp::Endpoint::Ident(PING));
            bound.map_err(|error| error.to_string())?;
        }
        let checksums = ChecksumCapabilities::default();
        let bytes = match peer {
            IpAddr::V4(_) => {
                let ping = Icmpv4Repr::EchoRequest {
                    ident: PING,
                    seq_no: 0,
                    data: &[],
                };
                let mut bytes = vec![0; ping.buffer_len()];
                ping.emit(&mut Icmpv4Packet::new_unchecked(&mut bytes), &checksums);
                bytes
            }
            IpAddr::V6(peer) => {
                let ping = Icmpv6Repr::EchoRequest {
                    ident: PING,
                    seq_no: 0,
                    data: &[],
                };
                let mut bytes = vec![0; ping.buffer_len()];
                // The stack knows from which address it goes, and computes the checksum again.
                let packet = &mut Icmpv6Packet::new_unchecked(&mut bytes);
                ping.emit(&peer, &peer, packet, &checksums);
                bytes
            }
        };
        (socket.send_slice(&bytes, peer.into())).map_err(|error| error.to_string())
    }

    /// Waits for a connection at a port.
    ///
    /// # Errors
    ///
    /// The port is 0.
    pub fn listen(&mut self, port: u16) -> Result<(), String> {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        socket.abort();
        socket.listen(port).map_err(|error| error.to_string())
    }

    /// Connects to a port of the peer.
    ///
    /// # Errors
    ///
    /// An address that no connection can have.
    pub fn connect(&mut self, peer: IpAddr, port: u16, local: u16) -> Result<(), String> {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        socket.abort();
        let to = (IpAddress::from(peer), port);
        (socket.connect(self.interface.context(), to, local)).map_err(|error| error.to_string())
    }

    /// How far the connection is.
    pub fn connected(&self) -> Connected {
        let socket = self.sockets.get::<Socket<'_>>(self.socket);
        match socket.state() {
            State::Listen | State::SynSent | State::SynReceived => Connected::Waiting,
            State::Established | State::FinWait1 | State::FinWait2 => Connected::Open,
            _ => Connected::Closed,
        }
    }

    /// The bytes that have come and were not taken.
    pub fn waiting(&mut self) -> usize {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        socket.recv_queue()
    }

    /// Takes at most `most` bytes that have come.
    pub fn read(&mut self, most: usize) -> Vec<u8> {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        let mut bytes = vec![0; most.min(socket.recv_queue())];
        let read = socket.recv_slice(&mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    /// Sends bytes, as one segment if they fit in one. Returns whether there was room for all.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        socket
            .send_slice(bytes)
            .is_ok_and(|sent| sent == bytes.len())
    }

    /// Sends no more.
    pub fn close(&mut self) {
        self.sockets.get_mut::<Socket<'_>>(self.socket).close();
    }

    /// Resets the connection.
    pub fn abort(&mut self) {
        self.sockets.get_mut::<Socket<'_>>(self.socket).abort();
    }

    /// Gives the stack a frame.
    pub fn receive(&mut self, frame: Bytes) {
        self.device.received.push_back(frame);
    }

    /// Does what is due. Returns the frames that it sends, padded.
    pub fn poll(&mut self, now: Time) -> Vec<Bytes> {
        let Self {
            interface,
            device,
            sockets,
            ..
        } = self;
        while interface.poll(CLOCK.at(now), device, sockets) != PollResult::None {}
        let padded = |mut frame: BytesMut| {
            frame.resize(frame.len().max(MIN_FRAME_BYTES), 0);
            frame.freeze()
        };
        device.sent.drain(..).map(padded).collect()
    }

    /// When it has something to do unless a frame comes before. Not before `now`.
    pub fn deadline(&mut self, now: Time) -> Option<Time> {
        let stack = CLOCK.at(now);
        let due = self.interface.poll_at(stack, &self.sockets)?;
        Some(CLOCK.when(due.max(stack + TICK)))
    }
}
