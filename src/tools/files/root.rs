//! The root that file tools are confined to: opened once, everything below it reached by
//! descriptor.
//!
//! Imports `domain` and siblings. Confinement is the kernel's: every path is opened with
//! `openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)` (openat2(2)), so links that stay inside are
//! followed and nothing that leaves is ever opened. Where the kernel cannot do that, the root does
//! not open.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
};

use super::{
    boundary::{Boundary, Fence, Sentry},
    place::ends_as_directory,
};

/// What the configuration says of the workspace (configuration: `[workspace]`).
#[derive(Debug, Clone, Default)]
pub struct WorkspaceSettings {
    /// The root directory.
    pub root: PathBuf,
    /// Globs over paths relative to the root, links resolved, of what is never read. `*` also
    /// crosses `/`; a pattern that hits a directory covers everything below it.
    pub deny_read: Vec<String>,
    /// … never written.
    pub deny_write: Vec<String>,
    /// … read only with a person's consent. Nobody can be asked from inside a body, so the file
    /// tools treat it as denied and say so.
    pub ask_read: Vec<String>,
    /// The daemon's own files and directories: store, state directory, tokens, configuration.
    /// Neither read nor written, by whatever name. Directories are covered whole by their place
    /// and identity; other names (hard links) of files are recognised for the files given here and
    /// for those that lie directly in a directory given here.
    pub protected: Vec<PathBuf>,
}

/// Why the root could not be opened. The display names the key of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No directory that can be entered.
    #[error("workspace.root: {path} cannot be opened as a directory: {source}")]
    Root {
        /// As configured.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The root is itself one of the protected directories.
    #[error(
        "workspace.root: {path} is the daemon's own directory; \
         give the tools a directory of their own"
    )]
    OwnDirectory {
        /// As configured.
        path: PathBuf,
    },
    /// A pattern of a list does not compile.
    #[error("workspace.{list}: the pattern {pattern:?} is not a glob: {why}")]
    Pattern {
        /// The list.
        list: &'static str,
        /// The pattern.
        pattern: String,
        /// Why not.
        why: String,
    },
    /// The kernel, or a filter in front of it, offers no `openat2`.
    #[error(
        "file tools need openat2 (Linux 5.6 or newer, and not filtered by the container's \
         seccomp profile): {0}"
    )]
    NoConfinement(io::Error),
    /// `/proc` does not tell where descriptors are.
    #[error("file tools need /proc mounted, to know where an opened file really is: {0}")]
    NoProc(io::Error),
}

/// The workspace root: one directory descriptor, the boundary inside it, and everything that
/// reaches files below it.
#[derive(Debug)]
pub struct WorkspaceRoot {
    pub(super) directory: Arc<File>,
    /// As the configuration names it, absolute; models may repeat it.
    pub(super) named: PathBuf,
    boundary: Boundary,
    /// Held from the last look at a target to its rename, so that of two writers of this daemon
    /// the second sees the first.
    pub(super) renaming: Mutex<()>,
}

impl WorkspaceRoot {
    /// Opens the root and compiles the lists. Touches nothing else and creates nothing.
    ///
    /// # Errors
    /// Names the key that cannot be met; also when this machine cannot confine file tools.
    pub fn open(settings: &WorkspaceSettings) -> Result<Self, OpenError> {
        let path = settings.root.clone();
        let unusable = |source| OpenError::Root {
            path: path.clone(),
            source,
        };
        let real = std::fs::canonicalize(&settings.root).map_err(unusable)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory: OwnedFd = rustix::fs::open(&real, flags, Mode::empty())
            .map_err(|errno| unusable(errno.into()))?;
        openat2(&directory, ".", flags, Mode::empty(), confinement())
            .map_err(|errno| OpenError::NoConfinement(errno.into()))?;
        let real = whereabouts(&directory).map_err(|errno| OpenError::NoProc(errno.into()))?;
        let fence = Fence::around(&settings.protected, &real);
        if fence.is_root() {
            return Err(OpenError::OwnDirectory { path });
        }
        let lists = [
            &*settings.deny_read,
            &settings.deny_write,
            &settings.ask_read,
        ];
        Ok(Self {
            directory: Arc::new(directory.into()),
            named: std::path::absolute(&settings.root).unwrap_or(path),
            boundary: Boundary::new(lists, fence)?,
            renaming: Mutex::new(()),
        })
    }

    /// The boundary's lists.
    pub(super) fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// The boundary as it stands now, for one call.
    pub(super) fn sentry(&self) -> Sentry<'_> {
        self.boundary.sentry()
    }

    /// Opens a path below the root, confined by the kernel. The empty path is the root.
    pub(super) fn beneath(&self, path: &Path, flags: OFlags) -> Result<File, Errno> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let flags = flags | OFlags::CLOEXEC;
        openat2(&self.directory, path, flags, Mode::empty(), confinement()).map(File::from)
    }

    /// Where a descriptor really is below the root: links resolved, moves included. `None` when it
    /// is not, or no longer, there.
    pub(super) fn relative_of(&self, descriptor: impl AsFd) -> Result<Option<PathBuf>, Errno> {
        let root = whereabouts(&self.directory)?;
        let place = whereabouts(descriptor)?;
        Ok(place.strip_prefix(&root).ok().map(Path::to_owned))
    }

    /// The part of an absolute path behind the root, judged by components, never by letters.
    pub(super) fn behind_root(&self, path: &Path) -> Result<Option<PathBuf>, Errno> {
        let root = whereabouts(&self.directory)?;
        let rest = path
            .strip_prefix(&root)
            .or_else(|_| path.strip_prefix(&self.named));
        let Ok(rest) = rest else { return Ok(None) };
        // the cut loses a slash at the end, which means something
        let is_directory = ends_as_directory(path.as_os_str());
        Ok(Some(if is_directory {
            rest.join(".")
        } else {
            rest.to_owned()
        }))
    }
}

fn confinement() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS
}

/// The kernel's own word for where a descriptor is (proc(5), `/proc/pid/fd`). It holds for the
/// descriptor, whatever has become of the path that it was opened by.
fn whereabouts(descriptor: impl AsFd) -> Result<PathBuf, Errno> {
    let entry = format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd());
    let place = rustix::fs::readlink(entry, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(place.into_bytes())))
}
