//! `nic`, the NIC of `rtl/nic`: its pins and its driver. `rtl/nic/README.md` is the contract for both.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xoff_rtl::nic;
use xoff_sim::host::{AtomicRequest, DataBeat, Host, ReadRequest, WriteBeat};
use xoff_sim::mac::Beat;
use xoff_sim::nic::registers::{Write, identity_writes};
use xoff_sim::nic::translation::PageSize;
use xoff_sim::nic::{DcqcnChange, NicSettings, QpSettings, ReadRights, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::dcqcn::{Alpha, Rate};
use xoff_sim::protocol::gbn::responder::answered::AtomicKind;
use xoff_sim::protocol::{Cycle, Idle};
use xoff_sim::time::{Clock, Cycles};
use xoff_sim::wire::{MacAddr, Psn};

use super::device::{
    BringUp, Created, Device, Driver, Edge, Framing, HostSetup, Inputs, Limits, Outputs, Pauses,
    PortShape, Receive, Transmit,
};
use super::first_uses;
use super::page_tables::PageTables;
use crate::units::axi_lite::{AxiLite, Response};
use crate::units::beat;
use crate::units::verbs::{put_recv, put_work, take_completion};

/// Bytes of a beat.
const BEAT_BYTES: usize = xoff_rtl::nic::DATA_BYTES as usize;
/// Cycles after reset in which the NIC clears its memories; the 256 regions take longest.
pub const CLEARING: u64 = 300;

/// The pins of `nic`.
#[derive(Debug)]
pub struct XoffPins;

impl Device for XoffPins {
    type Model = xoff_rtl::Nic;
    const PORT: PortShape = PortShape {
        width: BEAT_BYTES,
        period: Clock::PERIOD_40G,
        receive: Receive::EveryBeat,
        transmit: Transmit::CutThrough,
        fcs: false,
        padded: false,
        pauses: Pauses::Nic,
        framing: Framing::Ethernet,
    };
    const RANDOM_START: bool = true;
    const CHECKPOINTS: bool = true;
    const CONTROL_AHEAD: bool = true;

    fn reset(pins: &mut nic::In, active: bool) {
        pins.rst_i = active.into();
    }

    fn time(pins: &mut nic::In, now: Cycles) {
        pins.now_i = Cycle(now.0).bits();
    }

    fn receive(pins: &mut nic::In, beat: Option<&Beat>) {
        pins.rx_valid_i = beat.is_some().into();
        if let Some(beat) = beat {
            pins.rx_last_i = beat.last.into();
            pins.rx_bytes_i = beat.data.len() as u8;
            beat::put(&mut pins.rx_data_i, &beat.data);
        }
    }

    fn receive_control(pins: &mut nic::In, control: bool) {
        pins.rx_control_i = control.into();
    }

    fn link(pins: &mut nic::In, up: bool) {
        pins.link_down_i = (!up).into();
    }

    fn transmit_ready(pins: &mut nic::In, ready: bool) {
        pins.tx_ready_i = ready.into();
    }

    fn transmit(out: &nic::Out) -> Result<Option<Beat>, String> {
        if out.tx_valid_o == 0 {
            return Ok(None);
        }
        Ok(Some(Beat {
            data: Bytes::from(bytes(&out.tx_data_o, out.tx_bytes_o)?),
            last: out.tx_last_o != 0,
        }))
    }

    fn idle(out: &nic::Out, now: Cycles) -> Idle {
        Idle::of_ports(out.idle_o, out.wake_o, Cycle(now.0))
    }
}

/// The bytes of a beat.
fn bytes(words: &[u32], count: u8) -> Result<Vec<u8>, String> {
    let count = usize::from(count);
    if !(1..=BEAT_BYTES).contains(&count) {
        return Err(format!(
            "a beat of {count} bytes: 1 to {BEAT_BYTES} are right"
        ));
    }
    let mut bytes = Vec::with_capacity(BEAT_BYTES);
    beat::take(words, count, &mut bytes);
    Ok(bytes)
}

/// The driver of `nic`. Register writes before simulated time starts take no simulated time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct XoffNic {
    qpn_base: u32,
    mac: MacAddr,
    axi: AxiLite,
    /// Cycles left until the NIC has cleared its memories.
    clearing: u64,
    created: BTreeMap<u16, Created>,
    /// Those of QPs that were created, with what READs and atomics may do.
    regions: BTreeMap<u16, (Region, ReadRights)>,
    /// DCQCN's values of QPs that were opened before simulated time started.
    first_rates: BTreeMap<u16, DcqcnValues>,
    /// If the NIC translates addresses.
    tables: Option<PageTables>,
}

/// Rate, α, and whether the QP is limited to the rate.
type DcqcnValues = (Rate, Alpha, bool);

/// Returns a QP's values if the NIC reports them in this cycle.
fn reported(out: &nic::Out) -> Option<(u16, DcqcnValues)> {
    let values = (
        Rate(out.rate_o),
        Alpha(out.alpha_o),
        out.rate_limited_o != 0,
    );
    (out.rate_valid_o != 0).then(|| (out.rate_qp_o.into(), values))
}

impl XoffNic {
    fn writes(&mut self, writes: Vec<Write>) {
        for (offset, word) in writes {
            self.axi.write(offset.into(), word);
        }
    }

    /// Opens a QP: queues the register writes, and a wait for the end of the command.
    pub fn open(&mut self, index: u16, settings: &QpSettings) {
        self.writes(settings.writes(index));
        self.axi.wait_for(reg::BUSY.into(), 0);
    }

    /// Closes a QP: queues the register writes, and a wait for the end of the command.
    pub fn close(&mut self, index: u16) {
        self.axi.write(reg::QP_COMMAND.into(), index.into());
        self.axi.wait_for(reg::BUSY.into(), 0);
    }

    /// Registers a region at an index of the table and returns its key.
    pub fn register(&mut self, index: u16, region: &Region) -> u32 {
        self.register_with(index, region, ReadRights::default())
    }

    /// The same, with what READs and atomics may do.
    fn register_with(&mut self, index: u16, region: &Region, rights: ReadRights) -> u32 {
        self.map(index, region);
        self.writes(region.writes_with(index, rights));
        region.key(index)
    }

    /// Writes the page table of a region that is about to be registered at an index, if the NIC translates.
    pub fn map(&mut self, index: u16, region: &Region) {
        if let Some(tables) = &mut self.tables {
            tables.map(index, region);
            let table = tables.writes(index);
            self.writes(table);
            self.wait_for_tables();
        }
    }

    /// The register writes that name the page table of the region at an index; none without one.
    pub fn table(&self, index: u16) -> Vec<Write> {
        (self.tables.as_ref()).map_or(vec![], |tables| tables.writes(index))
    }

    /// Waits until what the NIC knows of a region that was registered or removed is forgotten, if it translates. No
    /// other region is registered before.
    pub fn wait_for_tables(&mut self) {
        if self.tables.is_some() {
            self.axi.wait_for(reg::REGION_BUSY.into(), 0);
        }
    }

    /// Frees the pages that have the `bytes` from an address of the region at an index on, although it is registered.
    /// Returns whether one of them was there. A packet that needs one ends its QP, unless the NIC has its translation.
    pub fn free_pages(&mut self, index: u16, va: u64, bytes: u64) -> bool {
        (self.tables.as_mut()).is_some_and(|tables| tables.free(index, va, bytes))
    }

    /// The register interface. Accesses queued here are performed in simulated time, or before it starts.
    pub const fn registers(&mut self) -> &mut AxiLite {
        &mut self.axi
    }

    /// Creates the driver of a NIC with these settings.
    pub fn of(settings: &NicSettings) -> Self {
        Self::with((settings.qpn_base, settings.mac), settings.writes())
    }

    /// Creates the driver of a NIC whose settings are the registers' reset values, other than its first QP number and
    /// its MAC address.
    pub fn with_reset_values(qpn_base: u32, mac: MacAddr) -> Self {
        Self::with((qpn_base, mac), identity_writes(qpn_base, mac).to_vec())
    }

    fn with((qpn_base, mac): (u32, MacAddr), writes: Vec<Write>) -> Self {
        let mut this = Self {
            qpn_base,
            mac,
            axi: AxiLite::default(),
            clearing: CLEARING,
            first_rates: BTreeMap::new(),
            created: BTreeMap::new(),
            regions: BTreeMap::new(),
            tables: None,
        };
        this.writes(writes);
        this
    }

    fn drive_registers(&self, pins: &mut nic::In) {
        let request = self.axi.drive();
        pins.awvalid_i = request.aw.is_some().into();
        pins.wvalid_i = request.w.is_some().into();
        pins.arvalid_i = request.ar.is_some().into();
        (pins.bready_i, pins.rready_i) = (request.b_ready.into(), request.r_ready.into());
        if let Some(address) = request.aw {
            pins.awaddr_i = address as u16;
        }
        if let Some(word) = request.w {
            (pins.wdata_i, pins.wstrb_i) = (word, 0xF);
        }
        if let Some(address) = request.ar {
            pins.araddr_i = address as u16;
        }
    }

    fn sample_registers(&mut self, out: &nic::Out) -> Result<(), String> {
        self.axi.sample(&Response {
            aw_ready: out.awready_o != 0,
            w_ready: out.wready_o != 0,
            b: (out.bvalid_o != 0).then_some(out.bresp_o),
            ar_ready: out.arready_o != 0,
            r: (out.rvalid_o != 0).then_some((out.rdata_o, out.rresp_o)),
        })
    }
}

impl Driver for XoffNic {
    type Device = XoffPins;

    fn limits() -> Limits {
        Limits {
            qps: nic::QPS as u16,
            outstanding: nic::WQES,
            granted: nic::READS as u16,
            ..Limits::MODEL
        }
    }

    fn new(setup: &HostSetup) -> Self {
        Self::of(&setup.settings)
    }

    fn settle(&mut self, nic: &mut BringUp<'_, XoffPins>) -> Result<(), String> {
        let failed = |error: verilated::Failure| error.to_string();
        for _ in 0..std::mem::take(&mut self.clearing) {
            nic.cycle().map_err(failed)?;
        }
        while !self.axi.idle() {
            self.drive_registers(nic.pins);
            nic.cycle().map_err(failed)?;
            self.sample_registers(nic.out)?;
            self.first_rates.extend(reported(nic.out));
        }
        self.drive_registers(nic.pins);
        Ok(())
    }

    fn create(&mut self, index: u16, psn: Psn, region: &Region) {
        let created = Created {
            qpn: self.qpn_base + u32::from(index),
            psn,
            key: self.register(index, region),
        };
        self.created.insert(index, created);
        self.regions.insert(index, (*region, ReadRights::default()));
    }

    fn permit(&mut self, index: u16, rights: ReadRights) -> Option<(Region, u32)> {
        let (region, known) = self.regions.get_mut(&index)?;
        *known = rights;
        let region = *region;
        Some((region, self.register_with(index, &region, rights)))
    }

    fn translate(&mut self, tables: PageTables) {
        let (register, word) = tables.on();
        self.axi.write(register.into(), word);
        self.tables = Some(tables);
    }

    fn set_page(&mut self, index: u16, size: PageSize) {
        if let Some(tables) = &mut self.tables {
            tables.set_page(index, size);
        }
    }

    fn free(&mut self, index: u16, va: u64, bytes: u64) -> bool {
        let Some((region, rights)) = self.regions.get(&index).copied() else {
            return false;
        };
        // The NIC forgets what it knows of the table when the region is registered again.
        if self.free_pages(index, va, bytes) {
            self.register_with(index, &region, rights);
        }
        self.tables.is_some()
    }

    fn touch(&mut self, qps: &[u16], nic: &mut BringUp<'_, XoffPins>) -> Result<(), String> {
        let (Some(tables), Some(&index)) = (&self.tables, qps.first()) else {
            return Ok(());
        };
        let uses = tables.used_last(qps);
        let keys = uses
            .iter()
            .map(|(index, va)| (self.created[index].key, *va));
        let keys: Vec<(u32, u64)> = keys.collect();
        self.open(index, &first_uses::qp(self.mac));
        self.settle(nic)?;
        if let Some(tables) = &self.tables {
            let qpn = self.qpn_base + u32::from(index);
            first_uses::receive(nic, tables, (self.mac, qpn), &keys)?;
        }
        self.close(index);
        self.settle(nic)
    }

    fn was_reset(&mut self) {
        if let Some(tables) = &mut self.tables {
            tables.was_reset();
        }
    }

    fn translates(&self) -> bool {
        self.tables.is_some()
    }

    fn created(&self, index: u16) -> Option<Created> {
        self.created.get(&index).copied()
    }

    fn connect(&mut self, index: u16, settings: &QpSettings) {
        self.open(index, settings);
    }

    fn connected(&self, _index: u16) -> bool {
        self.axi.idle()
    }

    fn set_dcqcn(&mut self, change: &DcqcnChange, clock: &Clock) -> bool {
        self.writes(change.writes(clock));
        true
    }

    fn before(&mut self, pins: &mut nic::In, edge: &mut Edge<'_>) {
        let (now, host) = (edge.now, &mut *edge.host);
        let work = host.work(now);
        pins.work_valid_i = work.is_some().into();
        if let Some((qp, work)) = &work {
            pins.work_qp_i = *qp as u8;
            put_work(&mut pins.work_i, work);
        }
        let recv = host.recv(now);
        pins.recv_valid_i = recv.is_some().into();
        if let Some((qp, recv)) = &recv {
            pins.recv_qp_i = *qp as u8;
            put_recv(&mut pins.recv_i, recv);
        }
        pins.cqe_ready_i = host.takes_completion(now).into();
        pins.read_ready_i = host.takes_read(now).into();
        pins.write_ready_i = host.takes_write(now).into();
        pins.atomic_ready_i = pins.write_ready_i;
        let original = host.original(now);
        pins.original_valid_i = original.is_some().into();
        if let Some(original) = original {
            pins.original_i = original;
        }
        let come = self.tables.as_mut().and_then(|tables| tables.come(now));
        pins.entry_ready_i = 1;
        pins.entry_come_i = come.is_some().into();
        pins.entry_there_i = come.unwrap_or(false).into();
        let data = host.data(now);
        pins.data_valid_i = data.is_some().into();
        if let Some(DataBeat {
            tag,
            bytes,
            last,
            error,
        }) = data
        {
            pins.data_tag_i = tag;
            pins.data_last_i = last.into();
            pins.data_error_i = error.into();
            beat::put(&mut pins.data_data_i, &bytes);
        }
        self.drive_registers(pins);
    }

    fn after(
        &mut self,
        pins: &Inputs<XoffPins>,
        out: &Outputs<XoffPins>,
        edge: &mut Edge<'_>,
    ) -> Result<(), String> {
        let (now, host, seen) = (edge.now, &mut *edge.host, &mut *edge.seen);
        if out.work_ready_o & pins.work_valid_i != 0 {
            host.work_taken(now);
        }
        if out.recv_ready_o & pins.recv_valid_i != 0 {
            host.recv_taken();
        }
        if out.cqe_valid_o & pins.cqe_ready_i != 0 {
            let completion = take_completion(&out.cqe_o)?;
            host.complete(now, out.cqe_qp_o.into(), &completion);
        }
        if out.read_valid_o & pins.read_ready_i != 0 {
            let request = ReadRequest {
                tag: out.read_tag_o,
                va: out.read_va_o,
                key: Some(out.read_key_o),
                bytes: out.read_bytes_o.into(),
            };
            host.read(now, &request)?;
        }
        if out.write_valid_o & pins.write_ready_i != 0 {
            let beat = WriteBeat {
                va: out.write_va_o,
                key: Some((out.write_key_o, out.write_remote_o != 0)),
                first: out.write_first_o != 0,
                last: out.write_last_o != 0,
                bytes: &bytes(&out.write_data_o, out.write_bytes_o)?,
            };
            host.write_beat(now, &beat)?;
        }
        if out.atomic_valid_o & pins.atomic_ready_i != 0 {
            let (swap_add, compare) = (out.atomic_swap_add_o, out.atomic_compare_o);
            let kind = match out.atomic_add_o != 0 {
                true => AtomicKind::FetchAdd { add: swap_add },
                false => AtomicKind::CompareSwap {
                    compare,
                    swap: swap_add,
                },
            };
            let request = AtomicRequest {
                va: out.atomic_va_o,
                key: out.atomic_key_o,
                kind,
            };
            host.take_atomic(now, &request)?;
        }
        if out.entry_valid_o & pins.entry_ready_i != 0 {
            let number = out.entry_number_o;
            let tables = (self.tables.as_mut()).ok_or_else(|| {
                format!("a read of page table entry {number}: there are no tables")
            })?;
            tables.read(now, number, host)?;
        }
        self.sample_registers(out)?;
        seen.counters.events(out.event_o);
        seen.pauses.set(out.paused_o, edge.time);
        seen.rates.append(&mut self.first_rates);
        seen.rates.extend(reported(out));
        Ok(())
    }

    fn next_event(&self, host: &Host) -> Option<Cycles> {
        let come = self.tables.as_ref().and_then(PageTables::next_event);
        match self.axi.idle() {
            true => host.next_event().into_iter().chain(come).min(),
            false => Some(Cycles(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use xoff_sim::nic::shape;

    use super::*;

    /// The model's sizes are the RTL's.
    #[test]
    fn the_shape_is_that_of_the_rtl() {
        assert_eq!(shape::QPS, nic::QPS as usize);
        assert_eq!(shape::WQES, nic::WQES);
        assert_eq!(shape::BEAT_BYTES, nic::DATA_BYTES as usize);
        assert_eq!(shape::BUFFER_BYTES, u64::from(nic::BUFFER_BYTES));
    }
}
