//! Model-facing content blocks and contexts, in MCP's shapes (proto-docs/lifecycle.md).
//!
//! Imports `json` only. Content is a projection of a result's value, never the fact itself.

use super::json::{ArrayWriter, Json, ObjectWriter};

/// One block of what the model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A picture: base64 data and its media type.
    Image {
        /// Base64.
        data: String,
        /// Media type.
        mime_type: String,
    },
    /// Sound: base64 data and its media type.
    Audio {
        /// Base64.
        data: String,
        /// Media type.
        mime_type: String,
    },
    /// A link to a resource that the reader may fetch.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// Its short name.
        name: String,
        /// Media type, when known.
        mime_type: Option<String>,
    },
    /// An embedded resource, in MCP's shape.
    Resource(Json),
    /// A value as JSON, for readers that take it structured.
    Json(Json),
}

impl Content {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. }
            | Self::Audio { .. }
            | Self::ResourceLink { .. }
            | Self::Resource(_)
            | Self::Json(_) => None,
        }
    }

    /// Writes the block's members.
    pub fn write(&self, w: &mut ObjectWriter<'_>) {
        match self {
            Self::Text(text) => w.string("type", "text").string("text", text),
            Self::Image { data, mime_type } => w
                .string("type", "image")
                .string("data", data)
                .string("mimeType", mime_type),
            Self::Audio { data, mime_type } => w
                .string("type", "audio")
                .string("data", data)
                .string("mimeType", mime_type),
            Self::ResourceLink {
                uri,
                name,
                mime_type,
            } => w
                .string("type", "resource_link")
                .string("uri", uri)
                .string("name", name)
                .string_opt("mimeType", mime_type.as_deref()),
            Self::Resource(resource) => w.string("type", "resource").json("resource", resource),
            Self::Json(value) => w.string("type", "json").json("json", value),
        };
    }

    /// Writes blocks as the elements of an array.
    pub fn write_all(blocks: &[Self], array: &mut ArrayWriter<'_>) {
        for block in blocks {
            array.nested(|w| block.write(w));
        }
    }
}

/// Who added a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSource {
    /// `tool`, `around`, `post-execute`, `execution`.
    pub kind: String,
    /// The tool's or layer's name.
    pub name: String,
}

/// A message to hand to the model after the batch's results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Who added it.
    pub source: ContextSource,
    /// What the model reads.
    pub content: Vec<Content>,
}

impl Context {
    /// A text from `kind`/`name`.
    pub fn text(kind: &str, name: &str, text: impl Into<String>) -> Self {
        Self {
            source: ContextSource {
                kind: kind.to_owned(),
                name: name.to_owned(),
            },
            content: vec![Content::text(text)],
        }
    }

    /// Writes the context's members.
    pub fn write(&self, w: &mut ObjectWriter<'_>) {
        w.nested("source", |s| {
            s.string("kind", &self.source.kind)
                .string("name", &self.source.name);
        })
        .array("content", |a| Content::write_all(&self.content, a));
    }
}
