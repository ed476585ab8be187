//! The part of the workload that may shift within a sample.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{Layout, LongTool, WorkloadArgs, words};
use crate::lab::facts::joined;
use crate::run::rpc_tool::RpcTool;
use crate::traffic::long::Direction;
use crate::traffic::stage::{self, Stage};

impl WorkloadArgs {
    /// Checks that everything that shall shift can.
    ///
    /// # Errors
    /// Names what does not go together.
    pub(super) fn check_stages(&self) -> Result<()> {
        stage::check(&self.stages)?;
        let some = |of: fn(&Stage) -> bool| self.stages.iter().any(of);
        ensure!(
            !some(|stage| stage.long_flows.is_some())
                || self.long_tool == LongTool::Builtin
                    && self.long_direction == Direction::In
                    && !self.long_zerocopy,
            "--stage: long flows come and go only as steer-bench sends them by default: leave out \
             --long-tool, --long-direction and --long-zerocopy"
        );
        ensure!(
            !some(|stage| stage.rpc_connections.is_some()) || self.rpc_tool == RpcTool::Builtin,
            "--stage: RPC connections come and go only as steer-bench opens them: leave out --rpc-tool"
        );
        Ok(())
    }

    /// The CPUs that hogs are bound to: those of a node.
    pub(super) fn hog_sets(&self, layout: &Layout) -> Vec<String> {
        if self.hogs_by_stage().iter().all(|&hogs| hogs == 0) {
            Vec::new()
        } else {
            layout.nodes.iter().map(|cpus| joined(cpus)).collect()
        }
    }

    /// The hogs, which shift with the load from the moment on that is `lead` away; none, if there
    /// are none at any time.
    pub(in crate::run) fn hogs(&self, layout: &Layout, lead: Duration) -> Option<Vec<String>> {
        let sets = self.hog_sets(layout);
        let stages: Vec<String> = self.hogs_by_stage().iter().map(u16::to_string).collect();
        let mut argv = words(&format!(
            "steer-bench hog --stages {} --lead {} --duration {}",
            stages.join(","),
            lead.as_secs_f64(),
            self.duration
        ));
        argv.extend(sets.iter().flat_map(|cpus| ["--cpus".to_owned(), cpus.clone()]));
        (!sets.is_empty()).then_some(argv)
    }

    /// Hogs of each node in each stage.
    fn hogs_by_stage(&self) -> Vec<u16> {
        stage::numbers(&self.stages, u16::from(!self.no_hogs), |stage| stage.hogs)
    }

    /// The stages of a client that knows of no hogs, with what they leave out.
    pub(super) fn traffic_stages(&self, long_flows: u16, rpc_connections: u32) -> Vec<Stage> {
        let stage = |stage: &Stage| Stage {
            long_flows: stage.long_flows.or(Some(long_flows)),
            rpc_connections: stage.rpc_connections.or(Some(rpc_connections)),
            hogs: None,
        };
        self.stages.iter().map(stage).collect()
    }

    /// For the record: all that goes on in each stage.
    pub(super) fn describe_stages(&self) -> Vec<String> {
        let stages = self.traffic_stages(self.long_flows, self.rpc_connections);
        let stages = stages.into_iter().zip(self.hogs_by_stage());
        let all = |(stage, hogs)| Stage { hogs: Some(hogs), ..stage }.to_string();
        stages.map(all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        args: WorkloadArgs,
    }

    fn workload(flags: &[&str]) -> WorkloadArgs {
        Line::try_parse_from(flags).unwrap().args
    }

    fn layout() -> Layout {
        Layout {
            nodes: vec![vec![0, 1], vec![2, 3]],
            long_cpus: vec![2, 3],
            rpc_cpus: vec![0, 1],
            address: [0, 0, 0, 0].into(),
        }
    }

    #[test]
    fn everything_shifts_together() {
        let workload = workload(&["--stage=long-flows=0", "--stage=hogs=2", "--no-hogs"]);
        let stages =
            ["long-flows=0 rpc-connections=16 hogs=0", "long-flows=2 rpc-connections=16 hogs=2"];
        assert_eq!(workload.describe_stages(), stages);
        let load = workload.load(Duration::from_secs(1), 20_000).unwrap();
        let traffic: Vec<String> = load.stages.iter().map(Stage::to_string).collect();
        assert_eq!(traffic, ["long-flows=0 rpc-connections=16", "long-flows=2 rpc-connections=16"]);
        let hogs = workload.hogs(&layout(), Duration::from_secs(3)).unwrap().join(" ");
        let cpus = "--cpus 0,1 --cpus 2,3";
        assert_eq!(hogs, format!("steer-bench hog --stages 0,2 --lead 3 --duration 8 {cpus}"));
    }

    #[test]
    fn the_client_leaves_to_other_programs_what_is_theirs() {
        let hogs = ["--stage=hogs=0", "--stage=hogs=2"];
        for (tool, load) in [
            ("--rpc-tool=redis", "long-flows=2 rpc-connections=0"),
            ("--rpc-tool=memcached", "long-flows=2 rpc-connections=16"),
            ("--long-tool=iperf3", "long-flows=0 rpc-connections=16"),
        ] {
            let workload = workload(&[hogs[0], hogs[1], tool]);
            workload.check().unwrap();
            let stages = workload.load(Duration::ZERO, 1).unwrap().stages;
            assert!(stages.iter().all(|stage| stage.to_string() == load), "{tool}: {stages:?}");
        }
    }

    #[test]
    fn what_does_not_shift_is_not_spoken_of() {
        let workload = workload(&["--no-hogs"]);
        assert!(workload.describe_stages().is_empty());
        assert!(workload.load(Duration::ZERO, 1).unwrap().stages.is_empty());
        assert_eq!(workload.hogs(&layout(), Duration::ZERO), None);
    }
}
