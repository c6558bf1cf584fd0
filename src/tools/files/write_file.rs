//! `write_file`: a file's whole content, new or in place of what the session has seen.
//!
//! Imports `domain`, `registry` and siblings.

use std::str::FromStr;

use async_trait::async_trait;
use serde::Deserialize;

use super::{
    arguments,
    desk::{Aim, Change, Desk, Work, check_fresh},
    diff::Diff,
    error::Error,
    extract::{MAX_CONTENT, text},
    place::{OpenFile, Target},
    replace::Replacement,
    schema,
    version::Snapshot,
};
use crate::{
    domain::{Content, Digest, EventType, Execution, Json, Object, ToolDefinition},
    registry::{ExecutionContext, ToolBody, ToolError},
};

const DESCRIPTION: &str = "Writes a text file of the workspace, whole: creates it with the \
    directories above it, or replaces its content. A file that exists must have been read in this \
    session and be unchanged since, or if_digest must name its current content. To change a part \
    of a file use edit_file.";

/// The tool's declaration.
pub(super) fn definition() -> ToolDefinition {
    let parameters = schema::closed(
        [
            (
                "path",
                schema::path("File to write, relative to the workspace."),
            ),
            (
                "content",
                schema::string("The whole new content of the file."),
            ),
            (
                "if_digest",
                schema::digest(
                    "Replace only when the file's current content has this digest (sha256:<hex>); then \
                 it need not have been read in this session.",
                ),
            ),
        ],
        &["path", "content"],
    );
    let output = schema::closed(
        [
            (
                "path",
                schema::string("The file, links resolved, relative to the workspace."),
            ),
            ("created", schema::boolean("Whether the file was new.")),
            ("bytes", schema::count("Size of the new content in bytes.")),
            ("digest", schema::digest("SHA-256 of the new content.")),
            (
                "diff",
                schema::string(
                    "What changed in a replaced text, as a unified diff, cut when long.",
                ),
            ),
        ],
        &["path", "created", "bytes", "digest"],
    );
    let mut definition =
        schema::definition("write_file", DESCRIPTION, parameters, Json::Object(output));
    definition.idempotent = true;
    definition
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    content: String,
    if_digest: Option<String>,
}

/// What must be true of a file before it is replaced.
#[derive(Debug)]
enum Condition {
    /// Its content has this digest.
    Digest(Digest),
    /// The session observed it so.
    Observed(String),
}

impl Condition {
    fn needs_content(&self) -> bool {
        match self {
            Self::Digest(_) => true,
            Self::Observed(version) => Digest::from_str(version).is_ok(),
        }
    }

    fn check(&self, now: &Snapshot) -> Result<(), Error> {
        match self {
            Self::Digest(digest) if now.digest == Some(*digest) => Ok(()),
            Self::Digest(_) => Err(Error::Stale(
                "does not have the content that if_digest names",
            )),
            Self::Observed(version) => check_fresh(Some(version), now),
        }
    }
}

/// The body.
#[derive(Debug)]
pub(super) struct WriteFile(pub(super) Desk);

impl WriteFile {
    async fn write(&self, context: &ExecutionContext) -> Result<Json, Error> {
        let wanted: Arguments = arguments::decoded(context.arguments())?;
        let bytes = text(wanted.content.into_bytes(), 0, 1)?.into_bytes();
        let digest = wanted
            .if_digest
            .as_deref()
            .map(Digest::from_str)
            .transpose();
        let digest = digest.map_err(|_| Error::Pointless("if_digest is not sha256:<64 hex>"))?;
        let Aim { target, key, told } = self.0.aim(context, wanted.path).await?;
        let created = matches!(target, Target::Free(_));
        let (write, before, diff) = match target {
            Target::Free(_) if digest.is_some() => {
                return Err(Error::Stale(
                    "does not exist, so it does not have that if_digest",
                ));
            }
            Target::Free(spot) => (
                Replacement {
                    spot,
                    over: None,
                    bytes,
                },
                None,
                None,
            ),
            Target::Taken(file) => {
                let condition = match digest {
                    Some(digest) => Condition::Digest(digest),
                    None => Condition::Observed(self.observed(context, &key).await?),
                };
                let replace = move |work: &Work| replacement(work, file, &condition, bytes);
                self.0.work(context, replace).await?
            }
        };
        let size = write.bytes.len();
        let change = Change {
            write,
            key,
            before,
            replacements: None,
        };
        let digest = self
            .0
            .commit(context, EventType::FsWriteIntent, change)
            .await?;
        let mut value = vec![
            ("path", Json::from(told)),
            ("created", created.into()),
            ("bytes", size.into()),
            ("digest", digest.to_string().into()),
        ];
        value.extend(diff.map(|diff| ("diff", diff.into())));
        Ok(value.into_iter().collect())
    }

    async fn observed(&self, context: &ExecutionContext, key: &str) -> Result<String, Error> {
        context
            .observed(key)
            .await
            .map_err(Error::Journal)?
            .ok_or(Error::NotObserved)
    }
}

type Replaced = (Replacement, Option<Digest>, Option<String>);

/// Reads what will be replaced, holds it against the condition, and compares the texts.
fn replacement(
    work: &Work,
    mut file: OpenFile,
    condition: &Condition,
    bytes: Vec<u8>,
) -> Result<Replaced, Error> {
    let metadata = file.content.metadata()?;
    let unread = Snapshot::unread(&file.content)?;
    let now = if condition.needs_content() || !unread.stamp.is_large() {
        Snapshot::take(&mut file.content, MAX_CONTENT, &work.signal)?
    } else {
        unread
    };
    condition.check(&now)?;
    let texts = now.bytes.and_then(|old| String::from_utf8(old).ok());
    let diff = texts.and_then(|old| Some(Diff::between(&old, str::from_utf8(&bytes).ok()?)));
    let over = Some((now.stamp, metadata));
    let write = Replacement {
        spot: file.spot(),
        over,
        bytes,
    };
    Ok((write, now.digest, diff.map(|diff| diff.text)))
}

#[async_trait]
impl ToolBody for WriteFile {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        let path = arguments::path(context.arguments());
        self.write(context).await.map_err(|error| error.told(path))
    }

    fn lock_key(&self, execution: &Execution) -> Option<String> {
        self.0.lock_key(execution)
    }

    fn render(&self, _: &Object, value: &Json) -> Result<Vec<Content>, String> {
        let path = value
            .get("path")
            .and_then(Json::as_str)
            .ok_or("the value has no path")?;
        let bytes = value
            .get("bytes")
            .and_then(Json::as_u64)
            .ok_or("the value has no bytes")?;
        let created = value
            .get("created")
            .and_then(Json::as_bool)
            .unwrap_or_default();
        let done = if created { "Created" } else { "Replaced" };
        let sentence = format!("{done} {path} ({bytes} bytes).");
        Ok(vec![Content::text(
            match value.get("diff").and_then(Json::as_str) {
                None => sentence,
                Some("") => format!("{sentence} The content is the same as before."),
                Some(diff) => format!("{sentence}\n{diff}"),
            },
        )])
    }

    fn meta(&self, arguments: &Object, value: &Json) -> Result<Option<Json>, String> {
        let path = value.get("path").ok_or("the value has no path")?.clone();
        let created = value
            .get("created")
            .and_then(Json::as_bool)
            .unwrap_or_default();
        let diff = match value.get("diff").and_then(Json::as_str) {
            Some(diff) => Some(diff.to_owned()),
            None => created.then(|| all_new(arguments)),
        };
        let mut card = vec![
            ("card", Json::from("diff")),
            ("path", path),
            ("created", created.into()),
        ];
        card.extend(diff.map(|diff| ("diff", diff.into())));
        Ok(Some(card.into_iter().collect()))
    }

    fn view(&self, arguments: &Object) -> Option<Json> {
        let mut card = arguments::pending("diff", "Write", arguments);
        card.insert("diff".to_owned(), all_new(arguments).into());
        Some(Json::Object(card))
    }
}

fn all_new(arguments: &Object) -> String {
    Diff::between("", arguments::text(arguments, "content")).text
}
