//! Whole configurations, read as an operator would write them.

mod accepted;
mod from_environment;
mod refused;
mod tokens;

use std::{fs, path::Path};

use tempfile::TempDir;

use super::{Config, Environment, User};

/// A directory with a configuration file in it, which is also the current directory.
struct House(TempDir);

impl House {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn environment(&self, variables: &[(&str, &str)]) -> Environment {
        let state = [("XDG_STATE_HOME", "/state")];
        let variables = state.iter().chain(variables).copied();
        Environment::new(variables, self.path(), User::Other)
    }

    /// Loads a configuration of this text; problems are shown with the file's bare name.
    fn load(&self, text: &str, variables: &[(&str, &str)]) -> Result<Config, Vec<String>> {
        self.write("toold.toml", text);
        let file = self.path().join("toold.toml");
        let here = format!("{}/", self.path().display());
        Config::load(Some(&file), &self.environment(variables)).map_err(|problems| {
            problems
                .iter()
                .map(|problem| problem.to_string().replace(&here, ""))
                .collect()
        })
    }

    #[track_caller]
    fn accepts(&self, text: &str, variables: &[(&str, &str)]) -> Config {
        self.load(text, variables)
            .unwrap_or_else(|problems| panic!("{}", problems.join("\n")))
    }

    /// Asserts exactly these problems, in this order.
    #[track_caller]
    fn refuses(&self, text: &str, variables: &[(&str, &str)], expected: &[&str]) {
        let found = self.load(text, variables).expect_err("it was accepted");
        assert_eq!(found.join("\n"), expected.join("\n"));
    }
}

/// Asserts exactly these problems of a file.
#[track_caller]
fn refuses(text: &str, expected: &[&str]) {
    House::new().refuses(text, &[], expected);
}
