//! Two hosts with the RTL NIC on links of the simulator. The path between the links may lose, change, duplicate and
//! delay frames.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use xoff_cosim::network::page_tables::PageTables;
use xoff_cosim::network::{Driver as _, RtlHost, RtlHostConfig, XoffNic};
use xoff_cosim::units::{PERIOD_256_PS, UnitError};
use xoff_network::{Clocked, Endpoint};
use xoff_sim::frame::Frame;
use xoff_sim::host::{Host, PcieConfig, Stalled, Written};
use xoff_sim::kernel::{Arrivals, Departures, Network, NetworkBuilder, Node, NodeId, PortId};
use xoff_sim::link::Link;
use xoff_sim::nic::registers::identity_writes;
use xoff_sim::nic::translation::TranslationConfig;
use xoff_sim::nic::{Address, NicSettings, QpSettings, ReadRights, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Completion, Recv, RequesterConfig, ResponderConfig, Work};
use xoff_sim::protocol::{icrc, parse};
use xoff_sim::seeded::Seed;
use xoff_sim::time::{ByteCount, Clock, Cycles, Duration, Length, LineRate, Time};
use xoff_sim::wire::frame::{IpKind, ParsedFrame, Verdict};
use xoff_sim::wire::{MacAddr, Psn};

/// QP number of QP index 0, on both sides.
pub const QPN_BASE: u32 = 0x1000;
/// Base address of each side's region 1.
pub const REGION: u64 = 0x10_0000_0000;
/// Size of that region in bytes.
pub const REGION_BYTES: u64 = 1 << 30;
/// One clock period.
pub const PERIOD: Duration = Duration::from_ps(PERIOD_256_PS);
/// Delay from a NIC to the path, and from the path to the other NIC: the minimum of a link.
const LINK: Duration = Duration::from_ns(100);
/// Time for which the path keeps a frame. A step is not longer than this.
const PATH: Duration = Duration::from_ns(300);
/// Maximum number of cycles of a step.
pub const STEP_MAX: u64 = PATH.as_ps() / PERIOD_256_PS;
/// Maximum number of cycles until a register access is done.
const REGISTERS_MAX: u64 = 1_000_000;

/// Region 1 of each side, in which receive buffers lie and to which WRITEs go, and region 0, from which packets are sent.
/// Its key is 0, so that work requests that name no key have it.
pub const REGIONS: &[(u16, Region)] = &[
    (
        1,
        Region {
            base: REGION,
            length: REGION_BYTES,
            tag: 0x5A,
            pd: 0,
            local_write: true,
            remote_write: true,
        },
    ),
    (
        0,
        Region {
            base: 0,
            length: (1 << 48) - 1,
            tag: 0,
            pd: 0,
            local_write: false,
            remote_write: false,
        },
    ),
];

/// What a peer may do with memory that it READs.
const READ_ONLY: ReadRights = ReadRights {
    read: true,
    atomic: false,
};

/// What a peer may do with memory for READs and atomics.
pub const READ_AND_ATOMIC: ReadRights = ReadRights {
    read: true,
    atomic: true,
};

/// Address of a side: 10.0.0.1 and 02::1, or the same with 2.
fn address(side: usize) -> Address {
    Address {
        mac: MacAddr([2, 0, 0, 0, 0, 1 + side as u8]),
        ip: Ipv4Addr::new(10, 0, 0, 1 + side as u8).into(),
    }
}

/// Settings of a QP of a side, whose peer is the QP of the same index: IPv4, MTU 1,024, PSNs about to wrap.
pub fn qp(side: usize, index: u16) -> QpSettings {
    let mtu = 2;
    let psn = |side: usize| Psn::wrapping(0xFF_FFF0 + side as u32);
    QpSettings {
        own: address(side),
        peer: address(1 - side),
        tags: vec![],
        dscp: 26,
        answer_dscp: None,
        answer_pcp: None,
        hop_limit: 64,
        udp_port: 0xC000,
        pkey: 0xFFFF,
        pd: 0,
        peer_qpn: QPN_BASE + u32::from(index),
        requester: RequesterConfig {
            mtu,
            timeout: 3,
            retry: 7,
            nak_retry: true,
            rnr_retry: 7,
            ack_every: 4,
            window: 64,
            restart: false,
            reads: 0,
        },
        requester_psn: psn(side),
        responder: ResponderConfig {
            mtu,
            rnr_timer: 1,
            restart: false,
        },
        responder_psn: psn(1 - side),
        selective: None,
    }
}

/// Fault function of the path. Arguments: the sending side, the bytes of the frame, which it may change, and their
/// parsed form. It returns `false` to lose the frame.
pub type Wire<'a> = dyn FnMut(usize, &mut Vec<u8>, &ParsedFrame) -> bool + 'a;

/// Function that determines what arrives of a frame: a list of additional delays and bytes.
pub type Path<'a> = dyn FnMut(usize, &Frame, &ParsedFrame) -> Vec<(Duration, Vec<u8>)> + 'a;

/// A [`Wire`] without faults.
pub fn all(_: usize, _: &mut Vec<u8>, _: &ParsedFrame) -> bool {
    true
}

/// Keeps frames until the pair decides about them, then forwards what is left of them, one after the other. The port
/// number is the side.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Between {
    arrived: Vec<(usize, Frame)>,
    /// Frames and when they are to end, if nothing is in front of them.
    leaving: [VecDeque<Frame>; 2],
    /// When the next frame may start.
    free: [Time; 2],
    /// Frames that have left.
    left: Vec<(usize, Frame)>,
}

impl Between {
    fn send(&mut self, to: usize, frame: Frame) {
        let queue = &mut self.leaving[to];
        let place = queue.partition_point(|other| other.end <= frame.end);
        queue.insert(place, frame);
    }

    /// The next frame to a side, at its times on the wire.
    fn next(&self, to: usize) -> Option<Frame> {
        let next = self.leaving[to].front()?;
        let whole = Frame::sent(next.bytes.clone(), Time::ZERO, LineRate::G40);
        let start = Time::from_ps(next.end.as_ps().saturating_sub(whole.end.as_ps()));
        let start = start.max(self.free[to]);
        Some(Frame {
            start,
            end: start + (whole.end - Time::ZERO),
            ..next.clone()
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Member {
    Host(Box<RtlHost>),
    Between(Between),
}

impl Node for Member {
    fn line_rates(&self) -> Vec<LineRate> {
        match self {
            Self::Host(host) => host.line_rates(),
            Self::Between(_) => vec![LineRate::G40; 2],
        }
    }

    fn next_event(&self) -> Option<Time> {
        match self {
            Self::Host(host) => host.next_event(),
            Self::Between(between) => {
                let ends = [0, 1].into_iter().filter_map(|side| between.next(side));
                ends.map(|frame| frame.end).min()
            }
        }
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        match self {
            Self::Host(host) => host.advance(until, arrivals, departures),
            Self::Between(between) => {
                for arrival in arrivals {
                    let side = usize::from(arrival.port.0);
                    between.arrived.push((side, arrival.frame));
                }
                for (port, side) in (0..).map(PortId).zip(0..2) {
                    while let Some(frame) = between.next(side).filter(|frame| frame.end < until) {
                        between.leaving[side].pop_front();
                        between.free[side] = frame.line_free(LineRate::G40);
                        between.left.push((side, frame.clone()));
                        departures.push(port, frame);
                    }
                }
            }
        }
    }
}

/// Two hosts and the path between them. In serialized form it is a checkpoint, without the frames until then.
#[derive(Serialize, Deserialize)]
pub struct Pair {
    network: Network<Member>,
    nodes: [NodeId; 2],
    between: NodeId,
    /// Keys of the NICs' first regions.
    pub key: [u32; 2],
    /// What was written to registers last, by side.
    registers: [BTreeMap<u16, u32>; 2],
    /// Every frame, with the side that sent it and its times there.
    #[serde(skip)]
    pub frames: Vec<(usize, Frame, ParsedFrame)>,
    /// Every frame that reaches a NIC, with the NIC's side and its times there.
    #[serde(skip)]
    pub arrivals: Vec<(usize, Frame)>,
    /// All completions, by side, each with its QP index.
    pub completions: [Vec<(u16, Completion)>; 2],
    /// All DMA writes, by side.
    pub written: [Vec<Written>; 2],
    now: u64,
}

/// Configuration of a pair.
pub struct PairConfig<'a> {
    /// Seed of the random initial values of registers, and of the order in which hosts answer DMA reads.
    pub seed: u64,
    /// Settings of a side; `None`: the registers' reset values, [`QPN_BASE`] and the pair's own MAC addresses.
    pub settings: Option<&'a dyn Fn(usize) -> NicSettings>,
    /// Index and settings of each region of both sides. [`Pair::key`] is of the first one.
    pub regions: &'a [(u16, Region)],
    /// Changes to the settings of each QP of a side: side, index, settings.
    pub change: &'a dyn Fn(usize, u16, &mut QpSettings),
    /// Indices of the QPs. QPs of the same index are connected.
    pub qps: &'a [u16],
    /// Delay from a DMA read to its data.
    pub read_delay: Duration,
    /// By side: page tables of all regions, and the NIC's cache of their entries.
    pub translation: [Option<TranslationConfig>; 2],
    /// What the time input of each side's NIC shows at the start.
    pub times: [Cycles; 2],
    /// Record the inputs of the first NIC.
    pub record: bool,
}

impl Default for PairConfig<'_> {
    /// Without QPs, with [`REGIONS`], 100 cycles from a DMA read to its data, and time from 0 on.
    fn default() -> Self {
        Self {
            seed: 1,
            settings: None,
            regions: REGIONS,
            change: &|_, _, _| {},
            qps: &[],
            read_delay: PERIOD * 100,
            translation: [None; 2],
            times: [Cycles(0); 2],
            record: false,
        }
    }
}

impl Pair {
    /// Creates both NICs with a region and open QPs, and all other settings at their reset values.
    ///
    /// # Errors
    ///
    /// Returns an error if the model cannot be created or breaks a rule of its pins.
    pub fn new(seed: u64, change: &dyn Fn(&mut QpSettings), qps: u16) -> Result<Self, UnitError> {
        Self::of(&PairConfig {
            seed,
            change: &|_, _, qp| change(qp),
            qps: &(0..qps).collect::<Vec<_>>(),
            ..PairConfig::default()
        })
    }

    /// Creates both NICs with a region and open QPs, as configured.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn of(config: &PairConfig<'_>) -> Result<Self, UnitError> {
        let clock = Clock::new(PERIOD, Duration::ZERO);
        let pcie = PcieConfig {
            latency: config.read_delay / 2,
            rate: None,
        };
        let (region, main) = config.regions[0];
        let mut registers = [BTreeMap::new(), BTreeMap::new()];
        let mut builder = NetworkBuilder::new(Seed(config.seed));
        let mut nodes = [NodeId(0); 2];
        for (side, id) in nodes.iter_mut().enumerate() {
            let mac = address(side).mac;
            let mut driver = match config.settings {
                None => {
                    registers[side].extend(identity_writes(QPN_BASE, mac));
                    XoffNic::with_reset_values(QPN_BASE, mac)
                }
                Some(settings) => {
                    let settings = settings(side);
                    registers[side].extend(settings.writes());
                    XoffNic::of(&settings)
                }
            };
            if let Some(translation) = config.translation[side] {
                let seed = Seed(config.seed).derive(&[side as u64]);
                let tables = PageTables::new(translation, &clock, seed);
                let tables = tables.expect("settings of rtl/nic");
                registers[side].extend([tables.on()]);
                driver.translate(tables);
            }
            for (index, region) in config.regions {
                driver.register(*index, region);
                registers[side].extend(driver.table(*index));
                registers[side].extend(region.writes(*index));
            }
            for &index in config.qps {
                let mut setup = qp(side, index);
                (config.change)(side, index, &mut setup);
                driver.open(index, &setup);
                registers[side].extend(setup.writes(index));
            }
            let seed = config.seed + side as u64;
            let host = Host::manual(clock, 32, &pcie, Seed(seed));
            let made = RtlHostConfig {
                name: format!("nic{side}"),
                seed,
                clock,
                rate: LineRate::G40,
                max_frame: ByteCount::new(9_216),
                time: config.times[side],
            };
            let mut host = match config.record && side == 0 {
                true => RtlHost::recording(made, driver, host)?,
                false => RtlHost::new(made, driver, host)?,
            };
            host.set_skip(false);
            *id = builder.node(Member::Host(Box::new(host)));
        }
        let between = builder.node(Member::Between(Between::default()));
        let link = Link::new(Length::from_m(0), LINK);
        for (port, node) in (0..).map(PortId).zip(nodes) {
            let joined = builder.connect((node, PortId(0)), (between, port), &link);
            joined.expect("ports are free and of one rate, links as long as the least");
        }
        Ok(Self {
            network: builder.build(),
            nodes,
            between,
            key: [main.key(region); 2],
            registers,
            frames: vec![],
            arrivals: vec![],
            completions: [vec![], vec![]],
            written: [vec![], vec![]],
            now: 0,
        })
    }

    /// Returns the next cycle of both NICs.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Returns a side's NIC and host.
    pub fn host(&self, side: usize) -> &RtlHost {
        match self.network.node(self.nodes[side]) {
            Member::Host(host) => host,
            Member::Between(_) => unreachable!("nodes are hosts"),
        }
    }

    /// Changes a side's NIC or host.
    pub fn update<R>(&mut self, side: usize, change: impl FnOnce(&mut RtlHost) -> R) -> R {
        self.network
            .update(self.nodes[side], |member| match member {
                Member::Host(host) => change(host),
                Member::Between(_) => unreachable!("nodes are hosts"),
            })
    }

    fn between<R>(&mut self, change: impl FnOnce(&mut Between) -> R) -> R {
        self.network.update(self.between, |member| match member {
            Member::Between(between) => change(between),
            Member::Host(_) => unreachable!("the path is no host"),
        })
    }

    /// Sets whether idle cycles are skipped from now on.
    pub fn set_skip(&mut self, skip: bool) {
        for side in 0..2 {
            self.update(side, |host| host.set_skip(skip));
        }
    }

    /// Returns how many cycles both NICs skipped.
    pub fn skipped(&self) -> u64 {
        let now = self.network.now();
        let of = |side| self.host(side).cycles(now) - self.host(side).cycles_evaluated();
        of(0) + of(1)
    }

    /// Posts a work request.
    pub fn post(&mut self, side: usize, qp: u16, work: Work) {
        let now = Cycles(self.now);
        self.update(side, |host| host.host_mut().post(now, qp, work));
    }

    /// Posts a receive buffer at a cycle, which must not be in the past.
    pub fn post_recv_at(&mut self, side: usize, at: u64, qp: u16, recv: Recv) {
        self.update(side, |host| host.host_mut().post_recv(Cycles(at), qp, recv));
    }

    /// Posts a receive buffer.
    pub fn post_recv(&mut self, side: usize, qp: u16, recv: Recv) {
        self.post_recv_at(side, self.now, qp, recv);
    }

    /// Stalls an action of a host in `of_16` of 16 cycles until `until`; 16: in every cycle.
    pub fn stall(&mut self, side: usize, what: Stalled, of_16: u8, until: u64) {
        self.update(side, |host| {
            let stalls = host.host_mut().stalls_mut();
            stalls.set(what, of_16, Cycles(until));
        });
    }

    /// Injects a frame at a side; its last bit arrives at `at`, or now if that is later.
    pub fn receive(&mut self, side: usize, at: Time, bytes: Vec<u8>) {
        let end = at.max(self.network.now());
        let frame = Frame {
            bytes: bytes.into(),
            fcs_ok: true,
            start: end,
            end,
        };
        self.arrivals.push((side, frame.clone()));
        self.update(side, |host| host.receive(frame));
    }

    /// Returns the current time.
    pub fn time(&self) -> Time {
        self.network.now()
    }

    /// Returns the time before which all frames at the NICs' ports are in the records.
    pub fn watched(&self) -> Time {
        Time::from_ps(self.time().as_ps().saturating_sub(LINK.as_ps()))
    }

    /// Returns whether no frame is under way and both NICs are idle.
    pub fn rests(&self) -> bool {
        let quiet = |side: usize| {
            let host = self.host(side);
            host.received() && host.rests() && self.network.in_flight(self.nodes[side]) == 0
        };
        let Member::Between(between) = self.network.node(self.between) else {
            unreachable!("the path is no host")
        };
        quiet(0)
            && quiet(1)
            && self.network.in_flight(self.between) == 0
            && between.arrived.is_empty()
            && between.leaving.iter().all(VecDeque::is_empty)
    }

    /// Runs both NICs; frames that reach the path stay there.
    fn run_cycles(&mut self, cycles: u64) -> Result<(), UnitError> {
        self.now += cycles;
        let until = Time::ZERO + PERIOD * self.now;
        self.network.run_until(until, |_| {});
        for (side, frame) in self.between(|between| std::mem::take(&mut between.left)) {
            let frame = Frame {
                start: frame.start + LINK,
                end: frame.end + LINK,
                ..frame
            };
            self.arrivals.push((side, frame));
        }
        for side in 0..2 {
            if let Some(what) = self.host(side).failure() {
                return Err(self.broken(what.to_owned()));
            }
            let (completions, written) = self.update(side, |host| {
                let host = host.host_mut();
                (host.take_completions(), host.take_written())
            });
            self.completions[side].extend(completions);
            self.written[side].extend(written);
        }
        Ok(())
    }

    fn broken(&self, what: String) -> UnitError {
        UnitError::Protocol {
            unit: "nic",
            cycle: self.now,
            what,
        }
    }

    /// Runs one cycle of both.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`], and an error for an invalid frame.
    pub fn step(&mut self, wire: &mut Wire<'_>) -> Result<(), UnitError> {
        self.step_over(1, &mut |side, frame, parsed| {
            let mut bytes = frame.bytes.whole().to_vec();
            match wire(side, &mut bytes, parsed) {
                true => vec![(Duration::ZERO, bytes)],
                false => vec![],
            }
        })
    }

    /// Runs a number of cycles of both, at most [`STEP_MAX`].
    ///
    /// # Errors
    ///
    /// As [`Pair::step`].
    pub fn step_over(&mut self, cycles: u64, path: &mut Path<'_>) -> Result<(), UnitError> {
        assert!(cycles <= STEP_MAX, "a frame could be late");
        self.run_cycles(cycles)?;
        let now = self.network.now();
        for (side, arrived) in self.between(|between| std::mem::take(&mut between.arrived)) {
            let at = |time: Time| Time::from_ps(time.as_ps() - LINK.as_ps());
            let frame = Frame {
                start: at(arrived.start),
                end: at(arrived.end),
                ..arrived
            };
            let parsed = whole(&frame.bytes.whole()).map_err(|what| self.broken(what))?;
            for (late, bytes) in path(side, &frame, &parsed) {
                let end = (arrived.end + PATH + late).max(now);
                let frame = Frame {
                    bytes: bytes.into(),
                    end,
                    ..arrived
                };
                self.between(|between| between.send(1 - side, frame));
            }
            self.frames.push((side, frame, parsed));
        }
        Ok(())
    }

    /// Runs until a side's driver has finished its commands. Frames wait on the path meanwhile.
    fn settle(&mut self, side: usize) -> Result<(), UnitError> {
        if self.now == 0 {
            return self.update(side, RtlHost::settled);
        }
        for _ in 0..REGISTERS_MAX {
            if self.update(side, |host| host.driver_mut().registers().idle()) {
                return Ok(());
            }
            self.run_cycles(1)?;
        }
        Err(self.broken("registers never come to an end".into()))
    }

    /// Writes a register.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn write(&mut self, side: usize, address: u16, word: u32) -> Result<(), UnitError> {
        self.registers[side].insert(address, word);
        self.update(side, |host| {
            host.driver_mut().registers().write(address.into(), word);
        });
        self.settle(side)
    }

    /// Withdraws the regions of a side with these indices. It takes effect some cycles later.
    pub fn withdraw(&mut self, side: usize, regions: &[u16]) {
        let commands = regions
            .iter()
            .map(|region| (reg::REGION_COMMAND, (*region).into()));
        let writes: Vec<(u16, u32)> = [(reg::REGION_RIGHTS, 0)]
            .into_iter()
            .chain(commands)
            .collect();
        self.registers[side].extend(writes.iter().copied());
        self.update(side, |host| {
            let driver = host.driver_mut();
            for (address, word) in writes {
                if address == reg::REGION_COMMAND {
                    driver.wait_for_tables();
                }
                driver.registers().write(address.into(), word);
            }
        });
    }

    /// Reads all settings of a side back.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`], and the first register that does not read as it was written.
    pub fn check_settings(&mut self, side: usize) -> Result<(), UnitError> {
        for setting in reg::SETTINGS {
            let found = self.read(side, setting.address)?;
            let written = self.registers[side].get(&setting.address);
            let right = written.map_or(setting.reset, |word| word & setting.bits);
            if found != right {
                return Err(self.broken(format!(
                    "register {} at {:#x} reads {found:#x} and not {right:#x}",
                    setting.name, setting.address
                )));
            }
        }
        Ok(())
    }

    /// Opens a QP.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn open(
        &mut self,
        side: usize,
        index: u16,
        settings: &QpSettings,
    ) -> Result<(), UnitError> {
        self.registers[side].extend(settings.writes(index));
        self.update(side, |host| host.driver_mut().open(index, settings));
        self.settle(side)
    }

    /// Opens QPs at both sides, which do that at the same time.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn open_both(
        &mut self,
        qps: &[u16],
        settings: &dyn Fn(usize, u16) -> QpSettings,
    ) -> Result<(), UnitError> {
        for side in 0..2 {
            for &index in qps {
                let settings = settings(side, index);
                self.registers[side].extend(settings.writes(index));
                self.update(side, |host| host.driver_mut().open(index, &settings));
            }
        }
        self.settle(0)?;
        self.settle(1)
    }

    /// Closes a QP.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn close(&mut self, side: usize, index: u16) -> Result<(), UnitError> {
        self.update(side, |host| host.driver_mut().close(index));
        self.settle(side)
    }

    /// Registers a region of a side, at an index, that its peer may READ.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn let_read(&mut self, side: usize, index: u16, region: &Region) -> Result<(), UnitError> {
        self.permit(side, index, region, READ_ONLY)
    }

    /// Registers a region of a side which peers may use so.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn permit(
        &mut self,
        side: usize,
        index: u16,
        region: &Region,
        rights: ReadRights,
    ) -> Result<(), UnitError> {
        let table = self.update(side, |host| {
            host.driver_mut().map(index, region);
            host.driver().table(index)
        });
        self.registers[side].extend(table);
        self.settle(side)?;
        for (address, word) in region.writes_with(index, rights) {
            self.write(side, address, word)?;
        }
        self.update(side, |host| {
            host.host_mut().permit_reads(region, region.key(index));
        });
        Ok(())
    }

    /// Reads a register.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn read(&mut self, side: usize, address: u16) -> Result<u32, UnitError> {
        self.update(side, |host| {
            host.driver_mut().registers().read(address.into());
        });
        self.settle(side)?;
        let word = self.update(side, |host| host.driver_mut().registers().take_word());
        word.ok_or_else(|| self.broken(format!("register {address:#x} gave no word")))
    }

    /// Returns the counters that are not 0, by name.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn counters(&mut self, side: usize) -> Result<Vec<(&'static str, u32)>, UnitError> {
        let mut counters = vec![];
        for counter in reg::COUNTERS {
            let count = self.read(side, counter.address)?;
            if count > 0 {
                counters.push((counter.name, count));
            }
        }
        Ok(counters)
    }

    /// Returns the current content of a side's memory.
    pub fn memory(&self, side: usize) -> BTreeMap<u64, u8> {
        let mut bytes = BTreeMap::new();
        for write in &self.written[side] {
            bytes.extend(write.bytes.iter().zip(write.va..).map(|(&b, va)| (va, b)));
        }
        bytes
    }
}

/// Parses a frame that left a NIC and checks it with the reference parser and the reference ICRC.
///
/// # Errors
///
/// Returns what is wrong.
pub fn whole(bytes: &[u8]) -> Result<ParsedFrame, String> {
    let parsed = parse(bytes);
    match parsed.verdict {
        Verdict::RoceV2 | Verdict::Cnp => {
            let right = || {
                let ip = parsed.ip.as_ref()?;
                let start = 14 + 4 * parsed.eth.as_ref()?.tags.len();
                let length = usize::from(ip.length) + if ip.kind == IpKind::V6 { 40 } else { 0 };
                let packet = bytes.get(start..start + length)?;
                let (packet, found) = packet.split_at_checked(length.checked_sub(4)?)?;
                Some(parsed.icrc_ok == Some(true) && icrc(ip.kind, packet).ok()? == found)
            };
            if right() != Some(true) {
                return Err(format!("a frame with a wrong ICRC: {parsed:?}"));
            }
        }
        Verdict::Pfc => {}
        _ => return Err(format!("a frame that no NIC sends: {parsed:?}")),
    }
    Ok(parsed)
}
