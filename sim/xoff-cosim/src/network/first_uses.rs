//! First uses of pages, during bring-up: the NIC receives a WRITE of a byte to each page, and so has its translation as
//! it would have later, by its own lookups and reads of page tables.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use xoff_rtl::nic;
use xoff_sim::mac::Beat;
use xoff_sim::nic::{Address, QpSettings};
use xoff_sim::protocol::gbn::{RequesterConfig, ResponderConfig};
use xoff_sim::protocol::{Content, Descriptor, IpFields, RocePacket, parse};
use xoff_sim::wire::frame::IpKind;
use xoff_sim::wire::{
    BthRepr, ExtHeaders, MacAddr, Opcode, Psn, Qpn, RethRepr, Syndrome, address_bits,
};

use super::device::{BringUp, Device as _};
use super::page_tables::PageTables;
use super::xoff_nic::XoffPins;

/// Cycles after which a WRITE that is not answered, or a NIC that does not rest, is an error.
const PATIENCE: u32 = 5_000;
/// Both ends of the QP: of the addresses for documentation (RFC 5737), since it talks to nobody.
const IP: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// Any UDP port from 0xC000 on.
const UDP_PORT: u16 = 0xC000;

/// Settings of the QP that the WRITEs come to, which is closed behind them.
pub(super) fn qp(mac: MacAddr) -> QpSettings {
    let own = Address { mac, ip: IP };
    QpSettings {
        own,
        peer: own,
        tags: Vec::new(),
        dscp: 0,
        answer_dscp: None,
        answer_pcp: None,
        hop_limit: 1,
        udp_port: UDP_PORT,
        pkey: 0xFFFF,
        pd: 0,
        peer_qpn: 0,
        requester: RequesterConfig {
            mtu: 0,
            timeout: 0,
            retry: 0,
            nak_retry: true,
            rnr_retry: 0,
            ack_every: 0,
            window: 1,
            restart: false,
            reads: 0,
        },
        requester_psn: Psn::wrapping(0),
        responder: ResponderConfig {
            mtu: 0,
            rnr_timer: 0,
            restart: false,
        },
        responder_psn: Psn::wrapping(0),
        selective: None,
    }
}

/// The frame of a WRITE of a byte to an address.
fn write(mac: MacAddr, qpn: u32, psn: u32, (key, va): (u32, u64)) -> Result<Bytes, String> {
    let reth = RethRepr {
        va,
        rkey: key,
        dma_len: 1,
    };
    let packet = RocePacket {
        ip: IpFields {
            kind: IpKind::V4,
            traffic_class: 0,
            flow_label: 0,
            id: 0,
            flags: 0,
            hop_limit: 1,
            src: address_bits(IP),
            dst: address_bits(IP),
        },
        udp_src_port: Some(UDP_PORT),
        bth: BthRepr {
            opcode: Opcode::RC_WRITE_ONLY,
            pad: 3,
            pkey: 0xFFFF,
            dest_qp: Qpn::new(qpn).map_err(|error| error.to_string())?,
            ack_req: true,
            psn: Psn::wrapping(psn),
            ..BthRepr::default()
        },
        ext: ExtHeaders {
            reth: Some(reth),
            ..ExtHeaders::default()
        },
        payload: vec![0],
    };
    let frame = Descriptor {
        dst: mac,
        src: mac,
        tags: Vec::new(),
        content: Content::Roce(packet),
    };
    Ok(frame.build().map_err(|error| error.to_string())?.into())
}

/// Has the QP with this number, which has the settings of [`qp`] and is open, receive a WRITE to each of some
/// addresses, with the keys of their regions. The next one comes when the last one is acknowledged and the NIC rests.
/// What it writes is not kept.
///
/// # Errors
///
/// An assertion of the RTL failed, a WRITE was not acknowledged, or the NIC read an entry that no table has.
pub(super) fn receive(
    nic: &mut BringUp<'_, XoffPins>,
    tables: &PageTables,
    (mac, qpn): (MacAddr, u32),
    uses: &[(u32, u64)],
) -> Result<(), String> {
    let pins = &mut *nic.pins;
    (pins.tx_ready_i, pins.entry_ready_i, pins.write_ready_i) = (1, 1, 1);
    for (psn, place) in (0..).zip(uses) {
        let frame = write(mac, qpn, psn, *place)?;
        let answer = exchange(nic, tables, &frame)?;
        let aeth = parse(&answer).ext.and_then(|ext| ext.aeth);
        if aeth.is_none_or(|aeth| aeth.syndrome.0 & 0xE0 != Syndrome::ACK.0 & 0xE0) {
            return Err(format!(
                "the first use of the page at {:#x}: an ACK is right, and it was answered by {aeth:?}",
                place.1
            ));
        }
    }
    Ok(())
}

/// Hands a frame to the NIC, and runs it until it has answered and rests. Returns the answer.
fn exchange(
    nic: &mut BringUp<'_, XoffPins>,
    tables: &PageTables,
    frame: &Bytes,
) -> Result<Vec<u8>, String> {
    let width = nic::DATA_BYTES as usize;
    let mut beats: VecDeque<&[u8]> = frame.chunks(width).collect();
    let (mut answer, mut whole, mut come) = (Vec::new(), false, None);
    for _ in 0..PATIENCE {
        let beat = beats.pop_front().map(|data| Beat {
            data: frame.slice_ref(data),
            last: beats.is_empty(),
        });
        XoffPins::receive(nic.pins, beat.as_ref());
        nic.pins.entry_come_i = u8::from(come.is_some());
        nic.pins.entry_there_i = u8::from(come.take().unwrap_or(false));
        nic.cycle().map_err(|error| error.to_string())?;
        if nic.out.entry_valid_o != 0 {
            come = Some(tables.entry(nic.out.entry_number_o)?);
        }
        if let Some(beat) = XoffPins::transmit(nic.out)? {
            answer.extend_from_slice(&beat.data);
            whole |= beat.last;
        }
        if whole && come.is_none() && nic.out.idle_o != 0 {
            return Ok(answer);
        }
    }
    Err(format!(
        "the first use of a page: no answer, or no rest behind it, in {PATIENCE} cycles"
    ))
}
