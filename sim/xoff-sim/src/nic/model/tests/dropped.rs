//! Frames that no QP accepts, and memory that may not be written.

use std::collections::VecDeque;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::frame::Frame;
use crate::kernel::Arrival;
use crate::protocol::gbn::Status;
use crate::strategies::{self, Repair};
use crate::testing::{pause_frame, pfc_frame};

/// A single NIC, fed by hand.
struct Alone {
    nic: ModelNic,
    now: Time,
}

impl Alone {
    /// A NIC with QP 0 open; the peer of QP 0 is host 1.
    fn new() -> Self {
        Self::with(|_| ())
    }

    /// The same with a change to the settings of the QP.
    fn with(change: impl Fn(&mut QpSettings)) -> Self {
        let mut other = nic(1, &PcieConfig::default(), |_| ());
        let mut nic = nic(2, &PcieConfig::default(), |config| {
            config.settings.pfc.classes = 0xFF;
            config.settings.pause_obeyed = true;
        });
        let config = flow(0, WorkKind::SEND, 100, None);
        connect((&mut other, 1), (&mut nic, 2), 0, &config, change);
        Self {
            nic,
            now: Time::ZERO,
        }
    }

    /// Feeds a frame now. Returns what is sent in the time after it.
    fn feed(&mut self, bytes: Bytes) -> Vec<Frame> {
        let frame = Frame::sent(bytes.into(), self.now, LineRate::G40);
        let end = frame.line_free(LineRate::G40);
        self.run(Some(frame), end)
    }

    fn run(&mut self, frame: Option<Frame>, until: Time) -> Vec<Frame> {
        let mut inbox: VecDeque<_> = frame
            .into_iter()
            .map(|frame| Arrival::new(PortId(0), frame))
            .collect();
        let mut out = Departures::default();
        self.nic
            .advance(until, &mut Arrivals::new(&mut inbox, until), &mut out);
        self.now = until;
        out.take().into_iter().map(|(_, frame)| frame).collect()
    }

    fn count(&self, register: u16) -> u64 {
        self.nic.counters().get(register)
    }

    /// The number of received frames, as the sum of the counters of what became of them.
    fn fates(&self) -> u64 {
        let all = NicCounters::RECEIVED.into_iter();
        // Since nothing was ever sent, no answer can be used.
        all.map(|register| self.count(register)).sum::<u64>() + self.count(reg::ANSWERS_UNUSED)
    }
}

/// A frame that QP 0 would accept, damaged at one place and then repaired.
fn spoilt(at: usize, bits: u8, repair: Option<Repair>) -> Bytes {
    let mut frame = request(100);
    frame[at] ^= bits;
    if let Some(repair) = repair {
        strategies::repair(&mut frame, repair);
    }
    frame.into()
}

/// A SEND to QP 0.
fn request(payload_bytes: u16) -> Vec<u8> {
    let path = path::Path::new(&qp(1, 2, 0)).unwrap();
    let request = crate::protocol::gbn::Request {
        opcode: crate::wire::Opcode::RC_SEND_ONLY,
        psn: Psn::wrapping(0xFF_FFF0 + 1000),
        payload_bytes,
        ack_req: true,
        ..Default::default()
    };
    let payload = Bytes::from(vec![7; request.payload_bytes.into()]);
    let draft = path.request(&request, &payload.into(), true);
    path.finish(draft, &mut 5).whole().to_vec()
}

/// A SEND to QP 0 with a tag.
fn tagged(tci: u16) -> Bytes {
    let mut frame = request(100);
    let tag = [[0x81, 0x00], tci.to_be_bytes()].concat();
    frame.splice(12..12, tag);
    frame.into()
}

/// The same packet as one of RoCEv1: its BTH is behind a GRH.
fn roce_v1() -> Bytes {
    let frame = request(100);
    let mut v1 = frame[..12].to_vec();
    v1.extend([0x89, 0x15, 0x60, 0, 0, 0]);
    v1.extend(((frame.len() - 42) as u16).to_be_bytes());
    v1.extend([0x1B, 64]);
    v1.extend([0; 32]);
    v1.extend(&frame[42..]);
    v1.into()
}

#[test]
fn each_reason_has_its_counter() {
    let whole = Some(Repair::ChecksumAndIcrc);
    // Offsets: IPv4 14, source address 26, BTH with opcode 42, P_Key 44, QPN 47.
    for (frame, register) in [
        (spoilt(0, 0, None), reg::REQUESTS_IN),
        (spoilt(80, 1, None), reg::DROP_ICRC),
        (spoilt(24, 1, None), reg::DROP_MALFORMED),
        (spoilt(12, 8, None), reg::DROP_NOT_ROCE),
        (spoilt(47, 0x10, whole), reg::DROP_QP),
        (spoilt(49, 1, whole), reg::DROP_QP),
        (spoilt(45, 1, whole), reg::DROP_PKEY),
        (spoilt(29, 1, whole), reg::DROP_QP),
        (spoilt(42, 0x20, whole), reg::DROP_SERVICE),
        // READ response: first, middle, last, only.
        (spoilt(42, 0x04 ^ 0x0D, whole), reg::DROP_RESPONSE),
        (spoilt(42, 0x04 ^ 0x0E, whole), reg::DROP_RESPONSE),
        (spoilt(42, 0x04 ^ 0x0F, whole), reg::DROP_RESPONSE),
        (spoilt(42, 0x04 ^ 0x10, whole), reg::DROP_RESPONSE),
        (spoilt(5, 1, None), reg::DROP_ADDRESS),
        (spoilt(0, 0x40, None), reg::DROP_ADDRESS),
        (request(4_097).into(), reg::INVALID_IN),
        (request(9_000).into(), reg::INVALID_IN),
        // Reserved operations of RC.
        (spoilt(42, 0x04 ^ 0x15, whole), reg::INVALID_IN),
        (spoilt(42, 0x04 ^ 0x18, whole), reg::INVALID_IN),
        (spoilt(42, 0x04 ^ 0x1F, whole), reg::INVALID_IN),
        // Nothing says that it is one.
        (spoilt(42, 0x04 ^ 0x1F, None), reg::DROP_MALFORMED),
        // Operations that UC does not have are reserved, too, but nobody answers in UC.
        (spoilt(42, 0x04 ^ 0x3F, whole), reg::DROP_MALFORMED),
        (tagged(5 << 13), reg::REQUESTS_IN),
        (tagged(20), reg::DROP_VLAN),
        (roce_v1(), reg::DROP_ROCE_V1),
        (spoilt(53, 0x20, whole), reg::GAPS_IN),
        (pfc_frame(3, 100), reg::PFC_IN),
        (pause_frame(100), reg::PAUSE_IN),
    ] {
        let mut alone = Alone::new();
        // By then receive buffers are posted.
        alone.run(None, us(5));
        alone.feed(frame);
        alone.run(None, us(10));
        assert_eq!(alone.count(register), 1, "{register:#x}");
        assert_eq!((alone.count(reg::FRAMES_IN), alone.fates()), (1, 1));
    }
    // The high bit of the P_Key only distinguishes full from limited members.
    let mut alone = Alone::new();
    alone.feed(spoilt(44, 0x80, whole));
    alone.run(None, us(10));
    assert_eq!(alone.count(reg::DROP_PKEY), 0);
    assert_eq!(
        alone.count(reg::REQUESTS_IN) + alone.count(reg::NO_BUFFER),
        1
    );
}

/// IBTA volume 1 §10.9: two limited members of a partition do not talk to each other. IEEE 802.1Q §9.6: a tag with VLAN
/// identifier 0 has only a priority.
#[test]
fn pkeys_and_vlans_have_to_match() {
    let whole = Some(Repair::ChecksumAndIcrc);
    for (tags, pkey, frame, register) in [
        (&[][..], 0x7FFF, spoilt(44, 0, whole), reg::REQUESTS_IN),
        (&[], 0x7FFF, spoilt(44, 0x80, whole), reg::DROP_PKEY),
        (&[], 0xFFFF, spoilt(44, 0x80, whole), reg::REQUESTS_IN),
        (&[10], 0xFFFF, tagged(10), reg::REQUESTS_IN),
        (&[10], 0xFFFF, tagged(5 << 13 | 10), reg::REQUESTS_IN),
        (&[10], 0xFFFF, tagged(20), reg::DROP_VLAN),
        (&[10], 0xFFFF, tagged(0), reg::DROP_VLAN),
        (&[10], 0xFFFF, request(100).into(), reg::DROP_VLAN),
        (&[3 << 13], 0xFFFF, request(100).into(), reg::REQUESTS_IN),
        (&[10], 0x7FFF, spoilt(44, 0x80, whole), reg::DROP_VLAN),
    ] {
        let mut alone = Alone::with(|qp| (qp.tags, qp.pkey) = (tags.to_vec(), pkey));
        // By then receive buffers are posted.
        alone.run(None, us(5));
        alone.feed(frame);
        alone.run(None, us(10));
        assert_eq!(
            alone.count(register),
            1,
            "{tags:?}, {pkey:#x}: {register:#x}"
        );
        assert_eq!(alone.fates(), 1);
    }
}

#[test]
fn broken_frames_end_at_the_mac() {
    let mut alone = Alone::new();
    let frame = |bytes: usize, fcs_ok: bool| Frame {
        fcs_ok,
        ..Frame::sent(vec![0; bytes].into(), Time::ZERO, LineRate::G40)
    };
    for (frame, until) in [
        (frame(100, false), 1),
        (frame(59, true), 2),
        (frame(9213, true), 3),
        (frame(9212, true), 4),
    ] {
        alone.run(
            Some(Frame {
                end: us(until - 1),
                ..frame
            }),
            us(until),
        );
    }
    alone.run(None, us(9));
    let mac = alone.nic.mac_counters();
    assert_eq!(
        (mac.bad_fcs, mac.runts, mac.giants, mac.frames),
        (1, 1, 1, 1)
    );
    assert_eq!(alone.count(reg::FRAMES_IN), 1);
}

/// The frame with the NIC's MAC address as its destination, unless it is a MAC control frame.
fn to_us(mut frame: Vec<u8>) -> Bytes {
    let control = [0x88, 0x08];
    if frame.len() >= 14 && frame[12..14] != control {
        frame[..6].copy_from_slice(&address(2).mac.0);
    }
    frame.into()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn no_frame_is_lost_count_of(
        frames in prop::collection::vec(prop_oneof![
            1 => strategies::any_frame().prop_map(Bytes::from),
            3 => strategies::any_frame().prop_map(to_us),
            2 => (0usize..120, any::<u8>(), any::<bool>()).prop_map(|(at, bits, sealed)| {
                spoilt(at, bits, sealed.then_some(Repair::ChecksumAndIcrc))
            }),
            1 => (34usize..58, any::<u8>()).prop_map(|(at, bits)| spoilt(at, bits, Some(Repair::ChecksumAndIcrc))),
        ], 0..60),
    ) {
        let mut alone = Alone::new();
        let all = frames.len() as u64;
        for frame in frames {
            alone.feed(frame);
        }
        let end = alone.now + Duration::from_us(100);
        alone.run(None, end);
        let mac = alone.nic.mac_counters();
        prop_assert_eq!(mac.frames + mac.runts + mac.giants + mac.bad_fcs, all);
        prop_assert_eq!(alone.count(reg::FRAMES_IN), mac.frames);
        prop_assert_eq!(alone.fates(), mac.frames);
        prop_assert_eq!(alone.nic.buffer_bytes(), 0);
    }
}

/// A WRITE to, or a SEND into, memory that is not registered for it.
fn forbidden(kind: WorkKind, spoil: impl FnOnce(&mut ModelNic, &FlowConfig)) -> Network<ModelNic> {
    let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), |_| ()));
    let [a, b] = &mut nics;
    let config = flow(0, kind, 3000, Some(3));
    connect((a, 1), (b, 2), 0, &config, |_| ());
    spoil(b, &config);
    let mut network = pair(nics, [&[], &[]]);
    finish(&mut network, us(1_000), |_| ());
    network
}

fn region(config: &FlowConfig) -> Region {
    Region {
        base: config.base(),
        length: config.region_bytes(),
        tag: 0x5A,
        pd: 0,
        local_write: true,
        remote_write: true,
    }
}

#[test]
fn no_write_leaves_its_region() {
    let spoils: [fn(&mut Region); 4] = [
        |region| region.tag ^= 1,
        |region| region.length = 2999,
        |region| region.base += 1,
        |region| region.remote_write = false,
    ];
    for spoil in spoils {
        let network = forbidden(WorkKind::WRITE, |nic, config| {
            let mut region = region(config);
            spoil(&mut region);
            nic.register(0, region);
        });
        let [a, b] = [A, B].map(|node| network.node(node));
        assert_eq!(a.host().failure(), Some(Status::RemoteAccess));
        assert_eq!(b.counters().get(reg::ACCESS_IN), 1);
        assert_eq!(b.host().receivers()[0].fresh_bytes(), 0);
    }
}

#[test]
fn a_receive_buffer_has_to_be_registered() {
    let network = forbidden(WorkKind::SEND, |nic, config| {
        let mut region = region(config);
        region.local_write = false;
        nic.register(0, region);
    });
    let [a, b] = [A, B].map(|node| network.node(node));
    assert_eq!(a.host().failure(), Some(Status::RemoteOperate));
    assert_eq!(b.host().failure(), Some(Status::LocalAccess));
    assert_eq!(b.host().receivers()[0].fresh_bytes(), 0);
    assert_eq!(b.counters().get(reg::LOCAL_ACCESS), 1);
    assert_eq!(b.host().errors().payload_bytes, 0);
}

/// The responder checks each packet, so a WRITE ends where its region does, at whatever time that is.
#[test]
fn a_region_withdrawn_in_the_middle_of_a_write_ends_it() {
    let message = 300_000;
    let config = flow(0, WorkKind::WRITE, message, Some(1));
    let mut network = super::flows::one_flow(&config, |_| (), [&[], &[]]);
    network.run_until(us(30), |_| ());
    network.update(B, |nic| {
        let mut region = region(&config);
        region.remote_write = false;
        nic.register(0, region);
    });
    let written = network.node(B).host().receivers()[0].fresh_bytes();
    assert!(written > 20_000, "{written} bytes before");
    finish(&mut network, us(1_000), |_| ());
    let [a, b] = [A, B].map(|node| network.node(node));
    assert_eq!(a.host().failure(), Some(Status::RemoteAccess));
    let more = b.host().receivers()[0].fresh_bytes() - written;
    assert_eq!(more, 0, "bytes after it");
    assert_eq!(b.counters().get(reg::NAKS_OUT), 0, "NAKs of sequence");
    assert!(b.counters().get(reg::LOCAL_ACCESS) > 0);
    assert_eq!(b.host().errors().payload_bytes, 0);
}

/// IBTA volume 1, error state of a QP: it is one of both queues. Receive buffers come back flushed when the send half
/// has failed.
#[test]
fn a_send_half_that_fails_flushes_the_receive_buffers() {
    let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), |_| ()));
    let [a, b] = &mut nics;
    // Its messages never begin.
    let never = FlowConfig {
        start: us(100_000),
        ..flow(1, WorkKind::SEND, 100, None)
    };
    let retries = |qp: &mut QpSettings| (qp.requester.retry, qp.requester.timeout) = (1, 1);
    connect((b, 2), (a, 1), 0, &never, retries);
    connect(
        (a, 1),
        (b, 2),
        0,
        &flow(0, WorkKind::WRITE, 100, Some(1)),
        retries,
    );
    let mut network = pair(nics, [&["any: drop"], &[]]);
    network.run_until(us(10), |_| ());
    let receiver = |network: &Network<ModelNic>| network.node(A).host().receivers()[0].failed();
    assert_eq!(receiver(&network), None);
    network.run_until(us(300), |_| ());
    assert_eq!(
        network.node(A).host().failure(),
        Some(Status::RetryExceeded)
    );
    assert_eq!(receiver(&network), Some(Status::Flushed));
    assert_eq!(
        network.node(A).host().errors().failed_qps,
        2,
        "a flow out and a flow in"
    );
}
