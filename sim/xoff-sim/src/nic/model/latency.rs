//! How long the RTL takes from one of its stages to the next, in cycles: what a model that steps events has to be told.
//!
//! Read off the RTL's stages, in the case where nothing is in the way. They shift answers by tens of nanoseconds and change no rate.

/// From a frame's last beat to the parser's verdict (`packet_parser`: four to ten).
pub const PARSE: u64 = 7;
/// From the parser's verdict to whose the frame is and what becomes of it (`rx_classify`).
pub const CLASSIFY: u64 = 2;
/// From there to the responder's step.
pub const RESPOND: u64 = 5;
/// From one packet's step to the next one's: a QP has one step in the pipeline.
pub const RESPOND_EVERY: u64 = 3;
/// From the step that ends a QP at one of its halves to that of the other.
pub const FAIL: u64 = 5;
/// From an answer's fate to the requester's step.
pub const ACKNOWLEDGE: u64 = 4;
/// From the responder's step to the first beat of a DMA write: the region's answer and the reader's five.
pub const WRITE: u64 = 7;
/// From what a QP owes to its GRANT.
pub const GRANT: u64 = 2;
/// From a GRANT to an answer that may be selected.
pub const ANSWER: u64 = 4;
/// From one GRANT to the next (`answer_scheduler`).
pub const GRANT_EVERY: u64 = 7;
/// From a work request taken to a QP that may send.
pub const POST: u64 = 4;
/// From a requester's step that makes a QP sendable to its SEND.
pub const SCHEDULE: u64 = 2;
/// From a SEND to the next one of the QP; twice that with DCQCN (`sent_account`).
pub const SEND_EVERY: u64 = 6;
/// From a SEND to its read at the pins.
pub const READ: u64 = 5;
/// From the last beat of what was read to a packet that may be selected.
pub const READY: u64 = 2;
/// From the notification point's mark to a CNP that may be selected.
pub const CNP: u64 = 4;
/// From the selection of a packet to its first beat at the MAC, without payload and with some (`transmit_select`, `payload_reader`, `packet_builder`).
pub const SELECT: u64 = 6;
/// See [`SELECT`].
pub const SELECT_PAYLOAD: u64 = 11;
/// The same for a PFC frame (`transmit_door`).
pub const SELECT_PFC: u64 = 4;
/// How long before the wire is free the next packet is selected: eight beats wait in front of the builder, some are inside, two in the MAC.
pub const SELECT_AHEAD: u64 = 15;
/// From a requester's step to its completion at the pins.
pub const COMPLETE: u64 = 2;
