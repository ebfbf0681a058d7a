//! There are no TAP devices but on Linux.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use anyhow::bail;

use super::Name;
use crate::attach::cable::Came;

/// A cable that cannot be.
pub struct Cable(Infallible);

impl Cable {
    /// Says that there is none.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn open(_: &Name, place: &str, _: Duration) -> anyhow::Result<Option<Self>> {
        bail!("{place}: TAP devices are of Linux; a socket is right here, such as unix:link.sock")
    }

    /// As of the cable of Linux.
    pub fn next(&mut self, _: Duration) -> Came {
        match self.0 {}
    }

    /// As of the cable of Linux.
    ///
    /// # Errors
    ///
    /// There is none to send at.
    pub fn send(&mut self, _: &[u8]) -> io::Result<()> {
        match self.0 {}
    }

    /// As of the cable of Linux.
    pub fn dropped(&self) -> Vec<(&'static str, u64)> {
        match self.0 {}
    }

    /// As of the cable of Linux.
    pub fn trouble(&self) -> Option<String> {
        match self.0 {}
    }
}
