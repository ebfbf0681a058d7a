//! Conditions over the values of signals, such as `valid_o && depth >= 3`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use wellen::SignalRef;

use super::file::{Signal, WaveError, Waves};
use super::value::{Kind, Number, Value};

/// A condition as it was written.
#[derive(Debug, Clone, PartialEq)]
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

#[derive(Debug, Clone, PartialEq)]
enum Expression<T> {
    /// The operand is not 0.
    Is(T),
    Compare(T, Comparison, T),
    Not(Box<Expression<T>>),
    And(Box<Expression<T>>, Box<Expression<T>>),
    Or(Box<Expression<T>>, Box<Expression<T>>),
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Number(Number),
    /// A signal, or a name of an enum.
    Name(String),
}

#[derive(Debug, Clone)]
enum Source {
    Number(Number),
    Signal {
        signal: Box<Signal>,
        /// Its bits are in two's complement.
        signed: bool,
    },
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
        let negative = rest.starts_with('-') && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        self.at += usize::from(negative);
        let rest = &rest[usize::from(negative)..];
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            let length = length_of_number(rest);
            self.at += length;
            let number = number(&rest[..length])?;
            return Ok(Operand::Number(match negative {
                true => number.negated(),
                false => number,
            }));
        }
        let of_word = |c: char| c.is_alphanumeric() || "_.$[]:".contains(c);
        let word = &rest[..rest.find(|c| !of_word(c)).unwrap_or(rest.len())];
        if word.is_empty() {
            return Err(self.expected("a signal or a number"));
        }
        self.at += word.len();
        Ok(Operand::Name(word.to_owned()))
    }
}

/// Returns the number of bytes of a number at the beginning of a text: everything that could belong to one, and a sign
/// behind the exponent of a real one.
fn length_of_number(text: &str) -> usize {
    let hexadecimal = text.starts_with("0x");
    let mut last = ' ';
    let end = text.find(|c: char| {
        let sign = "+-".contains(c) && "eE".contains(last) && !hexadecimal;
        last = c;
        !(c.is_alphanumeric() || "_.".contains(c) || sign)
    });
    end.unwrap_or(text.len())
}

fn number(text: &str) -> Result<Number, String> {
    let digits = text.replace('_', "");
    let whole = match digits.split_at(2.min(digits.len())) {
        ("0x", digits) => u128::from_str_radix(digits, 16).ok(),
        ("0b", digits) => u128::from_str_radix(digits, 2).ok(),
        _ => digits.parse().ok(),
    };
    let real = || {
        digits
            .parse()
            .ok()
            .filter(|_| digits.contains(['.', 'e', 'E']))
    };
    (whole.map(|number| Number::of_bits(&format!("{number:b}"))))
        .or_else(|| real().map(Number::Real))
        .ok_or_else(|| {
            format!("'{text}': expected a number, such as 7, -7, 0x1f, 0b101 (at most 128 bits) or 1.5e-3")
        })
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

/// Finds an operand: a signal, a part of one, or a name of the enum of the operand that it is compared with.
fn source(
    operand: &Operand,
    other: Option<&Operand>,
    waves: &Waves,
    option: &'static str,
) -> Result<Source, WaveError> {
    let name = match operand {
        Operand::Number(number) => return Ok(Source::Number(number.clone())),
        Operand::Name(name) => name,
    };
    let enumeration = match other {
        Some(Operand::Name(other)) => waves.find_part(option, other).ok(),
        _ => None,
    };
    let bits = enumeration
        .as_ref()
        .and_then(|signal| signal.kind.bits_of(name));
    if let Some(bits) = bits {
        return Ok(Source::Number(Number::of_bits(bits)));
    }
    let signal = match (waves.find_part(option, name), enumeration) {
        (Ok(signal), _) => signal,
        (Err(WaveError::Unknown { option, name, .. }), Some(signal))
            if matches!(signal.kind, Kind::Enum(_)) =>
        {
            let mut near = signal.kind.names();
            near.sort_by_cached_key(|known| strsim::damerau_levenshtein(known, &name));
            return Err(WaveError::Unknown { option, name, near });
        }
        (Err(error), _) => return Err(error),
    };
    // Which vectors have a sign many files do not say. One that is compared with a number below 0 is read as if it had.
    let below_zero = matches!(other, Some(Operand::Number(number)) if number.is_negative());
    match signal.kind {
        Kind::Text => Err(WaveError::Window(format!(
            "{option} {name}: its values are text; conditions compare numbers"
        ))),
        Kind::Real | Kind::Event | Kind::Enum(_) | Kind::Bits { .. } => Ok(Source::Signal {
            signed: below_zero || matches!(signal.kind, Kind::Bits { signed: true, .. }),
            signal: Box::new(signal),
        }),
    }
}

impl Resolved {
    /// Returns the signals of the condition, or the parts of them.
    pub fn signals(&self) -> Vec<&Signal> {
        let mut signals = Vec::new();
        visit(&self.0, &mut |source| match source {
            Source::Signal { signal, .. } => signals.push(&**signal),
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
    let number = |source: &Source| match source {
        Source::Number(number) => Some(number.clone()),
        Source::Signal { signal, signed } => signal.part_of(value(signal.id)?)?.number(*signed),
    };
    match expression {
        Expression::Is(a) => number(a).is_some_and(|number| !number.is_zero()),
        Expression::Compare(a, comparison, b) => match (number(a), number(b)) {
            (Some(a), Some(b)) => a
                .partial_cmp(&b)
                .is_some_and(|order| comparison.holds(order)),
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

    /// Evaluates a condition over `a` = 5, `b` = 0, `n` of four bits = 13, `r` = -1.5, and `u`, which has unknown bits.
    fn value(text: &str) -> bool {
        let condition: Condition = text.parse().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.vcd");
        std::fs::write(&path, VCD).unwrap();
        let mut waves = Waves::open(&path).unwrap();
        let resolved = condition.resolve(&waves, "--when").unwrap();
        let ids: Vec<SignalRef> = waves.signals.iter().map(|signal| signal.id).collect();
        waves.load(ids).unwrap();
        let first = |id| waves.changes(id)?.iter_changes().next();
        resolved.holds(&|id| Some(Value::from(first(id)?.1)))
    }

    const VCD: &str = "\
$scope module top $end
$var wire 4 a a $end
$var wire 1 b b $end
$var wire 4 n n $end
$var real 64 r r $end
$var wire 2 u u $end
$upscope $end
$enddefinitions $end
#0
b0101 a
0b
b1101 n
r-1.5 r
b1x u
";

    /// A loop variable may have the name of a host, which is the outermost scope of its waves.
    #[test]
    fn a_scope_is_no_vector_with_members() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.vcd");
        let waves = "$scope module a $end\n$var wire 4 x xoff $end\n$scope module block $end\n\
                     $var wire 4 l a $end\n$upscope $end\n$upscope $end\n$enddefinitions $end\n#0\nb0 x\nb0 l\n";
        std::fs::write(&path, waves).unwrap();
        let waves = Waves::open(&path).unwrap();
        let condition: Condition = "a.xof[3]".parse().unwrap();
        let wrong = condition.resolve(&waves, "--when").unwrap_err();
        let expected = "--when a.xof[3]: no such signal; did you mean a.xoff";
        assert!(wrong.to_string().starts_with(expected), "{wrong}");
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
            // Compared with a number below 0, a vector is in two's complement.
            ("n == 13", true),
            ("n == -3", true),
            ("n < -2", true),
            ("n < -3", false),
            ("a > -1", true),
            ("-4 < n", true),
            ("r", true),
            ("r == -1.5", true),
            ("r < -1", true),
            ("r >= -15e-1", true),
            ("r > -1.4", false),
            ("a == 5.0", true),
            ("a < 5.5", true),
            ("r < a", true),
            // Parts.
            ("a[0] && !a[1]", true),
            ("a[2:1] == 2", true),
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
            ("a - 5", "expected &&, || or the end, found '- 5'"),
            ("a == -b", "expected a signal or a number, found '-b'"),
            (
                "a == 5z",
                "'5z': expected a number, such as 7, -7, 0x1f, 0b101 (at most 128 bits) or 1.5e-3",
            ),
        ] {
            assert_eq!(text.parse::<Condition>().unwrap_err(), said, "{text}");
        }
    }
}
