//! Time and related quantities: instants, durations, rates, byte counts, cable lengths, clocks.
//!
//! The unit of time is the picosecond, in a `u64`, which lasts for 213 days. At every Ethernet rate a byte takes a
//! whole number of picoseconds, so nothing is rounded on a wire.
//!
//! | module | what is in it |
//! |---|---|
//! | [`instant`] | [`Time`], an instant since the simulation's start |
//! | [`duration`] | [`Duration`], time between two instants |
//! | [`rate`] | [`Rate`] in bits a second; [`LineRate`], one with a whole number of picoseconds a byte |
//! | [`size`] | [`ByteCount`] |
//! | [`length`] | [`Length`] of a cable, and how long light takes in it |
//! | [`clock`] | [`Clock`]: period and phase; edges and [`Cycles`] |
//! | [`text`] | how quantities are read from and shown as text, such as `1.5 us` |
//!
//! Every quantity parses its text form (`"300 m"`, `"1.5 us"`, `"40 Gb/s"`, `"24.47 KB"`) exactly or refuses it, and
//! is displayed in a form that parses to the same value. Serde uses the text form in human-readable formats (TOML,
//! JSON) and the plain number in others.
//!
//! ```
//! use xoff_sim::time::{Duration, Length, LineRate};
//!
//! let rate: LineRate = "40 Gb/s".parse()?;
//! assert_eq!(rate.time_of(1106).to_string(), "221.2 ns");
//! assert_eq!("300 m".parse::<Length>()?.delay(), "1.5 us".parse::<Duration>()?);
//! # Ok::<(), xoff_sim::time::QuantityError>(())
//! ```

#[macro_use]
pub mod text;

pub mod clock;
pub mod duration;
pub mod instant;
pub mod length;
pub mod rate;
pub mod size;

pub use clock::{Clock, Cycles};
pub use duration::Duration;
pub use instant::Time;
pub use length::Length;
pub use rate::{LineRate, Rate};
pub use size::ByteCount;
pub use text::QuantityError;
