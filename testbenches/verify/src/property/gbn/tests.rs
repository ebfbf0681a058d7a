//! Tests of the benches: correct models must pass, broken models must fail.

use xoff_sim::protocol::gbn::{RequesterConfig, ResponderConfig};
use xoff_sim::seeded::SplitMix;

use super::events::Path;
use super::livelock::{Livelock, Measured, measure};
use super::*;
use crate::property::history::{self, History};

#[test]
fn cases_are_what_their_text_says() {
    history::cases_are_what_their_text_says::<Gbn>();
}

/// Runs a message of SENDs over a pair of models, with and without skipping idle cycles, and returns the outcome.
fn message(
    configuration: RequesterConfig,
    path: Path,
    packets: u32,
    more: &[Event],
) -> [String; 2] {
    let (qp, psn) = (0, 100);
    let listen = Event::Listen {
        qp,
        configuration: ResponderConfig {
            mtu: configuration.mtu,
            rnr_timer: 1,
            restart: configuration.restart,
        },
        psn,
    };
    let mut events = vec![
        Event::Open {
            qp,
            configuration,
            psn,
        },
        listen,
        Event::Post {
            qp,
            kind: 0,
            packets,
            less: 0,
            signaled: true,
            seed: 1,
        },
    ];
    events.extend(more);
    let head = Head {
        bench: Bench::PairOfModels,
        start: 0,
        twice: false,
        path,
    };
    let mut requester = ModelUnit::<Requesting>::default();
    let mut responder = ModelUnit::<Responding>::default();
    [true, false].map(|skips| {
        match pair::run(
            &mut requester,
            &mut responder,
            &head,
            &events,
            skips,
            &mut Bins::new(bins::GROUPS),
        ) {
            Ok(_) => "it ends".to_owned(),
            Err(what) => what,
        }
    })
}

const PATIENT: RequesterConfig = RequesterConfig {
    mtu: 0,
    timeout: 1,
    retry: 7,
    nak_retry: false,
    rnr_retry: 7,
    ack_every: 1,
    window: 1,
    restart: false,
    reads: 0,
};

#[test]
fn go_back_0_may_take_as_long_as_its_odds_say() {
    let configuration = RequesterConfig {
        restart: true,
        ..PATIENT
    };
    for seed in 0..4 {
        let path = Path {
            seed,
            drops: 150,
            delay: 200,
            gap: 12,
            ..Path::default()
        };
        assert_eq!(message(configuration, path, 15, &[]), ["it ends"; 2]);
    }
}

#[test]
fn a_wait_without_end_is_found() {
    // All packets are lost, and no timer runs.
    let configuration = RequesterConfig {
        timeout: 0,
        ..PATIENT
    };
    let path = Path {
        drops: 1_000,
        ..Path::default()
    };
    let [skipped, whole] = message(configuration, path, 3, &[]);
    assert_eq!(skipped, "it hangs: neither end waits for anything any more");
    assert!(whole.contains("it hangs, for 400000 cycles"), "{whole}");
}

#[test]
fn packets_without_end_are_found() {
    // The responder is opened again while the packet is on its way, and so loses its buffer: RNR NAKs for ever.
    let again = Event::Listen {
        qp: 0,
        configuration: ResponderConfig {
            mtu: 0,
            rnr_timer: 1,
            restart: false,
        },
        psn: 100,
    };
    let path = Path {
        delay: 10_000,
        ..Path::default()
    };
    let configuration = RequesterConfig {
        timeout: 6,
        ..PATIENT
    };
    let said = message(configuration, path, 1, &[Event::Wait(7_000), again]);
    for what in said {
        assert!(what.contains("it hangs, for 400000 cycles"), "{what}");
    }
}

#[test]
fn models_pass_their_own_benches() {
    let mut requester = ModelUnit::<Requesting>::default();
    let mut responder = ModelUnit::<Responding>::default();
    let mut events = 0;
    let mut bins = Bins::new(bins::GROUPS);
    for seed in 0..1_000 {
        let History { head, events: case } = histories::history(&mut SplitMix::new(seed));
        let held = match head.bench {
            Bench::Requester | Bench::Requester4 => {
                alone::check(&mut requester, &head, &case, &mut bins)
            }
            Bench::Responder | Bench::Responder4 => {
                alone::check(&mut responder, &head, &case, &mut bins)
            }
            _ => pair::check(&mut requester, &mut responder, &head, &case, &mut bins),
        };
        match held {
            Ok(count) => events += count,
            Err(what) => panic!("seed {seed}, {head:?}: {what}"),
        }
    }
    println!("{events} steps");
}

/// Measures with the models and with the RTL, which must agree.
fn livelock(restart: bool, packets: u32, wasted: u64) -> Measured {
    let setting = Livelock {
        restart,
        packets,
        wasted,
        slots: (512, 256 * 64),
    };
    let mut requester = ModelUnit::<Requesting>::default();
    let mut responder = ModelUnit::<Responding>::default();
    let of_models = measure(&mut requester, &mut responder, setting).unwrap();
    let mut requester = Rtl::<GbnRequester4>::new(1).unwrap();
    let mut responder = Rtl::<GbnResponder4>::new(1).unwrap();
    let of_rtl = measure(&mut requester, &mut responder, setting).unwrap();
    assert_eq!(of_rtl, of_models);
    of_rtl
}

#[test]
fn go_back_0_lives_up_to_255_less_w_packets() {
    for wasted in [1, 11, 40] {
        let lives = livelock(true, 255 - wasted as u32, wasted);
        let dies = livelock(true, 256 - wasted as u32, wasted);
        println!("W {wasted}: {lives:?}, a packet more: {dies:?}");
        assert_eq!(lives.messages, 64);
        assert_eq!((dies.sent, dies.messages, dies.delivered), (256 * 64, 0, 0));
    }
}

#[test]
fn go_back_n_wastes_w_packets_a_drop() {
    for wasted in [1, 11, 40] {
        let measured = livelock(false, 16, wasted);
        let goodput = measured.delivered as f64 / measured.sent as f64;
        let right = (255 - wasted) as f64 / 256.0;
        println!("W {wasted}: goodput {goodput:.4}, (255 - W) / 256 = {right:.4}");
        assert!((goodput / right - 1.0).abs() < 0.003);
    }
}
