//! Functional coverage: which situations the cases of a property bring about.
//!
//! A [`Group`] of bins is declared beside the property that fills it. Its bins are all combinations of the values of a
//! few axes, such as operation × length × position in the message. Combinations that no case can bring about are
//! declared so, with the reason; a hit in one of them is an error in the declaration.
//!
//! What is filled in is observed at frames, at events and in the reference, never in the registers of the RTL: a fault
//! of the RTL must not pass for a situation.
//!
//! ```ignore
//! use xoff::axis;
//! use xoff_verify::property::bins::{Bins, Group, Groups};
//!
//! axis! {
//!     /// How long a message is.
//!     pub enum Length, "length" { Short "one packet", Long "more" }
//! }
//! axis! {
//!     /// Where a packet stands in it.
//!     pub enum Position, "position" { First "first", Last "last", Only "only" }
//! }
//! static PACKETS: Group<(Length, Position)> = Group {
//!     name: "packets",
//!     counts: "packets sent",
//!     unreachable: |(length, position)| match (length, position) {
//!         (Length::Long, Position::Only) => Some("a message of several packets"),
//!         (Length::Short, Position::First | Position::Last) => Some("a message of one packet"),
//!         _ => None,
//!     },
//! };
//!
//! const GROUPS: Groups = &[&PACKETS];
//!
//! let mut bins = Bins::new(GROUPS);
//! bins.hit(&PACKETS, (Length::Short, Position::Only));
//! assert_eq!(bins.counts(), [[0, 0, 1, 0, 0, 0]]);
//! ```

/// The values of one axis of a group.
pub trait Value: Copy + Send + Sync + 'static {
    /// Name of the axis.
    const AXIS: &'static str;
    /// Number of values.
    const COUNT: usize;

    /// Returns the value with this index, below [`Value::COUNT`], in the order in which values are shown.
    fn at(index: usize) -> Self;
    /// Returns the value's index.
    fn index(self) -> usize;
    /// Returns the value's name.
    fn name(self) -> &'static str;
}

/// Declares an axis: an enum, the name of the axis, and a name for each value.
#[macro_export]
macro_rules! axis {
    ($(#[$doc:meta])* $visibility:vis enum $Axis:ident, $axis:literal { $($Value:ident $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the values have names")]
        $visibility enum $Axis {
            $($Value,)*
        }

        impl $crate::property::bins::Value for $Axis {
            const AXIS: &'static str = $axis;
            const COUNT: usize = [$(Self::$Value),*].len();

            fn at(index: usize) -> Self {
                [$(Self::$Value),*][index]
            }
            fn index(self) -> usize {
                self as usize
            }
            fn name(self) -> &'static str {
                match self { $(Self::$Value => $name,)* }
            }
        }
    };
}

/// A combination of values, one of each axis.
pub trait Cross: Copy + 'static {
    /// Number of combinations.
    const COUNT: usize;

    /// Returns the axes.
    fn axes() -> Vec<Axis>;
    /// Returns the combination with this index, below [`Cross::COUNT`]; the last axis changes fastest.
    fn at(index: usize) -> Self;
    /// Returns the combination's index.
    fn index(self) -> usize;
}

macro_rules! cross {
    ($($Axis:ident $place:tt),*; $($Reversed:ident)*) => {
        impl<$($Axis: Value),*> Cross for ($($Axis,)*) {
            const COUNT: usize = 1 $(* $Axis::COUNT)*;

            fn axes() -> Vec<Axis> {
                vec![$(Axis {
                    name: $Axis::AXIS,
                    values: (0..$Axis::COUNT).map(|index| $Axis::at(index).name()).collect(),
                }),*]
            }
            #[allow(non_snake_case, unused_assignments, reason = "one variable for each axis")]
            fn at(mut index: usize) -> Self {
                $(let $Reversed = $Reversed::at(index % $Reversed::COUNT);
                index /= $Reversed::COUNT;)*
                ($($Axis,)*)
            }
            fn index(self) -> usize {
                let mut index = 0;
                $(index = index * $Axis::COUNT + self.$place.index();)*
                index
            }
        }
    };
}

cross!(A 0; A);
cross!(A 0, B 1; B A);
cross!(A 0, B 1, C 2; C B A);
cross!(A 0, B 1, C 2, D 3; D C B A);

/// An axis, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: &'static str,
    /// The names of its values.
    pub values: Vec<&'static str>,
}

/// A declared group of bins.
pub struct Group<T: Cross> {
    /// Its name, of which a property has each once.
    pub name: &'static str,
    /// What its bins count.
    pub counts: &'static str,
    /// Why no case can bring a combination about; `None` where one can.
    pub unreachable: fn(T) -> Option<&'static str>,
}

/// A [`Group`] of any axes.
pub trait Declared: Sync {
    /// Returns its name.
    fn name(&self) -> &'static str;
    /// Returns what its bins count.
    fn counts(&self) -> &'static str;
    /// Returns the number of its bins.
    fn count(&self) -> usize;
    /// Returns its axes.
    fn axes(&self) -> Vec<Axis>;
    /// Returns for each bin why it cannot be hit; `None` where it can.
    fn unreachable(&self) -> Vec<Option<&'static str>>;
}

impl<T: Cross> Declared for Group<T> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn counts(&self) -> &'static str {
        self.counts
    }
    fn count(&self) -> usize {
        T::COUNT
    }
    fn axes(&self) -> Vec<Axis> {
        T::axes()
    }
    fn unreachable(&self) -> Vec<Option<&'static str>> {
        (0..T::COUNT)
            .map(|index| (self.unreachable)(T::at(index)))
            .collect()
    }
}

/// The groups of a property.
pub type Groups = &'static [&'static dyn Declared];

/// How often each bin of a property's groups was hit.
#[derive(Clone)]
pub struct Bins {
    groups: Groups,
    counts: Vec<Vec<u64>>,
}

impl Bins {
    /// Creates the bins of these groups, with no hits.
    pub fn new(groups: Groups) -> Self {
        let counts = (groups.iter())
            .map(|group| vec![0; group.count()])
            .collect();
        Self { groups, counts }
    }

    /// Counts a hit of the bin `at`.
    ///
    /// # Panics
    ///
    /// Panics if the group is none of these.
    #[inline]
    pub fn hit<T: Cross>(&mut self, group: &'static Group<T>, at: T) {
        // Two statics never share an address, except those without a size.
        let this = std::ptr::from_ref(group).cast::<()>();
        let place = (self.groups.iter()).position(|other| std::ptr::addr_eq(*other, this));
        let place = place.unwrap_or_else(|| panic!("'{}' is not declared", group.name));
        self.counts[place][at.index()] += 1;
    }

    /// Returns the groups.
    pub fn groups(&self) -> Groups {
        self.groups
    }

    /// Returns the number of hits of each bin, by group; within a group the last axis changes fastest.
    pub fn counts(&self) -> &[Vec<u64>] {
        &self.counts
    }

    /// Adds the hits of `other`, which are of the same groups. The result depends on no order.
    pub fn merge(&mut self, other: &Self) {
        for (counts, others) in self.counts.iter_mut().zip(&other.counts) {
            for (count, other) in counts.iter_mut().zip(others) {
                *count += other;
            }
        }
    }

    /// Sets all counts to 0.
    pub fn clear(&mut self) {
        self.counts.iter_mut().for_each(|counts| counts.fill(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    axis! { enum Big, "big" { A "a", B "b", C "c" } }
    axis! { enum Small, "small" { No "no", Yes "yes" } }
    static CROSSED: Group<(Big, Small, Big)> = Group {
        name: "crossed",
        counts: "nothing",
        unreachable: |(a, _, b)| (a == b).then_some("they differ"),
    };
    static OTHER: Group<(Small,)> = Group {
        name: "other",
        counts: "nothing",
        unreachable: |_| None,
    };

    const BOTH: Groups = &[&OTHER, &CROSSED];

    #[test]
    fn the_last_axis_changes_fastest() {
        for index in 0..<(Big, Small, Big)>::COUNT {
            assert_eq!(<(Big, Small, Big)>::at(index).index(), index);
        }
        assert_eq!((Big::B, Small::Yes, Big::C).index(), 3 * 2 + 3 + 2);
        // 3 of 9 pairs are equal, for each of the two values between them.
        assert_eq!(CROSSED.unreachable().iter().flatten().count(), 6);
    }

    #[test]
    fn hits_add_up_in_any_order() {
        let hit = |hits: &[(Big, Small, Big)]| {
            let mut bins = Bins::new(BOTH);
            hits.iter().for_each(|&at| bins.hit(&CROSSED, at));
            bins
        };
        let (one, two) = ((Big::A, Small::No, Big::B), (Big::C, Small::Yes, Big::A));
        let mut ab = hit(&[one, one]);
        ab.merge(&hit(&[two]));
        let mut ba = hit(&[two]);
        ba.merge(&hit(&[one, one]));
        assert_eq!(ab.counts(), ba.counts());
        assert_eq!(ab.counts()[1][one.index()], 2);
        assert_eq!(ab.counts()[1].iter().sum::<u64>(), 3);
        assert_eq!(ab.counts()[0], [0, 0]);
        ab.clear();
        assert_eq!(ab.counts(), hit(&[]).counts());
    }

    #[test]
    #[should_panic(expected = "'crossed' is not declared")]
    fn a_group_that_is_not_declared_is_a_mistake() {
        const ONE: Groups = &[&OTHER];
        Bins::new(ONE).hit(&CROSSED, (Big::A, Small::No, Big::B));
    }
}
