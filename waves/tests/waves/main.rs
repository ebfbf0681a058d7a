//! Tests of the files that people look at: captures, reports, layouts, results.

mod capture;
mod layout;
mod report;
mod results;
mod tap;
