//! Conversion of names between SystemVerilog, Verilator's C++ and Rust.

/// `packet_parser` → `PacketParser`.
pub(crate) fn upper_camel(name: &str) -> String {
    let mut out = String::new();
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out
}

/// `PacketParser512` → `packet_parser512`.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && before != '_' && !before.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
        before = letter;
    }
    out
}

/// Returns the Rust module of a top: `Match` → `r#match`.
pub(crate) fn module(top: &str) -> String {
    field(&snake(top))
}

/// Returns whether the name is valid for a type in Rust and in C++.
pub(crate) fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && field(name) == name
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Returns the port's name in the source. Verilator writes C++ keywords as `__SYM__bool`. It writes characters that
/// C++ does not allow, and double underscores, as `__0` and two hexadecimal digits.
pub(crate) fn source_name(cpp: &str) -> String {
    let cpp = cpp.strip_prefix("__SYM__").unwrap_or(cpp);
    let mut out = String::new();
    let mut rest = cpp;
    while let Some(at) = rest.find("__0") {
        out.push_str(&rest[..at]);
        let code = rest
            .get(at + 3..at + 5)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                out.push(char::from(code));
                rest = &rest[at + 5..];
            }
            None => {
                out.push_str("__0");
                rest = &rest[at + 3..];
            }
        }
    }
    out.push_str(rest);
    // Verilator encodes the second of two underscores: `__x` is `___05Fx`.
    out
}

/// Returns the field's name for a port: the port's own name if Rust allows it, or a raw identifier if it is a
/// keyword.
pub(crate) fn field(source: &str) -> String {
    let mut name: String = source
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    if matches!(name.as_str(), "self" | "Self" | "super" | "crate" | "_") {
        name.push('_');
    } else if KEYWORDS.contains(&name.as_str()) {
        name.insert_str(0, "r#");
    }
    name
}

/// Rust's keywords, including reserved ones, except those that cannot be raw identifiers.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_modules() {
        assert_eq!(upper_camel("packet_parser"), "PacketParser");
        assert_eq!(upper_camel("fifo2"), "Fifo2");
        assert_eq!(snake("PacketParser512"), "packet_parser512");
        assert_eq!(snake("DMAEngine"), "dmaengine");
        assert_eq!(snake("Fifo"), "fifo");
        assert_eq!(module("Fifo"), "fifo");
        assert_eq!(module("Match"), "r#match");
        assert_eq!(module("Super"), "super_");
    }

    #[test]
    fn ports_get_their_source_names_back() {
        assert_eq!(source_name("data_i"), "data_i");
        assert_eq!(source_name("__SYM__bool"), "bool");
        assert_eq!(source_name("a__02eb"), "a.b");
        assert_eq!(source_name("___05Fodd"), "__odd");
    }

    #[test]
    fn fields_are_rust_identifiers() {
        assert_eq!(field("data_i"), "data_i");
        assert_eq!(field("type"), "r#type");
        assert_eq!(field("a.b"), "a_b");
        assert_eq!(field("self"), "self_");
        assert_eq!(field("0x"), "_0x");
    }

    #[test]
    fn what_may_name_a_top() {
        assert!(is_identifier("PacketParser512"));
        assert!(!is_identifier("512"));
        assert!(!is_identifier("a-b"));
        assert!(!is_identifier(""));
        assert!(!is_identifier("Self"));
        assert!(!is_identifier("match"));
    }
}
