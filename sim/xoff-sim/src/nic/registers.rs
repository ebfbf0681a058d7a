//! Settings as writes to registers.

use std::net::IpAddr;

use super::settings::register_cycles;
use super::{DcqcnChange, NicSettings, QpSettings, ReadRights, Region};
use crate::nic_registers as reg;
use crate::time::Clock;
use crate::wire::{MacAddr, address_bits};

/// A register write: offset and word.
pub type Write = (u16, u32);

const fn mac_words(mac: MacAddr) -> (u32, u32) {
    let [a, b, c, d, e, f] = mac.0;
    (
        u32::from_be_bytes([c, d, e, f]),
        u32::from_be_bytes([0, 0, a, b]),
    )
}

fn ip_words(ip: IpAddr) -> [u32; 4] {
    let bits = address_bits(ip);
    std::array::from_fn(|word| (bits >> (32 * word)) as u32)
}

/// Packs classes, or parts of the buffer, into four bits each, as the map registers have them.
fn nibbles(classes: &[u8]) -> u32 {
    let each = |(i, class): (usize, &u8)| u32::from(class & 7) << (4 * i);
    classes.iter().enumerate().map(each).sum()
}

/// The writes of the settings that every NIC needs: QP number of QP index 0, and MAC address.
pub fn identity_writes(qpn_base: u32, mac: MacAddr) -> [Write; 3] {
    let (mac_low, mac_high) = mac_words(mac);
    [
        (reg::QPN_BASE, qpn_base),
        (reg::PORT_MAC_LOW, mac_low),
        (reg::PORT_MAC_HIGH, mac_high),
    ]
}

impl NicSettings {
    /// The writes that apply all settings, to be made before QPs are opened.
    pub fn writes(&self) -> Vec<Write> {
        let control = u32::from(self.class_by_pcp) << reg::CLASS_BY_PCP_LOW
            | u32::from(self.dcqcn.is_some()) << reg::DCQCN_ON_LOW
            | u32::from(self.pause_obeyed) << reg::PAUSE_OBEYED_LOW
            | u32::from(self.watchdog.auto_rearm) << reg::AUTO_REARM_LOW;
        let mut writes = identity_writes(self.qpn_base, self.mac).to_vec();
        writes.extend([
            (reg::PFC_CLASSES, self.pfc.classes.into()),
            (reg::PCP_MAP, nibbles(&self.pcp_classes)),
            (reg::PFC_QUANTA, self.pfc.quanta.into()),
            (reg::PFC_REFRESH, self.pfc.refresh),
            (reg::BARK_LOW, self.watchdog.bark as u32),
            (reg::BARK_HIGH, (self.watchdog.bark >> 32) as u32),
            (reg::BITE_LOW, self.watchdog.bite as u32),
            (reg::BITE_HIGH, (self.watchdog.bite >> 32) as u32),
        ]);
        for (word, classes) in (0..).zip(self.dscp_classes.chunks(8)) {
            writes.push((reg::DSCP_MAP + 4 * word, nibbles(classes)));
        }
        for class in 0..8 {
            writes.push((reg::PFC_XOFF + 4 * class, self.pfc.xoff[usize::from(class)]));
            writes.push((reg::PFC_XON + 4 * class, self.pfc.xon[usize::from(class)]));
        }
        for (class, cost) in (0..).zip(self.class_costs.0) {
            writes.push((reg::CLASS_COSTS + 4 * class, cost.into()));
        }
        for (part, cells) in (0..).zip(self.buffer.cells) {
            writes.push((reg::BUFFER_CELLS + 4 * part, cells));
        }
        writes.push((reg::BUFFER_MAP, nibbles(&self.buffer.of_class)));
        writes.push((reg::READ_AHEAD, self.read_ahead.into()));
        if let Some(dcqcn) = &self.dcqcn {
            writes.extend([
                (reg::RATE_MAX, dcqcn.rp.rate_max.0),
                (reg::RATE_MIN, dcqcn.rp.rate_min.0),
                (reg::RATE_AI, dcqcn.rp.rate_ai.0),
                (reg::RATE_HAI, dcqcn.rp.rate_hai.0),
                (reg::G, dcqcn.rp.g.into()),
                (reg::ALPHA_TIME, dcqcn.rp.alpha_time),
                (reg::RATE_TIME, dcqcn.rp.rate_time),
                (reg::BYTE_LIMIT, dcqcn.rp.byte_limit),
                (reg::STAGES, dcqcn.rp.stages.into()),
                (reg::CNP_INTERVAL, dcqcn.cnp_interval),
                (reg::CNP_DSCP, dcqcn.cnp_dscp.into()),
                (reg::CNP_PCP, dcqcn.cnp_pcp.into()),
                (reg::LIMITER_BURST, dcqcn.burst.into()),
            ]);
        }
        // Written last, so that what it turns on finds everything set.
        writes.push((reg::CONTROL, control));
        writes
    }
}

impl DcqcnChange {
    /// The writes that make the changes, for all QPs of a NIC with this clock.
    pub fn writes(&self, clock: &Clock) -> Vec<Write> {
        let cycles = |time| register_cycles(clock, time);
        [
            (reg::G, self.g.map(u32::from)),
            (reg::RATE_AI, self.rate_ai.map(|rate| rate.0)),
            (reg::RATE_HAI, self.rate_hai.map(|rate| rate.0)),
            (reg::ALPHA_TIME, self.alpha_time.map(cycles)),
            (reg::RATE_TIME, self.rate_time.map(cycles)),
            (reg::BYTE_LIMIT, self.byte_limit),
            (reg::STAGES, self.stages.map(u32::from)),
            (reg::CNP_INTERVAL, self.cnp_interval.map(cycles)),
        ]
        .into_iter()
        .filter_map(|(register, word)| Some((register, word?)))
        .collect()
    }
}

impl QpSettings {
    /// The writes that open the QP with this index. After them, wait until `busy` is 0.
    pub fn writes(&self, index: u16) -> Vec<Write> {
        let (dst_low, dst_high) = mac_words(self.peer.mac);
        let (src_low, src_high) = mac_words(self.own.mac);
        let tag = |i: usize| u32::from(self.tags.get(i).copied().unwrap_or(0));
        let (answer_dscp, answer_pcp) = self.of_answers();
        let network = (self.tags.len() as u32) << reg::QP_TAGS_LOW
            | u32::from(self.own.ip.is_ipv6()) << reg::QP_IPV6_LOW
            | u32::from(self.dscp) << reg::QP_DSCP_LOW
            | u32::from(self.hop_limit) << reg::QP_HOP_LIMIT_LOW
            | u32::from(answer_dscp) << reg::QP_ANSWER_DSCP_LOW
            | u32::from(answer_pcp) << reg::QP_ANSWER_PCP_LOW;
        let port_key = u32::from(self.udp_port) << reg::QP_UDP_PORT_LOW
            | u32::from(self.pkey) << reg::QP_PKEY_LOW;
        let requester = u32::from(self.requester.mtu) << reg::QP_MTU_LOW
            | u32::from(self.requester.timeout) << reg::QP_TIMEOUT_LOW
            | u32::from(self.requester.retry) << reg::QP_RETRY_LOW
            | u32::from(self.requester.nak_retry) << reg::QP_NAK_RETRY_LOW
            | u32::from(self.requester.rnr_retry) << reg::QP_RNR_RETRY_LOW
            | u32::from(self.requester.restart) << reg::QP_RESTART_LOW
            | u32::from(self.requester.ack_every) << reg::QP_ACK_EVERY_LOW
            | u32::from(self.requester.reads) << reg::QP_READS_LOW;
        let responder = u32::from(self.responder.mtu) << reg::QP_RESPONDER_MTU_LOW
            | u32::from(self.responder.rnr_timer) << reg::QP_RNR_TIMER_LOW
            | u32::from(self.responder.restart) << reg::QP_RESPONDER_RESTART_LOW;
        let mut writes = vec![
            (reg::QP_DST_MAC_LOW, dst_low),
            (reg::QP_DST_MAC_HIGH, dst_high),
            (reg::QP_SRC_MAC_LOW, src_low),
            (reg::QP_SRC_MAC_HIGH, src_high),
            (
                reg::QP_TCI,
                tag(0) << reg::QP_OUTER_LOW | tag(1) << reg::QP_INNER_LOW,
            ),
            (reg::QP_NETWORK, network),
            (reg::QP_PORT_KEY, port_key),
            (reg::QP_PEER_QPN, self.peer_qpn),
            (reg::QP_REQUESTER, requester),
            (reg::QP_WINDOW, self.requester.window),
            (reg::QP_REQUESTER_PSN, self.requester_psn.get()),
            (reg::QP_RESPONDER, responder),
            (reg::QP_RESPONDER_PSN, self.responder_psn.get()),
            (reg::QP_PD, self.pd.into()),
        ];
        for (word, (own, peer)) in (0..).zip(
            ip_words(self.own.ip)
                .into_iter()
                .zip(ip_words(self.peer.ip)),
        ) {
            writes.push((reg::QP_OWN_IP + 4 * word, own));
            writes.push((reg::QP_PEER_IP + 4 * word, peer));
        }
        writes.push((reg::QP_COMMAND, u32::from(index) | 1 << 16));
        writes
    }
}

impl Region {
    /// The writes that register the region at an index of the table. READs have no right to it.
    pub fn writes(&self, index: u16) -> Vec<Write> {
        self.writes_with(index, ReadRights::default())
    }

    /// The same, with what READs and atomics may do.
    pub fn writes_with(&self, index: u16, reads: ReadRights) -> Vec<Write> {
        let rights = u32::from(self.tag) << reg::REGION_TAG_LOW
            | u32::from(self.local_write) << reg::REGION_LOCAL_WRITE_LOW
            | u32::from(self.remote_write) << reg::REGION_REMOTE_WRITE_LOW
            | u32::from(reads.read) << reg::REGION_REMOTE_READ_LOW
            | u32::from(reads.atomic) << reg::REGION_REMOTE_ATOMIC_LOW
            | 1 << reg::REGION_VALID_LOW;
        vec![
            (reg::REGION_BASE_LOW, self.base as u32),
            (reg::REGION_BASE_HIGH, (self.base >> 32) as u32),
            (reg::REGION_LENGTH_LOW, self.length as u32),
            (reg::REGION_LENGTH_HIGH, (self.length >> 32) as u32),
            (reg::REGION_RIGHTS, rights),
            (reg::REGION_PD, self.pd.into()),
            (reg::REGION_COMMAND, index.into()),
        ]
    }
}
