//! What the clock gates of the NIC save: the feature `ungated` has wires in their place.

use crate::{Extent, variants};

/// Measures all loads and the scenarios.
pub fn measure(extent: Extent) {
    if extent == Extent::Quick {
        return;
    }
    variants::compare("ungated", ["gated", "ungated"], 5);
}
