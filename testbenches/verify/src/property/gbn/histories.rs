//! Drawing of histories for the go-back-N units: legal, hostile, crowded, long.

use xoff_sim::protocol::gbn::{RequesterConfig, ResponderConfig};

use super::events::{Anchor, Bench, Event, Head, Operation, Path};
use crate::property::history::{History, any_start};
use xoff_sim::seeded::SplitMix;

/// Draws a case.
pub fn history(draw: &mut SplitMix) -> History<Head, Event> {
    let (bench, events) = match draw.within(0, 99) {
        0..15 => (Bench::Requester, requester(draw, 64)),
        15..42 => (Bench::Requester4, requester(draw, 4)),
        42..54 => (Bench::Responder, responder(draw, 64)),
        54..80 => (Bench::Responder4, responder(draw, 4)),
        80..97 => (Bench::Pair, pair(draw)),
        _ => (Bench::PairOfModels, pair(draw)),
    };
    let pair = matches!(bench, Bench::Pair | Bench::PairOfModels);
    let long = (events.iter()).any(|event| matches!(event, Event::Many(times) if *times > 4_000));
    let head = Head {
        bench,
        start: any_start(draw),
        twice: !long && draw.once_in(if pair { 16 } else { 4 }),
        path: if pair { path(draw) } else { Path::default() },
    };
    History { head, events }
}

/// Draws QPs: a few get most events, and often the same one again.
fn qps(draw: &mut SplitMix, qps: u64) -> impl FnMut(&mut SplitMix) -> u16 + use<> {
    let hot = [(); 4].map(|()| draw.within(0, qps - 1) as u16);
    let count = draw.within(1, 4);
    move |draw| match draw.within(0, 15) {
        0 => draw.within(0, qps - 1) as u16,
        1..6 => hot[draw.within(0, count - 1) as usize],
        _ => hot[0],
    }
}

/// Draws a wait: mostly none, so events are back to back; in some cases occasionally a long one.
fn wait(draw: &mut SplitMix, pace: u64) -> Option<Event> {
    match draw.within(0, 15 * pace) {
        0..6 => Some(Event::Wait(draw.within(1, 12) as u32)),
        6 => Some(Event::Wait(draw.any_length(9) as u32)),
        _ => None,
    }
}

fn any_psn(draw: &mut SplitMix) -> u32 {
    let near = draw.one_of(&[0, 0, 0x7F_FFFF, 0xFF_FFFF]);
    match draw.within(0, 3) {
        0 => draw.bits() as u32 & 0xFF_FFFF,
        _ => (near - draw.within(0, 6) as u32 as i32) as u32 & 0xFF_FFFF,
    }
}

fn requester_config(draw: &mut SplitMix) -> RequesterConfig {
    RequesterConfig {
        mtu: draw.within(0, 7) as u8,
        timeout: match draw.within(0, 7) {
            0 => 0,
            1 => draw.within(0, 31) as u8,
            _ => draw.within(1, 2) as u8,
        },
        retry: draw.within(0, 7) as u8,
        nak_retry: !draw.once_in(3),
        rnr_retry: draw.within(0, 7) as u8,
        ack_every: match draw.within(0, 3) {
            0 => 0,
            1 => draw.bits() as u8,
            _ => draw.within(1, 4) as u8,
        },
        window: match draw.within(0, 4) {
            0 => 0,
            1 => draw.bits() as u32 & 0x7F_FFFF,
            2 => 1 << draw.within(0, 22),
            _ => draw.any_length(5) as u32,
        },
        restart: draw.once_in(3),
        reads: match draw.once_in(2) {
            true => 0,
            false => draw.one_of(&[1, 1, 2, 3, 4, 16, 31]),
        },
    }
}

/// Draws many QPs whose deadlines come together, with events in every slot meanwhile.
fn crowd(draw: &mut SplitMix, count: u64) -> Vec<Event> {
    let first = draw.within(0, count - 1) as u16;
    let configuration = RequesterConfig {
        timeout: 1,
        retry: 7,
        ..requester_config(draw)
    };
    // Only one has a deadline, and all slots go to the others.
    let alone = draw.once_in(3);
    let mut events = Vec::new();
    for qp in 0..count as u16 {
        let psn = any_psn(draw);
        events.push(Event::Open {
            qp,
            configuration,
            psn,
        });
        if alone && qp != first {
            continue;
        }
        events.push(Event::PostBytes {
            qp,
            kind: 0,
            length: 1,
        });
        events.push(Event::Send { qp, times: 1 });
    }
    for _ in 0..draw.within(1, 3) {
        events.push(Event::Due {
            qp: first,
            offset: draw.within(0, 40) as i8 - 30,
        });
        if draw.once_in(3) {
            events.push(Event::Hold(draw.once_in(2)));
        }
        let hot = draw.within(0, count - 1) as u16;
        let calm = draw.within(1, 4);
        for index in 0..count + draw.within(0, 2 * count + 64) {
            let qp = match draw.within(0, calm) {
                // In turn, so that no slot is free for the deadline except its guaranteed ones.
                _ if alone => (u64::from(first) + 1 + index % (count - 1)) as u16 % count as u16,
                0 => hot,
                _ => draw.within(0, count - 1) as u16,
            };
            events.push(match draw.within(0, 7) {
                0 => answer(draw, qp, 1_000),
                _ => Event::Send { qp, times: 1 },
            });
        }
    }
    events
}

/// Draws an event at a QP's deadline or in the cycles around it.
fn at_deadline(draw: &mut SplitMix, qp: u16) -> [Event; 2] {
    let offset = draw.within(0, 8) as i8 - 6;
    let event = match draw.within(0, 3) {
        0 => answer(draw, qp, 40),
        1 => Event::Kind { qp, kind: 7 },
        _ => Event::Send { qp, times: 1 },
    };
    [Event::Due { qp, offset }, event]
}

/// Draws a message whose ACK timer is held, because its packet waits for the wire or left late.
fn held(draw: &mut SplitMix, qp: u16) -> Vec<Event> {
    let configuration = RequesterConfig {
        timeout: draw.within(1, 2) as u8,
        retry: draw.one_of(&[0, 7, 7]),
        ..requester_config(draw)
    };
    let open = Event::Open {
        qp,
        configuration,
        psn: any_psn(draw),
    };
    let mut events = vec![open];
    for _ in 0..draw.within(1, 3) {
        let post = Event::PostBytes {
            qp,
            kind: 0,
            length: 1,
        };
        events.extend([post, Event::Send { qp, times: 1 }]);
    }
    // Some leave in the very cycles in which the deadline is looked at.
    let leaves = |draw: &mut SplitMix, end| {
        let wait = match draw.once_in(2) {
            true => Event::Wait(draw.any_length(11) as u32),
            false => Event::Due {
                qp,
                offset: draw.within(0, 26) as i8 - 6,
            },
        };
        [wait, Event::Left { qp, end }]
    };
    for _ in 0..draw.within(1, 4) {
        if draw.once_in(2) {
            let asks = draw.once_in(2);
            events.push(Event::Asks { qp, asks });
        }
        match draw.within(0, 3) {
            0 => events.extend(leaves(draw, false)),
            1 => events.extend(leaves(draw, true)),
            2 => events.extend(leaves(draw, false).into_iter().chain(leaves(draw, true))),
            _ => {}
        }
        let waits = draw.once_in(4);
        if waits {
            events.push(Event::AnswerWaits { qp, waits });
        }
        let offset = draw.within(0, 40) as i8 - 20;
        events.push(Event::Due { qp, offset });
        if draw.once_in(3) {
            events.push(answer(draw, qp, 40));
        }
        if waits {
            events.push(Event::AnswerWaits { qp, waits: false });
        }
    }
    events.push(Event::Asks { qp, asks: false });
    events.push(Event::Due { qp, offset: 100 });
    events
}

/// Draws a message that asks for no ACK before its end, with more packets than an 8-bit counter can hold.
fn long_message(draw: &mut SplitMix, qp: u16) -> Vec<Event> {
    let rounds = draw.within(1, 5);
    let configuration = RequesterConfig {
        ack_every: 0,
        window: 0,
        ..requester_config(draw)
    };
    let psn = any_psn(draw);
    let post = Event::Post {
        qp,
        kind: draw.within(0, 4) as u8,
        packets: (255 * rounds + draw.within(0, 45)) as u32 - 5,
        less: draw.within(0, 255) as u16,
        signaled: true,
        seed: draw.bits(),
    };
    let open = Event::Open {
        qp,
        configuration,
        psn,
    };
    let mut events = vec![open, post];
    for _ in 0..rounds {
        let times = draw.within(254, 255) as u8;
        events.push(Event::Send { qp, times });
    }
    events.push(Event::Send { qp, times: 8 });
    events
}

/// Draws an answer of any kind, also a fatal one, for any packet while the requester waits for an RNR timer.
fn answer_in_wait(draw: &mut SplitMix, qp: u16) -> [Event; 4] {
    let post = Event::Post {
        qp,
        kind: draw.within(0, 7) as u8,
        packets: 4,
        less: 0,
        signaled: true,
        seed: draw.bits(),
    };
    let answer = |at, offset, syndrome| Event::Answer {
        qp,
        at,
        offset,
        syndrome,
    };
    let (at, offset) = draw.one_of(&[
        (Anchor::Una, -1),
        (Anchor::Una, 0),
        (Anchor::Una, 1),
        (Anchor::Top, -1),
        (Anchor::Top, 0),
        (Anchor::Top, 1),
    ]);
    let syndrome = draw.one_of(&[0x1F, 0x21, 0x40, 0x60, 0x61, 0x62, 0x63]);
    [
        post,
        Event::Send { qp, times: 4 },
        answer(Anchor::Una, 0, 0x21),
        answer(at, offset, syndrome),
    ]
}

/// Draws messages of one packet, sent and acknowledged, in such number that the indexes of the ring wrap around.
fn turns(draw: &mut SplitMix, qp: u16) -> Vec<Event> {
    let mut events = vec![Event::Open {
        qp,
        configuration: requester_config(draw),
        psn: any_psn(draw),
    }];
    for _ in 0..draw.within(1, 300) {
        // Sometimes more than one is under way.
        for _ in 0..draw.any_length(2) {
            events.push(Event::Post {
                qp,
                kind: draw.within(0, 4) as u8,
                packets: 1,
                less: 0,
                signaled: draw.once_in(2),
                seed: draw.bits(),
            });
        }
        events.push(Event::Send { qp, times: 3 });
        if !draw.once_in(4) {
            events.push(Event::Answer {
                qp,
                at: Anchor::Top,
                offset: -1,
                syndrome: 0x1F,
            });
        }
    }
    // The rest is acknowledged or flushed.
    let syndrome = draw.one_of(&[0x1F, 0x60, 0x61]);
    events.push(Event::Answer {
        qp,
        at: Anchor::Una,
        offset: 0,
        syndrome,
    });
    events
}

fn requester(draw: &mut SplitMix, count: u64) -> Vec<Event> {
    if draw.once_in(16) {
        return crowd(draw, count);
    }
    if draw.once_in(32) {
        let qp = draw.within(0, count - 1) as u16;
        return turns(draw, qp);
    }
    let mut qp = qps(draw, count);
    let pace = draw.one_of(&[1, 3, 100]);
    // Errors end a QP, so histories without them reach deeper states.
    let deadly = draw.one_of(&[4, 12, 40, 1_000]);
    let holds = draw.one_of(&[8, 1_000, 1_000]);
    let mut events = Vec::new();
    for _ in 0..draw.within(1, 5) {
        events.push(Event::Open {
            qp: qp(draw),
            configuration: requester_config(draw),
            psn: any_psn(draw),
        });
    }
    // The last kind of work: a WRITE with immediate data, or an atomic.
    let last_kind = draw.one_of(&[4, 7]);
    let reads = last_kind == 7;
    // Whether the wire says when packets leave.
    let wired = draw.one_of(&[8, 16, 1_000]);
    for _ in 0..draw.within(1, 150) {
        events.extend(wait(draw, pace));
        if draw.once_in(holds) {
            events.push(Event::Hold(draw.once_in(2)));
        }
        let qp = qp(draw);
        if draw.once_in(wired) {
            match draw.within(0, 7) {
                0 => events.extend(held(draw, qp)),
                6 | 7 => {
                    let waits = draw.once_in(2);
                    events.push(Event::AnswerWaits { qp, waits });
                }
                1 | 2 => {
                    let asks = draw.once_in(2);
                    events.push(Event::Asks { qp, asks });
                }
                _ => {
                    let end = draw.once_in(2);
                    events.push(Event::Left { qp, end });
                }
            }
        }
        events.push(match draw.within(0, 63) {
            0 | 1 => Event::Open {
                qp,
                configuration: requester_config(draw),
                psn: any_psn(draw),
            },
            2 if draw.once_in(4) => Event::Close { qp },
            2 if draw.once_in(3) => Event::Kind {
                qp,
                kind: draw.one_of(&[5, 6, 7, 7, 10, 15]),
            },
            2 => Event::PostBytes {
                qp,
                kind: draw.within(0, last_kind) as u8,
                length: draw.edge(),
            },
            3 => Event::Post {
                qp,
                kind: draw.within(0, 15) as u8,
                packets: draw.any_length(23) as u32,
                less: draw.bits() as u16,
                signaled: true,
                seed: draw.bits(),
            },
            4..16 => Event::Post {
                qp,
                kind: match reads && draw.once_in(2) {
                    true => draw.one_of(&[5, 5, 6, 7]),
                    false => draw.within(0, 4) as u8,
                },
                packets: draw.any_length(3) as u32,
                less: match draw.within(0, 2) {
                    0 => draw.any_length(13) as u16,
                    _ => draw.within(0, 1) as u16,
                },
                signaled: !draw.once_in(3),
                seed: draw.bits(),
            },
            16..32 => Event::Send {
                qp,
                times: draw.any_length(4) as u8,
            },
            32..36 => {
                events.extend(at_deadline(draw, qp));
                continue;
            }
            36 if draw.once_in(16) => {
                events.extend(long_message(draw, qp));
                continue;
            }
            39 | 40 => unread(draw, qp),
            37 | 38 if draw.once_in(deadly.min(4)) => {
                events.extend(answer_in_wait(draw, qp));
                continue;
            }
            39..50 if reads => {
                events.extend(match draw.once_in(4) {
                    true => lost_response(draw, qp),
                    false => returns(draw, qp, deadly),
                });
                continue;
            }
            _ => answer(draw, qp, deadly),
        });
    }
    events
}

/// Draws a READ or an atomic of which a response gets lost, which is asked again, and what comes then.
fn lost_response(draw: &mut SplitMix, qp: u16) -> Vec<Event> {
    let returns = |offset, odd| Event::Returns { qp, offset, odd };
    let mut events = vec![
        Event::Post {
            qp,
            kind: draw.one_of(&[5, 5, 6, 7]),
            packets: draw.within(2, 5) as u32,
            less: draw.any_length(13) as u16,
            signaled: draw.once_in(2),
            seed: draw.bits(),
        },
        Event::Post {
            qp,
            kind: draw.one_of(&[5, 6, 7]),
            packets: 1,
            less: 0,
            signaled: draw.once_in(2),
            seed: draw.bits(),
        },
        Event::Send { qp, times: 3 },
    ];
    events.extend(vec![returns(0, 0); draw.within(0, 2) as usize]);
    for _ in 0..draw.within(1, 2) {
        let odd = draw.one_of(&[0, 1, 2, 0, 1, 2, 5]);
        events.push(returns(draw.within(1, 3) as i32, odd));
    }
    events.push(Event::Send { qp, times: 2 });
    for _ in 0..draw.within(1, 4) {
        // With a syndrome that none has; it changes nothing.
        if draw.once_in(4) {
            events.push(returns(0, 6));
        }
        events.push(returns(
            draw.one_of(&[0, 0, 0, 1, -1]),
            draw.one_of(&[0, 0, 0, 0, 1, 2, 3, 5, 6]),
        ));
    }
    if draw.once_in(3) {
        events.push(Event::Answer {
            qp,
            at: Anchor::Una,
            offset: 0,
            syndrome: draw.one_of(&[0x21, 0x61, 0x62, 0x63]),
        });
    }
    events
}

/// Draws READ responses: some in order, and one that may be of another place or wrong.
fn returns(draw: &mut SplitMix, qp: u16, deadly: u64) -> Vec<Event> {
    let next = Event::Returns {
        qp,
        offset: 0,
        odd: 0,
    };
    let mut events = vec![next; draw.any_length(3) as usize];
    if draw.once_in(3) {
        events.push(Event::Returns {
            qp,
            offset: match draw.within(0, 7) {
                0 => draw.bits() as i32,
                1 => (0x7F_FFFF + draw.within(0, 3) as i32) * draw.one_of(&[-1, 1]),
                2 | 3 => 1,
                _ => draw.within(0, 8) as i32 - 4,
            },
            odd: match draw.once_in(4) {
                true => draw.one_of(&[1, 5, 6]),
                false => 0,
            },
        });
    }
    if draw.once_in(deadly.min(12)) {
        events.push(Event::Returns {
            qp,
            offset: 0,
            odd: draw.within(1, 6) as u8,
        });
    }
    events
}

/// Draws a packet whose payload cannot be read: mostly one that was granted and is not acknowledged.
fn unread(draw: &mut SplitMix, qp: u16) -> Event {
    let (at, offset) = match draw.within(0, 7) {
        0 => (Anchor::Una, -1),
        1 => (Anchor::Next, 0),
        2 => (Anchor::Top, -1),
        3..=5 => (Anchor::Una, draw.any_length(3) as i32 - 1),
        _ => (Anchor::Next, -1),
    };
    Event::Unread { qp, at, offset }
}

fn answer(draw: &mut SplitMix, qp: u16, deadly: u64) -> Event {
    let at = match draw.within(0, 7) {
        0 => Anchor::Next,
        1 | 2 => Anchor::Top,
        3 => Anchor::Asked,
        4 => Anchor::First,
        _ => Anchor::Una,
    };
    let offset = match draw.within(0, 11) {
        0 => draw.bits() as i32,
        1 => (0x7F_FFFF + draw.within(0, 3) as i32) * draw.one_of(&[-1, 1]),
        2 | 3 => draw.within(0, 12) as i32 - 6,
        4 | 5 => -1,
        _ => draw.within(0, 2) as i32,
    };
    let syndrome = match draw.within(0, 15) {
        _ if draw.once_in(deadly) => draw.within(0x61, 0x63) as u8,
        0 => draw.bits() as u8,
        1..5 => 0x60,
        5 | 6 => 0x20 | draw.within(1, 2) as u8,
        7 => 0x20 | draw.within(0, 31) as u8,
        8 => draw.within(0, 31) as u8,
        _ => 0x1F,
    };
    // An answer that has a fatal syndrome by chance is kept.
    Event::Answer {
        qp,
        at,
        offset,
        syndrome,
    }
}

/// Draws a message of very many packets, or very many messages of one packet, so that counters grow large.
fn flood(draw: &mut SplitMix, qp: u16) -> Vec<Event> {
    let configuration = ResponderConfig {
        mtu: 4,
        rnr_timer: 1,
        restart: draw.once_in(2),
    };
    let psn = any_psn(draw);
    let grows = draw.within(0, 7);
    // There may be any number of WRITEs without immediate data, because they need no buffer.
    let write = grows == 0 || draw.once_in(2);
    let packet = |operation, dma_more, seed| Event::Packet {
        qp,
        first: false,
        offset: 0,
        operation,
        write,
        more: 0,
        packets: 1,
        dma_more,
        ack_req: false,
        access: true,
        seed,
    };
    let mut events = vec![Event::Listen {
        qp,
        configuration,
        psn,
    }];
    match grows {
        // The MSN.
        0 => {
            events.push(Event::Many(draw.within(1 << 16, 1 << 18) as u32));
            events.push(packet(Operation::End(0), 0, draw.bits()));
        }
        // The indexes of the ring wrap around.
        2.. => {
            for _ in 0..draw.within(1, 300) {
                for _ in 0..draw.any_length(2) {
                    events.push(Event::Buffer {
                        qp,
                        packets: 1,
                        more: 0,
                        seed: draw.bits(),
                    });
                }
                events.push(packet(Operation::End(0), 0, draw.bits()));
                if draw.once_in(4) {
                    events.push(packet(Operation::End(1), 0, draw.bits()));
                }
            }
        }
        // The offset, and the total length of a message.
        1 => {
            events.push(Event::Buffer {
                qp,
                packets: 1,
                more: i32::MAX,
                seed: draw.bits(),
            });
            let long = 1 << draw.within(26, 30);
            events.push(packet(Operation::GoOn, long, draw.bits()));
            events.push(Event::Many(draw.within(1, 1 << 15) as u32));
            events.push(packet(Operation::GoOn, 0, draw.bits()));
            events.push(packet(Operation::End(0), 0, draw.bits()));
        }
    }
    events.push(Event::Grant { qp });
    events
}

fn responder(draw: &mut SplitMix, count: u64) -> Vec<Event> {
    if draw.once_in(64) {
        let qp = draw.within(0, count - 1) as u16;
        return flood(draw, qp);
    }
    let mut qp = qps(draw, count);
    let pace = draw.one_of(&[1, 3, 100]);
    let wild = draw.one_of(&[4, 8, 40, 400]);
    let reads = draw.once_in(2);
    let configuration = |draw: &mut SplitMix| ResponderConfig {
        mtu: draw.within(0, 7) as u8,
        rnr_timer: draw.within(0, 31) as u8,
        restart: draw.once_in(2),
    };
    let mut events = Vec::new();
    for _ in 0..draw.within(1, 5) {
        events.push(Event::Listen {
            qp: qp(draw),
            configuration: configuration(draw),
            psn: any_psn(draw),
        });
    }
    for _ in 0..draw.within(1, 200) {
        events.extend(wait(draw, pace));
        let qp = qp(draw);
        events.push(match draw.within(0, 63) {
            0..4 => Event::Listen {
                qp,
                configuration: configuration(draw),
                psn: any_psn(draw),
            },
            4 if draw.once_in(4) => Event::Close { qp },
            4 => Event::Kind {
                qp,
                kind: draw.one_of(&[5, 6, 7, 5, 6, 7, 11, 15]),
            },
            5..17 => Event::Buffer {
                qp,
                packets: draw.any_length(4) as u32,
                more: match draw.within(0, 7) {
                    0 => i32::MAX,
                    1..4 => draw.within(0, 4_096) as i32 - 2_048,
                    _ => 4_096,
                },
                seed: draw.bits(),
            },
            17..27 => Event::Grant { qp },
            27 if draw.once_in(8) => Event::Refuse {
                qp,
                back: draw.within(1, 4) as u8,
                remote: draw.once_in(2),
            },
            28 | 29 if draw.once_in(wild.min(4)) => {
                events.extend(packet_in_message(draw, qp));
                continue;
            }
            30..33 if reads => read(draw, qp, wild),
            33 | 34 if reads => Event::Settle { qp },
            35 if reads => performed(draw, qp),
            36..40 if reads => Event::ReadResponse { qp },
            40..44 if reads => {
                events.extend(several_reads(draw, qp, wild));
                continue;
            }
            44 | 45 if reads => {
                let other = draw.within(0, count - 1) as u16;
                events.extend(asked_again_together(draw, [qp, other], wild));
                continue;
            }
            _ => packet(draw, qp, wild),
        });
    }
    events
}

/// Draws that the host has performed one of the last atomics.
fn performed(draw: &mut SplitMix, qp: u16) -> Event {
    let most = draw.one_of(&[1, 2, 17]);
    Event::Performed {
        qp,
        back: draw.within(1, most) as u8,
        original: draw.bits(),
    }
}

fn atomic(draw: &mut SplitMix, qp: u16, wild: u64) -> Event {
    Event::AskAtomic {
        qp,
        offset: match draw.once_in(wild.min(16)) {
            true => draw.one_of(&[-1, 1, -4, 0x7F_FFFF, -0x80_0000]),
            false => 0,
        },
        add: draw.once_in(2),
        payload: u8::from(draw.once_in(4 * wild)),
        access: !draw.once_in(2 * wild),
        unaligned: match draw.once_in(2 * wild) {
            true => draw.within(1, 7) as u8,
            false => 0,
        },
        seed: draw.bits(),
    }
}

/// Draws a READ or an atomic, or one that repeats another.
fn read(draw: &mut SplitMix, qp: u16, wild: u64) -> Event {
    if draw.once_in(4) {
        return Event::AskReadAgain {
            qp,
            back: draw.within(1, 17) as u8,
            inside: draw.any_length(3) as u32 - 1,
            odd: match draw.once_in(wild.min(8)) {
                true => draw.within(1, 5) as u8,
                false => 0,
            },
        };
    }
    if draw.once_in(4) {
        return atomic(draw, qp, wild);
    }
    let very = draw.once_in(8 * wild);
    Event::AskRead {
        qp,
        offset: match draw.once_in(wild.min(16)) {
            true => draw.one_of(&[-1, 1, -4, 0x7F_FFFF, -0x80_0000]),
            false => 0,
        },
        packets: match very {
            true => draw.within(1 << 18, 1 << 24) as u32,
            false => draw.any_length(3) as u32 - 1,
        },
        more: match draw.within(0, 3) {
            0 => 0,
            1 => draw.within(0, 2) as i32 - 1,
            _ => draw.within(0, 4_096) as i32 - 2_048,
        },
        payload: u8::from(draw.once_in(4 * wild)),
        access: !draw.once_in(2 * wild),
        seed: draw.bits(),
    }
}

/// Draws READs of two QPs that are asked again one right behind the other, or while the other one ends.
fn asked_again_together(draw: &mut SplitMix, qps: [u16; 2], wild: u64) -> Vec<Event> {
    let mut events = Vec::new();
    for qp in qps {
        for _ in 0..draw.within(1, 3) {
            events.push(read(draw, qp, wild));
            events.push(Event::Settle { qp });
            if !draw.once_in(4) {
                events.push(performed(draw, qp));
            }
        }
        for _ in 0..draw.within(0, 3) {
            events.push(Event::ReadResponse { qp });
        }
    }
    for _ in 0..draw.within(1, 3) {
        for qp in qps {
            events.push(match draw.within(0, 7) {
                0 => Event::Buffer {
                    qp,
                    packets: 1,
                    more: 0,
                    seed: draw.bits(),
                },
                1 => packet(draw, qp, wild),
                2 if draw.once_in(2) => Event::Kind { qp, kind: 5 },
                _ => Event::AskReadAgain {
                    qp,
                    back: draw.within(1, 3) as u8,
                    inside: draw.any_length(2) as u32 - 1,
                    odd: 0,
                },
            });
        }
    }
    for _ in 0..draw.within(1, 4) {
        events.extend(qps.map(|qp| Event::ReadResponse { qp }));
    }
    events
}

/// Draws READs of a QP, some of them beyond the number that may be unanswered, with what comes between their answers.
fn several_reads(draw: &mut SplitMix, qp: u16, wild: u64) -> Vec<Event> {
    let mut events = Vec::new();
    let most = draw.one_of(&[3, 4, 16, 20]);
    for _ in 0..draw.within(1, most) {
        events.push(read(draw, qp, wild));
        for _ in 0..draw.any_length(2) {
            events.push(Event::Settle { qp });
            events.push(performed(draw, qp));
        }
        for _ in 0..draw.any_length(2) {
            events.push(Event::ReadResponse { qp });
        }
        if draw.once_in(8) {
            events.push(Event::Grant { qp });
        }
    }
    for _ in 0..draw.any_length(4) {
        events.push(Event::Settle { qp });
        events.push(performed(draw, qp));
        events.push(Event::ReadResponse { qp });
    }
    events
}

/// Draws a packet of any operation, length and PSN while a message is under way.
fn packet_in_message(draw: &mut SplitMix, qp: u16) -> Vec<Event> {
    let write = draw.once_in(2);
    let next = |offset, operation, more, seed| Event::Packet {
        qp,
        first: false,
        offset,
        operation,
        write,
        more,
        packets: 8,
        dma_more: 0,
        ack_req: false,
        access: true,
        seed,
    };
    let mut events = vec![
        Event::Buffer {
            qp,
            packets: 16,
            more: 0,
            seed: draw.bits(),
        },
        next(0, Operation::GoOn, 0, draw.bits()),
    ];
    // Sometimes behind a gap, which has been answered.
    if draw.once_in(2) {
        events.push(next(1, Operation::GoOn, 0, draw.bits()));
    }
    let far = [0x7F_FFFF, 0x60_0000, -0x60_0000, -0x80_0000, -0x80_0000];
    events.push(match draw.once_in(2) {
        true => next(draw.one_of(&far), Operation::GoOn, 0, draw.bits()),
        false => {
            let operation = match draw.once_in(2) {
                true => Operation::Code(draw.one_of(&REQUESTS)),
                false => Operation::End(draw.within(0, 2) as u8),
            };
            next(
                0,
                operation,
                draw.one_of(&[0, 0, 5, -70_000, 70_000]),
                draw.bits(),
            )
        }
    });
    events
}

/// Codes of the requests of RC: SEND, WRITE, READ, atomics.
const REQUESTS: [u8; 17] = [
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x13, 0x14, 0x16,
    0x17,
];

fn packet(draw: &mut SplitMix, qp: u16, wild: u64) -> Event {
    let operation = match draw.within(0, 9) {
        // Mostly one that means something to a responder, at the wrong place.
        _ if draw.once_in(wild) => Operation::Code(match draw.once_in(8) {
            true => draw.within(0, 31) as u8,
            false => draw.one_of(&REQUESTS),
        }),
        0..5 => Operation::GoOn,
        n => Operation::End((n % 3) as u8),
    };
    Event::Packet {
        qp,
        first: draw.once_in(16),
        offset: match draw.within(0, 31) {
            0 => draw.bits() as i32,
            1 => (0x7F_FFFF + draw.within(0, 3) as i32) * draw.one_of(&[-1, 1]),
            2..5 => -(draw.within(1, 4) as i32),
            5..8 => draw.within(1, 4) as i32,
            _ => 0,
        },
        operation,
        write: draw.once_in(2),
        more: match draw.once_in(wild) {
            true => draw.one_of(&[-1, 1, -70_000, -70_000, 70_000, 5]),
            false => 0,
        },
        packets: draw.any_length(3) as u8,
        dma_more: match draw.once_in(wild) {
            true => draw.one_of(&[-1, 1, -256, 1 << 31, (1 << 31) - 256, -1 << 40]),
            false => 0,
        },
        ack_req: draw.once_in(3),
        access: !draw.once_in(wild),
        seed: draw.bits(),
    }
}

fn path(draw: &mut SplitMix) -> Path {
    let chance = |draw: &mut SplitMix| match draw.within(0, 3) {
        0 | 1 => 0,
        2 => draw.within(1, 20) as u16,
        _ => draw.within(1, 150) as u16,
    };
    Path {
        seed: draw.bits(),
        drops: chance(draw),
        doubles: chance(draw),
        late: chance(draw),
        delay: draw.any_length(8) as u16,
        gap: draw.within(0, 12) as u16,
    }
}

/// Draws connections of 1 to 4 QPs, with work and buffers for them.
fn pair(draw: &mut SplitMix) -> Vec<Event> {
    let mut events = Vec::new();
    let connections = draw.within(1, 4) as u16;
    for qp in 0..connections {
        let psn = any_psn(draw);
        let restart = draw.once_in(3);
        let configuration = RequesterConfig {
            timeout: draw.within(1, 3) as u8,
            retry: if draw.once_in(4) { 1 } else { 7 },
            nak_retry: draw.once_in(2),
            rnr_retry: if draw.once_in(4) { 2 } else { 7 },
            restart,
            ..requester_config(draw)
        };
        events.push(Event::Open {
            qp,
            configuration,
            psn,
        });
        events.push(Event::Listen {
            qp,
            configuration: ResponderConfig {
                mtu: configuration.mtu,
                rnr_timer: draw.within(1, 2) as u8,
                // A standard responder also works with a requester that restarts messages.
                restart: restart && !draw.once_in(4),
            },
            psn,
        });
    }
    for _ in 0..draw.within(1, 30) {
        let qp = draw.within(0, u64::from(connections) - 1) as u16;
        if draw.once_in(3) {
            events.push(Event::Wait(draw.any_length(10) as u32));
        }
        events.push(Event::Post {
            qp,
            kind: draw.within(0, 4) as u8,
            packets: draw.any_length(4) as u32,
            less: match draw.within(0, 2) {
                0 => 0,
                1 => draw.any_length(13) as u16,
                _ => draw.within(1, 255) as u16,
            },
            signaled: !draw.once_in(3),
            seed: draw.bits(),
        });
    }
    events
}
