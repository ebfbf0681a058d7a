//! Reads a model's ports from the header that Verilator generates.

use crate::types::Table;
use crate::{Error, names};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
}

/// One port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    /// Name in the source.
    pub name: String,
    /// Name in Verilator's C++.
    pub cpp: String,
    /// Name of the field in the Rust struct.
    pub field: String,
    pub direction: Direction,
    pub bits: u32,
    /// Sizes of the unpacked dimensions, outermost first.
    pub dims: Vec<u32>,
}

impl Port {
    /// The number of 32-bit words of one element; only wide ports have more than two.
    pub fn words(&self) -> u32 {
        self.bits.div_ceil(32)
    }

    /// Whether an element is an array of words rather than an integer.
    pub fn wide(&self) -> bool {
        self.bits > 64
    }

    /// The width of the integer that holds one element: 8, 16, 32 or 64 bits; 32 for a word of a wide port.
    pub fn cell(&self) -> u32 {
        match self.bits {
            0..=8 => 8,
            9..=16 => 16,
            17..=32 => 32,
            33..=64 => 64,
            _ => 32,
        }
    }

    /// The number of used bits in the most significant cell.
    pub fn top_bits(&self) -> u32 {
        if self.wide() {
            self.bits - 32 * (self.words() - 1)
        } else {
            self.bits
        }
    }
}

/// Names that C++ of a model uses otherwise, and that its header does not declare: of members of base classes, of a
/// parameter of the functions that save a state, of macros, and of types.
const USED: [&str; 10] = [
    "contextp", "vlNamep", "os", "errno", "EOF", "NULL", "CData", "SData", "IData", "QData",
];

/// Reads the ports of a header, in the order of the header, which is Verilator's: narrow ports first. Newer versions
/// write no direction beside an array, so it is taken from the table of types.
pub(crate) fn read(top: &str, header: &str, types: &Table) -> Result<Vec<Port>, Error> {
    let mut ports: Vec<Port> = Vec::new();
    let mut inside = false;
    let mut others = Vec::new();
    for line in header.lines().map(str::trim) {
        if line == "// PORTS" {
            inside = true;
        } else if line == "// CELLS" || line.starts_with("// CONSTRUCTORS") {
            inside = false;
        } else if !inside && !line.starts_with("//") {
            others.push(line);
        } else if inside && !line.is_empty() && !line.starts_with("//") {
            let mut port = line_of(line, types).map_err(|wrong| match wrong {
                Wrong::Line(reason) => Error::Port {
                    top: top.to_owned(),
                    line: line.to_owned(),
                    reason,
                },
                Wrong::Type(cpp, reason) => Error::PortType {
                    top: top.to_owned(),
                    port: names::source_name(&cpp),
                    reason,
                },
            })?;
            while ports
                .iter()
                .any(|other| other.field == port.field && other.direction == port.direction)
            {
                port.field.push('_');
            }
            ports.push(port);
        }
    }
    let taken = |port: &&Port| {
        USED.contains(&port.cpp.as_str()) || others.iter().any(|line| declares(line, &port.cpp))
    };
    match ports.iter().find(taken) {
        Some(port) => Err(Error::PortName {
            top: top.to_owned(),
            port: port.name.clone(),
        }),
        None => Ok(ports),
    }
}

/// Returns whether a line of a header declares a function or a member of this name.
fn declares(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let rest = &line[at + name.len()..];
        !line[..at].ends_with(letter) && (rest.starts_with('(') || rest.starts_with(';'))
    })
}

/// Why a line is no port that has a field.
#[derive(Debug, PartialEq, Eq)]
enum Wrong {
    /// The line has a form that is not known.
    Line(&'static str),
    /// The port of this name in C++ has a type without a field in Rust.
    Type(String, &'static str),
}

const SHAPE: Wrong = Wrong::Line(
    "expected VL_IN…(&name,msb,lsb…), VL_OUT…(…) or VlUnpacked<…> &name, a packed port of bits or an array of them",
);
const INOUT: &str = "is an inout: use an input, an output and an enable";
const REAL: &str =
    "is a real: make it `logic [63:0]`, which $bitstoreal and $realtobits convert in the module";
const STRING: &str = "is a string: pass text as bits, such as `logic [8*N-1:0]`";
const STRUCT: &str =
    "is an unpacked struct or union, whose bits have no order: declare it `packed`";
const OTHER: &str =
    "has a type without a fixed number of bits: use packed types, and arrays of fixed size";

/// Parses a line such as `VL_INW((&name)[3],511,0,16);` or `VlUnpacked<VlWide<16>/*511:0*/, 3> &name;`.
fn line_of(line: &str, types: &Table) -> Result<Port, Wrong> {
    let Some(rest) = line.strip_prefix("VL_") else {
        return reference(line, types);
    };
    let (class, rest) = rest.split_once('(').ok_or(SHAPE)?;
    let body = rest.strip_suffix(");").ok_or(SHAPE)?;
    let mut parts = body.split(',');
    let declarator = parts.next().ok_or(SHAPE)?;
    let declarator: String = declarator
        .chars()
        .filter(|c| !matches!(c, '(' | ')' | '&' | ' '))
        .collect();
    let (cpp, dims) = match declarator.split_once('[') {
        None => (declarator.as_str(), Vec::new()),
        Some((cpp, dims)) => {
            let dims = dims.strip_suffix(']').ok_or(SHAPE)?;
            let dims = dims
                .split("][")
                .map(str::parse)
                .collect::<Result<_, _>>()
                .map_err(|_| SHAPE)?;
            (cpp, dims)
        }
    };
    if class.starts_with("INOUT") {
        return Err(Wrong::Type(cpp.to_owned(), INOUT));
    }
    let (direction, class) = if let Some(class) = class.strip_prefix("IN") {
        (Direction::In, class)
    } else {
        (Direction::Out, class.strip_prefix("OUT").ok_or(SHAPE)?)
    };
    if !matches!(class, "" | "8" | "16" | "64" | "W") {
        return Err(SHAPE);
    }
    let range = [parts.next(), parts.next()];
    port(cpp, direction, bits(range)?, dims, types)
}

/// Parses a port that is declared as a reference to its type.
fn reference(line: &str, types: &Table) -> Result<Port, Wrong> {
    let (kind, cpp) = line
        .strip_suffix(';')
        .and_then(|line| line.rsplit_once('&'))
        .ok_or(SHAPE)?;
    // `double (&name)[3];`
    let kind = kind.trim_end_matches(['(', ' ']);
    let cpp = cpp.split(')').next().unwrap_or(cpp).trim();
    let mut dims = Vec::new();
    let mut element = kind;
    while let Some(inner) = element.strip_prefix("VlUnpacked<") {
        let (inner, size) = (inner.strip_suffix('>'))
            .and_then(|inner| inner.rsplit_once(','))
            .ok_or(SHAPE)?;
        dims.push(size.trim().parse().map_err(|_| SHAPE)?);
        element = inner.trim();
    }
    let refused = |reason| Err(Wrong::Type(cpp.to_owned(), reason));
    match element {
        "double" => return refused(REAL),
        "std::string" => return refused(STRING),
        _ if element.contains("__struct") || element.contains("__union") => return refused(STRUCT),
        _ => {}
    }
    // `CData/*7:0*/`, `VlWide<16>/*511:0*/`
    let range = (element.strip_suffix("*/")).and_then(|element| element.split_once("/*"));
    let known = |name: &str| {
        ["CData", "SData", "IData", "QData"].contains(&name) || name.starts_with("VlWide<")
    };
    let Some((_, range)) = range.filter(|(name, _)| known(name)) else {
        return refused(OTHER);
    };
    let direction = types
        .directions
        .iter()
        .find(|(name, _)| *name == names::source_name(cpp));
    match direction {
        Some((_, Some(direction))) => {
            let mut range = range.split(':');
            port(
                cpp,
                *direction,
                bits([range.next(), range.next()])?,
                dims,
                types,
            )
        }
        Some((_, None)) => refused(INOUT),
        None => Err(Wrong::Line("the table of types has no port of this name")),
    }
}

/// Returns the width of a range of two bounds.
fn bits(range: [Option<&str>; 2]) -> Result<u32, Wrong> {
    let bound = |text: Option<&str>| -> Option<i64> { text?.trim().parse().ok() };
    let (left, right) = bound(range[0]).zip(bound(range[1])).ok_or(SHAPE)?;
    u32::try_from(left.abs_diff(right) + 1).map_err(|_| SHAPE)
}

fn port(
    cpp: &str,
    direction: Direction,
    bits: u32,
    dims: Vec<u32>,
    types: &Table,
) -> Result<Port, Wrong> {
    if cpp.is_empty() {
        return Err(SHAPE);
    }
    let name = names::source_name(cpp);
    // Some versions write an unpacked struct as if it were a bit.
    if let Some((_, kind)) = types.ports.iter().find(|(port, _)| *port == name)
        && types.bits(kind) != bits
    {
        return Err(Wrong::Type(cpp.to_owned(), STRUCT));
    }
    Ok(Port {
        field: names::field(&name),
        name,
        cpp: cpp.to_owned(),
        direction,
        bits,
        dims,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Port {
        line_of(line, &Table::default()).unwrap()
    }

    #[test]
    fn every_class_of_port() {
        let port = one("VL_IN8(&rst_i,0,0);");
        assert_eq!(
            (port.direction, port.bits, port.cell(), port.wide()),
            (Direction::In, 1, 8, false)
        );
        assert_eq!(one("VL_OUT16(&x,8,0);").cell(), 16);
        assert_eq!(one("VL_IN(&x,31,0);").cell(), 32);
        assert_eq!(one("VL_OUT64(&y_o,32,0);").bits, 33);
        let wide = one("VL_INW(&meta_i,132,0,5);");
        assert_eq!(
            (wide.bits, wide.words(), wide.wide(), wide.top_bits()),
            (133, 5, true, 5)
        );
        assert_eq!(one("VL_INW(&data_i,511,0,16);").top_bits(), 32);
    }

    #[test]
    fn ranges_that_do_not_end_at_zero() {
        assert_eq!(one("VL_IN16(&x,11,2);").bits, 10);
        assert_eq!(one("VL_IN8(&x,0,7);").bits, 8);
        assert_eq!(one("VL_IN8(&x,3,-4);").bits, 8);
    }

    #[test]
    fn unpacked_dimensions() {
        let port = one("VL_OUT8((&arr_o)[3][2],7,0);");
        assert_eq!(
            (port.cpp.as_str(), port.dims.as_slice()),
            ("arr_o", &[3, 2][..])
        );
        assert!(one("VL_INW((&a)[4],99,0,4);").wide());
    }

    /// A table with two inputs, an output and a port that is neither.
    fn types() -> Table {
        let direction = |name: &str, direction| (name.to_owned(), direction);
        Table {
            directions: vec![
                direction("a", Some(Direction::In)),
                direction("b", Some(Direction::Out)),
                direction("a.b", Some(Direction::In)),
                direction("pad", None),
            ],
            ..Table::default()
        }
    }

    #[test]
    fn arrays_of_newer_versions() {
        let one = |line| line_of(line, &types()).unwrap();
        let port = one("VlUnpacked<SData/*8:0*/, 3> &a;");
        assert_eq!(
            (port.cpp.as_str(), port.direction, port.bits, port.dims),
            ("a", Direction::In, 9, vec![3])
        );
        let port = one("VlUnpacked<VlUnpacked<VlWide<4>/*99:0*/, 4>, 2> &b;");
        assert_eq!(
            (port.direction, port.bits, port.dims),
            (Direction::Out, 100, vec![2, 4])
        );
        let port = one("VlUnpacked<QData/*1:40*/, 1> &a__02eb;");
        assert_eq!((port.field.as_str(), port.bits), ("a_b", 40));
    }

    #[test]
    fn what_has_no_field_is_refused_by_name() {
        let said = |line: &str| {
            let header = format!("// PORTS\n  {line}\n// CELLS");
            let error = read("t", &header, &types()).unwrap_err().to_string();
            error.strip_prefix("top `t`: ").unwrap().to_owned()
        };
        let real = "port `r` is a real: make it `logic [63:0]`, which $bitstoreal and $realtobits convert in the module";
        assert_eq!(said("double &r;"), real);
        assert_eq!(said("double (&r)[3];"), real);
        assert_eq!(said("VlUnpacked<double, 3> &r;"), real);
        assert_eq!(
            said("std::string &s;"),
            "port `s` is a string: pass text as bits, such as `logic [8*N-1:0]`"
        );
        let inout = "port `pad` is an inout: use an input, an output and an enable";
        assert_eq!(said("VL_INOUT8(&pad,0,0);"), inout);
        assert_eq!(said("VlUnpacked<CData/*7:0*/, 2> &pad;"), inout);
        let unpacked = "port `a` is an unpacked struct or union, whose bits have no order: declare it `packed`";
        assert_eq!(said("Vtop_u_t__struct__0 &a;"), unpacked);
        assert_eq!(said("VlUnpacked<Vtop_u_t__struct__0, 2> &a;"), unpacked);
        assert_eq!(
            said("VlQueue<CData/*7:0*/> &a;"),
            "port `a` has a type without a fixed number of bits: use packed types, and arrays of fixed size"
        );
        assert_eq!(
            said("VlUnpacked<CData/*7:0*/, 3> &c;"),
            "port line `VlUnpacked<CData/*7:0*/, 3> &c;` of Verilator's header is not understood: the table of types \
             has no port of this name"
        );
        for line in [
            "VL_BOTH8(&a,0,0);",
            "VL_IN8(&a,0);",
            "VlUnpacked<CData/*7*/, 3> &a;",
            "int a",
        ] {
            assert!(
                said(line).starts_with(&format!("port line `{line}` of")),
                "{line}"
            );
        }
    }

    #[test]
    fn members_of_the_class_cannot_name_a_port() {
        let said = |port: &str| {
            let header = format!(
                "class Vt {{\n// PORTS\nVL_IN8(&{port},0,0);\n// CELLS\n// of name( and levels;\n\
                 Vt___024root* const rootp;\n// CONSTRUCTORS\nexplicit Vt(const char* model, int levels = 0);\n\
                 void eval() {{ eval_step(); }}"
            );
            read("t", &header, &Table::default()).map_err(|error| error.to_string())
        };
        for port in ["eval", "eval_step", "rootp", "contextp"] {
            let error = said(port).unwrap_err();
            assert!(
                error.starts_with(&format!("top `t`: port `{port}` has a name that")),
                "{error}"
            );
        }
        for port in ["levels", "name", "step", "root", "model", "evaluate"] {
            assert_eq!(said(port).unwrap()[0].name, port);
        }
    }

    #[test]
    fn fields_stay_apart() {
        let header =
            "// PORTS\nVL_IN8(&a__02eb,0,0);\nVL_IN8(&a_b,0,0);\n\n// CELLS\nVL_IN8(&no,0,0);";
        let fields: Vec<_> = read("t", header, &Table::default())
            .unwrap()
            .into_iter()
            .map(|port| port.field)
            .collect();
        assert_eq!(fields, ["a_b", "a_b_"]);
    }
}
