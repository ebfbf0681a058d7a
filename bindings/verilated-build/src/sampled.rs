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
    // The range of an unpacked dimension is not in the header, and elements are connected in its order.
    if let Some(port) = ports.iter().find(|port| !port.dims.is_empty()) {
        return Err(Error::SampledArray {
            top: top.module.clone(),
            port: port.name.clone(),
        });
    }
    let inputs: Vec<&Port> = (ports.iter())
        .filter(|port| port.direction == Direction::In && port.name != clock.name)
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

    // Escaped identifiers may be any name, keywords included. They end with a blank.
    let signal = |name: &str| format!("\\{name} ");
    let sample = |name: &str| signal(&format!("{name}__sampled"));
    let list = |parts: Vec<String>, between: &str| parts.join(between);
    let declared = ports.iter().map(|port| {
        let direction = match port.direction {
            Direction::In => "input",
            Direction::Out => "output",
        };
        format!("  {direction} logic{} {}", range(port), signal(&port.name))
    });
    let mut text = format!(
        "module {MODULE} (\n{}\n);\n  // verilator tracing_off\n",
        list(declared.collect(), ",\n")
    );
    // Writing to a String cannot fail. The same holds below.
    for port in &inputs {
        let _ = writeln!(text, "  logic{} {};", range(port), sample(&port.name));
    }
    for (at, group) in groups.iter().enumerate() {
        let from = list(group.iter().map(|name| signal(name)).collect(), ", ");
        let to = list(group.iter().map(|name| sample(name)).collect(), ", ");
        let clock = signal(&clock.name);
        let _ = writeln!(
            text,
            "  wire changed_{at} = !{clock} && {{{from}}} != {{{to}}};\n  \
             always @(posedge changed_{at}) {{{to}}} <= {{{from}}};\n  \
             // There is no edge before the first inputs.\n  \
             initial {{{to}}} = {{{from}}};"
        );
    }
    text.push_str("  // verilator tracing_on\n");
    let parameters = (top.params.iter()).map(|(name, value)| format!(".{name}({value})"));
    let connected = ports.iter().map(|port| {
        let passed = inputs.iter().any(|input| input.name == port.name);
        let to = match passed {
            true => sample(&port.name),
            false => signal(&port.name),
        };
        format!("    .{}({to})", signal(&port.name))
    });
    let _ = writeln!(
        text,
        "  {module} #({}) {module} (\n{}\n  );\nendmodule",
        list(parameters.collect(), ", "),
        list(connected.collect(), ",\n"),
        module = top.module,
    );
    Ok(text)
}

fn range(port: &Port) -> String {
    match port.bits {
        1 => String::new(),
        bits => format!(" [{}:0]", bits - 1),
    }
}
