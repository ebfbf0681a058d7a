//! The JSON schema of scenarios.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};

use super::Scenario;

/// The JSON schema (draft 2020-12) of a scenario file, for editors and other tools.
///
/// TOML has no null: an optional key is one that is not required.
pub fn json_schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().with_transform(WithoutNull);
    settings.into_generator().into_root_schema_for::<Scenario>()
}

/// Removes the keys of a value that are null, recursively.
fn without_null(value: &mut serde_json::Value) {
    if let serde_json::Value::Object(table) = value {
        table.retain(|_, value| !value.is_null());
        table.values_mut().for_each(without_null);
    }
}

/// Removes null from types and defaults.
#[derive(Debug, Clone)]
struct WithoutNull;

impl Transform for WithoutNull {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if let Some(mut default) = schema.remove("default")
            && !default.is_null()
        {
            without_null(&mut default);
            schema.insert("default".into(), default);
        }
        if let Some(types) = schema
            .get_mut("type")
            .and_then(|types| types.as_array_mut())
        {
            types.retain(|name| name != "null");
            if let [one] = &types[..] {
                let one = one.clone();
                schema.insert("type".into(), one);
            }
        }
        let any = schema.get_mut("anyOf").and_then(|any| any.as_array_mut());
        let Some(any) = any else { return };
        any.retain(|one| one.get("type").is_none_or(|name| name != "null"));
        let single = (any.len() == 1).then(|| any.remove(0));
        if let Some(serde_json::Value::Object(single)) = single {
            schema.remove("anyOf");
            for (key, value) in single {
                // What the schema of the key itself says takes precedence over the schema of its type.
                if schema.get(&key).is_none() {
                    schema.insert(key, value);
                }
            }
        }
    }
}
