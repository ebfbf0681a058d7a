//! Checks that `docs/monitors.md` matches the rules.

use std::path::Path;

#[test]
fn the_page_is_that_of_the_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/monitors.md");
    let page = xoff_monitor::page::markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == page,
        "{} is not what the rules say: UPDATE_DOCS=1 writes it anew",
        path.display()
    );
}
