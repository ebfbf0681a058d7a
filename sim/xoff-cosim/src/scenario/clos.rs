//! A Clos network of podsets, as in "RDMA over Commodity Ethernet at Scale" (SIGCOMM 2016), section 5.4.

use xoff_sim::time::{ByteCount, Duration, Length};

use super::host::Dcqcn;
use super::switch::Ecn;
use super::{FlowSettings, NicKind, Scenario};

/// A Clos network: podsets of racks under leaf switches, joined by spines.
///
/// The spines are divided evenly: leaf `i` of each podset is connected to the spines from `i · spines / leaves` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clos {
    /// Number of podsets.
    pub podsets: u32,
    /// Racks in each podset, each with one switch.
    pub tors: u32,
    /// Hosts in each rack.
    pub servers: u32,
    /// Leaf switches in each podset.
    pub leaves: u32,
    /// Spine switches in total, a multiple of `leaves`.
    pub spines: u32,
}

impl Clos {
    /// The network of the paper's section 5.4: 2 podsets of 24 racks with 8 hosts each, 4 leaves, 64 spines.
    pub const PAPER: Self = Self {
        podsets: 2,
        tors: 24,
        servers: 8,
        leaves: 4,
        spines: 64,
    };

    /// Creates a scenario with this network, model NICs and DCQCN.
    ///
    /// There are `flows` flows from each host of the first podset to the host at the same place of the second podset,
    /// and as many in the other direction. Hosts are named `h<podset>x<rack>x<place>`, switches `t<podset>x<rack>`,
    /// `l<podset>x<leaf>` and `s<spine>`.
    pub fn scenario(self, flows: u32, duration: Duration) -> Scenario {
        let mut scenario = Scenario::new("Clos network", duration);
        scenario.name = "clos".into();
        scenario.host.nic = NicKind::Model;
        scenario.host.dcqcn = Some(Dcqcn::default());
        let host = |podset, tor, server| format!("h{podset}x{tor}x{server}");
        let each = |podset| {
            let racks =
                (0..self.tors).flat_map(move |tor| (0..self.servers).map(move |s| (tor, s)));
            racks.map(move |(tor, server)| (podset, tor, server))
        };
        for (podset, tor, server) in (0..self.podsets).flat_map(each) {
            let name = host(podset, tor, server);
            scenario = scenario.host(&name);
            scenario = scenario.link(&name, &format!("t{podset}x{tor}"), Length::from_m(2));
        }
        for podset in 0..self.podsets {
            for tor in 0..self.tors {
                scenario = scenario.switch(&format!("t{podset}x{tor}"));
                for leaf in 0..self.leaves {
                    let ends = (format!("t{podset}x{tor}"), format!("l{podset}x{leaf}"));
                    scenario = scenario.link(&ends.0, &ends.1, Length::from_m(20));
                }
            }
            let each = self.spines / self.leaves;
            for leaf in 0..self.leaves {
                let name = format!("l{podset}x{leaf}");
                scenario = scenario.switch(&name);
                for spine in leaf * each..(leaf + 1) * each {
                    scenario = scenario.link(&name, &format!("s{spine}"), Length::from_m(300));
                }
            }
        }
        for spine in 0..self.spines {
            scenario = scenario.switch(&format!("s{spine}"));
        }
        for switch in &mut scenario.switches {
            switch.ecn = Some(Ecn::default());
        }
        for (_, tor, server) in each(0) {
            for _ in 0..flows {
                for (from, to) in [(0, 1), (1, 0)] {
                    let name = format!("f{}", scenario.flows.len());
                    let [from, to] = [from, to].map(|podset| host(podset, tor, server));
                    let mut flow = FlowSettings::new(&name, &from, &to);
                    flow.message = ByteCount::new(64 << 10);
                    scenario = scenario.flow(flow);
                }
            }
        }
        scenario
    }
}
