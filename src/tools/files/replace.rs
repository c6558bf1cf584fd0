//! Writing a file whole or not at all, and only where its name was found.
//!
//! Imports `registry`'s signal and siblings. The content goes to a new file in the same directory,
//! through the directory's descriptor, is synced (fsync(2)) and then renamed over the name. So a
//! reader sees the old content or the new, after a loss of power too; the rename itself is not
//! synced, so after a loss of power it may be the old one. A replacement keeps the permission bits
//! and, where the system lets us, the owner; set-id bits, access lists, extended attributes and
//! other hard links stay with the old content.

use std::{
    ffi::OsString,
    fs::{File, Metadata},
    io::Write,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{Arc, PoisonError},
};

use rustix::{
    fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid},
    io::Errno,
};

use super::{
    boundary::{Access, Identity, Suspect},
    error::Error,
    place::{Spot, peek},
    root::WorkspaceRoot,
    version::Stamp,
};
use crate::registry::Signal;

/// Bytes written between two looks at the signal.
const PIECE: usize = 256 * 1024;
/// Permissions of a new file and of a new directory, before the umask.
const NEW_FILE: u32 = 0o666;
const NEW_DIRECTORY: u32 = 0o777;
/// Nobody else reads a replacement before it has the old file's permissions.
const PRIVATE: u32 = 0o600;
/// The permission bits that a replacement keeps.
const KEPT: u32 = 0o777;

/// A write that is decided and not done yet.
#[derive(Debug)]
pub(super) struct Replacement {
    /// Where it goes.
    pub(super) spot: Spot,
    /// The file that it replaces, as it was read; none for a new file.
    pub(super) over: Option<(Stamp, Metadata)>,
    /// The whole content.
    pub(super) bytes: Vec<u8>,
}

impl WorkspaceRoot {
    /// Writes, atomically. When it fails, the name leads to what it led to before; directories
    /// that were made for it stay.
    ///
    /// # Errors
    /// [`Error::Stale`] when the file is not what was read any more, [`Error::Unsteady`] when its
    /// directory is not where it was.
    pub(super) fn put(&self, write: &Replacement, signal: &Signal) -> Result<(), Error> {
        let spot = &write.spot;
        let directory = spot.make_directories()?;
        let old = write.over.as_ref().map(|(_, metadata)| metadata);
        let mut draft = Draft::create(Arc::clone(&directory), old)?;
        for piece in write.bytes.chunks(PIECE) {
            if signal.is_cancelled() {
                return Err(Error::Interrupted);
            }
            draft.file.write_all(piece)?;
        }
        draft.dress(old)?;
        draft.file.sync_all()?;
        if signal.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let _turn = self.renaming.lock().unwrap_or_else(PoisonError::into_inner);
        self.still_held(&directory, spot, old)?;
        match &write.over {
            Some((stamp, _)) => {
                let now = peek(&directory, &spot.name)?;
                if now.map(|metadata| Stamp::of(&metadata)).as_ref() != Some(stamp) {
                    return Err(Error::Stale("changed just now, while it was being written"));
                }
                draft.replace(spot)
            }
            None => draft.appear(spot),
        }
    }

    /// Whether the directory is still where it was found, inside the root and inside the boundary.
    fn still_held(
        &self,
        directory: &File,
        spot: &Spot,
        old: Option<&Metadata>,
    ) -> Result<(), Error> {
        let above = spot.relative.parent().unwrap_or(Path::new(""));
        let now = self.relative_of(directory)?;
        if now.as_deref() != Some(above) {
            return Err(Error::Unsteady);
        }
        let walked = self.descend(above.to_owned())?.ok_or(Error::Unsteady)?;
        let mut lineage = walked.suspect().lineage.to_vec();
        if lineage.last() != Some(&Identity::of(&directory.metadata()?)) {
            return Err(Error::Unsteady);
        }
        lineage.extend(old.map(Identity::of));
        let suspect = Suspect {
            relative: &spot.relative,
            lineage: &lineage,
            names: 1,
        };
        let access = if old.is_some() {
            Access::Replace
        } else {
            Access::Create
        };
        self.sentry().judge(suspect, access)
    }
}

impl Spot {
    /// Makes the missing directories; the innermost, held open.
    fn make_directories(&self) -> Result<Arc<File>, Error> {
        let mut directory = Arc::clone(&self.directory);
        for name in &self.missing {
            match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(NEW_DIRECTORY)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let made = rustix::fs::openat(&directory, name, flags, Mode::empty());
            directory = match made {
                Ok(made) => Arc::new(made.into()),
                // something else took the name
                Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => return Err(Error::Unsteady),
                Err(errno) => return Err(errno.into()),
            };
        }
        Ok(directory)
    }
}

/// The new content under a name of its own; gone when it is dropped before it has its real name.
#[derive(Debug)]
struct Draft {
    directory: Arc<File>,
    name: OsString,
    file: File,
    placed: bool,
}

impl Draft {
    fn create(directory: Arc<File>, old: Option<&Metadata>) -> Result<Self, Error> {
        let mode = Mode::from_raw_mode(if old.is_some() { PRIVATE } else { NEW_FILE });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let name = fresh_name()?;
        let file = rustix::fs::openat(&directory, &name, flags | OFlags::CLOEXEC, mode)?;
        Ok(Self {
            directory,
            name,
            file: file.into(),
            placed: false,
        })
    }

    /// Gives it the old file's owner and permissions.
    fn dress(&self, old: Option<&Metadata>) -> Result<(), Error> {
        let Some(old) = old else { return Ok(()) };
        let own = self.file.metadata()?;
        if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
            let owner = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
            match rustix::fs::fchown(&self.file, Some(owner.0), Some(owner.1)) {
                // only the superuser gives files away; the content is ours then
                Ok(()) | Err(Errno::PERM) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(rustix::fs::fchmod(
            &self.file,
            Mode::from_raw_mode(old.mode() & KEPT),
        )?)
    }

    /// Takes the name of the file that is there.
    fn replace(mut self, spot: &Spot) -> Result<(), Error> {
        rustix::fs::renameat(&self.directory, &self.name, &self.directory, &spot.name)?;
        self.placed = true;
        Ok(())
    }

    /// Takes a name that must be free.
    fn appear(mut self, spot: &Spot) -> Result<(), Error> {
        let (here, flags) = (&self.directory, RenameFlags::NOREPLACE);
        let moved = rustix::fs::renameat_with(here, &self.name, here, &spot.name, flags);
        let named = match moved {
            // a file system without this flag; the first name goes with the drop
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(here, &self.name, here, &spot.name, AtFlags::empty())
            }
            moved => {
                self.placed = moved.is_ok();
                moved
            }
        };
        match named {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(Error::Stale("was made by somebody else just now")),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.placed {
            // a leftover is only an odd name in a directory: there is nobody to tell
            let removed = rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
            removed.unwrap_or_default();
        }
    }
}

/// A hidden name that nobody can guess.
fn fresh_name() -> Result<OsString, Error> {
    let random = getrandom::u64().map_err(std::io::Error::other)?;
    Ok(format!(".toold-{random:016x}.tmp").into())
}
