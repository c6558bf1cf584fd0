//! Owns what is declared of an agent: its parent, its mask over what it inherits, its policy.
//!
//! Imports `domain`. Must not know tools: a mask is over names.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{error::Error, tool::RUN_CODE};
use crate::domain::{AgentName, ApprovalPolicy};

/// Longest pattern of a mask, in bytes.
const MAX_PATTERN: usize = 256;

/// An agent as it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// Its name.
    pub name: AgentName,
    /// The scope that it inherits from; `global` when none is named.
    pub parent: Option<AgentName>,
    /// Mask over what it inherits, never over what it registers itself.
    pub restrict: Option<Restrict>,
    /// Its own approval policy. It may only tighten: the strictest of the chain counts.
    pub approval_policy: Option<ApprovalPolicy>,
    /// Most parallel calls of one of its sessions at once; at least 1. The nearest of the chain
    /// counts.
    pub max_parallel: Option<usize>,
}

impl AgentSpec {
    /// An agent that inherits everything from `global` and adds nothing.
    pub fn new(name: AgentName) -> Self {
        Self {
            name,
            parent: None,
            restrict: None,
            approval_policy: None,
            max_parallel: None,
        }
    }

    /// The scope that it inherits from.
    pub fn parent(&self) -> AgentName {
        self.parent.clone().unwrap_or_else(AgentName::global)
    }
}

/// A mask over inherited tools: globs over their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restrict {
    /// Only these; empty means all.
    pub allow: Vec<String>,
    /// Never these.
    pub deny: Vec<String>,
}

/// How an agent's tools are presented to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Every tool by itself.
    #[default]
    Native,
}

impl Mode {
    /// The mode of a wire word.
    ///
    /// # Errors
    /// [`Error::ModeUnavailable`] for `code` and `both`, [`Error::UnknownMode`] for other words.
    pub fn parse(word: &str) -> Result<Self, Error> {
        match word {
            "native" => Ok(Self::Native),
            "code" => Err(Error::ModeUnavailable { mode: "code" }),
            "both" => Err(Error::ModeUnavailable { mode: "both" }),
            other => Err(Error::UnknownMode {
                found: other.chars().take(80).collect(),
            }),
        }
    }

    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
        }
    }
}

/// A compiled [`Restrict`].
#[derive(Debug, Clone)]
pub(super) struct Mask {
    /// Nothing: all.
    allow: Option<GlobSet>,
    deny: GlobSet,
}

impl Mask {
    /// Compiles the mask of an agent. `inherited` tells the names that scopes above register,
    /// masked or not; `own` those of its own layer.
    pub(super) fn compile(
        agent: &AgentName,
        restrict: &Restrict,
        inherited: &[&str],
        own: &[&str],
    ) -> Result<Self, Error> {
        if restrict.allow.is_empty() && restrict.deny.is_empty() {
            return Err(Error::EmptyRestrict {
                agent: agent.clone(),
            });
        }
        let patterns = |patterns: &[String]| -> Result<GlobSet, Error> {
            let mut set = GlobSetBuilder::new();
            for pattern in patterns {
                set.add(meaningful(agent, pattern, inherited, own)?);
            }
            set.build()
                .map_err(|error| bad_glob(agent, &patterns.join(", "), error.kind()))
        };
        let allow = match restrict.allow.as_slice() {
            [] => None,
            allow => Some(patterns(allow)?),
        };
        Ok(Self {
            allow,
            deny: patterns(&restrict.deny)?,
        })
    }

    /// Whether an inherited tool of this name stays visible.
    pub(super) fn lets_through(&self, name: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.is_match(name)) && !self.deny.is_match(name)
    }
}

/// A pattern that has an effect; any other is a mistake.
fn meaningful(
    agent: &AgentName,
    pattern: &str,
    inherited: &[&str],
    own: &[&str],
) -> Result<globset::Glob, Error> {
    if pattern == RUN_CODE {
        return Err(Error::RestrictReserved {
            agent: agent.clone(),
            pattern: pattern.to_owned(),
        });
    }
    if pattern.len() > MAX_PATTERN {
        return Err(Error::Glob {
            agent: agent.clone(),
            pattern: shown(pattern),
            reason: format!("it is longer than {MAX_PATTERN} bytes"),
        });
    }
    let glob = GlobBuilder::new(pattern)
        .build()
        .map_err(|error| bad_glob(agent, pattern, error.kind()))?;
    let matcher = glob.compile_matcher();
    let hits = |names: &[&str], unless: &[&str]| {
        names
            .iter()
            .any(|name| matcher.is_match(name) && !unless.contains(name))
    };
    if hits(inherited, own) {
        return Ok(glob);
    }
    let (agent, pattern) = (agent.clone(), shown(pattern));
    Err(if hits(own, &[]) {
        Error::RestrictOwn { agent, pattern }
    } else {
        Error::RestrictUnmatched { agent, pattern }
    })
}

fn bad_glob(agent: &AgentName, pattern: &str, reason: &globset::ErrorKind) -> Error {
    Error::Glob {
        agent: agent.clone(),
        pattern: shown(pattern),
        reason: reason.to_string(),
    }
}

fn shown(pattern: &str) -> String {
    pattern.chars().take(80).collect()
}
