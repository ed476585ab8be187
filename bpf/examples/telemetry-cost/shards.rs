//! Connected sockets, spread over processes of this program. Each process opens as many as it may, and
//! sends and receives when it is asked to.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write, stdin, stdout},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

/// The first argument of a shard. The others are the arguments of [`serve`].
pub(crate) const ARGUMENT: &str = "--shard";
/// Open files of a shard besides the sockets, with room to spare.
const OTHER_FILES: usize = 100;

/// The sockets.
pub(crate) struct Shards(Vec<Shard>);

struct Shard {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    pairs: usize,
}

impl Shards {
    /// Connects them.
    pub(crate) fn open(pairs: usize) -> Result<Self> {
        let (begun, most) = (Instant::now(), most_pairs()?);
        eprintln!("opening {} sockets in {} processes", pairs * 2, pairs.div_ceil(most));
        let open = |(nth, first)| Shard::open(nth, most.min(pairs - first));
        let shards = (0..pairs).step_by(most).enumerate().map(open).collect::<Result<_>>()?;
        eprintln!("opened after {:.1?}", begun.elapsed());
        Ok(Self(shards))
    }

    pub(crate) fn sockets(&self) -> usize {
        self.pairs() * 2
    }

    fn pairs(&self) -> usize {
        self.0.iter().map(|shard| shard.pairs).sum()
    }

    /// The threads that send and receive.
    pub(crate) fn threads(&self) -> Vec<Pid> {
        self.0.iter().map(|shard| Pid::from_child(&shard.process)).collect()
    }

    /// Nanoseconds per event, while so many messages go round all pairs, at least one per pair.
    pub(crate) fn time(&mut self, bytes: usize, messages: usize) -> Result<f64> {
        let turns = (messages / self.pairs()).max(1);
        // between two messages of one pair come those of all other pairs, in any shard
        let (passes, turns) = if self.0.len() == 1 { (1, turns) } else { (turns, 1) };
        let mut ns = 0;
        for _ in 0..passes {
            for shard in &mut self.0 {
                ns += shard.go(bytes, turns)?;
            }
        }
        Ok(ns as f64 / (2 * passes * turns * self.pairs()) as f64)
    }
}

impl Shard {
    fn open(nth: usize, pairs: usize) -> Result<Self> {
        let mut process = Command::new("/proc/self/exe")
            .args([ARGUMENT, &nth.to_string(), &pairs.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a process for sockets")?;
        let requests = process.stdin.take().context("no pipe to it")?;
        let answers = BufReader::new(process.stdout.take().context("no pipe from it")?);
        let mut shard = Self { process, requests, answers, pairs };
        shard.answer()?;
        Ok(shard)
    }

    /// Nanoseconds that it takes to send and receive a message on each pair, so many times.
    fn go(&mut self, bytes: usize, turns: usize) -> Result<u64> {
        writeln!(self.requests, "{bytes} {turns}").context("asking a process for sockets")?;
        Ok(self.answer()?.trim().parse()?)
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "a process for sockets has ended: see its message above");
        Ok(line)
    }
}

/// The next sockets need its memory.
impl Drop for Shard {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Pairs that one process can open on one address. By default there are 28,000 ports to connect from.
/// The kernel walks past all even ports that are taken before it tries an odd one.
fn most_pairs() -> Result<usize> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // the shards inherit the limit
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        .context("raising the limit of open files as far as it may go")?;
    let files = maximum.map_or(usize::MAX, |files| files as usize);
    let [low, high] = numbers("/proc/sys/net/ipv4/ip_local_port_range")?;
    let pairs = (files.saturating_sub(OTHER_FILES) / 2).min((high + 1 - low) / 3);
    ensure!(
        pairs > 0,
        "{files} open files (ulimit -Hn) or {low} to {high} (net.ipv4.ip_local_port_range) are \
         too few: raise them"
    );
    Ok(pairs)
}

/// What the process of a shard does until its requests end, which they do with the asking process.
pub(crate) fn serve(nth: u32, pairs: usize) -> Result<()> {
    let pairs = connect(Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + nth), pairs)?;
    writeln!(stdout(), "ready")?;
    for request in stdin().lines() {
        let request = request?;
        let (bytes, turns) = request.split_once(' ').context("a request has two numbers")?;
        writeln!(stdout(), "{}", go(&pairs, bytes.parse()?, turns.parse()?)?)?;
    }
    Ok(())
}

fn connect(host: Ipv4Addr, pairs: usize) -> Result<Vec<(TcpStream, TcpStream)>> {
    let listener = TcpListener::bind((host, 0))?;
    let address = listener.local_addr()?;
    let pair = |_| {
        let client = TcpStream::connect(address)
            .with_context(|| format!("connecting to {address}, {pairs} times in all"))?;
        client.set_nodelay(true)?;
        Ok((client, listener.accept()?.0))
    };
    (0..pairs).map(pair).collect()
}

fn go(pairs: &[(TcpStream, TcpStream)], bytes: usize, turns: usize) -> Result<u128> {
    let mut message = vec![0; bytes];
    let start = Instant::now();
    for _ in 0..turns {
        for (client, server) in pairs {
            let (mut client, mut server) = (client, server);
            client.write_all(&message)?;
            server.read_exact(&mut message)?;
        }
    }
    Ok(start.elapsed().as_nanos())
}

/// The numbers in a file of procfs.
pub(crate) fn numbers<const N: usize>(path: &str) -> Result<[usize; N]> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    let numbers: Vec<usize> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    numbers.try_into().ok().with_context(|| format!("{path}: not {N} numbers: {text}"))
}
