//! Runs Verilator for one top.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::files::{Contents, Hash, failed, names_in, read};
use crate::store::Store;
use crate::types::FIRST_JSON;
use crate::{Error, Top, Verilator, deps, sampled};

/// Settings that all tops of a build share, ready for the command line. Paths are relative to `root`.
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

/// The results of a run.
pub(crate) struct Verilated {
    /// The folder of the C++ and of the table of types.
    pub folder: PathBuf,
    /// The table of types, if it was wanted.
    pub types: PathBuf,
    /// Verilator's messages, one entry each.
    pub warnings: Vec<String>,
    /// The files that Verilator read, with paths as given to it, including the waivers.
    pub read: Vec<PathBuf>,
}

/// Returns the arguments for a top, its sources last. The only path of the local machine among them is `out`.
fn arguments(common: &Common, top: &Top, prefix: &str, out: &Path) -> Vec<String> {
    let mut list: Vec<String> = [
        "--cc",
        "--assert",
        "-O3",
        "--x-initial",
        "unique",
        "--no-timing",
        // Waves and messages count picoseconds, whatever a source file says.
        "--timescale-override",
        "1ps/1ps",
        "-Wall",
        "-Wno-fatal",
        "--no-skip-identical",
    ]
    .map(str::to_owned)
    .into();
    if top.waves {
        // Verilator leaves wide signals out of waves silently unless the width is unlimited, which is 0 here. For the
        // number of elements of an array, 0 would mean none, so that limit is a number.
        list.extend(
            ["--trace-fst", "--trace-max-width", "0", "--trace-max-array"].map(str::to_owned),
        );
        list.push(common.trace_arrays.to_string());
        // One function for all signals of a large top takes g++ a minute and a half.
        list.extend(["--output-split-ctrace", "500"].map(str::to_owned));
    }
    list.push(
        if common.coverage {
            "--coverage"
        } else {
            "--savable"
        }
        .to_owned(),
    );
    list.extend(["--prefix".to_owned(), prefix.to_owned()]);
    list.extend(["-Mdir".to_owned(), out.display().to_string()]);
    if !top.readable.is_empty() || !top.kept.is_empty() || top.around.is_some() {
        list.push(out.join(READABLE).display().to_string());
    }
    if top.around.is_some() {
        list.push(out.join(sampled::FILE).display().to_string());
    }
    list.extend(source_arguments(common, top));
    list
}

/// Returns the arguments for a top's table of types, which is written to `path`.
fn type_arguments(common: &Common, top: &Top, path: &Path) -> Vec<String> {
    let mut list: Vec<String> = if path.extension().is_some_and(|end| end == "xml") {
        vec!["--xml-only".to_owned(), "--xml-output".to_owned()]
    } else {
        let names = path.with_extension("meta.json");
        vec![
            "--json-only".to_owned(),
            "--json-only-meta-output".to_owned(),
            names.display().to_string(),
            "--json-only-output".to_owned(),
        ]
    };
    list.push(path.display().to_string());
    // Warnings are off here, because the run that writes the C++ reports them.
    list.extend(["--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style"].map(str::to_owned));
    list.extend(source_arguments(common, top));
    list
}

/// Returns the arguments that select the sources.
fn source_arguments(common: &Common, top: &Top) -> Vec<String> {
    let mut list = vec!["--top-module".to_owned()];
    if top.around.is_some() {
        list.push(sampled::MODULE.to_owned());
    } else {
        list.push(top.module.clone());
        let parameter = |(name, value): &(String, String)| format!("-G{name}={value}");
        list.extend(top.params.iter().map(parameter));
    }
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
        [
            common.waivers,
            common.packages,
            common.sources,
            &top.sources,
        ]
        .concat()
        .iter()
        .map(|path| path.display().to_string()),
    );
    list
}

/// Names of files in an entry of the store: Verilator's text, and the files it read, one per line.
const SAID: &str = "said";
const READ: &str = "read";
/// The file that tells Verilator which signals stay readable.
const READABLE: &str = "readable.vlt";

fn readable(top: &Top) -> String {
    let line = |(module, signal): &(String, String)| {
        format!("public_flat_rd -module \"{module}\" -var \"{signal}\"\n")
    };
    let mut lines: String = top.readable.iter().map(line).collect();
    // The module of a signal is not known here. One of the same name in another module is kept too.
    let kept = (top.kept.iter()).map(|signal| line(&("*".to_owned(), signal.clone())));
    lines.extend(kept);
    // The generated module is not the user's to keep clean.
    let around = match top.around {
        Some(_) => format!("lint_off -file \"*{}\"\n", sampled::FILE),
        None => String::new(),
    };
    format!("`verilator_config\n{around}{lines}")
}

/// Rejects a `.readable(…)` that matches no signal, because Verilator does not report it.
fn check_readable(top: &Top, folder: &Path) -> Result<(), Error> {
    if top.readable.is_empty() {
        return Ok(());
    }
    let (mut kept, mut unsupported) = (Vec::new(), Vec::new());
    for name in names_in(folder)? {
        if name.contains("__Syms") && name.ends_with(".cpp") {
            for line in read(&folder.join(name))?.lines() {
                let Some((_, call)) = line.split_once("varInsert(") else {
                    continue;
                };
                let signal = call.split('"').nth(1).unwrap_or_default().to_owned();
                // Verilator 5.006 writes what it cannot do as a comment.
                let list = if line.trim_start().starts_with("//") {
                    &mut unsupported
                } else {
                    &mut kept
                };
                list.push(signal);
            }
        }
    }
    for (module, signal) in &top.readable {
        if !signal.contains('*') && !kept.contains(signal) {
            return Err(Error::NotReadable {
                top: top.module.clone(),
                module: module.clone(),
                signal: signal.clone(),
                reason: if unsupported.contains(signal) {
                    "this Verilator cannot read an array of several unpacked dimensions"
                } else {
                    "it takes the name of a module, then that of a signal or memory in it"
                },
            });
        }
    }
    Ok(())
}

/// What to make of a top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Cpp,
    /// The C++ and the table of types, which takes a second run of Verilator.
    CppAndTypes,
}

/// Runs Verilator for a top, or takes the result for the same sources from the store.
pub(crate) fn verilate(
    verilator: &Verilator,
    store: &Store,
    contents: &Contents,
    common: &Common,
    top: &Top,
    prefix: &str,
    wanted: Wanted,
) -> Result<Verilated, Error> {
    // The files that Verilator reads are known only after it ran. So the name of an entry has two hashes: one of the
    // command, and one of the files that Verilator read when the entry was made.
    let mut command = Hash::new();
    command.add(verilator.version.to_string().as_bytes());
    command.add(EDITED);
    // A netlist has no types, so they are taken from its source.
    let source = top.source_of_netlist.as_deref().unwrap_or(top);
    let types = Path::new(if verilator.version < FIRST_JSON {
        "types.xml"
    } else {
        "types.json"
    });
    let mut all = arguments(common, top, prefix, Path::new(""));
    if wanted == Wanted::CppAndTypes {
        all.extend(type_arguments(common, source, types));
    }
    for argument in all {
        command.add(argument.as_bytes());
    }
    command.add(readable(top).as_bytes());
    command.add(top.around.as_deref().unwrap_or_default().as_bytes());
    let command = format!("verilated-{}-", command.name());
    for name in store.names(&command)? {
        // Another build may remove an entry at this moment; then it is skipped.
        let Ok(list) = read(&store.path(&name).join(READ)) else {
            continue;
        };
        let list: Vec<PathBuf> = list.lines().map(PathBuf::from).collect();
        if name.strip_prefix(&command) == Some(&hash_of(common, contents, &list))
            && let Some(folder) = store.entry(&name)
        {
            return Ok(Verilated {
                warnings: messages(&read(&folder.join(SAID))?),
                types: folder.join(types),
                folder,
                read: list,
            });
        }
    }
    let mut before = None;
    loop {
        let draft = store.draft()?;
        let (said, mut list) = run(verilator, common, top, prefix, &draft.folder)?;
        if wanted == Wanted::CppAndTypes {
            let table = draft.folder.join(types);
            let arguments = type_arguments(common, source, &table);
            call(verilator, common, top, &arguments)?;
        }
        if top.source_of_netlist.is_some() {
            list.extend([common.packages, &source.sources].concat());
        }
        let hash = hash_of(common, contents, &list);
        // If a file was changed meanwhile, Verilator may have read either version. It is then run again, until the
        // files are the same before and after a run.
        let changed = list.iter().any(|path| contents.changed(path));
        if changed && before.as_ref() != Some(&hash) {
            before = Some(hash);
            continue;
        }
        let lines: Vec<String> = list.iter().map(|path| path.display().to_string()).collect();
        for (name, text) in [(SAID, &said), (READ, &lines.join("\n"))] {
            let path = draft.folder.join(name);
            std::fs::write(&path, text).map_err(failed("write", &path))?;
        }
        let folder = store.add(&draft, &format!("{command}{hash}"))?;
        return Ok(Verilated {
            types: folder.join(types),
            folder,
            warnings: messages(&said),
            read: list,
        });
    }
}

/// Hashes the contents of the files, and which other folders hold files with the same names: a file in a folder that
/// is searched earlier would be read instead.
fn hash_of(common: &Common, contents: &Contents, list: &[PathBuf]) -> String {
    let mut hash = Hash::new();
    for path in list {
        hash.add(path.as_os_str().as_encoded_bytes());
        hash.add(&contents.of(path).unwrap_or_default().to_le_bytes());
        let name = path.file_name().unwrap_or_default();
        for folder in common.includes.iter().chain(common.search) {
            hash.add(&[u8::from(common.root.join(folder).join(name).exists())]);
        }
    }
    hash.name()
}

/// What is changed in Verilator's files, so that a store of another version of this crate is not taken for ours.
const EDITED: &[u8] = b"results of calls and what loops of the schedule count are not saved";

/// Runs Verilator. Returns its text and the files it read.
fn run(
    verilator: &Verilator,
    common: &Common,
    top: &Top,
    prefix: &str,
    out: &Path,
) -> Result<(String, Vec<PathBuf>), Error> {
    let config = out.join(READABLE);
    std::fs::write(&config, readable(top)).map_err(failed("write", &config))?;
    let around = out.join(sampled::FILE);
    if let Some(text) = &top.around {
        std::fs::write(&around, text).map_err(failed("write", &around))?;
    }
    let text = call(verilator, common, top, &arguments(common, top, prefix, out))?;
    check_readable(top, out)?;
    leave_out_what_is_no_state(out)?;
    let mut list = deps::dependency_list(&read(&out.join(format!("{prefix}__ver.d")))?);
    list.retain(|path| *path != config && *path != around);
    for waiver in common.waivers {
        if !list.contains(waiver) {
            list.push(waiver.clone());
        }
    }
    Ok((text, list))
}

/// Takes out of what a model saves what is no state: the results of function calls, and how often a loop of the schedule
/// ran.
///
/// Verilator 5.048 keeps the result of a call on the right of `&&` or `||` in a member, which is written only when the
/// call is made and read only behind that; 5.006 does not. Saved it would make two equal states differ: one after cycles
/// in which it was written, and one after a jump over them. The counts of 5.006 are whatever was in memory until a loop
/// runs, and a loop that [`schedule`](crate::schedule) takes out never does.
fn leave_out_what_is_no_state(out: &Path) -> Result<(), Error> {
    let entries = std::fs::read_dir(out).map_err(failed("read", out))?;
    for entry in entries {
        let path = entry.map_err(failed("read", out))?.path();
        if path.extension().is_none_or(|end| end != "cpp") {
            continue;
        }
        let text = read(&path)?;
        if let Some(text) = without_what_is_no_state(&text) {
            std::fs::write(&path, text).map_err(failed("write", &path))?;
        }
    }
    Ok(())
}

/// Whether a member is the count or the condition of a loop of the schedule: `__VactIterCount`, `__VactContinue`.
fn is_of_loop(member: &str) -> bool {
    let end = member.trim_end_matches(';');
    end.starts_with("__V") && (end.ends_with("IterCount") || end.ends_with("Continue"))
}

/// A file without the lines that save or restore what is no state, if it has any.
fn without_what_is_no_state(text: &str) -> Option<String> {
    let saves = |line: &&str| {
        let line = line.trim_start();
        let member = line
            .strip_prefix("os<<")
            .or_else(|| line.strip_prefix("os>>"));
        member.is_some_and(|member| member.contains("__VlemCall_") || is_of_loop(member))
    };
    text.lines().any(|line| saves(&line)).then(|| {
        let lines = text.lines().filter(|line| !saves(line));
        lines.flat_map(|line| [line, "\n"]).collect()
    })
}

/// Runs Verilator. Returns its text.
fn call(
    verilator: &Verilator,
    common: &Common,
    top: &Top,
    arguments: &[String],
) -> Result<String, Error> {
    let output = Command::new(&verilator.program)
        .args(arguments)
        .current_dir(common.root)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::VerilatorMissing {
            program: verilator.program.clone(),
            floor: crate::Version::FLOOR,
            source,
        })?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
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
    Ok(text)
}

/// Splits Verilator's text into messages. A message starts with `%`, and the lines after it belong to it. The advice
/// on how to silence a warning is dropped, because it is always the same.
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
    fn what_is_no_state_is_not_saved() {
        let text = "    os<<a;\n    os<<t__DOT____VlemCall_1__f;\n    x = t__DOT____VlemCall_1__f;\n    os>>t__DOT____VlemCall_1__f;\n    os<<__VicoIterCount;\n    os>>__VactContinue;\n";
        let left = "    os<<a;\n    x = t__DOT____VlemCall_1__f;\n";
        assert_eq!(without_what_is_no_state(text).as_deref(), Some(left));
        assert_eq!(without_what_is_no_state(left), None);
    }

    #[test]
    fn a_message_keeps_its_lines_and_loses_the_advice() {
        let text = "%Warning-UNUSED: a.sv:1:2: Signal is not used: 'x'\n    1 | input x\n      |       ^\n                ... For warning description see …\n%Warning-WIDTH: b.sv:3:1: too wide\n";
        let messages = messages(text);
        assert_eq!(messages.len(), 2);
        assert_eq!(messages[0].lines().count(), 3);
        assert_eq!(messages[1], "%Warning-WIDTH: b.sv:3:1: too wide");
    }
}
