//! Generates the Rust code of a model: its two structs, the cxx bridge, and the type.

use std::fmt::Write as _;

use crate::ports::{Direction, Port};
use crate::shim::Face;
use crate::types::{self, Table};

/// Returns the text of the file with one model's bridge. `unit` is the name under which C++ includes the model.
pub(crate) fn bridge(face: &Face, types: &Table, unit: &str, fingerprint: u64) -> String {
    let Face {
        module,
        name,
        namespace,
        ..
    } = face;
    let rust_module = face.rust_module();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "/// The ports of [`{name}`].\npub mod {rust_module} {{"
    );
    structure(&mut text, face, types, Direction::In, "In");
    structure(&mut text, face, types, Direction::Out, "Out");
    text.push_str(&types::constants(types));
    text.push_str(&types::local_types(types));
    let _ = writeln!(
        text,
        "    include!(concat!(env!(\"OUT_DIR\"), \"/verilated/{name}/packages.rs\"));"
    );
    let clock = face
        .clock
        .map_or("None".to_owned(), |port| format!("Some({:?})", port.name));
    let _ = write!(
        text,
        r#"
    /// The top that [`{name}`](super::{name}) instantiates.
    #[derive(Clone, Copy, Debug)]
    pub enum Top {{}}

    // SAFETY: the structs are laid out by C's rule on both sides, which the C++ side asserts. The shim owns its context and refers to no thread.
    unsafe impl ::verilated::Top for Top {{
        type In = In;
        type Out = Out;
        type Shim = ffi::Shim;
        const NAME: &'static str = {name:?};
        const MODULE: &'static str = {module:?};
        const CLOCK: ::core::option::Option<&'static str> = {clock};
        const FINGERPRINT: u64 = 0x{fingerprint:016x};
        const COVERAGE: bool = {coverage};
        const WAVES: bool = {waves};
        const SHAPES: &'static str = include_str!(concat!(env!("OUT_DIR"), "/verilated/{name}/shapes.json"));
        const PORTS: &'static [::verilated::Port] = &[
"#,
        coverage = face.coverage,
        waves = face.waves,
    );
    for port in face
        .data_ports(Direction::In)
        .chain(face.data_ports(Direction::Out))
    {
        let _ = writeln!(
            text,
            "            ::verilated::Port {{ name: {:?}, field: {:?}, direction: ::verilated::Direction::{:?}, bits: {}, dims: &{:?} }},",
            port.name, port.field, port.direction, port.bits, port.dims
        );
    }
    let _ = write!(
        text,
        r#"        ];
        fn make(instance: &str, seed: i32, period: u64) -> ::core::result::Result<::cxx::UniquePtr<ffi::Shim>, ::cxx::Exception> {{
            ffi::make(instance, seed, period)
        }}
        #[inline]
        fn cycle(shim: ::core::pin::Pin<&mut ffi::Shim>, inputs: &In, outputs: &mut Out) -> u32 {{
            shim.cycle(inputs, ::core::pin::Pin::new(outputs))
        }}
        #[inline]
        fn eval(shim: ::core::pin::Pin<&mut ffi::Shim>, inputs: &In, outputs: &mut Out) -> u32 {{
            shim.eval(inputs, ::core::pin::Pin::new(outputs))
        }}
        fn core(shim: &ffi::Shim) -> &::verilated::ffi::Core {{
            ffi::core_of(shim)
        }}
        fn core_mut(shim: ::core::pin::Pin<&mut ffi::Shim>) -> ::core::pin::Pin<&mut ::verilated::ffi::Core> {{
            ffi::core_of_mut(shim)
        }}
    }}

    #[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
    #[cxx::bridge(namespace = {namespace:?})]
    mod ffi {{
        unsafe extern "C++" {{
            include!({unit:?});

            type In = super::In;
            type Out = super::Out;
            type Shim;
            #[namespace = "verilated_rs"]
            type Core = verilated::ffi::Core;

            fn make(instance: &str, seed: i32, period: u64) -> Result<UniquePtr<Shim>>;
            fn cycle(self: Pin<&mut Shim>, inputs: &In, outputs: Pin<&mut Out>) -> u32;
            fn eval(self: Pin<&mut Shim>, inputs: &In, outputs: Pin<&mut Out>) -> u32;
            fn core_of(shim: &Shim) -> &Core;
            fn core_of_mut(shim: Pin<&mut Shim>) -> Pin<&mut Core>;
        }}
    }}
}}

"#
    );
    let _ = write!(text, "/// Model of the module `{module}`");
    for (at, (parameter, value)) in face.parameters.iter().enumerate() {
        let _ = write!(
            text,
            "{}`{parameter}` = `{value}`",
            if at == 0 { ", with " } else { ", " }
        );
    }
    let _ = writeln!(
        text,
        ".\npub type {name} = ::verilated::Instance<{rust_module}::Top>;"
    );
    text
}

fn structure(text: &mut String, face: &Face, types: &Table, direction: Direction, name: &str) {
    let ports: Vec<&Port> = face.data_ports(direction).collect();
    let what = if direction == Direction::In {
        "inputs"
    } else {
        "outputs"
    };
    let but = if direction == Direction::In && face.clock.is_some() {
        ", without the clock"
    } else {
        ""
    };
    let _ = write!(
        text,
        "    /// The {what} of `{}`{but}.\n    #[repr(C)]\n    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n    pub struct {name} {{\n",
        face.module
    );
    for port in &ports {
        let bits = if port.bits == 1 {
            "1 bit".to_owned()
        } else {
            format!("{} bits", port.bits)
        };
        let _ = write!(text, "        /// `{}`: {bits}", port.name);
        for size in port.dims.iter().rev() {
            let _ = write!(text, " × {size}");
        }
        let order = if port.wide() {
            ", word 0 least significant"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "{order}.\n        pub {}: {},",
            port.field,
            kind(port)
        );
    }
    let _ = write!(
        text,
        "    }}\n\n    impl ::core::default::Default for {name} {{\n        #[inline]\n        fn default() -> {name} {{\n            {name} {{\n"
    );
    for port in &ports {
        let _ = writeln!(text, "                {}: {},", port.field, zero(port));
    }
    let _ = write!(
        text,
        "            }}\n        }}\n    }}\n\n    \
         // SAFETY: plain data, laid out alike on both sides.\n    unsafe impl ::cxx::ExternType for {name} {{\n        \
         type Id = ::cxx::type_id!(\"{}::{name}\");\n        type Kind = ::cxx::kind::Trivial;\n    }}\n\n",
        face.namespace
    );
    text.push_str(&types::accessors(types, name, &ports));
}

fn kind(port: &Port) -> String {
    let mut kind = format!("u{}", port.cell());
    if port.wide() {
        kind = format!("[{kind}; {}]", port.words());
    }
    port.dims
        .iter()
        .rev()
        .fold(kind, |kind, size| format!("[{kind}; {size}]"))
}

fn zero(port: &Port) -> String {
    let zero = if port.wide() {
        format!("[0; {}]", port.words())
    } else {
        "0".to_owned()
    };
    port.dims
        .iter()
        .rev()
        .fold(zero, |zero, size| format!("[{zero}; {size}]"))
}
