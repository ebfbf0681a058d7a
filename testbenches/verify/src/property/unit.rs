//! The units of `rtl/units.toml` that have properties.

use clap::ValueEnum;

use super::Property;

/// What `rtl/units.toml` says of a unit with a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// The cases of a test run, [`Property::CASES`].
    pub cases: u64,
    /// The cases whose instructions `make cost` counts; 0: it leaves the unit out.
    pub cost: u64,
    /// Its tops that are types in Rust, all of which the property runs.
    pub tops: &'static [&'static str],
}

// `for_each_unit`, and a constant for each unit. Without the property of a unit in the module of its name, what the
// macro is called with does not compile.
include!(concat!(env!("OUT_DIR"), "/units.rs"));

/// A generic action on the property of a unit.
pub trait WithProperty {
    /// Result of the action.
    type Output;
    /// Runs the action.
    fn with<P: Property>(self) -> Self::Output;
}

macro_rules! units {
    ($(#[$help:meta] $Unit:ident, $module:ident::$Property:ident, $LISTED:ident;)*) => {
        /// The units that have properties.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub enum Unit {
            $(#[$help] $Unit,)*
        }

        impl Unit {
            /// Runs an action with the property of this unit.
            pub fn with<W: WithProperty>(self, what: W) -> W::Output {
                match self {
                    $(Self::$Unit => what.with::<super::$module::$Property>(),)*
                }
            }

            /// What the list says of this unit.
            pub fn listed(self) -> Listed {
                match self {
                    $(Self::$Unit => $LISTED,)*
                }
            }
        }
    };
}

for_each_unit!(units);

impl Unit {
    /// Returns the unit of this name.
    ///
    /// # Errors
    ///
    /// Returns the existing names.
    pub fn named(name: &str) -> Result<Self, String> {
        Self::from_str(name, false).map_err(|_| {
            let known: Vec<_> = (Self::value_variants().iter())
                .filter_map(|unit| Some(unit.to_possible_value()?.get_name().to_owned()))
                .collect();
            format!("no unit '{name}'; the units are {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_the_names_of_their_properties() {
        struct Name;
        impl WithProperty for Name {
            type Output = &'static str;
            fn with<P: Property>(self) -> &'static str {
                P::UNIT
            }
        }
        for &unit in Unit::value_variants() {
            assert_eq!(Unit::named(unit.with(Name)), Ok(unit));
        }
        let unknown = Unit::named("gbm").unwrap_err();
        assert!(unknown.ends_with(
            "the units are parser, builder, pfc, dcqcn, gbn, translation, nic, network, hosts"
        ));
    }
}
