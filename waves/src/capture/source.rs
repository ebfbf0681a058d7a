//! Input bytes from a file or pipe, with a count of the bytes read and errors for early ends.

use std::io::{self, BufRead, BufReader, Read};

use super::{Error, Problem};

/// The number of bytes that are read ahead, large enough that a big file needs few system calls.
const READ_AHEAD_BYTES: usize = 256 * 1024;

/// A reader that knows its offset and the name of its file.
pub(super) struct Source<R> {
    file: String,
    inner: BufReader<R>,
    offset: u64,
}

impl<R: Read> Source<R> {
    pub fn new(file: String, inner: R) -> Self {
        Self {
            file,
            inner: BufReader::with_capacity(READ_AHEAD_BYTES, inner),
            offset: 0,
        }
    }

    /// Returns the number of bytes read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns whether bytes are buffered, so that reading does not wait on a slow pipe (unless a record is cut
    /// there).
    pub fn is_ahead(&self) -> bool {
        !self.inner.buffer().is_empty()
    }

    /// Returns an error about the item that starts at `offset`.
    pub fn error(&self, offset: u64, record: Option<u64>, problem: Problem) -> Error {
        Error::At {
            file: self.file.clone(),
            offset,
            record,
            problem,
        }
    }

    /// Fills as much of `bytes` as possible and returns the number of bytes read. Fewer bytes than requested mean the
    /// end of the file.
    pub fn fill(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut have = 0;
        while have < bytes.len() {
            match self.inner.read(&mut bytes[have..]) {
                Ok(0) => break,
                Ok(count) => have += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.offset += have as u64;
        Ok(have)
    }

    /// Appends `need` more bytes to `bytes`. If the file ends before that, the error is [`Problem::Truncated`] of
    /// `what`, with lengths that count from the beginning of `bytes`.
    pub fn append(
        &mut self,
        bytes: &mut Vec<u8>,
        need: usize,
        what: &'static str,
    ) -> Result<(), Problem> {
        let start = bytes.len();
        bytes.resize(start + need, 0);
        let have = self.fill(&mut bytes[start..])?;
        bytes.truncate(start + have);
        if have < need {
            return Err(Problem::Truncated {
                what,
                have: (start + have) as u64,
                need: (start + need) as u64,
            });
        }
        Ok(())
    }

    /// Skips `count` bytes and returns how many there were.
    pub fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let ready = match self.inner.fill_buf() {
                Ok(ready) => ready.len(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if ready == 0 {
                break;
            }
            let take = usize::try_from(left).unwrap_or(usize::MAX).min(ready);
            self.inner.consume(take);
            left -= take as u64;
        }
        self.offset += count - left;
        Ok(count - left)
    }
}
