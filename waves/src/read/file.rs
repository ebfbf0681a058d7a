//! Wave files.

use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

use thiserror::Error;
use wellen::simple::{self, Waveform};
use wellen::{Hierarchy, LoadOptions, Signal as Changes, SignalRef, Var, VarType, WellenError};

use super::overheard::overheard;
use super::part::{Part, of_bits, steps};
use super::types::Types;
use super::value::{Kind, Value};
use super::vcd_fault::first_fault;

/// Maximum number of similar names in a message.
const MOST_NAMES: usize = 5;

/// Femtoseconds in a picosecond.
const FS_PER_PS: u64 = 1_000;

/// A wave file that cannot be used, or a signal that cannot be found.
#[derive(Debug, Error)]
pub enum WaveError {
    /// The file cannot be opened.
    #[error("{}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is something else, or damaged.
    #[error("{}: {problem}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No signal has the name.
    #[error("{option} {name}: no such signal{}", hint(.near))]
    Unknown {
        /// The option that names it.
        option: &'static str,
        /// The name or pattern.
        name: String,
        /// Similar names.
        near: Vec<String>,
    },
    /// More than one signal has the name.
    #[error("{option} {name}: several signals: {}", listed(.names))]
    Ambiguous {
        /// The option that names it.
        option: &'static str,
        /// The name.
        name: String,
        /// The full names.
        names: Vec<String>,
    },
    /// No time is in the window.
    #[error("{0}")]
    Window(String),
}

fn hint(near: &[String]) -> String {
    match near {
        [] => "; without --signals all signals are listed".into(),
        near => format!("; did you mean {}?", listed(near)),
    }
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let mut text = names[..names.len() - more].join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}

/// A signal of a file.
#[derive(Debug, Clone)]
pub struct Signal {
    /// Scopes and name, with dots between.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
    /// The index of its least significant bit.
    pub lsb: i64,
    /// Its values in the file: signals of different names may be the same.
    pub id: SignalRef,
    /// The part that is meant, unless it is all of the signal.
    pub part: Option<Part>,
}

impl Signal {
    /// Number of bits; none of text and reals.
    pub fn bits(&self) -> Option<u32> {
        match &self.kind {
            Kind::Text | Kind::Real | Kind::Event => None,
            Kind::Bits { bits, .. } => Some(*bits),
            Kind::Enum(names) => names.first().map(|(bits, _)| bits.len() as u32),
        }
    }

    /// Returns the part that is meant of a value of the whole signal.
    pub fn part_of(&self, value: Value) -> Option<Value> {
        match self.part {
            None => Some(value),
            Some(part) => value.part(part.low as usize, part.width as usize),
        }
    }
}

/// An open wave file.
pub struct Waves {
    path: PathBuf,
    waveform: Waveform,
    /// All signals, in the order of the file.
    pub signals: Vec<Signal>,
    /// Those of them that are events.
    events: HashSet<SignalRef>,
    /// What structs and arrays are made of, where it is known, and the places of the signals' types there.
    types: Option<(Types, HashMap<SignalRef, usize>)>,
    /// What the reader had to say about the file.
    pub remarks: Vec<String>,
    /// Femtoseconds of a unit of time in the file.
    fs_per_tick: u64,
}

/// A signal of the file.
fn signal(var: &Var, hierarchy: &Hierarchy) -> Signal {
    let names = var.enum_type(hierarchy).map(|(_, names)| {
        let name = |(value, name): (&str, &str)| (value.to_owned(), name.to_owned());
        names.into_iter().map(name).collect()
    });
    let signed = matches!(
        var.var_type(),
        VarType::Integer | VarType::Int | VarType::ShortInt | VarType::LongInt | VarType::Byte
    );
    Signal {
        // The reader makes a scope of an array. In the source, and for GTKWave, an element is `words[3]`.
        name: var.full_name(hierarchy).replace(".[", "["),
        kind: match (var.length(hierarchy), names) {
            _ if var.is_real(hierarchy) => Kind::Real,
            _ if var.var_type() == VarType::Event => Kind::Event,
            (None, _) => Kind::Text,
            (Some(_), Some(names)) => Kind::Enum(names),
            (Some(bits), None) => Kind::Bits { bits, signed },
        },
        lsb: var.index().map_or(0, |index| index.lsb()),
        id: var.signal_ref(),
        part: None,
    }
}

impl Waves {
    /// Opens an FST or VCD file and reads its list of signals.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or is not a wave file.
    pub fn open(path: &Path) -> Result<Self, WaveError> {
        let open = |source| WaveError::Open {
            path: path.to_owned(),
            source,
        };
        let wrong = |problem: String| WaveError::Read {
            path: path.to_owned(),
            problem,
        };
        let mut file = File::open(path).map_err(open)?;
        if !file.metadata().map_err(open)?.is_file() {
            return Err(wrong("not a file; a wave file (FST, VCD) is needed".into()));
        }
        let mut begin = [0; 64];
        let length = file.read(&mut begin).map_err(open)?;
        let text = begin[..length].trim_ascii_start();
        if text.is_empty() {
            return Err(wrong("empty; a wave file (FST, VCD) is needed".into()));
        }
        // A VCD file begins with a keyword; an FST file with the type of its first block, the header or a compressed
        // file.
        let is_fst = matches!(begin[0], 0 | 254);
        if !(is_fst || text.starts_with(b"$") || text.starts_with(b"GHDLwave")) {
            return Err(wrong("neither FST nor VCD: a wave file is needed".into()));
        }
        // A damaged file makes the reader panic in places.
        // On this thread, so that `quietly` sees its panics.
        let options = LoadOptions {
            multi_thread: false,
            ..LoadOptions::default()
        };
        let (waveform, remarks) = quietly(|| simple::read_with_options(path, &options));
        // Of a VCD its line is known.
        let located = |problem: String| {
            let file = File::open(path).ok().filter(|_| text.starts_with(b"$"));
            match file.and_then(|file| first_fault(BufReader::new(file))) {
                Some(fault) => wrong(format!("a damaged VCD file: {fault}")),
                None => wrong(problem),
            }
        };
        let waveform = waveform.map_err(&located)?;
        let waveform = waveform.map_err(|error| match error {
            WellenError::UnknownFileFormat => {
                wrong("neither FST nor VCD: a wave file is needed".into())
            }
            // This file is there: it is another one that is not.
            WellenError::Io(source) if is_fst && source.kind() == ErrorKind::NotFound => {
                let beside = path.with_extension("fst.hier");
                let beside = beside.file_name().unwrap_or_default().to_string_lossy();
                wrong(format!(
                    "a damaged FST file: the list of its signals is missing, and no file {beside} has it"
                ))
            }
            WellenError::Io(source) => open(source),
            WellenError::FailedToLoad(format, problem) => {
                located(format!("a damaged {format:?} file: {}", problem.trim()))
            }
        })?;
        let hierarchy = waveform.hierarchy();
        let scale = hierarchy.timescale();
        let factor = scale.map_or(1, |scale| scale.factor);
        // Files without a timescale count nanoseconds, the default of IEEE 1800.
        let exponent = scale
            .and_then(|scale| scale.unit.to_exponent())
            .unwrap_or(-9);
        let Ok(power) = u32::try_from(i32::from(exponent) + 15) else {
            return Err(wrong(format!(
                "its unit of time is 10^{exponent} s: 1 fs or longer is supported"
            )));
        };
        let fs_per_tick = u64::from(factor) * 10_u64.pow(power);
        let mut vars: Vec<_> = hierarchy.all_vars().collect();
        vars.sort_by_key(|var| var.index());
        let signals = vars
            .into_iter()
            .map(|var| signal(&hierarchy[var], hierarchy));
        let signals: Vec<Signal> = signals.collect();
        let events = signals.iter().filter(|signal| signal.kind == Kind::Event);
        let events = events.map(|signal| signal.id).collect();
        let mut remarks = remarks;
        let types = Types::beside(path).unwrap_or_else(|problem| {
            remarks.push(problem);
            None
        });
        let types = types.map(|types| {
            let typed = signals.iter().filter_map(|signal| {
                let place = types.of(&signal.name, signal.bits()?)?;
                Some((signal.id, place))
            });
            let places = typed.collect();
            (types, places)
        });
        Ok(Self {
            path: path.to_owned(),
            waveform,
            signals,
            events,
            types,
            remarks,
            fs_per_tick,
        })
    }

    /// Returns the signals that the patterns select: in the order of the patterns, those of each in the order of the
    /// file. Of names of the same signal that one pattern selects, the one with the fewest scopes is taken.
    ///
    /// # Errors
    ///
    /// Returns the first pattern that selects none.
    pub fn select(&self, patterns: &[String]) -> Result<Vec<Signal>, WaveError> {
        let mut parts: Vec<(usize, Signal)> = Vec::new();
        let mut selected: Vec<usize> = Vec::new();
        let mut known: HashSet<usize> = HashSet::new();
        for pattern in patterns {
            let found = self.matching(pattern);
            if found.is_empty() {
                let part = self.part("--signals", pattern)?;
                let part = part.ok_or_else(|| self.unknown("--signals", pattern))?;
                parts.push((selected.len() + parts.len(), part));
                continue;
            }
            let mut outermost: BTreeMap<SignalRef, usize> = BTreeMap::new();
            for at in found {
                let best = outermost.entry(self.signals[at].id).or_insert(at);
                if self.scopes(at) < self.scopes(*best) {
                    *best = at;
                }
            }
            let found: BTreeSet<usize> = outermost.into_values().collect();
            selected.extend(found.into_iter().filter(|at| known.insert(*at)));
        }
        let mut selected: Vec<Signal> = (selected.into_iter())
            .map(|at| self.signals[at].clone())
            .collect();
        for (at, part) in parts {
            selected.insert(at, part);
        }
        Ok(selected)
    }

    /// Number of scopes around a signal.
    fn scopes(&self, at: usize) -> usize {
        self.signals[at].name.matches('.').count()
    }

    /// Returns the signal of a name, or the part of one that it names: `meta.psn`, `depth[3]`, `depth[7:4]`.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find), and for a part that the signal does not have.
    pub fn find_part(&self, option: &'static str, name: &str) -> Result<Signal, WaveError> {
        match self.find(option, name) {
            Err(WaveError::Unknown { .. }) => match self.part(option, name)? {
                Some(part) => Ok(part),
                None => Err(self.unknown(option, name)),
            },
            found => found,
        }
    }

    /// Returns the part of a signal that a name means; `None` if it begins with the name of no signal. The whole path of
    /// a scope is the name of no signal, even if one within ends like it.
    fn part(&self, option: &'static str, name: &str) -> Result<Option<Signal>, WaveError> {
        let ends = name.rmatch_indices(['.', '[']).map(|(at, _)| at);
        let is_scope = |path: &str| {
            let within = |signal: &Signal| {
                (signal.name.strip_prefix(path)).is_some_and(|rest| rest.starts_with('.'))
            };
            self.signals.iter().any(within)
        };
        for at in ends.filter(|at| !is_scope(&name[..*at])) {
            let Ok(signal) = self.find(option, &name[..at]) else {
                continue;
            };
            let wrong = |problem: String| WaveError::Window(format!("{option} {name}: {problem}"));
            let has = |what: String| wrong(format!("{} {what}", signal.name));
            let steps = steps(&name[at..]).map_err(wrong)?;
            let Some(bits) = signal.bits() else {
                return Err(wrong("its values are no bits".into()));
            };
            let (part, kind) = match self.type_of(&signal) {
                Some((types, place)) => {
                    let typed = types.part(place, &steps).map_err(has)?;
                    (typed.part, typed.kind)
                }
                None => {
                    let part = of_bits(&steps, signal.lsb, bits).map_err(has)?;
                    let kind = Kind::Bits {
                        bits: part.width,
                        signed: false,
                    };
                    (part, kind)
                }
            };
            return Ok(Some(Signal {
                name: format!("{}{}", signal.name, &name[at..]),
                kind,
                part: Some(part),
                ..signal
            }));
        }
        Ok(None)
    }

    /// The type of a signal of several members or elements, if it is known: by its name, or by another one that it has
    /// in the file, since a port of the top stands outside of it too.
    fn type_of(&self, signal: &Signal) -> Option<(&Types, usize)> {
        let (types, places) = self.types.as_ref()?;
        let own = types.of(&signal.name, signal.bits()?);
        Some((types, own.or_else(|| places.get(&signal.id).copied())?))
    }

    /// The names of the members of a signal that is a packed struct or union, where its type is known.
    pub fn members(&self, signal: &Signal) -> Vec<&str> {
        match self.type_of(signal) {
            Some((types, place)) => types.members(place),
            None => Vec::new(),
        }
    }

    /// Returns the one signal of a name. Of several the one with the fewest scopes is meant, such as the port of a top
    /// of which modules within have ports of the same name.
    ///
    /// # Errors
    ///
    /// Returns an error if none has the name, or if several do in as few scopes that are not the same signal.
    pub fn find(&self, option: &'static str, name: &str) -> Result<Signal, WaveError> {
        let mut found = self.matching(name);
        let fewest = found.iter().map(|at| self.scopes(*at)).min();
        found.retain(|at| Some(self.scopes(*at)) == fewest || self.signals[*at].name == name);
        let whole = found.iter().find(|at| self.signals[**at].name == name);
        let Some(&first) = whole.or(found.first()) else {
            return Err(self.unknown(option, name));
        };
        let same = |at: &usize| self.signals[*at].id == self.signals[first].id;
        if whole.is_none() && !found.iter().all(same) {
            return Err(WaveError::Ambiguous {
                option,
                name: name.into(),
                names: found
                    .iter()
                    .map(|at| self.signals[*at].name.clone())
                    .collect(),
            });
        }
        Ok(self.signals[first].clone())
    }

    /// Returns the places of the signals whose name, or an end of it behind a dot, matches a pattern.
    fn matching(&self, pattern: &str) -> Vec<usize> {
        let pattern = wildmatch::WildMatch::new(pattern.trim());
        let matches = |name: &str| {
            let ends = name.match_indices('.').map(|(at, _)| &name[at + 1..]);
            std::iter::once(name)
                .chain(ends)
                .any(|end| pattern.matches(end))
        };
        let signals = self.signals.iter().enumerate();
        signals
            .filter(|(_, signal)| matches(&signal.name))
            .map(|(at, _)| at)
            .collect()
    }

    fn unknown(&self, option: &'static str, name: &str) -> WaveError {
        // Compared with the end of each name that has as many parts.
        let parts = name.matches('.').count() + 1;
        let distance = |known: &str| {
            let cut = known.rmatch_indices('.').nth(parts - 1);
            let end = cut.map_or(known, |(at, _)| &known[at + 1..]);
            strsim::damerau_levenshtein(end, name)
        };
        let most = 1 + name.chars().count() / 3;
        let near = self.signals.iter().map(|signal| &signal.name[..]);
        let mut near: Vec<(usize, &str)> = near.map(|known| (distance(known), known)).collect();
        near.retain(|(distance, _)| *distance <= most);
        near.sort_unstable();
        near.dedup();
        let best = near.first().map_or(0, |(distance, _)| *distance);
        near.retain(|(distance, _)| *distance <= best + 1);
        let near = near.into_iter().take(MOST_NAMES);
        WaveError::Unknown {
            option,
            name: name.into(),
            near: near.map(|(_, name)| name.to_owned()).collect(),
        }
    }

    /// Reads the values of signals.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is damaged.
    pub fn load(&mut self, signals: impl IntoIterator<Item = SignalRef>) -> Result<(), WaveError> {
        let ids: BTreeSet<SignalRef> = signals.into_iter().collect();
        let ids: Vec<SignalRef> = ids.into_iter().collect();
        let waveform = &mut self.waveform;
        let (result, remarks) = quietly(|| waveform.load_signals(&ids));
        self.remarks.extend(remarks);
        result.map_err(|problem| WaveError::Read {
            path: self.path.clone(),
            problem,
        })
    }

    /// Returns the changes of a loaded signal; `None` if the file has no values of it.
    pub fn changes(&self, signal: SignalRef) -> Option<&Changes> {
        self.waveform.get_signal(signal)
    }

    /// Whether a signal is an event, which has no value between the times at which it happens.
    pub fn is_event(&self, id: SignalRef) -> bool {
        self.events.contains(&id)
    }

    /// The times of the file, in its units, in ascending order.
    pub fn times(&self) -> &[u64] {
        self.waveform.time_table()
    }

    /// Converts a time of the file to picoseconds, with a fraction if its unit is shorter.
    pub fn ps(&self, tick: u64) -> (u64, u64) {
        let fs = u128::from(tick) * u128::from(self.fs_per_tick);
        let per_ps = u128::from(FS_PER_PS);
        ((fs / per_ps) as u64, (fs % per_ps) as u64)
    }

    /// Converts picoseconds to the file's units, rounded down.
    pub fn tick_at(&self, ps: u64) -> u64 {
        (u128::from(ps) * u128::from(FS_PER_PS) / u128::from(self.fs_per_tick)) as u64
    }

    /// Converts picoseconds to the file's units, rounded up.
    pub fn tick_from(&self, ps: u64) -> u64 {
        (u128::from(ps) * u128::from(FS_PER_PS)).div_ceil(u128::from(self.fs_per_tick)) as u64
    }

    /// Formats a time of the file in nanoseconds.
    pub fn ns_text(&self, tick: u64) -> String {
        let (ps, fs) = self.ps(tick);
        let text = format!("{}.{:03}", ps / 1_000, ps % 1_000);
        match self.fs_per_tick % FS_PER_PS {
            0 => text,
            _ => format!("{text}{fs:03}"),
        }
    }

    /// Formats a time of the file for messages.
    pub fn time_text(&self, tick: u64) -> String {
        format!("{} ns", self.ns_text(tick))
    }
}

thread_local! {
    /// Whether panics of this thread are reported by [`quietly`] rather than printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls the reader. Its panic is returned as a message and not printed, and so is what it prints.
fn quietly<T>(read: impl FnOnce() -> T) -> (Result<T, String>, Vec<String>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                print(panic);
            }
        }));
    });
    QUIET.set(true);
    let (result, printed) = overheard(|| catch_unwind(AssertUnwindSafe(read)));
    QUIET.set(false);
    let text = |panic: Box<dyn Any + Send>| {
        (panic.downcast_ref::<String>().cloned())
            .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
            .unwrap_or_default()
    };
    let result = result.map_err(|panic| {
        let text = text(panic);
        // One line, whatever the reader says.
        let text: Vec<&str> = text.split_whitespace().collect();
        format!(
            "a damaged wave file, or one of a kind that is not read: {}",
            text.join(" ")
        )
    });
    (result, printed)
}
