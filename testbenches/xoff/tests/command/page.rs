//! Checks README.md: what its transcripts show is what the command prints. Checks
//! docs/scenarios.md: every key comes from the schema, every example can be read, the language of fault rules is
//! complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::scenario_runs::{holds, run_watched};
use serde_json::Value;
use xoff::scenario_file::{BUILT_IN, Source};
use xoff_network::metrics::Quantity;
use xoff_network::scenario::json_schema;
use xoff_sim::link::FaultRule;

const BEGIN: &str = "do not edit. -->\n";
const END: &str = "<!-- keys: end -->";

fn path() -> PathBuf {
    crate::common::file("../docs/scenarios.md")
}

fn page() -> String {
    fs::read_to_string(path()).unwrap()
}

fn schema() -> Value {
    serde_json::to_value(json_schema()).unwrap()
}

/// Returns the definition that a schema refers to, or the schema itself.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(name) => &root["$defs"][name.trim_start_matches("#/$defs/")],
        None => schema,
    }
}

/// Converts text to one line and escapes `|`, so that it fits into a table cell.
fn line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

/// Describes the values that a key takes.
fn takes(root: &Value, schema: &Value) -> String {
    let definition = resolved(root, schema);
    let name = schema["$ref"]
        .as_str()
        .and_then(|name| name.rsplit('/').next());
    if let (Some(name), Some(_)) = (name, definition["pattern"].as_str()) {
        let example = definition["examples"][0].as_str().unwrap();
        return format!("{}, such as `{example}`", spaced(name));
    }
    if let Some(words) = definition["enum"].as_array() {
        return words
            .iter()
            .map(|word| format!("`{}`", word.as_str().unwrap()))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if let Some(variants) = definition["oneOf"].as_array() {
        let variant = |variant: &Value| match variant["const"].as_str() {
            Some(word) => format!("`{word}`"),
            None => {
                let key = variant["properties"].as_object().unwrap().keys().next();
                format!("`{{ {} = … }}`", key.unwrap())
            }
        };
        return variants.iter().map(variant).collect::<Vec<_>>().join(", ");
    }
    if let Some(kinds) = definition["anyOf"].as_array() {
        let kinds: Vec<String> = kinds.iter().map(|kind| takes(root, kind)).collect();
        return kinds.join(", or ");
    }
    if definition["properties"].is_object() {
        return "table, below".into();
    }
    match &definition["additionalProperties"] {
        Value::Object(of)
            if of
                .get("type")
                .is_some_and(|kind| kind == "number" || kind == "integer") =>
        {
            return "numbers by name".into();
        }
        Value::Object(_) => return "tables by name, below".into(),
        Value::Bool(true) => return "table of keys and values".into(),
        _ => {}
    }
    match definition["type"]
        .as_str()
        .unwrap_or_else(|| panic!("{definition}"))
    {
        "array" => {
            let items = definition
                .get("items")
                .or(definition.get("prefixItems").map(|items| &items[0]));
            let items = takes(root, items.unwrap_or(&Value::Null));
            match definition["maxItems"].as_u64() {
                Some(count) => format!("list of {count}: {items}"),
                None => format!("list: {items}"),
            }
        }
        "string" => "text".into(),
        "boolean" => "`true`, `false`".into(),
        "integer" | "number" => "number".into(),
        other => panic!("{other}"),
    }
}

/// `ByteCount` as "byte count".
fn spaced(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.extend(c.to_lowercase());
    }
    text
}

fn default(required: &[Value], key: &str, schema: &Value) -> String {
    if required.iter().any(|known| known == key) {
        return "required".into();
    }
    match schema.get("default") {
        None | Some(Value::Object(_)) if !schema["default"].is_object() => "–".into(),
        Some(Value::Object(table)) if table.len() > 1 => "–".into(),
        Some(Value::String(text)) if text.is_empty() => "–".into(),
        Some(Value::Array(list)) if list.is_empty() => "–".into(),
        Some(value) => format!("`{}`", inline(value)),
        None => "–".into(),
    }
}

/// Formats a value as one line of TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let pairs: Vec<_> = table
                .iter()
                .map(|(key, value)| format!("{key} = {}", inline(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

/// Writes the table of a definition's keys, and those of nested tables. Tables that several keys have are written once:
/// `seen` are their names, with the key that they are written for.
fn table(
    root: &Value,
    heading: &str,
    path: &str,
    definition: &Value,
    seen: &mut BTreeMap<String, String>,
    text: &mut String,
) {
    *text += &format!("\n### {heading}\n\n");
    if !path.is_empty() {
        *text += &format!("{}\n\n", definition["description"].as_str().unwrap().trim());
    }
    *text += "| key | takes | default | |\n|---|---|---|---|\n";
    let required = definition["required"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut inner = Vec::new();
    for (key, schema) in definition["properties"].as_object().unwrap() {
        let (reference, is_list) = match schema.get("items") {
            Some(items) => (items, true),
            None => (schema, false),
        };
        // Of tables by name, what each of them has.
        let named = &resolved(root, reference)["additionalProperties"];
        let (reference, by_name) = match named.is_object() {
            true => (named, true),
            false => (reference, false),
        };
        let of = resolved(root, reference);
        for variant in of["oneOf"].as_array().into_iter().flatten() {
            for (word, schema) in variant["properties"].as_object().into_iter().flatten() {
                let of = resolved(root, schema);
                let name = schema["$ref"].as_str().unwrap_or_default().to_owned();
                // Small tables that the words themselves have are described with them.
                if of["properties"].is_object() && !name.is_empty() && !seen.contains_key(&name) {
                    seen.insert(name, format!("`[{path}{key}.{word}]`"));
                    let place = format!("{path}{key}.{word}");
                    inner.push((place.clone(), format!("`[{place}]`"), of));
                }
            }
        }
        let name = reference["$ref"].as_str().unwrap_or_default().to_owned();
        let mut elsewhere = None;
        if of["properties"].is_object() {
            match seen.get(&name) {
                Some(first) => elsewhere = Some(format!("table, as {first}")),
                None => {
                    let heading = match (is_list, by_name) {
                        (true, _) => format!("`[[{path}{key}]]`"),
                        (false, true) => format!("`[{path}{key}.NAME]`"),
                        (false, false) => format!("`[{path}{key}]`"),
                    };
                    seen.insert(name, heading.clone());
                    inner.push((format!("{path}{key}"), heading, of));
                }
            }
        }
        let description = schema["description"]
            .as_str()
            .unwrap_or_else(|| panic!("{path}{key} has no description"));
        let takes = elsewhere.unwrap_or_else(|| takes(root, schema));
        let default = default(&required, key, schema);
        *text += &format!(
            "| `{key}` | {takes} | {default} | {} |\n",
            line(description)
        );
    }
    for (key, heading, of) in inner {
        table(root, &heading, &format!("{key}."), of, seen, text);
    }
}

fn keys() -> String {
    let root = schema();
    let mut text = String::new();
    let mut seen = BTreeMap::new();
    table(&root, "At the top", "", &root, &mut seen, &mut text);
    text += "\n### Quantities\n\nQuantities are texts of a decimal number and a unit; a bare `0` needs none.\n\n| | units | example |\n|---|---|---|\n";
    for (name, definition) in root["$defs"].as_object().unwrap() {
        let description = definition["description"].as_str().unwrap_or_default();
        if let Some((_, units)) = description.split_once("a number and one of ") {
            let example = definition["examples"][0].as_str().unwrap();
            text += &format!(
                "| {} | {} | `\"{example}\"` |\n",
                spaced(name),
                units.trim_end_matches('.')
            );
        }
    }
    text + "\n"
}

#[test]
fn the_page_has_every_key_of_the_schema() {
    let (page, keys) = (page(), keys());
    let begin = page.find(BEGIN).unwrap() + BEGIN.len();
    let end = page.find(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path(), [&page[..begin], &keys, &page[end..]].concat()).unwrap();
        return;
    }
    assert!(
        page[begin..end] == keys,
        "docs/scenarios.md is behind the scenario types: UPDATE_DOCS=1 cargo test --workspace page\n{keys}"
    );
}

/// The page of all metrics, from their types.
fn metrics() -> String {
    let mut text = "\
# Metrics

What a run measures, by name: `[[expect]]` compares them with numbers, `xoff run --json` and `summary.json` have all of a
run, `xoff diff` compares those of two. Rates and times are of the measured window, from `measure_from` to the end;
counters too, unless it says 'since the start'. A metric that is undefined, such as the latency of messages when none
was completed, is left out. Bytes of frames include the FCS, not preamble and gap.

FLOW is a flow's name as scenarios and charts have it, NODE, HOST and SWITCH that of a node, CLASS a priority from 0 to 7,
PORT a number from 0 on, GROUP an entry of switches, QUANTILE one of p50, p90, p99, p999. `.total` is the sum.

<!-- Written by `UPDATE_DOCS=1 cargo test --workspace page`; do not edit. -->

| name | unit | of | |
|---|---|---|---|
"
    .to_owned();
    for quantity in Quantity::ALL {
        let (of, subject) = quantity.scope().form();
        let name = quantity.name();
        let total = match quantity.has_total() {
            true => format!(", `{name}.total`"),
            false => String::new(),
        };
        let (unit, description) = (quantity.unit(), line(&quantity.description()));
        text += &format!("| `{name}{subject}`{total} | {unit} | {of} | {description} |\n");
    }
    text
}

#[test]
fn the_page_has_every_metric() {
    let path = crate::common::file("../docs/metrics.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, metrics()).unwrap();
        return;
    }
    let page = fs::read_to_string(path).unwrap();
    assert!(
        page == metrics(),
        "docs/metrics.md is behind the types: UPDATE_DOCS=1 cargo test --workspace page"
    );
}

/// Returns the code blocks of a kind, the word after the three backticks.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let blocks = page.split("```").skip(1).step_by(2);
    let of = |block: &str| {
        let (info, text) = block.split_once('\n')?;
        (info == kind).then(|| text.to_owned())
    };
    blocks.filter_map(of).collect()
}

#[test]
fn every_example_of_the_page_is_a_scenario() {
    let page = page();
    let folder = tempfile::tempdir().unwrap();
    let capture = crate::common::file("captures/vlan100.pcap");
    fs::copy(capture, folder.path().join("hostile.pcap")).unwrap();
    let read = |text: String| {
        let source = Source {
            name: "example".into(),
            origin: "docs/scenarios.md".into(),
            text: text.clone(),
            folder: folder.path().into(),
        };
        source
            .read(&[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let topology = "5 1 4\n4\n0 4 100Gbps 1000ns 0\n1 4 100Gbps 1000ns 0\n2 4 100Gbps 1000ns 0\n3 4 100Gbps 1us 0\n";
    fs::write(folder.path().join("fat.txt"), topology).unwrap();
    fs::write(
        folder.path().join("WebSearch.txt"),
        "0 0\n50000 40\n1000000 100\n",
    )
    .unwrap();
    let goal = crate::common::file("goal/ring.goal");
    fs::copy(goal, folder.path().join("ring.goal")).unwrap();
    let whole = blocks(&page, "toml");
    assert_eq!(whole.len(), 7);
    let lossy = read(whole[0].clone());
    assert!(!lossy.links[0].faults.is_empty());
    let clos = read(whole[1].clone());
    holds(&run_watched(&clos, &[]).summary);
    let web = run_watched(&read(whole[2].clone()), &[]);
    assert!(web.summary.metrics["slowdown.web.p99"] >= 1.0);
    let ring = fs::read_to_string(crate::common::file("goal/ring.toml")).unwrap();
    assert_eq!(whole[3], ring);
    let store = run_watched(&read(whole[4].clone()), &[]);
    assert!(store.summary.metrics["goodput_gbps.store.0"] > 0.0);
    for (example, job) in [(3, "ring"), (5, "exchange"), (6, "ask")] {
        let jobs = run_watched(&read(whole[example].clone()), &[]);
        assert!(jobs.summary.metrics[&format!("job_rounds.{job}")] >= 1.0);
    }
    let parts = blocks(&page, "toml part");
    assert_eq!(parts.len(), 12);
    for part in parts {
        // An example that is a part of a scenario replaces the same keys of `pair`.
        let mut table: toml::Table = Source::find("pair").unwrap().text.parse().unwrap();
        table.extend(part.parse::<toml::Table>().unwrap());
        read(toml::to_string(&table).unwrap());
    }
}

/// Returns everything between backticks in the first cells of the rows of a table.
fn cells<'a>(page: &'a str, title: &str) -> Vec<&'a str> {
    let start = page.find(&format!("| {title} |")).unwrap();
    let rows = page[start..]
        .lines()
        .skip(2)
        .take_while(|row| row.starts_with('|'));
    let first = rows.map(|row| row.split('|').nth(1).unwrap());
    first
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn the_page_has_the_whole_language_of_fault_rules() {
    let page = page();
    let word = |text: &&str| text.split(' ').next().unwrap().to_owned();
    // The words that the parser's messages suggest.
    let offered = |rule: &str| {
        let error = rule.parse::<FaultRule>().unwrap_err().to_string();
        let (_, list) = error.rsplit_once("expected ").unwrap();
        let list = list.replace(" or ", ", ");
        list.split(", ")
            .map(|item| word(&item))
            .collect::<BTreeSet<_>>()
    };
    for (title, broken, rule) in [
        ("condition", "x: drop", "{}: drop"),
        ("action", "any: x", "any: {}"),
    ] {
        let cells = cells(&page, title);
        for cell in &cells {
            let rule = rule.replace("{}", cell);
            rule.parse::<FaultRule>()
                .unwrap_or_else(|error| panic!("{error}"));
        }
        assert_eq!(
            cells.iter().map(word).collect::<BTreeSet<_>>(),
            offered(broken),
            "{title}"
        );
    }
}

/// Checks that the schema has each key of a value and each word of an enumeration.
fn knows(root: &Value, schema: &Value, value: &Value, path: &str) {
    let definition = resolved(root, schema);
    match value {
        Value::Object(table) => {
            let variants = definition["oneOf"].as_array().cloned().unwrap_or_default();
            for (key, value) in table {
                match &definition["additionalProperties"] {
                    Value::Bool(true) => continue,
                    named if named.is_object() => {
                        knows(root, named, value, &format!("{path}.{key}"));
                        continue;
                    }
                    _ => {}
                }
                let variant = variants.iter().map(|variant| &variant["properties"][key]);
                let inner = variant
                    .chain([&definition["properties"][key]])
                    .find(|inner| !inner.is_null());
                let inner = inner.unwrap_or_else(|| panic!("{path}.{key} is not in the schema"));
                knows(root, inner, value, &format!("{path}.{key}"));
            }
        }
        Value::Array(items) => {
            let of = definition
                .get("items")
                .unwrap_or(&definition["prefixItems"][0]);
            for item in items {
                knows(root, of, item, path);
            }
        }
        Value::String(word) => {
            if let Some(words) = definition["enum"].as_array() {
                assert!(words.iter().any(|known| known == word), "{path} = {word}");
            }
        }
        _ => {}
    }
}

#[test]
fn the_schema_knows_the_built_in_scenarios_and_what_show_prints() {
    let root = schema();
    assert_eq!(root["additionalProperties"], Value::Bool(false));
    let text = root.to_string();
    assert!(!text.contains("null"), "TOML has no null");
    for (name, _) in BUILT_IN {
        let source = Source::find(name).unwrap();
        let table: toml::Table = source.text.parse().unwrap();
        knows(&root, &root, &serde_json::to_value(table).unwrap(), name);
        let all = toml::to_string(source.read(&[]).unwrap().written()).unwrap();
        let table: toml::Table = all.parse().unwrap();
        knows(&root, &root, &serde_json::to_value(table).unwrap(), name);
    }
}

#[test]
fn show_prints_what_run_takes() {
    let show = |arguments: &[&str]| {
        let said = crate::common::run(&[&["show"], arguments].concat(), None, false);
        said.outcome.unwrap();
        said.out
    };
    for (name, text) in BUILT_IN {
        assert_eq!(show(&[name]), text);
    }
    let shown = show(&[
        "pair",
        "--set",
        "flows.bulk.mtu=4096",
        "--set",
        "title=two\nlines",
    ]);
    let source = Source {
        text: shown,
        ..Source::find("pair").unwrap()
    };
    let scenario = source.read(&[]).unwrap();
    let set = |key: &str, value: &str| format!("{key}={value}").parse().unwrap();
    let expected = Source::find("pair")
        .unwrap()
        .read(&[set("flows.bulk.mtu", "4096"), set("title", "two\nlines")])
        .unwrap();
    assert_eq!(scenario, expected);
    let said = crate::common::run(&["schema"], None, false);
    assert_eq!(
        (said.out.parse::<Value>().unwrap(), said.err.as_str()),
        (schema(), "")
    );
}

#[test]
fn transcripts_of_the_readme_are_what_the_command_prints() {
    let readme = fs::read_to_string(crate::common::file("../README.md")).unwrap();
    let out = tempfile::tempdir().unwrap();
    let mut count = 0;
    for block in blocks(&readme, "text") {
        let (command, expected) = block.split_once('\n').unwrap();
        let arguments: Vec<_> = command.split(' ').skip(2).collect();
        // The output of decode does not depend on which parser is used.
        let more: &[&str] = match arguments[0] {
            "calc" => &[],
            "decode" => &["--model"],
            "run" => &[
                "--out",
                out.path().to_str().unwrap(),
                "--checkpoints",
                "off",
            ],
            other => panic!("{other}"),
        };
        let output = crate::common::xoff()
            .current_dir(crate::common::file(".."))
            .args([&arguments, more].concat())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed = printed.replace(out.path().to_str().unwrap(), "out");
        let mut lines = printed.lines();
        let mut left_out = false;
        for shown in expected.lines() {
            // Lines are left out at a mark, and only there.
            if shown.trim() == "…" {
                left_out = true;
                continue;
            }
            let line = match left_out {
                true => lines.find(|line| *line == shown),
                false => lines.next(),
            };
            assert_eq!(line, Some(shown), "{command}\n{printed}");
            left_out = false;
        }
        assert!(left_out || lines.next().is_none(), "{command}\n{printed}");
        count += 1;
    }
    assert_eq!(count, 4, "transcripts of calc, decode and run");
}

/// Runs the command of README that sweeps over seeds of a scenario, with these seeds in place of its own. Returns a
/// metric by variant and seed.
fn swept(
    readme: &str,
    scenario: &str,
    seeds: &str,
    metric: &str,
    code: i32,
) -> BTreeMap<String, Vec<f64>> {
    let start = readme.find(&format!("    xoff run {scenario} ")).unwrap();
    let end = start + readme[start..].find("\n\n").unwrap();
    let command = readme[start..end].replace("\\\n", " ");
    let arguments = command.split_whitespace().skip(1);
    let arguments = arguments.map(|argument| match argument.starts_with("seed=") {
        true => format!("seed={seeds}"),
        false => argument.to_owned(),
    });
    let out = tempfile::tempdir().unwrap();
    let ran = crate::common::xoff()
        .args(arguments)
        .args(["--checkpoints", "off", "--out"])
        .arg(out.path())
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(code), "{command}");
    let csv = out.path().join(format!("{scenario}-sweep/sweep.csv"));
    let csv = fs::read_to_string(csv).unwrap();
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let column = |name: &str| head.iter().position(|of| *of == name).unwrap();
    let (variant, value) = (column("variant"), column(metric));
    let mut by_variant: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows {
        let of = by_variant.entry(row[variant].into()).or_default();
        of.push(row[value].parse().unwrap());
    }
    by_variant
}

/// Goodput of `ecmp` in Gb/s by variant and seed. Its expectations are of 96 hosts, so they fail.
fn goodput_of_ecmp(readme: &str, seeds: &str) -> BTreeMap<String, Vec<f64>> {
    swept(readme, "ecmp", seeds, "goodput_gbps.total", 1)
}

/// Variant of each row of README's table of `ecmp`, and its least, mean and greatest goodput.
fn table_of_ecmp(readme: &str) -> BTreeMap<String, [f64; 3]> {
    let start = readme.find("| hashes | congestion control |").unwrap();
    let rows = readme[start..].lines().skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let variant = fields[1].split('`').nth(1).unwrap();
        let number = |place: usize| {
            fields[place]
                .strip_suffix(" Gb/s")
                .unwrap()
                .parse()
                .unwrap()
        };
        (variant.into(), [3, 4, 5].map(number))
    };
    rows.map(row).collect()
}

/// One seed of the ten: within what the table says of them.
#[test]
fn a_seed_of_the_readmes_ecmp_is_in_its_row() {
    let readme = fs::read_to_string(crate::common::file("../README.md")).unwrap();
    let table = table_of_ecmp(&readme);
    let ran = goodput_of_ecmp(&readme, "1");
    assert_eq!(ran.len(), table.len());
    for (variant, goodput) in ran {
        let [least, _, greatest] = table[&variant];
        let in_row = (least - 0.05..=greatest + 0.05).contains(&goodput[0]);
        assert!(in_row, "{variant}: {goodput:?}, {least} to {greatest}");
    }
}

#[test]
#[ignore = "thirty runs of 24 hosts"]
fn the_readmes_table_of_ecmp_is_what_its_command_prints() {
    let readme = fs::read_to_string(crate::common::file("../README.md")).unwrap();
    let ran = goodput_of_ecmp(&readme, "1..10");
    let rounded = |goodput: &Vec<f64>| {
        let least = goodput.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = goodput.iter().copied().fold(0.0, f64::max);
        let mean = goodput.iter().sum::<f64>() / goodput.len() as f64;
        [least, mean, greatest].map(|rate| (rate * 10.0).round() / 10.0)
    };
    let ran: BTreeMap<String, [f64; 3]> = (ran.iter())
        .map(|(variant, goodput)| (variant.clone(), rounded(goodput)))
        .collect();
    assert_eq!(ran, table_of_ecmp(&readme));
}

/// Whether rings of seeds lock, and of how many of how many README says that they do.
fn locked_rings(seeds: &str) -> (BTreeMap<String, Vec<f64>>, [usize; 2]) {
    let readme = fs::read_to_string(crate::common::file("../README.md")).unwrap();
    let (before, _) = readme
        .split_once(" seeds of the ring lock, without it none:")
        .unwrap();
    let words: Vec<&str> = before.rsplit(' ').take(3).collect();
    let [of, "of", locked] = words[..] else {
        panic!("{words:?}")
    };
    let claimed = [locked, of].map(|count| count.parse().unwrap());
    let ran = swept(&readme, "ring-deadlock", seeds, "deadlocks", 0);
    assert_eq!(ran.keys().collect::<Vec<_>>(), ["base", "two"]);
    (ran, claimed)
}

/// One seed of the ten.
#[test]
fn a_seed_of_the_readmes_ring_locks_with_the_third_flow_alone() {
    let (ran, _) = locked_rings("1");
    assert_eq!(
        (&ran["base"][..], &ran["two"][..]),
        (&[1.0][..], &[0.0][..])
    );
}

#[test]
#[ignore = "ten runs of 100 ms, and ten of 20 ms"]
fn as_many_rings_lock_as_the_readme_says() {
    let (ran, [locked, of]) = locked_rings("1..10");
    let locks = |variant: &str| ran[variant].iter().filter(|count| **count > 0.0).count();
    assert_eq!([ran["base"].len(), ran["two"].len()], [of; 2]);
    assert_eq!([locks("base"), locks("two")], [locked, 0]);
}
