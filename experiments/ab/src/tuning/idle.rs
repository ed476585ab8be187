//! A limit on the exit latency of idle states (C-states). The kernel keeps it while a process holds
//! /dev/cpu_dma_latency open. So the limit ends with the run, however the run ends.

use std::time::Duration;

use anyhow::{Error, Result};

use crate::unsupported::Unsupported;
use steer_ground::stop::Interrupted;
use steer_lab::agent::{Link, Silent};

/// Name of the process that holds it.
pub(super) const HOLDER: &str = "shallow-idle";
const START: Duration = Duration::from_secs(30);
/// The limit in microseconds if the kernel says that the first idle state has no exit latency.
const OF_NONE: u32 = 3;
const STATES: &str = "/sys/devices/system/cpu/cpu0";

/// Holds the limit $1, in microseconds. Writing to the file takes hexadecimal text; reading returns
/// the limit in force as a binary number.
const HOLD: &str = "exec 3<>/dev/cpu_dma_latency || exit 1
now=$(od -An -td4 -N4 <&3)
if [ $now -le $1 ]; then echo \"a limit of $((now)) us is in force already\" >&2; exit 1; fi
printf %08x $1 >&3 && echo holding && exec sleep 86400";

/// Starts the process.
///
/// # Errors
/// [`Unsupported`]: there is nothing to limit.
pub(super) fn start(link: &mut Link) -> Result<()> {
    let latencies = latencies(link)?;
    let nothing = || match latencies[..] {
        [] => "no idle states to limit: this kernel has no cpuidle driver".to_owned(),
        _ => format!(
            "no idle state is deep enough to limit: their exit latencies are {latencies:?} us"
        ),
    };
    hold(link, limit(&latencies).ok_or_else(|| Unsupported(nothing()))?)
}

fn hold(link: &mut Link, limit: u32) -> Result<()> {
    link.spawn(HOLDER, &["sh", "-c", HOLD, HOLDER, &limit.to_string()])?;
    link.expect(HOLDER, "holding", START).map_err(cannot)
}

/// An error which says that the machine cannot do it.
fn cannot(error: Error) -> Error {
    if error.is::<Silent>() || error.is::<Interrupted>() {
        return error;
    }
    Unsupported(format!("{error:#}")).into()
}

/// The exit latency of each idle state, polling first. Leaves out states that an operator has
/// disabled.
fn latencies(link: &mut Link) -> Result<Vec<u32>> {
    let mut latencies = Vec::new();
    if !link.list(STATES)?.iter().any(|name| name == "cpuidle") {
        return Ok(latencies);
    }
    for (index, state) in link.list(&format!("{STATES}/cpuidle"))?.iter().enumerate() {
        let folder = format!("{STATES}/cpuidle/{state}");
        if index < 2 || link.read(&format!("{folder}/disable"))? == "0" {
            latencies.push(link.read(&format!("{folder}/latency"))?.parse()?);
        }
    }
    Ok(latencies)
}

/// The limit set by the profile latency-performance of Red Hat's tuned: the exit latency of idle
/// state 1, the first that does not poll (`force_latency=cstate.id_no_zero:1|3`). The RHEL 7.2
/// article says "disabled C states via /dev/cpu_dma_latency" and gives no figure. `None` if no
/// state is deeper.
fn limit(latencies: &[u32]) -> Option<u32> {
    let limit = latencies.get(1).map(|&first| if first == 0 { OF_NONE } else { first })?;
    latencies.iter().any(|&latency| latency > limit).then_some(limit)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;
    use steer_ground::stop::Stop;
    use steer_lab::agent::Here;

    #[test]
    fn the_limit_is_the_first_state_that_does_not_poll() {
        for (latencies, expected) in [
            (&[0, 2, 10, 133][..], Some(2)),
            (&[0, 0, 40], Some(OF_NONE)),
            (&[0, 1], None),
            (&[0, 0, 3], None),
            (&[0], None),
            (&[], None),
        ] {
            assert_eq!(limit(latencies), expected, "{latencies:?}");
        }
    }

    #[test]
    fn the_kernel_keeps_a_limit_as_long_as_it_is_held() {
        let in_force = || {
            let mut number = [0; 4];
            File::open("/dev/cpu_dma_latency")?.read_exact(&mut number)?;
            std::io::Result::Ok(i32::from_ne_bytes(number))
        };
        // High enough to limit nothing.
        const HIGH: u32 = 1_999_999_999;
        let Some(before) = in_force().ok().filter(|now| *now > HIGH as i32) else {
            eprintln!("SKIPPED: needs root, and no other limit");
            return;
        };
        let mut link =
            Link::here(Here::new(Vec::new(), Box::leak(Box::new(Stop::never().unwrap()))));
        hold(&mut link, HIGH).unwrap();
        assert_eq!(in_force().unwrap(), HIGH as i32);
        link.stop(HOLDER).unwrap();
        assert_eq!(in_force().unwrap(), before);

        let refused = hold(&mut link, u32::MAX / 2).unwrap_err();
        assert!(refused.is::<Unsupported>(), "{refused:#}");
        assert!(refused.to_string().contains("in force already"), "{refused:#}");
    }
}
