//! Kernels for the guests. They are Debian's own, or built from its source (build-kernel.sh), found
//! by series, verified, and kept in a cache.

mod apt;
mod fetch;
mod store;
mod version;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use store::{Kernel, folder_names};
pub use version::{Release, Wanted};

use steer_ground::progress::Progress;

/// Where kernels come from and where they are kept.
#[derive(Debug, Clone)]
pub struct Source {
    /// Folder of downloaded kernels. A kernel in it needs no network.
    pub kernel_cache: PathBuf,
    /// Debian mirror to fetch kernels from. Default: the mirror that this machine's apt uses.
    pub mirror: Option<String>,
}

impl Source {
    /// The newest cached kernel that matches `wanted`, or else the newest on the mirror.
    ///
    /// # Errors
    /// Names the file, package or step that failed, and what to do next. The cache is then
    /// unchanged.
    pub fn get(&self, wanted: &Wanted, progress: &Progress) -> Result<Kernel> {
        if let Some(dir) = self.cached(wanted)? {
            return Kernel::open(&dir);
        }
        fetch::fetch(wanted, &self.mirror()?, &self.kernel_cache, progress)
            .with_context(|| format!("kernel {wanted} is not cached and could not be fetched"))
    }

    /// Unpacks the headers of a kernel, and the source of its series, into a folder. Modules that
    /// Debian lacks can be built from these.
    ///
    /// # Errors
    /// The mirror no longer has them: they go when a newer kernel of the series comes.
    pub fn headers(&self, release: &Release, into: &Path, progress: &Progress) -> Result<()> {
        let home = self.kernel_cache.join(release.to_string());
        fetch::headers(release, &self.mirror()?, into, progress).with_context(|| {
            format!(
                "the headers of kernel {release} could not be unpacked; if the mirror has only \
                 those of a newer kernel by now, remove {} to get that one",
                home.display()
            )
        })
    }

    fn mirror(&self) -> Result<String> {
        self.mirror.clone().map_or_else(apt::mirror_of_host, Ok)
    }

    /// Takes a kernel that was built here from the source package `package`: the files in `from`,
    /// named as in Debian's packages.
    ///
    /// # Errors
    /// Names the file that is missing. The cache is then unchanged.
    pub fn add(&self, release: &Release, from: &Path, package: &Path) -> Result<Kernel> {
        fetch::add(release, from, package, &self.kernel_cache)
            .with_context(|| format!("adding kernel {release}"))
    }

    /// The folder of the newest cached kernel that matches.
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
pub use store::tests::example;
