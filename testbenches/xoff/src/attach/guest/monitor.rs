//! QEMU's monitor: QMP, JSON a line, over a socket.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::str::FromStr;
use std::thread;
use std::time::{Duration as Wall, Instant};

use anyhow::{Context, anyhow, bail};
use qapi_spec::{Command, Empty, Execute, Never, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attach::cable::{check_mode, loopback, stream};
use crate::interruption::interrupted;

/// The longest line that is read: far above any answer to these commands.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// How often it is looked whether somebody listens.
const LOOK: Wall = Wall::from_millis(20);
/// What may be done by a monitor.
const MAY: &str = "stop the guest, and do all else that a monitor may";
const CLOSED: &str = "QEMU closed it";
const EXPECTED: &str =
    "unix:PATH or tcp:127.0.0.1:PORT, as in QEMU's -qmp unix:PATH,server=on,wait=off";

/// A command of QMP with its name and what it answers.
macro_rules! command {
    ($name:ident $fields:tt, $text:literal, $ok:ty) => {
        #[derive(Debug, Serialize)]
        pub(super) struct $name $fields

        impl Command for $name {
            type Ok = $ok;
            const NAME: &'static str = $text;
            const ALLOW_OOB: bool = false;
        }
    };
}

command!(Negotiate {}, "qmp_capabilities", Empty);
command!(Cont {}, "cont", Empty);
command!(Stop {}, "stop", Empty);
command!(QueryStatus {}, "query-status", Status);
command!(
    Human {
        #[serde(rename = "command-line")]
        pub line: &'static str,
    },
    "human-monitor-command",
    String
);

/// The answer to `query-status`.
#[derive(Debug, Deserialize)]
pub(super) struct Status {
    /// Whether the guest runs.
    pub running: bool,
    /// The state's name.
    pub status: String,
}

/// Something that QEMU says unasked.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Event {
    /// Its name.
    #[serde(rename = "event")]
    pub name: String,
    timestamp: Timestamp,
    #[serde(default)]
    data: Value,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Timestamp {
    seconds: i64,
    microseconds: i64,
}

impl Event {
    /// When it was, by QEMU's clock, in microseconds.
    pub fn us(&self) -> i64 {
        (self.timestamp.seconds)
            .saturating_mul(1_000_000)
            .saturating_add(self.timestamp.microseconds)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.data {
            Value::Null => write!(f, "{}", self.name),
            _ => write!(f, "{} {}", self.name, self.data),
        }
    }
}

/// Where a monitor's socket is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(stream::Place);

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("'{text}': expected {EXPECTED}");
        Ok(Self(match text.split_once(':').ok_or_else(expected)? {
            // Of QEMU's option, whose end is the server.
            (_, place) if place.contains(',') => return Err(expected()),
            ("unix", path) if !path.is_empty() => stream::Place::Unix(path.into()),
            ("tcp", address) => {
                stream::Place::Tcp(loopback(address, text, MAY).ok_or_else(expected)??)
            }
            _ => return Err(expected()),
        }))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            stream::Place::Unix(path) => write!(f, "unix:{}", path.display()),
            stream::Place::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

/// A monitor that takes commands.
pub(super) struct Monitor {
    name: String,
    read: BufReader<Box<dyn Read + Send>>,
    write: Box<dyn Write>,
    line: Vec<u8>,
    events: Vec<Event>,
    /// The last event that is more than a step's.
    last: Option<Event>,
}

impl Monitor {
    /// Connects to a monitor, waiting until somebody listens, so long at most. Every answer may take `patience`. `None`:
    /// the process was asked to end.
    ///
    /// # Errors
    ///
    /// Nobody listens, anybody may write to it, another program has it, or it is no monitor.
    pub fn connect(place: &Place, wait: Wall, patience: Wall) -> anyhow::Result<Option<Self>> {
        let name = format!("--qmp {place}");
        let Some(stream) = reach(place, &name, wait)? else {
            return Ok(None);
        };
        let (read, write) = stream.within(patience).with_context(|| name.clone())?;
        let mut monitor = Self {
            name,
            read: BufReader::new(read),
            write,
            line: Vec::new(),
            events: Vec::new(),
            last: None,
        };
        monitor.greeted(patience)?;
        monitor.execute(&Negotiate {})?;
        Ok(Some(monitor))
    }

    /// Reads QEMU's greeting.
    fn greeted(&mut self, patience: Wall) -> anyhow::Result<()> {
        let name = &self.name;
        match read_line(&mut self.read, &mut self.line) {
            Ok(true) => {}
            Ok(false) => bail!(
                "{name}: closed without a greeting; QEMU greets at a socket of its option -qmp"
            ),
            Err(error) if late(&error) => bail!(
                "{name}: no greeting in {:.1} s: another program has this monitor, which takes one at a time, or \
                 it is none; a second option -qmp makes another",
                patience.as_secs_f64()
            ),
            Err(error) => return Err(error).context(name.clone()),
        }
        let greeting: Option<Value> = serde_json::from_slice(&self.line).ok();
        match greeting.is_some_and(|it| it["QMP"].is_object()) {
            true => Ok(()),
            false => bail!(
                "{name}: it says '{}'; the greeting of QMP, '{{\"QMP\": …}}', is right",
                shown(&self.line)
            ),
        }
    }

    /// Has a command performed.
    ///
    /// # Errors
    ///
    /// QEMU refuses it, is gone, or does not answer.
    pub fn execute<C: Command>(&mut self, command: &C) -> anyhow::Result<C::Ok> {
        self.send(command)?;
        self.answer::<C>()
    }

    /// Sends a command, whose answer is to be read behind those of all before it.
    ///
    /// # Errors
    ///
    /// QEMU is gone.
    pub fn send<C: Command>(&mut self, command: &C) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&Execute::<&C, Never>::from(command))?;
        line.push(b'\n');
        let Err(error) = self.write.write_all(&line) else {
            return Ok(());
        };
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            return Err(self.gone(C::NAME, &error.to_string()));
        }
        // Why may be among what it said before.
        while let Ok(true) = read_line(&mut self.read, &mut self.line) {
            if let Ok(event) = serde_json::from_slice(&self.line) {
                self.take(event);
            }
        }
        Err(self.gone(C::NAME, CLOSED))
    }

    /// Reads the answer to a command.
    ///
    /// # Errors
    ///
    /// QEMU has refused it, is gone, or does not answer.
    pub fn answer<C: Command>(&mut self) -> anyhow::Result<C::Ok> {
        loop {
            match read_line(&mut self.read, &mut self.line) {
                Ok(true) => {}
                Ok(false) => return Err(self.gone(C::NAME, CLOSED)),
                Err(error) if late(&error) => {
                    return Err(self.gone(C::NAME, "no answer; does QEMU still run?"));
                }
                Err(error) => return Err(self.gone(C::NAME, &error.to_string())),
            }
            let message: Value = self.parsed(C::NAME)?;
            if message.get("event").is_none() {
                let answer: Response<C::Ok> = self.parsed(C::NAME)?;
                return answer
                    .result()
                    .map_err(|why| self.gone(C::NAME, &format!("QEMU refuses it: {}", why.desc)));
            }
            let event = self.parsed(C::NAME)?;
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        if event.name != "STOP" && event.name != "RESUME" {
            self.last = Some(event.clone());
        }
        self.events.push(event);
    }

    /// The line that was read.
    fn parsed<T: DeserializeOwned>(&self, command: &str) -> anyhow::Result<T> {
        serde_json::from_slice(&self.line).map_err(|why| {
            let said = shown(&self.line);
            self.gone(
                command,
                &format!("what came is no message of QMP: {why}: '{said}'"),
            )
        })
    }

    /// Why a command came to nothing, with what QEMU has said before.
    fn gone(&self, command: &str, why: &str) -> anyhow::Error {
        let last = self.last.as_ref();
        let last = last.map_or_else(String::new, |it| format!("; its last event was {it}"));
        anyhow!("{}, {command}: {why}{last}", self.name)
    }

    /// The events since the last time.
    pub fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The monitor, as messages name it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Connects, waiting until somebody listens.
fn reach(place: &Place, name: &str, wait: Wall) -> anyhow::Result<Option<stream::Stream>> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound, WouldBlock};
    let end = Instant::now() + wait;
    loop {
        if let stream::Place::Unix(path) = &place.0
            && path.exists()
        {
            check_mode(path, name, MAY)?;
        }
        let error = match stream::Stream::connect(&place.0) {
            Ok(stream) => return Ok(Some(stream)),
            Err(error) => error,
        };
        match error.kind() {
            WouldBlock => bail!(
                "{name}: others wait for this monitor already, which takes one at a time; a second option -qmp makes \
                 another"
            ),
            NotFound | ConnectionRefused if interrupted() => return Ok(None),
            NotFound | ConnectionRefused if Instant::now() < end => thread::sleep(LOOK),
            NotFound | ConnectionRefused => bail!(
                "{name}: nobody listened in {} s ({error}); QEMU does with -qmp {place},server=on,wait=off",
                wait.as_secs()
            ),
            _ => return Err(error).context(name.to_owned()),
        }
    }
}

/// Reads a line. Returns whether there is one.
fn read_line(
    read: &mut BufReader<Box<dyn Read + Send>>,
    line: &mut Vec<u8>,
) -> std::io::Result<bool> {
    line.clear();
    match read.take(MAX_LINE_BYTES).read_until(b'\n', line) {
        Ok(_) if line.len() as u64 == MAX_LINE_BYTES => Err(std::io::Error::other(format!(
            "a line of more than {MAX_LINE_BYTES} bytes"
        ))),
        Ok(_) => Ok(line.ends_with(b"\n")),
        // QEMU was killed with commands unread.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a read has waited long enough.
fn late(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut)
}

/// The beginning of a line, for a message.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(120)]);
    text.trim_end().escape_debug().to_string()
}
