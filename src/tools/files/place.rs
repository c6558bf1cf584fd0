//! What a route leads to: a descriptor, where it really is, and the directories above it.
//!
//! Imports siblings. Policy is held on the descriptor: first the kernel opens it (confined), then
//! the kernel says where it is, then that path is walked from the root without following any link,
//! and the walk must end at the same device and inode. So path and descriptor are known to belong
//! together, and every directory above is held open. What changes in between is tried again.

use std::{
    ffi::{CString, OsStr, OsString},
    fmt,
    fs::{File, FileType, Metadata},
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{Mode, OFlags, openat, readlinkat},
    io::Errno,
};

use super::{
    boundary::{Access, Identity, Suspect},
    error::Error,
    root::WorkspaceRoot,
    route::Route,
    version::Stamp,
};

/// How often a route is followed again when it changes under the attempt.
const ATTEMPTS: usize = 16;
/// Most links on the way, as in the kernel (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// A place below the root, by descriptor.
#[derive(Debug)]
pub(super) struct Place {
    /// Its real path below the root; empty for the root.
    pub(super) relative: PathBuf,
    /// Names it and gives no access to its content (`O_PATH`).
    pub(super) node: Arc<File>,
    /// As it was when it was found.
    pub(super) metadata: Metadata,
    parent: Arc<File>,
    lineage: Vec<Identity>,
}

impl Place {
    /// What the boundary judges.
    pub(super) fn suspect(&self) -> Suspect<'_> {
        Suspect {
            relative: &self.relative,
            lineage: &self.lineage,
            names: if self.metadata.is_dir() {
                1
            } else {
                self.metadata.nlink()
            },
        }
    }

    /// Opens a regular file for reading. `None` when its name leads to another one by now.
    fn open(self) -> Result<Option<OpenFile>, Error> {
        if !self.metadata.is_file() {
            let wanted = "only regular files have content for these tools; \
                          list directories with list_dir";
            return Err(self.wrong(wanted));
        }
        let name = self.relative.file_name().unwrap_or_default();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let content = match openat(&self.parent, name, flags | OFlags::CLOEXEC, Mode::empty()) {
            Ok(content) => File::from(content),
            Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let same = Stamp::of(&content.metadata()?).is_same_file(&Stamp::of(&self.metadata));
        Ok(same.then_some(OpenFile {
            place: self,
            content,
        }))
    }

    fn wrong(&self, wanted: &'static str) -> Error {
        Error::WrongKind {
            found: Kind::of(self.metadata.file_type()),
            wanted,
        }
    }
}

/// A regular file, open for reading.
#[derive(Debug)]
pub(super) struct OpenFile {
    /// Where it is.
    pub(super) place: Place,
    /// Its content.
    pub(super) content: File,
}

impl OpenFile {
    /// Where a replacement of it goes.
    pub(super) fn spot(&self) -> Spot {
        Spot {
            directory: Arc::clone(&self.place.parent),
            missing: Vec::new(),
            name: self
                .place
                .relative
                .file_name()
                .unwrap_or_default()
                .to_owned(),
            relative: self.place.relative.clone(),
        }
    }
}

/// A name in a directory that is held open, perhaps below directories still to be made.
#[derive(Debug)]
pub(super) struct Spot {
    /// The nearest directory that exists.
    pub(super) directory: Arc<File>,
    /// Directories to make below it, outermost first.
    pub(super) missing: Vec<OsString>,
    /// The file's name in the innermost.
    pub(super) name: OsString,
    /// The file's real path below the root.
    pub(super) relative: PathBuf,
}

/// What a write is aimed at.
#[derive(Debug)]
pub(super) enum Target {
    /// A file that is there.
    Taken(OpenFile),
    /// A name that is free.
    Free(Spot),
}

impl WorkspaceRoot {
    /// Follows a path from the root to what it leads to, links included.
    pub(super) fn locate(&self, path: &Path) -> Result<Place, Error> {
        attempts(|| {
            let node = self.open_node(path)?;
            let Some(relative) = self.relative_of(&node)? else {
                return Ok(None);
            };
            let identity = Identity::of(&node.metadata()?);
            let found = self.descend(relative)?;
            Ok(found.filter(|place| Identity::of(&place.metadata) == identity))
        })
    }

    /// The directory that a route leads to, when the boundary lets its names be seen.
    pub(super) fn directory(&self, route: &Route) -> Result<Place, Error> {
        let place = self.seen(&route.path)?;
        self.sentry().judge(place.suspect(), Access::Read)?;
        if !place.metadata.is_dir() {
            return Err(place.wrong("only directories can be listed; read files with read_file"));
        }
        Ok(place)
    }

    /// The regular file that a route leads to, open for reading, when the boundary allows
    /// `access`. Never blocks on what is not a regular file.
    pub(super) fn file(&self, route: &Route, access: Access) -> Result<OpenFile, Error> {
        attempts(|| {
            let place = match access {
                Access::Read => self.seen(&route.path)?,
                Access::Create | Access::Replace => self.locate(&route.path)?,
            };
            self.sentry().judge(place.suspect(), access)?;
            place.open()
        })
    }

    /// What a write to a route is aimed at, when the boundary allows it.
    pub(super) fn target(&self, route: &Route) -> Result<Target, Error> {
        if route.names_directory {
            return Err(Error::Path(
                "ends as only a directory's path does; write the path of a file",
            ));
        }
        attempts(|| match self.file(route, Access::Replace) {
            Ok(file) => Ok(Some(Target::Taken(file))),
            Err(Error::NotFound) => Ok(self.free(&route.path)?.map(Target::Free)),
            Err(error) => Err(error),
        })
    }

    /// The real path below the root that a call works on: of the file, or of the free name.
    pub(super) fn settle(&self, route: &Route) -> Result<PathBuf, Error> {
        match self.locate(&route.path) {
            Ok(place) => Ok(place.relative),
            Err(Error::NotFound) => {
                attempts(|| Ok(self.vacancy(&route.path)?.map(|(_, spot)| spot.relative)))
            }
            Err(error) => Err(error),
        }
    }

    /// What a path leads to. That nothing is there is only told where it may be known.
    fn seen(&self, path: &Path) -> Result<Place, Error> {
        let located = self.locate(path);
        if matches!(located, Err(Error::NotFound))
            && let Ok(Some((_, spot))) = self.vacancy(path)
        {
            return Err(self.absent(&spot));
        }
        located
    }

    /// Why a name that is free cannot be read: nothing is there, or nobody may know.
    pub(super) fn absent(&self, spot: &Spot) -> Error {
        let judged = self.boundary().judge_name(&spot.relative, Access::Read);
        judged.err().unwrap_or(Error::NotFound)
    }

    fn free(&self, path: &Path) -> Result<Option<Spot>, Error> {
        let Some((above, spot)) = self.vacancy(path)? else {
            return Ok(None);
        };
        let suspect = Suspect {
            relative: &spot.relative,
            lineage: &above.lineage,
            names: 1,
        };
        self.sentry().judge(suspect, Access::Create)?;
        Ok(Some(spot))
    }

    /// The nearest directory above a path that leads nowhere, and the names that are missing below
    /// it. `None` when something has appeared there meanwhile.
    fn vacancy(&self, path: &Path) -> Result<Option<(Place, Spot)>, Error> {
        let mut head = path;
        let mut missing = Vec::new();
        let above = loop {
            // no name: the path climbs out of a directory that does not exist
            let (Some(name), Some(parent)) = (head.file_name(), head.parent()) else {
                return Err(Error::NotFound);
            };
            missing.insert(0, name.to_owned());
            head = parent;
            match self.locate(head) {
                Ok(place) => break place,
                Err(Error::NotFound) => {}
                Err(error) => return Err(error),
            }
        };
        if !above.metadata.is_dir() {
            return Err(Error::NotADirectory);
        }
        let first = missing.first().map(OsString::as_os_str).unwrap_or_default();
        match peek(&above.node, first)? {
            None => {}
            Some(metadata) if metadata.is_symlink() => return Err(Error::Dangling),
            Some(_) => return Ok(None),
        }
        let relative = missing
            .iter()
            .fold(above.relative.clone(), |path, name| path.join(name));
        let name = missing.pop().unwrap_or_default();
        let directory = Arc::clone(&above.node);
        Ok(Some((
            above,
            Spot {
                directory,
                missing,
                name,
                relative,
            },
        )))
    }

    /// Walks a real path from the root without following links. `None` when the path is not, or no
    /// longer, real.
    pub(super) fn descend(&self, relative: PathBuf) -> Result<Option<Place>, Error> {
        let mut node = Arc::clone(&self.directory);
        let mut parent = Arc::clone(&self.directory);
        let mut metadata = node.metadata()?;
        let mut lineage = vec![Identity::of(&metadata)];
        for name in relative.components() {
            parent = node;
            node = match step(&parent, name.as_os_str()) {
                Ok(next) => Arc::new(next),
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            };
            metadata = node.metadata()?;
            lineage.push(Identity::of(&metadata));
        }
        Ok(Some(Place {
            relative,
            node,
            metadata,
            parent,
            lineage,
        }))
    }

    /// The text of a link. The directory that it is in is opened confined, so that the text of one
    /// outside is never seen.
    fn link_in(&self, directory: &Path, name: &OsStr) -> Result<CString, Errno> {
        let directory = self.beneath(directory, OFlags::PATH | OFlags::DIRECTORY)?;
        readlinkat(&directory, name, Vec::new())
    }

    fn open_node(&self, path: &Path) -> Result<File, Error> {
        match self.beneath(path, OFlags::PATH) {
            // the kernel takes every absolute link for a way out, also one that points back inside,
            // and climbs nowhere while anything on the machine is renamed
            Err(Errno::XDEV | Errno::AGAIN) => {
                Ok(self.beneath(&self.straighten(path)?, OFlags::PATH)?)
            }
            opened => Ok(opened?),
        }
    }

    /// The same path without links, absolute ones that point inside the root included. It is only
    /// a text: what it leads to is opened confined like any other.
    fn straighten(&self, path: &Path) -> Result<PathBuf, Error> {
        let mut done = PathBuf::new();
        let mut todo: Vec<OsString> = reversed(path);
        let mut links = 0;
        while let Some(name) = todo.pop() {
            if name == ".." || name == "." {
                // both mean something in a directory only
                self.beneath(&done, OFlags::PATH | OFlags::DIRECTORY)?;
                if name == ".." && !done.pop() {
                    return Err(Error::Outside);
                }
                continue;
            }
            let next = done.join(&name);
            let target = match self.link_in(&done, &name) {
                Ok(target) => PathBuf::from(os_string(target.into_bytes())),
                Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => {
                    done = next;
                    continue;
                }
                Err(errno) => return Err(errno.into()),
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(Error::Links);
            }
            let target = if target.is_absolute() {
                done.clear();
                self.behind_root(&target)?.ok_or(Error::Outside)?
            } else {
                target
            };
            todo.extend(reversed(&target));
        }
        Ok(done)
    }
}

/// Tries until an attempt is not disturbed, a few times.
fn attempts<T>(mut attempt: impl FnMut() -> Result<Option<T>, Error>) -> Result<T, Error> {
    for _ in 0..ATTEMPTS {
        match attempt() {
            Ok(Some(found)) => return Ok(found),
            Ok(None) | Err(Error::Unsteady) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Unsteady)
}

/// What has this name in a directory, links not followed.
pub(super) fn peek(directory: &File, name: &OsStr) -> Result<Option<Metadata>, Error> {
    match step(directory, name) {
        Ok(node) => Ok(Some(node.metadata()?)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// One step down, without following a link.
fn step(directory: &File, name: &OsStr) -> Result<File, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty()).map(File::from)
}

/// The steps of a path, last first. A slash at the end is a step on the spot, as in the kernel.
fn reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|part| *part != Component::CurDir);
    let names = names.rev().map(|part| part.as_os_str().to_owned());
    let on_the_spot = ends_as_directory(path.as_os_str()).then(|| OsString::from("."));
    on_the_spot.into_iter().chain(names).collect()
}

/// Whether a path ends in a slash, or in a dot behind one, as only a directory's can.
pub(super) fn ends_as_directory(path: &OsStr) -> bool {
    let path = path.as_encoded_bytes();
    path.ends_with(b"/") || path.ends_with(b"/.")
}

fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

/// What kind of thing a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe, socket or device.
    Other,
}

impl Kind {
    /// Of a file type that was looked at without following links.
    pub(super) fn of(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Directory
        } else if kind.is_symlink() {
            Self::Symlink
        } else {
            Self::Other
        }
    }

    /// The word in values.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "dir",
            Self::Symlink => "symlink",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link",
            Self::Other => "a pipe, socket or device",
        })
    }
}
