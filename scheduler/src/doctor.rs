//! `scx_steer doctor`: what keeps the scheduler from loading, what the host loses, and what
//! scx_steer would change. Changes nothing.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use steer_doctor::{Area, Facts, Host, Observed, Report, Root, Wanted, explain, record};

use crate::cli::{ObserveArgs, Seconds};
use crate::preflight::{self, Need};
use crate::{cgroups, observe};

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads only. Without root it says what it could not check. As root it also measures for ten seconds
where long flows run now.

Each finding has an id, the files and values read, the reason with its source, and a fix to paste
with its undo. docs/doctor.md describes all findings.

Exit codes: 0 all is well, or only notes; 1 warnings; 2 errors: the scheduler will not load, or the
options are wrong; 3 no errors or warnings, but something could not be checked.

Examples:
  sudo scx_steer doctor
  scx_steer doctor --only load              will it load here? at once, without measuring
  scx_steer doctor --explain iommu-strict
  scx_steer doctor --json | jq -r '.findings[].id'
  sudo scx_steer doctor --record host       ... then elsewhere: scx_steer doctor --host host")]
pub(crate) struct DoctorArgs {
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    /// Say what a finding means, and exit.
    #[arg(long, value_name = "ID", conflicts_with_all = ["json", "record", "host"])]
    explain: Option<String>,
    /// Check only these areas.
    #[arg(long, value_name = "AREA", value_delimiter = ',')]
    only: Vec<OnlyArea>,
    /// Measure for this long where long flows run.
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    observe: Seconds,
    /// How many microseconds longer a wake-up may take because a CPU sleeps.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = Wanted::default().wake_up_us)]
    wake_up_us: u64,
    /// Also write what the checks read to this new folder, for somebody else to look at.
    #[arg(long, value_name = "FOLDER", conflicts_with = "host")]
    record: Option<PathBuf>,
    /// Check a recorded host instead of this one.
    #[arg(long, value_name = "FOLDER")]
    host: Option<PathBuf>,
}

/// What to check.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum OnlyArea {
    /// Whether the scheduler will load.
    Load,
    /// The host, with or without scx_steer.
    Host,
    /// Where long flows run now, and which rules would act.
    Gain,
}

/// Prints the report. Answers the exit code.
///
/// # Errors
/// A recorded host cannot be read or written, or there is no such finding.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode> {
    if let Some(id) = &args.explain {
        print!("{}", explain(id).map_err(|error| anyhow!(error))?);
        return Ok(ExitCode::SUCCESS);
    }
    let areas = areas(&args.only);
    let wanted = Wanted { wake_up_us: args.wake_up_us };
    let host = match &args.host {
        Some(folder) => Host::recorded(folder, wanted)?,
        None => this_host(args, &areas, wanted),
    };
    let report = Report::of(&host, &areas);
    if let Some(folder) = &args.record {
        record(&host, folder)?;
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(ExitCode::from(report.exit_code()))
}

fn areas(only: &[OnlyArea]) -> Vec<Area> {
    let all =
        [(OnlyArea::Load, Area::Load), (OnlyArea::Host, Area::Host), (OnlyArea::Gain, Area::Gain)];
    let wanted = |(name, _): &(OnlyArea, Area)| only.is_empty() || only.contains(name);
    all.into_iter().filter(wanted).map(|(_, area)| area).collect()
}

fn this_host(args: &DoctorArgs, areas: &[Area], wanted: Wanted) -> Host {
    let observed = match areas.contains(&Area::Gain) {
        true => observed(args.observe).map_err(|error| format!("{error:#}")),
        false => Err("not asked for".into()),
    };
    // a host without cgroup2 has no cgroups to look at
    let cgroups = cgroups::mount_point().unwrap_or_else(|_| "/sys/fs/cgroup".into());
    let cgroups = cgroups.strip_prefix("/").unwrap_or(&cgroups).to_string_lossy().into_owned();
    Host { root: Root::new(Path::new("/")), facts: Facts::live(observed), cgroups, wanted }
}

fn observed(duration: Seconds) -> Result<Observed> {
    preflight::check(Need::Tracing).context("where long flows run cannot be measured")?;
    let args = ObserveArgs::lasting(duration);
    let mut observed = None;
    observe::measure(&args, |report| {
        observed = Some(serde_json::from_value(serde_json::to_value(report)?)?);
        Ok(())
    })?;
    observed.context("the observer reported nothing")
}
