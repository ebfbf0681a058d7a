//! Models of the RTL's units, written from the standards and the units' contracts, never from the RTL. They judge it in property tests.
