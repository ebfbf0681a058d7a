//! Directed tests of two NICs back to back.
//!
//! | module | contents |
//! |---|---|
//! | [`messages`] | messages in both directions: lengths, IPv6 and tags, losses, RNR, QPs that end and close |
//! | [`classes`] | what holds for one class holds for each |
//! | [`congestion`] | marks, CNPs, rates |
//! | [`parts`] | each part of the receive buffer waits for page table entries by itself |
//! | [`pauses`] | PFC and PAUSE in both directions, and the watchdog |
//! | [`refused`] | frames that are dropped and counted, and writes that are refused |
//! | [`every_qp`] | what holds for one QP holds for each |
//! | [`invalidation`] | SEND with invalidate |
//! | [`standard`] | statements of the standards, one per test |
//! | [`answered`] | READ requests, and what the standard says of them |
//! | [`reads`] | how much payload is read ahead |
//! | [`lengths`] | frames of every length, in every class |
//! | [`queries`] | the state of a QP, as registers show it |
//! | [`regions`] | what a key permits, for each region of the table |
//! | [`removed`] | what a key permits while its region is removed and another one takes its place |
//! | [`receive_buffer`] | the parts of the receive buffer, full and overfull |
//! | [`seams`] | what parts of the pipeline leave to each other |
//! | [`shares`] | a class's share of the transmit slots |
//! | [`registers`] | the register file, at every address |
//! | [`asked`] | READs that the NIC asks for: what it sends, writes and tells software |
//! | [`baseline`] | what the NIC does in kept random cases, to the cycle |
//! | [`reopened`] | QPs that are closed and opened again under load |
//! | [`stalled`] | a host that takes no writes |
//! | [`reset`] | a reset leaves nothing of what was before |
//! | [`line_rate`] | smallest frames, many flows, losses: the wire stays full |
//! | [`fixture`] | the pair, work for it, and checks of the results |
//! | [`time`] | the time wraps |
//! | [`translation`] | page tables, and the cache of their entries |
//! | [`hits`] | translation whose entries are on chip takes nothing from the wire |
//! | [`timers`] | the ACK timer, and packets that leave just when it runs out |
//! | [`unread`] | payload that cannot be read: wrong keys, regions that are removed, errors of the bus |
//! | [`waves`] | waves hold what Rust saw, in every cycle |
//! | [`verdict`] | a packet is acknowledged only if it can be written |
//! | [`withdrawn`] | packets that are withdrawn while their payload is still to come |

mod answered;
mod asked;
mod atomics;
mod baseline;
mod classes;
mod congestion;
mod counters;
mod domains;
mod every_qp;
mod fixture;
mod hits;
mod invalidation;
mod lengths;
mod line_rate;
mod messages;
mod parts;
mod pauses;
mod plain;
mod queries;
mod reads;
mod receive_buffer;
mod refused;
mod regions;
mod registers;
mod removed;
mod reopened;
mod reset;
mod seams;
mod shares;
mod stalled;
mod standard;
mod time;
mod timers;
mod translation;
mod unread;
mod verdict;
mod waves;
mod weights;
mod withdrawn;
