//! Descriptions of a model's ports, as data.

/// The direction of a port, seen from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Into the model.
    In,
    /// Out of the model.
    Out,
}

/// One port of a model. The clock is not listed, because `cycle` drives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// The name in the source.
    pub name: &'static str,
    /// The name of its field in `In` or `Out`.
    pub field: &'static str,
    /// The direction.
    pub direction: Direction,
    /// Width in bits of one element, at least 1.
    pub bits: u32,
    /// Sizes of the unpacked dimensions, outermost first; empty for most ports.
    pub dims: &'static [u32],
}
