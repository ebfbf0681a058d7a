// Step function of the reaction point: context and event in, context and rate out. rtl/dcqcn/README.md, section
// dcqcn_rp, is the contract.
//
// A pipeline of RpStepLatency (7) cycles that takes one event per cycle without back-pressure. `now_i` and `params_i`
// are sampled in the cycle of `valid_i`. It keeps no state of a QP: the owner must not start an event of a QP whose
// last event is still in the pipeline, because it would get the old context. Registers change only with an event. An
// event on a QP that is not open, or of an unused kind, returns the context unchanged.
//
//     stage 1   which timers are due; bytes counted; products
//     stage 2   counters, deadlines; products summed
//     stage 3   phase, target raised; α; rate cut
//     stage 4   target clamped
//     stage 5   halfway to the target
//     stage 6   current rate clamped
//     stage 7   is the QP free again?
//
// Timing: all outputs are registers.
module dcqcn_rp_step
  import time_pkg::*, dcqcn_pkg::*;
(
    input logic       clk_i,
    input logic       rst_i,
    input cycle_t     now_i,
    input rp_params_t params_i,

    input logic               valid_i,
    input rp_kind_e           kind_i,
    input logic        [15:0] bytes_i,
    input rp_context_t        context_i,

    output logic        valid_o,
    output rp_context_t context_o,
    output logic        rate_valid_o  // rate_current or limited changed, or OPEN
);

  // Fields that travel with an event. A field is valid from the stage that sets it to the last stage that reads it.
  typedef struct packed {
    rp_context_t c;
    logic        cnp;          // on an open QP, as are the next two
    logic        timer;
    logic        bytes;
    logic        alpha_due;
    logic        rate_due;
    logic        counted;      // the byte counter runs
    logic        increase;
    logic        changed;      // rate_valid_o; from stage 1 only for OPEN and CLOSE
    logic        limited_was;
    rate_t       rate_was;
    cycle_t      now;
    rp_params_t  p;
    rate_t       rate_floor;   // min(rate_min, rate_max)
    logic [40:0] cut_low;      // partial products of rate_current · α
    logic [38:0] cut_high;
    rate_t       cut_top;
    logic [55:0] cut_sum;
    logic [39:0] decay_low;    // partial products of α · g
    logic [15:0] decay_top;
    alpha_t      decay;
    rate_t       sum;          // a target or rate before it is clamped
  } stage_t;

  localparam int unsigned Last = RpStepLatency;

  stage_t stage_d[1:Last];
  stage_t stage_q[1:Last];
  logic [Last:1] valid_q;

  function automatic rate_t clamp(input rate_t rate, input rate_t least, input rate_t most);
    return (rate > most) ? most : (rate < least) ? least : rate;
  endfunction

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 1; OPEN and CLOSE are done here and only pass through the other stages

  logic [32:0] bytes_sum;
  assign bytes_sum = {1'b0, context_i.bytes} + 33'(bytes_i);

  always_comb begin
    stage_d[1] = '0;
    if (valid_i) begin
      stage_d[1].c           = context_i;
      stage_d[1].now         = now_i;
      stage_d[1].p           = params_i;
      stage_d[1].rate_floor  = (params_i.rate_min < params_i.rate_max) ? params_i.rate_min : params_i.rate_max;
      stage_d[1].rate_was    = context_i.rate_current;
      stage_d[1].limited_was = context_i.limited;

      stage_d[1].cnp         = kind_i == RpCnp && context_i.open;
      stage_d[1].timer       = kind_i == RpTimer && context_i.open;
      stage_d[1].bytes       = kind_i == RpBytes && context_i.open;
      stage_d[1].alpha_due   = stage_d[1].timer && context_i.alpha_runs && !earlier(now_i, context_i.alpha_deadline);
      stage_d[1].rate_due    = stage_d[1].timer && context_i.rate_runs && !earlier(now_i, context_i.rate_deadline);

      stage_d[1].counted     = stage_d[1].bytes && context_i.limited && params_i.byte_limit != '0;
      if (stage_d[1].counted) stage_d[1].c.bytes = bytes_sum[32] ? '1 : bytes_sum[31:0];

      // Partial products that fit a multiplier of 25 by 18 bits.
      stage_d[1].cut_low   = 41'(context_i.alpha[23:0]) * 41'(context_i.rate_current[16:0]);
      stage_d[1].cut_high  = 39'(context_i.alpha[23:0]) * 39'(context_i.rate_current[31:17]);
      stage_d[1].cut_top   = context_i.alpha[24] ? context_i.rate_current : '0;
      stage_d[1].decay_low = 40'(context_i.alpha[23:0]) * 40'(params_i.g);
      stage_d[1].decay_top = context_i.alpha[24] ? params_i.g : '0;

      if (kind_i == RpOpen) begin
        stage_d[1].c              = '0;
        stage_d[1].c.open         = 1'b1;
        stage_d[1].c.rate_current = params_i.rate_max;
        stage_d[1].c.rate_target  = params_i.rate_max;
        stage_d[1].c.alpha        = AlphaOne;
        stage_d[1].changed        = 1'b1;
      end else if (kind_i == RpClose) begin
        stage_d[1].c       = '0;
        stage_d[1].changed = context_i.limited || context_i.rate_current != '0;
      end
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 2

  logic full;  // a period of the byte counter has ended
  assign full = stage_q[1].counted && stage_q[1].c.bytes >= stage_q[1].p.byte_limit;

  always_comb begin
    stage_d[2] = '0;
    if (valid_q[1]) begin
      stage_d[2] = stage_q[1];

      stage_d[2].cut_sum = 56'(stage_q[1].cut_low) + {stage_q[1].cut_high, 17'd0};
      // Rounded up.
      stage_d[2].decay = {1'b0, stage_q[1].decay_low[39:16]} + {1'b0, stage_q[1].decay_top, 8'd0}
          + 25'(stage_q[1].decay_low[15:0] != '0);

      stage_d[2].increase = stage_q[1].rate_due || full;
      if (full) stage_d[2].c.bytes = stage_q[1].c.bytes - stage_q[1].p.byte_limit;
      if (full && stage_q[1].c.byte_count != CountMax) stage_d[2].c.byte_count = stage_q[1].c.byte_count + 1'b1;
      if (stage_q[1].rate_due && stage_q[1].c.timer_count != CountMax)
        stage_d[2].c.timer_count = stage_q[1].c.timer_count + 1'b1;

      if (stage_q[1].cnp || stage_q[1].alpha_due)
        stage_d[2].c.alpha_deadline =
            (stage_q[1].cnp ? stage_q[1].now : stage_q[1].c.alpha_deadline) + cycle_t'(stage_q[1].p.alpha_time);
      if (stage_q[1].cnp || stage_q[1].rate_due)
        stage_d[2].c.rate_deadline =
            (stage_q[1].cnp ? stage_q[1].now : stage_q[1].c.rate_deadline) + cycle_t'(stage_q[1].p.rate_time);

      if (stage_q[1].cnp) begin
        stage_d[2].c.limited     = 1'b1;
        stage_d[2].c.rate_target = stage_q[1].c.rate_current;
        stage_d[2].c.timer_count = '0;
        stage_d[2].c.byte_count  = '0;
        stage_d[2].c.bytes       = '0;
        stage_d[2].c.alpha_runs  = stage_q[1].p.alpha_time != '0;
        stage_d[2].c.rate_runs   = stage_q[1].p.rate_time != '0;
      end else if (stage_q[1].timer || stage_q[1].bytes) begin
        if (stage_q[1].p.alpha_time == '0) stage_d[2].c.alpha_runs = 1'b0;
        if (stage_q[1].p.rate_time == '0) stage_d[2].c.rate_runs = 1'b0;
      end
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 3

  logic t_below, b_below, t_above, b_above;
  logic fast, hyper;
  logic [32:0] raised;
  rate_t raise, cut;

  assign t_below = stage_q[2].c.timer_count < stage_q[2].p.stages;
  assign b_below = stage_q[2].c.byte_count < stage_q[2].p.stages;
  assign t_above = stage_q[2].c.timer_count > stage_q[2].p.stages;
  assign b_above = stage_q[2].c.byte_count > stage_q[2].p.stages;
  assign {fast, hyper} = {
    t_below && b_below, t_above && b_above
  };  // strict comparisons of figure 7: max(T, B) < F, min(T, B) > F

  assign raise = fast ? '0 : hyper ? stage_q[2].p.rate_hai : stage_q[2].p.rate_ai;
  assign raised = {1'b0, stage_q[2].c.rate_target} + 33'(raise);
  assign cut = stage_q[2].cut_sum[55:25] + {1'b0, stage_q[2].cut_top[31:1]} + 32'(stage_q[2].cut_sum[24] && stage_q[2].cut_top[0]);

  always_comb begin
    stage_d[3] = '0;
    if (valid_q[2]) begin
      stage_d[3]     = stage_q[2];
      stage_d[3].sum = raised[32] ? '1 : raised[31:0];
      if (stage_q[2].cnp) stage_d[3].sum = stage_q[2].c.rate_current - cut;
      if (stage_q[2].cnp || stage_q[2].alpha_due)
        stage_d[3].c.alpha = stage_q[2].c.alpha + (stage_q[2].cnp ? {1'b0, stage_q[2].p.g, 8'd0} : '0) - stage_q[2].decay;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 4

  always_comb begin
    stage_d[4] = '0;
    if (valid_q[3]) begin
      stage_d[4] = stage_q[3];
      if (stage_q[3].increase)
        stage_d[4].c.rate_target = clamp(stage_q[3].sum, stage_q[3].rate_floor, stage_q[3].p.rate_max);
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 5: target − current ≤ 1 after halving if and only if target − current ≤ 2 before

  rate_t halfway;
  logic signed [33:0] distance;

  assign halfway  = 32'((33'(stage_q[4].c.rate_target) + 33'(stage_q[4].c.rate_current)) >> 1);
  assign distance = $signed({2'b0, stage_q[4].c.rate_target}) - $signed({2'b0, stage_q[4].c.rate_current});

  always_comb begin
    stage_d[5] = '0;
    if (valid_q[4]) begin
      stage_d[5] = stage_q[4];
      if (stage_q[4].increase) stage_d[5].sum = (distance <= 34'sd2) ? stage_q[4].c.rate_target : halfway;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 6

  always_comb begin
    stage_d[6] = '0;
    if (valid_q[5]) begin
      stage_d[6] = stage_q[5];
      if (stage_q[5].increase || stage_q[5].cnp)
        stage_d[6].c.rate_current = clamp(stage_q[5].sum, stage_q[5].rate_floor, stage_q[5].p.rate_max);
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 7

  always_comb begin
    stage_d[7] = '0;
    if (valid_q[6]) begin
      stage_d[7] = stage_q[6];
      if (stage_q[6].timer || stage_q[6].bytes) begin
        if (stage_q[6].c.rate_current >= stage_q[6].p.rate_max) begin
          stage_d[7].c.limited     = 1'b0;
          stage_d[7].c.rate_runs   = 1'b0;
          stage_d[7].c.timer_count = '0;
          stage_d[7].c.byte_count  = '0;
          stage_d[7].c.bytes       = '0;
        end
        if (stage_q[6].c.alpha == '0) stage_d[7].c.alpha_runs = 1'b0;
      end
      if (stage_q[6].timer || stage_q[6].bytes || stage_q[6].cnp)
        stage_d[7].changed = stage_q[6].c.rate_current != stage_q[6].rate_was || stage_d[7].c.limited != stage_q[6].limited_was;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= '0;
    else valid_q <= {valid_q[Last-1:1], valid_i};
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) stage_q[1] <= stage_d[1];
  end

  for (genvar s = 2; s <= Last; s++) begin : gen_stage
    always_ff @(posedge clk_i) begin
      if (valid_q[s-1]) stage_q[s] <= stage_d[s];
    end
  end

  assign valid_o      = valid_q[Last];
  assign context_o    = stage_q[Last].c;
  assign rate_valid_o = valid_q[Last] && stage_q[Last].changed;

  always_ff @(posedge clk_i) begin
    if (!rst_i && valid_o) begin
      assert (!(stage_q[Last].cnp || stage_q[Last].increase) ||
              (context_o.rate_current >= stage_q[Last].rate_floor && context_o.rate_current <= stage_q[Last].p.rate_max))
      else $error("dcqcn_rp_step: a rate outside its limits");
      assert (!stage_q[Last].increase || context_o.rate_target <= stage_q[Last].p.rate_max)
      else $error("dcqcn_rp_step: a target above the line rate");
      assert (context_o.limited || stage_q[Last].limited_was || !stage_q[Last].cnp)
      else $error("dcqcn_rp_step: a CNP that limits nothing");
    end
  end

endmodule
