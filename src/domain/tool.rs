//! What a tool declares of itself: the definition, its hash and its model-facing part.
//!
//! Imports `json` and `id`. Holds no code: bodies are a port of the registry.

use std::{fmt, sync::Arc, time::Duration};

use super::{
    id::ToolName,
    json::{Digest, Json, Object, ObjectWriter},
};

/// Where a tool comes from, as operators see it: `builtin`, `config`, `library`, `mcp:<server>` …
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolSourceName(Arc<str>);

impl ToolSourceName {
    /// A source's name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolSourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether calls of a tool may overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrency {
    /// Never; the default, because overlap must be declared.
    #[default]
    Exclusive,
    /// Always.
    Parallel,
    /// As the body's classifier says of the arguments; anything but exactly `true` is exclusive.
    Classified,
}

impl Concurrency {
    fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Parallel => "parallel",
            Self::Classified => "classified",
        }
    }
}

/// The declared last word over a tool's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finalizer {
    /// Text blocks together keep at most this many bytes: head and tail stay, the middle is told.
    MaxBytes(usize),
}

/// A tool's declaration. Only name, description and parameters ever reach the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    /// Name on the wire.
    pub name: ToolName,
    /// What the model reads.
    pub description: String,
    /// JSON Schema of the arguments; the root describes an object.
    pub parameters: Object,
    /// JSON Schema of the canonical value.
    pub output_schema: Json,
    /// Where it comes from.
    pub source: ToolSourceName,
    /// Budget of one dispatch over all attempts; none for tools without a sensible deadline.
    pub timeout: Option<Duration>,
    /// Whether calls may overlap.
    pub concurrency: Concurrency,
    /// Whether a repetition has the same effect as one run.
    pub idempotent: bool,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// The declared finalizer.
    pub finalize: Option<Finalizer>,
    /// Changes whenever the code behind an unchanged declaration changes its meaning.
    pub revision: u32,
}

impl ToolDefinition {
    /// A definition with the defaults of the field: no timeout, exclusive, neither idempotent nor
    /// read-only.
    pub fn new(name: ToolName, description: &str, parameters: Object, output_schema: Json) -> Self {
        Self {
            name,
            description: description.to_owned(),
            parameters,
            output_schema,
            source: ToolSourceName::new("library"),
            timeout: None,
            concurrency: Concurrency::default(),
            idempotent: false,
            read_only: false,
            finalize: None,
            revision: 1,
        }
    }

    /// SHA-256 over the canonical form of the whole declaration (proto-docs/routes.md). Member
    /// order in schemas does not matter; every value does.
    pub fn hash(&self) -> Digest {
        let mut text = Vec::with_capacity(512);
        self.full().write_canonical(&mut text);
        Digest::of_bytes(&text)
    }

    /// The whole declaration, for operators.
    pub fn full(&self) -> Json {
        let mut output = Object::new();
        output.insert("schema".to_owned(), self.output_schema.clone());
        let mut whole = Object::new();
        let mut put = |key: &str, value: Json| whole.insert(key.to_owned(), value);
        put("name", self.name.as_str().into());
        put("description", self.description.as_str().into());
        put("parameters", Json::Object(self.parameters.clone()));
        put("output", Json::Object(output));
        put("source", self.source.as_str().into());
        put("concurrency", self.concurrency.as_str().into());
        put("idempotent", self.idempotent.into());
        put("read_only", self.read_only.into());
        put("revision", self.revision.into());
        if let Some(timeout) = self.timeout {
            put(
                "timeout",
                humantime::format_duration(timeout)
                    .to_string()
                    .as_str()
                    .into(),
            );
        }
        if let Some(Finalizer::MaxBytes(max)) = self.finalize {
            put(
                "finalize",
                super::json::object([("max_bytes", Json::from(max))]),
            );
        }
        Json::Object(whole)
    }

    /// Writes the model-facing members: name, description, parameters.
    pub fn write_for_model(&self, w: &mut ObjectWriter<'_>) {
        w.string("name", self.name.as_str())
            .string("description", &self.description)
            .object("parameters", &self.parameters);
    }
}
