// Stream of frames inside the pipeline.
//
// A stream is a `beat_t` and a separate data port: wide data inside a control struct would be shifted at every
// access. Data is in network order: the first byte of a beat is in the most significant bits.
package stream_pkg;

  typedef struct packed {
    logic       valid;
    logic       first;
    logic       last;
    logic [6:0] bytes;  // number of valid bytes, from the first on; the full width unless last
  } beat_t;

endpackage
