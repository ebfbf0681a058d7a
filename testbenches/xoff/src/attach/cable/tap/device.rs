//! A TAP device, as the kernel has it (its page `Documentation/networking/tuntap.rst`).

use std::ffi::{c_int, c_uint};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use anyhow::{Context, anyhow};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl, opcode};
use rustix::net::{AddressFamily, SocketType, socket};

use super::Name;

const CLONE_DEVICE: &str = "/dev/net/tun";
/// Counts of all network devices that this thread sees: a thread may have a network namespace of its own.
const COUNTS: &str = "/proc/thread-self/net/dev";

// Of <linux/if_tun.h>, <linux/sockios.h> and <linux/if.h>.
const TUNSETIFF: Opcode = opcode::write::<c_int>(b'T', 202);
const TUNSETOFFLOAD: Opcode = opcode::write::<c_uint>(b'T', 208);
const SIOCGIFFLAGS: Opcode = 0x8913;
const IFF_UP: u16 = 1;
const IFF_TAP: u16 = 2;
const IFF_NO_PI: u16 = 0x1000;

/// `struct ifreq`: a device's name with zeros behind it, and what is asked or told, of which flags are the first two
/// bytes.
#[repr(C, align(8))]
struct Request {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

impl Request {
    fn new(name: &Name, flags: u16) -> Self {
        let mut request = Self {
            name: [0; 16],
            flags,
            rest: [0; 22],
        };
        request.name[..name.as_str().len()].copy_from_slice(name.as_str().as_bytes());
        request
    }

    /// Has the kernel answer it.
    fn ask<const OPCODE: Opcode>(&mut self, to: impl AsFd) -> Result<(), Errno> {
        // SAFETY: the callers give opcodes whose argument is a `struct ifreq`, and this is at least as long as one, with
        // its name in front and its flags behind that.
        unsafe { ioctl(to, Updater::<OPCODE, Self>::new(self)) }
    }
}

/// An open device. One that was made here ends with it, one that was there before stays.
pub struct Device {
    name: Name,
    file: File,
    /// A socket of the device's network namespace, to ask for its flags.
    asks: OwnedFd,
}

impl Device {
    /// Opens a device that is there, or makes it.
    ///
    /// # Errors
    ///
    /// There are no such devices, or this user may not have it, or another program has it, or it is no TAP device: what
    /// to do.
    pub fn open(name: &Name) -> anyhow::Result<Self> {
        let asks = socket(AddressFamily::INET, SocketType::DGRAM, None)
            .context("a socket to ask for network devices")?;
        let file = (OpenOptions::new().read(true).write(true))
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(CLONE_DEVICE)
            .map_err(|error| anyhow!("{CLONE_DEVICE}: {}", unopened(&error)))?;
        let is_there = Request::new(name, 0).ask::<SIOCGIFFLAGS>(&asks).is_ok();
        let flags = IFF_TAP | IFF_NO_PI;
        (Request::new(name, flags).ask::<TUNSETIFF>(&file))
            .map_err(|error| anyhow!(refused(name, error, is_there)))?;
        // SAFETY: the argument of this opcode is a number: no offload. So checksums of frames are complete and none is
        // longer than the MTU, whatever a program before this one has told a device that has stayed.
        unsafe { ioctl(&file, IntegerSetter::<TUNSETOFFLOAD>::new_usize(0)) }
            .with_context(|| format!("the device {name}: its offloads could not be turned off"))?;
        Ok(Self {
            name: name.clone(),
            file,
            asks,
        })
    }

    /// Its name.
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// Whether frames pass: somebody has set it up.
    pub fn is_up(&self) -> bool {
        let mut request = Request::new(&self.name, 0);
        request.ask::<SIOCGIFFLAGS>(&self.asks).is_ok() && request.flags & IFF_UP != 0
    }

    /// Reads a frame, which is cut at the end of the buffer.
    ///
    /// # Errors
    ///
    /// `WouldBlock`: there is none. `EBADFD`: the device was removed.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    /// Writes a frame.
    ///
    /// # Errors
    ///
    /// `EIO`: the device is down. `EBADFD`: it was removed. `WouldBlock`, `ENOBUFS`, `ENOMEM`: the kernel has no place
    /// for it.
    pub fn write(&self, frame: &[u8]) -> io::Result<()> {
        (&self.file).write(frame).map(drop)
    }

    /// Waits until there is a frame or the device was removed: `true`; or until the other end of a pipe is closed:
    /// `false`.
    ///
    /// # Errors
    ///
    /// The kernel cannot wait.
    pub fn wait(&self, closed: impl AsFd) -> io::Result<bool> {
        let mut ends = [
            PollFd::new(&self.file, PollFlags::IN),
            PollFd::new(&closed, PollFlags::IN),
        ];
        match poll(&mut ends, None) {
            Ok(_) => Ok(ends[1].revents().is_empty()),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Frames to this end that the kernel has dropped: its queue was full, or nobody had the device open. 0 if there is
    /// no such device any more.
    pub fn overruns(&self) -> u64 {
        let counts = std::fs::read_to_string(COUNTS).unwrap_or_default();
        overruns_in(&counts, self.name.as_str()).unwrap_or(0)
    }
}

/// Whether this is what a device says that was removed.
pub fn is_removed(error: &io::Error) -> bool {
    matches!(errno(error), Some(Errno::BADFD | Errno::NODEV))
}

/// The number of an error of the kernel. `None`: it is another one.
pub fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

/// Why there are no TAP devices, and what to do.
fn unopened(error: &io::Error) -> String {
    match errno(error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::NXIO) => format!(
            "{error}; as root, modprobe tun makes it, and a container has it with --device {CLONE_DEVICE}"
        ),
        Some(Errno::ACCESS | Errno::PERM) => format!(
            "{error}; as root, chmod a+rw {CLONE_DEVICE} lets users have the devices that are made for them"
        ),
        _ => error.to_string(),
    }
}

/// Why a device cannot be had, and what to do.
fn refused(name: &Name, error: Errno, is_there: bool) -> String {
    let make = format!("ip tuntap add dev {name} mode tap user \"$USER\"");
    match error {
        Errno::BUSY => format!(
            "the device {name} is in use: another program has it open; end that one, or make another device with sudo \
             ip tuntap"
        ),
        Errno::PERM if is_there => format!(
            "the device {name} is there and not for this user; sudo ip tuntap del dev {name} mode tap and sudo {make} \
             make one that is"
        ),
        Errno::PERM => format!(
            "there is no device {name}, and this user may make none; sudo {make} makes it, or root runs this command"
        ),
        Errno::INVAL => format!(
            "the device {name} is there and is no TAP device with one queue; ip -d link show dev {name} says what it \
             is, and a name that no device has, or one that sudo {make} has made, is right"
        ),
        error => format!("the device {name}: {}", io::Error::from(error)),
    }
}

/// The frames that a device has dropped instead of sending them, of the kernel's table of all devices.
fn overruns_in(counts: &str, name: &str) -> Option<u64> {
    /// Eight columns are of what was received: bytes, packets, errs, drop, and four more; then the same of what was
    /// sent.
    const DROPPED: usize = 8 + 3;
    let mut rows = counts
        .lines()
        .filter_map(|line| line.trim_start().rsplit_once(':'));
    let (_, columns) = rows.find(|(device, _)| *device == name)?;
    columns.split_whitespace().nth(DROPPED)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_said_with_what_to_do() {
        let name = "xoff0".parse().unwrap();
        for (error, is_there, said) in [
            (Errno::BUSY, true, "xoff0 is in use"),
            (Errno::PERM, true, "sudo ip tuntap del dev xoff0 mode tap"),
            (
                Errno::PERM,
                false,
                "sudo ip tuntap add dev xoff0 mode tap user \"$USER\" makes it",
            ),
            (Errno::INVAL, true, "xoff0 is there and is no TAP device"),
            (Errno::MFILE, false, "the device xoff0: Too many open files"),
        ] {
            let wrong = refused(&name, error, is_there);
            assert!(wrong.contains(said), "{wrong}");
        }
        for (error, said) in [
            (Errno::NOENT, "modprobe tun"),
            (Errno::ACCESS, "chmod a+rw /dev/net/tun"),
            (Errno::MFILE, "Too many open files"),
        ] {
            let wrong = unopened(&io::Error::from_raw_os_error(error.raw_os_error()));
            assert!(wrong.contains(said), "{wrong}");
        }
    }

    #[test]
    fn the_kernels_table_of_devices_is_read() {
        let counts = "Inter-|   Receive                                                |  Transmit\n \
                      face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo \
                      colls carrier compressed\n    \
                      lo:       1       2    3    4    5     6          7         8        9      10   11   12   13    \
                      14      15          16\n\
                      xoff0:21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36\n";
        for (name, dropped) in [("lo", Some(12)), ("xoff0", Some(32)), ("xoff", None)] {
            assert_eq!(overruns_in(counts, name), dropped);
        }
    }
}
