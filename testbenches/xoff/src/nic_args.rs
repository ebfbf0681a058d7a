//! Which NIC a command drives.

use clap::Args;
use xoff_network::scenario::NicKind;

/// The NIC in place of the RTL, of commands that drive one.
#[derive(Debug, Args)]
pub struct NicArgs {
    /// Use the model NIC instead of the RTL
    #[arg(long)]
    pub model: bool,
    /// Use a NIC that this program has under a name
    #[arg(long, value_name = "NAME", conflicts_with = "model")]
    pub own: Option<String>,
}

impl NicArgs {
    /// The kind of NIC.
    pub fn kind(&self) -> NicKind {
        match (&self.own, self.model) {
            (Some(name), _) => NicKind::Custom(name.clone()),
            (None, true) => NicKind::Model,
            (None, false) => NicKind::Rtl,
        }
    }
}
