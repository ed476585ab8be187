//! A guest in the priced machine: it runs one script to its end, and nothing comes in from outside.
//! All its files are in memory, so there is nothing to clean up.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, ensure};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, kill_process};
use steer_ground::tool::{self, Running};
use steer_lab::console::Console;
use steer_lab::guest::complains;
use steer_lab::initramfs::{self, Script};
use steer_lab::kernel::Kernel;
use steer_lab::parts;

use crate::branch::Copy;
use crate::hardware::{Files, Hardware, Outputs};
use crate::marks::{self, LAST, Mark};
use crate::tools::Tools;

/// The script that `init` runs: it reads `words`, then runs `test.sh`.
const SCRIPT: &str = include_str!("../guest/priced.sh");
/// Bytes that the next layout of memory has before everything else: an odd number of pages, so that
/// what follows has other places in every cache.
const PAD: usize = 101 * 4096;
/// Time for the emulator to end by itself, and write its last mark.
const TO_END: Duration = Duration::from_secs(20);

/// Variables of a script.
pub(crate) type Words = [(&'static str, String)];

/// What a guest is to run.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    /// Name in messages.
    pub(crate) name: String,
    pub(crate) hardware: Hardware<'a>,
    /// Text of the test.
    pub(crate) test: &'a str,
    /// Variables of the test.
    pub(crate) words: Vec<(&'static str, String)>,
    /// Programs in its /bin.
    pub(crate) programs: Vec<PathBuf>,
    /// Its further files.
    pub(crate) files: &'a [Script<'a>],
    /// Whether to profile it, which makes the emulator slower.
    pub(crate) profile: bool,
    /// Number of the layout of its memory. Which addresses share a set of a cache depends on it.
    pub(crate) layout: u32,
}

/// A running guest. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Guest {
    name: String,
    process: Process,
    outputs: Outputs,
    started: Instant,
    /// Bytes of the console that [`Self::heard`] has passed on.
    heard: u64,
}

/// What runs a guest. It is killed when dropped.
#[derive(Debug)]
pub(crate) enum Process {
    /// An emulator of its own.
    Emulator(Running),
    /// A copy of one.
    Copy(Copy),
}

/// What a guest said until its end.
#[derive(Debug)]
pub(crate) struct Said {
    /// The parts of its script's output, by name.
    pub(crate) parts: BTreeMap<String, String>,
    /// The model's marks.
    pub(crate) marks: Vec<Mark>,
    /// The profile (`plugin/profile.c`), if one was asked for.
    pub(crate) profile: Option<String>,
    /// Real time from its start, or from where it parted from others.
    pub(crate) took: Duration,
}

impl Guest {
    /// Starts a guest.
    ///
    /// # Errors
    /// When a program is missing.
    pub(crate) fn start(task: &Task<'_>, tools: &Tools, kernel: &Kernel) -> Result<Self> {
        Self::start_with(task, tools, kernel, None, &[])
    }

    /// The same; it takes orders for copies from a socket, and inherits files for them.
    pub(crate) fn start_with(
        task: &Task<'_>,
        tools: &Tools,
        kernel: &Kernel,
        orders: Option<OwnedFd>,
        inherited: &[&OwnedFd],
    ) -> Result<Self> {
        let words = shell(&task.words);
        let scripts = [("priced.sh", SCRIPT), ("words", &words), ("test.sh", task.test)];
        // The first file of its root file system moves all that is allocated after it.
        let pad = "\n".repeat(PAD * task.layout as usize);
        let pad = (task.layout > 0).then_some((".pad", pad.as_str()));
        let scripts: Vec<Script<'_>> =
            scripts.iter().chain(task.files).copied().chain(pad).collect();
        let files = Files {
            prices: memory("prices", &task.hardware.machine.prices())?,
            initramfs: initramfs::pack(kernel, &task.programs, &scripts)?,
            outputs: Outputs::new(task.profile)?,
            orders,
        };
        let image = kernel.image().display().to_string();
        let mut command = tools.emulator.command();
        command.args(task.hardware.arguments(tools, &image, &files));
        tool::die_with_us(&mut command);
        let given = [&files.prices, &files.initramfs].into_iter().chain(&files.orders);
        for file in given.chain(files.outputs.all()).chain(inherited.iter().copied()) {
            tool::inherit(&mut command, std::slice::from_ref(file));
        }
        let process = Process::Emulator(Running::start(&mut command)?);
        Ok(Self::of(task.name.clone(), process, files.outputs))
    }

    /// A guest that runs already.
    pub(crate) fn of(name: String, process: Process, outputs: Outputs) -> Self {
        Self { name, process, outputs, started: Instant::now(), heard: 0 }
    }

    /// What it said, once it has ended; `None` before.
    ///
    /// # Errors
    /// When the emulator refused the machine, or something failed in the guest. The error quotes
    /// what it said.
    pub(crate) fn ended(&mut self) -> Result<Option<Said>> {
        if !self.process.has_ended()? {
            return Ok(None);
        }
        self.said().map(Some).with_context(|| self.name.clone())
    }

    /// The whole lines that came to its console since the last call.
    ///
    /// # Errors
    /// When the file in memory cannot be read.
    pub(crate) fn heard(&mut self) -> Result<Vec<String>> {
        let console = self.outputs.console.try_clone().context("reading a memory file")?;
        let console = File::from(console);
        let length = console.metadata().context("reading a memory file")?.len();
        let mut new = vec![0; length.saturating_sub(self.heard) as usize];
        console.read_exact_at(&mut new, self.heard).context("reading a memory file")?;
        new.truncate(new.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        self.heard += new.len() as u64;
        let new = String::from_utf8_lossy(&new);
        Ok(new.lines().map(|line| line.trim_end().to_owned()).collect())
    }

    /// Time since it started.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Ends it before its time. Returns the error that tells how far it came.
    pub(crate) fn stop(mut self, budget: Duration) -> Error {
        let told = self.far().unwrap_or_else(|error| format!("{error:#}"));
        let console = console(&self.outputs.console);
        Error::msg(format!(
            "{}: not done after {} s of real time (--budget); {told}\n{console}",
            self.name,
            budget.as_secs()
        ))
    }

    /// How far it came: the plugin sets a last mark when the emulator is told to end.
    fn far(&mut self) -> Result<String> {
        self.process.end()?;
        let deadline = Instant::now() + TO_END;
        while !self.process.has_ended()? {
            ensure!(Instant::now() < deadline, "the emulator did not end");
            thread::sleep(Duration::from_millis(50));
        }
        let marks = marks::read(&content(&self.outputs.marks)?)?;
        let last = marks.last().filter(|mark| mark.mark == LAST);
        last.context("the emulator wrote no last mark").map(how_far)
    }

    fn said(&mut self) -> Result<Said> {
        self.process.check()?;
        let text = content(&self.outputs.console)?;
        let parts = parts::split(&text).with_context(|| {
            format!("the guest ended before its script did; {}", console(&self.outputs.console))
        })?;
        if let Some(failure) = parts.get("failed") {
            return Err(Error::msg(failure.trim().to_owned()).context("in the guest"));
        }
        let profile = self.outputs.profile.as_ref().map(content).transpose()?;
        let marks = marks::read(&content(&self.outputs.marks)?)?;
        Ok(Said { parts, marks, profile, took: self.age() })
    }
}

impl Process {
    fn has_ended(&mut self) -> Result<bool> {
        match self {
            Self::Emulator(emulator) => emulator.try_wait().map(|status| status.is_some()),
            Self::Copy(copy) => copy.has_ended(),
        }
        .context("waiting for the emulator")
    }

    /// Asks it to end.
    fn end(&self) -> Result<()> {
        match self {
            Self::Emulator(emulator) => kill_process(Pid::from_child(emulator), Signal::TERM),
            Self::Copy(copy) => copy.signal(Signal::TERM),
        }
        .context("ending the emulator")
    }

    /// Whether it ended well. How a copy ended is known from its output alone.
    fn check(&mut self) -> Result<()> {
        let Self::Emulator(emulator) = self else { return Ok(()) };
        let status = emulator.wait().context("waiting for the emulator")?;
        let mut complaint = String::new();
        if let Some(stderr) = &mut emulator.stderr {
            stderr.read_to_string(&mut complaint).context("reading what the emulator said")?;
        }
        ensure!(status.success(), "the emulator failed ({status}): {}", complaint.trim());
        Ok(())
    }
}

impl Outputs {
    pub(crate) fn new(profile: bool) -> Result<Self> {
        Ok(Self {
            marks: memory("marks", "")?,
            console: memory("console", "")?,
            profile: profile.then(|| memory("profile", "")).transpose()?,
        })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &OwnedFd> {
        [&self.marks, &self.console].into_iter().chain(&self.profile)
    }
}

impl Said {
    /// A part of the output.
    ///
    /// # Errors
    /// When the script did not print it.
    pub(crate) fn part(&self, name: &str) -> Result<&str> {
        let part = self.parts.get(name).map(String::as_str);
        part.with_context(|| format!("the guest printed no part {name:?}"))
    }

    /// The lines of a part that may be empty.
    pub(crate) fn lines(&self, name: &str) -> std::str::Lines<'_> {
        self.parts.get(name).map_or("", String::as_str).lines()
    }

    /// Checks the kernel's messages, which are the part `dmesg`.
    ///
    /// # Errors
    /// When the kernel complained. Quotes it.
    pub(crate) fn check_kernel(&self) -> Result<()> {
        let complaints: Vec<&str> = self.lines("dmesg").filter(|line| complains(line)).collect();
        ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
        Ok(())
    }
}

/// What a last mark tells of a guest that was stopped.
fn how_far(mark: &Mark) -> String {
    let clock = mark.now_ps as f64 / 1e12;
    let restless: Vec<String> = (0..)
        .zip(&mark.cpus)
        .filter(|(_, cpu)| cpu.busy_ps >= mark.span_ps)
        .map(|(number, _): (usize, _)| number.to_string())
        .collect();
    let of = if restless.is_empty() {
        String::new()
    } else {
        format!(
            "; never idle in the last {:.1} s of it: CPU {}",
            mark.seconds(),
            restless.join(", ")
        )
    };
    format!("the guest's clock stood at {clock:.3} s{of}")
}

/// A file in memory.
pub(crate) fn memory(name: &str, text: &str) -> Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)
        .with_context(|| format!("making a memory file for the {name}"))?;
    let mut file = File::from(file);
    file.write_all(text.as_bytes()).with_context(|| format!("writing the {name}"))?;
    Ok(file.into())
}

/// The content of a file in memory.
fn content(memory: &OwnedFd) -> Result<String> {
    let mut file = File::from(memory.try_clone().context("reading a memory file")?);
    let mut content = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut content)).context("reading a memory file")?;
    Ok(String::from_utf8_lossy(&content).into_owned())
}

/// The end of a console, for an error message.
fn console(file: &OwnedFd) -> String {
    let console = Console::default();
    content(file).unwrap_or_default().lines().for_each(|line| console.push(line.trim_end()));
    console.tail()
}

/// Assignments for a shell.
pub(crate) fn shell(words: &Words) -> String {
    words.iter().map(|(name, value)| format!("{name}={}\n", quoted(value))).collect()
}

/// A command line that a shell evaluates to these words.
pub(crate) fn shell_words(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// One word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_shell_as_they_are() {
        let words = [("one", "a b".to_owned()), ("two", "it's $HOME".to_owned())];
        assert_eq!(shell(&words), "one='a b'\ntwo='it'\\''s $HOME'\n");
        let command = ["ls", "a b", "it's"].map(str::to_owned);
        assert_eq!(shell_words(&command), "'ls' 'a b' 'it'\\''s'");
    }

    #[test]
    fn a_guest_that_never_idles_is_told_from_a_slow_one() {
        let cpu = |busy_ps: u64| {
            format!(
                r#"{{"busy_ps":{busy_ps},"instructions":1,"stall_ps":0,"accesses":0,"looked_up":0,"from":{{}}}}"#
            )
        };
        let mark = |busy: [u64; 2]| {
            let line = format!(
                r#"{{"mark":255,"now_ps":9000000000000,"span_ps":2000000000000,"idle_jumps":1,"cpus":[{},{}]}}"#,
                cpu(busy[0]),
                cpu(busy[1])
            );
            how_far(&marks::read(&line).unwrap()[0])
        };
        let second = 1_000_000_000_000;
        assert_eq!(mark([second, second]), "the guest's clock stood at 9.000 s");
        assert_eq!(
            mark([second, 2 * second]),
            "the guest's clock stood at 9.000 s; never idle in the last 2.0 s of it: CPU 1"
        );
    }
}
