//! Load generators as child processes: any program that prints a report, and our client, which also
//! reports when its warm-up is over.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use steer_ground::tool::Running;

/// A running generator. It is killed when dropped.
pub struct Generator {
    child: Running,
    output: Option<JoinHandle<String>>,
    errors: Option<JoinHandle<String>>,
}

impl Generator {
    /// Starts it.
    ///
    /// # Errors
    /// When the program is not installed.
    pub fn start(command: Command) -> Result<Self> {
        let mut generator = Self::launch(command)?;
        generator.errors = generator.child.stderr.take().map(collect);
        Ok(generator)
    }

    /// As [`Self::start`], but leaves standard error to the caller.
    fn launch(mut command: Command) -> Result<Self> {
        let mut child = Running::start(&mut command)?;
        let output = child.stdout.take().map(collect);
        Ok(Self { child, output, errors: None })
    }

    /// Waits for the generator to succeed, and returns its standard output.
    ///
    /// # Errors
    /// When it fails (the error quotes its output), or does not end before the deadline.
    pub fn finish(mut self, deadline: Instant) -> Result<String> {
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
        // A read error is ignored here: parsing the report will fail.
        let _ = stream.read_to_string(&mut text);
        text
    })
}

/// A running `steer-bench client`. It is killed when dropped.
pub struct Client {
    generator: Generator,
    warm: Receiver<Instant>,
}

impl Client {
    /// Starts it.
    ///
    /// # Errors
    /// As [`Generator::start`].
    pub fn start(command: Command) -> Result<Self> {
        let mut generator = Generator::launch(command)?;
        let (sender, warm) = mpsc::channel();
        let stderr = generator.child.stderr.take().context("the client has no standard error")?;
        generator.errors = Some(thread::spawn(move || {
            let mut said = String::new();
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if line == "warm" {
                    // Sending fails if the receiver is gone, which is fine. Either way the line is
                    // no error text.
                    let _ = sender.send(Instant::now());
                } else {
                    said.extend([&line, "\n"]);
                }
            }
            said
        }));
        Ok(Self { generator, warm })
    }

    /// When its measured window began. Returned only once.
    pub fn warm(&self) -> Option<Instant> {
        self.warm.try_recv().ok()
    }

    /// Whether the client has ended.
    ///
    /// # Errors
    /// When waitpid(2) fails.
    pub fn ended(&mut self) -> Result<bool> {
        Ok(self.generator.child.try_wait()?.is_some())
    }

    /// Waits for the client to succeed. Returns its report, and when its measured window began if
    /// [`Self::warm`] has not returned that yet.
    ///
    /// # Errors
    /// As [`Generator::finish`].
    pub fn finish(self, deadline: Instant) -> Result<(String, Option<Instant>)> {
        let report = self.generator.finish(deadline).context("the client failed")?;
        Ok((report, self.warm.try_recv().ok()))
    }
}
