//! What a route asks of whoever calls it, and what a known caller may do and see.
//!
//! Imports `config` and `domain`. Holds no credentials: who somebody is comes from `auth`.

use std::sync::Arc;

use super::login::Lease;
use crate::{
    config::{Permission, TokenSpec},
    domain::AgentName,
};

/// What a route asks for. A route cannot be mounted without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nobody need be known.
    Open,
    /// Nobody need be known, and the `Host` may be anything: probes name the pod's address.
    Probe,
    /// Somebody known, whatever they may do.
    Known,
    /// Somebody known who has one of these permissions.
    Any(&'static [Permission]),
    /// An execution that acts in its own name (`Authorization: Execution`).
    Execution,
}

impl Access {
    /// In words, for the table of routes.
    pub fn describe(self) -> String {
        match self {
            Self::Open => "open".to_owned(),
            Self::Probe => "open, any Host".to_owned(),
            Self::Known => "any token".to_owned(),
            Self::Any(permissions) => permissions
                .iter()
                .map(|p| p.as_str())
                .collect::<Vec<_>>()
                .join(" or "),
            Self::Execution => "execution token".to_owned(),
        }
    }
}

/// How a caller showed who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credential {
    /// A header that only programs send.
    Bearer,
    /// A cookie that browsers send by themselves.
    Cookie,
}

/// Somebody known.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    token: Arc<TokenSpec>,
    login: Option<Lease>,
}

impl Caller {
    /// Who showed a token.
    pub(crate) fn new(token: Arc<TokenSpec>) -> Self {
        Self { token, login: None }
    }

    /// Who logged in with a token.
    pub(crate) fn logged_in(token: Arc<TokenSpec>, lease: Lease) -> Self {
        Self {
            token,
            login: Some(lease),
        }
    }

    /// Returns when they may see nothing more, because their login is over. Cancellation-safe.
    pub(crate) async fn revoked(&self) {
        match &self.login {
            Some(login) => login.over().await,
            None => std::future::pending().await,
        }
    }

    /// The login that they came with.
    pub(crate) fn login(&self) -> Option<&Lease> {
        self.login.as_ref()
    }

    /// The principal: the token's name.
    pub(crate) fn principal(&self) -> Arc<str> {
        Arc::clone(&self.token.name)
    }

    /// How they showed it.
    pub(crate) fn credential(&self) -> Credential {
        match self.login {
            None => Credential::Bearer,
            Some(_) => Credential::Cookie,
        }
    }

    /// Whether one of these permissions is theirs.
    pub(crate) fn may(&self, any_of: &[Permission]) -> bool {
        self.token.permissions.any(any_of)
    }

    /// Whether an agent's things exist for them.
    pub(crate) fn sees(&self, agent: &AgentName) -> bool {
        self.token
            .agents
            .iter()
            .any(|glob| glob.glob().glob() == "*" || glob.is_match(agent.as_str()))
    }

    /// Whether an event exists for them. What belongs to no agent is everybody's business only
    /// for those who may touch the root scope.
    pub(crate) fn sees_event_of(&self, agent: Option<&AgentName>) -> bool {
        match agent {
            Some(agent) => self.sees(agent),
            None => self.sees(&AgentName::global()),
        }
    }
}

#[cfg(test)]
mod tests {
    use globset::Glob;

    use super::*;
    use crate::config::Permissions;

    fn caller(agents: &[&str]) -> Caller {
        let token = TokenSpec {
            name: "t".into(),
            sha256: [0; 32],
            permissions: Permissions::from_iter([Permission::Call]),
            agents: agents
                .iter()
                .map(|g| Glob::new(g).unwrap().compile_matcher())
                .collect(),
        };
        Caller::new(Arc::new(token))
    }

    #[test]
    fn an_agent_is_seen_when_one_of_the_globs_covers_it() {
        let agent = |name| AgentName::parse(name).unwrap();
        let team = caller(&["team.*", "solo"]);
        assert!(team.sees(&agent("team.coder")) && team.sees(&agent("solo")));
        assert!(!team.sees(&agent("team")) && !team.sees(&agent("other")));
        assert!(!team.sees_event_of(None), "the root scope is not theirs");
        assert!(caller(&["*"]).sees_event_of(None));
        assert!(!caller(&[]).sees(&agent("solo")), "no glob, no agent");
    }

    #[test]
    fn one_permission_of_several_is_enough() {
        let caller = caller(&["*"]);
        assert!(caller.may(&[Permission::Events, Permission::Call]));
        assert!(!caller.may(&[Permission::Events]));
        assert!(!caller.may(&[]), "an empty list lets nobody in");
    }

    #[test]
    fn requirements_read_as_words() {
        assert_eq!(
            Access::Any(&[Permission::Call, Permission::Events]).describe(),
            "call or events"
        );
    }
}
