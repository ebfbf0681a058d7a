//! One test for each rule of the contract.

use super::*;

const PAPER: RpParameters = RpParameters::paper(Rate::mbps(40_000), 5_120);
const NOW: Cycle = Cycle(1_000_000);

fn after(context: RpContext, event: RpEvent, now: Cycle) -> RpContext {
    context.step(&PAPER, event, now).0
}

fn open() -> RpContext {
    after(RpContext::default(), RpEvent::Open, NOW)
}

/// A QP that was reduced to half the line rate.
fn cut() -> RpContext {
    after(open(), RpEvent::Cnp, NOW)
}

fn timers(mut context: RpContext, count: u32) -> RpContext {
    for _ in 0..count {
        let now = context.rate_deadline.max(context.alpha_deadline);
        context = after(context, RpEvent::Timer, now);
    }
    context
}

/// Sends as many bytes as one increase by bytes takes.
fn byte_period(mut context: RpContext) -> RpContext {
    for _ in 0..PAPER.byte_limit / 50_000 {
        context = after(context, RpEvent::Bytes(50_000), NOW);
    }
    context
}

#[test]
fn the_papers_parameters() {
    assert_eq!(
        PAPER,
        RpParameters {
            rate_max: Rate(40_000_000),
            rate_min: Rate(10_000),
            rate_ai: Rate(40_000),
            rate_hai: Rate(200_000),
            g: 256,
            alpha_time: 10_743,
            rate_time: 10_743,
            byte_limit: 10_000_000,
            stages: 5,
        }
    );
}

#[test]
fn opens_free_at_line_rate_with_alpha_one() {
    let (context, action) = RpContext::default().step(&PAPER, RpEvent::Open, NOW);
    assert_eq!(
        context,
        RpContext {
            open: true,
            rate_current: PAPER.rate_max,
            rate_target: PAPER.rate_max,
            // Not 0.5, which some simulators have: the first CNP must halve the rate.
            alpha: Alpha::ONE,
            ..RpContext::default()
        }
    );
    assert_eq!(
        action,
        Some(RateAction {
            rate: PAPER.rate_max,
            limited: false
        })
    );
    let (again, action) = context.step(&PAPER, RpEvent::Open, NOW);
    assert_eq!(
        (again, action.is_some()),
        (context, true),
        "OPEN tells always"
    );
}

#[test]
fn the_first_cnp_halves_the_rate() {
    let (context, action) = open().step(&PAPER, RpEvent::Cnp, NOW);
    assert_eq!(context.rate_target, Rate::mbps(40_000));
    assert_eq!(context.rate_current, Rate::mbps(20_000));
    assert_eq!(context.alpha, Alpha::ONE, "(1 − g) · 1 + g");
    assert_eq!(
        (context.limited, context.alpha_runs, context.rate_runs),
        (true, true, true)
    );
    assert_eq!(context.alpha_deadline, Cycle(NOW.0 + 10_743));
    assert_eq!(context.rate_deadline, Cycle(NOW.0 + 10_743));
    assert_eq!(
        action,
        Some(RateAction {
            rate: Rate::mbps(20_000),
            limited: true
        })
    );
}

#[test]
fn the_cut_takes_alpha_from_before_the_cnp() {
    let context = RpContext {
        alpha: Alpha(0),
        ..open()
    };
    let context = after(context, RpEvent::Cnp, NOW);
    assert_eq!(context.rate_current, PAPER.rate_max, "α was 0");
    assert_eq!(context.alpha, Alpha(1 << 16), "and is g now");
    assert!(context.limited, "by its flag, at line rate");
}

#[test]
fn a_cut_rounds_down_and_stops_at_the_slowest_rate() {
    let context = RpContext {
        rate_current: Rate(20_001),
        alpha: Alpha(Alpha::ONE.0 - 1),
        ..open()
    };
    // 20,001 · (2²⁴ − 1) / 2²⁵ = 10,000.4994
    assert_eq!(after(context, RpEvent::Cnp, NOW).rate_current, Rate(10_001));
    let context = RpContext {
        rate_current: Rate(19_000),
        ..open()
    };
    assert_eq!(
        after(context, RpEvent::Cnp, NOW).rate_current,
        PAPER.rate_min
    );
}

#[test]
fn a_cnp_starts_everything_anew() {
    let context = RpContext {
        timer_count: 7,
        byte_count: 3,
        bytes: 77,
        ..cut()
    };
    let later = Cycle(NOW.0 + 5_000);
    let context = after(context, RpEvent::Cnp, later);
    assert_eq!(
        (context.timer_count, context.byte_count, context.bytes),
        (0, 0, 0)
    );
    assert_eq!(context.alpha_deadline, later.after(PAPER.alpha_time));
    assert_eq!(context.rate_deadline, later.after(PAPER.rate_time));
    assert_eq!(context.rate_target, Rate::mbps(20_000));
}

#[test]
fn a_period_of_zero_starts_no_timer_and_stops_one() {
    let still = RpParameters {
        alpha_time: 0,
        rate_time: 0,
        ..PAPER
    };
    let (context, _) = open().step(&still, RpEvent::Cnp, NOW);
    assert!(!context.alpha_runs && !context.rate_runs);
    for event in [RpEvent::Timer, RpEvent::Bytes(1)] {
        let (context, _) = cut().step(&still, event, NOW);
        assert!(!context.alpha_runs && !context.rate_runs, "{event:?}");
    }
}

#[test]
fn alpha_decays_at_its_deadline_and_not_before() {
    let context = cut();
    let early = after(context, RpEvent::Timer, Cycle(context.alpha_deadline.0 - 1));
    assert_eq!(early, context);
    let due = after(context, RpEvent::Timer, context.alpha_deadline);
    assert_eq!(due.alpha, Alpha((1 << 24) - (1 << 16)));
    assert_eq!(due.alpha_deadline, context.alpha_deadline.after(10_743));
}

#[test]
fn one_period_an_event_and_the_rest_with_the_next() {
    let context = cut();
    let late = Cycle(context.alpha_deadline.0 + 10 * 10_743);
    let once = after(context, RpEvent::Timer, late);
    assert_eq!(once.timer_count, 1);
    assert_eq!(once.rate_deadline, context.rate_deadline.after(10_743));
    let twice = after(once, RpEvent::Timer, late);
    assert_eq!(
        (twice.timer_count, twice.alpha.decayed(256) < twice.alpha),
        (2, true)
    );
}

#[test]
fn fast_recovery_halves_the_way_to_a_target_that_stays() {
    let context = timers(cut(), 4);
    assert_eq!(context.rate_target, Rate::mbps(40_000));
    assert_eq!(context.rate_current, Rate::mbps(38_750), "40 − 20 / 16");
    assert_eq!(context.timer_count, 4);
}

#[test]
fn additive_increase_from_stage_f_on() {
    // Reduced twice, so that the target is not the line rate.
    let context = after(cut(), RpEvent::Cnp, NOW);
    let context = timers(context, 4);
    assert_eq!(context.rate_target, Rate::mbps(20_000));
    let context = timers(context, 1);
    assert_eq!(context.rate_target, Rate::mbps(20_040), "max(T, B) = F");
    assert_eq!(timers(context, 9).rate_target, Rate::mbps(20_400), "B is 0");
}

#[test]
fn hyper_increase_when_both_counts_passed_f_by_a_constant_step() {
    let twice = after(cut(), RpEvent::Cnp, NOW);
    let at = |timer_count, byte_count| RpContext {
        timer_count,
        byte_count,
        ..twice
    };
    let step = |context: RpContext| timers(context, 1).rate_target.0 - 20_000_000;
    assert_eq!(step(at(4, 5)), 40_000, "min(T, B) = F: not yet");
    assert_eq!(step(at(5, 6)), 200_000, "min(T, B) = F + 1");
    // Not scaled by the stage, as it is in some simulators.
    assert_eq!(step(at(20, 20)), 200_000);
    assert_eq!(step(at(31, 31)), 200_000);
}

#[test]
fn bytes_count_only_while_limited_and_switched_on() {
    assert_eq!(after(open(), RpEvent::Bytes(1_000), NOW), open());
    assert_eq!(after(cut(), RpEvent::Bytes(1_000), NOW).bytes, 1_000);
    let off = RpParameters {
        byte_limit: 0,
        ..PAPER
    };
    assert_eq!(cut().step(&off, RpEvent::Bytes(1_000), NOW).0, cut());
}

#[test]
fn a_byte_period_is_an_increase_and_keeps_the_rest() {
    let context = RpContext {
        bytes: 9_999_000,
        ..cut()
    };
    let context = after(context, RpEvent::Bytes(1_500), NOW);
    assert_eq!((context.bytes, context.byte_count), (500, 1));
    assert_eq!(context.rate_current, Rate::mbps(30_000));
}

#[test]
fn one_increase_a_bytes_event() {
    let small = RpParameters {
        byte_limit: 100,
        ..PAPER
    };
    let (context, _) = cut().step(&small, RpEvent::Bytes(1_000), NOW);
    assert_eq!((context.bytes, context.byte_count), (900, 1));
    let (context, _) = context.step(&small, RpEvent::Bytes(0), NOW);
    assert_eq!((context.bytes, context.byte_count), (800, 2));
}

#[test]
fn counts_and_bytes_saturate() {
    let context = RpContext {
        timer_count: 31,
        byte_count: 31,
        bytes: u32::MAX - 1,
        ..cut()
    };
    assert_eq!(timers(context, 1).timer_count, 31);
    let huge = RpParameters {
        byte_limit: u32::MAX,
        ..PAPER
    };
    let (context, _) = context.step(&huge, RpEvent::Bytes(9), NOW);
    assert_eq!((context.byte_count, context.bytes), (31, 0));
}

#[test]
fn the_current_rate_arrives_at_its_target() {
    let near = RpContext {
        rate_target: Rate(1_000_000),
        rate_current: Rate(999_998),
        ..cut()
    };
    assert_eq!(timers(near, 1).rate_current, Rate(1_000_000), "from 2 off");
    let context = RpContext {
        rate_current: Rate(999_997),
        ..near
    };
    assert_eq!(timers(context, 1).rate_current, Rate(999_998), "from 3 off");
}

#[test]
fn lowered_limits_clamp_target_and_current() {
    let low = RpParameters {
        rate_max: Rate::mbps(1_000),
        ..PAPER
    };
    let context = cut();
    let (context, action) = context.step(&low, RpEvent::Timer, context.rate_deadline);
    assert_eq!(context.rate_target, Rate::mbps(1_000));
    assert_eq!(context.rate_current, Rate::mbps(1_000));
    assert_eq!(
        action,
        Some(RateAction {
            rate: Rate::mbps(1_000),
            limited: false
        }),
        "which is the line rate: free"
    );
}

#[test]
fn free_again_at_line_rate_and_idle_when_alpha_is_gone() {
    let mut context = byte_period(cut());
    let mut told = None;
    let mut events = 0;
    while context.limited {
        let now = context.deadline().unwrap();
        (context, told) = context.step(&PAPER, RpEvent::Timer, now);
        events += 1;
    }
    assert!(events < 60, "{events}");
    assert_eq!(
        told,
        Some(RateAction {
            rate: PAPER.rate_max,
            limited: false
        })
    );
    assert_eq!(
        (context.timer_count, context.byte_count, context.bytes),
        (0, 0, 0)
    );
    assert!(!context.rate_runs && context.alpha_runs, "α decays on");
    while let Some(now) = context.deadline() {
        let (next, action) = context.step(&PAPER, RpEvent::Timer, now);
        assert_eq!(action, None, "nothing that the rate limiter needs");
        context = next;
        events += 1;
    }
    assert_eq!(context.alpha, Alpha(0));
    assert!(events < 4_000, "{events}");
}

#[test]
fn a_raised_line_rate_does_not_hold_a_free_qp() {
    let fast = RpParameters {
        rate_max: Rate::mbps(100_000),
        ..PAPER
    };
    let (context, action) = open().step(&fast, RpEvent::Bytes(9_000), NOW);
    assert_eq!((context, action), (open(), None));
}

#[test]
fn a_closed_qp_hears_nothing() {
    for event in [RpEvent::Cnp, RpEvent::Timer, RpEvent::Bytes(9_000)] {
        let (context, action) = RpContext::default().step(&PAPER, event, NOW);
        assert_eq!((context, action), (RpContext::default(), None), "{event:?}");
    }
}

#[test]
fn close_clears_and_tells_once() {
    let (context, action) = cut().step(&PAPER, RpEvent::Close, NOW);
    assert_eq!(context, RpContext::default());
    assert_eq!(
        action,
        Some(RateAction {
            rate: Rate(0),
            limited: false
        })
    );
    assert_eq!(context.step(&PAPER, RpEvent::Close, NOW).1, None);
}

#[test]
fn contexts_are_text() {
    let text = serde_json::to_string(&cut()).unwrap();
    assert_eq!(serde_json::from_str::<RpContext>(&text).unwrap(), cut());
    assert!(text.contains(r#""rate_current":20000000"#), "{text}");
}
