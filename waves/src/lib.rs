//! What people see of Xoff simulations: reports, packet captures, waves.
//!
//! | module | contents |
//! |---|---|
//! | [`capture`] | pcap and pcapng files: a streaming reader with precise errors, and writers with nanosecond time |
//! | [`document`] | the frame of an HTML page |
//! | [`read`] | wave files, FST and VCD: signals, values, conditions |
//! | [`fabric`] | waves of the network beside those of the RTL |
//! | [`layout`] | the signals that a waveform viewer shows, for GTKWave and Surfer |
//! | [`report`] | one HTML page about a run, and charts as SVG |
//! | [`results`] | the folder of a run's results: summary as JSON, series as CSV |

pub mod capture;
pub mod document;
pub mod fabric;
pub mod layout;
pub mod read;
pub mod report;
pub mod results;
