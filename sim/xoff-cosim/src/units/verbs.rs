//! What software and NIC hand each other, at ports: `work_t`, `recv_t`, `completion_t` of `gbn_pkg`.

use verilated::{Fields, FieldsMut, PortBits};
use xoff_sim::protocol::gbn::{Completion, Recv, Status, Work};

/// Puts a work request on a port of 454 bits.
pub fn put_work<P: PortBits>(port: &mut P, work: &Work) {
    FieldsMut::of(port, 454)
        .put(4, work.kind.0.into())
        .put_bool(work.signaled)
        .put_bool(work.solicited)
        .put(32, work.length.into())
        .put(64, work.local_va)
        .put(32, work.local_key.into())
        .put(64, work.remote_va)
        .put(32, work.remote_key.into())
        .put(32, work.imm.into())
        .put(64, work.swap_add)
        .put(64, work.compare)
        .put(64, work.id)
        .end();
}

/// Puts a receive buffer on a port of 192 bits.
pub fn put_recv<P: PortBits>(port: &mut P, recv: &Recv) {
    FieldsMut::of(port, 192)
        .put(32, recv.length.into())
        .put(64, recv.local_va)
        .put(32, recv.local_key.into())
        .put(64, recv.id)
        .end();
}

/// Reads a completion from a port of 169 bits.
///
/// # Errors
///
/// A status that there is not; reserved bits that are not 0.
pub fn take_completion<P: PortBits>(port: &P) -> Result<Completion, String> {
    let mut fields = Fields::of(port, 169);
    let completion = Completion {
        receive: fields.take_bool(),
        status: take_status(&mut fields)?,
        id: fields.take(64),
        operation: fields.take(8) as u8,
        length: fields.take(32) as u32,
        imm: fields.take(32) as u32,
        solicited: fields.take_bool(),
    };
    match fields.take(27) {
        0 => Ok(completion),
        reserved => Err(format!("a completion's reserved bits are {reserved:#x}")),
    }
}

/// Reads a `status_e`.
///
/// # Errors
///
/// A code that is none.
pub fn take_status<P: PortBits>(fields: &mut Fields<'_, P>) -> Result<Status, String> {
    let code = fields.take(4);
    let status = Status::ALL.get(code as usize).copied();
    status.ok_or_else(|| format!("a status is {code}"))
}
