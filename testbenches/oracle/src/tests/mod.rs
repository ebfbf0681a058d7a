//! Logs by hand.
