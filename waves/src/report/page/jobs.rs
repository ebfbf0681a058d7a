//! The table of jobs: patterns and requests, how long their rounds took, and who was last.

use maud::{Markup, html};

use super::MOST_ROWS;
use crate::report::scale::{quantity, time, with_groups};
use xoff_network::results::{Job, Straggler};

/// Renders the jobs.
pub fn jobs(jobs: &[Job]) -> Markup {
    let shown = &jobs[..jobs.len().min(MOST_ROWS)];
    html! {
        @if !jobs.is_empty() {
            h2 { "Jobs" }
            table.stack {
                thead { tr {
                    th { "job" } th.number { "hosts" } th.number { "rounds" } th.number { "median" }
                    th.number { "longest" } th.number { "bus bandwidth" } th { "last" }
                } }
                tbody { @for job in shown { (row(job)) } }
            }
            p.muted { "A round is over when the last host has seen all of its messages; who is last is compared with the median host." }
            @if jobs.len() > shown.len() {
                p.muted { "and " (jobs.len() - shown.len()) " more jobs: summary.json has all" }
            }
        }
    }
}

fn row(job: &Job) -> Markup {
    let last = |one: &Straggler| {
        format!(
            "{} in {}, by up to {}",
            one.host,
            one.rounds,
            time(one.late_ns)
        )
    };
    let last: Vec<String> = job.stragglers.iter().map(last).collect();
    let ns = |ns: Option<u64>| ns.map_or("–".into(), time);
    html! {
        tr {
            td { (job.name) " " span.muted { (job.kind) } }
            td.number data-label="hosts" { (job.hosts) }
            td.number.bad[job.rounds == 0] data-label="rounds" { (with_groups(&job.rounds.to_string())) }
            td.number data-label="median" { (ns(job.median_ns)) }
            td.number data-label="longest" { (ns(job.longest_ns)) }
            td.number data-label="bus bandwidth" { (job.bus_bandwidth_gbps.map_or("–".into(), |rate| quantity(1e9 * rate, "b/s"))) }
            td data-label="last" { (last.join("; ")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(rounds: usize) -> Job {
        let straggler = |host: &str, rounds, late_ns| Straggler {
            host: host.into(),
            rounds,
            late_ns,
        };
        Job {
            name: "reduce".into(),
            kind: "ring-all-reduce".into(),
            hosts: 16,
            rounds,
            median_ns: (rounds > 0).then_some(500_408),
            longest_ns: (rounds > 0).then_some(612_000),
            bus_bandwidth_gbps: (rounds > 0).then_some(31.4),
            stragglers: vec![straggler("h5", 2, 111_000), straggler("h9", 1, 40)],
        }
    }

    #[test]
    fn the_table_names_jobs_and_who_was_last() {
        assert_eq!(jobs(&[]).into_string(), "");
        let table = jobs(&[job(3)]).into_string();
        for shown in [
            "reduce",
            "ring-all-reduce",
            "500.4",
            "612",
            "31.4 Gb/s",
            "h5 in 2, by up to 111",
            "h9 in 1",
        ] {
            assert!(table.contains(shown), "{shown}: {table}");
        }
        assert!(!table.contains("bad"), "{table}");
    }

    /// A job of which no round is over stands out.
    #[test]
    fn a_job_without_a_round_is_marked() {
        let table = jobs(&[job(0)]).into_string();
        assert!(
            table.contains("<td class=\"number bad\" data-label=\"rounds\">0</td>"),
            "{table}"
        );
        assert_eq!(table.matches("–").count(), 3, "{table}");
    }
}
