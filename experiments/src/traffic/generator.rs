//! Load generators as child processes: any program that prints a report, and our client, which also
//! says when its warm-up is over.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::lab::tool::Running;

/// One generator; killed when dropped.
pub(crate) struct Generator {
    child: Running,
    output: Option<JoinHandle<String>>,
    errors: Option<JoinHandle<String>>,
}

impl Generator {
    /// Starts it.
    ///
    /// # Errors
    /// When the program is not installed.
    pub(crate) fn start(command: Command) -> Result<Self> {
        let mut generator = Self::launch(command)?;
        generator.errors = generator.child.stderr.take().map(collect);
        Ok(generator)
    }

    /// As [`Self::start`]; what it says on standard error is left to the caller.
    fn launch(mut command: Command) -> Result<Self> {
        let mut child = Running::start(&mut command)?;
        let output = child.stdout.take().map(collect);
        Ok(Self { child, output, errors: None })
    }

    /// Its standard output, once it has ended well.
    ///
    /// # Errors
    /// When it fails, with what it said, or runs on beyond the deadline.
    pub(crate) fn finish(mut self, deadline: Instant) -> Result<String> {
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(Instant::now() < deadline, "it did not end in time");
            thread::sleep(Duration::from_millis(50));
        };
        let text = |stream: Option<JoinHandle<String>>| {
            stream.and_then(|stream| stream.join().ok()).unwrap_or_default()
        };
        let output = text(self.output.take());
        ensure!(status.success(), "{status}: {} {output}", text(self.errors.take()).trim());
        Ok(output)
    }
}

/// Reads a stream to its end.
fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        // An unreadable report shows when it is parsed.
        let _ = stream.read_to_string(&mut text);
        text
    })
}

/// A running `steer-bench client`; killed when dropped.
pub(crate) struct Client {
    generator: Generator,
    warm: Receiver<Instant>,
}

impl Client {
    /// Starts it.
    ///
    /// # Errors
    /// As [`Generator::start`].
    pub(crate) fn start(command: Command) -> Result<Self> {
        let mut generator = Generator::launch(command)?;
        let (sender, warm) = mpsc::channel();
        let stderr = generator.child.stderr.take().context("the client has no standard error")?;
        generator.errors = Some(thread::spawn(move || {
            let mut said = String::new();
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if line == "warm" {
                    // Nobody may be listening any more; the line is not an error either way.
                    let _ = sender.send(Instant::now());
                } else {
                    said.extend([&line, "\n"]);
                }
            }
            said
        }));
        Ok(Self { generator, warm })
    }

    /// When its window began; given once.
    pub(crate) fn warm(&self) -> Option<Instant> {
        self.warm.try_recv().ok()
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub(crate) fn ended(&mut self) -> Result<bool> {
        Ok(self.generator.child.try_wait()?.is_some())
    }

    /// Its report, once it has ended well, and when its window began, if [`Self::warm`] has not
    /// given that yet.
    ///
    /// # Errors
    /// As [`Generator::finish`].
    pub(crate) fn finish(self, deadline: Instant) -> Result<(String, Option<Instant>)> {
        let report = self.generator.finish(deadline).context("the client failed")?;
        Ok((report, self.warm.try_recv().ok()))
    }
}
