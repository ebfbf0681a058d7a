//! Lines of a GOAL file to operations.

use std::collections::HashMap;
use std::str::FromStr;

use xoff_sim::host::schedule::Point;
use xoff_sim::time::{ByteCount, Duration};

use super::{Action, Envelope, MOST_BYTES, MOST_CALC_NS, Operation};
use crate::scenario::check::{Issue, Issues, MOST_HOSTS, issue};

/// The number of an operation that could not be read.
const UNREAD: u32 = u32::MAX;
/// Most problems of a file that are said: a file of another format has one in each line.
const MOST_SAID: usize = 100;

/// What a file has, before messages are matched.
pub(super) struct Draft<'a> {
    pub(super) ranks: Vec<Vec<Operation>>,
    /// The label of each operation; empty without one.
    pub(super) labels: Vec<Vec<&'a str>>,
}

/// Problems of a file, of which only so many are kept.
pub(super) struct Said<'a> {
    file: &'a str,
    found: Vec<Issue>,
    /// Number of those that are not kept, and the line of the first of them.
    more: (usize, usize),
}

impl<'a> Said<'a> {
    pub(super) const fn new(file: &'a str) -> Self {
        Self {
            file,
            found: Vec::new(),
            more: (0, 0),
        }
    }

    pub(super) fn wrong(&mut self, line: usize, problem: impl Into<String>) {
        if self.found.len() < MOST_SAID {
            self.found
                .push(issue(format!("{}:{line}", self.file), problem));
        } else {
            if self.more.0 == 0 {
                self.more.1 = line;
            }
            self.more.0 += 1;
        }
    }

    pub(super) fn done<T>(mut self, value: T) -> Result<T, Issues> {
        let (more, line) = self.more;
        if more > 0 {
            let place = format!("{}:{line}", self.file);
            self.found
                .push(issue(place, format!("{more} more from here on")));
        }
        match self.found.is_empty() {
            true => Ok(value),
            false => Err(Issues(self.found)),
        }
    }
}

/// The block of a rank.
struct Block<'a> {
    rank: usize,
    line: usize,
    operations: Vec<Operation>,
    labels: Vec<&'a str>,
    numbers: HashMap<&'a str, u32>,
    /// Line, who requires, what of whom.
    requirements: Vec<(usize, &'a str, Point, &'a str)>,
}

struct Reader<'a> {
    said: Said<'a>,
    /// The blocks by rank, as far as they have been read.
    ranks: Vec<Option<Block<'a>>>,
    block: Option<Block<'a>>,
}

/// Reads the operations of each rank.
pub(super) fn read<'a>(file: &'a str, text: &'a str) -> Result<Draft<'a>, Issues> {
    let mut reader = Reader {
        said: Said::new(file),
        ranks: Vec::new(),
        block: None,
    };
    let (mut words, mut comment, mut last) = (Vec::new(), None, 1);
    for (line, read) in (1..).zip(text.lines()) {
        words.clear();
        split(read, line, &mut comment, &mut words);
        if words.is_empty() {
            continue;
        }
        last = line;
        if reader.line(line, &words).is_none() {
            return reader.said.done(Draft {
                ranks: Vec::new(),
                labels: Vec::new(),
            });
        }
    }
    if let Some(line) = comment {
        reader
            .said
            .wrong(line, "'/*': a comment without an end: */ is right");
    }
    reader.end(last)
}

/// Splits a line into words. `:`, `{` and `}` are words of their own. `comment` is the line in which a comment over
/// several lines has begun.
fn split<'a>(line: &'a str, number: usize, comment: &mut Option<usize>, words: &mut Vec<&'a str>) {
    let mut rest = line;
    loop {
        if comment.is_some() {
            let Some(end) = rest.find("*/") else { return };
            *comment = None;
            rest = &rest[end + 2..];
        }
        rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with("//") {
            return;
        }
        if let Some(inside) = rest.strip_prefix("/*") {
            *comment = Some(number);
            rest = inside;
            continue;
        }
        let single = rest.starts_with([':', '{', '}']);
        let end = match single {
            true => 1,
            false => word_end(rest),
        };
        words.push(&rest[..end]);
        rest = &rest[end..];
    }
}

/// Where the first word of a text ends.
fn word_end(text: &str) -> usize {
    let ends = |(place, letter): (usize, char)| match letter {
        ':' | '{' | '}' => true,
        '/' => text[place..].starts_with("//") || text[place..].starts_with("/*"),
        _ => letter.is_whitespace(),
    };
    let mut letters = text.char_indices();
    letters
        .find(|at| ends(*at))
        .map_or(text.len(), |(place, _)| place)
}

/// Whether a word can be a label.
fn is_label(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic())
        && word
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_')
}

impl<'a> Reader<'a> {
    /// Takes a line. `None`: nothing behind it can be understood.
    fn line(&mut self, line: usize, words: &[&'a str]) -> Option<()> {
        let mut rest = words;
        while let [first, behind @ ..] = rest {
            match (&self.block, *first) {
                (_, "rank") => rest = self.open(line, behind)?,
                (_, "num_ranks") => rest = self.num_ranks(line, behind)?,
                (Some(_), "}") => {
                    self.close();
                    rest = behind;
                }
                (None, _) => {
                    let problem = match self.ranks.is_empty() {
                        true => "right is first the number of ranks: num_ranks 4",
                        false => "outside of a rank: rank R { is right, or the end of the file",
                    };
                    self.said
                        .wrong(line, format!("'{}': {problem}", rest.join(" ")));
                    if self.ranks.is_empty() {
                        return None;
                    }
                    return Some(());
                }
                (Some(_), _) => {
                    let end = rest.iter().position(|word| *word == "}");
                    let (statement, behind) = rest.split_at(end.unwrap_or(rest.len()));
                    self.statement(line, statement);
                    rest = behind;
                }
            }
        }
        Some(())
    }

    fn num_ranks<'w>(&mut self, line: usize, words: &'w [&'a str]) -> Option<&'w [&'a str]> {
        let number = words.first().and_then(|word| word.parse::<u64>().ok());
        match number {
            Some(number) if !self.ranks.is_empty() => {
                let problem = format!("num_ranks {number}: the number of ranks was given before");
                self.said.wrong(line, problem);
            }
            Some(number) if (1..=MOST_HOSTS).contains(&number) => {
                self.ranks.resize_with(number as usize, || None);
            }
            _ => {
                let read = words.first().unwrap_or(&"");
                let problem = format!("num_ranks '{read}': 1 to {MOST_HOSTS} is right");
                self.said.wrong(line, problem);
                return None;
            }
        }
        Some(&words[1..])
    }

    /// Opens the block of a rank. What is behind a block that cannot be opened has no meaning.
    fn open<'w>(&mut self, line: usize, words: &'w [&'a str]) -> Option<&'w [&'a str]> {
        if self.ranks.is_empty() {
            let problem = "rank: right is first the number of ranks: num_ranks 4";
            self.said.wrong(line, problem);
            return None;
        }
        if let Some(block) = &self.block {
            let problem = format!(
                "rank {} begins, and rank {} of line {} has not ended: }} is right before",
                words.first().unwrap_or(&""),
                block.rank,
                block.line
            );
            self.said.wrong(line, problem);
            self.close();
        }
        let number = words.first().and_then(|word| word.parse::<usize>().ok());
        let (Some(rank), Some(&"{")) = (number, words.get(1)) else {
            let read = words.join(" ");
            self.said
                .wrong(line, format!("'rank {read}': rank R {{ is right"));
            return None;
        };
        let last = self.ranks.len() - 1;
        match self.ranks.get(rank) {
            None => {
                let problem = format!("rank {rank}: ranks are 0 to {last}");
                self.said.wrong(line, problem);
            }
            Some(Some(before)) => {
                let before = before.line;
                let problem = format!("rank {rank} is in line {before} already: one block a rank");
                self.said.wrong(line, problem);
            }
            Some(None) => {}
        }
        self.block = Some(Block {
            rank,
            line,
            operations: Vec::new(),
            labels: Vec::new(),
            numbers: HashMap::new(),
            requirements: Vec::new(),
        });
        Some(&words[2..])
    }

    /// Closes the block: all labels are known.
    fn close(&mut self) {
        let Some(mut block) = self.block.take() else {
            return;
        };
        for (line, who, point, what) in std::mem::take(&mut block.requirements) {
            let word = match point {
                Point::Start => "irequires",
                Point::End => "requires",
            };
            let said = format!("'{who} {word} {what}'");
            let ends = [who, what].map(|label| block.numbers.get(label).copied());
            let unknown = [who, what].into_iter().zip(ends);
            if let Some((label, _)) = unknown.into_iter().find(|(_, number)| number.is_none()) {
                let rank = block.rank;
                let problem = format!(
                    "{said}: no operation of rank {rank} is '{label}': labels are those of the same rank"
                );
                self.said.wrong(line, problem);
            }
            let [Some(who), Some(what)] = ends else {
                continue;
            };
            if who == what {
                self.said
                    .wrong(line, format!("{said}: it would wait for itself"));
            }
            if let Some(operation) = block.operations.get_mut(who as usize) {
                operation.requires.push((what, point));
            }
        }
        if let Some(place @ None) = self.ranks.get_mut(block.rank) {
            *place = Some(block);
        }
    }

    /// Takes an operation or a requirement.
    fn statement(&mut self, line: usize, words: &[&'a str]) {
        let ranks = self.ranks.len();
        let Some(block) = &mut self.block else { return };
        if let [who, word @ ("requires" | "irequires"), what] = words {
            let point = match *word {
                "requires" => Point::End,
                _ => Point::Start,
            };
            block.requirements.push((line, who, point, what));
            return;
        }
        let (label, operation) = match words {
            [label, ":", operation @ ..] => (*label, operation),
            operation => ("", operation),
        };
        let read = Words {
            ranks,
            own: block.rank,
        }
        .operation(operation);
        let action = match read {
            Ok(action) => action,
            Err(problem) => {
                // Whoever requires it knows of it.
                block.numbers.entry(label).or_insert(UNREAD);
                let problem = format!("'{}': {problem}", shown(words));
                return self.said.wrong(line, problem);
            }
        };
        if !label.is_empty() && !is_label(label) {
            let problem = format!("label '{label}': a letter, then letters, digits and _");
            self.said.wrong(line, problem);
        }
        let number = block.operations.len() as u32;
        if !label.is_empty()
            && let Some(before) = block.numbers.insert(label, number)
            && let Some(before) = block.operations.get(before as usize)
        {
            let problem = format!(
                "label '{label}' is that of line {} too: each operation of a rank has its own",
                before.line
            );
            self.said.wrong(line, problem);
        }
        block.labels.push(label);
        block.operations.push(Operation {
            line,
            action,
            requires: Vec::new(),
        });
    }

    /// Checks that all ranks are there.
    fn end(mut self, last: usize) -> Result<Draft<'a>, Issues> {
        if let Some(block) = &self.block {
            let problem = format!(
                "the file ends here, and rank {} of line {} has not ended: }} is right",
                block.rank, block.line
            );
            self.said.wrong(last, problem);
        } else if self.ranks.is_empty() {
            self.said.wrong(
                1,
                "the file is empty: num_ranks and a block for each rank are right",
            );
        } else if self.said.found.is_empty()
            && let Some(missing) = self.ranks.iter().position(Option::is_none)
        {
            let read = self.ranks.iter().flatten().count();
            let all = self.ranks.len();
            let problem = format!(
                "the file ends here with {read} of {all} ranks: rank {missing} has no block, and may have an empty one"
            );
            self.said.wrong(last, problem);
        }
        let read = self.ranks.into_iter().flatten();
        let (ranks, labels) = read.map(|block| (block.operations, block.labels)).unzip();
        self.said.done(Draft { ranks, labels })
    }
}

/// A statement as it was read, about.
fn shown(words: &[&str]) -> String {
    words.join(" ").replace(" : ", ": ")
}

/// Words of an operation, and what they may say.
struct Words {
    ranks: usize,
    /// The rank that has the operation.
    own: usize,
}

impl Words {
    fn operation(&self, words: &[&str]) -> Result<Action, String> {
        match words {
            ["send", rest @ ..] => self.envelope(rest, "to").map(Action::Send),
            ["recv", rest @ ..] => self.envelope(rest, "from").map(Action::Receive),
            ["calc", time, rest @ ..] => {
                let right = "whole nanoseconds are right";
                let time: u64 = number("calc", time, MOST_CALC_NS, right)?;
                let [cpu] = options(rest, ["cpu"])?;
                let cpu = cpu.map_or(Ok(0), |cpu| number("cpu", cpu, 255, "a number is right"))?;
                Ok(Action::Calc {
                    cpu: cpu as u8,
                    time: Duration::from_ps(time * 1_000),
                })
            }
            _ => Err("right is such as 'l1: send 100b to 1 tag 5', 'l2: recv 100b from 0 tag 5', 'l3: calc 1000' or \
                      'l3 requires l2'"
                .into()),
        }
    }

    /// `100b to 1 tag 5 cpu 0 nic 0`.
    fn envelope(&self, words: &[&str], preposition: &str) -> Result<Envelope, String> {
        let right = || format!("right is such as '100b {preposition} 1 tag 5'");
        let (size, rest) = match words {
            [size, "b", rest @ ..] => (*size, rest),
            [size, rest @ ..] => (size.strip_suffix('b').unwrap_or(size), rest),
            [] => return Err(right()),
        };
        let bytes = number(
            "size",
            size,
            MOST_BYTES,
            "whole bytes are right, such as 100b",
        )?;
        if bytes == 0 {
            return Err(format!("0 bytes: 1 to {MOST_BYTES}"));
        }
        let [word, peer, rest @ ..] = rest else {
            return Err(right());
        };
        if *word != preposition {
            return Err(format!("'{word}': {preposition} is right here"));
        }
        if *peer == "-1" && preposition == "from" {
            return Err(
                "from any rank: what it takes would depend on the time; a rank is right".into(),
            );
        }
        let last = self.ranks - 1;
        let peer: u64 = number("rank", peer, u64::MAX, "a number is right")?;
        if peer > last as u64 {
            return Err(format!("rank {peer}: ranks are 0 to {last}"));
        }
        if peer == self.own as u64 {
            return Err(format!(
                "rank {peer} is its own peer: another rank is right"
            ));
        }
        let [tag, cpu, nic] = options(rest, ["tag", "cpu", "nic"])?;
        let tag = match tag {
            Some("-1") => {
                return Err(
                    "any tag: what it takes would depend on the time; a tag is right".into(),
                );
            }
            Some(tag) => number("tag", tag, u64::from(u32::MAX) - 1, "a number is right")?,
            None => 0,
        };
        for (what, read) in [("cpu", cpu), ("nic", nic)] {
            read.map_or(Ok(0), |read| number(what, read, 255, "a number is right"))?;
        }
        Ok(Envelope {
            peer: peer as u32,
            tag: tag as u32,
            bytes: ByteCount::new(bytes),
        })
    }
}

/// A number up to `most`.
fn number(what: &str, read: &str, most: u64, right: &str) -> Result<u64, String> {
    // `from_str` would take a sign.
    let digits = read.starts_with(|first: char| first.is_ascii_digit());
    let number = u64::from_str(read).ok().filter(|_| digits);
    let number = number.ok_or_else(|| format!("{what} '{read}': {right}"))?;
    match number <= most {
        true => Ok(number),
        false => Err(format!("{what} {number}: {most} at most")),
    }
}

/// Words with a value each, at most once, in any order.
fn options<'w, const N: usize>(
    words: &[&'w str],
    known: [&str; N],
) -> Result<[Option<&'w str>; N], String> {
    let mut values = [None; N];
    let right = || match known.split_last() {
        Some((last, [])) => format!("{last} with a number is right here"),
        Some((last, others)) => {
            format!(
                "{} or {last} with a number is right here",
                others.join(", ")
            )
        }
        None => "nothing is right here".into(),
    };
    for pair in words.chunks(2) {
        let place = known.iter().position(|known| *known == pair[0]);
        let Some(place) = place else {
            return Err(format!("'{}': {}", pair[0], right()));
        };
        let Some(value) = pair.get(1) else {
            return Err(format!("'{}' without a number: {}", pair[0], right()));
        };
        if values[place].replace(*value).is_some() {
            return Err(format!("'{}' is here twice", pair[0]));
        }
    }
    Ok(values)
}
