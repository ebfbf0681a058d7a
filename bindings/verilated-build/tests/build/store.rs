//! A model is rebuilt when any of its inputs changes, and only then.
//!
//! Verilator and the C++ compiler are replaced by scripts that log what they are asked to make. The environment of a
//! build script is process-wide, so each build runs in a process of its own: this test runs itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use verilated_build::{Build, Top};

/// With `--xml-only`, writes the table of types. Otherwise writes a header with a clock, a C++ file, and the list of
/// files read: the program itself, the files that were given, and those that sources include or instantiate.
const VERILATOR: &str = r#"#!/bin/sh
if [ "$1" = --xml-only ]; then
    cat ROOT/types.xml > "$3"
    exit
fi
echo "verilate $*" | sed 's/-Mdir [^ ]*//' >> LOG
sources="ROOT/verilator a.sv common.svh"
while [ $# -gt 0 ]; do
    case "$1" in
    -Mdir) out=$2; shift;;
    --prefix) prefix=$2; shift;;
    *.sv) [ "$1" = a.sv ] || sources="$sources $1";;
    esac
    shift
done
printf '// PORTS\nVL_IN8(&clk_i,0,0);\n// CELLS\n' > "$out/$prefix.h"
cat a.sv pkg.sv > "$out/$prefix.cpp"
echo "$out/$prefix.cpp : $sources" > "$out/${prefix}__ver.d"
echo "%Warning-LINT: a.sv:1:1: said once" >&2
"#;

const TYPES: &str = r#"<verilator_xml><netlist>
<module loc="a,1,1,1,2" name="a" topModule="1">
<var loc="a,1,1,1,2" name="clk_i" dtype_id="1" dir="input" vartype="logic"/>
</module>
<typetable loc="a,0,0,0,0"><basicdtype loc="a,0,0,0,0" id="1" name="logic"/></typetable>
</netlist></verilator_xml>
"#;

const COMPILER: &str = r#"#!/bin/sh
case "$*" in
*draft-*)
    echo "compile $*" | sed -E 's, -o .*,,; s,.* ,,; s,.*/,,' >> LOG
    while [ $# -gt 1 ]; do shift; done
    echo object > "$1";;
*--version*) cat ROOT/compiler_version;;
*) echo gcc;;
esac
"#;

/// A folder with sources, tools and a store.
pub struct World {
    folder: tempfile::TempDir,
    pub environment: BTreeMap<&'static str, String>,
}

impl World {
    pub fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display().to_string();
        let set = |variable, value: &str| (variable, value.replace("ROOT", &root));
        let environment = BTreeMap::from([
            set("OUT_DIR", "ROOT/target/debug/build/x-0/out"),
            set("CARGO_MANIFEST_DIR", "ROOT"),
            set("CARGO_PKG_NAME", "case"),
            set("HOST", "x86_64-unknown-linux-gnu"),
            set("TARGET", "x86_64-unknown-linux-gnu"),
            set("OPT_LEVEL", "1"),
            set("CXX", "ROOT/g++"),
            set("VERILATED_STORE", ""),
            set("DEP_VERILATED_RUNTIME_VERSION", "5.006"),
            set("DEP_VERILATED_RUNTIME_PROGRAM", "ROOT/verilator"),
            set("DEP_VERILATED_RUNTIME_ROOT", "ROOT"),
            set("DEP_VERILATED_RUNTIME_HEADERS", "ROOT"),
            set("DEP_VERILATED_RUNTIME_FINGERPRINT", "headers"),
        ]);
        let world = World {
            folder,
            environment,
        };
        for (name, text) in [
            ("target/CACHEDIR.TAG", ""),
            ("a.sv", "module a; endmodule\n"),
            ("common.svh", "// included\n"),
            ("pkg.sv", "package pkg; endpackage\n"),
            ("waivers.vlt", "`verilator_config\n"),
            ("loop.cpp", "#include \"loop.h\"\n#include \"A.h\"\n"),
            ("loop.h", "# include  \"deep.h\"\n"),
            ("deep.h", "int deep;\n"),
            ("compiler_version", "g++ 12\n"),
            ("types.xml", TYPES),
            ("verilator", VERILATOR),
            ("g++", COMPILER),
        ] {
            let log = format!("{root}/log");
            world.write(name, &text.replace("LOG", &log).replace("ROOT", &root));
        }
        for tool in ["verilator", "g++"] {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(world.path(tool), mode).unwrap();
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The text of a file, empty if there is none.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Changes one byte.
    fn change(&self, name: &str) {
        let text = fs::read(self.path(name)).unwrap();
        let at = text.len() - 1;
        let mode = fs::metadata(self.path(name)).unwrap().permissions();
        fs::write(self.path(name), [&text[..at], b" "].concat()).unwrap();
        fs::set_permissions(self.path(name), mode).unwrap();
    }

    /// Runs a case as a build script and returns what it printed.
    pub fn run(&self, case: &str) -> String {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([case, "--exact", "--ignored", "--nocapture"])
            .envs(&self.environment)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{output:?}");
        said
    }

    /// Runs a case as a build script and returns what its tools were asked to make, with verilations as `verilate`.
    fn tools(&self, case: &str) -> Vec<String> {
        drop(fs::remove_file(self.path("log")));
        let said = self.run(&format!("store::{case}"));
        // Verilator's messages are printed whether it ran or its result came from the store.
        assert_eq!(said.matches("said once").count(), 1, "{said}");
        assert!(said.contains("rustc-link-lib=static=Vcase_A_model"));
        let out = Path::new(&self.environment["OUT_DIR"]).join("verilated");
        for made in ["libVcase_A_model.a", "A/bridge.rs", "tops.rs"] {
            assert!(out.join(made).is_file(), "{made}");
        }
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        let words = |line: &str| match line.split_once(' ') {
            Some(("verilate", _)) => "verilate".to_owned(),
            _ => line.to_owned(),
        };
        log.lines().map(words).collect()
    }
}

fn table() -> Build {
    Build::new()
        .packages(["pkg.sv"])
        .search(["."])
        .waiver("waivers.vlt")
}

fn a() -> Top {
    Top::new("a").source("a.sv").cpp("loop.cpp")
}

#[test]
#[ignore = "run by the tests below"]
fn plain() {
    table().top(a()).try_run().unwrap();
}

#[test]
#[ignore = "run by the tests below"]
fn other_parameter() {
    table().top(a().param("W", 3)).try_run().unwrap();
}

#[test]
#[ignore = "run by the tests below"]
fn other_define() {
    table().define("FAST", None).top(a()).try_run().unwrap();
}

#[test]
#[ignore = "run by the tests below"]
fn other_flag() {
    table().flag("-Wno-WIDTH").top(a()).try_run().unwrap();
}

#[test]
#[ignore = "run by the tests below"]
fn other_arrays() {
    table().trace_arrays(3).top(a()).try_run().unwrap();
}

#[test]
#[ignore = "run by the tests below"]
fn other_readable() {
    table().top(a().readable("a", "*")).try_run().unwrap();
}

#[test]
#[ignore = "run by the tests below"]
fn with_coverage() {
    table().coverage(true).top(a()).try_run().unwrap();
}

#[test]
#[ignore = "run by the tests below"]
fn with_includes() {
    table().includes(["early"]).top(a()).try_run().unwrap();
}

#[test]
#[ignore = "run by the tests below"]
fn two_tops() {
    let other = Top::new("b").source("b.sv");
    table().top(a()).top(other).try_run().unwrap();
}

const NOTHING: [&str; 0] = [];
const COMPILED: [&str; 2] = ["bridge.rs.cc", "loop.cpp"];

#[test]
fn every_file_counts() {
    let world = World::new();
    let all = ["verilate", "bridge.rs.cc", "loop.cpp"];
    assert_eq!(world.tools("plain"), all);
    assert_eq!(world.tools("plain"), NOTHING);
    for name in ["a.sv", "pkg.sv"] {
        world.change(name);
        assert_eq!(world.tools("plain"), all, "{name}");
        assert_eq!(world.tools("plain"), NOTHING, "{name}");
    }
    // The C++ that Verilator writes is the same, so it is not compiled again.
    for name in ["common.svh", "waivers.vlt", "verilator"] {
        world.change(name);
        assert_eq!(world.tools("plain"), ["verilate"], "{name}");
        assert_eq!(world.tools("plain"), NOTHING, "{name}");
    }
    for name in ["loop.cpp", "loop.h", "deep.h", "compiler_version"] {
        world.change(name);
        assert_eq!(world.tools("plain"), COMPILED, "{name}");
        assert_eq!(world.tools("plain"), NOTHING, "{name}");
    }
    // The earlier entry is still in the store.
    world.write("compiler_version", "g++ 12\n");
    assert_eq!(world.tools("plain"), NOTHING);
}

#[test]
fn every_setting_counts() {
    let mut world = World::new();
    world.tools("plain");
    for (case, compiled) in [
        ("other_parameter", false),
        ("other_define", false),
        ("other_flag", false),
        ("other_arrays", false),
        ("other_readable", false),
        ("with_coverage", true),
    ] {
        let made = world.tools(case);
        assert_eq!(made[0], "verilate", "{case}");
        assert_eq!(made[1..] == COMPILED, compiled, "{case}: {made:?}");
        assert_eq!(world.tools(case), NOTHING, "{case}");
        assert_eq!(world.tools("plain"), NOTHING, "after {case}");
    }
    for (variable, value, verilated) in [
        ("CXXFLAGS", "-O2", false),
        ("CPATH", "/opt/include", false),
        ("DEP_VERILATED_RUNTIME_FINGERPRINT", "other headers", false),
        ("DEP_VERILATED_RUNTIME_VERSION", "5.020", true),
    ] {
        world.environment.insert(variable, value.to_owned());
        let made = world.tools("plain");
        if verilated {
            assert_eq!(made, ["verilate"], "{variable}");
        } else {
            assert_eq!(made, COMPILED, "{variable}");
        }
        assert_eq!(world.tools("plain"), NOTHING, "{variable}");
    }
}

#[test]
fn a_new_file_that_would_be_read_instead_counts() {
    let world = World::new();
    world.write("early/other.svh", "");
    world.tools("with_includes");
    world.write("early/another.svh", "");
    assert_eq!(world.tools("with_includes"), NOTHING);
    world.write("early/common.svh", "");
    assert_eq!(world.tools("with_includes"), ["verilate"]);
}

#[test]
fn profiles_and_tools_share_what_was_made() {
    let mut world = World::new();
    world.tools("plain");
    let root = world.folder.path().display().to_string();
    for (out, opt, debug) in [
        ("target/release/build/x-1/out", "3", "false"),
        ("target/debug/build/x-2/out", "0", "true"),
        ("target/x86_64/debug/build/x-3/out", "s", "1"),
    ] {
        world.environment.insert("OUT_DIR", format!("{root}/{out}"));
        world.environment.insert("OPT_LEVEL", opt.to_owned());
        world.environment.insert("DEBUG", debug.to_owned());
        assert_eq!(world.tools("plain"), NOTHING, "{out}");
    }
    // Another target folder has another store, unless both are given the same one.
    fs::create_dir(world.path("elsewhere")).unwrap();
    world.write("elsewhere/CACHEDIR.TAG", "");
    let out = |folder: &str| format!("{root}/{folder}/debug/build/x-0/out");
    world.environment.insert("OUT_DIR", out("elsewhere"));
    assert_eq!(world.tools("plain").len(), 3);
    let store = format!("{root}/store");
    world.environment.insert("VERILATED_STORE", store);
    assert_eq!(world.tools("plain").len(), 3);
    world.environment.insert("OUT_DIR", out("target"));
    assert_eq!(world.tools("plain"), NOTHING);
}

#[test]
fn only_the_tops_that_read_a_file_are_made_again() {
    let world = World::new();
    world.write("b.sv", "module b; endmodule\n");
    assert_eq!(world.tools("two_tops").len(), 5);
    world.change("b.sv");
    // The scripts write C++ only from `a.sv`, so that of `b` is the same as before.
    assert_eq!(world.tools("two_tops"), ["verilate"]);
}
