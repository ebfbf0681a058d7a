//! What is asked, what is read for it, and what is forgotten meanwhile.

use crate::axis;
use crate::property::bins::{Group, Groups};

axis! {
    /// Who asks.
    pub enum From, "asks" { Ring "a ring of receive", Transmit "transmit" }
}

axis! {
    /// How many entries its memory has.
    pub enum Entries, "entries" { None "none", One "one", Two "two" }
}

axis! {
    /// What the verdict is, and what for.
    pub enum Found, "found" { There "on chip", Read "read from the host", Gone "no page" }
}

axis! {
    /// How many entries are read besides.
    pub enum Beside, "beside" { Nothing "nothing", Others "others", Most "as many as may be" }
}

axis! {
    /// Who needs the entry that is read.
    pub enum For, "for" { One "one asker", Several "several askers" }
}

axis! {
    /// What is read when a region is written that has a table.
    pub enum Under, "under way" { Nothing "nothing", Others "entries of others", Its "one of its entries" }
}

axis! {
    /// What waits for a verdict then.
    pub enum Open, "asked" { Nothing "nothing", Something "something" }
}

/// Verdicts.
pub static VERDICTS: Group<(From, Entries, Found)> = Group {
    name: "verdicts",
    counts: "verdicts",
    unreachable: |(_, entries, found)| match (entries, found) {
        (Entries::None, Found::Read | Found::Gone) => Some("nothing is read"),
        _ => None,
    },
};

/// Reads of entries.
pub static READS: Group<(Beside, For)> = Group {
    name: "reads",
    counts: "entries that the host is asked for",
    unreachable: |_| None,
};

/// Regions that had a table, and are written.
pub static FORGOTTEN: Group<(Under, Open)> = Group {
    name: "forgotten",
    counts: "regions with a table that are written",
    unreachable: |(under, open)| match (under, open) {
        (Under::Its | Under::Others, Open::Nothing) => Some("a read is for what is asked"),
        _ => None,
    },
};

/// The groups.
pub const GROUPS: Groups = &[&VERDICTS, &READS, &FORGOTTEN];
