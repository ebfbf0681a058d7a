//! Thresholds of marks by the rate of a port.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};
use xoff_sim::time::{LineRate, Rate};

/// KMIN_MAP, KMAX_MAP and PMAX_MAP: numbers by rate, in bits a second.
#[derive(Debug, Default)]
pub(super) struct Curves {
    pub(super) kmin: BTreeMap<u64, f64>,
    pub(super) kmax: BTreeMap<u64, f64>,
    pub(super) pmax: BTreeMap<u64, f64>,
}

impl Curves {
    /// The table `ecn` of the switches of a network with ports of these rates: the thresholds of the lowest rate for
    /// which there are some. Says which others are not taken.
    pub(super) fn of(&self, rates: Vec<LineRate>) -> (Value, Vec<String>) {
        let bits = |rate: LineRate| Rate::from(rate).as_bits_per_second();
        let used: BTreeSet<u64> = rates.into_iter().map(bits).collect();
        let known = |rate: &&u64| self.kmin.contains_key(rate) && self.kmax.contains_key(rate);
        let chosen = used.iter().find(known).copied();
        let mut said = Vec::new();
        let of =
            |rate: u64| [&self.kmin, &self.kmax, &self.pmax].map(|map| map.get(&rate).copied());
        for rate in &used {
            let gbps = *rate as f64 / 1e9;
            if !known(&rate) {
                said.push(format!(
                    "KMIN_MAP and KMAX_MAP have nothing for ports of {gbps} Gb/s"
                ));
            } else if chosen.is_some_and(|chosen| of(chosen) != of(*rate)) {
                let [kmin, kmax, pmax] = of(*rate).map(Option::unwrap_or_default);
                said.push(format!(
                    "a switch has one curve for all of its ports: that of the slowest; {gbps} Gb/s would have \
                     {kmin} KB, {kmax} KB and {pmax}"
                ));
            }
        }
        let mut table = Table::new();
        if let Some(rate) = chosen {
            let kilobytes = |value: f64| Value::from(format!("{value} KB"));
            table.insert("kmin".into(), kilobytes(self.kmin[&rate]));
            table.insert("kmax".into(), kilobytes(self.kmax[&rate]));
            if let Some(pmax) = self.pmax.get(&rate) {
                table.insert("pmax".into(), (*pmax).into());
            }
        }
        (table.into(), said)
    }
}
