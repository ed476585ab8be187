//! Reading and writing `result.json`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::types::AbResult;

impl AbResult {
    /// Writes the result, whole or not at all: a reader never sees half a file.
    ///
    /// # Errors
    /// When the folder is missing or not writable, or the disk is full.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut json = serde_json::to_string_pretty(self).context("cannot encode the result")?;
        json.push('\n');
        let draft = path.with_extension("json.partial");
        fs::write(&draft, json).with_context(|| format!("cannot write {}", draft.display()))?;
        fs::rename(&draft, path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads a result.
    ///
    /// # Errors
    /// Names the file and what is wrong with it: missing, no JSON, another version, or the line of
    /// the first field that does not fit.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        Self::parse(&text).with_context(|| format!("{name} is no result of `steer-bench ab`"))
    }

    fn parse(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        // The version first: another one may lack fields, which would be the wrong complaint.
        let Versioned { version } = serde_json::from_str(text)?;
        if version != Self::VERSION {
            bail!("it has format version {version}, this program reads {}", Self::VERSION);
        }
        Ok(serde_json::from_str(text)?)
    }
}
