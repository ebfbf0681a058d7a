//! A frame as a JSON line. The keys are a contract: programs read them, and `xoff encode` takes them back.

use serde::{Serialize, Serializer};
use xoff_sim::wire::frame::{IpKind, ParsedFrame};
use xoff_sim::wire::{CONTROL_PAUSE, CONTROL_PFC};

/// One JSON line. Keys of what the frame does not have are left out. Numbers up to 32 bits are JSON numbers; 64-bit ones are strings such as
/// `"0x00007f0012345678"`, because many readers of JSON know only floating point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Number of the frame in the file, from 1.
    pub frame: u64,
    /// Its length without FCS.
    pub bytes: usize,
    /// What it is.
    pub verdict: &'static str,
    /// Why it is malformed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// VID of the outer tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Priority of the outer tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcp: Option<u8>,
    /// 4 or 6; absent for a GRH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_version: Option<u8>,
    /// Upper six bits of TOS or traffic class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// Lower two bits of TOS or traffic class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<u8>,
    /// BTH opcode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opcode: Option<u8>,
    /// Name of the opcode, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    /// BTH solicited event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solicited: Option<bool>,
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
    /// Whether the ICRC is right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icrc_ok: Option<bool>,
    /// PFC class-enable vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_enable: Option<u16>,
    /// PFC and PAUSE times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quanta: Option<Quanta>,
}

/// A 64-bit number as text.
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
    /// PAUSE has one.
    Pause(u16),
    /// PFC has one a class, class 0 first.
    Pfc([u16; 8]),
}

impl Row {
    /// The row of frame number `frame`.
    pub fn new(frame: u64, parsed: &ParsedFrame) -> Self {
        let tag = parsed.eth.as_ref().and_then(|eth| eth.tags.first());
        let ip = parsed.ip.as_ref().filter(|ip| ip.kind != IpKind::Grh);
        let bth = parsed.bth.as_ref();
        let ext = parsed.ext.unwrap_or_default();
        Self {
            frame,
            bytes: parsed.frame_bytes,
            verdict: parsed.verdict.name(),
            reason: parsed.reason.map(|reason| reason.name()),
            vlan: tag.map(|tag| tag.vid),
            pcp: tag.map(|tag| tag.pcp),
            ip_version: ip.map(|ip| if ip.kind == IpKind::V4 { 4 } else { 6 }),
            dscp: ip.map(|ip| ip.traffic_class >> 2),
            ecn: ip.map(|ip| ip.traffic_class & 3),
            opcode: bth.map(|bth| bth.opcode.0),
            name: bth.and_then(|bth| bth.opcode.name()),
            solicited: bth.map(|bth| bth.solicited),
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
        }
    }
}
