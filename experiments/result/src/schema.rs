//! The JSON Schema of `result.json`, made from the types and the list of metrics, so that it always
//! matches them.

use anyhow::Result;
use serde_json::json;

use super::metrics::{Better, METRICS};
use super::types::AbResult;

/// The schema as pretty-printed JSON, as it is committed in `schema/result-v1.json`.
///
/// # Errors
/// It cannot be encoded.
pub fn schema() -> Result<String> {
    let mut schema = schemars::schema_for!(AbResult);
    let metrics = METRICS.iter().map(|metric| {
        let better = match metric.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        let unit = if metric.stored_unit.is_empty() { "share, 0 to 1" } else { metric.stored_unit };
        let value = json!({ "description": metric.about, "unit": unit, "better": better });
        (metric.name.to_string(), value)
    });
    schema.insert("x-metrics".into(), metrics.collect());
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}
