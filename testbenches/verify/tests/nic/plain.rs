//! The plain C++ loop drives and samples what the Rust side does: otherwise the benches compare different work.

use verilated::Settings;
use xoff_rtl::nic::Out;
use xoff_rtl::{Nic, plain};
use xoff_sim::protocol::gbn::{Work, WorkKind};
use xoff_verify::property::nic::pair::{Pair, PairConfig, REGION, all};

#[test]
fn the_plain_loop_has_the_digest_of_the_rust_side() {
    let mut pair = Pair::of(&PairConfig {
        qps: &[3],
        record: true,
        ..PairConfig::default()
    })
    .unwrap();
    for side in 0..2 {
        let work = Work {
            kind: WorkKind::WRITE,
            length: 3_000,
            local_va: 0x7F00_0000_0000,
            remote_va: REGION,
            remote_key: pair.key[1 - side],
            ..Work::default()
        };
        pair.post(side, 3, work);
    }
    for _ in 0..2_000 {
        pair.step(&mut all).unwrap();
    }
    let stimulus = pair.update(0, |host| host.take_record());
    let mut model = Nic::new(&Settings::new("nic")).unwrap();
    let mut out = Out::default();
    let (mut sent, mut written, mut digest) = (0, 0, 0u64);
    for inputs in &stimulus {
        model.cycle(inputs, &mut out).unwrap();
        let mut add = |value: u32| digest = digest.wrapping_mul(31).wrapping_add(value.into());
        if out.tx_valid_o == 1 {
            add(out.tx_data_o[7]);
            sent += 1;
        }
        if out.write_valid_o == 1 {
            add(out.write_data_o[7]);
            written += 1;
        }
    }
    assert!(
        sent > 90 && written > 90,
        "{sent} beats sent, {written} written"
    );
    assert_eq!(plain::nic_loop(&stimulus), digest);
}
