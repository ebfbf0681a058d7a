//! Whole blocks or nothing: what reaches the file can be read, whenever the program ends.

use std::io::{self, Write};

/// Bytes that are handed over at once.
const PORTION_BYTES: usize = 64 * 1024;

/// Holds bytes back until a block is whole, and hands over many blocks in one call.
pub(super) struct Blocks<W: Write> {
    inner: W,
    held: Vec<u8>,
}

impl<W: Write> Blocks<W> {
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            held: Vec::with_capacity(PORTION_BYTES + 4096),
        }
    }

    /// Says that what was written ends a block.
    pub fn end_block(&mut self) -> io::Result<()> {
        if self.held.len() >= PORTION_BYTES {
            self.hand_over()?;
        }
        Ok(())
    }

    /// Hands over what is held.
    pub fn hand_over(&mut self) -> io::Result<()> {
        let result = self.inner.write_all(&self.held);
        // Written twice would be worse than lost.
        self.held.clear();
        result?;
        self.inner.flush()
    }
}

impl<W: Write> Write for Blocks<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Does nothing: who writes a block does not know whether it is whole.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
