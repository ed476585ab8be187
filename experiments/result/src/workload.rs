//! The workload of a result. The comments are the descriptions in its JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use steer_traffic::long::{Direction, Reads};

/// The traffic and what ran beside it, the same in every arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Long flows.
    pub long_flows: u32,
    /// Rate of each, as given on the command line, like `40Mbit`.
    pub long_rate: String,
    /// Program that sent the long flows: `builtin` or `iperf3`.
    pub long_tool: String,
    /// Direction of the long flows; `in` if absent.
    #[serde(default)]
    pub long_direction: Direction,
    /// What the measured machine did with received payload; `copy` if absent.
    #[serde(default)]
    pub long_reads: Reads,
    /// Threads on the measured machine that shared the incoming long flows; absent if each flow had
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_threads: Option<u32>,
    /// Whether long flows were sent without a copy (MSG_ZEROCOPY); no if absent.
    #[serde(default)]
    pub long_zerocopy: bool,
    /// RPC connections, each with one request outstanding.
    pub rpc_connections: u32,
    /// Requested RPCs per second of all connections together, which took turns. Absent if each
    /// connection asked as soon as it had its reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc_rate: Option<u32>,
    /// Size of every request and reply, as given on the command line, like `4KiB`.
    pub rpc_size: String,
    /// Server threads that share the RPC connections.
    pub rpc_threads: u32,
    /// Bytes of its own memory that a thread of the builtin server read and hashed for each RPC, as
    /// given on the command line, like `4MiB`; absent if it replied at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc_work: Option<String>,
    /// Programs that served the RPCs: `builtin`, `redis`, `nginx` or `memcached`; `builtin` if
    /// absent. Our client sent the requests, unless a sample's `rpc.source` names another.
    #[serde(default = "builtin")]
    pub rpc_tool: String,
    /// CPUs of each hog, one list per hog. With `stages`, one list per set of hogs.
    pub hogs: Vec<String>,
    /// Stages of equal length in each sample, like `long-flows=2 rpc-connections=16 hogs=1` (hogs
    /// per list of CPUs); absent if the load did not shift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<String>,
    /// Seconds of traffic before each sample.
    pub warmup_s: f64,
    /// Seconds of each sample.
    pub duration_s: f64,
    /// Anything else worth recording.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

fn builtin() -> String {
    "builtin".to_owned()
}
