//! The command of Xoff, with `axis_nic` among its NICs.

use own_nic::AxisDriver;
use xoff_cosim::network::kind;

fn main() -> std::process::ExitCode {
    xoff_verify::main_with(xoff_cosim::endpoints().with("axis", kind::<AxisDriver>()))
}
