//! Connected sockets, spread over processes of this program. Each process opens as many as it may, and
//! sends and receives when it is asked to. What is measured is done by its first thread.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write, stdin, stdout},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

use crate::meter::Meter;

/// The first argument of a shard. The others are the arguments of [`serve`].
pub(crate) const ARGUMENT: &str = "--shard";
/// Open files of a shard besides the sockets, with room to spare.
const OTHER_FILES: usize = 100;
/// Messages per pair in one timing. Between two, the processes are asked anew.
const MOST_TURNS: usize = 2000;

/// What the measured thread does with each pair of sockets.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Sends a message on one and receives it on the other.
    OneWay,
    /// Receives a message that another thread sent before, and answers.
    Answers,
}

/// The sockets.
pub(crate) struct Shards {
    shards: Vec<Shard>,
    /// Counts while the measured threads work.
    pub(crate) meter: Meter,
}

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
        Ok(Self { shards, meter: Meter::default() })
    }

    pub(crate) fn sockets(&self) -> usize {
        self.pairs() * 2
    }

    fn pairs(&self) -> usize {
        self.shards.iter().map(|shard| shard.pairs).sum()
    }

    /// The threads that are measured.
    pub(crate) fn threads(&self) -> Vec<Pid> {
        self.shards.iter().map(|shard| Pid::from_child(&shard.process)).collect()
    }

    /// Nanoseconds per event, while so many messages go round all pairs: at least one per pair, and at
    /// most [`MOST_TURNS`].
    pub(crate) fn time(&mut self, work: Work, bytes: usize, messages: usize) -> Result<f64> {
        let turns = (messages / self.pairs()).clamp(1, MOST_TURNS);
        let mut ns = 0;
        // between two messages of one pair come those of all other pairs, in any shard
        for _ in 0..turns {
            ns += self.turn(work, bytes)?;
        }
        Ok(ns as f64 / (2 * turns * self.pairs()) as f64)
    }

    /// Nanoseconds that the measured threads need for a message of each pair.
    fn turn(&mut self, work: Work, bytes: usize) -> Result<u64> {
        match work {
            Work::OneWay => self.go_measured("one-way", bytes),
            Work::Answers => {
                self.go_all("request", bytes)?;
                let ns = self.go_measured("answer", bytes)?;
                self.go_all("take", bytes)?;
                Ok(ns)
            }
        }
    }

    fn go_measured(&mut self, what: &str, bytes: usize) -> Result<u64> {
        let mut ns = 0;
        for shard in &mut self.shards {
            self.meter.start();
            ns += shard.go(what, bytes)?;
            self.meter.stop();
        }
        Ok(ns)
    }

    fn go_all(&mut self, what: &str, bytes: usize) -> Result<()> {
        self.shards.iter_mut().try_for_each(|shard| shard.go(what, bytes).map(drop))
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

    /// Nanoseconds that it takes to do this with all pairs; see [`go`].
    fn go(&mut self, what: &str, bytes: usize) -> Result<u64> {
        writeln!(self.requests, "{what} {bytes}").context("asking a process for sockets")?;
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
        let (what, bytes) = request.split_once(' ').context("a request has two words")?;
        let bytes = bytes.parse()?;
        let ns = match what {
            "one-way" | "answer" => go(&pairs, what, bytes)?,
            // not by the measured thread: it would see that it also asks
            _ => thread::scope(|scope| scope.spawn(|| go(&pairs, what, bytes)).join())
                .map_err(|_| anyhow!("the thread of the clients panicked"))??,
        };
        writeln!(stdout(), "{ns}")?;
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

/// Nanoseconds that it takes to do this with a message on each pair: send and receive it (`one-way`);
/// or send a request, answer it, take the answer.
fn go(pairs: &[(TcpStream, TcpStream)], what: &str, bytes: usize) -> Result<u128> {
    let mut message = vec![0; bytes];
    let start = Instant::now();
    for (client, server) in pairs {
        let (mut client, mut server) = (client, server);
        match what {
            "one-way" => {
                client.write_all(&message)?;
                server.read_exact(&mut message)?;
            }
            "request" => client.write_all(&message)?,
            "answer" => {
                server.read_exact(&mut message)?;
                server.write_all(&message)?;
            }
            "take" => client.read_exact(&mut message)?,
            _ => bail!("unknown request {what}"),
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
