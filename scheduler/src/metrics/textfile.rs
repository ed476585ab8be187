//! Writes metrics to a file for node_exporter's textfile collector.

use std::{
    fs::{self, File, Permissions},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    daemon::Daemon,
    families::{Format, render},
};
use crate::{service::Service, signals::Flag};

/// How often a signal is looked for between two writes.
const LOOK: Duration = Duration::from_millis(200);

/// Writes the file once, or every `every` until `shutdown`.
pub(super) fn run(
    daemon: &Daemon,
    path: &Path,
    every: Option<Duration>,
    shutdown: &Flag,
) -> Result<()> {
    let mut service = Service::new();
    loop {
        let next = Instant::now() + every.unwrap_or_default();
        let page = render(daemon.see(), Format::Prometheus)?;
        replace(path, &page).with_context(|| format!("writing {}", path.display()))?;
        service.ready(&format!("writing {}", path.display()));
        if every.is_none() {
            return Ok(());
        }
        while Instant::now() < next {
            if shutdown.raised() {
                return Ok(());
            }
            service.alive();
            thread::sleep(LOOK);
        }
    }
}

/// Replaces a file in one step: a reader sees the old text or the new one, also after a crash. The
/// collector reads only names that end in `.prom`, so it does not see the temporary file.
pub(super) fn replace(path: &Path, text: &str) -> Result<()> {
    let name = path.file_name().context("it has no file name")?.to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.new"));
    let written = (|| {
        let mut file = File::create(&temporary)?;
        // node_exporter runs as another user
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    Ok(written?)
}
