//! The client against servers that speak the protocols of memcached, redis and the web.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

type Lines<'a> = BufReader<&'a TcpStream>;

/// What a client asks for.
enum Request {
    Set(Vec<u8>),
    Get(String),
}

/// How a server reads requests and answers them.
struct Dialect {
    word: &'static str,
    read: fn(&mut Lines<'_>) -> io::Result<Option<Request>>,
    stored: &'static str,
    too_large: &'static str,
    value: fn(&str, &[u8]) -> Vec<u8>,
    missing: &'static str,
}

const MEMCACHED: Dialect = Dialect {
    word: "memcached",
    read: |lines| {
        let line = line(lines)?;
        Ok(match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["set", _, "0", "0", size] => Some(Request::Set(bytes(lines, size)?)),
            ["get", key] => Some(Request::Get(key.to_owned())),
            _ => None,
        })
    },
    stored: "STORED\r\n",
    too_large: "SERVER_ERROR object too large for cache\r\n",
    value: |key, value| {
        [format!("VALUE {key} 0 {}\r\n", value.len()).as_bytes(), value, b"\r\nEND\r\n"].concat()
    },
    missing: "END\r\n",
};

const REDIS: Dialect = Dialect {
    word: "redis",
    read: |lines| {
        let count = line(lines)?.trim_start_matches('*').parse().unwrap_or_default();
        let mut words = Vec::new();
        for _ in 0..count {
            let size = line(lines)?.trim_start_matches('$').to_owned();
            words.push(bytes(lines, &size)?);
        }
        Ok(match &words[..] {
            [set, _, value] if set == b"SET" => Some(Request::Set(value.clone())),
            [get, key] if get == b"GET" => {
                Some(Request::Get(String::from_utf8(key.clone()).unwrap()))
            }
            _ => None,
        })
    },
    stored: "+OK\r\n",
    too_large: "-ERR string exceeds maximum allowed size\r\n",
    value: |_, value| [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat(),
    missing: "$-1\r\n",
};

const HTTP: Dialect = Dialect {
    word: "http",
    read: |lines| {
        let asked = line(lines)?;
        while !line(lines)?.is_empty() {}
        Ok((asked == "GET /rpc HTTP/1.1").then(|| Request::Get("/rpc".to_owned())))
    },
    stored: "",
    too_large: "",
    value: |_, value| {
        let head = "HTTP/1.1 200 OK\r\nServer: a test\r\ncontent-length:";
        [format!("{head} {}\r\n\r\n", value.len()).as_bytes(), value].concat()
    },
    missing: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
};

/// A line without its end; empty at the end of the connection.
fn line(lines: &mut Lines<'_>) -> io::Result<String> {
    let mut line = String::new();
    lines.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// So many bytes, and the end of the line behind them.
fn bytes(lines: &mut Lines<'_>, size: &str) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size.parse::<usize>().unwrap() + 2];
    lines.read_exact(&mut bytes)?;
    bytes.truncate(bytes.len() - 2);
    Ok(bytes)
}

/// Serves one value per connection, which is `size` bytes until it is set, and forgets it after a
/// number of gets. Returns the port.
fn server(dialect: &'static Dialect, size: usize, gets: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(&stream, dialect, vec![b'y'; size], gets));
        }
    });
    port
}

fn serve(
    mut stream: &TcpStream,
    dialect: &Dialect,
    mut value: Vec<u8>,
    mut gets: usize,
) -> io::Result<()> {
    let mut lines = BufReader::new(stream);
    while let Some(request) = (dialect.read)(&mut lines)? {
        let answer = match request {
            Request::Set(new) if new.len() > 1_000_000 => dialect.too_large.as_bytes().to_vec(),
            Request::Set(new) => {
                value = new;
                dialect.stored.as_bytes().to_vec()
            }
            Request::Get(key) if gets > 0 => {
                gets -= 1;
                (dialect.value)(&key, &value)
            }
            Request::Get(_) => dialect.missing.as_bytes().to_vec(),
        };
        stream.write_all(&answer)?;
    }
    Ok(())
}

fn ask(dialect: &Dialect, port: u16, size: usize) -> Output {
    let flags = format!(
        "client --json --server 127.0.0.1 --rpc-protocol {} --rpc-port {port} --rpc-size {size} \
         --long-flows 0 --rpc-connections 3 --warmup 0.1 --duration 0.3",
        dialect.word
    );
    Command::new(cargo_bin!("steer-bench")).args(flags.split_whitespace()).output().unwrap()
}

#[test]
fn a_value_is_got_again_and_again() {
    for dialect in [&MEMCACHED, &REDIS, &HTTP] {
        // The larger one does not fit into the client's buffer.
        for size in [100, 300 << 10] {
            let output = ask(dialect, server(dialect, size, usize::MAX), size);
            assert!(output.status.success(), "{output:?}");
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            let rpc = &report["rpc"];
            assert!(rpc["count"].as_u64().unwrap() > 0 && rpc["p99_us"].as_f64().unwrap() > 0.0);
            assert_eq!((&rpc["size"], &rpc["request_size"]), (&size.into(), &0.into()));
        }
    }
}

#[test]
fn no_other_answer_passes_for_a_value() {
    for (dialect, gets, size, message) in [
        (&MEMCACHED, 2, 100, r#"memcached does not reply with the value: "END\r\n""#),
        (&MEMCACHED, 0, 300 << 10, r#"memcached does not reply with the value: "END\r\n""#),
        (&MEMCACHED, 9, 1 << 20, "memcached did not store a value: \"SERVER_ERROR object too"),
        (&REDIS, 2, 100, r#"redis does not reply with the value: "$-1\r\n""#),
        (&REDIS, 9, 1 << 20, "redis did not store a value: \"-ERR string exceeds"),
        (&HTTP, 0, 100, "the web server did not send a file /rpc of 100 bytes: \"HTTP/1.1 404"),
        (&HTTP, 2, 100, r#"http does not reply with the value: "HTTP/1.1 404 Not Found"#),
        (&HTTP, 9, 99, "the web server did not send a file /rpc of 99 bytes: \"HTTP/1.1 200"),
    ] {
        let output = ask(dialect, server(dialect, 100, gets), size);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(message), "{said}");
    }
}
