//! Writes Verilator's schedule again, so that it costs less to decide what is evaluated.
//!
//! Verilator 5.006 keeps what is triggered in an array of flags, of which each condition reads up to all. It looks for
//! triggers until there are none, and then once more. And when the clock rises, it evaluates all that depends on
//! inputs, though these have not changed. In a model with clock gates that is a sixth of a busy cycle and half of one
//! at rest. Here what is triggered is a word, and at a rising edge the clock is a constant.
//!
//! State, and what is evaluated in which order, stay the same. All functions concerned have to be as that version
//! writes them, statement by statement; otherwise none is changed. Later versions keep words themselves.

use std::fmt::Write as _;

/// A source of a model: its name and its text.
pub(crate) type Source = (String, String);

/// What is not as expected.
type Unlike = String;

/// The first statements of `eval`, without blanks, where outputs depend on inputs: they run `eval_ico` once.
const INPUTS: &str = "\
vlSelf->__VicoIterCount=0U;__VicoContinue=1U;while(__VicoContinue){__VicoContinue=0U;R___eval_triggers__ico(vlSelf);\
if(vlSelf->__VicoTriggered.any()){__VicoContinue=1U;if(VL_UNLIKELY((0x64U<vlSelf->__VicoIterCount))){F}\
vlSelf->__VicoIterCount=((IData)(1U)+vlSelf->__VicoIterCount);R___eval_ico(vlSelf);}}";

/// The others: they run `eval_nba` until nothing is triggered.
const REACT: &str = "\
__VnbaIterCount=0U;__VnbaContinue=1U;while(__VnbaContinue){__VnbaContinue=0U;vlSelf->__VnbaTriggered.clear();\
vlSelf->__VactIterCount=0U;vlSelf->__VactContinue=1U;while(vlSelf->__VactContinue){vlSelf->__VactContinue=0U;\
R___eval_triggers__act(vlSelf);if(vlSelf->__VactTriggered.any()){vlSelf->__VactContinue=1U;\
if(VL_UNLIKELY((0x64U<vlSelf->__VactIterCount))){F}vlSelf->__VactIterCount=((IData)(1U)+vlSelf->__VactIterCount);\
__VpreTriggered.andNot(vlSelf->__VactTriggered,vlSelf->__VnbaTriggered);\
vlSelf->__VnbaTriggered.set(vlSelf->__VactTriggered);R___eval_act(vlSelf);}}\
if(vlSelf->__VnbaTriggered.any()){__VnbaContinue=1U;if(VL_UNLIKELY((0x64U<__VnbaIterCount))){F}\
__VnbaIterCount=((IData)(1U)+__VnbaIterCount);R___eval_nba(vlSelf);}}";

/// Returns the sources with another schedule, and with the function `{prefix}_rise`, which raises the clock: it takes
/// the root of a model that has settled with the clock at 0, and whose other inputs have not changed since.
///
/// # Errors
///
/// What is not as expected.
pub(crate) fn rewrite(
    prefix: &str,
    clock: &str,
    sources: Vec<Source>,
) -> Result<Vec<Source>, Unlike> {
    let root = format!("{prefix}___024root");
    let mut model = Model { root, sources };
    let (inputs, fatal) = model.check_eval()?;
    let triggers = triggers(&model.statements("eval_triggers__act")?)?;
    let nba = by_word(&model.statements("eval_nba")?)?;
    let step = rising_step(&model, prefix)?;

    let root = model.root.clone();
    let mut declared = String::new();
    let mut risen = inputs.clone();
    for name in called(&inputs, &root) {
        let text = model.text(&name)?.to_owned();
        let high = with_clock_high(&text, clock).replace(&name, &format!("{name}__rise"));
        model.replace(&name, &format!("{text}\n{high}"))?;
        risen = risen.replace(&format!("___{name}("), &format!("___{name}__rise("));
        // Writing to a String cannot fail.
        let _ = writeln!(declared, "void {root}___{name}__rise({root}* vlSelf);");
    }
    model.replace(
        "eval_triggers__act",
        &format!(
            "uint64_t {root}___triggers({root}* vlSelf) {{\n    uint64_t triggered = 0;\n\
             {triggers}    return triggered;\n}}\n"
        ),
    )?;
    model.replace(
        "eval_nba",
        &format!(
            "void {root}___nba({root}* vlSelf, const uint64_t triggered) {{\n    \
             {root_syms}{nba}}}\n",
            root_syms = syms(prefix),
        ),
    )?;
    model.replace(
        "eval",
        &format!(
            "{declared}uint64_t {root}___triggers({root}* vlSelf);\n\
             void {root}___nba({root}* vlSelf, const uint64_t triggered);\n\n\
             static void {root}___react({root}* vlSelf) {{\n    \
             unsigned rounds = 0;\n    \
             while (const uint64_t triggered = {root}___triggers(vlSelf)) {{\n        \
             if (VL_UNLIKELY(0x64U < rounds++)) {{\n            {fatal}\n        }}\n        \
             {root}___nba(vlSelf, triggered);\n    }}\n}}\n\n\
             void {root}___eval({root}* vlSelf) {{\n{inputs}    {root}___react(vlSelf);\n}}\n\n\
             void {root}___rise({root}* vlSelf) {{\n{risen}    {root}___react(vlSelf);\n}}\n"
        ),
    )?;
    model.sources.push((format!("{prefix}_rise.cpp"), step));
    Ok(model.sources)
}

/// The sources of a model.
struct Model {
    /// The name of its class of state, with which functions begin.
    root: String,
    sources: Vec<Source>,
}

impl Model {
    /// The source in which a function is, and where its text begins and ends in it. Verilator begins a function at the
    /// start of a line and ends it with a brace there.
    fn find(&self, name: &str) -> Result<(usize, usize, usize), Unlike> {
        let root = &self.root;
        let header = format!("void {root}___{name}({root}* vlSelf) {{\n");
        let found = self.sources.iter().enumerate().find_map(|(at, (_, text))| {
            let header = text.find(&header)?;
            let begin = text[..header].rfind('\n').map_or(0, |line| line + 1);
            let end = header + text[header..].find("\n}\n")? + "\n}\n".len();
            Some((at, begin, end))
        });
        found.ok_or_else(|| format!("it has no `{name}`"))
    }

    fn text(&self, name: &str) -> Result<&str, Unlike> {
        let (at, begin, end) = self.find(name)?;
        Ok(&self.sources[at].1[begin..end])
    }

    fn replace(&mut self, name: &str, by: &str) -> Result<(), Unlike> {
        let (at, begin, end) = self.find(name)?;
        self.sources[at].1.replace_range(begin..end, by);
        Ok(())
    }

    /// The statements of a function, without those for debugging.
    fn statements(&self, name: &str) -> Result<String, Unlike> {
        statements(self.text(name)?).ok_or_else(|| format!("`{name}` has no body"))
    }

    /// Checks that a function has these statements, written without blanks.
    fn expect(&self, name: &str, right: &str) -> Result<(), Unlike> {
        match bare(&self.statements(name)?) {
            found if found == right => Ok(()),
            _ => Err(format!("`{name}` has other statements")),
        }
    }

    /// Checks `eval`. Returns what it does where outputs depend on inputs, and the statement with which it gives up.
    fn check_eval(&self) -> Result<(String, String), Unlike> {
        let statements = self.statements("eval")?;
        let (mut found, mut rest, mut last) = (String::new(), statements.as_str(), "");
        while let Some(at) = rest.find("VL_FATAL_MT(") {
            let end = rest[at..].find(");").ok_or("a call does not end")? + at + ");".len();
            found += &rest[..at];
            found.push('F');
            (last, rest) = (&rest[at..end], &rest[end..]);
        }
        let found = bare(&(found + rest)).replace(&format!("{}___", self.root), "R___");
        let (of_inputs, reacts) = match found.strip_prefix(INPUTS) {
            Some(rest) => (true, rest),
            None => (false, found.as_str()),
        };
        if reacts != REACT {
            return Err("`eval` has other statements".to_owned());
        }
        self.expect("eval_act", "")?;
        let mut inputs = String::new();
        if of_inputs {
            self.expect(
                "eval_triggers__ico",
                "vlSelf->__VicoTriggered.at(0U)=(0U==vlSelf->__VicoIterCount);",
            )?;
            inputs = behind_inputs(&self.statements("eval_ico")?)?;
        }
        Ok((inputs, last.to_owned()))
    }
}

/// What follows `// Body` in a function, without what is only compiled for debugging.
fn statements(function: &str) -> Option<String> {
    let (_, body) = function.split_once("// Body\n").or_else(|| {
        // A function without statements has no such line.
        function.split_once("\\n\"); );\n")
    })?;
    let mut debugging = false;
    let lines = body.strip_suffix("}\n")?.lines().filter(|line| {
        debugging |= line.starts_with("#ifdef VL_DEBUG");
        let kept = !debugging;
        debugging &= !line.starts_with("#endif");
        kept
    });
    Some(lines.flat_map(|line| [line, "\n"]).collect())
}

fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Returns the statements behind the condition of `eval_ico`.
fn behind_inputs(statements: &str) -> Result<String, Unlike> {
    let within = statements
        .strip_prefix("    if (vlSelf->__VicoTriggered.at(0U)) {\n")
        .and_then(|rest| rest.strip_suffix("    }\n"));
    within
        .filter(|within| within.lines().all(|line| line.starts_with("        ")))
        .map(str::to_owned)
        .ok_or_else(|| "`eval_ico` has other statements".to_owned())
}

/// Returns the names of the functions that statements call, each once.
fn called(statements: &str, root: &str) -> Vec<String> {
    let prefix = format!("{root}___");
    let calls = statements.split(prefix.as_str()).skip(1);
    let names = calls.filter_map(|call| Some(call.split_once("(vlSelf)")?.0.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the statements that set `triggered`, from those that set one flag each.
fn triggers(statements: &str) -> Result<String, Unlike> {
    let mut text = String::new();
    for statement in statements.split_terminator(';').map(str::trim) {
        if statement.is_empty() {
            continue;
        }
        let (to, value) = statement
            .split_once('=')
            .ok_or_else(|| format!("a trigger is `{statement}`"))?;
        let flag = number(to.trim(), "__VactTriggered");
        let _ = match flag.filter(|number| *number < u64::BITS) {
            Some(number) => writeln!(
                text,
                "    triggered |= (uint64_t)(0U != ({})) << {number};",
                value.trim()
            ),
            None if to.starts_with("vlSelf->__Vtrigrprev__") => {
                writeln!(text, "    {statement};")
            }
            None => return Err(format!("a trigger is `{statement}`")),
        };
    }
    Ok(text)
}

/// The number of a flag: `vlSelf->__VactTriggered.at(0xaU)`.
fn number(flag: &str, array: &str) -> Option<u32> {
    let number = flag.strip_prefix("vlSelf->")?.strip_prefix(array)?;
    let number = number.strip_prefix(".at(")?.strip_suffix("U)")?;
    match number.strip_prefix("0x") {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok(),
        None => number.parse().ok(),
    }
}

/// Returns the statements of `eval_nba`, all of which are conditions with what they are for, with conditions on a word.
fn by_word(statements: &str) -> Result<String, Unlike> {
    let unlike = || "`eval_nba` has other statements".to_owned();
    let mut text = String::new();
    let mut rest = statements;
    while !rest.is_empty() {
        let begin = rest.strip_prefix("    if (").ok_or_else(unlike)?;
        let (condition, after) = begin.split_once(") {\n").ok_or_else(unlike)?;
        let (within, next) = after.split_once("\n    }\n").ok_or_else(unlike)?;
        let mut word = 0u64;
        for part in condition.split('|') {
            let flag = part.trim_matches(|letter: char| letter.is_whitespace() || letter == '(');
            // `.at(1U)` has a parenthesis of its own.
            let flag = match flag.split_once("U)") {
                Some((flag, closed)) if closed.chars().all(|letter| " \n)".contains(letter)) => {
                    format!("{flag}U)")
                }
                _ => return Err(unlike()),
            };
            let number = number(&flag, "__VnbaTriggered").filter(|number| *number < u64::BITS);
            word |= 1 << number.ok_or_else(unlike)?;
        }
        let _ = write!(
            text,
            "    if (triggered & {word:#x}ULL) {{\n{within}\n    }}\n"
        );
        rest = next;
    }
    Ok(text)
}

/// Returns a function with the clock at 1.
fn with_clock_high(function: &str, clock: &str) -> String {
    let read = format!("vlSelf->{clock}");
    let mut text = String::new();
    let mut rest = function;
    while let Some(at) = rest.find(&read) {
        let after = &rest[at + read.len()..];
        let longer = after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        text += &rest[..at];
        text += if longer { &read } else { "1U" };
        rest = after;
    }
    text + rest
}

fn syms(prefix: &str) -> String {
    format!("{prefix}__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;\n")
}

/// Returns a source with the function that raises the clock: what `eval_step` does with a model that has been
/// evaluated.
fn rising_step(model: &Model, prefix: &str) -> Result<String, Unlike> {
    let header = format!("void {prefix}::eval_step() {{\n");
    let root = &model.root;
    let text = (model.sources.iter())
        .find_map(|(_, text)| text.split_once(&header))
        .and_then(|(_, rest)| rest.split_once("\n}\n"))
        .ok_or("it has no `eval_step`")?
        .0;
    let (_, rest) = text
        .split_once("    if (VL_UNLIKELY(!vlSymsp->__Vm_didInit)) {\n")
        .ok_or("`eval_step` has other statements")?;
    let (_, rest) = rest
        .split_once("\n    }\n")
        .ok_or("`eval_step` has other statements")?;
    let eval = format!("{root}___eval(&(vlSymsp->TOP));");
    if rest.matches(&eval).count() != 1 {
        return Err("`eval_step` has other statements".to_owned());
    }
    let rest = rest.replace(&eval, &format!("{root}___rise(vlSelf);"));
    Ok(format!(
        "void {root}___rise({root}* vlSelf);\n\nvoid {prefix}_rise({root}* vlSelf) {{\n    {}{rest}\n}}\n",
        syms(prefix)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_on_a_word() {
        let flag = "vlSelf->__VnbaTriggered.at";
        let text = format!(
            "    if (({flag}(0xaU) | \n         {flag}(0U))) {{\n        f(vlSelf);\n        g(vlSelf);\n    }}\n    if ({flag}(2U)) {{\n        h(vlSelf);\n    }}\n"
        );
        let words = "    if (triggered & 0x401ULL) {\n        f(vlSelf);\n        g(vlSelf);\n    }\n    if (triggered & 0x4ULL) {\n        h(vlSelf);\n    }\n";
        assert_eq!(by_word(&text).as_deref(), Ok(words));
        for other in ["    x = 1;\n", "    if (x) {\n        f(vlSelf);\n    }\n"] {
            by_word(&format!("{text}{other}")).unwrap_err();
        }
        by_word(&text.replace("0xaU", "0x40U")).unwrap_err();
        by_word(&text.replace(" | ", " & ")).unwrap_err();
    }

    #[test]
    fn a_word_of_triggers() {
        let text = "    vlSelf->__VactTriggered.at(1U) = (a \n & b);\n    vlSelf->__Vtrigrprev__TOP__a = a;\n";
        let word = "    triggered |= (uint64_t)(0U != ((a \n & b))) << 1;\n    vlSelf->__Vtrigrprev__TOP__a = a;\n";
        assert_eq!(triggers(text).as_deref(), Ok(word));
        triggers("    vlSelf->other = a;\n").unwrap_err();
    }

    #[test]
    fn only_the_clock_is_high() {
        let text = "(IData)(vlSelf->clk_i) & vlSelf->clk_i_q & vlSelf->clk_i";
        let high = "(IData)(1U) & vlSelf->clk_i_q & 1U";
        assert_eq!(with_clock_high(text, "clk_i"), high);
    }
}
