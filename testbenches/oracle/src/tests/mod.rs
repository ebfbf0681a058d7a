//! Logs by hand: for each rule one that holds, and one that is broken in a small way.

mod answers;
mod captures;
mod completions;
mod frames;
mod log;
mod memory;
mod reads;
mod requests;
mod stories;
mod wire;

use crate::rules;

/// Every rule has a test that finds it broken.
#[test]
fn every_rule_is_broken_by_a_log() {
    let tests = [
        include_str!("answers.rs"),
        include_str!("completions.rs"),
        include_str!("frames.rs"),
        include_str!("memory.rs"),
        include_str!("reads.rs"),
        include_str!("requests.rs"),
    ]
    .concat();
    for rule in rules::ALL {
        let found = format!("breaks(\"{}\")", rule.name);
        assert!(tests.contains(&found), "{}", rule.name);
    }
}
