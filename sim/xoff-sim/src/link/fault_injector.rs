//! Fault rules applied to a stream of frames.

use serde::{Deserialize, Serialize};

use super::{FaultAction, FaultRule};
use crate::frame::Frame;
use crate::headers::{Headers, IpFields, rewrite};
use crate::seeded::{Draws, Seed};
use crate::wire::{Opcode, Psn, Qpn, Walk};

/// What a rule has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RuleCounters {
    /// Number of frames that matched.
    pub matched: u64,
    /// Number of frames that were hit.
    pub hit: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ActiveRule {
    rule: FaultRule,
    counters: RuleCounters,
    draws: Draws,
}

impl ActiveRule {
    /// Whether the current frame, which matches, is hit.
    fn hits(&mut self) -> bool {
        self.counters.matched += 1;
        let hit = self.counters.matched > self.rule.skip
            && self
                .rule
                .shots
                .is_none_or(|shots| self.counters.hit < shots)
            && self.draws.happens(self.rule.chance);
        self.counters.hit += u64::from(hit);
        hit
    }
}

/// The first PSN of the packets to a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstPsn {
    /// IP address of the queue pair's host; IPv4 in the low 32 bits.
    pub dst: u128,
    /// The queue pair.
    pub qpn: Qpn,
    /// The PSN of the flow's first request; its acknowledgements count from the same PSN.
    pub psn: Psn,
}

impl FirstPsn {
    const fn key(&self) -> (u128, u32) {
        (self.dst, self.qpn.get())
    }
}

/// Fault rules applied to one direction of a link, or in a switch.
///
/// Rules apply one after the other; a frame dropped by one rule is not seen by later ones. Each rule has its own
/// stream of random numbers, drawn per frame, so that the same frames in the same order get the same faults.
///
/// Relative PSNs count from the flow's first PSN. An injector in the middle of a path cannot always learn it: an
/// acknowledgement may cover many packets, and an earlier link may have lost the first one. Flows that are known
/// beforehand are therefore stated with [`know`](Self::know), for both directions. For other queue pairs, such as
/// those of injected frames, the PSN of the first packet seen here is used. CNPs have no PSN and are never in a
/// relative range.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FaultInjector {
    rules: Vec<ActiveRule>,
    /// Sorted by key.
    first_psns: Vec<FirstPsn>,
    /// Whether every frame is lost.
    cut: bool,
    /// Frames that were lost, for whatever reason.
    lost: u64,
    /// Those of them that were lost because every frame was.
    swallowed: u64,
}

impl FaultInjector {
    /// Creates an injector with these rules, none of which has been used yet.
    pub fn new(rules: Vec<FaultRule>, seed: Seed) -> Self {
        let active = |(i, rule)| ActiveRule {
            rule,
            counters: RuleCounters::default(),
            draws: seed.derive(&[i as u64]).draws(),
        };
        Self {
            rules: rules.into_iter().enumerate().map(active).collect(),
            first_psns: Vec::new(),
            cut: false,
            lost: 0,
            swallowed: 0,
        }
    }

    /// Adds a rule behind the others, for frames that come from now on.
    pub fn add(&mut self, rule: FaultRule, seed: Seed) {
        self.rules.push(ActiveRule {
            rule,
            counters: RuleCounters::default(),
            draws: seed.draws(),
        });
    }

    /// Sets whether every frame is lost from now on, before any rule sees it.
    pub fn set_cut(&mut self, cut: bool) {
        self.cut = cut;
    }

    /// Number of frames that were lost: by rules that drop, or because everything is.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Number of frames that were lost because everything is.
    pub const fn swallowed(&self) -> u64 {
        self.swallowed
    }

    /// States the first PSNs of flows, for relative PSNs in rules. Ignored if no rule has a relative PSN.
    pub fn know(&mut self, flows: &[FirstPsn]) {
        if self.is_relative() {
            self.first_psns.extend(flows);
            self.first_psns.sort_by_key(FirstPsn::key);
        }
    }

    fn is_relative(&self) -> bool {
        let range = |active: &ActiveRule| active.rule.matches.psn;
        self.rules
            .iter()
            .filter_map(range)
            .any(|range| range.relative)
    }

    /// The first PSN of a packet's flow. If it is not known yet, it is this packet's PSN.
    fn first_psn(&mut self, headers: &Headers) -> Option<Psn> {
        let (ip, bth) = (headers.ip?, headers.bth?);
        if bth.opcode == Opcode::CNP || !self.is_relative() {
            return None;
        }
        let seen = FirstPsn {
            dst: ip.dst,
            qpn: bth.dest_qp,
            psn: bth.psn,
        };
        let found = self
            .first_psns
            .binary_search_by_key(&seen.key(), FirstPsn::key);
        let place = found.unwrap_or_else(|place| {
            self.first_psns.insert(place, seen);
            place
        });
        Some(self.first_psns[place].psn)
    }

    /// The rules with their counters.
    pub fn counters(&self) -> impl Iterator<Item = (&FaultRule, RuleCounters)> {
        self.rules
            .iter()
            .map(|active| (&active.rule, active.counters))
    }

    /// Whether every frame passes as it is.
    pub fn is_idle(&self) -> bool {
        self.rules.is_empty() && !self.cut
    }

    /// Passes a frame through the rules. The resulting frames, none to several, go to `out`.
    pub fn pass(&mut self, frame: Frame, mut out: impl FnMut(Frame)) {
        if self.cut {
            self.lost += 1;
            self.swallowed += 1;
            return;
        }
        if self.rules.is_empty() {
            return out(frame);
        }
        let Some(headers) = Headers::at(frame.bytes.headers()) else {
            return out(frame);
        };
        let first_psn = self.first_psn(&headers);
        let on_wire = frame.end.saturating_since(frame.start);
        let mut frames = vec![frame];
        for active in &mut self.rules {
            if !active.rule.matches.matches(&headers, first_psn) || !active.hits() {
                continue;
            }
            for action in &active.rule.actions {
                match action {
                    FaultAction::Drop => {
                        self.lost += frames.len() as u64;
                        return;
                    }
                    FaultAction::Corrupt => {
                        frames.iter_mut().for_each(|frame| frame.fcs_ok = false);
                    }
                    FaultAction::Flip => {
                        let whole = frames[0].bytes.whole();
                        let at = flipped(&whole, &mut active.draws);
                        frames.iter_mut().for_each(|frame| flip(frame, at));
                    }
                    FaultAction::Ecn => edit_ip(&mut frames, &headers, rewrite::mark_ce),
                    FaultAction::Dscp(dscp) => edit_ip(&mut frames, &headers, |bytes, ip| {
                        rewrite::set_dscp(bytes, ip, *dscp);
                    }),
                    FaultAction::Delay(by) => {
                        for frame in &mut frames {
                            frame.start += *by;
                            frame.end += *by;
                        }
                    }
                    FaultAction::Duplicate => {
                        let mut copy = frames[frames.len() - 1].clone();
                        copy.start += on_wire;
                        copy.end += on_wire;
                        frames.push(copy);
                    }
                }
            }
        }
        frames.into_iter().for_each(out);
    }
}

/// The byte and bit that [`FaultAction::Flip`] inverts; `None` for a frame without a byte to choose from.
fn flipped(bytes: &[u8], draws: &mut Draws) -> Option<(usize, u8)> {
    let walk = Walk::of(bytes)?;
    let range = walk.protected();
    // The ICRC does not protect the BTH's fifth byte, which has FECN and BECN (annex A17.3.3).
    let left_out = walk.bth().map(|bth| bth + 4);
    let choices = range.len() - usize::from(left_out.is_some());
    if choices == 0 {
        return None;
    }
    let drawn = draws.below(8 * choices as u64);
    let at = range.start + (drawn / 8) as usize;
    let passes = left_out.is_some_and(|left_out| at >= left_out);
    Some((at + usize::from(passes), 1 << (drawn % 8)))
}

fn flip(frame: &mut Frame, at: Option<(usize, u8)>) {
    if let Some((at, bit)) = at {
        let mut bytes = frame.bytes.whole().to_vec();
        bytes[at] ^= bit;
        frame.bytes = bytes.into();
    }
}

/// Changes the IP header of frames that have one.
fn edit_ip(frames: &mut [Frame], headers: &Headers, change: impl Fn(&mut [u8], &IpFields)) {
    let Some(ip) = &headers.ip else {
        return;
    };
    for frame in frames {
        frame.bytes = std::mem::take(&mut frame.bytes).edited(|mut bytes| {
            change(&mut bytes, ip);
            bytes
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::FrameBytes;
    use crate::host::memory::Extent;
    use crate::protocol::parse;
    use crate::strategies;
    use crate::testing::{pfc_frame, roce_frame};
    use crate::time::{Duration, LineRate, Time};
    use crate::wire::{EtherType, EthernetRepr, VlanTagRepr};

    fn injector(rules: &[&str]) -> FaultInjector {
        let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        FaultInjector::new(rules, Seed(5))
    }

    fn through(injector: &mut FaultInjector, psn: u32) -> Vec<Frame> {
        let bytes = roce_frame(1, 2).psn(psn).bytes(100);
        let frame = Frame::sent(bytes.into(), Time::ZERO, LineRate::G40);
        let mut out = Vec::new();
        injector.pass(frame, |frame| out.push(frame));
        out
    }

    #[test]
    fn shots_are_used_up_after_those_skipped() {
        let mut faults = injector(&["psn 10-20, skip 2, shots 3: drop"]);
        let lost: Vec<u32> = (0..30)
            .filter(|psn| through(&mut faults, *psn).is_empty())
            .collect();
        assert_eq!(lost, [12, 13, 14]);
        let (_, counters) = faults.counters().next().unwrap();
        assert_eq!((counters.matched, counters.hit), (11, 3));
    }

    #[test]
    fn actions_do_what_they_say() {
        let plain = through(&mut injector(&[]), 1).remove(0);
        assert!(!through(&mut injector(&["any: corrupt"]), 1)[0].fcs_ok);
        let late = through(&mut injector(&["any: delay 1 us"]), 1).remove(0);
        assert_eq!(late.end, plain.end + Duration::from_us(1));
        let twice = through(&mut injector(&["any: duplicate"]), 1);
        assert_eq!(twice.len(), 2);
        assert_eq!(twice[1].start, twice[0].end);
        let marked = through(&mut injector(&["any: ecn"]), 1).remove(0);
        let ip = Headers::at(marked.bytes.headers()).unwrap().ip.unwrap();
        assert_eq!(ip.traffic_class & 3, rewrite::ECN_CE);
    }

    /// The frame that comes out of rules that neither lose nor double it.
    fn changed(rules: &[&str], bytes: impl Into<FrameBytes>) -> Frame {
        let frame = Frame::sent(bytes.into(), Time::ZERO, LineRate::G40);
        let mut out = Vec::new();
        injector(rules).pass(frame, |frame| out.push(frame));
        assert_eq!(out.len(), 1);
        out.remove(0)
    }

    proptest! {
        /// Of IPv4 the second byte and the checksum change, of IPv6 the six bits from the fifth on, of a GRH nothing.
        /// The ICRC stays right, for it leaves these fields out (IBTA annex A17).
        #[test]
        fn a_dscp_changes_nothing_else(
            descriptor in strategies::roce_descriptor(), dscp in 0u8..64,
        ) {
            let before = descriptor.build().unwrap();
            let frame = changed(&[&format!("any: dscp {dscp}")], before.clone());
            prop_assert!(frame.fcs_ok);
            let after = frame.bytes.whole();
            prop_assert_eq!(parse(&after).icrc_ok, parse(&before).icrc_ok);
            let mut expected = before;
            let network = EthernetRepr::LEN + VlanTagRepr::LEN * descriptor.tags.len();
            let ether_type = u16::from_be_bytes([expected[network - 2], expected[network - 1]]);
            let ip = &mut expected[network..];
            match EtherType(ether_type) {
                EtherType::IPV4 => {
                    ip[1] = dscp << 2 | ip[1] & 0b11;
                    let header = &after[network..][..20];
                    ip[10..12].copy_from_slice(&header[10..12]);
                    let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
                    let sum = words.sum::<u32>();
                    prop_assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF);
                }
                EtherType::IPV6 => {
                    ip[0] = 0x60 | dscp >> 2;
                    ip[1] = (dscp & 0b11) << 6 | ip[1] & 0x3F;
                }
                _ => (),
            }
            prop_assert_eq!(&after[..], &expected[..]);
        }
    }

    #[test]
    fn an_action_is_done_to_what_those_before_it_have_left() {
        let frame = || roce_frame(1, 2).dscp(26).bytes(100);
        for rules in [
            ["any: dscp 8, ecn"].as_slice(),
            &["any: ecn, dscp 8"],
            &["any: dscp 8", "any: ecn"],
            &["any: dscp 63", "any: ecn", "any: dscp 8"],
        ] {
            let frame = changed(rules, frame());
            let ip = Headers::at(frame.bytes.headers()).unwrap().ip.unwrap();
            assert_eq!(ip.traffic_class, 8 << 2 | rewrite::ECN_CE, "{rules:?}");
        }
        let twice = through(&mut injector(&["any: duplicate, dscp 8"]), 1);
        for frame in twice {
            let ip = Headers::at(frame.bytes.headers()).unwrap().ip.unwrap();
            assert_eq!(ip.traffic_class >> 2, 8);
        }
    }

    #[test]
    fn a_frame_without_ip_is_hit_and_stays_as_it_is() {
        for action in ["ecn", "dscp 0"] {
            let mut faults = injector(&[&format!("any: {action}")]);
            let frame = Frame::sent(pfc_frame(3, 1000).into(), Time::ZERO, LineRate::G40);
            let mut out = Vec::new();
            faults.pass(frame.clone(), |frame| out.push(frame));
            assert_eq!(out, [frame]);
            let (_, counters) = faults.counters().next().unwrap();
            assert_eq!((counters.matched, counters.hit), (1, 1));
        }
    }

    #[test]
    fn relative_psns_count_from_what_is_known_or_from_the_first_seen() {
        let lost = |faults: &mut FaultInjector| -> Vec<u32> {
            (40..60)
                .filter(|psn| through(faults, *psn).is_empty())
                .collect()
        };
        let rules = ["psn +5-+6: drop"];
        assert_eq!(lost(&mut injector(&rules)), [45, 46]);
        let known = |qpn| FirstPsn {
            dst: 0x0A00_0002,
            qpn: Qpn::new(qpn).unwrap(),
            psn: Psn::wrapping(50),
        };
        let mut faults = injector(&rules);
        faults.know(&[known(1), known(0)]);
        assert_eq!(lost(&mut faults), [55, 56]);
        // Only another QP is known.
        let mut faults = injector(&rules);
        faults.know(&[known(2)]);
        assert_eq!(lost(&mut faults), [45, 46]);
    }

    #[test]
    fn a_flip_inverts_one_bit_that_the_icrc_protects() {
        let mut faults = injector(&["any: flip"]);
        let mut places = std::collections::BTreeSet::new();
        for psn in 0..3000 {
            let before = roce_frame(1, 2).psn(psn).bytes(100);
            let after = through(&mut faults, psn).remove(0);
            assert!(after.fcs_ok);
            let changed = |(at, (a, b)): (usize, (&u8, &u8))| (a != b).then_some((at, a ^ b));
            let changed: Vec<(usize, u8)> = before
                .iter()
                .zip(after.bytes.headers())
                .enumerate()
                .filter_map(changed)
                .collect();
            assert!(
                matches!(changed[..], [(_, bits)] if bits.count_ones() == 1),
                "{changed:?}"
            );
            places.insert(changed[0].0);
        }
        // From the BTH, which starts at byte 42, on, without its fifth byte.
        let all = (42..96).filter(|at| *at != 46).collect();
        assert_eq!(places, all);
    }

    #[test]
    fn a_flip_inverts_one_bit_of_a_frame_whose_payload_is_named() {
        let headers = roce_frame(1, 2).psn(7).bytes(54 + 512 + 4).slice(..54);
        let bytes = FrameBytes::of(headers, Extent::new(0x1234, 512).unwrap());
        let before = Frame::sent(bytes, Time::ZERO, LineRate::G40);
        let whole = before.bytes.whole();
        let mut places = std::collections::BTreeSet::new();
        let mut faults = injector(&["any: flip"]);
        for _ in 0..100 {
            faults.pass(before.clone(), |after| {
                let after = after.bytes.whole();
                let changed = |at: &usize| whole[*at] != after[*at];
                let changed: Vec<usize> = (0..whole.len()).filter(changed).collect();
                assert_eq!(changed.len(), 1);
                assert_eq!(parse(&after).icrc_ok, Some(false));
                places.insert(changed[0]);
            });
        }
        // In the payload, too, and not only in what is written.
        assert!(places.last() > Some(&500), "{places:?}");
    }

    #[test]
    fn a_flip_finds_no_bit_in_a_frame_without_any_to_choose_from() {
        for length in [0, 13, 14, 15, 20] {
            let frame = Frame::sent(vec![0; length].into(), Time::ZERO, LineRate::G40);
            let mut out = Vec::new();
            injector(&["any: flip"]).pass(frame, |frame| out.push(frame));
            assert_eq!(
                out[0].bytes.headers().iter().any(|byte| *byte != 0),
                length > 14
            );
        }
    }

    #[test]
    fn later_rules_do_not_see_what_is_dropped() {
        let mut faults = injector(&["psn 1: drop", "any: corrupt"]);
        through(&mut faults, 1);
        through(&mut faults, 2);
        let hits: Vec<u64> = faults
            .counters()
            .map(|(_, counters)| counters.hit)
            .collect();
        assert_eq!(hits, [1, 1]);
    }

    #[test]
    fn chances_follow_the_seed_and_go_on_after_a_checkpoint() {
        let run = |checkpoint: bool| {
            let mut faults = injector(&["any, chance 1/4: drop"]);
            (0..400)
                .filter(|psn| {
                    if checkpoint && *psn == 100 {
                        faults = crate::testing::checkpointed(&faults);
                    }
                    through(&mut faults, *psn).is_empty()
                })
                .collect::<Vec<u32>>()
        };
        let lost = run(false);
        // A hundred are expected; the standard deviation is below 9.
        assert!((65..=135).contains(&lost.len()), "{}", lost.len());
        assert_eq!(lost, run(true));
    }
}
