//! What looks like a fault and is none: frames that cross on the way, and answers of which it is not known whose they
//! are.

use xoff_monitor::{Habit, Monitor, Rule, Tap};
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{Opcode, Qpn, Syndrome};

use crate::conversation::{BTH, Conversation, UDP, mend};

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn at_host() -> Tap {
    Tap {
        host: true,
        ..Tap::new("a.0")
    }
}

fn broken(conversation: &Conversation, tap: Tap) -> Vec<Rule> {
    let report = conversation.watch_at(tap);
    report.violations.iter().map(|it| it.rule).collect()
}

/// The wait of 10 us that the first RNR NAK asked for runs on, or begins anew.
#[test]
fn one_more_rnr_nak_while_the_request_waits_changes_nothing() {
    let mut twice = Conversation::good();
    twice.copy("rnr nak", "rnr nak").time = us(38);
    assert_eq!(broken(&twice, at_host()), []);
    // Too early even for the first.
    twice.step("n again").time = us(40);
    assert_eq!(broken(&twice, at_host()), [Rule::RnrWait]);
}

/// An RNR NAK may be older than it looks where the network changes the order of frames.
#[test]
fn the_wait_after_an_rnr_nak_is_judged_only_in_order() {
    let mut early = Conversation::good();
    early.step("n again").time = us(34);
    let unordered = Tap {
        orderly: false,
        ..at_host()
    };
    assert_eq!(broken(&early, unordered), []);
    assert_eq!(broken(&early, at_host()), [Rule::RnrWait]);
}

/// The NAK asks for the request that the RNR NAK is about, which is on its way again when the RNR NAK arrives.
#[test]
fn a_resend_that_crosses_its_rnr_nak_does_not_wait() {
    let mut it = Conversation(Vec::new());
    it.asks("first", 1, Opcode::RC_SEND_ONLY, 1, 8);
    it.asks("second", 2, Opcode::RC_SEND_ONLY, 2, 8);
    it.answers("nak", 4, 1, Syndrome::PSN_SEQUENCE_ERROR, 0);
    it.answers("rnr nak", 5, 1, Syndrome(0x21), 0);
    it.asks("again", 6, Opcode::RC_SEND_ONLY, 1, 8);
    assert_eq!(broken(&it, at_host()), []);
    it.remove("nak");
    assert_eq!(broken(&it, at_host()), [Rule::RnrWait]);
}

/// What pauses a frame is what its node is set to.
#[test]
fn pauses_count_for_the_classes_of_the_node() {
    let mut paused = Conversation::good();
    paused.step("after pause").time = us(145);
    assert_eq!(broken(&paused, at_host()), [Rule::PauseObeyed]);
    let ignoring = Tap {
        pfc_classes: !(1 << 3),
        ..at_host()
    };
    assert_eq!(broken(&paused, ignoring), []);
    // DSCP 24 is another class.
    let other = Tap {
        classes: [5; 64],
        ..at_host()
    };
    assert_eq!(broken(&paused, other), []);
}

/// Requests to QPs 0x22 and 0x23 with the same PSNs.
fn alike(second: bool, step: (&'static str, u64, u32), it: &mut Conversation) {
    let (name, at, psn) = step;
    let step = it.asks(name, at, Opcode::RC_SEND_ONLY, psn, 8);
    step.packet().bth.dest_qp = Qpn::new(0x22 + u32::from(second)).unwrap();
}

/// The sender knows that PSN 2 has arrived and goes on after it. Which of two connections that is cannot be seen.
#[test]
fn a_resend_may_go_on_where_an_answer_of_unknown_origin_says() {
    let mut it = Conversation(Vec::new());
    for (at, psn) in [(1, 1), (2, 2), (3, 3)] {
        alike(false, ("to 0x22", at, psn), &mut it);
    }
    for (at, psn) in [(4, 1), (5, 2), (6, 3)] {
        alike(true, ("to 0x23", at, psn), &mut it);
    }
    alike(false, ("timeout", 20, 1), &mut it);
    it.answers("ack", 21, 2, Syndrome::ACK, 2);
    alike(false, ("goes on", 22, 3), &mut it);
    assert_eq!(broken(&it, at_host()), []);
    // Where there is only one connection, PSN 3 has to follow the answer.
    it.0.retain(|step| step.name != "to 0x23" && step.name != "ack");
    assert_eq!(broken(&it, at_host()), [Rule::PsnOrder]);
}

/// An ACK that comes before the answer to an atomic in front of it acknowledges what is in front of the atomic, which is
/// asked for again (an implied NAK). Here it has overtaken that answer, in the middle of a resend.
#[test]
fn a_resend_goes_on_with_an_atomic_whose_answer_was_overtaken() {
    let mut it = Conversation(Vec::new());
    for (at, psn) in [(1, 1), (2, 2), (3, 3)] {
        alike(false, ("send", at, psn), &mut it);
    }
    it.atomic(["add", "added"], 4, 4, 4);
    it.remove("added");
    alike(false, ("behind", 5, 5), &mut it);
    alike(false, ("timeout", 20, 1), &mut it);
    it.answers("ack", 21, 5, Syndrome::ACK, 5);
    it.atomic(["add again", "added again"], 22, 4, 4);
    let of_order = |it: &Conversation| {
        let all = broken(it, at_host());
        all.contains(&Rule::PsnOrder)
    };
    assert!(!of_order(&it));
    // Without the ACK nothing has said that PSNs 2 and 3 need not come again.
    it.remove("ack");
    assert!(of_order(&it));
}

/// The NAK's PSN was lost before the tap, so that only a request of the other connection has it.
#[test]
fn a_nak_for_what_was_lost_does_not_belong_to_another_connection() {
    let mut it = Conversation(Vec::new());
    alike(false, ("second, without the first", 1, 2), &mut it);
    alike(true, ("first of the other", 2, 1), &mut it);
    it.answers("nak", 3, 1, Syndrome::PSN_SEQUENCE_ERROR, 0);
    alike(false, ("first again", 4, 1), &mut it);
    alike(false, ("second again", 5, 2), &mut it);
    it.answers("ack", 6, 2, Syndrome::ACK, 2);
    assert_eq!(broken(&it, Tap::new("way")), []);
}

/// Two marked packets arrive before the first of their CNPs leaves. Without an interval each has a CNP of its own.
#[test]
fn each_mark_may_have_its_cnp() {
    let mut it = Conversation::good();
    it.copy("m2", "m2").psn(102);
    it.copy("cnp 2", "cnp 2");
    let judged = |interval: Option<Duration>, it: &Conversation| {
        let monitor = match interval {
            Some(interval) => Monitor::new().with_cnp_interval(interval),
            None => Monitor::new(),
        };
        it.watch_with(monitor, at_host())
            .violations_of(Rule::CnpCause)
    };
    for interval in [None, Some(Duration::ZERO)] {
        assert_eq!(judged(interval, &it), 0, "{interval:?}");
    }
    // A third one has none.
    it.copy("cnp 2", "cnp 2");
    for interval in [None, Some(Duration::ZERO)] {
        assert_eq!(judged(interval, &it), 1, "{interval:?}");
    }
}

/// A mark that came before the interval that the last CNP began has been answered, or was left out.
#[test]
fn an_old_mark_is_no_cause() {
    let mut it = Conversation::good();
    for psn in [101, 102] {
        it.copy("m1", "m1").psn(psn);
    }
    it.step("m2").packet().ip.traffic_class &= !0b11;
    assert_eq!(it.watch_at(at_host()).violations_of(Rule::CnpCause), 0);
    // One of the marks at 70 us is left: too old for a CNP behind the one at 132 us.
    it.copy("cnp 2", "ack g");
    assert_eq!(it.watch_at(at_host()).violations_of(Rule::CnpCause), 1);
}

/// Without the interval it is not known whether the host takes part in DCQCN.
#[test]
fn marks_without_cnps_are_a_remark_where_no_interval_is_set() {
    let mut it = Conversation::good();
    for name in ["cnp 1", "cnp 2", "pfc"] {
        it.remove(name);
    }
    let report = it.watch_with(Monitor::new(), at_host());
    assert_eq!(report.violations, []);
    assert!(report.remarks.contains_key(&Habit::MarksUnanswered));
    assert_eq!(broken(&it, at_host()), [Rule::CnpOwed; 2]);
    assert_eq!(broken(&it, Tap::new("way")), []);
}

/// What one rule has named is not named again because of the PSN that is missing then.
#[test]
fn a_broken_packet_has_used_its_psn() {
    type Damage = (Rule, fn(&mut Vec<u8>));
    let damages: [Damage; 4] = [
        (Rule::Icrc, |it| *it.last_mut().unwrap() ^= 1),
        (Rule::Opcode, |it| {
            it[BTH] = 0x15;
            mend(it);
        }),
        (Rule::BthVersion, |it| {
            it[BTH + 1] |= 1;
            mend(it);
        }),
        (Rule::UdpLength, |it| it[UDP + 5] += 4),
    ];
    for (rule, damage) in damages {
        for name in ["w2", "s2", "s1 again", "read"] {
            let mut it = Conversation::good();
            it.step(name).edit = Some(damage);
            let found = broken(&it, at_host());
            let answers = [Rule::ReadResponse];
            let found: Vec<_> = found
                .into_iter()
                .filter(|it| !answers.contains(it))
                .collect();
            assert_eq!(found, [rule], "{name}");
        }
        // A packet that is missing beside is still found, if the broken one was none that takes several PSNs.
        let mut it = Conversation::good();
        if matches!(rule, Rule::Icrc | Rule::BthVersion) {
            it.step("s1").edit = Some(damage);
            it.remove("s2");
            assert_eq!(broken(&it, at_host())[..2], [rule, Rule::PsnOrder]);
        }
    }
}

/// The receiver of the requests, and taps between, see resends that have crossed an RNR NAK.
#[test]
fn the_wait_after_an_rnr_nak_is_judged_at_the_sender_alone() {
    let mut early = Conversation::good();
    early.step("n again").time = us(34);
    assert_eq!(broken(&early, at_host()), [Rule::RnrWait]);
    assert_eq!(broken(&early, Tap::new("way")), []);
    assert_eq!(broken(&early.clone().at_b(), at_host()), []);
    // Behind a frame of the longest MTU on the wire, 844 ns at 40 Gb/s.
    early.step("n again").time = us(32) + Duration::from_ns(800);
    assert_eq!(broken(&early, at_host()), []);
    early.step("n again").time = us(32) + Duration::from_ns(900);
    assert_eq!(broken(&early, at_host()), [Rule::RnrWait]);
}

/// While a responder waits for what it has refused, it drops what is behind in silence, gaps too.
#[test]
fn no_nak_is_owed_behind_one() {
    let mut it = Conversation(Vec::new());
    it.asks("first", 1, Opcode::RC_SEND_ONLY, 1, 8);
    it.answers("ack", 2, 1, Syndrome::ACK, 1);
    it.asks("second", 10, Opcode::RC_SEND_ONLY, 2, 8);
    it.answers("rnr nak", 11, 2, Syndrome(0x21), 1);
    it.asks("fourth, without the third", 12, Opcode::RC_SEND_ONLY, 4, 8);
    for (at, psn) in [(60, 2), (61, 3), (62, 4)] {
        it.asks("again", at, Opcode::RC_SEND_ONLY, psn, 8);
    }
    it.answers("acks", 64, 4, Syndrome::ACK, 4);
    assert_eq!(broken(&it.clone().at_b(), at_host()), []);
    // Without the RNR NAK the gap has to be told.
    it.remove("rnr nak");
    let report = it.clone().at_b().watch_at(at_host());
    assert!(report.remarks.contains_key(&Habit::GapUntold));
    // And if what was behind it was kept, it was not dropped.
    it.0.remove(it.0.len() - 2);
    assert_eq!(broken(&it.at_b(), at_host()), [Rule::NakOwed]);
}

/// A NAK that goes back is named itself (go-back-0 does so); that its sender heeds it is not.
#[test]
fn a_resend_that_heeds_a_wrong_nak_is_not_named() {
    let mut it = Conversation::good();
    it.remove("bad key");
    it.remove("fatal");
    it.copy("nak s", "ack atomic write");
    for (name, psn, time) in [("s1", 1, 380), ("s2", 2, 381), ("s3", 3, 382)] {
        let step = it.copy(name, "ack g");
        (step.time, step.name) = (us(time), "again");
        step.psn(psn);
    }
    it.0.sort_by_key(|step| step.time);
    it.0.truncate(it.0.iter().rposition(|step| step.name == "again").unwrap() + 1);
    assert_eq!(broken(&it, at_host()), [Rule::AckBack]);
    // Without the NAK nothing asks for them.
    it.0.retain(|step| step.name != "copy");
    assert_eq!(broken(&it, at_host()), [Rule::ResendStart]);
}
