//! The table of the test modules.

use verilated_build::{Build, Top};

fn main() {
    Build::new()
        .packages(["sv/pkg/kinds_pkg.sv"])
        .search(["sv", "sv/lib"])
        .top(Top::new("counter"))
        .top(
            Top::new("counter")
                .param("Width", 12)
                .param("Limit", 100)
                .named("Counter12"),
        )
        .top(Top::new("wide_ports"))
        .top(Top::new("ram"))
        .top(Top::new("adder"))
        .top(Top::new("alarms"))
        .top(Top::new("pipeline").cpp("cpp/plain_loop.cpp"))
        .run();
}
