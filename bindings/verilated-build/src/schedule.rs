//! Writes Verilator's schedule again, so that it costs less to decide what is evaluated.
//!
//! Verilator 5.006 keeps what is triggered in an array of flags, of which each condition reads up to all. It looks for
//! triggers until there are none, and then once more. And when the clock rises, it evaluates all that depends on
//! inputs, though these have not changed. In a model with clock gates that is a sixth of a busy cycle and half of one
//! at rest. Here what is triggered is a word, and at a rising edge the clock is a constant.
//!
//! Logic behind registers and inputs is evaluated twice in a cycle: when the clock has risen, and again when the next
//! inputs are there. Nobody looks at it in between. So an edge only runs the processes of the clocks, and the logic
//! that they and the next inputs have changed is evaluated once, with these: another seventh of a busy cycle. That is
//! right if no process waits for anything but the rise of the clock, of gated clocks and of sampled inputs; see
//! [`Model::check_clocks`].
//!
//! State, and what is evaluated in which order, stay the same. All functions concerned have to be as that version
//! writes them, statement by statement; otherwise none is changed. Later versions keep words themselves.

use std::fmt::{Display, Formatter, Write as _};

use crate::sampled;

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

/// A model with another schedule.
pub(crate) struct Rescheduled {
    /// Its sources. Beside those that Verilator wrote, there is one with three functions, which take the root:
    ///
    /// - `uint64_t {prefix}_rise(root)` raises the clock of a model that has settled with the clock at 0, and whose
    ///   other inputs have not changed since. Returns what the logic that is still to be evaluated depends on, a bit
    ///   each.
    /// - `void {prefix}_settle(root, left)` is `eval` for a model of which this is left.
    /// - `void {prefix}_finish(root, left)` evaluates what is left, before anybody looks at the state.
    pub sources: Vec<Source>,
    /// Why edges leave nothing.
    pub complete: Option<Unlike>,
}

/// Returns a model with another schedule.
///
/// # Errors
///
/// What is not as expected.
pub(crate) fn rewrite(
    prefix: &str,
    clock: &str,
    sources: Vec<Source>,
) -> Result<Rescheduled, Unlike> {
    let root = format!("{prefix}___024root");
    let mut model = Model { root, sources };
    let (inputs, fatal) = model.check_eval()?;
    let flags = model.statements("eval_triggers__act")?;
    let triggers = triggers(&flags)?;
    let conditions = by_word(&model.statements("eval_nba")?)?;
    let steps = steps(&model, prefix)?;
    let complete = model.check_clocks(&flags, clock).err();

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
    let (logic, processes): (Vec<_>, Vec<_>) =
        (conditions.iter()).partition(|condition| complete.is_none() && condition.is_logic());
    let function = |name: &str, conditions: &[&Condition]| {
        let body: String = conditions.chunks(TOGETHER).map(together).collect();
        format!(
            "void {root}___{name}({root}* vlSelf, const uint64_t triggered) {{\n    {}{body}}}\n",
            syms(prefix)
        )
    };
    let functions = function("processes", &processes) + "\n" + &function("logic", &logic);
    model.replace("eval_nba", &functions)?;
    let raise = match complete {
        None => format!(
            "    const uint64_t triggered = {root}___triggers(vlSelf);\n    \
             if (triggered) {root}___processes(vlSelf, triggered);\n    return triggered;\n"
        ),
        Some(_) => format!("    {root}___react(vlSelf, 0);\n    return 0;\n"),
    };
    model.replace(
        "eval",
        &format!(
            "{declared}uint64_t {root}___triggers({root}* vlSelf);\n\
             void {root}___processes({root}* vlSelf, const uint64_t triggered);\n\
             void {root}___logic({root}* vlSelf, const uint64_t triggered);\n\n\
             static void {root}___react({root}* vlSelf, uint64_t left) {{\n    \
             unsigned rounds = 0;\n    \
             for (;;) {{\n        \
             const uint64_t triggered = {root}___triggers(vlSelf);\n        \
             if (0U == (triggered | left)) break;\n        \
             if (VL_UNLIKELY(0x64U < rounds++)) {{\n            {fatal}\n        }}\n        \
             if (triggered) {root}___processes(vlSelf, triggered);\n        \
             {root}___logic(vlSelf, triggered | left);\n        \
             left = 0;\n    }}\n}}\n\n\
             void {root}___settle({root}* vlSelf, uint64_t left) {{\n{inputs}    {root}___react(vlSelf, left);\n}}\n\n\
             void {root}___eval({root}* vlSelf) {{\n    {root}___settle(vlSelf, 0);\n}}\n\n\
             uint64_t {root}___rise({root}* vlSelf) {{\n{risen}{raise}}}\n"
        ),
    )?;
    model.sources.push((format!("{prefix}_steps.cpp"), steps));
    Ok(Rescheduled {
        sources: model.sources,
        complete,
    })
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

impl Model {
    /// Checks that no process waits for anything but
    ///
    /// - the rise of the clock,
    /// - that of a gated clock, which is the clock and the output of a latch that is open while the clock is 0: while
    ///   the clock is 0 it does not rise, and at an edge it rises with the clock or not at all,
    /// - that of a signal around the top that says that an input has changed: its process copies inputs.
    fn check_clocks(&self, flags: &str, clock: &str) -> Result<(), Unlike> {
        let sampled = format!("{}__DOT__changed_", sampled::MODULE);
        for statement in flags.split_terminator(';').map(bare) {
            let Some((_, value)) = statement.split_once("=(") else {
                continue;
            };
            let name = value
                .strip_prefix("(IData)(vlSelf->")
                .and_then(|rest| rest.split_once(')'))
                .map_or("", |(name, _)| name);
            let rise =
                format!("(IData)(vlSelf->{name})&(~(IData)(vlSelf->__Vtrigrprev__TOP__{name})))");
            if value != rise {
                return Err(format!(
                    "a process waits for `{}`",
                    value.trim_end_matches(')')
                ));
            }
            if name != clock && !name.starts_with(&sampled) {
                self.check_gate(name, clock)?;
            }
        }
        Ok(())
    }

    fn check_gate(&self, name: &str, clock: &str) -> Result<(), Unlike> {
        let no_gate = || format!("a process waits for `{name}`, which is no gated `{clock}`");
        let and = format!("((IData)(vlSelf->{clock})&(IData)(vlSelf->");
        let mut latches = Vec::new();
        for (_, _, value) in self.assignments(name) {
            let latch = value
                .strip_prefix(&and)
                .and_then(|rest| rest.strip_suffix("))"));
            latches.push(latch.ok_or_else(no_gate)?.to_owned());
        }
        latches.sort();
        latches.dedup();
        let [latch] = &latches[..] else {
            return Err(no_gate());
        };
        let open = format!("if((1U&(~(IData)(vlSelf->{clock})))){{");
        let mut assignments = self.assignments(latch).into_iter();
        match assignments
            .all(|(text, at, _)| around(text, at).is_some_and(|line| bare(line) == open))
        {
            true => Ok(()),
            false => Err(no_gate()),
        }
    }

    /// The assignments to a member of the root, its first value aside: the source, where the assignment begins in it,
    /// and what is assigned.
    fn assignments(&self, member: &str) -> Vec<(&str, usize, String)> {
        let name = format!("vlSelf->{member}");
        let mut all = Vec::new();
        for (_, text) in &self.sources {
            for (at, _) in text.match_indices(&name) {
                let rest = &text[at + name.len()..];
                let assigned = rest.trim_start().strip_prefix('=');
                if let Some(value) = assigned.filter(|value| !value.starts_with('=')) {
                    let value = bare(value.split(';').next().unwrap_or_default());
                    if value != "VL_RAND_RESET_I(1)" {
                        all.push((text.as_str(), at, value));
                    }
                }
            }
        }
        all
    }
}

/// The line that opens the block in which a statement begins: the last one before it that is indented by less.
fn around(text: &str, at: usize) -> Option<&str> {
    let (before, indent) = text[..at].rsplit_once('\n')?;
    let mut lines = before.lines().rev();
    lines.find(|line| {
        let own = line.len() - line.trim_start().len();
        !line.trim().is_empty() && own < indent.len()
    })
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

/// A condition of `eval_nba`, on a word, and what it is for.
#[derive(Debug, PartialEq)]
struct Condition {
    word: u64,
    within: String,
}

impl Condition {
    /// Whether it is logic behind several clocks. A process waits for one, and what depends on one clock alone does not
    /// depend on logic behind several.
    const fn is_logic(&self) -> bool {
        self.word.count_ones() > 1
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Condition { word, within } = self;
        write!(
            f,
            "    if (triggered & {word:#x}ULL) {{\n{within}\n    }}\n"
        )
    }
}

/// How many conditions are looked at only if one of them holds: most do not in a cycle in which little happens.
const TOGETHER: usize = 8;

fn together(conditions: &[&Condition]) -> String {
    let word = (conditions.iter()).fold(0, |word, condition| word | condition.word);
    let within: String = conditions.iter().map(ToString::to_string).collect();
    format!("    if (triggered & {word:#x}ULL) {{\n{within}    }}\n")
}

/// Returns the conditions of `eval_nba`, which has nothing else.
fn by_word(statements: &str) -> Result<Vec<Condition>, Unlike> {
    let unlike = || "`eval_nba` has other statements".to_owned();
    let mut conditions = Vec::new();
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
        conditions.push(Condition {
            word,
            within: within.to_owned(),
        });
        rest = next;
    }
    Ok(conditions)
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

/// Returns a source with the functions of [`Rescheduled`]: they do what `eval_step` does with a model that has been
/// evaluated.
fn steps(model: &Model, prefix: &str) -> Result<String, Unlike> {
    let unlike = || "`eval_step` has other statements".to_owned();
    let header = format!("void {prefix}::eval_step() {{\n");
    let root = &model.root;
    let text = (model.sources.iter())
        .find_map(|(_, text)| text.split_once(&header))
        .and_then(|(_, rest)| rest.split_once("\n}\n"))
        .ok_or("it has no `eval_step`")?
        .0;
    let (start, rest) = text
        .split_once("    if (VL_UNLIKELY(!vlSymsp->__Vm_didInit)) {\n")
        .ok_or_else(unlike)?;
    // Without this flag, waves do not look for what has changed.
    let activity = "    vlSymsp->__Vm_activity = true;\n";
    let activity = if start.contains(activity) {
        activity
    } else {
        ""
    };
    let (_, rest) = rest.split_once("\n    }\n").ok_or_else(unlike)?;
    let eval = format!("{root}___eval(&(vlSymsp->TOP));");
    let (before, behind) = rest.split_once(&eval).ok_or_else(unlike)?;
    if behind.contains(&eval) {
        return Err(unlike());
    }
    let start = syms(prefix) + activity;
    Ok(format!(
        "uint64_t {root}___rise({root}* vlSelf);\n\
         void {root}___settle({root}* vlSelf, uint64_t left);\n\
         void {root}___logic({root}* vlSelf, const uint64_t triggered);\n\n\
         uint64_t {prefix}_rise({root}* vlSelf) {{\n    \
         {start}{before}const uint64_t left = {root}___rise(vlSelf);{behind}\n    return left;\n}}\n\n\
         void {prefix}_settle({root}* vlSelf, uint64_t left) {{\n    \
         {start}{before}{root}___settle(vlSelf, left);{behind}\n}}\n\n\
         void {prefix}_finish({root}* vlSelf, uint64_t left) {{\n    \
         {start}{before}{root}___logic(vlSelf, left);{behind}\n}}\n"
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
        let conditions = by_word(&text).unwrap();
        let text_of = |conditions: &[Condition]| -> String {
            conditions.iter().map(ToString::to_string).collect()
        };
        assert_eq!(text_of(&conditions), words);
        assert_eq!(
            [true, false],
            [conditions[0].is_logic(), conditions[1].is_logic()]
        );
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
    fn edges_leave_logic_where_clocks_are_gated_by_latches() {
        let flag = |value: &str| {
            format!("    vlSelf->__VactTriggered.at(0U) = ({value});\n    vlSelf->x = 1U;\n")
        };
        let rise = |name: &str| {
            flag(&format!(
                "(IData)(vlSelf->{name})\n        & (~ (IData)(vlSelf->__Vtrigrprev__TOP__{name}))"
            ))
        };
        let latch = "    if ((1U & (~ (IData)(vlSelf->clk_i)))) {\n        vlSelf->on_q \n            = vlSelf->on;\n    }\n";
        let gate =
            "    vlSelf->gated\n        = ((IData)(vlSelf->clk_i) & (IData)(vlSelf->on_q));\n";
        let check = |flags: &str, source: String| {
            let model = Model {
                root: "R".into(),
                sources: vec![("a.cpp".into(), source)],
            };
            model.check_clocks(flags, "clk_i")
        };
        let gated = || format!("{latch}{gate}    q = (vlSelf->gated == 1U);\n");
        check(&rise("clk_i"), String::new()).unwrap();
        check(&rise("pins__DOT__changed_3"), String::new()).unwrap();
        check(&rise("gated"), gated()).unwrap();
        for (flags, source) in [
            (
                flag("(~ (IData)(vlSelf->clk_i)) & (IData)(vlSelf->__Vtrigrprev__TOP__clk_i)"),
                gated(),
            ),
            (
                flag("(IData)(vlSelf->a) & (~ (IData)(vlSelf->__Vtrigrprev__TOP__b))"),
                gated(),
            ),
            (rise("rst_i"), gated()),
            (
                rise("gated"),
                gated().replace("vlSelf->clk_i) &", "vlSelf->other) &"),
            ),
            (rise("gated"), gated() + "    vlSelf->gated = 1U;\n"),
            (rise("gated"), gated() + "    vlSelf->on_q = vlSelf->on;\n"),
            (
                rise("gated"),
                gated().replace("(~ (IData)(vlSelf->clk_i))", "(IData)(vlSelf->clk_i)"),
            ),
        ] {
            check(&flags, source).unwrap_err();
        }
    }

    #[test]
    fn only_the_clock_is_high() {
        let text = "(IData)(vlSelf->clk_i) & vlSelf->clk_i_q & vlSelf->clk_i";
        let high = "(IData)(1U) & vlSelf->clk_i_q & 1U";
        assert_eq!(with_clock_high(text, "clk_i"), high);
    }
}
