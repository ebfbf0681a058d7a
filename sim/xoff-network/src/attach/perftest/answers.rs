//! What READs and atomics bring to the memory of the client, and whether it is what it has to be.
//!
//! The other end's memory is not known. But all READs are of the same memory, which nobody writes to; and an atomic
//! finds what the one before it has left, if each was performed once.

use crc32fast::hash;
use xoff_sim::host::memory;
use xoff_sim::protocol::gbn::Work;

use super::{CACHE_LINE, CYCLE, DEPTH, Verb};

/// Bytes of an atomic's operand and of its answer.
const WORD: usize = 8;
/// The cache lines that atomics go round in, as the tool's do.
const LINES: u64 = (CYCLE / CACHE_LINE) as u64;

/// The answers of one run.
#[derive(Debug)]
pub struct Answers {
    verb: Verb,
    /// Where they are written to.
    base: u64,
    /// Checksum of what the first READ brought.
    first: Option<u32>,
    /// What is in each line's first word, as far as atomics have found.
    lines: Vec<Option<u64>>,
}

impl Answers {
    /// Answers that are written to memory from `base` on.
    pub fn new(verb: Verb, base: u64) -> Self {
        Self {
            verb,
            base,
            first: None,
            lines: vec![None; LINES as usize],
        }
    }

    /// Where the answer of a number is: those of atomics that are under way are apart.
    pub const fn place(&self, number: u64) -> u64 {
        match self.verb {
            Verb::FetchAdd | Verb::CmpSwap => self.base + number % DEPTH * WORD as u64,
            _ => self.base,
        }
    }

    /// Completes a work request, whose id is its number, with what it asks for and where its answer goes. A
    /// `CMP_AND_SWAP` compares with what is there as far as it is known, and swaps in a number of its own, so that it
    /// shows whether it was performed; the tool swaps 0 for 0.
    pub fn ask(&self, work: Work) -> Work {
        let number = work.id;
        let at_line = work.remote_va + number % LINES * u64::from(CACHE_LINE);
        let asked = Work {
            local_va: self.place(number),
            ..work
        };
        match self.verb {
            Verb::Send | Verb::Write => work,
            Verb::Read => asked,
            Verb::FetchAdd => Work {
                remote_va: at_line,
                swap_add: 1,
                ..asked
            },
            Verb::CmpSwap => Work {
                remote_va: at_line,
                swap_add: number + 1,
                compare: self.known(number).unwrap_or(0),
                ..asked
            },
        }
    }

    fn known(&self, number: u64) -> Option<u64> {
        self.lines[(number % LINES) as usize]
    }

    /// Takes the answer of a number, those of lower numbers before it. Returns whether it is what it has to be.
    pub fn take(&mut self, number: u64, found: &[u8]) -> bool {
        let Ok(word) = found.try_into().map(u64::from_le_bytes) else {
            let checksum = hash(found);
            return *self.first.get_or_insert(checksum) == checksum;
        };
        let before = self.known(number);
        // Fewer are under way than there are lines: what is known now was known when it was asked.
        let left = match self.verb {
            Verb::FetchAdd => word.wrapping_add(1),
            Verb::CmpSwap if word == before.unwrap_or(0) => number + 1,
            _ => word,
        };
        self.lines[(number % LINES) as usize] = Some(left);
        before.is_none_or(|before| before == word)
    }
}

/// What was added to the words from `va` on, all together, since they had the content of their addresses.
pub fn added(va: u64, found: &[u8]) -> u64 {
    let mut content = vec![0; found.len()];
    memory::fill(va, &mut content);
    let words = found.as_chunks::<WORD>().0.iter();
    let pairs = words.zip(content.as_chunks::<WORD>().0);
    let differences = pairs.map(|(found, content)| {
        u64::from_le_bytes(*found).wrapping_sub(u64::from_le_bytes(*content))
    });
    differences.fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(id: u64) -> Work {
        Work {
            id,
            remote_va: 0x1000,
            ..Work::default()
        }
    }

    #[test]
    fn an_atomic_that_is_performed_twice_or_not_at_all_shows() {
        for (found, right) in [(6, true), (5, false), (7, false)] {
            let mut answers = Answers::new(Verb::FetchAdd, 0);
            assert!(answers.take(0, &5u64.to_le_bytes()));
            assert_eq!(answers.take(LINES, &u64::to_le_bytes(found)), right);
        }
        let mut answers = Answers::new(Verb::CmpSwap, 0);
        // Nothing is known of the line: it is compared with 0, and is something else.
        assert_eq!(answers.ask(work(3)).compare, 0);
        assert!(answers.take(3, &77u64.to_le_bytes()));
        let next = answers.ask(work(3 + LINES));
        assert_eq!((next.compare, next.swap_add), (77, 4 + LINES));
        assert_eq!(next.remote_va, 0x1000 + 3 * 64);
        assert!(answers.take(3 + LINES, &77u64.to_le_bytes()));
        assert!(!answers.take(3 + 2 * LINES, &77u64.to_le_bytes()));
    }

    #[test]
    fn all_reads_bring_the_same() {
        let mut answers = Answers::new(Verb::Read, 0);
        let brought = |byte: u8| [byte; 16];
        assert!(answers.take(0, &brought(1)) && answers.take(1, &brought(1)));
        assert!(!answers.take(2, &brought(2)));
    }

    #[test]
    fn what_was_added_is_seen() {
        let mut found = [0; 64];
        memory::fill(0x1000, &mut found);
        assert_eq!(added(0x1000, &found), 0);
        let word = u64::from_le_bytes(found[8..16].try_into().unwrap()).wrapping_add(3);
        found[8..16].copy_from_slice(&word.to_le_bytes());
        assert_eq!(added(0x1000, &found), 3);
    }
}
