//! Failures: which model stopped, when, where in the source, and why.

use std::fmt;

use crate::ffi::bridge::Report;

/// What made a model stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// An assertion failed, or the source called `$error` or `$fatal`. Verilator does not distinguish these.
    Assertion,
    /// The source called `$stop`.
    Stop,
    /// The source called `$finish`. Nothing is wrong, but the source asks for no more cycles.
    Finish,
    /// Verilator's run time gave up, for instance because combinational logic does not converge.
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

/// A model that stopped: which one, when, where in the source, and why. It is cheap to move and to clone.
///
/// A failed instance is not evaluated any more. Every further call returns the same failure, until
/// [`restore`](crate::Instance::restore) puts the instance back to an earlier state. The reason is that its registers
/// may be half way through a clock edge, so that any further result would match no hardware. Its waves can still be
/// closed, and its output and time can still be read.
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

    /// The name of the instance that stopped, from its settings.
    pub fn instance(&self) -> &str {
        &self.0.instance
    }

    /// The name of its model.
    pub fn model(&self) -> &'static str {
        self.0.model
    }

    /// The kind of failure.
    pub fn kind(&self) -> FailureKind {
        self.0.kind
    }

    /// The time in picoseconds: the start of the cycle, or its middle for a failure at the rising edge.
    pub fn time_ps(&self) -> u64 {
        self.0.time_ps
    }

    /// The source file, as its name was given to Verilator; empty if unknown.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The line in the file, counted from 1; 0 if unknown.
    pub fn line(&self) -> u32 {
        self.0.line
    }

    /// The scope, including the assertion's own name: `nic0.nic.u_parser.a_no_overflow`; empty if unknown.
    pub fn scope(&self) -> &str {
        &self.0.scope
    }

    /// The message the source gave; empty if none.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The number of further failures in the same evaluation.
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

/// The text that Verilator prints before it stops: `[15000] %Error: f.sv:9: Assertion failed in top.t.a: message`.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    scope: String,
    message: String,
}

impl Said {
    /// Returns `None` if the text is not about this file and line, because it is then an earlier line of output.
    fn read(text: &str, file: &str, line: u32) -> Option<Said> {
        // The failure has the whole path that Verilator was given, but the printed text may have only the file's
        // name.
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
