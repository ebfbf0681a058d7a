// The go-back-N responder. rtl/gbn/README.md is the contract. Ports only: the logic follows.
module gbn_responder
  import time_pkg::*, roce_pkg::*, gbn_pkg::*;
#(
    parameter  int unsigned Qps    = 64,          // 2 to 1,024
    parameter  int unsigned Recvs  = 16,          // slots of a QP's ring: a power of two, 2 to 128
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                           event_valid_i,
    input  logic              [       2:0] event_kind_i,           // ResponderOpen to ResponderGrant
    input  logic              [QpBits-1:0] event_qp_i,
    input  responder_config_t              event_configuration_i,  // OPEN
    input  psn_t                           event_psn_i,            // OPEN
    input  recv_t                          event_recv_i,           // POST
    input  arrival_t                       event_arrival_i,        // PACKET
    output logic                           event_ready_o,

    output logic                            step_valid_o,
    output responder_kind_e                 step_kind_o,
    output logic               [QpBits-1:0] step_qp_o,
    output responder_context_t              step_context_o,
    output responder_note_e                 step_note_o,
    output logic                            place_valid_o,
    output place_t                          place_o,
    output logic                            response_valid_o,
    output response_t                       response_o,
    output logic                            completion_valid_o,
    output completion_t                     completion_o,

    output logic [Qps-1:0] owed_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  assign event_ready_o = 1'b0;
  assign step_valid_o = 1'b0;
  assign step_kind_o = ResponderOpen;
  assign step_qp_o = '0;
  assign step_context_o = '0;
  assign step_note_o = ResponderNone;
  assign place_valid_o = 1'b0;
  assign place_o = '0;
  assign response_valid_o = 1'b0;
  assign response_o = '0;
  assign completion_valid_o = 1'b0;
  assign completion_o = '0;
  assign owed_o = '0;
  assign idle_o = 1'b1;
  assign wake_o = Never;

endmodule
