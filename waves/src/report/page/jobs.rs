//! The table of jobs: patterns and requests, how long their rounds took, and who was last.

use maud::{Markup, html};

use super::MOST_ROWS;
use crate::report::scale::{number, time, with_groups};
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
            td.number { (job.hosts) }
            td.number.bad[job.rounds == 0] { (with_groups(&job.rounds.to_string())) }
            td.number { (ns(job.median_ns)) }
            td.number { (ns(job.longest_ns)) }
            td.number { @match job.bus_bandwidth_gbps { Some(rate) => { (number(rate)) " Gb/s" } None => { "–" } } }
            td { (last.join("; ")) }
        }
    }
}
