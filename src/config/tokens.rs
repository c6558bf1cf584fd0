//! `[[auth.tokens]]`: whose tokens they are, where their digests come from, what they may do.
//!
//! Imports `environment`, `section`, `value`, `secret`, `checked`. Of a token only its SHA-256
//! goes on from here.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
};

use super::{
    checked::{Auth, TokenSpec},
    environment::Environment,
    raw::Node,
    secret::Secret,
    section::Section,
    value,
};

/// Longest name of a principal, in characters.
const MAX_NAME: usize = 128;
/// The members of which a token has exactly one.
const SOURCES: [&str; 3] = ["sha256", "token_env", "token_file"];

const INLINE: &str = "a secret is never written here; name its source with token_env or \
    token_file, or give its sha256";

/// Who makes the tokens that open the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Issuer {
    /// The operator, in the configuration; right or wrong.
    Configured,
    /// The daemon itself, for loopback alone.
    Generated,
}

/// Reads `[auth]`.
pub(super) fn read(mut section: Section<'_>, environment: &Environment) -> (Auth, Issuer) {
    section.unavailable(&["oidc"]);
    let mut tokens: Vec<TokenSpec> = Vec::new();
    let mut files = Vec::new();
    let mut names = BTreeMap::new();
    let sections = section.sections("tokens");
    let issuer = if sections.is_empty() {
        Issuer::Generated
    } else {
        Issuer::Configured
    };
    for mut each in sections {
        let name = each.required("name", name);
        if let Some(name) = &name {
            match names.entry(name.clone()) {
                Entry::Vacant(free) => drop(free.insert(each.origin("name"))),
                Entry::Occupied(first) => {
                    each.refuse(
                        "name",
                        format!("{name:?} is already taken at {}", first.get()),
                    );
                }
            }
        }
        let token = read_one(&mut each, name, environment, &mut files);
        each.finish();
        let Some(token) = token else { continue };
        if let Some(twin) = tokens.iter().find(|other| other.sha256 == token.sha256) {
            each.refuse("", format!("is the same token as that of {:?}", twin.name));
        }
        tokens.push(token);
    }
    section.finish();
    (Auth { tokens, files }, issuer)
}

fn read_one(
    section: &mut Section<'_>,
    name: Option<String>,
    environment: &Environment,
    files: &mut Vec<PathBuf>,
) -> Option<TokenSpec> {
    let sha256 = digest(section, environment, files);
    let permissions = listed(section, "permissions", "\"call\"", value::permission);
    let agents = listed(section, "agents", "\"*\" for all agents", value::glob);
    Some(TokenSpec {
        name: name?.into(),
        sha256: sha256?,
        permissions: permissions?.into_iter().collect(),
        agents: agents?,
    })
}

/// A list that must be there and must name something.
fn listed<T>(
    section: &mut Section<'_>,
    key: &'static str,
    example: &str,
    read: impl Fn(&Node) -> Result<T, String>,
) -> Option<Vec<T>> {
    if !section.has(key) {
        section.refuse(
            key,
            format!("is missing; list what is meant, such as {example}"),
        );
    }
    let values = section.list(key, read)?;
    if values.is_empty() {
        section.refuse(
            key,
            format!("names nothing; list what is meant, such as {example}"),
        );
    }
    Some(values)
}

fn digest(
    section: &mut Section<'_>,
    environment: &Environment,
    files: &mut Vec<PathBuf>,
) -> Option<[u8; 32]> {
    section.optional("token", |_| -> Result<(), String> {
        Err(INLINE.to_owned())
    });
    let given: Vec<_> = SOURCES
        .into_iter()
        .filter(|source| section.has(source))
        .collect();
    if let [_, second, ..] = given.as_slice() {
        section.refuse(
            second,
            format!("one source is enough, here are {}", given.join(" and ")),
        );
    } else if given.is_empty() && !section.has("token") {
        section.refuse("", "has no source; give sha256, token_env or token_file");
    }
    let written = section.optional("sha256", value::sha256);
    let from_variable = section.optional("token_env", |node| from_variable(node, environment));
    let from_file = section.optional("token_file", |node| {
        let path = environment.absolute(value::path(node)?);
        files.push(path.clone());
        from_file(&path)
    });
    written.or(from_variable).or(from_file)
}

fn from_variable(node: &Node, environment: &Environment) -> Result<[u8; 32], String> {
    let name = value::text(node)?;
    if !is_variable(name) {
        return Err(
            "expected the name of an environment variable, such as \"BACKEND_TOKEN\"; what \
            stands here is not shown, in case it is a token"
                .to_owned(),
        );
    }
    let text = environment
        .get(name)
        .ok_or_else(|| format!("the variable {name} is not set, empty, or not UTF-8"))?;
    let secret = Secret::parse(text)
        .ok_or_else(|| format!("the variable {name} must hold one token without white space"))?;
    Ok(secret.sha256())
}

/// Tokens begin in lower case with our name, and what is a secret elsewhere has other characters.
fn is_variable(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(fits) && !name.starts_with("toold_")
}

fn from_file(path: &Path) -> Result<[u8; 32], String> {
    Secret::read_file(path)
        .map(|secret| secret.sha256())
        .map_err(|error| error.to_string())
}

fn name(node: &Node) -> Result<String, String> {
    principal_name(value::text(node)?)
}

/// Takes a text as the name of a principal.
///
/// # Errors
/// What was expected, when it is not 1 to 128 characters without white space and control
/// characters.
pub fn principal_name(text: &str) -> Result<String, String> {
    let plain = |c: char| !c.is_control() && !c.is_whitespace();
    if text.is_empty() || text.chars().count() > MAX_NAME || !text.chars().all(plain) {
        return Err(format!(
            "expected a name of 1 to {MAX_NAME} characters without white space"
        ));
    }
    Ok(text.to_owned())
}
