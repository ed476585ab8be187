//! What a rule can set. The struct, the keys, the reader, the merging and the schema all come from
//! one list, so that none of them can lack a setting.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    refusal::Refusal,
    values::{
        Bytes, Class, Cores, Given, Granularity, Latency, NicName, Pool, Ports, Steer, Time, Value,
    },
};
use crate::{Classification, Settings, SettingsError};

macro_rules! sets {
    ($($(#[$doc:meta])* $key:literal $name:ident: $type:ty,)*) => {
        /// What a rule sets, or several rules merged; `None` for keys that no rule sets.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
        pub struct Sets {
            $(
                $(#[$doc])*
                #[serde(rename = $key, skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )*
        }

        impl Sets {
            /// The keys of a rule, except those that say what it applies to.
            pub const KEYS: &[&str] = &[$($key),*];

            /// Reads the value of `key`; `None` if there is no such key.
            pub(crate) fn read(
                &mut self,
                key: &str,
                given: &Given<'_>,
            ) -> Option<Result<(), Refusal>> {
                match key {
                    $($key => Some(Value::read(given).map(|value| self.$name = Some(value))),)*
                    _ => None,
                }
            }

            /// Takes from `other` the keys that are not set yet.
            pub(crate) fn fill_from(&mut self, other: &Sets) {
                $(if self.$name.is_none() {
                    self.$name.clone_from(&other.$name);
                })*
            }

            /// The keys that are set, with their values as in a file.
            pub fn entries(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
                [$(($key, self.$name.as_ref().map(<$type>::to_string))),*]
                    .into_iter()
                    .filter_map(|(key, value)| Some((key, value?)))
            }
        }
    };
}

sets! {
    /// The class of the threads: `auto` learns it from their traffic, the other values declare it.
    /// Default `auto`.
    "class" class: Class,
    /// A burst of at least this many bytes makes a flow long. `2B` to `1TiB`, above
    /// `short-burst`. Default `64KiB`.
    "long-burst" long_burst: Bytes,
    /// A burst of at most this many bytes counts towards a short flow. `1B` to `1TiB`, below
    /// `long-burst`. Default `16KiB`.
    "short-burst" short_burst: Bytes,
    /// A burst ends when its socket is silent for longer than this. `1us` to `10s`. Default `1ms`.
    "idle-gap" idle_gap: Time,
    /// After this time, past traffic of a thread counts half. `1ms` to `60s`. Default `100ms`.
    "half-life" half_life: Time,
    /// Whose traffic is added up to find a class: that of each thread, each process, or the whole
    /// cgroup. Default `thread`.
    "granularity" granularity: Granularity,
    /// Where the threads belong: `nic-local`, `remote` (all other CPUs), `any`, or a list of CPUs
    /// as in `0-3,8`. Default: by class, with long-flow threads near the NIC.
    "pool" pool: Pool,
    /// The network interface for `nic-local` and `remote`. Default: the one that a thread's packets
    /// come through.
    "nic" nic: NicName,
    /// Ports that the threads serve, as in `["tcp/80", "udp/443"]`. In the NIC mode `rules`, packets
    /// to these ports arrive on the CPUs of the rule's `pool`, which it needs.
    "ports" ports: Ports,
    /// Whether other threads stay off the cores of `pool` or `reserve`, even while they are idle.
    /// Needs one of these keys in the same rule. Default `false`.
    "exclusive" exclusive: bool,
    /// Number of cores kept for the threads, even if they use them little. 0 to 1024. Default 0.
    "reserve" reserve: Cores,
    /// Whether threads are moved to their packets: `follow`, or `off` for fair scheduling only.
    /// Default `follow`.
    "steer" steer: Steer,
    /// With `low`, wake-ups preempt threads without traffic, as wake-ups of short-flow threads do.
    /// Default `normal`.
    "latency" latency: Latency,
}

impl Sets {
    /// The defaults. `pool`, `nic` and `ports` have none: class and traffic decide.
    pub(crate) fn defaults(settings: &Settings) -> Self {
        let c = &settings.classification;
        Self {
            class: Some(Class::default()),
            long_burst: Some(Bytes(c.long_burst_bytes)),
            short_burst: Some(Bytes(c.short_burst_bytes)),
            idle_gap: Some(c.idle_gap.into()),
            half_life: Some(c.half_life.into()),
            granularity: Some(Granularity::default()),
            pool: None,
            nic: None,
            ports: None,
            exclusive: Some(false),
            reserve: Some(Cores::default()),
            steer: Some(Steer::default()),
            latency: Some(Latency::default()),
        }
    }

    /// `base`, changed by the thresholds that are set here.
    pub(crate) fn classification(&self, base: &Classification) -> Classification {
        Classification {
            long_burst_bytes: self.long_burst.map_or(base.long_burst_bytes, |b| b.0),
            short_burst_bytes: self.short_burst.map_or(base.short_burst_bytes, |b| b.0),
            idle_gap: self.idle_gap.map_or(base.idle_gap, Time::duration),
            half_life: self.half_life.map_or(base.half_life, Time::duration),
            ..base.clone()
        }
    }

    /// The thresholds set here that are out of range: their keys and refusals.
    pub(crate) fn out_of_range(&self) -> Vec<(&'static str, Refusal)> {
        self.errors(&Settings::default()).into_iter().filter_map(out_of_range).collect()
    }

    /// What [`Settings::validate`] says about the thresholds. `base` provides those not set here.
    pub(super) fn errors(&self, base: &Settings) -> Vec<SettingsError> {
        let classification = self.classification(&base.classification);
        let settings = Settings { classification, ..base.clone() };
        settings.validate().err().unwrap_or_default()
    }
}

fn out_of_range(error: SettingsError) -> Option<(&'static str, Refusal)> {
    let SettingsError::OutOfRange { key, given, allowed } = error else { return None };
    Some((key, Refusal::new(format!("{given} is out of range"), allowed)))
}
