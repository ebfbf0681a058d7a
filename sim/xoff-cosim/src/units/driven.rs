//! A verilated top together with the values at its ports.

use verilated::{Model, Settings};

use super::UnitError;
use super::watch::Watcher;

/// A model, the inputs that its next cycle gets, and the outputs of its last one.
pub struct Driven<M: Model> {
    /// The model.
    pub model: M,
    /// Inputs of its next cycle.
    pub pins_in: M::In,
    /// Outputs of its last cycle.
    pub pins_out: M::Out,
    watcher: Option<Box<Watcher>>,
}

impl<M: Model> Driven<M> {
    /// Creates the model, with all inputs 0.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be created.
    pub fn new(settings: &Settings) -> Result<Self, UnitError> {
        Ok(Self {
            model: M::new(settings)?,
            pins_in: M::In::default(),
            pins_out: M::Out::default(),
            watcher: Watcher::next(&settings.instance),
        })
    }

    /// Runs one cycle: applies the inputs, samples the outputs, then applies the clock edge.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL that fails.
    #[inline]
    pub fn cycle(&mut self) -> Result<(), UnitError> {
        if self.watcher.is_some() {
            return self.watched_cycle();
        }
        Ok(self.model.cycle(&self.pins_in, &mut self.pins_out)?)
    }

    #[cold]
    fn watched_cycle(&mut self) -> Result<(), UnitError> {
        if let Some(watcher) = &mut self.watcher {
            watcher.before(&mut self.model);
        }
        let result = self.model.cycle(&self.pins_in, &mut self.pins_out);
        if let Some(watcher) = &mut self.watcher {
            watcher.after(&mut self.model);
        }
        Ok(result?)
    }

    /// Tells a watch that the unit's next answer is complete in this cycle.
    #[inline]
    pub fn answered(&self) {
        if let Some(watcher) = &self.watcher {
            watcher.answered();
        }
    }

    /// Tells a watch that the answers are counted from 0 again.
    pub fn forget_answers(&self) {
        if let Some(watcher) = &self.watcher {
            watcher.forget_answers();
        }
    }

    /// Tells a watch which answer is wrong.
    pub fn blame(&self, answer: usize) {
        if let Some(watcher) = &self.watcher {
            watcher.blame(answer);
        }
    }

    /// Applies the inputs and returns the values of registers, memories and wires before the clock edge. A model that
    /// counts coverage has no state to return, and returns nothing.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL that fails.
    pub fn state(&mut self) -> Result<Vec<u8>, UnitError> {
        self.state_with(self.pins_in)
    }

    /// Like [`Driven::state`], with these inputs instead.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL that fails.
    pub fn state_with(&mut self, pins_in: M::In) -> Result<Vec<u8>, UnitError> {
        self.model.eval(&pins_in, &mut self.pins_out)?;
        Ok(match M::COVERAGE {
            true => Vec::new(),
            false => self.model.state()?,
        })
    }

    /// The error of a unit that broke a rule of its ports in `cycle`.
    pub fn broken(cycle: u64, what: impl Into<String>) -> UnitError {
        UnitError::Protocol {
            unit: M::NAME,
            cycle,
            what: what.into(),
        }
    }
}

impl<M: Model> Drop for Driven<M> {
    fn drop(&mut self) {
        if let Some(watcher) = &mut self.watcher {
            watcher.close(&mut self.model);
        }
    }
}
