//! The pieces that the four definitions are made of.
//!
//! Imports `domain`. Descriptions here are read by models.

use crate::domain::{Json, Object, ToolDefinition, ToolName, ToolSourceName, json::object};

/// The format that marks an argument as a path in the workspace (configuration: `paths`).
const PATH_FORMAT: &str = "workspace-path";
/// Longest path argument in characters, as the kernel's `PATH_MAX`.
const MAX_PATH: u64 = 4096;
/// Largest integer that every JSON reader keeps exactly.
pub(super) const MAX_INTEGER: u64 = 9_007_199_254_740_991;

/// A definition of this source.
///
/// # Panics
/// Never: the names are constants, and a test makes all definitions.
#[expect(
    clippy::expect_used,
    reason = "the four names are constants that a test parses"
)]
pub(super) fn definition(
    name: &str,
    description: &str,
    parameters: Object,
    output: Json,
) -> ToolDefinition {
    let name = ToolName::parse(name).expect("a constant tool name");
    let mut definition = ToolDefinition::new(name, description, parameters, output);
    definition.source = ToolSourceName::new("builtin");
    definition
}

/// An object schema that takes no other members.
pub(super) fn closed<const N: usize>(properties: [(&str, Json); N], required: &[&str]) -> Object {
    let required: Json = required.iter().copied().collect();
    let members = [
        ("type", "object".into()),
        ("properties", object(properties)),
        ("required", required),
        ("additionalProperties", false.into()),
    ];
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// A path argument. NUL is refused here already, so that nobody is asked about a path that cannot
/// exist.
pub(super) fn path(description: &str) -> Json {
    object([
        ("type", Json::from("string")),
        ("description", description.into()),
        ("format", PATH_FORMAT.into()),
        ("minLength", 1.into()),
        ("maxLength", MAX_PATH.into()),
        ("pattern", r"^[^\x00]+$".into()),
    ])
}

/// A string.
pub(super) fn string(description: &str) -> Json {
    object([("type", "string"), ("description", description)])
}

/// A boolean.
pub(super) fn boolean(description: &str) -> Json {
    object([("type", "boolean"), ("description", description)])
}

/// An integer from `least` to `most`.
pub(super) fn integer(description: &str, least: u64, most: u64) -> Json {
    object([
        ("type", Json::from("integer")),
        ("description", description.into()),
        ("minimum", least.into()),
        ("maximum", most.into()),
    ])
}

/// A count in a value.
pub(super) fn count(description: &str) -> Json {
    object([
        ("type", Json::from("integer")),
        ("description", description.into()),
        ("minimum", 0.into()),
    ])
}

/// A digest of content.
pub(super) fn digest(description: &str) -> Json {
    object([
        ("type", "string"),
        ("description", description),
        ("pattern", "^sha256:[0-9a-f]{64}$"),
    ])
}
