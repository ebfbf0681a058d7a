//! The list of files that a model was built from, as Verilator writes it.

use std::path::PathBuf;

/// Returns the files that Verilator read, from the text of its `.d` file: everything after the colon, each file once.
///
/// Paths are spelled as they were given to Verilator. Verilator's own program is among them, so that a new Verilator
/// causes a rebuild.
pub fn dependency_list(text: &str) -> Vec<PathBuf> {
    // `out/a.cpp out/a.h  : /usr/bin/verilator_bin a.sv dir\ name/b.sv`; lines may be continued by a backslash.
    let text = text.replace("\\\n", " ");
    let mut paths: Vec<PathBuf> = Vec::new();
    for line in text.lines() {
        let Some((_, sources)) = line.split_once(" : ").or_else(|| line.split_once(": ")) else {
            continue;
        };
        let mut word = String::new();
        let mut letters = sources.chars().peekable();
        let mut push = |word: &mut String| {
            let path = PathBuf::from(std::mem::take(word));
            if !path.as_os_str().is_empty() && !paths.contains(&path) {
                paths.push(path);
            }
        };
        while let Some(letter) = letters.next() {
            match letter {
                '\\' if letters.peek() == Some(&' ') => word.extend(letters.next()),
                ' ' | '\t' => push(&mut word),
                _ => word.push(letter),
            }
        }
        push(&mut word);
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_once_targets_never() {
        let text = "out/Vt.cpp out/Vt.h out/Vt.mk  : /usr/bin/verilator_bin /usr/bin/verilator_bin inc.svh pkg/p.sv rtl/t.sv \n";
        let paths = dependency_list(text);
        let expected =
            ["/usr/bin/verilator_bin", "inc.svh", "pkg/p.sv", "rtl/t.sv"].map(PathBuf::from);
        assert_eq!(paths, expected);
    }

    #[test]
    fn blanks_in_names_and_continued_lines() {
        let text = "a.cpp : a\\ b.sv \\\n c.sv\n";
        assert_eq!(dependency_list(text), ["a b.sv", "c.sv"].map(PathBuf::from));
    }

    #[test]
    fn nothing_in_nothing_out() {
        assert!(dependency_list("").is_empty());
        assert!(dependency_list("no colon here").is_empty());
    }
}
