//! Latencies of the RTL from one stage to the next, in cycles. A model that steps through events has to be told them.
//!
//! They are read off the RTL's stages for the case that nothing is in the way. They shift answers by tens of
//! nanoseconds and do not change any rate.

/// From a frame's last beat to the parser's verdict (`packet_parser`: four to ten).
pub const PARSE: u64 = 7;
/// From the last beat of a pause until the pause unit has it (`control_receive`).
pub const CONTROL: u64 = 2;
/// From the parser's verdict until a frame's QP and its fate are known (`rx_classify`).
pub const CLASSIFY: u64 = 2;
/// From there to the responder's step.
pub const RESPOND: u64 = 5;
/// From one packet's step to the next one of the same QP (`gbn_responder`).
pub const RESPOND_EVERY: u64 = 2;
/// From the step that fails a QP at one of its halves to the failing step of the other half.
pub const FAIL: u64 = 5;
/// From the classification of an answer to the requester's step.
pub const ACKNOWLEDGE: u64 = 4;
/// From the responder's step to the first beat of a DMA write: the lookup of the region, and five cycles of the
/// reader.
pub const WRITE: u64 = 7;
/// From when a QP owes an answer to its GRANT.
pub const GRANT: u64 = 2;
/// From a GRANT until the answer may be selected.
pub const ANSWER: u64 = 4;
/// From one GRANT to the next (`qp_picker`).
pub const GRANT_EVERY: u64 = 2;
/// From when a work request is taken until the QP may send.
pub const POST: u64 = 4;
/// From a requester's step that makes a QP sendable to its SEND.
pub const SCHEDULE: u64 = 2;
/// From one SEND to the next one of the same QP; twice that with DCQCN (`sent_account`).
pub const SEND_EVERY: u64 = 6;
/// From a SEND to its DMA read at the pins.
pub const READ: u64 = 5;
/// From the last beat of the data read until the packet may be selected.
pub const READY: u64 = 2;
/// From a mark at the notification point until the CNP may be selected.
pub const CNP: u64 = 4;
/// From the selection of a packet to its first beat at the MAC, if it has no payload (`transmit_select`,
/// `payload_reader`, `packet_builder`).
pub const SELECT: u64 = 6;
/// Like [`SELECT`], for a packet with payload.
pub const SELECT_PAYLOAD: u64 = 11;
/// Like [`SELECT`], for a PFC frame (`transmit_door`).
pub const SELECT_PFC: u64 = 4;
/// How long before the wire is free the next packet is selected: eight beats wait in front of the builder, some are
/// inside it, and two are in the MAC.
pub const SELECT_AHEAD: u64 = 15;
/// From a requester's step to its completion at the pins.
pub const COMPLETE: u64 = 2;
/// The stages of the sender that a message passes alone, from the doorbell to the first beat at the MAC, without the
/// time of the bus.
pub const OUT: u64 = POST + READ + READY + SELECT_PAYLOAD;
/// The stages of the receiver from a request's last beat to its ACK at the MAC.
pub const ANSWERED: u64 = PARSE + CLASSIFY + RESPOND + GRANT + ANSWER + SELECT;
/// The stages of the model from a READ's last beat to the first beat of its response at the MAC, without the time of
/// the bus.
pub const ASKED: u64 = PARSE + CLASSIFY + RESPOND + WRITE + GRANT + READ + SELECT_PAYLOAD;
/// The stages of the model from a response's last beat to the requester's step.
pub const RETURNED: u64 = PARSE + CLASSIFY + RESPOND;
/// The stages of the sender from an ACK's last beat to the completion at the pins.
pub const COMPLETED: u64 = PARSE + CLASSIFY + ACKNOWLEDGE + COMPLETE;
