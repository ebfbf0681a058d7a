//! A cable that is a TAP device of Linux: the kernel of this machine is the peer, as at a network card.
//!
//! | module | what is in it |
//! |---|---|
//! | `name` | what a device may be called |
//! | `device` | the device: how it is opened, read and written, and what the kernel says of it |
//! | `linux` | the cable |
//! | `elsewhere` | what other systems than Linux say |

mod name;

#[cfg(target_os = "linux")]
mod device;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Cable;
#[cfg(target_os = "linux")]
pub use linux::Cable;
pub use name::Name;
