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

/// The type of a signal of the sample, with those that it is made of in their places.
fn shape(form: &str, signal: &str) -> String {
    let shapes: serde_json::Value = serde_json::from_str(&table(form).shapes).unwrap();
    assert_eq!(shapes["top"], "sample");
    let signals = &shapes["modules"]["sample"]["signals"];
    if signals[signal].is_null() {
        return "plain".into();
    }
    // Places are lower than that of what has them.
    let mut whole: Vec<serde_json::Value> = Vec::new();
    for kind in shapes["types"].as_array().unwrap() {
        let mut kind = kind.clone();
        let members = ["struct", "union"]
            .iter()
            .filter_map(|key| kind.get(key).map(|_| *key))
            .next();
        let place = |value: &serde_json::Value| value.as_u64().unwrap() as usize;
        if let Some(key) = members {
            for member in kind[key].as_array_mut().unwrap() {
                member[1] = whole[place(&member[1])].clone();
            }
        }
        if !kind["of"].is_null() {
            kind["of"] = whole[place(&kind["of"])].clone();
        }
        whole.push(kind);
    }
    whole[signals[signal].as_u64().unwrap() as usize].to_string()
}

#[test]
fn shapes_are_those_of_the_source() {
    for signal in [
        "all_i",
        "all_o",
        "kinds_i",
        "nibbles_i",
        "plain_i",
        "kind_i",
    ] {
        assert_eq!(shape("xml", signal), shape("json", signal), "{signal}");
    }
    assert_eq!(shape("xml", "plain_i"), "plain");
    assert_eq!(
        shape("xml", "nibbles_i"),
        r#"{"array":[1,0],"of":{"bits":[3,0]}}"#
    );
    let kind = r#"{"enum":{"One":1,"Two":2,"Zero":0},"of":{"bits":[1,0]}}"#;
    let all = shape("xml", "all_i");
    for part in [
        format!(r#"{{"struct":[["first",{kind}],["second",{kind}],["two","#),
        format!(r#"["kinds",{{"array":[3,0],"of":{kind}}}]"#),
        r#"["ascending",{"array":[0,2],"of":{"bits":[6,0]}}],["offset",{"bits":[4,0],"signed":true}]"#.into(),
        r#"["either",{"union":[["raw",{"bits":[7,0]}],["parts",{"struct":[["kind","#.into(),
    ] {
        assert!(all.contains(&part), "{part} in {all}");
    }
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
