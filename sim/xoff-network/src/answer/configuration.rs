//! Settings that are not as they were wanted, and stages of an onboarding that were not let in.

use serde_json::Value;

use super::{Broken, Cure, Seen};
use crate::results::FindingKind;
use crate::words::count;

/// Settings that are proposed at most, one for each device and key.
const MOST_CURES: usize = 3;

/// A value as `--set` takes it.
fn in_toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(in_toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(keys) => {
            let set = keys.iter().filter(|(_, value)| !value.is_null());
            let set: Vec<String> = set
                .map(|(key, value)| format!("{key} = {}", in_toml(value)))
                .collect();
            format!("{{ {} }}", set.join(", "))
        }
        other => other.to_string(),
    }
}

impl Seen<'_> {
    /// An onboarding that was stopped.
    pub(super) fn held_back(&self) -> Option<Broken> {
        let found = self.found(FindingKind::Onboarding)?;
        let mut cures = self.as_wanted();
        if cures.is_empty() {
            cures.push(Cure::by_hand(
                "mend what is against the stage, in the findings below",
            ));
        }
        Some(Broken::new(format!("Onboarding: {}", found.text), cures))
    }

    /// Settings that are not as they were wanted, without harm until now.
    pub(super) fn audited(&self) -> Option<Broken> {
        let found = self.found(FindingKind::Audit)?;
        let all = self.findings.iter();
        let all = all.filter(|finding| finding.kind == FindingKind::Audit);
        let more = match all.count() as u64 - 1 {
            0 => String::new(),
            more => format!(
                ", and {}",
                count(more, "more difference", "more differences")
            ),
        };
        let mut cures = self.as_wanted();
        if cures.is_empty() {
            cures.push(Cure::by_hand("set the devices as `audit` wants them"));
        }
        Some(Broken::new(format!("Audit: {}{more}", found.text), cures))
    }

    /// Switches whose settings differ from those that `audit` wants, at the end.
    pub(super) fn differing(&self) -> Vec<&str> {
        let open = self.recorder.auditor().into_iter();
        let open = open.flat_map(crate::audit::Auditor::open);
        let own = open.filter(|difference| !difference.of_link);
        let mut devices: Vec<&str> = own.map(|difference| &*difference.device).collect();
        devices.dedup();
        devices
    }

    /// The settings that make switches what `audit` wants.
    fn as_wanted(&self) -> Vec<Cure> {
        let (Some(auditor), Some(audit)) = (self.recorder.auditor(), &self.scenario.audit) else {
            return Vec::new();
        };
        let wanted = serde_json::to_value(&audit.switch).unwrap_or_default();
        let mut cures: Vec<Cure> = Vec::new();
        for difference in auditor.open().filter(|difference| !difference.of_link) {
            // `xoff of class 3` is the key `xoff`.
            let key = difference.setting.split(' ').next().unwrap_or_default();
            let value = wanted.get(key).filter(|value| !value.is_null());
            let (Some(switch), Some(value)) = (self.switch(&difference.device), value) else {
                continue;
            };
            let cure = Cure::new(
                format!("{}.{key}={}", switch.place(), in_toml(value)),
                format!(
                    "as `audit` wants {}: {} is {} now",
                    difference.device, difference.setting, difference.used
                ),
            );
            if !cures.iter().any(|known| known.set == cure.set) {
                cures.push(cure);
            }
        }
        cures.truncate(MOST_CURES);
        cures
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_as_the_command_line_takes_them() {
        let alpha = json!({ "alpha": { "den": 16, "num": 1 }, "none": null });
        assert_eq!(in_toml(&alpha), "{ alpha = { den = 16, num = 1 } }");
        assert_eq!(in_toml(&json!([3, 4])), "[3, 4]");
        assert_eq!(in_toml(&json!("12 MB")), "\"12 MB\"");
    }
}
