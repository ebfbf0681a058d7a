use verilated_build::{Build, Top};

fn main() {
    Build::new()
        .search(["rtl"])
        .top(Top::new("axis_nic").clock("aclk"))
        .run();
}
