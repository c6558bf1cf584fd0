//! Owns the words for what does not fit: which problems are told, and how.
//!
//! Imports its siblings and the validator's errors. Must not repeat a value: an error here knows
//! the kind of the value that it is about and nothing else of it.

use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind},
};

use super::error::{Problem, Unlisted, Violation, shortened};

/// Most problems that are listed.
const MAX_PROBLEMS: usize = 5;
/// Longest message, in characters.
const MAX_MESSAGE: usize = 300;
/// Most names that one message lists.
const MAX_NAMES: usize = 5;
/// How far into alternatives within alternatives a message looks.
const MAX_NESTING: usize = 2;

/// A violation of all that was found.
pub(super) fn all<'e>(errors: impl Iterator<Item = ValidationError<'e>>) -> Violation {
    let mut problems = Vec::new();
    let mut unlisted = 0;
    for error in errors {
        if problems.len() < MAX_PROBLEMS {
            problems.push(problem(&error));
        } else {
            unlisted += 1;
        }
    }
    Violation::new(problems, Unlisted::Counted(unlisted))
}

/// A violation of which only the first problem is known.
pub(super) fn first(error: &ValidationError<'_>) -> Violation {
    Violation::new(vec![problem(error)], Unlisted::Unknown)
}

/// A violation that could not be explained at a bearable cost.
pub(super) fn unexplained(message: &str) -> Violation {
    let problem = Problem {
        pointer: String::new(),
        message: message.to_owned(),
    };
    Violation::new(vec![problem], Unlisted::Counted(0))
}

fn problem(error: &ValidationError<'_>) -> Problem {
    Problem {
        pointer: error.instance_path().as_str().to_owned(),
        message: shortened(&message(error, MAX_NESTING), MAX_MESSAGE),
    }
}

fn message(error: &ValidationError<'_>, nesting: usize) -> String {
    use ValidationErrorKind as Kind;
    let kind = error.kind();
    if let Kind::Type { kind } = kind {
        return format!("expected {}, found {}", kinds(kind), found(error));
    }
    if let Kind::Required { property } = kind {
        return format!("the required member {property} is missing");
    }
    if let Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } =
        kind
    {
        return format!("no member is named {}", names(unexpected));
    }
    if let Kind::FalseSchema = kind {
        let closed = error
            .schema_path()
            .as_str()
            .ends_with("/additionalProperties");
        let what = if closed {
            "no members are"
        } else {
            "nothing is"
        };
        return format!("{what} allowed here");
    }
    if let Kind::AdditionalItems { limit } = kind {
        return format!("expected at most {limit} elements");
    }
    if let Kind::UnevaluatedItems { unexpected } = kind {
        return format!("{} elements are not allowed here", unexpected.len());
    }
    if let Kind::PropertyNames { error: inner } = kind {
        let name = shortened(found(inner), 64);
        return inner
            .masked_with(format!("the member name {name:?}"))
            .to_string();
    }
    if let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = kind {
        return alternatives(error, context, nesting);
    }
    error.masked_with("the value").to_string()
}

/// The kind of value that an error is about.
fn found<'e>(error: &'e ValidationError<'_>) -> &'e str {
    error.instance().as_str().unwrap_or_default()
}

fn kinds(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.to_string(),
        TypeKind::Multiple(kinds) => {
            let kinds: Vec<String> = kinds
                .iter()
                .map(|kind: JsonType| kind.to_string())
                .collect();
            kinds.join(" or ")
        }
    }
}

fn names(unexpected: &[String]) -> String {
    let listed: Vec<String> = unexpected
        .iter()
        .take(MAX_NAMES)
        .map(|name| format!("{:?}", shortened(name, 64)))
        .collect();
    let listed = listed.join(" or ");
    match unexpected.len().saturating_sub(MAX_NAMES) {
        0 => listed,
        more => format!("{listed}, nor as {more} others are"),
    }
}

/// What is wrong when none of several alternatives fits: the kinds that would, or what the
/// closest one misses.
fn alternatives(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'_>>],
    nesting: usize,
) -> String {
    let here = error.instance_path().as_str();
    let wrong_kind = |errors: &[ValidationError<'_>]| {
        errors
            .iter()
            .filter(|error| error.instance_path().as_str() == here)
            .find_map(|error| {
                let ValidationErrorKind::Type { kind } = error.kind() else {
                    return None;
                };
                Some(kinds(kind))
            })
    };
    let close = context.iter().filter(|errors| wrong_kind(errors).is_none());
    let closest = close
        .min_by_key(|errors| errors.len())
        .and_then(|errors| errors.first());
    match closest {
        Some(miss) if nesting > 0 => {
            let at = miss.instance_path().as_str();
            let place = if at == here {
                String::new()
            } else {
                format!("at {at}: ")
            };
            let miss = message(miss, nesting - 1);
            format!(
                "fits none of {} alternatives; the closest: {place}{miss}",
                context.len()
            )
        }
        Some(_) => format!("fits none of {} alternatives", context.len()),
        None => {
            let mut wanted: Vec<_> = context.iter().filter_map(|e| wrong_kind(e)).collect();
            wanted.dedup();
            format!("expected {}, found {}", wanted.join(" or "), found(error))
        }
    }
}
