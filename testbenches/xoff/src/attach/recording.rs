//! The capture of what passes the NIC's port.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use xoff_network::attach::Seen;
use xoff_waves::capture::{Direction, PcapngWriter};

const PS_PER_NS: u64 = 1_000;
/// The interface's name in the file.
const INTERFACE: &str = "attached.0";

/// A capture that is being written.
pub(super) struct Recording {
    path: PathBuf,
    writer: PcapngWriter<BufWriter<File>>,
}

impl Recording {
    /// Creates the file.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let name = || format!("{}: cannot be written", path.display());
        let file = File::create(path).with_context(name)?;
        let writer = PcapngWriter::new(BufWriter::new(file), [INTERFACE]).with_context(name)?;
        Ok(Self {
            path: path.to_owned(),
            writer,
        })
    }

    fn name(&self) -> String {
        format!("{}: cannot be written", self.path.display())
    }

    /// Writes frames in the order of time.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&mut self, mut frames: Vec<Seen>) -> anyhow::Result<()> {
        frames.sort_by_key(|frame| frame.time);
        for Seen {
            time,
            out,
            bytes,
            fcs_ok,
        } in frames
        {
            let direction = match out {
                true => Direction::Sent,
                false => Direction::Received,
            };
            let ns = time.as_ps() / PS_PER_NS;
            (self.writer)
                .write_seen(0, ns, &bytes, Some(direction), fcs_ok)
                .with_context(|| self.name())?;
        }
        Ok(())
    }

    /// Writes all of it to the file.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn close(self) -> anyhow::Result<()> {
        let name = self.name();
        self.writer.into_inner().flush().context(name)
    }
}
