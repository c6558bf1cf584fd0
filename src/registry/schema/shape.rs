//! Owns the shape of a schema: which schemas judge the same value, and which a part of it.
//!
//! Imports its siblings. Read once at registration to refuse what would not end or cost too much,
//! and kept where a policy must find the paths that a call names. Must not judge values.

use super::error::SchemaError;

/// Most schemas in one document, boolean ones included.
pub(super) const MAX_SCHEMAS: usize = 10_000;
/// Most patterns in one document.
pub(super) const MAX_PATTERNS: usize = 256;
/// Longest way through schemas that judge the same value: what the validator's stack grows by
/// without a look at the value.
const MAX_STEPS: usize = 32;
/// Most schemas that one value may be judged by before its parts are looked at, a schema that
/// several ways lead to counted once for each.
const MAX_JUDGES: usize = 5_000;

/// A schema's place in [`Shape::nodes`].
pub(super) type NodeId = usize;

/// All schemas of a document. The first is the root.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) nodes: Vec<Node>,
}

/// One schema.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Where it stands in the document.
    pub(super) pointer: String,
    /// Schemas that judge the same value: `$ref`, `allOf`, `if` …
    pub(super) same: Vec<NodeId>,
    /// Schemas that judge parts of the value.
    pub(super) parts: Vec<(Part, NodeId)>,
    /// Whether it says that the value is an object.
    pub(super) object: Describes,
    /// Whether it says that the value is a path in the workspace.
    pub(super) path: Format,
}

/// Which parts of a value a schema judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// The member of this name.
    Member(String),
    /// Members, by patterns that are not told apart.
    Members,
    /// Members that are not named by a [`Part::Member`] of the same schema.
    OtherMembers,
    /// The element at this index.
    Element(usize),
    /// Elements, which ones is not told apart.
    Elements,
}

impl Part {
    /// Whether it is the member of this name.
    pub(super) fn is_member(&self, name: &str) -> bool {
        matches!(self, Self::Member(own) if own == name)
    }
}

/// What a schema's own keywords say of the value's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Describes {
    /// An object.
    Object,
    /// Something else.
    Other,
    /// Nothing.
    #[default]
    Nothing,
}

/// The formats that mean something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    /// `workspace-path`.
    WorkspacePath,
    /// None, or one that is an annotation only.
    #[default]
    Other,
}

impl Shape {
    /// Refuses schemas whose judgement of one value would not end, or not soon.
    pub(super) fn check(&self) -> Result<(), SchemaError> {
        let order = self.inner_first()?;
        let mut costs = vec![Cost::default(); self.nodes.len()];
        for id in order {
            let Some(node) = self.nodes.get(id) else {
                continue;
            };
            let mut cost = Cost {
                steps: 1,
                judges: 1,
            };
            for inner in node.same.iter().filter_map(|inner| costs.get(*inner)) {
                cost.steps = cost.steps.max(inner.steps.saturating_add(1));
                cost.judges = cost.judges.saturating_add(inner.judges);
            }
            cost.check(&node.pointer)?;
            if let Some(slot) = costs.get_mut(id) {
                *slot = cost;
            }
        }
        Ok(())
    }

    /// Every schema after those that judge the same value on its behalf; an error when some judge
    /// it on each other's. Without recursion: the ways can be as long as the document.
    fn inner_first(&self) -> Result<Vec<NodeId>, SchemaError> {
        let mut outer: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        let mut waiting: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (id, node) in self.nodes.iter().enumerate() {
            waiting.push(node.same.len());
            for inner in &node.same {
                if let Some(outer) = outer.get_mut(*inner) {
                    outer.push(id);
                }
            }
        }
        let free = |(id, inner): (NodeId, &usize)| (*inner == 0).then_some(id);
        let mut order: Vec<NodeId> = waiting.iter().enumerate().filter_map(free).collect();
        let mut next = 0;
        while let Some(id) = order.get(next).copied() {
            next += 1;
            for outer in outer.get(id).into_iter().flatten() {
                if let Some(inner) = waiting.get_mut(*outer) {
                    *inner -= 1;
                    if *inner == 0 {
                        order.push(*outer);
                    }
                }
            }
        }
        if order.len() == self.nodes.len() {
            return Ok(order);
        }
        Err(SchemaError::Cycle {
            pointer: self.on_cycle(&waiting),
        })
    }

    /// A schema on a cycle, given how many inner ones each still waits for: whoever waits, waits
    /// for one that waits too.
    fn on_cycle(&self, waiting: &[usize]) -> String {
        let waits = |id: &NodeId| waiting.get(*id).is_some_and(|inner| *inner > 0);
        let mut seen = vec![false; self.nodes.len()];
        let mut at = (0..self.nodes.len()).find(waits).unwrap_or_default();
        while let Some(slot) = seen.get_mut(at) {
            if std::mem::replace(slot, true) {
                break;
            }
            let inner = self
                .nodes
                .get(at)
                .map(|node| node.same.as_slice())
                .unwrap_or_default();
            at = inner.iter().copied().find(waits).unwrap_or(at);
        }
        self.nodes
            .get(at)
            .map(|node| node.pointer.clone())
            .unwrap_or_default()
    }

    /// Whether the root says that the value is an object, itself or by what it refers to. Only
    /// after [`check`](Self::check): the walk relies on there being no cycle.
    pub(super) fn describes_object(&self) -> bool {
        let mut open = vec![0];
        let mut seen = vec![false; self.nodes.len()];
        while let Some(id) = open.pop() {
            let Some((node, seen)) = self.nodes.get(id).zip(seen.get_mut(id)) else {
                continue;
            };
            if std::mem::replace(seen, true) {
                continue;
            }
            match node.object {
                Describes::Object => return true,
                Describes::Other => {}
                Describes::Nothing => open.extend(&node.same),
            }
        }
        false
    }
}

/// What judging one value costs, its parts apart.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    steps: usize,
    judges: usize,
}

impl Cost {
    fn check(self, pointer: &str) -> Result<(), SchemaError> {
        let (max, what) = if self.steps > MAX_STEPS {
            (
                MAX_STEPS,
                "schemas inside one another that judge the same value",
            )
        } else if self.judges > MAX_JUDGES {
            (MAX_JUDGES, "schemas that judge the same value")
        } else {
            return Ok(());
        };
        Err(SchemaError::TooLarge {
            pointer: pointer.to_owned(),
            max,
            what,
        })
    }
}
