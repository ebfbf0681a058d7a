//! A table of types as Verilator writes it: nodes that refer to each other by identifiers. Both readers produce one.

use std::collections::BTreeMap;

use crate::ports::Direction;

use super::{Constant, Kind, Named, Package, Table, Type, shapes};

/// A position in the source. Positions are ordered within a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Verilator's letter for the file.
    pub file: String,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Left and right index.
    Bits {
        left: i64,
        right: i64,
        signed: bool,
    },
    /// Another name for the type `target`.
    Ref,
    /// Names and constants; `target` is the underlying type.
    Enum(Vec<(String, String)>),
    Struct(Vec<Member>),
    Union(Vec<Member>),
    /// Left and right index; `target` is the type of an element.
    Packed(i64, i64),
    /// `target` is the type of an element.
    Unpacked,
    /// A type without bits: strings, reals, classes.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub name: String,
    pub target: String,
    pub place: Place,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Name with its package and `::`, or with its module and `.`; empty for a type without a name.
    pub name: String,
    pub place: Place,
    pub target: Option<String>,
    pub shape: Shape,
}

/// A port or a parameter.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub name: String,
    pub place: Place,
    pub target: String,
    /// The direction as written, if it is a port: `input`, `output`, `inout`.
    pub port: Option<String>,
    /// A parameter's value, if it is a single constant: `8'h3f`.
    pub value: Option<String>,
}

/// What a module declares, in its generate blocks too.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Signals and their types; before the name, the blocks around it with dots between.
    pub signals: Vec<(String, String)>,
    /// Instances and their modules, named as signals are.
    pub instances: Vec<(String, String)>,
}

/// A package or the top.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    pub name: String,
    pub place: Place,
    pub vars: Vec<Var>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Raw {
    /// File names by letter.
    pub files: BTreeMap<String, String>,
    pub nodes: BTreeMap<String, Node>,
    pub packages: Vec<Module>,
    pub top: Module,
    /// The modules of the design by name, the top among them.
    pub scopes: BTreeMap<String, Scope>,
}

impl Raw {
    /// Resolves all references.
    pub fn resolve(self) -> Result<Table, String> {
        let mut resolver = Resolver {
            raw: &self,
            table: Table::default(),
            known: BTreeMap::new(),
        };
        for (id, node) in &self.nodes {
            if node.name.contains("::") && package_of(&node.name).is_some() {
                resolver.of_node(id, &Hint::default())?;
            }
        }
        for package in &self.packages {
            let constants = resolver.constants(package)?;
            resolver.table.packages.push(Package {
                name: package.name.clone(),
                file: self.file(&package.place),
                constants,
            });
        }
        resolver.table.parameters = resolver.constants(&self.top)?;
        for var in &self.top.vars {
            let Some(direction) = &var.port else {
                continue;
            };
            let direction = match direction.as_str() {
                "input" => Some(Direction::In),
                "output" => Some(Direction::Out),
                _ => None,
            };
            (resolver.table.directions).push((var.name.clone(), direction));
            if let Some(kind) = resolver.of_id(&var.target, &Hint::default())? {
                resolver.table.ports.push((var.name.clone(), kind));
            }
        }
        resolver.table.shapes = shapes::text(&self);
        Ok(resolver.table)
    }

    fn file(&self, place: &Place) -> String {
        self.files.get(&place.file).cloned().unwrap_or_default()
    }
}

/// Returns the package of a name: `gbn_pkg::work_t` → `gbn_pkg`. Verilator puts types outside of packages into one
/// called `$unit`. Types in classes have no package here.
fn package_of(name: &str) -> Option<&str> {
    let (package, rest) = name.split_once("::")?;
    (!rest.contains("::") && package != "std").then_some(package)
}

/// Package and name for a type that has no name: those of the struct and the member that use it.
#[derive(Clone, Default)]
struct Hint {
    package: Option<String>,
    name: String,
}

impl Hint {
    fn or(&self, node: &Node) -> Hint {
        match last_name(&node.name) {
            "" => self.clone(),
            name => Hint {
                package: package_of(&node.name).map(str::to_owned),
                name: name.to_owned(),
            },
        }
    }
}

struct Resolver<'a> {
    raw: &'a Raw,
    table: Table,
    /// Indices into `table.named`, by node.
    known: BTreeMap<String, usize>,
}

impl Resolver<'_> {
    fn constants(&mut self, module: &Module) -> Result<Vec<Constant>, String> {
        let mut constants = Vec::new();
        for var in module.vars.iter().filter(|var| var.port.is_none()) {
            let Some(value) = var.value.as_deref().and_then(constant) else {
                continue;
            };
            if self.is_unpacked(&var.target) {
                continue;
            }
            if let Some(kind) = self.of_id(&var.target, &Hint::default())? {
                constants.push(Constant {
                    name: var.name.clone(),
                    place: format!("{}:{}", self.raw.file(&var.place), var.place.line),
                    kind,
                    value,
                });
            }
        }
        Ok(constants)
    }

    fn is_unpacked(&self, id: &str) -> bool {
        (self.raw.nodes.get(id)).is_some_and(|node| node.shape == Shape::Unpacked)
    }

    /// Returns the type with an identifier, or `None` if it has no bits. `hint` names a type that has no name.
    fn of_id(&mut self, id: &str, hint: &Hint) -> Result<Option<Type>, String> {
        match self.raw.nodes.get(id) {
            Some(_) => self.of_node(id, hint),
            None => Err(format!(
                "type `{id}` is referred to and not in the type table"
            )),
        }
    }

    fn of_node(&mut self, id: &str, hint: &Hint) -> Result<Option<Type>, String> {
        if let Some(index) = self.known.get(id) {
            return Ok(Some(Type::Named(*index)));
        }
        let node = &self.raw.nodes[id];
        let target = |this: &mut Self| match &node.target {
            Some(target) if target != id => this.of_id(target, hint),
            _ => Ok(None),
        };
        let kind = match &node.shape {
            Shape::Other => return Ok(None),
            Shape::Bits {
                left,
                right,
                signed,
            } => {
                return Ok(Some(Type::Bits {
                    width: (left.abs_diff(*right) + 1) as u32,
                    signed: *signed,
                }));
            }
            Shape::Ref | Shape::Unpacked => return target(self),
            Shape::Packed(left, right) => {
                let length = u32::try_from(left.abs_diff(*right) + 1)
                    .map_err(|_| format!("an array of [{left}:{right}]"))?;
                return Ok(target(self)?.map(|element| Type::Array {
                    element: Box::new(element),
                    length,
                    ascending: left < right,
                }));
            }
            Shape::Enum(items) => {
                let Some(Type::Bits { width, signed }) = target(self)? else {
                    return Ok(None);
                };
                if width > 64 {
                    return Ok(Some(Type::Bits { width, signed }));
                }
                let items = items
                    .iter()
                    .map(|(name, value)| {
                        let words = constant(value)
                            .ok_or_else(|| format!("enum item `{name}` is `{value}`"))?;
                        let code = (words.iter().rev())
                            .fold(0, |code, word| code << 32 | u128::from(*word));
                        Ok((name.clone(), code & (u128::MAX >> (128 - width))))
                    })
                    .collect::<Result<_, String>>()?;
                Kind::Enum {
                    width,
                    signed,
                    items,
                }
            }
            Shape::Struct(members) | Shape::Union(members) => {
                let own = hint.or(node);
                let mut resolved = Vec::new();
                for member in members {
                    let hint = Hint {
                        package: own.package.clone(),
                        name: format!("{}_{}", bare_name(&own.name), member.name),
                    };
                    // An unpacked struct may have members without bits. No port has such a type.
                    let unpacked = self.is_unpacked(&member.target);
                    let Some(kind) = self.of_id(&member.target, &hint)?.filter(|_| !unpacked)
                    else {
                        return Ok(None);
                    };
                    resolved.push((member.name.clone(), kind));
                }
                match node.shape {
                    Shape::Struct(_) => Kind::Struct(resolved),
                    _ => Kind::Union(resolved),
                }
            }
        };
        let own = hint.or(node);
        let named = Named {
            package: own.package,
            name: own.name,
            file: self.raw.file(&node.place),
            line: node.place.line,
            kind,
        };
        self.table.named.push(named);
        let index = self.table.named.len() - 1;
        self.known.insert(id.to_owned(), index);
        Ok(Some(Type::Named(index)))
    }
}

/// Returns the name without its scope: `gbn_pkg::work_t`, `nic.slot_t` → `work_t`, `slot_t`.
pub(super) fn last_name(name: &str) -> &str {
    name.rsplit([':', '.']).next().unwrap_or(name)
}

/// Returns the name without its suffix: `work_t`, `status_e` → `work`, `status`.
pub(super) fn bare_name(name: &str) -> &str {
    (name.strip_suffix("_t"))
        .or(name.strip_suffix("_e"))
        .filter(|bare| !bare.is_empty())
        .unwrap_or(name)
}

/// Parses a constant into words, the least significant first: `8'h3f`, `32'shffff_fffb`, `4'b01`. Returns `None` for
/// strings, reals, and bits that are `x` or `z`.
pub(super) fn constant(text: &str) -> Option<Vec<u32>> {
    let (width, rest) = text.split_once('\'')?;
    let width: usize = width.parse().ok()?;
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    let (bits_a_digit, digits) = match rest.split_at_checked(1)? {
        ("h", digits) => (4, digits),
        ("o", digits) => (3, digits),
        ("b", digits) => (1, digits),
        ("d", digits) => {
            let value: u128 = digits.parse().ok()?;
            let words = (0..4).map(|word| (value >> (32 * word)) as u32);
            return Some(words.take(width.div_ceil(32)).collect());
        }
        _ => return None,
    };
    let mut words = vec![0u32; width.div_ceil(32)];
    for (at, digit) in digits
        .chars()
        .rev()
        .filter(|digit| *digit != '_')
        .enumerate()
    {
        let digit = digit.to_digit(1 << bits_a_digit)?;
        for bit in 0..bits_a_digit {
            let to = at * bits_a_digit + bit;
            if digit >> bit & 1 == 1 {
                *words.get_mut(to / 32)? |= 1 << (to % 32);
            }
        }
    }
    Some(words)
}
