//! Packet headers, one in each file.
//!
//! Every header has two types, as in smoltcp:
//!
//! - a **view** such as [`Bth<T>`] over any bytes. `new_checked` checks once whether the header's fixed part is
//!   present; after that the accessors cannot fail. Over mutable bytes it also has setters.
//! - a plain struct such as [`BthRepr`], with `parse`, `emit` and `LEN`. It holds the values of the header
//!   independently of where they are stored.
//!
//! Numbers are big-endian on the wire and native in these types. Fields narrower than their Rust type are documented
//! as such; a setter stores the low bits. [`Walk`] finds the headers of a frame, for all who read one.
//! [`frame::ParsedFrame`] is the result of parsing a whole frame, in RTL or in Rust.
//!
//! ```
//! use xoff_sim::wire::{Bth, BthRepr, Opcode, Psn, Qpn};
//!
//! let repr = BthRepr { opcode: Opcode::RC_ACK, dest_qp: Qpn::new(0x11).unwrap(), psn: Psn::wrapping(0x4D468A),
//! ..BthRepr::default() }; let mut bytes = [0; BthRepr::LEN]; repr.emit(&mut Bth::new_unchecked(&mut bytes));
//! assert_eq!(Bth::new_checked(&bytes)?.psn(), Psn::wrapping(0x4D468A));
//! # Ok::<(), xoff_sim::wire::Truncated>(())
//! ```

#[macro_use]
mod header;

mod aeth;
mod atomic_ack_eth;
mod atomic_eth;
mod bth;
mod cm;
mod cnp;
mod ddp;
mod deth;
mod ether_type;
mod ethernet;
mod ext;
pub mod frame;
mod grh;
mod imm;
mod ipv4;
mod ipv6;
mod mac_addr;
mod mac_control;
mod mad;
mod mpa;
mod opcode;
mod psn;
mod qpn;
mod rdmap;
mod reth;
mod tcp;
mod udp;
mod vlan;
mod walk;

pub use aeth::{Aeth, AethRepr, Credits, Msn, NakCode, RnrTimer, Syndrome, SyndromeMeaning};
pub use atomic_ack_eth::{AtomicAckEth, AtomicAckEthRepr};
pub use atomic_eth::{AtomicEth, AtomicEthRepr};
pub use bth::{Bth, BthRepr};
pub use cm::{
    CmBody, CmDreq, CmDreqRepr, CmError, CmIds, CmIdsRepr, CmMessage, CmMra, CmMraRepr, CmRej,
    CmRejRepr, CmRep, CmRepRepr, CmReq, CmReqRepr, IpCm, IpCmRepr, RejectReason, attribute_name,
    port_of_service, service_of_port,
};
pub use cnp::{Cnp, CnpRepr};
pub use ddp::{DdpTagged, DdpTaggedRepr, DdpUntagged, DdpUntaggedRepr};
pub use deth::{Deth, DethRepr};
pub use ether_type::EtherType;
pub use ethernet::{Ethernet, EthernetRepr, MIN_FRAME_BYTES};
pub use ext::ExtHeaders;
pub(crate) use ext::room;
pub use grh::{GRH_NEXT_HEADER_BTH, Grh, GrhRepr};
pub use header::Truncated;
pub use imm::{Ieth, IethRepr, ImmDt, ImmDtRepr};
pub(crate) use ipv4::ones_complement_sum;
pub use ipv4::{Ipv4, Ipv4Repr};
pub use ipv6::{Ipv6, Ipv6Repr, NEXT_HEADER_FRAGMENT};
pub use mac_addr::{MacAddr, MacAddrError};
pub(crate) use mac_control::set_bits;
pub use mac_control::{
    CONTROL_PAUSE, CONTROL_PFC, PRIORITIES, Pause, PauseRepr, Pfc, PfcRepr, QUANTUM_BITS,
    control_frame,
};
pub use mad::{MAD_BYTES, Mad, MadRepr, Q_KEY_GENERAL_SERVICES, QP_GENERAL_SERVICES};
pub use mpa::{MpaStart, MpaStartRepr};
pub use opcode::{ExtLayout, Opcode, UnknownOpcode};
pub use psn::Psn;
pub use qpn::{Over24Bits, Qpn};
pub use rdmap::{RdmapOpcode, RdmapRead, RdmapReadRepr, RdmapTerminate, RdmapTerminateRepr};
pub use reth::{Reth, RethRepr};
pub use tcp::{IP_PROTOCOL_TCP, Tcp, TcpRepr};
pub use udp::{IP_PROTOCOL_UDP, UDP_PORT_ROCE, Udp, UdpRepr};
pub use vlan::{Tci, VlanTag, VlanTagRepr};
pub use walk::{Network, Walk};

/// The bits of an address; of an IPv4 address in the low 32, as all headers in common form have them.
pub const fn address_bits(address: std::net::IpAddr) -> u128 {
    match address {
        std::net::IpAddr::V4(address) => address.to_bits() as u128,
        std::net::IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address that has these bits, as [`address_bits`] gives them.
pub const fn address_of(bits: u128, is_v4: bool) -> std::net::IpAddr {
    match is_v4 {
        true => std::net::IpAddr::V4(std::net::Ipv4Addr::from_bits(bits as u32)),
        false => std::net::IpAddr::V6(std::net::Ipv6Addr::from_bits(bits)),
    }
}

/// Bytes of the invariant CRC at the end of every RoCE packet (IBTA volume 1 §7.8.1, annex A17.3.3).
pub const ICRC_BYTES: usize = 4;
