//! Packet captures and waveforms of Xoff simulations.
//!
//! | module | what it has |
//! |---|---|
//! | [`capture`] | pcap and pcapng files: a streaming reader with precise errors, and writers with nanosecond time |

pub mod capture;
