//! Wave files, FST and VCD, of this simulator and of others: signals by name, values over time, conditions.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@file`] | reads files, and finds signals by names and patterns |
//! | [`part`] | bits and slices of vectors |
//! | [`types`] | what packed structs and arrays are made of |
//! | [`value`] | values of signals: their bits, their names in enums, their text |
//! | [`condition`] | conditions on values, such as `xoff wave --when` takes |
//! | [`rows`] | which times become rows, and the values there |

pub mod condition;
pub mod file;
mod overheard;
pub mod part;
pub mod rows;
pub mod types;
pub mod value;
mod vcd_fault;
