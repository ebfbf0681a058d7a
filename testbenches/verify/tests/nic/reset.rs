//! A reset at any time.

use xoff_rtl::nic::{In, Out};

use crate::fixture::{SOURCE, Tested, judged, pfc, traffic};
use xoff_cosim::units::beat;
use xoff_sim::host::memory::content;
use xoff_sim::nic::registers::identity_writes;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Status, Work, WorkKind};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, REGION, REGIONS, all, qp};

/// Cycles of traffic.
const BUSY: u64 = 12_000;
/// Cycles in which everything comes to rest.
const REST: u64 = 4_000;
/// Cycles after the pause.
const PAUSED: u64 = 100;

/// The outputs that mean something in this cycle.
fn meant(out: &Out) -> Vec<String> {
    let when = |valid: u8, what: &dyn std::fmt::Debug| match valid {
        0 => String::new(),
        _ => format!("{what:x?}"),
    };
    vec![
        when(out.tx_valid_o, &(out.tx_last_o, out.tx_data_o)),
        when(out.cqe_valid_o, &(out.cqe_qp_o, &out.cqe_o)),
        when(
            out.read_valid_o,
            &(out.read_tag_o, out.read_va_o, out.read_bytes_o),
        ),
        when(
            out.write_valid_o,
            &(out.write_va_o, out.write_last_o, out.write_data_o),
        ),
        when(out.rvalid_o, &(out.rdata_o, out.rresp_o)),
        when(out.bvalid_o, &out.bresp_o),
        when(out.rate_valid_o, &(out.rate_qp_o, out.rate_o, out.alpha_o)),
        format!(
            "{:x?}",
            (
                out.work_ready_o,
                out.recv_ready_o,
                out.awready_o,
                out.wready_o,
                out.arready_o
            )
        ),
        format!("{:x?}", (out.paused_o, out.event_o, out.idle_o)),
    ]
}

/// Reset is synchronous and complete: whenever it comes, what follows is what follows power-up, to the cycle. Here it
/// comes when all clocks rest that can, so that a gate which does not pass it on is seen, and all classes are paused.
#[test]
fn after_a_reset_nothing_is_left_of_what_was_before() {
    let stimulus = traffic(BUSY, &[(reg::PFC_CLASSES, 0xFF)]);
    let nic = judged(|| xoff_rtl::Nic::new(&verilated::Settings::new("nic")));
    let mut model = nic.unwrap();
    let mut out = Out::default();
    let mut first = Vec::new();
    for pins in &stimulus {
        model.cycle(pins, &mut out).unwrap();
        first.push(meant(&out));
    }
    let mut quiet = In {
        tx_ready_i: 1,
        cqe_ready_i: 1,
        read_ready_i: 1,
        write_ready_i: 1,
        ..In::default()
    };
    for cycle in 0..REST {
        quiet.now_i = stimulus.len() as u64 + cycle;
        model.cycle(&quiet, &mut out).unwrap();
    }
    for bytes in pfc([Some(u16::MAX); 8]).chunks(32) {
        (quiet.rx_valid_i, quiet.rx_control_i) = (1, 1);
        (quiet.rx_bytes_i, quiet.rx_last_i) = (bytes.len() as u8, (bytes.len() < 32).into());
        beat::put(&mut quiet.rx_data_i, bytes);
        quiet.now_i += 1;
        model.cycle(&quiet, &mut out).unwrap();
    }
    (quiet.rx_valid_i, quiet.rx_control_i) = (0, 0);
    for _ in 0..PAUSED {
        quiet.now_i += 1;
        model.cycle(&quiet, &mut out).unwrap();
    }
    assert_eq!(
        (out.idle_o, out.paused_o),
        (1, 0xFF),
        "the NIC does not come to rest"
    );
    quiet.rst_i = 1;
    model.cycle(&quiet, &mut out).unwrap();
    // The clock of the system begins anew with the NIC.
    for (cycle, (pins, expected)) in stimulus.iter().zip(&first).enumerate().skip(1) {
        model.cycle(pins, &mut out).unwrap();
        assert_eq!(meant(&out), *expected, "cycle {cycle} after the reset");
    }
}

/// PCI Express (base specification, 6.6.2): after a function-level reset, completions of requests that the function has
/// made before it are discarded. A packet's payload is what lies at its address (IBTA volume 1, 9.4.1): nothing of what
/// was asked for in an earlier life goes into the packets of the next one.
#[test]
fn no_data_that_was_asked_for_before_a_reset_is_sent_after_it() {
    const BYTES: u32 = 1_000;
    let mut pair = Tested::of(&PairConfig {
        qps: &[0],
        read_delay: PERIOD * 400,
        change: &|_, _, setup| setup.requester.timeout = 0,
        ..PairConfig::default()
    });
    let work = |local_va: u64, place: u64, key: u32| Work {
        kind: WorkKind::WRITE,
        signaled: true,
        length: BYTES,
        local_va,
        remote_va: REGION + 0x1_0000 * place,
        remote_key: key,
        ..Work::default()
    };
    let key = pair.key[1];
    for place in 0..4 {
        pair.post(0, 0, work(SOURCE + 0x10_0000 * (1 + place), place, key));
    }
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    // The reads are under way; none is answered.
    for _ in 0..250 {
        pair.step(&mut nothing);
    }
    assert!(pair.frames.is_empty());
    let side = 0;
    pair.update(side, |host| host.reset()).unwrap();
    let mac = qp(side, 0).own.mac;
    let identity = identity_writes(xoff_verify::property::nic::pair::QPN_BASE, mac);
    let regions = (REGIONS.iter()).flat_map(|(index, region)| region.writes(*index));
    for (address, word) in identity.into_iter().chain(regions) {
        pair.write(side, address, word).unwrap();
    }
    let mut settings = qp(side, 0);
    settings.requester.timeout = 0;
    pair.open(side, 0, &settings).unwrap();
    pair.post(0, 0, work(SOURCE, 0, key));
    pair.run(5_000, &mut all, |pair| !pair.completions[0].is_empty());
    assert_eq!(pair.completions[0][0].1.status, Status::Success);
    pair.rest(5_000, &mut all);
    let right: Vec<_> = (0..u64::from(BYTES))
        .map(|at| (REGION + at, content(SOURCE + at)))
        .collect();
    assert!(pair.memory(1).into_iter().eq(right));
}

/// rtl/nic/README.md, DMA read data: what was not asked for would be sent as the payload of another packet.
#[test]
fn data_that_was_not_asked_for_is_an_error_of_the_host() {
    let nic = judged(|| xoff_rtl::Nic::new(&verilated::Settings::new("nic")));
    let mut model = nic.unwrap();
    let mut out = Out::default();
    let mut pins = In {
        rst_i: 1,
        ..In::default()
    };
    model.cycle(&pins, &mut out).unwrap();
    (pins.rst_i, pins.now_i) = (0, 1);
    model.cycle(&pins, &mut out).unwrap();
    (pins.data_valid_i, pins.data_tag_i, pins.now_i) = (1, 3, 2);
    let failure = model.cycle(&pins, &mut out).unwrap_err().to_string();
    assert!(
        failure.contains("data with tag 3, which was not asked for"),
        "{failure}"
    );
}
