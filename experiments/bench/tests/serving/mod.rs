//! The traffic's server and client as processes on the loopback device.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use crate::running::Running;

impl Running {
    /// Starts steer-bench; it is ready.
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut command = Command::new(cargo_bin!("steer-bench"));
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    pub(crate) fn thread_names(&self) -> Vec<String> {
        let tasks = format!("/proc/{}/task", self.0.id());
        let name = |task: std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("comm")).map(|name| name.trim().to_string())
        };
        let mut names: Vec<_> =
            std::fs::read_dir(tasks).unwrap().filter_map(|task| name(task.unwrap()).ok()).collect();
        names.sort();
        names
    }

    pub(crate) fn stop(mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.0.wait().unwrap().code()
    }

    /// Ends it; returns what it printed after `ready`.
    pub(crate) fn last_words(mut self) -> String {
        self.signal("-TERM");
        let mut words = String::new();
        self.0.stdout.as_mut().unwrap().read_to_string(&mut words).unwrap();
        words
    }
}

/// Where a server listens.
pub(crate) struct Ports {
    pub(crate) long: String,
    pub(crate) long_out: String,
    pub(crate) rpc: String,
}

impl Ports {
    /// Ports that are free right now.
    pub(crate) fn free() -> Self {
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [long, long_out, rpc] =
            listeners.map(|listener| listener.local_addr().unwrap().port().to_string());
        Self { long, long_out, rpc }
    }

    pub(crate) fn flags(&self) -> [&str; 6] {
        let Self { long, long_out, rpc } = self;
        ["--long-port", long, "--long-out-port", long_out, "--rpc-port", rpc]
    }
}

pub(crate) fn server(ports: &Ports, more: &[&str]) -> Running {
    Running::start(&[&["server", "--bind", "127.0.0.1"][..], &ports.flags(), more].concat())
}

pub(crate) fn client(ports: &Ports, more: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("steer-bench"));
    command.args(["client", "--server", "127.0.0.1", "--json"]).args(ports.flags()).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn json(output: &Output) -> Value {
    let stdout = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
