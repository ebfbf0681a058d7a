//! The buffer of a switch, as arguments of several calculations.

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use xoff_sim::switch::Thresholds;
use xoff_sim::time::ByteCount;

use super::quantities;
use crate::columns::{Align, Table};
use crate::terminal::Ink;
use xoff_network::words::grouped;

/// Most ports of a switch.
pub(super) const MAX_PORTS: u64 = 65_535;
/// Number of classes of PFC.
pub(super) const MAX_CLASSES: u64 = 8;

/// The buffer of a switch.
#[derive(Debug, Clone, Args)]
pub struct SharedArgs {
    /// Whole buffer of the switch, such as 12MB (KB is 1000 bytes, KiB 1024)
    #[arg(long, value_name = "BYTES", value_parser = quantities::buffer)]
    pub buffer: ByteCount,
    /// Ports of the switch
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_PORTS))]
    pub ports: u64,
    /// Lossless classes of each port; the paper makes all lossless
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u64).range(1..=MAX_CLASSES))]
    pub classes: u64,
    /// Headroom of each port and lossless class, as from xoff calc headroom
    #[arg(long, value_name = "BYTES", value_parser = quantities::bytes)]
    pub headroom: ByteCount,
}

impl SharedArgs {
    /// The switch for the arithmetic.
    ///
    /// # Errors
    ///
    /// If headroom leaves nothing of the buffer to share.
    pub fn thresholds(&self) -> anyhow::Result<Thresholds> {
        let thresholds = Thresholds {
            buffer: self.buffer,
            ports: self.ports,
            classes: self.classes,
            headroom: self.headroom,
        };
        if let Err(error) = thresholds.check() {
            let queues = thresholds.queues();
            bail!(
                "--headroom {}: {error}; {queues} queues, one for each port and class, can have less than {} each",
                self.headroom,
                ByteCount::new(self.buffer.get().div_ceil(queues)),
            );
        }
        Ok(thresholds)
    }
}

/// The switch in a result for programs.
#[derive(Debug, Serialize)]
pub(super) struct SharedBuffer {
    buffer_bytes: u64,
    ports: u64,
    classes: u64,
    headroom_bytes: u64,
    /// What headroom leaves.
    shared_bytes: u64,
}

impl From<&Thresholds> for SharedBuffer {
    fn from(of: &Thresholds) -> Self {
        Self {
            buffer_bytes: of.buffer.get(),
            ports: of.ports,
            classes: of.classes,
            headroom_bytes: of.headroom.get(),
            shared_bytes: of.shared().get(),
        }
    }
}

/// The rows of a table that derive the shared buffer.
pub(super) fn table(of: &Thresholds) -> Table {
    let mut table = Table::new([
        ("", Align::Left),
        ("bytes", Align::Right),
        ("source", Align::Left),
    ]);
    let headroom = of.headroom.get();
    let queues = format!(
        "{} ports · {} lossless classes · {}",
        of.ports,
        of.classes,
        grouped(headroom)
    );
    for (name, bytes, source) in [
        ("buffer", of.buffer.get(), "--buffer"),
        ("headroom", headroom * of.queues(), &queues),
        ("shared", of.shared().get(), "what is left"),
    ] {
        table.row(Ink::Plain, [name, &grouped(bytes), source]);
    }
    table
}
