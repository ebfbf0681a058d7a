//! What the installed Verilator finds in sources: edges that need a clock, and modules that exist in two folders.

use verilated_build::{Build, Top, Verilator, Version};

use crate::store::World;

const REGISTER: &str = "
module register (input logic ck, input logic rst_n, input logic [3:0] d, input logic en, output logic [3:0] q);
  always_ff @(posedge ck or negedge rst_n) if (!rst_n) q <= '0; else if (en) q <= d;
endmodule
";

const GATED: &str = "
module gated (input logic [1:0] ck, input logic en, input logic d, output logic q);
  logic gate;
  assign gate = &ck & en;
  always_ff @(posedge gate) q <= d;
endmodule
";

const GATE: &str = "
module gate (input logic a, input logic clk, output logic y);
  always_comb y = a & clk;
endmodule
";

const OUTER: &str = "
module outer (input logic a, output logic y);
  inner i (.a, .y);
endmodule
";

const INNER: &str = "
module inner (input logic a, output logic y);
  assign y = !a;
endmodule
";

fn say(build: Build) {
    match build.search([".", "other"]).try_run() {
        Ok(()) => println!("\nRESULT fine"),
        Err(error) => println!("\nRESULT {error}"),
    }
}

#[test]
#[ignore = "run by the tests below"]
fn unnamed() {
    say(Build::new().top(Top::new("register")));
}

#[test]
#[ignore = "run by the tests below"]
fn named() {
    say(Build::new().top(Top::new("register").clock("ck")));
}

#[test]
#[ignore = "run by the tests below"]
fn named_for_all() {
    say(Build::new().clock("ck").top(Top::new("register")));
}

#[test]
#[ignore = "run by the tests below"]
fn misnamed() {
    say(Build::new().top(Top::new("register").clock("d")));
}

#[test]
#[ignore = "run by the tests below"]
fn sampled() {
    say(Build::new().top(Top::new("register").clock("ck").sampled(&[&["d"]])));
}

#[test]
#[ignore = "run by the tests below"]
fn sampled_unknown() {
    say(Build::new().top(Top::new("register").clock("ck").sampled(&[&["d", "e"]])));
}

#[test]
#[ignore = "run by the tests below"]
fn rescheduled() {
    say(Build::new().top(Top::new("register").clock("ck").rescheduled()));
}

#[test]
#[ignore = "run by the tests below"]
fn inside() {
    say(Build::new().top(Top::new("gated")));
}

#[test]
#[ignore = "run by the tests below"]
fn combinational() {
    say(Build::new().top(Top::new("gate")));
}

#[test]
#[ignore = "run by the tests below"]
fn outer() {
    say(Build::new().top(Top::new("outer")));
}

#[test]
#[ignore = "run by the tests below"]
fn outer_and_source() {
    say(Build::new().top(Top::new("outer").source("outer.sv").source("other/inner.v")));
}

#[test]
#[ignore = "run by the tests below"]
fn outer_with_modules() {
    say(Build::new().modules("changed").top(Top::new("outer")));
}

#[test]
#[ignore = "run by the tests below"]
fn inner_with_modules() {
    say(Build::new().modules("changed").top(Top::new("inner")));
}

#[test]
#[ignore = "run by the tests below"]
fn readable() {
    say(Build::new().top(Top::new("register").clock("ck").readable("register", "q")));
}

#[test]
#[ignore = "run by the tests below"]
fn misspelt_signal() {
    say(Build::new().top(Top::new("register").clock("ck").readable("register", "q_q")));
}

#[test]
#[ignore = "run by the tests below"]
fn array_of_arrays() {
    let top = Top::new("grid").clock("ck").readable("grid", "cells");
    say(Build::new().top(top));
}

#[test]
#[ignore = "run by the tests below"]
fn named_like_a_package() {
    let top = Top::new("chooser").named("Kinds");
    say(Build::new().packages(["kinds.sv"]).top(top));
}

#[test]
#[ignore = "run by the tests below"]
fn signal_of_another_module() {
    say(Build::new().top(Top::new("register").clock("ck").readable("gated", "gate")));
}

#[test]
#[ignore = "run by the tests below"]
fn shared_count() {
    say(Build::new()
        .packages(["shared.sv"])
        .top(Top::new("counting").clock("ck").waves_apart()));
}

#[test]
#[ignore = "run by the tests below"]
fn ports() {
    say(Build::new().clock("clk").top(Top::new("ports")));
}

/// Returns the outcome of a case, and the clock in the Rust code that it generated.
fn run(case: &str) -> String {
    run_with(case, &[])
}

/// A world with the installed Verilator, and the text of a case that was run in it.
fn said(case: &str, files: &[(&str, &str)]) -> (World, String) {
    let verilator = Verilator::find().unwrap();
    let mut world = World::new();
    for (variable, value) in [
        ("DEP_VERILATED_RUNTIME_PROGRAM", verilator.program),
        (
            "DEP_VERILATED_RUNTIME_VERSION",
            verilator.version.to_string(),
        ),
        (
            "DEP_VERILATED_RUNTIME_ROOT",
            verilator.root.display().to_string(),
        ),
    ] {
        world.environment.insert(variable, value);
    }
    world.write("register.sv", REGISTER);
    world.write("gated.sv", GATED);
    world.write("gate.sv", GATE);
    world.write("outer.sv", OUTER);
    world.write("inner.sv", INNER);
    world.write("other/unrelated.sv", "");
    for (name, text) in files {
        world.write(name, text);
    }
    let said = world.run(&format!("sources::{case}"));
    (world, said)
}

/// Like `run`, with more files.
fn run_with(case: &str, files: &[(&str, &str)]) -> String {
    let (world, said) = said(case, files);
    let result = said.lines().find_map(|line| line.strip_prefix("RESULT "));
    let top = match case {
        "combinational" => "Gate",
        "outer" | "outer_and_source" => "Outer",
        _ => "Register",
    };
    let bridge = world.read(&format!(
        "target/debug/build/x-0/out/verilated/{top}/bridge.rs"
    ));
    let clock = bridge
        .lines()
        .find_map(|line| line.trim().strip_prefix("const CLOCK: "));
    let clock = clock.and_then(|line| line.split(" = ").nth(1));
    [result, clock]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Of a version that writes its schedule in another way, it stays, and a warning says so.
#[test]
fn the_schedule_of_verilator_5_006_is_written_again() {
    let (world, said) = said("rescheduled", &[]);
    assert!(said.contains("RESULT fine"), "{said}");
    let unit = world.read("target/debug/build/x-0/out/verilated/Register/Vcase_Register_unit.h");
    let known = Verilator::find().unwrap().version == Version::FLOOR;
    assert_eq!(unit.contains("_rise("), known, "{unit}");
    let warned = "top `register` has Verilator's schedule, in spite of `.rescheduled()`: ";
    assert_eq!(said.contains(warned), !known, "{said}");
}

#[test]
fn a_top_that_waits_for_edges_needs_a_clock() {
    assert_eq!(
        run("unnamed"),
        "top `register` has no clock `clk_i`, but processes in it wait for edges of: ck, rst_n. Name its clock, as in \
         `.clock(\"ck\")`; one-bit inputs that could be it: ck, rst_n"
    );
    assert_eq!(run("named"), "fine Some(\"ck\");");
    assert_eq!(run("named_for_all"), "fine Some(\"ck\");");
    assert_eq!(
        run("misnamed"),
        "top `register`: clock `d` is no one-bit input. Inputs: ck, rst_n, d, en"
    );
}

#[test]
fn inputs_to_be_sampled_exist() {
    assert_eq!(run("sampled"), "fine Some(\"ck\");");
    assert_eq!(
        run("sampled_unknown"),
        "top `register` has no input `e` that can be sampled; it has: rst_n, d, en"
    );
}

#[test]
fn an_edge_of_no_input_needs_a_clock_too() {
    let said = run("inside");
    assert!(
        said.starts_with(
            "top `gated` has no clock `clk_i`, but processes in it wait for edges of: "
        ),
        "{said}"
    );
    assert!(
        said.ends_with("one-bit inputs that could be it: en, d"),
        "{said}"
    );
}

#[test]
fn a_combinational_top_needs_none() {
    assert_eq!(run("combinational"), "fine None;");
}

#[test]
fn a_module_in_two_folders_is_refused_where_it_is_used() {
    let twice = ("other/inner.v", INNER);
    assert_eq!(run("outer"), "fine None;");
    assert_eq!(
        run_with("outer", &[twice]),
        "module `inner` could be `./inner.sv` or `other/inner.v`: keep one, or name the file with `.source(…)`"
    );
    // The second file is not used, or the table makes clear which one is meant.
    assert_eq!(run_with("combinational", &[twice]), "fine None;");
    assert_eq!(run_with("outer_and_source", &[twice]), "fine None;");
    assert_eq!(
        run_with("combinational", &[("other/gate.v", GATE)]),
        "module `gate` could be `./gate.sv` or `other/gate.v`: keep one, or name the file with `.source(…)`"
    );
}

#[test]
fn a_replaced_module_is_that_of_one_top() {
    let changed = INNER.replace('!', "");
    // The sources that Cargo is to watch are those that Verilator read.
    let inner = |case: &str, top: &str| -> Vec<String> {
        let path = format!("changed/{top}/inner.sv");
        let (_, said) = said(case, &[(&path, &changed)]);
        assert!(said.contains("RESULT fine"), "{said}");
        let read = said.lines().filter(|line| line.ends_with("inner.sv"));
        let file = |line: &str| line.contains("/changed/");
        read.map(|line| if file(line) { "replaced" } else { "source" }.to_owned())
            .collect()
    };
    assert_eq!(inner("outer_with_modules", "Outer"), ["replaced"]);
    assert_eq!(inner("outer_with_modules", "Inner"), ["source"]);
    // The module of the top itself.
    assert_eq!(inner("inner_with_modules", "Inner"), ["replaced"]);
    assert_eq!(inner("inner_with_modules", "Outer"), ["source"]);
}

#[test]
fn a_signal_to_be_readable_must_be_there() {
    assert_eq!(run("readable"), "fine Some(\"ck\");");
    assert_eq!(
        run("misspelt_signal"),
        "top `register` has no signal for `.readable(\"register\", \"q_q\")`: it takes the name of a module, then that \
         of a signal or memory in it"
    );
    // A later Verilator may be able to.
    if Verilator::find().unwrap().version.to_string() == "5.006" {
        let grid = "
module grid (input logic ck, input logic [1:0] a, input logic d, output logic q);
  logic cells [4][4];
  always_ff @(posedge ck) begin cells[a][a] <= d; q <= cells[a][0]; end
endmodule
";
        assert!(
            run_with("array_of_arrays", &[("grid.sv", grid)])
                .ends_with(": this Verilator cannot read an array of several unpacked dimensions")
        );
    }
    assert!(run("signal_of_another_module").contains("`.readable(\"gated\", \"gate\")`"));
}

#[test]
fn state_outside_of_the_top_stays_in_one_model() {
    let shared = "package shared; int unsigned count; endpackage";
    let counting = "
module counting (input logic ck, output logic [31:0] q);
  always_ff @(posedge ck) begin shared::count <= shared::count + 1; q <= shared::count; end
endmodule
";
    let (_, said) = said(
        "shared_count",
        &[("shared.sv", shared), ("counting.sv", counting)],
    );
    assert!(said.contains("RESULT fine"), "{said}");
    assert!(
        said.contains(
            "cargo::warning=top `counting` is one model with its waves, in spite of `.waves_apart()`: Verilator does \
             not flatten `shared` into it"
        ),
        "{said}"
    );
}

#[test]
fn a_top_and_a_package_cannot_have_one_name_in_rust() {
    let kinds = "package kinds; typedef enum logic {No, Yes} kind_e; endpackage";
    let chooser = "
module chooser import kinds::*; (input kind_e a, output logic y);
  assign y = a == Yes;
endmodule
";
    let said = run_with(
        "named_like_a_package",
        &[("kinds.sv", kinds), ("chooser.sv", chooser)],
    );
    assert!(
        said.contains("`Kinds`") && said.contains("`kinds`"),
        "{said}"
    );
}

/// Each port that no field can hold, and each name that C++ does not take, is one line that says what would be right.
#[test]
fn a_port_without_a_field_is_refused_in_one_line() {
    let said = |port: &str| {
        let source = format!(
            "typedef struct {{ logic [7:0] a; logic b; }} u_t;\n\
             module ports (input logic clk, input logic d, input {port}, output logic q);\n  \
             always_ff @(posedge clk) q <= d;\nendmodule\n"
        );
        run_with("ports", &[("ports.sv", &source)])
    };
    let real = "top `ports`: port `r` is a real: make it `logic [63:0]`, which $bitstoreal and $realtobits convert in \
                the module";
    assert_eq!(said("real r"), real);
    assert_eq!(said("real r [3]"), real);
    assert_eq!(
        said("string s"),
        "top `ports`: port `s` is a string: pass text as bits, such as `logic [8*N-1:0]`"
    );
    let unpacked = "top `ports`: port `u` is an unpacked struct or union, whose bits have no order: declare it `packed`";
    assert_eq!(said("u_t u"), unpacked);
    assert_eq!(said("u_t u [2]"), unpacked);
    for port in ["eval", "name", "contextp", "os", "vlSymsp", "NULL", "CData"] {
        assert_eq!(
            said(&format!("logic {port}")),
            format!(
                "top `ports`: port `{port}` has a name that the C++ of a model uses otherwise: rename it, or name as \
                 top a module around `ports` whose port has another name"
            )
        );
    }
}
