//! All extension headers of a packet.

use serde::{Deserialize, Serialize};

use super::header::Truncated;
use super::{
    Aeth, AethRepr, AtomicAckEth, AtomicAckEthRepr, AtomicEth, AtomicEthRepr, Deth, DethRepr,
    ExtLayout, Ieth, IethRepr, ImmDt, ImmDtRepr, Reth, RethRepr,
};

/// The extension headers of a packet, each `Some` if it is present. The reserved bytes of a CNP are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExtHeaders {
    /// Datagram header: UD.
    pub deth: Option<DethRepr>,
    /// RDMA header: WRITE first and only, READ request.
    pub reth: Option<RethRepr>,
    /// Atomic header: compare and swap, fetch and add.
    pub atomic: Option<AtomicEthRepr>,
    /// Acknowledgement header: ACK, atomic ACK, READ response other than middle.
    pub aeth: Option<AethRepr>,
    /// Atomic acknowledgement header: atomic ACK.
    pub atomic_ack: Option<AtomicAckEthRepr>,
    /// Immediate data.
    pub imm: Option<ImmDtRepr>,
    /// Key to invalidate.
    pub ieth: Option<IethRepr>,
}

impl ExtHeaders {
    /// Whether the headers present are exactly those of `layout`. The 16 reserved bytes of a CNP are not considered.
    pub fn fits(&self, layout: ExtLayout) -> bool {
        self.layout()
            == ExtLayout {
                cnp: false,
                ..layout
            }
    }

    /// Which headers are present.
    pub fn layout(&self) -> ExtLayout {
        ExtLayout {
            deth: self.deth.is_some(),
            reth: self.reth.is_some(),
            atomic: self.atomic.is_some(),
            aeth: self.aeth.is_some(),
            atomic_ack: self.atomic_ack.is_some(),
            imm: self.imm.is_some(),
            ieth: self.ieth.is_some(),
            cnp: false,
        }
    }

    /// The headers of `layout`, all with zero fields.
    pub fn zeroed(layout: ExtLayout) -> Self {
        Self {
            deth: layout.deth.then(Default::default),
            reth: layout.reth.then(Default::default),
            atomic: layout.atomic.then(Default::default),
            aeth: layout.aeth.then(Default::default),
            atomic_ack: layout.atomic_ack.then(Default::default),
            imm: layout.imm.then(Default::default),
            ieth: layout.ieth.then(Default::default),
        }
    }

    /// Reads the headers of `layout` from bytes that begin with the first of them.
    ///
    /// # Errors
    ///
    /// [`Truncated`] when there are fewer bytes than the headers of `layout` have.
    pub fn parse(layout: ExtLayout, bytes: &[u8]) -> Result<Self, Truncated> {
        let (have, need) = (bytes.len(), layout.bytes());
        let mut rest = bytes.get(..need).ok_or(Truncated {
            header: "extension headers",
            have,
            need,
        })?;
        let mut take = |bytes: usize| {
            let (header, after) = rest.split_at(bytes);
            rest = after;
            header
        };
        Ok(Self {
            deth: layout
                .deth
                .then(|| DethRepr::parse(&Deth::new_unchecked(take(DethRepr::LEN)))),
            reth: layout
                .reth
                .then(|| RethRepr::parse(&Reth::new_unchecked(take(RethRepr::LEN)))),
            atomic: layout
                .atomic
                .then(|| AtomicEthRepr::parse(&AtomicEth::new_unchecked(take(AtomicEthRepr::LEN)))),
            aeth: layout
                .aeth
                .then(|| AethRepr::parse(&Aeth::new_unchecked(take(AethRepr::LEN)))),
            atomic_ack: layout.atomic_ack.then(|| {
                AtomicAckEthRepr::parse(&AtomicAckEth::new_unchecked(take(AtomicAckEthRepr::LEN)))
            }),
            imm: layout
                .imm
                .then(|| ImmDtRepr::parse(&ImmDt::new_unchecked(take(ImmDtRepr::LEN)))),
            ieth: layout
                .ieth
                .then(|| IethRepr::parse(&Ieth::new_unchecked(take(IethRepr::LEN)))),
        })
    }

    /// Appends the headers that are present, in their order.
    pub fn emit(&self, out: &mut Vec<u8>) {
        if let Some(deth) = &self.deth {
            deth.emit(&mut Deth::new_unchecked(room(out, DethRepr::LEN)));
        }
        if let Some(reth) = &self.reth {
            reth.emit(&mut Reth::new_unchecked(room(out, RethRepr::LEN)));
        }
        if let Some(atomic) = &self.atomic {
            atomic.emit(&mut AtomicEth::new_unchecked(room(out, AtomicEthRepr::LEN)));
        }
        if let Some(aeth) = &self.aeth {
            aeth.emit(&mut Aeth::new_unchecked(room(out, AethRepr::LEN)));
        }
        if let Some(atomic_ack) = &self.atomic_ack {
            atomic_ack.emit(&mut AtomicAckEth::new_unchecked(room(
                out,
                AtomicAckEthRepr::LEN,
            )));
        }
        if let Some(imm) = &self.imm {
            imm.emit(&mut ImmDt::new_unchecked(room(out, ImmDtRepr::LEN)));
        }
        if let Some(ieth) = &self.ieth {
            ieth.emit(&mut Ieth::new_unchecked(room(out, IethRepr::LEN)));
        }
    }
}

/// Appends `bytes` bytes to `out` and returns them.
pub(crate) fn room(out: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    let start = out.len();
    out.resize(start + bytes, 0);
    &mut out[start..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::Opcode;

    #[test]
    fn order_on_the_wire() {
        let bytes: Vec<u8> = (0..28).collect();
        let parse = |opcode: Opcode| ExtHeaders::parse(opcode.layout().unwrap(), &bytes).unwrap();
        assert_eq!(
            parse(Opcode::RC_WRITE_ONLY_IMM).imm.unwrap().imm,
            0x1011_1213
        );
        assert_eq!(
            parse(Opcode::RC_ATOMIC_ACK).atomic_ack.unwrap().original,
            0x0405_0607_0809_0A0B
        );
        assert_eq!(
            parse(Opcode::UD_SEND_ONLY_IMM).imm.unwrap().imm,
            0x0809_0A0B
        );
        assert_eq!(parse(Opcode::CNP), ExtHeaders::default());
    }

    proptest! {
        #[test]
        fn round_trip(opcode in prop::sample::select(Opcode::ALL), bytes: [u8; 28]) {
            let layout = opcode.layout().unwrap();
            let ext = ExtHeaders::parse(layout, &bytes).unwrap();
            prop_assert!(ext.fits(layout));
            let mut out = Vec::new();
            ext.emit(&mut out);
            if !layout.cnp {
                prop_assert_eq!(out.len(), layout.bytes());
                prop_assert_eq!(ExtHeaders::parse(layout, &out).unwrap(), ext);
                prop_assert_eq!(ExtHeaders::parse(layout, &out[..out.len().saturating_sub(1)]).is_err(), layout.bytes() > 0);
            }
        }
    }
}
