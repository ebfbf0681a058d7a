//! Compiles C++, all with the same flags: the run time once per binary, the models, and the users' own files.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{Hash, failed, names_in, read};
use crate::parallel::in_parallel;
use crate::store::Store;
use crate::{Error, Verilator, builder, toolchain};

/// How the C++ of models and run time is compiled.
pub(crate) struct Compiler {
    /// The flags that this compiler supports.
    flags: Vec<&'static str>,
    /// The compiler's version and flags, without include folders: the contents of those are hashed, wherever they
    /// are.
    pub identity: String,
}

impl Compiler {
    /// The environment variables that the compiler and the `cc` crate read.
    pub const VARIABLES: [&str; 4] = ["CXX", "CXXFLAGS", "CPATH", "CPLUS_INCLUDE_PATH"];

    pub fn find() -> Result<Compiler, Error> {
        let mut build = cc::Build::new();
        let flags = [
            // Passes that take a third of the time of compiling a large model, and make none of ours faster. What -O3
            // does beyond -O2 makes none faster either.
            "-fno-tree-pre",
            "-fno-gcse",
            "-fno-tree-vectorize",
            // Avoid the indirections of position-independent code and branch tracking. Together they cost a third of a
            // model's speed.
            "-fcf-protection=none",
            "-fvisibility=hidden",
            "-fno-semantic-interposition",
            "-fno-plt",
        ];
        build.cpp(true).cargo_metadata(false);
        let known = |flag: &&str| build.is_flag_supported(flag).unwrap_or(false);
        let flags = flags.into_iter().filter(known).collect();
        let mut compiler = Compiler {
            flags,
            identity: String::new(),
        };
        compiler.apply(&mut build);
        let tool = Compiler::tool(&build)?;
        let version = Command::new(tool.path()).arg("--version").output();
        let version = version.map(|output| output.stdout).unwrap_or_default();
        compiler.identity = format!(
            "{:?} {:?}\n{}",
            tool.path(),
            tool.args(),
            String::from_utf8_lossy(&version)
        );
        for variable in Compiler::VARIABLES {
            let value = env::var_os(variable);
            compiler.identity += &format!("\n{variable}={value:?}");
        }
        Ok(compiler)
    }

    /// Optimizes, whatever Cargo's profile says.
    pub fn apply(&self, build: &mut cc::Build) {
        build
            .cpp(true)
            .std("c++17")
            .opt_level(2)
            .debug(false)
            .warnings(false)
            .cargo_metadata(false)
            .define("VL_TIME_CONTEXT", None)
            .flags(&self.flags)
            .flag("-w");
    }

    fn tool(build: &cc::Build) -> Result<cc::Tool, Error> {
        build
            .try_get_compiler()
            .map_err(|error| Error::CompilerMissing {
                compiler: error.to_string(),
            })
    }
}

/// A static library to build.
pub(crate) struct Library<'a> {
    pub name: &'a str,
    /// A description, for messages.
    pub what: &'a str,
    /// Flags and include folders.
    pub build: &'a cc::Build,
    pub files: &'a [PathBuf],
    /// Files that are compiled at `-Og`, for rarely executed code.
    pub seldom: &'a [PathBuf],
}

impl Library<'_> {
    /// Puts the library into `out`, from the store if it is there, otherwise by compiling it.
    ///
    /// `hash` returns the hash of all inputs. It is called again after the compiler ran: if an input changed
    /// meanwhile, it is unknown which version was compiled, and the library is compiled again.
    pub fn make(
        &self,
        store: &Store,
        out: &Path,
        hash: impl Fn() -> Result<Hash, Error>,
    ) -> Result<(), Error> {
        let file = format!("lib{}.a", self.name);
        let name = || Ok(format!("compiled-{}", hash()?.name()));
        let entry = loop {
            let before = name()?;
            if let Some(folder) = store.entry(&before) {
                break folder;
            }
            let draft = store.draft()?;
            self.compile(&draft.folder)?;
            for name in names_in(&draft.folder)? {
                if name != file {
                    let object = draft.folder.join(name);
                    fs::remove_file(&object).map_err(failed("write", &object))?;
                }
            }
            if name()? == before {
                break store.add(&draft, &before)?;
            }
        };
        // Use a link, or a copy if the store is on another disk, so that the file stays when the store's entry is
        // removed.
        let (from, to) = (entry.join(&file), out.join(&file));
        fs::create_dir_all(out).map_err(failed("write", out))?;
        drop(fs::remove_file(&to));
        fs::hard_link(&from, &to)
            .or_else(|_| fs::copy(&from, &to).map(drop))
            .map_err(failed("write", &to))
    }

    fn compile(&self, folder: &Path) -> Result<(), Error> {
        let error = |text: String| Error::Compile {
            what: self.what.to_owned(),
            text,
        };
        let tool = Compiler::tool(self.build)?;
        // Those at -Og are the longest by far.
        let seldom = self.seldom.iter().map(|file| (file, Some("-Og")));
        let files = self.files.iter().map(|file| (file, None));
        let files: Vec<_> = seldom.chain(files).enumerate().collect();
        let objects = in_parallel(&files, |(at, (file, level))| {
            let object = folder.join(format!("{at}.o"));
            let output = tool
                .to_command()
                .args(level)
                .arg("-c")
                .arg(file)
                .arg("-o")
                .arg(&object)
                .output()
                .map_err(|source| error(source.to_string()))?;
            if !output.status.success() {
                return Err(error(String::from_utf8_lossy(&output.stderr).into_owned()));
            }
            Ok(object)
        })?;
        cc::Build::new()
            .cargo_metadata(false)
            .objects(objects)
            .out_dir(folder)
            .try_compile(self.name)
            .map_err(|source| error(source.to_string()))
    }
}

/// Adds all files below a folder to a hash, by name and contents.
fn hash_folder(folder: &Path, hash: &mut Hash) -> Result<(), Error> {
    for name in names_in(folder)? {
        let path = folder.join(&name);
        hash.add(name.as_bytes());
        if path.is_dir() {
            hash_folder(&path, hash)?;
        } else {
            hash.add(&fs::read(&path).map_err(failed("read", &path))?);
        }
    }
    Ok(())
}

/// Returns the name of the C++ standard library to link, as the `cc` crate selects it.
fn standard_library() -> String {
    let target = env::var("TARGET").unwrap_or_default();
    let other = ["apple", "bsd", "android"];
    env::var("CXXSTDLIB").unwrap_or_else(|_| {
        let clang = other.iter().any(|part| target.contains(part));
        if clang { "c++" } else { "stdc++" }.to_owned()
    })
}

/// Compiles Verilator's run time together with the sources of the crate `verilated`.
///
/// Only that crate's build script calls it. `folder` holds `include`, and `bridge` is the Rust file of the cxx
/// bridge. Ends the build script with one sentence if Verilator, a C++ compiler or zlib is missing or too old.
pub fn compile_runtime(folder: &str, sources: &[&str], bridge: &str) {
    builder::or_exit(try_compile_runtime(folder, sources, bridge));
}

fn try_compile_runtime(folder: &str, sources: &[&str], bridge: &str) -> Result<(), Error> {
    let variables = ["VERILATOR", "VERILATOR_ROOT", "CXXSTDLIB"];
    for variable in variables.iter().chain(&Compiler::VARIABLES) {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rerun-if-changed={folder}");
    println!("cargo::rerun-if-changed={bridge}");
    let verilator = Verilator::find()?;
    let out = out_dir()?;
    toolchain::check_compiler(&out, verilator.needs_lz4())?;
    let folder = manifest_dir()?.join(folder);
    let headers = folder.join("include");
    let include = verilator.include();
    println!("cargo::rerun-if-changed={}", include.display());

    let mut build = cxx_build::bridge(bridge);
    let mut files: Vec<PathBuf> = build.get_files().map(Path::to_owned).collect();
    let compiler = Compiler::find()?;
    compiler.apply(&mut build);
    build
        .include(&headers)
        .include(&include)
        .include(include.join("vltstd"));
    for hook in [
        "VL_USER_FATAL",
        "VL_USER_FINISH",
        "VL_USER_STOP",
        "VL_USER_WARN",
    ] {
        build.define(hook, None);
    }
    build
        .flag("-include")
        .flag(headers.join("verilated_rs/hooks.h"));
    files.extend(sources.iter().map(PathBuf::from));
    // verilated_save.cpp and verilated_fst_c.cpp are missing here because files in cpp/ include them.
    for file in ["verilated", "verilated_threads", "verilated_cov"] {
        files.push(include.join(file).with_extension("cpp"));
    }
    let hash = || {
        let mut hash = Hash::new();
        hash.add(compiler.identity.as_bytes());
        hash_folder(&folder, &mut hash)?;
        hash_folder(&include, &mut hash)?;
        for file in &files {
            hash.add(read(file)?.as_bytes());
        }
        // cxx's own header, which the bridges of all models include too.
        if let Some(header) = env::var_os("DEP_CXXBRIDGE1_HEADER") {
            hash.add(read(Path::new(&header))?.as_bytes());
        }
        Ok(hash)
    };
    const NAME: &str = "verilated_runtime";
    let store = Store::from_environment(&out)?;
    let library = Library {
        name: NAME,
        what: "Verilator's run time",
        build: &build,
        files: &files,
        seldom: &[],
    };
    library.make(&store, &out, hash)?;
    store.tidy()?;
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static={NAME}");
    println!("cargo::rustc-link-lib={}", standard_library());
    println!("cargo::rustc-link-lib=z");
    if verilator.needs_lz4() {
        println!("cargo::rustc-link-lib=lz4");
    }
    // Metadata for the build scripts of crates with models.
    let mut models = Hash::new();
    hash_folder(&headers, &mut models)?;
    hash_folder(&include, &mut models)?;
    for file in [Some(bridge.into()), env::var_os("DEP_CXXBRIDGE1_HEADER")]
        .into_iter()
        .flatten()
    {
        models.add(read(Path::new(&file))?.as_bytes());
    }
    println!("cargo::metadata=fingerprint={}", models.name());
    println!("cargo::metadata=headers={}", headers.display());
    println!("cargo::metadata=program={}", verilator.program);
    println!("cargo::metadata=version={}", verilator.version);
    println!("cargo::metadata=root={}", verilator.root.display());
    Ok(())
}

/// The results of the run-time crate's build script.
pub(crate) struct Runtime {
    pub headers: PathBuf,
    /// Hash of the headers, including those of Verilator and cxx.
    pub fingerprint: String,
    pub verilator: Verilator,
}

impl Runtime {
    pub fn from_environment() -> Result<Runtime, Error> {
        const HINT: &str =
            "add `verilated` to the crate's [dependencies], and run this from its build script";
        let get = |variable: &'static str| {
            env::var(variable).map_err(|_| Error::NoVariable {
                variable,
                hint: HINT,
            })
        };
        let version = get("DEP_VERILATED_RUNTIME_VERSION")?;
        let program = get("DEP_VERILATED_RUNTIME_PROGRAM")?;
        let version = crate::Version::parse(&format!("Verilator {version}")).ok_or_else(|| {
            Error::NotVerilator {
                program: program.clone(),
                argument: "--version",
                answer: version,
                floor: crate::Version::FLOOR,
            }
        })?;
        let root = get("DEP_VERILATED_RUNTIME_ROOT")?.into();
        let headers = get("DEP_VERILATED_RUNTIME_HEADERS")?.into();
        let fingerprint = get("DEP_VERILATED_RUNTIME_FINGERPRINT")?;
        Ok(Runtime {
            headers,
            fingerprint,
            verilator: Verilator {
                program,
                version,
                root,
            },
        })
    }
}

pub(crate) fn out_dir() -> Result<PathBuf, Error> {
    variable("OUT_DIR").map(PathBuf::from)
}

pub(crate) fn manifest_dir() -> Result<PathBuf, Error> {
    variable("CARGO_MANIFEST_DIR").map(PathBuf::from)
}

pub(crate) fn variable(variable: &'static str) -> Result<String, Error> {
    env::var(variable).map_err(|_| Error::NoVariable {
        variable,
        hint: "Cargo sets it for build scripts",
    })
}
