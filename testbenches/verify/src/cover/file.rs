//! Files of functional coverage.

use std::fmt;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::property::Property;
use crate::property::bins::{Bins, Declared};
use crate::property::run::Report;
use xoff::{text_file, whole_file};

/// Version of the format.
const VERSION: u32 = 1;

/// The contents of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// Version of the format.
    pub xoff_coverage: u32,
    /// The units, each once.
    pub units: Vec<UnitCoverage>,
}

impl Default for Coverage {
    fn default() -> Self {
        Self {
            xoff_coverage: VERSION,
            units: Vec::new(),
        }
    }
}

/// The coverage of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitCoverage {
    /// The unit's name in `xoff fuzz`.
    pub unit: String,
    /// The runs that were added up.
    pub runs: Vec<Run>,
    /// Its groups of bins.
    pub groups: Vec<GroupCounts>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// Number of cases.
    pub cases: u64,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cases of seed {}", self.cases, self.seed)
    }
}

/// The bins of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupCounts {
    /// Its name.
    pub name: String,
    /// What its bins count.
    pub counts: String,
    /// The names of its axes.
    pub axes: Vec<String>,
    /// Its bins; the last axis changes fastest.
    pub bins: Vec<Bin>,
}

/// A bin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bin {
    /// Its values, one of each axis.
    pub at: Vec<String>,
    /// How often it was hit.
    pub hits: u64,
    /// Why no case can hit it, where none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<String>,
}

impl GroupCounts {
    fn of(group: &dyn Declared, counts: &[u64]) -> Self {
        let axes = group.axes();
        let sizes: Vec<usize> = axes.iter().map(|axis| axis.values.len()).collect();
        let at = |index: usize| {
            let inner = |axis: usize| sizes[axis + 1..].iter().product::<usize>();
            (0..axes.len())
                .map(|axis| axes[axis].values[index / inner(axis) % sizes[axis]].to_owned())
                .collect()
        };
        let reasons = group.unreachable();
        Self {
            name: group.name().to_owned(),
            counts: group.counts().to_owned(),
            axes: axes.iter().map(|axis| axis.name.to_owned()).collect(),
            bins: (0..counts.len())
                .map(|index| Bin {
                    at: at(index),
                    hits: counts[index],
                    unreachable: reasons[index].map(str::to_owned),
                })
                .collect(),
        }
    }

    /// Returns the number of bins that can be hit.
    pub fn reachable(&self) -> usize {
        (self.bins.iter().filter(|bin| bin.unreachable.is_none())).count()
    }

    /// Returns the number of bins that were hit, of those that can be.
    pub fn hit(&self) -> usize {
        self.reachable() - self.holes().count()
    }

    /// Returns the bins that can be hit and were not.
    pub fn holes(&self) -> impl Iterator<Item = &Bin> {
        (self.bins.iter()).filter(|bin| bin.unreachable.is_none() && bin.hits == 0)
    }

    /// Returns the bins that were hit although the declaration says that they cannot be.
    pub fn wrong(&self) -> impl Iterator<Item = &Bin> {
        (self.bins.iter()).filter(|bin| bin.unreachable.is_some() && bin.hits > 0)
    }
}

impl UnitCoverage {
    /// Creates the coverage of a property's run.
    pub fn of_run<P: Property>(seed: u64, report: &Report<P>) -> Self {
        let run = Run {
            seed,
            cases: report.cases,
        };
        Self::of(P::UNIT, run, &report.bins)
    }

    /// Creates the coverage of a run with these hits.
    pub fn of(unit: &str, run: Run, bins: &Bins) -> Self {
        let groups = bins.groups().iter().zip(bins.counts());
        Self {
            unit: unit.to_owned(),
            runs: vec![run],
            groups: groups
                .map(|(group, counts)| GroupCounts::of(*group, counts))
                .collect(),
        }
    }

    /// Returns the number of bins that were hit, and of those that can be.
    pub fn sum(&self) -> (usize, usize) {
        let groups = || self.groups.iter();
        (
            groups().map(GroupCounts::hit).sum(),
            groups().map(GroupCounts::reachable).sum(),
        )
    }

    /// Adds another file's counts of the same unit.
    fn add(&mut self, other: Self) -> Result<(), String> {
        let names = |unit: &Self| -> Vec<String> {
            (unit.groups.iter())
                .map(|group| format!("{} ({} bins)", group.name, group.bins.len()))
                .collect()
        };
        let same = self.groups.len() == other.groups.len()
            && self.groups.iter().zip(&other.groups).all(|(a, b)| {
                let bins = a.bins.iter().zip(&b.bins);
                (&a.name, &a.axes, a.bins.len()) == (&b.name, &b.axes, b.bins.len())
                    && bins
                        .into_iter()
                        .all(|(a, b)| (&a.at, &a.unreachable) == (&b.at, &b.unreachable))
            });
        if !same {
            return Err(format!(
                "unit '{}' declares other bins here ({}) than in the file before ({}): \
                 files of one version can be added up",
                self.unit,
                names(&other).join(", "),
                names(self).join(", ")
            ));
        }
        for (group, other) in self.groups.iter_mut().zip(other.groups) {
            for (bin, other) in group.bins.iter_mut().zip(other.bins) {
                bin.hits = bin.hits.saturating_add(other.hits);
            }
        }
        self.runs.extend(other.runs);
        Ok(())
    }
}

impl Coverage {
    /// Creates the coverage of one unit.
    pub fn of_unit(unit: UnitCoverage) -> Self {
        Self {
            units: vec![unit],
            ..Self::default()
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file and what is wrong in it.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let text = text_file::read(path).with_context(|| path.display().to_string())?;
        Self::read(&text).map_err(|what| anyhow::anyhow!("{}: {what}", path.display()))
    }

    /// Reads a file's text.
    fn read(text: &str) -> Result<Self, String> {
        let whence = "expected a file that xoff fuzz --coverage wrote";
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("{error}; {whence}"))?;
        match value
            .get("xoff_coverage")
            .and_then(serde_json::Value::as_u64)
        {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                return Err(format!(
                    "xoff_coverage is {version}; this version of xoff reads {VERSION}"
                ));
            }
            None => return Err(format!("no number 'xoff_coverage'; {whence}")),
        }
        let coverage: Self = serde_path_to_error::deserialize(value)
            .map_err(|error| format!("{}: {}; {whence}", error.path(), error.inner()))?;
        for unit in &coverage.units {
            for group in &unit.groups {
                if let Some(bin) = group
                    .bins
                    .iter()
                    .find(|bin| bin.at.len() != group.axes.len())
                {
                    return Err(format!(
                        "unit '{}', group '{}': the bin {:?} has {} values; expected one for each of {:?}",
                        unit.unit,
                        group.name,
                        bin.at,
                        bin.at.len(),
                        group.axes
                    ));
                }
            }
        }
        Ok(coverage)
    }

    /// Adds up the counts of another file.
    ///
    /// # Errors
    ///
    /// Returns what differs, if the files declare different bins for a unit.
    pub fn merge(&mut self, other: Self) -> Result<(), String> {
        for unit in other.units {
            match self.units.iter_mut().find(|known| known.unit == unit.unit) {
                Some(known) => known.add(unit)?,
                None => self.units.push(unit),
            }
        }
        Ok(())
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file, if it cannot be written.
    pub fn save(&self, path: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        whole_file::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis;
    use crate::property::bins::{Group, Groups};

    axis! { enum Side, "side" { Left "left", Right "right" } }
    axis! { enum Size, "size" { Small "small", Large "large" } }
    static SHAPES: Group<(Side, Size)> = Group {
        name: "shapes",
        counts: "shapes",
        unreachable: |at| (at == (Side::Left, Size::Large)).then_some("no room"),
    };
    const GROUPS: Groups = &[&SHAPES];

    fn unit(seed: u64, hits: &[(Side, Size)]) -> UnitCoverage {
        let mut bins = Bins::new(GROUPS);
        hits.iter().for_each(|&at| bins.hit(&SHAPES, at));
        UnitCoverage::of("shapes", Run { seed, cases: 10 }, &bins)
    }

    #[test]
    fn bins_have_the_names_of_their_values() {
        let unit = unit(1, &[(Side::Right, Size::Small)]);
        let group = &unit.groups[0];
        let named: Vec<_> = (group.bins.iter())
            .map(|bin| (bin.at.join(" "), bin.hits))
            .collect();
        assert_eq!(
            named,
            [
                ("left small", 0),
                ("left large", 0),
                ("right small", 1),
                ("right large", 0)
            ]
            .map(|(name, hits)| (name.to_owned(), hits))
        );
        // left small and right large are holes; left large cannot be hit.
        assert_eq!((group.hit(), group.reachable()), (1, 3));
        assert_eq!(group.holes().count(), 2);
        assert_eq!(group.wrong().count(), 0);
    }

    #[test]
    fn text_both_ways_and_sums() {
        let mut all = Coverage::of_unit(unit(1, &[(Side::Left, Size::Small)]));
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(Coverage::read(&text), Ok(all.clone()));
        let second = unit(2, &[(Side::Left, Size::Small), (Side::Left, Size::Large)]);
        all.merge(Coverage::of_unit(second)).unwrap();
        let group = &all.units[0].groups[0];
        assert_eq!(group.bins[0].hits, 2);
        assert_eq!(group.wrong().map(|bin| bin.hits).collect::<Vec<_>>(), [1]);
        assert_eq!(all.units[0].runs.len(), 2);
    }

    #[test]
    fn what_is_no_coverage_is_said() {
        let wrong = |text: &str| Coverage::read(text).unwrap_err();
        assert!(wrong("x").contains("line 1 column 1; expected a file that xoff fuzz --coverage"));
        assert!(wrong("{}").starts_with("no number 'xoff_coverage'"));
        assert_eq!(
            wrong("{\"xoff_coverage\":2}"),
            "xoff_coverage is 2; this version of xoff reads 1"
        );
        let text = wrong("{\"xoff_coverage\":1,\"units\":[{\"unit\":3}]}");
        assert!(
            text.starts_with("units[0].unit: invalid type: integer `3`"),
            "{text}"
        );
        let mut short = Coverage::of_unit(unit(1, &[]));
        short.units[0].groups[0].bins[0].at.pop();
        let text = wrong(&serde_json::to_string(&short).unwrap());
        assert!(
            text.contains("has 1 values; expected one for each of [\"side\", \"size\"]"),
            "{text}"
        );
        let mut all = Coverage::of_unit(unit(1, &[]));
        let mut other = Coverage::of_unit(unit(1, &[]));
        other.units[0].groups[0].bins.pop();
        let text = all.merge(other).unwrap_err();
        assert!(
            text.contains("declares other bins here (shapes (3 bins))"),
            "{text}"
        );
    }
}
