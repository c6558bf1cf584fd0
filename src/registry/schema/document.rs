//! Owns the walk through a schema document: where schemas stand, what their keywords mean for the
//! [`Shape`], and where references lead.
//!
//! Imports its siblings and the validator's reference resolution, so that both agree. Must not
//! fetch anything.

use std::collections::{HashMap, HashSet};

use jsonschema::{Draft, ReferencingError, Registry, RegistryBuilder, Retrieve, Uri, uri};
use serde_json::{Map, Value};

use super::{
    dialect,
    error::{SchemaError, shortened},
    shape::{Describes, Format, MAX_PATTERNS, MAX_SCHEMAS, Node, NodeId, Part, Shape},
};

/// Reads the shape of a document; refuses references that leave it or lead nowhere.
pub(super) fn shape(document: &Value, draft: Draft) -> Result<Shape, SchemaError> {
    let root = base_of_root(document, draft)?;
    let mut walk = Walk::new(draft, root.clone());
    walk.enter(document, String::new(), 0)?;
    walk.read()?;
    walk.stay_inside(0)?;
    let registry = registry_of(document, draft, root.as_str())?;
    walk.follow(&registry)?;
    Ok(walk.shape)
}

/// Answers every attempt to fetch with a refusal, whatever the features that the validator is
/// built with.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("nothing is ever fetched, and {uri} is not part of the schema").into())
    }
}

fn base_of_root(document: &Value, draft: Draft) -> Result<Uri<String>, SchemaError> {
    let resource = draft.create_resource_ref(document);
    let id = resource.id().unwrap_or_default();
    uri::from_str(id).map_err(|error| bad_id("", &error))
}

fn registry_of<'d>(
    document: &'d Value,
    draft: Draft,
    root: &str,
) -> Result<Registry<'d>, SchemaError> {
    Registry::new()
        .retriever(Nothing)
        .draft(draft)
        .add(root, document)
        .and_then(RegistryBuilder::prepare)
        .map_err(|error| not_prepared(&error))
}

/// Preparing follows references to where no keyword leads, and meets those that stand there.
fn not_prepared(error: &ReferencingError) -> SchemaError {
    let pointer = String::new();
    if let ReferencingError::Unretrievable { uri, .. } = error {
        return SchemaError::Remote {
            pointer,
            reference: shortened(uri, 200),
        };
    }
    SchemaError::Invalid {
        pointer,
        reason: shortened(&error.to_string(), 200),
    }
}

fn bad_id(pointer: &str, error: &ReferencingError) -> SchemaError {
    SchemaError::Invalid {
        pointer: format!("{pointer}/$id"),
        reason: shortened(&error.to_string(), 200),
    }
}

/// How a keyword applies the schemas in it.
#[derive(Clone, Copy)]
enum Applies {
    /// To the same value; one schema or a list.
    Same,
    /// To the same value; schemas by name.
    SameNamed,
    /// To the member that each is named for.
    Member,
    /// To members; schemas by pattern.
    Members,
    /// To the members that no other keyword names; one schema.
    OtherMembers,
    /// To elements; one schema, or one for each place.
    Elements,
    /// To something that is no part of the value, or only when referred to.
    Apart,
    /// The same, schemas by name.
    ApartNamed,
}

fn applies(keyword: &str) -> Option<Applies> {
    Some(match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => Applies::Same,
        "dependentSchemas" | "dependencies" => Applies::SameNamed,
        "properties" => Applies::Member,
        "patternProperties" => Applies::Members,
        "additionalProperties" | "unevaluatedProperties" => Applies::OtherMembers,
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains" => {
            Applies::Elements
        }
        "propertyNames" | "contentSchema" => Applies::Apart,
        "$defs" | "definitions" => Applies::ApartNamed,
        _ => return None,
    })
}

/// A reference that was met on the way.
#[derive(Clone, Copy)]
struct Reference<'d> {
    from: NodeId,
    keyword: &'static str,
    base: usize,
    target: &'d str,
}

struct Walk<'d> {
    draft: Draft,
    shape: Shape,
    /// The schema at an address of the document: a reference leads to an address.
    known: HashMap<*const Value, NodeId>,
    unread: Vec<(NodeId, &'d Value, usize)>,
    bases: Vec<Uri<String>>,
    references: Vec<Reference<'d>>,
    dynamic_anchors: HashMap<&'d str, Vec<NodeId>>,
    patterns: HashSet<&'d str>,
}

impl<'d> Walk<'d> {
    fn new(draft: Draft, base: Uri<String>) -> Self {
        Self {
            draft,
            shape: Shape::default(),
            known: HashMap::new(),
            unread: Vec::new(),
            bases: vec![base],
            references: Vec::new(),
            dynamic_anchors: HashMap::new(),
            patterns: HashSet::new(),
        }
    }

    /// The node of a schema, which will be read when it is a new one.
    fn enter(
        &mut self,
        schema: &'d Value,
        pointer: String,
        base: usize,
    ) -> Result<NodeId, SchemaError> {
        if let Some(id) = self.known.get(&std::ptr::from_ref(schema)) {
            return Ok(*id);
        }
        let id = self.shape.nodes.len();
        if id >= MAX_SCHEMAS {
            return Err(SchemaError::TooLarge {
                pointer,
                max: MAX_SCHEMAS,
                what: "schemas",
            });
        }
        self.shape.nodes.push(Node {
            pointer,
            ..Node::default()
        });
        self.known.insert(std::ptr::from_ref(schema), id);
        self.unread.push((id, schema, base));
        Ok(id)
    }

    fn read(&mut self) -> Result<(), SchemaError> {
        while let Some((id, schema, base)) = self.unread.pop() {
            let Value::Object(keywords) = schema else {
                continue;
            };
            let pointer = self.pointer_of(id);
            dialect::same(self.draft, keywords, &pointer)?;
            let base = self.base_of(schema, base, &pointer)?;
            self.note(id, keywords);
            self.note_references(id, keywords, base);
            self.note_patterns(keywords, &pointer)?;
            for (keyword, value) in keywords {
                if let Some(applies) = applies(keyword) {
                    let pointer = step(&pointer, keyword);
                    self.read_keyword(id, applies, value, &pointer, base)?;
                }
            }
        }
        Ok(())
    }

    fn read_keyword(
        &mut self,
        id: NodeId,
        applies: Applies,
        value: &'d Value,
        pointer: &str,
        base: usize,
    ) -> Result<(), SchemaError> {
        let named = matches!(
            applies,
            Applies::SameNamed | Applies::Member | Applies::Members | Applies::ApartNamed
        );
        if let (true, Value::Object(schemas)) = (named, value) {
            for (name, schema) in schemas {
                self.apply(
                    id,
                    applies,
                    Key::Name(name),
                    schema,
                    step(pointer, name),
                    base,
                )?;
            }
        } else if let Value::Array(schemas) = value {
            for (index, schema) in schemas.iter().enumerate() {
                let pointer = format!("{pointer}/{index}");
                self.apply(id, applies, Key::Index(index), schema, pointer, base)?;
            }
        } else {
            self.apply(id, applies, Key::None, value, pointer.to_owned(), base)?;
        }
        Ok(())
    }

    /// Ties a schema to the one whose keyword applies it. What is no schema is passed over: the
    /// check against the draft's own rules refuses it, or it is a list of names.
    fn apply(
        &mut self,
        id: NodeId,
        applies: Applies,
        key: Key<'d>,
        schema: &'d Value,
        pointer: String,
        base: usize,
    ) -> Result<(), SchemaError> {
        if !is_schema(schema) {
            return Ok(());
        }
        let inner = self.enter(schema, pointer, base)?;
        let Some(node) = self.shape.nodes.get_mut(id) else {
            return Ok(());
        };
        let part = match (applies, key) {
            (Applies::Same | Applies::SameNamed, _) => {
                node.same.push(inner);
                return Ok(());
            }
            (Applies::Apart | Applies::ApartNamed, _) => return Ok(()),
            (Applies::Member, Key::Name(name)) => Part::Member(name.to_owned()),
            (Applies::Elements, Key::Index(index)) => Part::Element(index),
            (Applies::Elements, Key::Name(_) | Key::None) => Part::Elements,
            (Applies::OtherMembers, _) => Part::OtherMembers,
            (Applies::Member | Applies::Members, _) => Part::Members,
        };
        node.parts.push((part, inner));
        Ok(())
    }

    fn note(&mut self, id: NodeId, keywords: &'d Map<String, Value>) {
        if let Some(anchor) = keywords.get("$dynamicAnchor").and_then(Value::as_str) {
            self.dynamic_anchors.entry(anchor).or_default().push(id);
        }
        let Some(node) = self.shape.nodes.get_mut(id) else {
            return;
        };
        node.object = describes(keywords);
        if keywords.get("format").and_then(Value::as_str) == Some("workspace-path") {
            node.path = Format::WorkspacePath;
        }
    }

    fn note_references(&mut self, from: NodeId, keywords: &'d Map<String, Value>, base: usize) {
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some(target) = keywords.get(keyword).and_then(Value::as_str) {
                self.references.push(Reference {
                    from,
                    keyword,
                    base,
                    target,
                });
            }
        }
    }

    fn note_patterns(
        &mut self,
        keywords: &'d Map<String, Value>,
        pointer: &str,
    ) -> Result<(), SchemaError> {
        let own = keywords.get("pattern").and_then(Value::as_str);
        let of_members = keywords.get("patternProperties").and_then(Value::as_object);
        let names = of_members
            .into_iter()
            .flat_map(|schemas| schemas.keys().map(String::as_str));
        self.patterns.extend(own.into_iter().chain(names));
        if self.patterns.len() <= MAX_PATTERNS {
            return Ok(());
        }
        let pointer = pointer.to_owned();
        Err(SchemaError::TooLarge {
            pointer,
            max: MAX_PATTERNS,
            what: "patterns",
        })
    }

    /// The base that references in a schema count from: its own `$id`, else that of what holds it.
    fn base_of(
        &mut self,
        schema: &Value,
        outer: usize,
        pointer: &str,
    ) -> Result<usize, SchemaError> {
        let resource = self.draft.create_resource_ref(schema);
        let Some((id, outer_uri)) = resource.id().zip(self.bases.get(outer)) else {
            return Ok(outer);
        };
        let own = uri::resolve_against(&outer_uri.borrow(), id)
            .map_err(|error| bad_id(pointer, &error))?;
        self.bases.push(own);
        Ok(self.bases.len() - 1)
    }

    /// Refuses references, from `first` on, that name a document outside.
    fn stay_inside(&self, first: usize) -> Result<(), SchemaError> {
        if self.references.len() <= first {
            return Ok(());
        }
        let inside: HashSet<&str> = self
            .bases
            .iter()
            .map(|base| document_of(base.as_str()))
            .collect();
        for reference in self.references.iter().skip(first) {
            let Some(base) = self.bases.get(reference.base) else {
                continue;
            };
            let target = uri::resolve_against(&base.borrow(), reference.target)
                .map_err(|_| self.unresolved(*reference))?;
            if !inside.contains(document_of(target.as_str())) {
                return Err(SchemaError::Remote {
                    pointer: step(&self.pointer_of(reference.from), reference.keyword),
                    reference: shortened(reference.target, 200),
                });
            }
        }
        Ok(())
    }

    /// Ties every reference to what it leads to.
    fn follow(&mut self, registry: &'d Registry<'_>) -> Result<(), SchemaError> {
        let mut next = 0;
        while let Some(reference) = self.references.get(next).copied() {
            next += 1;
            let inner = self.target(registry, reference)?;
            self.tie(reference.from, &[inner]);
        }
        // Which of its anchors a dynamic reference means depends on the way that led to it: any.
        for reference in std::mem::take(&mut self.references) {
            if reference.keyword == "$dynamicRef" {
                let anchor = reference.target.rsplit('#').next().unwrap_or_default();
                let inner = self
                    .dynamic_anchors
                    .get(anchor)
                    .cloned()
                    .unwrap_or_default();
                self.tie(reference.from, &inner);
            }
        }
        Ok(())
    }

    fn tie(&mut self, outer: NodeId, inner: &[NodeId]) {
        if let Some(node) = self.shape.nodes.get_mut(outer) {
            node.same.extend_from_slice(inner);
        }
    }

    /// The schema that a reference leads to. One that stands where no keyword would have led is
    /// read now.
    fn target(
        &mut self,
        registry: &'d Registry<'_>,
        reference: Reference<'d>,
    ) -> Result<NodeId, SchemaError> {
        let base = self.bases.get(reference.base).cloned();
        let found = base.and_then(|base| registry.resolver(base).lookup(reference.target).ok());
        let Some(found) = found.filter(|found| is_schema(found.contents())) else {
            return Err(self.unresolved(reference));
        };
        let (schema, resolver, _) = found.into_inner();
        if let Some(id) = self.known.get(&std::ptr::from_ref(schema)) {
            return Ok(*id);
        }
        let first = self.references.len();
        self.bases.push(Uri::clone(&resolver.base_uri()));
        let (_, pointer) = reference.target.split_once('#').unwrap_or_default();
        let id = self.enter(schema, pointer.to_owned(), self.bases.len() - 1)?;
        self.read()?;
        self.stay_inside(first)?;
        Ok(id)
    }

    fn unresolved(&self, reference: Reference<'_>) -> SchemaError {
        SchemaError::Unresolved {
            pointer: step(&self.pointer_of(reference.from), reference.keyword),
            reference: shortened(reference.target, 200),
        }
    }

    fn pointer_of(&self, id: NodeId) -> String {
        self.shape
            .nodes
            .get(id)
            .map(|node| node.pointer.clone())
            .unwrap_or_default()
    }
}

/// How a schema is named within its keyword.
#[derive(Clone, Copy)]
enum Key<'d> {
    Name(&'d str),
    Index(usize),
    None,
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn describes(keywords: &Map<String, Value>) -> Describes {
    const OF_OBJECTS: [&str; 8] = [
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
    ];
    let is_object = |kind: &Value| kind.as_str() == Some("object");
    match keywords.get("type") {
        Some(Value::Array(kinds)) if kinds.iter().any(is_object) => Describes::Object,
        Some(kind) if is_object(kind) => Describes::Object,
        Some(_) => Describes::Other,
        None if OF_OBJECTS
            .iter()
            .any(|keyword| keywords.contains_key(*keyword)) =>
        {
            Describes::Object
        }
        None => Describes::Nothing,
    }
}

/// One step further along a pointer (RFC 6901).
pub(super) fn step(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// An absolute address without its fragment.
fn document_of(uri: &str) -> &str {
    uri.split('#').next().unwrap_or_default()
}
