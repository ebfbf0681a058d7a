// Proof of pause_watchdog: silence after a stall of exactly the bite threshold, bark after a stall of exactly the
// bark threshold and once per stall, re-arm; idle and wake are exact.
module pause_watchdog_proof
  import time_pkg::*;
(
    input logic          clk_i,
    input cycle_t        jump_i,
    input logic          pausing_i,
    input logic          progress_i,
    input logic   [39:0] bark_i,
    input logic   [39:0] bite_i,
    input logic          rearm_i,
    input logic          auto_rearm_i
);

  logic started_q = 1'b0, next_q = 1'b0;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    next_q    <= started_q;
  end

  cycle_t now, wake;
  logic bark, silence, idle;

  time_walk u_time (
      .clk_i,
      .idle_i(idle && started_q),
      .wake_i(wake),
      .jump_i,
      .now_o (now)
  );

  pause_watchdog u_dut (
      .clk_i,
      .rst_i    (!started_q),
      .now_i    (now),
      .pausing_i,
      .progress_i,
      .bark_i,
      .bite_i,
      .rearm_i,
      .auto_rearm_i,
      .bark_o   (bark),
      .silence_o(silence),
      .idle_o   (idle),
      .wake_o   (wake)
  );

  // The stall as in the contract: its first cycle, its thresholds, its length including this cycle
  logic in_q = 1'b0;
  logic stalled, begins, lifted, release_now, bark_due, bite_due;
  cycle_t first_q, first, length;
  logic [39:0] bark_q, bark_after, bite_q, bite_after;

  assign stalled     = silence || (pausing_i && !progress_i);
  assign begins      = stalled && !in_q;
  assign first       = begins ? now : first_q;
  assign bark_after  = begins ? bark_i : bark_q;
  assign bite_after  = begins ? bite_i : bite_q;
  assign length      = now - first + 1'b1;
  assign bark_due    = stalled && bark_after != '0 && length == cycle_t'(bark_after);
  assign bite_due    = stalled && bite_after != '0 && length == cycle_t'(bite_after);
  assign release_now = rearm_i || (progress_i && auto_rearm_i);
  assign lifted      = silence ? release_now : bite_due && rearm_i;

  logic bark_due_q, bites_q, released_q, kept_q, quiet_q, silence_q, stall_state_q, ended_q;
  logic [1:0] armed_q;
  logic barked_q = 1'b0;  // there was a bark; the last one in the stall that began in bark_first_q
  cycle_t bark_first_q, stall_first_q, now_q, wake_q;
  logic [83:0] inputs, inputs_q;

  // Premise: stalls of up to 2^45 cycles. A bark is remembered as long.
  localparam cycle_t Long = 48'd1 << 45;
  assign inputs = 84'({pausing_i, progress_i, bark_i, bite_i, rearm_i, auto_rearm_i});

  always_ff @(posedge clk_i) begin
    in_q          <= started_q && stalled && !lifted;
    first_q       <= first;
    bark_q        <= bark_after;
    bite_q        <= bite_after;
    bark_due_q    <= bark_due;
    bites_q       <= bite_due && !rearm_i && !silence;
    released_q    <= silence && release_now;
    kept_q        <= silence && !release_now;
    quiet_q       <= idle && earlier(now, wake);
    silence_q     <= silence;
    stall_state_q <= u_dut.stall_q;
    armed_q       <= {u_dut.bark_armed_q, u_dut.bite_armed_q};
    ended_q       <= in_q != (stalled && !lifted) || begins || bark_due || bite_due;
    stall_first_q <= first;
    now_q         <= now;
    wake_q        <= wake;
    inputs_q      <= inputs;
    if (!started_q || now - bark_first_q >= Long) barked_q <= 1'b0;
    if (next_q && bark) begin
      barked_q     <= 1'b1;
      bark_first_q <= stall_first_q;
    end
  end

  always_comb assume (!in_q || now - first_q < Long);

  always_comb begin
    if (started_q) begin
      a_stall : assert (u_dut.stall_q == in_q && (!silence || in_q) && (!in_q || earlier(first_q, now)));
      a_bark_at : assert (u_dut.bark_armed_q == (in_q && bark_q != '0 && earlier(now, first_q + cycle_t'(bark_q))));
      a_bark_deadline : assert (!u_dut.bark_armed_q || u_dut.bark_at_q == first_q + cycle_t'(bark_q) - 1'b1);
      a_bite_at : assert (u_dut.bite_armed_q == (in_q && bite_q != '0 && earlier(now, first_q + cycle_t'(bite_q))));
      a_bite_deadline : assert (!u_dut.bite_armed_q || u_dut.bite_at_q == first_q + cycle_t'(bite_q) - 1'b1);
      a_wake :
      assert (wake == (u_dut.bark_armed_q && !(u_dut.bite_armed_q && earlier(u_dut.bite_at_q, u_dut.bark_at_q)) ? u_dut.bark_at_q :
                       u_dut.bite_armed_q ? u_dut.bite_at_q : farthest(now)));
      a_bark_left :
      assert (!barked_q || (earlier(bark_first_q, now) && !(in_q && bark_first_q == first_q && u_dut.bark_armed_q)));
    end
    if (next_q) begin
      a_bark : assert (bark == bark_due_q);
      a_bark_once : assert (!(bark && barked_q) || bark_first_q != stall_first_q);
      a_silence_only_then : assert (!(silence && !silence_q) || bites_q);
      a_silence_comes : assert (!bites_q || silence);
      a_released : assert (!released_q || !silence);
      a_kept : assert (!kept_q || silence);
      a_idle_state :
      assert (!quiet_q || (!ended_q && !bark && silence == silence_q && u_dut.stall_q == stall_state_q &&
                           armed_q == {u_dut.bark_armed_q, u_dut.bite_armed_q} && (wake == wake_q || armed_q == '0)));
      a_idle_outputs : assert (!(quiet_q && inputs == inputs_q && earlier(now, wake)) || idle);
    end
  end

endmodule
