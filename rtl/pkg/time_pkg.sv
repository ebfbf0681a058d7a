// Time: the device's free-running cycle count. Units with a timer take it as `now_i`, store deadlines and compare; no
// unit has a counter of its own for time.
//
// It does not wrap: 2^48 cycles are ten days at 312.5 MHz.
package time_pkg;

  typedef logic [47:0] cycle_t;

  localparam cycle_t Never = '1;  // no deadline

endpackage
