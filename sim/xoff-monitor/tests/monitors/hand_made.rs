//! A conversation without a fault, whole and in parts: what is missing, late or in another order is no violation.

use xoff_monitor::{Habit, Rule, Tap};
use xoff_sim::kernel::Direction;
use xoff_sim::protocol::builder::Content;
use xoff_sim::time::Time;
use xoff_sim::wire::{Opcode, Qpn, Syndrome};

use crate::conversation::Conversation;

#[test]
fn the_conversation_is_good() {
    for host in [true, false] {
        let report = Conversation::good().watch(host);
        assert_eq!(report.violations, []);
        let never = |rule: &&Rule| report.rules[**rule].checked == 0;
        let unused: Vec<_> = Rule::ALL.iter().filter(never).collect();
        let expected: &[Rule] = match host {
            true => &[Rule::AfterFatalNak],
            false => &[
                Rule::AfterFatalNak,
                Rule::PsnOrder,
                Rule::RnrWait,
                Rule::AckOfMissing,
                Rule::NakOwed,
                Rule::CnpCause,
                Rule::CnpOwed,
            ],
        };
        let unused: Vec<_> = unused
            .into_iter()
            .filter(|rule| !expected.contains(rule))
            .collect();
        assert!(unused.is_empty(), "never applied: {unused:?}");
    }
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

/// A READ whose memory cannot be read any more is refused in its inside, behind the responses before, and not earlier.
#[test]
fn a_read_is_refused_behind_its_first_responses() {
    for (psn, broken) in [(6, None), (7, Some(Rule::AckPastRead))] {
        for syndrome in [0x62, 0x63] {
            let mut conversation = Conversation::good();
            conversation.0.truncate(conversation.at("r1") + 1);
            conversation.answers("refused", 53, psn, Syndrome(syndrome), 4);
            let report = conversation.at_b().watch(true);
            let found: Vec<_> = report.violations.iter().map(|it| it.rule).collect();
            assert_eq!(found, Vec::from_iter(broken), "PSN {psn}");
        }
    }
}

/// A READ that was answered and is asked again may be refused then, behind answers to what is behind it.
#[test]
fn a_read_that_is_asked_again_is_refused() {
    for (again, broken) in [(true, None), (false, Some(Rule::AckBack))] {
        let mut conversation = Conversation::good();
        conversation.0.truncate(conversation.at("added") + 1);
        if again {
            conversation.reads("read again", 62, 5, 600);
        }
        conversation.answers("refused", 63, 5, Syndrome(0x63), 5);
        let report = conversation.at_b().watch(true);
        let found: Vec<_> = report.violations.iter().map(|it| it.rule).collect();
        assert_eq!(found, Vec::from_iter(broken), "asked again: {again}");
    }
}

/// A request is compared with the one before it to the same queue pair; a new connection and UD are not judged.
#[test]
fn each_change_of_the_dscp_of_requests_counts_once() {
    use Opcode as Op;
    let mut it = Conversation(Vec::new());
    let requests = [
        (Op::RC_SEND_ONLY, 0x22, 1, 24, 0),
        (Op::RC_SEND_ONLY, 0x23, 1, 10, 0),
        (Op::RC_SEND_ONLY, 0x22, 2, 24, 0),
        (Op::RC_SEND_ONLY, 0x22, 3, 10, 1),
        (Op::RC_SEND_ONLY, 0x23, 2, 10, 0),
        (Op::RC_SEND_ONLY, 0x22, 4, 10, 0),
        // A resend.
        (Op::RC_SEND_ONLY, 0x22, 3, 24, 1),
        (Op::RC_SEND_ONLY, 0x22, 4, 24, 0),
        (Op::RC_SEND_ONLY, 0x22, 5, 10, 1),
        // A new connection.
        (Op::RC_SEND_ONLY, 0x22, 0x40_0000, 46, 0),
        (Op::UC_SEND_ONLY, 0x33, 1, 10, 0),
        (Op::UC_SEND_ONLY, 0x33, 2, 24, 1),
        (Op::UD_SEND_ONLY, 0x44, 1, 10, 0),
        (Op::UD_SEND_ONLY, 0x44, 2, 24, 0),
    ];
    let (mut changes, mut at) = (0, 0);
    for (opcode, qpn, psn, dscp, change) in requests {
        at += 1;
        let packet = it.asks("", at, opcode, psn, 8).packet();
        packet.bth.dest_qp = Qpn::new(qpn).unwrap();
        packet.ip.traffic_class = dscp << 2;
        changes += change;
        let report = it.watch(false);
        assert_eq!(report.violations, []);
        let remark = report.remarks.get(&Habit::DscpChanges);
        assert_eq!(remark.map_or(0, |it| it.count), changes, "request {at}");
        if let Some(remark) = remark {
            let text = "PSN 0x000003 to QP 0x000022 with DSCP 10, 24 before";
            assert_eq!((remark.frame, remark.text.as_str()), (3, text));
        }
    }
}

/// Answers and CNPs may be in classes of their own, and the requests of either direction. A mark changes no DSCP.
#[test]
fn answers_and_cnps_may_have_another_dscp() {
    let mut it = Conversation::good();
    for (number, step) in (0..).zip(&mut it.0) {
        if let Content::Roce(packet) = &mut step.frame.content {
            let dscp = match (packet.bth.opcode, step.direction) {
                (Opcode::CNP, _) => 48,
                (Opcode(0x0D..=0x12), _) => 32 + number % 4,
                (_, Direction::Sent) => 24,
                (_, Direction::Received) => 10,
            };
            packet.ip.traffic_class = dscp << 2 | packet.ip.traffic_class & 0b11;
        }
    }
    for host in [true, false] {
        let report = it.watch(host);
        assert_eq!(report.violations, []);
        assert_eq!(report.remarks.get(&Habit::DscpChanges), None);
    }
}
