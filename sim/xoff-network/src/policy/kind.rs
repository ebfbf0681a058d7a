//! Policies by name.

use std::fmt::Debug;

use super::{Measured, Policy, PolicySetup};
use crate::scenario::Action;

/// A policy as an object.
pub(super) trait Object: Debug + Send {
    fn step(&mut self, measured: &Measured) -> Vec<Action>;
    fn save(&self) -> Vec<u8>;
}

impl<P: Policy> Object for P {
    fn step(&mut self, measured: &Measured) -> Vec<Action> {
        Policy::step(self, measured)
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("plain data can be written into memory")
    }
}

/// A policy, or why there is none.
type Made = Result<Box<dyn Object>, String>;

/// A kind of policy, for [`Endpoints::with_policy`](crate::Endpoints::with_policy).
#[derive(Debug, Clone, Copy)]
pub struct PolicyKind {
    new: fn(&PolicySetup<'_>) -> Made,
    restore: fn(&[u8]) -> Made,
}

impl PolicyKind {
    /// The kind of a type.
    pub fn of<P: Policy>() -> Self {
        Self {
            new: |setup| Ok(Box::new(P::new(setup)?)),
            restore: |saved| {
                let policy: P = postcard::from_bytes(saved).map_err(|error| error.to_string())?;
                Ok(Box::new(policy))
            },
        }
    }

    pub(super) fn make(&self, setup: &PolicySetup<'_>) -> Made {
        (self.new)(setup)
    }

    pub(super) fn restored(&self, saved: &[u8]) -> Made {
        (self.restore)(saved)
    }
}
