//! Finds Verilator, the C++ compiler and zlib. What is missing is reported in one sentence.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;

/// Verilator's version, as in `5.006`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The number before the dot.
    pub major: u32,
    /// The number after the dot, written with three digits.
    pub minor: u32,
}

impl Version {
    /// The oldest supported version. Newer ones are never rejected.
    pub const FLOOR: Version = Version { major: 5, minor: 6 };

    /// Parses `Verilator 5.006 2023-01-22 rev …`. Returns `None` for text of another form.
    pub fn parse(line: &str) -> Option<Version> {
        let number = line
            .trim()
            .strip_prefix("Verilator ")?
            .split_whitespace()
            .next()?;
        let (major, minor) = number.split_once('.')?;
        let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
        Some(Version {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.major, self.minor)
    }
}

/// A Verilator that is new enough.
#[derive(Clone, Debug)]
pub struct Verilator {
    /// The program to run.
    pub program: String,
    /// Its version.
    pub version: Version,
    /// Its root folder, whose `include` folder holds the run time.
    pub root: PathBuf,
}

impl Verilator {
    /// Finds the Verilator that the variable `VERILATOR` names, or otherwise `verilator` on the path.
    ///
    /// # Errors
    ///
    /// Fails if there is none, if it is older than [`Version::FLOOR`], or if the program is not Verilator.
    pub fn find() -> Result<Verilator, Error> {
        let program = env::var("VERILATOR").ok().filter(|name| !name.is_empty());
        Verilator::at(&program.unwrap_or_else(|| "verilator".to_owned()))
    }

    /// Returns the Verilator that this program is. Errors as [`Verilator::find`].
    pub fn at(program: &str) -> Result<Verilator, Error> {
        let not_verilator = |argument, answer: &str| Error::NotVerilator {
            program: program.to_owned(),
            argument,
            answer: answer.lines().next().unwrap_or_default().to_owned(),
            floor: Version::FLOOR,
        };
        let answer = ask(program, &["--version"])?;
        let version = answer
            .lines()
            .find_map(Version::parse)
            .ok_or_else(|| not_verilator("--version", &answer))?;
        if version < Version::FLOOR {
            return Err(Error::VerilatorTooOld {
                program: program.to_owned(),
                found: version,
                floor: Version::FLOOR,
            });
        }
        let answer = ask(program, &["--getenv", "VERILATOR_ROOT"])?;
        let root = PathBuf::from(answer.trim());
        if !root.join("include/verilated.cpp").is_file() {
            return Err(not_verilator("--getenv VERILATOR_ROOT", &answer));
        }
        Ok(Verilator {
            program: program.to_owned(),
            version,
            root,
        })
    }

    /// Returns the folder of `verilated.h`.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Returns whether its writer of waves needs the library lz4, which older ones bring with them.
    pub(crate) fn needs_lz4(&self) -> bool {
        let writer = self.include().join("fstcpp/fstcpp_writer.cpp");
        fs::read_to_string(writer).is_ok_and(|text| text.contains("#include <lz4.h>"))
    }
}

fn ask(program: &str, arguments: &[&str]) -> Result<String, Error> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::VerilatorMissing {
            program: program.to_owned(),
            floor: Version::FLOOR,
            source,
        })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks that there is a C++ compiler and that it finds zlib and, if `lz4`, lz4. Scratch files go to `scratch`.
pub(crate) fn check_compiler(scratch: &Path, lz4: bool) -> Result<(), Error> {
    let probe = scratch.join("verilated_probe.cpp");
    let write = |text: &str| {
        fs::write(&probe, text).map_err(|source| Error::File {
            action: "write",
            path: probe.clone(),
            source,
        })
    };
    let tool = cc::Build::new()
        .cpp(true)
        .cargo_metadata(false)
        .try_get_compiler()
        .map_err(|error| Error::CompilerMissing {
            compiler: error.to_string(),
        })?;
    let compiler = tool.path().display().to_string();
    let compiles = || {
        let mut command = tool.to_command();
        command
            .arg("-fsyntax-only")
            .arg(&probe)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    write("int main() { return 0; }\n")?;
    if !compiles() {
        return Err(Error::CompilerMissing { compiler });
    }
    write("#include <zlib.h>\nint main() { return ZLIB_VERNUM == 0; }\n")?;
    if !compiles() {
        return Err(Error::ZlibMissing { compiler });
    }
    write("#include <lz4.h>\nint main() { return LZ4_VERSION_NUMBER == 0; }\n")?;
    if lz4 && !compiles() {
        return Err(Error::Lz4Missing { compiler });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_says_whether_lz4_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let verilator = Verilator {
            program: String::new(),
            version: Version::FLOOR,
            root: folder.path().to_owned(),
        };
        assert!(!verilator.needs_lz4());
        let writer = folder.path().join("include/fstcpp/fstcpp_writer.cpp");
        fs::create_dir_all(writer.parent().unwrap()).unwrap();
        fs::write(&writer, "#include <zlib.h>\n").unwrap();
        assert!(!verilator.needs_lz4());
        fs::write(&writer, "#include <lz4.h>\n#include <zlib.h>\n").unwrap();
        assert!(verilator.needs_lz4());
    }
}
