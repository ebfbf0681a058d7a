//! The command of Xoff, with Swift among the congestion controls of model NICs.

use own_congestion::Swift;
use xoff::Program;
use xoff_network::Endpoints;
use xoff_sim::nic::congestion::CongestionKind;

fn main() -> std::process::ExitCode {
    let endpoints = Endpoints::default().with_congestion("swift", CongestionKind::of::<Swift>());
    xoff::main_with(&Program::without_rtl(endpoints))
}
