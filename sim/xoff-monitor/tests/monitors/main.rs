//! The monitors against real captures, good traffic, broken traffic and bytes of all kinds.

mod captures;
mod conversation;
mod hand_made;
mod page;
mod random;
mod traffic;
