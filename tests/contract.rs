//! The public contract in `proto-docs`: made from the code, kept fresh, and true.
//!
//! `UPDATE_PROTO_DOCS=1 cargo test --test contract` writes the files again; without it a file that
//! is not what the code says fails here.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use serde_json::Value;
use toold::{
    domain::{
        AgentName, ApprovalPolicy, CallId, Context, Digest, Draft, ErrorCode, EventDraft,
        EventType, Execution, ExecutionId, IdSource as _, Json, Monotonic, Object, Outcome,
        SessionId, Subject, Success, SystemIds, Timestamp, Timing, Workspace, json::object,
    },
    http::{Problem, ProblemCode, document},
};

/// Where the documents are.
fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("proto-docs")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the switch that writes the documents again"
)]
fn refreshing() -> bool {
    std::env::var_os("UPDATE_PROTO_DOCS").is_some()
}

/// Holds a file against what it must be, or makes it so.
fn hold(file: &str, wanted: &str) {
    let path = directory().join(file);
    if refreshing() {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "proto-docs/{file} is not what the code says; refresh it with \
         `UPDATE_PROTO_DOCS=1 cargo test --test contract` and read the difference"
    );
}

/// A document with its tables put in place of those that it has.
fn with_tables(file: &str, tables: &[(&str, String)]) -> String {
    let mut text = fs::read_to_string(directory().join(file)).unwrap();
    for (name, table) in tables {
        let (start, end) = (format!("<!-- table: {name} -->\n"), "<!-- end -->");
        let from = text
            .find(&start)
            .unwrap_or_else(|| panic!("{file} has no place for {name}"));
        let from = from + start.len();
        let to = from
            + text[from..]
                .find(end)
                .unwrap_or_else(|| panic!("{file}: {name} is open"));
        text.replace_range(from..to, &format!("\n{table}\n"));
    }
    text
}

#[test]
fn the_openapi_document_is_fresh() {
    hold("openapi.json", &document::openapi());
}

#[test]
fn the_table_of_routes_is_fresh() {
    hold(
        "routes.md",
        &with_tables("routes.md", &[("routes", document::route_table())]),
    );
}

#[test]
fn the_tables_of_errors_are_fresh() {
    let tables = [
        ("problems", document::problem_table()),
        ("outcomes", document::outcome_table()),
    ];
    hold("errors.md", &with_tables("errors.md", &tables));
}

#[test]
fn the_table_of_events_is_fresh() {
    hold(
        "events.md",
        &with_tables("events.md", &[("events", document::event_table())]),
    );
}

/// Holds a value against a schema of the document.
fn fits(schema: &str, value: &[u8]) {
    let mut whole: Value = serde_json::from_str(&document::openapi()).unwrap();
    whole["$ref"] = format!("#/components/schemas/{schema}").into();
    let validator = jsonschema::validator_for(&whole).unwrap();
    let value: Value = serde_json::from_slice(value).unwrap();
    let faults: Vec<_> = validator
        .iter_errors(&value)
        .map(|fault| fault.to_string())
        .collect();
    assert!(faults.is_empty(), "{schema}: {faults:?} in {value}");
    assert_closed(&whole, schema, &value);
}

/// No member that the schema does not know: the document leaves nothing out.
fn assert_closed(whole: &Value, schema: &str, value: &Value) {
    let known = &whole["components"]["schemas"][schema]["properties"];
    for name in value.as_object().unwrap().keys() {
        assert!(known.get(name).is_some(), "{schema} does not know {name}");
    }
}

fn execution() -> Execution {
    Execution {
        id: ExecutionId::from_uuid(SystemIds.uuid()),
        session: SessionId::parse("s").unwrap(),
        call_id: CallId::parse("call_7").unwrap(),
        root_call_id: CallId::parse("call_7").unwrap(),
        parent: None,
        agent: AgentName::default_agent(),
        principal: "agent".into(),
        name: "read_file".to_owned(),
        arguments: Arc::default(),
        digest: Digest::of_call("read_file", &Object::new()),
        workspace: Workspace::default(),
        approval_policy: ApprovalPolicy::Ask,
        created_at: Timestamp::default(),
        accepted: Monotonic::default(),
    }
}

fn draft(outcome: Outcome) -> Draft {
    Draft {
        outcome,
        contexts: vec![Context::text("tool", "read_file", "mind the gap")],
        concludes_turn: true,
        body_invoked: true,
        timing: Timing {
            body: Duration::from_micros(1234),
            ..Timing::default()
        },
    }
}

#[test]
fn a_result_is_what_the_document_says() {
    let value = object([("path", Json::from("package.json"))]);
    let success = Outcome::Success(Success {
        value: Arc::new(value.clone()),
        content: Vec::new(),
        meta: Some(value),
    });
    fits("Result", &draft(success).freeze(&execution()).0);
    let failure = Outcome::fail(ErrorCode::ToolTimeout, "it took too long");
    fits("Result", &draft(failure).freeze(&execution()).0);
}

#[test]
fn an_event_is_what_the_document_says() {
    for kind in EventType::ALL {
        let subject = Subject::execution(&execution());
        let event = EventDraft::new(*kind, subject, |w| {
            w.string("any", "thing");
        });
        let (id, seq) = if kind.is_durable() {
            (Some(1), Some(1))
        } else {
            (None, None)
        };
        fits(
            "Event",
            &event.frame(id, seq, Timestamp::default()).envelope(),
        );
    }
}

#[tokio::test]
async fn a_problem_is_what_the_document_says() {
    use axum::{body::to_bytes, response::IntoResponse as _};
    for code in ProblemCode::ALL {
        let problem = Problem::new(*code, "what, where, what to do").at("/name");
        let body = to_bytes(problem.into_response().into_body(), 4096)
            .await
            .unwrap();
        fits("Problem", &body);
    }
}
