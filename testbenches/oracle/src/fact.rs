//! What the oracle is told: plain facts, seen from outside of the two NICs.

/// Picoseconds since the start of the log.
pub type Ps = u64;

/// What happened at a side, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// When it happened. A frame that was sent has the time of its first byte, one that arrived that of its last. What
    /// goes into a NIC may be said to happen early, what comes out of it late, never the other way around.
    pub at: Ps,
    /// 0 or 1.
    pub side: usize,
    /// What happened.
    pub what: What,
}

/// What can happen at a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Memory was registered.
    Registered(Region),
    /// The removal of the region with this key has begun. From now on the NIC may refuse it.
    Removing {
        /// Its key.
        key: u32,
    },
    /// The removal has ended. From now on nothing is written there.
    Removed {
        /// Its key.
        key: u32,
    },
    /// From now on memory cannot be read: a DMA read may be answered with an error.
    Unreadable {
        /// Address of the first byte.
        va: u64,
        /// How many there are.
        bytes: u64,
    },
    /// A QP was opened.
    Opened(Qp),
    /// A QP was closed: the command has ended.
    Closed {
        /// The QP's own number.
        qpn: u32,
    },
    /// A work request was posted.
    Posted {
        /// The QP's own number.
        qpn: u32,
        /// The work request.
        work: Work,
    },
    /// A receive buffer was posted.
    Buffer {
        /// The QP's own number.
        qpn: u32,
        /// The buffer.
        buffer: Buffer,
    },
    /// A completion came.
    Completed {
        /// The QP's own number.
        qpn: u32,
        /// The completion.
        completion: Completion,
    },
    /// The NIC read memory.
    Read {
        /// Address of the first byte.
        va: u64,
        /// Key that it named.
        key: u32,
        /// What memory gave.
        bytes: Vec<u8>,
    },
    /// The NIC wrote memory: the payload of a packet, or a part of it.
    Written {
        /// Address of the first byte.
        va: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A frame was sent: its bytes from the destination address on, without FCS.
    Sent(Vec<u8>),
    /// A frame arrived whose FCS is right: its bytes, as those of [`What::Sent`].
    Arrived(Vec<u8>),
    /// The NIC has said that it dropped frames for want of room. What only holds for a NIC that takes all that
    /// arrives is not judged at this side from now on.
    Overflowed,
}

/// Registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Address of the first byte.
    pub base: u64,
    /// Length in bytes.
    pub length: u64,
    /// Its key.
    pub key: u32,
    /// Its protection domain, which is one of its side.
    pub domain: u32,
    /// Whether receive buffers may be in it.
    pub local_write: bool,
    /// Whether the peer may write to it.
    pub remote_write: bool,
    /// Whether the peer may read it.
    pub remote_read: bool,
    /// Whether the peer's atomics may be performed in it.
    pub remote_atomic: bool,
}

/// A QP as it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Qp {
    /// Its own number.
    pub qpn: u32,
    /// The number of the peer's QP.
    pub peer_qpn: u32,
    /// Its protection domain, which is one of its side.
    pub domain: u32,
    /// PSN of its first request.
    pub first_psn: u32,
    /// PSN of the peer's first request.
    pub peer_first_psn: u32,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// The ACK timeout; `None`: off.
    pub timeout: Option<Ps>,
    /// Timeouts and sequence NAKs without progress, after which the next one is an error.
    pub retries: u8,
    /// RNR NAKs without progress, after which the next one is an error; 7: they never are.
    pub rnr_retries: u8,
    /// Go-back-0: a message that has lost a packet is sent from its start.
    pub restart: bool,
    /// Most requests outstanding; `None`: not judged.
    pub window: Option<u32>,
    /// Most READs and atomics unanswered; `None`: not judged.
    pub reads: Option<u32>,
}

/// What a work request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendImmediate,
    /// SEND with invalidate.
    SendInvalidate,
    /// WRITE.
    Write,
    /// WRITE with immediate data.
    WriteImmediate,
    /// READ.
    Read,
    /// Compare and swap.
    CompareSwap,
    /// Fetch and add.
    FetchAdd,
}

impl Operation {
    /// Whether it is a WRITE of either kind.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::WriteImmediate)
    }

    /// Whether it takes a receive buffer of the peer.
    pub const fn takes_buffer(self) -> bool {
        !matches!(self, Self::Write) && !self.returns()
    }

    /// Whether it brings something back: a READ or an atomic.
    pub const fn returns(self) -> bool {
        matches!(self, Self::Read) || self.is_atomic()
    }

    /// Whether it is an atomic.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::CompareSwap | Self::FetchAdd)
    }

    /// Whether its last packet carries immediate data or a key.
    pub const fn has_word(self) -> bool {
        !matches!(self, Self::Send | Self::Write) && !self.returns()
    }
}

/// A work request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// What its completion names.
    pub id: u64,
    /// What it does.
    pub operation: Operation,
    /// Whether success makes a completion.
    pub signaled: bool,
    /// Whether it asks for a solicited event.
    pub solicited: bool,
    /// Whether it waits until the READs and atomics before it are answered.
    pub fence: bool,
    /// Length in bytes; 8 of an atomic.
    pub length: u32,
    /// Address of the source; of a READ or an atomic, where what comes back goes.
    pub va: u64,
    /// Key of that memory.
    pub key: u32,
    /// Address at the peer, of a WRITE, a READ or an atomic.
    pub remote_va: u64,
    /// Key at the peer, of the same.
    pub remote_key: u32,
    /// What an atomic adds or stores.
    pub swap_add: u64,
    /// What an atomic compares with.
    pub compare: u64,
    /// Immediate data, or the key to invalidate.
    pub immediate: u32,
}

/// A receive buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// What its completion names.
    pub id: u64,
    /// Length in bytes.
    pub length: u32,
    /// Address of the first byte.
    pub va: u64,
    /// Key of its memory.
    pub key: u32,
}

/// A completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// What the work request or the buffer was posted with.
    pub id: u64,
    /// Whether it is of the receive queue.
    pub receive: bool,
    /// How it ended.
    pub status: Status,
    /// Bytes, if it ended in success.
    pub length: u32,
    /// Immediate data or the invalidated key, of a receive that ended in success.
    pub immediate: u32,
    /// Whether the message asked for a solicited event, of a receive that ended in success.
    pub solicited: bool,
    /// The operation: at the sender that of the work request; at the receiver, in success, that of the message.
    pub operation: Option<Operation>,
}

/// How a work request or a buffer ended (volume 1, 11.6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Success,
    /// Local length error.
    LocalLength,
    /// Local protection error.
    LocalAccess,
    /// Work request flushed error.
    Flushed,
    /// Remote invalid request error.
    RemoteInvalid,
    /// Remote access error.
    RemoteAccess,
    /// Remote operation error.
    RemoteOperation,
    /// Transport retry counter exceeded.
    RetryExceeded,
    /// RNR retry counter exceeded.
    RnrExceeded,
    /// Bad response error.
    BadResponse,
}
