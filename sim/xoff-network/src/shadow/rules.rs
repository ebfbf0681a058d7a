//! What the standard leaves open: why an answer may differ from the one in the capture.

use serde::Serialize;

macro_rules! rules {
    ($($(#[$doc:meta])* $Rule:ident = $name:literal, $statement:literal, $source:literal;)*) => {
        /// A reason that allows a difference between two answers, or an answer that only one side has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum Allowed {
            $($(#[$doc])* #[serde(rename = $name)] $Rule,)*
        }

        impl Allowed {
            /// All of them, in the order in which they are tried.
            pub const ALL: &[Self] = &[$(Self::$Rule),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Rule => $name,)* }
            }

            /// What is allowed, in a sentence.
            pub const fn statement(self) -> &'static str {
                match self { $(Self::$Rule => $statement,)* }
            }

            /// Who says so.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$Rule => $source,)* }
            }
        }
    };
}

rules! {
    /// One ACK for several requests.
    Coalesced = "ack-coalesced",
        "An answer acknowledges every request before it, so that either side may leave out an ACK that a later answer \
         covers.",
        "IBTA volume 1 §9.7.5";
    /// The MSN counts more than the PSN covers.
    MsnWhenBuilt = "msn-when-built",
        "An MSN counts the messages that were complete when its answer was built, which may be more than those up to \
         its PSN.",
        "IBTA volume 1 §9.7.7.1";
    /// Credits that the NIC does not give.
    Credits = "credits",
        "A responder need not count its receive buffers in its ACKs: 31 says that it does not.",
        "IBTA volume 1 §9.7.7, table 46";
    /// Middle or Last where a READ goes on.
    ReadGoesOn = "linux-read-goes-on",
        "Linux answers a READ that is asked for from its inside with Middle and Last; by the standard it is a request of \
         its own, whose answers begin with First or Only.",
        "IBTA volume 1 §9.4.4; captures of Linux 6.1";
    /// Another refusal of a message that is too long.
    OperationalError = "linux-operational-error",
        "Linux refuses a SEND that is longer than its buffer with a remote operational error; by the standard the \
         request is invalid.",
        "IBTA volume 1 §9.7.5.2; captures of Linux 6.1";
    /// A SEND whose key was not there.
    Invalidation = "linux-invalidation",
        "Linux acknowledges a SEND whose key it cannot invalidate, does not count it, and fails the QP; by the standard \
         it is refused with a remote access error.",
        "IBTA volume 1 §9.4.1; captures of Linux 6.1";
    /// A sequence NAK after an RNR NAK.
    NakAfterRnr = "linux-nak-after-rnr",
        "Linux sends a sequence NAK for the packets behind one that it refused with an RNR NAK; by the standard it is \
         silent until that one comes again.",
        "IBTA volume 1 §9.7.5.2; captures of Linux 6.1";
    /// An ACK for each duplicate.
    DuplicateAck = "duplicate-ack",
        "Duplicates are acknowledged with what was acknowledged last: with one ACK each, or with one for several.",
        "IBTA volume 1 §9.7.5; captures of Linux 6.1";
    /// An answer that was lost before the tap.
    Lost = "lost-before-tap",
        "The capture does not have this answer, and its requester sends the request again as if it had not come.",
        "the capture";
    /// An answer after all others.
    Silent = "silent-at-the-end",
        "The capture has no answer to this connection after this request, or none from this response of a READ on: it \
         ends, or the responder was gone.",
        "the capture";
}
