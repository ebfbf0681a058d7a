//! `xoff calc dcqcn`: the rate of a sender after a list of CNPs.

use std::io::Write as _;

use anyhow::bail;
use clap::Args;
use serde::{Serialize, Serializer};
use xoff_network::plan::{kbps, of_dcqcn};
use xoff_network::scenario::host::Dcqcn;
use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::dcqcn::real::RealReactionPoint;
use xoff_sim::protocol::dcqcn::{Increase, LimiterContext, RpContext, RpEvent, RpParameters};
use xoff_sim::time::{ByteCount, Clock, Cycles, Duration, LineRate, Rate, Time};

use super::quantities;
use crate::columns::{Align, Table};
use crate::terminal::{Ink, Streams};

/// Cycles of the rate limiter's schedule that a packet may catch up: it starts with a whole cycle.
const ROUNDING: u16 = 1;
/// Most CNPs of `--every`.
const MAX_CNPS: u64 = 100_000;
/// Most rows of a table: more are a mistake in the units of a timer.
const MAX_ROWS: usize = 200_000;
/// Periods of the rate timer after the last CNP that are shown unless `--until` says otherwise.
const PERIODS_AFTER: u64 = 10;
/// Shortest clock period that is taken; at a shorter one, timers would not fit into 32 bits of cycles.
const SHORTEST_PERIOD: Duration = Duration::from_ns(1);
/// Largest byte counter that is taken: 32 bits.
const LARGEST_COUNTER: ByteCount = ByteCount::new(u32::MAX as u64);

const HELP: &str = "\
Columns:
  event     CNP, the timers of α and of the rate, the byte counter
  increase  how R_T rises: fast recovery (not at all), additive, hyper; line
            rate: no limit any more
  R_C, R_T  current and target rate in Mb/s
  fixed     the fixed point of the RTL: rates in kb/s, α in 2⁻²⁴, times in whole
            cycles
  real      the paper's equations in floating point

A flow starts at line rate with α = 1 and always has something to send. On a CNP R_T = R_C, R_C = \
R_C·(1 − α/2) with the old α, then α = (1 − g)·α + g. Each --alpha-timer without a CNP makes \
α = (1 − g)·α. Each --rate-timer and each --byte-counter bytes raise the rate (SIGCOMM 2015, section \
3.1 and figure 7). Defaults are the paper's; it has no --rate-hai (here as in the authors' ns-3 \
configuration) and no --rate-min (ours). Above 40 Gb/s, which the paper's are for, both steps grow \
with --rate, as in the evaluation of HPCC (SIGCOMM 2019).

Examples:
  xoff calc dcqcn --cnps 100us,150us,200us
  xoff calc dcqcn --every 50us --count 10 --until 5ms
  xoff calc dcqcn --rate 100Gb/s --cnps 10us --g 1/16 --json \\
      | jq '.rows[].fixed.rate_mbps'

Exit codes: 0 all is well, 2 bad input.";

/// Calculates the rate of a DCQCN sender
///
/// Prints how rate and α of a flow follow a list of CNPs, event by event, in the fixed point of the NIC and by the
/// paper's equations.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, after_help = "See --help for columns, sources and examples.")]
pub struct DcqcnArgs {
    /// Times of the CNPs, such as 100us,150us,200us
    #[arg(
        long,
        value_name = "TIMES",
        value_delimiter = ',',
        value_parser = quantities::time,
        required_unless_present = "every"
    )]
    pub cnps: Vec<Duration>,
    /// Send CNPs at this interval, the first after one interval
    #[arg(long, value_name = "TIME", value_parser = quantities::interval, conflicts_with = "cnps", requires = "count")]
    pub every: Option<Duration>,
    /// Number of CNPs of --every
    #[arg(long, value_name = "N", requires = "every", value_parser = clap::value_parser!(u64).range(1..=MAX_CNPS))]
    pub count: Option<u64>,
    /// Time up to which events are shown [default: ten rate timers after the last CNP]
    #[arg(long, value_name = "TIME", value_parser = quantities::time)]
    pub until: Option<Duration>,
    /// Line rate
    #[arg(long, value_name = "RATE", default_value = "40Gb/s")]
    pub rate: LineRate,
    /// Gain of α
    #[arg(long, value_name = "G", default_value = "1/256", value_parser = quantities::gain)]
    pub g: f64,
    /// Time without a CNP after which α decays
    #[arg(long, value_name = "TIME", default_value = "55us", value_parser = quantities::interval)]
    pub alpha_timer: Duration,
    /// Period of the rate timer
    #[arg(long, value_name = "TIME", default_value = "55us", value_parser = quantities::interval)]
    pub rate_timer: Duration,
    /// Bytes between rate increases; 0: none
    #[arg(long, value_name = "BYTES", default_value = "10MB", value_parser = quantities::bytes)]
    pub byte_counter: ByteCount,
    /// Stages of fast recovery, F
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u8).range(0..=31))]
    pub stages: u8,
    /// Step of additive increase, R_AI [default: 40Mb/s, above 40Gb/s a thousandth of --rate]
    #[arg(long, value_name = "RATE")]
    pub rate_ai: Option<Rate>,
    /// Step of hyper increase, R_HAI [default: 200Mb/s, above 40Gb/s a two-hundredth of --rate]
    #[arg(long, value_name = "RATE")]
    pub rate_hai: Option<Rate>,
    /// Slowest rate
    #[arg(long, value_name = "RATE", default_value = "10Mb/s")]
    pub rate_min: Rate,
    /// Packets of the flow, as they count for the rate
    #[arg(long, value_name = "BYTES", default_value = "1086B", value_parser = quantities::frame)]
    pub frame: ByteCount,
    /// Clock period of the NIC, to whose cycles times are rounded up [default: 5.12ns, above 40 Gb/s 3.2ns]
    #[arg(long, value_name = "TIME", value_parser = quantities::interval)]
    pub clock: Option<Duration>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A result.
#[derive(Debug, Serialize)]
struct Trace {
    parameters: Parameters,
    rows: Vec<Row>,
}

/// The parameters of both reaction points.
#[derive(Debug, Serialize)]
struct Parameters {
    rate: LineRate,
    clock: Duration,
    /// As the fixed point has them: rates in kb/s, g in 2⁻¹⁶, times in cycles.
    fixed: RpParameters,
}

/// What has changed the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Open,
    Cnp,
    AlphaTimer,
    RateTimer,
    BothTimers,
    ByteCounter,
}

impl Event {
    fn text(self) -> &'static str {
        match self {
            Self::Open => "start",
            Self::Cnp => "CNP",
            Self::AlphaTimer => "α timer",
            Self::RateTimer => "rate timer",
            Self::BothTimers => "both timers",
            Self::ByteCounter => "byte counter",
        }
    }

    fn raises_rate(self) -> bool {
        matches!(self, Self::RateTimer | Self::BothTimers | Self::ByteCounter)
    }
}

/// The state after an event.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(rename = "time_us", serialize_with = "in_us")]
    time: Duration,
    event: Event,
    /// How the target has risen; none when the event raises no rate.
    increase: Option<Increase>,
    /// Whether the rate is limited; not before the first CNP, nor when the fixed point is back at line rate.
    limited: bool,
    fixed: State,
    real: State,
}

fn in_us<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(us(*time))
}

fn us(time: Duration) -> f64 {
    time.as_ps() as f64 / 1e6
}

/// The state of a reaction point.
#[derive(Debug, Clone, Copy, Serialize)]
struct State {
    /// R_C.
    rate_mbps: f64,
    /// R_T.
    target_mbps: f64,
    alpha: f64,
}

impl From<&RpContext> for State {
    fn from(context: &RpContext) -> Self {
        Self {
            rate_mbps: f64::from(context.rate_current.0) / 1e3,
            target_mbps: f64::from(context.rate_target.0) / 1e3,
            alpha: context.alpha.as_real(),
        }
    }
}

impl From<&RealReactionPoint> for State {
    fn from(real: &RealReactionPoint) -> Self {
        Self {
            rate_mbps: real.rate_current / 1e3,
            target_mbps: real.rate_target / 1e3,
            alpha: real.alpha,
        }
    }
}

/// Runs `xoff calc dcqcn`.
///
/// # Errors
///
/// Returns an error if the arguments do not fit together or the output cannot be written.
pub(super) fn run(arguments: &DcqcnArgs, streams: &mut Streams) -> anyhow::Result<()> {
    let clock = arguments.clock()?;
    let parameters = arguments.parameters(&clock)?;
    let cnps = arguments.cnps()?;
    let until = arguments.until(&cnps)?;
    let history = History {
        parameters,
        clock,
        frame: arguments.frame.get() as u16,
        cnps,
        until,
    };
    let trace = Trace {
        rows: history.rows()?,
        parameters: Parameters {
            rate: arguments.rate,
            clock: clock.period,
            fixed: parameters,
        },
    };
    match arguments.json {
        true => super::json(&trace, streams),
        false => write(&trace.rows, streams),
    }
}

impl DcqcnArgs {
    fn clock(&self) -> anyhow::Result<Clock> {
        let default = match self.rate.byte_time() < LineRate::G40.byte_time() {
            true => Clock::PERIOD_100G,
            false => Clock::PERIOD_40G,
        };
        let period = self.clock.unwrap_or(default);
        if period < SHORTEST_PERIOD {
            bail!("--clock {period}: expected at least {SHORTEST_PERIOD}, the period of 1 GHz");
        }
        Ok(Clock::new(period, Duration::ZERO))
    }

    /// The parameters of a host of a scenario with these settings.
    fn parameters(&self, clock: &Clock) -> anyhow::Result<RpParameters> {
        if self.byte_counter > LARGEST_COUNTER {
            bail!(
                "--byte-counter {}: it has 32 bits, up to {LARGEST_COUNTER}",
                self.byte_counter
            );
        }
        for (name, rate) in [
            ("rate", Some(self.rate.into())),
            ("rate-ai", self.rate_ai),
            ("rate-hai", self.rate_hai),
            ("rate-min", Some(self.rate_min)),
        ] {
            let rate = rate.unwrap_or_default();
            if rate.as_bits_per_second() / 1_000 > u64::from(u32::MAX) {
                bail!("--{name} {rate}: rates have 32 bits of kb/s, up to 4.29 Tb/s");
            }
        }
        let settings = Dcqcn {
            g: self.g,
            alpha_timer: self.alpha_timer,
            rate_timer: self.rate_timer,
            byte_counter: self.byte_counter,
            stages: self.stages,
            rate_ai: self.rate_ai,
            rate_hai: self.rate_hai,
            ..Dcqcn::default()
        };
        Ok(RpParameters {
            rate_min: kbps(self.rate_min),
            ..of_dcqcn(&settings, self.rate, clock).rp
        })
    }

    /// When CNPs come.
    fn cnps(&self) -> anyhow::Result<Vec<Duration>> {
        if let Some((every, count)) = self.every.zip(self.count) {
            return (1..=count)
                .map(|number| {
                    let time = every.as_ps().checked_mul(number).map(Duration::from_ps);
                    match time.filter(|time| *time <= quantities::LONGEST_TIME) {
                        Some(time) => Ok(time),
                        None => bail!(
                            "--every {every} --count {count}: the last CNP comes after {}",
                            quantities::LONGEST_TIME
                        ),
                    }
                })
                .collect();
        }
        if let Some(pair) = self.cnps.windows(2).find(|pair| pair[1] < pair[0]) {
            bail!(
                "--cnps: {} stands behind {}; the times have to rise",
                pair[1],
                pair[0]
            );
        }
        Ok(self.cnps.clone())
    }

    /// The end of the table.
    fn until(&self, cnps: &[Duration]) -> anyhow::Result<Duration> {
        let last = cnps.last().copied().unwrap_or_default();
        match self.until {
            Some(until) if until < last => {
                bail!("--until {until}: the last CNP comes later, at {last}")
            }
            Some(until) => Ok(until),
            None => Ok(last + self.rate_timer * PERIODS_AFTER),
        }
    }
}

/// A flow and its CNPs.
struct History {
    parameters: RpParameters,
    clock: Clock,
    /// Bytes of each packet.
    frame: u16,
    /// Times of CNPs, in order.
    cnps: Vec<Duration>,
    until: Duration,
}

impl History {
    fn cycle(&self, time: Duration) -> u64 {
        self.clock.cycles_in(time).0
    }

    /// Runs both reaction points with the same CNPs and packets, and returns a row for each event.
    ///
    /// The packets are those of the fixed point, paced as the NIC paces them. They matter only while the rate is
    /// limited: before the first CNP and at line rate nothing counts bytes.
    ///
    /// # Errors
    ///
    /// If there are more than [`MAX_ROWS`].
    fn rows(&self) -> anyhow::Result<Vec<Row>> {
        let parameters = &self.parameters;
        let period_ps = self.clock.period.as_ps();
        let end = self.cycle(self.until);
        let mut cnps = self.cnps.iter().map(|time| self.cycle(*time)).peekable();
        let mut real = RealReactionPoint::new(parameters);
        let (mut fixed, _) = RpContext::default().step(parameters, RpEvent::Open, Cycle(0));
        let mut limiter = LimiterContext::default();
        let mut rows = vec![self.row(0, Event::Open, &fixed, &real)];
        let mut now = 0;
        loop {
            let counts = fixed.limited && parameters.byte_limit != 0;
            let packet = counts.then(|| limiter.eligible_from().0.max(now));
            let timer = fixed.deadline().map(|deadline| deadline.0);
            let cnp = cnps.peek().copied();
            let next = [timer, cnp, packet].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else {
                return Ok(rows);
            };
            now = next;
            let (time, before) = (Cycle(now), fixed);
            real.advance(now);
            let (event, input) = if timer == Some(now) {
                let of_alpha = fixed.alpha_runs && fixed.alpha_deadline <= time;
                let of_rate = fixed.rate_runs && fixed.rate_deadline <= time;
                let event = match (of_alpha, of_rate) {
                    (true, true) => Event::BothTimers,
                    (true, false) => Event::AlphaTimer,
                    (false, _) => Event::RateTimer,
                };
                (event, RpEvent::Timer)
            } else if cnp == Some(now) {
                cnps.next();
                real.cnp(now);
                (Event::Cnp, RpEvent::Cnp)
            } else {
                limiter = limiter.sent(self.frame, time, ROUNDING);
                real.sent(self.frame);
                (Event::ByteCounter, RpEvent::Bytes(self.frame))
            };
            let (after, action) = fixed.step(parameters, input, time);
            fixed = after;
            if let Some(action) = action {
                limiter = limiter.update(action.rate, action.limited, period_ps);
            }
            let only_counted = fixed.bytes == before.bytes + u32::from(self.frame);
            if event != Event::ByteCounter || !only_counted {
                rows.push(self.row(now, event, &fixed, &real));
            }
            if rows.len() > MAX_ROWS {
                bail!(
                    "more than {MAX_ROWS} events until {}, the last one '{}': expected longer timers, or an earlier \
                     --until",
                    self.until,
                    event.text()
                );
            }
        }
    }

    fn row(&self, now: u64, event: Event, fixed: &RpContext, real: &RealReactionPoint) -> Row {
        let increases = event.raises_rate() && fixed.limited;
        Row {
            time: self.clock.edge(Cycles(now)).saturating_since(Time::ZERO),
            event,
            increase: increases.then(|| fixed.increase(&self.parameters)),
            limited: fixed.limited,
            fixed: fixed.into(),
            real: real.into(),
        }
    }
}

fn write(rows: &[Row], streams: &mut Streams) -> anyhow::Result<()> {
    let mut table = Table::new([
        ("time us", Align::Right),
        ("event", Align::Left),
        ("increase", Align::Left),
        ("fixed: R_C", Align::Right),
        ("R_T", Align::Right),
        ("α", Align::Right),
        ("real: R_C", Align::Right),
        ("R_T", Align::Right),
        ("α", Align::Right),
    ]);
    for row in rows {
        let increase = match row.increase {
            Some(Increase::FastRecovery) => "fast recovery",
            Some(Increase::Additive) => "additive",
            Some(Increase::Hyper) => "hyper",
            None if row.event.raises_rate() => "line rate",
            None => "",
        };
        let ink = match row.event {
            Event::Cnp => Ink::Warning,
            Event::AlphaTimer => Ink::Dim,
            _ => Ink::Plain,
        };
        let of = |state: &State| {
            [
                format!("{:.3}", state.rate_mbps),
                format!("{:.3}", state.target_mbps),
                format!("{:.6}", state.alpha),
            ]
        };
        let first = [
            format!("{:.3}", us(row.time)),
            row.event.text().into(),
            increase.into(),
        ];
        table.row(
            ink,
            first.into_iter().chain(of(&row.fixed)).chain(of(&row.real)),
        );
    }
    table.write(streams)?;
    let apart = |row: &Row| (row.fixed.rate_mbps / row.real.rate_mbps - 1.0).abs();
    let most = rows.iter().map(apart).fold(0.0, f64::max);
    writeln!(
        streams.out,
        "\nrates in Mb/s; R_C of fixed point and real arithmetic are at most {:.2} ppm apart",
        1e6 * most
    )?;
    Ok(())
}
