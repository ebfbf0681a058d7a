//! What it costs that waves could be written while none are: the feature `untraced` has a NIC without them.

use crate::{Extent, variants};

/// Measures all loads and the scenarios.
pub fn measure(extent: Extent) {
    if extent == Extent::Quick {
        return;
    }
    variants::compare("untraced", ["with waves off", "without waves"], 11);
}
