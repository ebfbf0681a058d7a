//! Common header of management datagrams.

/// Bytes of a management datagram (IBTA volume 1 §13.4.2).
pub const MAD_BYTES: usize = 256;
/// The queue pair of general services, to which management datagrams go.
pub const QP_GENERAL_SERVICES: u32 = 1;
/// The Q_Key of that queue pair (IBTA volume 1 §10.2.5).
pub const Q_KEY_GENERAL_SERVICES: u32 = 0x8001_0000;

header! {
    /// Common header of management datagrams (MADs), 24 bytes (IBTA volume 1 §13.4.3):
    ///
    /// ```text
    ///  byte 0               1         2                 3          4           6
    ///      | base version 8 | class 8 | class version 8 | method 8 | status 16 | class specific 16 |
    ///  byte 8                16             18       20
    ///      | transaction 64 | attribute 16 | rsv 16 | modifier 32 |
    /// ```
    Mad, MadRepr, "MAD header", 24 bytes;
    /// Version of this header: 1.
    base_version, set_base_version: u8 = 0..8;
    /// Management class, such as that of the communication manager.
    class, set_class: u8 = 8..16;
    /// Version of the class.
    class_version, set_class_version: u8 = 16..24;
    /// Method.
    method, set_method: u8 = 24..32;
    /// Status of a response.
    status, set_status: u16 = 32..48;
    /// What the class makes of it.
    class_specific, set_class_specific: u16 = 48..64;
    /// Transaction.
    transaction, set_transaction: u64 = 64..128;
    /// What the datagram is, within its class.
    attribute, set_attribute: u16 = 128..144;
    /// More of the attribute.
    modifier, set_modifier: u32 = 160..192;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Mad, MadRepr);
}
