//! Tests of the monitors with real captures, good traffic, broken traffic and arbitrary bytes.

mod captures;
mod conversation;
mod damage;
mod hand_made;
mod page;
mod races;
mod random;
mod traffic;
