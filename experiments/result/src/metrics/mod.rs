//! The metrics of a result: their names, where a sample holds them, and how to show them.

mod list;
mod metric;
mod source;

pub use list::{METRICS, find};
pub use metric::{Better, Metric, Verdict};
pub(crate) use source::unreadable;
