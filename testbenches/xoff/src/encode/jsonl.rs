//! Descriptions from JSON lines, as `xoff decode --format jsonl` writes them.

use serde_json::Value;
use thiserror::Error;

use super::description::{Description, DescriptionError, Packet, Seen};
use super::keys::{self, Kind};
use crate::decode::Segment;
use crate::row::Row;

/// Keys that say when and where a frame was seen.
const SEEN: [&str; 4] = ["time_ns", "interface", "direction", "fcs_ok"];

/// Keys of what is around a frame and is not built: tunnels, and the stream of which a segment is a part.
const AROUND: [&str; 2] = ["tunnels", "iwarp"];

/// Content of a line.
#[derive(Debug)]
pub enum Item {
    /// A packet for the builder.
    Packet(Box<Packet>),
    /// A frame to be written unchanged.
    Raw(Vec<u8>, Seen),
}

/// An invalid line.
#[derive(Debug, Error)]
pub enum LineError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but not an object.
    #[error("expected an object such as {{\"opcode\":4,\"psn\":7}}, found {0}")]
    NotAnObject(&'static str),
    /// A value that is nested or null.
    #[error("{key}: expected a number, text, true, false or an array of numbers, found {found}")]
    NotAValue {
        /// The key.
        key: String,
        /// What was read.
        found: &'static str,
    },
    /// A row of something that is no whole Ethernet frame.
    #[error("{key}={text}: only whole Ethernet frames can be written; --skip leaves such rows out")]
    NoFrame {
        /// The key that says so.
        key: &'static str,
        /// Its value.
        text: String,
    },
    /// A key that contradicts the bytes of the frame.
    #[error("{key}={text}: in raw it {is}; without raw the packet is built from its keys")]
    NotRaw {
        /// The key.
        key: String,
        /// Its value.
        text: String,
        /// What the bytes say.
        is: String,
    },
    /// A key or value that describes nothing.
    #[error(transparent)]
    Description(#[from] DescriptionError),
}

/// Reads one line: the frame of its key `raw`, or the packet that its keys describe.
///
/// # Errors
///
/// Returns the first problem of the line; keys that contradict `raw` are one too.
pub fn item(line: &str, skip: bool) -> Result<Item, LineError> {
    let value: Value = serde_json::from_str(line)?;
    if let Some((key, said)) = no_frame(&value) {
        let text = text(said).unwrap_or_else(|| said.to_string());
        return Err(LineError::NoFrame { key, text });
    }
    let raw = value.get("raw").filter(|_| !(skip && is_not_ours(&value)));
    let Some(raw) = raw else {
        return Ok(Item::Packet(Box::new(parse(line)?.packet()?)));
    };
    let raw = text(raw).unwrap_or_default();
    let read = keys::read("raw", Kind::Payload, &raw).map_err(DescriptionError::from)?;
    let keys::Value::Payload(bytes) = read else {
        unreachable!("a payload is read as one")
    };
    // The other keys of the row have to match the bytes, because an edited key would otherwise be ignored silently.
    let is = match &bytes[..] {
        [] => Value::Null,
        bytes => serde_json::to_value(Row {
            tcp: Segment::of(bytes, bytes.len()),
            ..Row::new(0, &xoff_sim::protocol::parse(bytes))
        })?,
    };
    let mut seen = Description::default();
    for (key, value) in value.as_object().into_iter().flatten() {
        let said = || text(value).unwrap_or_else(|| value.to_string());
        if SEEN.contains(&&key[..]) {
            seen.set(key, &said())?;
        } else if !["raw", "frame"].contains(&&key[..])
            && !AROUND.contains(&&key[..])
            && !is.is_null()
            && is.get(key) != Some(value)
        {
            return Err(LineError::NotRaw {
                key: key.clone(),
                text: said(),
                is: is
                    .get(key)
                    .map_or("has no such key".into(), |is| format!("is {is}")),
            });
        }
    }
    Ok(Item::Raw(bytes, seen.seen()))
}

/// Returns the key of a row, and its value, that says that the record has no whole Ethernet frame.
fn no_frame(value: &Value) -> Option<(&'static str, &Value)> {
    let verdict = value
        .get("verdict")
        .filter(|verdict| matches!(verdict.as_str(), Some("cut" | "too_long" | "other_link")));
    let link_type = value.get("link_type");
    let link_type = link_type.map(|said| ("link_type", said));
    verdict.map(|said| ("verdict", said)).or(link_type)
}

/// Returns whether the verdict of a row is `other` or `malformed`.
fn is_not_ours(value: &Value) -> bool {
    let verdict = value.get("verdict").and_then(Value::as_str);
    matches!(verdict, Some("other" | "malformed"))
}

/// Reads one line of keys.
///
/// # Errors
///
/// Returns the first problem of the line.
pub fn parse(line: &str) -> Result<Description, LineError> {
    let value: Value = serde_json::from_str(line)?;
    let Value::Object(object) = value else {
        return Err(LineError::NotAnObject(kind(&value)));
    };
    let mut description = Description::default();
    // Checked first, so that a row of a malformed frame is reported as such.
    if let Some(Value::String(verdict)) = object.get("verdict") {
        description.set("verdict", verdict)?;
    }
    for (key, value) in object
        .iter()
        .filter(|(key, value)| !(*key == "verdict" && value.is_string()))
        .filter(|(key, _)| !AROUND.contains(&&key[..]))
    {
        description.set(
            key,
            &text(value).ok_or_else(|| LineError::NotAValue {
                key: key.clone(),
                found: kind(value),
            })?,
        )?;
    }
    Ok(description)
}

/// Formats a value as on the command line.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(values) => {
            let texts: Option<Vec<String>> = values
                .iter()
                .map(|value| value.is_number().then(|| value.to_string()))
                .collect();
            texts.map(|texts| texts.join(","))
        }
        Value::Null | Value::Object(_) => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> String {
        parse(line).unwrap_err().to_string()
    }

    #[test]
    fn lines_that_describe_nothing() {
        assert_eq!(
            message("[1]"),
            "expected an object such as {\"opcode\":4,\"psn\":7}, found an array"
        );
        assert!(message("{\"psn\":").starts_with("not JSON: EOF"));
        assert_eq!(
            message("{\"psn\":null}"),
            "psn: expected a number, text, true, false or an array of numbers, found null"
        );
        assert_eq!(
            message("{\"psn\":16777216}"),
            "psn=16777216: 24 bits at most (0xffffff)"
        );
        assert_eq!(
            message("{\"psn\":1.5}"),
            "psn=1.5: a number, such as 17 or 0x11"
        );
        assert!(
            message("{\"frame\":3,\"reason\":\"ip_checksum\",\"verdict\":\"malformed\"}")
                .starts_with("verdict=malformed: only whole")
        );
    }

    #[test]
    fn rows_without_a_whole_ethernet_frame_are_refused() {
        let raw = format!("\"raw\":\"hex:{}\"", "02".repeat(60));
        for (keys, named) in [
            ("\"verdict\":\"cut\",\"kept\":60", "verdict=cut"),
            ("\"verdict\":\"too_long\"", "verdict=too_long"),
            (
                "\"verdict\":\"other_link\",\"link_type\":147",
                "verdict=other_link",
            ),
            ("\"verdict\":\"roce_v2\",\"link_type\":276", "link_type=276"),
        ] {
            let error = item(&format!("{{{keys},{raw}}}"), false).unwrap_err();
            let right = format!("{named}: only whole Ethernet frames can be written");
            assert!(error.to_string().starts_with(&right), "{error}");
        }
    }

    #[test]
    fn raw_is_taken_as_it_is_and_other_keys_have_to_agree() {
        let line = |more: &str| format!("{{\"raw\":\"hex:{}\"{more}}}", "02".repeat(60));
        let Item::Raw(bytes, seen) =
            item(&line(",\"time_ns\":\"7\",\"bytes\":60,\"frame\":3"), false).unwrap()
        else {
            panic!("no raw frame");
        };
        assert_eq!((bytes, seen.time_ns), (vec![2; 60], Some(7)));
        let why = |more: &str| item(&line(more), false).unwrap_err().to_string();
        assert_eq!(
            why(",\"bytes\":61"),
            "bytes=61: in raw it is 60; without raw the packet is built from its keys"
        );
        assert!(why(",\"psn\":7").starts_with("psn=7: in raw it has no such key"));
        assert!(why(",\"time_ns\":\"x\"").starts_with("time_ns=x: a number"));
        assert!(item("{\"raw\":\"hex:0\"}", false).is_err());
        // With --skip the caller leaves out rows with verdict `other`.
        let row = line(",\"verdict\":\"other\"");
        assert!(item(&row, false).is_ok());
        let left_out = item(&row, true).unwrap_err();
        assert!(matches!(
            left_out,
            LineError::Description(DescriptionError::NotOurs { .. })
        ));
    }

    #[test]
    fn the_values_of_a_row() {
        parse(r#"{"verdict":"pfc","class_enable":8,"quanta":[0,0,0,9,0,0,0,0]}"#)
            .unwrap()
            .packet()
            .unwrap();
        parse(r#"{"frame":1,"opcode":6,"name":"RC_WRITE_FIRST","va":"0x00007f0012345678","ack_req":true,"payload_bytes":256}"#)
            .unwrap()
            .packet()
            .unwrap();
    }
}
