//! Owns which parts of a call's arguments are paths in the workspace: what the schema says with
//! `format: workspace-path`.
//!
//! Imports `domain` and its siblings. Must not resolve a path: a policy does.

use std::collections::HashSet;

use super::{
    document::step,
    shape::{Format, Node, NodeId, Part, Shape},
};
use crate::domain::{Json, Object};

/// A string of the arguments that the schema declares to be a path in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredPath<'a> {
    /// Where in the arguments, RFC 6901.
    pub pointer: String,
    /// The path as the model wrote it.
    pub text: &'a str,
}

/// The schemas of a document, and which of them are on a way to a declared path.
#[derive(Debug)]
pub(super) struct PathFinder {
    nodes: Vec<Node>,
    leads: Vec<bool>,
}

impl PathFinder {
    /// Nothing when the schema declares no path.
    pub(super) fn of(shape: Shape) -> Option<Self> {
        let leads = leads(&shape.nodes);
        let finder = Self {
            nodes: shape.nodes,
            leads,
        };
        finder.leads_to_path(0).then_some(finder)
    }

    /// Every string that some schema on some way declares: one that only an alternative declares
    /// counts, whether that alternative fits or not. Sorted by pointer.
    pub(super) fn find<'a>(&self, arguments: &'a Object) -> Vec<DeclaredPath<'a>> {
        let mut search = Search {
            finder: self,
            open: Vec::new(),
            seen: HashSet::new(),
        };
        let mut found = Vec::new();
        for id in self.judges_of_root() {
            if let Some(node) = self.nodes.get(id) {
                search.enter_members(node, arguments, "");
            }
        }
        while let Some((id, value, pointer)) = search.open.pop() {
            let Some(node) = self.nodes.get(id) else {
                continue;
            };
            search.enter_same(node, value, &pointer);
            match value {
                Json::String(text) if node.path == Format::WorkspacePath => {
                    found.push(DeclaredPath { pointer, text });
                }
                Json::Array(elements) => search.enter_elements(node, elements, &pointer),
                Json::Object(members) => search.enter_members(node, members, &pointer),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
            }
        }
        found.sort_unstable_by(|one, other| one.pointer.cmp(&other.pointer));
        found.dedup();
        found
    }

    /// The schemas that judge the arguments themselves.
    fn judges_of_root(&self) -> Vec<NodeId> {
        let mut judges = vec![0];
        let mut next = 0;
        while let Some(node) = judges.get(next).and_then(|id| self.nodes.get(*id)) {
            next += 1;
            let more: Vec<_> = node
                .same
                .iter()
                .filter(|id| !judges.contains(id))
                .copied()
                .collect();
            judges.extend(more);
        }
        judges
    }

    fn leads_to_path(&self, id: NodeId) -> bool {
        self.leads.get(id).copied().unwrap_or_default()
    }
}

/// Which schemas are on a way to one that declares a path.
fn leads(nodes: &[Node]) -> Vec<bool> {
    let mut outer: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.len()];
    for (id, node) in nodes.iter().enumerate() {
        for inner in node
            .same
            .iter()
            .chain(node.parts.iter().map(|(_, inner)| inner))
        {
            if let Some(outer) = outer.get_mut(*inner) {
                outer.push(id);
            }
        }
    }
    let declares = |(id, node): (NodeId, &Node)| (node.path == Format::WorkspacePath).then_some(id);
    let mut open: Vec<NodeId> = nodes.iter().enumerate().filter_map(declares).collect();
    let mut leads = vec![false; nodes.len()];
    while let Some(id) = open.pop() {
        let Some(lead) = leads.get_mut(id) else {
            continue;
        };
        if !std::mem::replace(lead, true) {
            open.extend(outer.get(id).into_iter().flatten());
        }
    }
    leads
}

/// A walk through schemas and values side by side. It ends: each pair is visited once.
struct Search<'f, 'a> {
    finder: &'f PathFinder,
    open: Vec<(NodeId, &'a Json, String)>,
    seen: HashSet<(NodeId, *const Json)>,
}

impl<'a> Search<'_, 'a> {
    fn enter(&mut self, id: NodeId, value: &'a Json, pointer: impl FnOnce() -> String) {
        let pair = (id, std::ptr::from_ref(value));
        if self.finder.leads_to_path(id) && self.seen.insert(pair) {
            self.open.push((id, value, pointer()));
        }
    }

    fn enter_same(&mut self, node: &Node, value: &'a Json, pointer: &str) {
        for id in &node.same {
            self.enter(*id, value, || pointer.to_owned());
        }
    }

    fn enter_members(&mut self, node: &Node, members: &'a Object, pointer: &str) {
        let named = |name: &String| node.parts.iter().any(|(part, _)| part.is_member(name));
        for (part, id) in &node.parts {
            match part {
                Part::Member(name) => {
                    if let Some(value) = members.get(name) {
                        self.enter(*id, value, || step(pointer, name));
                    }
                }
                Part::Members => {
                    for (name, value) in members {
                        self.enter(*id, value, || step(pointer, name));
                    }
                }
                Part::OtherMembers => {
                    for (name, value) in members.iter().filter(|(name, _)| !named(name)) {
                        self.enter(*id, value, || step(pointer, name));
                    }
                }
                Part::Element(_) | Part::Elements => {}
            }
        }
    }

    fn enter_elements(&mut self, node: &Node, elements: &'a [Json], pointer: &str) {
        for (part, id) in &node.parts {
            let chosen = match part {
                Part::Element(index) => *index..index.saturating_add(1),
                Part::Elements => 0..elements.len(),
                Part::Member(_) | Part::Members | Part::OtherMembers => continue,
            };
            for index in chosen {
                if let Some(value) = elements.get(index) {
                    self.enter(*id, value, || format!("{pointer}/{index}"));
                }
            }
        }
    }
}
