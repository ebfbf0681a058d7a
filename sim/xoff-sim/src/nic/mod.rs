//! What every NIC has, whether RTL or model: settings, QPs, memory regions, counters.
//!
//! | module | what is in it |
//! |---|---|
//! | [`settings`] | [`NicSettings`]: port, classes, pauses, watchdog, DCQCN |
//! | [`class_costs`] | [`ClassCosts`]: shares of the port by weight |
//! | [`qp`] | [`QpSettings`]: path and configuration of a QP |
//! | [`region`] | [`Region`]: memory that packets may be written to, and its key |
//! | [`registers`] | the above as writes to the registers of `rtl/nic/registers.toml` |
//! | [`congestion`] | [`Congestion`](congestion::Congestion): congestion control of model NICs |
//! | [`counters`] | [`NicCounters`]: what was counted, by the registers' names |
//! | [`pause_log`] | [`PauseLog`]: when each class could not be sent |
//! | [`encapsulation`] | [`Encapsulation`]: Ethernet, IP, UDP and ICRC around the packets of a NIC that has none of them |
//! | [`translation`] | [`Translation`](translation::Translation): page tables in host memory and a cache of them, of model NICs |
//! | [`model`] | [`ModelNic`]: a NIC as a behavioural model, made of the reference models |

pub mod class_costs;
pub mod congestion;
pub mod counters;
pub mod encapsulation;
pub mod model;
pub mod pause_log;
pub mod qp;
pub mod region;
pub mod registers;
pub mod settings;
pub mod shape;
pub mod translation;

pub use class_costs::{ClassCosts, WeightsError};
pub use counters::NicCounters;
pub use encapsulation::{Encapsulation, EncapsulationError};
pub use model::{ModelNic, ModelNicConfig};
pub use pause_log::PauseLog;
pub use qp::{Address, QpSettings};
pub use region::{ReadRights, Region};
pub use settings::{
    BUFFERS, BufferParts, DcqcnChange, DcqcnSettings, NicSettings, PfcSettings, WatchdogSettings,
};
