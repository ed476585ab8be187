//! An archived run as its `run.toml` describes it: what was asked, and which figures answer it.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::ab::AbFigures;
use super::basis::{Basis, HEADLINE_ROUNDS};
use super::counted::Counted;
use super::programs::Programs;
use super::quoted::{Equal, Quoted};
use super::row::Row;

/// The file that describes a run.
const FILE: &str = "run.toml";

/// A run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// Name of its folder.
    #[serde(skip)]
    pub(super) name: String,
    /// The folder.
    #[serde(skip)]
    pub(super) folder: PathBuf,
    /// Its title.
    pub(super) title: String,
    /// The commit that was measured.
    pub(super) commit: String,
    /// The commands; if absent, its results have them.
    #[serde(default)]
    pub(super) commands: Vec<String>,
    /// Kernel and machine; if absent, its results have them.
    #[serde(default)]
    pub(super) machine: Option<String>,
    /// What was asked.
    #[serde(default, rename = "question")]
    pub(super) questions: Vec<Question>,
}

/// A question and the figures that answer it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// The part of the page where it appears.
    pub(super) group: Group,
    pub(super) asks: String,
    /// What else a reader must know, in plain words and without figures.
    #[serde(default)]
    pub(super) note: Option<String>,
    /// Whether it appears at the top of the page. This needs ten rounds or more, or counted
    /// figures.
    #[serde(default)]
    pub(super) headline: bool,
    /// Figures of A/B results.
    #[serde(default)]
    pub(super) ab: Vec<AbFigures>,
    /// Figures that were counted, seed by seed or round by round.
    #[serde(default)]
    pub(super) counted: Vec<Counted>,
    /// What BPF programs cost.
    #[serde(default)]
    pub(super) programs: Vec<Programs>,
    /// Figures that only the run's README records.
    #[serde(default)]
    pub(super) quoted: Option<Quoted>,
    /// Intervals between equal arms.
    #[serde(default)]
    pub(super) equal: Option<Equal>,
}

/// The parts of the page, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Group {
    Model,
    Placement,
    Latency,
    PerCpuSecond,
    Waiting,
    WithoutTraffic,
    SharedHost,
    Cost,
    Learning,
    LoadShift,
    Programs,
    OtherSchedulers,
    ManyFlows,
    Settings,
    Method,
}

impl Group {
    /// All parts, with their headings.
    pub(super) const ALL: [(Self, &'static str); 15] = [
        (Self::Model, "In a model of a machine"),
        (Self::Placement, "Placement"),
        (Self::Latency, "RPC latency"),
        (Self::PerCpuSecond, "Throughput per CPU-second"),
        (Self::Waiting, "How long received data waits"),
        (Self::WithoutTraffic, "Threads without traffic"),
        (Self::SharedHost, "Shares and limits on a shared host"),
        (Self::Cost, "What the scheduler costs"),
        (Self::Learning, "Learning where flows belong"),
        (Self::LoadShift, "When the load shifts"),
        (Self::Programs, "Real programs"),
        (Self::OtherSchedulers, "Other schedulers"),
        (Self::ManyFlows, "Many flows, many connections"),
        (Self::Settings, "Settings and policies"),
        (Self::Method, "The method itself"),
    ];
}

impl Question {
    /// The figures, and what they are based on.
    ///
    /// # Errors
    /// The run does not have the figures.
    pub(super) fn answer(&self, folder: &Path) -> Result<(Vec<Row>, Basis)> {
        let mut rows = Vec::new();
        let mut basis = None;
        let mut rests_on = |new: Basis| {
            basis = Some(match (basis, new) {
                (None, new) => new,
                (Some(Basis::Rounds(a)), Basis::Rounds(b)) => Basis::Rounds(a.min(b)),
                (Some(Basis::Counted(a)), Basis::Counted(b)) => Basis::Counted(a.min(b)),
                _ => Basis::Other,
            });
        };
        for figures in &self.ab {
            rests_on(Basis::Rounds(figures.add_to(&mut rows, folder)?));
        }
        for figures in &self.counted {
            rests_on(figures.add_to(&mut rows, folder)?);
        }
        for figures in &self.programs {
            figures.add_to(&mut rows, folder)?;
            rests_on(Basis::Counted(1));
        }
        if let Some(quoted) = &self.quoted {
            rows.extend(quoted.rows(folder)?);
            rests_on(Basis::Rounds(quoted.rounds));
        }
        if let Some(equal) = &self.equal {
            rests_on(Basis::Runs(equal.add_to(&mut rows, folder)?));
        }
        let basis = basis.filter(|_| !rows.is_empty());
        let basis = basis.with_context(|| format!("{:?} has no figures", self.asks))?;
        ensure!(
            !self.headline || basis.carries_headline(),
            "{:?} is a headline: that needs {HEADLINE_ROUNDS} rounds, or counted figures",
            self.asks
        );
        Ok((rows, basis))
    }
}

impl Run {
    /// All runs in a folder: the newest day first, then by name.
    ///
    /// # Errors
    /// The folder cannot be read, or a run in it has no valid description.
    pub(super) fn all(folder: &Path) -> Result<Vec<Self>> {
        let place = folder.display();
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read {place}"))?;
        let mut folders: Vec<PathBuf> = entries
            .map(|entry| Ok(entry.with_context(|| format!("cannot read {place}"))?.path()))
            .collect::<Result<_>>()?;
        folders.retain(|path| path.is_dir());
        folders.sort_unstable_by_key(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (Reverse(day(&name).to_owned()), name)
        });
        ensure!(!folders.is_empty(), "{place} has no runs");
        folders.iter().map(|folder| Self::read(folder)).collect()
    }

    fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let place = path.display();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {place}"))?;
        let mut run: Self = toml::from_str(&text).with_context(|| place.to_string())?;
        ensure!(!run.questions.is_empty(), "{place} has no [[question]]: say what was asked");
        run.name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        run.folder = folder.to_owned();
        Ok(run)
    }

    /// The day of the run, which its folder's name begins with.
    pub(super) fn date(&self) -> &str {
        day(&self.name)
    }
}

/// The day that a folder's name begins with.
fn day(name: &str) -> &str {
    name.get(.."2026-11-23".len()).unwrap_or(name)
}
