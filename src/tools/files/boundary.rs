//! The boundary inside the root: deny lists, and the fence around the daemon's own files.
//!
//! Imports nothing of ours but siblings. It judges what a descriptor turned out to be, never the
//! text of a path; who opens descriptors is `place`'s business.

use std::{
    fs::{self, Metadata},
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::{error::Error, root::OpenError};

/// What a call wants to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// See its content, or the names in a directory.
    Read,
    /// Make a new one.
    Create,
    /// Replace what is there. The old content shows in the diff, so it must be readable too.
    Replace,
}

/// Device and inode: what a file is, whatever its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Of a descriptor's metadata.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// What is judged: where a descriptor is, and what it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suspect<'a> {
    /// Its real path below the root, links resolved.
    pub(super) relative: &'a Path,
    /// The identities on the way to it: the root first, itself last when it exists.
    pub(super) lineage: &'a [Identity],
    /// How many names it has; 1 for what does not exist yet.
    pub(super) names: u64,
}

/// The compiled lists and the fence.
#[derive(Debug)]
pub(super) struct Boundary {
    deny_read: Patterns,
    deny_write: Patterns,
    ask_read: Patterns,
    fence: Fence,
}

impl Boundary {
    /// Compiles the lists.
    pub(super) fn new(
        [deny_read, deny_write, ask_read]: [&[String]; 3],
        fence: Fence,
    ) -> Result<Self, OpenError> {
        Ok(Self {
            deny_read: Patterns::compile("deny_read", deny_read)?,
            deny_write: Patterns::compile("deny_write", deny_write)?,
            ask_read: Patterns::compile("ask_read", ask_read)?,
            fence,
        })
    }

    /// Looks at the daemon's own files as they are now, for the judgements of one call.
    pub(super) fn sentry(&self) -> Sentry<'_> {
        Sentry {
            boundary: self,
            own: self.fence.identities(),
        }
    }

    /// Judges a path by the lists alone.
    pub(super) fn judge_name(&self, relative: &Path, access: Access) -> Result<(), Error> {
        for path in relative.ancestors() {
            self.lists(path, access)?;
        }
        Ok(())
    }

    fn lists(&self, path: &Path, access: Access) -> Result<(), Error> {
        let reads = matches!(access, Access::Read | Access::Replace);
        let writes = matches!(access, Access::Create | Access::Replace);
        if let Some(pattern) = self.deny_read.hit(path).filter(|_| reads) {
            let why = "may not be read: the workspace's deny_read list has the pattern";
            return Err(Error::Fenced(format!("{why} {pattern:?}")));
        }
        if let Some(pattern) = self.deny_write.hit(path).filter(|_| writes) {
            let why = "may not be written: the workspace's deny_write list has the pattern";
            return Err(Error::Fenced(format!("{why} {pattern:?}")));
        }
        if let Some(pattern) = self.ask_read.hit(path).filter(|_| reads) {
            let why = "may be read only with a person's consent, and there is nobody to ask yet: \
                       the workspace's ask_read list has the pattern";
            return Err(Error::Fenced(format!("{why} {pattern:?}")));
        }
        Ok(())
    }
}

/// One call's view of the boundary.
#[derive(Debug)]
pub(super) struct Sentry<'a> {
    boundary: &'a Boundary,
    own: Vec<(Identity, PathBuf)>,
}

impl Sentry<'_> {
    /// Judges a descriptor. A pattern that hits a directory covers everything below it.
    pub(super) fn judge(&self, suspect: Suspect<'_>, access: Access) -> Result<(), Error> {
        if self.is_own(suspect) {
            return Err(Error::Fenced(
                "belongs to the daemon itself and is out of reach".into(),
            ));
        }
        self.boundary.judge_name(suspect.relative, access)
    }

    fn is_own(&self, suspect: Suspect<'_>) -> bool {
        if self.boundary.fence.covers(suspect.relative) {
            return true;
        }
        if self
            .own
            .iter()
            .any(|(own, _)| suspect.lineage.contains(own))
        {
            return true;
        }
        // Only a second name can lead here from outside the daemon's directories.
        let Some(file) = suspect.lineage.last().filter(|_| suspect.names > 1) else {
            return false;
        };
        self.own
            .iter()
            .any(|(_, directory)| holds(directory, *file))
    }
}

/// Most entries of the daemon's own directories that are looked at for one file.
const MOST_ENTRIES: usize = 10_000;

/// Whether a directory holds this file, at whatever depth; a path that is no directory holds
/// nothing. What cannot be looked at, or is too much to, counts as holding it.
fn holds(directory: &Path, file: Identity) -> bool {
    let mut left = MOST_ENTRIES;
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if holds_nothing(error.kind()) => continue,
            Err(_) => return true,
        };
        for entry in entries {
            let Some(rest) = left.checked_sub(1) else {
                return true;
            };
            left = rest;
            // links are not followed: what they lead to has its own place
            let found = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)));
            match found {
                Ok((_, metadata)) if Identity::of(&metadata) == file => return true,
                Ok((path, metadata)) if metadata.is_dir() => open.push(path),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => return true,
            }
        }
    }
    false
}

fn holds_nothing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The daemon's own files and directories. Kept as paths, because files there come and go (write
/// ahead logs, rewritten tokens); their identities are read anew for each call.
#[derive(Debug)]
pub(super) struct Fence {
    paths: Vec<PathBuf>,
    inside: Vec<PathBuf>,
}

impl Fence {
    /// Around these paths; what lies inside `root` is also known by its place there.
    pub(super) fn around(paths: &[PathBuf], root: &Path) -> Self {
        let names = |path: &PathBuf| [absolute(path), canonical(path)];
        let mut paths: Vec<PathBuf> = paths.iter().flat_map(names).collect();
        paths.dedup();
        let inside = paths
            .iter()
            .filter_map(|path| path.strip_prefix(root).ok()?.to_owned().into());
        Self {
            inside: inside.collect(),
            paths,
        }
    }

    /// Whether the root itself is one of the daemon's own directories.
    pub(super) fn is_root(&self) -> bool {
        self.covers(Path::new(""))
    }

    fn covers(&self, relative: &Path) -> bool {
        self.inside.iter().any(|own| relative.starts_with(own))
    }

    fn identities(&self) -> Vec<(Identity, PathBuf)> {
        let known = |path: &PathBuf| Some((Identity::of(&fs::metadata(path).ok()?), path.clone()));
        self.paths.iter().filter_map(known).collect()
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The path with links resolved as far as it exists.
fn canonical(path: &Path) -> PathBuf {
    let path = absolute(path);
    for known in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(known), path.strip_prefix(known)) {
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path
}

#[derive(Debug)]
struct Patterns {
    set: GlobSet,
    texts: Vec<String>,
}

impl Patterns {
    /// Globset syntax, case-sensitive, against whole paths below the root; `*` also crosses `/`.
    /// The configuration has refused what matches no such path.
    fn compile(list: &'static str, texts: &[String]) -> Result<Self, OpenError> {
        let mut set = GlobSetBuilder::new();
        for pattern in texts {
            let refused = |error: globset::Error| OpenError::Pattern {
                list,
                pattern: pattern.clone(),
                why: error.kind().to_string(),
            };
            set.add(Glob::new(pattern).map_err(refused)?);
        }
        let refused = |error: globset::Error| OpenError::Pattern {
            list,
            pattern: texts.join(", "),
            why: error.kind().to_string(),
        };
        Ok(Self {
            set: set.build().map_err(refused)?,
            texts: texts.to_vec(),
        })
    }

    /// The first pattern that matches this very path.
    fn hit(&self, path: &Path) -> Option<&str> {
        if self.texts.is_empty() || path.as_os_str().is_empty() {
            return None;
        }
        let first = self.set.matches(path).into_iter().min()?;
        self.texts.get(first).map(String::as_str)
    }
}
