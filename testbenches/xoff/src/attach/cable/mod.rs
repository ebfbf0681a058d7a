//! The cable to the peer: a socket with frames as QEMU's network backends have them, or a device of the kernel.
//!
//! | module | what is in it |
//! |---|---|
//! | `stream` | frames one behind the other: `-netdev stream` |
//! | `datagram` | a frame a datagram: `-netdev dgram` |
//! | `tap` | a TAP device of Linux, whose kernel is the peer |

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};

mod datagram;
pub(super) mod stream;
mod tap;

/// Bytes of an Ethernet header, which every frame has.
const HEADER_BYTES: usize = 14;
/// How long the peer may take to take a frame.
const TAKES: Duration = Duration::from_secs(10);

const EXPECTED: &str =
    "unix:PATH, tcp:127.0.0.1:PORT, dgram:PATH,PEER, udp:127.0.0.1:PORT,127.0.0.1:PEER or tap:NAME";

/// Where the cable's socket is, or the name of its device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Stream(stream::Place),
    Datagram(datagram::Place),
    Tap(tap::Name),
}

impl Place {
    /// What the peer's user may have to do while it is waited for, to be added to a message; mostly nothing.
    pub(crate) fn advice(&self) -> String {
        match &self.0 {
            Kind::Tap(name) => format!("; while it is down: sudo ip link set {name} up"),
            Kind::Stream(_) | Kind::Datagram(_) => String::new(),
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("'{text}': expected {EXPECTED}");
        let (kind, place) = text.split_once(':').ok_or_else(expected)?;
        let two = || {
            place
                .split_once(',')
                .filter(|(own, peer)| !own.is_empty() && !peer.is_empty())
        };
        Ok(Self(match (kind, two()) {
            ("unix", _) if !place.is_empty() => Kind::Stream(stream::Place::Unix(place.into())),
            ("tcp", _) => {
                let address = loopback(place, text, "send frames").ok_or_else(expected)??;
                Kind::Stream(stream::Place::Tcp(address))
            }
            ("dgram", Some((own, peer))) => Kind::Datagram(datagram::Place::Unix {
                own: own.into(),
                peer: peer.into(),
            }),
            ("udp", Some((own, peer))) => {
                let [own, peer] =
                    [own, peer].map(|end| loopback(end, text, "send frames").ok_or_else(expected));
                Kind::Datagram(datagram::Place::Udp {
                    own: own??,
                    peer: peer??,
                })
            }
            ("tap", _) => Kind::Tap(place.parse().map_err(|why| format!("'{text}': {why}"))?),
            _ => return Err(expected()),
        }))
    }
}

/// Reads an address that nobody outside of this machine reaches, who could do what `may` says. `None`: it is none.
pub(super) fn loopback(address: &str, text: &str, may: &str) -> Option<Result<SocketAddr, String>> {
    let address: SocketAddr = address.parse().ok()?;
    Some(match address.ip().is_loopback() {
        true => Ok(address),
        false => Err(format!(
            "'{text}': anybody who reaches this address could {may}; 127.0.0.1 or [::1] is right"
        )),
    })
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Stream(stream::Place::Unix(path)) => write!(f, "unix:{}", path.display()),
            Kind::Stream(stream::Place::Tcp(address)) => write!(f, "tcp:{address}"),
            Kind::Datagram(datagram::Place::Unix { own, peer }) => {
                write!(f, "dgram:{},{}", own.display(), peer.display())
            }
            Kind::Datagram(datagram::Place::Udp { own, peer }) => write!(f, "udp:{own},{peer}"),
            Kind::Tap(name) => write!(f, "tap:{name}"),
        }
    }
}

/// What has come.
#[derive(Debug)]
pub(crate) enum Came {
    /// A frame without FCS.
    Frame(Vec<u8>),
    /// Nothing, in the time that was given.
    Nothing,
    /// No more will: the peer has closed the cable, or sent what is no frame. Why.
    End(String),
}

/// A cable with a peer at its other end.
pub(crate) struct Cable(Socket);

enum Socket {
    Stream(stream::Cable),
    Datagram(datagram::Cable),
    Tap(tap::Cable),
}

impl Cable {
    /// Waits at a place for the peer, so long at most. Where a socket has no connections, it is there at once, and the
    /// peer has come with its first frame. A device is there at once, too, if it is up. `None`: the process was asked to
    /// end.
    ///
    /// # Errors
    ///
    /// The socket cannot be made, the device cannot be had, or nobody comes.
    pub fn listen(place: &Place, wait: Duration) -> anyhow::Result<Option<Self>> {
        let name = place.to_string();
        Ok(match &place.0 {
            Kind::Stream(it) => stream::Cable::listen(it, &name, wait)?.map(Socket::Stream),
            Kind::Datagram(it) => Some(Socket::Datagram(datagram::Cable::new(it, &name)?)),
            Kind::Tap(it) => tap::Cable::open(it, &name, wait)?.map(Socket::Tap),
        }
        .map(Self))
    }

    /// Connects to the peer's socket.
    ///
    /// # Errors
    ///
    /// It is not there, or has no connections, or anybody may write to it.
    pub fn connect(place: &Place) -> anyhow::Result<Self> {
        let name = place.to_string();
        match &place.0 {
            Kind::Stream(it) => Ok(Self(Socket::Stream(stream::Cable::connect(it, &name)?))),
            Kind::Datagram(_) => {
                bail!("{name}: datagrams have no connection; it works without --connect")
            }
            Kind::Tap(_) => bail!(
                "{name}: the kernel is at the other end of a TAP device, and there is no socket to connect to; it works \
                 without --connect"
            ),
        }
    }

    /// Waits for the next frame, so long at most.
    pub fn next(&mut self, wait: Duration) -> Came {
        match &mut self.0 {
            Socket::Stream(it) => it.next(wait),
            Socket::Datagram(it) => it.next(wait),
            Socket::Tap(it) => it.next(wait),
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    ///
    /// The peer is gone, or takes nothing for too long.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Socket::Stream(it) => it.send(frame),
            Socket::Datagram(it) => it.send(frame),
            Socket::Tap(it) => it.send(frame),
        }
    }

    /// Frames that the cable has lost, by reason; none that is 0.
    pub fn dropped(&self) -> BTreeMap<String, u64> {
        let dropped = match &self.0 {
            Socket::Stream(_) => Vec::new(),
            Socket::Datagram(it) => vec![("cable.no_peer", it.unheard())],
            Socket::Tap(it) => it.dropped(),
        };
        let some = dropped.into_iter().filter(|(_, count)| *count > 0);
        some.map(|(reason, count)| (reason.into(), count)).collect()
    }

    /// What is said of a peer that has sent nothing for so long, with the reason if the cable knows it.
    pub fn silence(&self, wait: Duration) -> String {
        let trouble = match &self.0 {
            Socket::Stream(_) | Socket::Datagram(_) => None,
            Socket::Tap(it) => it.trouble(),
        };
        let trouble = trouble.map_or_else(String::new, |why| format!(": {why}"));
        format!("no frame of the peer in {} s{trouble}", wait.as_secs())
    }
}

/// Refuses the socket of a peer to which anybody may write, and so do what `may` says.
pub(super) fn check_mode(path: &Path, name: &str, may: &str) -> anyhow::Result<()> {
    let mode = std::fs::metadata(path).with_context(|| name.to_owned())?;
    let mode = mode.permissions().mode();
    if mode & 0o002 != 0 {
        bail!(
            "{name}: its mode is {:o}, so that anybody here may {may}; chmod o-w is right",
            mode & 0o777
        );
    }
    Ok(())
}

/// Binds a socket at a path that nobody has access to but this user, from its first moment on.
fn hidden<S>(path: &Path, bind: impl FnOnce(&Path) -> io::Result<S>) -> anyhow::Result<S> {
    if path.symlink_metadata().is_ok() {
        bail!("there is something already; remove it, or name another path");
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    // Its mode is 0700.
    let hidden = tempfile::Builder::new()
        .prefix(".xoff")
        .tempdir_in(folder.unwrap_or(Path::new(".")))?;
    let draft = hidden.path().join("s");
    let socket = bind(&draft)?;
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&draft, path)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_those_that_others_reach_refused() {
        for text in [
            "unix:a/b",
            "tcp:127.0.0.1:7000",
            "tcp:[::1]:7000",
            "dgram:a,b/c",
            "udp:127.0.0.1:7000,127.0.0.1:7001",
            "tap:xoff0",
        ] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for (text, said) in [
            ("tcp:0.0.0.0:7000", "127.0.0.1 or [::1] is right"),
            ("tcp:192.0.2.1:7000", "127.0.0.1 or [::1] is right"),
            (
                "udp:127.0.0.1:7000,192.0.2.1:7000",
                "127.0.0.1 or [::1] is right",
            ),
            ("tcp:localhost", "expected unix:PATH"),
            ("udp:127.0.0.1:7000", "udp:127.0.0.1:PORT,127.0.0.1:PEER"),
            ("dgram:a", "dgram:PATH,PEER"),
            ("dgram:a,", "dgram:PATH,PEER"),
            ("unix:", "expected unix:PATH"),
            ("tap", "or tap:NAME"),
            ("tap:", "it is empty"),
            (
                "tap:/dev/tap0",
                "'/' at byte 0; the name of a network device",
            ),
            ("link.sock", "expected unix:PATH"),
        ] {
            let wrong = text.parse::<Place>().unwrap_err();
            assert!(wrong.contains(said) && wrong.contains(text), "{wrong}");
        }
    }
}
