//! Simple nodes and frames for tests of the network: a source that is also a sink, and frames that look like RoCEv2.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::frame::Frame;
use crate::headers::Headers;
use crate::kernel::{Arrivals, Departures, Node, PortId};
use crate::seeded::Draws;
use crate::time::{Duration, LineRate, Time};
use crate::wire::{
    BthRepr, EtherType, Ethernet, EthernetRepr, IP_PROTOCOL_UDP, Ipv4, Ipv4Repr, MacAddr, Opcode,
    Pause, PauseRepr, Pfc, PfcRepr, Psn, Qpn, UDP_PORT_ROCE, Udp, UdpRepr, control_frame,
};

/// What a checkpoint of a value restores, in the format of checkpoints. (JSON would be compiled to three times as much.)
pub(crate) fn checkpointed<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let saved = postcard::to_stdvec(value).expect("memory takes it");
    postcard::from_bytes(&saved).expect("it was saved by the same program")
}

/// The properties of a frame that can be chosen.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Template {
    pub src: u8,
    pub dst: u8,
    pub dscp: u8,
    pub ecn: u8,
    pub qpn: u32,
    pub psn: u32,
    pub ip_id: u16,
    pub src_port: u16,
    pub ttl: u8,
    pub mac: MacAddr,
}

/// A frame from 10.0.0.`src` to 10.0.0.`dst` that is ECN capable and goes by way of a router.
pub(crate) fn roce_frame(src: u8, dst: u8) -> Template {
    Template {
        src,
        dst,
        dscp: 0,
        ecn: 0b10,
        qpn: 1,
        psn: 0,
        ip_id: 0,
        src_port: 0xC000,
        ttl: 64,
        mac: router_mac(),
    }
}

pub(crate) fn host_mac(host: u8) -> MacAddr {
    MacAddr([0x52, 0x54, 0, 0, 0, host])
}

/// The MAC address of all ports of the switch in tests: where hosts send what is to be routed.
pub(crate) fn router_mac() -> MacAddr {
    MacAddr([0x02, 0, 0, 0, 0, 0xFE])
}

pub(crate) fn host_ip(host: u8) -> std::net::Ipv4Addr {
    std::net::Ipv4Addr::new(10, 0, 0, host)
}

#[allow(dead_code)]
macro_rules! setters {
    ($($field:ident: $ty:ty),*) => { $(
        pub(crate) fn $field(mut self, value: $ty) -> Self {
            self.$field = value;
            self
        }
    )* };
}

impl Template {
    setters!(dscp: u8, ecn: u8, qpn: u32, psn: u32, ip_id: u16, src_port: u16, ttl: u8);

    /// The bytes of a frame of `size` bytes, at least 64. `size` includes the FCS, the bytes returned do not.
    pub(crate) fn bytes(self, size: usize) -> Bytes {
        let mut bytes = vec![0; size.max(64) - 4];
        let (eth, ip) = bytes.split_at_mut(EthernetRepr::LEN);
        EthernetRepr {
            dst: self.mac,
            src: host_mac(self.src),
            ether_type: EtherType::IPV4,
        }
        .emit(&mut Ethernet::new_unchecked(eth));
        Ipv4Repr {
            traffic_class: self.dscp << 2 | self.ecn,
            total_length: ip.len() as u16,
            id: self.ip_id,
            flags: 0b010,
            fragment_offset: 0,
            ttl: self.ttl,
            protocol: IP_PROTOCOL_UDP,
            src: host_ip(self.src).into(),
            dst: host_ip(self.dst).into(),
        }
        .emit(&mut Ipv4::new_unchecked(&mut *ip));
        let udp = &mut ip[Ipv4Repr::LEN..];
        UdpRepr {
            src_port: self.src_port,
            dst_port: UDP_PORT_ROCE,
            length: udp.len() as u16,
            checksum: 0,
        }
        .emit(&mut Udp::new_unchecked(&mut *udp));
        BthRepr {
            opcode: Opcode::RC_SEND_ONLY,
            dest_qp: Qpn::new(self.qpn).unwrap(),
            psn: Psn::wrapping(self.psn),
            ..BthRepr::default()
        }
        .emit(&mut crate::wire::Bth::new_unchecked(
            &mut udp[UdpRepr::LEN..],
        ));
        bytes.into()
    }
}

/// A node with one port that sends a list of frames one after the other, none before its time, and obeys PFC for the
/// priority of each frame.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Source {
    rate: LineRate,
    /// Earliest start, priority and bytes of each frame.
    queue: VecDeque<(Time, u8, Bytes)>,
    /// Time from a pause frame's last bit until it takes effect.
    response: Duration,
    coming: VecDeque<(Time, PfcRepr)>,
    paused_until: [Time; 8],
    on_wire: Option<Frame>,
    line_free: Time,
    pub received: Vec<Frame>,
    pub pauses: u64,
    pub sent: u64,
}

impl Source {
    pub(crate) fn new(rate: LineRate, response: Duration) -> Self {
        Self {
            rate,
            queue: VecDeque::new(),
            response,
            coming: VecDeque::new(),
            paused_until: [Time::ZERO; 8],
            on_wire: None,
            line_free: Time::ZERO,
            received: Vec::new(),
            pauses: 0,
            sent: 0,
        }
    }

    /// Sends so many RoCE frames of random sizes at random times.
    pub(crate) fn random(draws: &mut Draws, rate: LineRate, frames: u32) -> Self {
        let mut source = Self::new(rate, Duration::ZERO);
        let mut at = Time::ZERO;
        for psn in 0..frames {
            at += Duration::from_ps(draws.below(3_000_000));
            let size = 64 + draws.below(1400) as usize;
            source = source.then(at, 3, roce_frame(1, 2).psn(psn).bytes(size));
        }
        source
    }

    pub(crate) fn then(mut self, at: Time, priority: u8, bytes: Bytes) -> Self {
        self.queue.push_back((at, priority, bytes));
        self
    }

    fn next_start(&self) -> Option<Time> {
        let (at, priority, _) = self.queue.front()?;
        Some(
            (*at)
                .max(self.line_free)
                .max(self.paused_until[usize::from(*priority)]),
        )
    }

    fn pause(&mut self, now: Time, pfc: &PfcRepr) {
        for class in 0..8 {
            if pfc.class_enable & 1 << class != 0 {
                self.paused_until[class] = now + self.rate.time_of_quanta(pfc.timers[class]);
            }
        }
    }
}

impl Node for Source {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![self.rate]
    }

    fn next_event(&self) -> Option<Time> {
        let end = self.on_wire.as_ref().map(|frame| frame.end);
        let coming = self.coming.front().map(|coming| coming.0);
        [end, coming, self.next_start()].into_iter().flatten().min()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        loop {
            let next = match (self.next_event(), arrivals.next_time()) {
                (Some(own), Some(arrival)) => own.min(arrival),
                (Some(next), None) | (None, Some(next)) => next,
                (None, None) => return,
            };
            if next >= until {
                return;
            }
            if let Some(frame) = self.on_wire.take_if(|frame| frame.end == next) {
                departures.push(PortId(0), frame);
            }
            while arrivals.next_time() == Some(next) {
                let frame = arrivals.next().unwrap().frame;
                let headers = Headers::at(frame.bytes.headers()).unwrap();
                if headers.ether_type == EtherType::MAC_CONTROL {
                    let pfc =
                        PfcRepr::parse(&Pfc::new_checked(&frame.bytes.headers()[14..]).unwrap());
                    self.pauses += 1;
                    self.coming.push_back((next + self.response, pfc));
                } else {
                    self.received.push(frame);
                }
            }
            while self.coming.front().is_some_and(|(at, _)| *at <= next) {
                let Some((at, pfc)) = self.coming.pop_front() else {
                    break;
                };
                self.pause(at, &pfc);
            }
            if self.on_wire.is_none() && self.next_start() == Some(next) {
                let (_, _, bytes) = self.queue.pop_front().unwrap();
                let frame = Frame::sent(bytes.into(), next, self.rate);
                self.line_free = frame.line_free(self.rate);
                self.on_wire = Some(frame);
                self.sent += 1;
            }
        }
    }
}

/// A PFC frame for one class.
pub(crate) fn pfc_frame(class: u8, quanta: u16) -> Bytes {
    let mut timers = [0; 8];
    timers[usize::from(class)] = quanta;
    let class_enable = 1 << class;
    control_frame(host_mac(99), |bytes| {
        PfcRepr {
            class_enable,
            timers,
        }
        .emit(&mut Pfc::new_unchecked(bytes));
    })
}

/// An 802.3x PAUSE.
pub(crate) fn pause_frame(quanta: u16) -> Bytes {
    control_frame(host_mac(99), |bytes| {
        PauseRepr { timer: quanta }.emit(&mut Pause::new_unchecked(bytes))
    })
}
