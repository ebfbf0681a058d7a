//! The table of docs/scenarios.md that says where claims end has every variant of every built-in scenario.

use std::collections::BTreeSet;
use std::fs;

use crate::scenario_runs::scenario;
use xoff::scenario_file::BUILT_IN;
use xoff_network::scenario::variant::BASE;

const SECTION: &str = "\n## Where claims end\n";

/// The scenario and the variants that a first cell names: `` `a` `` the base, `` `a`, `v` and `w` `` these variants,
/// `` `a`, and `v` `` the base too.
fn named(cell: &str) -> Vec<(String, String)> {
    let mut names = cell.split('`').skip(1).step_by(2);
    let scenario = names
        .next()
        .unwrap_or_else(|| panic!("no scenario: {cell}"));
    let mut variants: Vec<&str> = names.collect();
    if variants.is_empty() || cell.contains("`, and `") {
        variants.push(BASE);
    }
    let pair = |variant: &str| (scenario.to_owned(), variant.to_owned());
    variants.into_iter().map(pair).collect()
}

#[test]
fn a_table_says_where_the_claim_of_each_variant_ends() {
    let page = fs::read_to_string(crate::common::file("../docs/scenarios.md")).unwrap();
    let (_, section) = page.split_once(SECTION).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let mut said = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells.len() == 3 && !cells[1].is_empty(), "{row}");
        for pair in named(cells[0]) {
            assert!(!said.contains(&pair), "twice: {pair:?}");
            said.insert(pair);
        }
    }
    let mut built_in = BTreeSet::new();
    for (name, _) in BUILT_IN {
        let variants = scenario(name, &[]).variants;
        let all = variants.into_keys().chain([BASE.to_owned()]);
        built_in.extend(all.map(|variant| (name.to_owned(), variant)));
    }
    let missing: Vec<_> = built_in.difference(&said).collect();
    let unknown: Vec<_> = said.difference(&built_in).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "docs/scenarios.md, 'Where claims end': missing {missing:?}, no such variant {unknown:?}"
    );
}

#[test]
fn a_first_cell_names_a_scenario_and_variants() {
    let of = |cell| {
        named(cell)
            .into_iter()
            .map(|(_, variant)| variant)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("`a`"), [BASE]);
    assert_eq!(of("`a`, `v`"), ["v"]);
    assert_eq!(of("`a`, `v` and `w`"), ["v", "w"]);
    assert_eq!(of("`a`, and `v`"), ["v", BASE]);
}
