//! What state a file's content is in: the word that observations keep and staleness compares.
//!
//! Imports `domain` and `registry`'s signal. Reads in bounded pieces and looks at the signal
//! between them.

use std::{
    fmt,
    fs::{File, Metadata},
    io::{Read, Seek},
    ops::ControlFlow,
    os::unix::fs::MetadataExt,
    str::FromStr,
};

use sha2::{Digest as _, Sha256};

use super::error::Error;
use crate::{domain::Digest, registry::Signal};

/// Up to this size in bytes a file is read to its end whenever it is read at all, so that its
/// version is a digest and its lines are counted; what is larger gets a stamp. Also the largest
/// file that is edited.
pub(super) const WHOLE: usize = 16 * 1024 * 1024;
/// Bytes read between two looks at the signal.
const PIECE: usize = 64 * 1024;
/// How often a file that changes while it is read is read again.
const ATTEMPTS: usize = 3;

/// What the file system tells of a file's state without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// From a descriptor's metadata.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether both are of one file, in whatever state.
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether a file of this size gets a stamp instead of a digest.
    pub(super) fn is_large(&self) -> bool {
        self.size > WHOLE as u64
    }
}

/// The state of a file's content as a session observed it.
///
/// As text `sha256:<hex>` of the whole content, or `stat:…` for a large file of which only a part
/// was read: device, inode, size, and times of the last change of content and inode, in
/// nanoseconds. Equal digests mean equal content; equal stamps mean that nothing was written
/// since, as far as the file system's clock can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Version {
    /// Of the whole content.
    Digest(Digest),
    /// Of a large file.
    Stamp(Stamp),
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stamp = match self {
            Self::Digest(digest) => return digest.fmt(f),
            Self::Stamp(stamp) => stamp,
        };
        let Stamp {
            device,
            inode,
            size,
            modified,
            changed,
        } = stamp;
        let (modified, changed) = (Nanos(*modified), Nanos(*changed));
        write!(f, "stat:{device}:{inode}:{size}:{modified}:{changed}")
    }
}

struct Nanos((i64, i64));

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = self.0;
        write!(f, "{seconds}.{nanos:09}")
    }
}

/// A file's content as it was at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Before and after reading.
    pub(super) stamp: Stamp,
    /// Of the content; none when it was not worth reading.
    pub(super) digest: Option<Digest>,
    /// The content, when it has at most as many bytes as were to be kept.
    pub(super) bytes: Option<Vec<u8>>,
}

impl Snapshot {
    /// Reads a file, keeping at most `keep` bytes of content.
    ///
    /// # Errors
    /// [`Error::Stale`] when the file changes under every attempt.
    pub(super) fn take(file: &mut File, keep: usize, signal: &Signal) -> Result<Self, Error> {
        for _ in 0..ATTEMPTS {
            let stamp = Stamp::of(&file.metadata()?);
            file.rewind()?;
            let mut hash = Sha256::new();
            let mut bytes = Some(Vec::new());
            scan(file, signal, |piece| {
                hash.update(piece);
                bytes = bytes.take().filter(|kept| kept.len() + piece.len() <= keep);
                if let Some(bytes) = &mut bytes {
                    bytes.extend_from_slice(piece);
                }
                ControlFlow::Continue(())
            })?;
            if Stamp::of(&file.metadata()?) == stamp {
                return Ok(Self {
                    stamp,
                    digest: Some(digest(hash)),
                    bytes,
                });
            }
        }
        Err(Error::Stale("is being written by somebody else right now"))
    }

    /// The state without the content.
    pub(super) fn unread(file: &File) -> Result<Self, Error> {
        Ok(Self {
            stamp: Stamp::of(&file.metadata()?),
            digest: None,
            bytes: None,
        })
    }

    /// Whether this is the state that an observation noted.
    pub(super) fn is(&self, observed: &str) -> bool {
        match Digest::from_str(observed) {
            Ok(digest) => self.digest == Some(digest),
            Err(_) => Version::Stamp(self.stamp.clone()).to_string() == observed,
        }
    }
}

/// The digest of what was hashed.
pub(super) fn digest(hash: Sha256) -> Digest {
    <[u8; 32]>::from(hash.finalize()).into()
}

/// Hands a file's bytes on from where it stands, piece by piece, until its end or until `take`
/// breaks. Whether the end was reached.
///
/// # Errors
/// [`Error::Interrupted`] as soon as the signal asks to stop.
pub(super) fn scan(
    file: &mut File,
    signal: &Signal,
    mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<bool, Error> {
    let mut piece = vec![0; PIECE];
    loop {
        if signal.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let read = match file.read(&mut piece) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if read == 0 {
            return Ok(true);
        }
        if take(piece.get(..read).unwrap_or_default()).is_break() {
            return Ok(false);
        }
    }
}
