//! The table of tops that only tests of units run. Add a top by adding an entry.

#[path = "../tops.rs"]
mod tops;

use tops::{build, variant};
use verilated_build::Top;

fn main() {
    build()
        // A quantum is 512 bit times: 5/2 cycles at 40 Gb/s and 195.3125 MHz, 8/5 at 100 Gb/s and 312.5 MHz.
        .top(
            Top::new("pfc_rx")
                .param("QuantumNum", 5)
                .param("QuantumDen", 2)
                .named("PfcRx40"),
        )
        .top(
            Top::new("pfc_rx")
                .param("QuantumNum", 8)
                .param("QuantumDen", 5)
                .named("PfcRx100"),
        )
        .top(Top::new("pfc_tx"))
        .top(Top::new("pause_watchdog"))
        .top(Top::new("dcqcn_rp_step").named("DcqcnRpStep"))
        .top(Top::new("dcqcn_rp").param("Qps", 64).named("DcqcnRp"))
        .top(Top::new("dcqcn_rp").param("Qps", 4).named("DcqcnRp4"))
        .top(Top::new("dcqcn_np").param("Qps", 64).named("DcqcnNp"))
        .top(
            Top::new("rate_limiter")
                .param("Qps", 64)
                .named("RateLimiter"),
        )
        .top(
            Top::new("rate_limiter")
                .param("Qps", 4)
                .named("RateLimiter4"),
        )
        .top(
            Top::new("gbn_requester")
                .param("Qps", 64)
                .param("Wqes", 16)
                .named("GbnRequester"),
        )
        .top(
            Top::new("gbn_requester")
                .param("Qps", 4)
                .param("Wqes", 4)
                .named("GbnRequester4"),
        )
        .top(
            Top::new("gbn_responder")
                .param("Qps", 64)
                .param("Recvs", 16)
                .named("GbnResponder"),
        )
        .top(
            Top::new("gbn_responder")
                .param("Qps", 4)
                .param("Recvs", 4)
                .named("GbnResponder4"),
        )
        .top(variant(Top::new("nic_counters")))
        .run();
}
