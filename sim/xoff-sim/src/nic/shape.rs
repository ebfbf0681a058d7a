//! Sizes of this repository's NIC, which the model has too. `xoff-cosim` holds them against the RTL's parameters.

/// QPs of the RTL NIC, and entries of its table of regions.
pub const QPS: usize = 64;
/// Work requests that a NIC holds for each QP, and receive buffers.
pub const WQES: u32 = 16;
/// Bytes of a beat, of frames and of DMA.
pub const BEAT_BYTES: usize = 32;
/// Bytes of the RTL NIC's receive buffer.
pub const BUFFER_BYTES: u64 = 128 << 10;
