// Pause watchdog: silences a NIC that pauses its peer without end, in two stages, bark and bite. rtl/pfc/README.md is
// the contract.
//
// The two deadlines of a stall are set in its first cycle, from the thresholds of that cycle. They stand until they
// come or the stall ends.
//
// Timing: `bark_o` and `silence_o` are registers; `idle_o` depends on the inputs of the same cycle.
module pause_watchdog
  import time_pkg::*;
(
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input logic        pausing_i,
    input logic        progress_i,
    input logic [39:0] bark_i,
    input logic [39:0] bite_i,
    input logic        rearm_i,
    input logic        auto_rearm_i,

    output logic bark_o,
    output logic silence_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  logic stall_q;  // the last cycle belonged to a stall that did not end
  logic bark_armed_q, bite_armed_q;
  cycle_t bark_at_q, bite_at_q;
  logic bark_q, silence_q;

  logic stalled;  // this cycle belongs to a stall
  logic begins;
  logic bark_due, bite_due;
  logic lifted;  // a re-arm or progress ends the stall with this cycle

  assign stalled  = silence_q || (pausing_i && !progress_i);
  assign begins   = stalled && !stall_q;

  // In the first cycle of a stall only a threshold of 1 can be due.
  assign bark_due = stalled && (begins ? bark_i == 40'd1 : bark_armed_q && !earlier(now_i, bark_at_q));
  assign bite_due = stalled && (begins ? bite_i == 40'd1 : bite_armed_q && !earlier(now_i, bite_at_q));

  assign lifted   = silence_q ? rearm_i || (progress_i && auto_rearm_i) : bite_due && rearm_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      stall_q      <= 1'b0;
      bark_armed_q <= 1'b0;
      bite_armed_q <= 1'b0;
      bark_q       <= 1'b0;
      silence_q    <= 1'b0;
    end else begin
      stall_q      <= stalled && !lifted;
      bark_armed_q <= stalled && !lifted && !bark_due && (begins ? bark_i != '0 : bark_armed_q);
      bite_armed_q <= stalled && !lifted && !bite_due && (begins ? bite_i != '0 : bite_armed_q);
      bark_q       <= bark_due;
      silence_q    <= (silence_q || bite_due) && !lifted;
    end
  end

  always_ff @(posedge clk_i) begin
    if (begins) begin
      bark_at_q <= now_i + cycle_t'(bark_i) - 1'b1;
      bite_at_q <= now_i + cycle_t'(bite_i) - 1'b1;
    end
  end

  assign bark_o    = bark_q;
  assign silence_o = silence_q;
  assign idle_o    = stalled == stall_q && !lifted && !bark_due && !bite_due && !bark_q;

  logic   armed;
  cycle_t first_due;

  earliest #(
      .Count(2)
  ) u_wake (
      .valid_i({bark_armed_q, bite_armed_q}),
      .at_i   ({bark_at_q, bite_at_q}),
      .valid_o(armed),
      .at_o   (first_due)
  );

  assign wake_o = armed ? first_due : farthest(now_i);

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!silence_q || stall_q)
      else $error("pause_watchdog: silent outside a stall");
      assert (!(bark_armed_q && earlier(bark_at_q, now_i)))
      else $error("pause_watchdog: missed the bark");
      assert (!(bite_armed_q && earlier(bite_at_q, now_i)))
      else $error("pause_watchdog: missed the bite");
    end
  end

endmodule
