//! The cable to the peer: a stream socket with frames as QEMU's network backend `stream` has them.

use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use xoff_waves::capture::MAX_FRAME_BYTES;

use crate::interruption::interrupted;

/// Bytes of an Ethernet header, which every frame has.
const HEADER_BYTES: usize = 14;
/// How many frames wait to be taken before the peer has to.
const WAITING: usize = 4096;
/// How often it is looked whether the peer has come.
const LOOK: Duration = Duration::from_millis(20);
/// How long the peer may take to take a frame.
const TAKES: Duration = Duration::from_secs(10);

/// Where the cable's socket is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A path in the file system.
    Unix(PathBuf),
    /// An address of this machine that no other reaches.
    Tcp(SocketAddr),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("'{text}': expected unix:PATH or tcp:127.0.0.1:PORT");
        let (kind, place) = text.split_once(':').ok_or_else(expected)?;
        match kind {
            "unix" if !place.is_empty() => Ok(Self::Unix(place.into())),
            "tcp" => {
                let address: SocketAddr = place.parse().map_err(|_| expected())?;
                if !address.ip().is_loopback() {
                    return Err(format!(
                        "'{text}': anybody who reaches this address could send frames; 127.0.0.1 or [::1] is right"
                    ));
                }
                Ok(Self::Tcp(address))
            }
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

/// A socket of either kind.
#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

type Halves = (Box<dyn Read + Send>, Box<dyn Write>, Stream);

impl Stream {
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

/// What has come.
#[derive(Debug)]
pub(super) enum Came {
    /// A frame without FCS.
    Frame(Vec<u8>),
    /// Nothing, in the time that was given.
    Nothing,
    /// No more will: the peer has closed the cable, or sent what is no frame. Why.
    End(String),
}

/// A cable with a peer at its other end. Its thread ends with it.
pub(super) struct Cable {
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
    pub fn listen(place: &Place, wait: Duration) -> anyhow::Result<Option<Self>> {
        let name = place.to_string();
        let stream = match place {
            Place::Unix(path) => {
                let listener = bind(path).with_context(|| name.clone())?;
                let came = wait_for(&name, wait, || Ok(Stream::Unix(listener.accept()?.0)));
                // Nobody else is to find it.
                let removed = std::fs::remove_file(path);
                let came = came?;
                removed.with_context(|| format!("{name}: cannot be removed"))?;
                came
            }
            Place::Tcp(address) => {
                let listener = TcpListener::bind(address).with_context(|| name.clone())?;
                listener.set_nonblocking(true)?;
                wait_for(&name, wait, || Ok(Stream::Tcp(listener.accept()?.0)))?
            }
        };
        stream.map(Self::new).transpose()
    }

    /// Connects to the peer's socket.
    ///
    /// # Errors
    ///
    /// It is not there, or anybody may write to it.
    pub fn connect(place: &Place) -> anyhow::Result<Self> {
        let stream = match place {
            Place::Unix(path) => {
                let name = || place.to_string();
                let mode = std::fs::metadata(path).with_context(name)?;
                let mode = mode.permissions().mode();
                if mode & 0o002 != 0 {
                    bail!(
                        "{place}: its mode is {:o}, so that anybody here may send frames; chmod o-w is right",
                        mode & 0o777
                    );
                }
                Stream::Unix(UnixStream::connect(path).with_context(name)?)
            }
            Place::Tcp(address) => {
                Stream::Tcp(TcpStream::connect(address).with_context(|| place.to_string())?)
            }
        };
        Self::new(stream)
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

/// A socket at a path that nobody has access to but this user, from its first moment on.
fn bind(path: &Path) -> anyhow::Result<UnixListener> {
    if path.symlink_metadata().is_ok() {
        bail!("there is something already; remove it, or name another path");
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    // Its mode is 0700.
    let hidden = tempfile::Builder::new()
        .prefix(".xoff")
        .tempdir_in(folder.unwrap_or(Path::new(".")))?;
    let draft = hidden.path().join("s");
    let listener = UnixListener::bind(&draft)?;
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    std::fs::rename(&draft, path)?;
    Ok(listener)
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
    fn places_are_read_and_those_that_others_reach_refused() {
        assert_eq!("unix:a/b".parse(), Ok(Place::Unix("a/b".into())));
        let local = "tcp:127.0.0.1:7000".parse::<Place>().unwrap();
        assert_eq!(local.to_string(), "tcp:127.0.0.1:7000");
        assert!("tcp:[::1]:7000".parse::<Place>().is_ok());
        for (text, said) in [
            ("tcp:0.0.0.0:7000", "127.0.0.1 or [::1] is right"),
            ("tcp:192.0.2.1:7000", "127.0.0.1 or [::1] is right"),
            ("tcp:localhost", "expected unix:PATH"),
            ("unix:", "expected unix:PATH"),
            ("link.sock", "expected unix:PATH"),
        ] {
            let wrong = text.parse::<Place>().unwrap_err();
            assert!(wrong.contains(said) && wrong.contains(text), "{wrong}");
        }
    }

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
