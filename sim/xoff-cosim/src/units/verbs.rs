//! What software and NIC exchange, at ports: the simulation's values as `work_t`, `recv_t` and `completion_t` of
//! `gbn_pkg`.

use verilated::{Packed, PortBits};
use xoff_rtl::gbn_pkg;
use xoff_sim::protocol::gbn::{Completion, Recv, Status, Work};

/// Puts a work request on a port of type `work_t`. The kind may be one that is not defined.
pub fn put_work<P: PortBits>(port: &mut P, work: &Work) {
    let fields = gbn_pkg::Work {
        kind: gbn_pkg::WorkE::default(),
        signaled: work.signaled,
        solicited: work.solicited,
        fence: work.fence,
        length: work.length,
        local_va: work.local_va,
        local_key: work.local_key,
        remote_va: work.remote_va,
        remote_key: work.remote_key,
        imm: work.imm,
        swap_add: work.swap_add,
        compare: work.compare,
        id: work.id,
    };
    fields.set(port, 0);
    gbn_pkg::Work::KIND.put(port, work.kind.0.into());
}

/// Puts a receive buffer on a port of type `recv_t`.
pub fn put_recv<P: PortBits>(port: &mut P, recv: &Recv) {
    let fields = gbn_pkg::Recv {
        length: recv.length,
        local_va: recv.local_va,
        local_key: recv.local_key,
        id: recv.id,
    };
    fields.set(port, 0);
}

/// Reads a completion from a port of type `completion_t`.
///
/// # Errors
///
/// The status is not defined, or reserved bits are not 0.
pub fn take_completion<P: PortBits>(port: &P) -> Result<Completion, String> {
    let fields = gbn_pkg::Completion::unpack(port).map_err(|error| error.to_string())?;
    if fields.reserved != 0 {
        let reserved = fields.reserved;
        return Err(format!("a completion's reserved bits are {reserved:#x}"));
    }
    Ok(Completion {
        receive: fields.receive,
        status: status(fields.status),
        id: fields.id,
        operation: fields.operation,
        length: fields.length,
        imm: fields.imm,
        solicited: fields.solicited,
    })
}

/// Converts a `status_e`.
fn status(status: gbn_pkg::Status) -> Status {
    Status::ALL[status as usize]
}
