//! Drivers of the units that are only tested alone, at their pins.
//!
//! | module | unit |
//! |---|---|
//! | [`dcqcn`] | the DCQCN units, one cycle per call |
//! | [`gbn`] | the go-back-N units, or models in their place, one cycle per call |
//! | [`pfc`] | `pfc_rx`, `pfc_tx`, `pause_watchdog`, one cycle per call |
//! | [`translation`] | `nic_translation`, one cycle per call |

pub mod dcqcn;
pub mod gbn;
pub mod pfc;
pub mod translation;
