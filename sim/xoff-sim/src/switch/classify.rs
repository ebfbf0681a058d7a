//! The priority of a frame.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::headers::Headers;

/// Where a frame's priority comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Classify {
    /// The DSCP of IPv4 or IPv6; all other frames have priority 0.
    Dscp(DscpMap),
    /// The PCP of the outer VLAN tag, mapped by this table; untagged frames have priority 0.
    Pcp([u8; 8]),
}

/// A map with the priority of each of the 64 DSCPs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct DscpMap(Box<[u8; 64]>);

/// The error for a list that is not a map of DSCPs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a DSCP map has 64 priorities, each 0 to 7")]
pub struct DscpMapError;

impl DscpMap {
    /// Priority = DSCP / 8: the class selectors (RFC 2474 §4.2.2).
    pub fn class_selectors() -> Self {
        Self(Box::new(std::array::from_fn(|dscp| dscp as u8 >> 3)))
    }

    /// Priority = low three bits of the DSCP. For DSCPs below 8 the two numbers are equal, which is convenient in
    /// small scenarios.
    pub fn low_bits() -> Self {
        Self(Box::new(std::array::from_fn(|dscp| dscp as u8 & 7)))
    }
}

impl TryFrom<Vec<u8>> for DscpMap {
    type Error = DscpMapError;

    fn try_from(list: Vec<u8>) -> Result<Self, DscpMapError> {
        if list.iter().any(|priority| *priority > 7) {
            return Err(DscpMapError);
        }
        let map = list.try_into().map_err(|_| DscpMapError)?;
        Ok(Self(Box::new(map)))
    }
}

impl From<DscpMap> for Vec<u8> {
    fn from(map: DscpMap) -> Vec<u8> {
        map.0.to_vec()
    }
}

impl Classify {
    /// The priority of a frame, 0 … 7.
    pub fn priority(&self, headers: &Headers) -> u8 {
        match self {
            Self::Dscp(map) => headers
                .ip
                .map_or(0, |ip| map.0[usize::from(ip.traffic_class >> 2)]),
            Self::Pcp(map) => headers.tag.map_or(0, |tag| map[usize::from(tag.pcp)] & 7),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::roce_frame;

    #[test]
    fn from_dscp() {
        let frame = roce_frame(1, 2).dscp(26).bytes(100);
        let headers = Headers::at(&frame).unwrap();
        let by = |map| Classify::Dscp(map).priority(&headers);
        assert_eq!(by(DscpMap::class_selectors()), 3);
        assert_eq!(by(DscpMap::low_bits()), 2);
        assert!(DscpMap::try_from(vec![0; 63]).is_err());
        assert!(DscpMap::try_from(vec![8; 64]).is_err());
    }

    #[test]
    fn from_the_tag() {
        let plain = roce_frame(1, 2).dscp(26).bytes(100);
        let tagged = [&plain[..12], &[0x81, 0x00, 0xA0, 0x01], &plain[12..]].concat();
        let by_tag = Classify::Pcp([0, 1, 2, 3, 4, 6, 5, 7]);
        assert_eq!(by_tag.priority(&Headers::at(&tagged).unwrap()), 6);
        assert_eq!(by_tag.priority(&Headers::at(&plain).unwrap()), 0);
    }
}
