//! The rules and the habits: their ids and texts. The checks are in the other modules.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// An enum whose variants have an id and texts.
macro_rules! texts {
    (
        $(#[$doc:meta])* $Type:ident [$($field:ident: $field_doc:literal),*] {
            $($Variant:ident $id:literal [$($text:literal),*],)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Type {
            $(#[doc = concat!($($text, " "),*)] $Variant,)*
        }

        impl $Type {
            /// All variants, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$Variant),*];

            /// The name in tables, JSON and messages.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$Variant => $id,)* }
            }

            /// The variant with this id.
            pub fn from_id(id: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.id() == id)
            }

            const fn texts(self) -> &'static [&'static str] {
                match self { $(Self::$Variant => &[$($text),*],)* }
            }
        }

        texts!(@fields $Type, 0, $($field: $field_doc,)*);

        impl fmt::Display for $Type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.id())
            }
        }

        impl Serialize for $Type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.id())
            }
        }
    };
    (@fields $Type:ident, $at:expr, $field:ident: $doc:literal, $($rest:tt)*) => {
        impl $Type {
            #[doc = $doc]
            pub const fn $field(self) -> &'static str {
                self.texts()[$at]
            }
        }
        texts!(@fields $Type, $at + 1, $($rest)*);
    };
    (@fields $Type:ident, $at:expr,) => {};
}

texts! {
    /// A requirement of a standard that frames can break.
    Rule [
        group: "What the rule is about: a heading.",
        statement: "The statement, paraphrased.",
        judged_at: "The taps at which the rule is applied.",
        needs: "What has to be seen before the rule is applied, and what is not judged."
    ] {
        Icrc "icrc" [
            "frame",
            "The invariant CRC at the end of a RoCE packet is that of the packet.",
            "any",
            "The whole packet. A packet with a wrong ICRC is not looked at any further: its receiver drops it."
        ],
        IpLength "ip-length" [
            "frame",
            "IP version, header length and packet length fit each other and the frame.",
            "any",
            "A frame to UDP port 4791, or of EtherType 0x8915."
        ],
        IpChecksum "ip-checksum" [
            "frame",
            "The IPv4 header checksum is right.",
            "any",
            "IPv4."
        ],
        IpFragment "ip-fragment" [
            "frame",
            "A RoCE packet is not fragmented.",
            "any",
            "The first fragment; later ones have no UDP header and count as frames of something else."
        ],
        UdpLength "udp-length" [
            "frame",
            "The UDP length is that of the IP payload.",
            "any",
            "The UDP header."
        ],
        UdpChecksum "udp-checksum" [
            "frame",
            "The UDP checksum of a RoCE packet is 0, or right.",
            "any",
            "The whole packet. Receivers ignore it; Linux sends 0."
        ],
        Headers "headers" [
            "frame",
            "A transport packet is whole words of 4 bytes, has all extension headers of its opcode, and payload only \
             if the opcode may have some.",
            "any",
            "The BTH."
        ],
        BthVersion "bth-version" [
            "frame",
            "The transport header version is 0.",
            "any",
            "The BTH."
        ],
        BthReserved "bth-reserved" [
            "frame",
            "Reserved bits of the BTH are sent as 0.",
            "any",
            "The BTH. They are outside the ICRC in part, so damage on the way shows here alone."
        ],
        Opcode "opcode" [
            "frame",
            "The opcode of RC, UC and UD is an assigned one.",
            "any",
            "The BTH. Services other than RC, UC and UD, such as XRC, are a remark."
        ],
        Pad "pad" [
            "frame",
            "The pad count is at most the bytes that are there, and 0 in first and middle packets and in packets \
             without payload.",
            "any",
            "The BTH. A pad count that is wrong otherwise shows as a wrong length: see message-length."
        ],
        Solicited "solicited" [
            "frame",
            "SE, which asks for a solicited event, is set only in the last or only packet of a SEND or a WRITE.",
            "any",
            "The BTH."
        ],
        PKey "pkey" [
            "frame",
            "The P_Key is not 0 in its low 15 bits, and is the same in all packets to one queue pair from one sender.",
            "any",
            "The BTH."
        ],
        PacketLength "packet-length" [
            "requests",
            "First and middle packets carry exactly the path MTU (256, 512, 1,024, 2,048 or 4,096 bytes), last \
             packets 1 byte to the MTU, only packets at most the MTU.",
            "any",
            "The MTU is learnt from the first first or middle packet of the direction; before that 4,096 is the limit."
        ],
        MessageSequence "message-sequence" [
            "requests",
            "After a first or middle packet comes a middle or last one of the same operation, after any other a \
             message begins.",
            "any",
            "The packet with the PSN before. RC and UC."
        ],
        MessageLength "message-length" [
            "requests",
            "The packets of an RDMA WRITE carry together as many bytes as its RETH says.",
            "any",
            "All packets of the message up to the one judged."
        ],
        PsnOrder "psn-order" [
            "requests",
            "A sender uses one PSN after the other, a READ request one for each packet of its response.",
            "the requester's port",
            "Elsewhere a gap is a loss before the tap. A frame that another rule names is not named again, nor is a \
             gap where the missing packets were broken ones that other rules have named."
        ],
        PsnWindow "psn-window" [
            "requests",
            "No request is more than half of the PSN space (2^23) ahead of the oldest that is not acknowledged.",
            "any",
            "A middle or last packet: with a first or only packet a PSN far away is a new connection."
        ],
        ResendStart "resend-start" [
            "requests",
            "A sender goes back to the PSN of a NAK, or to the oldest request without an answer, or to a READ or \
             atomic whose answer is missing.",
            "any, with more at the requester's port",
            "Answers in the other direction. At a host's own port every start is judged, but what was acknowledged in \
             the last 100 us may be on its way; elsewhere only starts before what was acknowledged, as the first \
             packets of the resend may have been lost before the tap, and answers behind it. Where requests were seen \
             to be lost before the tap, none is."
        ],
        ResendSame "resend-same" [
            "requests",
            "A packet that is sent again has the opcode, length, RETH, atomic header, immediate data and key to \
             invalidate of the first time; a READ may ask for the rest of its data from a PSN within.",
            "any",
            "The first sending. Another payload is a remark, since a program may write to its buffer until the \
             request completes."
        ],
        RnrWait "rnr-wait" [
            "requests",
            "After an RNR NAK the request is not sent again before the time that the NAK names.",
            "the requester's port",
            "NAK and resend; not judged when another NAK of the same PSN came before the resend, and not of a request \
             that may have been behind a frame on the wire when the NAK arrived. One more RNR NAK while the request \
             waits may begin the wait anew, or not. Elsewhere a resend may cross the NAK: a remark."
        ],
        UcOrder "uc-order" [
            "requests",
            "PSNs of an unreliable connection count up and never go back.",
            "any",
            "Two packets."
        ],
        AckBeyondSent "ack-beyond-sent" [
            "answers",
            "An answer is about a PSN that was sent.",
            "any",
            "The requests of the connection: the tap sees all that pass it."
        ],
        AckOfMissing "ack-of-missing" [
            "answers",
            "An ACK acknowledges only what has arrived.",
            "the responder's port",
            "All requests since the newest ACK before. Packets that are broken or have a wrong ICRC have not arrived."
        ],
        AckPastRead "ack-past-read" [
            "answers",
            "A READ, an atomic or a FLUSH is answered by its response, before anything behind it is acknowledged: no \
             ACK has its PSN, and no ACK or NAK passes it.",
            "the responder's port; an ACK with its PSN anywhere",
            "The request. Elsewhere an answer that passes it is a remark, as the response may be lost before the tap, \
             and an ACK with its PSN is judged only if no request was sent again since: the answer to a duplicate may \
             have the newest PSN."
        ],
        AckBack "ack-back" [
            "answers",
            "What was acknowledged stays so: no ACK or NAK is about an earlier PSN than the ones before.",
            "any",
            "Two answers of a connection with the same DSCP. READ responses and atomic answers that are sent again are not \
             meant."
        ],
        NakFirstMissing "nak-first-missing" [
            "answers",
            "A NAK for a sequence error has the PSN of the first request that is missing, and a later one has arrived.",
            "any",
            "The requests. A PSN that never passed the tap cannot have arrived; one that passed may be lost behind it."
        ],
        NakOwed "nak-owed" [
            "answers",
            "A gap is NAKed, before what is behind it is acknowledged.",
            "the responder's port",
            "The first packet behind the gap, which is not sent again, the missing one, which comes 20 us later or \
             more, and an ACK of both. If both are sent again, the host may have dropped the one behind: a remark. \
             Not judged if the host was paused in the meantime: its NAK may wait until an ACK has taken its place."
        ],
        NakHeeded "nak-heeded" [
            "answers",
            "What a NAK for a sequence error or an RNR NAK has refused is not acknowledged before it was sent again.",
            "any",
            "The NAK and the ACK. A request that was sent twice before the NAK passed, or came late, is not judged: it may \
             have crossed it."
        ],
        NakOnce "nak-once" [
            "answers",
            "A gap is NAKed once: not again until the missing request has been sent again.",
            "any",
            "Two NAKs and the requests between."
        ],
        Msn "msn" [
            "answers",
            "The MSN of an answer counts the messages completed, one a message up to the PSN answered.",
            "any",
            "Two answers and all requests between them. A 'send with invalidate' may be acknowledged and fail: it may \
             not be counted. READ responses and atomic answers that are sent again may count messages behind their \
             own, too."
        ],
        Syndrome "syndrome" [
            "answers",
            "The syndrome is an assigned one: ACK, RNR NAK, or NAK with a code that RC has.",
            "any",
            "An AETH."
        ],
        AfterFatalNak "after-fatal-nak" [
            "answers",
            "After a NAK for an invalid request, an access error or an operational error nothing further of the queue \
             pair is acknowledged.",
            "any",
            "The NAK. A connection that is set up anew with the same numbers ends this."
        ],
        ReadResponse "read-response" [
            "answers",
            "A READ response has a PSN of a READ that was asked for, the opcode of its place and the length of its \
             part.",
            "any",
            "The READ request. Lengths need the MTU. Responses to a READ asked again may begin with 'middle' or \
             'last': see read-again-middle. So may those to a READ that came within 100 us of a packet about requests \
             before the capture, since it may have been sent before."
        ],
        ReadOrder "read-order" [
            "answers",
            "The responses of a READ come in the order of their PSNs, once each time it was asked for.",
            "any",
            "The READ request. A gap is a loss before the tap. Not judged where the READ may have been sent before \
             the capture."
        ],
        AtomicAnswer "atomic-answer" [
            "answers",
            "An atomic answer has the PSN of an atomic request, comes once each time it was asked for, and says the \
             same original value each time.",
            "any",
            "The atomic request."
        ],
        CnpForm "cnp-form" [
            "congestion",
            "A CNP has BECN set and 16 reserved bytes of 0.",
            "any",
            "The CNP."
        ],
        CnpCause "cnp-cause" [
            "congestion",
            "A CNP answers a packet of its queue pair that arrived with ECN 'congestion experienced': as many CNPs as \
             marked packets at most, and none for a mark from before the interval that the CNP before began.",
            "the port of the CNP's sender",
            "The connection's other direction. Elsewhere the mark may be set behind the tap. Without the interval as \
             a setting, or if it is 0, marks and CNPs are only counted."
        ],
        CnpOwed "cnp-owed" [
            "congestion",
            "A host sends a CNP when a marked packet arrives, unless one was sent within the interval before.",
            "the port of the marks' receiver",
            "The interval as a setting, which says that the host takes part in DCQCN (without: a remark), the marked \
             request, its ACK, which says that the host has not dropped it, and a packet that the host sends an \
             interval later (20 us at least) without a CNP to anyone in between: some hosts count the interval per \
             port."
        ],
        CnpInterval "cnp-interval" [
            "congestion",
            "CNPs to one queue pair are at least the CNP interval apart (50 us in DCQCN's paper).",
            "the port of the CNP's sender, or any if none is known",
            "The interval as a setting: implementations differ in its value, and count per queue pair, address pair \
             or port. A queue pair is the least that any of them holds. Where a tap is known to be a host's own port, \
             only what such a host sends there is judged: queues on the way change the distance of two CNPs. The \
             first may have waited for a frame of the longest MTU."
        ],
        PauseForm "pause-form" [
            "pauses",
            "A PFC or PAUSE frame has all its fields, its reserved class bits and its padding are 0, and it is at \
             least 64 bytes long with FCS.",
            "any",
            "EtherType 0x8808 and the opcode of PFC or PAUSE."
        ],
        PauseAddress "pause-address" [
            "pauses",
            "PFC goes to 01:80:C2:00:00:01, PAUSE there or to the peer's own address.",
            "any",
            "EtherType 0x8808 and the opcode of PFC or PAUSE."
        ],
        PauseObeyed "pause-obeyed" [
            "pauses",
            "Once a pause has been received and the response time is over, no frame of a paused class starts until \
             the pause ends.",
            "the port of the paused node",
            "The direction of frames, both directions of the port, the line rate. Only pauses that the tap's own node \
             received: for those that it sent, the delay of the cable would have to be known."
        ],
    }
}

/// The error for a text that is not the id of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRule(String);

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        write!(f, "no rule '{}': rules are {}", self.0, rules.join(", "))
    }
}

impl std::error::Error for UnknownRule {}

impl FromStr for Rule {
    type Err = UnknownRule;

    fn from_str(id: &str) -> Result<Self, UnknownRule> {
        Self::from_id(id).ok_or_else(|| UnknownRule(id.to_owned()))
    }
}

texts! {
    /// Behaviour that the standard allows, or that is common although the standard says otherwise: worth knowing, but
    /// not a violation.
    Habit [
        text: "What it is."
    ] {
        AckCoalesced "ack-coalesced" [
            "One ACK acknowledges several requests that asked for one."
        ],
        AckAgain "ack-again" [
            "An ACK is sent again with the same PSN and MSN: Linux answers each duplicate with its newest PSN, so one \
             resend of n packets brings n equal ACKs."
        ],
        NakAfterRnr "nak-after-rnr" [
            "After an RNR NAK the packets behind it are NAKed as out of sequence, with the PSN of the RNR NAK. Linux \
             does so; others drop them in silence."
        ],
        ResendInRnrWait "resend-in-rnr-wait" [
            "A request passes again while the time of its RNR NAK runs, at a tap that is not its sender's port: it \
             was sent too early, or it has crossed the NAK."
        ],
        SendsInRnrWait "sends-in-rnr-wait" [
            "New requests are sent while the time of an RNR NAK runs. Linux does so when more work is posted."
        ],
        ReadAgainMiddle "read-again-middle" [
            "Responses to a READ asked again begin with 'middle' or 'last' where 'first' or 'only' is due: Linux \
             continues where it was."
        ],
        ReadFromMiddle "read-from-middle" [
            "A READ is asked again from a PSN within, for the rest of its data, not from its first PSN."
        ],
        GapUntold "gap-untold" [
            "What was missing at a responder's port comes 20 us later or more, and no NAK was sent: the responder has \
             dropped what came behind the gap, or owes a NAK."
        ],
        ReadPassed "read-passed" [
            "An ACK or NAK passes a READ, an atomic or a FLUSH whose response was not seen: the response is lost \
             before the tap, or was not sent, and the sender has to ask again."
        ],
        ResendOtherPayload "resend-other-payload" [
            "A packet that is sent again has another payload than the first time. A program may have written to the \
             buffer; if it has not, the payload was read from the wrong place."
        ],
        NoAckRequest "no-ack-request" [
            "The last packet of a message does not ask for an ACK: if it is lost, or if nothing follows, the sender \
             learns of it by a timeout."
        ],
        ResendWhole "resend-whole" [
            "All from the first missing request on is sent again, packets that had arrived included: go-back-N."
        ],
        OperationalForLength "operational-for-length" [
            "A remote operational error. Linux sends it for a SEND that is longer than the receive buffer, where \
             others send an invalid request."
        ],
        FatalNak "fatal-nak" [
            "A NAK after which the queue pair is in error."
        ],
        Unanswered "unanswered" [
            "The same request is sent again although no answer to it was seen: its answers are lost before the tap, \
             or the responder is silent, as Linux is after a failed 'send with invalidate'."
        ],
        InvalidateUncounted "invalidate-uncounted" [
            "A 'send with invalidate' is acknowledged and not counted in the MSN: Linux does so when it cannot \
             invalidate the key."
        ],
        GapBeforeTap "gap-before-tap" [
            "PSNs that never passed the tap: lost before it, or missed by the recorder."
        ],
        NewConnection "new-connection" [
            "A first or only packet with a PSN far from the last: taken as a new connection with the same numbers."
        ],
        Unpaired "unpaired" [
            "Answers whose requests were not found, or not in one direction alone: not judged."
        ],
        OtherService "other-service" [
            "An opcode of a service other than RC, UC and UD, such as XRC: not judged."
        ],
        MarksUnanswered "marks-unanswered" [
            "A host has received marked packets, and has sent others for 50 us without a CNP among them: it takes no \
             part in DCQCN, or its CNPs are missing. With the interval as a setting: see cnp-owed."
        ],
        SolicitedWrite "solicited-write" [
            "SE at the end of a WRITE without immediate data: it consumes no receive request that an event could be about."
        ],
        DscpChanges "dscp-changes" [
            "A request has another DSCP than the one before it from the same sender to the same queue pair, RC or UC: \
             each change counts once. Packets in two priorities may overtake each other, and are paused apart. A \
             device on the way rewrites the DSCP of some, or the sender was configured anew while it ran. Resends \
             count like all requests; answers, CNPs and the start of a new connection do not."
        ],
        SourcePort "source-port" [
            "A UDP source port outside 0xC000 to 0xFFFF."
        ],
        PadBytes "pad-bytes" [
            "Pad bytes that are not 0: they may be anything."
        ],
        UnusedTimer "unused-timer" [
            "A PFC frame with a time for a class that it does not enable: receivers ignore it."
        ],
        PauseLapsed "pause-lapsed" [
            "A class is paused anew less than a maximum frame's time after its pause ran out: the refresh came too \
             late."
        ],
    }
}
