//! `axis_nic` as a host of Xoff's scenarios.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xoff_cosim::network::arp::Arp;
use xoff_cosim::network::device::{
    Created, Device, Driver, Edge, Framing, HostSetup, Limits, Pauses, PortShape, Receive, Transmit,
};
use xoff_cosim::units::axi_lite::{AxiLite, Response};
use xoff_cosim::units::axi_stream;
use xoff_sim::host::{ReadRequest, WriteBeat};
use xoff_sim::frame::Frame;
use xoff_sim::mac::Beat;
use xoff_sim::nic::{Address, QpSettings, Region};
use xoff_sim::protocol::gbn::{Completion, Recv, Status, Work, WorkKind};
use xoff_sim::time::{ByteCount, Clock, Duration};
use xoff_sim::wire::{MacAddr, Psn};

verilated::tops!();

use axis_nic::{In, Out};

/// The pins.
#[derive(Debug)]
pub struct AxisPins;

impl Device for AxisPins {
    type Model = AxisNic;
    const PORT: PortShape = PortShape {
        width: 8,
        period: Duration::from_ps(6_400),
        receive: Receive::Ready {
            fifo: ByteCount::new(64 << 10),
        },
        transmit: Transmit::StoreAndForward,
        fcs: false,
        padded: true,
        pauses: Pauses::Nobody,
        framing: Framing::Ethernet,
    };
    const RESET_CYCLES: u32 = 4;
    const CHECKPOINTS: bool = true;

    fn reset(pins: &mut In, active: bool) {
        pins.aresetn = (!active).into();
    }

    fn receive(pins: &mut In, beat: Option<&Beat>) {
        pins.s_axis_tvalid = beat.is_some().into();
        if let Some(beat) = beat {
            pins.s_axis_tkeep = axi_stream::put(&mut pins.s_axis_tdata, &beat.data) as u8;
            pins.s_axis_tlast = beat.last.into();
        }
    }

    fn received(out: &Out) -> bool {
        out.s_axis_tready != 0
    }

    fn transmit_ready(pins: &mut In, ready: bool) {
        pins.m_axis_tready = ready.into();
    }

    fn transmit(out: &Out) -> Result<Option<Beat>, String> {
        if out.m_axis_tvalid == 0 {
            return Ok(None);
        }
        let last = out.m_axis_tlast != 0;
        let data = axi_stream::take(&out.m_axis_tdata, out.m_axis_tkeep.into(), last)?;
        Ok(Some(Beat {
            data: data.into(),
            last,
        }))
    }
}

// Registers, as `axis_nic.sv` has them.
const QPN: u32 = 0x00;
const FIRST_PSN: u32 = 0x04;
const STATUS: u32 = 0x08;
const MAC_LOW: u32 = 0x10;
const MAC_HIGH: u32 = 0x14;
const IP: u32 = 0x18;
const PEER_IP: u32 = 0x1C;
const PEER_QPN: u32 = 0x20;
const PEER_PSN: u32 = 0x24;
const PORT: u32 = 0x28;
const TIMEOUT: u32 = 0x2C;
const RETRIES: u32 = 0x30;
const CONNECT: u32 = 0x34;

/// The key of the QP's memory. The NIC has SENDs only, so no peer ever uses it.
const KEY: u32 = 1;
/// The longest message, one packet.
const MESSAGE_MAX: u32 = 1_024;

/// The software: one QP, registers over AXI4-Lite, payload as streams.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AxisDriver {
    own: Address,
    period: Duration,
    registers: AxiLite,
    arp: Arp,
    created: Option<Created>,
    connecting: bool,
    /// The message that the NIC has, and its payload that it has not taken.
    sending: Option<Work>,
    payload: VecDeque<(Vec<u8>, bool)>,
    /// Posted receive buffers; the message that comes goes to the first, behind the bytes that it has.
    buffers: VecDeque<Recv>,
    written: u64,
}

/// An IPv4 address as the registers have it. Hosts with others are refused, as the limits say.
fn v4(address: &Address) -> u32 {
    match address.ip {
        std::net::IpAddr::V4(ip) => ip.into(),
        std::net::IpAddr::V6(_) => 0,
    }
}

impl Driver for AxisDriver {
    type Device = AxisPins;

    fn limits() -> Limits {
        Limits {
            qps: 1,
            operations: &[WorkKind::SEND],
            answers: &[WorkKind::SEND],
            granted: 0,
            mtus: &[1024, 2048, 4096],
            message: MESSAGE_MAX,
            outstanding: 16,
            ipv6: false,
        }
    }

    fn new(setup: &HostSetup) -> Self {
        Self {
            own: setup.address,
            period: setup.clock.period,
            registers: AxiLite::default(),
            arp: Arp::new(&setup.neighbours),
            created: None,
            connecting: false,
            sending: None,
            payload: VecDeque::new(),
            buffers: VecDeque::new(),
            written: 0,
        }
    }

    // The NIC has its own ideas of QP number and PSN: they are read, in simulated time.
    fn create(&mut self, _index: u16, _psn: Psn, _region: &Region) {
        let MacAddr([a, b, c, d, e, f]) = self.own.mac;
        let mac = (
            u32::from_be_bytes([c, d, e, f]),
            u32::from_be_bytes([0, 0, a, b]),
        );
        for (register, word) in [(MAC_LOW, mac.0), (MAC_HIGH, mac.1), (IP, v4(&self.own))] {
            self.registers.write(register, word);
        }
        self.registers.read(QPN);
        self.registers.read(FIRST_PSN);
    }

    fn created(&self, _index: u16) -> Option<Created> {
        self.created
    }

    fn connect(&mut self, _index: u16, qp: &QpSettings) {
        let clock = Clock::new(self.period, Duration::ZERO);
        // IBTA §9.7.6.1.3: 4.096 us · 2^t; 0 is never.
        let timeout = match qp.requester.timeout {
            0 => u32::MAX,
            code => {
                let timeout = Duration::from_ns(4_096) * (1 << code);
                clock.cycles_in(timeout).0.min(u32::MAX.into()) as u32
            }
        };
        for (register, word) in [
            (PEER_IP, v4(&qp.peer)),
            (PEER_QPN, qp.peer_qpn),
            (PEER_PSN, qp.responder_psn.get()),
            (PORT, u32::from(qp.dscp) << 16 | u32::from(qp.udp_port)),
            (TIMEOUT, timeout),
            (RETRIES, qp.requester.retry.into()),
            (CONNECT, 1),
        ] {
            self.registers.write(register, word);
        }
        // Until the peer's MAC address is known.
        self.registers.wait_for(STATUS, 1);
        self.connecting = true;
    }

    fn connected(&self, _index: u16) -> bool {
        self.connecting && self.registers.idle()
    }

    fn before(&mut self, pins: &mut In, edge: &mut Edge<'_>) {
        let (now, host) = (edge.now, &mut *edge.host);
        // One work request at a time: its payload is read from memory, and goes to the NIC as it comes.
        if self.sending.is_none()
            && let Some((_, work)) = host.work(now)
        {
            host.work_taken(now);
            let read = ReadRequest {
                tag: 0,
                va: work.local_va,
                key: None,
                bytes: work.length as usize,
            };
            host.read(now, &read)
                .expect("one read at a time, of 1 to 1,024 bytes");
            self.sending = Some(work);
        }
        if let Some(beat) = host.data(now) {
            self.payload.push_back((beat.bytes, beat.last));
        }
        pins.s_msg_tvalid = (!self.payload.is_empty()).into();
        if let Some((bytes, last)) = self.payload.front() {
            pins.s_msg_tkeep = axi_stream::put(&mut pins.s_msg_tdata, bytes) as u8;
            pins.s_msg_tlast = (*last).into();
        }
        while let Some((_, buffer)) = host.recv(now) {
            host.recv_taken();
            self.buffers.push_back(buffer);
        }
        pins.buffer_ready = (!self.buffers.is_empty()).into();
        pins.m_msg_tready = host.takes_write(now).into();

        let request = self.registers.drive();
        (pins.awvalid, pins.awaddr) = (request.aw.is_some().into(), request.aw.unwrap_or(0) as u8);
        (pins.wvalid, pins.wdata) = (request.w.is_some().into(), request.w.unwrap_or(0));
        (pins.arvalid, pins.araddr) = (request.ar.is_some().into(), request.ar.unwrap_or(0) as u8);
        (pins.bready, pins.rready) = (request.b_ready.into(), request.r_ready.into());
    }

    fn after(&mut self, pins: &In, out: &Out, edge: &mut Edge<'_>) -> Result<(), String> {
        let (now, host) = (edge.now, &mut *edge.host);
        if out.s_msg_tready & pins.s_msg_tvalid != 0 {
            self.payload.pop_front();
        }
        if out.sent_valid != 0 {
            let work = self
                .sending
                .take()
                .ok_or("a message is reported that nobody sent")?;
            let completion = Completion {
                status: match out.sent_ok {
                    0 => Status::RetryExceeded,
                    _ => Status::Success,
                },
                id: work.id,
                ..Completion::default()
            };
            host.complete(now, 0, &completion);
        }
        if out.m_msg_tvalid & pins.m_msg_tready != 0 {
            let last = out.m_msg_tlast != 0;
            let bytes = axi_stream::take(&out.m_msg_tdata, out.m_msg_tkeep.into(), last)?;
            let buffer = *self.buffers.front().ok_or("a message without a buffer")?;
            let beat = WriteBeat {
                va: buffer.local_va + self.written,
                key: Some((buffer.local_key, false)),
                first: self.written == 0,
                last,
                bytes: &bytes,
            };
            host.write_beat(now, &beat)?;
            self.written += bytes.len() as u64;
            if last {
                let completion = Completion {
                    receive: true,
                    id: buffer.id,
                    length: self.written as u32,
                    ..Completion::default()
                };
                host.complete(now, 0, &completion);
                self.buffers.pop_front();
                self.written = 0;
            }
        }
        self.registers.sample(&Response {
            aw_ready: out.awready != 0,
            w_ready: out.wready != 0,
            b: (out.bvalid != 0).then_some(out.bresp),
            ar_ready: out.arready != 0,
            r: (out.rvalid != 0).then_some((out.rdata, out.rresp)),
        })?;
        if self.created.is_none()
            && self.registers.idle()
            && let (Some(qpn), Some(psn)) = (self.registers.take_word(), self.registers.take_word())
        {
            let psn = Psn::wrapping(psn);
            let key = KEY;
            self.created = Some(Created { qpn, psn, key });
        }
        Ok(())
    }

    fn answer(&mut self, frame: &Frame) -> Option<Bytes> {
        self.arp.answer(frame)
    }
}
