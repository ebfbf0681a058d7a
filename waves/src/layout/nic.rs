//! The signals of a NIC that show what it does.

use super::Format::{Binary, Hex, Stairs, Unsigned};
use super::{Format, Group, Layout, Signal};

/// The contents of [`nic_layout`]: headings, and signals below the NIC's scope, in order from the wire up to the host
/// and back to the wire.
const NIC: &[(&str, &[(&str, Format)])] = &[
    (
        "time",
        &[
            ("now_i", Unsigned),
            ("wake_o", Unsigned),
            ("idle_o", Binary),
            ("rst_i", Binary),
        ],
    ),
    (
        "rx",
        &[
            ("rx_valid_i", Binary),
            ("rx_control_i", Binary),
            ("rx_last_i", Binary),
            ("rx_bytes_i", Unsigned),
            ("rx_data_i", Hex),
        ],
    ),
    (
        "parser",
        &[
            ("u_receive.done_valid", Binary),
            ("u_receive.result", Hex),
            ("u_receive.bth", Hex),
        ],
    ),
    (
        "classify",
        &[
            ("u_receive.u_classify.done_valid_o", Binary),
            ("u_receive.u_classify.fate_o", Unsigned),
            ("u_receive.u_classify.qp_o", Unsigned),
        ],
    ),
    (
        "receive buffer",
        &[
            ("u_receive.buffer_full", Binary),
            ("u_receive.header_valid", Binary),
            ("u_receive.header_ready", Binary),
            ("u_receive.header_qp", Unsigned),
            ("depth", Hex),
        ],
    ),
    (
        "responder",
        &[
            ("u_receive.u_engine.u_responder.event_valid_i", Binary),
            ("u_receive.u_engine.u_responder.event_ready_o", Binary),
            ("u_receive.u_engine.u_responder.event_kind_i", Unsigned),
            ("u_receive.u_engine.u_responder.event_qp_i", Unsigned),
            ("u_receive.u_engine.u_responder.step_valid_o", Binary),
            ("u_receive.u_engine.u_responder.step_kind_o", Unsigned),
            ("u_receive.u_engine.u_responder.step_note_o", Unsigned),
            ("u_receive.u_engine.u_responder.response_valid_o", Binary),
            ("u_receive.u_engine.u_responder.completion_valid_o", Binary),
        ],
    ),
    (
        "requester",
        &[
            ("u_transmit.u_requester.event_valid_i", Binary),
            ("u_transmit.u_requester.event_ready_o", Binary),
            ("u_transmit.u_requester.event_kind_i", Unsigned),
            ("u_transmit.u_requester.event_qp_i", Unsigned),
            ("u_transmit.u_requester.event_psn_i", Unsigned),
            ("u_transmit.u_requester.event_syndrome_i", Hex),
            ("u_transmit.u_requester.step_valid_o", Binary),
            ("u_transmit.u_requester.step_kind_o", Unsigned),
            ("u_transmit.u_requester.step_note_o", Unsigned),
            ("u_transmit.u_requester.request_valid_o", Binary),
            ("u_transmit.u_requester.completion_valid_o", Binary),
            ("u_transmit.u_requester.wake_o", Unsigned),
        ],
    ),
    (
        "pause",
        &[
            ("pause_valid", Binary),
            ("paused_o", Binary),
            ("u_pause.xoff", Binary),
            ("pfc_valid", Binary),
            ("u_pause.silence", Binary),
        ],
    ),
    (
        "dcqcn",
        &[
            ("mark", Binary),
            ("u_congestion.np_cnp", Binary),
            ("cnp_in", Binary),
            ("rate_valid_o", Binary),
            ("rate_qp_o", Unsigned),
            ("rate_o", Stairs),
            ("rate_limited_o", Binary),
            ("alpha_o", Stairs),
        ],
    ),
    (
        "tx",
        &[
            ("tx_valid_o", Binary),
            ("tx_ready_i", Binary),
            ("tx_last_o", Binary),
            ("tx_bytes_o", Unsigned),
            ("tx_data_o", Hex),
        ],
    ),
    (
        "host",
        &[
            ("work_valid_i", Binary),
            ("work_ready_o", Binary),
            ("work_qp_i", Unsigned),
            ("recv_valid_i", Binary),
            ("recv_ready_o", Binary),
            ("cqe_valid_o", Binary),
            ("cqe_ready_i", Binary),
            ("cqe_qp_o", Unsigned),
            ("cqe_o", Hex),
            ("read_valid_o", Binary),
            ("read_va_o", Hex),
            ("data_valid_i", Binary),
            ("write_valid_o", Binary),
            ("write_va_o", Hex),
        ],
    ),
];

/// Returns a layout of the signals that show what the NIC of a host does, by the name under which its waves are
/// written.
///
/// The groups are time and idleness, what comes in and what becomes of it, go-back-N, pause, rates, what goes out,
/// and the host's side.
pub fn nic_layout(host: &str) -> Layout {
    let signal = |&(name, format): &(&str, Format)| Signal {
        path: format!("{host}.pins.nic.{name}"),
        format,
    };
    Layout {
        groups: NIC
            .iter()
            .map(|(name, signals)| Group {
                name: (*name).into(),
                signals: signals.iter().map(signal).collect(),
            })
            .collect(),
    }
}
