//! The device of a stack: what it is given, and what it sends.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use smoltcp::phy::{self, Checksum, ChecksumCapabilities, Device, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// Packets or frames for a stack, and those that it sends.
#[derive(Debug)]
pub(crate) struct StackDevice {
    medium: Medium,
    mtu: usize,
    checksum: Checksum,
    pub(crate) received: VecDeque<Bytes>,
    pub(crate) sent: VecDeque<BytesMut>,
}

impl StackDevice {
    /// A device for IP packets of at most `mtu` bytes, whose checksums were looked at before.
    pub(crate) const fn ip(mtu: usize) -> Self {
        Self::new(Medium::Ip, mtu, Checksum::Tx)
    }

    /// A device for Ethernet frames of at most `mtu` bytes without FCS.
    pub(crate) const fn ethernet(mtu: usize) -> Self {
        Self::new(Medium::Ethernet, mtu, Checksum::Both)
    }

    const fn new(medium: Medium, mtu: usize, checksum: Checksum) -> Self {
        Self {
            medium,
            mtu,
            checksum,
            received: VecDeque::new(),
            sent: VecDeque::new(),
        }
    }
}

impl Device for StackDevice {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received, Sent<'_>)> {
        let packet = self.received.pop_front()?;
        Some((Received(packet), Sent(&mut self.sent)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Sent<'_>> {
        Some(Sent(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut checksum = ChecksumCapabilities::default();
        (checksum.ipv4, checksum.tcp) = (self.checksum, self.checksum);
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = self.medium;
        capabilities.max_transmission_unit = self.mtu;
        capabilities.checksum = checksum;
        capabilities
    }
}

/// A packet for the stack.
pub(crate) struct Received(Bytes);

impl phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

/// Room for a packet of the stack.
pub(crate) struct Sent<'a>(&'a mut VecDeque<BytesMut>);

impl phy::TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = BytesMut::zeroed(length);
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}
