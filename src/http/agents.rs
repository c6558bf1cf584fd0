//! Agents over HTTP: list, read, register, remove; and their return after a restart
//! (proto-docs/routes.md).
//!
//! Imports `domain`, `journal`, `registry`. A registration is visible and durable, or neither.

use std::{collections::BTreeSet, sync::Arc};

use axum::{http::StatusCode, response::Response};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    HttpState, answer,
    problem::{Problem, ProblemCode},
    request::Admitted,
    shapes,
};
use crate::{
    domain::{AgentName, ApprovalPolicy, Json, Object, json::ObjectWriter},
    journal::{self, DocumentKind, Journal},
    registry::{self, AgentSpec, AgentView, Mode, Restrict, ToolRegistry},
};

/// Body of `PUT /v1/agents/{agent}`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewAgent)]
pub(crate) struct AgentRequest {
    /// The scope that it inherits from; `global` when none is named.
    #[schema(value_type = Option<String>)]
    parent: Option<AgentName>,
    /// How its tools are presented: `native`.
    mode: Option<String>,
    /// Mask over what it inherits.
    restrict: Option<RestrictRequest>,
    /// Its approval policy; may only tighten.
    #[schema(value_type = Option<shapes::ApprovalPolicy>)]
    approval_policy: Option<ApprovalPolicy>,
    /// Most parallel calls of one of its sessions at once.
    max_parallel: Option<usize>,
}

/// A mask over inherited tools: globs over names.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Restrict)]
pub(crate) struct RestrictRequest {
    /// Only these; empty means all.
    #[serde(default)]
    allow: Vec<String>,
    /// Never these.
    #[serde(default)]
    deny: Vec<String>,
}

impl AgentRequest {
    fn spec(self, name: AgentName) -> Result<AgentSpec, registry::Error> {
        let Mode::Native = self
            .mode
            .as_deref()
            .map_or(Ok(Mode::default()), Mode::parse)?;
        let restrict = self.restrict.map(|r| Restrict {
            allow: r.allow,
            deny: r.deny,
        });
        let (parent, approval_policy) = (self.parent, self.approval_policy);
        Ok(AgentSpec {
            name,
            parent,
            restrict,
            approval_policy,
            max_parallel: self.max_parallel,
        })
    }
}

/// `GET /v1/agents`
pub(crate) async fn list(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let caller = request.caller()?;
    let mut views = state.registry.agents();
    views.retain(|view| caller.sees(&view.spec().name));
    let query = request.query();
    let (views, next) = query.page_of(&views, |view| view.spec().name.as_str());
    Ok(answer::page(next, |items| {
        for view in views {
            items.nested(|w| write(view.spec(), w));
        }
    }))
}

/// `GET /v1/agents/{agent}`
pub(crate) async fn read(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let view = visible(&state, &request)?;
    Ok(answer::object(StatusCode::OK, |w| write(view.spec(), w)))
}

fn visible(state: &HttpState, request: &Admitted) -> Result<Arc<AgentView>, Problem> {
    state
        .registry
        .agent(&request.agent()?)
        .ok_or_else(Problem::no_agent)
}

/// `PUT /v1/agents/{agent}`
pub(crate) async fn put(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let body: AgentRequest = request.decode()?;
    let spec = body.spec(request.agent()?)?;
    may_inherit(&request, &spec)?;
    not_configured(&state, &spec.name)?;
    let status = durably(&state, Change::Put(spec.clone())).await?;
    Ok(answer::object(status, |w| write(&spec, w)))
}

/// Whoever registers an agent must be allowed to touch what it inherits from.
fn may_inherit(request: &Admitted, spec: &AgentSpec) -> Result<(), Problem> {
    if request.caller()?.sees(&spec.parent()) {
        return Ok(());
    }
    Err(match spec.parent {
        Some(_) => Problem::no_agent().at("/parent"),
        None => Problem::new(
            ProblemCode::Forbidden,
            "without a parent an agent inherits from global, which the token may not touch; \
             name a parent",
        ),
    })
}

/// `DELETE /v1/agents/{agent}`
pub(crate) async fn delete(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let agent = visible(&state, &request)?.spec().name.clone();
    not_configured(&state, &agent)?;
    let status = durably(&state, Change::Delete(agent)).await?;
    Ok(answer::empty(status))
}

/// What the configuration declares is changed there: a change here would be undone, or silently
/// outlive the file, at the next start.
fn not_configured(state: &HttpState, agent: &AgentName) -> Result<(), Problem> {
    if !state.configured.contains(agent) {
        return Ok(());
    }
    let detail = format!(
        "the agent is declared in the configuration; change [agents.{agent}] there, or register \
         one under another name"
    );
    Err(Problem::new(ProblemCode::Forbidden, detail))
}

#[derive(Debug)]
enum Change {
    Put(AgentSpec),
    Delete(AgentName),
}

/// Makes a change in a task of its own, one after the other: a client that goes away leaves
/// nothing half done.
async fn durably(state: &HttpState, change: Change) -> Result<StatusCode, Problem> {
    let owned = state.clone();
    let work = state.changes.spawn(async move {
        let _turn = owned.registrations.acquire().await;
        match change {
            Change::Put(spec) => put_durably(&owned, spec).await,
            Change::Delete(agent) => delete_durably(&owned, agent).await,
        }
    });
    work.await.map_err(|error| Problem::internal(&error))?
}

async fn put_durably(state: &HttpState, spec: AgentSpec) -> Result<StatusCode, Problem> {
    let before = state
        .registry
        .agent(&spec.name)
        .map(|view| view.spec().clone());
    let is_new = before.is_none();
    let (name, document) = (spec.name.clone(), document(&spec));
    state.registry.put_agent(spec)?;
    let kept = state
        .journal
        .store()
        .put_document(DocumentKind::Agent, name.as_str(), document);
    if let Err(error) = kept.await {
        undo(&state.registry, &name, before);
        return Err(error.into());
    }
    Ok(if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    })
}

async fn delete_durably(state: &HttpState, agent: AgentName) -> Result<StatusCode, Problem> {
    let before = state.registry.agent(&agent).map(|view| view.spec().clone());
    state.registry.delete_agent(&agent)?;
    let forgotten = state
        .journal
        .store()
        .delete_document(DocumentKind::Agent, agent.as_str());
    if let Err(error) = forgotten.await {
        undo(&state.registry, &agent, before);
        return Err(error.into());
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Puts back what was there before a change that could not be made durable.
fn undo(registry: &ToolRegistry, name: &AgentName, before: Option<AgentSpec>) {
    let undone = match before {
        Some(spec) => registry.put_agent(spec),
        None => registry.delete_agent(name),
    };
    if let Err(error) = undone {
        tracing::error!(%error, agent = %name, "a change of an agent could not be undone");
    }
}

/// Registers again the agents that were registered over HTTP, parents first; how many. One that
/// no longer can be, because of what else changed, is logged and left out; so is one that the
/// configuration declares (`configured`), which wins.
///
/// # Errors
/// When the store cannot be read.
pub async fn restore_agents(
    registry: &ToolRegistry,
    journal: &Journal,
    configured: &BTreeSet<AgentName>,
) -> Result<usize, journal::Error> {
    let mut waiting = Vec::new();
    for (name, body) in journal.store().documents(DocumentKind::Agent).await? {
        match stored_spec(&name, &body) {
            Ok(spec) if configured.contains(&spec.name) => tracing::warn!(
                agent = name,
                "an agent registered over HTTP is now declared in the configuration, which is used"
            ),
            Ok(spec) => waiting.push(spec),
            Err(why) => tracing::error!(agent = name, why, "a registered agent cannot be read"),
        }
    }
    let mut restored = 0;
    while !waiting.is_empty() {
        let (mut later, before) = (Vec::new(), restored);
        for spec in waiting {
            match registry.put_agent(spec.clone()) {
                Ok(()) => restored += 1,
                Err(error) => later.push((spec, error)),
            }
        }
        if restored == before {
            for (spec, error) in &later {
                tracing::error!(agent = %spec.name, %error, "a registered agent was left out");
            }
            break;
        }
        waiting = later.into_iter().map(|(spec, _)| spec).collect();
    }
    Ok(restored)
}

fn stored_spec(name: &str, body: &Json) -> Result<AgentSpec, String> {
    let name = AgentName::parse(name).map_err(|error| error.to_string())?;
    let body: AgentRequest = body.decode().map_err(|error| error.to_string())?;
    body.spec(name).map_err(|error| error.to_string())
}

/// What is kept of an agent: the body that would register it again.
fn document(spec: &AgentSpec) -> Json {
    let mut whole = Object::new();
    let mut put = |key: &str, value: Json| whole.insert(key.to_owned(), value);
    if let Some(parent) = &spec.parent {
        put("parent", parent.as_str().into());
    }
    if let Some(restrict) = &spec.restrict {
        let globs =
            |globs: &[String]| Json::Array(globs.iter().map(|g| g.as_str().into()).collect());
        let mut masks = Object::new();
        masks.insert("allow".to_owned(), globs(&restrict.allow));
        masks.insert("deny".to_owned(), globs(&restrict.deny));
        put("restrict", Json::Object(masks));
    }
    if let Some(policy) = spec.approval_policy {
        put("approval_policy", policy.as_str().into());
    }
    if let Some(max) = spec.max_parallel {
        put("max_parallel", max.into());
    }
    Json::Object(whole)
}

fn write(spec: &AgentSpec, w: &mut ObjectWriter<'_>) {
    w.string("agent", spec.name.as_str());
    if !spec.name.is_global() {
        w.string("parent", spec.parent().as_str());
    }
    w.string("mode", Mode::Native.as_str());
    if let Some(members) = document(spec).as_object() {
        for (key, value) in members.iter().filter(|(key, _)| *key != "parent") {
            w.json(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> AgentSpec {
        AgentSpec {
            name: AgentName::parse("coder").unwrap(),
            parent: Some(AgentName::parse("base").unwrap()),
            restrict: Some(Restrict {
                allow: vec!["read_*".to_owned()],
                deny: Vec::new(),
            }),
            approval_policy: Some(ApprovalPolicy::Never),
            max_parallel: Some(3),
        }
    }

    #[test]
    fn what_is_kept_of_an_agent_registers_it_again() {
        for spec in [spec(), AgentSpec::new(AgentName::parse("plain").unwrap())] {
            assert_eq!(stored_spec(spec.name.as_str(), &document(&spec)), Ok(spec));
        }
        assert!(stored_spec("coder", &Json::from("x")).is_err());
    }

    #[test]
    fn an_agent_is_shown_with_its_parent_and_mode() {
        let mut out = Vec::new();
        let mut w = ObjectWriter::new(&mut out);
        write(&spec(), &mut w);
        w.end();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"agent":"coder","parent":"base","mode":"native","restrict":{"allow":["read_*"],"deny":[]},"approval_policy":"never","max_parallel":3}"#
        );
    }

    #[test]
    fn only_the_native_mode_is_there() {
        let body = |mode: &str| AgentRequest {
            parent: None,
            mode: Some(mode.to_owned()),
            restrict: None,
            approval_policy: None,
            max_parallel: None,
        };
        let name = AgentName::parse("a").unwrap();
        assert!(body("native").spec(name.clone()).is_ok());
        for (mode, code) in [
            ("code", ProblemCode::NotBuilt),
            ("both", ProblemCode::NotBuilt),
            ("nativ", ProblemCode::InvalidRequest),
        ] {
            let problem = Problem::from(body(mode).spec(name.clone()).unwrap_err());
            assert_eq!((problem.code(), problem.pointer()), (code, Some("/mode")));
        }
    }
}
