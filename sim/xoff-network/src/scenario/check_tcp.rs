//! Checks of flows between hosts that speak TCP.

use std::collections::BTreeSet;

use super::check::{Issue, issue};
use super::connection::Connection;
use super::{FlowSettings, Operation, Scenario};

/// What the keys of a flow mean to RDMA alone, and what TCP has instead.
const RDMA_ONLY: &str = "RDMA's; TCP's settings are in host.tcp";

impl Scenario {
    /// Checks the flows that begin or end at TCP hosts: both ends speak it, their class is lossy everywhere, and no key
    /// is given that only RDMA knows. Each entry of flows says a mistake once.
    pub(super) fn check_tcp(&self, flows: &[Connection<'_>]) -> Vec<Issue> {
        let hosts = self.tcp_hosts();
        let mut said = BTreeSet::new();
        let mut found = Vec::new();
        for flow in flows {
            let [from, to] = [&flow.from, &flow.to].map(|end| hosts.contains(end));
            let name = &flow.settings.name;
            if from != to && said.insert((name, "ends")) {
                let (tcp, rdma) = match from {
                    true => (&flow.from, &flow.to),
                    false => (&flow.to, &flow.from),
                };
                let problem =
                    format!("{tcp} speaks TCP and {rdma} RDMA: both ends have one of them");
                found.push(issue(format!("flows.{name}"), problem));
            }
            if !(from && to) {
                continue;
            }
            if said.insert((name, "keys")) {
                found.extend(rdma_only(flow.settings));
                found.extend(self.lossless_tcp(flow));
            }
            let writes = flow.operations().all(|it| it == Operation::Write);
            if !writes && said.insert((name, "operation")) {
                let (key, problem) = match flow.settings.operation {
                    _ if flow.settings.mix.is_some() => {
                        ("mix", "a byte stream has no operations: leave it out")
                    }
                    Operation::Write => ("pattern", "its messages take receive buffers: RDMA only"),
                    _ => (
                        "operation",
                        "a byte stream has none: \"write\", or leave it out",
                    ),
                };
                found.push(issue(format!("flows.{name}.{key}"), problem));
            }
        }
        found
    }

    /// A class of TCP that some port pauses for.
    fn lossless_tcp(&self, flow: &Connection<'_>) -> Option<Issue> {
        let settings = flow.settings;
        let class = self.host.classify.class(flow.dscp, settings.pcp);
        let switches = self.switches.iter();
        let switch = switches.filter_map(|switch| {
            let class = switch.classify.class(flow.dscp, settings.pcp);
            let place = || format!("switch {}", switch.name);
            switch.lossless.contains(&class).then(|| (class, place()))
        });
        let host = self.host.lossless.contains(&class);
        let host = host.then(|| (class, "host.lossless".to_owned()));
        let (class, place) = host.into_iter().chain(switch).next()?;
        let key = format!("flows.{}.dscp", settings.name);
        let problem = format!(
            "{}: class {class}, which is lossless at {place}; TCP goes in a lossy class of its own, such as dscp = 0",
            flow.dscp
        );
        Some(issue(key, problem))
    }
}

/// Keys that differ from their defaults and that TCP does not have.
fn rdma_only(flow: &FlowSettings) -> Vec<Issue> {
    let plain = FlowSettings::new("", "", "");
    let keys = [
        ("mtu", flow.mtu != plain.mtu),
        ("ack_dscp", flow.ack_dscp.is_some()),
        ("ack_pcp", flow.ack_pcp.is_some()),
        ("recovery", flow.recovery != plain.recovery),
        ("window", flow.window != plain.window),
        ("ack_every", flow.ack_every != plain.ack_every),
        ("timeout", flow.timeout != plain.timeout),
        ("few_timeout", flow.few_timeout != plain.few_timeout),
        ("retries", flow.retries != plain.retries),
        ("nak_retry", flow.nak_retry != plain.nak_retry),
        ("rnr_retries", flow.rnr_retries != plain.rnr_retries),
    ];
    let given = keys.into_iter().filter(|(_, given)| *given);
    given
        .map(|(key, _)| issue(format!("flows.{}.{key}", flow.name), RDMA_ONLY))
        .collect()
}

#[cfg(test)]
mod tests {
    use xoff_sim::time::Duration;

    use super::*;
    use crate::scenario::{NicKind, TcpCongestion};
    use crate::testing::tcp_pair;

    fn wrong(change: impl FnOnce(&mut Scenario)) -> String {
        let flow = FlowSettings::new("f", "a", "b");
        let mut scenario = tcp_pair(flow, Duration::from_ms(1));
        change(&mut scenario);
        scenario
            .checked()
            .map_or_else(|wrong| wrong.to_string(), |_| String::new())
    }

    #[test]
    fn what_does_not_fit_is_said() {
        assert_eq!(wrong(|_| ()), "");
        assert_eq!(
            wrong(|it| it.flows[0].dscp = 26),
            "flows.f.dscp: 26: class 3, which is lossless at host.lossless; TCP goes in a lossy class of its own, such as \
             dscp = 0"
        );
        assert_eq!(
            wrong(|it| it.switches[0].lossless = vec![0]),
            "flows.f.dscp: 0: class 0, which is lossless at switch s; TCP goes in a lossy class of its own, such as \
             dscp = 0"
        );
        assert_eq!(
            wrong(|it| it.hosts[1].nic = Some(NicKind::Model)),
            "flows.f: a speaks TCP and b RDMA: both ends have one of them"
        );
        assert_eq!(
            wrong(|it| (it.flows[0].window, it.flows[0].timeout) = (8, 3)),
            "flows.f.window: RDMA's; TCP's settings are in host.tcp\n\
             flows.f.timeout: RDMA's; TCP's settings are in host.tcp"
        );
        assert_eq!(
            wrong(|it| it.flows[0].operation = Operation::Send),
            "flows.f.operation: a byte stream has none: \"write\", or leave it out"
        );
        assert_eq!(
            wrong(|it| it.flows[0].mix = Some([(Operation::Read, 1)].into())),
            "flows.f.mix: a byte stream has no operations: leave it out"
        );
    }

    #[test]
    fn numbers_of_tcp_are_in_their_ranges() {
        assert_eq!(
            wrong(|it| it.host.tcp.mtu = 100),
            "host.tcp.mtu: 100: 576 to 9000 bytes"
        );
        assert_eq!(
            wrong(|it| it.host.tcp.kernel_p99 = Duration::from_us(1)),
            "host.tcp.kernel_p99: 1 us is below the median, 50 us"
        );
        let cubic = wrong(|it| {
            it.host.tcp.congestion = TcpCongestion::Cubic;
            it.host.tcp.min_rto = Duration::from_ms(300);
        });
        assert_eq!(
            cubic,
            "host.tcp.min_rto: 300 ms: 1 s with cubic, whose growth counts seconds"
        );
    }
}
