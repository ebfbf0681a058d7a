//! Suggestions for misspelt words.

/// Maximum number of suggestions.
const MOST: usize = 3;
/// Least similarity, 0 to 1, at which a word is suggested.
const NEAR: f64 = 0.8;

/// Returns the words most similar to `text`, the most similar first; none when no word is similar. Case is ignored.
pub fn nearest<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let text = text.to_lowercase();
    let mut near: Vec<(f64, &str)> = words
        .into_iter()
        .map(|word| (similarity(&text, &word.to_lowercase()), word))
        .filter(|&(similarity, _)| similarity >= NEAR)
        .collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.into_iter().take(MOST).map(|(_, word)| word).collect()
}

fn similarity(text: &str, word: &str) -> f64 {
    // `qp` is a part of `dest_qp`, although the words are not similar letter by letter.
    let part = text.len() > 1 && word.split('_').any(|part| part == text);
    // One letter wrong, missing or too many, or two letters exchanged.
    let slip = strsim::osa_distance(text, word) <= 1;
    let likeness = strsim::jaro_winkler(text, word);
    match (part, slip) {
        (true, _) => 1.0,
        (_, true) => likeness.max(0.9),
        _ => likeness,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_parts() {
        let words = [
            "psn",
            "msn",
            "dest_qp",
            "src_qp",
            "payload",
            "payload_bytes",
        ];
        assert_eq!(nearest("PSN", words), ["psn", "msn"]);
        assert_eq!(nearest("pns", words), ["psn"]);
        assert_eq!(nearest("qp", words), ["dest_qp", "src_qp"]);
        assert_eq!(nearest("payload_byte", words), ["payload_bytes", "payload"]);
        assert!(nearest("zzz", words).is_empty());
    }
}
