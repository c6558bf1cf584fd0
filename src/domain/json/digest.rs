//! Owns digests: SHA-256 over bytes or over the canonical form of a call.
//!
//! Imports the writer. Must not be used for secrets: comparing is not constant in time.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::Object;
use super::write::{canonical_object, string};

/// A SHA-256 digest, shown as `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 lower-case hexadecimal digits")]
pub struct DigestError;

const PREFIX: &str = "sha256:";

impl Digest {
    /// The digest of a call: over the canonical form of `{name, arguments}`, so member order and
    /// white space make no difference and the text of numbers does (pipeline: Lossless JSON).
    pub fn of_call(name: &str, arguments: &Object) -> Self {
        let mut canonical = Vec::with_capacity(256);
        canonical.extend_from_slice(br#"{"arguments":"#);
        canonical_object(arguments, &mut canonical);
        canonical.extend_from_slice(br#","name":"#);
        string(name, &mut canonical);
        canonical.push(b'}');
        Self::of_bytes(&canonical)
    }

    /// The digest of these bytes as they are.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |value: u8| {
            char::from(if value < 10 {
                b'0' + value
            } else {
                b'a' + value - 10
            })
        };
        let mut text = String::with_capacity(PREFIX.len() + 64);
        text.push_str(PREFIX);
        for byte in self.0 {
            text.push(digit(byte >> 4));
            text.push(digit(byte & 0x0f));
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digits = text.strip_prefix(PREFIX).ok_or(DigestError)?.as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return Err(DigestError);
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Self(bytes))
    }
}

fn digit(byte: u8) -> Result<u8, DigestError> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(DigestError),
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
