use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::*;
use crate::property::history::{self, History};

#[test]
fn cases_are_what_their_text_says() {
    history::cases_are_what_their_text_says::<Pfc>();
}

#[test]
fn a_wrong_line_is_named_with_what_it_should_be() {
    let wrong = |text: &str| History::<Head, Event>::read(text).unwrap_err();
    let of = |bench: &str| format!("bench {{\"bench\":{bench},\"start\":0,\"walk\":0}}\n");
    let text = wrong(&of("\"nic\""));
    assert!(
        text.contains("unknown variant `nic`, expected one of `rx40`, `rx100`, `tx`"),
        "{text}"
    );
    assert!(wrong("bench {\"bench\":\"tx\",\"start\":0}").contains("missing field `walk`"));
    assert!(
        wrong("bench {\"bench\":\"tx\",\"start\":1125899906842625,\"walk\":0}")
            .contains("expected at most")
    );
    let text = wrong(&(of("\"tx\"") + "wait 1\ndepth [1,16777216]"));
    assert_eq!(
        text,
        "line 3: 'depth [1,16777216]': 16777216; expected a number below 2^24"
    );
    assert!(wrong(&(of("\"watchdog\"") + "bark 1099511627776")).contains("below 2^40"));
    // A case proves nothing on a wire on which the peer may run in between.
    let unsafe_wire = "{\"pair\":{\"quanta\":2,\"refresh\":6,\"waits\":[0],\"delay\":0}}";
    assert!(wrong(&of(unsafe_wire)).contains("a delay of 1 or more"));
    let unsafe_wire = "{\"pair\":{\"quanta\":2,\"refresh\":6,\"waits\":[0],\"delay\":1}}";
    assert!(wrong(&of(unsafe_wire)).contains("frames 6 cycles apart; expected at most 5"));
}

#[test]
fn shrinks_to_the_events_that_matter() {
    // Fails when an XOFF threshold over 100 comes after a reset.
    let fails = |case: &History<Head, Event>| {
        let reset = case.events.iter().position(|event| *event == Event::Reset);
        let behind = reset.map_or(&[][..], |at| &case.events[at..]);
        let bad = |event: &Event| matches!(event, Event::Xoff(set, n) if set & 8 != 0 && *n > 100);
        behind.iter().any(bad)
    };
    let mut runner = TestRunner::deterministic();
    let tree = std::iter::repeat_with(|| Histories(histories::tx).new_tree(&mut runner).unwrap())
        .find(|tree| fails(&tree.current()))
        .unwrap();
    let smallest = history::smallest(tree, fails);
    assert_eq!(smallest.events, [Event::Reset, Event::Xoff(8, 101)]);
    assert_eq!(smallest.head.start, 0);
}
