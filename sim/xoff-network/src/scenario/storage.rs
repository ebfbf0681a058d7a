//! Storage over RDMA as its sequences of messages: NVMe over Fabrics, NFS over RDMA and SMB Direct.
//!
//! All three work alike. A SEND asks; the target moves data by WRITE or READ; a SEND answers. Short data go inside of
//! the SENDs instead. They differ in the bytes of their headers and in what is short.

use xoff_sim::time::ByteCount;

use super::{Message, Operation, Pattern};

/// A protocol: the bytes of its SENDs without data, and how many bytes of data may go inside of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Protocol {
    /// What asks for data.
    read: u64,
    /// The answer to that.
    read_answer: u64,
    /// What brings data.
    write: u64,
    /// The answer to that.
    write_answer: u64,
    /// Most data in an answer.
    short_read: u64,
    /// Most data in what brings data.
    short_write: u64,
}

/// A submission queue entry and a completion queue entry (NVM Express base specification, 4.1 and 4.2). Data to be
/// written go in the command's capsule up to 8 KiB, as targets commonly offer; data that are read never do.
const NVME: Protocol = Protocol {
    read: 64,
    read_answer: 16,
    write: 64,
    write_answer: 16,
    short_read: 0,
    short_write: 8 << 10,
};

/// The header of RPC-over-RDMA version 1 with its chunk lists (RFC 8166 §4) without and with a chunk of one segment.
const RPC_RDMA: u64 = 28;
const RPC_RDMA_CHUNK: u64 = 52;
/// The header of a call (RFC 5531 §9) with AUTH_SYS of a host name of 8 bytes and no groups, and of a reply.
const RPC_CALL: u64 = 24 + 36 + 8;
const RPC_REPLY: u64 = 24;
/// Arguments and results of READ and WRITE of NFS version 3 (RFC 1813 §3.3.6 and 3.3.7) without data, with file handles
/// of 32 bytes and with all attributes.
const NFS_READ: [u64; 2] = [48, 104];
const NFS_WRITE: [u64; 2] = [56, 136];
/// Most bytes of a SEND (RFC 8166 §3.3.2, the default of the inline threshold).
const INLINE: u64 = 1024;

const NFS: Protocol = Protocol {
    read: RPC_RDMA_CHUNK + RPC_CALL + NFS_READ[0],
    read_answer: RPC_RDMA_CHUNK + RPC_REPLY + NFS_READ[1],
    write: RPC_RDMA_CHUNK + RPC_CALL + NFS_WRITE[0],
    write_answer: RPC_RDMA + RPC_REPLY + NFS_WRITE[1],
    short_read: INLINE - (RPC_RDMA_CHUNK + RPC_REPLY + NFS_READ[1]),
    short_write: INLINE - (RPC_RDMA_CHUNK + RPC_CALL + NFS_WRITE[0]),
};

/// The header of an SMB Direct data transfer, padded to 8 bytes (MS-SMBD 2.2.3), and that of SMB2 (MS-SMB2 2.2.1.2).
const SMB: u64 = 24 + 64;
/// A buffer descriptor (MS-SMBD 2.2.3.1).
const DESCRIPTOR: u64 = 16;
/// READ and WRITE of SMB2 without data (MS-SMB2 2.2.19 to 2.2.22): requests of 48 bytes, responses of 16. Data below
/// 4 KiB go in the SENDs, as with the default of Linux' client (`rdma_readwrite_threshold`).
const SMB_DIRECT: Protocol = Protocol {
    read: SMB + 48 + DESCRIPTOR,
    read_answer: SMB + 16,
    write: SMB + 48 + DESCRIPTOR,
    write_answer: SMB + 16,
    short_read: 4095,
    short_write: 4095,
};

/// The messages of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exchange {
    /// What the host sends.
    pub(super) command: Message,
    /// What the target reads before it answers.
    pub(super) fetch: Option<Message>,
    /// What the target sends: data, if it writes some, and the answer behind them on the same QP, so that the answer
    /// tells that they are there.
    pub(super) answer: Vec<Message>,
}

impl Exchange {
    /// The messages for so many bytes of data. `None` if the pattern is not of storage.
    pub(super) fn of(pattern: Pattern, data: ByteCount) -> Option<Self> {
        let (protocol, reads) = match pattern {
            Pattern::NvmeRead => (NVME, true),
            Pattern::NvmeWrite => (NVME, false),
            Pattern::NfsRead => (NFS, true),
            Pattern::NfsWrite => (NFS, false),
            Pattern::SmbRead => (SMB_DIRECT, true),
            Pattern::SmbWrite => (SMB_DIRECT, false),
            _ => return None,
        };
        let (command, answer, short) = match reads {
            true => (protocol.read, protocol.read_answer, protocol.short_read),
            false => (protocol.write, protocol.write_answer, protocol.short_write),
        };
        let inside = if data.get() <= short { data.get() } else { 0 };
        let send = |bytes: u64| (Operation::Send, ByteCount::new(bytes));
        let apart = |operation: Operation| (inside == 0).then_some((operation, data));
        Some(if reads {
            let answer = send(answer + inside);
            Self {
                command: send(command),
                fetch: None,
                answer: apart(Operation::Write)
                    .into_iter()
                    .chain([answer])
                    .collect(),
            }
        } else {
            Self {
                command: send(command + inside),
                fetch: apart(Operation::Read),
                answer: vec![send(answer)],
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pattern: Pattern, data: u64) -> (u64, Option<u64>, Vec<u64>) {
        let exchange = Exchange::of(pattern, ByteCount::new(data)).unwrap();
        let size = |message: &Message| message.1.get();
        (
            size(&exchange.command),
            exchange.fetch.as_ref().map(size),
            exchange.answer.iter().map(size).collect(),
        )
    }

    /// RFC 8166, 5531 and 1813, counted by hand in words of 4 bytes.
    #[test]
    fn calls_and_replies_of_nfs_have_the_words_of_their_rfcs() {
        // xid, version, credits, procedure; no read list; a write list of one chunk of one segment (handle, length, 64
        // bits of offset) and its end; no reply chunk.
        let with_write_chunk = 4 + 1 + (1 + 1 + 4 + 1) + 1;
        // The read list: one segment with its position, and its end; no write list, no reply chunk.
        let with_read_chunk = 4 + (1 + 1 + 4 + 1) + 1 + 1;
        let without = 4 + 3;
        // xid, type, RPC version, program, version, procedure; AUTH_SYS: flavor, length, stamp, name of 2 words, uid,
        // gid, no groups; AUTH_NONE.
        let call = 6 + (2 + 1 + 1 + 2 + 1 + 1 + 1) + 2;
        // xid, type, accepted, AUTH_NONE, success.
        let reply = 3 + 2 + 1;
        // Handle with its length; offset; count, and for WRITE stability and the length of the data.
        let (read, write) = (9 + 2 + 1, 9 + 2 + 1 + 1 + 1);
        // Status, attributes follow, attributes of 21 words, count, end of file, length of the data.
        let read_reply = 1 + 1 + 21 + 1 + 1 + 1;
        // Status; attributes before, of 6 words, and behind; count, stability, verifier of 2 words.
        let write_reply = 1 + (1 + 6) + (1 + 21) + 1 + 1 + 2;
        let of = |words: u64| 4 * words;
        assert_eq!(
            bytes(Pattern::NfsRead, 65_536),
            (
                of(with_write_chunk + call + read),
                None,
                vec![65_536, of(with_write_chunk + reply + read_reply)]
            )
        );
        assert_eq!(
            bytes(Pattern::NfsWrite, 65_536),
            (
                of(with_read_chunk + call + write),
                Some(65_536),
                vec![of(without + reply + write_reply)]
            )
        );
    }

    #[test]
    fn short_data_go_inside() {
        assert_eq!(bytes(Pattern::NvmeRead, 512), (64, None, vec![512, 16]));
        assert_eq!(bytes(Pattern::NvmeWrite, 8192), (64 + 8192, None, vec![16]));
        assert_eq!(bytes(Pattern::NvmeWrite, 8193), (64, Some(8193), vec![16]));
        assert_eq!(bytes(Pattern::SmbRead, 4095), (152, None, vec![104 + 4095]));
        assert_eq!(bytes(Pattern::SmbRead, 4096), (152, None, vec![4096, 104]));
        assert_eq!(
            bytes(Pattern::SmbWrite, 4095),
            (152 + 4095, None, vec![104])
        );
        assert_eq!(bytes(Pattern::SmbWrite, 4096), (152, Some(4096), vec![104]));
        // No SEND of NFS is longer than 1,024 bytes.
        assert_eq!(bytes(Pattern::NfsRead, 844), (168, None, vec![1024]));
        assert_eq!(bytes(Pattern::NfsRead, 845), (168, None, vec![845, 180]));
        assert_eq!(bytes(Pattern::NfsWrite, 848), (1024, None, vec![188]));
        assert_eq!(bytes(Pattern::NfsWrite, 849), (176, Some(849), vec![188]));
        assert_eq!(Exchange::of(Pattern::Queries, ByteCount::new(1)), None);
    }
}
