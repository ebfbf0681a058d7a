//! READs, as the NIC answers them at its line.

use std::collections::VecDeque;

use bytes::Bytes;

use super::*;
use crate::frame::Frame;
use crate::host::memory;
use crate::kernel::Arrival;
use crate::nic::ReadRights;
use crate::protocol::gbn::Request;
use crate::protocol::parse;
use crate::wire::{Opcode, Syndrome};

const FIRST_PSN: u32 = 0xFF_FFF0 + 1000;
const KEY: u32 = 0x5A;
const MTU: u32 = 1024;

/// A NIC that answers READs, with one QP and its memory.
struct Bench {
    nic: ModelNic,
    base: u64,
    now: Time,
}

impl Bench {
    fn new() -> Self {
        let mut other = nic(1, &PcieConfig::default(), |_| ());
        let mut nic = nic(2, &PcieConfig::default(), |_| ());
        nic.enable_reads(16);
        let config = flow(0, WorkKind::WRITE, 8 * MTU, None);
        connect((&mut other, 1), (&mut nic, 2), 0, &config, |_| ());
        nic.host_mut().take_over(Seed(1));
        let mut bench = Self {
            nic,
            base: config.base(),
            now: Time::ZERO,
        };
        bench.permit(true);
        bench
    }

    fn permit(&mut self, read: bool) {
        let atomic = false;
        self.nic.permit(0, ReadRights { read, atomic });
    }

    /// Feeds a request, and returns what is sent until `us` microseconds later.
    fn feed(
        &mut self,
        request: &Request,
        payload: u8,
        us: u64,
    ) -> Vec<(Opcode, i32, Option<Syndrome>, Vec<u8>)> {
        let path = path::Path::new(&qp(1, 2, 0)).unwrap();
        let payload = Bytes::from(vec![payload; request.payload_bytes.into()]);
        let draft = path.request(request, &payload.into(), false);
        let bytes = path.finish(draft, &mut 5);
        let frame = Frame::sent(bytes, self.now, LineRate::G40);
        let mut inbox = VecDeque::from([Arrival::new(PortId(0), frame)]);
        self.run(&mut inbox, us)
    }

    fn run(
        &mut self,
        inbox: &mut VecDeque<Arrival>,
        us: u64,
    ) -> Vec<(Opcode, i32, Option<Syndrome>, Vec<u8>)> {
        let until = self.now + Duration::from_us(us);
        let mut out = Departures::default();
        self.nic
            .advance(until, &mut Arrivals::new(inbox, until), &mut out);
        self.now = until;
        let answer = |(_, frame): (PortId, Frame)| {
            let parsed = parse(&frame.bytes.whole());
            assert_eq!(parsed.icrc_ok, Some(true));
            let (bth, ext) = (parsed.bth.unwrap(), parsed.ext.unwrap());
            let ahead = bth.psn.ahead_of(Psn::wrapping(FIRST_PSN));
            (
                bth.opcode,
                ahead,
                ext.aeth.map(|it| it.syndrome),
                parsed.payload,
            )
        };
        out.take().into_iter().map(answer).collect()
    }
}

fn read(n: u32, va: u64, bytes: u32) -> Request {
    Request {
        opcode: Opcode::RC_READ_REQUEST,
        psn: Psn::wrapping(FIRST_PSN + n),
        va,
        rkey: KEY,
        dma_len: bytes,
        ack_req: true,
        ..Request::default()
    }
}

#[test]
fn a_read_returns_what_was_written_before() {
    let mut bench = Bench::new();
    let base = bench.base;
    let write = Request {
        opcode: Opcode::RC_WRITE_ONLY,
        payload_bytes: 100,
        ack_req: false,
        ..read(0, base + 1000, 100)
    };
    assert_eq!(bench.feed(&write, 0xA5, 1), []);
    let answers = bench.feed(&read(1, base, 2 * MTU + 1), 0, 50);
    let mut expected = vec![0; 2 * MTU as usize + 1];
    memory::fill(base, &mut expected);
    expected[1000..1100].fill(0xA5);
    let found: Vec<u8> = answers.iter().flat_map(|it| it.3.clone()).collect();
    assert_eq!(found, expected);
    let heads: Vec<_> = answers.into_iter().map(|it| (it.0, it.1, it.2)).collect();
    let ack = Some(Syndrome::ACK);
    assert_eq!(
        heads,
        [
            (Opcode::RC_READ_RESP_FIRST, 1, ack),
            (Opcode::RC_READ_RESP_MIDDLE, 2, None),
            (Opcode::RC_READ_RESP_LAST, 3, ack),
        ]
    );
}

#[test]
fn memory_that_goes_while_it_is_read_ends_the_qp() {
    let mut bench = Bench::new();
    let base = bench.base;
    let mut answers = bench.feed(&read(0, base, 99 * MTU), 0, 5);
    let before = answers.len();
    assert!((1..60).contains(&before), "{before}");
    bench.permit(false);
    answers.extend(bench.run(&mut VecDeque::new(), 100));
    let (opcode, ahead, syndrome, _) = answers.pop().unwrap();
    let access = Some(Syndrome(0x62));
    assert_eq!((opcode, syndrome), (Opcode::RC_ACK, access));
    assert_eq!(ahead as usize, answers.len(), "in the place of a response");
    assert_eq!(
        bench.feed(&read(99, base, 1), 0, 100),
        [],
        "the QP has failed"
    );
}

#[test]
fn without_being_asked_to_a_nic_refuses_as_the_rtl_does() {
    let mut bench = Bench::new();
    bench.nic.responses = None;
    let [(opcode, ahead, syndrome, _)] = &bench.feed(&read(0, bench.base, 1), 0, 50)[..] else {
        panic!("one answer");
    };
    let invalid = Some(Syndrome(0x61));
    assert_eq!((*opcode, *ahead, *syndrome), (Opcode::RC_ACK, 0, invalid));
}
