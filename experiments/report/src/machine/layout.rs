//! How the drawing of a machine is laid out from top to bottom: a row per CPU, in frames for cores,
//! caches and nodes.

use steer_ground::cpus::CpuList;
use steer_result::topology::Topology;

/// Height of a CPU's row.
pub(super) const ROW: f64 = 22.0;
/// Room for the label of a node, and of a cache.
const NODE_HEAD: f64 = 24.0;
const CACHE_HEAD: f64 = 20.0;
/// Room below a frame, and between nodes.
const PAD: f64 = 4.0;
const GAP: f64 = 14.0;

/// What a frame stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A NUMA node, by number.
    Node(u32),
    Cache,
    Core,
}

/// A frame around CPUs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) label: String,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Frame {
    /// Half way down.
    pub(super) fn middle(&self) -> f64 {
        f64::midpoint(self.top, self.bottom)
    }
}

/// The whole machine. A frame comes before the frames inside it; a row has the top of its CPU.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) frames: Vec<Frame>,
    pub(super) rows: Vec<(usize, f64)>,
    pub(super) bottom: f64,
}

impl Layout {
    /// Lays a machine out from `top` on; `None` if a list of CPUs in it cannot be parsed.
    pub(super) fn of(topology: &Topology, top: f64) -> Option<Self> {
        let lists = |lists: &mut dyn Iterator<Item = &String>| -> Option<Vec<CpuList>> {
            lists.map(|list| list.parse().ok()).collect()
        };
        let caches = lists(&mut topology.caches.iter().map(|cache| &cache.cpus))?;
        let cores = lists(&mut topology.cores.iter())?;
        let mut layout = Self { bottom: top, ..Self::default() };
        for node in &topology.nodes {
            let cpus: CpuList = node.cpus.parse().ok()?;
            let label = format!("NUMA node {}", node.node);
            layout.frame(Kind::Node(node.node), label, NODE_HEAD, |layout| {
                for (cache, cpus) in grouped(cpus.iter(), &caches) {
                    let Some(cache) = cache else {
                        layout.cores(&cpus, &cores);
                        continue;
                    };
                    let (level, all) = (topology.caches[cache].level, &caches[cache]);
                    let elsewhere = all.iter().any(|cpu| !cpus.contains(&cpu));
                    let whose = if elsewhere { format!(", of CPUs {all}") } else { String::new() };
                    let label = format!("L{level} cache{whose}");
                    layout.frame(Kind::Cache, label, CACHE_HEAD, |layout| {
                        layout.cores(&cpus, &cores);
                    });
                }
            });
            layout.bottom += GAP - PAD;
        }
        layout.bottom -= GAP - PAD;
        Some(layout)
    }

    fn cores(&mut self, cpus: &[usize], cores: &[CpuList]) {
        for (core, cpus) in grouped(cpus.iter().copied(), cores) {
            match core {
                Some(core) => self.core(format!("core {core}"), &cpus),
                // The core is unknown.
                None => cpus.iter().for_each(|cpu| self.core(String::new(), &[*cpu])),
            }
        }
    }

    fn core(&mut self, label: String, cpus: &[usize]) {
        self.frame(Kind::Core, label, 0.0, |layout| {
            for cpu in cpus {
                layout.rows.push((*cpu, layout.bottom));
                layout.bottom += ROW;
            }
        });
    }

    /// A frame around what `fill` adds, below what there is.
    fn frame(&mut self, kind: Kind, label: String, head: f64, fill: impl FnOnce(&mut Self)) {
        let (index, top) = (self.frames.len(), self.bottom);
        self.frames.push(Frame { kind, label, top, bottom: top });
        self.bottom += head;
        fill(self);
        self.frames[index].bottom = self.bottom;
        self.bottom += PAD;
    }
}

/// CPUs grouped by the set that holds them, in the order of their first CPUs. CPUs in no set form
/// a group.
fn grouped(
    cpus: impl Iterator<Item = usize>,
    sets: &[CpuList],
) -> Vec<(Option<usize>, Vec<usize>)> {
    let mut groups: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
    for cpu in cpus {
        let set = sets.iter().position(|set| set.contains(cpu));
        match groups.iter_mut().find(|(other, _)| *other == set) {
            Some((_, cpus)) => cpus.push(cpu),
            None => groups.push((set, vec![cpu])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn layout(nodes: &[&str], caches: &[&str], cores: &[&str]) -> Option<Layout> {
        let nodes: Vec<_> =
            (0..).zip(nodes).map(|(n, cpus)| json!({"node": 2 * n, "cpus": cpus})).collect();
        let caches: Vec<_> = caches.iter().map(|c| json!({"level": 3, "cpus": c})).collect();
        let topology = json!({
            "nodes": nodes, "caches": caches, "cores": cores, "nic": "eth0", "queues": {}
        });
        Layout::of(&serde_json::from_value(topology).unwrap(), 0.0)
    }

    fn labels(layout: &Layout) -> Vec<&str> {
        layout.frames.iter().map(|frame| frame.label.as_str()).collect()
    }

    #[test]
    fn siblings_share_a_core_wherever_their_numbers_are() {
        let layout = layout(&["0-1,4-5", "2-3,6-7"], &[], &["0,4", "1,5", "2,6", "3,7"]).unwrap();
        let rows: Vec<usize> = layout.rows.iter().map(|row| row.0).collect();
        assert_eq!(rows, [0, 4, 1, 5, 2, 6, 3, 7]);
        let expected = ["NUMA node 0", "core 0", "core 1", "NUMA node 2", "core 2", "core 3"];
        assert_eq!(labels(&layout), expected);
    }

    #[test]
    fn frames_hold_their_rows_and_do_not_meet() {
        let layout = layout(&["0-1", "2-3"], &["0-1", "2-3"], &["0", "1", "2", "3"]).unwrap();
        for outer in &layout.frames {
            for other in &layout.frames {
                let apart = other.bottom <= outer.top || outer.bottom <= other.top;
                let inside = outer.top <= other.top && other.bottom <= outer.bottom;
                let around = other.top <= outer.top && outer.bottom <= other.bottom;
                assert!(apart || inside || around, "{outer:?} cuts {other:?}");
            }
        }
        assert!(layout.rows.windows(2).all(|rows| rows[0].1 + ROW <= rows[1].1));
        assert!(layout.frames.iter().all(|frame| frame.bottom <= layout.bottom));
    }

    #[test]
    fn a_cache_that_spans_nodes_says_so() {
        let layout = layout(&["0", "1"], &["0-1"], &["0", "1"]).unwrap();
        assert_eq!(labels(&layout).iter().filter(|l| **l == "L3 cache, of CPUs 0-1").count(), 2);
    }

    #[test]
    fn what_is_no_list_is_not_drawn() {
        assert!(layout(&["x"], &[], &[]).is_none());
    }
}
