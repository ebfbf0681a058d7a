//! The model NIC as a node, with the log of its pauses.

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{Arrivals, Departures, Node};
use xoff_sim::nic::ModelNic;
use xoff_sim::reference::dcqcn::Alpha;
use xoff_sim::time::{LineRate, Time};

use super::pause_log::PauseLog;

/// A host with the model NIC.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelHost {
    nic: ModelNic,
    pauses: PauseLog,
}

impl ModelHost {
    /// Of a NIC at time zero.
    pub fn new(nic: ModelNic) -> Self {
        Self {
            nic,
            pauses: PauseLog::default(),
        }
    }

    /// The NIC with its host.
    pub const fn nic(&self) -> &ModelNic {
        &self.nic
    }

    /// The same, to be set up before time starts.
    pub const fn nic_mut(&mut self) -> &mut ModelNic {
        &mut self.nic
    }

    /// When which class could not be sent, seen at the ends of windows.
    pub const fn pauses(&self) -> &PauseLog {
        &self.pauses
    }

    /// What DCQCN made of a QP: rate in b/s and α.
    pub fn dcqcn(&self, qp: u16) -> Option<(f64, f64)> {
        let (rate, alpha, _) = self.nic.rate(qp)?;
        Some((
            f64::from(rate.0) * 1e3,
            f64::from(alpha.0) / f64::from(Alpha::ONE.0),
        ))
    }
}

impl Node for ModelHost {
    fn line_rates(&self) -> Vec<LineRate> {
        self.nic.line_rates()
    }

    fn cost(&self) -> u32 {
        self.nic.cost()
    }

    fn next_event(&self) -> Option<Time> {
        self.nic.next_event()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        self.nic.advance(until, arrivals, departures);
        self.pauses.set(self.nic.paused(), until);
    }
}
