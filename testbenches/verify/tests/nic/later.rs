//! What the NIC does not do yet. Each test holds what is right, and is marked as expected to fail: when the NIC learns
//! it, the test fails, and its mark goes.

use crate::fixture::opened;
use crate::seams::{end, write};
use xoff_sim::protocol::gbn::{Status, Work};

/// IBTA volume 1, 10.6.3: the data of a send comes from a registered region.
#[test]
#[should_panic(expected = "sent from a region that is not there")]
fn a_send_needs_a_key_of_its_own_memory() {
    let mut pair = opened(&[], 1, |_, _, _| {});
    let work = Work {
        local_key: 0x5555_5500,
        ..write(&pair, 0, 100)
    };
    assert_ne!(
        end(&mut pair, work),
        Status::Success,
        "sent from a region that is not there"
    );
}
