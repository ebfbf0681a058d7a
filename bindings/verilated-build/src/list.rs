//! File lists, as Verilator's `-F` reads them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// The contents of a list. Paths include the list's folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub files: Vec<PathBuf>,
    pub search: Vec<PathBuf>,
    pub includes: Vec<PathBuf>,
    pub defines: Vec<(String, Option<String>)>,
}

/// Reads the list at `path` below `root`.
pub(crate) fn read(root: &Path, path: &Path) -> Result<List, Error> {
    let text = fs::read_to_string(root.join(path)).map_err(|source| Error::File {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<List, Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    // `-y .` names the folder itself; `components` removes the `.`, so that messages show plain paths.
    let join = |name: &str| -> PathBuf { folder.join(name.trim()).components().collect() };
    let mut list = List::default();
    for (at, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("-y ") {
            list.search.push(join(name));
        } else if let Some(name) = line.strip_prefix("+incdir+") {
            list.includes.push(join(name));
        } else if let Some(define) = line.strip_prefix("+define+") {
            list.defines.push(match define.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (define.to_owned(), None),
            });
        } else if line.starts_with(['-', '+']) || line.contains(char::is_whitespace) {
            return Err(Error::List {
                path: path.to_owned(),
                line: at + 1,
                text: line.to_owned(),
            });
        } else {
            list.files.push(join(line));
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_list_may_say() {
        let text = "// all\npkg/a.sv // first\n\npkg/b.sv\n# old\n-y prim\n+incdir+inc\n+define+N=3\n+define+FAST\n";
        let list = parse(Path::new("rtl/rtl.f"), text).unwrap();
        assert_eq!(
            list.files,
            ["rtl/pkg/a.sv", "rtl/pkg/b.sv"].map(PathBuf::from)
        );
        assert_eq!(list.search, [PathBuf::from("rtl/prim")]);
        assert_eq!(list.includes, [PathBuf::from("rtl/inc")]);
        assert_eq!(
            list.defines,
            [
                ("N".to_owned(), Some("3".to_owned())),
                ("FAST".to_owned(), None)
            ]
        );
    }

    #[test]
    fn what_it_may_not_say_is_named_with_its_line() {
        let text = parse(Path::new("rtl.f"), "a.sv\n-Wall\n")
            .unwrap_err()
            .to_string();
        assert!(text.starts_with("rtl.f:2: `-Wall`"), "{text}");
    }
}
