//! Owns schemas as contracts: compiled once at registration, checked against every call and
//! every value.
//!
//! Imports `domain`; the schema validator and `regex` are used nowhere else. Fetches nothing,
//! applies no defaults, changes no value.
//!
//! Spoken are JSON Schema 2020-12 (when a schema names no dialect) and draft-07. `format` is an
//! annotation in both, so a value is never refused for one; `workspace-path` is the format by
//! which a tool declares which of its arguments are paths. Numbers are judged by their exact
//! text; one exception is known: a fraction beyond 64 bits against a bound that is an integer
//! beyond 64 bits may be rounded to the bound.

mod dialect;
mod document;
mod equality;
mod error;
mod explain;
mod instance;
mod paths;
mod pattern;
mod shape;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use jsonschema::{Draft, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

pub use error::{Problem, SchemaError, Unlisted, Violation};
pub use paths::DeclaredPath;

use self::{
    error::shortened,
    instance::{Lossless, Meter, Subject},
    paths::PathFinder,
};
use crate::domain::{Json, Object, json::Limits};

/// What one check may cost, in looks at values; a body of 4 MiB needs less.
const JUDGING: u64 = 20_000_000;
/// What finding all problems, or else the first, may cost.
const EXPLAINING: u64 = 20_000_000;

/// What a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaRole {
    /// The arguments of a call: the root describes an object.
    Parameters,
    /// The canonical value.
    Output,
}

/// A compiled schema.
pub struct Schema {
    validator: Validator<Lossless>,
    paths: Option<PathFinder>,
}

impl Schema {
    /// Compiles a schema. Costs milliseconds; nothing is
    /// asked of network or file system.
    ///
    /// # Errors
    /// A [`SchemaError`] for what is no schema of a known dialect, refers outside itself, to
    /// nothing, or in a circle that consumes nothing, or could cost more than one call may.
    pub fn compile(schema: &Json, role: SchemaRole) -> Result<Self, SchemaError> {
        let found = match schema {
            Json::Object(_) | Json::Bool(_) => None,
            Json::Null => Some("null"),
            Json::Number(_) => Some("a number"),
            Json::String(_) => Some("a string"),
            Json::Array(_) => Some("an array"),
        };
        if let Some(found) = found {
            return Err(SchemaError::NotASchema { found });
        }
        schema.check(&Limits::default())?;
        let document = schema.to_value();
        let draft = dialect::of(&document)?;
        let shape = document::shape(&document, draft)?;
        shape.check()?;
        if role == SchemaRole::Parameters && !shape.describes_object() {
            return Err(SchemaError::RootNotObject);
        }
        Ok(Self {
            validator: build(&document, draft)?,
            paths: PathFinder::of(shape),
        })
    }

    /// Checks a value.
    ///
    /// # Errors
    /// A [`Violation`] that says what does not fit, also when that could not be found out within
    /// the bound on one check.
    pub fn check(&self, value: &Json) -> Result<(), Violation> {
        self.judge(Subject::Value(value))
    }

    /// Checks the arguments of a call.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub fn check_object(&self, members: &Object) -> Result<(), Violation> {
        self.judge(Subject::Members(members))
    }

    /// The strings of a call's arguments that are declared as paths in the workspace.
    pub fn workspace_paths<'a>(&self, arguments: &'a Object) -> Vec<DeclaredPath<'a>> {
        self.paths
            .as_ref()
            .map(|paths| paths.find(arguments))
            .unwrap_or_default()
    }

    fn judge(&self, subject: Subject<'_>) -> Result<(), Violation> {
        let fits = |meter: &Meter| self.validator.is_valid(subject.under(meter));
        let verdict = Meter::within(JUDGING, fits);
        match verdict {
            Some(true) => Ok(()),
            Some(false) => Err(self.explain(subject)),
            None => Err(explain::unexplained(
                "too complex to be checked; send less at once",
            )),
        }
    }

    #[cold]
    fn explain(&self, subject: Subject<'_>) -> Violation {
        let all = |meter: &Meter| explain::all(self.validator.iter_errors(subject.under(meter)));
        let first = |meter: &Meter| {
            self.validator
                .validate(subject.under(meter))
                .err()
                .map(|error| explain::first(&error))
        };
        Meter::within(EXPLAINING, all)
            .or_else(|| Meter::within(EXPLAINING, first).flatten())
            .unwrap_or_else(|| explain::unexplained("does not fit; compare it with the schema"))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

fn build(document: &Value, draft: Draft) -> Result<Validator<Lossless>, SchemaError> {
    let options = jsonschema::options_for::<Lossless>()
        .with_draft(draft)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(pattern::options());
    match catch_unwind(AssertUnwindSafe(|| options.build(document))) {
        Ok(Ok(validator)) => Ok(validator),
        Ok(Err(error)) => Err(refusal(&error)),
        Err(_) => Err(SchemaError::Invalid {
            pointer: String::new(),
            reason: "the validator failed on it".to_owned(),
        }),
    }
}

fn refusal(error: &ValidationError<'_>) -> SchemaError {
    let pointer = error.instance_path().as_str();
    let is_pattern =
        matches!(error.kind(), ValidationErrorKind::Format { format } if format == "regex");
    match error.instance().as_str().filter(|_| is_pattern) {
        Some(pattern) => pattern::refusal(pointer, pattern),
        None => SchemaError::Invalid {
            pointer: pointer.to_owned(),
            reason: shortened(&error.to_string(), 200),
        },
    }
}
