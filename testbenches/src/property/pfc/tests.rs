use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::history::{Action, Step, Wait};
use super::*;

#[test]
fn cases_are_what_their_text_says() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let case = Pfc::cases().new_tree(&mut runner).unwrap().current();
        let lines = Pfc::write(&case);
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert_eq!(Pfc::read(&lines), Ok(case));
    }
}

#[test]
fn a_wrong_line_is_named_with_what_it_should_be() {
    let wrong = |lines: &[&str]| Pfc::read(lines).unwrap_err();
    assert!(wrong(&["unit nic"]).contains("expected 'unit NAME"));
    assert!(wrong(&["unit pfc_rx 40G start=0"]).starts_with("event 1: expected 'unit pfc_rx"));
    let text = wrong(&["unit pfc_tx start=0 walk=0", "at +1: depth 0x01 16777216"]);
    assert!(text.starts_with("event 2 is 'at +1: depth 0x01 16777216'; expected"));
    // A wire on which the peer may run in between proves nothing.
    let unsafe_wire = "unit pfc_pair quanta=2 refresh=6 waits=[0] delay=0 start=0 walk=0";
    assert!(wrong(&[unsafe_wire]).starts_with("event 1: expected"));
}

#[test]
fn shrinks_to_the_steps_that_matter() {
    // Fails where an XOFF threshold over 100 stands behind a reset.
    let fails = |case: &History<TxEvent>| {
        let reset = (case.steps.iter()).position(|step| step.action == Action::Reset);
        let behind = reset.map_or(&[][..], |at| &case.steps[at..]);
        behind.iter().any(
            |step| matches!(step.action, Action::Event(TxEvent::Xoff(set, n)) if set & 8 != 0 && n > 100),
        )
    };
    let mut runner = TestRunner::deterministic();
    let mut tree = std::iter::repeat_with(|| histories().new_tree(&mut runner).unwrap())
        .find(|tree| fails(&tree.current()))
        .unwrap();
    let mut smallest = tree.current();
    let mut more = tree.simplify();
    while more {
        let trial = tree.current();
        more = match fails(&trial) {
            true => {
                smallest = trial;
                tree.simplify()
            }
            false => tree.complicate(),
        };
    }
    let [reset, xoff] = &smallest.steps[..] else {
        panic!("{smallest:?}");
    };
    assert_eq!(reset.action, Action::Reset);
    assert_eq!(xoff.action, Action::Event(TxEvent::Xoff(8, 101)));
    for step in [reset, xoff] {
        assert!(matches!(
            step,
            Step {
                wait: Wait::Cycles(0 | 1),
                ..
            }
        ));
    }
}
