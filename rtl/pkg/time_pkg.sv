// Time: the device's free-running cycle count. Units with a timer take it as `now_i`, store deadlines and compare; no
// unit has a counter of its own for time.
//
// It wraps: 2^48 cycles are ten days at 312.5 MHz. So times are compared only by `earlier`, which is right for times
// that are less than 2^47 cycles apart. A unit that stores a time therefore sees to it that what it compares is at most
// 2^46 cycles (2.6 days at 312.5 MHz) behind or ahead of `now_i`:
//
// - Durations are shorter than 2^41 cycles.
// - "No deadline" is the `farthest` time. Where it is stored and comes, the unit looks, finds nothing due, and stores
//   it anew.
// - What happened long ago is marked as old before it could be taken for something that is to come.
package time_pkg;

  typedef logic [47:0] cycle_t;

  // `a` is earlier than `b`: their difference is negative
  function automatic logic earlier(input cycle_t a, input cycle_t b);
    return 1'((a - b) >> 47);
  endfunction

  // As far ahead as a time may be: 2^46 cycles
  function automatic cycle_t farthest(input cycle_t now);
    return {now[47:46] + 2'd1, now[45:0]};
  endfunction

endpackage
