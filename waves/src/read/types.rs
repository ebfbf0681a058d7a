//! Types of signals, which a wave file does not have: what its packed structs and arrays are made of.
//!
//! `verilated` writes them beside its waves, as `a.types.json` beside `a.fst`; the documentation of that crate has the
//! format.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::part::{Part, Step};
use super::value::Kind;

/// Extension of a file of types, in place of that of the waves.
pub const EXTENSION: &str = "types.json";

/// The types of a file's signals.
#[derive(Debug, Deserialize)]
pub struct Types {
    top: String,
    modules: BTreeMap<String, Module>,
    types: Vec<Type>,
    /// The width of each type.
    #[serde(skip)]
    widths: Vec<u32>,
}

#[derive(Debug, Deserialize)]
struct Module {
    signals: BTreeMap<String, usize>,
    instances: BTreeMap<String, String>,
}

/// A type. Numbers are places in the list, and lower than its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Type {
    Enum {
        r#enum: BTreeMap<String, u64>,
        of: usize,
    },
    Array {
        array: [i64; 2],
        of: usize,
    },
    Struct {
        r#struct: Vec<(String, usize)>,
    },
    Union {
        union: Vec<(String, usize)>,
    },
    Bits {
        bits: [i64; 2],
        #[serde(default)]
        signed: bool,
    },
}

/// A part of a signal with a type.
pub struct Typed {
    /// Where it is.
    pub part: Part,
    /// What its values are.
    pub kind: Kind,
}

impl Types {
    /// Reads the types of a wave file; `None` if nothing lies beside it.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the file of types.
    pub fn beside(waves: &Path) -> Result<Option<Self>, String> {
        let path = waves.with_extension(EXTENSION);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let wrong = |what: String| format!("{}: {what}; members have no names", path.display());
        let mut types: Self =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        for (place, kind) in types.types.iter().enumerate() {
            match kind.width(&types.widths) {
                Some(width) => types.widths.push(width),
                None => return Err(wrong(format!("type {place} is none"))),
            }
        }
        Ok(Some(types))
    }

    /// Returns the place of the type of a signal with this full name and width.
    pub fn of(&self, name: &str, width: u32) -> Option<usize> {
        let top = self.modules.get(&self.top)?;
        let scopes = name.match_indices('.').map(|(at, _)| at);
        let starts = std::iter::once(0).chain(scopes.map(|at| at + 1));
        let behind_top = |at| name[at..].strip_prefix(&self.top[..])?.strip_prefix('.');
        let mut inside = starts.filter_map(behind_top).peekable();
        let place = match inside.peek() {
            Some(_) => inside.find_map(|rest| self.within(top, rest)),
            // Outside of the top are its ports.
            None => self.within(top, name.rsplit('.').next()?),
        };
        place.filter(|place| self.widths.get(*place) == Some(&width))
    }

    /// Finds a signal in a module or in the instances there.
    fn within(&self, module: &Module, name: &str) -> Option<usize> {
        // In waves each element of an unpacked array is a signal.
        let own = module.signals.get(name).or_else(|| {
            let last = name.rfind('.').map_or(0, |at| at + 1);
            let array = name[last..].split_once('[')?.0;
            module.signals.get(&format!("{}{array}", &name[..last]))
        });
        own.copied().or_else(|| {
            module.instances.iter().find_map(|(instance, of)| {
                let rest = name.strip_prefix(&instance[..])?.strip_prefix('.')?;
                self.within(self.modules.get(of)?, rest)
            })
        })
    }

    /// The names of the members of a struct or union; none of other types.
    pub fn members(&self, place: usize) -> Vec<&str> {
        match self.types.get(place) {
            Some(Type::Struct { r#struct: members } | Type::Union { union: members }) => {
                members.iter().map(|(name, _)| &name[..]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Follows members, indices and ranges from a type to a part of it.
    ///
    /// # Errors
    ///
    /// Returns what the type has, if it has no such part.
    pub fn part(&self, place: usize, steps: &[Step]) -> Result<Typed, String> {
        let mut kind = self.types[place].clone();
        let mut low = 0;
        for step in steps {
            let (from, next) = self.step(&kind, step)?;
            low += from;
            kind = next;
        }
        let width = self.width(&kind);
        Ok(Typed {
            part: Part {
                low,
                width,
                guessed: false,
            },
            kind: self.kind(&kind, width),
        })
    }

    /// The width of a type, or of a part of one.
    fn width(&self, kind: &Type) -> u32 {
        (kind.width(&self.widths))
            .expect("a part of a type is no wider, and all types have a width")
    }

    /// Returns by how many bits a part of a type begins above the least significant one, and the type of the part.
    fn step(&self, kind: &Type, step: &Step) -> Result<(u32, Type), String> {
        match (kind, step) {
            (Type::Struct { r#struct: members }, Step::Member(name)) => {
                let at = place_of(members, name)?;
                let behind = members[at + 1..].iter();
                let low = behind.map(|(_, of)| self.widths[*of]).sum();
                Ok((low, self.types[members[at].1].clone()))
            }
            (Type::Union { union }, Step::Member(name)) => {
                let at = place_of(union, name)?;
                Ok((0, self.types[union[at].1].clone()))
            }
            (_, Step::Member(name)) => Err(format!("has no members, and so no '{name}'")),
            (Type::Enum { of, .. }, _) => self.step(&self.types[*of], step),
            (Type::Array { array, of }, Step::Index(_) | Step::Range(..)) => {
                let [first, last] = within(*array, step, "elements")?;
                let low = below(last, *array) * self.widths[*of];
                let part = match step {
                    Step::Index(_) => self.types[*of].clone(),
                    _ => Type::Array {
                        array: [first, last],
                        of: *of,
                    },
                };
                Ok((low, part))
            }
            _ => {
                // Bits, and those of a struct or union.
                let (bits, lsb) = match kind {
                    Type::Bits { bits, .. } => (*bits, true),
                    other => ([i64::from(self.width(other)) - 1, 0], false),
                };
                let [first, last] = within(bits, step, "bits")?;
                let part = Type::Bits {
                    bits: match lsb {
                        true => [first, last],
                        false => [(first - last).abs(), 0],
                    },
                    signed: false,
                };
                Ok((below(last, bits), part))
            }
        }
    }

    fn kind(&self, kind: &Type, width: u32) -> Kind {
        match kind {
            Type::Enum { r#enum: names, .. } => {
                let bits = |code: u64| format!("{code:0width$b}", width = width as usize);
                let mut names: Vec<(String, String)> = (names.iter())
                    .map(|(name, code)| (bits(*code), name.clone()))
                    .collect();
                names.sort();
                Kind::Enum(names)
            }
            Type::Bits { signed, .. } => Kind::Bits {
                bits: width,
                signed: *signed,
            },
            _ => Kind::Bits {
                bits: width,
                signed: false,
            },
        }
    }
}

impl Type {
    /// The width, given those of the types before it; `None` for what is no type.
    fn width(&self, before: &[u32]) -> Option<u32> {
        let of = |place: &usize| before.get(*place).copied();
        let length =
            |[left, right]: [i64; 2]| u32::try_from(left.abs_diff(right)).ok()?.checked_add(1);
        match self {
            Self::Bits { bits, .. } => length(*bits),
            Self::Enum { of: bits, .. } => of(bits),
            Self::Array { array, of: element } => length(*array)?.checked_mul(of(element)?),
            Self::Struct { r#struct } => r#struct
                .iter()
                .try_fold(0_u32, |sum, (_, member)| sum.checked_add(of(member)?)),
            Self::Union { union } => union
                .iter()
                .try_fold(0, |most, (_, member)| Some(of(member)?.max(most))),
        }
    }
}

fn place_of(members: &[(String, usize)], name: &str) -> Result<usize, String> {
    members
        .iter()
        .position(|(member, _)| member == name)
        .ok_or_else(|| {
            let names: Vec<&str> = members.iter().map(|(name, _)| &name[..]).collect();
            format!("has no member '{name}', but {}", names.join(", "))
        })
}

/// The indices that a step selects, as the range is written.
fn within([left, right]: [i64; 2], step: &Step, what: &str) -> Result<[i64; 2], String> {
    let (first, last) = match *step {
        Step::Index(index) => (index, index),
        Step::Range(first, last) => (first, last),
        Step::Member(_) => unreachable!("members are found by name"),
    };
    let known = left.min(right)..=left.max(right);
    if !known.contains(&first) || !known.contains(&last) {
        return Err(format!("has the {what} {left} to {right}"));
    }
    let (least, greatest) = (first.min(last), first.max(last));
    Ok(match left >= right {
        true => [greatest, least],
        false => [least, greatest],
    })
}

/// How many elements lie below an index of a range, whose index on the right is in the least significant bits.
fn below(last: i64, [_, right]: [i64; 2]) -> u32 {
    last.abs_diff(right) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: &str = r#"{
        "top": "dut",
        "modules": {
            "dut": {"signals": {"meta_i": 4, "depth": 5, "gen[0].rising": 6}, "instances": {"gen[0].u_in": "in"}},
            "in": {"signals": {"words": 4}, "instances": {}}
        },
        "types": [
            {"bits": [23, 0]},
            {"bits": [1, 0]},
            {"enum": {"IDLE": 0, "BUSY": 2}, "of": 1},
            {"bits": [9, 2], "signed": true},
            {"struct": [["state", 2], ["psn", 0], ["page", 3]]},
            {"array": [7, 4], "of": 0},
            {"array": [0, 3], "of": 4}
        ]
    }"#;

    fn types() -> Types {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.types.json"), TYPES).unwrap();
        Types::beside(&folder.path().join("w.fst"))
            .unwrap()
            .unwrap()
    }

    #[test]
    fn signals_are_found_by_instance_and_block() {
        let types = types();
        assert_eq!(types.of("a.dut.meta_i", 34), Some(4));
        assert_eq!(types.of("dut.gen[0].u_in.words[3]", 34), Some(4));
        assert_eq!(types.of("x.y.dut.gen[0].rising", 136), Some(6));
        // Another width: a file of types of something else.
        assert_eq!(types.of("a.dut.meta_i", 33), None);
        // A port of the top stands outside of it too.
        assert_eq!(types.of("a.meta_i", 34), Some(4));
        assert_eq!(types.of("a.other", 34), None);
        assert_eq!(types.members(4), ["state", "psn", "page"]);
    }

    #[test]
    fn parts_by_name_and_index() {
        let types = types();
        let part = |place, text: &str| {
            let steps = super::super::part::steps(text).unwrap();
            types
                .part(place, &steps)
                .map(|typed| (typed.part.low, typed.part.width))
        };
        assert_eq!(part(4, ".page"), Ok((0, 8)));
        assert_eq!(part(4, ".page[9:8]"), Ok((6, 2)));
        assert_eq!(part(4, ".psn"), Ok((8, 24)));
        assert_eq!(part(4, ".psn[3]"), Ok((11, 1)));
        assert_eq!(part(4, ".state"), Ok((32, 2)));
        // Without a name, the bits of all of it.
        assert_eq!(part(4, "[33:32]"), Ok((32, 2)));
        assert_eq!(part(5, "[4]"), Ok((0, 24)));
        assert_eq!(part(5, "[7]"), Ok((72, 24)));
        assert_eq!(part(5, "[5:6][5]"), Ok((24, 24)));
        // The lowest index of [0:3] is the most significant element.
        assert_eq!(part(6, "[0].page"), Ok((102, 8)));
        assert_eq!(part(6, "[3].page"), Ok((0, 8)));
        for (place, text, why) in [
            (4, ".pns", "has no member 'pns', but state, psn, page"),
            (5, "[3]", "has the elements 7 to 4"),
            (5, ".psn", "has no members, and so no 'psn'"),
            (4, ".page[1]", "has the bits 9 to 2"),
        ] {
            assert_eq!(part(place, text), Err(why.into()), "{text}");
        }
        let state = types
            .part(4, &super::super::part::steps(".state").unwrap())
            .unwrap();
        assert_eq!(state.kind.bits_of("BUSY"), Some("10"));
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let waves = folder.path().join("w.fst");
        assert!(Types::beside(&waves).unwrap().is_none());
        for (text, why) in [
            ("{", "EOF"),
            (
                r#"{"top":"a","modules":{},"types":[{"array":[1,0],"of":0}]}"#,
                "type 0 is none",
            ),
        ] {
            std::fs::write(folder.path().join("w.types.json"), text).unwrap();
            let error = Types::beside(&waves).unwrap_err();
            assert!(
                error.contains("w.types.json") && error.contains(why),
                "{error}"
            );
        }
    }
}
