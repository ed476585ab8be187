//! Metrics as scrapers get them: golden texts, a server that scrapers cannot wear out, and a real
//! Prometheus.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use scx_stats::prelude::*;
use steer_bpf::Steering;

use super::{
    Totals,
    daemon::{Daemon, Seen},
    families::{Format, render},
    names::DECISIONS,
    serve::{Listen, Listener, serve},
    textfile,
};
use crate::{
    stats::{Answer, server_data},
    status::{NicStatus, PolicyStatus, Status},
};

/// What an instance answers whose every counter is known by its number.
fn answer() -> Answer {
    let mut number = 0;
    let decisions = std::array::from_fn(|_| {
        number += 1;
        number
    });
    let nic =
        |name: &str, steering| NicStatus { name: name.into(), local_cpus: "2-3".into(), steering };
    let status = Status {
        version: "1.2.3".into(),
        pid: 42,
        in_force_s: 7,
        loads: 2,
        left_early: 1,
        programs: Vec::new(),
        cpus: 4,
        caches: 2,
        queues: 2,
        nics: vec![nic("eth\"0\"", Steering::Follows), nic("eth1", Steering::Unknown)],
        reserved_cpus: "3".into(),
        limits: crate::limits::LimitsStatus::default(),
        host: crate::nic::HostStatus::default(),
        policy: PolicyStatus {
            files: vec!["50-web.toml".into()],
            rules: 2,
            cgroups: 3,
            reloads: 100,
            refusals: 101,
            refused: Some("50-web.toml:3:1: there is no key clas\n".into()),
            shortfalls: Vec::new(),
        },
    };
    Answer { decisions, status }
}

fn in_force() -> Seen {
    Seen { in_force: true, totals: Some(Totals::of(answer()).unwrap()) }
}

#[test]
fn the_openmetrics_text() {
    insta::assert_snapshot!(render(in_force(), Format::OpenMetrics).unwrap());
}

#[test]
fn the_prometheus_text() {
    insta::assert_snapshot!(render(in_force(), Format::Prometheus).unwrap());
}

#[test]
fn what_is_unknown_is_absent() {
    let nothing = Seen { in_force: false, totals: None };
    insta::assert_snapshot!(render(nothing, Format::OpenMetrics).unwrap());
}

#[test]
fn every_statistic_has_a_name() {
    let totals = Totals::of(answer()).unwrap();
    let named: BTreeSet<_> = DECISIONS.iter().map(|row| row.0).collect();
    let counted: BTreeSet<_> = totals.decisions.keys().map(String::as_str).collect();
    assert_eq!(named, counted, "metrics/names.rs needs one row for each field of stats.rs");
    for rows in DECISIONS.chunk_by(|a, b| a.1 == b.1) {
        let classes: BTreeSet<_> = rows.iter().map(|row| row.2).collect();
        assert_eq!(classes.len(), rows.len(), "{}: two rows of one class", rows[0].1);
        assert!(!rows[0].3.is_empty(), "{} has no help", rows[0].1);
    }
}

/// An instance that answers on its socket, and `metrics` that serves it.
struct Served {
    address: SocketAddr,
    /// How often the instance was asked.
    asked: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
    _instance: StatsServer<(), Answer>,
    _folder: tempfile::TempDir,
}

impl Served {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("stats");
        let instance = StatsServer::new(server_data()).set_path(&socket).launch().unwrap();
        let asked = Arc::new(AtomicU64::new(0));
        let (replies, requests) = instance.channels();
        let count = asked.clone();
        thread::spawn(move || {
            while requests.recv().is_ok() {
                count.fetch_add(1, Ordering::Relaxed);
                if replies.send(answer()).is_err() {
                    break;
                }
            }
        });
        let listener = Listener::open(&Listen::Tcp(([127, 0, 0, 1], 0).into())).unwrap();
        let Listener::Tcp(tcp) = &listener else { unreachable!("asked for TCP") };
        let address = tcp.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let server = thread::spawn(move || {
            let daemon = Arc::new(Daemon::new(socket));
            serve(&listener, &daemon, &mut || !stopped.load(Ordering::Relaxed)).unwrap();
        });
        Self { address, asked, stop, server: Some(server), _instance: instance, _folder: folder }
    }

    fn scrape(&self) -> String {
        get(self.address, "/metrics")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.server.take().map(JoinHandle::join);
    }
}

/// One request, with HTTP/1.0 so that the answer comes in one piece.
fn try_get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut connection = TcpStream::connect(address)?;
    write!(connection, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut text = String::new();
    connection.read_to_string(&mut text)?;
    Ok(text)
}

fn get(address: SocketAddr, path: &str) -> String {
    try_get(address, path).unwrap()
}

#[test]
fn slow_and_many_scrapers_cost_the_scheduler_nothing() {
    let served = Served::start();
    let start = Instant::now();
    let hanging: Vec<_> = (0..10).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    let mut half = TcpStream::connect(served.address).unwrap();
    half.write_all(b"GET /metrics HT").unwrap();
    for _ in 0..50 {
        let page = served.scrape();
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(page.contains("\nscx_steer_wakeups_home_total{class=\"long\"} "), "{page}");
    }
    let asked = served.asked.load(Ordering::Relaxed);
    assert!(
        asked >= 1 && asked <= start.elapsed().as_secs() + 2,
        "the instance was asked {asked}×"
    );
    drop((hanging, half));
}

#[test]
fn more_scrapers_than_there_is_room_for_are_closed() {
    let served = Served::start();
    let mut hanging: Vec<_> =
        (0..80).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    let closed = |connection: &mut TcpStream| matches!(connection.read(&mut [0]), Ok(0));
    for connection in &hanging {
        connection.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    }
    // the server may not have come that far yet
    while !hanging.iter_mut().any(closed) {}
    drop(hanging);
    while !try_get(served.address, "/metrics").is_ok_and(|page| page.contains("200 OK")) {}
}

#[test]
fn other_paths_and_bad_requests_are_refused() {
    let served = Served::start();
    assert!(get(served.address, "/").starts_with("HTTP/1.1 404 "));
    assert!(get(served.address, "").starts_with("HTTP/1.1 400 "));
}

#[test]
fn addresses_are_read_and_bad_ones_refused() {
    assert_eq!("[::1]:9".parse(), Ok(Listen::Tcp("[::1]:9".parse().unwrap())));
    assert_eq!("unix:/a b".parse(), Ok(Listen::Unix("/a b".into())));
    for bad in ["", "localhost", "127.0.0.1", "unix:", "http://127.0.0.1:9"] {
        assert!(bad.parse::<Listen>().is_err(), "{bad:?}");
    }
}

#[test]
fn a_socket_replaces_only_one_that_is_dead() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let open = || Listener::open(&Listen::Unix(path.clone()));
    fs::write(&path, "not ours").unwrap();
    assert!(open().err().unwrap().to_string().contains("is no socket"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "not ours");
    fs::remove_file(&path).unwrap();
    let first = open().unwrap();
    assert!(open().err().unwrap().to_string().contains("another process serves it"));
    drop(first);
    open().unwrap();
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.prom");
    textfile::replace(&path, "one\n").unwrap();
    textfile::replace(&path, "two\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
    fs::create_dir(dir.path().join("folder")).unwrap();
    assert!(textfile::replace(&dir.path().join("folder"), "three\n").is_err());
    assert!(textfile::replace(&dir.path().join("none/a.prom"), "three\n").is_err());
    let left = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 2, "a temporary file is left");
}

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A program of Prometheus: as package/prometheus.sh unpacks it, or installed.
fn program(name: &str, test: &str) -> Option<PathBuf> {
    let unpacked = Path::new(ROOT).join("target/tools/prometheus/usr/bin").join(name);
    let found = [unpacked, Path::new("/usr/bin").join(name)].into_iter().find(|it| it.exists());
    if found.is_none() {
        println!("SKIPPED {test}: there is no {name}; package/prometheus.sh unpacks it");
    }
    found
}

#[test]
fn promtool_finds_no_fault_in_the_metrics() {
    let Some(promtool) = program("promtool", "promtool_finds_no_fault_in_the_metrics") else {
        return;
    };
    let mut check = Command::new(promtool)
        .args(["check", "metrics", "--extended"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let page = render(in_force(), Format::Prometheus).unwrap();
    check.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("scx_steer_wakeups_home_total"));
}

#[test]
fn the_alerts_fire_when_they_should() {
    let Some(promtool) = program("promtool", "the_alerts_fire_when_they_should") else { return };
    for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]] {
        let output = Command::new(&promtool)
            .args(arguments)
            .current_dir(Path::new(ROOT).join("deploy/prometheus"))
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}

/// Ends a process when dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every query of the dashboard, with Grafana's variables filled in.
fn queries() -> Vec<String> {
    let text =
        fs::read_to_string(Path::new(ROOT).join("deploy/prometheus/dashboard.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(dashboard["__inputs"][0]["name"], "DS_PROMETHEUS");
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    targets
        .map(|target| target["expr"].as_str().unwrap())
        .map(|expr| expr.replace("$__rate_interval", "1m").replace("$instance", ".*"))
        .collect()
}

/// Makes text safe in a query string.
fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn a_real_prometheus_scrapes_and_answers_every_query_of_the_dashboard() {
    let name = "a_real_prometheus_scrapes_and_answers_every_query_of_the_dashboard";
    let Some(prometheus) = program("prometheus", name) else { return };
    let served = Served::start();
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("prometheus.yml");
    let scrape = format!(
        "global: {{ scrape_interval: 1s }}\nscrape_configs:\n  - job_name: scx_steer\n    \
         static_configs: [{{ targets: ['{}'] }}]\n",
        served.address
    );
    fs::write(&config, scrape).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let log = fs::File::create(dir.path().join("log")).unwrap();
    let mut running = Killed(
        Command::new(prometheus)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", dir.path().join("data").display()))
            .arg(format!("--web.listen-address={port}"))
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap(),
    );
    let deadline = Instant::now() + Duration::from_secs(120);
    let said = || fs::read_to_string(dir.path().join("log")).unwrap();
    while TcpStream::connect(port).is_err() {
        assert!(running.0.try_wait().unwrap().is_none(), "it has ended: {}", said());
        assert!(Instant::now() < deadline, "it does not start: {}", said());
        thread::sleep(Duration::from_millis(100));
    }
    let queries = queries();
    assert!(queries.len() > 20, "only {} queries", queries.len());
    for query in queries {
        loop {
            let answer = get(port, &format!("/api/v1/query?query={}", escaped(&query)));
            let body = answer.split_once("\r\n\r\n").unwrap().1;
            let body: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
            assert_ne!(body["status"], "error", "{query}: {body}");
            if body["data"]["result"].as_array().is_some_and(|result| !result.is_empty()) {
                break;
            }
            assert!(Instant::now() < deadline, "{query} finds nothing: {body}");
            thread::sleep(Duration::from_millis(200));
        }
    }
}
