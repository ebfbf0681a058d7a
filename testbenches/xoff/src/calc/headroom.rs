//! `xoff calc headroom`: what arrives after XOFF.

use std::io::Write as _;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use xoff_sim::frame::wire_bytes;
use xoff_sim::switch::Headroom;
use xoff_sim::switch::headroom::{longest_frame, response_quanta};
use xoff_sim::time::{ByteCount, Duration, Length, LineRate};

use super::quantities::{self, Response};
use super::shared::{MAX_CLASSES, MAX_PORTS};
use crate::columns::{Align, Table};
use crate::terminal::{Ink, Streams};
use xoff_network::words::grouped;

const HELP: &str = "\
Forms:
  annex O     IEEE 802.1Q annex O: the bits that may arrive from when XOFF is
              due on. Longest frame of any class, just started; pause frame;
              cable and interface, there and back; response; longest frame of
              the class.
  exact       B · (1 + ⌈(W' + 84 + 2·(cable + interface) + response) / W⌉), the
              frames that a buffer takes in which counts frames by their last
              bit. B is the class's frame, W its bytes on the wire (20 more), W'
              those of the longest frame of any class. The 1 is the frame that
              exceeds XOFF: the headroom takes it as a whole.
  any sizes   the most that frames of any sizes from 64 bytes on can use, to the
              byte: the one that exceeds XOFF, the last one that the peer
              starts, and between them as few as fill the line, since each has
              20 bytes on the wire that no buffer holds. Switches of scenarios
              have this form unless a headroom is set.
  worst case  annex O and the frame that exceeds XOFF: never below the other
              forms.

Sources:
  cable       5 ns/m (802.1Q annex O)
  response    10 Gb/s 12 quanta (Linux, ixgbe_type.h); 25 Gb/s 80, 40 Gb/s 118,
              50 Gb/s 147, 100 Gb/s 394, 200 Gb/s 453, 400 and 800 Gb/s 905 (IEEE
              802.3, 31B.3.7, as in SONiC's headroom scripts)
  interface   depends on the product. 187.5ns, 7,500 bit times at 40 Gb/s, is
              also the scenarios' default; a vendor's guide has 24,576 at 40
              Gb/s (614.4ns), 122,880 at 100 Gb/s.

Examples:
  xoff calc headroom --rate 40Gb/s --cable 300m --frame 1086B \\
      --interface 614.4ns
  xoff calc headroom --rate 100Gb/s --cable 2m --mtu 4096 --other-frame 9216B
  xoff calc headroom --rate 40Gb/s --cable 10km --mtu 1024 --json \\
      | jq .exact.port_bytes

Exit codes: 0 all is well, 2 bad input.";

/// Calculates the buffer for what arrives after XOFF
///
/// Prints the budget of a link, term by term with its source, and what a class, a port and a switch need.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, after_help = "See --help for the forms, sources and examples.")]
pub struct HeadroomArgs {
    /// Line rate, such as 40Gb/s
    #[arg(long, value_name = "RATE")]
    pub rate: LineRate,
    /// Length of the cable, such as 300m, 10km
    #[arg(long, value_name = "LENGTH", value_parser = quantities::cable)]
    pub cable: Length,
    /// Path MTU of the class: 256 to 4096; frames are 82 bytes longer (IPv4, WRITE with immediate data, no VLAN tag)
    #[arg(
        long,
        value_name = "MTU",
        value_parser = quantities::mtu,
        required_unless_present = "frame",
        conflicts_with = "frame"
    )]
    pub mtu: Option<u64>,
    /// Longest frame of the class with FCS, in place of --mtu, such as 1086B
    #[arg(long, value_name = "BYTES", value_parser = quantities::frame)]
    pub frame: Option<ByteCount>,
    /// Longest frame of any class on the wire with FCS, such as TCP's or jumbo frames [default: the class's own]
    #[arg(long, value_name = "BYTES", value_parser = quantities::frame)]
    pub other_frame: Option<ByteCount>,
    /// Delay of MAC and PHY in one direction, the sum of both ends
    #[arg(long, value_name = "TIME", default_value = "187.5ns", value_parser = quantities::time)]
    pub interface: Duration,
    /// Time from the pause frame until the peer stops: quanta such as 118, or a time such as 1.5us [default: the
    /// standard's at 10, 40 and 100 Gb/s]
    #[arg(long, value_name = "QUANTA|TIME")]
    pub response: Option<Response>,
    /// Lossless classes of each port
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u64).range(1..=MAX_CLASSES))]
    pub classes: u64,
    /// Ports of the switch, all with such a link
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=MAX_PORTS))]
    pub ports: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A result, in bytes and texts.
#[derive(Debug, Serialize)]
struct Plan {
    rate: LineRate,
    cable: Length,
    interface: Duration,
    response: Duration,
    frame_bytes: u64,
    other_frame_bytes: u64,
    classes: u64,
    ports: u64,
    terms: Vec<Term>,
    annex_o: Totals,
    worst_case: Totals,
    exact: Totals,
    any_sizes: Totals,
    most_used: Totals,
}

/// A term of the budget.
#[derive(Debug, Serialize)]
struct Term {
    term: &'static str,
    bytes: u64,
    source: String,
}

/// What a form gives.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Totals {
    /// A class of a port.
    class_bytes: u64,
    port_bytes: u64,
    switch_bytes: u64,
}

/// Runs `xoff calc headroom`.
///
/// # Errors
///
/// Returns an error if the arguments do not fit together or the output cannot be written.
pub(super) fn run(arguments: &HeadroomArgs, streams: &mut Streams) -> anyhow::Result<()> {
    let link = arguments.link()?;
    let plan = arguments.plan(&link)?;
    match arguments.json {
        true => super::json(&plan, streams),
        false => write(&plan, &link, streams),
    }
}

impl HeadroomArgs {
    fn response(&self) -> Response {
        self.response
            .unwrap_or_else(|| Response::Quanta(response_quanta(self.rate)))
    }

    /// The link for the arithmetic.
    fn link(&self) -> anyhow::Result<Headroom> {
        let of_mtu = |mtu| ByteCount::new(longest_frame(mtu));
        let frame = self
            .frame
            .or(self.mtu.map(of_mtu))
            .expect("one of the two is required");
        let other_frame = self.other_frame.unwrap_or(frame);
        if other_frame < frame {
            bail!(
                "--other-frame {other_frame}: the longest frame of any class is at least the class's own, {frame}"
            );
        }
        Ok(Headroom {
            rate: self.rate,
            frame,
            other_frame,
            cable: self.cable,
            interface: self.interface,
            response: self.response().at(self.rate),
        })
    }

    fn terms(&self, link: &Headroom) -> anyhow::Result<Vec<Term>> {
        let budget = link.budget();
        let first = match self.other_frame {
            Some(_) => "longest of any class: --other-frame",
            None => "as long as the class's own: no --other-frame",
        };
        let response = match (self.response(), self.response) {
            (Response::Quanta(quanta), None) => {
                format!("{quanta} quanta, the standard's at {}", self.rate)
            }
            (Response::Quanta(quanta), Some(_)) => format!("{quanta} quanta of 512 bits"),
            (Response::Time(time), _) => time.to_string(),
        };
        let frame = match self.mtu {
            Some(mtu) => format!("MTU {mtu} and 82 of headers, just started by the peer"),
            None => "just started by the peer".into(),
        };
        let term = |term, bytes: ByteCount, source: String| Term {
            term,
            bytes: bytes.get(),
            source,
        };
        Ok(vec![
            term("frame before the pause", budget.other_frame, first.into()),
            term(
                "pause frame",
                budget.pause_frame,
                "64, preamble 8, gap 12".into(),
            ),
            term(
                "cable",
                budget.cable,
                format!("2 · {} at 5 ns/m", self.cable),
            ),
            term(
                "interface",
                budget.interface,
                format!("2 · {} of MAC and PHY", self.interface),
            ),
            term("response", budget.response, response),
            term("frame of the class", budget.frame, frame),
        ])
    }

    fn plan(&self, link: &Headroom) -> anyhow::Result<Plan> {
        let totals = |class: ByteCount| Totals {
            class_bytes: class.get(),
            port_bytes: class.get() * self.classes,
            switch_bytes: class.get() * self.classes * self.ports,
        };
        Ok(Plan {
            rate: link.rate,
            cable: link.cable,
            interface: link.interface,
            response: link.response,
            frame_bytes: link.frame.get(),
            other_frame_bytes: link.other_frame.get(),
            classes: self.classes,
            ports: self.ports,
            terms: self.terms(link)?,
            annex_o: totals(link.annex_o()),
            worst_case: totals(link.worst_case()),
            exact: totals(link.exact()),
            any_sizes: totals(link.most_of_any_sizes()),
            most_used: totals(link.most_used()),
        })
    }
}

fn write(plan: &Plan, link: &Headroom, streams: &mut Streams) -> anyhow::Result<()> {
    let mut budget = Table::new([
        ("term", Align::Left),
        ("bytes", Align::Right),
        ("source", Align::Left),
    ]);
    for term in &plan.terms {
        let bytes = grouped(term.bytes);
        budget.row(Ink::Plain, [term.term, &bytes, &term.source]);
    }
    let frame = grouped(plan.frame_bytes);
    let wire = |frame| grouped(wire_bytes(frame));
    let budgeted = link.budget();
    let delays = budgeted.cable + budgeted.interface + budgeted.response;
    let exact = format!(
        "{} frames: {frame} · (1 + ⌈({} + 84 + {}) / {}⌉)",
        plan.exact.class_bytes / plan.frame_bytes,
        wire(plan.other_frame_bytes),
        grouped(delays.get()),
        wire(plan.frame_bytes),
    );
    for (name, bytes, source) in [
        (
            "annex O",
            plan.annex_o.class_bytes,
            "the sum: bits after XOFF is due (IEEE 802.1Q annex O)",
        ),
        (
            "frame that exceeds XOFF",
            plan.frame_bytes,
            "where frames count by their last bit, it is in the headroom",
        ),
        (
            "worst case",
            plan.worst_case.class_bytes,
            "annex O and that frame: enough for frames of any sizes",
        ),
        ("exact", plan.exact.class_bytes, &exact),
        (
            "any sizes",
            plan.any_sizes.class_bytes,
            "small frames let the last large one start just before the peer stops",
        ),
    ] {
        let ink = match name {
            "frame that exceeds XOFF" => Ink::Plain,
            _ => Ink::Heading,
        };
        budget.row(ink, [name, &grouped(bytes), source]);
    }
    budget.write(streams)?;
    writeln!(streams.out)?;
    let mut totals = Table::new([
        ("bytes for", Align::Left),
        ("annex O", Align::Right),
        ("worst case", Align::Right),
        ("exact", Align::Right),
        ("any sizes", Align::Right),
    ]);
    let forms = [
        &plan.annex_o,
        &plan.worst_case,
        &plan.exact,
        &plan.any_sizes,
    ];
    let mut row = |name: String, of: fn(&Totals) -> u64| {
        let cells = forms.iter().map(|totals| grouped(of(totals)));
        totals.row(Ink::Plain, [name].into_iter().chain(cells));
    };
    row("a class of a port".into(), |it| it.class_bytes);
    row(format!("a port, classes: {}", plan.classes), |it| {
        it.port_bytes
    });
    row(format!("the switch, ports: {}", plan.ports), |it| {
        it.switch_bytes
    });
    totals.write(streams)?;
    remarks(plan, streams)
}

/// Says how the forms relate here.
fn remarks(plan: &Plan, streams: &mut Streams) -> anyhow::Result<()> {
    let out = &mut streams.out;
    writeln!(out)?;
    let (exact, annex_o) = (plan.exact.class_bytes, plan.annex_o.class_bytes);
    match exact > annex_o {
        true => writeln!(
            out,
            "exact is above annex O: the annex counts bits, not frames by their last bit; it is below the worst case."
        ),
        false => writeln!(
            out,
            "exact is at most annex O, although frames count by their last bit."
        ),
    }?;
    if plan.most_used != plan.exact {
        writeln!(
            out,
            "frames of one size use a frame less than exact here, {} bytes: gaps around the pause frame delay nothing.",
            grouped(plan.most_used.class_bytes)
        )?;
    }
    Ok(())
}
