//! Runs Verilator for one top.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, Top, Verilator, deps};

/// What all tops of a build share, ready for the command line. Paths start at `root`.
pub(crate) struct Common<'a> {
    pub root: &'a Path,
    pub packages: &'a [PathBuf],
    pub sources: &'a [PathBuf],
    pub search: &'a [PathBuf],
    pub includes: &'a [PathBuf],
    pub waivers: &'a [PathBuf],
    pub defines: &'a [(String, Option<String>)],
    pub flags: &'a [String],
    pub coverage: bool,
    pub trace_arrays: u32,
}

/// What came of it.
pub(crate) struct Verilated {
    /// Everything Verilator had to say, a message each.
    pub warnings: Vec<String>,
    /// The files it read, as it was given them.
    pub read: Vec<PathBuf>,
}

/// The arguments for a top, `sources` last. They do not hold a path of this machine but `out`.
fn arguments(
    common: &Common,
    top: &Top,
    prefix: &str,
    sources: &[PathBuf],
    out: &Path,
) -> Vec<String> {
    let mut list: Vec<String> = [
        "--cc",
        "--assert",
        "-O3",
        "--x-initial",
        "unique",
        "--no-timing",
        // Waves and messages count picoseconds, whatever a file says.
        "--timescale-override",
        "1ps/1ps",
        // Wide signals vanish from waves without a word unless the width is unlimited, which 0 says. For the number of elements of an array
        // 0 says none, so that limit is a number.
        "--trace-fst",
        "--trace-max-width",
        "0",
        "-Wall",
        "-Wno-fatal",
        "--no-skip-identical",
    ]
    .map(str::to_owned)
    .into();
    list.extend([
        "--trace-max-array".to_owned(),
        common.trace_arrays.to_string(),
    ]);
    list.push(
        if common.coverage {
            "--coverage"
        } else {
            "--savable"
        }
        .to_owned(),
    );
    list.extend([
        "--prefix".to_owned(),
        prefix.to_owned(),
        "--top-module".to_owned(),
        top.module.clone(),
    ]);
    list.extend(["-Mdir".to_owned(), out.display().to_string()]);
    list.extend(
        top.params
            .iter()
            .map(|(name, value)| format!("-G{name}={value}")),
    );
    list.extend(common.defines.iter().map(|(name, value)| match value {
        Some(value) => format!("-D{name}={value}"),
        None => format!("-D{name}"),
    }));
    for folder in common.search {
        list.extend(["-y".to_owned(), folder.display().to_string()]);
    }
    list.extend(
        common
            .includes
            .iter()
            .map(|folder| format!("+incdir+{}", folder.display())),
    );
    list.extend(common.flags.iter().chain(&top.flags).cloned());
    list.extend(
        [common.waivers, common.packages, common.sources, sources]
            .concat()
            .iter()
            .map(|path| path.display().to_string()),
    );
    list
}

/// Runs Verilator. `out` is emptied first, so that no file of an earlier run is compiled in.
pub(crate) fn run(
    verilator: &Verilator,
    common: &Common,
    top: &Top,
    prefix: &str,
    sources: &[PathBuf],
    out: &Path,
) -> Result<Verilated, Error> {
    let file = |action, path: &Path| {
        let path = path.to_owned();
        move |source| Error::File {
            action,
            path,
            source,
        }
    };
    if out.exists() {
        std::fs::remove_dir_all(out).map_err(file("write", out))?;
    }
    std::fs::create_dir_all(out).map_err(file("write", out))?;
    let output = Command::new(&verilator.program)
        .args(arguments(common, top, prefix, sources, out))
        .current_dir(common.root)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::VerilatorMissing {
            program: verilator.program.clone(),
            floor: crate::Version::FLOOR,
            source,
        })?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let text = [
            text.trim_end(),
            String::from_utf8_lossy(&output.stdout).trim_end(),
        ]
        .join("\n");
        return Err(Error::Refused {
            top: top.module.clone(),
            text: text.trim().to_owned(),
        });
    }
    let list = out.join(format!("{prefix}__ver.d"));
    let list = std::fs::read_to_string(&list).map_err(file("read", &list))?;
    Ok(Verilated {
        warnings: messages(&text),
        read: deps::dependency_list(&list),
    })
}

/// Splits Verilator's text into messages: each starts with `%`, what follows belongs to it. Its advice on how to silence a warning goes: it is the same each time.
fn messages(text: &str) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for line in text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("... "))
    {
        match messages.last_mut() {
            Some(message) if !line.starts_with('%') => {
                message.push('\n');
                message.push_str(line);
            }
            _ => messages.push(line.to_owned()),
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_its_lines_and_loses_the_advice() {
        let text = "%Warning-UNUSED: a.sv:1:2: Signal is not used: 'x'\n    1 | input x\n      |       ^\n                ... For warning description see …\n%Warning-WIDTH: b.sv:3:1: too wide\n";
        let messages = messages(text);
        assert_eq!(messages.len(), 2);
        assert_eq!(messages[0].lines().count(), 3);
        assert_eq!(messages[1], "%Warning-WIDTH: b.sv:3:1: too wide");
    }
}
