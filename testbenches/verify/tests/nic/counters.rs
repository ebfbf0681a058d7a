//! Each event is counted once, by the counter that rtl/nic/registers.md names, and by no other.

use crate::fixture::{MTU, SOURCE, Tested, post};
use crate::standard::packet;
use xoff_sim::nic::QpSettings;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::RocePacket;
use xoff_sim::protocol::gbn::{Recv, Work, WorkKind};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_sim::wire::{Opcode, Psn, Qpn};
use xoff_verify::property::nic::pair::{QPN_BASE, REGION, STEP_MAX, all};

/// Counters of everything that goes through a port.
const TRAFFIC: [u16; 4] = [
    reg::FRAMES_IN,
    reg::BYTES_IN,
    reg::FRAMES_OUT,
    reg::BYTES_OUT,
];

/// The counters of a side that are not 0, other than those of traffic.
fn counted(pair: &mut Tested, side: usize) -> Vec<(&'static str, u32)> {
    (reg::COUNTERS.iter())
        .filter(|counter| !TRAFFIC.contains(&counter.address))
        .map(|counter| (counter.name, pair.count(side, counter.address)))
        .filter(|(_, count)| *count != 0)
        .collect()
}

/// Runs until nothing happens any more and compares all counters of both sides.
fn judge(pair: &mut Tested, right: [&[(&'static str, u32)]; 2]) {
    for _ in 0..3_000 {
        pair.step(&mut all);
    }
    for (side, right) in right.iter().enumerate() {
        let mut right = right.to_vec();
        let mut found = counted(pair, side);
        right.sort();
        found.sort();
        assert_eq!(found, right, "side {side}");
    }
}

fn without_timer(setup: &mut QpSettings) {
    setup.requester.timeout = 0;
}

fn send(id: u64, length: u32) -> Work {
    Work {
        signaled: true,
        length,
        local_va: SOURCE,
        id,
        ..Work::default()
    }
}

fn recv(pair: &mut Tested, length: u32) {
    let buffer = Recv {
        length,
        local_va: REGION,
        local_key: pair.key[1],
        id: 9,
    };
    pair.post_recv(1, 0, buffer);
}

#[test]
fn work_that_is_refused_is_counted() {
    let mut pair = Tested::new(without_timer, 1);
    for kind in 6..9 {
        let work = Work {
            kind: WorkKind(kind),
            ..send(u64::from(kind), 5)
        };
        pair.post(0, 0, work);
    }
    // More than 2³¹ bytes, and a QP that is not open.
    pair.post(0, 0, send(1, (1 << 31) + 1));
    pair.post(0, 7, send(1, 5));
    let buffer = Recv {
        length: 5,
        local_va: REGION,
        local_key: pair.key[1],
        id: 9,
    };
    pair.post_recv(1, 7, buffer);
    judge(&mut pair, [&[("work_refused", 5)], &[("recv_refused", 1)]]);
}

#[test]
fn a_message_that_is_too_long_is_counted() {
    let mut pair = Tested::new(without_timer, 1);
    recv(&mut pair, 2 * MTU - 1);
    pair.post(0, 0, send(1, 2 * MTU));
    // Both packets; the second does not fit.
    let sender = [("requests_out", 2), ("remote_errors_in", 1)];
    let receiver = [("requests_in", 1), ("invalid_in", 1), ("answers_out", 1)];
    judge(&mut pair, [&sender, &receiver]);
}

#[test]
fn a_missing_buffer_is_counted() {
    let mut pair = Tested::new(without_timer, 1);
    pair.post(0, 0, send(1, 5));
    for _ in 0..400 {
        pair.step(&mut all);
    }
    recv(&mut pair, 5);
    pair.run(200_000, &mut all, |pair| !pair.completions[0].is_empty());
    let sender = [("requests_out", 2), ("resent_out", 1), ("rnr_naks_in", 1)];
    let receiver = [
        ("requests_in", 1),
        ("no_buffer", 1),
        ("answers_out", 2),
        ("rnr_naks_out", 1),
    ];
    judge(&mut pair, [&sender, &receiver]);
}

#[test]
fn a_loss_and_stale_answers_are_counted() {
    let mut pair = Tested::new(
        |setup| {
            without_timer(setup);
            setup.requester.ack_every = 0;
        },
        1,
    );
    let (_, counts) = post(&mut pair, 0, 0, &[3 * MTU]);
    let mut sent = 0;
    let mut answers = vec![];
    let mut wire = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
        if side == 1 {
            answers.push(bytes.clone());
            return true;
        }
        sent += 1;
        sent != 2
    };
    pair.run(20_000, &mut wire, |pair| {
        (0..2).all(|side| pair.completions[side].len() == counts[side])
    });
    // The NAK and the ACK come once more, when nothing waits for them.
    assert_eq!(answers.len(), 2);
    for bytes in answers {
        let at = pair.time();
        pair.receive(0, at, bytes);
        for _ in 0..50 {
            pair.step(&mut all);
        }
    }
    let sender = [
        ("requests_out", 5),
        ("resent_out", 2),
        ("naks_in", 1),
        ("answers_unused", 2),
    ];
    let receiver = [
        ("requests_in", 3),
        ("gaps_in", 1),
        ("answers_out", 2),
        ("naks_out", 1),
    ];
    judge(&mut pair, [&sender, &receiver]);
}

#[test]
fn retries_that_run_out_are_counted() {
    let mut pair = Tested::new(
        |setup| {
            setup.requester.timeout = 1;
            setup.requester.retry = 2;
        },
        1,
    );
    pair.post(0, 0, send(1, 5));
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    pair.run(100_000, &mut nothing, |pair| {
        !pair.completions[0].is_empty()
    });
    let sender = [
        ("requests_out", 3),
        ("resent_out", 2),
        ("timeouts", 2),
        ("exhausted", 1),
    ];
    judge(&mut pair, [&sender, &[]]);
}

/// Frames that are dropped, at line rate: more than 12 bits of a counter hold, and for one counter more than 17.
#[test]
fn each_of_many_is_counted() {
    const MANY: u32 = (1 << 12) + 5;
    let mut pair = Tested::new(without_timer, 1);
    let mut frame = vec![];
    let mut wire = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
        if side == 0 {
            frame = bytes.clone();
        }
        true
    };
    recv(&mut pair, 5);
    pair.post(0, 0, send(1, 5));
    pair.run(10_000, &mut wire, |pair| !pair.completions[0].is_empty());
    let damaged = |at: usize| {
        let mut bytes = frame.clone();
        bytes[at] ^= 1;
        bytes
    };
    let mut right = vec![("requests_in", 1), ("answers_out", 1)];
    let before = [reg::FRAMES_IN, reg::BYTES_IN].map(|counter| pair.count(1, counter));
    let (mut frames, mut sum) = (0, 0);
    let built = |change: &dyn Fn(&mut RocePacket)| {
        packet(0, 0, Psn::wrapping(0), |roce| {
            roce.bth.opcode = Opcode::RC_SEND_ONLY;
            change(roce);
        })
    };
    let mut tagged = built(&|_| {});
    tagged.splice(12..12, [0x81, 0x00, 0x00, 0x14]);
    // Destination address, EtherType, IPv4 checksum, payload; then packets with a right ICRC.
    for (bytes, counter) in [
        (damaged(5), "drop_address"),
        (damaged(12), "drop_not_roce"),
        (damaged(24), "drop_malformed"),
        (damaged(frame.len() - 6), "drop_icrc"),
        (
            built(&|roce| roce.bth.dest_qp = Qpn::new(QPN_BASE + 1).unwrap()),
            "drop_qp",
        ),
        (
            built(&|roce| roce.bth.opcode = Opcode::UC_SEND_ONLY),
            "drop_service",
        ),
        (built(&|roce| roce.bth.pkey ^= 1), "drop_pkey"),
        (tagged, "drop_vlan"),
    ] {
        let many = match counter {
            "drop_qp" => (1 << 17) + 5,
            _ => MANY,
        };
        pair.receive_back_to_back(1, (0..many).map(|_| bytes.clone()));
        // The other NIC has nothing to do meanwhile.
        pair.set_skip(true);
        while !pair.host(1).received() {
            pair.step_over(STEP_MAX, &mut |_, _, _| vec![]).unwrap();
        }
        pair.set_skip(false);
        (frames, sum) = (frames + many, sum + many * bytes.len() as u32);
        right.push((counter, many));
    }
    judge(&mut pair, [&[("requests_out", 1)], &right]);
    let after = [reg::FRAMES_IN, reg::BYTES_IN].map(|counter| pair.count(1, counter));
    assert_eq!([after[0] - before[0], after[1] - before[1]], [frames, sum]);
}

/// Work for a QP that is not open is refused, and each time counted.
#[test]
fn work_that_is_refused_is_counted_each_time() {
    const WORKS: u32 = 700;
    let mut pair = Tested::new(without_timer, 1);
    for id in 0..WORKS {
        pair.post(0, 1, send(u64::from(id), 0));
        for _ in 0..10 {
            pair.step(&mut all);
        }
    }
    judge(&mut pair, [&[("work_refused", WORKS)], &[]]);
}
