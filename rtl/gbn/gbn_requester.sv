// The go-back-N requester. rtl/gbn/README.md is the contract. Ports only: the logic follows.
module gbn_requester
  import time_pkg::*, roce_pkg::*, gbn_pkg::*;
#(
    parameter  int unsigned Qps      = 64,          // 2 to 1,024
    parameter  int unsigned Wqes     = 16,          // slots of a QP's ring: a power of two, 2 to 128
    parameter  int unsigned PeriodPs = 5120,        // of clk_i: 1,000 to 10,000
    localparam int unsigned QpBits   = $clog2(Qps)
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input  logic                           event_valid_i,
    input  logic              [       2:0] event_kind_i,           // RequesterOpen to RequesterAck
    input  logic              [QpBits-1:0] event_qp_i,
    input  requester_config_t              event_configuration_i,  // OPEN
    input  psn_t                           event_psn_i,            // OPEN, ACK
    input  logic              [       7:0] event_syndrome_i,       // ACK
    input  work_t                          event_work_i,           // POST
    output logic                           event_ready_o,

    output logic                            step_valid_o,
    output requester_kind_e                 step_kind_o,
    output logic               [QpBits-1:0] step_qp_o,
    output cycle_t                          step_now_o,
    output requester_context_t              step_context_o,
    output requester_note_e                 step_note_o,
    output logic                            request_valid_o,
    output request_t                        request_o,
    output logic                            completion_valid_o,
    output completion_t                     completion_o,

    output logic [Qps-1:0] sendable_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  assign event_ready_o = 1'b0;
  assign step_valid_o = 1'b0;
  assign step_kind_o = RequesterOpen;
  assign step_qp_o = '0;
  assign step_now_o = now_i;
  assign step_context_o = '0;
  assign step_note_o = RequesterNone;
  assign request_valid_o = 1'b0;
  assign request_o = '0;
  assign completion_valid_o = 1'b0;
  assign completion_o = '0;
  assign sendable_o = '0;
  assign idle_o = 1'b1;
  assign wake_o = Never;

endmodule
