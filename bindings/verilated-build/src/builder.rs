//! The table of tops, and what is done with it.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::compile::{self, ModelFlags, Runtime};
use crate::files::{Generated, Hash, generated_files, read, write};
use crate::job::{Job, compile_all};
use crate::ports::{self, Direction};
use crate::shim::Face;
use crate::verilate::{self, Common};
use crate::{Error, Top, list, names, rust, shim};

/// All models of a crate: what their sources share, and a line for each top.
///
/// Coverage is counted if the crate has a feature `coverage` and it is on; such models cannot save or restore.
#[derive(Clone, Debug)]
pub struct Build {
    root: PathBuf,
    packages: Vec<PathBuf>,
    sources: Vec<PathBuf>,
    search: Vec<PathBuf>,
    includes: Vec<PathBuf>,
    waivers: Vec<PathBuf>,
    defines: Vec<(String, Option<String>)>,
    flags: Vec<String>,
    clock: String,
    coverage: bool,
    trace_arrays: u32,
    tops: Vec<Top>,
    lists: Vec<PathBuf>,
    netlists: Option<PathBuf>,
}

impl Default for Build {
    fn default() -> Build {
        Build::new()
    }
}

impl Build {
    /// An empty table. Paths start at the crate's own folder, the clock is `clk_i`.
    pub fn new() -> Build {
        Build {
            root: PathBuf::new(),
            packages: Vec::new(),
            sources: Vec::new(),
            search: Vec::new(),
            includes: Vec::new(),
            waivers: Vec::new(),
            defines: Vec::new(),
            flags: Vec::new(),
            clock: "clk_i".to_owned(),
            coverage: env::var_os("CARGO_FEATURE_COVERAGE").is_some(),
            trace_arrays: 4096,
            tops: Vec::new(),
            lists: Vec::new(),
            netlists: None,
        }
    }

    /// Where all paths of this table start, relative to the crate's folder. Messages of Verilator and of failing assertions name files
    /// from here.
    pub fn root(mut self, path: impl Into<PathBuf>) -> Build {
        self.root = path.into();
        self
    }

    /// Packages, compiled before all else and in this order.
    pub fn packages<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Build {
        self.packages.extend(paths.into_iter().map(Into::into));
        self
    }

    /// A file list, as Verilator's `-F` and other tools read it, so that what belongs to the sources is said once: files, which are
    /// taken for packages, `-y folder`, `+incdir+folder` and `+define+NAME=value`, one a line, relative to the list's own
    /// folder. `//` and `#` begin comments.
    pub fn list(mut self, path: impl Into<PathBuf>) -> Build {
        self.lists.push(path.into());
        self
    }

    /// Files that every top is given, after the packages.
    pub fn sources<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Build {
        self.sources.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Folders where modules are looked up by name: `fifo` in `fifo.sv` or `fifo.v`. Not searched recursively.
    pub fn search<P: Into<PathBuf>>(mut self, folders: impl IntoIterator<Item = P>) -> Build {
        self.search.extend(folders.into_iter().map(Into::into));
        self
    }

    /// Folders where `` `include `` looks.
    pub fn includes<P: Into<PathBuf>>(mut self, folders: impl IntoIterator<Item = P>) -> Build {
        self.includes.extend(folders.into_iter().map(Into::into));
        self
    }

    /// A `.vlt` file of waived warnings.
    pub fn waiver(mut self, path: impl Into<PathBuf>) -> Build {
        self.waivers.push(path.into());
        self
    }

    /// A preprocessor macro, with a value or without.
    pub fn define(mut self, name: &str, value: Option<&str>) -> Build {
        self.defines
            .push((name.to_owned(), value.map(str::to_owned)));
        self
    }

    /// One more argument for Verilator, for all tops.
    pub fn flag(mut self, argument: &str) -> Build {
        self.flags.push(argument.to_owned());
        self
    }

    /// The name of the clock input, where a top does not say otherwise. A top without such a port is combinational.
    pub fn clock(mut self, port: &str) -> Build {
        self.clock = port.to_owned();
        self
    }

    /// The largest unpacked array, in elements, that waves show; 4,096 if not said. A larger one is left out without a word, and each
    /// element that is shown costs time to compile and to trace, though none while no wave file is open.
    pub fn trace_arrays(mut self, elements: u32) -> Build {
        self.trace_arrays = elements;
        self
    }

    /// Whether models count coverage, whatever the crate's features say.
    pub fn coverage(mut self, on: bool) -> Build {
        self.coverage = on;
        self
    }

    /// A folder of netlists. A top called `Fifo64` in Rust is made of its `Fifo64.v`, if it has one, instead of the source: the same module with the
    /// same ports, its parameters already applied. It is not linted.
    pub fn netlists(mut self, folder: impl Into<PathBuf>) -> Build {
        self.netlists = Some(folder.into());
        self
    }

    /// One more top.
    pub fn top(mut self, top: Top) -> Build {
        self.tops.push(top);
        self
    }

    /// Makes the models. Ends the build script with one clear message if that cannot be.
    pub fn run(&self) {
        or_exit(self.try_run());
    }

    /// Makes the models.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way; see [`Error`].
    pub fn try_run(&self) -> Result<(), Error> {
        let out = compile::out_dir()?.join("verilated");
        let crate_name = compile::variable("CARGO_PKG_NAME")?.replace('-', "_");
        let root = compile::manifest_dir()?.join(&self.root);
        for variable in ["CXX", "CXXFLAGS"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        println!("cargo::rerun-if-changed=build.rs");
        let runtime = Runtime::from_environment()?;
        let mut this = self.clone();
        for path in &self.lists {
            println!("cargo::rerun-if-changed={}", root.join(path).display());
            let list = list::read(&root, path)?;
            this.packages.extend(list.files);
            this.search.extend(list.search);
            this.includes.extend(list.includes);
            this.defines.extend(list.defines);
        }
        this.make(&runtime, &root, &out, &crate_name)
    }

    fn make(
        &self,
        runtime: &Runtime,
        root: &Path,
        out: &Path,
        crate_name: &str,
    ) -> Result<(), Error> {
        self.check(root)?;

        let mut text = String::new();
        let mut warned: Vec<String> = Vec::new();
        let mut jobs = Vec::new();
        for top in &self.tops {
            let job = self.generate(runtime, top, root, out, crate_name, &mut warned)?;
            text.push_str(&format!(
                "include!(concat!(env!(\"OUT_DIR\"), \"/verilated/{}/bridge.rs\"));\n",
                top.name
            ));
            jobs.push(job);
        }
        write(&out.join("tops.rs"), &text)?;
        compile_all(&jobs)?;
        for job in &jobs {
            println!("cargo::rustc-link-search=native={}", job.folder.display());
            println!("cargo::rustc-link-lib=static={}", job.library);
        }
        Ok(())
    }

    /// What can be known to be wrong before Verilator runs.
    fn check(&self, root: &Path) -> Result<(), Error> {
        for (at, top) in self.tops.iter().enumerate() {
            if !names::is_identifier(&top.name) {
                return Err(Error::BadName {
                    name: top.name.clone(),
                });
            }
            let snake = names::snake(&top.name);
            if self.tops[..at]
                .iter()
                .any(|other| names::snake(&other.name) == snake)
            {
                return Err(Error::SameName {
                    name: top.name.clone(),
                });
            }
        }
        let tops = |list: fn(&Top) -> &Vec<PathBuf>| {
            self.tops.iter().flat_map(list).cloned().collect::<Vec<_>>()
        };
        let named = [
            ("package", self.packages.clone()),
            ("source", self.sources.clone()),
            ("search folder", self.search.clone()),
            ("include folder", self.includes.clone()),
            ("waiver", self.waivers.clone()),
            ("source", tops(|top| &top.sources)),
            ("C++ file", tops(|top| &top.cpp)),
        ];
        for (what, paths) in named {
            if let Some(path) = paths.iter().find(|path| !root.join(path).exists()) {
                return Err(Error::NoSuchFile {
                    what,
                    path: path.clone(),
                    root: self.root.clone(),
                });
            }
        }
        self.modules(root).map(drop)
    }

    /// Every module that can be looked up, with its file; two files for one are an error.
    fn modules(&self, root: &Path) -> Result<BTreeMap<String, PathBuf>, Error> {
        let mut modules: BTreeMap<String, PathBuf> = BTreeMap::new();
        for folder in &self.search {
            let on_disk = root.join(folder);
            let failed = |source| Error::File {
                action: "read",
                path: on_disk.clone(),
                source,
            };
            let mut files: Vec<PathBuf> = fs::read_dir(&on_disk)
                .map_err(failed)?
                .map(|entry| entry.map(|entry| folder.join(entry.file_name())))
                .collect::<Result<_, _>>()
                .map_err(failed)?;
            files.sort();
            for file in files {
                let (Some(stem), Some("sv" | "v")) = (
                    file.file_stem().and_then(|stem| stem.to_str()),
                    file.extension().and_then(|end| end.to_str()),
                ) else {
                    continue;
                };
                if let Some(first) = modules.insert(stem.to_owned(), file.clone()) {
                    return Err(Error::TwoFiles {
                        module: stem.to_owned(),
                        first,
                        second: file,
                    });
                }
            }
        }
        Ok(modules)
    }

    /// Verilates a top and writes its Rust and C++.
    fn generate(
        &self,
        runtime: &Runtime,
        top: &Top,
        root: &Path,
        out: &Path,
        crate_name: &str,
        warned: &mut Vec<String>,
    ) -> Result<Job, Error> {
        let folder = out.join(&top.name);
        let generated = folder.join("verilator");
        let prefix = format!("V{crate_name}_{}", top.name);
        let netlist = (self.netlists.iter())
            .map(|folder| folder.join(&top.name).with_extension("v"))
            .find(|path| root.join(path).is_file());
        let of_netlist = netlist.map(|path| Top {
            sources: vec![path],
            params: Vec::new(),
            flags: vec!["-Wno-lint".to_owned(), "-Wno-style".to_owned()],
            ..top.clone()
        });
        let top = of_netlist.as_ref().unwrap_or(top);
        let mut sources = top.sources.clone();
        if sources.is_empty() && self.sources.is_empty() {
            let file = self
                .modules(root)?
                .remove(&top.module)
                .ok_or_else(|| Error::NoModule {
                    module: top.module.clone(),
                    search: self
                        .search
                        .iter()
                        .map(|folder| format!("`{}`", folder.display()))
                        .collect::<Vec<_>>()
                        .join(", "),
                })?;
            sources.push(file);
        }
        let common = Common {
            root,
            packages: &self.packages,
            sources: &self.sources,
            search: &self.search,
            includes: &self.includes,
            waivers: &self.waivers,
            defines: &self.defines,
            flags: &self.flags,
            coverage: self.coverage,
            trace_arrays: self.trace_arrays,
        };
        let verilated = verilate::run(
            &runtime.verilator,
            &common,
            top,
            &prefix,
            &sources,
            &generated,
        )?;
        let user_files = top.cpp.iter().chain(&self.waivers).cloned();
        for path in verilated.read.into_iter().chain(user_files) {
            println!("cargo::rerun-if-changed={}", root.join(path).display());
        }
        for warning in verilated.warnings {
            if !warned.contains(&warning) {
                warning
                    .lines()
                    .for_each(|line| println!("cargo::warning={line}"));
                warned.push(warning);
            }
        }

        let header = read(&generated.join(format!("{prefix}.h")))?;
        let ports = ports::read(&top.module, &header)?;
        let clock = self.clock_of(top, &ports)?;
        let Generated {
            units,
            constants,
            fingerprint,
        } = generated_files(&generated)?;
        let face = Face {
            module: &top.module,
            name: &top.name,
            prefix: &prefix,
            namespace: &format!(
                "verilated_models::{crate_name}::{}",
                names::snake(&top.name)
            ),
            ports: &ports,
            clock,
            parameters: &top.params,
            coverage: self.coverage,
            large: top.large,
        };
        let unit_name = format!("{prefix}_unit.h");
        let unit = shim::unit(&face, &units);
        write(&folder.join(&unit_name), &unit)?;
        write(
            &folder.join("include").join(format!("{}.h", top.name)),
            &shim::forwarding_header(&face),
        )?;
        let bridge = folder.join("bridge.rs");
        let bridge_text = rust::bridge(&face, &unit_name, fingerprint);
        write(&bridge, &bridge_text)?;

        let mut build = cxx_build::bridge(&bridge);
        ModelFlags::apply(&mut build);
        let include = runtime.verilator.include();
        build
            .include(&folder)
            .include(folder.join("include"))
            .include(&generated)
            .include(&runtime.headers)
            .include(&include)
            .include(include.join("vltstd"))
            .flag("-w")
            .out_dir(&folder);
        let user_cpp: Vec<PathBuf> = top.cpp.iter().map(|path| root.join(path)).collect();
        build.files(&user_cpp).files(&constants);
        let mut stamp = Hash::new();
        stamp.add(&fingerprint.to_le_bytes());
        stamp.add(unit.as_bytes());
        stamp.add(bridge_text.as_bytes());
        stamp.add(env!("CARGO_PKG_VERSION").as_bytes());
        stamp.add(runtime.verilator.version.to_string().as_bytes());
        for file in &user_cpp {
            stamp.add(read(file)?.as_bytes());
        }
        for header in ["core.h", "shim.h"] {
            stamp.add(read(&runtime.headers.join("verilated_rs").join(header))?.as_bytes());
        }
        if let Ok(tool) = build.try_get_compiler() {
            stamp.add(format!("{:?}", tool.to_command()).as_bytes());
        }
        Ok(Job {
            name: top.name.clone(),
            library: format!("{prefix}_model"),
            folder,
            build,
            stamp: stamp.0,
        })
    }

    fn clock_of<'a>(
        &self,
        top: &Top,
        ports: &'a [ports::Port],
    ) -> Result<Option<&'a ports::Port>, Error> {
        let name = top.clock.as_ref().unwrap_or(&self.clock);
        let inputs = || ports.iter().filter(|port| port.direction == Direction::In);
        let is_clock =
            |port: &&ports::Port| port.name == *name && port.bits == 1 && port.dims.is_empty();
        match inputs().find(is_clock) {
            None if top.clock.is_some() => Err(Error::Clock {
                top: top.module.clone(),
                clock: name.clone(),
                inputs: inputs()
                    .map(|port| port.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
            found => Ok(found),
        }
    }
}

/// Ends the build script with the message, which Cargo then shows line by line.
pub(crate) fn or_exit(result: Result<(), Error>) {
    if let Err(error) = result {
        error
            .to_string()
            .lines()
            .for_each(|line| println!("cargo::error={line}"));
        std::process::exit(1);
    }
}
