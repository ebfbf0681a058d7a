//! Drives `nic`: a MAC that paces, a host whose memory is a function of the address, registers. A cycle a call.

use std::collections::VecDeque;

use thiserror::Error;
use verilated::{Fields, FieldsMut, Settings};
use xoff_rtl::{Nic, nic};
use xoff_sim::nic_registers as reg;

use super::{PERIOD_256_PS, UnitError, beat};

/// Bytes of a beat.
const BEAT: usize = 32;
/// Picoseconds a byte at 40 Gb/s.
pub const BYTE_PS: u64 = 200;
/// Bytes before a frame on the wire.
const PREAMBLE: u64 = 8;
/// FCS and gap after it.
const FCS: u64 = 4;
const GAP: u64 = 12;
/// A frame's bytes on the wire beyond its own.
pub const WIRE_OVERHEAD: u64 = PREAMBLE + FCS + GAP;
/// Cycles after which a register that does not answer never will.
const PATIENCE: u64 = 10_000;
/// Cycles after a reset in which [`RtlNic::new`] lets its memories become clear.
pub const CLEARING: u64 = 300;
const NEVER: u64 = (1 << 48) - 1;

/// What memory holds at an address: a hash, so that every wrong address shows.
pub fn memory(va: u64) -> u8 {
    let mut x = va.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (x ^ (x >> 31)) as u8
}

/// A work request of kind `work_e`: SEND or WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// `work_e`.
    pub kind: u8,
    /// Success makes a completion too.
    pub signaled: bool,
    /// The solicited bit of the last packet.
    pub solicited: bool,
    /// Bytes.
    pub length: u32,
    /// Where they are.
    pub local_va: u64,
    /// Key of that memory.
    pub local_key: u32,
    /// WRITE: where they go.
    pub remote_va: u64,
    /// WRITE: key of that memory.
    pub remote_key: u32,
    /// Immediate data.
    pub imm: u32,
    /// Comes back with the completion.
    pub id: u64,
}

/// `work_e`.
pub const WORK_SEND: u8 = 0;
/// `work_e`.
pub const WORK_SEND_IMM: u8 = 1;
/// `work_e`.
pub const WORK_WRITE: u8 = 3;
/// `work_e`.
pub const WORK_WRITE_IMM: u8 = 4;

/// A receive buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recv {
    /// Bytes.
    pub length: u32,
    /// Where.
    pub local_va: u64,
    /// Key of that memory.
    pub local_key: u32,
    /// Comes back with the completion.
    pub id: u64,
}

/// A completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// QP index.
    pub qp: u8,
    /// Of the receive queue.
    pub receive: bool,
    /// `status_e`; 0 is success.
    pub status: u8,
    /// The work's or the buffer's.
    pub id: u64,
    /// `work_e`, or the opcode that completed a receive.
    pub operation: u8,
    /// Bytes.
    pub length: u32,
    /// Immediate data.
    pub imm: u32,
}

/// What a packet's DMA write put where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Address of the first byte.
    pub va: u64,
    /// Key.
    pub key: u32,
    /// The key is the peer's.
    pub remote: bool,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A frame that left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// When its first byte was on the wire, after the preamble.
    pub start_ps: u64,
    /// When its last bit was, FCS included.
    pub end_ps: u64,
    /// Its bytes, without FCS.
    pub bytes: Vec<u8>,
}

/// A QP, as its registers want it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QpSetup {
    /// QP index.
    pub index: u16,
    /// The peer's QP number.
    pub peer_qpn: u32,
    /// Destination address, 48 bits.
    pub dst_mac: u64,
    /// Source address, 48 bits.
    pub src_mac: u64,
    /// VLAN tags, the outer one first; at most two.
    pub tags: Vec<u16>,
    /// IPv6, else IPv4.
    pub ipv6: bool,
    /// Own address.
    pub own_ip: u128,
    /// The peer's.
    pub peer_ip: u128,
    /// DSCP.
    pub dscp: u8,
    /// 256 << mtu bytes.
    pub mtu: u8,
    /// 4.096 µs << timeout; 0: off.
    pub timeout: u8,
    /// Timeouts, and sequence NAKs if they count, one after the other before the QP ends.
    pub retry: u8,
    /// Sequence NAKs count.
    pub nak_retry: bool,
    /// RNR NAKs one after the other before the QP ends; 7: any number.
    pub rnr_retry: u8,
    /// Go-back-0, of requester and responder.
    pub restart: bool,
    /// Packets between two that ask for an ACK; 0: the last of a message only.
    pub ack_every: u8,
    /// Packets that may be unacknowledged.
    pub window: u32,
    /// RNR timer that its responder sends.
    pub rnr_timer: u8,
    /// The first PSN that it sends.
    pub requester_psn: u32,
    /// The first PSN that it expects.
    pub responder_psn: u32,
}

/// What DCQCN made of a QP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateChange {
    /// The cycle in which it was told.
    pub cycle: u64,
    /// QP index.
    pub qp: u8,
    /// kb/s.
    pub rate: u32,
    /// The limiter holds it to that rate.
    pub limited: bool,
    /// Units of 2⁻²⁴.
    pub alpha: u32,
}

/// The NIC broke a rule of its pins.
#[derive(Debug, Error)]
enum Rule {
    #[error("tx_valid_o fell inside a frame")]
    Gap,
    #[error("tx frame of {0} bytes")]
    Length(usize),
    #[error("DMA read of {0} bytes")]
    Read(u64),
    #[error("a DMA read of tag {0}, which is not answered")]
    Tag(u8),
    #[error("DMA write beat at {0:#x}, {1:#x} expected, first {2}")]
    Beat(u64, u64, bool),
    #[error("no answer from registers")]
    Registers,
    #[error("AXI response {0}")]
    Response(u8),
    #[error("still busy")]
    Busy,
}

struct Fetch {
    due: u64,
    tag: u8,
    va: u64,
    left: usize,
}

/// Whether the NIC may be left alone, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// `idle_o`.
    pub idle: bool,
    /// `wake_o`.
    pub wake: u64,
}

/// The NIC, its MAC and its host.
pub struct RtlNic {
    model: Nic,
    pins_in: nic::In,
    pins_out: nic::Out,
    now: u64,
    // MAC.
    rx: VecDeque<(u64, Vec<u8>)>,
    rx_offset: usize,
    wire_free_ps: u64,
    tx: Vec<u8>,
    tx_start_ps: u64,
    sent: Vec<Sent>,
    // Host.
    work: VecDeque<(u8, Work)>,
    recv: VecDeque<(u8, Recv)>,
    completions: Vec<Completion>,
    fetches: Vec<Fetch>,
    fetching: Option<Fetch>,
    writing: Option<Written>,
    written: Vec<Written>,
    turn: u64,
    events: [u64; reg::COUNTERS.len()],
    rates: Vec<RateChange>,
    recorded: Option<Vec<nic::In>>,
    /// Cycles from a DMA read to its data.
    pub read_delay: u64,
    /// The host takes no DMA writes.
    pub write_stall: bool,
    /// The host takes no completions.
    pub completion_stall: bool,
}

impl RtlNic {
    /// The NIC, reset, its RAMs cleared. `seed` fixes its registers' random start.
    ///
    /// # Errors
    ///
    /// The model cannot be made.
    pub fn new(name: &str, seed: u64) -> Result<Self, UnitError> {
        let settings = Settings::new(name).seed(seed).period_ps(PERIOD_256_PS);
        let mut this = Self {
            model: Nic::new(&settings)?,
            pins_in: nic::In::default(),
            pins_out: nic::Out::default(),
            now: 0,
            rx: VecDeque::new(),
            rx_offset: 0,
            wire_free_ps: 0,
            tx: Vec::new(),
            tx_start_ps: 0,
            sent: Vec::new(),
            work: VecDeque::new(),
            recv: VecDeque::new(),
            completions: Vec::new(),
            fetches: Vec::new(),
            fetching: None,
            writing: None,
            written: Vec::new(),
            turn: seed,
            events: [0; reg::COUNTERS.len()],
            rates: Vec::new(),
            recorded: None,
            read_delay: 100,
            write_stall: false,
            completion_stall: false,
        };
        this.pins_in.rst_i = 1;
        this.model.cycle(&this.pins_in, &mut this.pins_out)?;
        this.pins_in.rst_i = 0;
        for _ in 0..CLEARING {
            this.cycle()?;
        }
        Ok(this)
    }

    /// The cycle that comes next.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The model, to trace or save.
    pub fn model(&mut self) -> &mut Nic {
        &mut self.model
    }

    /// A frame comes from the wire: its first beat in the first cycle not before `at_ps`, behind those that came before.
    pub fn receive(&mut self, at_ps: u64, frame: Vec<u8>) {
        self.rx.push_back((at_ps, frame));
    }

    /// Frames that have not gone in yet.
    pub fn receiving(&self) -> usize {
        self.rx.len()
    }

    /// Queues a work request.
    pub fn post(&mut self, qp: u8, work: Work) {
        self.work.push_back((qp, work));
    }

    /// Queues a receive buffer.
    pub fn post_recv(&mut self, qp: u8, recv: Recv) {
        self.recv.push_back((qp, recv));
    }

    /// Frames that left since the last call.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.sent)
    }

    /// Completions since the last call.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.completions)
    }

    /// DMA writes since the last call, a packet each.
    pub fn take_written(&mut self) -> Vec<Written> {
        std::mem::take(&mut self.written)
    }

    /// What DCQCN changed since the last call.
    pub fn take_rates(&mut self) -> Vec<RateChange> {
        std::mem::take(&mut self.rates)
    }

    /// Pulses of `event_o` since reset, a bit each, in the order of [`reg::COUNTERS`].
    pub fn events(&self) -> &[u64; reg::COUNTERS.len()] {
        &self.events
    }

    /// Keeps what is driven from now on, a cycle each: to repeat it. Gives what was kept so far.
    pub fn record(&mut self) -> Vec<nic::In> {
        self.recorded.replace(Vec::new()).unwrap_or_default()
    }

    /// Classes that may not send.
    pub fn paused(&self) -> u8 {
        self.pins_out.paused_o
    }

    /// One cycle. What it says of rest holds for its end when the pins of the next one are the same.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL, or a broken rule of its pins.
    pub fn cycle(&mut self) -> Result<Rest, UnitError> {
        self.drive();
        if let Some(recorded) = &mut self.recorded {
            recorded.push(self.pins_in);
        }
        self.model.cycle(&self.pins_in, &mut self.pins_out)?;
        self.sample()?;
        self.now += 1;
        Ok(Rest {
            idle: self.pins_out.idle_o != 0,
            wake: self.pins_out.wake_o,
        })
    }

    /// The first cycle not before the next in which something comes to the NIC from outside: a frame, work, data. `None`: nothing will.
    pub fn next_input(&self) -> Option<u64> {
        let frame = self.rx.front().map(|(at, _)| at.div_ceil(PERIOD_256_PS));
        let data = self.fetches.iter().map(|fetch| fetch.due).min();
        let now = (!self.work.is_empty() || !self.recv.is_empty() || self.fetching.is_some())
            .then_some(self.now);
        [frame, data, now]
            .into_iter()
            .flatten()
            .min()
            .map(|cycle| cycle.max(self.now))
    }

    /// Skips to a cycle. Allowed only while the NIC rests and nothing comes.
    pub fn skip_to(&mut self, cycle: u64) {
        self.now = self.now.max(cycle.min(NEVER));
    }

    fn drive(&mut self) {
        let now_ps = self.now * PERIOD_256_PS;
        let pins = &mut self.pins_in;
        pins.now_i = self.now;

        pins.rx_valid_i = 0;
        if let Some((at, frame)) = self.rx.front()
            && (self.rx_offset > 0 || *at <= now_ps)
        {
            let rest = &frame[self.rx_offset..];
            let bytes = rest.len().min(BEAT);
            pins.rx_valid_i = 1;
            pins.rx_last_i = u8::from(rest.len() <= BEAT);
            pins.rx_bytes_i = bytes as u8;
            beat::put(&mut pins.rx_data_i, &rest[..bytes]);
            self.rx_offset += bytes;
            if self.rx_offset == frame.len() {
                self.rx_offset = 0;
                self.rx.pop_front();
            }
        }
        // A beat of slack: what is taken now may wait for the byte before it.
        pins.tx_ready_i = u8::from(self.wire_free_ps <= now_ps + PERIOD_256_PS);

        pins.work_valid_i = u8::from(!self.work.is_empty());
        if let Some((qp, work)) = self.work.front() {
            pins.work_qp_i = *qp;
            pins.work_i = put_work(work);
        }
        pins.recv_valid_i = u8::from(!self.recv.is_empty());
        if let Some((qp, recv)) = self.recv.front() {
            pins.recv_qp_i = *qp;
            FieldsMut::of(&mut pins.recv_i, 192)
                .put(32, u64::from(recv.length))
                .put(64, recv.local_va)
                .put(32, u64::from(recv.local_key))
                .put(64, recv.id)
                .end();
        }
        pins.cqe_ready_i = u8::from(!self.completion_stall);
        pins.read_ready_i = 1;
        pins.write_ready_i = u8::from(!self.write_stall);

        // Data of any read that is due, not always the oldest.
        if self.fetching.is_none() {
            let due: Vec<usize> = (0..self.fetches.len())
                .filter(|&i| self.fetches[i].due <= self.now)
                .collect();
            if !due.is_empty() {
                self.turn = self
                    .turn
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let i = due[(self.turn >> 33) as usize % due.len()];
                self.fetching = Some(self.fetches.remove(i));
            }
        }
        pins.data_valid_i = 0;
        if let Some(fetch) = &mut self.fetching {
            let bytes = fetch.left.min(BEAT);
            let data: Vec<u8> = (0..bytes as u64).map(|i| memory(fetch.va + i)).collect();
            pins.data_valid_i = 1;
            pins.data_tag_i = fetch.tag;
            pins.data_last_i = u8::from(fetch.left <= BEAT);
            beat::put(&mut pins.data_data_i, &data);
            fetch.va += bytes as u64;
            fetch.left -= bytes;
            if fetch.left == 0 {
                self.fetching = None;
            }
        }
    }

    fn sample(&mut self) -> Result<(), UnitError> {
        let now_ps = self.now * PERIOD_256_PS;
        let out = &self.pins_out;
        let mut pulses = out.event_o;
        while pulses != 0 {
            self.events[pulses.trailing_zeros() as usize] += 1;
            pulses &= pulses - 1;
        }
        if out.rate_valid_o != 0 {
            self.rates.push(RateChange {
                cycle: self.now,
                qp: out.rate_qp_o,
                rate: out.rate_o,
                limited: out.rate_limited_o != 0,
                alpha: out.alpha_o,
            });
        }
        if self.pins_in.tx_ready_i != 0 {
            if out.tx_valid_o != 0 {
                let mut start = self.wire_free_ps.max(now_ps);
                if self.tx.is_empty() {
                    start += PREAMBLE * BYTE_PS;
                    self.tx_start_ps = start;
                }
                let bytes = usize::from(out.tx_bytes_o);
                self.wire_free_ps = start + bytes as u64 * BYTE_PS;
                beat::take(&out.tx_data_o, bytes, &mut self.tx);
                if out.tx_last_o != 0 {
                    let bytes = std::mem::take(&mut self.tx);
                    if bytes.len() < 60 {
                        return Err(broken(self.now, &Rule::Length(bytes.len())));
                    }
                    let end_ps = self.wire_free_ps + FCS * BYTE_PS;
                    self.wire_free_ps = end_ps + GAP * BYTE_PS;
                    self.sent.push(Sent {
                        start_ps: self.tx_start_ps,
                        end_ps,
                        bytes,
                    });
                }
            } else if !self.tx.is_empty() {
                return Err(broken(self.now, &Rule::Gap));
            }
        }
        if out.work_ready_o != 0 && self.pins_in.work_valid_i != 0 {
            self.work.pop_front();
        }
        if out.recv_ready_o != 0 && self.pins_in.recv_valid_i != 0 {
            self.recv.pop_front();
        }
        if out.cqe_valid_o != 0 && self.pins_in.cqe_ready_i != 0 {
            let mut fields = Fields::of(&out.cqe_o, 169);
            self.completions.push(Completion {
                qp: out.cqe_qp_o,
                receive: fields.take_bool(),
                status: fields.take(4) as u8,
                id: fields.take(64),
                operation: fields.take(8) as u8,
                length: fields.take(32) as u32,
                imm: fields.take(32) as u32,
            });
        }
        if out.read_valid_o != 0 {
            let (bytes, tag) = (u64::from(out.read_bytes_o), out.read_tag_o);
            if !(1..=4096).contains(&bytes) {
                return Err(broken(self.now, &Rule::Read(bytes)));
            }
            let pending = self.fetching.iter().chain(&self.fetches);
            if pending.into_iter().any(|fetch| fetch.tag == tag) {
                return Err(broken(self.now, &Rule::Tag(tag)));
            }
            self.fetches.push(Fetch {
                due: self.now + self.read_delay,
                tag,
                va: out.read_va_o,
                left: bytes as usize,
            });
        }
        if out.write_valid_o != 0 && self.pins_in.write_ready_i != 0 {
            let first = out.write_first_o != 0;
            let mut write = match self.writing.take() {
                None => Written {
                    va: out.write_va_o,
                    key: out.write_key_o,
                    remote: out.write_remote_o != 0,
                    bytes: Vec::new(),
                },
                Some(write) => write,
            };
            let expected = write.va + write.bytes.len() as u64;
            if first != write.bytes.is_empty() || out.write_va_o != expected {
                let rule = Rule::Beat(out.write_va_o, expected, first);
                return Err(broken(self.now, &rule));
            }
            let bytes = usize::from(out.write_bytes_o);
            beat::take(&out.write_data_o, bytes, &mut write.bytes);
            if out.write_last_o != 0 {
                self.written.push(write);
            } else {
                self.writing = Some(write);
            }
        }
        Ok(())
    }

    /// Writes a register.
    ///
    /// # Errors
    ///
    /// As [`RtlNic::cycle`]; a register that does not answer, or refuses.
    pub fn write(&mut self, address: u16, data: u32) -> Result<(), UnitError> {
        self.pins_in.awaddr_i = address;
        self.pins_in.wdata_i = data;
        self.pins_in.wstrb_i = 0xF;
        self.pins_in.awvalid_i = 1;
        self.pins_in.wvalid_i = 1;
        self.pins_in.bready_i = 1;
        for _ in 0..PATIENCE {
            self.cycle()?;
            if self.pins_out.awready_o != 0 {
                self.pins_in.awvalid_i = 0;
                self.pins_in.wvalid_i = 0;
            }
            if self.pins_out.bvalid_o != 0 {
                self.pins_in.bready_i = 0;
                return match self.pins_out.bresp_o {
                    0 => Ok(()),
                    response => Err(broken(self.now, &Rule::Response(response))),
                };
            }
        }
        Err(broken(self.now, &Rule::Registers))
    }

    /// Reads a register.
    ///
    /// # Errors
    ///
    /// As [`RtlNic::write`].
    pub fn read(&mut self, address: u16) -> Result<u32, UnitError> {
        self.pins_in.araddr_i = address;
        self.pins_in.arvalid_i = 1;
        self.pins_in.rready_i = 1;
        for _ in 0..PATIENCE {
            self.cycle()?;
            if self.pins_out.arready_o != 0 {
                self.pins_in.arvalid_i = 0;
            }
            if self.pins_out.rvalid_o != 0 {
                self.pins_in.rready_i = 0;
                return Ok(self.pins_out.rdata_o);
            }
        }
        Err(broken(self.now, &Rule::Registers))
    }

    /// Puts a QP's registers into the window and opens it.
    ///
    /// # Errors
    ///
    /// As [`RtlNic::write`].
    pub fn open(&mut self, qp: &QpSetup) -> Result<(), UnitError> {
        let tag = |i: usize| u32::from(qp.tags.get(i).copied().unwrap_or(0));
        let network = (qp.tags.len() as u32) << reg::QP_TAGS_LOW
            | u32::from(qp.ipv6) << reg::QP_IPV6_LOW
            | u32::from(qp.dscp) << reg::QP_DSCP_LOW
            | 64 << reg::QP_HOP_LIMIT_LOW;
        let requester = u32::from(qp.mtu) << reg::QP_MTU_LOW
            | u32::from(qp.timeout) << reg::QP_TIMEOUT_LOW
            | u32::from(qp.retry) << reg::QP_RETRY_LOW
            | u32::from(qp.nak_retry) << reg::QP_NAK_RETRY_LOW
            | u32::from(qp.rnr_retry) << reg::QP_RNR_RETRY_LOW
            | u32::from(qp.restart) << reg::QP_RESTART_LOW
            | u32::from(qp.ack_every) << reg::QP_ACK_EVERY_LOW;
        let responder = u32::from(qp.mtu) << reg::QP_RESPONDER_MTU_LOW
            | u32::from(qp.rnr_timer) << reg::QP_RNR_TIMER_LOW
            | u32::from(qp.restart) << reg::QP_RESPONDER_RESTART_LOW;
        for (address, data) in [
            (reg::QP_DST_MAC_LOW, qp.dst_mac as u32),
            (reg::QP_DST_MAC_HIGH, (qp.dst_mac >> 32) as u32),
            (reg::QP_SRC_MAC_LOW, qp.src_mac as u32),
            (reg::QP_SRC_MAC_HIGH, (qp.src_mac >> 32) as u32),
            (
                reg::QP_TCI,
                tag(0) << reg::QP_OUTER_LOW | tag(1) << reg::QP_INNER_LOW,
            ),
            (reg::QP_NETWORK, network),
            (reg::QP_PEER_QPN, qp.peer_qpn),
            (reg::QP_REQUESTER, requester),
            (reg::QP_WINDOW, qp.window),
            (reg::QP_REQUESTER_PSN, qp.requester_psn),
            (reg::QP_RESPONDER, responder),
            (reg::QP_RESPONDER_PSN, qp.responder_psn),
        ] {
            self.write(address, data)?;
        }
        for word in 0..4 {
            self.write(reg::QP_OWN_IP + 4 * word, (qp.own_ip >> (32 * word)) as u32)?;
            self.write(
                reg::QP_PEER_IP + 4 * word,
                (qp.peer_ip >> (32 * word)) as u32,
            )?;
        }
        self.command(u32::from(qp.index) | 1 << 16)
    }

    /// Closes a QP.
    ///
    /// # Errors
    ///
    /// As [`RtlNic::write`].
    pub fn close(&mut self, index: u16) -> Result<(), UnitError> {
        self.command(u32::from(index))
    }

    fn command(&mut self, command: u32) -> Result<(), UnitError> {
        self.write(reg::QP_COMMAND, command)?;
        for _ in 0..PATIENCE {
            if self.read(reg::BUSY)? == 0 {
                return Ok(());
            }
        }
        Err(broken(self.now, &Rule::Busy))
    }

    /// Registers a region and gives its key.
    ///
    /// # Errors
    ///
    /// As [`RtlNic::write`].
    pub fn register(
        &mut self,
        index: u16,
        tag: u8,
        base: u64,
        length: u64,
        rights: Rights,
    ) -> Result<u32, UnitError> {
        let bits = u32::from(tag) << reg::REGION_TAG_LOW
            | u32::from(rights.local_write) << reg::REGION_LOCAL_WRITE_LOW
            | u32::from(rights.remote_write) << reg::REGION_REMOTE_WRITE_LOW
            | 1 << reg::REGION_VALID_LOW;
        for (address, data) in [
            (reg::REGION_BASE_LOW, base as u32),
            (reg::REGION_BASE_HIGH, (base >> 32) as u32),
            (reg::REGION_LENGTH_LOW, length as u32),
            (reg::REGION_LENGTH_HIGH, (length >> 32) as u32),
            (reg::REGION_RIGHTS, bits),
            (reg::REGION_COMMAND, u32::from(index)),
        ] {
            self.write(address, data)?;
        }
        Ok(u32::from(index) << 8 | u32::from(tag))
    }
}

/// What may be done with a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rights {
    /// Receive buffers may lie in it.
    pub local_write: bool,
    /// WRITEs may go to it.
    pub remote_write: bool,
}

fn put_work(work: &Work) -> [u32; 15] {
    let mut port = [0; 15];
    FieldsMut::of(&mut port, 454)
        .put(4, u64::from(work.kind))
        .put_bool(work.signaled)
        .put_bool(work.solicited)
        .put(32, u64::from(work.length))
        .put(64, work.local_va)
        .put(32, u64::from(work.local_key))
        .put(64, work.remote_va)
        .put(32, u64::from(work.remote_key))
        .put(32, u64::from(work.imm))
        .put(64, 0)
        .put(64, 0)
        .put(64, work.id)
        .end();
    port
}

fn broken(now: u64, rule: &Rule) -> UnitError {
    UnitError::Protocol {
        unit: "nic",
        cycle: now,
        what: rule.to_string(),
    }
}
