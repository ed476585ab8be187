//! The part of the workload that may shift within a sample.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{Layout, LongTool, Workload};
use crate::rpc_tool::RpcTool;
use steer_ground::cpus::joined;
use steer_ground::text::words;
use steer_traffic::long::Direction;
use steer_traffic::stage;
use steer_traffic::stage::Stage;

impl Workload {
    /// Checks that everything that the stages change can change.
    ///
    /// # Errors
    /// Names the flags that conflict.
    pub(crate) fn check_stages(&self) -> Result<()> {
        stage::check(&self.stages)?;
        let some = |of: fn(&Stage) -> bool| self.stages.iter().any(of);
        ensure!(
            !some(|stage| stage.long_flows.is_some())
                || self.long_tool == LongTool::Builtin
                    && self.long_direction == Direction::In
                    && !self.long_zerocopy,
            "--stage: the number of long flows can change only with steer-bench's default long flows: leave out \
             --long-tool, --long-direction and --long-zerocopy"
        );
        ensure!(
            !some(|stage| stage.rpc_connections.is_some()) || self.rpc_tool == RpcTool::Builtin,
            "--stage: the number of RPC connections can change only with steer-bench's own RPCs: leave out --rpc-tool"
        );
        Ok(())
    }

    /// The CPU lists of the hogs: the CPUs of each node.
    pub(crate) fn hog_sets(&self, layout: &Layout) -> Vec<String> {
        if self.hogs_by_stage().iter().all(|&hogs| hogs == 0) {
            Vec::new()
        } else {
            layout.nodes.iter().map(|cpus| joined(cpus)).collect()
        }
    }

    /// Command line of the hogs. Their stages start `lead` from now, and take `duration_s` seconds
    /// together. `None` if no stage has hogs.
    pub fn hogs(&self, layout: &Layout, lead: Duration, duration_s: f64) -> Option<Vec<String>> {
        let sets = self.hog_sets(layout);
        let stages: Vec<String> = self.hogs_by_stage().iter().map(u16::to_string).collect();
        let mut argv = words(&format!(
            "steer-bench hog --stages {} --lead {} --duration {}",
            stages.join(","),
            lead.as_secs_f64(),
            duration_s
        ));
        argv.extend(sets.iter().flat_map(|cpus| ["--cpus".to_owned(), cpus.clone()]));
        (!sets.is_empty()).then_some(argv)
    }

    /// Hogs of each node in each stage.
    fn hogs_by_stage(&self) -> Vec<u16> {
        stage::numbers(&self.stages, u16::from(!self.no_hogs), |stage| stage.hogs)
    }

    /// The stages for a client: without hogs, and with default numbers filled in.
    pub(crate) fn traffic_stages(&self, long_flows: u16, rpc_connections: u32) -> Vec<Stage> {
        let stage = |stage: &Stage| Stage {
            long_flows: stage.long_flows.or(Some(long_flows)),
            rpc_connections: stage.rpc_connections.or(Some(rpc_connections)),
            hogs: None,
        };
        self.stages.iter().map(stage).collect()
    }

    /// Describes all numbers of each stage, for the result.
    pub(crate) fn describe_stages(&self) -> Vec<String> {
        let stages = self.traffic_stages(self.long_flows, self.rpc_connections);
        let stages = stages.into_iter().zip(self.hogs_by_stage());
        let all = |(stage, hogs)| Stage { hogs: Some(hogs), ..stage }.to_string();
        stages.map(all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steer_traffic::long::Reads;

    /// The default workload of `steer-bench ab`, with these stages.
    fn workload(stages: &[&str]) -> Workload {
        Workload {
            long_flows: 2,
            long_rate: "40Mbit".parse().unwrap(),
            long_tool: LongTool::Builtin,
            long_direction: Direction::In,
            long_reads: Reads::Copy,
            long_threads: None,
            long_zerocopy: false,
            trace_long: false,
            rpc_connections: 16,
            rpc_rate: 0,
            rpc_size: "4KiB".parse().unwrap(),
            rpc_tool: RpcTool::Builtin,
            own_client: false,
            rpc_threads: 4,
            rpc_work: None,
            no_hogs: false,
            stages: stages.iter().map(|stage| stage.parse().unwrap()).collect(),
            warmup: 2,
            duration: 8,
        }
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
        let workload = Workload { no_hogs: true, ..workload(&["long-flows=0", "hogs=2"]) };
        let stages =
            ["long-flows=0 rpc-connections=16 hogs=0", "long-flows=2 rpc-connections=16 hogs=2"];
        assert_eq!(workload.describe_stages(), stages);
        let load = workload.load(Duration::from_secs(1), 20_000);
        let traffic: Vec<String> = load.stages.iter().map(Stage::to_string).collect();
        assert_eq!(traffic, ["long-flows=0 rpc-connections=16", "long-flows=2 rpc-connections=16"]);
        let hogs = workload
            .hogs(&layout(), Duration::from_secs(3), workload.duration.into())
            .unwrap()
            .join(" ");
        let cpus = "--cpus 0,1 --cpus 2,3";
        assert_eq!(hogs, format!("steer-bench hog --stages 0,2 --lead 3 --duration 8 {cpus}"));
    }

    #[test]
    fn the_client_leaves_to_other_programs_what_is_theirs() {
        use LongTool::{Builtin, Iperf3};
        for (tool, long_tool, load) in [
            (RpcTool::Redis, Builtin, "long-flows=2 rpc-connections=0"),
            (RpcTool::Memcached, Builtin, "long-flows=2 rpc-connections=16"),
            (RpcTool::Builtin, Iperf3, "long-flows=0 rpc-connections=16"),
        ] {
            let workload =
                Workload { rpc_tool: tool, long_tool, ..workload(&["hogs=0", "hogs=2"]) };
            workload.check().unwrap();
            let stages = workload.load(Duration::ZERO, 1).stages;
            assert!(
                stages.iter().all(|stage| stage.to_string() == load),
                "{tool:?}, {long_tool:?}: {stages:?}"
            );
        }
    }

    #[test]
    fn only_our_own_server_works_for_an_rpc() {
        let work = Some("4MiB".parse().unwrap());
        let own = Workload { rpc_work: work.clone(), ..workload(&[]) };
        own.check().unwrap();
        assert!(own.server(false, &layout()).contains(&"--rpc-work=4MiB".to_owned()));
        assert_eq!(own.describe(&layout()).rpc_work.as_deref(), Some("4MiB"));
        let redis = Workload { rpc_tool: RpcTool::Redis, rpc_work: work, ..workload(&[]) };
        assert!(redis.check().unwrap_err().to_string().contains("--rpc-tool"));
    }

    /// redis-benchmark and wrk cannot pause between requests.
    #[test]
    fn our_client_asks_where_a_rate_is_set_or_nothing_else_can() {
        let asks = |rpc_tool, rpc_rate, own_client| {
            let workload = Workload { rpc_tool, rpc_rate, own_client, ..workload(&[]) };
            assert_eq!(workload.calls_of_tool().is_none(), workload.asks());
            (workload.load(Duration::ZERO, 1).rpc_connections, workload.client_flags().join(" "))
        };
        let redis = "--rpc-protocol=redis --rpc-port=6379 --rpc-instances=4";
        assert_eq!(asks(RpcTool::Redis, 0, false), (0, String::new()));
        assert_eq!(asks(RpcTool::Redis, 100, false), (16, redis.to_owned()));
        assert_eq!(asks(RpcTool::Redis, 0, true), (16, redis.to_owned()));
        let nginx = "--rpc-protocol=http --rpc-port=8080 --rpc-instances=1";
        assert_eq!(asks(RpcTool::Nginx, 100, false), (16, nginx.to_owned()));
        assert_eq!(asks(RpcTool::Builtin, 0, false), (16, String::new()));
    }

    #[test]
    fn what_does_not_shift_is_not_spoken_of() {
        let workload = Workload { no_hogs: true, ..workload(&[]) };
        assert!(workload.describe_stages().is_empty());
        assert!(workload.load(Duration::ZERO, 1).stages.is_empty());
        assert_eq!(workload.hogs(&layout(), Duration::ZERO, 1.0), None);
    }
}
