//! Schemas from the outside: what is refused at registration, and what values are told.

mod agreement;
mod bounds;
mod numbers;
mod paths;
mod refused;
mod told;

use super::{Schema, SchemaError, SchemaRole, Violation};
use crate::domain::{Json, Object};

fn json(text: &str) -> Json {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn members(text: &str) -> Object {
    json(text)
        .as_object()
        .unwrap_or_else(|| panic!("{text} is no object"))
        .clone()
}

fn output(schema: &str) -> Result<Schema, SchemaError> {
    Schema::compile(&json(schema), SchemaRole::Output)
}

fn parameters(schema: &str) -> Result<Schema, SchemaError> {
    Schema::compile(&json(schema), SchemaRole::Parameters)
}

fn compiled(schema: &str) -> Schema {
    output(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

fn refusal(schema: &str) -> SchemaError {
    match output(schema) {
        Ok(_) => panic!("{schema} was accepted"),
        Err(error) => error,
    }
}

fn violation(schema: &str, value: &str) -> Violation {
    match compiled(schema).check(&json(value)) {
        Ok(()) => panic!("{schema} let {value} through"),
        Err(violation) => violation,
    }
}

/// Checks that exactly the values said to fit do.
fn fits(schema: &str, values: &[(&str, bool)]) {
    let compiled = compiled(schema);
    for (value, fits) in values {
        assert_eq!(
            compiled.check(&json(value)).is_ok(),
            *fits,
            "{value} under {schema}"
        );
    }
}
