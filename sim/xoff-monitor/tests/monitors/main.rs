//! Tests of the monitors with real captures, good traffic, broken traffic and arbitrary bytes.
//!
//! | module | |
//! |---|---|
//! | [`captures`] | real captures, those of the folder `$XOFF_CAPTURES` too: no violation |
//! | [`conversation`] | a conversation with all that rules are about, in steps that others change |
//! | [`damage`] | each rule is broken once, and is found; what is legal is not |
//! | [`hand_made`] | a conversation without a fault, whole and in parts; short sequences of frames |
//! | [`page`] | `docs/monitors.md` is what the rules say |
//! | [`races`] | frames that cross on the way, and answers of which it is not known whose they are |
//! | [`random`] | arbitrary bytes: no panic |
//! | [`traffic`] | networks of model NICs keep all rules |

mod captures;
mod conversation;
mod damage;
mod hand_made;
mod page;
mod races;
mod random;
mod traffic;
