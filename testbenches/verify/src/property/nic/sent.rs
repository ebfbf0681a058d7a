//! Frames that a NIC sends have the headers of their QP, and its counters count them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use xoff_sim::nic::{NicSettings, QpSettings};
use xoff_sim::nic_registers as reg;
use xoff_sim::wire::frame::{IpKind, ParsedFrame, Verdict};
use xoff_sim::wire::{MacAddr, NakCode, Opcode, SyndromeMeaning, address_bits};

use super::setup::Setup;
use crate::property::Disagreement;

/// ECN field of a packet that may be marked, RFC 3168 §5.
const ECT_0: u8 = 2;
/// Don't-fragment in the flags of IPv4.
const DONT_FRAGMENT: u8 = 2;

/// What a NIC has sent.
#[derive(Default, Serialize, Deserialize)]
pub struct Sent {
    frames: u64,
    bytes: u64,
    pfc: u64,
    cnps: u64,
    /// QP numbers of the peer to which CNPs were sent.
    notified: BTreeSet<u32>,
    requests: u64,
    answers: u64,
    sequence_naks: u64,
    rnr_naks: u64,
    /// IPv4 identification of the next frame that has one.
    id: u16,
    /// A QP was closed or has failed. Answers that were granted may have been discarded with it.
    ended: bool,
}

/// The settings that frames of a NIC follow.
#[derive(Serialize, Deserialize)]
pub struct Right {
    nic: NicSettings,
    /// Index and settings of each QP, by the peer's QP number.
    qps: BTreeMap<u32, (u16, QpSettings)>,
}

/// By how much the first PSNs of a QP change when it is opened again: more than a case has packets, so that a late
/// packet of the old connection is none that the new one waits for.
const REOPENED: u32 = 1 << 20;

impl Right {
    /// The settings of a side.
    pub fn of(setup: Setup<'_>, side: usize) -> Self {
        let settings = |index| {
            let mut qp = super::pair::qp(side, index);
            setup.qp(side, index, &mut qp);
            (qp.peer_qpn, (index, qp))
        };
        Self {
            nic: setup.nic(side),
            qps: setup.indices().into_iter().map(settings).collect(),
        }
    }

    /// Index and settings of each QP.
    pub fn qps(&self) -> impl Iterator<Item = (u16, &QpSettings)> {
        self.qps.values().map(|(index, qp)| (*index, qp))
    }

    /// The settings with which a QP is opened once more.
    pub fn reopen(&mut self, index: u16) -> Option<&QpSettings> {
        let (_, qp) = self.qps.values_mut().find(|(of, _)| *of == index)?;
        for psn in [&mut qp.requester_psn, &mut qp.responder_psn] {
            *psn = psn.advance(REOPENED);
        }
        Some(qp)
    }
}

impl Sent {
    /// Judges a frame and counts it.
    ///
    /// # Errors
    ///
    /// Says which header is not as the settings want it.
    pub fn judge(&mut self, frame: &ParsedFrame, right: &Right) -> Result<(), Disagreement> {
        self.frames += 1;
        self.bytes += frame.frame_bytes as u64;
        let wrong = |what: &str| Err(format!("{what}: {frame:?}"));
        let Some(eth) = &frame.eth else {
            return wrong("a frame without addresses");
        };
        if eth.src != right.nic.mac {
            return wrong("a frame from another port");
        }
        if frame.verdict == Verdict::Pfc {
            self.pfc += 1;
            let plain = eth.dst == MacAddr::CONTROL && eth.tags.is_empty();
            let classes = frame
                .control
                .map_or(u16::MAX, |control| control.class_enable);
            return match plain && classes & !u16::from(right.nic.pfc.classes) == 0 {
                true => Ok(()),
                false => wrong("a pause for another class or place"),
            };
        }
        let (Some(bth), Some(ip)) = (frame.bth, &frame.ip) else {
            return wrong("no packet");
        };
        let Some((_, qp)) = right.qps.get(&bth.dest_qp.get()) else {
            return wrong("a packet for no QP of the peer");
        };
        let cnp = frame.verdict == Verdict::Cnp;
        let dcqcn = right.nic.dcqcn.as_ref();
        let ((dscp, pcp), ecn) = match (cnp, dcqcn) {
            (true, None) => return wrong("a CNP without DCQCN"),
            (true, Some(dcqcn)) => ((dcqcn.cnp_dscp, dcqcn.cnp_pcp), ECT_0),
            (false, _) if bth.opcode == Opcode::RC_ACK => (qp.of_answers(), 0),
            (false, Some(_)) => ((qp.dscp, qp.pcp()), ECT_0),
            (false, None) => ((qp.dscp, qp.pcp()), 0),
        };
        let mut tags = qp.tags.clone();
        if let Some(outer) = tags.first_mut() {
            *outer = *outer & 0x1FFF | u16::from(pcp) << 13;
        }
        let sent_tags: Vec<u16> = (eth.tags.iter())
            .map(|tag| u16::from(tag.pcp) << 13 | u16::from(tag.dei) << 12 | tag.vid)
            .collect();
        if sent_tags != tags || eth.dst != qp.peer.mac {
            return wrong("tags or address");
        }
        let same = ip.src == address_bits(qp.own.ip)
            && ip.dst == address_bits(qp.peer.ip)
            && ip.traffic_class == dscp << 2 | ecn
            && ip.hop_limit == qp.hop_limit
            && frame.udp_src_port == Some(qp.udp_port);
        if !same {
            return wrong("IP or UDP header");
        }
        match ip.kind {
            IpKind::V4 => {
                if ip.id != self.id || ip.flags != DONT_FRAGMENT || qp.own.ip.is_ipv6() {
                    return wrong("IPv4 identification or flags");
                }
                self.id = self.id.wrapping_add(1);
            }
            _ if ip.flow_label != 0 || qp.own.ip.is_ipv4() => return wrong("flow label"),
            _ => {}
        }
        if bth.pkey != qp.pkey || bth.becn != cnp {
            return wrong("BTH");
        }
        let meaning = (frame.ext.as_ref())
            .and_then(|ext| ext.aeth)
            .map(|aeth| aeth.syndrome.meaning());
        match (cnp, meaning) {
            (true, _) => {
                self.cnps += 1;
                self.notified.insert(bth.dest_qp.get());
            }
            (false, _) if bth.opcode.is_response() => self.answers += 1,
            (false, None) => self.requests += 1,
            (false, Some(meaning)) => {
                self.answers += 1;
                let sequence = meaning == SyndromeMeaning::Nak(NakCode::PsnSequenceError);
                self.sequence_naks += u64::from(sequence);
                self.rnr_naks += u64::from(matches!(meaning, SyndromeMeaning::RnrNak(_)));
            }
        }
        Ok(())
    }

    /// Whether a CNP was sent to a QP of the peer.
    pub fn has_notified(&self, qpn: u32) -> bool {
        self.notified.contains(&qpn)
    }

    /// Whether a QP of the NIC was closed, or may have failed.
    pub const fn ended(&self) -> bool {
        self.ended
    }

    /// Notes that a QP of the NIC was closed, or may have failed.
    pub fn end_qp(&mut self) {
        self.ended = true;
    }

    /// Compares the counters of a NIC that rests with what was on the wire. `reads`: its peer may have asked for READs.
    ///
    /// # Errors
    ///
    /// The first counter that counts something else.
    pub fn check(&self, reads: bool, counted: impl Fn(u16) -> u64) -> Result<(), Disagreement> {
        let withdrawn = counted(reg::WITHDRAWN);
        let (requests, answers) = (counted(reg::REQUESTS_OUT), counted(reg::ANSWERS_OUT));
        // READ responses are withdrawn as requests are. Other answers never are.
        let (requests, answers) = match reads {
            false => (requests - withdrawn, (answers, self.answers)),
            true => {
                let both = requests + answers - withdrawn;
                (self.requests, (both, self.requests + self.answers))
            }
        };
        let all = [
            ("frames_out", counted(reg::FRAMES_OUT), self.frames),
            ("bytes_out", counted(reg::BYTES_OUT), self.bytes),
            ("pfc_out", counted(reg::PFC_OUT), self.pfc),
            ("cnps_out", counted(reg::CNPS_OUT), self.cnps),
            ("requests_out without withdrawn", requests, self.requests),
        ];
        let granted = [
            ("answers_out", answers.0, answers.1),
            ("naks_out", counted(reg::NAKS_OUT), self.sequence_naks),
            ("rnr_naks_out", counted(reg::RNR_NAKS_OUT), self.rnr_naks),
        ];
        let wrong = |(_, counted, sent): &&(_, u64, u64)| counted != sent;
        let discarded =
            |(_, counted, sent): &&(_, u64, u64)| counted < sent || counted != sent && !self.ended;
        match all.iter().find(wrong).or(granted.iter().find(discarded)) {
            None => Ok(()),
            Some((name, counted, sent)) => Err(format!("{name}: {counted} counted, {sent} sent")),
        }
    }
}
