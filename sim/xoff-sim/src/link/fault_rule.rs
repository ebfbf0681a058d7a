//! Fault rules, as data and as text.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::headers::{Headers, IpFields};
use crate::seeded::Chance;
use crate::time::Duration;
use crate::wire::{EtherType, Psn, Qpn, address_bits};

/// The frames that a rule applies to: all conditions that are given must hold. If none is given, every frame matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultMatch {
    /// Source address.
    pub src: Option<IpAddr>,
    /// Destination address.
    pub dst: Option<IpAddr>,
    /// Destination queue pair of a RoCEv2 packet.
    pub qpn: Option<Qpn>,
    /// PSN of a RoCEv2 packet.
    pub psn: Option<PsnRange>,
    /// RoCE opcode, all eight bits.
    pub opcode: Option<u8>,
    /// What kind of frame it has to be.
    pub kind: Option<FrameKind>,
    /// Low byte of the IPv4 identification: 0xFF drops one of 256 for a NIC that counts up (SIGCOMM 2016, the
    /// livelock experiment).
    pub ip_id_low: Option<u8>,
}

/// Kinds of frames that rules tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// RoCEv2 packets.
    Roce,
    /// READ responses, of whatever place in their READ.
    ReadResponse,
    /// Frames of MAC control: pauses, of PFC or of a whole link.
    Pause,
}

impl FrameKind {
    fn of_name(name: &str) -> Option<Self> {
        let all = [Self::Roce, Self::ReadResponse, Self::Pause];
        all.into_iter().find(|kind| kind.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Roce => "roce",
            Self::ReadResponse => "read_response",
            Self::Pause => "pause",
        }
    }

    fn is_of(self, headers: &Headers) -> bool {
        match self {
            Self::Roce => headers.bth.is_some(),
            Self::ReadResponse => headers.bth.is_some_and(|bth| bth.opcode.is_read_response()),
            Self::Pause => headers.ether_type == EtherType::MAC_CONTROL,
        }
    }
}

/// A range of PSNs from `first` to `last`, both included. If `last` is smaller, the range wraps around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PsnRange {
    /// The first PSN, or with `relative`, its distance from the flow's first PSN.
    pub first: Psn,
    /// The last PSN, or with `relative`, its distance from the flow's first PSN.
    pub last: Psn,
    /// Whether both values are distances from the flow's first PSN.
    pub relative: bool,
}

impl PsnRange {
    /// Whether `psn` is in the range. `flow` is the flow's first PSN; without it nothing is in a relative range.
    pub fn contains(&self, psn: Psn, flow: Option<Psn>) -> bool {
        let origin = match (self.relative, flow) {
            (false, _) => 0,
            (true, Some(first)) => first.get(),
            (true, None) => return false,
        };
        let distance = |psn: u32| psn.wrapping_sub(self.first.get()) & Psn::MAX.get();
        distance(psn.get().wrapping_sub(origin)) <= distance(self.last.get())
    }
}

impl fmt::Display for PsnRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.relative { "+" } else { "" };
        write!(f, "{sign}{}", self.first.get())?;
        if self.last != self.first {
            write!(f, "-{sign}{}", self.last.get())?;
        }
        Ok(())
    }
}

impl FromStr for PsnRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let read = |text: &str| {
            let (relative, digits) = match text.trim().strip_prefix('+') {
                Some(digits) => (true, digits),
                None => (false, text.trim()),
            };
            let psn = number(digits).and_then(|psn| Psn::new(psn).ok());
            psn.map(|psn| (relative, psn))
                .ok_or("a PSN is a number of 24 bits: psn N, psn N-M, psn +N or psn +N-+M")
        };
        let ((relative, first), (last_relative, last)) = (read(first)?, read(last)?);
        if relative != last_relative {
            return Err(
                "both ends are relative to the flow's first PSN, or none: psn +N-+M".into(),
            );
        }
        // Absolute ranges may wrap around, as PSNs do: 0xfffff0-15 has 32 PSNs. 150-50 would be almost all PSNs,
        // which cannot be intended.
        if last.get() < first.get() && (relative || last.ahead_of(first) < 0) {
            return Err(format!(
                "the range is reversed: {} comes before {}",
                last.get(),
                first.get()
            ));
        }
        Ok(Self {
            first,
            last,
            relative,
        })
    }
}

impl FaultMatch {
    /// Whether the rule applies to a frame with these headers. `flow` is the first PSN of its flow, if known.
    pub fn matches(&self, headers: &Headers, flow: Option<Psn>) -> bool {
        let address = |wanted: Option<IpAddr>, read: fn(&IpFields) -> u128| {
            let ip = headers.ip.as_ref();
            wanted.is_none_or(|wanted| {
                let version = if wanted.is_ipv6() { 6 } else { 4 };
                ip.is_some_and(|ip| (ip.version, read(ip)) == (version, address_bits(wanted)))
            })
        };
        // IPv6 has no identification.
        let v4 = headers.ip.as_ref().filter(|ip| ip.version == 4);
        let id = |id: u8| v4.is_some_and(|ip| ip.id & 0xFF == u16::from(id));
        address(self.src, |ip| ip.src)
            && address(self.dst, |ip| ip.dst)
            && self.ip_id_low.is_none_or(id)
            && self
                .qpn
                .is_none_or(|qpn| headers.bth.is_some_and(|bth| bth.dest_qp == qpn))
            && self
                .opcode
                .is_none_or(|opcode| headers.bth.is_some_and(|bth| bth.opcode.0 == opcode))
            && self.kind.is_none_or(|kind| kind.is_of(headers))
            && self.psn.is_none_or(|range| {
                let psn = headers.bth.map(|bth| bth.psn);
                psn.is_some_and(|psn| range.contains(psn, flow))
            })
    }
}

/// What a rule does to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultAction {
    /// The frame is lost.
    Drop,
    /// The frame arrives with a wrong FCS, as after a bit error on the cable, so that the receiving MAC drops it.
    Corrupt,
    /// One bit, drawn from the seed, is inverted and the FCS is correct, as with bad memory in a switch. In a RoCEv2
    /// packet it is a bit that the ICRC protects, from the BTH to the ICRC; in any other frame a bit after the
    /// Ethernet header.
    Flip,
    /// IP's ECN field is set to "congestion experienced", even if the sender is not ECN capable.
    Ecn,
    /// IP's DSCP is set to this, 0 to 63, as by a device that bleaches it: what comes behind takes the frame for one of
    /// another class. A switch that does it has classified the frame before.
    Dscp(u8),
    /// The frame arrives later. On a link later frames overtake it; in a switch they wait behind it.
    Delay(Duration),
    /// The frame arrives twice, the second time later by the time that it takes on the wire.
    Duplicate,
}

/// A fault rule: which frames it applies to, how often, and what is done to them. It is read from text such as:
///
/// ```text
/// qpn 3, psn 50-150: ecn, delay 1 us
/// psn +100, shots 1: drop
/// ip_id_low 0xff, skip 10, shots 2: drop
/// src 10.0.0.1, chance 1/1000: corrupt
/// pause, shots 1: drop
/// dst fd00::2: duplicate
/// any: duplicate
/// ```
///
/// A PSN after `+` counts from the flow's first PSN; [`FaultInjector`](super::FaultInjector) describes how that is
/// known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FaultRule {
    /// The frames that match.
    pub matches: FaultMatch,
    /// How many matching frames pass before the rule takes effect.
    pub skip: u64,
    /// Number of hits after which the rule has no more effect; `None`: unlimited.
    pub shots: Option<u64>,
    /// The fraction of the remaining frames that is hit, drawn from the seed.
    pub chance: Chance,
    /// What is done to a frame, in this order; at least one action.
    pub actions: Vec<FaultAction>,
}

/// The error for a text that is not a fault rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("fault rule '{rule}': {problem}")]
pub struct FaultRuleError {
    rule: String,
    problem: String,
}

impl FaultRule {
    /// Creates a rule that does `action` to every frame that matches.
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

/// Reads a decimal or 0x-hexadecimal number.
fn number<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let value = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    T::try_from(value).ok()
}

impl FromStr for FaultRule {
    type Err = FaultRuleError;

    fn from_str(text: &str) -> Result<Self, FaultRuleError> {
        let wrong = |problem: String| FaultRuleError {
            rule: text.into(),
            problem,
        };
        // The last colon, for addresses of IPv6 have some.
        let (conditions, actions) = text
            .rsplit_once(':')
            .ok_or_else(|| wrong("expected 'which frames: what is done to them'".into()))?;
        let mut rule = Self {
            matches: FaultMatch::default(),
            skip: 0,
            shots: None,
            chance: Chance::ALWAYS,
            actions: Vec::new(),
        };
        let mut given: Vec<&str> = Vec::new();
        for condition in conditions.split(',').map(str::trim) {
            rule.condition(condition)
                .map_err(|expected| wrong(format!("'{condition}': {expected}")))?;
            let name = condition.split(' ').next().unwrap_or_default();
            if given.contains(&name) {
                return Err(wrong(format!(
                    "'{condition}': there is a condition '{name}' before it, and all of a rule have to hold: another \
                     rule says 'or'"
                )));
            }
            given.push(name);
        }
        for action in actions.split(',').map(str::trim) {
            rule.actions.push(match action {
                "drop" => FaultAction::Drop,
                "corrupt" => FaultAction::Corrupt,
                "flip" => FaultAction::Flip,
                "ecn" => FaultAction::Ecn,
                "duplicate" => FaultAction::Duplicate,
                _ => match action.split_once(' ') {
                    Some(("dscp", dscp)) => FaultAction::Dscp(
                        number(dscp.trim())
                            .filter(|dscp| *dscp < 64)
                            .ok_or_else(|| {
                                wrong(format!("'{action}': a DSCP is a number from 0 to 63"))
                            })?,
                    ),
                    Some(("delay", delay)) => FaultAction::Delay(
                        delay
                            .parse()
                            .map_err(|error| wrong(format!("'{action}': {error}")))?,
                    ),
                    _ => {
                        return Err(wrong(format!(
                            "'{action}': expected drop, corrupt, flip, ecn, dscp N, delay DURATION or duplicate"
                        )));
                    }
                },
            });
        }
        Ok(rule)
    }
}

impl FaultRule {
    /// Adds a condition. On failure, returns what is expected in its place.
    fn condition(&mut self, condition: &str) -> Result<(), String> {
        let (name, value) = condition.split_once(' ').unwrap_or((condition, ""));
        let (value, matches) = (value.trim(), &mut self.matches);
        let known = match name {
            "any" if value.is_empty() => Some(()),
            "src" => value.parse().ok().map(|ip| matches.src = Some(ip)),
            "dst" => value.parse().ok().map(|ip| matches.dst = Some(ip)),
            "qpn" => number(value)
                .and_then(|qpn| Qpn::new(qpn).ok())
                .map(|qpn| matches.qpn = Some(qpn)),
            "psn" => {
                matches.psn = Some(value.parse()?);
                Some(())
            }
            "opcode" => number(value).map(|opcode| matches.opcode = Some(opcode)),
            "ip_id_low" => number(value).map(|id| matches.ip_id_low = Some(id)),
            "skip" => number(value).map(|skip| self.skip = skip),
            "shots" => number(value).map(|shots| self.shots = Some(shots)),
            "chance" => value.parse().ok().map(|chance| self.chance = chance),
            _ if value.is_empty() => match (FrameKind::of_name(name), matches.kind) {
                (Some(_), Some(first)) => {
                    return Err(format!(
                        "a rule is for one kind of frames, and this one for {}",
                        first.name()
                    ));
                }
                (kind, _) => kind.map(|kind| matches.kind = Some(kind)),
            },
            _ => None,
        };
        known.ok_or_else(|| {
            "expected any, roce, read_response, pause, src ADDRESS, dst ADDRESS, qpn N, psn N, psn N-M, psn +N, \
             psn +N-+M, opcode N, ip_id_low N, skip N, shots N or chance N/M"
                .into()
        })
    }
}

impl fmt::Display for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matches = &self.matches;
        let conditions: Vec<String> = [
            matches.src.map(|address| format!("src {address}")),
            matches.dst.map(|address| format!("dst {address}")),
            matches.qpn.map(|qpn| format!("qpn {}", qpn.get())),
            matches.psn.map(|range| format!("psn {range}")),
            matches.opcode.map(|opcode| format!("opcode {opcode:#04x}")),
            matches.kind.map(|kind| kind.name().into()),
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
                FaultAction::Flip => "flip".into(),
                FaultAction::Ecn => "ecn".into(),
                FaultAction::Dscp(dscp) => format!("dscp {dscp}"),
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

/// The schema is a string in the form of the language; its values are checked when the rule is read.
impl schemars::JsonSchema for FaultRule {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FaultRule".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A fault rule: which frames, how often, and what is done to them (docs/scenarios.md).",
            "pattern": "^.+:[^:]+$",
            "examples": ["psn +100, shots 1: drop", "src 10.0.0.1, chance 1/1000: corrupt"],
        })
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
            "psn +100, shots 1: drop",
            "psn +50-+150: flip, corrupt",
            "psn 7: drop",
            "ip_id_low 0xff, skip 10, shots 2: drop",
            "src 10.0.0.1, dst 10.0.0.2, opcode 0x81, chance 1/1000: corrupt",
            "any: duplicate",
            "roce: dscp 0, ecn",
            "any: dscp 63",
            "read_response, skip 6, shots 1: drop",
            "roce, chance 1/1000: drop",
            "pause, skip 1: drop",
            "src fd00::1, dst fd00::a: drop",
        ] {
            assert_eq!(text.parse::<FaultRule>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn says_which_part_is_wrong() {
        let why = |text: &str| text.parse::<FaultRule>().unwrap_err().to_string();
        assert!(why("drop").contains("expected 'which frames: what is done to them'"));
        assert!(
            why("qp 3: drop")
                .contains("'qp 3': expected any, roce, read_response, pause, src ADDRESS")
        );
        assert!(why("qpn 0x1000000: drop").contains("'qpn 0x1000000'"));
        assert!(
            why("pause, roce: drop")
                .ends_with("'roce': a rule is for one kind of frames, and this one for pause")
        );
        for (twice, name) in [
            ("psn +100, psn +101: drop", "psn"),
            ("shots 1, psn 3, shots 5: drop", "shots"),
            ("chance 1/1000000, chance 1/1: drop", "chance"),
        ] {
            let expected = format!("there is a condition '{name}' before it");
            assert!(why(twice).contains(&expected), "{}", why(twice));
        }
        assert!(why("pause 3: drop").contains("'pause 3': expected any"));
        assert!(why("any: lose").contains("'lose': expected drop"));
        assert!(why("any: delay 1").contains("no unit"));
        for wrong in ["dscp 64", "dscp -1", "dscp 0x100", "dscp af41", "dscp 1 2"] {
            assert_eq!(
                why(&format!("any: {wrong}")),
                format!("fault rule 'any: {wrong}': '{wrong}': a DSCP is a number from 0 to 63")
            );
        }
        assert!(why("any: dscp").contains("'dscp': expected drop, corrupt, flip, ecn, dscp N,"));
        assert!(why("psn: drop").contains("'psn': a PSN is a number of 24 bits"));
        assert!(why("psn +1-2: drop").contains("both ends are relative"));
        assert_eq!(
            why("psn 150-50: drop"),
            "fault rule 'psn 150-50: drop': 'psn 150-50': the range is reversed: 50 comes before 150"
        );
        assert!(why("psn +150-+50: drop").contains("the range is reversed"));
        assert!(why("psn +0x1000000: drop").contains("24 bits"));
        assert!(why("src fd00:::1: drop").contains("'src fd00:::1': expected any,"));
        // The address is taken for conditions and actions: both parts are named.
        assert!(why("src fd00::1").contains("'src fd00:': expected any,"));
    }

    #[test]
    fn relative_psns_need_the_flows_first_and_go_around_the_wrap() {
        let range: PsnRange = "+2-+4".parse().unwrap();
        let first = Some(Psn::wrapping(0xFF_FFFD));
        let inside: Vec<u32> = [0xFF_FFFE, 0xFF_FFFF, 0, 1, 2]
            .into_iter()
            .filter(|psn| range.contains(Psn::wrapping(*psn), first))
            .collect();
        assert_eq!(inside, [0xFF_FFFF, 0, 1]);
        assert!(!range.contains(Psn::wrapping(3), None));
    }

    #[test]
    fn all_that_is_given_has_to_hold() {
        let frame = roce_frame(1, 2).qpn(3).psn(100).ip_id(0x01FF).bytes(100);
        let headers = Headers::at(&frame).unwrap();
        let matches = |headers: &Headers, conditions: &str| {
            let rule: FaultRule = format!("{conditions}: drop").parse().unwrap();
            rule.matches.matches(headers, Some(Psn::wrapping(90)))
        };
        let hits = |conditions: &str| matches(&headers, conditions);
        assert!(!hits("read_response"));
        for (opcode, response) in [
            (0x0C, false),
            (0x0D, true),
            (0x0E, true),
            (0x10, true),
            (0x11, false),
        ] {
            let bth = headers.bth.map(|bth| crate::headers::BthFields {
                opcode: crate::wire::Opcode(opcode),
                ..bth
            });
            let headers = Headers { bth, ..headers };
            assert_eq!(matches(&headers, "read_response"), response, "{opcode:#x}");
        }
        let pause = Headers {
            ether_type: EtherType::MAC_CONTROL,
            ip: None,
            bth: None,
            ..headers
        };
        let tcp = Headers {
            bth: None,
            ..headers
        };
        for (kind, of) in [("roce", &headers), ("pause", &pause)] {
            let those = [&headers, &pause, &tcp].map(|other| matches(other, kind));
            assert_eq!(
                those,
                [&headers, &pause, &tcp].map(|other| std::ptr::eq(other, of)),
                "{kind}"
            );
        }
        for yes in [
            "any",
            "qpn 3",
            "psn 100",
            "psn 100-100",
            "psn 0xfffff0-100",
            "psn 0-0xffffff",
            "psn +10",
            "psn +0-+10",
            "ip_id_low 0xff",
            "src 10.0.0.1, dst 10.0.0.2, qpn 3",
        ] {
            assert!(hits(yes), "{yes}");
        }
        for no in [
            "qpn 4",
            "psn 0xfffff0-99",
            "psn +100",
            "psn +11-+20",
            "psn +0-+9",
            "psn 101-150",
            "psn 0-99",
            "ip_id_low 1",
            "src 10.0.0.2",
            "qpn 3, psn 99",
            "opcode 0x81",
            // The same bits, of the other version.
            "src ::a00:1",
        ] {
            assert!(!hits(no), "{no}");
        }
        let mut over_v6 = headers;
        let ip = over_v6.ip.as_mut().unwrap();
        (ip.version, ip.src, ip.dst) = (6, 0xFD << 120 | 1, 0x0A00_0002);
        assert!(matches(&over_v6, "src fd00::1, qpn 3"));
        assert!(!matches(&over_v6, "src fd00::2"));
        assert!(!matches(&over_v6, "dst 10.0.0.2"));
        // What stands in the field of IPv4 does not count.
        assert!(!matches(&over_v6, "ip_id_low 0xff"));
    }
}
