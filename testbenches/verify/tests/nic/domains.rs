//! IBTA volume 1, 10.2.3: a QP and its peer may use the regions of the QP's protection domain, and no others, whatever
//! the keys they name. 9.7.4.1.3: a peer that asks for more is NAKed remote access error, and the memory stays as it is.

use crate::fixture::{SOURCE, Tested};
use xoff_sim::host::memory::content;
use xoff_sim::nic::{QpSettings, Region};
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, READ_AND_ATOMIC, all, qp};

/// The domains, of which two differ in their high bit and one is that of reset.
const DOMAINS: [u16; 4] = [0, 3, 0x8003, 0xFFFF];
/// Base address of the regions, which are 1 MiB apart.
const BASE: u64 = SOURCE;

/// The region of a domain, at both sides, at index 16 and on.
fn region(domain: usize) -> Region {
    Region {
        base: BASE + ((domain as u64) << 20),
        length: 1 << 16,
        tag: 0x30 + domain as u8,
        pd: DOMAINS[domain],
        local_write: true,
        remote_write: true,
    }
}

fn key(domain: usize) -> u32 {
    region(domain).key(16 + domain as u16)
}

/// Settings of QP d, which is of domain d at both sides.
fn settings(side: usize, index: u16) -> QpSettings {
    let mut setup = qp(side, index);
    setup.pd = DOMAINS[usize::from(index)];
    setup.requester.timeout = 0;
    setup
}

fn pair() -> Tested {
    let mut pair = Tested::of(&PairConfig {
        change: &|side, index, setup| *setup = settings(side, index),
        qps: &[0, 1, 2, 3],
        read_delay: PERIOD * 10,
        ..PairConfig::default()
    });
    for side in 0..2 {
        for domain in 0..DOMAINS.len() {
            let index = 16 + domain as u16;
            pair.permit(side, index, &region(domain), READ_AND_ATOMIC)
                .unwrap();
        }
    }
    pair
}

/// What uses memory of which a QP may not be the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The payload of a message.
    Sent,
    Write,
    /// The receive buffer of a SEND.
    Buffer,
    Read,
    /// The memory of the side that READs.
    Landing,
    Atomic,
    Invalidate,
}

/// Has a QP of `domain` use memory of domain `other` so, and everything else of its own. Returns how it ended, and whether
/// memory was changed.
fn used(pair: &mut Tested, what: Use, domain: usize, other: usize) -> (Status, bool) {
    pair.completions.iter_mut().for_each(Vec::clear);
    pair.written.iter_mut().for_each(Vec::clear);
    let of = |it: Use| if what == it { other } else { domain };
    let at = |domain: usize| region(domain).base + 0x100;
    let kind = match what {
        Use::Sent | Use::Write => WorkKind::WRITE,
        Use::Buffer => WorkKind::SEND,
        Use::Invalidate => WorkKind::SEND_INV,
        Use::Read | Use::Landing => WorkKind::READ,
        Use::Atomic => WorkKind::FETCH_ADD,
    };
    let local = match what {
        Use::Landing => of(Use::Landing),
        _ => of(Use::Sent),
    };
    let remote = match what {
        Use::Write | Use::Read | Use::Atomic | Use::Invalidate => other,
        _ => domain,
    };
    if matches!(what, Use::Buffer | Use::Invalidate) {
        let buffer = of(Use::Buffer);
        let recv = Recv {
            length: 64,
            local_va: at(buffer),
            local_key: key(buffer),
            id: 1,
        };
        pair.post_recv(1, domain as u16, recv);
    }
    let work = Work {
        kind,
        signaled: true,
        length: match what {
            Use::Atomic => 8,
            Use::Invalidate => 0,
            _ => 64,
        },
        local_va: at(local),
        local_key: key(local),
        remote_va: at(remote),
        remote_key: key(remote),
        imm: if what == Use::Invalidate {
            key(other)
        } else {
            0
        },
        swap_add: 1,
        ..Work::default()
    };
    pair.post(0, domain as u16, work);
    pair.rest(20_000, &mut all);
    let told = pair.completions[0][0].1.status;
    let changed = pair.written.iter().any(|written| !written.is_empty());
    if told != Status::Success {
        pair.reopen(&[domain as u16], &settings);
    }
    (told, changed)
}

#[test]
fn only_memory_of_the_own_domain_is_used() {
    let mut pair = pair();
    for domain in 0..DOMAINS.len() {
        for other in 0..DOMAINS.len() {
            for (what, refused) in [
                (Use::Sent, Status::LocalAccess),
                (Use::Write, Status::RemoteAccess),
                (Use::Buffer, Status::RemoteOperate),
                (Use::Read, Status::RemoteAccess),
                (Use::Landing, Status::LocalAccess),
                (Use::Atomic, Status::RemoteAccess),
                (Use::Invalidate, Status::RemoteAccess),
            ] {
                let (status, changed) = used(&mut pair, what, domain, other);
                let case = format!("{what:?}: QP of {domain}, memory of {other}");
                if domain == other {
                    assert_eq!(status, Status::Success, "{case}");
                    // An atomic is performed by the host, and what is invalidated is no memory.
                    let writes = !matches!(what, Use::Invalidate);
                    assert_eq!(changed, writes, "{case}");
                } else {
                    assert_eq!((status, changed), (refused, false), "{case}");
                }
                if what == Use::Invalidate {
                    let index = 16 + other as u16;
                    pair.permit(1, index, &region(other), READ_AND_ATOMIC)
                        .unwrap();
                }
            }
        }
    }
}

/// A QP that is opened again has the domain that it is opened with.
#[test]
fn a_qp_opened_again_has_its_new_domain() {
    let mut pair = pair();
    assert_eq!(used(&mut pair, Use::Write, 1, 1).0, Status::Success);
    let moved = |side: usize, index: u16| QpSettings {
        pd: DOMAINS[2],
        ..settings(side, index)
    };
    pair.reopen(&[1], &moved);
    let to = |domain: usize| Work {
        kind: WorkKind::WRITE,
        signaled: true,
        length: 64,
        local_va: region(2).base,
        local_key: key(2),
        remote_va: region(domain).base,
        remote_key: key(domain),
        ..Work::default()
    };
    for (domain, status) in [(2, Status::Success), (1, Status::RemoteAccess)] {
        pair.completions[0].clear();
        pair.post(0, 1, to(domain));
        pair.rest(20_000, &mut all);
        assert_eq!(pair.completions[0][0].1.status, status, "domain {domain}");
    }
    let written = (pair.written[1].iter()).filter(|it| it.va == region(2).base);
    let bytes: Vec<u8> = written.flat_map(|it| it.bytes.iter().copied()).collect();
    assert!((region(2).base..).take(64).map(content).eq(bytes));
}
