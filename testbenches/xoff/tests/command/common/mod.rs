//! Helpers that run the command, inside the test or as a process. What the command is, `crate::program` and
//! `crate::PROGRAM` say.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Parser;
use xoff::cli::Cli;
use xoff::terminal::{Paint, Streams};
use xoff::{Outcome, Program};

/// Returns the path of a file of this package, independent of the working folder of the tests.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Returns the command as a process, started in the folder of this package so that messages name the files as the tests
/// do.
pub fn xoff() -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(crate::PROGRAM);
    command
        .current_dir(file(""))
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS");
    command
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).expect("text")
    }
}

/// Output of a run.
pub struct Said {
    pub outcome: anyhow::Result<Outcome>,
    pub out: String,
    pub err: String,
}

/// Runs `xoff` with `arguments`, as on a terminal of `width` columns.
pub fn run(arguments: &[&str], width: Option<usize>, colour: bool) -> Said {
    run_with(&crate::program(), arguments, width, colour)
}

/// Runs a program as [`run`].
pub fn run_with(program: &Program, arguments: &[&str], width: Option<usize>, colour: bool) -> Said {
    let (out, err) = (Shared::default(), Shared::default());
    let mut streams = Streams {
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        paint: Paint { colour },
        width,
        progress: false,
    };
    let cli = Cli::try_parse_from([&["xoff"], arguments].concat()).expect("arguments");
    let outcome = xoff::run(&cli, program, &mut streams);
    Said {
        outcome,
        out: out.text(),
        err: err.text(),
    }
}

/// Returns the path of a file of this package as an argument.
pub fn argument(path: &str) -> String {
    file(path).to_str().expect("text").to_string()
}

/// Runs the command, expects this exit code, and returns its output.
pub fn said(arguments: &[&str], input: impl Into<Vec<u8>>, code: i32) -> (String, String) {
    let output = xoff()
        .args(arguments)
        .write_stdin(input)
        .assert()
        .code(code)
        .get_output()
        .clone();
    (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}
