//! The process's environment as a value, and its variables laid over what the file says.
//!
//! Imports `problem`, `raw`. The one place in the daemon that reads environment variables, the
//! current directory and who runs it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fmt, io,
    path::{Path, PathBuf},
};

use super::{
    problem::{Place, Problem, Problems},
    raw::{Node, Table, Value},
};

/// What every variable of the daemon's begins with.
const PREFIX: &str = "TOOLD_";
/// The command line's own variables, which are no keys of the configuration.
const OWN: [&str; 5] = [
    "TOOLD_URL",
    "TOOLD_TOKEN",
    "TOOLD_CONFIG",
    "TOOLD_LOG",
    "TOOLD_EXECUTION_TOKEN",
];

/// Who runs the process; decides where state goes when nothing says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// The superuser: system-wide directories.
    Root,
    /// Anybody else: directories of their own.
    Other,
}

/// The environment of a process. `Debug` shows names, never values.
#[derive(Clone)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    directory: PathBuf,
    user: User,
}

impl Environment {
    /// The real environment of this process.
    ///
    /// # Errors
    /// When the current directory is gone or cannot be read.
    pub fn of_process() -> io::Result<Self> {
        let user = if rustix::process::geteuid().is_root() {
            User::Root
        } else {
            User::Other
        };
        Ok(Self::new(
            std::env::vars_os(),
            std::env::current_dir()?,
            user,
        ))
    }

    /// An environment made of these variables; relative paths begin at `directory`.
    pub fn new<N: Into<OsString>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (N, V)>,
        directory: impl Into<PathBuf>,
        user: User,
    ) -> Self {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self {
            variables,
            directory: directory.into(),
            user,
        }
    }

    /// A variable's text; none when it is unset, empty or not UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).and_then(OsStr::to_str)
    }

    /// A variable as a path; none when it is unset or empty.
    pub fn path(&self, name: &str) -> Option<&Path> {
        self.raw(name).map(Path::new)
    }

    /// A path as it is meant: from the current directory when it is relative, without `.`.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.directory.join(path).components().collect()
    }

    /// Where the daemon keeps its state when nothing else is said: `$XDG_STATE_HOME/toold`; without
    /// that variable `/var/lib/toold` for root and `~/.local/state/toold`, XDG's own default, for
    /// anybody else.
    ///
    /// # Errors
    /// When `XDG_STATE_HOME` is relative, or neither it nor `HOME` is set.
    pub fn state_dir(&self) -> Result<PathBuf, Problem> {
        let of = |name: &str, below: &str| -> Option<Result<PathBuf, Problem>> {
            let directory = self.path(name)?;
            let relative = || {
                let place = Place::Variable(name.to_owned());
                Problem::bare(
                    place,
                    "must be an absolute path: the daemon's state is kept in it",
                )
            };
            Some(
                directory
                    .is_absolute()
                    .then(|| directory.join(below))
                    .ok_or_else(relative),
            )
        };
        if let Some(chosen) = of("XDG_STATE_HOME", "toold") {
            return chosen;
        }
        if self.user == User::Root {
            return Ok(PathBuf::from("/var/lib/toold"));
        }
        of("HOME", ".local/state/toold").unwrap_or_else(|| {
            let place = Place::Variable("XDG_STATE_HOME".to_owned());
            Err(Problem::bare(
                place,
                "neither it nor HOME is set: set it to a directory where the daemon's state is kept",
            ))
        })
    }

    fn raw(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|v| !v.is_empty())
    }

    /// Lays the variables over the file: `TOOLD_SERVER__LISTEN` is the key `listen` of `[server]`.
    ///
    /// Names that are no key stay in the tree, where the readers of its sections refuse them.
    /// Variables that a token names as its source are no keys.
    pub(super) fn overlay(&self, tree: &mut Table, problems: &Problems) {
        let (tokens, others): (Vec<_>, Vec<_>) = self
            .variables
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?, value.as_os_str())))
            .filter(|(name, _)| name.starts_with(PREFIX) && !OWN.contains(name))
            .filter(|(name, _)| !is_service_link(name))
            .partition(|(name, _)| name.eq_ignore_ascii_case("TOOLD_AUTH__TOKENS"));
        for (name, value) in tokens {
            lay(tree, name, value, problems);
        }
        let secrets = secret_variables(tree);
        for (name, value) in others
            .into_iter()
            .filter(|(name, _)| !secrets.contains(*name))
        {
            lay(tree, name, value, problems);
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("directory", &self.directory)
            .field("user", &self.user)
            .finish()
    }
}

/// Whether Kubernetes sets it, in the pods beside a Service that is called `toold`.
fn is_service_link(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX).unwrap_or_default();
    rest == "PORT"
        || !rest.contains("__") && (rest.starts_with("PORT_") || rest.starts_with("SERVICE_"))
}

/// The variables that `token_env` of any token names.
fn secret_variables(tree: &Table) -> BTreeSet<String> {
    let auth = tree.get("auth").and_then(Node::table);
    let tokens = auth
        .and_then(|auth| auth.get("tokens").and_then(Node::list))
        .unwrap_or_default();
    let named = |token: &Node| match token.table()?.get("token_env")?.value {
        Value::String(ref name) => Some(name.clone()),
        Value::Text(_) | Value::Integer(_) | Value::List(_) | Value::Table(_) | Value::Other(_) => {
            None
        }
    };
    tokens.iter().filter_map(named).collect()
}

/// Puts one variable into the tree, where it replaces what the file said.
fn lay(tree: &mut Table, name: &str, value: &OsStr, problems: &Problems) {
    let place = Place::Variable(name.to_owned());
    let refuse = |message: String| problems.add(Problem::bare(place.clone(), message));
    let Some(text) = value.to_str() else {
        return refuse("is not UTF-8".to_owned());
    };
    let path: Vec<String> = name
        .strip_prefix(PREFIX)
        .unwrap_or(name)
        .split("__")
        .map(str::to_ascii_lowercase)
        .collect();
    if path.iter().any(String::is_empty) {
        return refuse("names no key: between two names stand two underscores".to_owned());
    }
    let node = Node {
        place: place.clone(),
        value: Value::Text(text.to_owned()),
    };
    if let Err(message) = put(tree, &path, node) {
        refuse(message);
    }
}

fn put(tree: &mut Table, path: &[String], node: Node) -> Result<(), String> {
    let [sections @ .., key] = path else {
        return Ok(());
    };
    let mut table = tree;
    for (depth, name) in sections.iter().enumerate() {
        // Agents are named by the operator, in letters that no variable can hold.
        let name = if depth == 1 && path.first().is_some_and(|root| root == "agents") {
            spelling(table, name)?
        } else {
            name.clone()
        };
        let shown = name.clone();
        let place = node.place.clone();
        let section = table.entry(name).or_insert_with(|| Node {
            place,
            value: Value::Table(Table::new()),
        });
        let kind = section.value.kind();
        table = match &mut section.value {
            Value::Table(members) => members,
            Value::Text(_) => return Err(format!("{} already sets all of it", section.place)),
            Value::List(_) => {
                return Err(format!("{shown} is a list: set all of it, as a TOML array"));
            }
            Value::String(_) | Value::Integer(_) | Value::Other(_) => {
                return Err(format!("{shown} is {kind} and has no members"));
            }
        };
    }
    match table.get(key).map(|old| &old.place) {
        Some(old @ Place::Variable(_)) => Err(format!("{old} sets the same key")),
        Some(Place::File { .. } | Place::Whole(_) | Place::Process) | None => {
            table.insert(key.clone(), node);
            Ok(())
        }
    }
}

/// The agent in the file that a variable means: `TEAM_CODER` is `team-coder`, `Team.Coder` …
fn spelling(agents: &Table, typed: &str) -> Result<String, String> {
    let folded = |name: &str| name.to_ascii_lowercase().replace(['-', '.'], "_");
    let mut fitting = agents.keys().filter(|name| folded(name) == folded(typed));
    match (fitting.next(), fitting.next()) {
        (None, _) => Ok(typed.to_owned()),
        (Some(name), None) => Ok(name.clone()),
        (Some(a), Some(b)) => Err(format!("may mean agent {a} or agent {b}: use the file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(variables: &[(&str, &str)], user: User) -> String {
        let environment = Environment::new(variables.iter().copied(), "/here", user);
        match environment.state_dir() {
            Ok(path) => path.display().to_string(),
            Err(problem) => problem.to_string(),
        }
    }

    #[test]
    fn state_goes_where_the_xdg_variables_say_and_root_has_var_lib() {
        let home = ("HOME", "/home/ann");
        let xdg = ("XDG_STATE_HOME", "/state");
        assert_eq!(state(&[home, xdg], User::Other), "/state/toold");
        assert_eq!(state(&[home, xdg], User::Root), "/state/toold");
        assert_eq!(state(&[home], User::Root), "/var/lib/toold");
        assert_eq!(state(&[home], User::Other), "/home/ann/.local/state/toold");
        assert_eq!(
            state(&[home, ("XDG_STATE_HOME", "")], User::Root),
            "/var/lib/toold"
        );
        assert!(state(&[], User::Other).starts_with("XDG_STATE_HOME: neither it nor HOME is set"));
        assert!(
            state(&[("XDG_STATE_HOME", "a")], User::Root)
                .starts_with("XDG_STATE_HOME: must be an absolute path")
        );
    }

    #[test]
    fn values_of_the_environment_are_not_shown() {
        let environment = Environment::new([("TOOLD_TOKEN", "hush")], "/", User::Other);
        let shown = format!("{environment:?}");
        assert!(
            shown.contains("TOOLD_TOKEN") && !shown.contains("hush"),
            "{shown}"
        );
    }

    #[test]
    fn paths_begin_at_the_current_directory() {
        let environment = Environment::new([("", ""); 0], "/here", User::Other);
        assert_eq!(environment.absolute(Path::new(".")), Path::new("/here"));
        assert_eq!(
            environment.absolute(Path::new("./a/./b")),
            Path::new("/here/a/b")
        );
        assert_eq!(environment.absolute(Path::new("/a")), Path::new("/a"));
    }
}
