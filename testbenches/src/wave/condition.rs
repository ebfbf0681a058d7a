//! Conditions over the values of signals, such as `valid_o && depth >= 3`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use wellen::SignalRef;

use super::file::{Signal, WaveError, Waves};
use super::value::{Kind, Value, compare};

/// A condition as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    text: String,
    expression: Expression<Operand>,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A condition over the signals of a file.
#[derive(Debug, Clone)]
pub struct Resolved(Expression<Source>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Expression<T> {
    /// The operand is not 0.
    Is(T),
    Compare(T, Comparison, T),
    Not(Box<Expression<T>>),
    And(Box<Expression<T>>, Box<Expression<T>>),
    Or(Box<Expression<T>>, Box<Expression<T>>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operand {
    /// The bits of a number.
    Number(String),
    /// A signal, or a name of an enum.
    Name(String),
}

#[derive(Debug, Clone)]
enum Source {
    Number(String),
    Signal(SignalRef),
    /// A bit of a signal, counted from its least significant one.
    Bit(SignalRef, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// Operators, longer ones before their beginnings.
const OPERATORS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Different),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Different => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parser = Parser { text, at: 0 };
        let expression = parser.either()?;
        match parser.rest() {
            "" => Ok(Self {
                text: text.trim().to_owned(),
                expression,
            }),
            _ => Err(parser.expected("&&, || or the end")),
        }
    }
}

/// A parser by recursive descent.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    /// The text from the next token on.
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expected(&mut self, what: &str) -> String {
        let found = match self.rest() {
            "" => "the end".to_owned(),
            rest => format!("'{rest}'"),
        };
        format!("expected {what}, found {found}")
    }

    fn either(&mut self) -> Result<Expression<Operand>, String> {
        let mut left = self.both()?;
        while self.take("||") {
            left = Expression::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression<Operand>, String> {
        let mut left = self.one()?;
        while self.take("&&") {
            left = Expression::And(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<Expression<Operand>, String> {
        if self.take("(") {
            let inner = self.either()?;
            return match self.take(")") {
                true => Ok(inner),
                false => Err(self.expected("')'")),
            };
        }
        if !self.rest().starts_with("!=") && self.take("!") {
            return Ok(Expression::Not(Box::new(self.one()?)));
        }
        let left = self.operand()?;
        let operator = OPERATORS.iter().find(|(sign, _)| self.take(sign));
        match operator {
            None => Ok(Expression::Is(left)),
            Some((_, comparison)) => Ok(Expression::Compare(left, *comparison, self.operand()?)),
        }
    }

    fn operand(&mut self) -> Result<Operand, String> {
        let rest = self.rest();
        let of_word = |c: char| c.is_alphanumeric() || "_.$[]:".contains(c);
        let word = &rest[..rest.find(|c| !of_word(c)).unwrap_or(rest.len())];
        if word.is_empty() {
            return Err(self.expected("a signal or a number"));
        }
        self.at += word.len();
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Operand::Name(word.to_owned()));
        }
        let digits = word.replace('_', "");
        let parsed = match digits.split_at(2.min(digits.len())) {
            ("0x", digits) => u128::from_str_radix(digits, 16),
            ("0b", digits) => u128::from_str_radix(digits, 2),
            _ => digits.parse(),
        };
        match parsed {
            Ok(number) => Ok(Operand::Number(format!("{number:b}"))),
            Err(_) => Err(format!(
                "'{word}': expected a number of at most 128 bits, such as 7, 0x1f or 0b101"
            )),
        }
    }
}

impl Condition {
    /// The names in the condition: signals, and names of enums.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        visit(&self.expression, &mut |operand| {
            if let Operand::Name(name) = operand {
                names.push(&name[..]);
            }
        });
        names
    }

    /// Finds the signals of the condition. `option` is the option that it was given to, for messages.
    ///
    /// # Errors
    ///
    /// Returns an error for a name that is neither a signal of the file nor a name of the enum that it is compared
    /// with, and for signals that are no numbers.
    pub fn resolve(&self, waves: &Waves, option: &'static str) -> Result<Resolved, WaveError> {
        resolve(&self.expression, waves, option).map(Resolved)
    }
}

fn resolve(
    from: &Expression<Operand>,
    waves: &Waves,
    option: &'static str,
) -> Result<Expression<Source>, WaveError> {
    let one = |from| resolve(from, waves, option).map(Box::new);
    let both = |a, b| Ok((one(a)?, one(b)?));
    let source = |operand, other| source(operand, other, waves, option);
    Ok(match from {
        Expression::Is(operand) => Expression::Is(source(operand, None)?),
        Expression::Compare(a, comparison, b) => {
            Expression::Compare(source(a, Some(b))?, *comparison, source(b, Some(a))?)
        }
        Expression::Not(inner) => Expression::Not(one(inner)?),
        Expression::And(a, b) => {
            let (a, b) = both(a, b)?;
            Expression::And(a, b)
        }
        Expression::Or(a, b) => {
            let (a, b) = both(a, b)?;
            Expression::Or(a, b)
        }
    })
}

/// Finds an operand: a signal, a bit of one, or a name of the enum of the operand that it is compared with.
fn source(
    operand: &Operand,
    other: Option<&Operand>,
    waves: &Waves,
    option: &'static str,
) -> Result<Source, WaveError> {
    let name = match operand {
        Operand::Number(bits) => return Ok(Source::Number(bits.clone())),
        Operand::Name(name) => name,
    };
    let enumeration = match other {
        Some(Operand::Name(other)) => waves.find(option, other).ok(),
        _ => None,
    };
    let bits = enumeration
        .as_ref()
        .and_then(|signal| signal.kind.bits_of(name));
    if let Some(bits) = bits {
        return Ok(Source::Number(bits.to_owned()));
    }
    let signal = match (waves.find(option, name), bit(name), enumeration) {
        (Ok(signal), ..) => signal,
        (Err(error @ WaveError::Ambiguous { .. }), ..) => return Err(error),
        (Err(_), Some((vector, index)), _) if waves.find(option, vector).is_ok() => {
            return bit_of(waves.find(option, vector)?, name, index, option);
        }
        (Err(WaveError::Unknown { option, name, .. }), _, Some(signal))
            if matches!(signal.kind, Kind::Enum(_)) =>
        {
            let mut near = signal.kind.names();
            near.sort_by_cached_key(|known| strsim::damerau_levenshtein(known, &name));
            return Err(WaveError::Unknown { option, name, near });
        }
        (Err(error), ..) => return Err(error),
    };
    match signal.kind {
        Kind::Text => Err(no_bits(name, option)),
        _ => Ok(Source::Signal(signal.id)),
    }
}

fn no_bits(name: &str, option: &str) -> WaveError {
    WaveError::Window(format!(
        "{option} {name}: its values are no bits; conditions compare vectors"
    ))
}

/// Splits `xoff[3]` into the name of a vector and an index.
fn bit(name: &str) -> Option<(&str, i64)> {
    let (vector, index) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((vector, index.parse().ok()?))
}

fn bit_of(signal: Signal, name: &str, index: i64, option: &str) -> Result<Source, WaveError> {
    let bits = match &signal.kind {
        Kind::Text => return Err(no_bits(name, option)),
        Kind::Bits { bits, .. } => i64::from(*bits),
        Kind::Enum(names) => names.first().map_or(0, |(bits, _)| bits.len() as i64),
    };
    match usize::try_from(index - signal.lsb) {
        Ok(place) if (place as i64) < bits => Ok(Source::Bit(signal.id, place)),
        _ => Err(WaveError::Window(format!(
            "{option} {name}: no such bit: {} has {} to {}",
            signal.name,
            signal.lsb,
            signal.lsb + bits - 1
        ))),
    }
}

impl Resolved {
    /// Returns the signals of the condition.
    pub fn signals(&self) -> Vec<SignalRef> {
        let mut signals = Vec::new();
        visit(&self.0, &mut |source| match source {
            Source::Signal(signal) | Source::Bit(signal, _) => signals.push(*signal),
            Source::Number(_) => {}
        });
        signals
    }

    /// Evaluates the condition. A comparison with a value that has unknown bits does not hold.
    pub fn holds(&self, value: &dyn Fn(SignalRef) -> Option<Value>) -> bool {
        holds(&self.0, value)
    }
}

/// Calls a function with every operand.
fn visit<'a, T>(expression: &'a Expression<T>, see: &mut dyn FnMut(&'a T)) {
    match expression {
        Expression::Is(a) => see(a),
        Expression::Compare(a, _, b) => {
            see(a);
            see(b);
        }
        Expression::Not(inner) => visit(inner, see),
        Expression::And(a, b) | Expression::Or(a, b) => {
            visit(a, see);
            visit(b, see);
        }
    }
}

fn holds(expression: &Expression<Source>, value: &dyn Fn(SignalRef) -> Option<Value>) -> bool {
    let bits = |source: &Source| match source {
        Source::Number(bits) => Some(bits.clone()),
        Source::Signal(signal) => value(*signal)?.known().map(str::to_owned),
        Source::Bit(signal, place) => {
            let value = value(*signal)?;
            let bits = value.known()?;
            let at = bits.len().checked_sub(place + 1)?;
            Some(bits[at..=at].to_owned())
        }
    };
    match expression {
        Expression::Is(a) => bits(a).is_some_and(|bits| bits.contains('1')),
        Expression::Compare(a, comparison, b) => match (bits(a), bits(b)) {
            (Some(a), Some(b)) => comparison.holds(compare(&a, &b)),
            _ => false,
        },
        Expression::Not(inner) => !holds(inner, value),
        Expression::And(a, b) => holds(a, value) && holds(b, value),
        Expression::Or(a, b) => holds(a, value) || holds(b, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluates a condition over `a` = 5, `b` = 0 and `u`, which has unknown bits.
    fn value(text: &str) -> bool {
        let condition: Condition = text.parse().unwrap();
        let [a, b, u] = [1, 2, 3].map(|index| SignalRef::from_index(index).unwrap());
        fn signals(
            expression: &Expression<Operand>,
            find: &dyn Fn(&str) -> SignalRef,
        ) -> Expression<Source> {
            let source = |operand: &Operand| match operand {
                Operand::Number(bits) => Source::Number(bits.clone()),
                Operand::Name(name) => Source::Signal(find(name)),
            };
            let inner = |inner| Box::new(signals(inner, find));
            match expression {
                Expression::Is(a) => Expression::Is(source(a)),
                Expression::Compare(a, comparison, b) => {
                    Expression::Compare(source(a), *comparison, source(b))
                }
                Expression::Not(a) => Expression::Not(inner(a)),
                Expression::And(a, b) => Expression::And(inner(a), inner(b)),
                Expression::Or(a, b) => Expression::Or(inner(a), inner(b)),
            }
        }
        let find = |name: &str| match name {
            "a" => a,
            "b" => b,
            _ => u,
        };
        let resolved = Resolved(signals(&condition.expression, &find));
        let bits = |signal| match signal {
            _ if signal == a => "0101",
            _ if signal == b => "0",
            _ => "1x",
        };
        resolved.holds(&|signal| Some(Value::Bits(bits(signal).into())))
    }

    #[test]
    fn conditions_hold_as_in_c() {
        for (text, holds) in [
            ("a", true),
            ("b", false),
            ("!b", true),
            ("a == 5", true),
            ("a == 0x5 && b == 0b0", true),
            ("a != 5", false),
            ("a < 6", true),
            ("a <= 5", true),
            ("a > 5", false),
            ("a >= 1_000", false),
            // && binds tighter than ||.
            ("a || b && b", true),
            ("(a || b) && b", false),
            ("!(a && b)", true),
            ("a > b", true),
            // Unknown bits compare with nothing.
            ("u == 2", false),
            ("u != 2", false),
            ("u", false),
        ] {
            assert_eq!(value(text), holds, "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        for (text, said) in [
            ("", "expected a signal or a number, found the end"),
            ("a &&", "expected a signal or a number, found the end"),
            ("a b", "expected &&, || or the end, found 'b'"),
            ("(a", "expected ')', found the end"),
            ("a = 5", "expected &&, || or the end, found '= 5'"),
            (
                "a == 5z",
                "'5z': expected a number of at most 128 bits, such as 7, 0x1f or 0b101",
            ),
        ] {
            assert_eq!(text.parse::<Condition>().unwrap_err(), said, "{text}");
        }
    }
}
