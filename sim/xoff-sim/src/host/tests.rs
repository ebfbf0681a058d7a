//! Tests of the host alone, with a stand-in for a NIC that carries messages at once.

use super::*;
use crate::protocol::gbn::WorkKind;
use crate::time::Duration;

fn clock() -> Clock {
    Clock::new(Clock::PERIOD_40G, Duration::ZERO)
}

fn config(kind: WorkKind) -> FlowConfig {
    FlowConfig {
        number: 3,
        shapes: Shapes::all(kind, 1500),
        count: Some(5),
        outstanding: 2,
        start: Time::ZERO,
        interval: None,
        working_set: None,
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

/// Runs the sender until it has nothing to post, and carries each message after `delay` cycles, in packets of the
/// MTU. `change` may damage the bytes.
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
            let request = ReadRequest {
                tag: 5,
                va,
                key: Some(work.local_key),
                bytes: length as usize,
            };
            a.read(now, &request).unwrap();
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
            b.write(now, va, View::Written(&bytes));
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
    // The messages after the truncated one do not match what belongs there, either.
    assert!(cut[1].errors().completions > 0);
}

/// Each completion makes room for one message, from when it is seen: a later one does not put that off.
#[test]
fn a_completion_makes_room_when_it_is_seen() {
    let [mut a, mut b] = hosts(&config(WorkKind::SEND));
    let latency = a.pcie.latency().0;
    for _ in 0..2 {
        a.work_taken(a.next_work().unwrap());
    }
    assert_eq!(a.next_work(), None);
    // The doorbell crosses the bus, too.
    for at in [1_000, 1_010] {
        a.complete(Cycles(at), 7, &completion(false, (at - 1_000) / 10, 0));
    }
    for at in [1_000, 1_010] {
        assert_eq!(a.next_work(), Some(Cycles(at + 2 * latency)));
        a.work_taken(Cycles(at + 2 * latency));
    }
    assert_eq!(a.next_work(), None);
    while let Some(now) = b.next_recv() {
        assert_eq!(now, Cycles(latency));
        b.recv_taken();
    }
    for at in [1_000, 1_010] {
        b.complete(Cycles(at), 9, &completion(true, (at - 1_000) / 10, 0));
    }
    // The fifth message is the last one.
    assert_eq!(b.next_recv(), Some(Cycles(1_000 + 2 * latency)));
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
    // Nothing more was posted.
    a.complete(Cycles(now.0 + 20), 7, &completion(false, 2, 0));
    assert_eq!(a.errors().completions, 1);
}

/// The rule that a read request or the beats of a write break, in a host that sends flow 3 with key 0x100 and
/// receives it with key 0x200.
fn refused(request: Option<ReadRequest>, beats: &[WriteBeat<'_>]) -> Option<String> {
    let config = config(WorkKind::WRITE);
    let mut host = Host::new(clock(), 32, &PcieConfig::default());
    host.send(Sender::new(config.clone(), 7, 0x100, 0x200));
    host.receive(Receiver::new(config, 9, 0x200, 4));
    let read = request.map_or(Ok(()), |request| {
        host.read(Cycles(0), &request)?;
        host.read(Cycles(1), &request)
    });
    let wrote = beats
        .iter()
        .try_for_each(|beat| host.write_beat(Cycles(0), beat));
    read.and(wrote).err()
}

#[test]
fn rules_of_dma_reads() {
    let right = ReadRequest {
        tag: 5,
        va: config(WorkKind::WRITE).base(),
        key: Some(0x100),
        bytes: 1500,
    };
    for (request, why) in [
        (right, "tag 5, whose last read is not answered"),
        (ReadRequest { bytes: 0, ..right }, "a DMA read of 0 bytes"),
        (
            ReadRequest {
                bytes: 4097,
                ..right
            },
            "a DMA read of 4097 bytes",
        ),
        (
            ReadRequest {
                key: Some(0x200),
                ..right
            },
            "with key 0x200: no work request",
        ),
    ] {
        let found = refused(Some(request), &[]).unwrap();
        assert!(found.contains(why), "{found}");
    }
}

#[test]
fn rules_of_dma_writes() {
    let base = config(WorkKind::WRITE).base();
    let content = |va: u64| {
        let mut bytes = [0; 33];
        memory::fill(va, &mut bytes);
        bytes
    };
    let (one, two) = (content(base), content(base + 32));
    let first = WriteBeat {
        va: base,
        key: Some((0x200, true)),
        first: true,
        last: false,
        bytes: &one[..32],
    };
    let last = WriteBeat {
        va: base + 32,
        first: false,
        last: true,
        bytes: &two[..5],
        ..first
    };
    assert_eq!(refused(None, &[first, last, first]), None);
    let key = |key| WriteBeat {
        key: Some(key),
        ..first
    };
    for (beats, why) in [
        (&[last][..], "without a first one"),
        (&[first, first], "has no last one"),
        (&[first, WriteBeat { va: base, ..last }], "comes next"),
        (
            &[
                first,
                WriteBeat {
                    key: Some((0x201, true)),
                    ..last
                },
            ],
            "comes next",
        ),
        (&[key((0x201, true))], "with key 0x201, the peer's: true"),
        (&[key((0x200, false))], "with key 0x200, the peer's: false"),
        (
            &[WriteBeat {
                bytes: &one[..31],
                ..first
            }],
            "only a last beat may have fewer",
        ),
        (&[first, WriteBeat { bytes: &[], ..last }], "none has none"),
    ] {
        let found = refused(None, beats).unwrap();
        assert!(found.contains(why), "{found}");
    }
}

#[test]
fn stalled_hosts_serve_nothing_until_the_end() {
    let config = config(WorkKind::WRITE);
    let mut host = Host::new(clock(), 32, &PcieConfig::default());
    host.send(Sender::new(config.clone(), 7, 0x100, 0x200));
    for what in [
        Stalled::Reads,
        Stalled::Data,
        Stalled::Writes,
        Stalled::Completions,
    ] {
        host.stalls_mut().set(what, 16, Cycles(500));
    }
    let request = ReadRequest {
        tag: 1,
        va: config.base(),
        key: None,
        bytes: 64,
    };
    host.read(Cycles(0), &request).unwrap();
    for now in (0..500).map(Cycles) {
        assert!(!host.takes_read(now) && !host.takes_write(now) && !host.takes_completion(now));
        assert_eq!(host.data(now), None);
    }
    let now = Cycles(500);
    assert!(host.takes_read(now) && host.takes_write(now) && host.takes_completion(now));
    assert!(host.data(now).is_some());
}

#[test]
fn a_manual_host_answers_reads_in_any_order_and_keeps_what_is_written() {
    let mut host = Host::manual(clock(), 32, &PcieConfig::default(), Seed(1));
    let work = Work {
        length: 640,
        local_va: 0x1000,
        local_key: 7,
        ..Work::default()
    };
    host.post(Cycles(3), 2, work);
    assert_eq!(
        (host.work(Cycles(2)), host.next_event()),
        (None, Some(Cycles(3)))
    );
    assert_eq!(host.work(Cycles(3)), Some((2, work)));
    host.work_taken(Cycles(3));
    let request = |tag: u8| ReadRequest {
        tag,
        va: 0x1000 + 40 * u64::from(tag),
        key: Some(7),
        bytes: 40,
    };
    for tag in 0..16 {
        host.read(Cycles(4), &request(tag)).unwrap();
    }
    assert!(host.read(Cycles(4), &request(16)).is_err(), "not posted");
    let beats: Vec<DataBeat> = (0..500).filter_map(|now| host.data(Cycles(now))).collect();
    let tags: Vec<u8> = beats.iter().map(|beat| beat.tag).collect();
    assert!(!tags.is_sorted() && tags.chunks(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(beats.iter().filter(|beat| beat.last).count(), 16);
    for (at, last) in [(0, false), (32, true)] {
        let beat = WriteBeat {
            va: 0x2000 + at,
            key: Some((9, true)),
            first: at == 0,
            last,
            bytes: &[at as u8; 32],
        };
        host.write_beat(Cycles(600 + at), &beat).unwrap();
    }
    let written = host.take_written();
    let bytes = [[0; 32], [32; 32]].concat();
    let right = Written {
        va: 0x2000,
        key: 9,
        remote: true,
        bytes,
    };
    assert_eq!(written, [right]);
    let completion = completion(false, 3, 640);
    host.complete(Cycles(700), 2, &completion);
    assert_eq!(host.take_completions(), [(2, completion)]);
}
