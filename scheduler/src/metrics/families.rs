//! Turns what is known of the running instance into metrics, in either text format.

use std::fmt;

use anyhow::{Context, Result};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet, prometheus_text, text},
    metrics::MetricType,
    registry::{Registry, Unit},
};
use steer_bpf::Steering;
use steer_topology::CpuSet;

use super::{daemon::Seen, names::DECISIONS};
use crate::status::Status;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' own, which node_exporter and promtool read.
    Prometheus,
}

impl Format {
    /// The format's Content-Type.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// The metrics as text.
///
/// # Errors
/// None that a caller can cause.
pub(super) fn render(seen: Seen, format: Format) -> Result<String> {
    let mut registry = Registry::with_prefix("scx_steer");
    registry.register_collector(Box::new(seen));
    let mut page = String::new();
    match format {
        Format::OpenMetrics => text::encode(&mut page, &registry),
        Format::Prometheus => prometheus_text::encode(&mut page, &registry),
    }
    .context("writing metrics")?;
    Ok(page)
}

/// A value and the label that tells it from the others of its name.
type Labelled<'a> = (Option<(&'static str, &'a str)>, u64);

impl Collector for Seen {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Out(encoder);
        out.gauge("in_force", "Whether the kernel says that scx_steer is in force", self.in_force)?;
        out.gauge("up", "Whether the running instance answers", self.totals.is_some())?;
        let Some(totals) = &self.totals else { return Ok(()) };
        for rows in DECISIONS.chunk_by(|a, b| a.1 == b.1) {
            let values: Vec<Labelled<'_>> = rows
                .iter()
                .filter_map(|(field, _, class, _)| {
                    Some((class.map(|class| ("class", class)), *totals.decisions.get(*field)?))
                })
                .collect();
            let (_, name, _, help) = rows[0];
            out.all(name, help, MetricType::Counter, None, &values)?;
        }
        out.status(&totals.status)
    }
}

/// Where metrics are written to.
struct Out<'a>(DescriptorEncoder<'a>);

impl Out<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: impl Into<u64>) -> fmt::Result {
        self.all(name, help, MetricType::Gauge, None, &[(None, value.into())])
    }

    fn all(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        unit: Option<&Unit>,
        values: &[Labelled<'_>],
    ) -> fmt::Result {
        if values.is_empty() {
            return Ok(());
        }
        let mut metric = self.0.encode_descriptor(name, help, unit, kind)?;
        for (label, value) in values {
            let labels = Vec::from_iter(*label);
            let mut one = metric.encode_family(&labels)?;
            match kind {
                MetricType::Counter => one.encode_counter::<NoLabelSet, _, u64>(value, None)?,
                _ => one.encode_gauge(value)?,
            }
        }
        Ok(())
    }

    fn status(&mut self, status: &Status) -> fmt::Result {
        let Status {
            version, in_force_s, loads, cpus, caches, nics, reserved_cpus, policy, ..
        } = status;
        let version = [("version", version.as_str())];
        self.0
            .encode_descriptor("build", "Version of the running instance", None, MetricType::Info)?
            .encode_info(&version)?;
        self.all(
            "in_force",
            "Time since the scheduler was last loaded",
            MetricType::Gauge,
            Some(&Unit::Seconds),
            &[(None, *in_force_s)],
        )?;
        self.all(
            "loads",
            "Times the scheduler was loaded; more than once if CPUs came or went",
            MetricType::Counter,
            None,
            &[(None, *loads)],
        )?;
        self.gauge("cpus", "CPUs that the scheduler uses", *cpus as u64)?;
        self.gauge("caches", "Last-level caches of these CPUs", *caches as u64)?;
        self.gauge("reserved_cpus", "CPUs now reserved for short flows", len(reserved_cpus))?;
        let local = nics.iter().map(|nic| (Some(("nic", &*nic.name)), len(&nic.local_cpus)));
        self.all(
            "nic_local_cpus",
            "CPUs near the NIC",
            MetricType::Gauge,
            None,
            &local.collect::<Vec<_>>(),
        )?;
        let follows = nics.iter().filter_map(|nic| {
            let follows = match nic.steering {
                Steering::Follows => 1,
                Steering::Fixed => 0,
                Steering::Unknown => return None,
            };
            Some((Some(("nic", &*nic.name)), follows))
        });
        self.all(
            "nic_follows",
            "Whether packets follow threads; absent until that is known",
            MetricType::Gauge,
            None,
            &follows.collect::<Vec<_>>(),
        )?;
        self.gauge("policy_files", "Policy files in force", policy.files.len() as u64)?;
        self.gauge("policy_rules", "Rules in force", policy.rules as u64)?;
        self.gauge("policy_cgroups", "Cgroups with a policy of their own", policy.cgroups as u64)?;
        self.gauge(
            "policy_refused",
            "Whether the policy files on disk are refused, so that older ones are in force",
            policy.refused.is_some(),
        )?;
        self.gauge(
            "policy_shortfalls",
            "Wishes of rules that this machine cannot fulfil",
            policy.shortfalls.len() as u64,
        )
    }
}

/// How many CPUs a list such as `0-3,8` has.
fn len(cpus: &str) -> u64 {
    cpus.parse::<CpuSet>().map_or(0, |cpus| cpus.iter().count() as u64)
}
