//! A top that is built twice, with waves and without: which state the two models exchange.
//!
//! Verilator gives a member of the same name in both models the same meaning. What only one of them has must follow
//! from the rest when the model settles. Registers that nothing reads do not: Verilator keeps them only if waves show
//! them, so the model without waves is told to keep them too.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::files::{names_in, read};
use crate::parallel::in_parallel;
use crate::verilate::{Verilated, Wanted};
use crate::{Error, Top, names};

/// Why a top is not two models.
pub(crate) enum NotApart {
    /// They would not have the same state; the reason.
    Refused(String),
    /// Verilator failed.
    Failed(Error),
}

impl From<Error> for NotApart {
    fn from(error: Error) -> NotApart {
        NotApart::Failed(error)
    }
}

/// The two models of a top.
pub(crate) struct Apart {
    pub without: Verilated,
    pub with: Verilated,
    /// Verilator's prefix of the model with waves.
    pub prefix: String,
    /// The members that both have.
    members: Vec<String>,
}

impl Apart {
    /// Runs Verilator by `run`, which takes a top, a prefix and what is wanted of it: twice, and once more for the model
    /// without waves if a register has to be kept in it. `wanted` is what is wanted of that model.
    ///
    /// # Errors
    ///
    /// Returns why there is only one model, or Verilator's error.
    pub fn new(
        top: &Top,
        prefix: &str,
        wanted: Wanted,
        run: impl Fn(&Top, &str, Wanted) -> Result<Verilated, Error> + Sync,
    ) -> Result<Apart, NotApart> {
        let waves_prefix = format!("{prefix}_waves");
        let of = |waves: bool, kept: &[String]| -> Result<_, NotApart> {
            let mut top = top.clone();
            top.waves = waves;
            top.kept = kept.to_vec();
            // Members of modules that are not flattened are not known by one name.
            top.flags.push("--flatten".to_owned());
            let (prefix, wanted) = match waves {
                true => (waves_prefix.as_str(), Wanted::Cpp),
                false => (prefix, wanted),
            };
            let verilated = run(&top, prefix, wanted)?;
            let model = Model::read(&verilated.folder, prefix).map_err(NotApart::Refused)?;
            Ok((verilated, model))
        };
        let lost = |without: &Model, with: &Model| -> BTreeSet<String> {
            (with.members.difference(&without.members))
                .filter(|member| !with.settled.contains(*member) && !is_local(member))
                .cloned()
                .collect()
        };
        let mut both = in_parallel(&[true, false], |waves| of(*waves, &[]))?;
        let (mut without, with) = (both.pop().zip(both.pop()))
            .ok_or_else(|| NotApart::Refused("Verilator did not run".to_owned()))?;
        let kept: BTreeSet<String> = (lost(&without.1, &with.1).iter())
            .map(|member| names::source_name(last(member)))
            .collect();
        if !kept.is_empty() {
            without = of(false, &kept.into_iter().collect::<Vec<_>>())?;
        }
        if let Some(member) = lost(&without.1, &with.1).first() {
            let name = written(member);
            return Err(NotApart::Refused(format!(
                "Verilator keeps the register `{name}` only in the model with waves"
            )));
        }
        let alone = without.1.members.difference(&with.1.members);
        if let Some(member) = alone
            .filter(|member| !without.1.settled.contains(*member))
            .min()
        {
            let name = written(member);
            return Err(NotApart::Refused(format!(
                "Verilator keeps the register `{name}` only in the model without waves"
            )));
        }
        let members = with.1.members.intersection(&without.1.members);
        let members = members.cloned().collect();
        Ok(Apart {
            without: without.0,
            with: with.0,
            prefix: waves_prefix,
            members,
        })
    }

    /// Returns the class that exchanges the state, for `verilated_rs::ModelApart`.
    pub fn state_class(&self, prefix: &str) -> String {
        let mut text = String::from(
            "struct State {\n    template <class From, class To>\n    static void carry(const From& from, To& to) {\n",
        );
        for member in &self.members {
            let _ = writeln!(
                text,
                "        verilated_rs::carry(from.{member}, to.{member});"
            );
        }
        text.push_str("    }\n");
        for prefix in [prefix, &self.prefix] {
            let _ = writeln!(
                text,
                "    static void settle(::{prefix}___024root& root) {{ ::{prefix}___024root___eval_settle(&root); }}"
            );
        }
        text.push_str("};\n");
        text
    }
}

/// What Verilator's C++ says about the state of a model.
struct Model {
    /// The members that are saved.
    members: BTreeSet<String>,
    /// Those that are computed when the model settles.
    settled: HashSet<String>,
}

impl Model {
    /// Reads all C++ of a model. Its errors are reasons.
    fn read(folder: &Path, prefix: &str) -> Result<Model, String> {
        let mut members = BTreeSet::new();
        let mut functions = HashMap::new();
        let text_of = |error: Error| error.to_string();
        for name in names_in(folder).map_err(text_of)? {
            if name.ends_with(".cpp") {
                for (name, body) in functions_in(&read(&folder.join(name)).map_err(text_of)?) {
                    let class = name.strip_suffix("::__Vserialize");
                    if class.is_some_and(|class| class == format!("{prefix}___024root")) {
                        members.extend(saved_in(&body));
                    } else if let Some(class) =
                        class.filter(|class| *class != format!("{prefix}__Syms"))
                    {
                        return Err(format!(
                            "Verilator does not flatten `{}` into it",
                            class.trim_start_matches(prefix).trim_start_matches('_')
                        ));
                    }
                    functions.insert(name, body);
                }
            }
        }
        let functions_of = format!("{prefix}___024root___");
        let mut settled = HashSet::new();
        let mut seen = HashSet::new();
        let mut to_do = vec![format!("{functions_of}eval_settle")];
        if members.is_empty() || !functions.contains_key(&to_do[0]) {
            return Err("the C++ of this version of Verilator is not understood".to_owned());
        }
        while let Some(name) = to_do.pop() {
            let Some(body) = functions.get(&name) else {
                continue;
            };
            if !seen.insert(name) {
                continue;
            }
            settled.extend(assigned_in(body).map(str::to_owned));
            let calls = body.split(&functions_of).skip(1);
            to_do.extend(calls.map(|rest| format!("{functions_of}{}", identifier(rest))));
        }
        Ok(Model { members, settled })
    }
}

/// Returns the functions of a source with their bodies. Verilator begins a function at the start of a line and ends it
/// with a brace there.
fn functions_in(text: &str) -> Vec<(String, String)> {
    let mut functions: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if inside {
            if line == "}" {
                inside = false;
            } else if let Some((_, body)) = functions.last_mut() {
                body.push_str(line);
                body.push('\n');
            }
        } else if line.ends_with('{')
            && line.starts_with(|first: char| first.is_ascii_alphabetic())
            && let Some((before, _)) = line.split_once('(')
        {
            let name = before.rsplit(' ').next().unwrap_or_default();
            functions.push((name.to_owned(), String::new()));
            inside = true;
        }
    }
    functions
}

/// Returns the members that the body of `__Vserialize` saves.
fn saved_in(body: &str) -> impl Iterator<Item = String> {
    let saved = body.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("os")?.trim_start();
        Some(identifier(rest.strip_prefix("<<")?.trim_start()))
    });
    // A check of the version, and the pointer to the context.
    saved
        .filter(|name| !["__Vcheckval", "vlSymsp"].contains(name))
        .map(str::to_owned)
}

/// Returns the members that a body assigns: `vlSelf->a = …`, `vlSelf->a[2U] = …`, or as the first argument, numbers
/// aside, of a call that is a statement: `VL_EXTEND_WQ(65,33, vlSelf->a, …);`.
fn assigned_in(body: &str) -> impl Iterator<Item = &str> {
    let parts = ["vlSelf->", "vlSelfRef."];
    let places = parts.into_iter().flat_map(move |part| {
        body.match_indices(part)
            .map(move |(at, _)| (at, at + part.len()))
    });
    places.filter_map(move |(start, at)| {
        let name = identifier(&body[at..]);
        let mut rest = body[at + name.len()..].trim_start();
        while let Some(index) = rest.strip_prefix('[') {
            rest = after_bracket(index)?.trim_start();
        }
        let stored = rest.starts_with('=') && !rest.starts_with("==");
        (stored || is_target(&body[..start])).then_some(name)
    })
}

/// Returns whether what follows is the first argument, numbers aside, of a call that is a statement.
fn is_target(before: &str) -> bool {
    let numbers = |letter: char| letter.is_ascii_digit() || "U, \n".contains(letter);
    let Some(call) = before.trim_end_matches(numbers).strip_suffix('(') else {
        return false;
    };
    let function = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let statement = call.trim_end_matches(function);
    call[statement.len()..].starts_with("VL_")
        && statement
            .trim_end()
            .ends_with(|last: char| ";{}".contains(last))
}

/// Returns the text behind the bracket that closes an index.
fn after_bracket(text: &str) -> Option<&str> {
    let mut depth = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[at + 1..]);
        }
    }
    None
}

fn identifier(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The name of a member without its scopes.
fn last(member: &str) -> &str {
    member.rsplit("__DOT__").next().unwrap_or(member)
}

/// Whether a member is local to a process or a function: it has no value that lasts.
fn is_local(member: &str) -> bool {
    member.contains("unnamedblk") || last(member).starts_with("__V")
}

/// A member as the source has it.
fn written(member: &str) -> String {
    let path = member.split("__DOT__").map(names::source_name);
    path.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
VL_ATTR_COLD void V___024root::__Vserialize(VerilatedSerialize& os) {
    uint64_t __Vcheckval = 0x1ULL;
    os << __Vcheckval;
    os << vlSymsp->_vm_contextp__;
    os<<clk_i;
    for (int __Vi0 = 0; __Vi0 < 6; ++__Vi0) {
        os<<top__DOT__words_q[__Vi0];
    }
}
VL_INLINE_OPT void V___024root___stl_sequent__TOP__0(V___024root* vlSelf) {
    if (false && vlSelf) {}  // Prevent unused
    vlSelf->top__DOT__a = (vlSelf->top__DOT__read
                           == vlSelf->top__DOT__other);
    vlSelf->top__DOT__b[vlSelf->top__DOT__words_q[2U]]
        = 1U;
    VL_EXTEND_WQ(65,33, vlSelf->top__DOT__c, vlSelf->top__DOT__read);
    vlSelf->top__DOT__d = VL_EQ_W(8, vlSelf->top__DOT__read, vlSelf->top__DOT__other);
}
";

    #[test]
    fn what_verilator_writes_is_understood() {
        let functions = functions_in(SOURCE);
        assert_eq!(functions.len(), 2);
        assert_eq!(functions[0].0, "V___024root::__Vserialize");
        let saved: Vec<String> = saved_in(&functions[0].1).collect();
        assert_eq!(saved, ["clk_i", "top__DOT__words_q"]);
        assert_eq!(functions[1].0, "V___024root___stl_sequent__TOP__0");
        let assigned: Vec<&str> = assigned_in(&functions[1].1).collect();
        assert_eq!(
            assigned,
            ["top__DOT__a", "top__DOT__b", "top__DOT__c", "top__DOT__d"]
        );
    }

    #[test]
    fn names_of_members() {
        let member = "top__DOT__lane__BRA__2__KET____DOT__gap_q";
        assert_eq!(last(member), "gap_q");
        assert!(!is_local(member));
        assert!(is_local("top__DOT__unnamedblk1__DOT__i"));
        assert!(is_local("top__DOT____Vcellinp__u__clk_i"));
    }
}
