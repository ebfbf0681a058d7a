use std::path::Path;

use super::*;

/// Reads the table that Verilator wrote for `tests/types/sample.sv` with `Width` = 7.
fn table(form: &str) -> Table {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/types");
    let mut table = Table::read("sample", &folder.join(format!("sample.{form}"))).unwrap();
    table.packages.sort_by(|a, b| a.name.cmp(&b.name));
    table
}

#[test]
fn both_forms_say_the_same() {
    let text = |table: Table| {
        let mut packages = Packages::default();
        let known = packages.add(&table);
        assert_eq!(
            known,
            "#[allow(unused_imports)]\nuse super::{unit, sample_pkg, };\n"
        );
        packages.text() + &constants(&table) + &local_types(&table)
    };
    let (xml, json) = (text(table("xml")), text(table("json")));
    assert_eq!(xml, json);
}
