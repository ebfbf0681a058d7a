//! `xoff fuzz`, `replay`, `cover` and `regress`: they are in a program of its own, `xoff-verify`, which has models of all
//! units. [`Started`] starts it; a program that has them itself gives the command another [`Verify`].

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use xoff_network::Endpoints;

use crate::Outcome;
use crate::terminal::Streams;

/// The program.
const PROGRAM: &str = "xoff-verify";
/// The workspace, from this package.
const WORKSPACE: &str = "../../Cargo.toml";
/// What Cargo writes into a folder for what it builds.
const BUILT_BY_CARGO: &str = "CACHEDIR.TAG";
/// A build that takes longer is said.
const QUIET: Duration = Duration::from_secs(1);
/// How often a build is asked whether it has ended.
const ASKED: Duration = Duration::from_millis(20);

/// Arguments that are read by the program with the subcommand.
#[derive(Debug, Args)]
pub struct Passed {
    /// Arguments; --help says which
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    pub arguments: Vec<OsString>,
}

/// What runs `xoff fuzz`, `replay`, `cover` and `regress`.
pub trait Verify {
    /// Runs a subcommand. `words` are its name and its arguments; `endpoints` are the kinds of hosts that scenarios may
    /// have.
    ///
    /// # Errors
    ///
    /// Returns an error for input that cannot be used and output that cannot be written.
    fn run(
        &self,
        words: &[OsString],
        endpoints: &Endpoints,
        streams: &mut Streams,
    ) -> anyhow::Result<Outcome>;
}

/// Starts the program `xoff-verify` in place of this process. It lies beside this one. If that is where Cargo built this
/// one from the sources, it is built first; that takes minutes if it was not there, and next to nothing if nothing has
/// changed.
#[derive(Debug, Clone, Copy)]
pub struct Started;

impl Verify for Started {
    fn run(
        &self,
        words: &[OsString],
        _: &Endpoints,
        streams: &mut Streams,
    ) -> anyhow::Result<Outcome> {
        let own = std::env::current_exe().context("the path of this program")?;
        let folder = own.parent().context("the folder of this program")?;
        if let Some(build) = build(folder) {
            finish(build?, streams)?;
        }
        let program = folder.join(PROGRAM);
        if !program.is_file() {
            bail!(
                "xoff {}: it is in the program {PROGRAM}, which is not in {}: cargo install --path testbenches/verify",
                words[0].display(),
                folder.display()
            );
        }
        streams.out.flush()?;
        let error = Command::new(&program).args(words).exec();
        Err(error).with_context(|| program.display().to_string())
    }
}

/// Starts a build of the program into the folder of this one. `None` if that is not where Cargo built this one.
fn build(folder: &Path) -> Option<anyhow::Result<Child>> {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(WORKSPACE);
    let target = folder.parent()?;
    let mut above = target.ancestors().take(2);
    if !workspace.is_file() || !above.any(|folder| folder.join(BUILT_BY_CARGO).is_file()) {
        return None;
    }
    let profile = match folder.file_name()?.to_str()? {
        "debug" => "dev",
        name => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--bin", PROGRAM, "--profile", profile]);
    command.arg("--manifest-path").arg(workspace);
    command.arg("--target-dir").arg(target);
    Some(command.spawn().context("cargo, to build xoff-verify"))
}

/// Waits for a build, and says so if it takes long.
fn finish(mut build: Child, streams: &mut Streams) -> anyhow::Result<()> {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = build.try_wait()? {
            break status;
        }
        if started.elapsed() > QUIET {
            writeln!(
                streams.err,
                "xoff: builds {PROGRAM}, which has models of all units (some minutes the first time)"
            )?;
            streams.err.flush()?;
            break build.wait()?;
        }
        std::thread::sleep(ASKED);
    };
    if !status.success() {
        bail!("{PROGRAM} cannot be built");
    }
    Ok(())
}
