//! Finds the rules that match a cgroup. The patterns of all rules form one tree of names, and a
//! match walks down that tree. So nested cgroups share work, and rules with a common beginning are
//! tried once.

use std::collections::HashMap;

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::tree::{Cgroup, CgroupTree, names};
use crate::rules::{Component, Rule};

/// Number of a rule in its set. A smaller number is more specific.
pub type RuleId = u32;

/// All patterns of a rule set.
#[derive(Clone, Debug)]
pub(super) struct Matcher(Vec<Node>);

/// A node of the tree of patterns: a beginning that one or more patterns share.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Rules whose pattern ends here.
    rules: Vec<RuleId>,
    literals: HashMap<String, usize>,
    globs: GlobSet,
    /// The child nodes, by index in `globs`.
    after_glob: Vec<usize>,
    /// The node after a `**`.
    any_depth: Option<usize>,
    /// Whether this is the node after a `**`: then it matches every deeper name as well.
    is_any_depth: bool,
}

/// The nodes that a cgroup has reached, and the rules that match it or a cgroup above it.
#[derive(Default)]
struct State {
    /// Nodes of the tree, ascending, without duplicates.
    places: Vec<usize>,
    /// Rules, most specific first, without duplicates.
    rules: Vec<RuleId>,
}

impl Matcher {
    /// Compiles the patterns of `rules`.
    pub(super) fn new(rules: &[Rule]) -> Result<Self, globset::Error> {
        let mut nodes = vec![Node::default()];
        let mut after_glob: HashMap<(usize, &Glob), usize> = HashMap::new();
        // A node's globs are compiled together at the end.
        let mut globs: HashMap<usize, GlobSetBuilder> = HashMap::new();
        for (id, rule) in (0..).zip(rules) {
            let mut at = 0;
            for component in rule.cgroup.components() {
                let next = nodes.len();
                let child = match component {
                    Component::Literal(name) => {
                        *nodes[at].literals.entry(name.clone()).or_insert(next)
                    }
                    Component::AnyDepth => *nodes[at].any_depth.get_or_insert(next),
                    Component::Glob(glob) => *after_glob.entry((at, glob)).or_insert_with(|| {
                        globs.entry(at).or_insert_with(GlobSetBuilder::new).add(glob.clone());
                        nodes[at].after_glob.push(next);
                        next
                    }),
                };
                if child == next {
                    let is_any_depth = *component == Component::AnyDepth;
                    nodes.push(Node { is_any_depth, ..Node::default() });
                }
                at = child;
            }
            nodes[at].rules.push(id);
        }
        for (at, globs) in globs {
            nodes[at].globs = globs.build()?;
        }
        Ok(Self(nodes))
    }

    /// The rules that match the cgroup `path` or a cgroup above it, most specific first.
    pub(super) fn rules_for(&self, path: &str) -> Vec<RuleId> {
        names(path).fold(self.root(), |state, name| self.child(&state, name)).rules
    }

    /// Calls `visit` with each cgroup and the rules that match it or a cgroup above it.
    pub(super) fn walk<'t>(
        &self,
        tree: &'t CgroupTree,
        mut visit: impl FnMut(&'t Cgroup, &[RuleId]),
    ) {
        let mut cgroups: Vec<_> = tree.cgroups().iter().collect();
        // Sort parents right before their descendants.
        cgroups.sort_by(|a, b| names(&a.path).cmp(names(&b.path)));
        let root = self.root();
        let mut above: Vec<(&str, State)> = Vec::new();
        for cgroup in cgroups {
            let shared =
                above.iter().zip(names(&cgroup.path)).take_while(|(a, b)| a.0 == *b).count();
            above.truncate(shared);
            for name in names(&cgroup.path).skip(shared) {
                let parent = above.last().map_or(&root, |(_, state)| state);
                let state = self.child(parent, name);
                above.push((name, state));
            }
            visit(cgroup, &above.last().map_or(&root, |(_, state)| state).rules);
        }
    }

    /// The state of the root cgroup.
    fn root(&self) -> State {
        let mut state = State::default();
        self.enter(0, &mut state);
        state
    }

    /// The state of the child `name` of a cgroup with the state `parent`.
    fn child(&self, parent: &State, name: &str) -> State {
        let mut state = State { rules: parent.rules.clone(), ..State::default() };
        let mut matched = Vec::new();
        for &place in &parent.places {
            let node = &self.0[place];
            if node.is_any_depth {
                state.places.push(place);
                state.rules.extend(&node.rules);
            }
            if let Some(&child) = node.literals.get(name) {
                self.enter(child, &mut state);
            }
            node.globs.matches_into(name, &mut matched);
            for &index in &matched {
                self.enter(node.after_glob[index], &mut state);
            }
        }
        state.places.sort_unstable();
        state.places.dedup();
        state.rules.sort_unstable();
        state.rules.dedup();
        state
    }

    /// Enters a node. A `**` may stand for no name at all, except at the end of a pattern. So the
    /// node after a `**` is entered together with the node before it, but its own rules match only
    /// from the next name on.
    fn enter(&self, place: usize, state: &mut State) {
        let node = &self.0[place];
        state.places.push(place);
        state.rules.extend(&node.rules);
        state.places.extend(node.any_depth);
    }
}
