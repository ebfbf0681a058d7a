//! Reads the table of types that `--json-only` writes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::raw::{Member, Module, Node, Place, Raw, Scope, Shape, Var};

/// Reads a table. `meta` is the text of the file that names the source files.
pub(super) fn read(text: &str, meta: &str) -> Result<Raw, String> {
    let tree: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let meta: Value = serde_json::from_str(meta).map_err(|error| error.to_string())?;
    let mut raw = Raw::default();
    let files = meta["files"].as_object().ok_or("there is no `files`")?;
    for (letter, file) in files {
        let name = file["filename"].as_str().unwrap_or_default();
        raw.files.insert(letter.clone(), name.to_owned());
    }
    for table in list(&tree, "miscsp").filter(|misc| misc["type"] == "TYPETABLE") {
        for kind in list(table, "typesp") {
            raw.nodes.insert(text_of(kind, "addr")?, node(kind)?);
        }
    }
    if raw.nodes.is_empty() {
        return Err("there is no TYPETABLE".to_owned());
    }
    for element in list(&tree, "modulesp") {
        match element["type"].as_str() {
            Some("PACKAGE") if element["name"] != "std" => raw.packages.push(module(element)?),
            Some("MODULE") => {
                if element["level"] == 1 {
                    raw.top = module(element)?;
                }
                raw.scopes.insert(text_of(element, "name")?, scope(element));
            }
            _ => {}
        }
    }
    // An instance refers to its module by the identifier of that.
    let names = list(&tree, "modulesp").filter_map(|module| {
        let name = module["name"].as_str()?.to_owned();
        Some((module["addr"].as_str()?.to_owned(), name))
    });
    let names: BTreeMap<String, String> = names.collect();
    for scope in raw.scopes.values_mut() {
        for (_, module) in &mut scope.instances {
            if let Some(name) = names.get(module) {
                module.clone_from(name);
            }
        }
    }
    Ok(raw)
}

/// What a module declares. Instances have the identifiers of their modules.
fn scope(of: &Value) -> Scope {
    let mut found = Scope::default();
    declared(of, "", &mut found);
    found
}

fn declared(of: &Value, blocks: &str, found: &mut Scope) {
    for item in ["stmtsp", "genforp", "itemsp"]
        .into_iter()
        .flat_map(|name| list(of, name))
    {
        let name = || format!("{blocks}{}", item["name"].as_str().unwrap_or_default());
        let refers = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str() {
            Some("VAR") if item["varType"] != "GPARAM" && item["varType"] != "LPARAM" => {
                found.signals.push((name(), refers("dtypep")));
            }
            Some("CELL") => found.instances.push((name(), refers("modp"))),
            Some("BEGIN" | "GENBLOCK") => declared(item, &format!("{}.", name()), found),
            _ => {}
        }
    }
}

fn list<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of[name].as_array().into_iter().flatten()
}

fn text_of(of: &Value, name: &str) -> Result<String, String> {
    let missing = || format!("{} has no `{name}`", of["type"]);
    of[name].as_str().map(str::to_owned).ok_or_else(missing)
}

/// Parses a place: `l,155:18,155:24` is the file's letter, line and column of the start, then of the end.
fn place(of: &Value) -> Result<Place, String> {
    let text = text_of(of, "loc")?;
    let mut parts = text.split([',', ':']);
    let file = parts.next().unwrap_or_default().to_owned();
    let mut number = || parts.next().and_then(|part| part.parse().ok());
    match (number(), number()) {
        (Some(line), Some(column)) => Ok(Place { file, line, column }),
        _ => Err(format!("`loc` is `{text}`")),
    }
}

fn module(of: &Value) -> Result<Module, String> {
    let mut vars = Vec::new();
    for var in list(of, "stmtsp").filter(|statement| statement["type"] == "VAR") {
        let port = (var["varType"] == "PORT")
            .then(|| text_of(var, "direction"))
            .transpose()?;
        if port.is_some() || matches!(var["varType"].as_str(), Some("GPARAM" | "LPARAM")) {
            let value = list(var, "valuep").find(|value| value["type"] == "CONST");
            vars.push(Var {
                name: text_of(var, "name")?,
                place: place(var)?,
                target: text_of(var, "dtypep")?,
                port: port.map(|direction| direction.to_ascii_lowercase()),
                value: value.map(|value| text_of(value, "name")).transpose()?,
            });
        }
    }
    Ok(Module {
        name: text_of(of, "name")?,
        place: place(of)?,
        vars,
    })
}

fn node(of: &Value) -> Result<Node, String> {
    let members = || -> Result<Vec<Member>, String> {
        list(of, "membersp")
            .map(|member| {
                Ok(Member {
                    name: text_of(member, "name")?,
                    target: text_of(member, "refDTypep")?,
                    place: place(member)?,
                })
            })
            .collect()
    };
    let bounds = |text: &str| -> Option<(i64, i64)> {
        let (left, right) = text.trim_matches(['[', ']']).split_once(':')?;
        Some((left.parse().ok()?, right.parse().ok()?))
    };
    let signed = of["signed"] == true;
    let shape = match of["type"].as_str().unwrap_or_default() {
        "BASICDTYPE" => match (of["range"].as_str(), of["keyword"].as_str()) {
            (Some(range), _) => {
                let (left, right) =
                    bounds(range).ok_or_else(|| format!("a `range` is `{range}`"))?;
                Shape::Bits {
                    left,
                    right,
                    signed,
                }
            }
            (None, Some("logic" | "bit")) => Shape::Bits {
                left: 0,
                right: 0,
                signed,
            },
            _ => Shape::Other,
        },
        "REFDTYPE" | "PARAMTYPEDTYPE" => Shape::Ref,
        "ENUMDTYPE" => Shape::Enum(
            list(of, "itemsp")
                .map(|item| {
                    let value = list(item, "valuep").next();
                    let value = value.ok_or("an ENUMITEM has no value")?;
                    Ok((text_of(item, "name")?, text_of(value, "name")?))
                })
                .collect::<Result<_, String>>()?,
        ),
        "STRUCTDTYPE" => Shape::Struct(members()?),
        "UNIONDTYPE" => Shape::Union(members()?),
        "PACKARRAYDTYPE" => {
            let range = text_of(of, "declRange")?;
            let (left, right) =
                bounds(&range).ok_or_else(|| format!("a `declRange` is `{range}`"))?;
            Shape::Packed(left, right)
        }
        "UNPACKARRAYDTYPE" => Shape::Unpacked,
        _ => Shape::Other,
    };
    // A type parameter refers to its type only by `dtypep`.
    let target = ["refDTypep", "dtypep"]
        .iter()
        .find_map(|name| of[*name].as_str());
    Ok(Node {
        name: text_of(of, "name")?,
        place: place(of)?,
        target: target.map(str::to_owned),
        shape,
    })
}
