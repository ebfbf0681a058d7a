//! What a bench needs of a model, whatever made it.

use std::fmt::Debug;
use std::path::Path;

use crate::{BuildError, Failure, Port, RestoreError, Settings, TraceError};

/// A clocked thing with typed ports. [`Instance`](crate::Instance) is one; a reference model in Rust with the same `In` and `Out` can be another,
/// and a bench over `M: Model` runs either.
pub trait Model: Send + Sized {
    /// One field for each input but the clock.
    type In: Clone + Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;
    /// One field for each output.
    type Out: Clone + Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;
    /// The model's name.
    const NAME: &'static str;
    /// The ports but the clock.
    const PORTS: &'static [Port];

    /// A new instance.
    fn new(settings: &Settings) -> Result<Self, BuildError>;
    /// Drives, settles, samples, raises the clock.
    fn cycle(&mut self, inputs: &Self::In, outputs: &mut Self::Out) -> Result<(), Failure>;
    /// Drives, settles, samples. The clock is low, time stands still.
    fn eval(&mut self, inputs: &Self::In, outputs: &mut Self::Out) -> Result<(), Failure>;
    /// The state and the time.
    fn save(&mut self) -> Result<Vec<u8>, Failure>;
    /// Takes back what `save` gave.
    fn restore(&mut self, saved: &[u8]) -> Result<(), RestoreError>;
    /// The state without the time, to compare.
    fn state(&mut self) -> Result<Vec<u8>, Failure>;
    /// Starts to write waves.
    fn trace_open(&mut self, path: &Path) -> Result<(), TraceError>;
    /// Ends the wave file when its disk is nearly full.
    fn trace_check(&mut self) -> Result<(), TraceError>;
    /// Ends the wave file.
    fn trace_close(&mut self) -> Result<(), TraceError>;
    /// Picoseconds at which the next cycle starts.
    fn time_ps(&self) -> u64;
    /// The instance's name.
    fn instance(&self) -> &str;
}
