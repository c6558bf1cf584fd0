//! `toold token new`: a fresh token, and the configuration that knows its digest.
//!
//! Imports `config`, `domain::json`. The token itself is printed once and kept nowhere.

use super::{arguments::TokenOptions, error::Error, screen::Screen};
use crate::{
    config::{Permission, Secret, hex},
    domain::json::{ObjectWriter, escape_into},
};

/// Makes a token and prints it.
///
/// # Errors
/// When the system has no random numbers to give, or nobody takes the output.
pub(super) fn make(options: &TokenOptions, screen: &mut Screen) -> Result<(), Error> {
    let token = Secret::generate_token().map_err(|error| Error::Machine(error.to_string()))?;
    let text = if options.json {
        json(options, &token)
    } else {
        told(options, &token)
    };
    screen.print(text.as_bytes())
}

/// The token for a person: the only line that is not TOML is the token.
fn told(options: &TokenOptions, token: &Secret) -> String {
    let permissions = options.permissions.iter().copied().map(Permission::as_str);
    format!(
        "# The token, shown this once. Its bearer is {name}:\n\
         {token}\n\n\
         # For the daemon's configuration, which keeps only the digest:\n\
         [[auth.tokens]]\n\
         name = {name}\n\
         sha256 = \"{digest}\"\n\
         permissions = [{permissions}]\n\
         agents = [{agents}]\n",
        name = quoted(&options.name),
        token = token.expose(),
        digest = hex(&token.sha256()),
        permissions = listed(permissions),
        agents = listed(options.agents.iter().map(String::as_str)),
    )
}

fn json(options: &TokenOptions, token: &Secret) -> String {
    let mut out = Vec::new();
    let mut object = ObjectWriter::new(&mut out);
    object
        .string("token", token.expose())
        .string("name", &options.name)
        .string("sha256", &hex(&token.sha256()))
        .array("permissions", |list| {
            for permission in &options.permissions {
                list.string(permission.as_str());
            }
        })
        .array("agents", |list| {
            for glob in &options.agents {
                list.string(glob);
            }
        });
    object.end();
    out.push(b'\n');
    String::from_utf8_lossy(&out).into_owned()
}

fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(quoted).collect::<Vec<_>>().join(", ")
}

/// A text as a TOML basic string, whose escapes are JSON's.
fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    escape_into(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::arguments::Arguments;
    use crate::{
        config::{Config, Environment, User},
        domain::{Json, json::Limits},
    };

    fn options() -> TokenOptions {
        TokenOptions {
            name: "a\"b\\c".to_owned(),
            permissions: vec![Permission::Call, Permission::Approve],
            agents: vec!["team-*".to_owned()],
            json: false,
        }
    }

    #[test]
    fn the_block_it_prints_is_a_configuration_that_knows_the_token() {
        let token = Secret::generate_token().unwrap();
        let text = told(&options(), &token);
        assert_eq!(text.matches(token.expose()).count(), 1);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("toold.toml");
        std::fs::write(&file, text.replace(token.expose(), "")).unwrap();
        let environment = Environment::new(
            [("XDG_STATE_HOME", "/state")],
            directory.path(),
            User::Other,
        );
        let config = Config::load(Some(&file), &environment).unwrap();
        let known = &config.auth.tokens[0];
        assert_eq!(&*known.name, "a\"b\\c");
        assert_eq!(known.sha256, token.sha256());
        assert!(
            known
                .permissions
                .iter()
                .eq([Permission::Call, Permission::Approve])
        );
        assert!(known.agents[0].is_match("team-a"));
    }

    #[test]
    fn globs_that_no_daemon_would_take_are_refused() {
        let typed = |globs| Arguments::try_parse_from(["toold", "token", "new", "--agents", globs]);
        assert!(typed("team-*,base").is_ok());
        for globs in ["[", "a,", ""] {
            let refused = typed(globs).unwrap_err().to_string();
            assert!(refused.contains("glob"), "{globs:?}: {refused}");
        }
    }

    #[test]
    fn as_json_it_says_the_same() {
        let token = Secret::generate_token().unwrap();
        let object = Json::read(json(&options(), &token).as_bytes(), &Limits::default()).unwrap();
        assert_eq!(
            object.get("token").and_then(Json::as_str),
            Some(token.expose())
        );
        assert_eq!(
            object.get("sha256").and_then(Json::as_str),
            Some(&*hex(&token.sha256()))
        );
        assert_eq!(
            object.pointer("/permissions/1").and_then(Json::as_str),
            Some("approve")
        );
    }
}
