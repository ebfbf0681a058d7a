//! What people see of Xoff simulations: reports, packet captures, viewer layouts.
//!
//! | module | what it has |
//! |---|---|
//! | [`capture`] | pcap and pcapng files: a streaming reader with precise errors, and writers with nanosecond time |
//! | [`layout`] | which signals a waveform viewer shows: GTKWave, Surfer |
//! | [`report`] | one HTML page about a run, and charts as SVG |
//! | [`results`] | the folder of a run's results: summary as JSON, series as CSV |

pub mod capture;
pub mod layout;
pub mod report;
pub mod results;
