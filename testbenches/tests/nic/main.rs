//! Two NICs back to back, directed.
//!
//! | module | what it has |
//! |---|---|
//! | [`messages`] | messages both ways: lengths, IPv6 and tags, losses, RNR, QPs that end and close |
//! | [`congestion`] | marks, CNPs, rates |
//! | [`pauses`] | PFC and PAUSE, both ways, and the watchdog |
//! | [`refused`] | what is dropped and counted, and where no write goes |
//! | [`standard`] | statements of the standards, one a test |
//! | [`line_rate`] | smallest frames, many flows, losses: the wire stays full |
//! | [`tested`] | the pair, work for it, and what has to come of it |

mod congestion;
mod line_rate;
mod messages;
mod pauses;
mod refused;
mod standard;
mod tested;
