//! `edit_file`: exact text in place of exact text.
//!
//! Imports `domain`, `registry` and siblings. Nothing is matched approximately.

use async_trait::async_trait;
use serde::Deserialize;

use super::{
    arguments,
    desk::{Aim, Change, Desk, Work, check_fresh},
    diff::Diff,
    error::Error,
    extract::text,
    place::{OpenFile, Target},
    replace::Replacement,
    schema,
    version::{Snapshot, WHOLE},
};
use crate::{
    domain::{Content, Digest, EventType, Execution, Json, Object, ToolDefinition, json::object},
    registry::{ExecutionContext, ToolBody, ToolError},
};

/// How many line numbers an ambiguous match names.
const MAX_NAMED: usize = 5;

const DESCRIPTION: &str = "Replaces text in a file of the workspace. old_text must be exactly what \
    is in the file, with its white space and line ends, and must occur once unless replace_all is \
    set. The file must have been read in this session and be unchanged since.";

/// The tool's declaration.
pub(super) fn definition() -> ToolDefinition {
    let mut old_text = schema::string("The exact text to replace; not empty.");
    if let Json::Object(members) = &mut old_text {
        members.insert("minLength".to_owned(), 1.into());
    }
    let parameters = schema::closed(
        [
            (
                "path",
                schema::path("File to edit, relative to the workspace."),
            ),
            ("old_text", old_text),
            (
                "new_text",
                schema::string("The text to put in its place; empty deletes."),
            ),
            (
                "replace_all",
                schema::boolean("Replace every occurrence instead of exactly one; default false."),
            ),
        ],
        &["path", "old_text", "new_text"],
    );
    let output = schema::closed(
        [
            (
                "path",
                schema::string("The file, links resolved, relative to the workspace."),
            ),
            (
                "replacements",
                schema::count("How many occurrences were replaced."),
            ),
            (
                "bytes",
                schema::count("Size of the file in bytes after the edit."),
            ),
            (
                "digest",
                schema::digest("SHA-256 of the file after the edit."),
            ),
            (
                "diff",
                schema::string("What changed, as a unified diff, cut when long."),
            ),
        ],
        &["path", "replacements", "bytes", "digest", "diff"],
    );
    schema::definition("edit_file", DESCRIPTION, parameters, Json::Object(output))
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

impl Arguments {
    fn check(&self) -> Result<(), Error> {
        if self.old_text.is_empty() {
            return Err(Error::Pointless(
                "old_text is empty; give the text to replace, or write the file with write_file",
            ));
        }
        if self.old_text == self.new_text {
            return Err(Error::Pointless(
                "old_text and new_text are the same; nothing to do",
            ));
        }
        text(self.new_text.clone().into_bytes(), 0, 1).map(drop)
    }

    /// The text after the edit, and how many occurrences were replaced.
    fn apply(&self, content: &str) -> Result<(String, usize), Error> {
        let (old, new) = (self.old_text.as_str(), self.new_text.as_str());
        let found = content.matches(old).count();
        if found == 0 {
            return Err(Error::EditNotFound {
                hint: self.hint(content),
            });
        }
        if self.replace_all {
            let rest = content.len() - found * old.len();
            let size = new.len().saturating_mul(found).saturating_add(rest);
            bounded(size)?;
            return Ok((content.replace(old, new), found));
        }
        // counted so, `aa` is in `aaa` once; which of the two was meant is unknown all the same
        let places = starts(content, old);
        if places.len() > 1 {
            let count = found.max(2);
            return Err(Error::EditAmbiguous {
                count,
                lines: lines(content, &places, count),
            });
        }
        Ok((content.replacen(old, new, 1), 1))
    }

    fn hint(&self, content: &str) -> &'static str {
        let unix = |text: &str| text.replace("\r\n", "\n");
        if unix(content).contains(&unix(&self.old_text)) {
            return "it does with other line ends: one side has CRLF, the other LF";
        }
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        if words(content).contains(&words(&self.old_text)) {
            return "it does with other white space; copy it exactly from what read_file returns";
        }
        "read the file again and copy the text exactly, white space included"
    }
}

/// Where the first occurrences begin, overlapping ones included.
fn starts(content: &str, old: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(at) = content.get(from..).and_then(|rest| rest.find(old)) {
        starts.push(from + at);
        if starts.len() == MAX_NAMED {
            break;
        }
        from = content.ceil_char_boundary(from + at + 1);
    }
    starts
}

fn lines(content: &str, starts: &[usize], count: usize) -> String {
    let line = |at: &usize| content.get(..*at).unwrap_or_default().matches('\n').count() + 1;
    let named: Vec<String> = starts.iter().map(|at| line(at).to_string()).collect();
    let more = if count > named.len() { ", …" } else { "" };
    format!("{}{more}", named.join(", "))
}

/// The body.
#[derive(Debug)]
pub(super) struct EditFile(pub(super) Desk);

impl EditFile {
    async fn edit(&self, context: &ExecutionContext) -> Result<Json, Error> {
        let wanted: Arguments = arguments::decoded(context.arguments())?;
        wanted.check()?;
        let Aim { target, key, told } = self.0.aim(context, wanted.path.clone()).await?;
        let file = match target {
            Target::Taken(file) => file,
            Target::Free(spot) => return Err(self.0.root().absent(&spot)),
        };
        let observed = context.observed(&key).await.map_err(Error::Journal)?;
        let observed = observed.ok_or(Error::NotObserved)?;
        let made = self
            .0
            .work(context, move |work| apply(work, file, &observed, &wanted));
        let Edited {
            write,
            before,
            replacements,
            diff,
        } = made.await?;
        let bytes = write.bytes.len();
        let change = Change {
            write,
            key,
            before,
            replacements: Some(replacements),
        };
        let digest = self
            .0
            .commit(context, EventType::FsEditIntent, change)
            .await?;
        Ok(object([
            ("path", Json::from(told)),
            ("replacements", replacements.into()),
            ("bytes", bytes.into()),
            ("digest", digest.to_string().into()),
            ("diff", diff.text.into()),
        ]))
    }
}

#[derive(Debug)]
struct Edited {
    write: Replacement,
    before: Option<Digest>,
    replacements: u64,
    diff: Diff,
}

/// Reads the file as it is now, and makes of it what it will be.
fn apply(
    work: &Work,
    mut file: OpenFile,
    observed: &str,
    wanted: &Arguments,
) -> Result<Edited, Error> {
    let metadata = file.content.metadata()?;
    bounded(usize::try_from(metadata.len()).unwrap_or(usize::MAX))?;
    let now = Snapshot::take(&mut file.content, WHOLE, &work.signal)?;
    check_fresh(Some(observed), &now)?;
    let old = text(now.bytes.unwrap_or_default(), 0, 1)?;
    let (new, replacements) = wanted.apply(&old)?;
    bounded(new.len())?;
    let diff = Diff::between(&old, &new);
    let write = Replacement {
        spot: file.spot(),
        over: Some((now.stamp, metadata)),
        bytes: new.into_bytes(),
    };
    Ok(Edited {
        write,
        before: now.digest,
        replacements: replacements as u64,
        diff,
    })
}

/// Before and after it, an edited file is held in memory.
fn bounded(size: usize) -> Result<(), Error> {
    let does = "a file may have before and after an edit; change such a file with another tool";
    let found = size as u64;
    if size > WHOLE {
        Err(Error::TooLarge {
            found,
            bound: WHOLE,
            does,
        })
    } else {
        Ok(())
    }
}

#[async_trait]
impl ToolBody for EditFile {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        let path = arguments::path(context.arguments());
        self.edit(context).await.map_err(|error| error.told(path))
    }

    fn lock_key(&self, execution: &Execution) -> Option<String> {
        self.0.lock_key(execution)
    }

    fn render(&self, _: &Object, value: &Json) -> Result<Vec<Content>, String> {
        let text = |name| {
            value
                .get(name)
                .and_then(Json::as_str)
                .ok_or("the value is not complete")
        };
        let count = value
            .get("replacements")
            .and_then(Json::as_u64)
            .unwrap_or_default();
        let places = if count == 1 { "place" } else { "places" };
        let (path, diff) = (text("path")?, text("diff")?);
        Ok(vec![Content::text(format!(
            "Edited {path} in {count} {places}.\n{diff}"
        ))])
    }

    fn meta(&self, _: &Object, value: &Json) -> Result<Option<Json>, String> {
        let member = |name| value.get(name).cloned().ok_or("the value is not complete");
        Ok(Some(object([
            ("card", Json::from("diff")),
            ("path", member("path")?),
            ("diff", member("diff")?),
            ("replacements", member("replacements")?),
        ])))
    }

    fn view(&self, arguments: &Object) -> Option<Json> {
        let mut card = arguments::pending("diff", "Edit", arguments);
        let old = arguments::text(arguments, "old_text");
        let new = arguments::text(arguments, "new_text");
        card.insert("diff".to_owned(), Diff::between(old, new).text.into());
        Some(Json::Object(card))
    }
}
