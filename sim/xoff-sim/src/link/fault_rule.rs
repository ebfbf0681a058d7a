//! Rules of fault injection, as data and as text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::headers::Headers;
use crate::seeded::Chance;
use crate::time::Duration;
use crate::wire::{Psn, Qpn};

/// Which frames: all that is given has to hold. Nothing given: every frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultMatch {
    /// Source address, IPv4.
    pub src: Option<std::net::Ipv4Addr>,
    /// Destination address, IPv4.
    pub dst: Option<std::net::Ipv4Addr>,
    /// Destination queue pair of a RoCEv2 packet.
    pub qpn: Option<Qpn>,
    /// PSNs from the first to the second, both included, around the wrap if the second is smaller.
    pub psn: Option<(Psn, Psn)>,
    /// RoCE opcode, all eight bits.
    pub opcode: Option<u8>,
    /// Low byte of the IPv4 identification: 0xFF drops one of 256 for a NIC that counts up (SIGCOMM 2016, the livelock experiment).
    pub ip_id_low: Option<u8>,
}

impl FaultMatch {
    /// Whether a frame is meant.
    pub fn matches(&self, headers: &Headers) -> bool {
        let v4 = headers.ip.filter(|ip| ip.version == 4);
        let ip = |wanted: Option<u128>, read: fn(&crate::headers::IpFields) -> u128| {
            wanted.is_none_or(|wanted| v4.as_ref().is_some_and(|ip| read(ip) == wanted))
        };
        let bits = |address: std::net::Ipv4Addr| u128::from(u32::from(address));
        ip(self.src.map(bits), |ip| ip.src)
            && ip(self.dst.map(bits), |ip| ip.dst)
            && ip(self.ip_id_low.map(u128::from), |ip| {
                u128::from(ip.id & 0xFF)
            })
            && self
                .qpn
                .is_none_or(|qpn| headers.bth.is_some_and(|bth| bth.dest_qp == qpn))
            && self
                .opcode
                .is_none_or(|opcode| headers.bth.is_some_and(|bth| bth.opcode.0 == opcode))
            && self.psn.is_none_or(|(first, last)| {
                headers.bth.is_some_and(|bth| {
                    let from_first =
                        |psn: Psn| psn.get().wrapping_sub(first.get()) & Psn::MAX.get();
                    from_first(bth.psn) <= from_first(last)
                })
            })
    }
}

/// What befalls a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultAction {
    /// It is gone.
    Drop,
    /// Bits flip on the way: the FCS is wrong at the other end.
    Corrupt,
    /// IP's ECN field says "congestion experienced", whether the sender is capable or not.
    Ecn,
    /// It comes later, on a link past those behind it; in a switch they wait behind it.
    Delay(Duration),
    /// It comes twice, the second time as much later as it takes on the wire.
    Duplicate,
}

/// A rule: which frames, how often, what. Text form:
///
/// ```text
/// qpn 3, psn 50-150: ecn, delay 1 us
/// ip_id_low 0xff, skip 10, shots 2: drop
/// src 10.0.0.1, chance 1/1000: corrupt
/// any: duplicate
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FaultRule {
    /// Which frames.
    pub matches: FaultMatch,
    /// Of those, how many are let go first.
    pub skip: u64,
    /// How many are hit after which the rule is used up; `None`: no end.
    pub shots: Option<u64>,
    /// Of those left, which part, drawn from the seed.
    pub chance: Chance,
    /// What befalls them; at least one.
    pub actions: Vec<FaultAction>,
}

/// Text that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("fault rule '{rule}': {problem}")]
pub struct FaultRuleError {
    rule: String,
    problem: String,
}

impl FaultRule {
    /// Always, to every frame that matches.
    pub fn always(matches: FaultMatch, action: FaultAction) -> Self {
        Self {
            matches,
            skip: 0,
            shots: None,
            chance: Chance::ALWAYS,
            actions: vec![action],
        }
    }
}

/// Decimal or 0x-hexadecimal.
fn number<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let value = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    T::try_from(value).ok()
}

fn psn(text: &str) -> Option<Psn> {
    number(text).and_then(|psn| Psn::new(psn).ok())
}

impl FromStr for FaultRule {
    type Err = FaultRuleError;

    fn from_str(text: &str) -> Result<Self, FaultRuleError> {
        let wrong = |problem: String| FaultRuleError {
            rule: text.into(),
            problem,
        };
        let (conditions, actions) = text
            .split_once(':')
            .ok_or_else(|| wrong("expected 'which frames: what befalls them'".into()))?;
        let mut rule = Self {
            matches: FaultMatch::default(),
            skip: 0,
            shots: None,
            chance: Chance::ALWAYS,
            actions: Vec::new(),
        };
        for condition in conditions.split(',').map(str::trim) {
            rule.condition(condition).ok_or_else(|| {
                wrong(format!(
                    "'{condition}': expected any, src ADDRESS, dst ADDRESS, qpn N, psn N, psn N-M, opcode N, ip_id_low N, skip N, shots N or chance N/M"
                ))
            })?;
        }
        for action in actions.split(',').map(str::trim) {
            rule.actions.push(match action {
                "drop" => FaultAction::Drop,
                "corrupt" => FaultAction::Corrupt,
                "ecn" => FaultAction::Ecn,
                "duplicate" => FaultAction::Duplicate,
                _ => {
                    let delay = action.strip_prefix("delay ").ok_or_else(|| {
                        wrong(format!(
                            "'{action}': expected drop, corrupt, ecn, delay DURATION or duplicate"
                        ))
                    })?;
                    FaultAction::Delay(
                        delay
                            .parse()
                            .map_err(|error| wrong(format!("'{action}': {error}")))?,
                    )
                }
            });
        }
        Ok(rule)
    }
}

impl FaultRule {
    fn condition(&mut self, condition: &str) -> Option<()> {
        if condition == "any" {
            return Some(());
        }
        let (name, value) = condition.split_once(' ')?;
        let (value, matches) = (value.trim(), &mut self.matches);
        match name {
            "src" => matches.src = Some(value.parse().ok()?),
            "dst" => matches.dst = Some(value.parse().ok()?),
            "qpn" => matches.qpn = Some(Qpn::new(number(value)?).ok()?),
            "psn" => {
                let (first, last) = value.split_once('-').unwrap_or((value, value));
                matches.psn = Some((psn(first.trim())?, psn(last.trim())?));
            }
            "opcode" => matches.opcode = Some(number(value)?),
            "ip_id_low" => matches.ip_id_low = Some(number(value)?),
            "skip" => self.skip = number(value)?,
            "shots" => self.shots = Some(number(value)?),
            "chance" => self.chance = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }
}

impl fmt::Display for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matches = &self.matches;
        let conditions: Vec<String> = [
            matches.src.map(|address| format!("src {address}")),
            matches.dst.map(|address| format!("dst {address}")),
            matches.qpn.map(|qpn| format!("qpn {}", qpn.get())),
            matches
                .psn
                .map(|(first, last)| format!("psn {}-{}", first.get(), last.get())),
            matches.opcode.map(|opcode| format!("opcode {opcode:#04x}")),
            matches.ip_id_low.map(|id| format!("ip_id_low {id:#04x}")),
            (self.skip > 0).then(|| format!("skip {}", self.skip)),
            self.shots.map(|shots| format!("shots {shots}")),
            (self.chance != Chance::ALWAYS).then(|| format!("chance {}", self.chance)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let actions: Vec<String> = self
            .actions
            .iter()
            .map(|action| match action {
                FaultAction::Drop => "drop".into(),
                FaultAction::Corrupt => "corrupt".into(),
                FaultAction::Ecn => "ecn".into(),
                FaultAction::Delay(by) => format!("delay {by}"),
                FaultAction::Duplicate => "duplicate".into(),
            })
            .collect();
        match conditions.as_slice() {
            [] => write!(f, "any: {}", actions.join(", ")),
            _ => write!(f, "{}: {}", conditions.join(", "), actions.join(", ")),
        }
    }
}

impl TryFrom<String> for FaultRule {
    type Error = FaultRuleError;

    fn try_from(text: String) -> Result<Self, FaultRuleError> {
        text.parse()
    }
}

impl From<FaultRule> for String {
    fn from(rule: FaultRule) -> String {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::roce_frame;

    #[test]
    fn text_both_ways() {
        for text in [
            "qpn 3, psn 50-150: ecn, delay 1 us",
            "ip_id_low 0xff, skip 10, shots 2: drop",
            "src 10.0.0.1, dst 10.0.0.2, opcode 0x81, chance 1/1000: corrupt",
            "any: duplicate",
        ] {
            assert_eq!(text.parse::<FaultRule>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn says_which_part_is_wrong() {
        let why = |text: &str| text.parse::<FaultRule>().unwrap_err().to_string();
        assert!(why("drop").contains("expected 'which frames: what befalls them'"));
        assert!(why("qp 3: drop").contains("'qp 3': expected any, src ADDRESS"));
        assert!(why("qpn 0x1000000: drop").contains("'qpn 0x1000000'"));
        assert!(why("any: lose").contains("'lose': expected drop"));
        assert!(why("any: delay 1").contains("no unit"));
    }

    #[test]
    fn all_that_is_given_has_to_hold() {
        let frame = roce_frame(1, 2).qpn(3).psn(100).ip_id(0x01FF).bytes(100);
        let headers = Headers::at(&frame).unwrap();
        let hits = |conditions: &str| {
            let rule: FaultRule = format!("{conditions}: drop").parse().unwrap();
            rule.matches.matches(&headers)
        };
        for yes in [
            "any",
            "qpn 3",
            "psn 100",
            "psn 100-100",
            "psn 0xfffff0-100",
            "ip_id_low 0xff",
            "src 10.0.0.1, dst 10.0.0.2, qpn 3",
        ] {
            assert!(hits(yes), "{yes}");
        }
        for no in [
            "qpn 4",
            "psn 101-99, qpn 4",
            "psn 101-150",
            "psn 0-99",
            "ip_id_low 1",
            "src 10.0.0.2",
            "qpn 3, psn 99",
            "opcode 0x81",
        ] {
            assert!(!hits(no), "{no}");
        }
    }
}
