//! Words of commands that a shell is to read.

use std::borrow::Cow;
use std::path::Path;

/// Returns a word as a shell reads it: quoted if it has blanks or signs of the shell.
pub fn quoted(word: &str) -> Cow<'_, str> {
    // No argument of a process has a NUL, the only character that cannot be quoted.
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

/// Returns a path as a shell reads it.
pub fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_split_is_quoted() {
        assert_eq!(path(Path::new("out/a.case")), "out/a.case");
        assert_eq!(path(Path::new("my out/a.case")), "'my out/a.case'");
        assert_eq!(quoted("host.nic=model"), "'host.nic=model'");
    }
}
