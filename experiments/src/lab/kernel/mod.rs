//! Kernels for the guests: Debian's own, found by series, verified, and kept in a cache.

mod apt;
mod fetch;
mod store;
mod version;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) use store::Kernel;
pub(crate) use version::Wanted;

use super::progress::Progress;

/// Where kernels come from and where they are kept.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Source {
    /// Folder of downloaded kernels; once a kernel is there, no network is needed.
    #[arg(long, value_name = "DIR", default_value = "target/lab/kernels")]
    pub(crate) kernel_cache: PathBuf,
    /// Debian mirror to fetch kernels from [default: the one this machine's apt uses].
    #[arg(long, value_name = "URI")]
    pub(crate) mirror: Option<String>,
}

impl Source {
    /// The newest cached kernel that fits `wanted`, or else the newest the mirror has.
    ///
    /// # Errors
    /// Names the file, package or step that failed and what to do next. The cache then holds
    /// what it held before.
    pub(crate) fn get(&self, wanted: &Wanted, progress: &Progress) -> Result<Kernel> {
        if let Some(dir) = self.cached(wanted)? {
            return Kernel::open(&dir);
        }
        let mirror = match &self.mirror {
            Some(uri) => uri.clone(),
            None => apt::mirror_of_host()?,
        };
        fetch::fetch(wanted, &mirror, &self.kernel_cache, progress)
            .with_context(|| format!("kernel {wanted} is not cached and could not be fetched"))
    }

    /// The folder of the newest cached kernel that fits.
    fn cached(&self, wanted: &Wanted) -> Result<Option<PathBuf>> {
        if !self.kernel_cache.exists() {
            return Ok(None);
        }
        let names = folder_names(&self.kernel_cache)?;
        let best = wanted.newest_of(names.iter().filter_map(|name| name.parse().ok()));
        Ok(best.map(|release| self.kernel_cache.join(release.to_string())))
    }
}

#[cfg(test)]
pub(crate) use store::tests::example;

/// Names of the entries of a folder, hidden ones left out.
fn folder_names(dir: &Path) -> Result<Vec<String>> {
    let reading = || format!("reading {}", dir.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(reading)? {
        let name = entry.with_context(reading)?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    Ok(names)
}
