//! The agent in the guest: answers the host's requests, one connection per thread.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::jobs::Jobs;
use super::protocol::{PORT, Reply, Request, VERSION};

/// Longest wait that a request may ask for.
const LONGEST: Duration = Duration::from_secs(3600);

/// Serves until the guest is switched off.
///
/// # Errors
/// When the port is taken.
pub fn serve() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))
        .with_context(|| format!("listening on port {PORT}"))?;
    let jobs = Arc::new(Jobs::default());
    loop {
        let (stream, _) = listener.accept().context("accepting a connection")?;
        let jobs = Arc::clone(&jobs);
        thread::Builder::new().name("agent".to_owned()).spawn(move || {
            if let Err(error) = converse(stream, &jobs) {
                eprintln!("agent: {error:#}");
            }
        })?;
    }
}

/// Answers requests until the host closes the connection.
fn converse(stream: TcpStream, jobs: &Jobs) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut replies = stream.try_clone()?;
    let mut send = move |reply: &Reply| -> Result<()> {
        let line = serde_json::to_string(reply)? + "\n";
        replies.write_all(line.as_bytes()).context("replying")
    };
    for line in BufReader::new(stream).lines() {
        let line = line.context("reading a request")?;
        let answer = serde_json::from_str(&line)
            .context("not a request")
            .and_then(|request| answer(request, jobs, &mut || send(&Reply::Alive)));
        send(&answer.unwrap_or_else(|error| Reply::Failed(format!("{error:#}"))))?;
    }
    Ok(())
}

/// Executes a request. Calls `alive` once a second while it takes time.
pub(super) fn answer(
    request: Request,
    jobs: &Jobs,
    alive: &mut dyn FnMut() -> Result<()>,
) -> Result<Reply> {
    let done = |()| Reply::Done(String::new());
    match request {
        Request::Hello { version } => {
            ensure!(version == VERSION, "the host speaks version {version}, the guest {VERSION}");
            Ok(Reply::Done(VERSION.to_string()))
        }
        Request::Read { path } => read(&path).map(Reply::Done),
        Request::Write { path, value } => write(&path, &value).map(done),
        Request::List { path } => list(&path).map(Reply::Done),
        Request::Spawn { name, argv } => jobs.spawn(&name, &argv).map(done),
        Request::Expect { name, line, timeout_s } => {
            jobs.get(&name)?.expect(&line, duration(timeout_s)?, alive).map(done)
        }
        Request::Signal { name, signal } => jobs.get(&name)?.signal(signal).map(done),
        Request::Wait { name, timeout_s } => {
            let job = jobs.get(&name)?;
            let ended = job.wait(duration(timeout_s)?, alive)?;
            Ok(if ended { Reply::Finished(job.finished()) } else { Reply::Running(job.finished()) })
        }
    }
}

fn read(path: &str) -> Result<String> {
    let bytes = fs::read(setting(path)?).with_context(|| format!("reading {path}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write(path: &str, value: &str) -> Result<()> {
    // Never creates a file: a setting that does not exist is an error.
    let file = fs::OpenOptions::new().write(true).open(setting(path)?);
    let mut file = file.with_context(|| format!("opening {path}"))?;
    file.write_all(value.as_bytes()).with_context(|| format!("writing {value:?} to {path}"))
}

fn list(path: &str) -> Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(setting(path)?).with_context(|| format!("listing {path}"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names.join("\n"))
}

/// Resolves symbolic links, and allows only kernel settings: the host needs nothing else.
fn setting(path: &str) -> Result<PathBuf> {
    let path = fs::canonicalize(path).with_context(|| format!("finding {path}"))?;
    let inside = ["/proc", "/sys"].iter().any(|root| path.starts_with(root));
    ensure!(inside, "{} is not under /proc or /sys", path.display());
    Ok(path)
}

fn duration(seconds: f64) -> Result<Duration> {
    let duration = Duration::try_from_secs_f64(seconds).context("timeout_s")?;
    ensure!(duration <= LONGEST, "timeout_s is more than {LONGEST:?}");
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kernel_settings_can_be_reached() {
        assert!(setting("/proc/sys/kernel/osrelease").is_ok());
        for bad in ["/etc/passwd", "/sys/../etc/passwd", "/proc/self/cwd", "/proc/no-such-file"] {
            assert!(setting(bad).is_err(), "{bad} was let through");
        }
    }

    #[test]
    fn timeouts_are_bounded() {
        assert!(duration(1.5).is_ok());
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(duration(bad).is_err(), "{bad} was let through");
        }
    }
}
