//! The types of all signals of a design, for readers of its waves: a wave file has a packed struct or array as one vector.
//! The crate `verilated` says how the text is made up, under 'Types in waves'.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::raw::{Raw, Shape, constant};

/// Returns the text.
pub(super) fn text(raw: &Raw) -> String {
    let mut types = Types {
        raw,
        list: Vec::new(),
        places: BTreeMap::new(),
    };
    let mut modules = BTreeMap::new();
    for (name, scope) in &raw.scopes {
        let mut signals = Map::new();
        for (signal, id) in &scope.signals {
            // Names of enums are in wave files themselves.
            if let Some(place) = types.place(id)
                && ["struct", "union", "array"]
                    .iter()
                    .any(|key| types.list[place].get(key).is_some())
            {
                signals.insert(signal.clone(), place.into());
            }
        }
        modules.insert(name, signals);
    }
    // Most modules have plain signals only, and none within that have others.
    let mut wanted: BTreeSet<&String> = BTreeSet::new();
    loop {
        let before = wanted.len();
        for (name, scope) in &raw.scopes {
            let within = |(_, module): &(String, String)| wanted.contains(module);
            if !modules[name].is_empty() || scope.instances.iter().any(within) {
                wanted.insert(name);
            }
        }
        if wanted.len() == before {
            break;
        }
    }
    let described = wanted.iter().map(|name| {
        let instances = raw.scopes[*name].instances.iter();
        let instances = instances.filter(|(_, module)| wanted.contains(module));
        let instances = instances.map(|(name, module)| (name.clone(), module.clone().into()));
        let value = json!({
            "signals": modules[name],
            "instances": instances.collect::<Map<String, Value>>(),
        });
        ((*name).clone(), value)
    });
    let text = json!({
        "top": raw.top.name,
        "modules": described.collect::<Map<String, Value>>(),
        "types": types.list,
    });
    text.to_string()
}

struct Types<'a> {
    raw: &'a Raw,
    list: Vec<Value>,
    /// Places in the list, by node; `None` for types without bits.
    places: BTreeMap<String, Option<usize>>,
}

impl Types<'_> {
    /// Returns the place of a node's type, of an unpacked array that of its elements.
    fn place(&mut self, id: &str) -> Option<usize> {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        let value = self.value(id);
        let place = match value {
            Found::Place(place) => place,
            Found::Value(value) => {
                // What modules declare alike is one type.
                let known = self.list.iter().position(|other| *other == value);
                Some(known.unwrap_or_else(|| {
                    self.list.push(value);
                    self.list.len() - 1
                }))
            }
        };
        self.places.insert(id.to_owned(), place);
        place
    }

    fn value(&mut self, id: &str) -> Found {
        let Some(node) = self.raw.nodes.get(id) else {
            return Found::Place(None);
        };
        let target = node.target.as_deref().filter(|target| *target != id);
        let mut behind = |target: Option<&str>| target.and_then(|target| self.place(target));
        let value = match &node.shape {
            Shape::Other => None,
            Shape::Ref | Shape::Unpacked => return Found::Place(behind(target)),
            Shape::Bits {
                left,
                right,
                signed: false,
            } => Some(json!({ "bits": [left, right] })),
            Shape::Bits { left, right, .. } => {
                Some(json!({ "bits": [left, right], "signed": true }))
            }
            Shape::Packed(left, right) => {
                behind(target).map(|of| json!({ "array": [left, right], "of": of }))
            }
            Shape::Enum(items) => {
                let code = |text: &str| {
                    let words = constant(text)?;
                    (words.len() <= 2).then(|| {
                        let code = |code: u64, word: &u32| code << 32 | u64::from(*word);
                        words.iter().rev().fold(0, code)
                    })
                };
                let names = items
                    .iter()
                    .map(|(name, value)| Some((name.clone(), code(value)?.into())));
                let names: Option<Map<String, Value>> = names.collect();
                (behind(target).zip(names)).map(|(of, names)| json!({ "enum": names, "of": of }))
            }
            Shape::Struct(members) | Shape::Union(members) => {
                let members = (members.iter())
                    .map(|member| Some(json!([member.name, behind(Some(&member.target))?])))
                    .collect::<Option<Vec<Value>>>();
                let key = match node.shape {
                    Shape::Struct(_) => "struct",
                    _ => "union",
                };
                members.map(|members| json!({ key: members }))
            }
        };
        value.map_or(Found::Place(None), Found::Value)
    }
}

/// A type that is in the list, or one for it.
enum Found {
    Place(Option<usize>),
    Value(Value),
}
