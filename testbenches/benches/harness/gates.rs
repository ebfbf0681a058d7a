//! What the clock gates of the NIC save: the feature `ungated` has wires in their place.

use crate::variants;

/// Measures all loads and the scenarios.
pub fn measure() {
    variants::compare("ungated", ["gated", "ungated"], 5);
}
