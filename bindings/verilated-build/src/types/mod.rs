//! The SystemVerilog types of a model's ports, packages and parameters, from Verilator's own table of types.
//!
//! [`xml`] and [`json`] read the two formats of that table into a [`raw::Raw`]. [`raw`] resolves its references, and
//! [`rust`] writes the result as Rust. [`shapes`] writes what readers of waves need to know of all signals.

mod json;
mod raw;
mod rust;
mod shapes;
mod xml;

use std::path::Path;

use crate::files::read;
use crate::ports::Direction;
use crate::{Error, Version};

pub(crate) use rust::{Packages, accessors, constants, local_types};

/// The first version of Verilator whose table is read as JSON. Some versions write both formats; the versions before
/// those write only XML.
pub(crate) const FIRST_JSON: Version = Version {
    major: 5,
    minor: 36,
};

/// The type of a signal, a member or a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Plain bits, at least 1.
    Bits { width: u32, signed: bool },
    /// An index into [`Table::named`].
    Named(usize),
    /// A packed array. Element 0 in Rust is the one with the lowest index in the source.
    Array {
        element: Box<Type>,
        length: u32,
        /// The range is written `[0:n]`: the lowest index is in the most significant bits.
        ascending: bool,
    },
}

/// An enum, a packed struct or a packed union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The package, or `None` for a type declared in a module.
    pub package: Option<String>,
    /// The name in the source. A type without a name is named after the struct and the member that use it.
    pub name: String,
    pub file: String,
    pub line: u32,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Enum {
        width: u32,
        signed: bool,
        /// Names and codes.
        items: Vec<(String, u128)>,
    },
    /// Members, from the most significant bits down.
    Struct(Vec<(String, Type)>),
    Union(Vec<(String, Type)>),
}

/// A parameter whose value is a bit vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Constant {
    pub name: String,
    pub place: String,
    pub kind: Type,
    /// 32-bit words, the least significant first.
    pub value: Vec<u32>,
}

/// A package with its constants. Its types are in [`Table::named`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub name: String,
    pub file: String,
    pub constants: Vec<Constant>,
}

/// Everything known about a top's types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub named: Vec<Named>,
    pub packages: Vec<Package>,
    /// The top's parameters and local parameters.
    pub parameters: Vec<Constant>,
    /// The top's ports, without their unpacked dimensions.
    pub ports: Vec<(String, Type)>,
    /// The directions of all ports; `None` if a port is neither an input nor an output.
    pub directions: Vec<(String, Option<Direction>)>,
    /// The types of the signals within, as JSON.
    pub shapes: String,
}

impl Table {
    /// Reads the table that Verilator wrote for a top.
    pub fn read(top: &str, path: &Path) -> Result<Table, Error> {
        let broken = |reason: String| Error::Types {
            top: top.to_owned(),
            path: path.to_owned(),
            reason,
        };
        let text = read(path)?;
        let raw = if path.extension().is_some_and(|end| end == "json") {
            json::read(&text, &read(&path.with_extension("meta.json"))?)
        } else {
            xml::read(&text)
        };
        raw.and_then(|raw| raw.resolve()).map_err(broken)
    }

    /// Width in bits.
    pub fn bits(&self, kind: &Type) -> u32 {
        match kind {
            Type::Bits { width, .. } => *width,
            Type::Array {
                element, length, ..
            } => length * self.bits(element),
            Type::Named(index) => match &self.named[*index].kind {
                Kind::Enum { width, .. } => *width,
                Kind::Struct(members) => members.iter().map(|(_, kind)| self.bits(kind)).sum(),
                Kind::Union(members) => (members.iter())
                    .map(|(_, kind)| self.bits(kind))
                    .max()
                    .unwrap_or(0),
            },
        }
    }

    /// Returns whether some bit patterns are not a valid value, because an enum in the type has fewer names than
    /// codes.
    pub fn partial(&self, kind: &Type) -> bool {
        match kind {
            Type::Bits { .. } => false,
            Type::Array { element, .. } => self.partial(element),
            Type::Named(index) => match &self.named[*index].kind {
                Kind::Enum { width, items, .. } => {
                    *width >= 32 || (items.len() as u64) < 1 << *width
                }
                Kind::Struct(members) => members.iter().any(|(_, kind)| self.partial(kind)),
                Kind::Union(_) => false,
            },
        }
    }
}

#[cfg(test)]
mod tests;
