//! Helpers that run the command, inside the test or as a process, and scenarios.

pub mod scenarios;

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Parser;
use xoff::Outcome;
use xoff::cli::Cli;
use xoff::terminal::{Paint, Streams};

/// Returns the path of a file of this package, independent of the working folder of the tests.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Returns the command as a process, started in the folder of this package so that messages name the files as the tests
/// do.
pub fn xoff() -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_xoff"));
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
    let (out, err) = (Shared::default(), Shared::default());
    let mut streams = Streams {
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        paint: Paint { colour },
        width,
        progress: false,
    };
    let cli = Cli::try_parse_from([&["xoff"], arguments].concat()).expect("arguments");
    let outcome = xoff::run(&cli, &xoff_cosim::endpoints(), &mut streams);
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
