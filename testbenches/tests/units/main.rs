//! Tests of the units of the NIC, each alone.
//!
//! | module | contents |
//! |---|---|
//! | [`properties`] | every unit against its reference, with random cases |
//! | [`parser_directed`] | the parser's and the builder's handshakes, cycle by cycle |
//! | [`documents`] | the pages of docs/: their commands and the names in them |
//! | [`captures`] | the parser with traffic of Linux hosts |

mod captures;
mod documents;
mod parser_directed;
mod properties;
