//! The NIC's registers: offsets and fields. Made by `tools/registers.py` from `rtl/nic/registers.toml`: do not edit.

/// 0x584F4646, 'XOFF'.
pub const IDENTITY: u16 = 0x000;
/// Version of this register map, 2.
pub const VERSION: u16 = 0x004;
/// QP number of QP index 0.
pub const QPN_BASE: u16 = 0x008;
/// Source address of PFC frames, low 32 bits.
pub const PORT_MAC_LOW: u16 = 0x00c;
/// And high 16 bits.
pub const PORT_MAC_HIGH: u16 = 0x010;
/// Switches.
pub const CONTROL: u16 = 0x014;
/// A frame's class comes from its outer tag's PCP; else from its DSCP. Lowest of its 1 bits in [`CONTROL`].
pub const CLASS_BY_PCP_LOW: u32 = 0;
/// DCQCN paces requests and answers marks. Lowest of its 1 bits in [`CONTROL`].
pub const DCQCN_ON_LOW: u32 = 1;
/// 802.3x PAUSE stops all classes. Lowest of its 1 bits in [`CONTROL`].
pub const PAUSE_OBEYED_LOW: u32 = 2;
/// Progress lifts the watchdog's silence. Lowest of its 1 bits in [`CONTROL`].
pub const AUTO_REARM_LOW: u32 = 3;
/// Lossless classes: they obey PFC and ask for it.
pub const PFC_CLASSES: u16 = 0x018;
/// Class of PCP p in bits 4p + 2 to 4p; an untagged frame has PCP 0.
pub const PCP_MAP: u16 = 0x01c;
/// Class of DSCP 8w + i in bits 4i + 2 to 4i of word w; a frame without an IP header has DSCP 0. The first of 8 words.
pub const DSCP_MAP: u16 = 0x020;
/// Size of part w + 1 of the receive buffer in cells of 64 bytes; part 0 has the rest. SLVERR while a QP is open, or when the parts are larger than the buffer. The first of 7 words.
pub const BUFFER_CELLS: u16 = 0x1c0;
/// Part of the receive buffer for class c in bits 4c + 2 to 4c; SLVERR when a bit 4c + 3 is set. At any time: what is in the buffer keeps its part.
pub const BUFFER_MAP: u16 = 0x0e0;
/// Bytes in the receive buffer from which on class w pauses its peer. The first of 8 words.
pub const PFC_XOFF: u16 = 0x040;
/// Bytes down to which it goes on doing so. The first of 8 words.
pub const PFC_XON: u16 = 0x060;
/// Time that an XOFF asks for, in quanta of 512 bit times.
pub const PFC_QUANTA: u16 = 0x080;
/// Cycles after which an XOFF is repeated.
pub const PFC_REFRESH: u16 = 0x084;
/// Watchdog: cycles of stall before it barks, low 32 bits; 0: never.
pub const BARK_LOW: u16 = 0x088;
/// And high 8 bits.
pub const BARK_HIGH: u16 = 0x08c;
/// Watchdog: cycles of stall before it silences this port's pauses, low 32 bits; 0: never.
pub const BITE_LOW: u16 = 0x090;
/// And high 8 bits.
pub const BITE_HIGH: u16 = 0x094;
/// Any write lifts the watchdog's silence.
pub const REARM: u16 = 0x098;
/// DCQCN: line rate, kb/s.
pub const RATE_MAX: u16 = 0x0a0;
/// DCQCN: least rate, kb/s.
pub const RATE_MIN: u16 = 0x0a4;
/// DCQCN: additive increase, kb/s.
pub const RATE_AI: u16 = 0x0a8;
/// DCQCN: hyper increase, kb/s.
pub const RATE_HAI: u16 = 0x0ac;
/// DCQCN: g in units of 2^-16.
pub const G: u16 = 0x0b0;
/// DCQCN: period of the alpha timer, cycles; 0: off.
pub const ALPHA_TIME: u16 = 0x0b4;
/// DCQCN: period of the rate timer, cycles; 0: off.
pub const RATE_TIME: u16 = 0x0b8;
/// DCQCN: period of the byte counter, bytes; 0: off.
pub const BYTE_LIMIT: u16 = 0x0bc;
/// DCQCN: F.
pub const STAGES: u16 = 0x0c0;
/// DCQCN: cycles between two CNPs of a QP.
pub const CNP_INTERVAL: u16 = 0x0c4;
/// DCQCN: DSCP of CNPs.
pub const CNP_DSCP: u16 = 0x0c8;
/// DCQCN: PCP of CNPs in the outer tag, if their QP's path has tags.
pub const CNP_PCP: u16 = 0x0d0;
/// No payload is read by DMA while so many units of 256 bytes are still to come; 0: as many as slots hold.
pub const READ_AHEAD: u16 = 0x0e4;
/// What class w pays for a byte of a request or READ response on the wire: classes that wait share the port in inverse proportion; 0: before all others, of several the highest class first. The first of 8 words.
pub const CLASS_COSTS: u16 = 0x1e0;
/// Cycles that a QP may catch up.
pub const LIMITER_BURST: u16 = 0x0cc;
/// QP window: destination address, low 32 bits.
pub const QP_DST_MAC_LOW: u16 = 0x100;
/// And high 16 bits.
pub const QP_DST_MAC_HIGH: u16 = 0x104;
/// QP window: source address, low 32 bits.
pub const QP_SRC_MAC_LOW: u16 = 0x108;
/// And high 16 bits.
pub const QP_SRC_MAC_HIGH: u16 = 0x10c;
/// QP window: tags, PCP, DEI and VLAN of each.
pub const QP_TCI: u16 = 0x110;
/// Inner tag. Lowest of its 16 bits in [`QP_TCI`].
pub const QP_INNER_LOW: u32 = 0;
/// Outer tag, the only one of one. Lowest of its 16 bits in [`QP_TCI`].
pub const QP_OUTER_LOW: u32 = 16;
/// QP window: tags and network header.
pub const QP_NETWORK: u16 = 0x114;
/// Number of tags, 0 to 2. Lowest of its 2 bits in [`QP_NETWORK`].
pub const QP_TAGS_LOW: u32 = 0;
/// IPv6, else IPv4. Lowest of its 1 bits in [`QP_NETWORK`].
pub const QP_IPV6_LOW: u32 = 2;
/// PCP of answers in the outer tag. Lowest of its 3 bits in [`QP_NETWORK`].
pub const QP_ANSWER_PCP_LOW: u32 = 3;
/// DSCP of requests. Lowest of its 6 bits in [`QP_NETWORK`].
pub const QP_DSCP_LOW: u32 = 8;
/// Hop limit, TTL. Lowest of its 8 bits in [`QP_NETWORK`].
pub const QP_HOP_LIMIT_LOW: u32 = 16;
/// DSCP of ACKs and NAKs. Lowest of its 6 bits in [`QP_NETWORK`].
pub const QP_ANSWER_DSCP_LOW: u32 = 24;
/// QP window: UDP source port and P_Key.
pub const QP_PORT_KEY: u16 = 0x118;
/// UDP source port. Lowest of its 16 bits in [`QP_PORT_KEY`].
pub const QP_UDP_PORT_LOW: u32 = 0;
/// P_Key. Lowest of its 16 bits in [`QP_PORT_KEY`].
pub const QP_PKEY_LOW: u32 = 16;
/// QP window: the peer's QP number.
pub const QP_PEER_QPN: u16 = 0x11c;
/// QP window: own address, word 0 the least significant; IPv4 in word 0, the others 0. The first of 4 words.
pub const QP_OWN_IP: u16 = 0x120;
/// QP window: the peer's address, likewise. The first of 4 words.
pub const QP_PEER_IP: u16 = 0x130;
/// QP window: the requester's configuration.
pub const QP_REQUESTER: u16 = 0x140;
/// 256 << mtu bytes. Lowest of its 3 bits in [`QP_REQUESTER`].
pub const QP_MTU_LOW: u32 = 0;
/// 4.096 us << timeout; 0: off. Lowest of its 5 bits in [`QP_REQUESTER`].
pub const QP_TIMEOUT_LOW: u32 = 3;
/// Retries. Lowest of its 3 bits in [`QP_REQUESTER`].
pub const QP_RETRY_LOW: u32 = 8;
/// A sequence NAK uses up a retry, as a timeout does. Lowest of its 1 bits in [`QP_REQUESTER`].
pub const QP_NAK_RETRY_LOW: u32 = 11;
/// RNR retries; 7: for ever. Lowest of its 3 bits in [`QP_REQUESTER`].
pub const QP_RNR_RETRY_LOW: u32 = 12;
/// Go-back-0. Lowest of its 1 bits in [`QP_REQUESTER`].
pub const QP_RESTART_LOW: u32 = 15;
/// Packets between two that ask for an ACK; 0: the last of a message only. Lowest of its 8 bits in [`QP_REQUESTER`].
pub const QP_ACK_EVERY_LOW: u32 = 16;
/// READs that may be unanswered; 0 and more than the NIC has: as many as it has. Lowest of its 5 bits in [`QP_REQUESTER`].
pub const QP_READS_LOW: u32 = 24;
/// QP window: packets that may be unacknowledged; 0: 2^22.
pub const QP_WINDOW: u16 = 0x144;
/// QP window: the requester's first PSN.
pub const QP_REQUESTER_PSN: u16 = 0x148;
/// QP window: the responder's configuration.
pub const QP_RESPONDER: u16 = 0x14c;
/// 256 << mtu bytes. Lowest of its 3 bits in [`QP_RESPONDER`].
pub const QP_RESPONDER_MTU_LOW: u32 = 0;
/// Sent with RNR NAKs. Lowest of its 5 bits in [`QP_RESPONDER`].
pub const QP_RNR_TIMER_LOW: u32 = 3;
/// Go-back-0. Lowest of its 1 bits in [`QP_RESPONDER`].
pub const QP_RESPONDER_RESTART_LOW: u32 = 8;
/// QP window: the first PSN that the responder expects.
pub const QP_RESPONDER_PSN: u16 = 0x150;
/// QP window: protection domain, whose regions alone the QP and its peer may use.
pub const QP_PD: u16 = 0x1b4;
/// Carries the QP window out: bits 15 to 0 QP index, bit 16: 1 OPEN, 0 CLOSE. Not before `busy` is 0.
pub const QP_COMMAND: u16 = 0x154;
/// 1 while a QP command or query is being carried out.
pub const BUSY: u16 = 0x158;
/// Reads the state of a QP into the words from qp_states to qp_rings: bits 15 to 0 QP index. They hold it when `busy` is 0 again. Not before `busy` is 0.
pub const QP_QUERY: u16 = 0x15c;
/// Of the QP of the last query: states of both halves; 0 is closed, 1 ready, 2 error.
pub const QP_STATES: u16 = 0x160;
/// State of the send side. Lowest of its 2 bits in [`QP_STATES`].
pub const QP_REQUESTER_STATE_LOW: u32 = 0;
/// Retries that are left. Lowest of its 3 bits in [`QP_STATES`].
pub const QP_RETRIES_LEFT_LOW: u32 = 2;
/// RNR retries that are left. Lowest of its 3 bits in [`QP_STATES`].
pub const QP_RNR_RETRIES_LEFT_LOW: u32 = 5;
/// It waits after an RNR NAK. Lowest of its 1 bits in [`QP_STATES`].
pub const QP_RNR_WAIT_LOW: u32 = 8;
/// The ACK timer or that of the RNR wait runs. Lowest of its 1 bits in [`QP_STATES`].
pub const QP_TIMER_RUNS_LOW: u32 = 9;
/// State of the receive side. Lowest of its 2 bits in [`QP_STATES`].
pub const QP_RESPONDER_STATE_LOW: u32 = 16;
/// A message has begun and is not complete. Lowest of its 1 bits in [`QP_STATES`].
pub const QP_UNDER_WAY_LOW: u32 = 18;
/// The gap or the missing buffer has been answered. Lowest of its 1 bits in [`QP_STATES`].
pub const QP_SILENT_LOW: u32 = 19;
/// Answer that is owed: 0 none, 1 ACK, 2 NAK. Lowest of its 2 bits in [`QP_STATES`].
pub const QP_OWED_LOW: u32 = 20;
/// Syndrome of the last NAK. Lowest of its 8 bits in [`QP_STATES`].
pub const QP_SYNDROME_LOW: u32 = 22;
/// Likewise: oldest PSN that is not acknowledged.
pub const QP_UNA_PSN: u16 = 0x164;
/// Likewise: next PSN to send.
pub const QP_NEXT_PSN: u16 = 0x168;
/// Likewise: first PSN of the next work request.
pub const QP_POST_PSN: u16 = 0x16c;
/// Likewise: PSN that the receive side expects.
pub const QP_EXPECTED_PSN: u16 = 0x170;
/// Likewise: messages that the receive side has completed.
pub const QP_MSN: u16 = 0x174;
/// Likewise: what both queues hold.
pub const QP_RINGS: u16 = 0x178;
/// Work requests. Lowest of its 8 bits in [`QP_RINGS`].
pub const QP_WORKS_LOW: u32 = 0;
/// Receive buffers. Lowest of its 8 bits in [`QP_RINGS`].
pub const QP_RECVS_LOW: u32 = 8;
/// Region window: first address, low 32 bits.
pub const REGION_BASE_LOW: u16 = 0x180;
/// And high 32 bits.
pub const REGION_BASE_HIGH: u16 = 0x184;
/// Region window: bytes, low 32 bits.
pub const REGION_LENGTH_LOW: u16 = 0x188;
/// And high 16 bits.
pub const REGION_LENGTH_HIGH: u16 = 0x18c;
/// Region window: what may be done with it.
pub const REGION_RIGHTS: u16 = 0x190;
/// Low byte of its keys. Lowest of its 8 bits in [`REGION_RIGHTS`].
pub const REGION_TAG_LOW: u32 = 0;
/// Receive buffers may lie in it. Lowest of its 1 bits in [`REGION_RIGHTS`].
pub const REGION_LOCAL_WRITE_LOW: u32 = 8;
/// WRITEs may go to it. Lowest of its 1 bits in [`REGION_RIGHTS`].
pub const REGION_REMOTE_WRITE_LOW: u32 = 9;
/// It exists. Lowest of its 1 bits in [`REGION_RIGHTS`].
pub const REGION_VALID_LOW: u32 = 10;
/// READs may have it. Lowest of its 1 bits in [`REGION_RIGHTS`].
pub const REGION_REMOTE_READ_LOW: u32 = 11;
/// Atomics may be performed in it. Lowest of its 1 bits in [`REGION_RIGHTS`].
pub const REGION_REMOTE_ATOMIC_LOW: u32 = 12;
/// Region window: its protection domain.
pub const REGION_PD: u16 = 0x1b0;
/// Puts the region window in force: bits 15 to 0 index.
pub const REGION_COMMAND: u16 = 0x194;
/// 1 while memory may still be written or read that only a region before the last region command permits.
pub const REGION_BUSY: u16 = 0x198;
/// Region window: number of the first entry of its page table, low 32 bits.
pub const REGION_TABLE_LOW: u16 = 0x19c;
/// Region window: its page table.
pub const REGION_TABLE: u16 = 0x1a8;
/// High 8 bits of the first entry's number. Lowest of its 8 bits in [`REGION_TABLE`].
pub const REGION_TABLE_HIGH_LOW: u32 = 0;
/// Size of its pages, 0: 4 KiB, each more doubles it, 9: 2 MiB. Lowest of its 4 bits in [`REGION_TABLE`].
pub const REGION_PAGE_LOW: u32 = 8;
/// It has a page table; else its translations are on chip. Lowest of its 1 bits in [`REGION_TABLE`].
pub const REGION_TRANSLATED_LOW: u32 = 12;
/// Translation of addresses; SLVERR while a QP is open. Turning it on empties the cache and forgets all tables.
pub const TRANSLATION: u16 = 0x1ac;
/// Regions may have page tables. Lowest of its 1 bits in [`TRANSLATION`].
pub const TRANSLATION_ON_LOW: u32 = 0;
/// Received packets behind one that waits for page table entries are looked up meanwhile; else it stops receive as a whole. Lowest of its 1 bits in [`TRANSLATION`].
pub const TRANSLATION_AHEAD_LOW: u32 = 1;
/// Each part of the receive buffer waits for page table entries by itself. Lowest of its 1 bits in [`TRANSLATION`].
pub const TRANSLATION_PARTS_LOW: u32 = 2;
/// Binary logarithm of the sets of the cache that are used, 0 to 9. Lowest of its 4 bits in [`TRANSLATION`].
pub const TRANSLATION_SETS_LOW: u32 = 8;
/// High 32 bits of counter bytes_in, as of the last read of its low ones.
pub const BYTES_IN_HIGH: u16 = 0x1a0;
/// High 32 bits of counter bytes_out, likewise.
pub const BYTES_OUT_HIGH: u16 = 0x1a4;
/// Counter: frames from the MAC.
pub const FRAMES_IN: u16 = 0x400;
/// Counter: their bytes, without FCS.
pub const BYTES_IN: u16 = 0x404;
/// Counter: frames to the MAC.
pub const FRAMES_OUT: u16 = 0x408;
/// Counter: their bytes, without FCS.
pub const BYTES_OUT: u16 = 0x40c;
/// Counter: frames that are none of ours.
pub const DROP_NOT_ROCE: u16 = 0x410;
/// Counter: malformed frames.
pub const DROP_MALFORMED: u16 = 0x414;
/// Counter: RoCEv1 packets.
pub const DROP_ROCE_V1: u16 = 0x418;
/// Counter: packets of a service other than RC.
pub const DROP_SERVICE: u16 = 0x41c;
/// Counter: packets with a wrong ICRC.
pub const DROP_ICRC: u16 = 0x420;
/// Counter: packets for no open QP, or not from its peer.
pub const DROP_QP: u16 = 0x424;
/// Counter: READ responses and atomic answers that nothing asked for.
pub const DROP_RESPONSE: u16 = 0x428;
/// Counter: packets that found no room: receive buffer, queue of answers, queue of CNPs.
pub const DROP_FULL: u16 = 0x42c;
/// Counter: request packets accepted.
pub const REQUESTS_IN: u16 = 0x430;
/// Counter: request packets that were duplicates.
pub const DUPLICATES_IN: u16 = 0x434;
/// Counter: request packets ahead of the expected PSN.
pub const GAPS_IN: u16 = 0x438;
/// Counter: request packets that found no receive buffer.
pub const NO_BUFFER: u16 = 0x43c;
/// Counter: request packets that were invalid, of a reserved operation or too long: their QP ended.
pub const INVALID_IN: u16 = 0x440;
/// Counter: WRITEs that may not go where they would: their QP ended.
pub const ACCESS_IN: u16 = 0x444;
/// Counter: request packets for a QP in error.
pub const NOT_READY_IN: u16 = 0x448;
/// Counter: packets not carried out: their receive buffer, the memory of their READ or atomic, a region that went meanwhile, or the region of a key to invalidate, is not registered.
pub const LOCAL_ACCESS: u16 = 0x44c;
/// Counter: CNPs taken.
pub const CNPS_IN: u16 = 0x450;
/// Counter: CNPs sent.
pub const CNPS_OUT: u16 = 0x454;
/// Counter: packets with CE that counted for CNPs.
pub const MARKED_IN: u16 = 0x458;
/// Counter: PFC frames obeyed.
pub const PFC_IN: u16 = 0x45c;
/// Counter: PAUSE frames obeyed.
pub const PAUSE_IN: u16 = 0x460;
/// Counter: PFC and PAUSE frames of which nothing was obeyed.
pub const PAUSE_IGNORED: u16 = 0x464;
/// Counter: PFC frames sent.
pub const PFC_OUT: u16 = 0x468;
/// Counter: stalls that the watchdog reported.
pub const BARKS: u16 = 0x46c;
/// Counter: stalls that it ended by silence.
pub const BITES: u16 = 0x470;
/// Counter: request packets granted, resent ones included.
pub const REQUESTS_OUT: u16 = 0x474;
/// Counter: request packets resent.
pub const RESENT_OUT: u16 = 0x478;
/// Counter: ACKs and NAKs granted.
pub const ANSWERS_OUT: u16 = 0x47c;
/// Counter: sequence NAKs among them.
pub const NAKS_OUT: u16 = 0x480;
/// Counter: RNR NAKs among them.
pub const RNR_NAKS_OUT: u16 = 0x484;
/// Counter: sequence NAKs that made a QP go back.
pub const NAKS_IN: u16 = 0x488;
/// Counter: RNR NAKs that made a QP wait.
pub const RNR_NAKS_IN: u16 = 0x48c;
/// Counter: NAKs, and wrong READ responses, that ended a QP.
pub const REMOTE_ERRORS_IN: u16 = 0x490;
/// Counter: ACK timeouts that made a QP go back.
pub const TIMEOUTS: u16 = 0x494;
/// Counter: QPs that ended because no retry was left.
pub const EXHAUSTED: u16 = 0x498;
/// Counter: answers that were stale, for a PSN never sent, or reserved.
pub const ANSWERS_UNUSED: u16 = 0x49c;
/// Counter: work requests refused.
pub const WORK_REFUSED: u16 = 0x4a0;
/// Counter: receive buffers refused.
pub const RECV_REFUSED: u16 = 0x4a4;
/// Counter: packets whose P_Key does not match that of their QP.
pub const DROP_PKEY: u16 = 0x4a8;
/// Counter: request packets granted and not sent: an answer, a timeout or a CLOSE had made them useless.
pub const WITHDRAWN: u16 = 0x4ac;
/// Counter: frames to another MAC address than the port's that are not PFC or PAUSE to theirs.
pub const DROP_ADDRESS: u16 = 0x4b0;
/// Counter: packets of another VLAN than their QP's.
pub const DROP_VLAN: u16 = 0x4b4;
/// Counter: READ responses that were missing, which made a QP go back.
pub const IMPLIED_NAKS: u16 = 0x4b8;
/// Counter: pages of packets whose translation the cache had.
pub const TRANSLATION_HITS: u16 = 0x4bc;
/// Counter: pages of packets that waited for theirs from the host's memory.
pub const TRANSLATION_MISSES: u16 = 0x4c0;
/// Counter: cycles for which a packet of class 0 that was next waited for translations.
pub const TRANSLATION_STALLED_0: u16 = 0x4c4;
/// Counter: cycles for which a packet of class 1 that was next waited for translations.
pub const TRANSLATION_STALLED_1: u16 = 0x4c8;
/// Counter: cycles for which a packet of class 2 that was next waited for translations.
pub const TRANSLATION_STALLED_2: u16 = 0x4cc;
/// Counter: cycles for which a packet of class 3 that was next waited for translations.
pub const TRANSLATION_STALLED_3: u16 = 0x4d0;
/// Counter: cycles for which a packet of class 4 that was next waited for translations.
pub const TRANSLATION_STALLED_4: u16 = 0x4d4;
/// Counter: cycles for which a packet of class 5 that was next waited for translations.
pub const TRANSLATION_STALLED_5: u16 = 0x4d8;
/// Counter: cycles for which a packet of class 6 that was next waited for translations.
pub const TRANSLATION_STALLED_6: u16 = 0x4dc;
/// Counter: cycles for which a packet of class 7 that was next waited for translations.
pub const TRANSLATION_STALLED_7: u16 = 0x4e0;
/// Counter: packets not sent because their payload could not be read: its region is not registered, or the host answered with an error.
pub const UNREAD: u16 = 0x4e4;

/// A counter of the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// As in the map.
    pub name: &'static str,
    /// Its register.
    pub address: u16,
    /// Counts bytes, else pulses of its bit of `event_o`.
    pub bytes: bool,
}

impl Counter {
    const fn new(name: &'static str, address: u16, bytes: bool) -> Self {
        Self {
            name,
            address,
            bytes,
        }
    }

    /// Its bit of `event_o`.
    pub const fn bit(self) -> u32 {
        event_bit(self.address)
    }
}

/// A counter's bit of `event_o`: of [`FRAMES_IN`] 0.
pub const fn event_bit(address: u16) -> u32 {
    (address - 0x400) as u32 / 4
}

/// All counters, in the order of their registers and of the bits of `event_o`.
pub const COUNTERS: [Counter; 58] = [
    Counter::new("frames_in", FRAMES_IN, false),
    Counter::new("bytes_in", BYTES_IN, true),
    Counter::new("frames_out", FRAMES_OUT, false),
    Counter::new("bytes_out", BYTES_OUT, true),
    Counter::new("drop_not_roce", DROP_NOT_ROCE, false),
    Counter::new("drop_malformed", DROP_MALFORMED, false),
    Counter::new("drop_roce_v1", DROP_ROCE_V1, false),
    Counter::new("drop_service", DROP_SERVICE, false),
    Counter::new("drop_icrc", DROP_ICRC, false),
    Counter::new("drop_qp", DROP_QP, false),
    Counter::new("drop_response", DROP_RESPONSE, false),
    Counter::new("drop_full", DROP_FULL, false),
    Counter::new("requests_in", REQUESTS_IN, false),
    Counter::new("duplicates_in", DUPLICATES_IN, false),
    Counter::new("gaps_in", GAPS_IN, false),
    Counter::new("no_buffer", NO_BUFFER, false),
    Counter::new("invalid_in", INVALID_IN, false),
    Counter::new("access_in", ACCESS_IN, false),
    Counter::new("not_ready_in", NOT_READY_IN, false),
    Counter::new("local_access", LOCAL_ACCESS, false),
    Counter::new("cnps_in", CNPS_IN, false),
    Counter::new("cnps_out", CNPS_OUT, false),
    Counter::new("marked_in", MARKED_IN, false),
    Counter::new("pfc_in", PFC_IN, false),
    Counter::new("pause_in", PAUSE_IN, false),
    Counter::new("pause_ignored", PAUSE_IGNORED, false),
    Counter::new("pfc_out", PFC_OUT, false),
    Counter::new("barks", BARKS, false),
    Counter::new("bites", BITES, false),
    Counter::new("requests_out", REQUESTS_OUT, false),
    Counter::new("resent_out", RESENT_OUT, false),
    Counter::new("answers_out", ANSWERS_OUT, false),
    Counter::new("naks_out", NAKS_OUT, false),
    Counter::new("rnr_naks_out", RNR_NAKS_OUT, false),
    Counter::new("naks_in", NAKS_IN, false),
    Counter::new("rnr_naks_in", RNR_NAKS_IN, false),
    Counter::new("remote_errors_in", REMOTE_ERRORS_IN, false),
    Counter::new("timeouts", TIMEOUTS, false),
    Counter::new("exhausted", EXHAUSTED, false),
    Counter::new("answers_unused", ANSWERS_UNUSED, false),
    Counter::new("work_refused", WORK_REFUSED, false),
    Counter::new("recv_refused", RECV_REFUSED, false),
    Counter::new("drop_pkey", DROP_PKEY, false),
    Counter::new("withdrawn", WITHDRAWN, false),
    Counter::new("drop_address", DROP_ADDRESS, false),
    Counter::new("drop_vlan", DROP_VLAN, false),
    Counter::new("implied_naks", IMPLIED_NAKS, false),
    Counter::new("translation_hits", TRANSLATION_HITS, false),
    Counter::new("translation_misses", TRANSLATION_MISSES, false),
    Counter::new("translation_stalled_0", TRANSLATION_STALLED_0, false),
    Counter::new("translation_stalled_1", TRANSLATION_STALLED_1, false),
    Counter::new("translation_stalled_2", TRANSLATION_STALLED_2, false),
    Counter::new("translation_stalled_3", TRANSLATION_STALLED_3, false),
    Counter::new("translation_stalled_4", TRANSLATION_STALLED_4, false),
    Counter::new("translation_stalled_5", TRANSLATION_STALLED_5, false),
    Counter::new("translation_stalled_6", TRANSLATION_STALLED_6, false),
    Counter::new("translation_stalled_7", TRANSLATION_STALLED_7, false),
    Counter::new("unread", UNREAD, false),
];

/// A word of settings: it can be written, and reads as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// As in the map.
    pub name: &'static str,
    /// Its register.
    pub address: u16,
    /// The bits that exist; the others read 0.
    pub bits: u32,
    /// What it reads after reset.
    pub reset: u32,
}

impl Setting {
    const fn new(name: &'static str, address: u16, bits: u32, reset: u32) -> Self {
        Self {
            name,
            address,
            bits,
            reset,
        }
    }
}

/// All words of settings.
pub const SETTINGS: [Setting; 97] = [
    Setting::new("qpn_base", 0x008, 0xffffff, 0x0),
    Setting::new("port_mac_low", 0x00c, 0xffffffff, 0x0),
    Setting::new("port_mac_high", 0x010, 0xffff, 0x0),
    Setting::new("control", 0x014, 0xf, 0x0),
    Setting::new("pfc_classes", 0x018, 0xff, 0x0),
    Setting::new("pcp_map", 0x01c, 0xffffffff, 0x76543210),
    Setting::new("dscp_map", 0x020, 0xffffffff, 0x0),
    Setting::new("dscp_map", 0x024, 0xffffffff, 0x0),
    Setting::new("dscp_map", 0x028, 0xffffffff, 0x0),
    Setting::new("dscp_map", 0x02c, 0xffffffff, 0x0),
    Setting::new("dscp_map", 0x030, 0xffffffff, 0x0),
    Setting::new("dscp_map", 0x034, 0xffffffff, 0x0),
    Setting::new("dscp_map", 0x038, 0xffffffff, 0x0),
    Setting::new("dscp_map", 0x03c, 0xffffffff, 0x0),
    Setting::new("buffer_cells", 0x1c0, 0xffff, 0x0),
    Setting::new("buffer_cells", 0x1c4, 0xffff, 0x0),
    Setting::new("buffer_cells", 0x1c8, 0xffff, 0x0),
    Setting::new("buffer_cells", 0x1cc, 0xffff, 0x0),
    Setting::new("buffer_cells", 0x1d0, 0xffff, 0x0),
    Setting::new("buffer_cells", 0x1d4, 0xffff, 0x0),
    Setting::new("buffer_cells", 0x1d8, 0xffff, 0x0),
    Setting::new("buffer_map", 0x0e0, 0xffffffff, 0x0),
    Setting::new("pfc_xoff", 0x040, 0xffffff, 0xffffff),
    Setting::new("pfc_xoff", 0x044, 0xffffff, 0xffffff),
    Setting::new("pfc_xoff", 0x048, 0xffffff, 0xffffff),
    Setting::new("pfc_xoff", 0x04c, 0xffffff, 0xffffff),
    Setting::new("pfc_xoff", 0x050, 0xffffff, 0xffffff),
    Setting::new("pfc_xoff", 0x054, 0xffffff, 0xffffff),
    Setting::new("pfc_xoff", 0x058, 0xffffff, 0xffffff),
    Setting::new("pfc_xoff", 0x05c, 0xffffff, 0xffffff),
    Setting::new("pfc_xon", 0x060, 0xffffff, 0x0),
    Setting::new("pfc_xon", 0x064, 0xffffff, 0x0),
    Setting::new("pfc_xon", 0x068, 0xffffff, 0x0),
    Setting::new("pfc_xon", 0x06c, 0xffffff, 0x0),
    Setting::new("pfc_xon", 0x070, 0xffffff, 0x0),
    Setting::new("pfc_xon", 0x074, 0xffffff, 0x0),
    Setting::new("pfc_xon", 0x078, 0xffffff, 0x0),
    Setting::new("pfc_xon", 0x07c, 0xffffff, 0x0),
    Setting::new("pfc_quanta", 0x080, 0xffff, 0xffff),
    Setting::new("pfc_refresh", 0x084, 0xffffffff, 0xffffffff),
    Setting::new("bark_low", 0x088, 0xffffffff, 0x0),
    Setting::new("bark_high", 0x08c, 0xff, 0x0),
    Setting::new("bite_low", 0x090, 0xffffffff, 0x0),
    Setting::new("bite_high", 0x094, 0xff, 0x0),
    Setting::new("rate_max", 0x0a0, 0xffffffff, 0x2625a00),
    Setting::new("rate_min", 0x0a4, 0xffffffff, 0x2710),
    Setting::new("rate_ai", 0x0a8, 0xffffffff, 0x9c40),
    Setting::new("rate_hai", 0x0ac, 0xffffffff, 0x30d40),
    Setting::new("g", 0x0b0, 0xffff, 0x100),
    Setting::new("alpha_time", 0x0b4, 0xffffffff, 0x29f7),
    Setting::new("rate_time", 0x0b8, 0xffffffff, 0x29f7),
    Setting::new("byte_limit", 0x0bc, 0xffffffff, 0x989680),
    Setting::new("stages", 0x0c0, 0x1f, 0x5),
    Setting::new("cnp_interval", 0x0c4, 0xffffffff, 0x2626),
    Setting::new("cnp_dscp", 0x0c8, 0x3f, 0x30),
    Setting::new("cnp_pcp", 0x0d0, 0x7, 0x6),
    Setting::new("read_ahead", 0x0e4, 0x1ff, 0x0),
    Setting::new("class_costs", 0x1e0, 0x3ff, 0x1),
    Setting::new("class_costs", 0x1e4, 0x3ff, 0x1),
    Setting::new("class_costs", 0x1e8, 0x3ff, 0x1),
    Setting::new("class_costs", 0x1ec, 0x3ff, 0x1),
    Setting::new("class_costs", 0x1f0, 0x3ff, 0x1),
    Setting::new("class_costs", 0x1f4, 0x3ff, 0x1),
    Setting::new("class_costs", 0x1f8, 0x3ff, 0x1),
    Setting::new("class_costs", 0x1fc, 0x3ff, 0x1),
    Setting::new("limiter_burst", 0x0cc, 0xffff, 0x200),
    Setting::new("qp_dst_mac_low", 0x100, 0xffffffff, 0x0),
    Setting::new("qp_dst_mac_high", 0x104, 0xffff, 0x0),
    Setting::new("qp_src_mac_low", 0x108, 0xffffffff, 0x0),
    Setting::new("qp_src_mac_high", 0x10c, 0xffff, 0x0),
    Setting::new("qp_tci", 0x110, 0xffffffff, 0x0),
    Setting::new("qp_network", 0x114, 0x3fff3f3f, 0x400000),
    Setting::new("qp_port_key", 0x118, 0xffffffff, 0xffffc000),
    Setting::new("qp_peer_qpn", 0x11c, 0xffffff, 0x0),
    Setting::new("qp_own_ip", 0x120, 0xffffffff, 0x0),
    Setting::new("qp_own_ip", 0x124, 0xffffffff, 0x0),
    Setting::new("qp_own_ip", 0x128, 0xffffffff, 0x0),
    Setting::new("qp_own_ip", 0x12c, 0xffffffff, 0x0),
    Setting::new("qp_peer_ip", 0x130, 0xffffffff, 0x0),
    Setting::new("qp_peer_ip", 0x134, 0xffffffff, 0x0),
    Setting::new("qp_peer_ip", 0x138, 0xffffffff, 0x0),
    Setting::new("qp_peer_ip", 0x13c, 0xffffffff, 0x0),
    Setting::new("qp_requester", 0x140, 0x1fffffff, 0x7f72),
    Setting::new("qp_window", 0x144, 0x7fffff, 0x0),
    Setting::new("qp_requester_psn", 0x148, 0xffffff, 0x0),
    Setting::new("qp_responder", 0x14c, 0x1ff, 0xa),
    Setting::new("qp_responder_psn", 0x150, 0xffffff, 0x0),
    Setting::new("qp_pd", 0x1b4, 0xffff, 0x0),
    Setting::new("region_base_low", 0x180, 0xffffffff, 0x0),
    Setting::new("region_base_high", 0x184, 0xffffffff, 0x0),
    Setting::new("region_length_low", 0x188, 0xffffffff, 0x0),
    Setting::new("region_length_high", 0x18c, 0xffff, 0x0),
    Setting::new("region_rights", 0x190, 0x1fff, 0x0),
    Setting::new("region_pd", 0x1b0, 0xffff, 0x0),
    Setting::new("region_table_low", 0x19c, 0xffffffff, 0x0),
    Setting::new("region_table", 0x1a8, 0x1fff, 0x0),
    Setting::new("translation", 0x1ac, 0xf07, 0x0),
];
