//! Files of ns-3's RDMA simulations: topologies, lists of flows, and distributions of flow sizes.
//!
//! The formats are those of the HPCC artefact (`alibaba-edu/High-Precision-Congestion-Control`) and what was derived
//! from it. As there, what stands behind the announced number of entries is not read: it is often a comment.

use std::collections::BTreeSet;
use std::str::FromStr;

use xoff_sim::seeded::Chance;
use xoff_sim::time::{ByteCount, Duration, LineRate, Rate};

use super::check::{MOST_HOSTS, Misfit, Misfits, RATES};
use super::topology::{LEAST_DELAY, misfit};

/// Largest message of a flow, which is that of a work request: 2³¹ bytes.
pub const MOST_BYTES: u64 = 1 << 31;
/// Denominator of loss rates: a billionth is the least.
const LOSS_PARTS: u32 = 1_000_000_000;

/// A topology file: `nodes switches links`, the numbers of the switches, then for each link `a b rate delay
/// error_rate`, such as `0 320 100Gbps 1000ns 0`. The nodes that are no switches are hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Name of the file, for messages.
    pub file: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Which of them are switches.
    pub switches: BTreeSet<u32>,
    /// The links.
    pub links: Vec<NetworkLink>,
}

/// A link of a topology file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkLink {
    /// Line of the file, from 1.
    pub line: usize,
    /// Its two nodes.
    pub ends: [u32; 2],
    /// Its rate.
    pub rate: LineRate,
    /// Time from the last bit at one end to the last bit at the other.
    pub delay: Duration,
    /// Part of the frames that is lost in each direction.
    pub loss: Chance,
}

/// A flow of a list: one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedFlow {
    /// Line of the file, from 1.
    pub line: usize,
    /// Number of the host that sends.
    pub src: u32,
    /// Number of the host that receives.
    pub dst: u32,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Bytes of the message.
    pub bytes: ByteCount,
    /// When it is posted.
    pub start: Duration,
}

/// A file with a list of flows: their number, then for each `src dst priority dst_port bytes start_s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowList {
    /// Name of the file, for messages.
    pub file: String,
    /// The flows, in the order of the file.
    pub flows: Vec<ListedFlow>,
}

/// A distribution of flow sizes: points of `bytes percentile`, with straight lines between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    /// Bytes and percentile of each point; the first is 0 %, the last 100 %.
    pub points: Vec<(f64, f64)>,
}

/// Lines that are not empty, each with its number from 1, and the problems found in them.
struct Reader<'a> {
    file: &'a str,
    lines: Vec<(usize, Vec<&'a str>)>,
    next: usize,
    found: Vec<Misfit>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, text: &'a str) -> Self {
        let fields = |line: &'a str| line.split_whitespace().collect::<Vec<_>>();
        let lines = (1..).zip(text.lines().map(fields));
        Self {
            file,
            lines: lines.filter(|(_, fields)| !fields.is_empty()).collect(),
            next: 0,
            found: Vec::new(),
        }
    }

    fn line(&mut self) -> Option<(usize, Vec<&'a str>)> {
        let line = self.lines.get(self.next).cloned();
        self.next += 1;
        line
    }

    fn wrong(&mut self, line: usize, problem: impl Into<String>) {
        (self.found).push(misfit(format!("{}:{line}", self.file), problem));
    }

    /// The line behind which the file ends.
    fn last(&self) -> usize {
        self.lines.last().map_or(1, |(line, _)| *line)
    }

    /// Exactly the fields of these names. The first too few or too many is a problem.
    fn fields<'f, const N: usize>(
        &mut self,
        line: usize,
        read: &[&'f str],
        names: &str,
    ) -> Option<[&'f str; N]> {
        let fields = <[&str; N]>::try_from(read).ok();
        if fields.is_none() {
            let problem = format!("'{}': {N} fields are right: {names}", read.join(" "));
            self.wrong(line, problem);
        }
        fields
    }

    /// A field as a number.
    fn number<T: FromStr>(&mut self, line: usize, what: &str, text: &str) -> Option<T> {
        let number = text.parse().ok();
        if number.is_none() {
            self.wrong(line, format!("{what} '{text}': a number is right"));
        }
        number
    }

    fn done<T>(self, value: T) -> Result<T, Misfits> {
        match self.found.is_empty() {
            true => Ok(value),
            false => Err(Misfits(self.found)),
        }
    }
}

/// `100Gbps`, as ns-3 writes rates.
fn rate(text: &str) -> Result<LineRate, String> {
    let right = "10 to 400 Gbps of whole picoseconds a byte, such as 100Gbps";
    let (number, unit) = split_unit(text);
    let unit = match unit {
        "bps" => "b/s",
        "kbps" | "Kbps" => "Kb/s",
        "Mbps" => "Mb/s",
        "Gbps" => "Gb/s",
        "Tbps" => "Tb/s",
        _ => return Err(format!("rate '{text}': {right}")),
    };
    let rate: Result<Rate, _> = format!("{number} {unit}").parse();
    let line = rate.ok().filter(|rate| RATES.contains(rate));
    line.and_then(|rate| LineRate::try_from(rate).ok())
        .ok_or_else(|| format!("rate '{text}': {right}"))
}

/// `1000ns`, as ns-3 writes times.
fn delay(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let delay: Result<Duration, _> = format!("{number} {unit}").parse();
    let delay = delay.map_err(|_| {
        format!("delay '{text}': a time with unit (ps, ns, us, ms or s) is right, such as 1000ns")
    })?;
    if delay < LEAST_DELAY {
        return Err(format!("delay '{text}': {LEAST_DELAY} or more"));
    }
    Ok(delay)
}

fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    text.split_at(end.unwrap_or(text.len()))
}

impl Network {
    /// Reads a topology. `file` is its name, for messages.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, Misfits> {
        let mut reader = Reader::new(file, text);
        let mut network = Self {
            file: file.into(),
            nodes: 0,
            switches: BTreeSet::new(),
            links: Vec::new(),
        };
        let Some((nodes, switches, links)) = network_head(&mut reader) else {
            return reader.done(network);
        };
        network.nodes = nodes;
        network.read_switches(&mut reader, switches);
        for read in 0..links {
            let Some((line, fields)) = reader.line() else {
                let problem = format!("the file ends here with {read} of {links} links");
                reader.wrong(reader.last(), problem);
                break;
            };
            let link = network_link(&mut reader, line, &fields, nodes);
            network.links.extend(link);
        }
        if reader.found.is_empty() {
            network.check_ports(&mut reader);
        }
        reader.done(network)
    }

    fn read_switches(&mut self, reader: &mut Reader<'_>, switches: u32) {
        let mut read = 0;
        while read < switches {
            let Some((line, fields)) = reader.line() else {
                let problem = format!("the file ends here with {read} of {switches} switches");
                reader.wrong(reader.last(), problem);
                return;
            };
            for field in fields {
                read += 1;
                if read > switches {
                    let problem = format!("'{field}': more numbers than the {switches} switches");
                    reader.wrong(line, problem);
                    return;
                }
                let Some(node) = reader.number::<u32>(line, "switch", field) else {
                    continue;
                };
                if node >= self.nodes {
                    let problem = format!("switch {node}: nodes are 0 to {}", self.nodes - 1);
                    reader.wrong(line, problem);
                } else if !self.switches.insert(node) {
                    reader.wrong(line, format!("switch {node} is here twice"));
                }
            }
        }
    }

    /// Every host has one link.
    fn check_ports(&self, reader: &mut Reader<'_>) {
        let mut ports = vec![0_u32; self.nodes as usize];
        for link in &self.links {
            for end in link.ends {
                ports[end as usize] += 1;
                if ports[end as usize] == 2 && !self.switches.contains(&end) {
                    let problem =
                        format!("a second link of node {end}, which is no switch: a host has one");
                    reader.wrong(link.line, problem);
                }
            }
        }
        for node in self.hosts().filter(|node| ports[*node as usize] == 0) {
            let problem = format!("no link has node {node}: a host has one");
            reader.wrong(reader.last(), problem);
        }
    }

    /// The numbers of the hosts.
    pub fn hosts(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.nodes).filter(|node| !self.switches.contains(node))
    }
}

/// The first line of a topology.
fn network_head(reader: &mut Reader<'_>) -> Option<(u32, u32, u32)> {
    let names = "nodes switches links";
    let Some((line, fields)) = reader.line() else {
        reader.wrong(1, format!("the file is empty: {names} are right"));
        return None;
    };
    let [nodes, switches, links] = reader.fields(line, &fields, names)?;
    let nodes: Option<u32> = reader.number(line, "number of nodes", nodes);
    let switches: Option<u32> = reader.number(line, "number of switches", switches);
    let links: Option<u32> = reader.number(line, "number of links", links);
    let (nodes, switches, links) = (nodes?, switches?, links?);
    let most = 2 * MOST_HOSTS as u32;
    if nodes == 0 || nodes > most {
        reader.wrong(line, format!("{nodes} nodes: 1 to {most}"));
        return None;
    }
    if switches >= nodes {
        let problem = format!("{switches} switches among {nodes} nodes: none is a host");
        reader.wrong(line, problem);
        return None;
    }
    Some((nodes, switches, links))
}

fn network_link(
    reader: &mut Reader<'_>,
    line: usize,
    fields: &[&str],
    nodes: u32,
) -> Option<NetworkLink> {
    let [a, b, wire, time, loss] = reader.fields(line, fields, "a b rate delay error_rate")?;
    let mut node = |text: &str| {
        let node: u32 = reader.number(line, "node", text)?;
        if node >= nodes {
            reader.wrong(line, format!("node {node}: nodes are 0 to {}", nodes - 1));
        }
        (node < nodes).then_some(node)
    };
    let ends = (node(a), node(b));
    if let (Some(a), Some(b)) = ends
        && a == b
    {
        reader.wrong(line, format!("node {a} is joined with itself"));
    }
    let rate = rate(wire)
        .map_err(|problem| reader.wrong(line, problem))
        .ok();
    let delay = delay(time)
        .map_err(|problem| reader.wrong(line, problem))
        .ok();
    let part: Option<f64> = reader.number(line, "error_rate", loss);
    let loss = part.and_then(|part| {
        let parts = (part * f64::from(LOSS_PARTS)).round();
        let chance = (0.0..=1.0).contains(&part).then(|| match parts as u32 {
            0 => Chance::NEVER,
            parts => Chance::new(parts, LOSS_PARTS).unwrap_or(Chance::ALWAYS),
        });
        if chance.is_none() {
            reader.wrong(
                line,
                format!("error_rate {loss}: a part of the frames, 0 to 1"),
            );
        }
        chance
    });
    let ((Some(a), Some(b)), Some(rate), Some(delay), Some(loss)) = (ends, rate, delay, loss)
    else {
        return None;
    };
    Some(NetworkLink {
        line,
        ends: [a, b],
        rate,
        delay,
        loss,
    })
}

impl FlowList {
    /// Reads a list of flows. `file` is its name, for messages.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, Misfits> {
        let mut reader = Reader::new(file, text);
        let mut list = Self {
            file: file.into(),
            flows: Vec::new(),
        };
        let Some((line, fields)) = reader.line() else {
            reader.wrong(1, "the file is empty: the number of flows is right");
            return reader.done(list);
        };
        let Some([count]) = reader.fields(line, &fields, "the number of flows") else {
            return reader.done(list);
        };
        let Some(count) = reader.number::<u32>(line, "number of flows", count) else {
            return reader.done(list);
        };
        for read in 0..count {
            let Some((line, fields)) = reader.line() else {
                let problem = format!("the file ends here with {read} of {count} flows");
                reader.wrong(reader.last(), problem);
                break;
            };
            let flow = listed_flow(&mut reader, line, &fields);
            list.flows.extend(flow);
        }
        reader.done(list)
    }
}

fn listed_flow(reader: &mut Reader<'_>, line: usize, fields: &[&str]) -> Option<ListedFlow> {
    let names = "src dst priority dst_port bytes start_s";
    let [src, dst, priority, port, bytes, start] = reader.fields(line, fields, names)?;
    let src: Option<u32> = reader.number(line, "src", src);
    let dst: Option<u32> = reader.number(line, "dst", dst);
    let priority: Option<u32> = reader.number(line, "priority", priority);
    let port: Option<u32> = reader.number(line, "dst_port", port);
    let bytes: Option<u64> = reader.number(line, "bytes", bytes);
    let start = seconds(start)
        .map_err(|problem| reader.wrong(line, problem))
        .ok();
    let (src, dst, priority, bytes, start) = (src?, dst?, priority?, bytes?, start?);
    let before = reader.found.len();
    if src == dst {
        reader.wrong(line, format!("host {src} would send to itself"));
    }
    if priority > 7 {
        reader.wrong(line, format!("priority {priority}: 0 to 7"));
    }
    if port? > u16::MAX.into() {
        reader.wrong(line, format!("dst_port {}: 0 to 65535", port?));
    }
    if !(1..=MOST_BYTES).contains(&bytes) {
        reader.wrong(
            line,
            format!("{bytes} bytes: 1 to {MOST_BYTES}, one message"),
        );
    }
    (reader.found.len() == before).then_some(ListedFlow {
        line,
        src,
        dst,
        priority: priority as u8,
        bytes: ByteCount::new(bytes),
        start,
    })
}

/// A time in seconds: exact as a decimal number, rounded to picoseconds in the notation with an exponent.
fn seconds(text: &str) -> Result<Duration, String> {
    if let Ok(exact) = format!("{text} s").parse() {
        return Ok(exact);
    }
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|number| (0.0..1e6).contains(number));
    let ps = number.map(|number| Duration::from_ps((number * 1e12).round() as u64));
    ps.ok_or_else(|| format!("start_s '{text}': a time in seconds is right, such as 2.0001"))
}

impl Sizes {
    /// Reads a distribution. `file` is its name, for messages.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, Misfits> {
        let mut reader = Reader::new(file, text);
        let mut points: Vec<(f64, f64)> = Vec::new();
        while let Some((line, fields)) = reader.line() {
            let Some([bytes, percent]) = reader.fields(line, &fields, "bytes percentile") else {
                continue;
            };
            let bytes: Option<f64> = reader.number(line, "bytes", bytes);
            let percent: Option<f64> = reader.number(line, "percentile", percent);
            let (Some(bytes), Some(percent)) = (bytes, percent) else {
                continue;
            };
            if !(0.0..=MOST_BYTES as f64).contains(&bytes) {
                reader.wrong(line, format!("{bytes} bytes: 0 to {MOST_BYTES}"));
                continue;
            }
            let last = points.last().copied();
            if !(0.0..=100.0).contains(&percent) {
                reader.wrong(line, format!("percentile {percent}: 0 to 100"));
            } else if last.is_none() && percent != 0.0 {
                let problem = format!("percentile {percent}: the first is 0, of the least size");
                reader.wrong(line, problem);
            } else if let Some((before, below)) = last
                && (bytes < before || percent < below)
            {
                let problem = format!(
                    "{bytes} bytes, {percent} %: neither may be less than on the line before, {before} bytes and {below} %"
                );
                reader.wrong(line, problem);
            }
            points.push((bytes, percent));
        }
        let sizes = Self { points };
        if reader.found.is_empty() {
            let last = reader.last();
            match sizes.points.as_slice() {
                [] => reader.wrong(
                    1,
                    "the file is empty: lines of bytes and percentile are right",
                ),
                [.., (_, percent)] if *percent != 100.0 => {
                    let problem = format!("ends at {percent} %: the last percentile is 100");
                    reader.wrong(last, problem);
                }
                _ if sizes.mean() < 1.0 => {
                    reader.wrong(last, "flows of less than a byte on average");
                }
                _ => {}
            }
        }
        reader.done(sizes)
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        let steps = self.points.windows(2);
        let part =
            |step: &[(f64, f64)]| (step[1].1 - step[0].1) / 100.0 * (step[0].0 + step[1].0) / 2.0;
        steps.map(part).sum()
    }

    /// The size below which `part` of the flows are, 0 to 1, rounded to bytes; at least 1.
    pub fn at(&self, part: f64) -> ByteCount {
        let percent = part * 100.0;
        let place = self.points.partition_point(|point| point.1 <= percent);
        let bytes = match (place.checked_sub(1), self.points.get(place)) {
            (Some(before), Some(next)) => {
                let before = self.points[before];
                let along = (percent - before.1) / (next.1 - before.1);
                before.0 + along * (next.0 - before.0)
            }
            (None, Some(point)) => point.0,
            (_, None) => self.points.last().map_or(1.0, |point| point.0),
        };
        ByteCount::new((bytes.round() as u64).max(1))
    }
}

#[cfg(test)]
mod tests;
