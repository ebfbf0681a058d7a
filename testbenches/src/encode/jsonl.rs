//! Descriptions from JSON lines, as `xoff decode --format jsonl` writes them.

use serde_json::Value;
use thiserror::Error;

use super::description::{Description, DescriptionError};

/// What is wrong with a line.
#[derive(Debug, Error)]
pub enum LineError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but no object.
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
    /// A key or value that describes nothing.
    #[error(transparent)]
    Description(#[from] DescriptionError),
}

/// Reads one line.
///
/// # Errors
///
/// The first thing that is wrong with it.
pub fn parse(line: &str) -> Result<Description, LineError> {
    let value: Value = serde_json::from_str(line)?;
    let Value::Object(object) = value else {
        return Err(LineError::NotAnObject(kind(&value)));
    };
    let mut description = Description::default();
    // First, so that a row of a broken frame is called what it is.
    if let Some(Value::String(verdict)) = object.get("verdict") {
        description.set("verdict", verdict)?;
    }
    for (key, value) in object
        .iter()
        .filter(|(key, value)| !(*key == "verdict" && value.is_string()))
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

/// A value as it would stand on the command line.
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
