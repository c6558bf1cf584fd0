//! `list_dir`: the names in a directory, some levels deep.
//!
//! Imports `domain`, `registry` and siblings. Links are named, never followed; what may not be read
//! is left out and counted.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::File,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use rustix::{
    fs::{Dir, Mode, OFlags, openat},
    io::Errno,
};
use serde::Deserialize;

use super::{
    arguments,
    boundary::{Access, Identity, Sentry, Suspect},
    desk::{Desk, Work},
    error::Error,
    place::{Kind, Place, peek},
    root::WorkspaceRoot,
    route::{Route, name_of},
    schema,
};
use crate::{
    domain::{Concurrency, Content, Json, Object, ToolDefinition, json::object},
    registry::{ExecutionContext, Signal, ToolBody, ToolError},
};

/// Most entries of one listing.
const MAX_ENTRIES: usize = 1_000;
/// Most levels of one listing.
const MAX_DEPTH: u64 = 5;

const DESCRIPTION: &str = "Lists a directory of the workspace, sorted: path, kind and size of each \
    entry. Up to 1,000 entries, the upper levels first; links are not followed.";

/// The tool's declaration.
pub(super) fn definition() -> ToolDefinition {
    let path = "Directory to list, relative to the workspace; default \".\", the workspace itself.";
    let depth = "How many levels to list, 1 to 5; default 1, the directory alone.";
    let parameters = schema::closed(
        [
            ("path", schema::path(path)),
            ("depth", schema::integer(depth, 1, MAX_DEPTH)),
        ],
        &[],
    );
    let mut definition =
        schema::definition("list_dir", DESCRIPTION, parameters, Json::Object(output()));
    definition.concurrency = Concurrency::Parallel;
    definition.read_only = true;
    definition.idempotent = true;
    definition
}

fn output() -> Object {
    let kind = object([
        ("type", Json::from("string")),
        ("enum", ["file", "dir", "symlink", "other"].into()),
    ]);
    let entry = schema::closed(
        [
            (
                "path",
                schema::string("The entry, relative to the workspace."),
            ),
            ("kind", kind),
            ("bytes", schema::count("Size of a regular file.")),
        ],
        &["path", "kind"],
    );
    let entries = object([
        ("type", Json::from("array")),
        (
            "description",
            "Sorted by path, a directory before what is in it.".into(),
        ),
        ("items", Json::Object(entry)),
    ]);
    let hidden = "How many entries were left out because they may not be read, cannot be opened, or \
                  have a name that is not UTF-8.";
    schema::closed(
        [
            (
                "path",
                schema::string("The directory, links resolved, relative to the workspace."),
            ),
            ("entries", entries),
            ("hidden", schema::count(hidden)),
            (
                "truncated",
                schema::boolean("Whether there was no room for all entries."),
            ),
        ],
        &["path", "entries", "hidden", "truncated"],
    )
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: Option<String>,
    depth: Option<u64>,
}

/// The body.
#[derive(Debug)]
pub(super) struct ListDir(pub(super) Desk);

impl ListDir {
    async fn list(&self, context: &ExecutionContext) -> Result<Json, Error> {
        let wanted: Arguments = arguments::decoded(context.arguments())?;
        let depth = wanted.depth.unwrap_or(1).clamp(1, MAX_DEPTH);
        let path = wanted.path.unwrap_or_else(|| ".".to_owned());
        self.0
            .work(context, move |work| listed(work, &path, depth))
            .await
    }
}

fn listed(work: &Work, path: &str, depth: u64) -> Result<Json, Error> {
    let route = work.route(path)?;
    let place = work.root.directory(&route)?;
    let mut listing = Listing::new(&work.root, &work.signal);
    listing.walk(&place, depth)?;
    listing
        .entries
        .sort_by(|one, other| one.relative.cmp(&other.relative));
    let entries = listing.entries.iter().map(|entry| entry.told(&route));
    let entries = entries.collect::<Result<Vec<Json>, Error>>()?;
    Ok(object([
        ("path", Json::from(route.told(&place.relative)?)),
        ("entries", entries.into()),
        ("hidden", listing.hidden.into()),
        ("truncated", listing.truncated.into()),
    ]))
}

#[derive(Debug)]
struct Entry {
    relative: PathBuf,
    kind: Kind,
    bytes: Option<u64>,
}

impl Entry {
    fn told(&self, route: &Route) -> Result<Json, Error> {
        let mut members = vec![
            ("path", Json::from(route.told(&self.relative)?)),
            ("kind", self.kind.as_str().into()),
        ];
        members.extend(self.bytes.map(|bytes| ("bytes", bytes.into())));
        Ok(members.into_iter().collect())
    }
}

/// A listing as it grows, level by level, so that the upper levels are whole before the lower
/// ones begin.
#[derive(Debug)]
struct Listing<'a> {
    root: &'a WorkspaceRoot,
    signal: &'a Signal,
    sentry: Sentry<'a>,
    entries: Vec<Entry>,
    hidden: u64,
    truncated: bool,
}

impl<'a> Listing<'a> {
    fn new(root: &'a WorkspaceRoot, signal: &'a Signal) -> Self {
        let sentry = root.sentry();
        Self {
            root,
            signal,
            sentry,
            entries: Vec::new(),
            hidden: 0,
            truncated: false,
        }
    }

    fn walk(&mut self, top: &Place, depth: u64) -> Result<(), Error> {
        let opened = openat(&top.node, ".", reading(), Mode::empty())?;
        let mut below = self.directory(&opened.into(), &top.relative)?;
        for _ in 1..depth {
            for relative in std::mem::take(&mut below) {
                if self.entries.len() >= MAX_ENTRIES {
                    self.truncated = true;
                    return Ok(());
                }
                let opened = self.root.open_listed(&relative);
                match opened.and_then(|directory| self.directory(&directory, &relative)) {
                    Ok(directories) => below.extend(directories),
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    // gone, or not ours to open; its own entry stands
                    Err(_) => self.hidden += 1,
                }
            }
        }
        Ok(())
    }

    /// Adds what is in one directory; returns the directories among it.
    fn directory(&mut self, directory: &File, relative: &Path) -> Result<Vec<PathBuf>, Error> {
        let names = self.names(directory, relative)?;
        let mut directories = Vec::new();
        for name in names {
            let path = relative.join(&name);
            // gone meanwhile
            let Some(metadata) = peek(directory, &name)? else {
                continue;
            };
            let lineage = [Identity::of(&metadata)];
            let suspect = Suspect {
                relative: &path,
                lineage: &lineage,
                names: 1,
            };
            if self.sentry.judge(suspect, Access::Read).is_err() {
                self.hidden += 1;
                continue;
            }
            let kind = Kind::of(metadata.file_type());
            let bytes = (kind == Kind::File).then_some(metadata.len());
            if kind == Kind::Directory {
                directories.push(path.clone());
            }
            self.entries.push(Entry {
                relative: path,
                kind,
                bytes,
            });
        }
        Ok(directories)
    }

    /// The first names in order, as many as there is room for.
    fn names(&mut self, directory: &File, relative: &Path) -> Result<BTreeSet<OsString>, Error> {
        let room = MAX_ENTRIES.saturating_sub(self.entries.len());
        let mut names = BTreeSet::new();
        for entry in Dir::read_from(directory)? {
            if self.signal.is_cancelled() {
                return Err(Error::Interrupted);
            }
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if name_of(Path::new(name)).is_err() || self.is_denied(&relative.join(name)) {
                self.hidden += 1;
                continue;
            }
            names.insert(name.to_owned());
            if names.len() > room {
                names.pop_last();
                self.truncated = true;
            }
        }
        Ok(names)
    }

    fn is_denied(&self, path: &Path) -> bool {
        let suspect = Suspect {
            relative: path,
            lineage: &[],
            names: 1,
        };
        self.sentry.judge(suspect, Access::Read).is_err()
    }
}

fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

impl WorkspaceRoot {
    /// A directory that a listing has named, if it still is one at its own real path.
    fn open_listed(&self, relative: &Path) -> Result<File, Error> {
        let directory = self.beneath(relative, reading())?;
        match self.relative_of(&directory)? {
            Some(real) if real == relative => Ok(directory),
            _ => Err(Errno::NOENT.into()),
        }
    }
}

#[async_trait]
impl ToolBody for ListDir {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        let path = arguments::path(context.arguments());
        self.list(context).await.map_err(|error| error.told(path))
    }

    /// One line for each entry, and what was left out.
    fn render(&self, _: &Object, value: &Json) -> Result<Vec<Content>, String> {
        let entries = value
            .get("entries")
            .and_then(Json::as_array)
            .ok_or("no entries")?;
        let mut lines: Vec<String> = entries.iter().map(line).collect();
        if lines.is_empty() {
            lines.push("[nothing to see here]".to_owned());
        }
        if value
            .get("truncated")
            .and_then(Json::as_bool)
            .unwrap_or_default()
        {
            let count = entries.len();
            lines.push(format!(
                "[{count} entries shown, there are more: list a subdirectory]"
            ));
        }
        match value.get("hidden").and_then(Json::as_u64) {
            None | Some(0) => {}
            Some(1) => lines.push("[1 entry left out: not readable]".to_owned()),
            Some(hidden) => lines.push(format!("[{hidden} entries left out: not readable]")),
        }
        Ok(vec![Content::text(lines.join("\n"))])
    }

    fn view(&self, arguments: &Object) -> Option<Json> {
        Some(Json::Object(arguments::pending("list", "List", arguments)))
    }
}

fn line(entry: &Json) -> String {
    let text = |name| entry.get(name).and_then(Json::as_str).unwrap_or_default();
    let path = text("path");
    match (text("kind"), entry.get("bytes").and_then(Json::as_u64)) {
        ("dir", _) => format!("{path}/"),
        ("file", Some(bytes)) => format!("{path} ({bytes} bytes)"),
        (kind, _) => format!("{path} ({kind})"),
    }
}
