//! Imports run one way; networks, and the command without RTL, need no Verilator.

use std::process::Command;

/// The folders at the top. What lies in one may use what lies there or in those before it.
const FOLDERS: [&str; 4] = ["bindings", "sim", "waves", "testbenches"];

/// Crates of which networks are made: none of them, nor what they use, compiles C or C++.
const WITHOUT_CPP: [&str; 3] = ["xoff-sim", "xoff-network", "xoff-monitor"];

/// What packages are built from, tests apart: a line for each, with its depth, name, version and, if it is ours, path.
fn built_from(arguments: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", "normal,build"])
        .args(["--prefix", "depth", "--no-dedupe", "--format", " {p}"])
        .args(arguments)
        .current_dir(crate::common::file(".."))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines = printed.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

fn name(line: &str) -> &str {
    line.split_whitespace().nth(1).unwrap()
}

/// The place of the folder in which a package lies. `None` if it is not ours.
fn place(line: &str) -> Option<usize> {
    let (_, path) = line.split_once(" (/")?;
    let root = crate::common::file("..").canonicalize().unwrap();
    let root = root.to_str().unwrap().trim_start_matches('/');
    let path = path.strip_prefix(root)?.trim_start_matches('/');
    let folder = path.split(['/', ')']).next().unwrap();
    let place = FOLDERS.iter().position(|known| *known == folder);
    assert!(place.is_some(), "{line}: in none of {FOLDERS:?}");
    place
}

#[test]
fn imports_run_one_way() {
    let mut user = None;
    let mut count = 0;
    for line in built_from(&["--workspace", "--depth", "1"]) {
        if line.starts_with("0 ") {
            user = Some((name(&line).to_owned(), place(&line)));
            count += 1;
        } else if let (Some((user, own)), Some(used)) = (&user, place(&line)) {
            assert!(Some(used) <= *own, "{user} uses {}", name(&line));
        }
    }
    assert_eq!(count, 14, "packages of the workspace");
}

#[test]
fn networks_need_no_compiler_of_cpp() {
    let compiles = |line: &String| {
        ["cc", "cmake", "cxx-build", "verilated5", "xoff-rtl"].contains(&name(line))
    };
    for crate_name in WITHOUT_CPP {
        let uses = built_from(&["-p", crate_name]);
        assert_eq!(uses.iter().find(|line| compiles(line)), None);
    }
    assert!(built_from(&["-p", "xoff-cosim"]).iter().any(compiles));
    let command = built_from(&["-p", "xoff", "--no-default-features"]);
    assert_eq!(command.iter().find(|line| compiles(line)), None);
    assert!(built_from(&["-p", "xoff"]).iter().any(compiles));
}

/// `make demo` builds the command: not the property engine, nor the tops that only properties run.
#[test]
fn the_command_is_built_without_what_tests_the_rtl() {
    let command = built_from(&["-p", "xoff"]);
    let tests = ["xoff-verify", "xoff-rtl-units", "proptest"];
    assert_eq!(
        command.iter().find(|line| tests.contains(&name(line))),
        None
    );
    let verify = built_from(&["-p", "xoff-verify"]);
    for package in tests {
        assert!(verify.iter().any(|line| name(line) == package), "{package}");
    }
}

/// The oracle shares no type, and no mistake, with what it judges: it is built from none of the workspace's crates.
#[test]
fn the_oracle_knows_nothing_of_what_it_judges() {
    let oracle = built_from(&["-p", "xoff-oracle"]);
    let own = oracle.iter().filter(|line| place(line).is_some());
    assert_eq!(
        own.map(|line| name(line)).collect::<Vec<_>>(),
        ["xoff-oracle"]
    );
    assert!(oracle.iter().any(|line| name(line) == "etherparse"));
}
