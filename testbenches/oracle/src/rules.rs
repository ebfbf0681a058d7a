//! The rules: a short name, the section of the standard, and the statement that is held.
//!
//! Sections are those of the InfiniBand Architecture Specification, volume 1; A17 is its annex for RoCEv2.

/// A statement of the standard.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Short name.
    pub name: &'static str,
    /// Where the standard says it.
    pub section: &'static str,
    /// What it says, in other words.
    pub statement: &'static str,
}

macro_rules! rules {
    ($($id:ident, $name:literal, $section:literal, $statement:literal;)*) => {
        $(#[doc = $statement] pub static $id: Rule = Rule {
            name: $name,
            section: $section,
            statement: $statement,
        };)*

        /// All rules.
        pub static ALL: &[&Rule] = &[$(&$id),*];
    };
}

rules! {
    LOG, "log", "no standard",
        "The log is of two NICs: its QPs are open, their ends agree, memory gives what it holds.";

    MEMORY_PLACE, "memory.place", "9.7.4.1",
        "Bytes are written in the order of a message that the peer has posted, once each, to its place; nothing \
        else is.";
    MEMORY_VALUE, "memory.value", "9.7.4",
        "What is written is what the source holds.";
    MEMORY_ARRIVED, "memory.arrived", "9.7.4.1",
        "What is written has arrived, and so has everything before it.";
    MEMORY_RIGHT, "memory.right", "10.6",
        "What is written is in a region of the QP's protection domain that was registered with the right to it, and is \
        not removed.";
    MEMORY_KEY, "memory.key", "10.6",
        "A message invalidates no key but those of regions of the QP's protection domain.";
    MEMORY_REFUSED, "memory.refused", "9.9.3",
        "Nothing is written of a packet that was refused, nor of one behind it.";
    MEMORY_READ, "memory.read", "10.6",
        "What is read is the source of a work request that was posted, with its key, in a region of the QP's protection \
        domain.";

    SEND_ORDER, "sends.order", "10.8",
        "A work request completes once, in the order of posting; success that is not signaled is silent.";
    SEND_FACTS, "sends.facts", "11.4",
        "A completion of a work request has its operation, and in success its length.";
    SEND_ACKED, "sends.acknowledged", "9.7.6",
        "Success of a work request needs an acknowledgement of its last packet that arrived.";
    SEND_WRITTEN, "sends.written", "9.7.5.1",
        "What is acknowledged, or completed by its sender, is in the memory of the receiver.";
    SEND_RETURNED, "sends.returned", "10.8",
        "A READ or an atomic completes with success when what it returns is in memory.";
    SEND_DELIVERED, "sends.delivered", "9.7.5.1",
        "The receive buffer of a message that is acknowledged, or completed by its sender, completes with success.";
    SEND_CAUSE, "sends.cause", "9.9.2",
        "A work request that fails has a cause: NAKs that arrived, silence for as long as its retries, or its \
        memory.";
    SEND_MISSING, "sends.missing", "10.8",
        "At rest each signaled work request has completed; of a QP in error, each work request.";

    RECEIVE_ORDER, "receives.order", "10.8",
        "A receive buffer completes once, in the order of posting.";
    RECEIVE_FACTS, "receives.facts", "11.4",
        "A receive has the length, operation, immediate data and solicited event of its message.";
    RECEIVE_WHOLE, "receives.whole", "9.7.4",
        "A receive completes with success when its message has arrived and is written, and was not refused.";
    RECEIVE_CAUSE, "receives.cause", "9.9.3",
        "A receive buffer that fails is too short, or its memory is not permitted.";
    RECEIVE_MISSING, "receives.missing", "10.3.1",
        "At rest each receive buffer of a QP in error has completed.";

    FLUSH, "flush", "10.3.1",
        "After the first error of a queue all that follows is flushed.";
    FLUSH_CAUSE, "flush.cause", "10.3.1",
        "Nothing is flushed unless the QP has failed: a completion or a NAK says why.";

    FRAME_FORMAT, "frames.format", "A17.3",
        "A frame is Ethernet with IP, UDP and the transport headers of its opcode, or MAC control.";
    FRAME_ICRC, "frames.icrc", "A17.3.3",
        "The ICRC covers the packet with ones in place of what routers change.";
    FRAME_PATH, "frames.path", "9.6",
        "All frames of a QP have the addresses, VLANs and P_Key of one path.";
    FRAME_QP, "frames.qp", "9.6",
        "A frame is sent by an open QP.";

    REQUEST_POSTED, "requests.posted", "9.7.3",
        "A request belongs to a work request that was posted.";
    REQUEST_ORDER, "requests.order", "9.7.3.1",
        "PSNs count from the first one up by one; what is left out when requests are repeated was acknowledged.";
    REQUEST_REPEATED, "requests.repeated", "9.7.6.1",
        "Requests are repeated after a NAK, after the time that an RNR NAK names, or after the ACK timeout.";
    REQUEST_OPCODE, "requests.opcode", "9.4",
        "The opcode says the operation and whether the packet is first, middle, last or only.";
    REQUEST_HEADERS, "requests.headers", "9.3",
        "RETH, immediate data, key and the request for a solicited event are those of the work request.";
    REQUEST_PAYLOAD, "requests.payload", "9.4",
        "Packets but the last have a payload of the path MTU, and all of them the source's bytes.";
    REQUEST_WINDOW, "requests.window", "9.7.1",
        "No more requests are outstanding than the window permits.";
    REQUEST_GRANTED, "requests.granted", "9.7.3",
        "No more READs and atomics are unanswered than the peer permits.";
    REQUEST_FENCE, "requests.fence", "10.8.3",
        "A work request with a fence begins when the READs and atomics before it are answered.";
    REQUEST_FAILED, "requests.failed", "10.3.1",
        "A QP in error sends no request.";
    REQUEST_DONE, "requests.done", "9.7.6",
        "Nothing is repeated of a work request that has completed.";

    ANSWER_ARRIVED, "answers.arrived", "9.7.5.1",
        "An answer acknowledges nothing that did not arrive, in order.";
    ANSWER_MSN, "answers.msn", "9.7.7.1",
        "The MSN counts the messages that are complete with what the answer acknowledges.";
    ANSWER_BUFFER, "answers.buffer", "9.7.5.1",
        "No message is acknowledged that needs a receive buffer and has none.";
    ANSWER_REFUSED, "answers.refused", "9.9.3",
        "What was refused is not acknowledged, and what was acknowledged is not refused.";
    ANSWER_BEHIND, "answers.behind", "9.7.5.1",
        "Nothing is acknowledged before the responses to the READs and atomics in front of it were sent.";
    ANSWER_GAP, "answers.gap", "9.7.5.2",
        "A sequence NAK names the first packet that is missing, and one behind it has arrived.";
    ANSWER_ONCE, "answers.once", "9.7.5.2",
        "A gap is told by one sequence NAK.";
    ANSWER_NOT_READY, "answers.not-ready", "9.7.5.2.8",
        "An RNR NAK names a packet that arrived, needs a receive buffer, and found none: once for each arrival.";
    ANSWER_CAUSE, "answers.cause", "9.9.3",
        "A NAK that ends a QP has a cause in the packet that it names: its length, or memory that is not permitted.";
    ANSWER_SYNDROME, "answers.syndrome", "9.3",
        "A syndrome is an ACK, an RNR NAK, or a NAK that a reliable connection has.";

    RESPONSE_ASKED, "responses.asked", "9.7.5.1",
        "A response belongs to a READ or an atomic that arrived, in order.";
    RESPONSE_ORDER, "responses.order", "9.7.5.1",
        "The responses to a READ begin where it was asked for, and count up by one.";
    RESPONSE_OPCODE, "responses.opcode", "9.4",
        "The opcode of a response says what it answers, and whether it is first, middle, last or only.";
    RESPONSE_HEADERS, "responses.headers", "9.7.7.1",
        "The AETH of a response is an ACK, with the messages that are complete with what it answers.";
    RESPONSE_PAYLOAD, "responses.payload", "9.4.4",
        "A READ returns what memory holds behind all that was sent before it.";
    ATOMIC_ONCE, "atomics.once", "9.4.5",
        "An atomic is performed once, in its order: it returns what those before it have left, and the same again.";
}
