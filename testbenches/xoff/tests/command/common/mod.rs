//! Helpers that run the command, inside the test or as a process. What the command is, `crate::program` and
//! `crate::PROGRAM` say.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Parser;
use xoff::cli::Cli;
use xoff::ranks::Ranks;
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
    run_on(program, &Ranks::alone(), arguments, width, colour)
}

/// Runs a program as one of several ranks.
pub fn run_on(
    program: &Program,
    ranks: &Ranks,
    arguments: &[&str],
    width: Option<usize>,
    colour: bool,
) -> Said {
    let (out, err) = (Shared::default(), Shared::default());
    let mut streams = Streams {
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        paint: Paint { colour },
        width,
        progress: false,
    };
    let cli = Cli::try_parse_from([&["xoff"], arguments].concat()).expect("arguments");
    let outcome = xoff::run_among(&cli, program, ranks, &mut streams);
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

/// Returns the help of a subcommand on a terminal of 80 columns, none of whose lines is longer, and the commands of its
/// examples as words: copied from there they can be given to a shell.
pub fn help(subcommand: &[&str]) -> (String, Vec<Vec<String>>) {
    let output = xoff()
        .args(subcommand)
        .arg("--help")
        .env("COLUMNS", "80")
        .assert()
        .success();
    let help = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let long = help.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None, "{subcommand:?}");
    let examples = help.split("\nExamples:\n").nth(1).unwrap_or_default();
    let examples = examples.split("\n\n").next().unwrap().replace("\\\n", " ");
    let commands = (examples.lines())
        .filter(|line| !line.trim_start().starts_with('#'))
        .map(|line| shlex::split(line).expect("words of a shell"));
    // Of a pipe each part, and of each what is before a redirection.
    let commands = commands
        .flat_map(|words| {
            words
                .split(|word| word == "|")
                .map(<[_]>::to_vec)
                .collect::<Vec<_>>()
        })
        .map(|words| {
            words
                .into_iter()
                .take_while(|word| word != ">")
                .collect::<Vec<_>>()
        })
        .filter(|words| words.first().is_some_and(|word| word == "xoff"))
        .collect();
    (help, commands)
}
