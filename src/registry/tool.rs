//! Owns a registered tool: its definition, checked and hashed, its compiled schemas and its body.
//!
//! Imports `domain` and the registry's ports. A [`Tool`] never changes: what was captured is what
//! is judged, shown and run.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use super::{
    body::ToolBody,
    error::Error,
    schema::{DeclaredPath, Schema, SchemaRole, Violation},
};
use crate::domain::{Concurrency, Digest, Execution, Json, Object, ToolDefinition, ToolName};

/// The name under which programs are run; reserved in every scope.
pub(super) const RUN_CODE: &str = "run_code";
/// Longest timeout of one dispatch.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);

/// Whether a call may overlap with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// With other parallel calls.
    Parallel,
    /// With none.
    Exclusive,
}

impl Class {
    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Exclusive => "exclusive",
        }
    }
}

/// A tool as the registry keeps it.
#[derive(Debug)]
pub struct Tool {
    definition: ToolDefinition,
    hash: Digest,
    parameters: Schema,
    output: Schema,
    body: Arc<dyn ToolBody>,
}

impl Tool {
    /// Checks a definition and compiles its schemas.
    ///
    /// # Errors
    /// [`Error::Reserved`], [`Error::NoDescription`], [`Error::NoOutputSchema`],
    /// [`Error::Timeout`], [`Error::Schema`].
    pub fn new(definition: ToolDefinition, body: Arc<dyn ToolBody>) -> Result<Arc<Self>, Error> {
        let name = &definition.name;
        if name.as_str() == RUN_CODE {
            return Err(Error::Reserved { name: name.clone() });
        }
        if definition.description.trim().is_empty() {
            return Err(Error::NoDescription { name: name.clone() });
        }
        if definition.output_schema.is_null() {
            return Err(Error::NoOutputSchema { name: name.clone() });
        }
        check_timeout(&definition)?;
        let parameters = Json::Object(definition.parameters.clone());
        let parameters = compile(name, "parameters", &parameters, SchemaRole::Parameters)?;
        let output = compile(
            name,
            "output schema",
            &definition.output_schema,
            SchemaRole::Output,
        )?;
        let hash = definition.hash();
        Ok(Arc::new(Self {
            definition,
            hash,
            parameters,
            output,
            body,
        }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.definition.name.as_str()
    }

    /// The whole declaration.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// SHA-256 over the canonical form of the declaration.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// The code behind it.
    pub fn body(&self) -> &Arc<dyn ToolBody> {
        &self.body
    }

    /// Checks the arguments of a call.
    ///
    /// # Errors
    /// What does not fit, for the model.
    pub fn check_arguments(&self, arguments: &Object) -> Result<(), Violation> {
        self.parameters.check_object(arguments)
    }

    /// Checks a canonical value.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check_output(&self, value: &Json) -> Result<(), Violation> {
        self.output.check(value)
    }

    /// The arguments that the schema declares to be paths in the workspace, as written.
    pub fn workspace_paths<'a>(&self, arguments: &'a Object) -> Vec<DeclaredPath<'a>> {
        self.parameters.workspace_paths(arguments)
    }

    /// Whether this call may overlap with others. Parallel only when the definition says so, or
    /// its classifier answers exactly `true`; one that answers nothing, or panics, means exclusive.
    pub fn class(&self, arguments: &Object) -> Class {
        let parallel = match self.definition.concurrency {
            Concurrency::Exclusive => false,
            Concurrency::Parallel => true,
            Concurrency::Classified => {
                self.contained("classifier", || self.body.classify(arguments))
                    .flatten()
                    == Some(true)
            }
        };
        if parallel {
            Class::Parallel
        } else {
            Class::Exclusive
        }
    }

    /// The key on which this call is serialised across sessions. When the body fails to say, all
    /// such calls of the tool share one.
    pub fn lock_key(&self, execution: &Execution) -> Option<String> {
        self.contained("lock", || self.body.lock_key(execution))
            .unwrap_or_else(|| Some(format!("tool:{}", self.name())))
    }

    /// The card of the pending call; none when the body has none or fails to make it.
    pub fn view(&self, arguments: &Object) -> Option<Json> {
        self.contained("view", || self.body.view(arguments))
            .flatten()
    }

    /// Runs a quick method of the body; nothing when it panics.
    fn contained<T>(&self, what: &'static str, run: impl FnOnce() -> T) -> Option<T> {
        let answer = catch_unwind(AssertUnwindSafe(run));
        if answer.is_err() {
            tracing::error!(tool = self.name(), what, "a tool's method panicked");
        }
        answer.ok()
    }
}

fn check_timeout(definition: &ToolDefinition) -> Result<(), Error> {
    match definition.timeout {
        Some(timeout) if timeout.is_zero() || timeout > MAX_TIMEOUT => Err(Error::Timeout {
            name: definition.name.clone(),
            found: humantime::format_duration(timeout).to_string(),
        }),
        Some(_) | None => Ok(()),
    }
}

fn compile(
    name: &ToolName,
    part: &'static str,
    schema: &Json,
    role: SchemaRole,
) -> Result<Schema, Error> {
    Schema::compile(schema, role).map_err(|source| Error::Schema {
        name: name.clone(),
        part,
        source,
    })
}
