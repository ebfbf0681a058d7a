//! What generated code tells about a top, and how to reach its C++.

use std::fmt::Debug;
use std::pin::Pin;

use cxx::UniquePtr;

use crate::Port;
use crate::ffi::Core;

/// A module that was made into a model. `verilated-build` writes the implementations; use the types it names, such as `Counter`, which are
/// [`Instance`](crate::Instance)s of these.
///
/// # Safety
///
/// `In` and `Out` must lie in memory as the C++ side has them, and `Shim` must be safe to move between threads.
pub unsafe trait Top: 'static {
    /// One field for each input but the clock.
    type In: Clone + Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;
    /// One field for each output.
    type Out: Clone + Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;
    /// The C++ class.
    type Shim: cxx::memory::UniquePtrTarget;

    /// The name in Rust.
    const NAME: &'static str;
    /// The module's name in the source.
    const MODULE: &'static str;
    /// The ports but the clock.
    const PORTS: &'static [Port];
    /// The clock's name; `None` for a combinational module.
    const CLOCK: Option<&'static str>;
    /// Differs when the sources, parameters or Verilator differ.
    const FINGERPRINT: u64;
    /// Whether it was built for coverage.
    const COVERAGE: bool;

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
