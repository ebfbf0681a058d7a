//! What can go wrong in a build, one sentence each.

use std::path::{Path, PathBuf};

use crate::Version;

/// Why the models could not be built. Each message says what was read, where it is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No Verilator where one was looked for.
    #[error(
        "Verilator was not found: cannot run `{program}` ({source}). Install Verilator {floor} or newer (Debian, Ubuntu: `apt-get install verilator`), or set VERILATOR to the program"
    )]
    VerilatorMissing {
        /// The program that was tried.
        program: String,
        /// The least version that will do.
        floor: Version,
        /// What the system said.
        source: std::io::Error,
    },
    /// A Verilator, but an old one.
    #[error(
        "Verilator {found} is too old: `{program}` must be {floor} or newer. Install a newer one, or set VERILATOR to its program"
    )]
    VerilatorTooOld {
        /// The program that was asked.
        program: String,
        /// Its version.
        found: Version,
        /// The least version that will do.
        floor: Version,
    },
    /// Something that runs but does not talk like Verilator.
    #[error(
        "`{program} {argument}` did not answer as Verilator does: it said {answer:?}. Set VERILATOR to Verilator {floor} or newer"
    )]
    NotVerilator {
        /// The program that was asked.
        program: String,
        /// The question.
        argument: &'static str,
        /// The first line of the answer.
        answer: String,
        /// The least version that will do.
        floor: Version,
    },
    /// No C++ compiler.
    #[error(
        "no C++ compiler: cannot run `{compiler}`. Install g++ (Debian, Ubuntu: `apt-get install g++`), or set CXX"
    )]
    CompilerMissing {
        /// The compiler that was tried.
        compiler: String,
    },
    /// No zlib header.
    #[error(
        "zlib's header zlib.h was not found by `{compiler}`: the FST wave writer needs it. Install it (Debian, Ubuntu: `apt-get install zlib1g-dev`)"
    )]
    ZlibMissing {
        /// The compiler that was tried.
        compiler: String,
    },
    /// The C++ compiler refused the generated code.
    #[error("the C++ of {what} did not compile:\n{text}")]
    Compile {
        /// What was compiled.
        what: String,
        /// What the compiler said.
        text: String,
    },
    /// Verilator refused a top. Holds Verilator's own text.
    #[error("Verilator refused top `{top}`:\n{text}")]
    Refused {
        /// The module's name.
        top: String,
        /// Verilator's messages, file and line included.
        text: String,
    },
    /// A signal that is to be readable, and is in no module of that name below the top.
    #[error(
        "top `{top}` has no signal for `.readable(\"{module}\", \"{signal}\")`: it takes the name of a module, then that of a signal or memory in it"
    )]
    NotReadable {
        /// The top's module.
        top: String,
        /// The module as written.
        module: String,
        /// The signal as written.
        signal: String,
    },
    /// A file or folder that a build names does not exist.
    #[error("{what} `{path}` does not exist; paths start at {}", root_name(root))]
    NoSuchFile {
        /// What the build wanted it for.
        what: &'static str,
        /// The path as written.
        path: PathBuf,
        /// Where paths start.
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
    /// The store of models must be named absolutely, for build scripts run in different folders.
    #[error("VERILATED_STORE is `{path}`: it must be an absolute path")]
    StorePath {
        /// The path as written.
        path: PathBuf,
    },
    /// A line of a file list that is not understood.
    #[error(
        "{path}:{line}: `{text}` is not understood: a list holds files, `-y folder`, `+incdir+folder` and `+define+NAME=value`, one a line"
    )]
    List {
        /// The list.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// Two files could both hold the module.
    #[error(
        "module `{module}` could be `{first}` or `{second}`: keep one, or name the file with `.source(…)`"
    )]
    TwoFiles {
        /// The module's name.
        module: String,
        /// Found first.
        first: PathBuf,
        /// Found second.
        second: PathBuf,
    },
    /// A port line of the generated header that this crate cannot read.
    #[error("top `{top}`: port line `{line}` of Verilator's header is not understood: {reason}")]
    Port {
        /// The module's name.
        top: String,
        /// The line.
        line: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A type table of Verilator that this crate cannot read.
    #[error("top `{top}`: {path:?}, Verilator's table of types, is not understood: {reason}")]
    Types {
        /// The module's name.
        top: String,
        /// The table.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A top and a package whose modules in Rust would have one name.
    #[error(
        "top `{name}` and a package would both be the module `{module}`: give the top another name with `.named(…)`"
    )]
    PackageName {
        /// The top's name.
        name: String,
        /// The module.
        module: String,
    },
    /// The clock that was asked for is no one-bit input.
    #[error("top `{top}`: clock `{clock}` is no one-bit input. Inputs: {inputs}")]
    Clock {
        /// The module's name.
        top: String,
        /// The clock's name.
        clock: String,
        /// The inputs there are.
        inputs: String,
    },
    /// A top waits for edges, but has no clock of the build's name.
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
        /// One-bit inputs among them, or else all one-bit inputs.
        candidates: String,
        /// The first of them.
        example: String,
    },
    /// Two tops of one name.
    #[error("two tops are called `{name}`: give one of them another name with `.named(…)`")]
    SameName {
        /// The name.
        name: String,
    },
    /// A name that is no identifier in Rust and C++.
    #[error("`{name}` cannot name a top: use letters, digits and `_`, a letter first")]
    BadName {
        /// The name.
        name: String,
    },
    /// Run outside of a build script, or without the run-time crate.
    #[error("{variable} is not set: {hint}")]
    NoVariable {
        /// The environment variable.
        variable: &'static str,
        /// What would set it.
        hint: &'static str,
    },
    /// A file could not be read or written.
    #[error("cannot {action} `{path}`: {source}")]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bridge could not be generated.
    #[error("cxx refused the bridge of top `{top}`: {text}")]
    Bridge {
        /// The module's name.
        top: String,
        /// What cxx said.
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
