//! What looks like a fault and is none: frames that cross on the way, and answers of which it is not known whose they
//! are.

use xoff_monitor::{Rule, Tap};
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{Opcode, Qpn, Syndrome};

use crate::conversation::Conversation;

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
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
