//! Packet captures and waveforms of Xoff simulations.
