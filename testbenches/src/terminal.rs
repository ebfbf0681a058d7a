//! Output streams, colours and progress bars.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Smallest input with a progress bar. Smaller files are read before a bar could be seen.
const PROGRESS_FROM_BYTES: u64 = 4 << 20;

/// The two output streams of a command and their properties.
pub struct Streams {
    /// Results.
    pub out: Box<dyn Write>,
    /// Remarks about results.
    pub err: Box<dyn Write>,
    /// Colours for `out`.
    pub paint: Paint,
    /// Width of the terminal behind `out` in columns; `None` when `out` is a pipe or file.
    pub width: Option<usize>,
    /// Whether a progress bar may be shown on stderr.
    pub progress: bool,
}

impl Streams {
    /// Returns standard output and error of this process. Colour follows `NO_COLOR` and `CLICOLOR_FORCE`.
    pub fn of_process() -> Self {
        let stdout = io::stdout();
        let colour = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        let width = stdout
            .is_terminal()
            .then(terminal_size::terminal_size)
            .flatten()
            .map(|(width, _)| width.0.into());
        let progress = io::stderr().is_terminal();
        Self {
            out: Box::new(BufWriter::with_capacity(1 << 16, stdout)),
            err: Box::new(io::stderr()),
            paint: Paint { colour },
            width,
            progress,
        }
    }

    /// Returns a progress bar over `bytes` to be read. It is hidden unless the output is watched and reading takes a
    /// while. `rows`: rows are printed to the terminal meanwhile, which makes a bar unnecessary.
    pub fn progress_bar(&self, bytes: Option<u64>, rows: bool) -> ProgressBar {
        match bytes {
            Some(bytes)
                if bytes >= PROGRESS_FROM_BYTES
                    && self.progress
                    && !(rows && self.width.is_some()) =>
            {
                let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
                let style = ProgressStyle::with_template(
                    "{wide_bar} {bytes}/{total_bytes}, {msg} frames, {eta} left",
                );
                bar.with_style(style.expect("the template is right"))
                    .with_message("0")
            }
            _ => ProgressBar::hidden(),
        }
    }
}

/// Colours, or none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Paint {
    /// Whether escape sequences are written at all.
    pub colour: bool,
}

/// Role of a piece of text. Each role always has the same colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Default colour of the terminal.
    Plain,
    /// Headings.
    Heading,
    /// Text that is rarely of interest.
    Dim,
    /// Something that is as it should be.
    Good,
    /// Something that slows traffic down: congestion marks, pauses.
    Warning,
    /// Something broken or refused.
    Bad,
    /// Requests for data and the data that comes back.
    Read,
    /// Data on its way.
    Data,
}

impl Ink {
    fn style(self) -> Style {
        match self {
            Ink::Plain => Style::new(),
            Ink::Heading => Style::new().bold(),
            Ink::Dim => Style::new().dimmed(),
            Ink::Good => AnsiColor::Green.on_default(),
            Ink::Warning => AnsiColor::Yellow.on_default(),
            Ink::Bad => AnsiColor::Red.on_default().bold(),
            Ink::Read => AnsiColor::Cyan.on_default(),
            Ink::Data => AnsiColor::Blue.on_default(),
        }
    }
}

impl Paint {
    /// Returns `text` in the colour of `ink`.
    pub fn paint(self, ink: Ink, text: impl Display) -> String {
        if self.colour && ink != Ink::Plain {
            let style = ink.style();
            format!("{style}{text}{style:#}")
        } else {
            text.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escape_sequences_without_colour() {
        assert_eq!(Paint { colour: false }.paint(Ink::Bad, "x"), "x");
        assert_eq!(
            Paint { colour: true }.paint(Ink::Good, "x"),
            "\u{1b}[32mx\u{1b}[0m"
        );
        assert_eq!(Paint { colour: true }.paint(Ink::Plain, "x"), "x");
    }
}
