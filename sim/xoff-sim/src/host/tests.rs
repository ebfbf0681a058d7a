//! The host alone, with a stand-in for a NIC that carries messages at once.

use super::*;
use crate::protocol::gbn::WorkKind;
use crate::time::{Duration, Time};

fn clock() -> Clock {
    Clock::new(Clock::PERIOD_40G, Duration::ZERO)
}

fn config(kind: WorkKind) -> FlowConfig {
    FlowConfig {
        number: 3,
        kind,
        message: 1500,
        count: Some(5),
        outstanding: 2,
        start: Time::ZERO,
        interval: None,
    }
}

fn hosts(config: &FlowConfig) -> [Host; 2] {
    let mut hosts = [(); 2].map(|()| Host::new(clock(), 32, &PcieConfig::default()));
    hosts[0].send(Sender::new(config.clone(), 7, 0x100, 0x200));
    hosts[1].receive(Receiver::new(config.clone(), 9, 0x200, 4));
    hosts
}

fn completion(receive: bool, id: u64, length: u32) -> Completion {
    Completion {
        receive,
        id,
        length,
        ..Completion::default()
    }
}

/// Runs the sender until it has nothing to post, carries each message after `delay` cycles in MTUs; `change` may spoil bytes.
fn carry(hosts: &mut [Host; 2], mut change: impl FnMut(u64, &mut Vec<u8>)) {
    let [a, b] = hosts;
    let mut now = Cycles(0);
    while let Some(next) = a.next_event() {
        now = now.max(next);
        let Some((qp, work)) = a.work(now) else { break };
        assert_eq!(qp, 7);
        a.work_taken(now);
        while let Some(next) = b.next_event() {
            if b.recv(next).is_none() {
                break;
            }
            b.recv_taken();
        }
        let mut at = 0;
        while at < work.length {
            let length = (work.length - at).min(1024);
            let va = work.local_va + u64::from(at);
            a.read(now, 5, va, length as usize);
            let mut bytes = Vec::new();
            loop {
                now.0 += 1;
                if let Some(beat) = a.data(now) {
                    assert_eq!(beat.tag, 5);
                    bytes.extend(beat.bytes);
                    if beat.last {
                        break;
                    }
                }
            }
            change(work.id, &mut bytes);
            b.write(now, va, &bytes);
            at += length;
        }
        if work.kind.takes_buffer() {
            b.complete(now, 9, &completion(true, work.id, work.length));
        }
        now.0 += 100;
        a.complete(now, 7, &completion(false, work.id, 0));
    }
}

#[test]
fn messages_are_posted_checked_and_counted() {
    for kind in [WorkKind::SEND, WorkKind::WRITE] {
        let mut hosts = hosts(&config(kind));
        carry(&mut hosts, |_, _| {});
        assert!(hosts[0].finished());
        let delivered = hosts[0].senders()[0].delivered();
        assert_eq!(delivered.len(), 5);
        assert!(
            delivered
                .iter()
                .all(|message| message.latency >= Duration::from_ns(1000))
        );
        assert_eq!(hosts[1].receivers()[0].whole(), 5);
        assert_eq!(hosts[1].receivers()[0].fresh_bytes(), 7500);
        assert_eq!((hosts[0].errors(), hosts[1].errors()), Default::default());
    }
}

#[test]
fn wrong_bytes_and_lost_pieces_show() {
    let mut spoilt = hosts(&config(WorkKind::SEND));
    carry(&mut spoilt, |id, bytes| {
        if id == 2 {
            bytes[0] ^= 1
        }
    });
    // Both packets of the message.
    assert_eq!(spoilt[1].errors().payload_bytes, 2);
    let mut cut = hosts(&config(WorkKind::SEND));
    carry(&mut cut, |id, bytes| {
        if id == 2 && bytes.len() == 1024 {
            bytes.pop().map_or((), drop)
        }
    });
    assert!(cut[1].errors().payload_bytes > 0);
    // The messages behind the cut one are not what belongs there either.
    assert!(cut[1].errors().completions > 0);
}

#[test]
fn an_interval_paces_posts() {
    let mut paced = config(WorkKind::WRITE);
    paced.interval = Some(Duration::from_us(10));
    paced.outstanding = 4;
    let mut hosts = hosts(&paced);
    let mut rung = Vec::new();
    while let Some(next) = hosts[0].next_event() {
        let (_, work) = hosts[0].work(next).unwrap();
        rung.push(clock().edge(next).as_ps() / 10_000_000);
        hosts[0].work_taken(next);
        hosts[0].complete(Cycles(next.0 + 10), 7, &completion(false, work.id, 0));
    }
    assert_eq!(rung, [0, 1, 2, 3, 4]);
    assert!(hosts[0].finished());
}

#[test]
fn errors_end_a_flow() {
    let mut hosts = hosts(&config(WorkKind::WRITE));
    let a = &mut hosts[0];
    let now = a.next_event().unwrap();
    a.work_taken(now);
    a.work_taken(now);
    for id in 0..2 {
        let failed = Completion {
            status: Status::RetryExceeded,
            ..completion(false, id, 0)
        };
        a.complete(Cycles(now.0 + 9), 7, &failed);
    }
    assert!(a.finished() && a.next_event().is_none());
    assert_eq!(a.failure(), Some(Status::RetryExceeded));
    assert_eq!(
        a.errors(),
        HostErrors {
            failed_qps: 1,
            ..Default::default()
        }
    );
    // Nothing was posted any more.
    a.complete(Cycles(now.0 + 20), 7, &completion(false, 2, 0));
    assert_eq!(a.errors().completions, 1);
}
