//! Where a VCD that the reader refuses is at fault: the reader names no line.

use std::collections::HashMap;
use std::io::BufRead;

/// Commands of the declarations (IEEE 1800 clause 21.7.2), and those that other tools add.
const DECLARATIONS: [&str; 9] = [
    "date",
    "timescale",
    "var",
    "scope",
    "upscope",
    "comment",
    "version",
    "attrbegin",
    "attrend",
];
/// Commands among the values.
const DUMPS: [&str; 6] = [
    "dumpvars", "dumpall", "dumpon", "dumpoff", "comment", "vcdclose",
];

/// Returns the first fault of a VCD as `line N: …`, if it is one of those that are known.
pub fn first_fault(file: impl BufRead) -> Option<String> {
    let mut scan = Scan::default();
    for (number, line) in (1..).zip(file.split(b'\n')) {
        let line = line.ok()?;
        for word in String::from_utf8_lossy(&line).split_ascii_whitespace() {
            if let Some(fault) = scan.word(word) {
                return Some(format!("line {number}: {fault}"));
            }
        }
    }
    (!scan.values).then(|| "it ends before $enddefinitions $end".into())
}

#[derive(Default)]
struct Scan {
    /// Behind `$enddefinitions`.
    values: bool,
    /// The command that the words belong to, and the words so far.
    command: Option<(String, Vec<String>)>,
    /// Types of variables by their identifiers.
    types: HashMap<String, String>,
    /// A value whose identifier is the next word.
    value: Option<String>,
}

impl Scan {
    /// Takes the next word. Returns what is wrong with it.
    fn word(&mut self, word: &str) -> Option<String> {
        if let Some((command, words)) = &mut self.command {
            if word != "$end" {
                words.push(word.to_owned());
            } else {
                if let ("var", [kind, _, id, ..]) = (&command[..], &words[..]) {
                    self.types.insert(id.clone(), kind.clone());
                }
                self.values |= command == "enddefinitions";
                self.command = None;
            }
            return None;
        }
        if let Some(value) = self.value.take() {
            return self.change(&value, word);
        }
        if let Some(command) = word.strip_prefix('$') {
            return self.begin(command, word);
        }
        if !self.values {
            return Some(format!(
                "'{word}' among the declarations; $enddefinitions $end has to end them"
            ));
        }
        match word.as_bytes()[0] {
            b'#' => (word[1..].parse::<u64>().is_err())
                .then(|| format!("the time '{word}' is no whole number")),
            b'b' | b'B' | b'r' | b'R' | b's' | b'S' => {
                self.value = Some(word.to_owned());
                None
            }
            _ if word.chars().count() == 1 => Some(format!(
                "'{word}': a value without the identifier of a signal"
            )),
            _ => {
                let value = word.chars().next()?;
                let id = &word[value.len_utf8()..];
                self.change(&value.to_string(), id)
            }
        }
    }

    fn begin(&mut self, command: &str, word: &str) -> Option<String> {
        match command {
            "enddefinitions" => {}
            // The words of a dump are values.
            "end" if self.values => return None,
            _ if self.values && DUMPS.contains(&command) && command != "comment" => return None,
            _ if DUMPS.contains(&command) && command != "comment" => {
                return Some(format!(
                    "{word} among the declarations: $enddefinitions $end is missing before it (migen leaves it out)"
                ));
            }
            _ if DECLARATIONS.contains(&command) => {}
            _ => return Some(format!("{word} is no command of a VCD")),
        }
        self.command = Some((command.to_owned(), Vec::new()));
        None
    }

    fn change(&self, value: &str, id: &str) -> Option<String> {
        let Some(kind) = self.types.get(id) else {
            return Some(format!(
                "a value '{value}' of '{id}', which no $var declares"
            ));
        };
        let text = value.starts_with(['s', 'S']);
        (text && kind != "string").then(|| {
            format!(
                "text '{}' for a signal of type {kind}: string is right (MyHDL declares enums so)",
                &value[1..]
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Option<String> {
        first_fault(text.as_bytes())
    }

    #[test]
    fn faults_have_lines() {
        // What migen 0.10 writes without the name of a module.
        assert_eq!(
            fault("$var wire 1 ! a $end\n$dumpvars\n0!\n$end\n#0\n").unwrap(),
            "line 2: $dumpvars among the declarations: $enddefinitions $end is missing before it (migen leaves it out)"
        );
        let head = "$var wire 1 ! a $end\n$var real 1 , state $end\n$enddefinitions $end\n";
        for (values, said) in [
            ("#0\n0!\n", None),
            ("$dumpvars\n0!\n$end\n#3\n", None),
            ("#3.2\n", Some("line 4: the time '#3.2' is no whole number")),
            // What MyHDL 0.10 writes for a signal of an enum.
            (
                "#0\nscount ,\n",
                Some(
                    "line 5: text 'count' for a signal of type real: string is right (MyHDL declares enums so)",
                ),
            ),
            (
                "#0\n0?\n",
                Some("line 5: a value '0' of '?', which no $var declares"),
            ),
            (
                "0\n",
                Some("line 4: '0': a value without the identifier of a signal"),
            ),
            ("$crash\n", Some("line 4: $crash is no command of a VCD")),
        ] {
            assert_eq!(
                fault(&format!("{head}{values}")).as_deref(),
                said,
                "{values}"
            );
        }
        assert_eq!(
            fault("$timescale 1ns $end\n").unwrap(),
            "it ends before $enddefinitions $end"
        );
    }
}
