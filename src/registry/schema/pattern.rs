//! Owns the bound on patterns, and why one is refused.
//!
//! Imports its siblings and `regex`. Must not match anything: the validator does.

use jsonschema::{PatternOptions, Regex};

use super::error::{SchemaError, shortened};

/// Largest compiled pattern, in bytes. Room for what people write, `^[^/]{1,255}(/[^/]{1,255}){0,9}$`
/// or `^\p{L}{1,64}$`, and none for `(((a{100}){100}){100})`.
const MAX_COMPILED: usize = 4 * 1024 * 1024;

/// Patterns are matched in time linear in the text, with no look-around and no backreferences.
pub(super) fn options() -> PatternOptions<Regex> {
    PatternOptions::regex().size_limit(MAX_COMPILED)
}

/// What to say of a pattern that the validator did not take.
pub(super) fn refusal(pointer: &str, pattern: &str) -> SchemaError {
    let compiled = regex::RegexBuilder::new(pattern)
        .size_limit(MAX_COMPILED)
        .build();
    let reason = match compiled {
        Err(regex::Error::CompiledTooBig(_)) => {
            format!(
                "it takes more than {} MiB; bound its repetitions",
                MAX_COMPILED >> 20
            )
        }
        Err(error) => {
            // the last line says what is wrong, those before draw where
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            shortened(reason.trim_start_matches("error: "), 200)
        }
        Ok(_) => "it is not a regular expression of ECMA-262".to_owned(),
    };
    SchemaError::Pattern {
        pointer: pointer.to_owned(),
        pattern: shortened(pattern, 100),
        reason,
    }
}
