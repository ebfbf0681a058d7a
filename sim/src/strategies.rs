//! Random frames for property tests.
