//! What a policy changed, and when.

use maud::{Markup, html};
use serde_json::Value;
use xoff_network::policy::Steered;
use xoff_network::scenario::Event;
use xoff_network::words::count;

use super::MOST_ROWS;
use crate::report::scale::time;

/// Renders the changes, the first ones of many.
pub fn policy(policy: Option<&Steered>) -> Markup {
    let Some(policy) = policy else {
        return html! {};
    };
    let shown = &policy.changes[..policy.changes.len().min(MOST_ROWS)];
    html! {
        h2 { "Policy" }
        p {
            code { (policy.name) } " looked every " (time(policy.every_ns)) ", " (count(policy.looks, "time", "times"))
            ", and made " (count(policy.changes.len() as u64, "change", "changes")) "."
            @if let Some(file) = &policy.recorded {
                " " code { (file) } " has them as events, and gives the same digest."
            }
        }
        @if !shown.is_empty() {
            table.stack {
                thead { tr { th.number { "at" } th { "what" } th { "new values" } } }
                tbody { @for event in shown {
                    @let (what, values) = in_words(event);
                    tr {
                        td.number data-label="at" { (time(event.at.as_ps() / 1_000)) }
                        td data-label="what" { (what) }
                        td data-label="new values" { (values) }
                    }
                } }
            }
        }
        @if shown.len() < policy.changes.len() {
            p.muted { "The first " (shown.len()) " of " (policy.changes.len()) "; all are in summary.json." }
        }
    }
}

/// The action with its subject, and its values.
fn in_words(event: &Event) -> (String, String) {
    let name = event.action.name();
    let action = serde_json::to_value(&event.action).unwrap_or_default();
    let Value::Object(mut keys) = action[name].clone() else {
        return (format!("{name} {}", plain(&action[name])), String::new());
    };
    let subjects = ["switch", "host", "flow"];
    let subject = (subjects.into_iter())
        .filter_map(|key| keys.remove(key))
        .filter(|value| !value.is_null())
        .map(|value| plain(&value));
    let what: Vec<String> = subject.collect();
    let mut values = Vec::new();
    flatten("", &Value::Object(keys), &mut values);
    (format!("{name} {}", what.join(" ")), values.join(", "))
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Adds each key that has a value.
fn flatten(key: &str, value: &Value, values: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Object(keys) => {
            for (inner, value) in keys {
                let key = match key {
                    "" => inner.clone(),
                    key => format!("{key}.{inner}"),
                };
                flatten(&key, value, values);
            }
        }
        value => values.push(format!("{key} = {}", plain(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steered(changes: &str) -> Steered {
        Steered {
            name: "ecn-tuner".into(),
            every_ns: 100_000,
            looks: 9,
            changes: serde_json::from_str(changes).unwrap(),
            recorded: Some("recorded.toml".into()),
        }
    }

    #[test]
    fn changes_have_their_time_subject_and_values() {
        assert_eq!(policy(None).into_string(), "");
        let set = r#"{"at": "1 ms", "do": {"set": {"switch": "t0", "ecn": {"kmin": "5 KB", "kmax": "20 KB"}}}}"#;
        let stop = r#"{"at": "2 ms", "do": {"stop": "f"}}"#;
        let page = policy(Some(&steered(&format!("[{set}, {stop}]")))).into_string();
        for shown in [
            "looked every 100 µs, 9 times, and made 2 changes.",
            "recorded.toml",
            "set t0",
            "ecn.kmin = 5 KB",
            "ecn.kmax = 20 KB",
            "stop f",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(!page.contains("The first"), "{page}");
        let many = vec![stop; MOST_ROWS + 1].join(",");
        let page = policy(Some(&steered(&format!("[{many}]")))).into_string();
        assert_eq!(page.matches("stop f").count(), MOST_ROWS);
        assert!(page.contains("all are in summary.json"));
    }
}
