//! A cable of which each datagram is a frame, as QEMU's network backend `dgram` has them. There is no connection: the
//! peer is there when its first frame comes.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use xoff_waves::capture::MAX_FRAME_BYTES;

use super::{Came, HEADER_BYTES, TAKES, check_mode, hidden};

/// The shortest wait that a socket knows.
const SHORTEST: Duration = Duration::from_micros(1);

/// Where the sockets of both ends are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Paths in the file system.
    Unix {
        /// This end's.
        own: PathBuf,
        /// The peer's.
        peer: PathBuf,
    },
    /// UDP, at addresses of this machine that no other reaches.
    Udp {
        /// This end's.
        own: SocketAddr,
        /// The peer's, the only one of which frames are taken.
        peer: SocketAddr,
    },
}

enum Socket {
    Unix {
        socket: UnixDatagram,
        own: PathBuf,
        peer: PathBuf,
    },
    Udp(UdpSocket),
}

impl Socket {
    fn receive(&self, wait: Duration, buffer: &mut [u8]) -> io::Result<usize> {
        let wait = Some(wait.max(SHORTEST));
        match self {
            Self::Unix { socket, .. } => {
                socket.set_read_timeout(wait)?;
                socket.recv(buffer)
            }
            Self::Udp(socket) => {
                socket.set_read_timeout(wait)?;
                socket.recv(buffer)
            }
        }
    }

    fn send(&self, frame: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix { socket, peer, .. } => socket.send_to(frame, peer),
            Self::Udp(socket) => socket.send(frame),
        }
    }
}

/// A cable with a peer that may not be there yet.
pub struct Cable {
    name: String,
    socket: Socket,
    buffer: Vec<u8>,
    /// Frames of the peer.
    frames: u64,
    unheard: u64,
    ended: Option<String>,
}

impl Cable {
    /// Makes this end's socket.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub fn new(place: &Place, name: &str) -> anyhow::Result<Self> {
        let socket = match place {
            Place::Unix { own, peer } => {
                let socket = hidden(own, |draft| UnixDatagram::bind(draft));
                let socket = socket.with_context(|| name.to_owned())?;
                socket.set_write_timeout(Some(TAKES))?;
                let (own, peer) = (own.clone(), peer.clone());
                Socket::Unix { socket, own, peer }
            }
            Place::Udp { own, peer } => {
                let socket = UdpSocket::bind(own).with_context(|| name.to_owned())?;
                // From here on frames of others are none.
                socket.connect(peer).with_context(|| name.to_owned())?;
                Socket::Udp(socket)
            }
        };
        Ok(Self {
            name: name.to_owned(),
            socket,
            // One byte more than a frame shows a datagram that is too long.
            buffer: vec![0; MAX_FRAME_BYTES + 1],
            frames: 0,
            unheard: 0,
            ended: None,
        })
    }

    /// Waits for the next frame, so long at most.
    pub fn next(&mut self, wait: Duration) -> Came {
        if let Some(why) = &self.ended {
            return Came::End(why.clone());
        }
        match self.socket.receive(wait, &mut self.buffer) {
            Ok(bytes) if (HEADER_BYTES..=MAX_FRAME_BYTES).contains(&bytes) => {
                if let Err(why) = self.first() {
                    return self.end(why);
                }
                self.frames += 1;
                Came::Frame(self.buffer[..bytes].to_vec())
            }
            Ok(bytes) => {
                let some = match bytes > MAX_FRAME_BYTES {
                    true => format!("more than {MAX_FRAME_BYTES}"),
                    false => bytes.to_string(),
                };
                let why = format!(
                    "behind {} frames of the peer: a datagram of {some} bytes; a frame of {HEADER_BYTES} to \
                     {MAX_FRAME_BYTES} bytes is right, as of QEMU's -netdev dgram",
                    self.frames
                );
                self.end(why)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                    Came::Nothing
                }
                // What was sent found nobody.
                ErrorKind::ConnectionRefused if self.frames == 0 => Came::Nothing,
                ErrorKind::ConnectionRefused => self.end("the peer closed its socket".into()),
                _ => self.end(format!("{}: {error}", self.name)),
            },
        }
    }

    /// Looks at the peer's socket when its first frame has come.
    fn first(&self) -> Result<(), String> {
        match &self.socket {
            Socket::Unix { peer, .. } if self.frames == 0 => {
                check_mode(peer, &self.name, "send frames").map_err(|error| format!("{error:#}"))
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, why: String) -> Came {
        self.ended = Some(why.clone());
        Came::End(why)
    }

    /// Sends a frame. While the peer is not there yet it is lost, and counted.
    ///
    /// # Errors
    ///
    /// The peer is gone, or takes nothing for too long.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        match self.socket.send(frame) {
            Ok(_) => Ok(()),
            Err(error)
                if self.frames == 0
                    && matches!(
                        error.kind(),
                        ErrorKind::NotFound | ErrorKind::ConnectionRefused
                    ) =>
            {
                self.unheard += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Frames that were sent before the peer was there.
    pub const fn unheard(&self) -> u64 {
        self.unheard
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        if let Socket::Unix { own, .. } = &self.socket {
            remove(own);
        }
    }
}

/// Removes this end's socket: the next one could not be made there.
fn remove(path: &Path) {
    // It may be gone already.
    let _ = std::fs::remove_file(path);
}
