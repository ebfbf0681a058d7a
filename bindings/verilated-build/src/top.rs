//! One line of the table: a module, its parameters, and what it is called in Rust.

use std::fmt::Display;
use std::path::PathBuf;

use crate::names;

/// A module to make a model of.
#[derive(Clone, Debug)]
pub struct Top {
    pub(crate) module: String,
    pub(crate) name: String,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) clock: Option<String>,
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) cpp: Vec<PathBuf>,
    pub(crate) flags: Vec<String>,
    pub(crate) large: bool,
    pub(crate) readable: Vec<(String, String)>,
    /// What a netlist was made of, if this is one.
    pub(crate) source_of_netlist: Option<Box<Top>>,
}

impl Top {
    /// The module of this name. In Rust it is called the same in upper camel case: `packet_parser` gives
    /// `PacketParser`, and its structs `packet_parser::In` and `packet_parser::Out`.
    pub fn new(module: &str) -> Top {
        Top {
            module: module.to_owned(),
            name: names::upper_camel(module),
            params: Vec::new(),
            clock: None,
            sources: Vec::new(),
            cpp: Vec::new(),
            flags: Vec::new(),
            large: false,
            readable: Vec::new(),
            source_of_netlist: None,
        }
    }

    /// Overrides a parameter. The value is written as SystemVerilog reads it: `64`, `8'h3f`, `"text"` with its quotes.
    pub fn param(mut self, name: &str, value: impl Display) -> Top {
        self.params.push((name.to_owned(), value.to_string()));
        self
    }

    /// Another name in Rust, such as `PacketParser512` beside `PacketParser256`; the module of its structs is that name in snake case.
    pub fn named(mut self, name: &str) -> Top {
        self.name = name.to_owned();
        self
    }

    /// The input that `cycle` drives. Without this line it is the build's clock. A module without such a port must be
    /// combinational.
    pub fn clock(mut self, port: &str) -> Top {
        self.clock = Some(port.to_owned());
        self
    }

    /// A file of this top alone. Without one the module is looked up by name in the search folders.
    pub fn source(mut self, path: impl Into<PathBuf>) -> Top {
        self.sources.push(path.into());
        self
    }

    /// A C++ file compiled with the model's own flags and linked beside it. It may say `#include "Name.h"` with the name in Rust, and then finds
    /// Verilator's class as `models::Name`, its complete definition included: a plain C++ loop over the same model.
    pub fn cpp(mut self, path: impl Into<PathBuf>) -> Top {
        self.cpp.push(path.into());
        self
    }

    /// A large model, a minute of C++ or more. It is made before the others, and in two parts at the same time.
    pub fn large(mut self) -> Top {
        self.large = true;
        self
    }

    /// Keeps a signal or memory in all instances of a module, so that a bench can read it by its path: Verilator optimizes
    /// others away. In both names `*` stands for any characters. A signal that is kept can make the model slower.
    pub fn readable(mut self, module: &str, signal: &str) -> Top {
        self.readable.push((module.to_owned(), signal.to_owned()));
        self
    }

    /// One more argument for Verilator, for this top.
    pub fn flag(mut self, argument: &str) -> Top {
        self.flags.push(argument.to_owned());
        self
    }
}
