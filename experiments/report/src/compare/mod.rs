//! `steer-bench compare`: two results side by side, A before and B after.

mod comparison;
mod figures;
mod text;
mod warnings;

use std::path::Path;

use anyhow::{Context, Result};

pub use self::comparison::Comparison;
use steer_ground::style::Style;
use steer_result::AbResult;

impl Comparison {
    /// Compares two results that are on disk.
    ///
    /// # Errors
    /// A file cannot be read or is not a result, or the two have nothing in common.
    pub fn read(a: &Path, b: &Path) -> Result<Self> {
        let results = (AbResult::read(a)?, AbResult::read(b)?);
        Self::new(&results.0, &results.1)
            .with_context(|| format!("cannot compare {} (A) with {} (B)", a.display(), b.display()))
    }

    /// As text. For JSON, serialize it.
    pub fn text(&self, style: Style) -> String {
        text::text(self, style)
    }
}
