//! Comparison of two results for one frame: the fields in which they differ.

use serde_json::Value;
use xoff_sim::wire::frame::ParsedFrame;

/// Maximum number of fields named per frame. When everything differs, the first fields suffice.
const MOST_FIELDS: usize = 12;

/// Returns the fields in which `left` and `right` differ, as `path: left value, right value`; empty when the results
/// are equal.
pub fn differences(names: [&str; 2], left: &ParsedFrame, right: &ParsedFrame) -> Vec<String> {
    if left == right {
        return Vec::new();
    }
    let value =
        |frame: &ParsedFrame| serde_json::to_value(frame).expect("a plain struct serializes");
    let mut found = Vec::new();
    walk("", &value(left), &value(right), &mut |path, a, b| {
        found.push(format!(
            "{path}: {} {}, {} {}",
            names[0],
            text(a),
            names[1],
            text(b)
        ));
    });
    if found.is_empty() {
        found.push("the results differ in a field without text form".into());
    }
    if found.len() > MOST_FIELDS {
        let more = found.len() - MOST_FIELDS;
        found.truncate(MOST_FIELDS);
        found.push(format!("and {more} fields more"));
    }
    found
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn walk(path: &str, left: &Value, right: &Value, found: &mut impl FnMut(&str, &Value, &Value)) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let keys = left
                .keys()
                .chain(right.keys().filter(|key| !left.contains_key(*key)));
            for key in keys {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                walk(
                    &path,
                    left.get(key).unwrap_or(&Value::Null),
                    right.get(key).unwrap_or(&Value::Null),
                    found,
                );
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                walk(&format!("{path}[{index}]"), left, right, found);
            }
        }
        // Payloads of different lengths: the lengths are more informative than the bytes.
        (Value::Array(left), Value::Array(right)) => {
            found(
                &format!("{path}.len"),
                &left.len().into(),
                &right.len().into(),
            );
        }
        (left, right) if left != right => found(path, left, right),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use xoff_sim::wire::frame::{Reason, Verdict};

    use super::*;

    #[test]
    fn fields_are_named() {
        let left = ParsedFrame {
            icrc_ok: Some(true),
            payload: vec![1, 2, 3],
            ..ParsedFrame::empty(60)
        };
        let mut right = left.clone();
        assert!(differences(["RTL", "model"], &left, &right).is_empty());
        right.verdict = Verdict::Malformed;
        right.reason = Some(Reason::IpChecksum);
        right.payload[1] = 9;
        assert_eq!(
            differences(["RTL", "model"], &left, &right),
            [
                "payload[1]: RTL 2, model 9",
                "reason: RTL nothing, model ip_checksum",
                "verdict: RTL other, model malformed"
            ]
        );
        right.payload.pop();
        assert!(
            differences(["RTL", "model"], &left, &right)
                .contains(&"payload.len: RTL 3, model 2".to_string())
        );
    }
}
