//! The flags of `steer-bench agent`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use steer_ground::units::Seconds;
use steer_remote::{AgentOptions, Key};

/// Flags of `steer-bench agent`.
#[derive(Debug, Args)]
#[command(after_help = "\
The agent drives traffic to any host that asks with the right key, one run at a time. It does nothing
else, and needs no root. The traffic ends when the asking host disconnects.

Examples:
  steer-bench agent --new-key steer.key        # once; copy the file to the other host, mode 600
  steer-bench agent --key-file steer.key --listen 10.0.0.2:5299
  steer-bench ab --agent 10.0.0.2:5299 --key-file steer.key --nic eth0    # on the other host")]
pub(crate) struct AgentArgs {
    /// Where to listen for the host that measures. An address of the measured network is safest.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:5299")]
    pub(crate) listen: SocketAddr,
    /// File with the key. The other host must have the same key.
    #[arg(long, value_name = "FILE", required_unless_present = "new_key")]
    pub(crate) key_file: Option<PathBuf>,
    /// Longest traffic that the other host may ask for, including warm-up, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = Seconds::positive)]
    pub(crate) max_duration: Seconds,
    /// Write a new key to this file, and exit. The file must not exist.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key_file", "listen", "max_duration"])]
    pub(crate) new_key: Option<PathBuf>,
}

impl AgentArgs {
    /// Serves until the process is stopped, or writes a key.
    ///
    /// # Errors
    /// The key cannot be read or created, or the port is taken.
    pub(crate) fn run(self) -> Result<()> {
        let Self { listen, key_file, max_duration, new_key } = self;
        if let Some(path) = new_key {
            return Key::create(&path);
        }
        let key_file = key_file.context("--key-file is missing")?;
        steer_remote::agent(&AgentOptions { listen, key_file, max_duration })
    }
}
