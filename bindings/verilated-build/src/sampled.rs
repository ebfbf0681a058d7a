//! Writes the module around a top whose inputs are sampled.
//!
//! Verilator evaluates all logic behind an input in every `eval()`, so twice per cycle: once when the inputs are
//! driven, once more at the rising edge, where they have not changed. Behind a process, logic is evaluated only when
//! the process runs. The module therefore passes each group of inputs on in a process that runs when one of them has
//! changed.

use std::fmt::Write as _;

use crate::ports::{Direction, Port};
use crate::{Error, Top};

/// The name of the module, which is a scope in waves.
pub(crate) const MODULE: &str = "pins";
/// The file name.
pub(crate) const FILE: &str = "pins.sv";

/// Returns the text of the module. `ports` are those of the top.
pub(crate) fn module(top: &Top, ports: &[Port], clock: &Port) -> Result<String, Error> {
    // Inputs with unpacked dimensions cannot be compared as one vector; they are passed on as they are.
    let inputs: Vec<&Port> = (ports.iter())
        .filter(|port| port.direction == Direction::In && port.name != clock.name)
        .filter(|port| port.dims.is_empty())
        .collect();
    let mut groups = top.sampled.clone().unwrap_or_default();
    for name in groups.iter().flatten() {
        if !inputs.iter().any(|port| port.name == *name) {
            let names: Vec<&str> = inputs.iter().map(|port| port.name.as_str()).collect();
            return Err(Error::Sampled {
                top: top.module.clone(),
                input: name.clone(),
                inputs: names.join(", "),
            });
        }
    }
    let rest = inputs.iter().map(|port| port.name.clone());
    let rest: Vec<String> = rest
        .filter(|name| !groups.iter().flatten().any(|named| named == name))
        .collect();
    groups.push(rest);
    groups.retain(|group| !group.is_empty());

    let sample = |name: &str| format!("{name}__sampled");
    let sampled = |port: &Port| inputs.iter().any(|input| input.name == port.name);
    // Writing to a String cannot fail. The same holds below.
    let mut text = format!("module {MODULE} (\n");
    for (at, port) in ports.iter().enumerate() {
        let direction = match port.direction {
            Direction::In => "input",
            Direction::Out => "output",
        };
        let range = range(port);
        let dims: String = port.dims.iter().map(|size| format!(" [{size}]")).collect();
        let comma = if at + 1 < ports.len() { "," } else { "" };
        let _ = writeln!(
            text,
            "  {direction} logic{range} {}{dims}{comma}",
            port.name
        );
    }
    text.push_str(");\n  // verilator tracing_off\n");
    for port in &inputs {
        let _ = writeln!(text, "  logic{} {};", range(port), sample(&port.name));
    }
    for (at, group) in groups.iter().enumerate() {
        let samples: Vec<String> = group.iter().map(|name| sample(name)).collect();
        let (from, to) = (group.join(", "), samples.join(", "));
        let _ = writeln!(
            text,
            "  wire changed_{at} = !{} && {{{from}}} != {{{to}}};\n  \
             always @(posedge changed_{at}) {{{to}}} <= {{{from}}};\n  \
             // There is no edge before the first inputs.\n  \
             initial {{{to}}} = {{{from}}};",
            clock.name
        );
    }
    text.push_str("  // verilator tracing_on\n");
    let parameters: Vec<String> = (top.params.iter())
        .map(|(name, value)| format!(".{name}({value})"))
        .collect();
    let _ = writeln!(
        text,
        "  {} #({}) {} (",
        top.module,
        parameters.join(", "),
        top.module
    );
    for (at, port) in ports.iter().enumerate() {
        let name = &port.name;
        let from = if sampled(port) {
            sample(name)
        } else {
            name.clone()
        };
        let comma = if at + 1 < ports.len() { "," } else { "" };
        let _ = writeln!(text, "    .{name}({from}){comma}");
    }
    text.push_str("  );\nendmodule\n");
    Ok(text)
}

fn range(port: &Port) -> String {
    match port.bits {
        1 => String::new(),
        bits => format!(" [{}:0]", bits - 1),
    }
}
