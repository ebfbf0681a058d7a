//! What a network device may be called.

use std::fmt;
use std::str::FromStr;

/// Bytes of a name at most: Linux's `IFNAMSIZ` has a zero behind them.
const MAX_BYTES: usize = 15;

/// The name of a network device, as Linux takes it for one that is to be made, and literally: to the kernel `%d` is a
/// number of its own choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// Its text, of 1 to 15 bytes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let not_in_one = |it: &(usize, char)| {
            it.1.is_whitespace() || it.1.is_control() || matches!(it.1, '/' | ':' | '%')
        };
        let wrong = match (text, text.char_indices().find(not_in_one)) {
            ("", _) => "it is empty".to_owned(),
            ("." | "..", _) => "it is a folder's".to_owned(),
            (_, Some((at, found))) => format!("it has {found:?} at byte {at}"),
            _ if text.len() > MAX_BYTES => format!("it has {} bytes", text.len()),
            _ => return Ok(Self(text.to_owned())),
        };
        Err(format!(
            "'{text}': {wrong}; the name of a network device has 1 to {MAX_BYTES} bytes, none of them white space, \
             '/', ':' or '%', such as xoff0"
        ))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_the_kernel_takes() {
        for text in ["xoff0", "a", "exactly15bytes_", "eth0.100", "é"] {
            assert_eq!(text.parse::<Name>().unwrap().as_str(), text);
        }
        for (text, said) in [
            ("", "it is empty"),
            ("..", "it is a folder's"),
            ("a/b", "'/' at byte 1"),
            ("xoff 0", "' ' at byte 4"),
            ("xoff0\n", "'\\n' at byte 5"),
            ("tap:0", "':' at byte 3"),
            ("xoff%d", "'%' at byte 4"),
            ("exactly16bytes__", "it has 16 bytes"),
            ("éééééééé", "it has 16 bytes"),
        ] {
            let wrong = text.parse::<Name>().unwrap_err();
            assert!(wrong.contains(said), "{wrong}");
            assert!(
                wrong.contains(text) && wrong.contains("1 to 15 bytes"),
                "{wrong}"
            );
        }
    }
}
