//! The registry from the outside: definitions, scopes, catalogues, and a model of them all.

mod model;
mod scopes;
mod tools;

use std::sync::Arc;

use async_trait::async_trait;

use super::{ExecutionContext, Tool, ToolBody, ToolError};
use crate::domain::{
    AgentName, Concurrency, Json, Object, ToolDefinition, ToolName, ToolSourceName,
};

/// A body that says of itself what its test needs, or panics wherever it is asked.
#[derive(Debug, Clone, Copy)]
enum Body {
    Classifies(Option<bool>),
    Panics,
}

#[async_trait]
impl ToolBody for Body {
    async fn run(&self, _: &ExecutionContext) -> Result<Json, ToolError> {
        Ok(Json::Null)
    }

    fn classify(&self, _: &Object) -> Option<bool> {
        match self {
            Self::Classifies(answer) => *answer,
            Self::Panics => panic!("asked to classify"),
        }
    }

    fn view(&self, arguments: &Object) -> Option<Json> {
        match self {
            Self::Classifies(_) => Some(Json::Object(arguments.clone())),
            Self::Panics => panic!("asked for a view"),
        }
    }
}

fn members(text: &str) -> Object {
    Json::read_object(text.as_bytes(), &crate::domain::json::Limits::default()).unwrap()
}

fn definition(name: &str) -> ToolDefinition {
    ToolDefinition::new(
        ToolName::parse(name).unwrap(),
        &format!("Does {name}."),
        members(r#"{"type":"object"}"#),
        Json::Bool(true),
    )
}

fn built(definition: ToolDefinition) -> Arc<Tool> {
    Tool::new(definition, Arc::new(Body::Classifies(None))).unwrap()
}

fn tool(name: &str) -> Arc<Tool> {
    built(definition(name))
}

/// A tool of this name that differs from all others by its source.
fn tool_from(name: &str, source: &str) -> Arc<Tool> {
    let mut definition = definition(name);
    definition.source = ToolSourceName::new(source);
    built(definition)
}

fn tool_of(concurrency: Concurrency, body: Body) -> Arc<Tool> {
    let mut definition = definition("t");
    definition.concurrency = concurrency;
    Tool::new(definition, Arc::new(body)).unwrap()
}

fn agent(name: &str) -> AgentName {
    AgentName::parse(name).unwrap()
}
