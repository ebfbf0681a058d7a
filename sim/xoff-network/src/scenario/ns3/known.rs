//! Distributions of flow sizes that have a name.

use super::Sizes;

/// Names, and points of bytes and percentile.
const KNOWN: [(&str, &[(f64, f64)]); 2] = [
    // Of the DCTCP paper (SIGCOMM 2010), with the points of HPCC's artefact.
    (
        "websearch",
        &[
            (0.0, 0.0),
            (10e3, 15.0),
            (20e3, 20.0),
            (30e3, 30.0),
            (50e3, 40.0),
            (80e3, 53.0),
            (200e3, 60.0),
            (1e6, 70.0),
            (2e6, 80.0),
            (5e6, 90.0),
            (10e6, 97.0),
            (30e6, 100.0),
        ],
    ),
    // IRN (SIGCOMM 2018), section 4.1: half of the flows are single packets of 32 B to 1 KB, 15 % have 200 KB to 3 MB.
    (
        "irn",
        &[(32.0, 0.0), (1e3, 50.0), (200e3, 85.0), (3e6, 100.0)],
    ),
];

impl Sizes {
    /// The distribution of a name: `websearch` (DCTCP, SIGCOMM 2010) or `irn` (IRN, SIGCOMM 2018).
    pub fn known(name: &str) -> Option<Self> {
        let (_, points) = KNOWN.iter().find(|(known, _)| *known == name)?;
        Some(Self {
            points: points.to_vec(),
        })
    }

    /// The names of [`known`](Self::known) ones.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, _)| *name)
    }
}
