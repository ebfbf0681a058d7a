//! The cable at a TAP device.

use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::io::Errno;
use xoff_waves::capture::MAX_FRAME_BYTES;

use super::Name;
use super::device::{Device, errno, is_removed};
use crate::attach::cable::{Came, HEADER_BYTES};
use crate::interruption::interrupted;

/// How many frames wait to be taken before they stay in the kernel, which has room for as many as the device's
/// `txqueuelen` says, 1000, and drops what is more.
const WAITING: usize = 4096;
/// How often it is looked whether the device is up.
const LOOK: Duration = Duration::from_millis(20);

/// Frames to the kernel that it has not taken, by reason.
#[derive(Debug, Default)]
struct Refused {
    /// The device was down.
    down: u64,
    /// The kernel had no memory, or no place in a queue.
    no_buffers: u64,
}

/// A cable at whose other end is the kernel.
pub struct Cable {
    // Fields are dropped in this order: without its receiver, and with its pipe closed, the reader ends; and when it has,
    // the device is closed.
    came: Receiver<Result<Vec<u8>, String>>,
    _open: PipeWriter,
    _reader: Reader,
    device: Arc<Device>,
    refused: Refused,
    /// What the kernel had dropped before.
    overruns: u64,
    ended: Option<String>,
}

/// The thread that reads. It is waited for, so that the device is closed when the cable is gone.
struct Reader(Option<JoinHandle<()>>);

impl Drop for Reader {
    fn drop(&mut self) {
        // It has said what there was to say.
        let _ = self.0.take().map(JoinHandle::join);
    }
}

impl Cable {
    /// Opens the device, or makes it, and waits until somebody sets it up, so long at most. `None`: the process was
    /// asked to end.
    ///
    /// # Errors
    ///
    /// It cannot be had, or stays down.
    pub fn open(name: &Name, place: &str, wait: Duration) -> anyhow::Result<Option<Self>> {
        let device = Device::open(name).with_context(|| place.to_owned())?;
        let end = Instant::now() + wait;
        while !device.is_up() {
            if interrupted() {
                return Ok(None);
            }
            if Instant::now() >= end {
                bail!(
                    "{place}: the device {name} is still down after {} s, and passes no frames; sudo ip link set {name} \
                     up is right, and --wait waits longer",
                    wait.as_secs()
                );
            }
            thread::sleep(LOOK);
        }
        Self::new(device).map(Some)
    }

    fn new(device: Device) -> anyhow::Result<Self> {
        let device = Arc::new(device);
        let overruns = device.overruns();
        let (closed, open) = io::pipe().context("a pipe to the reader of the device")?;
        let (give, came) = sync_channel(WAITING);
        let reader = {
            let device = Arc::clone(&device);
            thread::spawn(move || read_frames(&device, &closed, &give))
        };
        Ok(Self {
            came,
            _open: open,
            _reader: Reader(Some(reader)),
            device,
            refused: Refused::default(),
            overruns,
            ended: None,
        })
    }

    /// Waits for the next frame, so long at most. It may be shorter than Ethernet has them: the kernel leaves padding to
    /// the device.
    pub fn next(&mut self, wait: Duration) -> Came {
        if let Some(why) = &self.ended {
            return Came::End(why.clone());
        }
        let why = match self.came.recv_timeout(wait) {
            Ok(Ok(frame)) => return Came::Frame(frame),
            Err(RecvTimeoutError::Timeout) => return Came::Nothing,
            Ok(Err(why)) => why,
            Err(RecvTimeoutError::Disconnected) => "the cable's reader ended".into(),
        };
        self.ended = Some(why.clone());
        Came::End(why)
    }

    /// Gives the kernel a frame. One that it does not take is counted.
    ///
    /// # Errors
    ///
    /// The device was removed, or the kernel says what it should not.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        let Err(error) = self.device.write(frame) else {
            return Ok(());
        };
        match errno(&error) {
            Some(Errno::IO) => self.refused.down += 1,
            Some(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => self.refused.no_buffers += 1,
            _ if is_removed(&error) => return Err(io::Error::other(removed(self.device.name()))),
            _ => return Err(error),
        }
        Ok(())
    }

    /// Frames that were lost, by reason.
    pub fn dropped(&self) -> Vec<(&'static str, u64)> {
        let overruns = self.device.overruns().saturating_sub(self.overruns);
        vec![
            ("cable.down", self.refused.down),
            ("cable.no_buffers", self.refused.no_buffers),
            ("cable.overrun", overruns),
        ]
    }

    /// Why no frames may come.
    pub fn trouble(&self) -> Option<String> {
        let name = self.device.name();
        (!self.device.is_up())
            .then(|| format!("the device {name} is down; sudo ip link set {name} up is right"))
    }
}

fn removed(name: &Name) -> String {
    format!("the device {name} was removed")
}

/// Reads frames until there are no more, and says why, or until the other end of the pipe is closed.
fn read_frames(device: &Device, closed: &PipeReader, give: &SyncSender<Result<Vec<u8>, String>>) {
    // One byte more than a frame shows one that is too long.
    let mut buffer = vec![0; MAX_FRAME_BYTES + 1];
    let mut frames = 0u64;
    loop {
        let why = match device.read(&mut buffer) {
            Ok(bytes) if (HEADER_BYTES..=MAX_FRAME_BYTES).contains(&bytes) => {
                frames += 1;
                match give.send(Ok(buffer[..bytes].to_vec())) {
                    Ok(()) => continue,
                    Err(_) => return,
                }
            }
            Ok(bytes) => of_length(bytes, device.name()),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => continue,
                ErrorKind::WouldBlock => match device.wait(closed) {
                    Ok(true) => continue,
                    Ok(false) => return,
                    Err(error) => format!("the device {}: {error}", device.name()),
                },
                _ if is_removed(&error) => removed(device.name()),
                _ => format!("the device {}: {error}", device.name()),
            },
        };
        // Nobody may be there any more.
        let _ = give.send(Err(format!("behind {frames} frames of the peer: {why}")));
        return;
    }
}

/// What is said of bytes that are no frame.
fn of_length(bytes: usize, name: &Name) -> String {
    match bytes > MAX_FRAME_BYTES {
        true => format!(
            "a frame of more than {MAX_FRAME_BYTES} bytes; an MTU of 9000 or less is right: sudo ip link set {name} mtu \
             9000"
        ),
        false => format!(
            "{bytes} bytes; a frame of {HEADER_BYTES} to {MAX_FRAME_BYTES} bytes is right, as of a TAP device without \
             packet information"
        ),
    }
}
