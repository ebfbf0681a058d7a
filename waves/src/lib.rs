//! What people see of Xoff simulations: reports and packet captures.
//!
//! | module | what it has |
//! |---|---|
//! | [`capture`] | pcap and pcapng files: a streaming reader with precise errors, and writers with nanosecond time |
//! | [`report`] | one HTML page about a run, and charts as SVG |

pub mod capture;
pub mod report;
