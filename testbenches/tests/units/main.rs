//! The units of the NIC, each alone.
//!
//! | module | what it has |
//! |---|---|
//! | [`properties`] | every unit against its reference, with drawn cases |
//! | [`parser_directed`] | the parser's and the builder's handshakes, cycle by cycle |
//! | [`captures`] | the parser on traffic of Linux hosts |

mod captures;
mod parser_directed;
mod properties;
