//! A conversation of two hosts that contains everything that the rules are about. It consists of named steps, so that
//! a test can change a step and see which rule that breaks.

use xoff_monitor::{Monitor, Report, Sighting, Tap};
use xoff_sim::kernel::Direction;
use xoff_sim::protocol::builder::{Content, Descriptor, IpFields, RocePacket};
use xoff_sim::time::{Duration, LineRate, Time};
use xoff_sim::wire::frame::IpKind;
use xoff_sim::wire::{
    AethRepr, AtomicAckEthRepr, AtomicEthRepr, BthRepr, ExtHeaders, IethRepr, ImmDtRepr, Ipv4,
    MacAddr, Msn, Opcode, PfcRepr, Psn, Qpn, RethRepr, Syndrome,
};

/// Offset of the IP header, which follows an Ethernet header without tags.
pub const IP: usize = 14;
/// Offset of the UDP header.
pub const UDP: usize = IP + 20;
/// Offset of the BTH.
pub const BTH: usize = UDP + 8;

/// A change to the bytes of a frame after it was built.
pub type Edit = fn(&mut Vec<u8>);

/// A frame of the conversation.
#[derive(Clone)]
pub struct Step {
    pub name: &'static str,
    pub time: Time,
    /// The direction at host a's port.
    pub direction: Direction,
    pub frame: Descriptor,
    pub edit: Option<Edit>,
}

impl Step {
    pub fn packet(&mut self) -> &mut RocePacket {
        match &mut self.frame.content {
            Content::Roce(packet) => packet,
            _ => panic!("{} is no packet", self.name),
        }
    }

    pub fn pfc(&mut self) -> &mut PfcRepr {
        match &mut self.frame.content {
            Content::Pfc(pfc) => pfc,
            _ => panic!("{} is no PFC", self.name),
        }
    }

    pub fn aeth(&mut self) -> &mut AethRepr {
        self.packet().ext.aeth.as_mut().unwrap()
    }

    pub fn psn(&mut self, psn: u32) {
        self.packet().bth.psn = Psn::wrapping(psn);
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.frame.build().unwrap();
        if let Some(edit) = self.edit {
            edit(&mut bytes);
        }
        bytes
    }
}

/// Steps in the order of their times.
#[derive(Clone)]
pub struct Conversation(pub Vec<Step>);

/// Corrects the IPv4 checksum and the ICRC.
pub fn mend(frame: &mut [u8]) {
    let mut ip = Ipv4::new_unchecked(&mut frame[IP..]);
    ip.fill_checksum();
    let end = IP + usize::from(ip.total_length());
    let icrc = xoff_sim::protocol::icrc(IpKind::V4, &frame[IP..end - 4]).unwrap();
    frame[end - 4..end].copy_from_slice(&icrc);
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn mac(host: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, host])
}

/// A packet from host a (QP 0x11) to host b (QP 0x22), or in the other direction.
fn packet(sent: bool, opcode: Opcode, psn: u32, bytes: usize) -> Descriptor {
    let (src, dst, qpn) = if sent { (1, 2, 0x22) } else { (2, 1, 0x11) };
    let layout = opcode.layout().unwrap();
    let bth = BthRepr {
        opcode,
        pkey: 0xFFFF,
        becn: opcode == Opcode::CNP,
        dest_qp: Qpn::new(qpn).unwrap(),
        psn: Psn::wrapping(psn),
        ..BthRepr::default()
    };
    Descriptor {
        dst: mac(dst),
        src: mac(src),
        tags: vec![],
        content: Content::Roce(RocePacket {
            ip: IpFields {
                kind: IpKind::V4,
                traffic_class: 24 << 2 | 0b10,
                flow_label: 0,
                id: 0,
                flags: 0b010,
                hop_limit: 64,
                src: 0x0A00_0000 + u128::from(src),
                dst: 0x0A00_0000 + u128::from(dst),
            },
            udp_src_port: Some(0xC123),
            bth,
            ext: ExtHeaders::zeroed(layout),
            payload: (0..bytes).map(|at| at as u8).collect(),
        }),
    }
}

impl Conversation {
    fn add(&mut self, name: &'static str, at: u64, sent: bool, frame: Descriptor) -> &mut Step {
        let direction = if sent {
            Direction::Sent
        } else {
            Direction::Received
        };
        self.0.push(Step {
            name,
            time: us(at),
            direction,
            frame,
            edit: None,
        });
        self.0.last_mut().unwrap()
    }

    /// Adds a request of host a.
    pub fn asks(
        &mut self,
        name: &'static str,
        at: u64,
        opcode: Opcode,
        psn: u32,
        bytes: usize,
    ) -> &mut Step {
        self.add(name, at, true, packet(true, opcode, psn, bytes))
    }

    /// Adds an answer of host b.
    pub fn answers(&mut self, name: &'static str, at: u64, psn: u32, syndrome: Syndrome, msn: u32) {
        let step = self.add(name, at, false, packet(false, Opcode::RC_ACK, psn, 0));
        *step.aeth() = AethRepr {
            syndrome,
            msn: Msn::new(msn).unwrap(),
        };
    }

    fn writes(
        &mut self,
        name: &'static str,
        at: u64,
        opcode: Opcode,
        psn: u32,
        bytes: usize,
        whole: u32,
    ) {
        let reth = RethRepr {
            va: 0x1000,
            rkey: 7,
            dma_len: whole,
        };
        self.asks(name, at, opcode, psn, bytes).packet().ext.reth = Some(reth);
    }

    pub fn atomic(&mut self, names: [&'static str; 2], at: u64, psn: u32, msn: u32) {
        let [request, answer] = names;
        let atomic = AtomicEthRepr {
            va: 0x2000,
            rkey: 7,
            swap_add: 5,
            compare: 0,
        };
        self.asks(request, at, Opcode::RC_FETCH_ADD, psn, 0)
            .packet()
            .ext
            .atomic = Some(atomic);
        let step = self.add(
            answer,
            at + 1,
            false,
            packet(false, Opcode::RC_ATOMIC_ACK, psn, 0),
        );
        *step.aeth() = AethRepr {
            syndrome: Syndrome::ACK,
            msn: Msn::new(msn).unwrap(),
        };
        step.packet().ext.atomic_ack = Some(AtomicAckEthRepr { original: 77 });
    }

    /// A conversation with everything that rules are about, and without a fault. MTU 256; host a's port runs at 40
    /// Gb/s.
    pub fn good() -> Self {
        use Opcode as Op;
        let mut it = Self(Vec::new());
        // A WRITE across the wrap of the PSN.
        it.writes("w1", 1, Op::RC_WRITE_FIRST, 0xFF_FFFE, 256, 600);
        it.writes("w2", 2, Op::RC_WRITE_MIDDLE, 0xFF_FFFF, 256, 0);
        it.0.last_mut().unwrap().packet().ext.reth = None;
        it.asks("w3", 3, Op::RC_WRITE_LAST, 0, 88);
        it.answers("ack w", 5, 0, Syndrome::ACK, 1);
        // The first packet of a SEND is lost behind the tap.
        it.asks("s1", 10, Op::RC_SEND_FIRST, 1, 256);
        it.asks("s2", 11, Op::RC_SEND_LAST, 2, 100);
        it.asks("s3", 12, Op::RC_SEND_ONLY, 3, 4);
        it.answers("nak s", 14, 1, Syndrome::PSN_SEQUENCE_ERROR, 1);
        it.asks("s1 again", 16, Op::RC_SEND_FIRST, 1, 256);
        it.asks("s2 again", 17, Op::RC_SEND_LAST, 2, 100);
        it.asks("s3 again", 18, Op::RC_SEND_ONLY, 3, 4);
        it.answers("ack s", 20, 3, Syndrome::ACK, 3);
        // No receive buffer: the sender has to wait for 10 us.
        it.asks("n", 30, Op::RC_SEND_ONLY, 4, 20);
        it.answers("rnr nak", 32, 4, Syndrome(0x21), 3);
        it.asks("n again", 44, Op::RC_SEND_ONLY, 4, 20);
        it.answers("ack n", 46, 4, Syndrome::ACK, 4);
        // A READ of three packets.
        let reth = RethRepr {
            va: 0x3000,
            rkey: 7,
            dma_len: 600,
        };
        it.asks("read", 50, Op::RC_READ_REQUEST, 5, 0)
            .packet()
            .ext
            .reth = Some(reth);
        for (name, at, opcode, psn, bytes) in [
            ("r1", 52, Op::RC_READ_RESP_FIRST, 5, 256),
            ("r2", 53, Op::RC_READ_RESP_MIDDLE, 6, 256),
            ("r3", 54, Op::RC_READ_RESP_LAST, 7, 88),
        ] {
            let step = it.add(name, at, false, packet(false, opcode, psn, bytes));
            if let Some(aeth) = &mut step.packet().ext.aeth {
                *aeth = AethRepr {
                    syndrome: Syndrome::ACK,
                    msn: Msn::new(5).unwrap(),
                };
            }
        }
        // An atomic that is sent twice.
        it.atomic(["add", "added"], 60, 8, 6);
        it.atomic(["add again", "added again"], 64, 8, 6);
        // Marked packets in the other direction, and CNPs for them.
        for (names, at, psn) in [
            (["m1", "ack m1", "cnp 1"], 70, 100),
            (["m2", "ack m2", "cnp 2"], 130, 101),
        ] {
            let step = it.add(
                names[0],
                at,
                false,
                packet(false, Op::RC_SEND_ONLY, psn, 64),
            );
            step.packet().ip.traffic_class |= 0b11;
            let step = it.add(names[1], at + 1, true, packet(true, Op::RC_ACK, psn, 0));
            *step.aeth() = AethRepr {
                syndrome: Syndrome::ACK,
                msn: Msn::new(psn - 99).unwrap(),
            };
            it.add(names[2], at + 2, true, packet(true, Op::CNP, 0, 0));
        }
        // A pause of 12.8 us for class 3, which is the class of all packets.
        let mut timers = [0; 8];
        timers[3] = 1000;
        let pfc = Content::Pfc(PfcRepr {
            class_enable: 1 << 3,
            timers,
        });
        let frame = Descriptor {
            dst: MacAddr::CONTROL,
            src: mac(2),
            tags: vec![],
            content: pfc,
        };
        it.add("pfc", 140, false, frame);
        it.writes("after pause", 154, Op::RC_WRITE_ONLY, 9, 64, 64);
        it.answers("ack after pause", 156, 9, Syndrome::ACK, 7);
        it.operations();
        // A SEND of host b is lost on its way to this port: PSN 102.
        let sends = |it: &mut Self, name, at, psn| {
            it.add(name, at, false, packet(false, Op::RC_SEND_ONLY, psn, 64));
        };
        sends(&mut it, "g2", 300, 103);
        it.acknowledges("nak g", 301, 102, Syndrome::PSN_SEQUENCE_ERROR, 2);
        sends(&mut it, "g1 again", 330, 102);
        sends(&mut it, "g2 again", 331, 103);
        it.acknowledges("ack g", 333, 103, Syndrome::ACK, 4);
        // An unreliable connection.
        for (name, at, psn) in [("u1", 360, 50), ("u2", 361, 51)] {
            let step = it.asks(name, at, Op::UC_SEND_ONLY, psn, 10);
            step.packet().bth.dest_qp = Qpn::new(0x33).unwrap();
        }
        // A WRITE to memory that it may not access.
        it.writes("bad key", 370, Op::RC_WRITE_ONLY, 21, 8, 8);
        it.answers("fatal", 372, 21, Syndrome(0x62), 15);
        for step in &mut it.0 {
            // As Linux does.
            if let Content::Roce(packet) = &mut step.frame.content {
                let ends = matches!(
                    packet.bth.opcode.0,
                    0x02..=0x05 | 0x08..=0x0C | 0x13 | 0x14 | 0x16 | 0x17
                );
                packet.bth.ack_req = ends;
            }
        }
        it
    }

    /// The rest of RC's operations, and those of IBTA release 1.5.
    fn operations(&mut self) {
        use Opcode as Op;
        self.writes("i1", 200, Op::RC_WRITE_FIRST, 10, 256, 300);
        let step = self.asks("i2", 201, Op::RC_WRITE_LAST_IMM, 11, 44);
        step.packet().ext.imm = Some(ImmDtRepr { imm: 0xABCD });
        step.packet().bth.solicited = true;
        self.answers("ack i", 203, 11, Syndrome::ACK, 8);
        let step = self.asks("inv", 206, Op::RC_SEND_ONLY_INV, 12, 16);
        step.packet().ext.ieth = Some(IethRepr { rkey: 9 });
        self.answers("ack inv", 208, 12, Syndrome::ACK, 9);
        let atomic = AtomicEthRepr {
            va: 0x2000,
            rkey: 7,
            swap_add: 1,
            compare: 82,
        };
        let step = self.asks("swap", 210, Op::RC_CMP_SWAP, 13, 0);
        step.packet().ext.atomic = Some(atomic);
        let step = self.responds("swapped", 212, Op::RC_ATOMIC_ACK, 13, 0, 10);
        step.packet().ext.atomic_ack = Some(AtomicAckEthRepr { original: 82 });
        self.reads("read one", 220, 14, 100);
        self.responds("only", 222, Op::RC_READ_RESP_ONLY, 14, 100, 11);
        // The second of three responses is lost before the port, and asked for again.
        self.reads("read lost", 230, 15, 600);
        self.responds("l1", 232, Op::RC_READ_RESP_FIRST, 15, 256, 12);
        self.responds("l3", 234, Op::RC_READ_RESP_LAST, 17, 88, 12);
        let step = self.reads("read rest", 240, 16, 344);
        step.packet().ext.reth.as_mut().unwrap().va += 256;
        self.responds("l2 again", 242, Op::RC_READ_RESP_FIRST, 16, 256, 12);
        self.responds("l3 again", 243, Op::RC_READ_RESP_LAST, 17, 88, 12);
        // FLUSH and ATOMIC WRITE, which the builder does not know.
        self.writes("kept", 250, Op::RC_WRITE_ONLY, 18, 8, 8);
        self.writes("flush", 251, Op::RC_WRITE_ONLY, 19, 4, 8);
        self.0.last_mut().unwrap().edit = Some(|frame| {
            frame[BTH] = Op::RC_FLUSH.0;
            // The RETH is behind the FETH.
            frame[BTH + 12..BTH + 32].rotate_right(4);
            mend(frame);
        });
        self.responds("flushed", 253, Op::RC_READ_RESP_ONLY, 19, 0, 14);
        self.writes("atomic write", 260, Op::RC_WRITE_ONLY, 20, 8, 8);
        self.0.last_mut().unwrap().edit = Some(|frame| {
            frame[BTH] = Op::RC_ATOMIC_WRITE.0;
            mend(frame);
        });
        self.answers("ack atomic write", 262, 20, Syndrome::ACK, 15);
    }

    /// Adds a READ request of host a.
    pub fn reads(&mut self, name: &'static str, at: u64, psn: u32, bytes: u32) -> &mut Step {
        let reth = RethRepr {
            va: 0x3000,
            rkey: 7,
            dma_len: bytes,
        };
        let step = self.asks(name, at, Opcode::RC_READ_REQUEST, psn, 0);
        step.packet().ext.reth = Some(reth);
        step
    }

    /// Adds a response of host b, with an AETH if the opcode has one.
    pub fn responds(
        &mut self,
        name: &'static str,
        at: u64,
        opcode: Opcode,
        psn: u32,
        bytes: usize,
        msn: u32,
    ) -> &mut Step {
        let step = self.add(name, at, false, packet(false, opcode, psn, bytes));
        if let Some(aeth) = &mut step.packet().ext.aeth {
            *aeth = AethRepr {
                syndrome: Syndrome::ACK,
                msn: Msn::new(msn).unwrap(),
            };
        }
        step
    }

    /// Adds an answer of host a.
    pub fn acknowledges(
        &mut self,
        name: &'static str,
        at: u64,
        psn: u32,
        syndrome: Syndrome,
        msn: u32,
    ) {
        let step = self.add(name, at, true, packet(true, Opcode::RC_ACK, psn, 0));
        *step.aeth() = AethRepr {
            syndrome,
            msn: Msn::new(msn).unwrap(),
        };
    }

    /// The conversation as host b sees it at its own port: what was lost on the way to host a is there.
    pub fn at_b(mut self) -> Self {
        for step in &mut self.0 {
            step.direction = match step.direction {
                Direction::Sent => Direction::Received,
                Direction::Received => Direction::Sent,
            };
        }
        for (lost, like, before, psn) in [("g1", "g2", "g2", 102), ("l2", "l2 again", "l3", 16)] {
            let Some(at) = self.0.iter().position(|step| step.name == before) else {
                continue;
            };
            let mut step = self.0[self.at(like)].clone();
            (step.name, step.time) = (lost, self.0[at].time);
            step.psn(psn);
            if lost == "l2" {
                step.packet().bth.opcode = Opcode::RC_READ_RESP_MIDDLE;
                step.packet().ext.aeth = None;
            }
            self.0.insert(at, step);
        }
        self
    }

    pub fn at(&self, name: &str) -> usize {
        let found = self.0.iter().position(|step| step.name == name);
        found.unwrap_or_else(|| panic!("no step {name}"))
    }

    pub fn step(&mut self, name: &str) -> &mut Step {
        let at = self.at(name);
        &mut self.0[at]
    }

    /// Inserts a copy of the step `name` right after the step `after`, a little later in time.
    pub fn copy(&mut self, name: &str, after: &str) -> &mut Step {
        let mut step = self.0[self.at(name)].clone();
        let at = self.at(after);
        step.time = self.0[at].time + Duration::from_ns(100);
        step.name = "copy";
        self.0.insert(at + 1, step);
        &mut self.0[at + 1]
    }

    pub fn remove(&mut self, name: &str) {
        self.0.remove(self.at(name));
    }

    /// The monitors' report, at host a's own port or at a tap on the way. Frames are numbered like the steps, from 0.
    pub fn watch(&self, host: bool) -> Report {
        self.watch_at(Tap {
            host,
            ..Tap::new("a.0")
        })
    }

    /// The monitors' report at a tap, with a CNP interval of 50 us.
    pub fn watch_at(&self, tap: Tap) -> Report {
        self.watch_with(Monitor::new().with_cnp_interval(Duration::from_us(50)), tap)
    }

    /// The report of `monitor` at a tap.
    pub fn watch_with(&self, mut monitor: Monitor, tap: Tap) -> Report {
        let tap = monitor.add_tap(Tap {
            rate: Some(LineRate::G40),
            ..tap
        });
        for (number, step) in (0..).zip(&self.0) {
            let bytes = &step.bytes();
            let direction = Some(step.direction);
            monitor.see(&Sighting {
                tap,
                number,
                time: step.time,
                direction,
                bytes,
                line: None,
                kept: bytes.len(),
                addressed: true,
                fcs_ok: true,
            });
        }
        monitor.into_report()
    }
}
