//! Output streams, colours and progress bars.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Smallest input with a progress bar. Smaller files are read before a bar could be seen.
const PROGRESS_FROM_BYTES: u64 = 4 << 20;

/// Time between two lines about a long command, where no bar can be drawn.
const LINE_EVERY: Duration = Duration::from_secs(30);
/// Why a lock is never poisoned.
const NO_PANIC: &str = "no thread panics while it holds this";
/// Time between two pictures of a bar whose position does not change.
const TICK: Duration = Duration::from_millis(200);

/// How it is shown how far a command is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shown {
    /// Not at all.
    #[default]
    Nothing,
    /// As a bar on the terminal behind stderr.
    Bar,
    /// In a line on stderr every 30 s, since nobody can tell a bar in a file from an older one.
    Lines,
}

/// How far a long command is.
pub struct Progress {
    bar: ProgressBar,
    /// What was found since the last line, if there are lines.
    found: Option<Mutex<Vec<String>>>,
}

/// When the next line is due: one for all that a process does, so that many short runs say how far they are, too.
fn next_line() -> &'static Mutex<Instant> {
    static NEXT: OnceLock<Mutex<Instant>> = OnceLock::new();
    NEXT.get_or_init(|| Mutex::new(Instant::now() + LINE_EVERY))
}

impl Progress {
    /// Begins a command of `length` steps. `template` is that of the bar, in indicatif's terms.
    ///
    /// # Panics
    ///
    /// If the template is wrong.
    pub fn new(shown: Shown, length: u64, template: &str) -> Self {
        let (target, found) = match shown {
            Shown::Nothing => (ProgressDrawTarget::hidden(), None),
            Shown::Bar => (ProgressDrawTarget::stderr(), None),
            Shown::Lines => {
                next_line();
                (ProgressDrawTarget::hidden(), Some(Mutex::default()))
            }
        };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        if shown == Shown::Bar {
            bar.enable_steady_tick(TICK);
        }
        let style = ProgressStyle::with_template(template).expect("the template is right");
        Self {
            bar: bar.with_style(style),
            found,
        }
    }

    /// Shows that the command has come to this step, in these words.
    pub fn at(&self, step: u64, words: &str) {
        self.bar.set_position(step);
        self.bar.set_message(words.to_owned());
        if let Some(found) = &self.found {
            let mut next = next_line().lock().expect(NO_PANIC);
            if due(&mut next, Instant::now()) {
                for found in found.lock().expect(NO_PANIC).drain(..) {
                    anstream::eprintln!("xoff: {found}");
                }
                anstream::eprintln!("xoff: {words}");
            }
        }
    }

    /// Tells what was found: above the bar at once, or with the next line. A command that ends before says it in its
    /// results.
    pub fn found(&self, words: &str) {
        match &self.found {
            None => self.bar.println(words),
            Some(found) => found.lock().expect(NO_PANIC).push(words.to_owned()),
        }
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Whether a line is due, and if so, when the one after it is.
fn due(next: &mut Instant, now: Instant) -> bool {
    let due = now >= *next;
    if due {
        *next = now + LINE_EVERY;
    }
    due
}

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

    /// How a command shows how far it is: by a bar on a terminal, else by lines.
    pub const fn shown(&self) -> Shown {
        match self.progress {
            true => Shown::Bar,
            false => Shown::Lines,
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
    fn a_line_comes_every_30_seconds() {
        let start = Instant::now();
        let mut next = start + LINE_EVERY;
        let asked = [0, 29, 30, 31, 59, 60, 200, 201, 230];
        let said = asked.map(|second| due(&mut next, start + Duration::from_secs(second)));
        let right = [false, false, true, false, false, true, true, false, true];
        assert_eq!(said, right);
    }

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
