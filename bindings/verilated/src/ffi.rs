//! The C++ interface that all models share. Only generated code needs it.

/// The part of a model's C++ class that does not depend on its ports.
#[allow(missing_docs)]
#[cxx::bridge(namespace = "verilated_rs")]
pub mod bridge {
    /// The first failure of a model, as C++ reports it.
    #[derive(Debug, Default)]
    pub struct Report {
        /// 0 none, 1 `$stop` (assertions, `$error` and `$fatal` end there too), 2 Verilator's run time, 3 `$finish`.
        kind: u8,
        /// Source file.
        file: String,
        /// Line in it.
        line: u32,
        /// Scope, if the caller gave one.
        hierarchy: String,
        /// The message.
        text: String,
        /// Time in picoseconds.
        time: u64,
        /// Number of failures after this one.
        further: u32,
    }

    /// A signal inside a model that the build made readable.
    #[derive(Debug)]
    pub struct Readable {
        /// Path below the top, with Verilator's spelling of brackets.
        path: String,
        /// Width of an element in bits.
        bits: u32,
        /// The lowest index of each unpacked dimension, outermost first.
        lows: Vec<i32>,
        /// The number of elements of each unpacked dimension.
        elements: Vec<u32>,
    }

    unsafe extern "C++" {
        include!("verilated_rs/core.h");

        type Core;

        fn time(self: &Core) -> u64;
        fn set_time(self: Pin<&mut Core>, picoseconds: u64);
        fn add_plusarg(self: Pin<&mut Core>, argument: &str);
        fn report(self: &Core) -> Report;
        fn clear_failure(self: Pin<&mut Core>);
        fn take_output(self: Pin<&mut Core>) -> String;
        fn capture(self: Pin<&mut Core>) -> &[u8];
        fn reinstate(self: Pin<&mut Core>, bytes: &[u8]) -> bool;
        fn trace_only(self: Pin<&mut Core>, signals: &[String]);
        fn trace_open(self: Pin<&mut Core>, path: &str) -> bool;
        fn trace_close(self: Pin<&mut Core>);
        fn readable(self: &Core) -> Vec<Readable>;
        fn readable_word(self: &Core, signal: usize, element: usize, word: u32) -> u32;
        fn coverage_write(self: Pin<&mut Core>, path: &str) -> bool;
    }
}

pub use bridge::Core;
