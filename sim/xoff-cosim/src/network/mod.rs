//! Hosts with RTL NICs, as endpoints of a network.
//!
//! | module | what is in it |
//! |---|---|
//! | [`device`] | [`Device`] and [`Driver`]: the pins of a NIC top, and the software around it |
//! | [`rtl_host`] | [`RtlHost`]: a verilated NIC with MACs, driver and host |
//! | [`xoff_nic`] | [`XoffNic`]: the driver of `rtl/nic` |
//! | [`page_tables`] | [`PageTables`](page_tables::PageTables): page tables of a host whose NIC translates addresses |
//! | [`first_uses`] | first uses of pages, before simulated time starts |
//! | [`arp`] | [`Arp`](arp::Arp): answers ARP on behalf of the network, for NICs that ask |

pub mod arp;
pub mod device;
mod first_uses;
pub mod page_tables;
pub mod rtl_host;
#[cfg(test)]
mod started;
pub mod xoff_nic;

pub use device::{Device, DeviceModel, Driver};
pub use rtl_host::{RtlHost, RtlHostConfig, kind};
pub use xoff_nic::XoffNic;
