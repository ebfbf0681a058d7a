// DCQCN: number formats, parameters, and context of a QP at the reaction point. rtl/dcqcn/README.md is the contract.
package dcqcn_pkg;
  import time_pkg::*;

  typedef logic [31:0] rate_t;  // kb/s, payload and headers on the wire
  typedef logic [24:0] alpha_t;  // units of 2^-24

  localparam alpha_t AlphaOne = 25'h100_0000;
  localparam logic [4:0] CountMax = '1;  // timer and byte counts saturate here

  // Parameters set by software, the same for all QPs. 245 bits.
  typedef struct packed {
    rate_t       rate_max;    // line rate; wins over rate_min
    rate_t       rate_min;
    rate_t       rate_ai;     // additive increase
    rate_t       rate_hai;    // hyper increase
    logic [15:0] g;           // units of 2^-16
    logic [31:0] alpha_time;  // cycles, 0: off
    logic [31:0] rate_time;   // cycles, 0: off
    logic [31:0] byte_limit;  // bytes, 0: off
    logic [4:0]  stages;      // F
  } rp_params_t;

  // Context of a QP at the reaction point. 231 bits.
  typedef struct packed {
    logic        open;
    logic        limited;
    logic        alpha_runs;
    logic        rate_runs;
    rate_t       rate_current;
    rate_t       rate_target;
    alpha_t      alpha;
    logic [4:0]  timer_count;     // T: rate periods since the last CNP
    logic [4:0]  byte_count;      // B: byte counter periods since the last CNP
    logic [31:0] bytes;           // bytes in the current period of the byte counter
    cycle_t      alpha_deadline;
    cycle_t      rate_deadline;
  } rp_context_t;

  typedef enum logic [2:0] {
    RpOpen  = 3'd0,
    RpClose = 3'd1,
    RpCnp   = 3'd2,
    RpBytes = 3'd3,
    RpTimer = 3'd4,
    RpNone  = 3'd7   // the context does not change; likewise with 5 and 6
  } rp_kind_e;

  localparam int unsigned RpStepLatency = 7;  // of dcqcn_rp_step, in cycles

endpackage
