//! From the path that a model wrote to a route below the root.
//!
//! Imports `domain` and siblings. It reads text and resolves nothing but the session's own
//! directory; what the route leads to is judged on the descriptor (`place`).

use std::path::{Component, Path, PathBuf};

use super::{error::Error, place::ends_as_directory, root::WorkspaceRoot};
use crate::domain::Workspace;

/// A path to follow from the root, and the session's directory that values are relative to.
#[derive(Debug, Clone)]
pub(super) struct Route {
    /// Relative to the root; dots and links are still in it.
    pub(super) path: PathBuf,
    /// The session's directory below the root, links resolved.
    base: PathBuf,
    /// Whether the text ends in a slash, or a dot behind one, as only a directory's path does.
    pub(super) names_directory: bool,
}

impl Route {
    /// How values name a real path: relative to the session's directory, `.` for itself.
    pub(super) fn told(&self, relative: &Path) -> Result<String, Error> {
        let shared = self.base.components().zip(relative.components());
        let shared = shared.take_while(|(base, own)| base == own).count();
        let up = self.base.components().count() - shared;
        let mut told: PathBuf = std::iter::repeat_n(Component::ParentDir, up).collect();
        told.extend(relative.components().skip(shared));
        name_of(&told)
    }
}

/// The text of a real path, `.` when it is empty.
///
/// # Errors
/// When a name in it is not UTF-8: no JSON string can say it.
pub(super) fn name_of(path: &Path) -> Result<String, Error> {
    if path.as_os_str().is_empty() {
        return Ok(".".to_owned());
    }
    let text = path
        .to_str()
        .ok_or(Error::Path("leads to a name that is not UTF-8 text"))?;
    Ok(text.to_owned())
}

impl WorkspaceRoot {
    /// Reads a path: relative to the session's directory, or absolute and inside the root. Dots
    /// may climb as long as they stay inside the root; the kernel judges that.
    pub(super) fn route(&self, session: &Workspace, asked: &str) -> Result<Route, Error> {
        check(asked)?;
        let base = self.base(session)?;
        let typed = Path::new(asked);
        let path = if typed.is_absolute() {
            self.behind_root(typed)?.ok_or(Error::Outside)?
        } else {
            base.join(typed)
        };
        Ok(Route {
            path,
            base,
            names_directory: ends_as_directory(typed.as_os_str()),
        })
    }

    fn base(&self, session: &Workspace) -> Result<PathBuf, Error> {
        if session.0.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        Ok(self.locate(&session.0)?.relative)
    }
}

/// Refuses what is no path for these tools, whatever is on the disk.
fn check(asked: &str) -> Result<(), Error> {
    if asked.is_empty() {
        return Err(Error::Path(
            "the path is empty; write one relative to the workspace, \".\" is the workspace itself",
        ));
    }
    if asked.contains('\0') {
        return Err(Error::Path("holds a NUL character, which no path can"));
    }
    if is_url(asked) {
        return Err(Error::Path(
            "is a URL; write the path alone, relative to the workspace (a directory whose name \
             ends in a colon is reached with ./ in front)",
        ));
    }
    if asked == "~" || asked.starts_with("~/") {
        return Err(Error::Path(
            "~ means nothing here; write a path relative to the workspace (a directory of that \
             name is reached with ./ in front)",
        ));
    }
    Ok(())
}

/// A scheme (RFC 3986 §3.1), its colon and a slash.
fn is_url(asked: &str) -> bool {
    let Some((scheme, _)) = asked.split_once(":/") else {
        return false;
    };
    let mut letters = scheme.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_name_files_from_the_sessions_directory() {
        let told = |base: &str, real: &str| {
            let route = Route {
                path: PathBuf::new(),
                base: base.into(),
                names_directory: false,
            };
            route.told(Path::new(real)).unwrap()
        };
        assert_eq!(told("", "a/b"), "a/b");
        assert_eq!(told("", ""), ".");
        assert_eq!(told("s", "s/a"), "a");
        assert_eq!(told("s", "s"), ".");
        assert_eq!(told("s/t", "s/u/a"), "../u/a");
        assert_eq!(told("s", "sa"), "../sa");
    }

    #[test]
    fn urls_and_tildes_are_told_from_paths() {
        for refused in [
            "file:///etc/passwd",
            "FILE:/a",
            "https://a/b",
            "a\0",
            "",
            "~",
            "~/a",
        ] {
            assert!(check(refused).is_err(), "{refused:?}");
        }
        for taken in ["a:b", "a: /b", "./file:/a", "1a://b", "~a", ":/", "a/b:/c"] {
            assert!(check(taken).is_ok(), "{taken:?}");
        }
    }
}
