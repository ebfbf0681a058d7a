//! `nic_translation`: who asks about which memory, the host's page tables and its times are drawn. What is right is
//! said by arithmetic on addresses and by what the host was asked and has answered ([`judge`]).

pub mod bins;
mod events;
mod judge;

use std::collections::VecDeque;

use proptest::strategy::{BoxedStrategy, Strategy};
use xoff_cosim::units::UnitError;
use xoff_sim::seeded::SplitMix;

use self::events::{Event, Head};
use self::judge::Judge;
use super::bins::{Bins, Groups};
use super::history::Histories;
use super::{Case, Disagreement, Property, text, unit};
use crate::units::translation::{ASKERS, ASKS, RtlTranslation, TRANSMIT, TranslationIn};

/// Cycles in which an event is taken at the latest, beside the times of the host.
const PATIENCE: u64 = 2_000;
/// Cycles in which the unit rests once nothing is to be done: as many as the cache has sets, and a few.
const RESTS: u64 = 600;

/// The property.
pub struct Translation {
    rtl: RtlTranslation,
}

impl Property for Translation {
    type Head = Head;
    type Event = Event;
    const UNIT: &'static str = unit::TRANSLATION.name;
    const EVENTS: &'static str = "asks";
    const CASES: u64 = unit::TRANSLATION.cases;

    fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            rtl: RtlTranslation::new(seed)?,
        })
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        Histories(events::history).boxed()
    }

    fn groups() -> Groups {
        bins::GROUPS
    }

    fn check(&mut self, case: &Case<Self>, bins: &mut Bins) -> Result<u64, Disagreement> {
        let mut run = Run {
            rtl: &mut self.rtl,
            head: &case.head,
            judge: Judge::new(&case.head),
            bins,
            draw: SplitMix::new(case.head.seed),
            comes: VecDeque::new(),
            now: 0,
            busy: true,
            room: false,
        };
        run.rtl.reset(case.head.setup).map_err(text)?;
        run.events(&case.events)?;
        run.end()
    }
}

/// A case that runs.
struct Run<'a> {
    rtl: &'a mut RtlTranslation,
    head: &'a Head,
    judge: Judge,
    bins: &'a mut Bins,
    /// Times of the host.
    draw: SplitMix,
    /// When the entries come that the host reads, in order.
    comes: VecDeque<u64>,
    now: u64,
    /// As the last cycle said.
    busy: bool,
    room: bool,
}

impl Run<'_> {
    /// Brings about the events, as many in a cycle as have ports for each.
    fn events(&mut self, events: &[Event]) -> Result<(), Disagreement> {
        let mut inputs = TranslationIn::default();
        for event in events {
            let mut patience = PATIENCE + 40 * self.longest();
            while !self.fits(&inputs, event) {
                self.cycle(std::mem::take(&mut inputs))?;
                patience -= 1;
                if patience == 0 {
                    return Err(format!("cycle {}: {event:?} is not taken", self.now));
                }
            }
            match *event {
                Event::Wait(cycles) => {
                    for _ in 0..cycles {
                        self.cycle(std::mem::take(&mut inputs))?;
                    }
                }
                Event::Receive { ring, ask } => inputs.receive = Some((ring, ask)),
                Event::Transmit(ask) => inputs.transmit = Some(ask),
                Event::Write { index, mapping } => inputs.write = Some((index, mapping)),
                Event::Pages {
                    first,
                    count,
                    there,
                } => self.judge.pages(first, count, there),
            }
        }
        self.cycle(inputs)
    }

    /// Whether an event may come in the cycle of these inputs.
    fn fits(&self, inputs: &TranslationIn, event: &Event) -> bool {
        match *event {
            Event::Wait(_) | Event::Pages { .. } => true,
            Event::Receive { ring, .. } => {
                let asked = self.judge.outstanding(usize::from(ring));
                inputs.receive.is_none() && self.room && asked < ASKS
            }
            Event::Transmit(_) => {
                inputs.transmit.is_none() && self.judge.outstanding(TRANSMIT) < ASKS
            }
            Event::Write { .. } => inputs.write.is_none() && !self.busy,
        }
    }

    fn cycle(&mut self, mut inputs: TranslationIn) -> Result<(), Disagreement> {
        let now = |pattern: u32| pattern >> (self.now % 32) & 1 != 0;
        inputs.ready = match now(self.head.takes) {
            true => (1 << ASKERS) - 1,
            false => !self.head.slow & ((1 << ASKERS) - 1),
        };
        inputs.entry_ready = now(self.head.host);
        if self.comes.front().is_some_and(|at| *at <= self.now) {
            self.comes.pop_front();
            inputs.come = Some(self.judge.next_there());
        }
        let out = self.rtl.cycle(&inputs).map_err(text)?;
        (self.judge.see(self.now, &inputs, &out, self.bins))
            .map_err(|what| format!("cycle {}: {what}", self.now))?;
        if out.entry.is_some() && inputs.entry_ready {
            let (least, most) = self.head.latency;
            let at = self.now + self.draw.within(least.into(), most.into());
            let last = self.comes.back().map_or(0, |at| at + 1);
            self.comes.push_back(at.max(last));
        }
        (self.busy, self.room) = (out.busy, out.room);
        self.now += 1;
        Ok(())
    }

    /// The longest that the host takes for an entry.
    fn longest(&self) -> u64 {
        u64::from(self.head.latency.1) + 32
    }

    /// Until each ask has its verdict, and the unit rests. Returns the number of asks.
    fn end(mut self) -> Result<u64, Disagreement> {
        let asked = self.judge.asked();
        let until = self.now + PATIENCE + asked * (2 * self.longest() + 32);
        while self.judge.waits() && self.now < until {
            self.cycle(TranslationIn::default())?;
        }
        let until = self.now + RESTS + self.longest();
        while !self.judge.rests() && self.now < until {
            self.cycle(TranslationIn::default())?;
        }
        self.judge.end()?;
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::history::cases_are_what_their_text_says;

    #[test]
    fn asks_are_what_their_text_says() {
        cases_are_what_their_text_says::<Translation>();
    }
}
