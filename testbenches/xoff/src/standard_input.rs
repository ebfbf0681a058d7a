//! Standard input that ends when the process is asked to end, also while nothing comes.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::interruption::interrupted;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;
/// Chunks that are read ahead.
const AHEAD: usize = 4;
/// How long it takes at most until an interruption is seen.
const PATIENCE: Duration = Duration::from_millis(50);

/// The bytes of a stream that another thread reads, since a read that waits cannot be ended.
pub struct UntilInterrupted {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
}

impl UntilInterrupted {
    /// Begins to read a stream.
    pub fn new(mut input: impl Read + Send + 'static) -> Self {
        let (sender, chunks) = sync_channel(AHEAD);
        std::thread::spawn(move || {
            loop {
                let mut bytes = vec![0; CHUNK];
                let read = input.read(&mut bytes);
                let ends = match &read {
                    Ok(count) => *count == 0,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(_) => true,
                };
                let chunk = read.map(|count| {
                    bytes.truncate(count);
                    bytes
                });
                if sender.send(chunk).is_err() || ends {
                    return;
                }
            }
        });
        Self {
            chunks,
            chunk: io::Cursor::default(),
        }
    }
}

impl Read for UntilInterrupted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.chunk.read(into)? {
                0 if !into.is_empty() => {}
                count => return Ok(count),
            }
            match self.chunks.recv_timeout(PATIENCE) {
                Ok(chunk) => match chunk? {
                    end if end.is_empty() => return Ok(0),
                    bytes => self.chunk = io::Cursor::new(bytes),
                },
                Err(RecvTimeoutError::Timeout) if !interrupted() => {}
                Err(_) => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_in_their_order_and_an_error_behind_them() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let bytes: Vec<u8> = (0..3 * CHUNK + 7).map(|at| (at % 251) as u8).collect();
        let mut whole = Vec::new();
        let input = io::Cursor::new(bytes.clone());
        UntilInterrupted::new(input)
            .read_to_end(&mut whole)
            .unwrap();
        assert_eq!(whole, bytes);
        let mut broken = UntilInterrupted::new(io::Cursor::new(bytes.clone()).chain(Broken));
        let mut part = Vec::new();
        assert_eq!(
            broken.read_to_end(&mut part).unwrap_err().to_string(),
            "broken"
        );
        assert_eq!(part, bytes);
    }
}
