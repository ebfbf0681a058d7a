//! Waves of the network: what switches hold, who is paused, and at what rate flows may send, on the time axis of the
//! RTL's waves.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::layout::{Format, Group, Layout, Marker, Signal};
use fst_writer::{
    FstBodyWriter, FstFileType, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection,
    FstVarType, open_fst,
};
use thiserror::Error;
use xoff_network::{Observer, ObserverError, Run, Simulation};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::PRIORITIES;

/// The name by which `--waves` asks for these waves alone, and that of their file.
pub const FABRIC: &str = "fabric";
/// The shortest time between two values: two cycles of an RTL NIC.
const SHORTEST_STEP: Duration = Duration::from_ns(10);
/// The most values of a signal.
const MOST_STEPS: u64 = 10_000;
/// Bits a second in a Mb/s.
const BPS_PER_MBPS: f64 = 1e6;

/// Waves of the network in a window of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FabricWindow {
    /// The file.
    pub path: PathBuf,
    /// Time of the first value.
    pub from: Time,
    /// Time of the last one.
    pub until: Time,
}

impl FabricWindow {
    /// The time between two values: 10 ns, or a ten-thousandth of the window if that is more.
    pub fn step(&self) -> Duration {
        let window = self.until.saturating_since(self.from);
        SHORTEST_STEP.max(window / MOST_STEPS)
    }
}

/// What a signal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Bytes in the buffer of a switch.
    Occupancy(NodeId),
    /// Bytes that wait for a port.
    Egress(NodeId, PortId),
    /// Bytes of a lossless class that wait for a port.
    EgressOf(NodeId, PortId, u8),
    /// Bytes of a lossless class that came in at a port and are still there.
    Ingress(NodeId, PortId, u8),
    /// The classes whose sending the peer of a port has stopped, one bit each.
    Paused(NodeId, PortId),
    /// The classes that a port of a switch has asked its peer to stop, one bit each.
    Xoff(NodeId, PortId),
    /// The rate that DCQCN allows a flow, in Mb/s.
    Rate(usize),
    /// DCQCN's α of a flow, in millionths.
    Alpha(usize),
    /// Bytes of a flow that were written to memory, in order and for the first time.
    Delivered(usize),
}

impl Source {
    const fn bits(self) -> u32 {
        match self {
            Self::Occupancy(_) | Self::Egress(..) | Self::EgressOf(..) | Self::Ingress(..) => 32,
            Self::Paused(..) | Self::Xoff(..) => PRIORITIES as u32,
            Self::Rate(_) => 24,
            Self::Alpha(_) => 20,
            Self::Delivered(_) => 64,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Occupancy(_) => "occupancy".into(),
            Self::Egress(..) => "egress".into(),
            Self::EgressOf(_, _, class) => format!("egress{class}"),
            Self::Ingress(_, _, class) => format!("ingress{class}"),
            Self::Paused(..) => "paused".into(),
            Self::Xoff(..) => "xoff".into(),
            Self::Rate(_) => "rate_mbps".into(),
            Self::Alpha(_) => "alpha_ppm".into(),
            Self::Delivered(_) => "delivered".into(),
        }
    }

    const fn format(self) -> Format {
        match self {
            Self::Paused(..) | Self::Xoff(..) => Format::Binary,
            Self::Delivered(_) => Format::Unsigned,
            _ => Format::Stairs,
        }
    }

    fn value(self, simulation: &Simulation) -> u64 {
        let station = |node| simulation.network().node(node);
        let switch = |node| {
            station(node)
                .switch()
                .expect("only switches have such signals")
        };
        let dcqcn = |flow: usize| {
            let flow = &simulation.flows()[flow];
            station(flow.from).dcqcn(simulation.sender(flow).qp)
        };
        match self {
            Self::Occupancy(node) => switch(node).occupancy(),
            Self::Egress(node, port) => (0..PRIORITIES as u8)
                .map(|class| switch(node).egress_waiting(port, class))
                .sum(),
            Self::EgressOf(node, port, class) => switch(node).egress_waiting(port, class),
            Self::Ingress(node, port, class) => switch(node).ingress(port, class).bytes(),
            Self::Paused(node, port) => match station(node).switch() {
                Some(switch) => (0..PRIORITIES as u8)
                    .filter(|class| switch.paused_until(port, *class) > simulation.now())
                    .fold(0, |bits, class| bits | 1 << class),
                None => station(node).pauses().map_or(0, |log| log.paused().into()),
            },
            Self::Xoff(node, port) => switch(node).xoff(port).into(),
            Self::Rate(flow) => dcqcn(flow).map_or(0, |(rate, _)| (rate / BPS_PER_MBPS) as u64),
            Self::Alpha(flow) => dcqcn(flow).map_or(0, |(_, alpha)| (alpha * 1e6) as u64),
            Self::Delivered(flow) => simulation.receiver(&simulation.flows()[flow]).fresh_bytes(),
        }
    }
}

/// A scope, and what is in it.
struct Scope {
    path: Vec<String>,
    sources: Vec<Source>,
}

/// All signals of a network: scopes of nodes, ports and flows.
fn scopes(simulation: &Simulation, dcqcn: bool) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for (node, station) in simulation.stations() {
        let name = simulation.names()[node.0 as usize].clone();
        let Some(switch) = station.switch() else {
            scopes.push(Scope {
                path: vec![name],
                sources: vec![Source::Paused(node, PortId(0))],
            });
            continue;
        };
        scopes.push(Scope {
            path: vec![name.clone()],
            sources: vec![Source::Occupancy(node)],
        });
        for port in simulation.ports(node) {
            let mut sources = vec![
                Source::Xoff(node, port),
                Source::Paused(node, port),
                Source::Egress(node, port),
            ];
            for class in (0..PRIORITIES as u8).filter(|class| switch.buffer().lossless(*class)) {
                sources.push(Source::EgressOf(node, port, class));
                sources.push(Source::Ingress(node, port, class));
            }
            scopes.push(Scope {
                path: vec![name.clone(), format!("port{}", port.0)],
                sources,
            });
        }
    }
    for series in simulation.series().iter().filter(|series| !series.workload) {
        let flow = series.flows.start;
        let mut sources = vec![Source::Delivered(flow)];
        if dcqcn {
            sources.extend([Source::Rate(flow), Source::Alpha(flow)]);
        }
        scopes.push(Scope {
            path: vec!["flows".into(), series.name.clone()],
            sources,
        });
    }
    scopes
}

/// Signals in the layout of viewers; of more, only those of nodes and flows are shown, and ports can be added by hand.
const MOST_SHOWN: usize = 200;

/// A file of the network's waves, or a layout beside it, that cannot be written.
#[derive(Debug, Error)]
#[error("{}: {source}", path.display())]
pub struct FabricError {
    path: PathBuf,
    source: Box<dyn Error + Send + Sync>,
}

impl FabricError {
    fn of<E: Into<Box<dyn Error + Send + Sync>>>(path: &Path) -> impl Fn(E) -> Self {
        move |source| Self {
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

/// A wave file of the network that is being written.
pub struct FabricWaves {
    window: FabricWindow,
    /// `None` once the file is complete.
    body: Option<FstBodyWriter<BufWriter<File>>>,
    signals: Vec<(FstSignalId, Source)>,
    layout: Layout,
    next: Time,
    /// A point of time to mark in the layouts of viewers.
    pub marker: Option<Marker>,
}

impl FabricWaves {
    /// Creates the file. `dcqcn`: also what DCQCN allows each flow.
    pub fn create(
        simulation: &Simulation,
        dcqcn: bool,
        window: &FabricWindow,
    ) -> Result<Self, FabricError> {
        let path = &window.path;
        let info = FstInfo {
            start_time: 0,
            // Picoseconds, as in the files of the RTL.
            timescale_exponent: -12,
            version: concat!("Xoff ", env!("CARGO_PKG_VERSION")).into(),
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let scopes = scopes(simulation, dcqcn);
        let mut head = open_fst(path, &info).map_err(FabricError::of(path))?;
        let mut signals = Vec::new();
        for Scope {
            path: place,
            sources,
        } in &scopes
        {
            for name in place {
                head.scope(name, "", FstScopeType::Module)
                    .map_err(FabricError::of(path))?;
            }
            for source in sources {
                let bits = source.bits();
                let name = format!("{} [{}:0]", source.name(), bits - 1);
                let (kind, wire) = (FstSignalType::bit_vec(bits), FstVarType::Wire);
                let id = (head.var(name, kind, wire, FstVarDirection::Implicit, None))
                    .map_err(FabricError::of(path))?;
                signals.push((id, *source));
            }
            for _ in place {
                head.up_scope().map_err(FabricError::of(path))?;
            }
        }
        Ok(Self {
            window: window.clone(),
            body: Some(head.finish().map_err(FabricError::of(path))?),
            signals,
            layout: layout(&scopes),
            next: window.from,
            marker: None,
        })
    }

    /// When the next values are due; `None` behind the window.
    pub fn due(&self) -> Option<Time> {
        (self.next <= self.window.until).then_some(self.next)
    }

    /// Writes the values of now, if they are due.
    pub fn sample(&mut self, simulation: &Simulation) -> Result<(), FabricError> {
        let now = simulation.now();
        let is_due = self.due().is_some_and(|due| now >= due);
        let Some(body) = self.body.as_mut().filter(|_| is_due) else {
            return Ok(());
        };
        self.next = now + self.window.step();
        let mut write = || -> fst_writer::Result<()> {
            body.time_change(now.as_ps())?;
            let mut digits = Vec::new();
            for (id, source) in &self.signals {
                let value = source.value(simulation);
                let bits = (0..source.bits()).rev();
                digits.clear();
                digits.extend(bits.map(|bit| b'0' + (value >> bit & 1) as u8));
                body.signal_change(*id, &digits)?;
            }
            Ok(())
        };
        write().map_err(FabricError::of(&self.window.path))
    }

    /// Completes the file, and writes the layouts of viewers beside it.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn finish(&mut self) -> Result<(), FabricError> {
        let path = &self.window.path;
        let Some(body) = self.body.take() else {
            return Ok(());
        };
        let out = body.finish().map_err(FabricError::of(path))?;
        out.into_inner().map_err(FabricError::of(path))?;
        let written = self.layout.write_marked(path, self.marker.clone());
        written.map(drop).map_err(FabricError::of(path))
    }
}

impl Observer for FabricWaves {
    fn due(&self) -> Option<Time> {
        self.due()
    }

    fn network(&mut self, run: &Run) -> Result<(), ObserverError> {
        Ok(self.sample(&run.simulation)?)
    }

    fn end(&mut self, run: &Run) -> Result<(), ObserverError> {
        self.sample(&run.simulation)?;
        Ok(self.finish()?)
    }
}

/// The layout for viewers.
fn layout(scopes: &[Scope]) -> Layout {
    let count: usize = scopes.iter().map(|scope| scope.sources.len()).sum();
    let is_port = |scope: &Scope| matches!(scope.sources[0], Source::Xoff(..));
    let shown = scopes
        .iter()
        .filter(|scope| count <= MOST_SHOWN || !is_port(scope));
    let group = |scope: &Scope| {
        let path = scope.path.join(".");
        let signal = |source: &Source| Signal {
            path: format!("{path}.{}", source.name()),
            format: source.format(),
        };
        Group {
            signals: scope.sources.iter().map(signal).collect(),
            name: path.clone(),
        }
    };
    Layout {
        groups: shown.map(group).collect(),
    }
}
