//! A source that stops its simulation returns an error that says which model, when, where and why. The process
//! continues.

use verilated::{BuildError, FailureKind, Settings};
use verilated_tests::alarms::{In, Out};
use verilated_tests::{Alarms, Counter12, Spin, counter12, spin};

/// Drives `what_i` after two cycles without an alarm, and returns the result.
fn alarm(what_i: u8) -> (Alarms, Result<(), verilated::Failure>) {
    let mut model = Alarms::new(&Settings::new("dut").period_ps(5_120)).unwrap();
    let mut out = Out::default();
    for _ in 0..2 {
        model.cycle(&In { what_i: 0 }, &mut out).unwrap();
    }
    let result = model.cycle(&In { what_i }, &mut out);
    (model, result)
}

fn text(what_i: u8) -> String {
    alarm(what_i).1.unwrap_err().to_string()
}

#[test]
fn an_assertion_names_instance_time_place_and_reason() {
    let mut model = Counter12::new(&Settings::new("nic0.count").period_ps(5_120)).unwrap();
    let mut out = counter12::Out::default();
    let failure = (0..200)
        .find_map(|_| {
            model
                .cycle(&counter12::In { rst_i: 0, en_i: 1 }, &mut out)
                .err()
        })
        .unwrap();
    insta::assert_snapshot!(failure, @"nic0.count (Counter12) at 519680 ps: assertion failed in nic0.count.counter.a_limit, sv/counter.sv:18: count 101 is over 100");
    assert_eq!(failure.instance(), "nic0.count");
    assert_eq!(failure.model(), "Counter12");
    assert_eq!(failure.kind(), FailureKind::Assertion);
    assert_eq!(failure.time_ps(), 101 * 5_120 + 2_560);
    assert_eq!((failure.file(), failure.line()), ("sv/counter.sv", 18));
    assert_eq!(failure.message(), "count 101 is over 100");
}

#[test]
fn every_way_to_stop() {
    insta::assert_snapshot!(text(1), @"dut (Alarms) at 12800 ps: assertion failed in dut.alarms, sv/alarms.sv:11: an error, what is 1");
    insta::assert_snapshot!(text(2), @"dut (Alarms) at 12800 ps: assertion failed in dut.alarms, sv/alarms.sv:12: a fatal one");
    insta::assert_snapshot!(text(3), @"dut (Alarms) at 12800 ps: $stop, sv/alarms.sv:13");
    insta::assert_snapshot!(text(4), @"dut (Alarms) at 12800 ps: $finish, sv/alarms.sv:14");
    insta::assert_snapshot!(text(8), @"dut (Alarms) at 12800 ps: assertion failed in dut.alarms, sv/alarms.sv:19: first (and 1 more)");
    insta::assert_snapshot!(text(9), @"dut (Alarms) at 12800 ps: assertion failed in dut.alarms.a_silent, sv/alarms.sv:31: 'assert' failed.");
}

#[test]
fn what_fails_before_the_edge_has_the_time_of_the_inputs() {
    let (_, result) = alarm(7);
    let failure = result.unwrap_err();
    insta::assert_snapshot!(failure, @"dut (Alarms) at 10240 ps: assertion failed in dut.alarms.a_settle, sv/alarms.sv:28: seven at 10240");
    assert_eq!(failure.time_ps(), 2 * 5_120);
}

#[test]
fn kinds() {
    let kind = |what| alarm(what).1.unwrap_err().kind();
    assert_eq!(kind(1), FailureKind::Assertion);
    assert_eq!(kind(2), FailureKind::Assertion);
    assert_eq!(kind(3), FailureKind::Stop);
    assert_eq!(kind(4), FailureKind::Finish);
    assert_eq!(kind(9), FailureKind::Assertion);
    assert_eq!(alarm(8).1.unwrap_err().further(), 1);
}

#[test]
fn talk_is_kept_and_stops_nothing() {
    let (mut model, result) = alarm(5);
    assert_eq!(result, Ok(()));
    assert_eq!(model.take_output(), "only talk: 5\n");
    assert_eq!(model.take_output(), "");
    let (mut model, result) = alarm(6);
    assert_eq!(result, Ok(()));
    assert!(model.take_output().contains("a warning"));
}

#[test]
fn a_stop_does_not_borrow_the_text_of_earlier_talk() {
    let mut model = Alarms::new(&Settings::new("dut")).unwrap();
    let mut out = Out::default();
    model.cycle(&In { what_i: 5 }, &mut out).unwrap();
    let failure = model.cycle(&In { what_i: 3 }, &mut out).unwrap_err();
    assert_eq!((failure.kind(), failure.message()), (FailureKind::Stop, ""));
}

#[cfg(not(feature = "coverage"))]
#[test]
fn a_failed_model_stays_failed_until_restored() {
    let mut model = Alarms::new(&Settings::new("dut")).unwrap();
    let mut out = Out::default();
    model.cycle(&In { what_i: 5 }, &mut out).unwrap();
    let saved = model.save().unwrap();
    let first = model.cycle(&In { what_i: 1 }, &mut out).unwrap_err();
    let time = model.time_ps();
    assert_eq!(model.cycle(&In { what_i: 0 }, &mut out), Err(first.clone()));
    assert_eq!(model.eval(&In { what_i: 0 }, &mut out), Err(first.clone()));
    assert_eq!(model.save(), Err(first.clone()));
    assert_eq!(model.state(), Err(first.clone()));
    assert_eq!((model.failure(), model.time_ps()), (Some(&first), time));

    model.restore(&saved).unwrap();
    assert_eq!(model.failure(), None);
    model.cycle(&In { what_i: 0 }, &mut out).unwrap();
    assert_eq!(out.seen_o, 5);
    // And it can fail again, for another reason.
    assert_eq!(
        model
            .cycle(&In { what_i: 2 }, &mut out)
            .unwrap_err()
            .message(),
        "a fatal one"
    );
}

#[test]
fn one_model_fails_alone() {
    let mut good = Alarms::new(&Settings::new("good")).unwrap();
    let mut bad = Alarms::new(&Settings::new("bad")).unwrap();
    let mut out = Out::default();
    assert_eq!(
        bad.cycle(&In { what_i: 1 }, &mut out)
            .unwrap_err()
            .instance(),
        "bad"
    );
    good.cycle(&In { what_i: 0 }, &mut out).unwrap();
    assert_eq!(good.take_output(), "");
}

#[test]
fn logic_that_never_settles_is_an_error_and_no_endless_loop() {
    let mut model = Spin::new(&Settings::new("spinner")).unwrap();
    let mut out = spin::Out::default();
    model.cycle(&spin::In { go_i: 0 }, &mut out).unwrap();
    let failure = model.cycle(&spin::In { go_i: 1 }, &mut out).unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Runtime);
    // Newer versions of Verilator say more.
    let text = failure.to_string().replace("DIDNOTCONVERGE: ", "");
    let begin = "spinner (Spin) at 1000 ps: model gave up, sv/spin.sv:2: Input combinational region did not converge";
    assert!(text.starts_with(begin), "{text}");
}

#[test]
fn settings_that_cannot_be() {
    let error = Spin::new(&Settings::new("s").period_ps(1)).unwrap_err();
    assert_eq!(
        error,
        BuildError::Period {
            instance: "s".into(),
            period_ps: 1
        }
    );
    assert_eq!(
        error.to_string(),
        "instance `s`: a clock period of 1 ps is too short, 2 ps is the least"
    );
}
