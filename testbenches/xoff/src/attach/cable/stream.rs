//! A cable that is a stream socket, with frames as QEMU's network backend `stream` has them.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net;
use xoff_waves::capture::MAX_FRAME_BYTES;

use super::{Came, HEADER_BYTES, TAKES, check_mode, hidden};
use crate::interruption::interrupted;

/// How many frames wait to be taken before the peer has to.
const WAITING: usize = 4096;
/// How often it is looked whether the peer has come.
const LOOK: Duration = Duration::from_millis(20);
/// Where the socket is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A path in the file system.
    Unix(PathBuf),
    /// An address of this machine that no other reaches.
    Tcp(SocketAddr),
}

/// A socket of either kind.
#[derive(Debug)]
pub enum Stream {
    /// In the file system.
    Unix(UnixStream),
    /// At an address.
    Tcp(TcpStream),
}

type Halves = (Box<dyn Read + Send>, Box<dyn Write>, Stream);

impl Stream {
    /// Connects to a socket, at once.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`]: as many wait there already as may. And those of the system.
    pub fn connect(place: &Place) -> io::Result<Self> {
        match place {
            Place::Unix(path) => {
                let socket = net::socket(net::AddressFamily::UNIX, net::SocketType::STREAM, None)?;
                fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
                ioctl_fionbio(&socket, true)?;
                net::connect(&socket, &net::SocketAddrUnix::new(path)?)?;
                ioctl_fionbio(&socket, false)?;
                Ok(Self::Unix(socket.into()))
            }
            Place::Tcp(address) => Ok(Self::Tcp(TcpStream::connect(address)?)),
        }
    }

    /// One half to read and one to write, each of which takes so long at most.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn within(self, limit: Duration) -> io::Result<(Box<dyn Read + Send>, Box<dyn Write>)> {
        let (read, write, whole) = self.halves()?;
        match &whole {
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(limit))?;
                stream.set_write_timeout(Some(limit))?;
            }
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(limit))?;
                stream.set_write_timeout(Some(limit))?;
            }
        }
        Ok((read, write))
    }

    /// One half to read, one to write, and the whole.
    fn halves(self) -> io::Result<Halves> {
        Ok(match self {
            Self::Unix(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(TAKES))?;
                let (read, write) = (stream.try_clone()?, stream.try_clone()?);
                (Box::new(read), Box::new(write), Self::Unix(stream))
            }
            Self::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(TAKES))?;
                let (read, write) = (stream.try_clone()?, stream.try_clone()?);
                (Box::new(read), Box::new(write), Self::Tcp(stream))
            }
        })
    }

    fn shut(&self) {
        let both = std::net::Shutdown::Both;
        // It may be closed already.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(both),
            Self::Tcp(stream) => stream.shutdown(both),
        };
    }
}

/// A cable with a peer at its other end. Its thread ends with it.
pub struct Cable {
    came: Receiver<Result<Vec<u8>, String>>,
    write: Box<dyn Write>,
    stream: Stream,
    /// Why there is no more to come.
    ended: Option<String>,
}

impl Cable {
    /// Waits at a place for the peer, so long at most. `None`: the process was asked to end.
    ///
    /// # Errors
    ///
    /// The socket cannot be made, or nobody comes.
    pub fn listen(place: &Place, name: &str, wait: Duration) -> anyhow::Result<Option<Self>> {
        let stream = match place {
            Place::Unix(path) => {
                let listener = hidden(path, |draft| {
                    let listener = UnixListener::bind(draft)?;
                    listener.set_nonblocking(true)?;
                    Ok(listener)
                });
                let listener = listener.with_context(|| name.to_owned())?;
                let came = wait_for(name, wait, || Ok(Stream::Unix(listener.accept()?.0)));
                // Nobody else is to find it.
                let removed = std::fs::remove_file(path);
                let came = came?;
                removed.with_context(|| format!("{name}: cannot be removed"))?;
                came
            }
            Place::Tcp(address) => {
                let listener = TcpListener::bind(address).with_context(|| name.to_owned())?;
                listener.set_nonblocking(true)?;
                wait_for(name, wait, || Ok(Stream::Tcp(listener.accept()?.0)))?
            }
        };
        stream.map(Self::new).transpose()
    }

    /// Connects to the peer's socket.
    ///
    /// # Errors
    ///
    /// It is not there, or anybody may write to it.
    pub fn connect(place: &Place, name: &str) -> anyhow::Result<Self> {
        if let Place::Unix(path) = place {
            check_mode(path, name, "send frames")?;
        }
        Self::new(Stream::connect(place).with_context(|| name.to_owned())?)
    }

    fn new(stream: Stream) -> anyhow::Result<Self> {
        let (read, write, stream) = stream.halves()?;
        let (give, came) = sync_channel(WAITING);
        thread::spawn(move || read_frames(BufReader::new(read), &give));
        Ok(Self {
            came,
            write,
            stream,
            ended: None,
        })
    }

    /// Waits for the next frame, so long at most.
    pub fn next(&mut self, wait: Duration) -> Came {
        if let Some(why) = &self.ended {
            return Came::End(why.clone());
        }
        match self.came.recv_timeout(wait) {
            Ok(Ok(frame)) => Came::Frame(frame),
            Err(RecvTimeoutError::Timeout) => Came::Nothing,
            Ok(Err(why)) => self.end(why),
            Err(RecvTimeoutError::Disconnected) => self.end("the cable's reader ended".into()),
        }
    }

    fn end(&mut self, why: String) -> Came {
        self.ended = Some(why.clone());
        Came::End(why)
    }

    /// Sends a frame.
    ///
    /// # Errors
    ///
    /// The peer is gone, or takes nothing for too long.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        let mut message = (frame.len() as u32).to_be_bytes().to_vec();
        message.extend_from_slice(frame);
        self.write.write_all(&message)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.stream.shut();
    }
}

/// Waits until somebody comes.
fn wait_for(
    name: &str,
    wait: Duration,
    accept: impl Fn() -> io::Result<Stream>,
) -> anyhow::Result<Option<Stream>> {
    let end = Instant::now() + wait;
    loop {
        match accept() {
            Ok(stream) => return Ok(Some(stream)),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                return Err(error).context(name.to_owned());
            }
            Err(_) if interrupted() => return Ok(None),
            Err(_) if Instant::now() >= end => bail!(
                "{name}: no peer came in {} s; QEMU comes with -netdev stream,server=off, and --wait waits longer",
                wait.as_secs()
            ),
            Err(_) => thread::sleep(LOOK),
        }
    }
}

/// Reads frames until there are no more, and says why.
fn read_frames(mut stream: impl Read, give: &SyncSender<Result<Vec<u8>, String>>) {
    let (mut frames, mut place) = (0u64, 0u64);
    loop {
        let frame = read_frame(&mut stream).map_err(|why| {
            format!("behind {frames} frames, at byte {place} of what the peer sent: {why}")
        });
        let end = frame.is_err();
        place += frame.as_ref().map_or(0, |frame| 4 + frame.len() as u64);
        frames += 1;
        if give.send(frame).is_err() || end {
            return;
        }
    }
}

fn read_frame(stream: &mut impl Read) -> Result<Vec<u8>, String> {
    let mut length = [0; 4];
    let read = whole(stream, &mut length)?;
    if read == 0 {
        return Err("the peer closed the cable".into());
    }
    if read < length.len() {
        return Err(format!(
            "the peer closed the cable within a length, {:02x?}",
            &length[..read]
        ));
    }
    let bytes = u32::from_be_bytes(length) as usize;
    if !(HEADER_BYTES..=MAX_FRAME_BYTES).contains(&bytes) {
        return Err(format!(
            "the length {length:02x?}, {bytes} bytes; a frame of {HEADER_BYTES} to {MAX_FRAME_BYTES} bytes behind its \
             length in four bytes, big-endian, is right, as of QEMU's -netdev stream"
        ));
    }
    let mut frame = vec![0; bytes];
    let read = whole(stream, &mut frame)?;
    match read == bytes {
        true => Ok(frame),
        false => Err(format!(
            "the peer closed the cable behind {read} of {bytes} bytes of a frame"
        )),
    }
}

/// Fills `bytes`, unless the stream ends before. Returns how many were read.
fn whole(stream: &mut impl Read, bytes: &mut [u8]) -> Result<usize, String> {
    let mut read = 0;
    while read < bytes.len() {
        match stream.read(&mut bytes[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The peer was killed with frames unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_ends_are_named() {
        let frame = [&[0, 0, 0, 14][..], &[7; 14]].concat();
        let mut stream = &frame[..];
        assert_eq!(read_frame(&mut stream), Ok(vec![7; 14]));
        assert_eq!(
            read_frame(&mut stream),
            Err("the peer closed the cable".into())
        );
        for (bytes, said) in [
            (&[0, 0][..], "within a length, [00, 00]"),
            (
                &[0, 0, 0, 13],
                "the length [00, 00, 00, 0d], 13 bytes; a frame of 14 to 16000",
            ),
            (&[0xFF; 4], "4294967295 bytes"),
            (&[0, 0, 0, 60, 1, 2, 3], "behind 3 of 60 bytes"),
        ] {
            let wrong = read_frame(&mut &bytes[..]).unwrap_err();
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}
