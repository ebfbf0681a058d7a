//! Instances of a model: the type that users drive.

use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::pin::Pin;
use std::ptr::NonNull;

use cxx::UniquePtr;

use crate::ffi::Core;
use crate::{
    BuildError, CoverageError, Failure, Model, Port, PortBits, RestoreError, Settings, Signal,
    SignalError, Top, TraceError, TraceFormat, coverage, signal, snapshot, trace, trace::OpenTrace,
};

/// One instance of a model, with its own Verilator context.
pub struct Instance<T: Top> {
    // A raw pointer rather than a UniquePtr, because getting the pointer out of a UniquePtr is a call into C++, twice
    // per cycle.
    shim: NonNull<T::Shim>,
    failed: Option<Failure>,
    settings: Settings,
    trace: Option<OpenTrace>,
}

// SAFETY: an instance owns its context and all of its state and holds no reference to a thread. Its C++ accesses
// process-wide data only under locks. `Top` promises that its shim may move between threads.
unsafe impl<T: Top> Send for Instance<T> {}

impl<T: Top> Instance<T> {
    /// The model's name in Rust.
    pub const NAME: &'static str = T::NAME;
    /// All ports except the clock.
    pub const PORTS: &'static [Port] = T::PORTS;

    /// Creates an instance.
    ///
    /// No code of the source has run yet: initial blocks run in the first [`cycle`](Instance::cycle) or
    /// [`eval`](Instance::eval).
    ///
    /// # Errors
    ///
    /// [`BuildError::Period`] for a period below 2 ps. [`BuildError::Refused`] if the C++ model cannot be
    /// constructed.
    pub fn new(settings: &Settings) -> Result<Instance<T>, BuildError> {
        let instance = &settings.instance;
        if settings.period_ps < 2 {
            return Err(BuildError::Period {
                instance: instance.clone(),
                period_ps: settings.period_ps,
            });
        }
        // Random bits that leave a pipeline would count as toggles.
        let seed = match T::COVERAGE {
            true => 0,
            false => settings.folded_seed(),
        };
        let shim =
            T::make(instance, seed, settings.period_ps).map_err(|error| BuildError::Refused {
                instance: instance.clone(),
                model: T::NAME,
                reason: error.what().to_owned(),
            })?;
        let shim = NonNull::new(shim.into_raw()).ok_or_else(|| BuildError::Refused {
            instance: instance.clone(),
            model: T::NAME,
            reason: "C++ made no model".to_owned(),
        })?;
        let mut this = Instance {
            shim,
            failed: None,
            settings: settings.clone(),
            trace: None,
        };
        this.set_time_ps(settings.start_ps);
        for argument in &settings.plusargs {
            this.core_mut().add_plusarg(&format!("+{argument}"));
        }
        Ok(this)
    }

    /// Runs one clock cycle: drives all inputs, settles the model, samples all outputs, raises the clock and advances
    /// the time by one period.
    ///
    /// A combinational model has no clock to raise; the rest is the same.
    ///
    /// # Errors
    ///
    /// Returns the [`Failure`] if the source stops the model. Every later call returns the same failure. A failure
    /// before the rising edge leaves the clock low and the outputs sampled (except
    /// [`FailureKind::Runtime`](crate::FailureKind::Runtime), which stops the model before sampling).
    #[inline]
    pub fn cycle(&mut self, inputs: &T::In, outputs: &mut T::Out) -> Result<(), Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        match T::cycle(self.shim_mut(), inputs, outputs) {
            0 => Ok(()),
            _ => Err(self.fail()),
        }
    }

    /// Drives all inputs, settles the model and samples all outputs, with the clock low.
    ///
    /// The time does not advance and nothing is traced. Any number of calls may precede a cycle. Use it to see the
    /// outputs after a clock edge, or the combinational effect of a change of inputs.
    ///
    /// # Errors
    ///
    /// As [`Instance::cycle`].
    #[inline]
    pub fn eval(&mut self, inputs: &T::In, outputs: &mut T::Out) -> Result<(), Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        match T::eval(self.shim_mut(), inputs, outputs) {
            0 => Ok(()),
            _ => Err(self.fail()),
        }
    }

    /// Returns the state and the time as bytes.
    ///
    /// Takes microseconds and copies the state once. Data that the source keeps outside the model is not saved: open
    /// files and the sequence of `$random`.
    ///
    /// # Errors
    ///
    /// Returns the failure of a failed instance, because its state is of no use.
    ///
    /// # Panics
    ///
    /// Panics if the model was built for coverage ([`Top::COVERAGE`]): Verilator cannot save state then.
    pub fn save(&mut self) -> Result<Vec<u8>, Failure> {
        let time = self.time_ps();
        self.with_state(|state| snapshot::write(T::NAME, T::FINGERPRINT, time, state))
    }

    /// Returns the state without the time, for comparisons.
    ///
    /// Two instances of one model in the same state return the same bytes, whether they are traced or not. The state
    /// includes the ports and the clock as of the last `cycle` or `eval`, so call [`eval`](Instance::eval) with the
    /// same inputs on both sides before comparing.
    ///
    /// # Errors and panics
    ///
    /// As [`Instance::save`].
    pub fn state(&mut self) -> Result<Vec<u8>, Failure> {
        self.with_state(<[u8]>::to_vec)
    }

    fn with_state<R>(&mut self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Failure> {
        assert!(
            !T::COVERAGE,
            "{} was built for coverage and cannot save: build it without",
            T::NAME
        );
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        Ok(use_it(self.core_mut().capture()))
    }

    /// Restores the state and the time that [`save`](Instance::save) returned, from this instance or another one of
    /// the same model.
    ///
    /// A failed instance works again afterwards. Waves cannot go back in time: an open wave file records nothing
    /// until the time has passed the last recorded time.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are cut, damaged, of another model or of another build of this model. The instance is then
    /// unchanged, except for [`RestoreError::Misfit`]. The checksum guards against accidents, not against bytes
    /// forged to pass it.
    pub fn restore(&mut self, saved: &[u8]) -> Result<(), RestoreError> {
        if T::COVERAGE {
            return Err(RestoreError::Coverage { model: T::NAME });
        }
        let (time, state) = snapshot::read(T::NAME, T::FINGERPRINT, saved)?;
        let fits = self.core_mut().reinstate(state);
        if !fits {
            let report = crate::ffi::bridge::Report {
                kind: 2,
                text: "a restore that did not fit left no usable state".to_owned(),
                time,
                ..Default::default()
            };
            self.failed = Some(Failure::from_report(
                &self.settings.instance,
                T::NAME,
                report,
            ));
            return Err(RestoreError::Misfit { model: T::NAME });
        }
        self.failed = None;
        self.core_mut().clear_failure();
        self.core_mut().set_time(time);
        Ok(())
    }

    /// Starts writing waves to `path`. The file extension selects the format: `.fst` or `.vcd`.
    ///
    /// From the next cycle on, every cycle is recorded twice: at its start, once the model has settled, and at the
    /// rising edge. An open file is closed first, so a run can write any number of wave files. The outermost scope is
    /// the instance's name. Time is in picoseconds.
    ///
    /// Packed structs and arrays are one vector each in the file. What they are made of is written beside it: see
    /// [Types in waves](crate#types-in-waves).
    ///
    /// # Errors
    ///
    /// Fails if the model was built without waves, the extension is another one, the name is not UTF-8, the file
    /// cannot be created, the disk is nearly full, or the file that was open before cannot be completed.
    pub fn trace_open(&mut self, path: impl AsRef<Path>) -> Result<(), TraceError> {
        let path = path.as_ref();
        self.trace_open_as(path, TraceFormat::of(path)?)
    }

    /// Starts writing waves as [`trace_open`](Instance::trace_open) does, in the given format whatever the extension.
    pub fn trace_open_as(
        &mut self,
        path: impl AsRef<Path>,
        format: TraceFormat,
    ) -> Result<(), TraceError> {
        if !T::WAVES {
            return Err(TraceError::NotBuilt { model: T::NAME });
        }
        self.trace_close()?;
        let trace = OpenTrace::new(path.as_ref(), format);
        let name = trace.written().to_str().ok_or_else(|| TraceError::Name {
            path: trace.path.clone(),
        })?;
        trace::room(&trace.path).map_err(|source| self.trace_error(&trace.path, source))?;
        // Create the file here first: Verilator's writer does not report why it failed, but the operating system
        // does.
        File::create(name).map_err(|source| self.trace_error(&trace.path, source))?;
        if !self.core_mut().trace_open(name) {
            let refused = std::io::Error::other("Verilator's wave writer refused it");
            return Err(self.trace_error(&trace.path, refused));
        }
        let types = trace.path.with_extension("types.json");
        fs::write(&types, T::SHAPES).map_err(|source| self.trace_error(&types, source))?;
        self.trace = Some(trace);
        Ok(())
    }

    /// Restricts the wave files that are opened from now on to the given signals, by their names in such a file with
    /// all scopes: `nic.u_parser.state_q`. The name of a scope stands for the signals directly in it, a name that
    /// nothing has adds nothing, and an empty slice ends the restriction.
    ///
    /// Most of the time that waves take is spent on writing changes, so that a model with thousands of signals runs
    /// many times as fast when few are written.
    pub fn trace_only(&mut self, signals: &[String]) {
        self.core_mut().trace_only(signals);
    }

    /// Completes and closes the wave file, if one is open. Dropping the instance does so too, but reports no error.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be completed.
    pub fn trace_close(&mut self) -> Result<(), TraceError> {
        let Some(trace) = self.trace.take() else {
            return Ok(());
        };
        self.core_mut().trace_close();
        let path = trace.path.clone();
        trace
            .finish()
            .map_err(|source| self.trace_error(&path, source))
    }

    /// Closes the wave file if its disk is nearly full, while there is still room to complete it.
    ///
    /// Verilator's writer does not notice a full disk, so call this every few thousand cycles when writing long
    /// waves.
    ///
    /// # Errors
    ///
    /// Fails if the disk was nearly full and the file was closed, or if it could not be completed.
    pub fn trace_check(&mut self) -> Result<(), TraceError> {
        let Some(path) = self.trace.as_ref().map(|trace| trace.path.clone()) else {
            return Ok(());
        };
        let Err(full) = trace::room(&path) else {
            return Ok(());
        };
        self.trace_close()?;
        Err(self.trace_error(&path, full))
    }

    fn trace_error(&self, path: &Path, source: std::io::Error) -> TraceError {
        TraceError::File {
            instance: self.settings.instance.clone(),
            path: path.to_owned(),
            source,
        }
    }

    /// Returns whether waves are being written.
    pub fn tracing(&self) -> bool {
        self.trace.is_some()
    }

    /// Writes the counts of a coverage build to `path`, in the format that `verilator_coverage` reads and merges.
    ///
    /// # Errors
    ///
    /// [`CoverageError::NotBuilt`] in other builds, [`CoverageError::File`] if the file cannot be written.
    pub fn coverage_write(&mut self, path: impl AsRef<Path>) -> Result<(), CoverageError> {
        let path = path.as_ref();
        if !T::COVERAGE {
            return Err(CoverageError::NotBuilt { model: T::NAME });
        }
        let failed = |source| CoverageError::File {
            path: path.to_owned(),
            source,
        };
        File::create(path).map_err(failed)?;
        let name = path
            .to_str()
            .ok_or_else(|| failed(std::io::Error::other("the name is not UTF-8")))?;
        if self.core_mut().coverage_write(name) {
            Ok(())
        } else {
            Err(failed(std::io::Error::other(
                "Verilator could not write it",
            )))
        }
    }

    /// Returns the signals inside the model that can be read: those that the build script made `readable`.
    pub fn signals(&self) -> Vec<Signal> {
        signal::all(self.core().readable(), T::FINGERPRINT)
    }

    /// Returns the signal with this path below the top, such as `fifo.words` or `lane[2].fifo.words`.
    ///
    /// Verilator optimizes signals away, so the build script must name those to keep:
    /// `Top::new("queue").readable("fifo", "words")`.
    ///
    /// # Errors
    ///
    /// [`SignalError::Unknown`], which names the most similar path.
    pub fn signal(&self, path: &str) -> Result<Signal, SignalError> {
        signal::find(self.signals(), T::NAME, path)
    }

    /// Returns the value of a signal, or of one element of an array, after the last [`cycle`](Instance::cycle) or
    /// [`eval`](Instance::eval). A register shows what the last rising edge stored.
    ///
    /// `index` has one index for each unpacked dimension, outermost first. `B` is any type that a port can have and
    /// that is wide enough; bits above the signal's width are zero. Read a packed struct with
    /// [`Packed::unpack`](crate::Packed::unpack).
    ///
    /// # Errors
    ///
    /// Any [`SignalError`] except `Unknown`.
    pub fn read<B: PortBits>(&self, signal: &Signal, index: &[i32]) -> Result<B, SignalError> {
        signal::read(self.core(), (T::NAME, T::FINGERPRINT), signal, index)
    }

    /// Returns the time at which the next cycle starts, in picoseconds.
    pub fn time_ps(&self) -> u64 {
        self.core().time()
    }

    /// Sets the time at which the next cycle starts, in picoseconds.
    ///
    /// For a rising edge at time `e`, that is `e` minus half a period. If the time goes back, an open wave file
    /// records nothing until the time has passed the last recorded time.
    pub fn set_time_ps(&mut self, picoseconds: u64) {
        self.core_mut().set_time(picoseconds);
    }

    /// Returns the instance's name.
    pub fn instance(&self) -> &str {
        &self.settings.instance
    }

    /// Returns the settings that the instance was built with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the failure that stopped the instance, if it has failed.
    pub fn failure(&self) -> Option<&Failure> {
        self.failed.as_ref()
    }

    /// Returns what the source has written since the last call: `$display`, `$warning`, `$info` and the text of
    /// failures. Up to 1 MiB is kept.
    pub fn take_output(&mut self) -> String {
        self.core_mut().take_output()
    }

    #[cold]
    fn fail(&mut self) -> Failure {
        let failure = Failure::from_report(&self.settings.instance, T::NAME, self.core().report());
        self.failed = Some(failure.clone());
        failure
    }

    #[inline]
    fn shim_mut(&mut self) -> Pin<&mut T::Shim> {
        // SAFETY: this instance owns the shim, which lives until the instance is dropped and never moves in memory.
        unsafe { Pin::new_unchecked(self.shim.as_mut()) }
    }

    fn core(&self) -> &Core {
        // SAFETY: as above.
        T::core(unsafe { self.shim.as_ref() })
    }

    fn core_mut(&mut self) -> Pin<&mut Core> {
        T::core_mut(self.shim_mut())
    }
}

impl<T: Top> Drop for Instance<T> {
    fn drop(&mut self) {
        // Errors are ignored here; call `trace_close` first to see them.
        let _ = self.trace_close();
        if T::COVERAGE
            && let Some(path) = coverage::file(T::NAME)
            && let Err(error) = self.coverage_write(&path)
        {
            // Counts that are missing would pass for code that was never reached.
            eprintln!("{error}");
        }
        // SAFETY: the pointer came out of a UniquePtr in `new` and is not used after this.
        drop(unsafe { UniquePtr::from_raw(self.shim.as_ptr()) });
    }
}

impl<T: Top> fmt::Debug for Instance<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(T::NAME)
            .field("instance", &self.settings.instance)
            .field("time_ps", &self.time_ps())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

impl<T: Top> Model for Instance<T> {
    type In = T::In;
    type Out = T::Out;
    const NAME: &'static str = T::NAME;
    const PORTS: &'static [Port] = T::PORTS;
    const CLOCK: Option<&'static str> = T::CLOCK;
    const COVERAGE: bool = T::COVERAGE;

    fn new(settings: &Settings) -> Result<Self, BuildError> {
        Instance::new(settings)
    }
    #[inline]
    fn cycle(&mut self, inputs: &T::In, outputs: &mut T::Out) -> Result<(), Failure> {
        Instance::cycle(self, inputs, outputs)
    }
    #[inline]
    fn eval(&mut self, inputs: &T::In, outputs: &mut T::Out) -> Result<(), Failure> {
        Instance::eval(self, inputs, outputs)
    }
    fn save(&mut self) -> Result<Vec<u8>, Failure> {
        Instance::save(self)
    }
    fn restore(&mut self, saved: &[u8]) -> Result<(), RestoreError> {
        Instance::restore(self, saved)
    }
    fn state(&mut self) -> Result<Vec<u8>, Failure> {
        Instance::state(self)
    }
    fn trace_only(&mut self, signals: &[String]) {
        Instance::trace_only(self, signals);
    }
    fn trace_open(&mut self, path: &Path) -> Result<(), TraceError> {
        Instance::trace_open(self, path)
    }
    fn trace_check(&mut self) -> Result<(), TraceError> {
        Instance::trace_check(self)
    }
    fn trace_close(&mut self) -> Result<(), TraceError> {
        Instance::trace_close(self)
    }
    fn time_ps(&self) -> u64 {
        Instance::time_ps(self)
    }
    fn instance(&self) -> &str {
        Instance::instance(self)
    }
}
