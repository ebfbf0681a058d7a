//! Tests of the units of the NIC, each alone.
//!
//! | module | contents |
//! |---|---|
//! | [`properties`] | every unit against its reference, with random cases |
//! | [`parser_directed`] | the parser's and the builder's handshakes, cycle by cycle |
//! | [`old_times`] | what was days ago, by a clock of 48 bits |
//! | [`documents`] | the pages of docs/: their commands and the names in them |
//! | [`captures`] | the parser with traffic of Linux hosts |

mod captures;
mod documents;
mod old_times;
mod parser_directed;
mod properties;
