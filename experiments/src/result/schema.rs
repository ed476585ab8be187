//! The JSON Schema of `result.json`, made from the types so that the two cannot part.

use anyhow::Result;

use super::types::AbResult;

/// The schema as pretty-printed JSON, as it is committed in `schema/result-v1.json`.
///
/// # Errors
/// When it cannot be encoded.
pub(crate) fn text() -> Result<String> {
    let schema = schemars::schema_for!(AbResult);
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}
