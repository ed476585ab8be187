//! The client against a server that speaks memcached's text protocol.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

/// Serves sets and gets of one value per connection, and forgets it after a number of gets. Returns
/// its port.
fn memcached(gets: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(&stream, gets));
        }
    });
    port
}

fn serve(mut stream: &TcpStream, mut gets: usize) -> io::Result<()> {
    let mut lines = BufReader::new(stream);
    let (mut line, mut value) = (String::new(), Vec::new());
    while lines.read_line(&mut line)? > 0 {
        let answer = match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["set", _, "0", "0", size] => {
                value.resize(size.parse::<usize>().unwrap() + 2, 0);
                lines.read_exact(&mut value)?;
                match value.len() {
                    ..1_000_000 => b"STORED\r\n".to_vec(),
                    _ => b"SERVER_ERROR object too large for cache\r\n".to_vec(),
                }
            }
            ["get", key] if gets > 0 => {
                gets -= 1;
                let head = format!("VALUE {key} 0 {}\r\n", value.len() - 2).into_bytes();
                [head, value.clone(), b"END\r\n".to_vec()].concat()
            }
            _ => b"END\r\n".to_vec(),
        };
        stream.write_all(&answer)?;
        line.clear();
    }
    Ok(())
}

fn ask(port: u16, size: &str) -> Output {
    let flags = format!(
        "client --json --server 127.0.0.1 --rpc-protocol memcached --rpc-port {port} --rpc-size {size} \
         --long-flows 0 --rpc-connections 3 --warmup 0.1 --duration 0.3"
    );
    Command::new(cargo_bin!("steer-bench")).args(flags.split_whitespace()).output().unwrap()
}

#[test]
fn a_value_is_got_again_and_again() {
    // The larger one does not fit into the client's buffer.
    for (size, bytes) in [("100", 100), ("300KiB", 300 << 10)] {
        let output = ask(memcached(usize::MAX), size);
        assert!(output.status.success(), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rpc = &report["rpc"];
        assert!(rpc["count"].as_u64().unwrap() > 0 && rpc["p99_us"].as_f64().unwrap() > 0.0);
        assert_eq!((&rpc["size"], &rpc["request_size"]), (&bytes.into(), &0.into()));
    }
}

#[test]
fn no_other_answer_passes_for_a_value() {
    for (gets, size, message) in [
        (2, "100", r#"memcached does not reply with the value: "END\r\n""#),
        (0, "300KiB", r#"memcached does not reply with the value: "END\r\n""#),
        (9, "1MiB", "did not store a value: \"SERVER_ERROR object too large for cache\""),
    ] {
        let output = ask(memcached(gets), size);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(message), "{said}");
    }
}
