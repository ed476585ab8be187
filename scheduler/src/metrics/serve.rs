//! Serves metrics on an address or a Unix socket, to a few scrapers at a time.

use std::{
    fmt,
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{
            fs::FileTypeExt,
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use log::{debug, info};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{daemon::Daemon, families::render, http};
use crate::{service::Service, signals::Flag};

/// Scrapers served at the same time. A connection beyond that is closed at once, so that scrapers
/// that hang cannot fill this process.
const MOST_SCRAPERS: usize = 64;
/// How often a signal is looked for while nobody connects.
const LOOK: Duration = Duration::from_millis(200);

/// Where to serve.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Listen {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("unix: needs a path, as in unix:/run/scx_steer/metrics".into()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| {
                "write an address and a port, as in 127.0.0.1:9954 or [::1]:9954, or unix:PATH"
                    .into()
            }),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}/metrics"),
            Self::Unix(path) => write!(f, "/metrics on the socket {}", path.display()),
        }
    }
}

pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Serves until `shutdown`.
pub(super) fn run(daemon: Daemon, listen: &Listen, shutdown: &Flag) -> Result<()> {
    let listener = Listener::open(listen).with_context(|| format!("cannot serve {listen}"))?;
    info!("serving {listen}");
    let mut service = Service::new();
    service.ready(&format!("serving {listen}"));
    serve(&listener, &Arc::new(daemon), &mut || {
        service.alive();
        !shutdown.raised()
    })?;
    if let Listen::Unix(path) = listen {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Serves as long as `go_on` says so. It is asked at least every [`LOOK`].
pub(super) fn serve(
    listener: &Listener,
    daemon: &Arc<Daemon>,
    go_on: &mut impl FnMut() -> bool,
) -> Result<()> {
    // each thread holds one, so the count is that of the scrapers
    let scrapers = Arc::new(());
    let look = Timespec::try_from(LOOK)?;
    while go_on() {
        let mut ready = [PollFd::from_borrowed_fd(listener.fd(), PollFlags::IN)];
        match poll(&mut ready, Some(&look)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error).context("waiting for scrapers"),
        }
        if Arc::strong_count(&scrapers) > MOST_SCRAPERS {
            debug!("{MOST_SCRAPERS} scrapers hang: another is refused");
            drop(listener.accept());
            continue;
        }
        match listener.accept() {
            Ok(answer) => {
                let (daemon, held) = (daemon.clone(), scrapers.clone());
                thread::spawn(move || {
                    if let Err(error) = answer(&daemon) {
                        debug!("a scraper was not served: {error:#}");
                    }
                    drop(held);
                });
            }
            // the scraper has gone already, or this process has no descriptor left just now
            Err(error) if error.kind() != ErrorKind::InvalidInput => {
                debug!("a scraper was not accepted: {error}");
                thread::sleep(LOOK);
            }
            Err(error) => return Err(error).context("accepting a scraper"),
        }
    }
    Ok(())
}

/// Answers one accepted connection.
type Answer = Box<dyn FnOnce(&Daemon) -> Result<()> + Send>;

impl Listener {
    pub(super) fn open(listen: &Listen) -> Result<Self> {
        let listener = match listen {
            Listen::Tcp(address) => Self::Tcp(TcpListener::bind(address)?),
            Listen::Unix(path) => Self::Unix(bind(path)?),
        };
        // a connection may go away between poll and accept
        match &listener {
            Self::Tcp(it) => it.set_nonblocking(true)?,
            Self::Unix(it) => it.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(it) => it.as_fd(),
            Self::Unix(it) => it.as_fd(),
        }
    }

    fn accept(&self) -> io::Result<Answer> {
        Ok(match self {
            Self::Tcp(it) => {
                let connection = it.accept()?.0;
                connection.set_nonblocking(false)?;
                Box::new(move |daemon| {
                    http::answer(connection, |format| render(daemon.see(), format))
                })
            }
            Self::Unix(it) => {
                let connection = it.accept()?.0;
                connection.set_nonblocking(false)?;
                Box::new(move |daemon| {
                    http::answer(connection, |format| render(daemon.see(), format))
                })
            }
        })
    }
}

/// Binds a Unix socket. One that a killed process left behind is replaced, one that answers is not.
fn bind(path: &Path) -> Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            ensure!(std::fs::metadata(path)?.file_type().is_socket(), "it exists and is no socket");
            ensure!(UnixStream::connect(path).is_err(), "another process serves it");
            std::fs::remove_file(path)?;
            Ok(UnixListener::bind(path)?)
        }
        bound => Ok(bound?),
    }
}
