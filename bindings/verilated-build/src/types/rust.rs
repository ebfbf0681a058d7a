//! Writes types as Rust: structs, enums, constants, and the methods of `In` and `Out` that read and set ports of
//! these types.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::raw::bare_name;
use super::{Constant, Kind, Named, Package, Table, Type};
use crate::names;
use crate::ports::Port;

/// The packages of a crate. Each is written once.
#[derive(Default)]
pub(crate) struct Packages {
    written: BTreeMap<String, String>,
}

impl Packages {
    /// Adds the packages of a top. Returns the code that brings their modules into the top's own module.
    ///
    /// This is normally a `use` of the shared modules. If a macro of this top changes one of its packages, so that it
    /// differs from the same package in an earlier top, it is the text of all of the top's package modules.
    pub fn add(&mut self, table: &Table) -> String {
        let texts: Vec<(String, String)> = (table.packages.iter())
            .map(|package| (package.name.clone(), package_module(table, package)))
            .filter(|(_, text)| !text.is_empty())
            .collect();
        let differs = |(name, text): &(String, String)| {
            (self.written.get(name)).is_some_and(|before| before != text)
        };
        if texts.iter().any(differs) {
            return texts.into_iter().map(|(_, text)| text).collect();
        }
        let modules: String = texts
            .iter()
            .map(|(name, _)| format!("{}, ", module_name(name)))
            .collect();
        self.written.extend(texts);
        format!("#[allow(unused_imports)]\nuse super::{{{modules}}};\n")
    }

    /// Returns the text of all package modules.
    pub fn text(&self) -> String {
        self.written.values().map(String::as_str).collect()
    }
}

impl Table {
    /// Returns the names of the packages' modules.
    pub fn modules(&self) -> impl Iterator<Item = String> {
        (self.packages.iter()).map(|package| module_name(&package.name))
    }
}

fn module_name(package: &str) -> String {
    names::field(package.trim_start_matches('$'))
}

fn package_module(table: &Table, package: &Package) -> String {
    let types: Vec<&Named> = (table.named.iter())
        .filter(|named| named.package.as_deref() == Some(&package.name))
        .collect();
    if types.is_empty() && package.constants.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "/// The types and constants of `{}`, `{}`.\n#[allow(clippy::all, non_camel_case_types)]\npub mod {} {{\n",
        package.name,
        package.file,
        module_name(&package.name)
    );
    let scope = Scope {
        table,
        package: Some(&package.name),
    };
    scope.constants(&mut text, &package.constants);
    scope.types(&mut text);
    text.push_str("}\n\n");
    text
}

/// Returns the parameters of a top as constants, for its module.
pub(crate) fn constants(table: &Table) -> String {
    let mut text = String::new();
    Scope::of_top(table).constants(&mut text, &table.parameters);
    text
}

/// Returns the types of a top's ports that are declared in no package, for its module.
pub(crate) fn local_types(table: &Table) -> String {
    let mut text = String::new();
    Scope::of_top(table).types(&mut text);
    text
}

/// Returns the methods of `In` or `Out` for the ports whose types are more than plain bits.
pub(crate) fn accessors(table: &Table, name: &str, ports: &[&Port]) -> String {
    let scope = Scope::of_top(table);
    let mut text = String::new();
    for port in ports {
        let kind = (table.ports.iter()).find(|(name, _)| *name == port.name);
        let Some((_, kind)) = kind.filter(|(_, kind)| !matches!(kind, Type::Bits { .. })) else {
            continue;
        };
        scope.accessor(&mut text, port, kind);
    }
    if text.is_empty() {
        return text;
    }
    format!("    #[allow(clippy::all)]\n    impl {name} {{\n{text}    }}\n\n")
}

/// The place where text is written: a package's module or a top's.
struct Scope<'a> {
    table: &'a Table,
    package: Option<&'a str>,
}

impl<'a> Scope<'a> {
    fn of_top(table: &'a Table) -> Self {
        Self {
            table,
            package: None,
        }
    }

    /// Returns the types of this scope, in the order of the source.
    fn members(&self) -> Vec<(usize, &Named)> {
        let mut members: Vec<(usize, &Named)> = (self.table.named.iter().enumerate())
            .filter(|(_, named)| named.package.as_deref() == self.package)
            .collect();
        members.sort_by_key(|(_, named)| (&named.file, named.line, &named.name));
        members
    }

    /// Returns the type's name in Rust, without `_t` and `_e`. If two types would then have the same name, a struct
    /// takes precedence over an enum.
    fn name(&self, index: usize) -> String {
        let short = |named: &Named| type_name(bare_name(&named.name));
        let named = &self.table.named[index];
        let enumeration = |named: &Named| matches!(named.kind, Kind::Enum { .. });
        let twin = |other: &Named| {
            other.package == named.package
                && other.name != named.name
                && short(other) == short(named)
                && (enumeration(named) || !enumeration(other))
        };
        if self.table.named.iter().any(twin) {
            type_name(&named.name)
        } else {
            short(named)
        }
    }

    fn path(&self, index: usize) -> String {
        let name = self.name(index);
        match &self.table.named[index].package {
            Some(package) if self.package == Some(package) => name,
            Some(package) => {
                let up = if self.package.is_some() {
                    "super::"
                } else {
                    ""
                };
                format!("{up}{}::{name}", module_name(package))
            }
            None => name,
        }
    }

    /// Returns the type in Rust.
    fn rust(&self, kind: &Type) -> String {
        match kind {
            Type::Bits { width, signed } => bits_type(*width, *signed),
            Type::Named(index) => self.path(*index),
            Type::Array {
                element, length, ..
            } => format!("[{}; {length}]", self.rust(element)),
        }
    }

    /// Returns the type's name for messages and documentation.
    fn source(&self, kind: &Type) -> String {
        match kind {
            Type::Bits { width: 1, .. } => "1 bit".to_owned(),
            Type::Bits { width, signed } => {
                format!("{width} bits{}", if *signed { ", signed" } else { "" })
            }
            Type::Named(index) => format!(
                "[`{}`]({})",
                self.table.named[*index].name,
                self.path(*index)
            ),
            Type::Array {
                element, length, ..
            } => format!("{length} × {}", self.source(element)),
        }
    }

    fn error(&self, kind: &Type) -> &'static str {
        if self.table.partial(kind) {
            "::verilated::BadEnum"
        } else {
            "::core::convert::Infallible"
        }
    }

    /// Returns an expression that reads a value from `port`, starting at bit `at`. It is a `Result` if reading the
    /// type can fail.
    fn get(&self, kind: &Type, at: &str, depth: u32) -> String {
        match kind {
            Type::Bits { width: 1, .. } => format!("::verilated::packed::bits(port, {at}, 1) != 0"),
            Type::Bits { width, signed } => {
                let (from, to) = (
                    match (*width, *signed) {
                        (0..=64, false) => "bits",
                        (0..=64, true) => "signed_bits",
                        (..=128, false) => "wide",
                        (..=128, true) => "signed_wide",
                        _ => "words",
                    },
                    bits_type(*width, *signed),
                );
                let read = format!("::verilated::packed::{from}(port, {at}, {width})");
                if *width <= 64 {
                    format!("{read} as {to}")
                } else {
                    read
                }
            }
            Type::Named(index) => {
                let read = format!(
                    "<{} as ::verilated::Packed>::get(port, {at})",
                    self.path(*index)
                );
                if self.table.partial(kind) {
                    read
                } else {
                    format!("::verilated::packed::sure({read})")
                }
            }
            Type::Array {
                element,
                length,
                ascending,
            } => {
                let index = format!("i{depth}");
                let place =
                    element_place(at, &index, self.table.bits(element), *length, *ascending);
                let read = self.get(element, &place, depth + 1);
                let array = if self.table.partial(element) {
                    "try_array"
                } else {
                    "array"
                };
                format!("::verilated::packed::{array}(#[inline(always)] |{index}| {read})")
            }
        }
    }

    /// Returns a statement that writes `value` to `port`, starting at bit `at`. `what` is the name used in a panic.
    fn set(&self, kind: &Type, value: &str, at: &str, what: &str, depth: u32) -> String {
        match kind {
            Type::Bits { width: 1, .. } => {
                format!("::verilated::packed::put(port, {at}, 1, u64::from({value}), {what:?});")
            }
            Type::Bits { width, signed } => match (*width, *signed) {
                (0..=64, false) => {
                    format!(
                        "::verilated::packed::put(port, {at}, {width}, u64::from({value}), {what:?});"
                    )
                }
                (0..=64, true) => {
                    format!(
                        "::verilated::packed::put_signed(port, {at}, {width}, i64::from({value}), {what:?});"
                    )
                }
                (..=128, false) => {
                    format!(
                        "::verilated::packed::put_wide(port, {at}, {width}, {value}, {what:?});"
                    )
                }
                (..=128, true) => {
                    format!(
                        "::verilated::packed::put_signed_wide(port, {at}, {width}, {value}, {what:?});"
                    )
                }
                _ => format!(
                    "::verilated::packed::put_words(port, {at}, {width}, &{value}, {what:?});"
                ),
            },
            Type::Named(_) => format!("::verilated::Packed::set(&{value}, port, {at});"),
            Type::Array {
                element,
                length,
                ascending,
            } => {
                let index = format!("i{depth}");
                let place =
                    element_place(at, &index, self.table.bits(element), *length, *ascending);
                let value = format!("{value}[{index} as usize]");
                let set = self.set(element, &value, &place, what, depth + 1);
                format!("for {index} in 0..{length}u32 {{ {set} }}")
            }
        }
    }

    /// Returns the value as a literal, or `None` if it has a code that its enum has no name for.
    fn literal(&self, kind: &Type, value: &[u32], low: u32) -> Option<String> {
        Some(match kind {
            Type::Bits { width: 1, .. } => (bit_field(value, low, 1) == 1).to_string(),
            Type::Bits { width, .. } if *width > 128 => {
                let words: Vec<String> = (0..*width)
                    .step_by(32)
                    .map(|at| format!("0x{:x}", bit_field(value, low + at, 32.min(width - at))))
                    .collect();
                format!("[{}]", words.join(", "))
            }
            Type::Bits { width, signed } => {
                let value = bit_field(value, low, *width);
                match signed {
                    true => signed_value(value, *width).to_string(),
                    false if value > 0xffff => format!("0x{value:x}"),
                    false => value.to_string(),
                }
            }
            Type::Array {
                element,
                length,
                ascending,
            } => {
                let width = self.table.bits(element);
                let elements: Option<Vec<String>> = (0..*length)
                    .map(|at| if *ascending { length - 1 - at } else { at })
                    .map(|at| self.literal(element, value, low + at * width))
                    .collect();
                format!("[{}]", elements?.join(", "))
            }
            Type::Named(index) => {
                let path = self.path(*index);
                match &self.table.named[*index].kind {
                    Kind::Enum { width, items, .. } => {
                        let code = bit_field(value, low, *width);
                        let (name, _) = items.iter().find(|(_, item)| *item == code)?;
                        format!("{path}::{}", names::field(name))
                    }
                    Kind::Union(_) => {
                        let width = self.table.bits(kind);
                        let bits = Type::Bits {
                            width: width.max(2),
                            signed: false,
                        };
                        format!("{path}({})", self.literal(&bits, value, low)?)
                    }
                    Kind::Struct(members) => {
                        let mut at = low + self.table.bits(kind);
                        let mut text = format!("{path} {{ ");
                        for (name, kind) in members {
                            at -= self.table.bits(kind);
                            let value = self.literal(kind, value, at)?;
                            let _ = write!(text, "{}: {value}, ", names::field(name));
                        }
                        text + "}"
                    }
                }
            }
        })
    }

    /// Returns a type's default: all bits 0, and for an enum without the code 0 its first item.
    fn default(&self, kind: &Type) -> String {
        match kind {
            Type::Named(index) => match &self.table.named[*index].kind {
                Kind::Enum { items, .. } => {
                    let zero = items.iter().find(|(_, code)| *code == 0);
                    let name = zero.or(items.first()).map_or("", |(name, _)| name);
                    format!("{}::{}", self.path(*index), names::field(name))
                }
                Kind::Struct(members) => {
                    let members: Vec<String> = (members.iter())
                        .map(|(name, kind)| {
                            format!("{}: {}", names::field(name), self.default(kind))
                        })
                        .collect();
                    format!("{} {{ {} }}", self.path(*index), members.join(", "))
                }
                Kind::Union(_) => self.literal(kind, &[], 0).unwrap_or_default(),
            },
            Type::Array {
                element, length, ..
            } => format!("[{}; {length}]", self.default(element)),
            Type::Bits { .. } => self.literal(kind, &[], 0).unwrap_or_default(),
        }
    }

    fn constants(&self, text: &mut String, constants: &[Constant]) {
        let mut used: Vec<String> = Vec::new();
        for constant in constants {
            // No Rust type can hold a code that its enum has no name for.
            let Some(value) = self.literal(&constant.kind, &constant.value, 0) else {
                continue;
            };
            let mut name = names::snake(&constant.name).to_ascii_uppercase();
            name = names::field(&name).trim_start_matches("r#").to_owned();
            while used.contains(&name) {
                name.push('_');
            }
            let _ = writeln!(
                text,
                "    /// `{}`, `{}`: {}.\n    pub const {name}: {} = {value};",
                constant.name,
                constant.place,
                self.source(&constant.kind),
                self.rust(&constant.kind),
            );
            used.push(name);
        }
    }

    fn types(&self, text: &mut String) {
        for (index, named) in self.members() {
            let kind = Type::Named(index);
            let name = self.name(index);
            let bits = self.table.bits(&kind);
            let _ = writeln!(
                text,
                "\n    /// `{}`, `{}:{}`: {bits} bits.",
                named.name, named.file, named.line
            );
            match &named.kind {
                Kind::Enum {
                    width,
                    signed,
                    items,
                } => self.enumeration(text, named, &name, (*width, *signed), items),
                Kind::Struct(members) => self.structure(text, named, index, members),
                Kind::Union(members) => self.union(text, named, &name, bits, members),
            }
            let _ = writeln!(
                text,
                "    impl ::core::default::Default for {name} {{\n        \
                 /// All bits 0; of an enum without a name for 0, the first one.\n        \
                 fn default() -> {name} {{\n            {}\n        }}\n    }}",
                self.default(&kind)
            );
        }
    }

    fn enumeration(
        &self,
        text: &mut String,
        named: &Named,
        name: &str,
        (width, signed): (u32, bool),
        items: &[(String, u128)],
    ) {
        let repr = bits_type(width.max(2), signed);
        let value = |code: u128| match signed {
            true => signed_value(code, width),
            false => code as i128,
        };
        let _ = writeln!(
            text,
            "    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n    #[repr({repr})]\n    pub enum {name} {{"
        );
        for (item, code) in items {
            let _ = writeln!(
                text,
                "        /// `{item}`\n        {} = {},",
                names::field(item),
                value(*code)
            );
        }
        let _ = writeln!(
            text,
            "    }}\n    impl {name} {{\n        /// All of them, in the order of the source.\n        pub const ALL: [{name}; {}] = [{}];\n    }}",
            items.len(),
            items
                .iter()
                .map(|(item, _)| format!("{name}::{}", names::field(item)))
                .collect::<Vec<_>>()
                .join(", ")
        );
        let kind = Type::Bits {
            width: width.max(2),
            signed,
        };
        let index = (self.table.named.iter().position(|other| other == named)).unwrap_or_default();
        let error = self.error(&Type::Named(index));
        let arms: String = (items.iter())
            .map(|(item, code)| format!("{} => {name}::{}, ", value(*code), names::field(item)))
            .collect();
        let full = format!("{}::{}", named.package.as_deref().unwrap_or(""), named.name);
        let other = if error.ends_with("BadEnum") {
            format!(
                "code => return ::core::result::Result::Err(::verilated::BadEnum {{ name: {:?}, code: code as i128 }}),",
                full.trim_start_matches(':')
            )
        } else {
            "_ => ::core::unreachable!(\"every code has a name\"),".to_owned()
        };
        let read = match kind {
            Type::Bits { width: w, .. } if w != width => {
                format!("::verilated::packed::bits(port, low, {width}) as {repr}")
            }
            _ => self.get(&kind, "low", 0),
        };
        let put = if signed { "put_signed" } else { "put" };
        let as_wide = if signed { "i64" } else { "u64" };
        packed(
            text,
            name,
            width,
            error,
            &format!("::core::result::Result::Ok(match {read} {{ {arms}{other} }})"),
            &format!(
                "::verilated::packed::{put}(port, low, {width}, *self as {as_wide}, {full:?});"
            ),
        );
    }

    fn structure(
        &self,
        text: &mut String,
        named: &Named,
        index: usize,
        members: &[(String, Type)],
    ) {
        let name = self.name(index);
        let kind = Type::Named(index);
        let bits = self.table.bits(&kind);
        let _ = writeln!(
            text,
            "    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n    pub struct {name} {{"
        );
        let (mut gets, mut sets, mut enums) = (String::new(), String::new(), String::new());
        let mut at = bits;
        for (member, kind) in members {
            at -= self.table.bits(kind);
            let field = names::field(member);
            let _ = writeln!(
                text,
                "        /// `{member}`: {}.\n        pub {field}: {},",
                self.source(kind),
                self.rust(kind)
            );
            if let Type::Named(index) = kind
                && let Kind::Enum { width, .. } = self.table.named[*index].kind
            {
                let _ = writeln!(
                    enums,
                    "        /// Where `{member}` lies.\n        pub const {}: ::verilated::Member = ::verilated::Member {{ low: {at}, bits: {width} }};",
                    names::snake(member).to_ascii_uppercase()
                );
            }
            let place = format!("low + {at}");
            let question = if self.table.partial(kind) { "?" } else { "" };
            let _ = write!(gets, "{field}: {}{question}, ", self.get(kind, &place, 0));
            let what = format!("{}.{member}", named.name);
            let value = format!("self.{field}");
            let _ = write!(sets, "{} ", self.set(kind, &value, &place, &what, 0));
        }
        text.push_str("    }\n");
        if !enums.is_empty() {
            let _ = writeln!(text, "    impl {name} {{\n{enums}    }}");
        }
        packed(
            text,
            &name,
            bits,
            self.error(&kind),
            &format!("::core::result::Result::Ok({name} {{ {gets}}})"),
            &sets,
        );
    }

    fn union(
        &self,
        text: &mut String,
        named: &Named,
        name: &str,
        bits: u32,
        members: &[(String, Type)],
    ) {
        let carrier = Type::Bits {
            width: bits.max(2),
            signed: false,
        };
        let rust = self.rust(&carrier);
        let port_type = port_type(bits);
        let _ = writeln!(
            text,
            "    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n    pub struct {name}(\n        /// The bits that all members share.\n        pub {rust},\n    );\n    impl {name} {{"
        );
        for (member, kind) in members {
            let field = names::field(member);
            let bare = field.trim_start_matches("r#");
            let rust = self.rust(kind);
            let (result, ok) = match self.table.partial(kind) {
                true => (
                    format!("::core::result::Result<{rust}, ::verilated::BadEnum>"),
                    "",
                ),
                false => (rust.clone(), ""),
            };
            let _ = writeln!(
                text,
                "        /// The bits as `{member}`: {}.\n        #[inline]\n        pub fn {field}(&self) -> {result} {{\n            \
                 let port = &::verilated::Packed::pack::<{port_type}>(self);\n            {ok}{}\n        }}\n        \
                 /// The union whose `{member}` is this.\n        #[inline]\n        #[track_caller]\n        pub fn of_{bare}(value: {rust}) -> {name} {{\n            \
                 let mut bits = <{port_type} as ::verilated::PortBits>::ZERO;\n            let port = &mut bits;\n            {}\n            \
                 ::verilated::packed::sure(::verilated::Packed::unpack(port))\n        }}",
                self.source(kind),
                self.get(kind, "0", 0),
                self.set(kind, "value", "0", &format!("{}.{member}", named.name), 0),
            );
        }
        text.push_str("    }\n");
        let get = match bits {
            1 => format!(
                "::core::result::Result::Ok({name}(::verilated::packed::bits(port, low, 1) as u8))"
            ),
            _ => format!(
                "::core::result::Result::Ok({name}({}))",
                self.get(&carrier, "low", 0)
            ),
        };
        let set = match bits {
            1 => format!(
                "::verilated::packed::put(port, low, 1, u64::from(self.0), {:?});",
                named.name
            ),
            _ => self.set(&carrier, "self.0", "low", &named.name, 0),
        };
        packed(text, name, bits, "::core::convert::Infallible", &get, &set);
    }

    fn accessor(&self, text: &mut String, port: &Port, kind: &Type) {
        let rust = self.rust(kind);
        let field = &port.field;
        let bare = field.trim_start_matches("r#");
        let indices: String = (0..port.dims.len())
            .map(|at| format!(", i{at}: usize"))
            .collect();
        let element: String = (0..port.dims.len()).map(|at| format!("[i{at}]")).collect();
        let (result, partial) = match self.table.partial(kind) {
            true => (
                format!("::core::result::Result<{rust}, ::verilated::BadEnum>"),
                true,
            ),
            false => (rust.clone(), false),
        };
        let errors = if partial {
            "\n        ///\n        /// # Errors\n        ///\n        /// A code that its enum has no name for."
        } else {
            ""
        };
        let depth = port.dims.len() as u32;
        let value = match kind {
            Type::Named(index) if matches!(self.table.named[*index].kind, Kind::Enum { .. }) => {
                ("value", rust.clone())
            }
            _ => ("(*value)", format!("&{rust}")),
        };
        let _ = writeln!(
            text,
            "        /// `{name}` as {source}.{errors}\n        #[inline]\n        pub fn {field}(&self{indices}) -> {result} {{\n            \
             let port = &self.{field}{element};\n            {get}\n        }}\n        \
             /// Puts {source} on `{name}`.\n        ///\n        /// # Panics\n        ///\n        \
             /// If a value has more bits than its member.\n        #[inline]\n        #[track_caller]\n        \
             pub fn set_{bare}(&mut self{indices}, value: {by}) {{\n            \
             let port = &mut self.{field}{element};\n            {set}\n        }}",
            name = port.name,
            source = self.source(kind),
            get = self.get(kind, "0", depth),
            set = self.set(kind, value.0, "0", &port.name, depth),
            by = value.1,
        );
    }
}

/// Writes the implementation of `Packed` for a type.
fn packed(text: &mut String, name: &str, bits: u32, error: &str, get: &str, set: &str) {
    let _ = writeln!(
        text,
        "    impl ::verilated::Packed for {name} {{\n        const BITS: u32 = {bits};\n        type Error = {error};\n        \
         #[inline(always)]\n        fn get<P: ::verilated::PortBits>(port: &P, low: u32) -> ::core::result::Result<{name}, {error}> {{\n            {get}\n        }}\n        \
         #[inline(always)]\n        #[track_caller]\n        fn set<P: ::verilated::PortBits>(&self, port: &mut P, low: u32) {{\n            {set}\n        }}\n    }}"
    );
}

/// Returns the position of element `index` of an array that starts at `at`.
fn element_place(at: &str, index: &str, width: u32, length: u32, ascending: bool) -> String {
    if ascending {
        format!("{at} + {width} * ({} - {index})", length - 1)
    } else {
        format!("{at} + {width} * {index}")
    }
}

fn type_name(name: &str) -> String {
    let name = names::field(&names::upper_camel(name));
    name.trim_start_matches("r#").to_owned()
}

/// Returns the Rust type of plain bits: `bool`, the smallest integer that holds them, or words with the least
/// significant first.
fn bits_type(width: u32, signed: bool) -> String {
    let letter = if signed { 'i' } else { 'u' };
    match width {
        1 => "bool".to_owned(),
        2..=8 => format!("{letter}8"),
        9..=16 => format!("{letter}16"),
        17..=32 => format!("{letter}32"),
        33..=64 => format!("{letter}64"),
        65..=128 => format!("{letter}128"),
        _ => format!("[u32; {}]", width.div_ceil(32)),
    }
}

/// Like [`bits_type`], but returns a type that implements `PortBits`.
fn port_type(width: u32) -> String {
    match width {
        1 => "u8".to_owned(),
        2..=64 => bits_type(width, false),
        _ => format!("[u32; {}]", width.div_ceil(32)),
    }
}

/// Returns bits `low` to `low + width - 1`, at most 128 of them. Bits beyond the words are 0.
fn bit_field(words: &[u32], low: u32, width: u32) -> u128 {
    (0..width).rev().fold(0, |value, at| {
        let at = low + at;
        let word = words.get((at / 32) as usize).copied().unwrap_or(0);
        value << 1 | u128::from(word >> (at % 32) & 1)
    })
}

fn signed_value(value: u128, width: u32) -> i128 {
    (value as i128) << (128 - width) >> (128 - width)
}
