//! What probes met, and what the watch over servers saw.

use maud::{Markup, html};

use super::{MOST_ROWS, with_code};
use crate::report::scale::{number, time, with_groups};
use xoff_network::detect::Probes;
use xoff_network::onboarding::Stage;
use xoff_network::watch::{Server, Servers};
use xoff_network::words::part;

/// Renders probes by how far they go.
pub fn probes(probes: &[Probes]) -> Markup {
    let latency = |probes: &Probes, which: usize| match probes.latency_ns {
        Some(latencies) => time(latencies[which]),
        None => "–".into(),
    };
    html! {
        @if !probes.is_empty() {
            h2 { "Pingmesh" }
            table.stack {
                thead { tr {
                    th { "reach" } th.number { "pairs" } th.number { "answered" } th.number { "median" }
                    th.number { "99 %" } th.number { "99.9 %" } th.number { "longest" } th { "failed" }
                } }
                tbody { @for of_reach in probes {
                    tr {
                        td { (of_reach.reach) }
                        td.number data-label="pairs" { (with_groups(&of_reach.pairs.to_string())) }
                        td.number.bad[of_reach.answered == 0] data-label="answered" { (with_groups(&of_reach.answered.to_string())) }
                        @for (which, label) in ["median", "99 %", "99.9 %", "longest"].into_iter().enumerate() {
                            td.number data-label=(label) { (latency(of_reach, which)) }
                        }
                        td.bad[!of_reach.failed.is_empty()] data-label="failed" { (failures(of_reach)) }
                    }
                } }
            }
            p.muted { (with_code("Since the start of the run: `tor` is behind the same switch, `podset` at most three switches away, `dc` farther. A probe that was lost and sent again is answered, and has failed.")) }
        }
    }
}

fn failures(probes: &Probes) -> String {
    let reason = |(reason, count): (&xoff_network::detect::Failure, &u64)| {
        format!("{} {}", with_groups(&count.to_string()), reason.words())
    };
    let reasons: Vec<String> = probes.failed.iter().map(reason).collect();
    match reasons.is_empty() {
        true => "none".into(),
        false => reasons.join(", "),
    }
}

/// Renders the stages in which flows were let in.
pub fn stages(stages: &[Stage]) -> Markup {
    html! {
        @if !stages.is_empty() {
            h2 { "Onboarding" }
            table.stack {
                thead { tr { th.number { "stage" } th { "flows" } th.number { "let in" } th { "against it" } } }
                tbody { @for (number, stage) in (1..).zip(stages) {
                    tr {
                        td.number { (number) }
                        td data-label="flows" { (stage.flows.join(", ")) }
                        td.number.bad[stage.from_ns.is_none()] data-label="let in" {
                            @match stage.from_ns { Some(0) => "at the start", Some(ns) => (time(ns)), None => "never" }
                        }
                        td.bad[!stage.against.is_empty()] data-label="against it" {
                            @match &stage.against[..] {
                                [] => "nothing",
                                reasons => @for reason in reasons { div { (reason) } }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// Renders the servers that were not quiet.
pub fn servers(servers: Option<&Servers>) -> Markup {
    let Some(servers) = servers else {
        return html! {};
    };
    let intervals = servers.intervals.len();
    let shown = &servers.noted[..servers.noted.len().min(MOST_ROWS)];
    let worst = servers.intervals.iter().map(|all| all.available).min();
    html! {
        h2 { "Servers" }
        p {
            (with_groups(&servers.number.to_string())) " servers over " (intervals) " intervals of " (time(servers.interval_ns))
            ": available for " (servers.availability_text()) " of the time"
            @if let Some(worst) = worst { ", at worst " (with_groups(&worst.to_string())) " of them" }
            "."
        }
        @if !shown.is_empty() {
            table.stack {
                thead { tr {
                    th { "server" } th.number { "in alarm" } th.number { "unavailable" } th.number { "pauses sent" }
                    th.number { "most in a second" } th.number { "stopped its switch" } th.number { "pauses received" }
                    th.number { "stood" }
                } }
                tbody { @for server in shown { (row(server, intervals)) } }
            }
            p.muted { (with_code("How long a server stopped its switch, and stood itself, is of its worst interval; `servers.csv` has each interval.")) }
            @if servers.noted.len() > shown.len() {
                p.muted { "and " (with_groups(&(servers.noted.len() - shown.len()).to_string())) " more servers: summary.json has all" }
            }
        }
    }
}

fn row(server: &Server, intervals: usize) -> Markup {
    let of = |count: usize| format!("{count} of {intervals}");
    html! {
        tr {
            td { (server.name) }
            td.number.bad[server.alarms > 0] data-label="in alarm" { (of(server.alarms)) }
            td.number.bad[server.unavailable > 0] data-label="unavailable" { (of(server.unavailable)) }
            td.number data-label="pauses sent" { (with_groups(&server.pauses_sent.to_string())) }
            td.number data-label="most in a second" { (number(server.most_pauses_per_s)) }
            td.number data-label="stopped its switch" { (part(server.most_stopped)) }
            td.number data-label="pauses received" { (with_groups(&server.pauses_received.to_string())) }
            td.number data-label="stood" { (part(server.most_stood)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_network::detect::Failure;
    use xoff_network::watch::AllServers;

    #[test]
    fn probes_have_their_failures_by_reason() {
        let of_reach = |reach: &str, latency_ns, failed: &[(Failure, u64)]| Probes {
            reach: reach.into(),
            pairs: 384,
            answered: 30_000,
            latency_ns,
            failed: failed.iter().copied().collect(),
        };
        assert_eq!(probes(&[]).into_string(), "");
        let lost = [(Failure::SentAgain, 12), (Failure::NoAnswer, 1_024)];
        let rows = [
            of_reach("tor", Some([5_100, 5_300, 5_400, 5_500]), &[]),
            of_reach("dc", None, &lost),
        ];
        let table = probes(&rows).into_string();
        for shown in ["5.1 µs", "none", "12 sent again, 1,024 no answer"] {
            assert!(table.contains(shown), "{shown}: {table}");
        }
        assert_eq!(table.matches("–").count(), 4, "{table}");
    }

    #[test]
    fn stages_say_what_was_against_them() {
        let stage = |flows: &str, from_ns, against: &[&str]| Stage {
            flows: vec![flows.into()],
            from_ns,
            against: against.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(stages(&[]).into_string(), "");
        let page = stages(&[
            stage("rack", Some(0), &[]),
            stage("podset", None, &["lx: lossless is no class", "and more"]),
        ]);
        let page = page.into_string();
        for shown in ["nothing", "never", "lx: lossless is no class", "and more"] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert_eq!(page.matches("bad").count(), 2, "{page}");
    }

    #[test]
    fn servers_in_alarm_stand_out() {
        let server = Server {
            name: "h200".into(),
            alarms: 5,
            unavailable: 4,
            pauses_sent: 12_000,
            pauses_received: 0,
            most_pauses_per_s: 2_400_000.0,
            most_stopped: 1.0,
            most_stood: 0.0,
        };
        let all = |available| AllServers {
            available,
            ..AllServers::default()
        };
        let seen = Servers {
            interval_ns: 1_000_000,
            number: 384,
            intervals: [vec![all(384); 4], vec![all(383); 4]].concat(),
            noted: vec![server],
            rows: Vec::new(),
        };
        let page = servers(Some(&seen)).into_string();
        for shown in ["h200", "5 of 8", "4 of 8", "100 %", "at worst 383 of them"] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert_eq!(servers(None).into_string(), "");
    }
}
