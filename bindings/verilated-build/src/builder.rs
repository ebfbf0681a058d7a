//! The table of tops, and the build of its models.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::apart::{Apart, NotApart};
use crate::compile::{self, Compiler, Library, Runtime};
use crate::files::{Contents, Generated, Hash, generated_files, names_in, read, write};
use crate::parallel::in_parallel;
use crate::ports::{self, Direction, Port};
use crate::schedule::Rescheduled;
use crate::shim::Face;
use crate::store::Store;
use crate::types::{Packages, Table};
use crate::verilate::{Common, Verilated, Wanted, verilate};
use crate::{Error, Top, list, names, rust, sampled, schedule, shim};

/// The models of a crate: the settings and sources that they share, and one entry per top.
///
/// Coverage is counted if the crate has a feature `coverage` and it is on, except in tops that are
/// [without it](Top::without_coverage); such models cannot save or restore.
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
    modules: Option<PathBuf>,
}

impl Default for Build {
    fn default() -> Build {
        Build::new()
    }
}

impl Build {
    /// Creates an empty table. Paths are relative to the crate's own folder, and the clock is `clk_i`.
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
            modules: None,
        }
    }

    /// Sets the folder that all paths of this table are relative to. It is itself relative to the crate's folder.
    /// Messages of Verilator and of failing assertions name files relative to this folder.
    pub fn root(mut self, path: impl Into<PathBuf>) -> Build {
        self.root = path.into();
        self
    }

    /// Adds packages. They are compiled before everything else and in this order.
    pub fn packages<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Build {
        self.packages.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Adds a file list in the format of Verilator's `-F` option, which other tools read too, so that the sources are
    /// listed only once.
    ///
    /// The list holds files, which are taken as packages, `-y folder`, `+incdir+folder` and `+define+NAME=value`, one
    /// per line. Paths are relative to the list's own folder. `//` and `#` begin comments.
    pub fn list(mut self, path: impl Into<PathBuf>) -> Build {
        self.lists.push(path.into());
        self
    }

    /// Adds files that are passed for every top, after the packages.
    pub fn sources<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Build {
        self.sources.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Adds folders where modules are looked up by name: `fifo` in `fifo.sv` or `fifo.v`. They are not searched
    /// recursively.
    pub fn search<P: Into<PathBuf>>(mut self, folders: impl IntoIterator<Item = P>) -> Build {
        self.search.extend(folders.into_iter().map(Into::into));
        self
    }

    /// Adds folders that `` `include `` searches.
    pub fn includes<P: Into<PathBuf>>(mut self, folders: impl IntoIterator<Item = P>) -> Build {
        self.includes.extend(folders.into_iter().map(Into::into));
        self
    }

    /// Adds a `.vlt` file of waived warnings.
    pub fn waiver(mut self, path: impl Into<PathBuf>) -> Build {
        self.waivers.push(path.into());
        self
    }

    /// Defines a preprocessor macro, with or without a value.
    pub fn define(mut self, name: &str, value: Option<&str>) -> Build {
        self.defines
            .push((name.to_owned(), value.map(str::to_owned)));
        self
    }

    /// Adds an argument for Verilator, for all tops.
    pub fn flag(mut self, argument: &str) -> Build {
        self.flags.push(argument.to_owned());
        self
    }

    /// Sets the name of the clock input, for tops that do not set their own. A top without such a port is
    /// combinational; it is an error if a process in it waits for an edge.
    pub fn clock(mut self, port: &str) -> Build {
        self.clock = port.to_owned();
        self
    }

    /// Sets the size in elements of the largest unpacked array that waves show. The default is 4,096.
    ///
    /// Verilator leaves out larger arrays silently. Each element that is shown costs compile time and tracing time,
    /// but no time while no wave file is open.
    pub fn trace_arrays(mut self, elements: u32) -> Build {
        self.trace_arrays = elements;
        self
    }

    /// Sets whether models count coverage, whatever the crate's features say.
    pub fn coverage(mut self, on: bool) -> Build {
        self.coverage = on;
        self
    }

    /// Sets a folder of netlists.
    ///
    /// If the folder has a file `Fifo64.v`, the top called `Fifo64` in Rust is built from that file instead of from
    /// the source. The netlist must be the same module with the same ports, with its parameters already applied. It
    /// is not linted.
    pub fn netlists(mut self, folder: impl Into<PathBuf>) -> Build {
        self.netlists = Some(folder.into());
        self
    }

    /// Sets a folder of modules that single tops take in place of those of the sources.
    ///
    /// If the folder has a folder `Fifo64`, the `.sv` and `.v` files in it belong to the top called `Fifo64` in Rust,
    /// and no other top sees them: a change of a module that several tops use stays in one of them. A file has the
    /// name of its module, which must be one that is looked up by name.
    pub fn modules(mut self, folder: impl Into<PathBuf>) -> Build {
        self.modules = Some(folder.into());
        self
    }

    /// Adds a top.
    pub fn top(mut self, top: Top) -> Build {
        self.tops.push(top);
        self
    }

    /// Builds the models. If that fails, ends the build script with one clear message.
    pub fn run(&self) {
        or_exit(self.try_run());
    }

    /// Builds the models.
    ///
    /// # Errors
    ///
    /// Any failure of the build; see [`Error`].
    pub fn try_run(&self) -> Result<(), Error> {
        let out = compile::out_dir()?.join("verilated");
        let crate_name = compile::variable("CARGO_PKG_NAME")?.replace('-', "_");
        let root = compile::manifest_dir()?.join(&self.root);
        for variable in Compiler::VARIABLES {
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
        let tops: Vec<Top> = (self.tops.iter())
            .map(|top| self.with_sources(root, top))
            .collect::<Result<_, _>>()?;
        let work = Work {
            build: self,
            runtime,
            root,
            out,
            crate_name,
            store: Store::from_environment(out)?,
            contents: Contents::new(root),
            compiler: Compiler::find()?,
        };
        // Build the large ones first. Otherwise the last of them would be compiled alone while other processors wait.
        let mut order: Vec<&Top> = tops.iter().collect();
        order.sort_by_key(|top| !top.large);
        let mut models = in_parallel(&order, |top| work.model(top))?;
        work.store.tidy()?;

        models.sort_by_key(|model| self.tops.iter().position(|top| top.name == model.name));
        let mut text = String::new();
        let mut printed: Vec<String> = Vec::new();
        let mut print = |line: String| {
            if !printed.contains(&line) {
                println!("{line}");
                printed.push(line);
            }
        };
        let mut packages = Packages::default();
        for model in models {
            if let Some(module) =
                (model.types.modules()).find(|name| *name == names::module(&model.name))
            {
                return Err(Error::PackageName {
                    name: model.name,
                    module,
                });
            }
            write(
                &out.join(&model.name).join("packages.rs"),
                &packages.add(&model.types),
            )?;
            text.push_str(&format!(
                "include!(concat!(env!(\"OUT_DIR\"), \"/verilated/{}/bridge.rs\"));\n",
                model.name
            ));
            for path in model.read {
                print(format!(
                    "cargo::rerun-if-changed={}",
                    root.join(path).display()
                ));
            }
            for line in model.warnings.iter().flat_map(|warning| warning.lines()) {
                print(format!("cargo::warning={line}"));
            }
            print(format!("cargo::rustc-link-lib=static={}", model.library));
        }
        write(&out.join("packages.rs"), &packages.text())?;
        text.push_str("include!(concat!(env!(\"OUT_DIR\"), \"/verilated/packages.rs\"));\n");
        println!("cargo::rustc-link-search=native={}", out.display());
        write(&out.join("tops.rs"), &text)
    }

    /// Checks what can be checked before Verilator runs.
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
        Ok(())
    }

    /// Returns a top with the files that it is built from.
    fn with_sources(&self, root: &Path, top: &Top) -> Result<Top, Error> {
        let mut top = top.clone();
        let netlist = (self.netlists.iter())
            .map(|folder| folder.join(&top.name).with_extension("v"))
            .find(|path| root.join(path).is_file());
        let modules = self.modules_of(root, &top)?;
        let is_module = |path: &&PathBuf| path.file_stem().is_some_and(|stem| *stem == *top.module);
        if top.sources.is_empty()
            && self.sources.is_empty()
            && !modules.iter().any(|path| is_module(&path))
        {
            top.sources = vec![self.find(root, &top.module)?];
        }
        top.sources.extend(modules);
        if let Some(path) = netlist {
            top.source_of_netlist = Some(Box::new(top.clone()));
            top.sources = vec![path];
            top.params = Vec::new();
            // Waves of a netlist show wires that nobody has named.
            top.waves = false;
            top.flags = vec!["-Wno-lint".to_owned(), "-Wno-style".to_owned()];
        }
        Ok(top)
    }

    /// Returns the files of modules that a top takes in place of those of the sources, sorted.
    fn modules_of(&self, root: &Path, top: &Top) -> Result<Vec<PathBuf>, Error> {
        let Some(folder) = &self.modules else {
            return Ok(Vec::new());
        };
        let folder = folder.join(&top.name);
        if !root.join(&folder).is_dir() {
            return Ok(Vec::new());
        }
        let mut files: Vec<PathBuf> = (names_in(&root.join(&folder))?.into_iter())
            .map(|name| folder.join(name))
            .filter(|path| {
                path.extension()
                    .is_some_and(|end| end == "sv" || end == "v")
            })
            .collect();
        files.sort();
        Ok(files)
    }

    /// Returns the file of a module that is looked up by name.
    fn find(&self, root: &Path, module: &str) -> Result<PathBuf, Error> {
        let folders = self.search.iter();
        let mut files = folders
            .flat_map(|folder| ["sv", "v"].map(|end| folder.join(module).with_extension(end)));
        let mut next = || files.find(|file| root.join(file).is_file());
        let first = next().ok_or_else(|| Error::NoModule {
            module: module.to_owned(),
            search: self
                .search
                .iter()
                .map(|folder| format!("`{}`", folder.display()))
                .collect::<Vec<_>>()
                .join(", "),
        })?;
        match next() {
            None => Ok(first),
            Some(second) => Err(Error::TwoFiles {
                module: module.to_owned(),
                first,
                second,
            }),
        }
    }

    /// Returns the port that `cycle` drives. `edges` are the signals whose edges the top's processes wait for.
    fn clock_of<'a>(
        &self,
        top: &Top,
        ports: &'a [ports::Port],
        edges: &[String],
    ) -> Result<Option<&'a ports::Port>, Error> {
        let name = top.clock.as_ref().unwrap_or(&self.clock);
        let inputs = || ports.iter().filter(|port| port.direction == Direction::In);
        let is_bit = |port: &&ports::Port| port.bits == 1 && port.dims.is_empty();
        if let Some(clock) = inputs().filter(is_bit).find(|port| port.name == *name) {
            return Ok(Some(clock));
        }
        let list = |ports: Vec<&ports::Port>| {
            let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
            names.join(", ")
        };
        if top.clock.is_some() {
            return Err(Error::Clock {
                top: top.module.clone(),
                clock: name.clone(),
                inputs: list(inputs().collect()),
            });
        }
        if edges.is_empty() {
            return Ok(None);
        }
        let mut candidates: Vec<&ports::Port> = inputs().filter(is_bit).collect();
        if candidates.iter().any(|port| edges.contains(&port.name)) {
            candidates.retain(|port| edges.contains(&port.name));
        }
        Err(Error::NoClock {
            top: top.module.clone(),
            clock: name.clone(),
            edges: edges.join(", "),
            example: candidates
                .first()
                .map_or_else(String::new, |port| port.name.clone()),
            candidates: list(candidates),
        })
    }
}

/// One run of a build script, with everything that all its tops need.
struct Work<'a> {
    build: &'a Build,
    runtime: &'a Runtime,
    root: &'a Path,
    out: &'a Path,
    crate_name: &'a str,
    store: Store,
    contents: Contents,
    compiler: Compiler,
}

/// A top that was built.
struct Model {
    name: String,
    library: String,
    /// The files that it was built from, relative to the root.
    read: Vec<PathBuf>,
    warnings: Vec<String>,
    types: Table,
}

impl Work<'_> {
    /// Builds a top: its C++, its Rust and its library.
    fn model(&self, top: &Top) -> Result<Model, Error> {
        let Work {
            build: table,
            runtime,
            root,
            crate_name,
            ..
        } = *self;
        let folder = self.out.join(&top.name);
        let prefix = format!("V{crate_name}_{}", top.name);
        let common = Common {
            root,
            packages: &table.packages,
            sources: &table.sources,
            search: &table.search,
            includes: &table.includes,
            waivers: &table.waivers,
            defines: &table.defines,
            flags: &table.flags,
            coverage: table.coverage && top.counted,
            trace_arrays: table.trace_arrays,
        };
        let run = |top: &Top, prefix: &str, wanted: Wanted| {
            verilate(
                &runtime.verilator,
                &self.store,
                &self.contents,
                &common,
                top,
                prefix,
                wanted,
            )
        };
        // The module around a top repeats its ports, so Verilator reads the top first.
        let mut types = None;
        let around = match &top.sampled {
            None => None,
            Some(_) => {
                let alone = run(top, &format!("{prefix}_alone"), Wanted::CppAndTypes)?;
                let header = read(&alone.folder.join(format!("{prefix}_alone.h")))?;
                let of_top = types.insert(Table::read(&top.module, &alone.types)?);
                let ports = ports::read(&top.module, &header, of_top)?;
                let edges = generated_files(&alone.folder)?.edges;
                let clock = (table.clock_of(top, &ports, &edges)?).ok_or_else(|| {
                    Error::SampledWithoutClock {
                        top: top.module.clone(),
                    }
                })?;
                Some(Top {
                    around: Some(sampled::module(top, &ports, clock)?),
                    source_of_netlist: (top.source_of_netlist.clone())
                        .or_else(|| Some(Box::new(top.clone()))),
                    ..top.clone()
                })
            }
        };
        let built = around.as_ref().unwrap_or(top);
        let wanted = match types {
            None => Wanted::CppAndTypes,
            Some(_) => Wanted::Cpp,
        };
        let mut remarks = Vec::new();
        let apart = if top.waves_apart && top.waves && !common.coverage {
            match Apart::new(built, &prefix, wanted, run) {
                Ok(apart) => Some(apart),
                Err(NotApart::Failed(error)) => return Err(error),
                Err(NotApart::Refused(reason)) => {
                    remarks.push(format!(
                        "top `{}` is one model with its waves, in spite of `.waves_apart()`: {reason}",
                        top.module
                    ));
                    None
                }
            }
        } else {
            None
        };
        let alone;
        let verilated: &Verilated = match &apart {
            Some(apart) => &apart.without,
            None => {
                alone = run(built, &prefix, wanted)?;
                &alone
            }
        };
        for path in &verilated.read {
            // If two files have the name of a module, Verilator takes the first; `find` reports them as an error.
            let module = ["sv", "v"]
                .iter()
                .find(|end| path.extension().is_some_and(|extension| extension == **end))
                .and_then(|_| path.file_stem()?.to_str());
            if let (Some(module), Some(folder)) = (module, path.parent())
                && table
                    .search
                    .iter()
                    .any(|search| root.join(search) == root.join(folder))
                && !top.sources.contains(path)
            {
                table.find(root, module)?;
            }
        }

        let types = match types {
            None => Table::read(&top.module, &verilated.types)?,
            Some(types) => types,
        };
        let header = read(&verilated.folder.join(format!("{prefix}.h")))?;
        let ports = ports::read(&top.module, &header, &types)?;
        let Generated {
            mut units,
            constants,
            fingerprint,
            edges,
            changes,
        } = generated_files(&verilated.folder)?;
        let clock = table.clock_of(top, &ports, &edges)?;
        let mut texts = vec![];
        let mut rises = false;
        if let (true, Some(clock)) = (top.rescheduled, clock) {
            match rescheduled(&verilated.folder, &prefix, clock, &units)? {
                Ok(model) => {
                    rises = true;
                    remarks.extend(model.complete.map(|reason| {
                        format!(
                            "top `{}` evaluates its logic at each edge, in spite of `.rescheduled()`: {reason}",
                            top.module
                        )
                    }));
                    for (name, text) in model.sources {
                        let own = format!("rescheduled_{name}");
                        write(&folder.join(&own), &text)?;
                        texts.push(text);
                        match units.iter_mut().find(|unit| **unit == name) {
                            Some(unit) => *unit = own,
                            None => units.push(own),
                        }
                    }
                }
                Err(reason) => remarks.push(format!(
                    "top `{}` has Verilator's schedule, in spite of `.rescheduled()`: {reason}",
                    top.module
                )),
            }
        }
        let face = Face {
            module: &top.module,
            name: &top.name,
            prefix: &prefix,
            // A part that is no name of the user's, which might be a keyword of C++.
            namespace: &format!("verilated_models::{prefix}"),
            ports: &ports,
            clock,
            parameters: &top.params,
            coverage: table.coverage && top.counted,
            changes: &changes,
            waves: top.waves,
            large: top.large,
            apart: apart.as_ref(),
            rises,
        };
        let unit_name = format!("{prefix}_unit.h");
        let unit = shim::unit(&face, &units);
        write(&folder.join(&unit_name), &unit)?;
        let header = shim::forwarding_header(&face);
        write(
            &folder.join("include").join(format!("{}.h", top.name)),
            &header,
        )?;
        write(&folder.join("shapes.json"), &types.shapes)?;
        let bridge = folder.join("bridge.rs");
        write(
            &bridge,
            &rust::bridge(&face, &types, &unit_name, fingerprint as u64),
        )?;

        let mut build = {
            // cxx rewrites the headers that all bridges share on each call, so only one thread may do this at a time.
            static ONE: Mutex<()> = Mutex::new(());
            let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
            cxx_build::bridge(&bridge)
        };
        let bridged: Vec<PathBuf> = build.get_files().map(Path::to_owned).collect();
        self.compiler.apply(&mut build);
        let include = runtime.verilator.include();
        let user_cpp: Vec<PathBuf> = top.cpp.iter().map(|path| root.join(path)).collect();
        build
            .include(&folder)
            .include(folder.join("include"))
            .include(&verilated.folder)
            .include(&runtime.headers)
            .include(&include)
            .include(include.join("vltstd"))
            .flag("-include")
            .flag("verilated_rs/first.h");
        let mut sources = vec![];
        let mut seldom = vec![];
        texts.extend([unit, header]);
        let mut constants = constants;
        let mut add = |list: &mut Vec<PathBuf>, name: &str, text: String| {
            let path = folder.join(format!("{prefix}_{name}.cpp"));
            write(&path, &text)?;
            list.push(path);
            texts.push(text);
            Ok(())
        };
        if let Some(text) = shim::seldom_unit(&face, &units) {
            add(&mut seldom, "seldom", text)?;
        }
        let mut fingerprints = vec![fingerprint];
        if let Some(apart) = &apart {
            build.include(&apart.with.folder);
            let with = generated_files(&apart.with.folder)?;
            add(
                &mut sources,
                "apart",
                shim::apart_unit(&face, apart, &with.units),
            )?;
            if let Some(text) = shim::seldom_unit(&face, &with.units) {
                add(&mut seldom, "apart_seldom", text)?;
            }
            constants.extend(with.constants);
            fingerprints.push(with.fingerprint);
        }
        let files = [bridged.as_slice(), &user_cpp, &constants, &sources].concat();
        let name = format!("{prefix}_model");
        let hash = || {
            let mut hash = Hash::new();
            hash.add(runtime.fingerprint.as_bytes());
            hash.add(self.compiler.identity.as_bytes());
            for fingerprint in &fingerprints {
                hash.add(&fingerprint.to_le_bytes());
            }
            hash.add(name.as_bytes());
            for text in &texts {
                hash.add(text.as_bytes());
            }
            for file in bridged.iter().chain(&with_headers(&user_cpp)?) {
                hash.add(read(file)?.as_bytes());
            }
            Ok(hash)
        };
        let library = Library {
            name: &name,
            what: &format!("model {}", top.name),
            build: &build,
            files: &files,
            seldom: &seldom,
        };
        library.make(&self.store, self.out, hash)?;
        Ok(Model {
            name: top.name.clone(),
            library: name,
            read: [verilated.read.as_slice(), &with_headers(&user_cpp)?].concat(),
            warnings: [remarks, verilated.warnings.clone()].concat(),
            types,
        })
    }
}

/// Returns the sources of a model that change if its schedule is written again, or why it is not.
fn rescheduled(
    folder: &Path,
    prefix: &str,
    clock: &Port,
    units: &[String],
) -> Result<Result<Rescheduled, String>, Error> {
    let sources = units
        .iter()
        .map(|name| Ok((name.clone(), read(&folder.join(name))?)));
    let sources = sources.collect::<Result<Vec<_>, Error>>()?;
    Ok(
        schedule::rewrite(prefix, &clock.cpp, sources.clone()).map(|mut model| {
            model.sources.retain(|source| !sources.contains(source));
            model
        }),
    )
}

/// Returns C++ files and the files beside them that they include by `#include "…"`, directly or indirectly.
fn with_headers(files: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut all = files.to_vec();
    let mut at = 0;
    while let Some(file) = all.get(at).cloned() {
        for line in read(&file)?.lines() {
            let line: String = line.split_whitespace().collect();
            let name = line.strip_prefix("#include\"");
            if let Some((name, _)) = name.and_then(|rest| rest.split_once('"')) {
                let header = file.with_file_name(name);
                // Other headers are generated or belong to the run time.
                if header.is_file() && !all.contains(&header) {
                    all.push(header);
                }
            }
        }
        at += 1;
    }
    Ok(all)
}

/// Ends the build script with the error's message, which Cargo shows line by line.
pub(crate) fn or_exit(result: Result<(), Error>) {
    if let Err(error) = result {
        error
            .to_string()
            .lines()
            .for_each(|line| println!("cargo::error={line}"));
        std::process::exit(1);
    }
}
