//! A reset at any time.

use xoff_rtl::nic::{In, Out};

use crate::tested::{judged, pfc, traffic};
use xoff_cosim::units::beat;
use xoff_sim::nic_registers as reg;

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
