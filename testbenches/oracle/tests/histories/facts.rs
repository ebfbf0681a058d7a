//! The simulator's types as facts of the oracle. The oracle itself knows none of them, so this file belongs to those
//! who tell it: the histories here, and the property of the RTL NIC (`testbenches/verify/src/property/nic`).

use xoff_oracle::{Buffer, Completion, Operation, Ps, Qp, Region, Status, Work};
use xoff_sim::nic::{self, QpSettings, ReadRights};
use xoff_sim::protocol::gbn::{self, WorkKind, mtu_bytes};

/// Unit of an ACK timeout: volume 1, 9.9.2.1.1.
const TIMEOUT: Ps = 4_096_000;

/// The operations, by the kinds of work requests.
pub const OPERATIONS: [(WorkKind, Operation); 8] = [
    (WorkKind::SEND, Operation::Send),
    (WorkKind::SEND_IMM, Operation::SendImmediate),
    (WorkKind::SEND_INV, Operation::SendInvalidate),
    (WorkKind::WRITE, Operation::Write),
    (WorkKind::WRITE_IMM, Operation::WriteImmediate),
    (WorkKind::READ, Operation::Read),
    (WorkKind::CMP_SWAP, Operation::CompareSwap),
    (WorkKind::FETCH_ADD, Operation::FetchAdd),
];

fn of_kind(kind: WorkKind) -> Option<Operation> {
    let same = |(other, operation)| (other == kind).then_some(operation);
    OPERATIONS.into_iter().find_map(same)
}

/// The operation of a completion: at the receiver that of the message's last packet.
fn operation(completion: &gbn::Completion) -> Option<Operation> {
    if !completion.receive {
        return of_kind(WorkKind(completion.operation));
    }
    let last = |(kind, operation): (WorkKind, Operation)| {
        let opcodes = [false, true].map(|first| kind.opcode(first, true).0);
        opcodes.contains(&completion.operation).then_some(operation)
    };
    let whole = completion.status == gbn::Status::Success;
    OPERATIONS.into_iter().find_map(last).filter(|_| whole)
}

const fn status(status: gbn::Status) -> Status {
    match status {
        gbn::Status::Success => Status::Success,
        gbn::Status::LocalLength => Status::LocalLength,
        gbn::Status::Flushed => Status::Flushed,
        gbn::Status::RetryExceeded => Status::RetryExceeded,
        gbn::Status::RnrExceeded => Status::RnrExceeded,
        gbn::Status::RemoteInvalid => Status::RemoteInvalid,
        gbn::Status::RemoteAccess => Status::RemoteAccess,
        gbn::Status::RemoteOperate => Status::RemoteOperation,
        gbn::Status::LocalAccess => Status::LocalAccess,
        gbn::Status::BadResponse => Status::BadResponse,
    }
}

/// A region that is registered at an index, with what the peer's READs and atomics may do there.
pub fn region(index: u16, region: &nic::Region, rights: ReadRights) -> Region {
    Region {
        base: region.base,
        length: region.length,
        key: region.key(index),
        domain: region.pd.into(),
        local_write: region.local_write,
        remote_write: region.remote_write,
        remote_read: rights.read,
        remote_atomic: rights.atomic,
    }
}

/// A QP that is opened. `reads`: the most READs and atomics unanswered, if that is judged.
pub fn qp(qpn: u32, settings: &QpSettings, reads: Option<u32>) -> Qp {
    let requester = &settings.requester;
    Qp {
        qpn,
        peer_qpn: settings.peer_qpn,
        domain: settings.pd.into(),
        first_psn: settings.requester_psn.into(),
        peer_first_psn: settings.responder_psn.into(),
        mtu: mtu_bytes(requester.mtu),
        timeout: (requester.timeout > 0).then(|| TIMEOUT << requester.timeout),
        retries: requester.retry,
        rnr_retries: requester.rnr_retry,
        restart: requester.restart,
        window: Some(requester.window),
        reads,
    }
}

/// A work request.
pub fn work(work: &gbn::Work) -> Work {
    Work {
        id: work.id,
        operation: of_kind(work.kind).expect("no other kind is posted"),
        signaled: work.signaled,
        solicited: work.solicited,
        fence: work.fence,
        length: work.length,
        va: work.local_va,
        key: work.local_key,
        remote_va: work.remote_va,
        remote_key: work.remote_key,
        swap_add: work.swap_add,
        compare: work.compare,
        immediate: work.imm,
    }
}

/// A receive buffer.
pub fn buffer(buffer: &gbn::Recv) -> Buffer {
    Buffer {
        id: buffer.id,
        length: buffer.length,
        va: buffer.local_va,
        key: buffer.local_key,
    }
}

/// A completion.
pub fn completion(completion: &gbn::Completion) -> Completion {
    Completion {
        id: completion.id,
        receive: completion.receive,
        status: status(completion.status),
        length: completion.length,
        immediate: completion.imm,
        solicited: completion.solicited,
        operation: operation(completion),
    }
}
