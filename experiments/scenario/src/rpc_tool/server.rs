//! A server that serves the RPCs of a sample instead of our own.

/// The RPCs of a sample.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    /// Connections, each with one request outstanding.
    pub connections: u32,
    /// Bytes of each reply's payload.
    pub size: u64,
    /// Threads that serve them.
    pub threads: u16,
}

/// A server in the guest.
pub struct Server {
    /// Name among the agent's programs.
    pub name: String,
    /// Its command line.
    pub argv: Vec<String>,
    /// The port that it listens on once it is ready.
    pub port: u16,
}

/// A program that must be installed.
pub struct Needed {
    /// Its file name.
    pub program: &'static str,
    /// How to install it.
    pub how: &'static str,
    /// Whether it runs in the guest.
    pub in_guest: bool,
}
