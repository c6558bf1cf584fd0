//! Secrets: made, read from a file that is nobody else's, and never shown.
//!
//! Imports nothing of ours. A secret leaves its type only through [`Secret::expose`].

use std::{
    fmt, fs,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Longest secret in a file, in bytes.
const MAX_BYTES: u64 = 4096;
/// What a token begins with, so that scanners for lost secrets can know one.
const TOKEN_PREFIX: &str = "toold_";

/// Why a secret could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Not a regular file.
    #[error("{} is not a regular file", _0.display())]
    NotAFile(PathBuf),
    /// Others on this machine may read or change it.
    #[error("{} is open to others (mode {mode:04o}): make it yours alone with `chmod 600`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Empty, too long, not UTF-8, or more than one word.
    #[error("{} must hold one secret: 1 to {MAX_BYTES} bytes without white space inside", _0.display())]
    Malformed(PathBuf),
    /// The system has no random numbers to give.
    #[error("the system has no random numbers to give: {0}")]
    Random(getrandom::Error),
}

/// A secret text. `Debug` shows nothing of it, and its memory is cleared when it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a text as a secret, white space around it apart; none when it is not one word of 1
    /// to 4096 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = !text.is_empty()
            && text.len() as u64 <= MAX_BYTES
            && !text.contains(|c: char| c.is_whitespace() || c.is_control());
        fits.then(|| Self(Zeroizing::new(text.to_owned())))
    }

    /// A fresh token: `toold_` and 256 random bits in hexadecimal.
    ///
    /// # Errors
    /// When the system has no random numbers to give.
    pub fn generate_token() -> Result<Self, SecretError> {
        let mut random = Zeroizing::new([0; 32]);
        getrandom::fill(random.as_mut()).map_err(SecretError::Random)?;
        let mut text = Zeroizing::new(String::with_capacity(TOKEN_PREFIX.len() + 64));
        text.push_str(TOKEN_PREFIX);
        push_hex(&mut text, random.as_ref());
        Ok(Self(text))
    }

    /// Reads a secret from a regular file that only its owner may read.
    ///
    /// # Errors
    /// As [`SecretError`] says; the content is never part of it.
    pub fn read_file(path: &Path) -> Result<Self, SecretError> {
        let unreadable = |source| SecretError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let malformed = || SecretError::Malformed(path.to_owned());
        // Looked at before it is opened, because opening a pipe would wait for its other end.
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(SecretError::NotAFile(path.to_owned()));
        }
        let mode = metadata.mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(SecretError::Open {
                path: path.to_owned(),
                mode,
            });
        }
        let file = fs::File::open(path).map_err(unreadable)?;
        let mut bytes = Zeroizing::new(Vec::new());
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| malformed())?;
        Self::parse(text).ok_or_else(malformed)
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Its SHA-256, which is what configuration and daemon keep of a token.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    push_hex(&mut text, bytes);
    text
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for nibble in [byte >> 4, byte & 0xf] {
            text.extend(char::from_digit(nibble.into(), 16));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn fresh_tokens_differ_and_are_256_bits_long() {
        let [a, b] = [
            Secret::generate_token().unwrap(),
            Secret::generate_token().unwrap(),
        ];
        assert_ne!(a.expose(), b.expose());
        let digits = a.expose().strip_prefix("toold_").unwrap();
        assert_eq!(digits.len(), 64);
        assert!(digits.bytes().all(|b| b.is_ascii_hexdigit()));
    }

    #[test]
    fn a_secret_is_not_shown_and_its_digest_is_sha_256() {
        let secret = Secret::parse(" test\n").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(
            hex(&secret.sha256()),
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
        );
    }

    #[test]
    fn a_secret_is_one_word() {
        for bad in ["", " \n", "two words", "a\u{0}b", &"x".repeat(4097)] {
            assert!(Secret::parse(bad).is_none(), "{bad:?} was taken");
        }
    }

    #[test]
    fn a_secret_file_is_regular_small_and_closed_to_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let read = || Secret::read_file(&path).map(|s| s.expose().to_owned());
        assert!(matches!(read(), Err(SecretError::Unreadable { .. })));

        fs::write(&path, "hush\n").unwrap();
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for open in [0o644, 0o640, 0o604, 0o620] {
            mode(open);
            let refused = read().unwrap_err().to_string();
            assert!(refused.contains(&format!("mode {open:04o}")), "{refused}");
            assert!(!refused.contains("hush"));
        }
        for closed in [0o600, 0o400] {
            mode(closed);
            assert_eq!(read().unwrap(), "hush");
        }
        mode(0o600);
        fs::write(&path, "x".repeat(5000)).unwrap();
        assert!(matches!(read(), Err(SecretError::Malformed(_))));
        fs::write(&path, b"\xff").unwrap();
        assert!(matches!(read(), Err(SecretError::Malformed(_))));
        assert!(matches!(
            Secret::read_file(directory.path()),
            Err(SecretError::NotAFile(_))
        ));
    }
}
