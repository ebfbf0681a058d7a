//! Words of a case's text and back: `name=value`, numbers, sets of classes, lists.

/// The value of `name=value`.
pub fn value<'a>(word: Option<&'a str>, name: &str) -> Option<&'a str> {
    word?.strip_prefix(name)?.strip_prefix('=')
}

/// A decimal number below 2^`bits`.
pub fn number(word: Option<&str>, bits: u32) -> Option<u64> {
    word?.parse().ok().filter(|&number| number >> bits == 0)
}

/// A hexadecimal number below 2^`bits`, with its `0x`.
pub fn hex(word: Option<&str>, bits: u32) -> Option<u64> {
    let number = u64::from_str_radix(word?.strip_prefix("0x")?, 16).ok()?;
    (number >> bits == 0).then_some(number)
}

/// `on` or `off`.
pub fn switch(word: Option<&str>) -> Option<bool> {
    match word? {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// What [`switch`] reads.
pub fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// `[1,2,3]`, each below 2^16.
pub fn list(word: Option<&str>) -> Option<Vec<u16>> {
    let inside = word?.strip_prefix('[')?.strip_suffix(']')?;
    inside
        .split(',')
        .map(|number| number.trim().parse().ok())
        .collect()
}

/// What [`list`] reads.
pub fn write_list(numbers: &[u16]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u16::to_string).collect();
    format!("[{}]", numbers.join(","))
}
