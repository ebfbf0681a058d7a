//! Translation of the addresses of registered memory: page tables in the host's memory, and a cache of their entries in
//! the NIC.
//!
//! | module | what is in it |
//! |---|---|
//! | [`config`] | [`TranslationConfig`]: sizes of pages and cache, and what a miss stops |
//! | [`table`] | [`PageTable`]: the pages of a region |
//! | [`cache`] | [`Cache`]: sets of entries, of which the one that was used longest ago gives way |
//! | [`unit`] | [`Translation`]: looks up the pages of packets, and reads what is missing over the bus |
//! | [`plan`] | how often an access pattern misses, and what that costs: the arithmetic of `xoff calc mtt` |

pub mod cache;
pub mod config;
pub mod plan;
pub mod table;
pub mod unit;

pub use cache::Cache;
pub use config::{PageSize, StallScope, TranslationConfig, Wrong};
pub use table::PageTable;
pub use unit::{Translation, TranslationCounters};
