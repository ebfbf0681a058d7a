//! What a testbench needs from a model, whatever implements it.

use std::fmt::Debug;
use std::path::Path;

use crate::{BuildError, Failure, Port, RestoreError, Settings, TraceError};

/// A clocked model with typed ports.
///
/// [`Instance`](crate::Instance) implements it. A reference model in Rust with the same `In` and `Out` can implement
/// it too, and a testbench written for `M: Model` runs either.
pub trait Model: Send + Sized {
    /// One field for each input except the clock.
    type In: Clone + Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;
    /// One field for each output.
    type Out: Clone + Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;
    /// The model's name.
    const NAME: &'static str;
    /// All ports except the clock.
    const PORTS: &'static [Port];
    /// The name of the clock input, in waves; `None` if there are no waves.
    const CLOCK: Option<&'static str> = None;
    /// Whether the model was built for coverage; it can then not save or restore.
    const COVERAGE: bool;

    /// Creates an instance.
    fn new(settings: &Settings) -> Result<Self, BuildError>;
    /// Drives the inputs, settles, samples the outputs and raises the clock.
    fn cycle(&mut self, inputs: &Self::In, outputs: &mut Self::Out) -> Result<(), Failure>;
    /// Drives the inputs, settles and samples the outputs. The clock is low and the time does not advance.
    fn eval(&mut self, inputs: &Self::In, outputs: &mut Self::Out) -> Result<(), Failure>;
    /// Returns the state and the time.
    fn save(&mut self) -> Result<Vec<u8>, Failure>;
    /// Restores what `save` returned.
    fn restore(&mut self, saved: &[u8]) -> Result<(), RestoreError>;
    /// Returns the state without the time, for comparisons.
    fn state(&mut self) -> Result<Vec<u8>, Failure>;
    /// Restricts waves that are started from now on to these signals; an empty slice: no restriction.
    fn trace_only(&mut self, signals: &[String]);
    /// Starts writing waves.
    fn trace_open(&mut self, path: &Path) -> Result<(), TraceError>;
    /// Closes the wave file if its disk is nearly full.
    fn trace_check(&mut self) -> Result<(), TraceError>;
    /// Closes the wave file.
    fn trace_close(&mut self) -> Result<(), TraceError>;
    /// Returns the time at which the next cycle starts, in picoseconds.
    fn time_ps(&self) -> u64;
    /// Returns the instance's name.
    fn instance(&self) -> &str;
}
