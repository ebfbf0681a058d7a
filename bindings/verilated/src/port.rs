//! What a model's ports look like, as data.

/// Which way a port goes, seen from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Into the model.
    In,
    /// Out of the model.
    Out,
}

/// One port of a model. The clock is not among them: `cycle` drives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// The name in the source.
    pub name: &'static str,
    /// The field of `In` or `Out`.
    pub field: &'static str,
    /// Which way it goes.
    pub direction: Direction,
    /// Width in bits of one element, 1 and up.
    pub bits: u32,
    /// Sizes of the unpacked dimensions, outermost first; empty for most ports.
    pub dims: &'static [u32],
}
