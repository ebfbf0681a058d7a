//! A frame as a JSON line. The keys are a stable interface: programs read them, and `xoff encode` accepts them.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};
use xoff_sim::wire::frame::{IpKind, ParsedFrame};
use xoff_sim::wire::{CONTROL_PAUSE, CONTROL_PFC, address_of};
use xoff_waves::capture::{Direction, Interface, Link, Tunnel};

use crate::decode::{Part, Seen, Segment};

/// The middle one of the three IPv4 flags.
const DONT_FRAGMENT: u8 = 0b010;

/// One JSON line. Keys of fields that the frame does not have are left out. Numbers up to 32 bits are JSON numbers;
/// 64-bit ones are strings such as `"0x00007f0012345678"`, because many JSON readers support only floating point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Number of the frame in the file, from 1.
    pub frame: u64,
    /// Capture time: nanoseconds since 1970-01-01, or since the start of a simulation. A string, like all 64-bit
    /// numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<String>,
    /// The interface that captured it, if the capture has several interfaces or named ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// `received` or `sent` at that interface, if the capture says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// `false` if the capture says that the FCS was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fcs_ok: Option<bool>,
    /// Its length without FCS.
    pub bytes: usize,
    /// How many of these bytes were recorded, if the recorder kept only the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<usize>,
    /// The link type of tcpdump's registry, if it is not Ethernet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_type: Option<u32>,
    /// The tunnels that the frame was in, the outer one first. All other keys are of the frame inside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tunnels: Vec<Tunnel>,
    /// The verdict of the parser, or why there is none: `cut`, `too_long`, `other_link`.
    pub verdict: &'static str,
    /// Why it is malformed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Source MAC address. Linux cooked captures have the sender's, and no destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_mac: Option<String>,
    /// Destination MAC address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst_mac: Option<String>,
    /// VID of the outer tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Priority of the outer tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcp: Option<u8>,
    /// DEI of the outer tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dei: Option<bool>,
    /// 4 or 6; absent for a GRH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_version: Option<u8>,
    /// Source IP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_ip: Option<String>,
    /// Destination IP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst_ip: Option<String>,
    /// Upper six bits of TOS or traffic class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// Lower two bits of TOS or traffic class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<u8>,
    /// TTL or hop limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u8>,
    /// IPv4 identification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_id: Option<u16>,
    /// IPv4 flag DF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dont_fragment: Option<bool>,
    /// Flow label of IPv6 or a GRH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_label: Option<u32>,
    /// UDP source port. The destination port is 4791.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_port: Option<u16>,
    /// BTH opcode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opcode: Option<u8>,
    /// Name of the opcode, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    /// BTH solicited event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solicited: Option<bool>,
    /// BTH migration request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig_req: Option<bool>,
    /// BTH pad count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<u8>,
    /// BTH partition key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pkey: Option<u16>,
    /// BTH FECN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fecn: Option<bool>,
    /// BTH BECN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub becn: Option<bool>,
    /// BTH destination QP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dest_qp: Option<u32>,
    /// BTH acknowledge request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_req: Option<bool>,
    /// BTH PSN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psn: Option<u32>,
    /// RETH or AtomicETH virtual address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub va: Option<Hex64>,
    /// RETH or AtomicETH remote key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rkey: Option<u32>,
    /// RETH length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma_len: Option<u32>,
    /// AtomicETH compare value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<Hex64>,
    /// AtomicETH swap or add value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_add: Option<Hex64>,
    /// AtomicAckETH original value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<Hex64>,
    /// AETH syndrome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syndrome: Option<u8>,
    /// AETH message sequence number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msn: Option<u32>,
    /// Immediate data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imm: Option<u32>,
    /// IETH remote key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inv_rkey: Option<u32>,
    /// DETH queue key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qkey: Option<u32>,
    /// DETH source QP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_qp: Option<u32>,
    /// Payload without pad and ICRC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<u16>,
    /// The payload in the form that `xoff encode` accepts: `hex:` and its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// Whether the ICRC is right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icrc_ok: Option<bool>,
    /// PFC class-enable vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_enable: Option<u16>,
    /// PFC and PAUSE times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quanta: Option<Quanta>,
    /// The TCP segment in it: ports, flags by letters, numbers, window, and bytes of data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Segment>,
    /// What of iWARP ends in that segment: the frames with which a stream begins, and PDUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub iwarp: Vec<Part>,
    /// All bytes of the frame, after `hex:`, if the keys alone do not reproduce it: verdict `other` or `malformed`, or
    /// fields that the builder does not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Formats bytes as `hex:` and hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("hex:".into(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A 64-bit number, serialized as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hex64(pub u64);

impl Serialize for Hex64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#018x}", self.0))
    }
}

/// Pause times in quanta of 512 bit times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Quanta {
    /// PAUSE has one time.
    Pause(u16),
    /// PFC has one time per class, class 0 first.
    Pfc([u16; 8]),
}

impl Row {
    /// Creates the row of frame number `frame` from the parser's result, without the keys that come from the capture
    /// and without `raw`.
    pub fn new(frame: u64, parsed: &ParsedFrame) -> Self {
        let tag = parsed.eth.as_ref().and_then(|eth| eth.tags.first());
        let ip = parsed.ip.as_ref().filter(|ip| ip.kind != IpKind::Grh);
        let v4 = parsed.ip.filter(|ip| ip.kind == IpKind::V4);
        let src_dst = parsed.ip.and_then(|_| addresses(parsed));
        let bth = parsed.bth.as_ref();
        let ext = parsed.ext.unwrap_or_default();
        Self {
            frame,
            time_ns: None,
            interface: None,
            direction: None,
            fcs_ok: None,
            bytes: parsed.frame_bytes,
            kept: None,
            link_type: None,
            tunnels: Vec::new(),
            verdict: parsed.verdict.name(),
            reason: parsed.reason.map(|reason| reason.name()),
            src_mac: parsed.eth.as_ref().map(|eth| eth.src.to_string()),
            dst_mac: parsed.eth.as_ref().map(|eth| eth.dst.to_string()),
            vlan: tag.map(|tag| tag.vid),
            pcp: tag.map(|tag| tag.pcp),
            dei: tag.map(|tag| tag.dei),
            ip_version: ip.map(|ip| if ip.kind == IpKind::V4 { 4 } else { 6 }),
            src_ip: src_dst.as_ref().map(|(src, _)| src.clone()),
            dst_ip: src_dst.map(|(_, dst)| dst),
            dscp: ip.map(|ip| ip.traffic_class >> 2),
            ecn: ip.map(|ip| ip.traffic_class & 3),
            ttl: parsed.ip.map(|ip| ip.hop_limit),
            ip_id: v4.map(|ip| ip.id),
            dont_fragment: v4.map(|ip| ip.flags & DONT_FRAGMENT != 0),
            flow_label: parsed
                .ip
                .filter(|ip| ip.kind != IpKind::V4)
                .map(|ip| ip.flow_label),
            src_port: parsed.udp_src_port,
            opcode: bth.map(|bth| bth.opcode.0),
            name: bth.and_then(|bth| bth.opcode.name().or(bth.opcode.unread_name())),
            solicited: bth.map(|bth| bth.solicited),
            mig_req: bth.map(|bth| bth.mig_req),
            pad: bth.map(|bth| bth.pad),
            pkey: bth.map(|bth| bth.pkey),
            fecn: bth.map(|bth| bth.fecn),
            becn: bth.map(|bth| bth.becn),
            dest_qp: bth.map(|bth| bth.dest_qp.get()),
            ack_req: bth.map(|bth| bth.ack_req),
            psn: bth.map(|bth| bth.psn.get()),
            va: ext
                .reth
                .map(|reth| reth.va)
                .or(ext.atomic.map(|atomic| atomic.va))
                .map(Hex64),
            rkey: ext
                .reth
                .map(|reth| reth.rkey)
                .or(ext.atomic.map(|atomic| atomic.rkey)),
            dma_len: ext.reth.map(|reth| reth.dma_len),
            compare: ext.atomic.map(|atomic| Hex64(atomic.compare)),
            swap_add: ext.atomic.map(|atomic| Hex64(atomic.swap_add)),
            original: ext.atomic_ack.map(|ack| Hex64(ack.original)),
            syndrome: ext.aeth.map(|aeth| aeth.syndrome.0),
            msn: ext.aeth.map(|aeth| aeth.msn.get()),
            imm: ext.imm.map(|imm| imm.imm),
            inv_rkey: ext.ieth.map(|ieth| ieth.rkey),
            qkey: ext.deth.map(|deth| deth.qkey),
            src_qp: ext.deth.map(|deth| deth.src_qp.get()),
            payload_bytes: parsed.payload_bytes,
            payload: Some(&parsed.payload)
                .filter(|payload| parsed.verdict.is_roce() && !payload.is_empty())
                .map(|payload| hex(payload)),
            icrc_ok: parsed.icrc_ok,
            class_enable: parsed
                .control
                .filter(|control| control.opcode == CONTROL_PFC)
                .map(|control| control.class_enable),
            quanta: parsed.control.and_then(|control| match control.opcode {
                CONTROL_PFC => Some(Quanta::Pfc(control.timers)),
                CONTROL_PAUSE => Some(Quanta::Pause(control.timers[0])),
                _ => None,
            }),
            tcp: None,
            iwarp: Vec::new(),
            raw: None,
        }
    }

    /// Adds what the capture says about the frame.
    #[must_use]
    pub fn captured(mut self, seen: &Seen<'_>, interfaces: &[Interface]) -> Self {
        let record = seen.record;
        let name = interfaces[record.interface].name.clone();
        let number = || (interfaces.len() > 1).then(|| record.interface.to_string());
        self.time_ns = Some(record.time_ns.to_string());
        self.interface = name.or_else(number);
        self.direction = record.direction;
        self.fcs_ok = (!record.fcs_ok).then_some(false);
        self.kept = record.is_cut().then_some(record.bytes.len());
        self.tunnels.clone_from(&record.tunnels);
        self.verdict = seen.class.key();
        self.tcp.clone_from(&seen.segment);
        self.iwarp.clone_from(&seen.iwarp);
        if record.link != Link::Ethernet {
            self.link_type = Some(record.link_type);
            self.dst_mac = None;
            self.src_mac = match &record.link {
                Link::Cooked(cooked) => cooked.address.map(|address| address.to_string()),
                _ => None,
            };
        }
        self
    }

    /// Adds the bytes of the frame, for one that the keys do not reproduce. They replace the payload.
    #[must_use]
    pub fn with_bytes(mut self, bytes: &[u8]) -> Self {
        self.payload = None;
        self.raw = Some(hex(bytes));
        self
    }
}

/// Returns source and destination: IP addresses, or else MAC addresses, or `None`.
pub fn addresses(frame: &ParsedFrame) -> Option<(String, String)> {
    if let Some(ip) = frame.ip {
        let text = |bits| address_of(bits, ip.kind == IpKind::V4).to_string();
        return Some((text(ip.src), text(ip.dst)));
    }
    frame
        .eth
        .as_ref()
        .map(|eth| (eth.src.to_string(), eth.dst.to_string()))
}
