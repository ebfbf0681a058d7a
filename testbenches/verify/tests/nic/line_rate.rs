//! Tests at line rate, with the smallest frames and with losses.

use crate::fixture::{MTU, SOURCE, Tested, done, good, mark_ce, pfc, post};
use xoff_network::Endpoint as _;
use xoff_sim::frame::Frame;
use xoff_sim::nic::QpSettings;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Work, WorkKind};
use xoff_sim::time::LineRate;
use xoff_sim::wire::Opcode;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, REGION, all};

/// Sends frames to one side, back to back at line rate.
fn back_to_back(pair: &mut Tested, side: usize, frames: &[Vec<u8>], rounds: usize) {
    let times = rounds * frames.len();
    pair.receive_back_to_back(side, frames.iter().cycle().take(times).cloned());
    // Its answers are discarded.
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    while !pair.host(side).received() {
        pair.step(&mut nothing);
    }
    pair.rest(5_000, &mut nothing);
}

#[test]
fn shortest_frames_back_to_back_are_all_taken() {
    // SENDs of 0 and 1 bytes into buffers, of one QP and of many; then the same SENDs repeatedly as duplicates. Each
    // asks for an ACK.
    for (qps, length) in [(1, 0), (16, 0), (64, 0), (1, 1), (64, 1)] {
        let mut pair = Tested::new(|setup| setup.requester.timeout = 0, qps);
        let mut sent = vec![];
        for index in 0..qps {
            for i in 0..16 {
                let recv = Recv {
                    length,
                    local_va: REGION,
                    local_key: pair.key[1],
                    id: i,
                };
                pair.post_recv(1, index, recv);
                let work = Work {
                    signaled: true,
                    length,
                    local_va: SOURCE,
                    id: i,
                    ..Work::default()
                };
                pair.post(0, index, work);
            }
        }
        let mut lose = |side: usize, bytes: &mut Vec<u8>, frame: &ParsedFrame| {
            let bth = frame.bth.unwrap();
            if side == 0 && bth.opcode == Opcode::RC_SEND_ONLY && sent.len() < usize::from(qps) * 16
            {
                assert!(bth.ack_req);
                sent.push(bytes.clone());
            }
            false
        };
        for _ in 0..1000 + u32::from(qps) * 120 {
            pair.step(&mut lose);
        }
        assert_eq!(sent.len(), usize::from(qps) * 16);
        assert!(
            sent.iter()
                .all(|frame| frame.len() == 60 + 2 * length as usize)
        );
        let rounds = 6400 / sent.len();
        back_to_back(&mut pair, 1, &sent, rounds);
        assert_eq!(
            pair.count(1, reg::DROP_FULL),
            0,
            "{qps} QPs, {length} bytes"
        );
        assert_eq!(pair.count(1, reg::REQUESTS_IN), sent.len() as u32);
        assert_eq!(
            pair.count(1, reg::DUPLICATES_IN),
            ((rounds - 1) * sent.len()) as u32
        );
        assert!(pair.count(1, reg::ANSWERS_OUT) > 0);
        assert_eq!(pair.completions[1].len(), sent.len());
    }
}

#[test]
fn answers_back_to_back_are_all_taken() {
    // Each packet of a long message is acknowledged separately. The peer gets no ACK at first, and then all of them at
    // once, repeatedly.
    for qps in [1, 16] {
        let change = |setup: &mut QpSettings| {
            setup.requester.ack_every = 1;
            setup.requester.timeout = 0;
        };
        let mut pair = Tested::new(change, qps);
        for index in 0..qps {
            let remote_key = pair.key[1];
            let work = Work {
                kind: WorkKind::WRITE,
                signaled: true,
                length: 64 * MTU,
                local_va: SOURCE,
                remote_va: REGION,
                remote_key,
                ..Work::default()
            };
            pair.post(0, index, work);
        }
        let mut answers = vec![];
        let mut deaf = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
            if side == 1 {
                answers.push(bytes.clone());
            }
            side == 0
        };
        let wait = 5000 + 64 * 50 * u32::from(qps);
        for _ in 0..wait {
            pair.step(&mut deaf);
        }
        assert!(answers.len() > 32, "{}", answers.len());
        back_to_back(&mut pair, 0, &answers, 3200 / answers.len() + 1);
        assert_eq!(pair.count(0, reg::DROP_FULL), 0, "{qps} QPs");
        assert_eq!(pair.completions[0].len(), usize::from(qps));
    }
}

/// Returns the share of time in which the wire carried frames, between the starts of the first and the last of these
/// frames.
fn busy<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> f64 {
    let frames: Vec<_> = frames.into_iter().collect();
    let took = frames[frames.len() - 1].start.as_ps() - frames[0].start.as_ps();
    let carried: u64 = frames[..frames.len() - 1]
        .iter()
        .map(|sent| LineRate::G40.time_of(sent.wire_bytes()).as_ps())
        .sum();
    carried as f64 / took as f64
}

#[test]
fn flows_fill_the_wire() {
    for (dcqcn, qps) in [(false, 1), (true, 1), (false, 3), (true, 16)] {
        let mut pair = Tested::new(|setup| setup.requester.window = 200, qps);
        for side in 0..2 {
            let control = u32::from(dcqcn) << reg::DCQCN_ON_LOW;
            pair.write(side, reg::CONTROL, control).unwrap();
        }
        let mut counts = [0; 2];
        for index in 0..qps {
            let (_, more) = post(&mut pair, 0, index, &[u32::from(240 / qps) * MTU]);
            counts = [counts[0] + more[0], counts[1] + more[1]];
        }
        pair.run(60_000, &mut all, |pair| done(pair, counts));
        good(&pair);
        let from: Vec<_> = pair.frames.iter().filter(|(side, ..)| *side == 0).collect();
        // The first slots are filled in the order in which the host answers, so the check begins after them. It ends
        // before the first flow ends.
        let full = from.iter().skip(20).map(|(_, sent, _)| sent);
        let full: Vec<_> = full
            .take(190)
            .filter(|sent| sent.bytes.len() == 1082)
            .collect();
        assert!(full.len() > 180);
        let busy = busy(full);
        println!("{qps} flows, DCQCN {dcqcn}: {busy:.4} of the wire");
        assert!(busy > 0.99, "{qps} flows, DCQCN {dcqcn}: {busy:.4}");
    }
}

#[test]
fn the_wire_stays_full_while_every_256th_packet_is_lost() {
    // SIGCOMM 2016, 4.1: a switch drops packets with 0xFF in the low byte of the IP ID, in messages of 4 MB. Here they
    // have 1 MB, which is four times as much as is ever sent without a loss.
    const MESSAGE: u32 = 1 << 20;
    const WHOLE: u64 = 55_000;
    for (restart, window, cycles) in [
        (false, 64, WHOLE),
        (false, 256, 25_000),
        (true, 64, WHOLE),
        (true, 256, 25_000),
    ] {
        let change = |setup: &mut QpSettings| {
            setup.requester.window = window;
            (setup.requester.restart, setup.responder.restart) = (restart, restart);
        };
        let mut pair = Tested::new(change, 1);
        let remote_key = pair.key[1];
        for id in 0..2 {
            let work = Work {
                kind: WorkKind::WRITE,
                signaled: true,
                length: MESSAGE,
                local_va: SOURCE,
                remote_va: REGION,
                remote_key,
                id,
                ..Work::default()
            };
            pair.post(0, 0, work);
        }
        let mut lossy = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
            side == 1 || frame.ip.unwrap().id & 0xFF != 0xFF
        };
        for _ in 0..cycles {
            pair.step(&mut lossy);
        }
        let sent: Vec<_> = pair
            .0
            .frames
            .iter()
            .filter(|(side, ..)| *side == 0)
            .collect();
        let packets = sent.len();
        let busy = busy(sent.iter().skip(20).map(|(_, sent, _)| sent));
        let resent = pair.count(0, reg::RESENT_OUT);
        let messages = pair.completions[0].len();
        println!(
            "restart {restart}, window {window}: {busy:.4} of the wire, {} packets, {resent} resent, {messages} messages",
            packets
        );
        assert!(busy > 0.95, "restart {restart}, window {window}: {busy:.4}");
        assert!(resent > 0);
        // 55,000 cycles are 1,270 packets: go-back-N has sent one message. Go-back-0 never sends any.
        assert_eq!(messages, usize::from(!restart && cycles == WHOLE));
        assert_eq!(pair.count(0, reg::TIMEOUTS), 0);
    }
}

/// Creates NICs with a short bus: with 16 packets whose payload is fetched, a longer one limits the rate of small ones.
fn near_host(qps: u16, dcqcn: bool) -> Tested {
    near_host_with(qps, dcqcn, &|_, _, _| {})
}

/// As [`near_host`], with QPs that `change` has changed.
fn near_host_with(qps: u16, dcqcn: bool, change: &dyn Fn(usize, u16, &mut QpSettings)) -> Tested {
    let mut pair = Tested::of(&PairConfig {
        change,
        qps: &(0..qps).collect::<Vec<_>>(),
        read_delay: PERIOD * 40,
        ..PairConfig::default()
    });
    for side in 0..2 {
        let control = u32::from(dcqcn) << reg::DCQCN_ON_LOW;
        pair.write(side, reg::CONTROL, control).unwrap();
    }
    pair
}

/// Posts a message of one packet, and the buffer that it needs.
fn post_small(pair: &mut Tested, index: u16, kind: WorkKind, length: u32) {
    if kind == WorkKind::SEND {
        let recv = Recv {
            length,
            local_va: REGION,
            local_key: pair.key[1],
            id: 0,
        };
        pair.post_recv(1, index, recv);
    }
    let work = Work {
        kind,
        signaled: true,
        length,
        local_va: SOURCE,
        remote_va: REGION,
        remote_key: pair.key[1],
        ..Work::default()
    };
    pair.post(0, index, work);
}

#[test]
fn small_messages_of_eight_qps_fill_the_wire() {
    // A SEND without payload is a frame of 64 bytes, which takes 3.28 cycles. Each has a work request, an ACK and a
    // completion, and each completion brings the next work request.
    const PACKETS: usize = 2_000;
    for (kind, length, dcqcn) in [
        (WorkKind::SEND, 0, false),
        (WorkKind::SEND, 0, true),
        (WorkKind::WRITE, 1, true),
    ] {
        let mut pair = near_host(8, dcqcn);
        for index in (0..8).cycle().take(8 * 16) {
            post_small(&mut pair, index, kind, length);
        }
        let mut completed = 0;
        for _ in 0..PACKETS * 5 {
            pair.step(&mut all);
            while let Some((index, _)) = pair.completions[0].get(completed).copied() {
                completed += 1;
                post_small(&mut pair, index, kind, length);
            }
        }
        assert!(completed >= PACKETS, "{completed}");
        good(&pair);
        let sent = pair.frames.iter().filter(|(side, ..)| *side == 0);
        // Later than the rings that were full in the beginning.
        let sent = sent.skip(PACKETS / 2).map(|(_, frame, _)| frame);
        let busy = busy(sent.take(PACKETS / 2));
        println!("8 QPs, {kind:?} of {length} bytes, DCQCN {dcqcn}: {busy:.4} of the wire");
        assert!(busy > 0.99, "{kind:?}, DCQCN {dcqcn}: {busy:.4}");
    }
}

#[test]
fn small_messages_of_one_qp_fill_the_wire() {
    // A ring of 16 work requests that waits behind a pause: packets of 64 bytes take 5.7 cycles (SEND) on the wire.
    for (kind, dcqcn) in [
        (WorkKind::SEND, false),
        (WorkKind::SEND, true),
        (WorkKind::WRITE, true),
    ] {
        let mut pair = near_host(1, dcqcn);
        pair.write(0, reg::PFC_CLASSES, 0xFF).unwrap();
        let now = pair.time();
        pair.receive(0, now + PERIOD * 10, pfc([Some(400); 8]));
        pair.run(100, &mut all, |pair| pair.host(0).pauses().paused() != 0);
        for _ in 0..16 {
            post_small(&mut pair, 0, kind, 64);
        }
        pair.run(5_000, &mut all, |pair| pair.completions[0].len() == 16);
        good(&pair);
        let sent = pair.frames.iter().filter(|(side, ..)| *side == 0);
        let sent: Vec<_> = sent.map(|(_, frame, _)| frame).collect();
        assert_eq!(sent.len(), 16);
        assert!(sent[0].start >= now + PERIOD * 1_000, "it was not paused");
        let busy = busy(sent);
        println!("1 QP, {kind:?} of 64 bytes, DCQCN {dcqcn}: {busy:.4} of the wire");
        assert!(busy > 0.99, "{kind:?}, DCQCN {dcqcn}: {busy:.4}");
    }
}

/// DCQCN (SIGCOMM 2015, 5): the rate is one on the wire, so that a packet costs its whole frame, with the padding to 64
/// bytes, preamble and gap.
#[test]
fn a_limited_qp_pays_for_whole_frames() {
    const PACKETS: usize = 240;
    // The first frame is padded.
    let tags = [vec![], vec![0x2001], vec![0x2001, 0x6002]];
    let cases = [0, 1, 100].map(|payload| tags.iter().map(move |tags| (payload, tags)));
    for (payload, tags) in cases.into_iter().flatten() {
        let mut pair = near_host_with(1, true, &|_, _, setup| setup.tags.clone_from(tags));
        for (side, register, value) in [
            (0, reg::RATE_TIME, u32::MAX),
            (0, reg::ALPHA_TIME, u32::MAX),
            (1, reg::CNP_INTERVAL, 1),
        ] {
            pair.write(side, register, value).unwrap();
        }
        // Three marks: an eighth of the line rate, in kb/s.
        for rate in [20_000_000, 10_000_000, 5_000_000] {
            post_small(&mut pair, 0, WorkKind::SEND, payload);
            let mut wire = |side: usize, frame: &mut Vec<u8>, _: &ParsedFrame| {
                if side == 0 {
                    mark_ce(frame);
                }
                true
            };
            pair.run(5_000, &mut wire, |pair| {
                pair.host(0).rate(0).is_some_and(|(now, ..)| now.0 == rate)
            });
        }
        pair.run(5_000, &mut all, |pair| pair.completions[0].len() == 3);
        pair.frames.clear();
        pair.completions[0].clear();
        (0..16).for_each(|_| post_small(&mut pair, 0, WorkKind::SEND, payload));
        let mut completed = 0;
        while completed < PACKETS {
            pair.step(&mut all);
            if pair.completions[0].len() > completed {
                completed += 1;
                post_small(&mut pair, 0, WorkKind::SEND, payload);
            }
        }
        good(&pair);
        let sent = pair.frames.iter().filter(|(side, ..)| *side == 0);
        let sent: Vec<_> = sent.map(|(_, frame, _)| frame).collect();
        // Later than what the burst allows.
        let (first, last) = (PACKETS / 2, PACKETS - 1);
        let time = sent[last].start.saturating_since(sent[first].start);
        let bits: u64 = sent[first..last]
            .iter()
            .map(|frame| 8 * frame.wire_bytes())
            .sum();
        let gbps = bits as f64 * 1e3 / time.as_ps() as f64;
        let what = format!(
            "{payload} bytes of payload, {} tags: {gbps:.3} Gb/s of 5",
            tags.len()
        );
        println!("{what}");
        assert!((4.975..5.025).contains(&gbps), "{what}");
    }
}
