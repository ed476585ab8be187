//! What the user has chosen, and what each key does. The keys are those of scxtop.

use ratatui::crossterm::event::KeyCode;
use serde::{Deserialize, Serialize};

use crate::sample::{CpuUse, Sample};
use crate::theme::Theme;

/// Bounds and step of the interval, in milliseconds.
const INTERVALS: (u64, u64) = (250, 60_000);
const STEP: u64 = 250;

/// One of the screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Queues, the CPUs of their interrupts, the threads beside them.
    #[default]
    Nics,
    /// Threads that move data.
    Threads,
    /// CPUs by node and cache.
    Cpus,
    /// Cgroups.
    Cgroups,
}

impl View {
    /// All, in the order of `v`.
    pub const ALL: [View; 4] = [View::Nics, View::Threads, View::Cpus, View::Cgroups];

    pub(crate) fn name(self) -> &'static str {
        match self {
            View::Nics => "NICs",
            View::Threads => "threads",
            View::Cpus => "CPUs",
            View::Cgroups => "cgroups",
        }
    }
}

/// What the caller has to do after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Draw again.
    Draw,
    /// End.
    Quit,
    /// Save the choices.
    Save,
}

/// The user's choices.
#[derive(Clone, Debug)]
pub struct App {
    /// The screen.
    pub view: View,
    /// Milliseconds between samples.
    pub interval_ms: u64,
    pub(crate) theme: Theme,
    pub(crate) selected: usize,
    /// Whether the selected row is shown in full.
    pub(crate) details: bool,
    pub(crate) help: bool,
    /// Only CPUs of this node, or of this cache, and what runs there.
    pub(crate) node: Option<u32>,
    pub(crate) llc: Option<u32>,
    /// What the last key did, until the next one.
    pub message: Option<String>,
}

impl Default for App {
    fn default() -> Self {
        App {
            view: View::default(),
            interval_ms: 1000,
            theme: Theme::default(),
            selected: 0,
            details: false,
            help: false,
            node: None,
            llc: None,
            message: None,
        }
    }
}

impl App {
    /// The usual choices, with this screen.
    pub fn showing(view: View) -> App {
        App { view, ..App::default() }
    }

    /// Does what a key stands for.
    pub fn on_key(&mut self, key: KeyCode, sample: &Sample) -> Action {
        self.message = None;
        match key {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('S') => return Action::Save,
            KeyCode::Char('?') => self.help = !self.help,
            KeyCode::Char('v') => self.turn(1),
            KeyCode::Right => self.turn(1),
            KeyCode::Left => self.turn(View::ALL.len() - 1),
            KeyCode::Char('t') => self.theme = self.theme.next(),
            KeyCode::Char('+') => self.set_interval(self.interval_ms + STEP),
            KeyCode::Char('-') => self.set_interval(self.interval_ms.saturating_sub(STEP)),
            KeyCode::Char('n') => self.node = next(self.node, numbers(sample, |cpu| cpu.node)),
            KeyCode::Char('l') => self.llc = next(self.llc, numbers(sample, |cpu| cpu.llc)),
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down => self.selected += 1,
            KeyCode::Enter => self.details = !self.details,
            KeyCode::Esc => (self.help, self.details) = (false, false),
            _ => {}
        }
        self.selected = self.selected.min(self.rows(sample).saturating_sub(1));
        Action::Draw
    }

    /// Sets the time between samples, within its bounds.
    pub fn set_interval(&mut self, milliseconds: u64) {
        self.interval_ms = milliseconds.clamp(INTERVALS.0, INTERVALS.1);
    }

    fn turn(&mut self, by: usize) {
        let now = View::ALL.iter().position(|view| *view == self.view).unwrap_or(0);
        self.view = View::ALL[(now + by) % View::ALL.len()];
        (self.selected, self.details) = (0, false);
    }

    fn rows(&self, sample: &Sample) -> usize {
        match self.view {
            View::Nics => sample.nics.iter().map(|nic| 1 + nic.queues.len()).sum(),
            View::Threads => sample.threads.iter().filter(|it| self.shows(sample, it.cpu)).count(),
            View::Cpus => 0,
            View::Cgroups => sample.cgroups.len(),
        }
    }

    /// Whether a CPU is of the node and the cache that the user wants to see.
    pub(crate) fn wants(&self, cpu: &CpuUse) -> bool {
        (self.node.is_none() || cpu.node == self.node)
            && (self.llc.is_none() || cpu.llc == self.llc)
    }

    /// Whether what runs on this CPU is shown.
    pub(crate) fn shows(&self, sample: &Sample, cpu: Option<u32>) -> bool {
        let of = |number| sample.cpus.iter().find(|it| it.cpu == number);
        match cpu.and_then(of) {
            Some(cpu) => self.wants(cpu),
            None => self.node.is_none() && self.llc.is_none(),
        }
    }
}

/// The numbers that occur, ascending.
fn numbers(sample: &Sample, of: fn(&CpuUse) -> Option<u32>) -> Vec<u32> {
    let mut numbers: Vec<u32> = sample.cpus.iter().filter_map(of).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The number after `now`; after the last one, all.
fn next(now: Option<u32>, numbers: Vec<u32>) -> Option<u32> {
    numbers.into_iter().find(|number| now.is_none_or(|now| *number > now))
}
