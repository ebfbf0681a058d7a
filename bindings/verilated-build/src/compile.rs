//! Compiles C++: the run time once a binary, the models, the users' own files. All with the same flags.

use std::env;
use std::path::{Path, PathBuf};

use crate::{Error, Verilator, builder, toolchain};

/// How the C++ of models and run time is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelFlags;

impl ModelFlags {
    /// Full optimization whatever Cargo's profile says; no position-independent detours and no branch tracking, which
    /// together cost a third of a model's speed.
    pub(crate) fn apply(build: &mut cc::Build) {
        build
            .cpp(true)
            .std("c++17")
            .opt_level(3)
            .debug(false)
            .warnings(false)
            .cargo_metadata(false)
            .define("VL_TIME_CONTEXT", None)
            .flag_if_supported("-fcf-protection=none")
            .flag_if_supported("-fvisibility=hidden")
            .flag_if_supported("-fno-semantic-interposition")
            .flag_if_supported("-fno-plt");
    }
}

/// Compiles Verilator's run time together with the sources of the crate `verilated`. Called by that crate's build
/// script and by nobody else. `folder` holds `include`, `bridge` is the Rust file of the cxx bridge.
///
/// Ends the build script with one sentence if Verilator, a C++ compiler or zlib is missing or too old.
pub fn compile_runtime(folder: &str, sources: &[&str], bridge: &str) {
    builder::or_exit(try_compile_runtime(folder, sources, bridge));
}

fn try_compile_runtime(folder: &str, sources: &[&str], bridge: &str) -> Result<(), Error> {
    for variable in ["VERILATOR", "VERILATOR_ROOT", "CXX", "CXXFLAGS"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rerun-if-changed={folder}");
    println!("cargo::rerun-if-changed={bridge}");
    let verilator = Verilator::find()?;
    toolchain::check_compiler(&out_dir()?)?;
    let headers = Path::new(&manifest_dir()?).join(folder).join("include");
    let include = verilator.include();
    println!(
        "cargo::rerun-if-changed={}",
        include.join("verilated_config.h").display()
    );

    let mut build = cxx_build::bridge(bridge);
    ModelFlags::apply(&mut build);
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
        .flag(headers.join("verilated_rs/hooks.h"))
        .flag("-w");
    build.files(sources);
    // verilated_save.cpp is taken in by cpp/save.cpp.
    for file in [
        "verilated",
        "verilated_fst_c",
        "verilated_threads",
        "verilated_cov",
    ] {
        build.file(include.join(file).with_extension("cpp"));
    }
    build.cargo_metadata(true);
    build
        .try_compile("verilated_runtime")
        .map_err(|source| Error::Compile {
            what: "Verilator's run time".to_owned(),
            source,
        })?;
    println!("cargo::rustc-link-lib=z");
    // For the build scripts of crates with models.
    println!("cargo::metadata=headers={}", headers.display());
    println!("cargo::metadata=program={}", verilator.program);
    println!("cargo::metadata=version={}", verilator.version);
    println!("cargo::metadata=root={}", verilator.root.display());
    Ok(())
}

/// What the run-time crate's build script found.
pub(crate) struct Runtime {
    pub headers: PathBuf,
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
        Ok(Runtime {
            headers,
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
