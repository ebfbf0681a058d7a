//! What a scenario has happen during a run, carried out between two windows of the kernel.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xoff_sim::frame::Frame;
use xoff_sim::host::FlowConfig;
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::link::FaultRule;
use xoff_sim::nic::DcqcnChange;
use xoff_sim::nic::congestion;
use xoff_sim::seeded::Seed;
use xoff_sim::switch::forwarding::ForwardingConfig;
use xoff_sim::switch::{Limit, RedConfig, Switch};
use xoff_sim::time::Time;
use xoff_sim::wire::{MacAddr, PRIORITIES, Pfc, PfcRepr, control_frame};

use crate::convergence::Converged;
use crate::plan::{Plan, byte_limit, class_bits, gain, kbps};
use crate::scenario::event::{Faults, Forget, Pace, PauseStorm, Set, SetDcqcn, Stall, Table};
use crate::scenario::subjects::Subjects;
use crate::scenario::{Action, Connection, Scenario, entry_of};
use crate::{Endpoint, FlowEnds, Simulation, Station};

/// Events that are still to happen, by time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Agenda {
    changes: VecDeque<(Time, Change)>,
    /// The routes of all switches that changes name, in the order of switches.
    tables: Vec<Vec<ForwardingConfig>>,
}

/// A change of the network, with its subjects by number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Change {
    Link {
        ends: Vec<(NodeId, PortId)>,
        up: bool,
    },
    Faults {
        from: Vec<(NodeId, PortId)>,
        rules: Vec<FaultRule>,
        seed: Seed,
    },
    /// Frames of both directions of a host's link are swallowed, or no longer.
    Swallow {
        ends: [(NodeId, PortId); 2],
        swallow: bool,
    },
    Stall {
        host: NodeId,
        until: Time,
    },
    Storm {
        host: NodeId,
        frames: Vec<Frame>,
    },
    Forget {
        switch: NodeId,
        mac: MacAddr,
        ip: std::net::IpAddr,
        table: Table,
    },
    Limit {
        switch: NodeId,
        class: u8,
        limit: Limit,
    },
    Red {
        switch: NodeId,
        class: u8,
        red: RedConfig,
    },
    NeverFlood {
        switch: NodeId,
        never: bool,
    },
    Posting {
        host: NodeId,
        flow: u32,
        stopped: bool,
    },
    /// Parameters of DCQCN at a host.
    Dcqcn {
        host: NodeId,
        change: DcqcnChange,
    },
    /// Those of the QP that sends a flow's data.
    DcqcnOf {
        flow: u32,
        change: DcqcnChange,
    },
    Pace {
        flow: u32,
        bound: congestion::Pace,
    },
    /// Pages of a flow's memory are gone: where its messages are posted (0), or at the other end (1).
    Free {
        flow: u32,
        side: usize,
        offset: u64,
        bytes: u64,
    },
    /// All switches have the routes of this table.
    Routes {
        table: usize,
    },
}

impl Agenda {
    /// The events of a scenario that has passed its check, with its flows.
    pub(super) fn new(
        (scenario, plan, flows): (&Scenario, &Plan, &[Connection<'_>]),
        converged: Converged,
        seed: Seed,
    ) -> Self {
        let mut changes: Vec<(Time, Change)> = Vec::new();
        let end = Time::ZERO + scenario.duration;
        let mut subjects = None;
        for (number, event) in scenario.events.iter().enumerate() {
            for (times, at) in (0..).zip(event.times(end)) {
                let seed = seed.derive(&[number as u64, times]);
                let subjects = subjects.get_or_insert_with(|| Subjects::of(scenario, flows));
                let all = planned((scenario, plan, subjects), &event.action, at, seed);
                changes.extend(all.into_iter().map(|change| (at, change)));
            }
        }
        let routes = |(at, table)| (at, Change::Routes { table });
        changes.extend(converged.from.into_iter().map(routes));
        changes.sort_by_key(|change| change.0);
        Self {
            changes: changes.into(),
            tables: converged.tables,
        }
    }

    /// When the next event happens.
    pub(super) fn next(&self) -> Option<Time> {
        self.changes.front().map(|(at, _)| *at)
    }

    /// Adds changes that happen now, behind those that happen now already.
    pub(super) fn add(&mut self, now: Time, changes: Vec<Change>) {
        let place = self.changes.partition_point(|(at, _)| *at <= now);
        let later = self.changes.split_off(place);
        self.changes.extend(changes.into_iter().map(|it| (now, it)));
        self.changes.extend(later);
    }

    fn take(&mut self, now: Time) -> Option<Change> {
        self.next().filter(|at| *at <= now)?;
        self.changes.pop_front().map(|(_, change)| change)
    }
}

/// The changes that an action consists of.
fn planned(
    (scenario, plan, subjects): (&Scenario, &Plan, &Subjects),
    action: &Action,
    at: Time,
    seed: Seed,
) -> Vec<Change> {
    let end = Time::ZERO + scenario.duration;
    let until = |time: &Option<_>| time.map_or(end, |time| at.saturating_add(time).min(end));
    let link = |[a, b]: &[String; 2], up| {
        let ends = plan.between(plan.number(a), plan.number(b));
        let ends = ends.into_iter().flatten().collect();
        vec![Change::Link { ends, up }]
    };
    let host_link = |host: &str, swallow| {
        let node = plan.number(host);
        let ends = plan
            .cables
            .iter()
            .find(|ends| ends[0].0 == node || ends[1].0 == node);
        let ends = *ends.expect("every host has a link");
        vec![Change::Swallow { ends, swallow }]
    };
    match action {
        Action::LinkDown(ends) => link(ends, false),
        Action::LinkUp(ends) => link(ends, true),
        Action::Faults(Faults { from, to, rules }) => {
            let cables = plan.between(plan.number(from), plan.number(to));
            vec![Change::Faults {
                from: cables.into_iter().map(|ends| ends[0]).collect(),
                rules: rules.clone(),
                seed,
            }]
        }
        Action::Die(host) => host_link(host, true),
        Action::Revive(host) => host_link(host, false),
        Action::Stall(Stall { host, time }) => vec![Change::Stall {
            host: plan.number(host),
            until: until(time),
        }],
        Action::PauseStorm(storm) => {
            let host = plan.number(&storm.host);
            let frames = storm_frames(scenario, plan, storm, host, (at, until(&storm.time)));
            vec![Change::Storm { host, frames }]
        }
        Action::Forget(Forget {
            switch,
            host,
            table,
        }) => {
            let address = plan.address(plan.number(host));
            vec![Change::Forget {
                switch: plan.number(switch),
                mac: address.mac,
                ip: address.ip,
                table: *table,
            }]
        }
        Action::Free(free) => (subjects.freed(free))
            .map(|(flow, side)| Change::Free {
                flow: flow.number,
                side,
                offset: free.offset.get(),
                bytes: free.bytes.get(),
            })
            .collect(),
        Action::Set(_)
        | Action::Dcqcn(_)
        | Action::Pace(_)
        | Action::Stop(_)
        | Action::Start(_) => settings(subjects, action),
    }
}

/// The changes that an action consists of which changes settings, or lets flows post messages or not. Others have none.
pub(crate) fn settings(subjects: &Subjects, action: &Action) -> Vec<Change> {
    let posting = |name: &str, stopped| {
        let flows = subjects.flows(name);
        let change = flows.map(|flow| Change::Posting {
            host: flow.posts,
            flow: flow.number,
            stopped,
        });
        change.collect()
    };
    match action {
        Action::Set(set) => {
            let switches = subjects.switches(&set.switch);
            let of_each = switches.flat_map(|it| settings_of(it.node, &it.lossless, set));
            of_each.collect()
        }
        Action::Dcqcn(set) => {
            let change = dcqcn_change(set);
            let hosts = set.host.iter().flat_map(|name| subjects.hosts(name));
            let hosts = hosts.map(|it| Change::Dcqcn {
                host: it.node,
                change,
            });
            let flows = set.flow.iter().flat_map(|name| subjects.flows(name));
            let flows = flows.map(|it| Change::DcqcnOf {
                flow: it.number,
                change,
            });
            hosts.chain(flows).collect()
        }
        Action::Pace(Pace { flow, rate, window }) => {
            let bound = congestion::Pace {
                rate: rate.map(kbps),
                window: *window,
            };
            let flows = subjects.flows(flow);
            let pace = flows.map(|it| Change::Pace {
                flow: it.number,
                bound,
            });
            pace.collect()
        }
        Action::Stop(flow) => posting(flow, true),
        Action::Start(flow) => posting(flow, false),
        _ => Vec::new(),
    }
}

/// New parameters of DCQCN as registers have them.
fn dcqcn_change(set: &SetDcqcn) -> DcqcnChange {
    DcqcnChange {
        g: set.g.map(gain),
        rate_ai: set.rate_ai.map(kbps),
        rate_hai: set.rate_hai.map(kbps),
        alpha_time: set.alpha_timer,
        rate_time: set.rate_timer,
        byte_limit: set.byte_counter.map(byte_limit),
        stages: set.stages,
        cnp_interval: set.cnp_interval,
    }
}

fn settings_of(switch: NodeId, lossless: &[u8], set: &Set) -> Vec<Change> {
    let mut changes = Vec::new();
    for &class in lossless {
        changes.extend(set.xoff.map(|limit| Change::Limit {
            switch,
            class,
            limit,
        }));
    }
    if let Some(ecn) = &set.ecn {
        for &class in ecn.classes.as_deref().unwrap_or(lossless) {
            let red = ecn.curve().red();
            changes.push(Change::Red { switch, class, red });
        }
    }
    let never = set.lossless_never_floods;
    changes.extend(never.map(|never| Change::NeverFlood { switch, never }));
    changes
}

/// The pause frames of a storm. The last one ends the pause.
fn storm_frames(
    scenario: &Scenario,
    plan: &Plan,
    storm: &PauseStorm,
    host: NodeId,
    (from, until): (Time, Time),
) -> Vec<Frame> {
    let rate = plan.rate(host, PortId(0));
    let classes = storm.classes.as_ref().unwrap_or(&scenario.host.lossless);
    let bits = class_bits(classes);
    let pause = |quanta: u16| pfc_frame(plan.address(host).mac, bits, quanta);
    let interval = storm
        .interval
        .unwrap_or_else(|| rate.time_of_quanta(u16::MAX) / 2);
    let mut frames = Vec::new();
    let mut at = from;
    while at < until {
        frames.push(Frame::sent(pause(u16::MAX).into(), at, rate));
        at = at.saturating_add(interval);
    }
    frames.push(Frame::sent(pause(0).into(), until, rate));
    frames
}

/// A PFC frame (IEEE 802.1Q clause 36) that pauses these classes, one bit each, for `quanta`.
fn pfc_frame(src: MacAddr, classes: u8, quanta: u16) -> Bytes {
    let timer = |class: usize| if classes >> class & 1 == 0 { 0 } else { quanta };
    let timers: [u16; PRIORITIES] = std::array::from_fn(timer);
    let pause = PfcRepr {
        class_enable: classes.into(),
        timers,
    };
    control_frame(src, |control| pause.emit(&mut Pfc::new_unchecked(control)))
}

impl Simulation {
    /// Carries out the events that are due.
    pub(super) fn apply_due_events(&mut self) {
        let now = self.now();
        while let Some(change) = self.agenda.take(now) {
            self.change(now, change);
        }
    }

    fn change(&mut self, now: Time, change: Change) {
        match change {
            Change::Link { ends, up } => {
                for (node, port) in ends {
                    self.cut((node, port), !up);
                    self.update(node, |station| station.set_link(now, port, up));
                }
            }
            Change::Faults { from, rules, seed } => {
                for (place, (node, port)) in from.into_iter().enumerate() {
                    if let Some(faults) = self.faults_mut(node, port) {
                        for (number, rule) in rules.iter().enumerate() {
                            let seed = seed.derive(&[place as u64, number as u64]);
                            faults.add(rule.clone(), seed);
                        }
                    }
                }
            }
            Change::Swallow { ends, swallow } => {
                for end in ends {
                    self.cut(end, swallow);
                }
            }
            Change::Stall { host, until } => self.of_host(host, |host| host.hold_writes(until)),
            Change::Storm { host, frames } => {
                if self.network().has(host) {
                    self.network_mut().send_as(host, PortId(0), frames);
                }
            }
            Change::Forget {
                switch,
                mac,
                ip,
                table,
            } => self.of_switch(switch, |switch| {
                let tables = switch.forwarding_mut();
                match table {
                    Table::Arp => tables.arp.forget(&ip),
                    Table::Mac => tables.macs.forget(&mac),
                }
            }),
            Change::Limit {
                switch,
                class,
                limit,
            } => self.of_switch(switch, |switch| switch.set_limit(now, class, limit)),
            Change::Red { switch, class, red } => {
                self.of_switch(switch, |switch| switch.set_red(class, Some(red)));
            }
            Change::NeverFlood { switch, never } => {
                self.of_switch(switch, |switch| switch.set_lossless_never_floods(never));
            }
            Change::Posting {
                host,
                flow,
                stopped,
            } => self.of_host(host, |host| host.set_stopped(flow, now, stopped)),
            Change::Dcqcn { host, change } => self.of_endpoint(host, |endpoint| {
                let set = endpoint.set_dcqcn(None, &change);
                debug_assert!(set, "checked");
            }),
            Change::DcqcnOf { flow, change } => {
                let ends = &self.flows()[flow as usize];
                let (source, qp) = (ends.source, ends.source_qp());
                self.of_endpoint(source, |endpoint| {
                    let set = endpoint.set_dcqcn(Some(qp), &change);
                    debug_assert!(set, "checked");
                });
            }
            Change::Pace { flow, bound } => {
                let ends = &self.flows()[flow as usize];
                let (source, qp) = (ends.source, ends.source_qp());
                self.of_endpoint(source, |endpoint| {
                    let set = endpoint.set_pace(qp, bound);
                    debug_assert!(set, "checked");
                });
            }
            Change::Free {
                flow,
                side,
                offset,
                bytes,
            } => {
                let FlowEnds { from, to, qps, .. } = self.flows()[flow as usize];
                self.of_endpoint([from, to][side], |endpoint| {
                    let va = FlowConfig::base_of(flow) + offset;
                    let freed = endpoint.free(qps[side], va, bytes);
                    debug_assert!(freed, "checked");
                });
            }
            Change::Routes { table } => {
                let first = (self.stations())
                    .find(|(_, station)| station.switch().is_some())
                    .map_or(0, |(node, _)| node.0);
                let tables = self.agenda.tables[table].clone();
                for (number, config) in (first..).zip(tables) {
                    let set = |switch: &mut Switch| switch.set_routes(&config.routes);
                    self.of_switch(NodeId(number), set);
                }
            }
        }
    }

    /// Lets the application post messages of the flows of an entry from now on, or keeps it from that, in all parts.
    pub(crate) fn set_posting(&mut self, entry: &str, posting: bool) {
        self.order_posting(entry, posting);
        let of_entry = |(_, flow): &(usize, &FlowEnds)| entry_of(&flow.name) == entry;
        let flows = self.flows().iter().enumerate().filter(of_entry);
        let flows: Vec<(NodeId, u32)> = flows
            .map(|(place, flow)| (flow.from, place as u32))
            .collect();
        let now = self.now();
        for (host, flow) in flows {
            self.of_host(host, |host| host.set_stopped(flow, now, !posting));
        }
    }

    /// Has changes happen now, in all parts, as if they were the last events of the scenario.
    pub(crate) fn schedule(&mut self, changes: Vec<Change>) {
        self.order_changes(&changes);
        self.agenda.add(self.now(), changes);
    }

    /// Loses all frames that a port sends from now on, or none.
    fn cut(&mut self, (node, port): (NodeId, PortId), cut: bool) {
        if let Some(faults) = self.faults_mut(node, port) {
            faults.set_cut(cut);
        }
    }

    fn of_switch(&mut self, node: NodeId, change: impl FnOnce(&mut Switch)) {
        self.update(node, |station| {
            if let Station::Switch(switch) = station {
                change(switch);
            }
        });
    }

    fn of_endpoint(&mut self, node: NodeId, change: impl FnOnce(&mut dyn Endpoint)) {
        self.update(node, |station| station.endpoint_mut().map(change));
    }

    fn of_host(&mut self, node: NodeId, change: impl FnOnce(&mut xoff_sim::host::Host)) {
        self.update(node, |station| station.host_mut().map(change));
    }
}
