//! Arguments of `xoff wave`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use xoff_sim::time::Duration;

use xoff_waves::read::condition::Condition;
use xoff_waves::read::value::Radix;

const HELP: &str = "\
Signals are selected by their full names (a.pins.nic.depth), by the end of the name (depth, nic.depth), or by \
patterns in which * stands for any text and ? for one character (nic.*ready*). Without --signals the \
command lists the signals of the file.

Rows:
  default    the values at the beginning of the window, then one row for each
             time at which one of the signals changes
  --at CLK   one row for each rising edge of CLK, with the values before the
             edge: those that flip-flops take in
  --when     of these rows only those for which the condition holds. Conditions
             compare signals with numbers (7, -7, 0x1f, 0b101, 1.5e-3), names of
             enums, or other signals by == != < <= > >=, and are combined by &&
             || ! and parentheses; a signal alone means that it is not 0. A
             vector that is compared with a number below 0 is read in two's
             complement. An event is 1 when it happens.

Parts, for both: xoff[3] is a bit of a vector, and depth[23:0] a slice. Waves of Xoff's own models have their types beside them (a.types.json beside a.fst): there meta.psn is a member of a packed struct, and depth[3] an element of a packed array.

Values: names for enums; hexadecimal numbers for vectors (with 0x in CSV), decimal ones with --radix dec; \
the bits of values that have x or z among them.

Examples:
  # the signals of a file
  xoff wave out/pair/a.fst
  xoff wave out/pair/a.fst --signals 'rx_*' --from 10us --to 11us
  xoff wave out/pair/a.fst --signals tx_data_o,tx_bytes_o --at clk_i \\
      --when 'tx_valid_o && tx_ready_i'
  # names of an enum over time
  xoff wave dump.vcd --signals state --format csv

Exit codes: 0 success, 1 no row fulfils --when, 2 bad input.";

/// Prints waves as a table
///
/// Reads an FST or VCD file, of Xoff or of any other simulator, and prints the values of signals over time.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, after_help = "See --help for patterns, conditions and examples.")]
pub struct WaveArgs {
    /// Wave file to read, FST or VCD
    pub file: PathBuf,
    /// Signals to print: names, ends of names, or patterns, with commas between
    #[arg(short, long, value_name = "GLOB", value_delimiter = ',', num_args = 1..)]
    pub signals: Vec<String>,
    /// First time to print, such as 1.5us [default: the beginning of the file]
    #[arg(long, value_name = "TIME")]
    pub from: Option<Duration>,
    /// Last time to print [default: the end of the file]
    #[arg(long, value_name = "TIME")]
    pub to: Option<Duration>,
    /// Print a row for each rising edge of this signal, with the values before the edge
    #[arg(long, value_name = "CLK")]
    pub at: Option<String>,
    /// Print only rows for which this holds, such as 'valid_o && !ready_i'
    #[arg(long, value_name = "EXPR")]
    pub when: Option<Condition>,
    /// Format of the rows
    #[arg(long, value_enum, default_value_t)]
    pub format: WaveFormat,
    /// Base of the numbers of vectors
    #[arg(long, value_enum, default_value_t)]
    pub radix: Base,
}

/// Format of the rows of `xoff wave`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum WaveFormat {
    /// Aligned columns for people
    #[default]
    Table,
    /// Comma-separated values, with full names
    Csv,
    /// One JSON array with an object per row
    Json,
}

/// Base of the numbers of vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Base {
    /// Hexadecimal, with leading zeros
    #[default]
    Hex,
    /// Decimal, unsigned
    Dec,
    /// Bits
    Bin,
}

impl From<Base> for Radix {
    fn from(base: Base) -> Self {
        match base {
            Base::Hex => Self::Hex,
            Base::Dec => Self::Dec,
            Base::Bin => Self::Bin,
        }
    }
}
