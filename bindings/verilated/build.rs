//! Compiles Verilator's run time, once for all models of a binary.

fn main() {
    verilated_build::compile_runtime(
        "cpp",
        &["cpp/core.cpp", "cpp/save.cpp", "cpp/waves.cpp"],
        "src/ffi.rs",
    );
}
