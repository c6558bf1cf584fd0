//! `read_file`: the text of a file, whole or by lines.
//!
//! Imports `domain`, `registry` and siblings. Notes what the session has seen, for later writes.

use async_trait::async_trait;
use serde::Deserialize;

use super::{
    arguments,
    boundary::Access,
    desk::Desk,
    error::Error,
    extract::{Cut, Extract, MAX_CONTENT},
    route::name_of,
    schema,
};
use crate::{
    domain::{Concurrency, Content, Json, Object, ToolDefinition, json::object},
    registry::{ExecutionContext, ToolBody, ToolError},
};

const DESCRIPTION: &str = "Reads a text file (UTF-8) of the workspace. Without offset and limit \
    the whole file is returned, up to 1 MiB; read larger files in parts. The content is exact: \
    line ends are kept and no line numbers are added. A file must have been read before it can be \
    overwritten or edited.";

/// The tool's declaration.
pub(super) fn definition() -> ToolDefinition {
    let parameters = schema::closed(
        [
            (
                "path",
                schema::path("File to read, relative to the workspace."),
            ),
            (
                "offset",
                schema::integer(
                    "First line to return, counted from 1; default 1. Behind the end of the file the \
                 content is empty.",
                    1,
                    schema::MAX_INTEGER,
                ),
            ),
            (
                "limit",
                schema::integer(
                    "Most lines to return; default as many as fit into 1 MiB.",
                    1,
                    schema::MAX_INTEGER,
                ),
            ),
        ],
        &["path"],
    );
    let mut definition =
        schema::definition("read_file", DESCRIPTION, parameters, Json::Object(output()));
    definition.concurrency = Concurrency::Parallel;
    definition.read_only = true;
    definition.idempotent = true;
    definition
}

fn output() -> Object {
    let lines = "Lines of the whole file; null when it is unknown, because a file over 16 MiB was \
                 not read to its end.";
    let line_count = object([
        ("type", Json::from(["integer", "null"])),
        ("description", lines.into()),
        ("minimum", 0.into()),
    ]);
    schema::closed(
        [
            (
                "path",
                schema::string("The file, links resolved, relative to the workspace."),
            ),
            (
                "content",
                schema::string("The text, exactly as it is in the file."),
            ),
            ("line_count", line_count),
            (
                "truncated",
                schema::boolean("Whether the file goes on behind the content."),
            ),
        ],
        &["path", "content", "line_count", "truncated"],
    )
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Arguments {
    fn cut(&self) -> Cut {
        match (self.offset, self.limit) {
            (None, None) => Cut::Whole,
            (offset, limit) => Cut::Lines {
                first: offset.unwrap_or(1).max(1),
                count: limit.unwrap_or(u64::MAX),
            },
        }
    }
}

/// The body.
#[derive(Debug)]
pub(super) struct ReadFile(pub(super) Desk);

impl ReadFile {
    async fn read(&self, context: &ExecutionContext) -> Result<Json, Error> {
        let wanted: Arguments = arguments::decoded(context.arguments())?;
        let read = self.0.work(context, move |work| {
            let route = work.route(&wanted.path)?;
            let mut file = work.root.file(&route, Access::Read)?;
            let extract = Extract::of(&mut file.content, wanted.cut(), &work.signal)?;
            let relative = &file.place.relative;
            Ok((name_of(relative)?, route.told(relative)?, extract))
        });
        let (key, path, extract) = read.await?;
        let version = extract.version.to_string();
        context
            .observe(&key, &version)
            .await
            .map_err(Error::Journal)?;
        Ok(object([
            ("path", Json::from(path)),
            ("content", extract.text.into()),
            ("line_count", extract.line_count.into()),
            ("truncated", extract.truncated.into()),
        ]))
    }
}

#[async_trait]
impl ToolBody for ReadFile {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        let path = arguments::path(context.arguments());
        self.read(context).await.map_err(|error| error.told(path))
    }

    /// The content as it is; a second block says what it is not.
    fn render(&self, arguments: &Object, value: &Json) -> Result<Vec<Content>, String> {
        let text = value
            .get("content")
            .and_then(Json::as_str)
            .ok_or("the value has no content")?;
        let mut blocks = vec![Content::text(text)];
        blocks.extend(remark(arguments, value, text).map(Content::text));
        Ok(blocks)
    }

    fn meta(&self, arguments: &Object, value: &Json) -> Result<Option<Json>, String> {
        let mut card = Object::new();
        card.insert("card".to_owned(), "read".into());
        for name in ["path", "line_count", "truncated"] {
            let member = value.get(name).ok_or("the value is not complete")?;
            card.insert(name.to_owned(), member.clone());
        }
        if let Some(offset) = arguments.get("offset") {
            card.insert("offset".to_owned(), offset.clone());
        }
        Ok(Some(Json::Object(card)))
    }

    fn view(&self, arguments: &Object) -> Option<Json> {
        Some(Json::Object(arguments::pending("read", "Read", arguments)))
    }
}

/// What a reader must know beside the content: that there is nothing, or how to go on.
fn remark(arguments: &Object, value: &Json, text: &str) -> Option<String> {
    let first = arguments.get("offset").and_then(Json::as_u64).unwrap_or(1);
    let count = value.get("line_count").and_then(Json::as_u64);
    let of = count
        .map(|count| format!(" of {count}"))
        .unwrap_or_default();
    if text.is_empty() {
        return Some(match count {
            Some(0) => "[the file is empty]".to_owned(),
            Some(count) => format!("[nothing at line {first}: the file has {count} lines]"),
            None => format!("[nothing at line {first}]"),
        });
    }
    if !value
        .get("truncated")
        .and_then(Json::as_bool)
        .unwrap_or_default()
    {
        return None;
    }
    let lines = text.split_inclusive('\n').count() as u64;
    let next = first.saturating_add(lines);
    let last = next.saturating_sub(1);
    let bound = MAX_CONTENT / 1024 / 1024;
    Some(format!(
        "[lines {first} to {last}{of}; the file goes on: read with offset {next} \
         (one read returns at most {bound} MiB)]"
    ))
}
