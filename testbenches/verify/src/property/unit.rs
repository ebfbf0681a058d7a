//! The list of units that have properties.

use clap::ValueEnum;

use super::Property;

/// Calls a macro with the list of units: their help, variants of [`Unit`], modules, and properties.
#[macro_export]
macro_rules! for_each_unit {
    ($callback:ident) => {
        $callback! {
            /// packet_parser: any frames, any gaps
            Parser, parser::Parser;
            /// packet_builder: any descriptors, any stalls
            Builder, builder::Builder;
            /// pfc_rx, pfc_tx and pause_watchdog: any frames, depths and stalls, time that jumps
            Pfc, pfc::Pfc;
            /// dcqcn_rp, dcqcn_np and rate_limiter: any events, rates and parameters, back to back and idle
            Dcqcn, dcqcn::Dcqcn;
            /// gbn_requester and gbn_responder: any events, alone and against each other over a bad path
            Gbn, gbn::Gbn;
            /// nic: two of them over a bad path, any messages, stalls and pauses
            Nic, nic::Nic;
            /// network: small Clos networks of switches and model NICs: no lossless drop, no false deadlock, and no
            /// frame lost without a reason
            Network, network::Network;
            /// two hosts of any kinds of NIC, one's own among them: what is sent arrives, over wires with faults
            Hosts, hosts::Hosts;
        }
    };
}

/// A generic action on the property of a unit.
pub trait WithProperty {
    /// Result of the action.
    type Output;
    /// Runs the action.
    fn with<P: Property>(self) -> Self::Output;
}

macro_rules! units {
    ($($(#[$help:meta])* $Unit:ident, $module:ident::$Property:ident;)*) => {
        /// The units that have properties.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub enum Unit {
            $($(#[$help])* $Unit,)*
        }

        impl Unit {
            /// Runs an action with the property of this unit.
            pub fn with<W: WithProperty>(self, what: W) -> W::Output {
                match self {
                    $(Self::$Unit => what.with::<super::$module::$Property>(),)*
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
        assert!(
            unknown
                .ends_with("the units are parser, builder, pfc, dcqcn, gbn, nic, network, hosts")
        );
    }
}
