//! Execution tokens: capabilities to act as one execution.
//!
//! Imports `domain`. A token never appears in an event, a log line, a result, a metric or an
//! error: its `Debug` prints nothing, and only its hash is kept.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::domain::ExecutionId;

/// 256 random bits in hexadecimal, behind the prefix `tx_`.
#[derive(Clone)]
pub struct ExecutionToken(Zeroizing<String>);

impl ExecutionToken {
    /// The token's text, to hand to whom it is meant for.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ExecutionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExecutionToken")
    }
}

/// The live tokens, by hash. An execution has at most one.
#[derive(Debug, Default)]
pub struct ExecutionTokens {
    live: Mutex<Live>,
}

#[derive(Debug, Default)]
struct Live {
    by_hash: HashMap<[u8; 32], ExecutionId>,
    of_execution: HashMap<ExecutionId, [u8; 32]>,
}

impl ExecutionTokens {
    /// Mints the token of an execution; an earlier one dies.
    ///
    /// # Errors
    /// When the system has no random numbers to give.
    pub fn mint(&self, execution: ExecutionId) -> Result<ExecutionToken, getrandom::Error> {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        getrandom::fill(&mut *bytes)?;
        let mut text = Zeroizing::new(String::with_capacity(67));
        text.push_str("tx_");
        for byte in bytes.iter() {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
        }
        let hash = hash(&text);
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = live.of_execution.insert(execution, hash) {
            live.by_hash.remove(&old);
        }
        live.by_hash.insert(hash, execution);
        Ok(ExecutionToken(text))
    }

    /// The execution that a presented token acts as. Looked up by hash, so the time it takes says
    /// nothing about live tokens.
    pub fn resolve(&self, presented: &str) -> Option<ExecutionId> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.by_hash.get(&hash(presented)).copied()
    }

    /// Ends the token of an execution, if it has one.
    pub fn revoke(&self, execution: ExecutionId) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hash) = live.of_execution.remove(&execution) {
            live.by_hash.remove(&hash);
        }
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{IdSource, SystemIds};

    #[test]
    fn a_token_acts_as_its_execution_until_it_is_revoked_and_prints_nothing() {
        let tokens = ExecutionTokens::default();
        let execution = ExecutionId::from_uuid(SystemIds.uuid());
        let token = tokens.mint(execution).unwrap();
        assert_eq!(tokens.resolve(token.reveal()), Some(execution));
        assert_eq!(tokens.resolve("tx_00"), None);
        assert!(!format!("{token:?}{tokens:?}").contains(token.reveal()));
        let newer = tokens.mint(execution).unwrap();
        assert_eq!(
            tokens.resolve(token.reveal()),
            None,
            "an execution has one token"
        );
        tokens.revoke(execution);
        assert_eq!(tokens.resolve(newer.reveal()), None);
    }
}
