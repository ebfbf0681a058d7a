//! A model that stopped: which, when, where in the source, and why.

use std::fmt;

use crate::ffi::bridge::Report;

/// What made a model stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// An assertion failed, or the source said `$error` or `$fatal`: Verilator does not tell them apart.
    Assertion,
    /// The source said `$stop`.
    Stop,
    /// The source said `$finish`. Nothing is wrong, but the source asks for no more cycles.
    Finish,
    /// Verilator's run time gave up: combinational logic does not converge, for instance.
    Runtime,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailureKind::Assertion => "assertion failed",
            FailureKind::Stop => "$stop",
            FailureKind::Finish => "$finish",
            FailureKind::Runtime => "model gave up",
        })
    }
}

/// A model that stopped. Small to pass around and cheap to clone.
///
/// Once an instance has failed it does not evaluate any more: each further call gives the same failure again, until a
/// [`restore`](crate::Instance::restore) puts it back to a state from before. Its registers may be half way through a clock
/// edge, so anything it computed from there would be nobody's hardware. Waves may still be closed, output and time still be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    instance: String,
    model: &'static str,
    kind: FailureKind,
    time_ps: u64,
    file: String,
    line: u32,
    scope: String,
    message: String,
    further: u32,
}

impl Failure {
    pub(crate) fn from_report(instance: &str, model: &'static str, report: Report) -> Failure {
        let said = Said::read(&report.text, &report.file, report.line);
        let (kind, scope, message) = match (report.kind, said) {
            (3, _) => (FailureKind::Finish, report.hierarchy, String::new()),
            (2, _) => (
                FailureKind::Runtime,
                report.hierarchy,
                report.text.trim_end().to_owned(),
            ),
            (_, Some(said)) => (FailureKind::Assertion, said.scope, said.message),
            (_, None) => (FailureKind::Stop, report.hierarchy, String::new()),
        };
        Failure(Box::new(Details {
            instance: instance.to_owned(),
            model,
            kind,
            time_ps: report.time,
            file: report.file,
            line: report.line,
            scope,
            message,
            further: report.further,
        }))
    }

    /// The instance that stopped, as its settings call it.
    pub fn instance(&self) -> &str {
        &self.0.instance
    }

    /// The model it is an instance of.
    pub fn model(&self) -> &'static str {
        self.0.model
    }

    /// What made it stop.
    pub fn kind(&self) -> FailureKind {
        self.0.kind
    }

    /// When, in picoseconds: the start of the cycle, or its middle for what happens at the rising edge.
    pub fn time_ps(&self) -> u64 {
        self.0.time_ps
    }

    /// The source file, as Verilator was given it; empty if unknown.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The line in it, from 1; 0 if unknown.
    pub fn line(&self) -> u32 {
        self.0.line
    }

    /// The scope, down to the assertion's own name: `nic0.nic.u_parser.a_no_overflow`; empty if unknown.
    pub fn scope(&self) -> &str {
        &self.0.scope
    }

    /// The message the source gave; empty if none.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// How many more failures the same evaluation brought.
    pub fn further(&self) -> u32 {
        self.0.further
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            instance,
            model,
            kind,
            time_ps,
            file,
            line,
            scope,
            message,
            further,
        } = &*self.0;
        write!(f, "{instance} ({model}) at {time_ps} ps: {kind}")?;
        if !scope.is_empty() {
            write!(f, " in {scope}")?;
        }
        if !file.is_empty() {
            write!(f, ", {file}:{line}")?;
        }
        if !message.is_empty() {
            write!(f, ": {message}")?;
        }
        if *further > 0 {
            write!(f, " (and {further} more)")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// What Verilator prints before it stops: `[15000] %Error: f.sv:9: Assertion failed in top.t.a: message`.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    scope: String,
    message: String,
}

impl Said {
    /// `None` if the text is not about this file and line: then it is some earlier line of output.
    fn read(text: &str, file: &str, line: u32) -> Option<Said> {
        // Verilator stops with the path that it was given, and prints the file's name alone.
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
        let (severity, rest) = text.split_once(&format!("{name}:{line}: "))?;
        let severity = severity
            .strip_suffix(&file[..file.len() - name.len()])
            .unwrap_or(severity);
        if !severity.ends_with("%Error: ") && !severity.ends_with("%Fatal: ") {
            return None;
        }
        let rest = rest.trim_end();
        let Some(rest) = rest.strip_prefix("Assertion failed in ") else {
            return Some(Said {
                scope: String::new(),
                message: rest.to_owned(),
            });
        };
        let (scope, message) = rest
            .split_once(": ")
            .unwrap_or((rest.trim_end_matches(':'), ""));
        Some(Said {
            scope: scope.to_owned(),
            message: message.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_verilator_says() {
        let text =
            "[15000] %Error: rtl/f.sv:9: Assertion failed in u0.f.a_full: depth 17: too much\n";
        let said = Said::read(text, "rtl/f.sv", 9).unwrap();
        assert_eq!(said.scope, "u0.f.a_full");
        assert_eq!(said.message, "depth 17: too much");
    }

    #[test]
    fn an_assertion_need_not_say_anything() {
        let said = Said::read(
            "[0] %Error: f.sv:9: Assertion failed in u0.f.a\n",
            "f.sv",
            9,
        )
        .unwrap();
        assert_eq!((said.scope.as_str(), said.message.as_str()), ("u0.f.a", ""));
    }

    #[test]
    fn other_output_is_not_taken_for_the_reason() {
        assert_eq!(Said::read("hello f.sv:9: there", "f.sv", 9), None);
        assert_eq!(Said::read("[0] %Error: f.sv:8: x", "f.sv", 9), None);
        assert_eq!(Said::read("[0] %Error: g/f.sv:9: x", "rtl/f.sv", 9), None);
    }
}
