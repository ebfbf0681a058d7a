//! Kinds of damage, one at a time, and what the standard says of each: the rule that has to name it, the remark that it
//! is worth, or that it is legal. Some cannot be found from frames; they are in the table too, with the reason.
//!
//! The tables were written from the standards' statements, not from what the monitors find.

use std::collections::BTreeSet;
use std::path::Path;

use xoff_monitor::{Habit, Report, Rule, Tap};
use xoff_sim::time::Time;
use xoff_sim::wire::{ImmDtRepr, MacAddr, Opcode, Qpn, Syndrome};

use crate::captures::{Frame, frames, watch_frames};
use crate::conversation::{BTH, Conversation, IP, UDP, mend};

/// Where the tap is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    /// Host a's own port: the requester of most requests, the responder of `m1`, `m2`, `g1` and `g2`.
    A,
    /// Host b's own port: the responder of most requests.
    B,
    /// Between them.
    Way,
}

/// What the standard says.
#[derive(Clone, Copy, Debug)]
enum Says {
    /// The rule is broken by this frame. It alone, or together with rules that follow from it, is reported.
    Broken(Rule, &'static str),
    /// Allowed, and worth a remark.
    Worth(Habit),
    /// Allowed.
    Legal,
    /// Wrong, and not to be found here, for this reason.
    Hidden(&'static str),
}

use At::{A, B, Way};
use Says::{Broken, Hidden, Legal, Worth};

type Kind = (&'static str, At, Says, fn(&mut Conversation));

fn raw(it: &mut Conversation, name: &str, edit: fn(&mut Vec<u8>)) {
    it.step(name).edit = Some(edit);
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn later(it: &mut Conversation, names: &[&str], us: i64) {
    for name in names {
        let step = it.step(name);
        let ps = step.time.as_ps().wrapping_add_signed(us * 1_000_000);
        step.time = Time::from_ps(ps);
    }
}

fn without(it: &mut Conversation, names: &[&str]) {
    for name in names {
        it.remove(name);
    }
}

fn opcode(it: &mut Conversation, name: &str, opcode: Opcode) {
    it.step(name).packet().bth.opcode = opcode;
}

fn msn(it: &mut Conversation, name: &str, msn: u32) {
    it.step(name).aeth().msn = msn.try_into().unwrap();
}

fn syndrome(it: &mut Conversation, name: &str, syndrome: u8) {
    it.step(name).aeth().syndrome = Syndrome(syndrome);
}

/// Puts a copy of `answer` behind `after`, with another PSN, and as an ACK.
fn ack(it: &mut Conversation, answer: &'static str, after: &str, psn: u32, msn: u32) {
    let step = it.copy(answer, after);
    step.psn(psn);
    step.aeth().syndrome = Syndrome::ACK;
    step.aeth().msn = msn.try_into().unwrap();
}

/// Single frames. Every tap sees them alike.
const FRAMES: &[Kind] = &[
    (
        "a bit of the payload",
        Way,
        Broken(Rule::Icrc, "s3 again"),
        |it| raw(it, "s3 again", |it| it[BTH + 13] ^= 1),
    ),
    (
        "a bit of the ICRC",
        Way,
        Broken(Rule::Icrc, "ack n"),
        |it| raw(it, "ack n", |it| *it.last_mut().unwrap() ^= 0x80),
    ),
    ("a bit of the PSN", Way, Broken(Rule::Icrc, "s3"), |it| {
        raw(it, "s3", |it| it[BTH + 11] ^= 4)
    }),
    (
        "a bit of the UDP source port",
        Way,
        Broken(Rule::Icrc, "s3"),
        |it| raw(it, "s3", |it| it[UDP + 1] ^= 4),
    ),
    (
        "a bit of an address",
        Way,
        Broken(Rule::IpChecksum, "s3"),
        |it| raw(it, "s3", |it| it[IP + 15] ^= 4),
    ),
    (
        "total length beyond the frame",
        Way,
        Broken(Rule::IpLength, "s3"),
        |it| {
            raw(it, "s3", |it| {
                it[IP + 2] = 0x7F;
                xoff_sim::wire::Ipv4::new_unchecked(&mut it[IP..]).fill_checksum();
            })
        },
    ),
    (
        "IPv4 header checksum",
        Way,
        Broken(Rule::IpChecksum, "s3"),
        |it| raw(it, "s3", |it| it[IP + 10] ^= 1),
    ),
    (
        "IP version 6 in a packet of IPv4",
        Way,
        Broken(Rule::IpLength, "s3"),
        |it| raw(it, "s3", |it| it[IP] = 0x65),
    ),
    (
        "header of 16 bytes",
        Way,
        Broken(Rule::IpLength, "s3"),
        |it| raw(it, "s3", |it| it[IP] = 0x44),
    ),
    (
        "frame that ends in its payload",
        Way,
        Broken(Rule::IpLength, "w1"),
        |it| raw(it, "w1", |it| it.truncate(200)),
    ),
    (
        "first fragment",
        Way,
        Broken(Rule::IpFragment, "s3"),
        |it| {
            raw(it, "s3", |it| {
                it[IP + 6] = 0b0010_0000;
                mend(it);
            })
        },
    ),
    (
        "UDP length of a longer datagram",
        Way,
        Broken(Rule::UdpLength, "s3"),
        |it| raw(it, "s3", |it| it[UDP + 5] += 4),
    ),
    (
        "UDP length of a shorter datagram",
        Way,
        Broken(Rule::UdpLength, "s3"),
        |it| raw(it, "s3", |it| it[UDP + 5] -= 4),
    ),
    ("UDP checksum", Way, Broken(Rule::UdpChecksum, "s3"), |it| {
        raw(it, "s3", |it| it[UDP + 6] = 0x55)
    }),
    (
        "no room for the AETH",
        Way,
        Broken(Rule::Headers, "ack s"),
        |it| {
            raw(it, "ack s", |it| {
                it[IP + 3] -= 4;
                it[UDP + 5] -= 4;
                mend(it);
            })
        },
    ),
    (
        "transport packet of 3 bytes too many",
        Way,
        Broken(Rule::Headers, "s3"),
        |it| {
            raw(it, "s3", |it| {
                it[IP + 3] -= 1;
                it[UDP + 5] -= 1;
                mend(it);
            })
        },
    ),
    (
        "payload in a READ request",
        Way,
        Broken(Rule::Headers, "read"),
        |it| {
            raw(it, "read", |it| {
                it[IP + 3] += 4;
                it[UDP + 5] += 4;
                it.extend([0; 4]);
                mend(it);
            })
        },
    ),
    (
        "payload in an ACK",
        Way,
        Broken(Rule::Headers, "ack s"),
        |it| {
            raw(it, "ack s", |it| {
                it[IP + 3] += 4;
                it[UDP + 5] += 4;
                it.extend([0; 4]);
                mend(it);
            })
        },
    ),
    (
        "FLUSH without its RETH",
        Way,
        Broken(Rule::Headers, "flush"),
        |it| {
            raw(it, "flush", |it| {
                it[BTH] = 0x1C;
                it[IP + 3] -= 4;
                it[UDP + 5] -= 4;
                mend(it);
            })
        },
    ),
    (
        "ATOMIC WRITE of 4 bytes",
        Way,
        Broken(Rule::Headers, "flush"),
        |it| {
            raw(it, "flush", |it| {
                it[BTH] = 0x1D;
                mend(it);
            })
        },
    ),
    (
        "transport version 1",
        Way,
        Broken(Rule::BthVersion, "s3"),
        |it| {
            raw(it, "s3", |it| {
                it[BTH + 1] |= 1;
                mend(it);
            })
        },
    ),
    (
        "reserved bits beside A",
        Way,
        Broken(Rule::BthReserved, "s3"),
        |it| it.step("s3").packet().bth.reserved7 = 1,
    ),
    (
        "reserved bits beside BECN",
        Way,
        Broken(Rule::BthReserved, "s3"),
        |it| raw(it, "s3", |it| it[BTH + 4] |= 1),
    ),
    ("opcode 0x15 of RC", Way, Broken(Rule::Opcode, "s3"), |it| {
        raw(it, "s3", |it| {
            it[BTH] = 0x15;
            mend(it);
        })
    }),
    (
        "opcode 0x1F of RC",
        Way,
        Broken(Rule::Opcode, "ack s"),
        |it| {
            raw(it, "ack s", |it| {
                it[BTH] = 0x1F;
                mend(it);
            })
        },
    ),
    ("READ over UC", Way, Broken(Rule::Opcode, "u1"), |it| {
        raw(it, "u1", |it| {
            it[BTH] = 0x2C;
            mend(it);
        })
    }),
    ("WRITE over UD", Way, Broken(Rule::Opcode, "u1"), |it| {
        raw(it, "u1", |it| {
            it[BTH] = 0x6A;
            mend(it);
        })
    }),
    (
        "pad in a middle packet",
        Way,
        Broken(Rule::Pad, "w2"),
        |it| {
            raw(it, "w2", |it| {
                it[BTH + 1] |= 1 << 4;
                mend(it);
            })
        },
    ),
    ("pad in an ACK", Way, Broken(Rule::Pad, "ack s"), |it| {
        raw(it, "ack s", |it| {
            it[BTH + 1] |= 1 << 4;
            mend(it);
        })
    }),
    (
        "pad of a whole WRITE that needs none",
        Way,
        Broken(Rule::MessageLength, "w3"),
        |it| {
            raw(it, "w3", |it| {
                it[BTH + 1] |= 1 << 4;
                mend(it);
            })
        },
    ),
    (
        "opcode 0x15 at the requester's port",
        A,
        Broken(Rule::Opcode, "s2"),
        |it| {
            raw(it, "s2", |it| {
                it[BTH] = 0x15;
                mend(it);
            })
        },
    ),
    (
        "a bit of the PSN at the requester's port",
        A,
        Broken(Rule::Icrc, "w2"),
        |it| raw(it, "w2", |it| it[BTH + 11] ^= 4),
    ),
    (
        "SE in a first packet",
        Way,
        Broken(Rule::Solicited, "s1"),
        |it| it.step("s1").packet().bth.solicited = true,
    ),
    (
        "SE in a middle packet",
        Way,
        Broken(Rule::Solicited, "w2"),
        |it| it.step("w2").packet().bth.solicited = true,
    ),
    (
        "SE at the end of a plain WRITE",
        Way,
        Worth(Habit::SolicitedWrite),
        |it| it.step("w3").packet().bth.solicited = true,
    ),
    (
        "SE in a READ request",
        Way,
        Broken(Rule::Solicited, "read"),
        |it| it.step("read").packet().bth.solicited = true,
    ),
    (
        "SE in an ACK",
        Way,
        Broken(Rule::Solicited, "ack w"),
        |it| it.step("ack w").packet().bth.solicited = true,
    ),
    ("another partition", Way, Broken(Rule::PKey, "s3"), |it| {
        it.step("s3").packet().bth.pkey = 0x8001
    }),
    ("no partition", Way, Broken(Rule::PKey, "u1"), |it| {
        it.step("u1").packet().bth.pkey = 0x8000
    }),
    (
        "CNP without BECN",
        Way,
        Broken(Rule::CnpForm, "cnp 1"),
        |it| raw(it, "cnp 1", |it| it[BTH + 4] = 0),
    ),
    (
        "reserved bytes of a CNP",
        Way,
        Broken(Rule::CnpForm, "cnp 1"),
        |it| {
            raw(it, "cnp 1", |it| {
                it[BTH + 20] = 1;
                mend(it);
            })
        },
    ),
    (
        "padding of a PFC frame",
        Way,
        Broken(Rule::PauseForm, "pfc"),
        |it| raw(it, "pfc", |it| it[59] = 1),
    ),
    (
        "reserved half of the class-enable vector",
        Way,
        Broken(Rule::PauseForm, "pfc"),
        |it| it.step("pfc").pfc().class_enable |= 1 << 8,
    ),
    (
        "PFC that ends in its times",
        Way,
        Broken(Rule::PauseForm, "pfc"),
        |it| raw(it, "pfc", |it| it.truncate(30)),
    ),
    (
        "PFC shorter than 64 bytes",
        Way,
        Broken(Rule::PauseForm, "pfc"),
        |it| raw(it, "pfc", |it| it.truncate(50)),
    ),
    (
        "PFC to a host's own address",
        Way,
        Broken(Rule::PauseAddress, "pfc"),
        |it| {
            raw(it, "pfc", |it| {
                it[..6].copy_from_slice(&MacAddr([2, 0, 0, 0, 0, 1]).0)
            })
        },
    ),
    (
        "syndrome of a reserved kind",
        Way,
        Broken(Rule::Syndrome, "ack n"),
        |it| syndrome(it, "ack n", 0x80),
    ),
    (
        "NAK with RD's code",
        Way,
        Broken(Rule::Syndrome, "ack n"),
        |it| syndrome(it, "ack n", 0x64),
    ),
    (
        "NAK with code 5",
        Way,
        Broken(Rule::Syndrome, "ack n"),
        |it| syndrome(it, "ack n", 0x65),
    ),
    // Legal.
    (
        "another TTL and IPv4 checksum: a router",
        Way,
        Legal,
        |it| {
            raw(it, "s3", |it| {
                it[IP + 8] -= 1;
                xoff_sim::wire::Ipv4::new_unchecked(&mut it[IP..]).fill_checksum();
            })
        },
    ),
    ("FECN and MigReq", Way, Legal, |it| {
        it.step("s3").packet().bth.fecn = true;
        it.step("w1").packet().bth.mig_req = true;
    }),
    ("credits in an ACK", Way, Legal, |it| {
        syndrome(it, "ack n", 0x05)
    }),
    (
        "pad bytes that are not 0",
        Way,
        Worth(Habit::PadBytes),
        |it| {
            it.step("s3 again").packet().payload.truncate(2);
            it.step("s3").packet().payload.truncate(2);
            raw(it, "s3", |it| {
                let end = it.len();
                it[end - 6] = 1;
                mend(it);
            });
        },
    ),
    (
        "UDP source port 4791",
        Way,
        Worth(Habit::SourcePort),
        |it| it.step("s3").packet().udp_src_port = Some(4791),
    ),
    ("XRC", Way, Worth(Habit::OtherService), |it| {
        raw(it, "u1", |it| {
            it[BTH] = 0xA4;
            mend(it);
        })
    }),
    ("SE at the end of a SEND", Way, Legal, |it| {
        for name in ["s2", "s2 again"] {
            it.step(name).packet().bth.solicited = true;
        }
    }),
];

/// Requests.
const REQUESTS: &[Kind] = &[
    (
        "middle packet of 252 bytes",
        Way,
        Broken(Rule::PacketLength, "w2"),
        |it| it.step("w2").packet().payload.truncate(252),
    ),
    (
        "first packet of 200 bytes",
        Way,
        Broken(Rule::PacketLength, "w1"),
        |it| it.step("w1").packet().payload.truncate(200),
    ),
    (
        "first packet of another MTU than those before",
        Way,
        Broken(Rule::PacketLength, "s1"),
        |it| it.step("s1").packet().payload.resize(512, 0),
    ),
    (
        "last packet of no bytes",
        Way,
        Broken(Rule::PacketLength, "s2"),
        |it| it.step("s2").packet().payload.clear(),
    ),
    (
        "last packet longer than the MTU",
        Way,
        Broken(Rule::PacketLength, "s2"),
        |it| it.step("s2").packet().payload.resize(260, 0),
    ),
    (
        "only packet longer than the MTU",
        Way,
        Broken(Rule::PacketLength, "s3"),
        |it| it.step("s3").packet().payload.resize(260, 0),
    ),
    (
        "SEND in a WRITE",
        Way,
        Broken(Rule::MessageSequence, "w2"),
        |it| opcode(it, "w2", Opcode::RC_SEND_MIDDLE),
    ),
    (
        "SEND's end of a WRITE",
        Way,
        Broken(Rule::MessageSequence, "w3"),
        |it| opcode(it, "w3", Opcode::RC_SEND_LAST),
    ),
    (
        "message without an end",
        Way,
        Broken(Rule::MessageSequence, "w3"),
        |it| opcode(it, "w3", Opcode::RC_SEND_ONLY),
    ),
    (
        "message without a beginning",
        Way,
        Broken(Rule::MessageSequence, "s1"),
        |it| opcode(it, "s1", Opcode::RC_SEND_MIDDLE),
    ),
    (
        "last packet alone",
        Way,
        Broken(Rule::MessageSequence, "s3"),
        |it| opcode(it, "s3", Opcode::RC_SEND_LAST),
    ),
    (
        "READ in a WRITE",
        Way,
        Broken(Rule::MessageSequence, "w2"),
        |it| {
            let read = it.step("read").frame.clone();
            it.step("w2").frame = read;
            it.step("w2").psn(0xFF_FFFF);
        },
    ),
    (
        "RETH of one byte more",
        Way,
        Broken(Rule::MessageLength, "after pause"),
        |it| {
            it.step("after pause")
                .packet()
                .ext
                .reth
                .as_mut()
                .unwrap()
                .dma_len = 65
        },
    ),
    (
        "RETH of one byte less",
        Way,
        Broken(Rule::MessageLength, "w3"),
        |it| it.step("w1").packet().ext.reth.as_mut().unwrap().dma_len = 599,
    ),
    (
        "RETH that the first packet fills",
        Way,
        Broken(Rule::MessageLength, "w1"),
        |it| it.step("w1").packet().ext.reth.as_mut().unwrap().dma_len = 256,
    ),
    ("PSN left out", A, Broken(Rule::PsnOrder, "s3"), |it| {
        it.step("s3").psn(4)
    }),
    ("request left out", A, Broken(Rule::PsnOrder, "w3"), |it| {
        it.remove("w2")
    }),
    (
        "request with a PSN of a READ's responses",
        A,
        Broken(Rule::ResendSame, "add"),
        |it| {
            without(it, &["add again", "added again"]);
            for name in ["add", "added"] {
                it.step(name).psn(6);
            }
        },
    ),
    (
        "READ that takes four PSNs instead of three",
        A,
        Broken(Rule::PsnOrder, "add"),
        |it| {
            it.0.truncate(it.at("add again"));
            for name in ["add", "added"] {
                it.step(name).psn(9);
            }
        },
    ),
    (
        "PSN beyond the window",
        Way,
        Broken(Rule::PsnWindow, "w3"),
        |it| it.step("w3").psn(0x80_0000),
    ),
    (
        "PSN beyond the window, at the sender",
        A,
        Broken(Rule::PsnWindow, "w3"),
        |it| it.step("w3").psn(0x80_0000),
    ),
    (
        "resend from behind the NAK",
        A,
        Broken(Rule::ResendStart, "s2 again"),
        |it| it.remove("s1 again"),
    ),
    (
        "resend of what is acknowledged",
        Way,
        Broken(Rule::ResendStart, "copy"),
        |it| {
            it.copy("w3", "nak s");
        },
    ),
    (
        "WRITE again that was acknowledged long ago",
        A,
        Broken(Rule::ResendStart, "copy"),
        |it| {
            it.copy("after pause", "ack after pause").time = us(365);
        },
    ),
    (
        "resend with another length",
        Way,
        Broken(Rule::ResendSame, "s2 again"),
        |it| it.step("s2 again").packet().payload.truncate(96),
    ),
    (
        "resend of another operation",
        Way,
        Broken(Rule::ResendSame, "s3 again"),
        |it| {
            opcode(it, "s3 again", Opcode::RC_WRITE_ONLY);
            it.step("s3 again").packet().ext.reth = Some(xoff_sim::wire::RethRepr {
                va: 0,
                rkey: 7,
                dma_len: 4,
            });
        },
    ),
    (
        "resend with other immediate data",
        Way,
        Broken(Rule::ResendSame, "copy"),
        |it| {
            it.remove("ack i");
            it.copy("i2", "i2").packet().ext.imm = Some(ImmDtRepr { imm: 0xABCE });
        },
    ),
    (
        "resend that invalidates another key",
        Way,
        Broken(Rule::ResendSame, "copy"),
        |it| {
            it.remove("ack inv");
            it.copy("inv", "inv")
                .packet()
                .ext
                .ieth
                .as_mut()
                .unwrap()
                .rkey = 10;
        },
    ),
    (
        "atomic again with another operand",
        Way,
        Broken(Rule::ResendSame, "add again"),
        |it| {
            it.step("add again")
                .packet()
                .ext
                .atomic
                .as_mut()
                .unwrap()
                .swap_add = 6;
        },
    ),
    (
        "READ again from another address",
        Way,
        Broken(Rule::ResendSame, "read rest"),
        |it| it.step("read rest").packet().ext.reth.as_mut().unwrap().va += 1,
    ),
    (
        "READ again for more than its rest",
        Way,
        Broken(Rule::ResendSame, "read rest"),
        |it| {
            it.step("read rest")
                .packet()
                .ext
                .reth
                .as_mut()
                .unwrap()
                .dma_len += 1
        },
    ),
    (
        "FLUSH again of another range",
        Way,
        Broken(Rule::ResendSame, "copy"),
        |it| {
            it.remove("flushed");
            it.copy("flush", "flush")
                .packet()
                .ext
                .reth
                .as_mut()
                .unwrap()
                .dma_len = 9;
        },
    ),
    (
        "RNR NAK not waited for",
        A,
        Broken(Rule::RnrWait, "n again"),
        |it| it.step("n again").time = us(41),
    ),
    (
        "RNR NAK not waited for at all",
        A,
        Broken(Rule::RnrWait, "n again"),
        |it| it.step("n again").time = us(33),
    ),
    ("PSN of UC back", Way, Broken(Rule::UcOrder, "u2"), |it| {
        it.step("u2").psn(49)
    }),
    ("PSN of UC twice", Way, Broken(Rule::UcOrder, "u2"), |it| {
        it.step("u2").psn(50)
    }),
    (
        "802.3 PAUSE not obeyed",
        A,
        Broken(Rule::PauseObeyed, "after pause"),
        |it| {
            let pause = xoff_sim::wire::PauseRepr { timer: 2000 };
            it.step("pfc").frame.content = xoff_sim::protocol::builder::Content::Pause(pause);
        },
    ),
    (
        "PFC not obeyed",
        A,
        Broken(Rule::PauseObeyed, "after pause"),
        |it| it.step("after pause").time = us(144),
    ),
    // Legal.
    (
        "resend with another payload",
        Way,
        Worth(Habit::ResendOtherPayload),
        |it| it.step("s2 again").packet().payload[5] ^= 1,
    ),
    (
        "request with another DSCP",
        Way,
        Worth(Habit::DscpChanges),
        |it| it.step("s3").packet().ip.traffic_class = 10 << 2,
    ),
    (
        "no AckReq at the end of a message",
        Way,
        Worth(Habit::NoAckRequest),
        |it| it.step("w3").packet().bth.ack_req = false,
    ),
    (
        "resend before the time of an RNR NAK, on the way",
        Way,
        Worth(Habit::ResendInRnrWait),
        |it| it.step("n again").time = us(34),
    ),
    (
        "resend before the time of an RNR NAK, at the responder",
        B,
        Worth(Habit::ResendInRnrWait),
        |it| it.step("n again").time = us(34),
    ),
    ("RNR NAK waited for much longer", A, Legal, |it| {
        later(it, &["n again"], 1);
        later(it, &["ack n"], 1);
    }),
    ("WRITE again that crosses its ACK", A, Legal, |it| {
        it.copy("after pause", "ack after pause");
    }),
    (
        "timeout: all again from the oldest without an answer",
        A,
        Legal,
        |it| {
            without(it, &["nak s"]);
            later(it, &["s1 again", "s2 again", "s3 again", "ack s"], 5);
        },
    ),
    (
        "request lost before the tap",
        Way,
        Worth(Habit::GapBeforeTap),
        |it| it.remove("s1"),
    ),
    ("UC packet lost", Way, Legal, |it| it.step("u2").psn(60)),
    ("READ again as a whole", A, Legal, |it| {
        without(it, &["l2 again", "l3 again"]);
        let rest = it.step("read rest").packet();
        rest.bth.psn = xoff_sim::wire::Psn::wrapping(15);
        rest.ext.reth = Some(xoff_sim::wire::RethRepr {
            va: 0x3000,
            rkey: 7,
            dma_len: 600,
        });
    }),
    ("frame of a class that is not paused", A, Legal, |it| {
        it.step("after pause").time = us(144);
        it.step("after pause").packet().ip.traffic_class = 0;
    }),
];

/// Answers.
const ANSWERS: &[Kind] = &[
    (
        "ACK of what was not sent",
        Way,
        Broken(Rule::AckBeyondSent, "ack s"),
        |it| it.step("ack s").psn(4),
    ),
    (
        "RNR NAK of what was not sent",
        Way,
        Broken(Rule::AckBeyondSent, "rnr nak"),
        |it| it.step("rnr nak").psn(5),
    ),
    (
        "fatal NAK of what was not sent",
        Way,
        Broken(Rule::AckBeyondSent, "fatal"),
        |it| it.step("fatal").psn(23),
    ),
    ("ACK back", Way, Broken(Rule::AckBack, "copy"), |it| {
        it.copy("ack w", "ack n");
    }),
    (
        "NAK of what is acknowledged",
        Way,
        Broken(Rule::AckBack, "copy"),
        |it| {
            it.copy("nak s", "ack s");
        },
    ),
    (
        "ACK of a PSN that never arrived",
        A,
        Broken(Rule::AckOfMissing, "ack g"),
        |it| without(it, &["nak g", "g1 again", "g2 again"]),
    ),
    (
        "ACK of a message whose first packet is missing",
        B,
        Broken(Rule::AckOfMissing, "ack i"),
        |it| {
            it.remove("i1");
        },
    ),
    (
        "READ response past a request that never arrived",
        B,
        Broken(Rule::AckOfMissing, "r1"),
        |it| without(it, &["n", "rnr nak", "n again", "ack n"]),
    ),
    (
        "plain ACK for an atomic",
        Way,
        Broken(Rule::AckPastRead, "swapped"),
        |it| {
            let ack = it.step("ack inv").frame.clone();
            it.step("swapped").frame = ack;
            it.step("swapped").psn(13);
            msn(it, "swapped", 10);
        },
    ),
    (
        "plain ACK for a READ",
        Way,
        Broken(Rule::AckPastRead, "only"),
        |it| {
            let ack = it.step("ack inv").frame.clone();
            it.step("only").frame = ack;
            it.step("only").psn(14);
            msn(it, "only", 11);
        },
    ),
    (
        "plain ACK for a FLUSH",
        Way,
        Broken(Rule::AckPastRead, "flushed"),
        |it| {
            let ack = it.step("ack inv").frame.clone();
            it.step("flushed").frame = ack;
            it.step("flushed").psn(19);
            msn(it, "flushed", 14);
        },
    ),
    (
        "ACK past an unanswered READ",
        B,
        Broken(Rule::AckPastRead, "ack atomic write"),
        |it| it.remove("flushed"),
    ),
    (
        "atomic answer past a READ whose last response is missing",
        B,
        Broken(Rule::AckPastRead, "added"),
        |it| it.remove("r3"),
    ),
    (
        "NAK past an unanswered READ",
        B,
        Broken(Rule::AckPastRead, "fatal"),
        |it| without(it, &["flushed", "ack atomic write"]),
    ),
    (
        "READ response past an unanswered atomic",
        B,
        Broken(Rule::AckPastRead, "only"),
        |it| it.remove("swapped"),
    ),
    (
        "NAK without a gap",
        Way,
        Broken(Rule::NakFirstMissing, "nak s"),
        |it| it.step("nak s").psn(4),
    ),
    (
        "NAK of a later PSN than the first missing",
        A,
        Broken(Rule::NakFirstMissing, "nak g"),
        |it| it.step("nak g").psn(103),
    ),
    (
        "NAK of a later PSN, on the way",
        Way,
        Broken(Rule::NakFirstMissing, "nak s"),
        |it| {
            it.remove("s1");
            it.step("nak s").psn(2);
        },
    ),
    ("NAK twice", Way, Broken(Rule::NakOnce, "copy"), |it| {
        it.copy("nak s", "nak s");
    }),
    (
        "gap never NAKed, and what was behind it kept",
        A,
        Broken(Rule::NakOwed, "ack g"),
        |it| without(it, &["nak g", "g2 again"]),
    ),
    ("gap never NAKed", A, Worth(Habit::GapUntold), |it| {
        it.remove("nak g")
    }),
    (
        "NAK never heeded, and all acknowledged",
        A,
        Broken(Rule::NakHeeded, "ack s"),
        |it| without(it, &["s1 again", "s2 again", "s3 again"]),
    ),
    (
        "NAK never heeded, on the way",
        Way,
        Broken(Rule::NakHeeded, "ack s"),
        |it| without(it, &["s1 again", "s2 again", "s3 again"]),
    ),
    (
        "RNR NAK never heeded",
        Way,
        Broken(Rule::NakHeeded, "ack n"),
        |it| it.remove("n again"),
    ),
    ("MSN + 1 in an ACK", Way, Broken(Rule::Msn, "ack n"), |it| {
        msn(it, "ack n", 5)
    }),
    ("MSN - 1 in an ACK", Way, Broken(Rule::Msn, "ack s"), |it| {
        msn(it, "ack s", 2)
    }),
    (
        "MSN not counted up",
        Way,
        Broken(Rule::Msn, "ack s"),
        |it| msn(it, "ack s", 1),
    ),
    ("MSN + 1 in a NAK", Way, Broken(Rule::Msn, "nak s"), |it| {
        msn(it, "nak s", 2)
    }),
    (
        "MSN + 1 in an RNR NAK",
        Way,
        Broken(Rule::Msn, "rnr nak"),
        |it| msn(it, "rnr nak", 4),
    ),
    (
        "MSN + 1 in a first READ response",
        Way,
        Broken(Rule::Msn, "r1"),
        |it| msn(it, "r1", 6),
    ),
    (
        "MSN + 1 in a last READ response",
        Way,
        Broken(Rule::Msn, "r3"),
        |it| msn(it, "r3", 6),
    ),
    (
        "MSN - 1 in an only READ response",
        Way,
        Broken(Rule::Msn, "only"),
        |it| msn(it, "only", 10),
    ),
    (
        "MSN + 1 in an atomic answer",
        Way,
        Broken(Rule::Msn, "swapped"),
        |it| msn(it, "swapped", 11),
    ),
    (
        "MSN + 1 in the response to a FLUSH",
        Way,
        Broken(Rule::Msn, "flushed"),
        |it| msn(it, "flushed", 15),
    ),
    (
        "ACK after a fatal NAK",
        Way,
        Broken(Rule::AfterFatalNak, "copy"),
        |it| {
            syndrome(
                {
                    it.copy("fatal", "fatal");
                    it
                },
                "copy",
                0x1F,
            )
        },
    ),
    (
        "response without a READ",
        Way,
        Broken(Rule::ReadResponse, "r3"),
        |it| it.step("r3").psn(8),
    ),
    (
        "first READ response as 'middle'",
        Way,
        Broken(Rule::ReadResponse, "r1"),
        |it| {
            opcode(it, "r1", Opcode::RC_READ_RESP_MIDDLE);
            it.step("r1").packet().ext.aeth = None;
        },
    ),
    (
        "middle READ response as 'last'",
        Way,
        Broken(Rule::ReadResponse, "r2"),
        |it| {
            opcode(it, "r2", Opcode::RC_READ_RESP_LAST);
            it.step("r2").packet().ext.aeth = Some(Default::default());
            msn(it, "r2", 5);
        },
    ),
    (
        "READ response too short",
        Way,
        Broken(Rule::ReadResponse, "r3"),
        |it| it.step("r3").packet().payload.truncate(84),
    ),
    (
        "READ response too long",
        Way,
        Broken(Rule::ReadResponse, "only"),
        |it| it.step("only").packet().payload.resize(104, 0),
    ),
    (
        "bytes in the response to a FLUSH",
        Way,
        Broken(Rule::ReadResponse, "flushed"),
        |it| it.step("flushed").packet().payload.resize(8, 0),
    ),
    (
        "READ response twice",
        Way,
        Broken(Rule::ReadOrder, "copy"),
        |it| {
            it.copy("r2", "r2");
        },
    ),
    (
        "READ responses in another order",
        Way,
        Broken(Rule::ReadOrder, "r2"),
        |it| later(it, &["r2"], 2),
    ),
    (
        "atomic carried out again",
        Way,
        Broken(Rule::AtomicAnswer, "added again"),
        |it| {
            it.step("added again")
                .packet()
                .ext
                .atomic_ack
                .as_mut()
                .unwrap()
                .original = 82
        },
    ),
    (
        "atomic answered too often",
        Way,
        Broken(Rule::AtomicAnswer, "copy"),
        |it| {
            it.copy("added", "added again");
        },
    ),
    (
        "atomic answer to a WRITE",
        Way,
        Broken(Rule::AtomicAnswer, "ack after pause"),
        |it| {
            let answer = it.step("swapped").frame.clone();
            it.step("ack after pause").frame = answer;
            it.step("ack after pause").psn(9);
            msn(it, "ack after pause", 7);
        },
    ),
    (
        "CNP without a mark",
        A,
        Broken(Rule::CnpCause, "cnp 2"),
        |it| it.step("m2").packet().ip.traffic_class &= !0b11,
    ),
    (
        "two CNPs for a mark",
        A,
        Broken(Rule::CnpCause, "copy"),
        |it| {
            it.copy("cnp 2", "ack g");
        },
    ),
    (
        "mark never answered",
        A,
        Broken(Rule::CnpOwed, "i1"),
        |it| without(it, &["cnp 2", "pfc"]),
    ),
    (
        "CNP too soon",
        A,
        Broken(Rule::CnpInterval, "cnp 2"),
        |it| later(it, &["m2", "ack m2", "cnp 2"], -11),
    ),
    // Legal.
    ("ACK lost", Way, Legal, |it| it.remove("ack w")),
    ("one ACK for several", Way, Legal, |it| {
        it.remove("nak s");
        without(it, &["s1 again", "s2 again", "s3 again"]);
    }),
    (
        "ACK again with its MSN",
        Way,
        Worth(Habit::AckAgain),
        |it| {
            it.copy("ack s", "ack s");
        },
    ),
    ("READ response lost before the tap", Way, Legal, |it| {
        it.remove("r2")
    }),
    (
        "answer to a READ lost before the tap",
        Way,
        Worth(Habit::ReadPassed),
        |it| it.remove("flushed"),
    ),
    (
        "answer to a READ lost on the way to its requester",
        A,
        Worth(Habit::ReadPassed),
        |it| it.remove("flushed"),
    ),
    (
        "duplicate answered with the newest PSN, an atomic's",
        Way,
        Legal,
        |it| {
            without(it, &["added", "added again"]);
            ack(it, "ack n", "add again", 8, 6);
        },
    ),
    (
        "ATOMIC WRITE answered by a READ response",
        Way,
        Legal,
        |it| {
            let response = it.step("flushed").frame.clone();
            it.step("ack atomic write").frame = response;
            it.step("ack atomic write").psn(20);
            msn(it, "ack atomic write", 15);
        },
    ),
    ("NAK lost", A, Legal, |it| it.remove("nak s")),
    (
        "the missing request comes 10 us later: an ACK in place of the NAK",
        A,
        Legal,
        |it| {
            it.remove("nak g");
            later(it, &["g1 again", "g2 again", "ack g"], -20);
        },
    ),
    ("no CNP while the host is paused", A, Legal, |it| {
        it.remove("cnp 2")
    }),
    ("no CNP within the interval", A, Legal, |it| {
        later(it, &["m2", "ack m2"], -20);
        it.remove("cnp 2");
    }),
    (
        "invalidate that failed is not counted",
        Way,
        Worth(Habit::InvalidateUncounted),
        |it| {
            for (name, right) in [
                ("ack inv", 9),
                ("swapped", 10),
                ("only", 11),
                ("l1", 12),
                ("l3", 12),
                ("l2 again", 12),
                ("l3 again", 12),
                ("flushed", 14),
                ("ack atomic write", 15),
                ("fatal", 15),
            ] {
                msn(it, name, right - 1);
            }
        },
    ),
    // Wrong, and not to be seen.
    (
        "READ response with wrong data",
        Way,
        Hidden("nobody but the program knows what is in memory"),
        |it| it.step("r2").packet().payload[9] ^= 1,
    ),
    (
        "WRITE with the key of another region",
        Way,
        Hidden("which keys are good is known at the responder"),
        |it| {
            it.step("after pause")
                .packet()
                .ext
                .reth
                .as_mut()
                .unwrap()
                .rkey = 8
        },
    ),
    (
        "first response to an atomic with a wrong value",
        Way,
        Hidden("as for READ: only memory knows"),
        |it| {
            it.step("swapped")
                .packet()
                .ext
                .atomic_ack
                .as_mut()
                .unwrap()
                .original = 83
        },
    ),
    (
        "packet to another queue pair, which exists",
        Way,
        Hidden("it looks like one of that connection"),
        |it| it.step("u2").packet().bth.dest_qp = Qpn::new(0x34).unwrap(),
    ),
];

/// Kinds of damage to a capture of Linux's traffic: (what, the address of the host at whose port it was captured, what
/// the standard says, the damage, which returns the number of the frame).
type Recorded = (
    &'static str,
    Option<u8>,
    Option<Rule>,
    fn(&mut Vec<Frame>) -> u64,
);

/// The frame of the `nth` packet of this opcode.
fn nth(frames: &[Frame], opcode: Opcode, nth: usize) -> usize {
    let found = |frame: &Frame| frame.bytes.len() > BTH + 12 && frame.bytes[BTH] == opcode.0;
    let mut all = (0..frames.len()).filter(|at| found(&frames[*at]));
    all.nth(nth).unwrap_or_else(|| panic!("no {opcode} {nth}"))
}

fn edit(frames: &mut [Frame], at: usize, edit: fn(&mut [u8])) -> u64 {
    edit(&mut frames[at].bytes);
    mend(&mut frames[at].bytes);
    frames[at].number
}

const RECORDED: &[Recorded] = &[
    ("READ response with MSN + 1", None, Some(Rule::Msn), |it| {
        let at = nth(it, Opcode::RC_READ_RESP_ONLY, 1);
        edit(it, at, |it| it[BTH + 15] += 1)
    }),
    ("atomic answer with MSN + 1", None, Some(Rule::Msn), |it| {
        let at = nth(it, Opcode::RC_ATOMIC_ACK, 2);
        edit(it, at, |it| it[BTH + 15] += 1)
    }),
    (
        "ACK of the PSN behind the newest",
        None,
        Some(Rule::AckBeyondSent),
        |it| {
            let at = nth(it, Opcode::RC_ACK, 0);
            edit(it, at, |it| it[BTH + 11] += 1)
        },
    ),
    ("SE in a middle packet", None, Some(Rule::Solicited), |it| {
        let at = nth(it, Opcode::RC_WRITE_MIDDLE, 1);
        edit(it, at, |it| it[BTH + 1] |= 0x80)
    }),
    (
        "WRITE of one byte more",
        None,
        Some(Rule::MessageLength),
        |it| {
            let at = nth(it, Opcode::RC_WRITE_LAST, 0);
            edit(it, at, |it| it[BTH + 1] ^= 0x10)
        },
    ),
    (
        "requester's port: a packet is missing",
        Some(1),
        Some(Rule::PsnOrder),
        |it| {
            let at = nth(it, Opcode::RC_SEND_MIDDLE, 0);
            it.remove(at);
            it[at].number
        },
    ),
    ("on the way: a packet is missing", None, None, |it| {
        let at = nth(it, Opcode::RC_SEND_MIDDLE, 0);
        it.remove(at);
        0
    }),
    ("on the way: an ACK is missing", None, None, |it| {
        let at = nth(it, Opcode::RC_ACK, 3);
        it.remove(at);
        0
    }),
    ("on the way: the newest ACK once more", None, None, |it| {
        let at = nth(it, Opcode::RC_ACK, 0);
        let again = it[at].clone();
        it.insert(at + 1, again);
        0
    }),
    (
        "responder's port: a packet never came, and is acknowledged",
        Some(2),
        Some(Rule::AckOfMissing),
        |it| {
            let at = nth(it, Opcode::RC_SEND_MIDDLE, 0);
            it.remove(at);
            it[nth(it, Opcode::RC_ACK, 0)].number
        },
    ),
    (
        "READ response of another length",
        None,
        Some(Rule::ReadResponse),
        |it| {
            let at = nth(it, Opcode::RC_READ_RESP_ONLY, 1);
            edit(it, at, |it| it[BTH + 1] ^= 0x30)
        },
    ),
    (
        "reserved bit in every request of one host",
        None,
        Some(Rule::BthReserved),
        |it| {
            let mut first = 0;
            for at in (0..it.len()).rev() {
                if it[at].bytes[IP + 15] == 1 && it[at].bytes[IP] == 0x45 {
                    first = edit(it, at, |it| it[BTH + 8] |= 1);
                }
            }
            first
        },
    ),
];

/// Rules that a fault may break as a consequence, in frames behind it.
fn follows(rule: Rule) -> &'static [Rule] {
    match rule {
        // A packet that is not read is missing: what it was must not have arrived, or was not answered.
        Rule::Icrc
        | Rule::IpLength
        | Rule::IpChecksum
        | Rule::IpFragment
        | Rule::UdpLength
        | Rule::Headers
        | Rule::BthVersion
        | Rule::Opcode => &[Rule::Icrc, Rule::ReadResponse],
        Rule::Pad | Rule::PacketLength => {
            &[Rule::MessageLength, Rule::ResendSame, Rule::PacketLength]
        }
        Rule::MessageSequence => &[
            Rule::MessageSequence,
            Rule::MessageLength,
            Rule::Msn,
            Rule::ResendSame,
            Rule::ReadResponse,
            Rule::PacketLength,
        ],
        Rule::PsnOrder => &[
            Rule::ResendStart,
            Rule::ResendSame,
            Rule::ReadResponse,
            Rule::AckBeyondSent,
        ],
        Rule::ResendStart => &[Rule::ResendSame, Rule::AtomicAnswer, Rule::PsnOrder],
        Rule::AckPastRead | Rule::AckOfMissing | Rule::AtomicAnswer | Rule::ReadResponse => &[
            Rule::ReadOrder,
            Rule::Msn,
            Rule::ReadResponse,
            Rule::AckPastRead,
        ],
        Rule::ResendSame => &[
            Rule::AtomicAnswer,
            Rule::ReadResponse,
            Rule::ReadOrder,
            Rule::PsnOrder,
        ],
        Rule::AfterFatalNak => &[Rule::Msn],
        Rule::NakFirstMissing => &[Rule::NakHeeded, Rule::ResendStart, Rule::NakOnce],
        Rule::ReadOrder => &[Rule::ReadOrder],
        _ => &[],
    }
}

/// What was wrong with a kind, if anything was: the reason.
fn judge(report: &Report, says: Says, frame: impl Fn(&str) -> u64) -> Result<(), String> {
    let found = &report.violations;
    match says {
        Broken(rule, name) => {
            let frame = frame(name);
            if !found.iter().any(|it| it.rule == rule && it.frame == frame) {
                return Err(format!(
                    "no violation of {rule} at frame {frame}, but {found:#?}"
                ));
            }
            let stray = |it: &&xoff_monitor::Violation| {
                it.frame < frame || (it.rule != rule && !follows(rule).contains(&it.rule))
            };
            match found.iter().find(stray) {
                Some(stray) => Err(format!("beside {rule}: {stray:?}")),
                None => Ok(()),
            }
        }
        Worth(habit) if !report.remarks.contains_key(&habit) => {
            Err(format!("no remark {habit}; {found:?}"))
        }
        Worth(_) | Legal | Hidden(_) => match found.first() {
            Some(alarm) => Err(format!("a false alarm: {alarm:?}")),
            None => Ok(()),
        },
    }
}

fn watched(kind: &Kind) -> (Conversation, Report) {
    let (_, at, _, change) = kind;
    let mut conversation = Conversation::good();
    change(&mut conversation);
    if *at == B {
        conversation = conversation.at_b();
    }
    conversation.0.sort_by_key(|step| step.time);
    let report = conversation.watch_at(Tap {
        host: *at != Way,
        ..Tap::new("")
    });
    (conversation, report)
}

#[test]
fn kinds_of_damage_are_named_as_the_standard_says() {
    let (mut found, mut hidden, mut wrong) = (0, Vec::new(), Vec::new());
    for kind in [FRAMES, REQUESTS, ANSWERS].concat() {
        let (conversation, report) = watched(&kind);
        let frame = |name: &str| conversation.at(name) as u64;
        match judge(&report, kind.2, frame) {
            Err(text) => wrong.push(format!("{} ({:?}): {text}", kind.0, kind.1)),
            Ok(()) => match kind.2 {
                Hidden(reason) => hidden.push((kind.0, reason)),
                _ => found += 1,
            },
        }
    }
    let capture = "../../testbenches/captures/loss_mtu256_all_ops.pcap";
    let whole = frames(&Path::new(env!("CARGO_MANIFEST_DIR")).join(capture));
    for (what, host, rule, damage) in RECORDED {
        let mut frames = whole.clone();
        let frame = damage(&mut frames);
        let report = watch_frames(&frames, *host);
        let says = rule.map_or(Legal, |rule| Broken(rule, ""));
        match judge(&report, says, |_| frame) {
            Err(text) => wrong.push(format!("{what} (recorded): {text}")),
            Ok(()) => found += 1,
        }
    }
    let all = found + hidden.len() + wrong.len();
    println!("{found} of {all} kinds of damage are judged as the standard says");
    for (what, reason) in &hidden {
        println!("  not found: {what}: {reason}");
    }
    assert!(
        wrong.is_empty(),
        "{} of {all}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(all >= 100 && 100 * found >= 95 * all, "{found} of {all}");
}

/// Nothing is wrong with the conversation itself at any of the taps.
#[test]
fn the_undamaged_conversation_is_silent_everywhere() {
    for at in [A, B, Way] {
        let (_, report) = watched(&("", at, Legal, |_| ()));
        assert_eq!(report.violations, [], "{at:?}");
    }
}

/// Every rule has a kind of damage that breaks it.
#[test]
fn every_rule_is_in_the_table() {
    let kinds = [FRAMES, REQUESTS, ANSWERS].concat();
    let rules: BTreeSet<Rule> = (kinds.iter())
        .filter_map(|kind| match kind.2 {
            Broken(rule, _) => Some(rule),
            _ => None,
        })
        .collect();
    let missing: Vec<_> = Rule::ALL
        .iter()
        .filter(|rule| !rules.contains(rule))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
