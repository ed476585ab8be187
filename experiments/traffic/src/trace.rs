//! Prints where a long-flow thread runs and where its packets arrive, at every change. So the
//! placed thread itself shows how placement follows the packets.

use std::fmt;
use std::net::TcpStream;

use rustix::net::sockopt::socket_incoming_cpu;
use rustix::thread::sched_getcpu;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// One observation of a thread and its packets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// When, in milliseconds of the monotonic clock.
    pub at_ms: f64,
    /// Where the thread ran.
    pub cpu: usize,
    /// Where its packets arrived.
    pub packets_on: usize,
}

impl Seen {
    /// Observes the calling thread. `None` if the kernel does not tell.
    fn now(stream: &TcpStream) -> Option<Self> {
        let packets_on = socket_incoming_cpu(stream).ok()?.try_into().ok()?;
        let now = clock_gettime(ClockId::Monotonic);
        let at_ms = now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6;
        Some(Self { at_ms, cpu: sched_getcpu(), packets_on })
    }
}

/// Prints the observations of one connection.
#[derive(Debug)]
pub(crate) struct Tracer {
    name: String,
    last: Option<Seen>,
}

impl Tracer {
    /// A tracer for the thread with this name.
    pub(crate) fn new(name: String) -> Self {
        Self { name, last: None }
    }

    /// Call this after every receive. Prints a line if something changed.
    pub(crate) fn look(&mut self, stream: &TcpStream) {
        let Some(seen) = Seen::now(stream) else { return };
        let same = |last: &Seen| (last.cpu, last.packets_on) == (seen.cpu, seen.packets_on);
        if !self.last.as_ref().is_some_and(same) {
            println!("{}", Line { name: &self.name, seen });
            self.last = Some(seen);
        }
    }
}

/// A line of the trace.
struct Line<'a> {
    name: &'a str,
    seen: Seen,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { at_ms, cpu, packets_on } = self.seen;
        write!(f, "trace {} {at_ms:.3} {cpu} {packets_on}", self.name)
    }
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.strip_prefix("trace ")?.split(' ');
        let name = words.next()?;
        let at_ms = words.next()?.parse().ok()?;
        let cpu = words.next()?.parse().ok()?;
        let packets_on = words.next()?.parse().ok()?;
        Some(Self { name, seen: Seen { at_ms, cpu, packets_on } })
    }
}

/// All observations of one connection, in order.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Trace(pub Vec<Seen>);

impl Trace {
    /// The traces in a server's output.
    pub fn all(said: &str) -> Vec<Self> {
        let mut traces: Vec<(&str, Self)> = Vec::new();
        for Line { name, seen } in said.lines().filter_map(Line::parse) {
            match traces.iter_mut().find(|(known, _)| *known == name) {
                Some((_, trace)) => trace.0.push(seen),
                None => traces.push((name, Self(vec![seen]))),
            }
        }
        traces.into_iter().map(|(_, trace)| trace).collect()
    }

    /// The observations before a moment.
    pub fn until(&self, ms: f64) -> &[Seen] {
        &self.0[..self.0.partition_point(|seen| seen.at_ms < ms)]
    }

    /// The observations from a moment on.
    pub fn from(&self, ms: f64) -> &[Seen] {
        &self.0[self.0.partition_point(|seen| seen.at_ms < ms)..]
    }
}

/// A thread counts as settled if it stays where it belongs for this many milliseconds. Under the
/// default scheduler, threads pass by for shorter. A core that fills up later is a different
/// matter.
const STAY_MS: f64 = 500.0;

/// Milliseconds from the first observation until `good` became true and stayed true for half a
/// second, or to the end. `None` if that never happened, or there are no observations.
pub fn settled(seen: &[Seen], good: impl Fn(&Seen) -> bool) -> Option<f64> {
    let mut since = None;
    for look in seen {
        if good(look) {
            since.get_or_insert(look.at_ms);
        } else if since.is_some_and(|begin| look.at_ms - begin >= STAY_MS) {
            break;
        } else {
            since = None;
        }
    }
    Some(since? - seen.first()?.at_ms)
}

/// How times spread, in milliseconds, by the nearest rank. `None` if nothing settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median.
    pub p50: Option<f64>,
    /// Nine of ten are no longer.
    pub p90: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// How many settled.
    pub settled: usize,
    /// How many did not.
    pub never: usize,
}

impl Spread {
    /// Of times as [`settled`] tells them.
    pub fn of(times: &[Option<f64>]) -> Self {
        let mut came: Vec<f64> = times.iter().copied().flatten().collect();
        came.sort_by(f64::total_cmp);
        let rank = |share: f64| {
            let rank = (share * came.len() as f64).ceil().max(1.0) as usize;
            came.get(rank - 1).copied()
        };
        Self {
            p50: rank(0.5),
            p90: rank(0.9),
            max: rank(1.0),
            settled: came.len(),
            never: times.len() - came.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "ready\ntrace long-0 1000.500 0 2\ntrace long-1 1001.000 3 3\n\
                        trace long-0 1010.500 2 2\ntrace long-0 2000.000 2 3\n\
                        trace long-0 2004.000 3 3\nnoise\n";

    #[test]
    fn tells_the_traces_of_threads_apart() {
        let traces = Trace::all(SAID);
        assert_eq!(traces.len(), 2);
        assert_eq!(traces[0].0.len(), 4);
        assert_eq!(traces[1].0, [Seen { at_ms: 1001.0, cpu: 3, packets_on: 3 }]);
    }

    #[test]
    fn a_thread_settles_where_it_stays_for_a_while() {
        let trace = &Trace::all(SAID)[0];
        let local = |seen: &Seen| seen.cpu >= 2;
        let home = |seen: &Seen| seen.cpu == seen.packets_on;
        assert_eq!(settled(trace.until(1500.0), local), Some(10.0));
        assert_eq!(settled(trace.from(1500.0), home), Some(4.0), "to the end");
        assert_eq!(settled(&trace.0, home), Some(10.0), "what follows the stay does not matter");
        let passes = [(0.0, 2), (499.0, 0), (600.0, 2), (700.0, 0)];
        let passes = passes.map(|(at_ms, cpu)| Seen { at_ms, cpu, packets_on: 2 });
        assert_eq!(settled(&passes, home), None);
        assert_eq!(settled(&passes[..3], home), Some(600.0));
        assert_eq!(settled(&trace.0, |_| false), None);
        assert_eq!(settled(&[], home), None);
    }

    #[test]
    fn times_spread_by_the_nearest_rank() {
        let times = [Some(3.0), None, Some(1.0), Some(2.0), Some(4.0)];
        let Spread { p50, p90, max, settled, never } = Spread::of(&times);
        assert_eq!((p50, p90, max), (Some(2.0), Some(4.0), Some(4.0)));
        assert_eq!((settled, never), (4, 1));
        assert_eq!(Spread::of(&[None]).max, None);
    }

    #[test]
    fn what_is_said_is_what_is_read() {
        let seen = Seen { at_ms: 12.5, cpu: 3, packets_on: 2 };
        let line = Line { name: "long-7", seen }.to_string();
        assert_eq!(Trace::all(&line), [Trace(vec![seen])]);
    }
}
