//! The table of the rules: `docs/monitors.md`.

use std::fmt::Write as _;

use crate::{Habit, Rule};

const HEAD: &str = "\
# What the monitors hold against frames

`xoff check CAPTURE` watches the ports of a capture with the state machines of `sim/xoff-monitor`, and `xoff run SCENARIO
--check` those of a simulation while it runs. So do the tests of the scenarios, of the injections in
`tests/command/lumina.rs`, `property network`, and `property nic` in part of its cases. This page is written by a test
from the rules' own texts (`UPDATE_DOCS=1 cargo test --workspace page`).

Each interface of a capture is a tap. `xoff check a.pcap b.pcap` takes several captures as taps of one network and reads
them in the order of their times, so the clocks of the hosts that captured them have to agree. A capture without any
RoCE packet or pause is an error (exit code 2): nothing was checked. The table shows the first violations, `--json` has
all.

Each rule is a statement of a standard in other words: the InfiniBand transport as RoCEv2 carries it, congestion
notification as DCQCN uses it, IEEE 802.3 PAUSE and 802.1Q priority-based flow control. What one tap cannot see is no
violation: a loss before or behind it, the start in the middle of a connection, the end of a capture.

Flows are found by addresses and destination queue pair. The other direction of a connection is the flow between the
same addresses whose requests have the PSNs that the answers name; while more than one fits, answers are not judged.

*Judged at* says at which taps a rule is applied, since what another tap sees may have crossed, or may be lost behind
it. A host's own port is the requester's port of the requests that the host sends, and the responder's port of those
that it answers. In captures it is named by `--host-port`: an interface, or a file, with the host's address behind a `=`
where the capture does not record directions, as a plain pcap (`--host-port a.pcap=192.0.2.1`).

Rules that a device is known to break are named by `--breaks`, as by `breaks` in a scenario: what breaks them is counted
apart, and the check does not fail.

The network is taken to keep frames in order and to bring none twice, as Ethernet does. Where it does not
(`--unordered`), `rnr-wait` is not applied, and `resend-start`, `uc-order`, `ack-back`, `nak-once`, `nak-heeded`,
`read-order`, `cnp-interval`, a plain ACK in place of a response and the count of `atomic-answer` are applied only to
what a host sends at its own port.

Recorders that keep only the beginning of each frame (`tcpdump -s 128`) leave enough to judge connections: every header
is looked at, and what is not known, the ICRC, the UDP checksum and the pad, is not judged. A frame of which a header is
missing is an error (exit code 2), and so is a pause that is not whole: a connection without one of its packets would
break rules that it has kept.
";

/// Returns the page as markdown.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    let mut group = "";
    for rule in Rule::ALL {
        if rule.group() != group {
            group = rule.group();
            let mut title = group.to_owned();
            title[..1].make_ascii_uppercase();
            let _ = write!(
                page,
                "\n## {title}\n\n| rule | statement | judged at | what it needs to see |\n|---|---|---|---|\n"
            );
        }
        let _ = writeln!(
            page,
            "| `{rule}` | {} | {} | {} |",
            rule.statement(),
            rule.judged_at(),
            rule.needs()
        );
    }
    page.push_str("\n## Remarks\n\nAllowed, or common although the standard says otherwise. Frames with it are counted, and the first is shown.\n\n| remark | what it is |\n|---|---|\n");
    for habit in Habit::ALL {
        let _ = writeln!(page, "| `{habit}` | {} |", habit.text());
    }
    page
}
