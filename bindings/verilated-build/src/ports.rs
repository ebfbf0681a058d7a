//! Reads a model's ports from the header that Verilator generates.

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

/// Reads the ports of a header, in the order of the header, which is Verilator's: narrow ports first.
pub(crate) fn read(top: &str, header: &str) -> Result<Vec<Port>, Error> {
    let mut ports: Vec<Port> = Vec::new();
    let mut inside = false;
    for line in header.lines().map(str::trim) {
        if line == "// PORTS" {
            inside = true;
        } else if inside && (line == "// CELLS" || line.starts_with("// CONSTRUCTORS")) {
            break;
        } else if inside && !line.is_empty() && !line.starts_with("//") {
            let mut port = line_of(line).map_err(|reason| Error::Port {
                top: top.to_owned(),
                line: line.to_owned(),
                reason,
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
    Ok(ports)
}

/// Parses a line such as `VL_INW((&name)[3],511,0,16);`.
fn line_of(line: &str) -> Result<Port, &'static str> {
    const SHAPE: &str = "expected VL_IN…(&name,msb,lsb…) or VL_OUT…(…), a packed port of bits";
    let rest = line.strip_prefix("VL_").ok_or(SHAPE)?;
    if rest.starts_with("INOUT") {
        return Err("inout ports are not supported: use an input, an output and an enable");
    }
    let (direction, rest) = if let Some(rest) = rest.strip_prefix("IN") {
        (Direction::In, rest)
    } else {
        (Direction::Out, rest.strip_prefix("OUT").ok_or(SHAPE)?)
    };
    let (class, rest) = rest.split_once('(').ok_or(SHAPE)?;
    if !matches!(class, "" | "8" | "16" | "64" | "W") {
        return Err(SHAPE);
    }
    let body = rest.strip_suffix(");").ok_or(SHAPE)?;
    let mut parts = body.split(',');
    let declarator = parts.next().ok_or(SHAPE)?;
    let mut bound = || {
        parts
            .next()
            .and_then(|text| text.trim().parse::<i64>().ok())
            .ok_or(SHAPE)
    };
    let (msb, lsb) = (bound()?, bound()?);
    let bits = u32::try_from(msb.abs_diff(lsb) + 1).map_err(|_| SHAPE)?;

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
    if cpp.is_empty() {
        return Err(SHAPE);
    }
    let name = names::source_name(cpp);
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
        line_of(line).unwrap()
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

    #[test]
    fn what_is_no_port_of_bits_is_refused_by_name() {
        assert!(line_of("double &real_i;").is_err());
        assert!(
            line_of("VL_INOUT8(&pad,0,0);")
                .unwrap_err()
                .contains("inout")
        );
        let text = read("t", "// PORTS\n  double &r;\n// CELLS")
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("`double &r;`") && text.contains("top `t`"),
            "{text}"
        );
    }

    #[test]
    fn fields_stay_apart() {
        let header =
            "// PORTS\nVL_IN8(&a__02eb,0,0);\nVL_IN8(&a_b,0,0);\n\n// CELLS\nVL_IN8(&no,0,0);";
        let fields: Vec<_> = read("t", header)
            .unwrap()
            .into_iter()
            .map(|port| port.field)
            .collect();
        assert_eq!(fields, ["a_b", "a_b_"]);
    }
}
