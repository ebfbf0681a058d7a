//! Reading of text files that people write: scenarios, cases.

use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read};
use std::path::Path;

/// Maximum size of a text file in bytes. Scenarios have a few kilobytes, the longest cases less than one megabyte.
const MAX_BYTES: u64 = 16 << 20;

/// Reads a text file of at most 16 MiB.
///
/// # Errors
///
/// Returns an error if the file cannot be read, is a directory, is not text, or has more than 16 MiB.
pub fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(wrong("a directory; a file of text is needed".to_owned()));
    }
    read_from(file)
}

fn wrong(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// Reads a text of at most 16 MiB to its end.
///
/// # Errors
///
/// As [`read`].
pub fn read_from(mut input: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    // A file that is not text can mostly be recognized from its beginning, without reading all of it.
    for limit in [4_096, MAX_BYTES + 1] {
        (&mut input)
            .take(limit - bytes.len() as u64)
            .read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
            return Err(wrong(format!("no text: byte {at} is 0")));
        }
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong(format!(
            "more than {} MiB; a file of text has less",
            MAX_BYTES >> 20
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[at];
        wrong(format!(
            "no text: byte {at} is {byte:#04x}, which is no UTF-8"
        ))
    })
}

/// Returns the lines of a text stream. A line of more than 16 MiB is an error.
pub fn lines(mut input: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        match (&mut input).take(MAX_BYTES).read_line(&mut line) {
            Ok(0) => None,
            Ok(_) if line.ends_with('\n') => Some(Ok(line)),
            Ok(bytes) if bytes as u64 == MAX_BYTES => {
                let what = format!("more than {} MiB without a line end", MAX_BYTES >> 20);
                Some(Err(io::Error::new(ErrorKind::InvalidData, what)))
            }
            read => Some(read.map(|_| line)),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_text_of_some_size_is_read() {
        let read_of = |bytes: &[u8]| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(bytes).unwrap();
            read(file.path()).map_err(|error| error.to_string())
        };
        let wrong = |bytes: &[u8]| read_of(bytes).unwrap_err();
        assert_eq!(read_of(b"").unwrap(), "");
        assert_eq!(read_of("5 µs\n".as_bytes()).unwrap(), "5 µs\n");
        assert_eq!(
            wrong(b"ab\xFFcd"),
            "no text: byte 2 is 0xff, which is no UTF-8"
        );
        assert_eq!(wrong(b"\x7FELF\0"), "no text: byte 4 is 0");
        let long = vec![b'a'; MAX_BYTES as usize];
        assert_eq!(read_of(&long).unwrap().len(), long.len());
        let longer = [&long[..], b"b"].concat();
        assert_eq!(wrong(&longer), "more than 16 MiB; a file of text has less");
        let folder = read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err();
        assert_eq!(folder.to_string(), "a directory; a file of text is needed");
        let endless = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(endless.to_string(), "no text: byte 0 is 0");
    }

    #[test]
    fn a_line_has_a_limit() {
        let read: Vec<_> = lines(&b"one\n\ntwo"[..]).map(Result::unwrap).collect();
        assert_eq!(read, ["one\n", "\n", "two"]);
        let endless = lines(io::BufReader::new(io::repeat(b'a'))).next();
        let error = endless.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "more than 16 MiB without a line end");
    }
}
