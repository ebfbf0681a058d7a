//! A run with a host outside of the simulation: its cable, and the clock that simulated time follows.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration as Wall, Instant};

use anyhow::{anyhow, bail};
use xoff_network::Run;
use xoff_network::attach::Ended;
use xoff_network::plan::Plan;
use xoff_network::results::{Attached, ToolEnd};
use xoff_network::scenario::Checked;
use xoff_sim::kernel::NodeId;
use xoff_sim::time::Time;

use super::arguments::RunArgs;
use super::checkpoint::remark;
use crate::attach::cable::{Cable, Came};
use crate::attach::drive::{LINGER, SILENCE};
use crate::attach::{Clock, ClockOptions, Place};

/// Frames that are taken at once.
const AT_ONCE: usize = 256;
/// How often it is looked whether the tools have ended.
const LOOK: Wall = Wall::from_millis(20);

/// `HOST=CABLE`: a host of a scenario, and where the socket of its peer is, or the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedHost {
    /// The host.
    pub host: String,
    /// The cable.
    pub cable: Place,
}

impl FromStr for AttachedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, cable) = (text.split_once('=')).ok_or_else(|| {
            format!("'{text}': expected HOST=CABLE, such as linux=unix:link.sock")
        })?;
        Ok(Self {
            host: host.into(),
            cable: cable.parse()?,
        })
    }
}

impl fmt::Display for AttachedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.host, self.cable)
    }
}

/// Where the peer of a run is, and how it is waited for.
#[derive(Debug, Clone)]
pub struct PeerOptions {
    /// The host, and its cable.
    pub attached: AttachedHost,
    /// Whether to connect to the cable's socket.
    pub connect: bool,
    /// How long to wait for the peer, and for its next frame.
    pub wait: Wall,
    /// How simulated time goes.
    pub clock: ClockOptions,
}

impl PeerOptions {
    /// Reads them from the arguments. `None`: no host is outside.
    ///
    /// # Errors
    ///
    /// They do not go together.
    pub fn of(arguments: &RunArgs) -> anyhow::Result<Option<Self>> {
        let clock = ClockOptions::of(arguments.pace, arguments.step, arguments.qmp.as_ref())?;
        Ok(arguments.attach.clone().map(|attached| Self {
            attached,
            connect: arguments.connect,
            wait: Wall::from_secs(arguments.wait),
            clock,
        }))
    }
}

/// Looks whether a scenario has the host whose peer is given, and whether the peer is given that it needs.
///
/// # Errors
///
/// What is not together.
pub fn check(scenario: &Checked, peer: Option<&PeerOptions>) -> anyhow::Result<()> {
    let hosts = scenario.attached_hosts();
    match (hosts.first(), peer) {
        (None, None) => Ok(()),
        (Some(host), None) => bail!(
            "hosts.{host}.nic: attached: its peer is outside; xoff run --attach {host}=unix:PATH says where, and \
             nothing else than xoff run has one"
        ),
        (None, Some(peer)) => bail!(
            "--attach {}: no host of the scenario is outside; nic = \"attached\" is right",
            peer.attached
        ),
        (Some(host), Some(peer)) if *host != peer.attached.host => bail!(
            "--attach {}: no such host is outside; {host} is",
            peer.attached
        ),
        _ => Ok(()),
    }
}

/// The peer of a run.
pub(super) struct Peer {
    node: NodeId,
    name: String,
    cable: Cable,
    clock: Clock,
    wait: Wall,
    /// When the last frame came, by the clock.
    heard: Wall,
    looked: Instant,
    /// Since when all tools have ended.
    over: Option<Wall>,
    /// Why the run ends before its time.
    error: Option<String>,
}

impl Peer {
    /// Waits for the peer. `None`: the process was asked to end.
    ///
    /// # Errors
    ///
    /// It never comes, or its socket is refused.
    pub fn meet(options: &PeerOptions, run: &mut Run, plan: &Plan) -> anyhow::Result<Option<Self>> {
        let AttachedHost { host, cable: place } = &options.attached;
        let node = plan.number(host);
        let address = run.simulation.outside(node, |outside, _| outside.address());
        let address = address.ok_or_else(|| anyhow!("hosts.{host}: it is not outside"))?;
        let cable = match options.connect {
            true => Some(Cable::connect(place)?),
            false => {
                remark(Some(format!(
                    "waits for {host} at {place}; its address is {}/24, with MAC address {}{}",
                    address.ip,
                    address.mac,
                    place.advice()
                )));
                Cable::listen(place, options.wait)?
            }
        };
        let Some(cable) = cable else {
            return Ok(None);
        };
        let clock = Clock::start(&options.clock, options.wait)?;
        Ok(clock.map(|clock| Self {
            node,
            name: options.attached.to_string(),
            cable,
            wait: options.wait,
            heard: clock.passed(),
            clock,
            looked: Instant::now(),
            over: None,
            error: None,
        }))
    }

    /// Takes frames of the peer into the network. Returns until when the run may go; `None`: it has to end.
    pub fn before(&mut self, run: &mut Run) -> Option<Time> {
        let next = run.simulation.network().next_event();
        let mut pause = match self.clock.wait(run.now(), next) {
            Ok(pause) => pause,
            // A guest whose tool has ended may go.
            Err(_) if self.over.is_some() => {
                run.end_soon();
                Wall::ZERO
            }
            Err(why) => {
                self.error.get_or_insert(format!("{why:#}"));
                Wall::ZERO
            }
        };
        let mut frames = Vec::new();
        while frames.len() < AT_ONCE {
            match self.cable.next(pause) {
                Came::Frame(frame) => frames.push(frame),
                Came::Nothing => break,
                Came::End(why) if self.over.is_none() => {
                    self.error.get_or_insert(why);
                    break;
                }
                Came::End(_) => {
                    run.end_soon();
                    break;
                }
            }
            pause = Wall::ZERO;
        }
        if !frames.is_empty() {
            self.heard = self.clock.passed();
            run.simulation.outside(self.node, |outside, now| {
                frames.iter().for_each(|frame| outside.give(frame, now));
            });
        }
        let next = run.simulation.network().next_event();
        let until = self.clock.until(run.now(), next);
        self.error.is_none().then_some(until)
    }

    /// Gives the peer its frames, and looks whether all is said.
    pub fn after(&mut self, run: &mut Run) {
        let frames = run
            .simulation
            .outside(self.node, |outside, _| outside.take());
        for frame in frames.into_iter().flatten() {
            if let Err(error) = self.cable.send(&frame)
                && self.over.is_none()
            {
                let why = format!("a frame could not be sent: {error}");
                self.error.get_or_insert(why);
            }
        }
        if self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        let ended = |tool: &ToolEnd| tool.ended != Ended::Running;
        let now = self.clock.passed();
        let silent = now - self.heard;
        match self.over {
            Some(since) if silent >= SILENCE || now - since >= LINGER => run.end_soon(),
            None if run.simulation.tools().iter().all(ended) => self.over = Some(now),
            None if silent >= self.wait => {
                self.error.get_or_insert(self.cable.silence(self.wait));
            }
            _ => {}
        }
    }

    /// What became of it all.
    pub fn end(self, run: &Run) -> Attached {
        Attached {
            cable: self.name,
            error: self.error,
            dropped: self.cable.dropped(),
            stepped: self.clock.stepped(),
            tools: run.simulation.tools(),
        }
    }
}
