//! A history: what is done to a unit, and when. Drawn, shrunk, written and read here, whatever the unit.
//!
//! ```text
//! unit pfc_rx 40G start=0 walk=0
//! at +1: classes 0xff
//! at +0: frame pfc enable=0x0001 quanta=[1,0,0,0,0,0,0,0]
//! at wake+0: frame pfc enable=0x0001 quanta=[2,0,0,0,0,0,0,0]
//! at wake+1: look
//! ```

use std::fmt::Debug;
use std::marker::PhantomData;

use proptest::prelude::Rng;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use xoff_sim::protocol::pause_time::LAST_CYCLE;

use super::words;
use crate::property::draw::Draw;

/// When a step happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// This many cycles after the step before; 0: in the same cycle.
    Cycles(u64),
    /// So many cycles after `wake_o`, as it stands once the unit is idle; in the next cycle if that has passed or there is none.
    Wake(i8),
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Action<E> {
    /// Nothing: a cycle to look at.
    Look,
    /// The cycle has reset.
    Reset,
    /// Something of the unit's own.
    Event(E),
}

/// What happens, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Step<E> {
    /// When.
    pub wait: Wait,
    /// What.
    pub action: Action<E>,
}

impl<E> Step<E> {
    /// An event `cycles` after the step before.
    pub fn after(cycles: u64, event: E) -> Self {
        Self {
            wait: Wait::Cycles(cycles),
            action: Action::Event(event),
        }
    }

    /// An event in the same cycle as the step before.
    pub fn with(event: E) -> Self {
        Self::after(0, event)
    }
}

/// A case of one unit.
#[derive(Debug, Clone, PartialEq)]
pub struct History<E: Vocabulary> {
    /// What is fixed for the whole of it.
    pub setup: E::Setup,
    /// The cycle of the first reset.
    pub start: u64,
    /// Cycles at either end of a jump through which a second instance goes one by one, to show that the jump does no harm. 0: no second instance.
    pub walk: u16,
    /// What happens.
    pub steps: Vec<Step<E>>,
}

/// What can happen to a unit, in random and in words.
pub trait Vocabulary: Clone + PartialEq + Debug + 'static {
    /// What is fixed for a whole history.
    type Setup: Clone + PartialEq + Debug;
    /// The unit, as the first line of a case names it.
    const UNIT: &'static str;

    /// Draws what is fixed.
    fn draw_setup(draw: &mut Draw) -> Self::Setup;
    /// What a history begins with: a configuration in which something can happen.
    fn opening(draw: &mut Draw) -> Vec<Step<Self>>;
    /// Adds an event, or a few that belong together.
    fn draw(draw: &mut Draw, steps: &mut Vec<Step<Self>>);
    /// Simpler events to try in the place of this one; none of them leads back.
    fn simpler(&self) -> Vec<Self>;

    /// What is fixed, as words.
    fn write_setup(setup: &Self::Setup) -> String;
    /// What [`write_setup`](Vocabulary::write_setup) wrote.
    fn read_setup(words: &[&str]) -> Option<Self::Setup>;
    /// The event in words.
    fn write(&self) -> String;
    /// What [`write`](Vocabulary::write) wrote.
    fn read(words: &mut dyn Iterator<Item = &str>) -> Option<Self>;
    /// An event in words, for who wrote another one.
    const EXAMPLE: &'static str;
}

/// Cycles at which histories begin: everyday ones, and those at which a deadline needs a bit more than `now_i` has set.
const STARTS: [u64; 6] = [
    0,
    1,
    1_000,
    (1 << 16) - 20,
    (1 << 32) - 300,
    (1 << 47) - 1_000,
];
/// No step comes later, so that no deadline is beyond what `now_i` can tell: the farthest, of a watchdog, are 2^40 cycles away.
pub const LAST_STEP: u64 = LAST_CYCLE - (1 << 41);
/// Events of a history, at most, but for the last few that belong together.
const MAX_STEPS: u32 = 120;

/// Draws when a step happens. Edges are at deadlines, so half of the steps are in the cycles around one.
pub fn draw_wait(draw: &mut Draw) -> Wait {
    match draw.below(32) {
        0..=9 => Wait::Cycles(1),
        10..=13 => Wait::Cycles(0),
        14..=17 => Wait::Cycles(2 + u64::from(draw.below(6))),
        18..=28 => Wait::Wake(draw.one_of(&[-2, -1, -1, 0, 0, 0, 1, 1, 2])),
        29..=30 => Wait::Cycles(u64::from(draw.below(300))),
        _ => Wait::Cycles(draw.up_to_bits(41)),
    }
}

impl<E: Vocabulary> History<E> {
    fn draw(draw: &mut Draw) -> Self {
        let setup = E::draw_setup(draw);
        let start = draw.one_of(&STARTS);
        let walk = match draw.below(64) {
            0 => 2_000,
            1..=5 => 20,
            _ => 0,
        };
        let mut steps = E::opening(draw);
        let end = 1 + draw.below(MAX_STEPS) as usize;
        while steps.len() < end {
            match draw.below(64) {
                0 => steps.push(Step {
                    wait: draw_wait(draw),
                    action: Action::Reset,
                }),
                1..=2 => steps.push(Step {
                    wait: draw_wait(draw),
                    action: Action::Look,
                }),
                _ => E::draw(draw, &mut steps),
            }
        }
        Self {
            setup,
            start,
            walk,
            steps,
        }
    }

    /// The history as lines.
    pub fn write(&self) -> Vec<String> {
        let setup = E::write_setup(&self.setup);
        let gap = if setup.is_empty() { "" } else { " " };
        let head = format!(
            "unit {}{gap}{setup} start={} walk={}",
            E::UNIT,
            self.start,
            self.walk
        );
        std::iter::once(head)
            .chain(self.steps.iter().map(|step| {
                let wait = match step.wait {
                    Wait::Cycles(cycles) => format!("+{cycles}"),
                    Wait::Wake(offset) => format!("wake{offset:+}"),
                };
                let action = match &step.action {
                    Action::Look => "look".to_owned(),
                    Action::Reset => "reset".to_owned(),
                    Action::Event(event) => event.write(),
                };
                format!("at {wait}: {action}")
            }))
            .collect()
    }

    /// What [`History::write`] wrote.
    ///
    /// # Errors
    ///
    /// What a line should have been.
    pub fn read(head: &[&str], lines: &[&str]) -> Result<Self, String> {
        let read_head = || {
            let [setup @ .., start, walk] = head else {
                return None;
            };
            Some(Self {
                setup: E::read_setup(setup)?,
                start: words::number(words::value(Some(start), "start"), 48)?,
                walk: words::number(words::value(Some(walk), "walk"), 16)? as u16,
                steps: Vec::new(),
            })
        };
        let mut history = read_head().ok_or_else(|| {
            let example = E::write_setup(&E::draw_setup(&mut Draw::new(0)));
            let unit = E::UNIT;
            format!("event 1: expected 'unit {unit} {example} start=CYCLE walk=CYCLES'")
        })?;
        for (i, line) in lines.iter().enumerate() {
            let step = Self::read_step(line).ok_or_else(|| {
                format!(
                    "event {} is '{line}'; expected 'at +CYCLES: EVENT' or 'at wake+CYCLES: EVENT', EVENT 'look', 'reset' or, as an example, '{}'",
                    i + 2,
                    E::EXAMPLE
                )
            })?;
            history.steps.push(step);
        }
        Ok(history)
    }

    fn read_step(line: &str) -> Option<Step<E>> {
        let (wait, action) = line.strip_prefix("at ")?.split_once(": ")?;
        let wait = match wait.strip_prefix("wake") {
            Some(offset) => Wait::Wake(offset.parse().ok()?),
            None => Wait::Cycles(words::number(Some(wait.strip_prefix('+')?), 48)?),
        };
        let mut words = action.split_whitespace();
        let action = match action {
            "look" => Action::Look,
            "reset" => Action::Reset,
            _ => {
                let event = E::read(&mut words)?;
                if words.next().is_some() {
                    return None;
                }
                Action::Event(event)
            }
        };
        Some(Step { wait, action })
    }
}

/// Draws histories of a vocabulary.
pub fn histories<E: Vocabulary>() -> Histories<E> {
    Histories(PhantomData)
}

/// See [`histories`].
#[derive(Debug, Clone)]
pub struct Histories<E>(PhantomData<E>);

impl<E: Vocabulary> Strategy for Histories<E> {
    type Tree = Shrinking<E>;
    type Value = History<E>;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let mut draw = Draw::new(runner.rng().next_u64());
        Ok(Shrinking::of(History::draw(&mut draw)))
    }
}

/// A history on its way to a shorter one: first fewer steps, ever smaller runs of them, then simpler steps, and again while that helps.
///
/// proptest's own lists would do, at the price of a tree of boxes for every event of every history that never fails.
#[derive(Debug, Clone)]
pub struct Shrinking<E: Vocabulary> {
    best: History<E>,
    trial: Option<History<E>>,
    next: Attempt,
    /// Something became simpler since the last round began.
    helped: bool,
}

/// What to try next.
#[derive(Debug, Clone, Copy)]
enum Attempt {
    /// Without the `run` steps from `at` on.
    Without { run: usize, at: usize },
    /// With simpler form `form` of step `at`.
    Simpler { at: usize, form: usize },
    /// Beginning in cycle 0.
    AtZero,
    /// Nothing is left.
    Over,
}

impl<E: Vocabulary> Shrinking<E> {
    fn of(best: History<E>) -> Self {
        let run = best.steps.len();
        Self {
            best,
            trial: None,
            next: Attempt::Without { run, at: 0 },
            helped: false,
        }
    }

    fn try_next(&mut self) -> bool {
        let length = self.best.steps.len();
        loop {
            match self.next {
                Attempt::Without { run: 0, .. } => {
                    self.next = Attempt::Simpler { at: 0, form: 0 };
                }
                Attempt::Without { run, at } if at >= length => {
                    self.next = Attempt::Without {
                        run: run / 2,
                        at: 0,
                    };
                }
                Attempt::Without { run, at } => {
                    self.next = Attempt::Without { run, at: at + run };
                    let mut trial = self.best.clone();
                    trial.steps.drain(at..(at + run).min(length));
                    self.trial = Some(trial);
                    return true;
                }
                Attempt::Simpler { at, .. } if at >= length => {
                    self.next = match std::mem::take(&mut self.helped) {
                        true => Attempt::Without { run: length, at: 0 },
                        false => Attempt::AtZero,
                    };
                }
                Attempt::Simpler { at, form } => {
                    match simpler(&self.best.steps[at]).into_iter().nth(form) {
                        None => {
                            self.next = Attempt::Simpler {
                                at: at + 1,
                                form: 0,
                            }
                        }
                        Some(step) => {
                            self.next = Attempt::Simpler { at, form: form + 1 };
                            let mut trial = self.best.clone();
                            trial.steps[at] = step;
                            self.trial = Some(trial);
                            return true;
                        }
                    }
                }
                Attempt::AtZero => {
                    self.next = Attempt::Over;
                    if self.best.start != 0 {
                        let mut trial = self.best.clone();
                        trial.start = 0;
                        self.trial = Some(trial);
                        return true;
                    }
                }
                Attempt::Over => return false,
            }
        }
    }
}

/// Less than `n`: 0, then ever nearer to it, so that shrinking finds a least number in few attempts.
pub fn less_than(n: u64) -> impl Iterator<Item = u64> {
    let nearer = (1..64)
        .map(move |halvings| n >> halvings)
        .take_while(|&gap| gap > 0)
        .map(move |gap| n - gap);
    std::iter::once(0)
        .chain(nearer)
        .filter(move |&less| less < n)
}

/// Simpler steps than this one. Each is nearer to a look in the next cycle, so shrinking ends.
fn simpler<E: Vocabulary>(step: &Step<E>) -> Vec<Step<E>> {
    let waits = match step.wait {
        Wait::Cycles(0 | 1) => vec![],
        Wait::Cycles(n) => (less_than(n - 1).map(|n| n + 1)).collect(),
        Wait::Wake(_) => vec![1],
    };
    let mut simpler: Vec<_> = waits
        .into_iter()
        .map(|cycles| Step {
            wait: Wait::Cycles(cycles),
            action: step.action.clone(),
        })
        .collect();
    if let Action::Event(event) = &step.action {
        simpler.extend(event.simpler().into_iter().map(|event| Step {
            wait: step.wait,
            action: Action::Event(event),
        }));
    }
    if step.action != Action::Look {
        simpler.push(Step {
            wait: step.wait,
            action: Action::Look,
        });
    }
    simpler
}

impl<E: Vocabulary> ValueTree for Shrinking<E> {
    type Value = History<E>;

    fn current(&self) -> History<E> {
        self.trial.as_ref().unwrap_or(&self.best).clone()
    }

    fn simplify(&mut self) -> bool {
        if let Some(trial) = self.trial.take() {
            self.helped = true;
            // What was taken out leaves the next in its place.
            self.next = match self.next {
                Attempt::Without { run, at } => Attempt::Without {
                    run,
                    at: at.saturating_sub(run),
                },
                Attempt::Simpler { at, .. } => Attempt::Simpler { at, form: 0 },
                Attempt::AtZero | Attempt::Over => Attempt::Over,
            };
            self.best = trial;
        }
        self.try_next()
    }

    fn complicate(&mut self) -> bool {
        self.trial = None;
        self.try_next()
    }
}
