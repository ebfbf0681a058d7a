//! Saved state in memory: a header that identifies the model, the build and the time, followed by the state.

/// `VRSAVE` and the version of this layout.
const MAGIC: [u8; 8] = *b"VRSAVE01";
/// Magic, fingerprint, time, checksum, length of the name, length of the state.
const HEADER: usize = 8 + 8 + 8 + 8 + 4 + 8;

/// Why saved state was not restored. The model is unchanged, unless the variant says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes are not saved state.
    #[error("this is no saved state of a model: it starts with {found:02x?}")]
    NotSaved {
        /// The first bytes, at most 8.
        found: Vec<u8>,
    },
    /// There are fewer or more bytes than the header says.
    #[error(
        "saved state of {model} has {found} bytes, its header says {expected}: it was cut or added to"
    )]
    Length {
        /// The model named in the header, if the header is complete.
        model: String,
        /// The expected number of bytes.
        expected: usize,
        /// The actual number of bytes.
        found: usize,
    },
    /// The state is of another model.
    #[error("saved state is of model {found}, this is an instance of {expected}")]
    OtherModel {
        /// This model.
        expected: &'static str,
        /// The model named in the header.
        found: String,
    },
    /// The state is of the same model, but built from other sources, parameters or another Verilator.
    #[error(
        "saved state of {model} was made by another build of it (fingerprint {found:016x}, this one is {expected:016x}): save it again with this one"
    )]
    OtherBuild {
        /// The model.
        model: &'static str,
        /// The fingerprint of this build.
        expected: u64,
        /// The fingerprint in the header.
        found: u64,
    },
    /// The state was changed after it was saved: its checksum does not match.
    #[error("saved state of {model} is damaged: its checksum does not match")]
    Damaged {
        /// The model.
        model: &'static str,
    },
    /// The header matched, but the state did not fit. The instance's state is now a mixture, and it refuses to
    /// evaluate until another restore succeeds.
    #[error(
        "saved state of {model} does not fit the model, which is now in no usable state: restore another"
    )]
    Misfit {
        /// The model.
        model: &'static str,
    },
    /// This model was built for coverage and cannot save or restore.
    #[error(
        "{model} was built for coverage, and Verilator can then not save or restore: build it without the feature `coverage`"
    )]
    Coverage {
        /// The model.
        model: &'static str,
    },
}

pub(crate) fn write(model: &str, fingerprint: u64, time: u64, state: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + model.len() + state.len());
    out.extend(MAGIC);
    out.extend(fingerprint.to_le_bytes());
    out.extend(time.to_le_bytes());
    out.extend(checksum(state).to_le_bytes());
    // Names are identifiers, so their length is far below 4 GiB.
    out.extend((model.len() as u32).to_le_bytes());
    out.extend((state.len() as u64).to_le_bytes());
    out.extend(model.as_bytes());
    out.extend(state);
    out
}

/// Checks everything, then returns the time and the state.
pub(crate) fn read<'a>(
    model: &'static str,
    fingerprint: u64,
    bytes: &'a [u8],
) -> Result<(u64, &'a [u8]), RestoreError> {
    let found = bytes.len();
    if found < MAGIC.len() || bytes[..MAGIC.len()] != MAGIC {
        return Err(RestoreError::NotSaved {
            found: bytes[..found.min(8)].to_vec(),
        });
    }
    let cut = |model: &str, expected| RestoreError::Length {
        model: model.to_owned(),
        expected,
        found,
    };
    if found < HEADER {
        return Err(cut("a model", HEADER));
    }
    let number = |at: usize, size: usize| {
        bytes[at..at + size]
            .iter()
            .rev()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let (of_build, time, sum) = (number(8, 8), number(16, 8), number(24, 8));
    let name_end = HEADER + number(32, 4) as usize;
    let Some(name) = bytes.get(HEADER..name_end) else {
        return Err(cut("a model", name_end));
    };
    let name = String::from_utf8_lossy(name);
    if name != model {
        return Err(RestoreError::OtherModel {
            expected: model,
            found: name.into_owned(),
        });
    }
    if of_build != fingerprint {
        return Err(RestoreError::OtherBuild {
            model,
            expected: fingerprint,
            found: of_build,
        });
    }
    let expected = usize::try_from(number(36, 8))
        .ok()
        .and_then(|length| name_end.checked_add(length));
    let expected = expected.unwrap_or(usize::MAX);
    if expected != found {
        return Err(cut(model, expected));
    }
    let state = &bytes[name_end..];
    if checksum(state) != sum {
        return Err(RestoreError::Damaged { model });
    }
    Ok((time, state))
}

/// Computes a checksum, eight bytes per step because states are saved often. It detects accidents, not forgery.
fn checksum(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64 ^ PRIME;
    let mut step = |word: u64| sum = (sum ^ word).wrapping_mul(PRIME).rotate_left(29);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        step(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
    }
    for byte in chunks.remainder() {
        step(u64::from(*byte));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved() -> Vec<u8> {
        write("Counter", 7, 1234, b"state of nineteen b")
    }

    #[test]
    fn there_and_back() {
        assert_eq!(
            read("Counter", 7, &saved()),
            Ok((1234, &b"state of nineteen b"[..]))
        );
        assert_eq!(read("C", 0, &write("C", 0, 0, b"")), Ok((0, &b""[..])));
    }

    #[test]
    fn every_cut_is_seen() {
        let bytes = saved();
        for length in 0..bytes.len() {
            assert!(read("Counter", 7, &bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn every_changed_byte_but_the_time_is_seen() {
        let bytes = saved();
        for at in (0..bytes.len()).filter(|at| !(16..24).contains(at)) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            assert!(read("Counter", 7, &bytes).is_err(), "{at}");
        }
    }

    #[test]
    fn errors_name_both_sides() {
        let text = |result: Result<(u64, &[u8]), RestoreError>| result.unwrap_err().to_string();
        assert_eq!(
            text(read("Timer", 7, &saved())),
            "saved state is of model Counter, this is an instance of Timer"
        );
        assert!(text(read("Counter", 8, &saved())).contains("0000000000000007"));
        assert!(text(read("Counter", 7, b"GIF89a..")).contains("no saved state"));
        let mut longer = saved();
        longer.push(0);
        assert!(
            text(read("Counter", 7, &longer)).contains("71 bytes, its header says 70"),
            "{}",
            text(read("Counter", 7, &longer))
        );
    }
}
