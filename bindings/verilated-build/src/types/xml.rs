//! Reads the table of types that `--xml-only` writes.
//!
//! References in the XML skip the names of types: a member declared as `status_e status` refers to the bits
//! underlying `status_e`. The enum is recovered from positions in the source: the last type named before a member is
//! the member's type.

use std::collections::BTreeMap;

use roxmltree::{Document, Node as Element, ParsingOptions};

use super::raw::{Member, Module, Node, Place, Raw, Scope, Shape, Var, last_name};

pub(super) fn read(text: &str) -> Result<Raw, String> {
    let options = ParsingOptions {
        nodes_limit: u32::MAX,
        ..ParsingOptions::default()
    };
    let document =
        Document::parse_with_options(text, options).map_err(|error| error.to_string())?;
    let mut raw = Raw::default();
    let mut uses = Uses::default();
    let child = |name: &str| {
        (document.root_element().children()).find(|element| element.has_tag_name(name))
    };
    for file in child("files").iter().flat_map(|files| files.children()) {
        if let (Some(id), Some(name)) = (file.attribute("id"), file.attribute("filename")) {
            raw.files.insert(id.to_owned(), name.to_owned());
        }
    }
    let netlist = child("netlist").ok_or("there is no <netlist>")?;
    for element in netlist.children().filter(Element::is_element) {
        match element.tag_name().name() {
            "typetable" => {
                for kind in element.children().filter(Element::is_element) {
                    node(kind, &mut raw, &mut uses)?;
                }
            }
            "package" => raw.packages.push(module(element, &mut uses)?),
            "module" => {
                if element.attribute("topModule") == Some("1") {
                    raw.top = module(element, &mut uses)?;
                }
                let mut scope = Scope::default();
                declared(element, "", &mut scope);
                raw.scopes.insert(attribute(element, "name")?, scope);
            }
            _ => {}
        }
    }
    if raw.nodes.is_empty() {
        return Err("there is no <typetable>".to_owned());
    }
    uses.restore(&mut raw);
    Ok(raw)
}

fn attribute(element: Element, name: &str) -> Result<String, String> {
    let missing = || format!("<{}> has no `{name}`", element.tag_name().name());
    element
        .attribute(name)
        .map(str::to_owned)
        .ok_or_else(missing)
}

/// Parses a place: `l,155,18,155,24` is the file's letter, line and column of the start, then of the end.
fn place(element: Element) -> Result<Place, String> {
    let text = attribute(element, "loc")?;
    let mut parts = text.split(',');
    let file = parts.next().unwrap_or_default().to_owned();
    let mut number = || parts.next().and_then(|part| part.parse().ok());
    match (number(), number()) {
        (Some(line), Some(column)) => Ok(Place { file, line, column }),
        _ => Err(format!("`loc` is `{text}`")),
    }
}

/// Adds what a module, or a generate block of one, declares.
fn declared(of: Element, blocks: &str, found: &mut Scope) {
    for item in of.children().filter(Element::is_element) {
        let named = |key| item.attribute(key).unwrap_or_default();
        let name = || format!("{blocks}{}", named("name"));
        match item.tag_name().name() {
            "var" if !(item.has_attribute("param") || item.has_attribute("localparam")) => {
                (found.signals).push((name(), named("dtype_id").to_owned()));
            }
            "instance" => (found.instances).push((name(), named("defName").to_owned())),
            "begin" => declared(item, &format!("{}.", name()), found),
            _ => {}
        }
    }
}

fn elements<'a>(of: Element<'a, 'a>, name: &'static str) -> impl Iterator<Item = Element<'a, 'a>> {
    of.children().filter(move |child| child.has_tag_name(name))
}

fn module(element: Element, uses: &mut Uses) -> Result<Module, String> {
    let mut module = Module {
        name: attribute(element, "name")?,
        place: place(element)?,
        vars: Vec::new(),
    };
    for alias in elements(element, "typedef") {
        uses.typedefs
            .push((attribute(alias, "name")?, place(alias)?));
    }
    for var in elements(element, "var") {
        let port = var.attribute("dir").map(str::to_owned);
        if port.is_some()
            || var.attribute("param").is_some()
            || var.attribute("localparam").is_some()
        {
            let value = elements(var, "const").next();
            let name = attribute(var, "name")?;
            let key = (module.name.clone(), name.clone());
            (uses.declared).insert(key, var.attribute("vartype").unwrap_or("").to_owned());
            module.vars.push(Var {
                name,
                place: place(var)?,
                target: attribute(var, "dtype_id")?,
                port,
                value: value.and_then(|value| value.attribute("name").map(str::to_owned)),
            });
        }
    }
    Ok(module)
}

fn node(element: Element, raw: &mut Raw, uses: &mut Uses) -> Result<(), String> {
    let members = || -> Result<Vec<Member>, String> {
        elements(element, "memberdtype")
            .map(|member| {
                Ok(Member {
                    name: attribute(member, "name")?,
                    target: attribute(member, "sub_dtype_id")?,
                    place: place(member)?,
                })
            })
            .collect()
    };
    let place = place(element)?;
    let id = attribute(element, "id")?;
    let name = element.attribute("name").unwrap_or_default();
    let bound = |name| (element.attribute(name)).and_then(|text| text.parse::<i64>().ok());
    let shape = match element.tag_name().name() {
        "basicdtype" => match (bound("left"), bound("right")) {
            (Some(left), Some(right)) => Shape::Bits {
                left,
                right,
                signed: element.attribute("signed") == Some("true"),
            },
            _ if matches!(name, "logic" | "bit") => Shape::Bits {
                left: 0,
                right: 0,
                signed: element.attribute("signed") == Some("true"),
            },
            _ => Shape::Other,
        },
        "refdtype" => Shape::Ref,
        "enumdtype" => Shape::Enum(
            elements(element, "enumitem")
                .map(|item| {
                    let value = elements(item, "const").next();
                    let value = value.ok_or("an <enumitem> has no <const>")?;
                    Ok((attribute(item, "name")?, attribute(value, "name")?))
                })
                .collect::<Result<_, String>>()?,
        ),
        "structdtype" => Shape::Struct(members()?),
        "uniondtype" => Shape::Union(members()?),
        "packarraydtype" => {
            let range = elements(element, "range").next();
            let bounds: Vec<i64> = range
                .iter()
                .flat_map(|range| range.children())
                .filter_map(|bound| super::raw::constant(bound.attribute("name")?))
                .filter_map(|words| words.first().map(|word| i64::from(*word as i32)))
                .collect();
            match bounds[..] {
                [left, right] => Shape::Packed(left, right),
                _ => {
                    return Err(format!(
                        "<packarraydtype> `{id}` has no range of two bounds"
                    ));
                }
            }
        }
        "unpackarraydtype" => Shape::Unpacked,
        _ => Shape::Other,
    };
    if matches!(shape, Shape::Ref | Shape::Bits { .. }) {
        uses.named.insert(place.clone(), id.clone());
    }
    raw.nodes.insert(
        id,
        Node {
            name: name.to_owned(),
            place,
            target: element.attribute("sub_dtype_id").map(str::to_owned),
            shape,
        },
    );
    Ok(())
}

/// The places where types are named.
#[derive(Default)]
struct Uses {
    /// Nodes of type names and of plain bits, by position.
    named: BTreeMap<Place, String>,
    typedefs: Vec<(String, Place)>,
    /// Names of the types of ports and parameters, by module and variable name. Arrays have none.
    declared: BTreeMap<(String, String), String>,
}

impl Uses {
    /// Makes everything that was declared with an enum refer to that enum again.
    fn restore(&self, raw: &mut Raw) {
        let mut found: Vec<(String, Option<usize>, String)> = Vec::new();
        for (id, node) in &raw.nodes {
            match &node.shape {
                Shape::Struct(members) | Shape::Union(members) => {
                    for (at, member) in members.iter().enumerate() {
                        let named = self.before(&member.place);
                        let to = (named.zip(Some(&member.target)))
                            .and_then(|(named, bits)| self.behind(raw, named, bits, &node.name));
                        found.extend(to.map(|to| (id.clone(), Some(at), to)));
                    }
                }
                Shape::Packed(..) => {
                    let named = (self.before(&node.place))
                        .filter(|named| raw.nodes[*named].place.line == node.place.line);
                    let to = (named.zip(node.target.as_ref()))
                        .and_then(|(named, bits)| self.behind(raw, named, bits, ""));
                    found.extend(to.map(|to| (id.clone(), None, to)));
                }
                _ => {}
            }
        }
        for (id, member, to) in found {
            let Some(node) = raw.nodes.get_mut(&id) else {
                continue;
            };
            match (member, &mut node.shape) {
                (Some(at), Shape::Struct(members) | Shape::Union(members)) => {
                    members[at].target = to;
                }
                _ => node.target = Some(to),
            }
        }
        let mut modules = std::mem::take(&mut raw.packages);
        modules.push(std::mem::take(&mut raw.top));
        for module in &mut modules {
            for var in &mut module.vars {
                let name = &self.declared[&(module.name.clone(), var.name.clone())];
                if let Some(id) = self.called(raw, name, &var.target, &module.name) {
                    var.target = id;
                }
            }
        }
        raw.top = modules.pop().unwrap_or_default();
        raw.packages = modules;
    }

    /// Returns the last node before a place in the same file.
    fn before(&self, place: &Place) -> Option<&String> {
        let (at, id) = self.named.range(..place.clone()).next_back()?;
        (at.file == place.file).then_some(id)
    }

    /// Returns the enum that a node names, given that its bits are node `bits`. `user` is the type that uses it.
    fn behind(&self, raw: &Raw, named: &str, bits: &str, user: &str) -> Option<String> {
        let node = &raw.nodes[named];
        match node.shape {
            Shape::Ref => self.called(raw, &node.name, bits, user),
            // The bits of an enum without a name.
            _ if named == bits => raw.nodes.iter().find_map(|(id, node)| {
                let nameless = node.name.is_empty() && matches!(node.shape, Shape::Enum(_));
                (nameless && node.target.as_deref() == Some(bits)).then(|| id.clone())
            }),
            _ => None,
        }
    }

    /// Returns the enum with this name, or the enum that this name is a typedef of. If several have the name, the one
    /// in the user's own package or module is returned.
    fn called(&self, raw: &Raw, name: &str, bits: &str, user: &str) -> Option<String> {
        let enums: Vec<_> = (raw.nodes.iter())
            .filter(|(_, node)| {
                matches!(node.shape, Shape::Enum(_))
                    && last_name(&node.name) == name
                    && node.target.as_deref() == Some(bits)
            })
            .collect();
        let scope = |name: &str| name.split([':', '.']).next().unwrap_or("").to_owned();
        let own = (enums.iter()).find(|(_, node)| scope(&node.name) == scope(user));
        if let Some((id, _)) = own.or(enums.first()) {
            return Some((*id).clone());
        }
        let (_, place) = (self.typedefs.iter()).find(|(alias, _)| alias == name)?;
        let node = &raw.nodes[self.before(place)?];
        let alias = node.shape == Shape::Ref && node.place.line == place.line && node.name != name;
        alias.then(|| self.called(raw, &node.name, bits, user))?
    }
}
