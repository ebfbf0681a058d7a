//! The types of SystemVerilog that a model's ports, packages and parameters have, from Verilator's own type table.
//!
//! [`xml`] and [`json`] read the two forms of that table into a [`raw::Table`], [`raw`] follows its references, and [`rust`] writes
//! what comes of it as Rust.

mod json;
mod raw;
mod rust;
mod xml;

use std::path::Path;

use crate::files::read;
use crate::{Error, Version};

pub(crate) use rust::{Packages, accessors, constants, local_types};

/// The first Verilator whose table is read as JSON. It wrote both forms for some versions, and XML alone before them.
pub(crate) const FIRST_JSON: Version = Version {
    major: 5,
    minor: 36,
};

/// What a signal, a member or a constant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Plain bits, 1 and up.
    Bits { width: u32, signed: bool },
    /// An entry of [`Table::named`].
    Named(usize),
    /// A packed array. Element 0 in Rust is the one with the lowest index in the source.
    Array {
        element: Box<Type>,
        length: u32,
        /// `[0:n]`: the lowest index is in the most significant bits.
        ascending: bool,
    },
}

/// An enum, a packed struct or a packed union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The package, `None` inside of a module.
    pub package: Option<String>,
    /// As in the source. Types without a name are called after the struct and the member they stand in.
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
    /// Members from the most significant bits down.
    Struct(Vec<(String, Type)>),
    Union(Vec<(String, Type)>),
}

/// A parameter with a value of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Constant {
    pub name: String,
    pub place: String,
    pub kind: Type,
    /// 32-bit words, the least significant first.
    pub value: Vec<u32>,
}

/// A package: its constants. Its types are in [`Table::named`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub name: String,
    pub file: String,
    pub constants: Vec<Constant>,
}

/// All that is known of a top's types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub named: Vec<Named>,
    pub packages: Vec<Package>,
    /// The top's parameters and local parameters.
    pub parameters: Vec<Constant>,
    /// The top's ports, without their unpacked dimensions.
    pub ports: Vec<(String, Type)>,
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

    /// Whether some bits are no value of it, because an enum in it has fewer names than codes.
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
