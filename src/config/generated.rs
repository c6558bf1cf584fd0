//! The two tokens of a daemon that has none configured (proto-docs/routes.md): names, files, rights.
//!
//! Imports `checked`. Shared by the daemon, which writes the files, and the command line, which
//! finds them; touches no file itself.

use std::path::{Path, PathBuf};

use super::checked::{Permission, Permissions};

/// One of the tokens that `serve` generates when none is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratedToken {
    /// For backends: calls and events.
    Agent,
    /// For people: everything but calls.
    Operator,
}

impl GeneratedToken {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Agent, Self::Operator];

    /// The principal, and the name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Operator => "operator",
        }
    }

    /// The file that holds it: mode 0600 in a directory of mode 0700.
    pub fn path(self, state_dir: &Path) -> PathBuf {
        state_dir.join("tokens").join(self.name())
    }

    /// What it may do.
    pub fn permissions(self) -> Permissions {
        let permissions: &[Permission] = match self {
            Self::Agent => &[Permission::Call, Permission::Events],
            Self::Operator => &[
                Permission::Events,
                Permission::Approve,
                Permission::Register,
                Permission::Audit,
                Permission::Admin,
            ],
        };
        permissions.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_agent_token_may_call_and_only_the_operator_token_may_decide() {
        let [agent, operator] = GeneratedToken::ALL.map(GeneratedToken::permissions);
        assert!(agent.any(&[Permission::Call]) && !agent.any(&[Permission::Approve]));
        assert!(operator.any(&[Permission::Approve]) && !operator.any(&[Permission::Call]));
    }
}
