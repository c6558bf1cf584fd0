//! Owns which dialects of JSON Schema are spoken: 2020-12, which is meant when a schema names
//! none, and draft-07.
//!
//! Imports its siblings. Must not look into a schema beyond `$schema`.

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::error::{SchemaError, shortened};

/// The dialect that a document names.
pub(super) fn of(document: &Value) -> Result<Draft, SchemaError> {
    let Some(named) = document.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    match named.as_str().map(Draft::from_schema_uri) {
        Some(draft @ (Draft::Draft202012 | Draft::Draft7)) => Ok(draft),
        _ => Err(SchemaError::Dialect {
            pointer: "/$schema".to_owned(),
            found: shown(named),
        }),
    }
}

/// Refuses a schema inside a document that names another dialect than the whole.
pub(super) fn same(
    draft: Draft,
    keywords: &Map<String, Value>,
    pointer: &str,
) -> Result<(), SchemaError> {
    match keywords.get("$schema") {
        Some(named) if named.as_str().map(Draft::from_schema_uri) != Some(draft) => {
            let pointer = format!("{pointer}/$schema");
            Err(SchemaError::MixedDialects {
                pointer,
                found: shown(named),
            })
        }
        Some(_) | None => Ok(()),
    }
}

fn shown(named: &Value) -> String {
    shortened(named.as_str().unwrap_or("something that is no text"), 200)
}
