//! Output of Xoff simulations for people: reports, packet captures and waveform viewer layouts.
//!
//! | module | contents |
//! |---|---|
//! | [`capture`] | pcap and pcapng files: a streaming reader with precise errors, and writers with nanosecond time |
//! | [`document`] | the frame of an HTML page |
//! | [`layout`] | the signals that a waveform viewer shows, for GTKWave and Surfer |
//! | [`report`] | one HTML page about a run, and charts as SVG |
//! | [`results`] | the folder of a run's results: summary as JSON, series as CSV |

pub mod capture;
pub mod document;
pub mod layout;
pub mod report;
pub mod results;
