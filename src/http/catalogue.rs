//! The catalogue over HTTP: what a model is shown, and whole definitions for operators
//! (proto-docs/routes.md).
//!
//! Imports `domain`, `registry`. The model-facing bytes are those of the registry's snapshot:
//! prompt caches depend on them, so nothing is re-encoded.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};

use super::{
    HttpState, answer, lists,
    problem::{Problem, ProblemCode},
    request::Admitted,
};

/// Forms of the catalogue that the protocol knows; this version makes the first.
pub(crate) const FORMATS: &[&str] = &[
    "native",
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "mcp",
];

/// `GET /v1/tools`
pub(crate) async fn list(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let agent = request.agent_or_default()?;
    if let Some(format) = request
        .query()
        .text("format")
        .filter(|format| *format != "native")
    {
        return Err(Problem::not_built(&format!("the format {format} is")));
    }
    let view = state.registry.agent(&agent).ok_or_else(Problem::no_agent)?;
    let catalogue = view.catalogue();
    let etag =
        HeaderValue::from_str(catalogue.etag()).map_err(|error| Problem::internal(&error))?;
    let query = request.query();
    let (tools, next) = query.page_of(catalogue.tools(), |tool| tool.definition().name.as_str());
    let mut response = if is_known(request.headers(), catalogue.etag()) {
        answer::empty(StatusCode::NOT_MODIFIED)
    } else if tools.len() == catalogue.tools().len() {
        answer::json(StatusCode::OK, catalogue.native().clone())
    } else {
        answer::page(next, |items| {
            for tool in tools {
                items.nested(|w| tool.definition().write_for_model(w));
            }
        })
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag);
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, no-cache"),
    );
    Ok(response)
}

/// Whether `If-None-Match` names this tag; compared weakly (RFC 9110 §13.1.2).
fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag) == etag;
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .any(|header| header.trim() == "*" || lists::split(header, ',').any(opaque))
}

/// `GET /v1/tools/{tool}`
pub(crate) async fn read(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let agent = request.agent_or_default()?;
    let name = request.tool()?;
    let found = state.registry.resolve(&agent, name.as_str());
    let tool =
        found.ok_or_else(|| Problem::new(ProblemCode::NotFound, "the agent sees no such tool"))?;
    Ok(answer::object(StatusCode::OK, |w| {
        if let Some(definition) = tool.definition().full().as_object() {
            for (key, value) in definition {
                w.json(key, value);
            }
        }
        w.string("hash", &tool.hash().to_string());
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_the_client_has_is_recognised() {
        for (sent, known) in [
            ("\"abc\"", true),
            ("W/\"abc\"", true),
            ("\"x\", \"abc\"", true),
            ("\"a,b\", W/\"abc\"", true),
            ("*", true),
            ("abc", false),
            ("\"abcd\"", false),
            ("\"x,\\\"abc\\\"\"", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_str(sent).unwrap());
            assert_eq!(is_known(&headers, "\"abc\""), known, "{sent}");
        }
        assert!(!is_known(&HeaderMap::new(), "\"abc\""));
    }
}
