//! A capture of ports of a network while it runs.

use std::fs::File;
use std::path::{Path, PathBuf};

use thiserror::Error;
use xoff_network::{Observer, ObserverError, Run};
use xoff_sim::kernel::{NodeId, PortId, Record};

use super::{TapPort, TapWriter};

/// A capture that cannot be written.
#[derive(Debug, Error)]
#[error("{}: cannot be written", path.display())]
pub struct CaptureError {
    path: PathBuf,
    source: std::io::Error,
}

/// Writes what happens at ports to a file.
pub struct RunCapture {
    path: PathBuf,
    writer: TapWriter<File>,
}

impl RunCapture {
    /// Creates the file, and taps the ports.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn create(
        run: &mut Run,
        ports: &[(NodeId, PortId)],
        path: &Path,
    ) -> Result<Self, CaptureError> {
        let simulation = &mut run.simulation;
        let interfaces = ports.iter().map(|port| TapPort::of(simulation, *port));
        let path = path.to_owned();
        let created = File::create(&path).and_then(|file| TapWriter::new(file, interfaces));
        let writer = match created {
            Ok(writer) => writer,
            Err(source) => return Err(CaptureError { path, source }),
        };
        simulation.tap(ports, true);
        Ok(Self { path, writer })
    }

    fn done(&self, result: std::io::Result<()>) -> Result<(), ObserverError> {
        let path = self.path.clone();
        Ok(result.map_err(|source| CaptureError { path, source })?)
    }
}

impl Observer for RunCapture {
    fn frames(&mut self, records: &[Record]) -> Result<(), ObserverError> {
        let wrote = records.iter().try_for_each(|record| {
            // Others may have tapped more ports.
            match self.writer.has(record.node, record.port) {
                true => self.writer.write(record),
                false => Ok(()),
            }
        });
        self.done(wrote)
    }

    fn end(&mut self, run: &Run) -> Result<(), ObserverError> {
        if !run.has_ended() {
            let text = format!("interrupted at {}", run.now().since_start());
            let commented = self.writer.comment(run.now().as_ps() / 1_000, &text);
            self.done(commented)?;
        }
        let flushed = self.writer.flush();
        self.done(flushed)
    }
}
