//! Generates the C++ code of a model: its two structs, how its ports are driven and sampled, and the translation
//! unit.

use std::fmt::Write as _;

use crate::apart::Apart;
use crate::names;
use crate::ports::{Direction, Port};

/// Everything that generated text needs to know about a model.
pub(crate) struct Face<'a> {
    /// The module's name in the source.
    pub module: &'a str,
    /// The type's name in Rust.
    pub name: &'a str,
    /// Verilator's prefix, which is the name of its class.
    pub prefix: &'a str,
    /// The C++ namespace of the structs and the shim.
    pub namespace: &'a str,
    pub ports: &'a [Port],
    pub clock: Option<&'a Port>,
    pub parameters: &'a [(String, String)],
    pub coverage: bool,
    /// Ranges of the coverage counts that are those of changes of single bits.
    pub changes: &'a [(usize, usize)],
    pub waves: bool,
    /// Whether rarely executed code goes into a separate translation unit.
    pub large: bool,
    /// The second model, if waves are in one of their own.
    pub apart: Option<&'a Apart>,
    /// Whether there is a function that raises the clock.
    pub rises: bool,
}

impl Face<'_> {
    /// The name of the Rust module that holds the structs.
    pub fn rust_module(&self) -> String {
        names::module(self.name)
    }

    /// The inputs except the clock, or the outputs.
    pub fn data_ports(&self, direction: Direction) -> impl Iterator<Item = &Port> {
        let clock = self.clock.map(|port| port.cpp.as_str());
        self.ports
            .iter()
            .filter(move |port| port.direction == direction && Some(port.cpp.as_str()) != clock)
    }
}

/// Returns the header with which users' own C++ includes the model by its name in Rust: the class `Name`, and the
/// structs `NameIn` and `NameOut`, whose layout is that of `In` and `Out`.
pub(crate) fn forwarding_header(face: &Face) -> String {
    let Face { name, prefix, .. } = face;
    let mut text = format!(
        "#pragma once\n#include <cstddef>\n#include <cstdint>\n#include \"verilated.h\"\n#include \"{prefix}.h\"\n#include \"{prefix}___024root.h\"\nnamespace models {{\nusing {name} = ::{prefix};\n"
    );
    structure(&mut text, face, Direction::In, &format!("{name}In"));
    structure(&mut text, face, Direction::Out, &format!("{name}Out"));
    text.push_str("}\n");
    text
}

/// Returns whether a source holds only rarely executed code, which is compiled at `-Og`: reset, initial values and
/// waves.
fn seldom(source: &str) -> bool {
    source.contains("Slow") || source.contains("__Trace__")
}

/// Returns the declarations of the functions of a model with [another schedule](crate::schedule::Rescheduled).
fn steps(prefix: &str) -> String {
    let root = format!("{prefix}___024root*");
    format!(
        "std::uint64_t {prefix}_rise({root});\nvoid {prefix}_settle({root}, std::uint64_t);\n\
         void {prefix}_finish({root}, std::uint64_t);\n"
    )
}

/// Returns the start of a translation unit: headers, and Verilator's sources.
fn opening<'a>(face: &Face, sources: impl Iterator<Item = &'a String>) -> String {
    let mut text = String::from(
        "#include <cstdint>\n#include <cstring>\n#include \"verilated.h\"\n#include \"verilated_fst_c.h\"\n",
    );
    text.push_str(if face.coverage {
        "#include \"verilated_cov.h\"\n"
    } else {
        "#include \"verilated_save.h\"\n"
    });
    text.push_str("#include \"verilated_rs/constants.h\"\n#include \"verilated_rs/shim.h\"\n");
    // Everything that Verilator declares here is defined in this library. Without this pragma, position-independent
    // code accesses every constant indirectly, which cost a sixth of the speed of a packet parser. The headers above
    // belong to other libraries and must not be hidden.
    text.push_str("#pragma GCC visibility push(hidden)\n");
    for source in sources {
        // Writing to a String cannot fail. The same holds below.
        let _ = if seldom(source) && !face.large {
            writeln!(
                text,
                "#pragma GCC push_options\n#pragma GCC optimize(\"Og\")\n#include \"{source}\"\n#pragma GCC pop_options"
            )
        } else {
            writeln!(text, "#include \"{source}\"")
        };
    }
    text.push_str("#pragma GCC visibility pop\n");
    text
}

/// Returns the translation unit of rarely executed code. Only a large model has one, which is then compiled at the
/// same time as the other unit. For a small model, reading the headers twice would cost more than that saves.
pub(crate) fn seldom_unit(face: &Face, sources: &[String]) -> Option<String> {
    let seldom = || sources.iter().filter(|source| seldom(source));
    (face.large && seldom().next().is_some()).then(|| opening(face, seldom()))
}

/// Returns the translation unit of often executed code: Verilator's sources, then the shim. It is a header because
/// cxx's own source file includes it, so that no call within a cycle crosses object files.
pub(crate) fn unit(face: &Face, sources: &[String]) -> String {
    let often = |source: &&String| !face.large || !seldom(source);
    let mut text = format!(
        "#pragma once\n{}",
        opening(face, sources.iter().filter(often))
    );
    let _ = writeln!(text, "namespace {} {{", face.namespace);
    face_of_ports(&mut text, face);
    let _ = write!(
        text,
        "using verilated_rs::Core;\n\
         class Shim final : public verilated_rs::Shim<::{prefix}, In, Out, Ports> {{\n\
         public:\n    using verilated_rs::Shim<::{prefix}, In, Out, Ports>::Shim;\n}};\n\
         inline std::unique_ptr<Shim> make(rust::Str instance, std::int32_t seed, std::uint64_t period) {{\n    \
         return verilated_rs::make<Shim>(instance, seed, period);\n}}\n\
         inline const Core& core_of(const Shim& shim) noexcept {{ return shim; }}\n\
         inline Core& core_of_mut(Shim& shim) noexcept {{ return shim; }}\n}}\n",
        prefix = face.prefix
    );
    text
}

/// Returns the translation unit of the model with waves, which holds its often executed code too. It is a source, not a
/// header.
pub(crate) fn apart_unit(face: &Face, apart: &Apart, sources: &[String]) -> String {
    let Face {
        prefix, namespace, ..
    } = face;
    let waves = &apart.prefix;
    let often = |source: &&String| !face.large || !seldom(source);
    let rise = match face.rises {
        true => steps(prefix),
        false => String::new(),
    };
    let mut text = format!(
        "{}#pragma GCC visibility push(hidden)\n#include \"{prefix}.h\"\n#include \"{prefix}__Syms.h\"\n\
         void {prefix}___024root___eval_settle({prefix}___024root*);\n\
         void {waves}___024root___eval_settle({waves}___024root*);\n{rise}#pragma GCC visibility pop\n",
        opening(face, sources.iter().filter(often))
    );
    let _ = writeln!(text, "namespace {namespace} {{");
    face_of_ports(&mut text, face);
    text.push_str(&apart.state_class(prefix));
    let _ = write!(
        text,
        "{APART} Ports::apart(const char* name, const std::vector<std::string>& plusargs) {{\n    \
         return std::make_unique<verilated_rs::ModelApart<::{waves}, ::{prefix}___024root, In, Out, Ports, State>>(name, plusargs);\n}}\n}}\n",
        APART = apart_type(face),
    );
    text
}

/// The type of the model with waves, as that without them knows it.
fn apart_type(face: &Face) -> String {
    let prefix = face.prefix;
    format!("std::unique_ptr<verilated_rs::Apart<::{prefix}___024root, In, Out>>")
}

/// Writes the structs of the ports, and the class that drives and samples them.
fn face_of_ports(text: &mut String, face: &Face) {
    structure(text, face, Direction::In, "In");
    structure(text, face, Direction::Out, "Out");
    ports_class(text, face);
}

fn structure(text: &mut String, face: &Face, direction: Direction, name: &str) {
    let _ = writeln!(text, "struct {name} {{");
    let mut end = 0u64;
    let mut most = 1u64;
    let mut checks = String::new();
    for port in face.data_ports(direction) {
        let bytes = u64::from(port.cell() / 8);
        let mut count = if port.wide() {
            u64::from(port.words())
        } else {
            1
        };
        let mut dims: String = port.dims.iter().map(|size| format!("[{size}]")).collect();
        count *= port
            .dims
            .iter()
            .map(|size| u64::from(*size))
            .product::<u64>();
        if port.wide() {
            let _ = write!(dims, "[{}]", port.words());
        }
        let _ = writeln!(text, "    std::uint{}_t {}{dims};", port.cell(), port.cpp);
        // Rust lays out the fields by the same rule. The assertions reject a C++ compiler that does not.
        let at = end.next_multiple_of(bytes);
        let _ = writeln!(
            checks,
            "static_assert(offsetof({name}, {}) == {at}, \"layout\");",
            port.cpp
        );
        end = at + bytes * count;
        most = most.max(bytes);
    }
    text.push_str("};\n");
    if end > 0 {
        text.push_str(&checks);
        let _ = writeln!(
            text,
            "static_assert(sizeof({name}) == {}, \"layout\");",
            end.next_multiple_of(most)
        );
    }
}

fn ports_class(text: &mut String, face: &Face) {
    let prefix = face.prefix;
    let _ = writeln!(
        text,
        "struct Ports {{\n    static constexpr bool kClocked = {};\n    static constexpr bool kApart = {};\n    static constexpr bool kCounts = {};\n    static constexpr bool kRises = {};",
        face.clock.is_some(),
        face.apart.is_some(),
        face.coverage,
        face.rises,
    );
    if face.apart.is_some() {
        let _ = writeln!(
            text,
            "    static {} apart(const char* name, const std::vector<std::string>& plusargs);",
            apart_type(face)
        );
    }
    if face.coverage {
        let ranges = face
            .changes
            .iter()
            .map(|(from, to)| format!("{{{from}, {to}}}"));
        let _ = writeln!(
            text,
            "    static std::vector<std::pair<std::size_t, std::size_t>> changes() {{ return {{{}}}; }}",
            ranges.collect::<Vec<_>>().join(", ")
        );
    }
    if face.rises {
        let root = format!("::{prefix}___024root& root");
        let _ = writeln!(
            text,
            "    static std::uint64_t rise({root}) {{\n        clock(root, 1);\n        return {prefix}_rise(&root);\n    }}\n    \
             static void settle({root}, std::uint64_t left) {{ {prefix}_settle(&root, left); }}\n    \
             static void finish({root}, std::uint64_t left) {{ {prefix}_finish(&root, left); }}"
        );
    }
    text.push_str(
        "    template <class Root>\n    static void clock(Root& root, std::uint8_t level) noexcept {\n",
    );
    match face.clock {
        Some(clock) => {
            let _ = writeln!(text, "        root.{} = level;", clock.cpp);
        }
        None => text.push_str("        (void)root;\n        (void)level;\n"),
    }
    text.push_str("    }\n    template <class Root>\n    static void drive(Root& root, const In& in) noexcept {\n        (void)in;\n");
    for port in face.data_ports(Direction::In) {
        element(text, port, |cpp, index| {
            format!("root.{cpp}{index} = in.{cpp}{index}")
        });
    }
    text.push_str("    }\n    template <class Root>\n    static void sample(const Root& root, Out& out) noexcept {\n        (void)out;\n");
    for port in face.data_ports(Direction::Out) {
        element(text, port, |cpp, index| {
            format!("out.{cpp}{index} = root.{cpp}{index}")
        });
    }
    text.push_str("    }\n");
    if face.coverage {
        // Never called, because the Rust side refuses first. Verilator generates no serialization for a model that
        // counts coverage.
        let _ = write!(
            text,
            "    static void put(::{prefix}&, VerilatedSerialize&) {{}}\n    static void get(::{prefix}&, VerilatedDeserialize&) {{}}\n"
        );
    } else {
        let _ = write!(
            text,
            "    static void put(::{prefix}& model, VerilatedSerialize& to) {{ to << model; }}\n    \
             static void get(::{prefix}& model, VerilatedDeserialize& from) {{ from >> model; }}\n"
        );
    }
    text.push_str("};\n");
}

/// Writes the assignments of one port: all elements, all words, inputs cut to their width. Verilator assumes that the
/// bits above a port's width are zero and computes wrong results if they are not.
fn element(text: &mut String, port: &Port, assign: impl Fn(&str, &str) -> String) {
    let mut indent = "        ".to_owned();
    let mut index = String::new();
    for (depth, size) in port.dims.iter().enumerate() {
        let _ = writeln!(
            text,
            "{indent}for (unsigned d{depth} = 0; d{depth} < {size}; ++d{depth}) {{"
        );
        let _ = write!(index, "[d{depth}]");
        indent.push_str("    ");
    }
    let bits = port.top_bits();
    let cut = if port.direction == Direction::In && bits < port.cell() {
        format!(" & 0x{:x}ULL", (1u64 << bits) - 1)
    } else {
        String::new()
    };
    if port.wide() {
        // As far as the compiler knows, the words of the two sides might overlap. memcpy states that they do not.
        let copy = assign(&port.cpp, &index);
        let (to, from) = copy.split_once(" = ").unwrap_or((&copy, &copy));
        let _ = writeln!(
            text,
            "{indent}std::memcpy(&{to}[0], &{from}[0], {});",
            4 * port.words()
        );
        if !cut.is_empty() {
            let top = format!("{index}[{}]", port.words() - 1);
            let _ = writeln!(
                text,
                "{indent}root.{}{top} &={};",
                port.cpp,
                cut.trim_start_matches(" &")
            );
        }
    } else {
        let line = assign(&port.cpp, &index);
        let _ = writeln!(text, "{indent}{line}{cut};");
    }
    for _ in &port.dims {
        indent.truncate(indent.len() - 4);
        let _ = writeln!(text, "{indent}}}");
    }
}
