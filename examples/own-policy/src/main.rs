//! The command of Xoff, with a policy of one's own.

use own_policy::Shares;
use xoff::Program;
use xoff_network::Endpoints;
use xoff_network::policy::PolicyKind;

fn main() -> std::process::ExitCode {
    let endpoints = Endpoints::default().with_policy("shares", PolicyKind::of::<Shares>());
    xoff::main_with(&Program::without_rtl(endpoints))
}
