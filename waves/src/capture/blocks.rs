//! A writer that passes on only whole blocks, so that the file is readable whenever the program ends.

use std::io::{self, Write};

/// The number of buffered bytes from which on whole blocks are passed on.
const PORTION_BYTES: usize = 64 * 1024;

/// Buffers bytes until a block is whole, and passes on many blocks in one call.
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

    /// Marks the end of a block. Everything written so far is whole blocks.
    pub fn end_block(&mut self) -> io::Result<()> {
        if self.held.len() >= PORTION_BYTES {
            self.hand_over()?;
        }
        Ok(())
    }

    /// Passes on all buffered bytes.
    pub fn hand_over(&mut self) -> io::Result<()> {
        let result = self.inner.write_all(&self.held);
        // Clear the buffer even after an error: writing bytes twice would be worse than losing them.
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

    /// Does nothing, because the caller in the middle of a block does not know whether the block is whole.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
