//! Drives `nic`: a MAC that paces, a host whose memory is a function of the address, registers. A cycle a call.

use std::collections::VecDeque;

use verilated::Settings;
use xoff_rtl::{Nic, nic};
use xoff_sim::host::memory;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Completion, Cycle, Recv, Work};

use super::registers::Registers;
use super::verbs::{put_recv, put_work, take_completion};
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
/// Cycles after a reset in which [`RtlNic::new`] lets its memories become clear.
pub const CLEARING: u64 = 300;
/// `wake_o` of a unit without a deadline.
const NEVER: u64 = Cycle::MAX.0;

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

/// What the host does not do in a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Take DMA reads.
    pub reads: bool,
    /// Give the data of one, whether its first or not.
    pub data: bool,
    /// Take DMA writes.
    pub writes: bool,
    /// Take completions.
    pub completions: bool,
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
    completions: Vec<(u8, Completion)>,
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
    /// What the host does not do.
    pub stalls: Stalls,
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
            stalls: Stalls::default(),
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

    /// A frame comes from the wire: its first beat in the first cycle not before `at_ps`, behind those of earlier times and the one that is coming in.
    pub fn receive(&mut self, at_ps: u64, frame: Vec<u8>) {
        let earlier = self.rx.partition_point(|(at, _)| *at <= at_ps);
        let place = earlier.max(usize::from(self.rx_offset > 0));
        self.rx.insert(place, (at_ps, frame));
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

    /// Completions since the last call, each with its QP index.
    pub fn take_completions(&mut self) -> Vec<(u8, Completion)> {
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
            put_work(&mut pins.work_i, work);
        }
        pins.recv_valid_i = u8::from(!self.recv.is_empty());
        if let Some((qp, recv)) = self.recv.front() {
            pins.recv_qp_i = *qp;
            put_recv(&mut pins.recv_i, recv);
        }
        pins.cqe_ready_i = u8::from(!self.stalls.completions);
        pins.read_ready_i = u8::from(!self.stalls.reads);
        pins.write_ready_i = u8::from(!self.stalls.writes);

        // Data of any read that is due, not always the oldest.
        if self.fetching.is_none() && !self.stalls.data {
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
        if let Some(fetch) = self.fetching.as_mut().filter(|_| !self.stalls.data) {
            let bytes = fetch.left.min(BEAT);
            let mut data = [0; BEAT];
            memory::fill(fetch.va, &mut data[..bytes]);
            pins.data_valid_i = 1;
            pins.data_tag_i = fetch.tag;
            pins.data_last_i = u8::from(fetch.left <= BEAT);
            beat::put(&mut pins.data_data_i, &data[..bytes]);
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
                        return Err(self.broken(format!("tx frame of {} bytes", bytes.len())));
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
                return Err(self.broken("tx_valid_o fell inside a frame".into()));
            }
        }
        if out.work_ready_o != 0 && self.pins_in.work_valid_i != 0 {
            self.work.pop_front();
        }
        if out.recv_ready_o != 0 && self.pins_in.recv_valid_i != 0 {
            self.recv.pop_front();
        }
        if out.cqe_valid_o != 0 && self.pins_in.cqe_ready_i != 0 {
            let completion = take_completion(&out.cqe_o);
            let completion = completion.map_err(|what| self.broken(what))?;
            self.completions.push((out.cqe_qp_o, completion));
        }
        if out.read_valid_o != 0 && self.pins_in.read_ready_i != 0 {
            let (bytes, tag) = (u64::from(out.read_bytes_o), out.read_tag_o);
            if !(1..=4096).contains(&bytes) {
                return Err(self.broken(format!("DMA read of {bytes} bytes")));
            }
            let pending = self.fetching.iter().chain(&self.fetches);
            if pending.into_iter().any(|fetch| fetch.tag == tag) {
                return Err(self.broken(format!("DMA read of tag {tag}, which is not answered")));
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
                return Err(self.broken(format!(
                    "DMA write beat at {:#x}, {expected:#x} expected, first {first}",
                    out.write_va_o
                )));
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
}

impl Registers for RtlNic {
    fn pins(&mut self) -> (&mut nic::In, &nic::Out) {
        (&mut self.pins_in, &self.pins_out)
    }

    fn tick(&mut self) -> Result<(), UnitError> {
        self.cycle().map(drop)
    }

    fn broken(&self, what: String) -> UnitError {
        UnitError::Protocol {
            unit: "nic",
            cycle: self.now,
            what,
        }
    }
}
