//! The description of a top that generated code provides, and its access to the C++ side.

use std::fmt::Debug;
use std::pin::Pin;

use cxx::UniquePtr;

use crate::Port;
use crate::ffi::Core;

/// A SystemVerilog module that was turned into a model.
///
/// `verilated-build` writes the implementations. Use the types it names, such as `Counter`: they are
/// [`Instance`](crate::Instance)s of these.
///
/// # Safety
///
/// `In` and `Out` must have the same memory layout as on the C++ side, and `Shim` must be safe to move between
/// threads.
pub unsafe trait Top: 'static {
    /// One field for each input except the clock.
    type In: Clone + Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;
    /// One field for each output.
    type Out: Clone + Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;
    /// The C++ class.
    type Shim: cxx::memory::UniquePtrTarget;

    /// The model's name in Rust.
    const NAME: &'static str;
    /// The module's name in the source.
    const MODULE: &'static str;
    /// All ports except the clock.
    const PORTS: &'static [Port];
    /// The clock's name; `None` for a combinational module.
    const CLOCK: Option<&'static str>;
    /// A hash that differs when the sources, the parameters or Verilator differ.
    const FINGERPRINT: u64;
    /// Whether the model was built for coverage.
    const COVERAGE: bool;
    /// Whether the model can write waves.
    const WAVES: bool;
    /// The types of the signals within that are structs, unions or arrays, for readers of waves: see
    /// [Types in waves](crate#types-in-waves).
    const SHAPES: &'static str;

    #[doc(hidden)]
    fn make(
        instance: &str,
        seed: i32,
        period: u64,
    ) -> Result<UniquePtr<Self::Shim>, cxx::Exception>;
    #[doc(hidden)]
    fn cycle(shim: Pin<&mut Self::Shim>, inputs: &Self::In, outputs: &mut Self::Out) -> u32;
    #[doc(hidden)]
    fn eval(shim: Pin<&mut Self::Shim>, inputs: &Self::In, outputs: &mut Self::Out) -> u32;
    #[doc(hidden)]
    fn core(shim: &Self::Shim) -> &Core;
    #[doc(hidden)]
    fn core_mut(shim: Pin<&mut Self::Shim>) -> Pin<&mut Core>;
}
