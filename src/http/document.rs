//! The public contract as documents: `OpenAPI` 3.1, and the tables of `proto-docs`.
//!
//! All of them follow the list of routes and the closed sets of words, so that they cannot say
//! what the code does not do. Imports `domain`. Writes no file: a test keeps the files fresh.

mod tables;

use std::{borrow::Cow, collections::BTreeMap};

pub use tables::{event_table, outcome_table, problem_table, route_table};

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Components, Content, Header, HttpMethod, Info, License, OpenApi, OpenApiBuilder, PathItem,
        Paths, Ref, RefOr, Required, Response, Responses, Schema, Type,
        path::{Operation, Parameter, ParameterIn},
        request_body::RequestBody,
        schema::ObjectBuilder,
        security::{
            ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
        },
    },
};

use super::{
    accept::Form,
    access::Access,
    body::BodyRule,
    query::{Param, ParamForm},
    routes::{Group, Head, Queries, Route, Verb, groups},
    shapes,
};

/// What a body or an answer looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// JSON of this schema.
    Json(Named),
    /// JSON of any kind.
    Any,
    /// Server-sent events whose data are event envelopes.
    Events,
    /// Figures as text.
    Metrics,
    /// Nothing.
    Nothing,
}

/// A schema with its name, and those that it refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named {
    name: fn() -> Cow<'static, str>,
    schema: fn() -> RefOr<Schema>,
    others: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl Named {
    const fn of<T: ToSchema + PartialSchema>() -> Self {
        Self {
            name: T::name,
            schema: T::schema,
            others: T::schemas,
        }
    }

    fn register(self, schemas: &mut BTreeMap<String, RefOr<Schema>>) {
        let mut others = Vec::new();
        (self.others)(&mut others);
        schemas.extend(others);
        schemas.insert((self.name)().into_owned(), (self.schema)());
    }

    fn reference(self) -> Ref {
        Ref::from_schema_name((self.name)())
    }
}

impl Shape {
    /// JSON of a type's schema.
    pub(crate) const fn json<T: ToSchema + PartialSchema>() -> Self {
        Self::Json(Named::of::<T>())
    }

    fn register(self, schemas: &mut BTreeMap<String, RefOr<Schema>>) {
        match self {
            Self::Json(named) => named.register(schemas),
            Self::Events => Named::of::<shapes::Event>().register(schemas),
            Self::Any | Self::Metrics | Self::Nothing => {}
        }
    }

    fn content(self) -> Option<(&'static str, Content)> {
        match self {
            Self::Json(named) => Some((
                Form::Json.media_type(),
                Content::new(Some(named.reference())),
            )),
            Self::Any => {
                let object = ObjectBuilder::new().schema_type(Type::Object);
                Some((Form::Json.media_type(), Content::new(Some(object))))
            }
            Self::Events => {
                let event = Named::of::<shapes::Event>().reference();
                Some((Form::Events.media_type(), Content::new(Some(event))))
            }
            Self::Metrics => {
                let text = ObjectBuilder::new().schema_type(Type::String);
                Some((super::ops::OPEN_METRICS, Content::new(Some(text))))
            }
            Self::Nothing => None,
        }
    }
}

/// On the refusals that pass.
const RETRY_AFTER: Head = Head {
    name: "Retry-After",
    about: "Seconds after which it may go better.",
};

/// The `OpenAPI` document, as it is served and checked in.
pub fn openapi() -> String {
    let mut text = document().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

fn document() -> OpenApi {
    let mut info = Info::new("toold", env!("CARGO_PKG_VERSION"));
    info.description = Some(env!("CARGO_PKG_DESCRIPTION").to_owned());
    info.license = Some(License::new(env!("CARGO_PKG_LICENSE")));
    OpenApiBuilder::new()
        .info(info)
        .paths(paths())
        .components(Some(components()))
        .build()
}

fn paths() -> Paths {
    let mut items: BTreeMap<&str, PathItem> = BTreeMap::new();
    for group in groups() {
        for route in group.routes {
            let item = PathItem::new(method(route.verb), operation(group, route));
            items.entry(route.path).or_default().merge_operations(item);
        }
    }
    let mut paths = Paths::new();
    for (path, item) in items {
        paths.paths.insert(path.to_owned(), item);
    }
    paths
}

fn method(verb: Verb) -> HttpMethod {
    match verb {
        Verb::Get => HttpMethod::Get,
        Verb::Post => HttpMethod::Post,
        Verb::Put => HttpMethod::Put,
        Verb::Patch => HttpMethod::Patch,
        Verb::Delete => HttpMethod::Delete,
    }
}

fn operation(group: &Group, route: &Route) -> Operation {
    let mut operation = Operation::new();
    operation.tags = Some(vec![group.name.to_owned()]);
    if route.is_built() {
        operation.summary = Some(route.summary.to_owned());
        operation.operation_id = Some(route.name.to_owned());
    }
    let parameters: Vec<_> = path_parameters(route.path)
        .chain(query_parameters(route))
        .chain(header_parameters(route))
        .collect();
    operation.parameters =
        (!parameters.is_empty()).then(|| parameters.into_iter().map(RefOr::T).collect());
    operation.request_body = request_body(route).map(RefOr::T);
    operation.responses = responses(route);
    operation.security = Some(security(route.access));
    operation
}

fn path_parameters(path: &str) -> impl Iterator<Item = Parameter> {
    path.split('/').filter_map(|segment| {
        let name = segment.strip_prefix('{')?.strip_suffix('}')?;
        let mut parameter = Parameter::new(name);
        parameter.parameter_in = ParameterIn::Path;
        parameter.required = Required::True;
        parameter.schema = Some(ObjectBuilder::new().schema_type(Type::String).into());
        Some(parameter)
    })
}

fn query_parameters(route: &Route) -> impl Iterator<Item = Parameter> {
    let declared = match route.query {
        Queries::Declared(params) => params,
        Queries::Unread => &[],
    };
    declared.iter().map(|param| {
        let mut parameter = Parameter::new(param.name);
        parameter.parameter_in = ParameterIn::Query;
        parameter.required = Required::False;
        parameter.description = Some(param.about.to_owned());
        parameter.schema = Some(form_of(param));
        parameter
    })
}

fn header_parameters(route: &Route) -> impl Iterator<Item = Parameter> {
    route.heeds.iter().map(|head| {
        let mut parameter = Parameter::new(head.name);
        parameter.parameter_in = ParameterIn::Header;
        parameter.required = Required::False;
        parameter.description = Some(head.about.to_owned());
        parameter.schema = Some(ObjectBuilder::new().schema_type(Type::String).into());
        parameter
    })
}

fn header(head: &Head) -> (String, RefOr<Header>) {
    let mut header = Header::new(ObjectBuilder::new().schema_type(Type::String));
    header.description = Some(head.about.to_owned());
    (head.name.to_owned(), RefOr::T(header))
}

fn form_of(param: &Param) -> RefOr<Schema> {
    let schema = match param.form {
        ParamForm::Text => ObjectBuilder::new().schema_type(Type::String),
        ParamForm::Flag => ObjectBuilder::new().schema_type(Type::Boolean),
        ParamForm::Word(words) => ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(words.iter().copied())),
        ParamForm::Number(least, most) => {
            let number = ObjectBuilder::new()
                .schema_type(Type::Integer)
                .minimum(Some(least));
            if most == u64::MAX {
                number
            } else {
                number.maximum(Some(most))
            }
        }
    };
    schema.into()
}

fn request_body(route: &Route) -> Option<RequestBody> {
    let (media_type, content) = route.request?.content()?;
    let mut body = RequestBody::new();
    body.required = Some(match route.body {
        BodyRule::Required => Required::True,
        BodyRule::Optional | BodyRule::None => Required::False,
    });
    body.content.insert(media_type.to_owned(), content.into());
    Some(body)
}

fn responses(route: &Route) -> Responses {
    let mut good: BTreeMap<String, Response> = BTreeMap::new();
    for answer in route.good {
        let response = good
            .entry(answer.status.to_string())
            .or_insert_with(|| Response::new(""));
        let separator = if response.description.is_empty() {
            ""
        } else {
            ". Or: "
        };
        response.description.push_str(separator);
        response.description.push_str(answer.about);
        response.headers.extend(answer.headers.iter().map(header));
        if let Some((media_type, content)) = answer.shape.content() {
            response
                .content
                .insert(media_type.to_owned(), content.into());
        }
    }
    let mut responses = Responses::new();
    for (status, response) in good {
        responses.responses.insert(status, response.into());
    }
    if !route.is_built() {
        let mut missing = problem("Not available in this version");
        missing.description.push_str(" (`NOT_BUILT`)");
        responses.responses.insert("501".to_owned(), missing.into());
    }
    let refused = "The request failed; `code` says why";
    responses
        .responses
        .insert("default".to_owned(), problem(refused).into());
    responses
}

fn problem(description: &str) -> Response {
    let mut response = Response::new(description);
    let content = Content::new(Some(Named::of::<shapes::Problem>().reference()));
    response
        .content
        .insert("application/problem+json".to_owned(), content.into());
    response.headers.extend([header(&RETRY_AFTER)]);
    response
}

/// One of these is enough; none means that nobody need be known.
fn security(access: Access) -> Vec<SecurityRequirement> {
    let by = |scheme: &str, permission: Option<&str>| {
        SecurityRequirement::new(scheme, permission.map(str::to_owned))
    };
    match access {
        Access::Open | Access::Probe => Vec::new(),
        Access::Known => vec![by("bearer", None), by("cookie", None)],
        Access::Any(permissions) => permissions
            .iter()
            .flat_map(|p| ["bearer", "cookie"].map(|scheme| by(scheme, Some(p.as_str()))))
            .collect(),
        Access::Execution => vec![by("execution", None)],
    }
}

fn components() -> Components {
    let mut schemas = BTreeMap::new();
    Named::of::<shapes::Problem>().register(&mut schemas);
    for route in groups().flat_map(|group| group.routes) {
        let answers = route.good.iter().map(|answer| answer.shape);
        for shape in route.request.into_iter().chain(answers) {
            shape.register(&mut schemas);
        }
    }
    let mut components = Components::new();
    components.schemas = schemas.into_iter().collect();
    let cookie = ApiKey::Cookie(ApiKeyValue::new(super::login::COOKIE));
    let execution = ApiKeyValue::with_description("Authorization", "`Execution <token>`");
    for (name, scheme) in [
        (
            "bearer",
            SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
        ),
        ("cookie", SecurityScheme::ApiKey(cookie)),
        (
            "execution",
            SecurityScheme::ApiKey(ApiKey::Header(execution)),
        ),
    ] {
        components.add_security_scheme(name, scheme);
    }
    components
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::json::{Json, Limits};

    fn served() -> Json {
        Json::read(openapi().as_bytes(), &Limits::default()).unwrap()
    }

    fn references(value: &Json, found: &mut BTreeSet<String>) {
        if let Some(members) = value.as_object() {
            for (name, member) in members {
                match member.as_str() {
                    Some(text) if name == "$ref" => drop(found.insert(text.to_owned())),
                    _ => references(member, found),
                }
            }
        }
        for element in value.as_array().unwrap_or_default() {
            references(element, found);
        }
    }

    #[test]
    fn every_route_is_in_the_document_and_every_reference_leads_somewhere() {
        let document = served();
        assert!(
            document
                .get("openapi")
                .and_then(Json::as_str)
                .unwrap()
                .starts_with("3.1")
        );
        for route in groups().flat_map(|group| group.routes) {
            let escaped = route.path.replace('~', "~0").replace('/', "~1");
            let verb = route.verb.as_str().to_ascii_lowercase();
            let operation = document.pointer(&format!("/paths/{escaped}/{verb}"));
            assert!(operation.is_some(), "{verb} {} is missing", route.path);
        }
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 20);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(
                document.pointer(pointer).is_some(),
                "{reference} leads nowhere"
            );
        }
    }

    #[test]
    fn names_of_operations_are_given_once() {
        let built = groups()
            .flat_map(|group| group.routes)
            .filter(|route| route.is_built());
        let names: Vec<_> = built.map(|route| route.name).collect();
        assert!(names.iter().all(|name| !name.is_empty()));
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn unknown_members_of_requests_are_refused_by_the_document_too() {
        let document = served();
        for (schema, member) in [("NewCall", "arguments"), ("OneShotCall", "session_id")] {
            let schema = document
                .pointer(&format!("/components/schemas/{schema}"))
                .unwrap();
            assert_eq!(schema.get("additionalProperties"), Some(&Json::Bool(false)));
            assert!(
                schema.pointer(&format!("/properties/{member}")).is_some(),
                "{schema}"
            );
        }
    }
}
