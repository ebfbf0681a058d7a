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

/// What Verilator might write one day: each is an error that names the top, the file and what is wrong there.
#[test]
fn a_table_that_is_not_understood_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let sample = include_str!("../../tests/types/sample.xml");
    let said = |from: &str, to: &str| {
        let path = folder.path().join("sample.xml");
        assert!(sample.contains(from), "{from}");
        std::fs::write(&path, sample.replace(from, to)).unwrap();
        let error = Table::read("sample", &path).unwrap_err();
        assert!(matches!(error, Error::Types { .. }), "{error}");
        let begin =
            format!("top `sample`: {path:?}, Verilator's table of types, is not understood: ");
        error.to_string().strip_prefix(&begin).unwrap().to_owned()
    };
    assert_eq!(
        said(
            "name=\"all_i\" dtype_id=\"4\"",
            "name=\"all_i\" dtype_id=\"999\""
        ),
        "type `999` is referred to and not in the type table"
    );
    assert_eq!(said("typetable", "types"), "there is no <typetable>");
}
