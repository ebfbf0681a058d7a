//! Good traffic with a single fault: each row has a fault, the rule that it breaks, and the frame.

use std::collections::BTreeSet;

use xoff_monitor::{Rule, Tap};
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{MacAddr, Opcode, Syndrome};

use crate::conversation::{BTH, Conversation, IP, UDP, mend};

/// What is changed, the rule that this breaks, the step at which it is broken, and the change.
type Row = (&'static str, Rule, &'static str, fn(&mut Conversation));

fn raw(conversation: &mut Conversation, name: &str, edit: fn(&mut Vec<u8>)) {
    conversation.step(name).edit = Some(edit);
}

/// Faults that are judged at host a's own port.
const AT_HOST: &[Row] = &[
    ("payload damaged", Rule::Icrc, "s3 again", |it| {
        raw(it, "s3 again", |frame| frame[BTH + 13] ^= 1)
    }),
    (
        "total length of a longer packet",
        Rule::IpLength,
        "s3",
        |it| {
            raw(it, "s3", |frame| {
                frame[IP + 2] = 0x7F;
                let mut ip = xoff_sim::wire::Ipv4::new_unchecked(&mut frame[IP..]);
                ip.fill_checksum();
            })
        },
    ),
    ("IPv4 checksum", Rule::IpChecksum, "s3", |it| {
        raw(it, "s3", |frame| frame[IP + 10] ^= 1)
    }),
    ("fragment", Rule::IpFragment, "s3", |it| {
        raw(it, "s3", |frame| {
            frame[IP + 6] = 0b0010_0000;
            mend(frame);
        })
    }),
    ("UDP length", Rule::UdpLength, "s3", |it| {
        raw(it, "s3", |frame| frame[UDP + 5] += 4)
    }),
    ("UDP checksum", Rule::UdpChecksum, "s3", |it| {
        raw(it, "s3", |frame| frame[UDP + 6] = 0x55)
    }),
    (
        "ACK that is too short for its AETH",
        Rule::Headers,
        "ack s",
        |it| {
            raw(it, "ack s", |frame| {
                frame[IP + 3] -= 4;
                frame[UDP + 5] -= 4;
                mend(frame);
            })
        },
    ),
    ("transport version 1", Rule::BthVersion, "s3", |it| {
        raw(it, "s3", |frame| {
            frame[BTH + 1] |= 1;
            mend(frame);
        })
    }),
    ("reserved bits", Rule::BthReserved, "s3", |it| {
        it.step("s3").packet().bth.reserved7 = 1
    }),
    (
        "reserved bits that the ICRC leaves out",
        Rule::BthReserved,
        "s3",
        |it| {
            raw(it, "s3", |frame| frame[BTH + 4] |= 1);
        },
    ),
    ("opcode 0x15", Rule::Opcode, "s3", |it| {
        raw(it, "s3", |frame| {
            frame[BTH] = 0x15;
            mend(frame);
        })
    }),
    ("pad in a middle packet", Rule::Pad, "w2", |it| {
        raw(it, "w2", |frame| {
            frame[BTH + 1] |= 1 << 4;
            mend(frame);
        })
    }),
    ("more pad than bytes", Rule::Pad, "ack s", |it| {
        raw(it, "ack s", |frame| {
            frame[BTH + 1] |= 1 << 4;
            mend(frame);
        })
    }),
    ("wrong pad", Rule::MessageLength, "w3", |it| {
        raw(it, "w3", |frame| {
            frame[BTH + 1] |= 1 << 4;
            mend(frame);
        })
    }),
    ("other partition", Rule::PKey, "s3", |it| {
        it.step("s3").packet().bth.pkey = 0x8001
    }),
    ("middle too short", Rule::PacketLength, "w2", |it| {
        it.step("w2").packet().payload.truncate(252)
    }),
    ("last of no bytes", Rule::PacketLength, "s2", |it| {
        it.step("s2").packet().payload.clear()
    }),
    ("only longer than the MTU", Rule::PacketLength, "s3", |it| {
        it.step("s3").packet().payload.resize(260, 0)
    }),
    ("no path MTU", Rule::PacketLength, "w1", |it| {
        it.step("w1").packet().payload.truncate(200)
    }),
    ("SEND in a WRITE", Rule::MessageSequence, "w2", |it| {
        it.step("w2").packet().bth.opcode = Opcode::RC_SEND_MIDDLE
    }),
    (
        "message without an end",
        Rule::MessageSequence,
        "w3",
        |it| {
            it.step("w3").packet().bth.opcode = Opcode::RC_SEND_ONLY;
        },
    ),
    (
        "RETH of another length",
        Rule::MessageLength,
        "after pause",
        |it| {
            it.step("after pause")
                .packet()
                .ext
                .reth
                .as_mut()
                .unwrap()
                .dma_len = 65;
        },
    ),
    ("PSN left out", Rule::PsnOrder, "s3", |it| {
        it.step("s3").psn(4)
    }),
    ("request left out", Rule::PsnOrder, "w3", |it| {
        it.remove("w2")
    }),
    ("PSN beyond the window", Rule::PsnWindow, "w3", |it| {
        it.step("w3").psn(0x80_0000)
    }),
    (
        "resend from behind the NAK",
        Rule::ResendStart,
        "s2 again",
        |it| it.remove("s1 again"),
    ),
    (
        "resend of what is acknowledged",
        Rule::ResendStart,
        "copy",
        |it| {
            it.copy("w3", "nak s");
        },
    ),
    (
        "resend with another length",
        Rule::ResendSame,
        "s2 again",
        |it| {
            it.step("s2 again").packet().payload.truncate(96);
        },
    ),
    (
        "resend of another kind",
        Rule::ResendSame,
        "s3 again",
        |it| {
            it.step("s3 again").packet().bth.opcode = Opcode::RC_SEND_ONLY_INV;
            it.step("s3 again").packet().ext.ieth = Some(Default::default());
        },
    ),
    ("RNR NAK not waited for", Rule::RnrWait, "n again", |it| {
        it.step("n again").time = it.0[it.at("rnr nak")].time + Duration::from_us(9);
    }),
    ("PSN of UC goes back", Rule::UcOrder, "u2", |it| {
        it.step("u2").psn(49)
    }),
    (
        "ACK of what was not sent",
        Rule::AckBeyondSent,
        "ack s",
        |it| it.step("ack s").psn(4),
    ),
    (
        "RNR NAK of what was not sent",
        Rule::AckBeyondSent,
        "rnr nak",
        |it| it.step("rnr nak").psn(5),
    ),
    ("ACK back", Rule::AckBack, "copy", |it| {
        it.copy("ack w", "ack n");
    }),
    ("NAK of what is acknowledged", Rule::AckBack, "copy", |it| {
        it.copy("nak s", "ack s");
    }),
    ("NAK without a gap", Rule::NakFirstMissing, "nak s", |it| {
        it.step("nak s").psn(4)
    }),
    ("NAK twice", Rule::NakOnce, "copy", |it| {
        it.copy("nak s", "nak s");
    }),
    ("wrong MSN", Rule::Msn, "ack n", |it| {
        it.step("ack n").aeth().msn = 5u32.try_into().unwrap()
    }),
    ("MSN not counted up", Rule::Msn, "ack s", |it| {
        it.step("ack s").aeth().msn = 1u32.try_into().unwrap()
    }),
    ("reserved syndrome", Rule::Syndrome, "ack n", |it| {
        it.step("ack n").aeth().syndrome = Syndrome(0x80)
    }),
    ("NAK code of RD", Rule::Syndrome, "ack n", |it| {
        it.step("ack n").aeth().syndrome = Syndrome(0x64)
    }),
    ("ACK after a fatal NAK", Rule::AfterFatalNak, "copy", |it| {
        it.copy("fatal", "fatal").aeth().syndrome = Syndrome::ACK;
    }),
    ("response without a READ", Rule::ReadResponse, "r3", |it| {
        it.step("r3").psn(8)
    }),
    (
        "READ response that begins with 'middle'",
        Rule::ReadResponse,
        "r1",
        |it| {
            it.step("r1").packet().bth.opcode = Opcode::RC_READ_RESP_MIDDLE;
            it.step("r1").packet().ext.aeth = None;
        },
    ),
    ("READ response too short", Rule::ReadResponse, "r3", |it| {
        it.step("r3").packet().payload.truncate(84)
    }),
    ("READ response twice", Rule::ReadOrder, "copy", |it| {
        it.copy("r2", "r2");
    }),
    (
        "atomic done again",
        Rule::AtomicAnswer,
        "added again",
        |it| {
            it.step("added again")
                .packet()
                .ext
                .atomic_ack
                .as_mut()
                .unwrap()
                .original = 82;
        },
    ),
    (
        "atomic answered too often",
        Rule::AtomicAnswer,
        "copy",
        |it| {
            it.copy("added", "added again");
        },
    ),
    ("CNP without BECN", Rule::CnpForm, "cnp 1", |it| {
        raw(it, "cnp 1", |frame| frame[BTH + 4] = 0)
    }),
    ("reserved bytes of a CNP", Rule::CnpForm, "cnp 1", |it| {
        raw(it, "cnp 1", |frame| {
            frame[BTH + 20] = 1;
            mend(frame);
        })
    }),
    ("CNP without a mark", Rule::CnpCause, "cnp 2", |it| {
        it.step("m2").packet().ip.traffic_class &= !0b11
    }),
    ("CNP too soon", Rule::CnpInterval, "cnp 2", |it| {
        for name in ["m2", "ack m2", "cnp 2"] {
            let step = it.step(name);
            step.time = Time::from_ps(step.time.as_ps() - 11_000_000);
        }
    }),
    ("padding of a PFC frame", Rule::PauseForm, "pfc", |it| {
        raw(it, "pfc", |frame| frame[59] = 1)
    }),
    ("reserved class bits", Rule::PauseForm, "pfc", |it| {
        it.step("pfc").pfc().class_enable |= 1 << 8
    }),
    ("PFC cut short", Rule::PauseForm, "pfc", |it| {
        raw(it, "pfc", |frame| frame.truncate(30))
    }),
    ("PFC to a host's address", Rule::PauseAddress, "pfc", |it| {
        raw(it, "pfc", |frame| {
            frame[..6].copy_from_slice(&MacAddr([2, 0, 0, 0, 0, 1]).0);
        })
    }),
    (
        "frame in a paused class",
        Rule::PauseObeyed,
        "after pause",
        |it| {
            it.step("after pause").time = it.0[it.at("pfc")].time + Duration::from_us(4);
        },
    ),
    (
        "802.3 PAUSE not obeyed",
        Rule::PauseObeyed,
        "after pause",
        |it| {
            let pause = xoff_sim::wire::PauseRepr { timer: 2000 };
            it.step("pfc").frame.content = xoff_sim::protocol::builder::Content::Pause(pause);
        },
    ),
];

/// Faults that are judged somewhere on the way, where frames may be lost on both sides.
const ON_THE_WAY: &[Row] = &[
    (
        "resend of what is acknowledged",
        Rule::ResendStart,
        "copy",
        |it| {
            it.copy("w3", "nak s");
        },
    ),
    (
        "NAK of a later PSN than the first missing",
        Rule::NakFirstMissing,
        "nak s",
        |it| {
            it.remove("s1");
            it.step("nak s").psn(2);
        },
    ),
    ("PSN beyond the window", Rule::PsnWindow, "w3", |it| {
        it.step("w3").psn(0x80_0000)
    }),
    ("ACK back", Rule::AckBack, "copy", |it| {
        it.copy("ack w", "ack n");
    }),
    ("NAK twice", Rule::NakOnce, "copy", |it| {
        it.copy("nak s", "nak s");
    }),
];

/// Other rules that a fault may break as a consequence.
fn follows(rule: Rule) -> &'static [Rule] {
    match rule {
        // A packet that is not parsed is missing from its connection.
        Rule::Icrc | Rule::IpLength | Rule::IpChecksum | Rule::IpFragment | Rule::UdpLength => {
            &[Rule::PsnOrder, Rule::ResendSame]
        }
        Rule::BthVersion | Rule::Opcode | Rule::Headers => &[Rule::PsnOrder, Rule::ResendSame],
        Rule::Pad => &[Rule::PacketLength, Rule::MessageLength],
        Rule::PacketLength => &[Rule::MessageLength, Rule::ResendSame, Rule::PacketLength],
        Rule::MessageSequence => &[
            Rule::MessageLength,
            Rule::MessageSequence,
            Rule::Msn,
            Rule::PacketLength,
        ],
        Rule::PsnOrder => &[
            Rule::AckBeyondSent,
            Rule::ResendStart,
            Rule::ResendSame,
            Rule::NakFirstMissing,
        ],
        Rule::PsnWindow => &[Rule::AckBeyondSent, Rule::PsnOrder, Rule::NakFirstMissing],
        Rule::ResendStart => &[Rule::PsnOrder],
        Rule::AckBeyondSent => &[Rule::Msn],
        Rule::NakFirstMissing => &[Rule::ResendStart, Rule::NakOnce],
        Rule::AfterFatalNak
        | Rule::Msn
        | Rule::Syndrome
        | Rule::ReadResponse
        | Rule::AtomicAnswer => &[Rule::Msn],
        Rule::CnpForm | Rule::PauseAddress => &[],
        _ => &[],
    }
}

fn judge(rows: &[Row], host: bool) -> BTreeSet<Rule> {
    for (what, rule, name, change) in rows {
        let mut conversation = Conversation::good();
        change(&mut conversation);
        let report = conversation.watch(host);
        let frame = conversation.at(name) as u64;
        let found = &report.violations;
        assert!(
            found.iter().any(|it| it.rule == *rule && it.frame == frame),
            "{what}: no violation of {rule} at frame {frame}, but {found:#?}"
        );
        let stray = |rule: Rule, of: Rule| rule != of && !follows(of).contains(&rule);
        let stray: Vec<_> = found.iter().filter(|it| stray(it.rule, *rule)).collect();
        assert!(stray.is_empty(), "{what}: besides {rule} {stray:#?}");
        assert!(
            found.iter().all(|it| it.frame >= frame),
            "{what}: {found:#?}"
        );
    }
    rows.iter().map(|row| row.1).collect()
}

#[test]
fn the_conversation_is_good() {
    for host in [true, false] {
        let report = Conversation::good().watch(host);
        assert_eq!(report.violations, []);
        let never = |rule: &&Rule| report.rules[*rule].checked == 0;
        let unused: Vec<_> = Rule::ALL.iter().filter(never).collect();
        let expected: &[Rule] = match host {
            true => &[Rule::AfterFatalNak],
            false => &[Rule::AfterFatalNak, Rule::PsnOrder, Rule::CnpCause],
        };
        let unused: Vec<_> = unused
            .into_iter()
            .filter(|rule| !expected.contains(rule))
            .collect();
        assert!(unused.is_empty(), "never applied: {unused:?}");
    }
}

#[test]
fn each_fault_breaks_its_rule() {
    let rules = judge(AT_HOST, true);
    let all: BTreeSet<_> = Rule::ALL.iter().copied().collect();
    assert_eq!(
        all.difference(&rules).collect::<Vec<_>>(),
        Vec::<&Rule>::new(),
        "rules without a fault"
    );
    judge(ON_THE_WAY, false);
}

/// A capture may start and end anywhere.
#[test]
fn what_one_tap_cannot_see_is_no_violation() {
    let good = Conversation::good();
    let steps = good.0.len();
    for from in 0..steps {
        for until in from..=steps {
            for host in [false, true] {
                let report = Conversation(good.0[from..until].to_vec()).watch(host);
                assert_eq!(report.violations, [], "{from}..{until}");
            }
        }
    }
}

/// A NIC may ask again for what was lost on the way to it, before the tap.
#[test]
fn a_frame_missing_before_the_tap_is_no_violation_on_the_way() {
    let good = Conversation::good();
    // The first packet of a resend is not in this list: without it the answers would be about requests that cannot
    // have arrived.
    for name in [
        "s1", "s2", "s3", "nak s", "rnr nak", "r1", "r2", "r3", "added", "ack w", "ack m1",
        "cnp 1", "pfc",
    ] {
        let mut conversation = good.clone();
        conversation.remove(name);
        assert_eq!(conversation.watch(false).violations, [], "without {name}");
    }
}

/// If the network reorders or duplicates frames, neither end breaks a rule.
#[test]
fn order_is_judged_only_where_it_is_kept() {
    let good = Conversation::good();
    let mut otherwise = 0;
    for at in 0..good.0.len() - 1 {
        let mut swapped = good.clone();
        swapped.0.swap(at, at + 1);
        let mut twice = good.clone();
        let again = twice.0[at].clone();
        twice.0.insert(at + 1, again);
        // An answer cannot overtake the request that it answers.
        let answered = good.0[at].direction != good.0[at + 1].direction;
        for changed in [Some(twice), Some(swapped).filter(|_| !answered)]
            .into_iter()
            .flatten()
        {
            let watch = |orderly| {
                let tap = Tap {
                    orderly,
                    ..Tap::new("")
                };
                changed.watch_at(tap).violations
            };
            assert_eq!(watch(false), [], "step {}", good.0[at].name);
            otherwise += usize::from(!watch(true).is_empty());
        }
    }
    assert!(otherwise > 5, "{otherwise}");
}

/// The first of two CNPs may have waited for a frame on its sender's wire, of 844 ns at 40 Gb/s.
#[test]
fn a_cnp_may_have_waited_for_the_wire() {
    for (earlier, violations) in [(10_500_000, 0), (11_000_000, 1)] {
        let mut it = Conversation::good();
        for name in ["m2", "ack m2", "cnp 2"] {
            let step = it.step(name);
            step.time = Time::from_ps(step.time.as_ps() - earlier);
        }
        let report = it.watch(true);
        assert_eq!(
            report.violations_of(Rule::CnpInterval),
            violations,
            "{earlier} ps earlier"
        );
    }
}
