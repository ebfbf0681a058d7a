//! What a library prints on standard output, where only rows belong.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// Standard output is that of the process: one call at a time has it.
static OUTPUT: Mutex<()> = Mutex::new(());

/// Calls a function, and returns the lines that were printed on standard output meanwhile, equal ones once with their
/// number. They stay there if standard output cannot be redirected.
pub fn overheard<T>(call: impl FnOnce() -> T) -> (T, Vec<String>) {
    let _alone = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok((mut file, output)) = redirect() else {
        return (call(), Vec::new());
    };
    let result = call();
    let mut printed = Vec::new();
    let restored = io::stdout()
        .flush()
        .and_then(|()| Ok(rustix::stdio::dup2_stdout(&output)?));
    restored.expect("standard output was there before");
    let read = file.rewind().and_then(|()| file.read_to_end(&mut printed));
    read.expect("a temporary file that was just written is read");
    (result, counted(&String::from_utf8_lossy(&printed)))
}

/// Redirects standard output into a file. Returns that file, and the output.
fn redirect() -> io::Result<(File, OwnedFd)> {
    let file = tempfile::tempfile()?;
    io::stdout().flush()?;
    let output = rustix::io::dup(rustix::stdio::stdout())?;
    rustix::stdio::dup2_stdout(&file)?;
    Ok((file, output))
}

fn counted(text: &str) -> Vec<String> {
    let mut lines: Vec<(&str, u64)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => lines.push((line, 1)),
        }
    }
    let text = |(line, count): (&str, u64)| match count {
        1 => line.to_owned(),
        count => format!("{line} ({count} times)"),
    };
    lines.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_counted() {
        assert_eq!(counted("a\nb\n\na\n"), ["a (2 times)", "b"]);
    }
}
