//! The TCP connection of a tool, from either end.

use xoff_sim::time::{Duration, Time};

use super::stack::{Connected, Stack};
use super::{Role, ToolError};

/// How long a client waits until it tries again to connect: the server's tool may be started later.
const AGAIN: Duration = Duration::from_ms(100);
/// The port from which a client connects.
const LOCAL_PORT: u16 = 49_152;

/// The last word of a tool's exchange.
pub(super) const DONE: &[u8] = b"done\0";

/// A connection that is being made, or was made.
#[derive(Debug)]
pub(super) struct Dial {
    pub role: Role,
    port: u16,
    open: bool,
    /// When a client that was refused tries again.
    again: Option<Time>,
}

impl Dial {
    /// Begins.
    pub fn new(role: Role, port: u16, stack: &mut Stack) -> Result<Self, ToolError> {
        let dial = Self {
            role,
            port,
            open: false,
            again: None,
        };
        dial.begin(stack)?;
        Ok(dial)
    }

    fn begin(&self, stack: &mut Stack) -> Result<(), ToolError> {
        match self.role {
            Role::Server => stack.listen(self.port),
            Role::Client(peer) => stack.connect(peer, self.port, LOCAL_PORT),
        }
        .map_err(ToolError::Exchange)
    }

    /// Whether there is a connection.
    pub const fn open(&self) -> bool {
        self.open
    }

    /// What it waits for, of the tool with a name.
    pub fn waits_for(&self, tool: &str) -> String {
        let port = self.port;
        match self.role {
            Role::Server => format!("a client of {tool} at TCP port {port}"),
            Role::Client(peer) => format!("a server of {tool} at {peer}, TCP port {port}"),
        }
    }

    /// Looks whether there is a connection now. Returns whether something was done.
    pub fn step(
        &mut self,
        stack: &mut Stack,
        now: Time,
        waits_for: &str,
    ) -> Result<bool, ToolError> {
        match (stack.connected(), self.role) {
            (Connected::Waiting, _) => return Ok(false),
            (Connected::Open, _) => self.open = true,
            (Connected::Closed, Role::Server) => return Err(closed(waits_for)),
            (Connected::Closed, Role::Client(_)) => {
                let at = *self.again.get_or_insert(now + AGAIN);
                if at > now {
                    return Ok(false);
                }
                self.again = None;
                self.begin(stack)?;
            }
        }
        Ok(true)
    }

    /// Looks whether the other end may say more.
    ///
    /// # Errors
    ///
    /// It sends no more.
    pub fn still_open(&self, stack: &Stack, waits_for: &str) -> Result<(), ToolError> {
        match stack.connected() {
            Connected::Closed => Err(closed(waits_for)),
            _ => Ok(()),
        }
    }

    /// Takes the next `bytes` bytes. `None`: they have not all come.
    ///
    /// # Errors
    ///
    /// The other end sends no more.
    pub fn read(
        &self,
        bytes: usize,
        stack: &mut Stack,
        waits_for: &str,
    ) -> Result<Option<Vec<u8>>, ToolError> {
        if stack.waiting() >= bytes {
            return Ok(Some(stack.read(bytes)));
        }
        match stack.connected() {
            Connected::Closed => Err(closed(waits_for)),
            _ => Ok(None),
        }
    }
}

/// The connection ended before its time.
fn closed(waits_for: &str) -> ToolError {
    ToolError::Exchange(format!(
        "the peer closed the TCP connection while this end waited for {waits_for}"
    ))
}
