//! Errors of a build, with one sentence each.

use std::path::{Path, PathBuf};

use crate::Version;

/// Why the models could not be built. Each message names what was read, where it is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The Verilator program could not be run.
    #[error(
        "Verilator was not found: cannot run `{program}` ({source}). Install Verilator {floor} or newer (Debian, Ubuntu: `apt-get install verilator`), or set VERILATOR to the program"
    )]
    VerilatorMissing {
        /// The program that was tried.
        program: String,
        /// The oldest supported version.
        floor: Version,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The installed Verilator is too old.
    #[error(
        "Verilator {found} is too old: `{program}` must be {floor} or newer. Install a newer one, or set VERILATOR to its program"
    )]
    VerilatorTooOld {
        /// The program that was run.
        program: String,
        /// Its version.
        found: Version,
        /// The oldest supported version.
        floor: Version,
    },
    /// The program runs, but does not answer like Verilator.
    #[error(
        "`{program} {argument}` did not answer as Verilator does: it said {answer:?}. Set VERILATOR to Verilator {floor} or newer"
    )]
    NotVerilator {
        /// The program that was run.
        program: String,
        /// The argument it was run with.
        argument: &'static str,
        /// The first line of the answer.
        answer: String,
        /// The oldest supported version.
        floor: Version,
    },
    /// There is no C++ compiler.
    #[error(
        "no C++ compiler: cannot run `{compiler}`. Install g++ (Debian, Ubuntu: `apt-get install g++`), or set CXX"
    )]
    CompilerMissing {
        /// The compiler that was tried.
        compiler: String,
    },
    /// zlib's header is missing.
    #[error(
        "zlib's header zlib.h was not found by `{compiler}`: the FST wave writer needs it. Install it (Debian, Ubuntu: `apt-get install zlib1g-dev`)"
    )]
    ZlibMissing {
        /// The compiler that was tried.
        compiler: String,
    },
    /// lz4's header is missing, which newer versions of Verilator need.
    #[error(
        "lz4's header lz4.h was not found by `{compiler}`: the FST wave writer of this Verilator needs it. Install it (Debian, Ubuntu: `apt-get install liblz4-dev`), or set VERILATOR to an older one"
    )]
    Lz4Missing {
        /// The compiler that was tried.
        compiler: String,
    },
    /// The C++ compiler rejected the generated code.
    #[error("the C++ of {what} did not compile:\n{text}")]
    Compile {
        /// What was compiled.
        what: String,
        /// The compiler's messages.
        text: String,
    },
    /// Verilator rejected a top.
    #[error("Verilator refused top `{top}`:\n{text}")]
    Refused {
        /// The module's name.
        top: String,
        /// Verilator's messages, with files and lines.
        text: String,
    },
    /// A signal to be made readable exists in no module of the given name below the top.
    #[error("top `{top}` has no signal for `.readable(\"{module}\", \"{signal}\")`: {reason}")]
    NotReadable {
        /// The top's module.
        top: String,
        /// The module as written.
        module: String,
        /// The signal as written.
        signal: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A file or folder that a build names does not exist.
    #[error("{what} `{path}` does not exist; paths start at {}", root_name(root))]
    NoSuchFile {
        /// The purpose of the file or folder.
        what: &'static str,
        /// The path as written.
        path: PathBuf,
        /// The folder that paths are relative to.
        root: PathBuf,
    },
    /// No search folder has a file for a top.
    #[error(
        "no file for top `{module}`: {search} should hold `{module}.sv` or `{module}.v`, or name it with `.source(…)`"
    )]
    NoModule {
        /// The module's name.
        module: String,
        /// The folders that were searched.
        search: String,
    },
    /// The path of the store is not absolute. It must be, because build scripts run in different folders.
    #[error("VERILATED_STORE is `{path}`: it must be an absolute path")]
    StorePath {
        /// The path as written.
        path: PathBuf,
    },
    /// A line of a file list is not understood.
    #[error(
        "{path}:{line}: `{text}` is not understood: a list holds files, `-y folder`, `+incdir+folder` and `+define+NAME=value`, one a line"
    )]
    List {
        /// The list.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The line's text.
        text: String,
    },
    /// Two files could both hold a module.
    #[error(
        "module `{module}` could be `{first}` or `{second}`: keep one, or name the file with `.source(…)`"
    )]
    TwoFiles {
        /// The module's name.
        module: String,
        /// The file found first.
        first: PathBuf,
        /// The file found second.
        second: PathBuf,
    },
    /// A port has a type that no field of a struct can hold.
    #[error("top `{top}`: port `{port}` {reason}")]
    PortType {
        /// The module's name.
        top: String,
        /// The port's name.
        port: String,
        /// Its type, and what would be right.
        reason: &'static str,
    },
    /// A port has a name that Verilator's C++ uses for something else, which no compiler takes.
    #[error(
        "top `{top}`: port `{port}` has a name that the C++ of a model uses otherwise: rename it, or name as top a module around `{top}` whose port has another name"
    )]
    PortName {
        /// The module's name.
        top: String,
        /// The port's name.
        port: String,
    },
    /// This crate cannot read a port line of the generated header.
    #[error("top `{top}`: port line `{line}` of Verilator's header is not understood: {reason}")]
    Port {
        /// The module's name.
        top: String,
        /// The line.
        line: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// This crate cannot read Verilator's table of types.
    #[error("top `{top}`: {path:?}, Verilator's table of types, is not understood: {reason}")]
    Types {
        /// The module's name.
        top: String,
        /// The table.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The modules of a top and of a package would have the same name in Rust.
    #[error(
        "top `{name}` and a package would both be the module `{module}`: give the top another name with `.named(…)`"
    )]
    PackageName {
        /// The top's name.
        name: String,
        /// The module.
        module: String,
    },
    /// The clock set for a top is not a one-bit input of it.
    #[error("top `{top}`: clock `{clock}` is no one-bit input. Inputs: {inputs}")]
    Clock {
        /// The module's name.
        top: String,
        /// The clock's name.
        clock: String,
        /// The inputs that exist.
        inputs: String,
    },
    /// An input that is to be sampled does not exist.
    #[error("top `{top}` has no input `{input}` that can be sampled; it has: {inputs}")]
    Sampled {
        /// The module.
        top: String,
        /// The name that was given.
        input: String,
        /// The names that there are.
        inputs: String,
    },
    /// Inputs are to be sampled, but a port is an unpacked array.
    #[error("top `{top}`: inputs cannot be sampled, because port `{port}` has unpacked dimensions")]
    SampledArray {
        /// The module.
        top: String,
        /// The port.
        port: String,
    },
    /// Inputs are to be sampled, but the top has no clock.
    #[error("top `{top}`: inputs are sampled while the clock is 0, but it has no clock")]
    SampledWithoutClock {
        /// The module.
        top: String,
    },
    /// Processes in a top wait for edges, but the top has no clock of the build's name.
    #[error(
        "top `{top}` has no clock `{clock}`, but processes in it wait for edges of: {edges}. Name its clock, as in `.clock(\"{example}\")`; one-bit inputs that could be it: {candidates}"
    )]
    NoClock {
        /// The module's name.
        top: String,
        /// The clock that was expected.
        clock: String,
        /// The signals whose edges are waited for.
        edges: String,
        /// The one-bit inputs among them, or all one-bit inputs if there are none.
        candidates: String,
        /// The first of them.
        example: String,
    },
    /// Two tops have the same name.
    #[error("two tops are called `{name}`: give one of them another name with `.named(…)`")]
    SameName {
        /// The name.
        name: String,
    },
    /// A name is not an identifier in both Rust and C++.
    #[error(
        "`{name}` cannot name a top: use letters, digits and `_`, a letter first, and no keyword of Rust"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// An environment variable is missing: the code runs outside of a build script or without the run-time crate.
    #[error("{variable} is not set: {hint}")]
    NoVariable {
        /// The environment variable.
        variable: &'static str,
        /// A hint on how to set it.
        hint: &'static str,
    },
    /// A file could not be read or written.
    #[error("cannot {action} `{path}`: {source}")]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// cxx could not generate the bridge.
    #[error("cxx refused the bridge of top `{top}`: {text}")]
    Bridge {
        /// The module's name.
        top: String,
        /// cxx's message.
        text: String,
    },
}

fn root_name(root: &Path) -> String {
    if root.as_os_str().is_empty() {
        "the crate's own folder".to_owned()
    } else {
        format!("`{}`", root.display())
    }
}
