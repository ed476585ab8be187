//! As much of HTTP as a scraper needs: one request, one answer, and the connection is closed.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use super::families::Format;

/// Time for the whole exchange. A scraper that takes longer is dropped.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a request; Prometheus sends about 300.
const LONGEST: usize = 8 << 10;
const MOST_HEADERS: usize = 64;

/// A connection whose reads and writes end after a time.
pub(super) trait Connection: Read + Write {
    /// Bounds the next read and the next write.
    fn limit(&self, time: Duration) -> io::Result<()>;
}

impl Connection for TcpStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

impl Connection for UnixStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

/// What was asked for.
#[derive(Debug, PartialEq)]
enum Asked {
    Metrics { format: Format, body: bool },
    Elsewhere,
    OtherMethod,
}

/// Reads one request and answers it. `page` is called only for a request for metrics.
pub(super) fn answer(
    mut connection: impl Connection,
    page: impl FnOnce(Format) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let request = request(&mut connection, deadline)?;
    let (status, media_type, text, body) = match parse(&request) {
        Some(Asked::Metrics { format, body }) => {
            ("200 OK", format.media_type(), page(format)?, body)
        }
        Some(Asked::Elsewhere) => ("404 Not Found", PLAIN, "try /metrics\n".into(), true),
        Some(Asked::OtherMethod) => ("405 Method Not Allowed", PLAIN, "use GET\n".into(), true),
        None => ("400 Bad Request", PLAIN, "this is not HTTP\n".into(), true),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        text.len()
    );
    connection.limit(remaining(deadline)?)?;
    connection.write_all(head.as_bytes())?;
    if body {
        connection.write_all(text.as_bytes())?;
    }
    Ok(connection.flush()?)
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// Reads up to the empty line that ends a request.
fn request(connection: &mut impl Connection, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() >= LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
        }
        connection.limit(remaining(deadline)?)?;
        match connection.read(&mut part)? {
            0 => break,
            read => request.extend_from_slice(&part[..read]),
        }
    }
    Ok(request)
}

/// The time left, never zero: a time-out of zero would mean none.
fn remaining(deadline: Instant) -> io::Result<Duration> {
    Some(deadline.saturating_duration_since(Instant::now()))
        .filter(|left| !left.is_zero())
        .ok_or_else(|| io::Error::from(io::ErrorKind::TimedOut))
}

/// `None` if it is no complete request.
fn parse(request: &[u8]) -> Option<Asked> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    if !parsed.parse(request).ok()?.is_complete() {
        return None;
    }
    let body = match parsed.method? {
        "GET" => true,
        "HEAD" => false,
        _ => return Some(Asked::OtherMethod),
    };
    if parsed.path?.split('?').next() != Some("/metrics") {
        return Some(Asked::Elsewhere);
    }
    let open = parsed.headers.iter().any(|header| {
        header.name.eq_ignore_ascii_case("accept")
            && String::from_utf8_lossy(header.value).contains("application/openmetrics-text")
    });
    let format = if open { Format::OpenMetrics } else { Format::Prometheus };
    Some(Asked::Metrics { format, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_request_for_metrics_gets_them() {
        let ask = |text: &str| parse(text.as_bytes());
        let metrics = |format, body| Some(Asked::Metrics { format, body });
        let plain = metrics(Format::Prometheus, true);
        assert_eq!(ask("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), plain);
        assert_eq!(ask("GET /metrics?a=b HTTP/1.0\r\n\r\n"), plain);
        assert_eq!(
            ask("GET /metrics HTTP/1.1\r\naccept: application/openmetrics-text;q=0.5,*/*\r\n\r\n"),
            metrics(Format::OpenMetrics, true)
        );
        assert_eq!(ask("HEAD /metrics HTTP/1.1\r\n\r\n"), metrics(Format::Prometheus, false));
        assert_eq!(ask("GET / HTTP/1.1\r\n\r\n"), Some(Asked::Elsewhere));
        assert_eq!(ask("GET /metrics/../etc HTTP/1.1\r\n\r\n"), Some(Asked::Elsewhere));
        assert_eq!(ask("POST /metrics HTTP/1.1\r\n\r\n"), Some(Asked::OtherMethod));
        assert_eq!(ask("GET /metrics HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(ask("\u{1}\u{2}\r\n\r\n"), None);
        assert_eq!(ask(""), None);
    }
}
