//! One entry of the table: a module, its parameters, and its name in Rust.

use std::fmt::Display;
use std::path::PathBuf;

use crate::names;

/// A module to build a model of.
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
    pub(crate) counted: bool,
    pub(crate) waves: bool,
    pub(crate) waves_apart: bool,
    pub(crate) readable: Vec<(String, String)>,
    /// Signals, in any module, that are kept though nothing reads them.
    pub(crate) kept: Vec<String>,
    /// Groups of inputs that are sampled together; `None`: inputs are not sampled.
    pub(crate) sampled: Option<Vec<Vec<String>>>,
    pub(crate) rescheduled: bool,
    /// The text of the module around a top whose inputs are sampled.
    pub(crate) around: Option<String>,
    /// The source that a netlist was made from, if this top is a netlist, or the top inside the module around it.
    pub(crate) source_of_netlist: Option<Box<Top>>,
}

impl Top {
    /// Selects the module of this name. Its name in Rust is the same in upper camel case: `packet_parser` becomes
    /// `PacketParser`, and its structs are `packet_parser::In` and `packet_parser::Out`.
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
            counted: true,
            waves: true,
            waves_apart: false,
            readable: Vec::new(),
            kept: Vec::new(),
            sampled: None,
            rescheduled: false,
            around: None,
            source_of_netlist: None,
        }
    }

    /// Overrides a parameter. The value is written as in SystemVerilog: `64`, `8'h3f`, or `"text"` with its quotes.
    pub fn param(mut self, name: &str, value: impl Display) -> Top {
        self.params.push((name.to_owned(), value.to_string()));
        self
    }

    /// Sets another name in Rust, such as `PacketParser512` beside `PacketParser256`. The module of its structs has
    /// that name in snake case.
    pub fn named(mut self, name: &str) -> Top {
        self.name = name.to_owned();
        self
    }

    /// Sets the input that `cycle` drives. Without this call it is the build's clock, and a module without such a
    /// port must be combinational.
    pub fn clock(mut self, port: &str) -> Top {
        self.clock = Some(port.to_owned());
        self
    }

    /// Adds a source file for this top alone. Without one, the module is looked up by name in the search folders.
    pub fn source(mut self, path: impl Into<PathBuf>) -> Top {
        self.sources.push(path.into());
        self
    }

    /// Adds a C++ file that is compiled with the model's own flags and linked together with it.
    ///
    /// The file may use `#include "Name.h"` with the model's name in Rust. This defines Verilator's class, complete,
    /// as `models::Name`, for example to write a plain C++ loop over the same model. `models::NameIn` and
    /// `models::NameOut` are laid out like `In` and `Out` in Rust, so that slices of these can be passed.
    pub fn cpp(mut self, path: impl Into<PathBuf>) -> Top {
        self.cpp.push(path.into());
        self
    }

    /// Marks a large model, with a minute of C++ compilation or more. It is built before the others, and in two parts
    /// at the same time.
    pub fn large(mut self) -> Top {
        self.large = true;
        self
    }

    /// Leaves this top out of coverage. It is then built as it is without coverage, and can save and restore.
    pub fn without_coverage(mut self) -> Top {
        self.counted = false;
        self
    }

    /// Builds this top without waves: `Instance::trace_open` fails.
    ///
    /// What waves cost while none are written can be measured by comparing with a model like this.
    pub fn without_waves(mut self) -> Top {
        self.waves = false;
        self
    }

    /// Builds this top twice, with waves and without, so that it is as fast as one [without
    /// waves](Top::without_waves) while none are written.
    ///
    /// A model that can write waves keeps every signal that they show, which makes it slower while no wave file is open
    /// too. With this, the model with waves takes over the state when a file is opened, and gives it back when it is
    /// closed. Results, saved states and waves are the same, but for two things: a loop variable of a process shows
    /// nothing of use until the process has run once, and a file that the source has opened is not open in the other
    /// model. Registers that nothing reads are kept, so [`Instance::signals`] lists them.
    ///
    /// It takes longer to compile: two models, of which that with waves takes most of the time. If the two would not
    /// have the same state, because Verilator cannot flatten a module into the top, say, there is one model with its
    /// waves, and a warning of the build says why. Coverage is counted in one model, so a top that counts it has its
    /// waves there.
    ///
    /// [`Instance::signals`]: https://docs.rs/verilated5/latest/verilated/struct.Instance.html#method.signals
    pub fn waves_apart(mut self) -> Top {
        self.waves_apart = true;
        self
    }

    /// Keeps a signal or memory in all instances of a module, so that a testbench can read it by its path. Verilator
    /// optimizes other signals away.
    ///
    /// In both names `*` stands for any characters. Verilator 5.006 cannot read arrays of several unpacked dimensions.
    /// Keeping a signal can make the model slower.
    pub fn readable(mut self, module: &str, signal: &str) -> Top {
        self.readable.push((module.to_owned(), signal.to_owned()));
        self
    }

    /// Passes the inputs on only when they have changed, so that logic behind them is not evaluated twice per cycle.
    ///
    /// Results stay the same. A model with much logic behind its inputs gets faster, one with little slower. Inputs of
    /// a group are passed on together when one of them has changed; those in no group form one more group. So inputs
    /// that change in every cycle, such as a time, belong in a group of their own, and inputs that move together in one
    /// group. The top must have a clock and no port with unpacked dimensions. In waves and in paths of signals, its
    /// scope is inside a scope `pins`.
    pub fn sampled(mut self, groups: &[&[&str]]) -> Top {
        let owned = |group: &&[&str]| group.iter().map(|&name| name.to_owned()).collect();
        self.sampled = Some(groups.iter().map(owned).collect());
        self
    }

    /// Writes Verilator's schedule again: the code that decides what of the model is evaluated.
    ///
    /// Results and saved states stay the same. Verilator 5.006 spends a sixth of the time of a large model with clock
    /// gates there, and half of it while the gates are closed. Of other versions, and of a model whose schedule has
    /// something that is not known here, the schedule stays as it is, and a warning of the build says why. In a top
    /// [with waves apart](Top::waves_apart), the model with waves has Verilator's.
    ///
    /// Logic that depends on several clocks is evaluated once in a cycle, with its inputs, and not at the edge before
    /// as well, if no process waits for anything but the rise of the top's clock and of clocks that it gates by a latch
    /// and an AND. If one does, a warning names it. An assertion among such logic then looks once a cycle.
    pub fn rescheduled(mut self) -> Top {
        self.rescheduled = true;
        self
    }

    /// Adds an argument for Verilator, for this top.
    pub fn flag(mut self, argument: &str) -> Top {
        self.flags.push(argument.to_owned());
        self
    }
}
