//! Tests with traffic of Linux hosts: its frames, and its go-back-N.

mod frames;
mod gbn;
