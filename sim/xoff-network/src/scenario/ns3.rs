//! Files of ns-3's RDMA simulations: topologies, lists of flows, and distributions of flow sizes.
//!
//! The formats are those of the HPCC artefact (`alibaba-edu/High-Precision-Congestion-Control`) and of what was derived
//! from it: PowerTCP and Reverie (`inet-tub/ns3-datacenter`), SimAI (`aliyun/SimAI`). As there, what stands behind the
//! announced number of entries is not read: it is often a comment.

use std::collections::BTreeSet;
use std::str::FromStr;

use xoff_sim::seeded::Chance;
use xoff_sim::time::{ByteCount, Duration, LineRate, Rate};

use super::check::{Issue, Issues, MOST_HOSTS, RATES};
use super::topology::{LEAST_DELAY, issue};

mod known;

/// Largest message, which is that of a work request: 2³¹ bytes.
pub const MOST_BYTES: u64 = 1 << 31;
/// Most bytes of a listed flow, which generators write for one that does not end: 10¹⁵, 2.8 hours at 800 Gb/s.
pub const MOST_LISTED: u64 = 1_000_000_000_000_000;
/// Steps of a percentile that comes from a fraction.
const FRACTION_STEPS: f64 = 1e9;
/// Denominator of loss rates: a billionth is the least.
const LOSS_PARTS: u32 = 1_000_000_000;

/// A topology file: a line `nodes switches links`, or one of its variants, the numbers of the switches, then for each
/// link `a b rate delay error_rate`, such as `0 320 100Gbps 1000ns 0`. The nodes that are no switches are hosts.
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

/// A flow of a list.
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
    /// Bytes of the flow.
    pub bytes: ByteCount,
    /// When it is posted.
    pub start: Duration,
}

impl ListedFlow {
    /// How many messages of how many bytes carry the flow: one, or, above [`MOST_BYTES`], as few equal ones as can,
    /// each rounded up to a byte.
    pub const fn messages(&self) -> (u64, ByteCount) {
        let bytes = self.bytes.get();
        let count = bytes.div_ceil(MOST_BYTES);
        (count, ByteCount::new(bytes.div_ceil(count)))
    }
}

/// A file with a list of flows: their number, then for each `src dst priority dst_port bytes start_s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowList {
    /// Name of the file, for messages.
    pub file: String,
    /// The flows, in the order of the file.
    pub flows: Vec<ListedFlow>,
}

/// A distribution of flow sizes: points of `bytes percentile`, with straight lines between them. A file that ends at 1
/// has fractions instead of percentiles.
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
    found: Vec<Issue>,
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
        (self.found).push(issue(format!("{}:{line}", self.file), problem));
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

    fn done<T>(self, value: T) -> Result<T, Issues> {
        match self.found.is_empty() {
            true => Ok(value),
            false => Err(Issues(self.found)),
        }
    }
}

/// `100Gbps`, as ns-3 writes rates, in bits a second, which they are without a unit.
pub fn bits_per_second(text: &str) -> Option<f64> {
    let (number, unit) = split_unit(text);
    let factor = match unit {
        "" | "bps" | "b/s" => 1.0,
        "kbps" | "Kbps" | "kb/s" | "Kb/s" => 1e3,
        "Mbps" | "Mb/s" => 1e6,
        "Gbps" | "Gb/s" => 1e9,
        "Tbps" | "Tb/s" => 1e12,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Some(number * factor)
}

/// The rate of a line.
fn rate(text: &str) -> Result<LineRate, String> {
    let right = "10 to 800 Gbps of whole picoseconds a byte, such as 100Gbps or, in bits a second, 100000000000";
    // Every rate of a line is exact in 53 bits, and a product that is not is rounded to the bit.
    let rate = bits_per_second(text).map(|bits| Rate::from_bits_per_second(bits.round() as u64));
    let line = rate.filter(|rate| RATES.contains(rate));
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

/// A number, with an exponent or not, and what follows it.
fn split_unit(text: &str) -> (&str, &str) {
    let digits = |text: &str| {
        text.find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(text.len())
    };
    let mut end = digits(text);
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let length = digits(&exponent[sign..]);
        if length > 0 {
            end += 1 + sign + length;
        }
    }
    text.split_at(end)
}

impl Network {
    /// Reads a topology. `file` is its name, for messages.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, Issues> {
        let mut reader = Reader::new(file, text);
        let mut network = Self {
            file: file.into(),
            nodes: 0,
            switches: BTreeSet::new(),
            links: Vec::new(),
        };
        let Some(head) = network_head(&mut reader) else {
            return reader.done(network);
        };
        network.nodes = head.nodes;
        network.read_switches(&mut reader, head.switches);
        let mut ports = Ports::new(head.nodes);
        for read in 0..head.links {
            let Some((line, fields)) = reader.line() else {
                let problem = format!("the file ends here with {read} of {} links", head.links);
                reader.wrong(reader.last(), problem);
                break;
            };
            ports.count(line, &fields);
            let link = network_link(&mut reader, line, &fields, head.nodes);
            network.links.extend(link);
        }
        if let Some(several) = ports.several(file, &network.switches) {
            // The file is of another kind of network, and what else is wrong in it need not be mended.
            return Err(Issues(vec![several]));
        }
        if reader.found.is_empty() {
            for node in network.hosts().filter(|node| ports.of(*node).is_empty()) {
                let problem = format!("no link has node {node}: a host has one");
                reader.wrong(reader.last(), problem);
            }
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

    /// The numbers of the hosts.
    pub fn hosts(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.nodes).filter(|node| !self.switches.contains(node))
    }
}

/// The lines of a file in which each node has a link.
struct Ports(Vec<Vec<usize>>);

impl Ports {
    fn new(nodes: u32) -> Self {
        Self(vec![Vec::new(); nodes as usize])
    }

    /// Counts the ends of the link of a line, whatever else is wrong with it.
    fn count(&mut self, line: usize, fields: &[&str]) {
        let [a, b, ..] = fields else { return };
        let ends: [Option<usize>; 2] = [a, b].map(|end| end.parse().ok());
        if ends[0] == ends[1] {
            return;
        }
        for end in ends.into_iter().flatten() {
            if let Some(lines) = self.0.get_mut(end) {
                lines.push(line);
            }
        }
    }

    fn of(&self, node: u32) -> &[usize] {
        &self.0[node as usize]
    }

    /// What is wrong if hosts have several links, in one line.
    fn several(&self, file: &str, switches: &BTreeSet<u32>) -> Option<Issue> {
        let nodes = (0_u32..).zip(&self.0);
        let mut hosts = nodes.filter(|(node, lines)| lines.len() > 1 && !switches.contains(node));
        let (node, lines) = hosts.next()?;
        let others = match hosts.count() {
            0 => String::new(),
            1 => ", and another host has several".into(),
            others => format!(", and {others} other hosts have several"),
        };
        let problem = format!(
            "a second link of host {node}, after line {}{others}: a host has one link here; second rails, dual ToRs and \
             NVLink switches have no counterpart",
            lines[0]
        );
        Some(issue(format!("{file}:{}", lines[1]), problem))
    }
}

/// What the first line of a topology says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    nodes: u32,
    switches: u32,
    links: u32,
}

/// How files begin: with the number of nodes, that of all switches or of each kind, and that of links, at these places of
/// as many fields. What the other fields say, links and switches say again.
struct Form {
    names: &'static str,
    switches: &'static [usize],
    links: usize,
}

const HPCC: Form = Form {
    names: "nodes switches links",
    switches: &[1],
    links: 2,
};
const POWERTCP: Form = Form {
    names: "nodes switches tors links",
    switches: &[1],
    links: 3,
};
const REVERIE: Form = Form {
    names: "nodes switches tors links leaf_server_capacity spine_leaf_capacity",
    switches: &[1],
    links: 3,
};
const SIMAI: Form = Form {
    names: "nodes gpus_per_server nvswitches switches links gpu_type",
    switches: &[2, 3],
    links: 4,
};

impl Form {
    /// The form of a first line.
    fn of(fields: &[&str]) -> Option<&'static Self> {
        match fields {
            [_, _, _] => Some(&HPCC),
            [_, _, _, _] => Some(&POWERTCP),
            [_, _, _, _, _, kind] if kind.parse::<f64>().is_err() => Some(&SIMAI),
            [_, _, _, _, _, _] => Some(&REVERIE),
            // Newer files end with the number of GPUs of a node.
            [_, _, _, _, _, kind, _] if kind.parse::<f64>().is_err() => Some(&SIMAI),
            _ => None,
        }
    }
}

/// The first line of a topology.
fn network_head(reader: &mut Reader<'_>) -> Option<Head> {
    let Some((line, fields)) = reader.line() else {
        reader.wrong(1, format!("the file is empty: {} are right", HPCC.names));
        return None;
    };
    let Some(form) = Form::of(&fields) else {
        let forms = [&HPCC, &POWERTCP, &REVERIE, &SIMAI].map(|form| form.names);
        let problem = format!("'{}': right is {}", fields.join(" "), forms.join(", or "));
        reader.wrong(line, problem);
        return None;
    };
    let nodes: Option<u32> = reader.number(line, "number of nodes", fields[0]);
    let switches = (form.switches.iter()).try_fold(0_u32, |sum, place| {
        let number: u32 = reader.number(line, "number of switches", fields[*place])?;
        Some(sum.saturating_add(number))
    });
    let links: Option<u32> = reader.number(line, "number of links", fields[form.links]);
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
    Some(Head {
        nodes,
        switches,
        links,
    })
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
    pub fn parse(file: &str, text: &str) -> Result<Self, Issues> {
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
    if !(1..=MOST_LISTED).contains(&bytes) {
        reader.wrong(line, format!("{bytes} bytes: 1 to {MOST_LISTED}"));
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
    pub fn parse(file: &str, text: &str) -> Result<Self, Issues> {
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
        // What ends at 1 has fractions. Their percentiles are as exact as files are written.
        if points.last().is_some_and(|(_, last)| *last == 1.0) {
            for (_, part) in &mut points {
                *part = (*part * 100.0 * FRACTION_STEPS).round() / FRACTION_STEPS;
            }
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
                    let problem = format!(
                        "ends at {percent} %: the last percentile is 100, or the last fraction 1"
                    );
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
