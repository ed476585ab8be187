//! Ethernet pause frames. A NIC that falls behind sends them so that its link partner waits;
//! otherwise packets would be lost (RHEL 7.2 article, *Flow Control and Buffer Bloat*). Read and
//! set with ethtool.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::unsupported::Unsupported;
use steer_lab::agent::{Finished, Link};

/// Time for ethtool. It may wait for a driver that resets its device.
const LONGEST: Duration = Duration::from_secs(60);
/// Time for the link to come back, if the driver takes it down.
const BACK: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(200);

/// The pause settings of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pause {
    autoneg: bool,
    rx: bool,
    tx: bool,
}

impl Pause {
    /// All off, and autonegotiation too, as in the article: if it is on, Intel's drivers turn pause
    /// frames on again.
    pub(super) const OFF: Self = Self { autoneg: false, rx: false, tx: false };

    /// The present settings of a NIC.
    ///
    /// # Errors
    /// [`Unsupported`]: it has no such setting, or nothing is on.
    pub(super) fn to_turn_off(link: &mut Link, nic: &str) -> Result<Self> {
        let said = ethtool(link, &["-a", nic])?;
        let cannot =
            |why: &str| Unsupported(format!("{nic} has no pause frames to turn off: {why}"));
        ensure!(said.success(), cannot(said.last_words()));
        match Self::parse(&said.stdout) {
            Some(pause) if pause.rx || pause.tx => Ok(pause),
            Some(_) => bail!(cannot("they are off")),
            None => bail!(cannot(said.last_words())),
        }
    }

    /// Parses the output of `ethtool -a`.
    fn parse(text: &str) -> Option<Self> {
        let on = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            match line?.trim() {
                "on" => Some(true),
                "off" => Some(false),
                _ => None,
            }
        };
        Some(Self { autoneg: on("Autonegotiate")?, rx: on("RX")?, tx: on("TX")? })
    }

    /// Applies these settings and waits for the link. Returns whether anything changed.
    ///
    /// # Errors
    /// [`Unsupported`]: the device refuses. Other errors: its link does not come back.
    pub(super) fn set(self, link: &mut Link, nic: &str) -> Result<bool> {
        let now = Self::parse(&ethtool(link, &["-a", nic])?.stdout);
        if now == Some(self) {
            return Ok(false);
        }
        let words = self.words(now.unwrap_or(Self::OFF));
        let done = ethtool(link, &[&["-A", nic], &words[..]].concat())?;
        let how = format!("ethtool -A {nic} {}", words.join(" "));
        ensure!(done.success(), Unsupported(format!("{how}: {}", done.last_words())));
        let deadline = Instant::now() + BACK;
        loop {
            let down = link.read(&format!("/sys/class/net/{nic}/operstate"))?.ends_with("down");
            // Negotiated settings are known only when the link is up.
            let now = Self::parse(&ethtool(link, &["-a", nic])?.stdout);
            if !down && now == Some(self) {
                return Ok(true);
            }
            if Instant::now() > deadline {
                ensure!(!down, "{how}: the link has not come back within {BACK:?}");
                bail!(Unsupported(format!("{how} has no effect: now {now:?}")));
            }
            thread::sleep(LOOK);
        }
    }

    /// The arguments for ethtool. They contain only changes, because ethtool fails if nothing
    /// changes.
    fn words(self, now: Self) -> Vec<&'static str> {
        let pairs = [
            ("autoneg", self.autoneg, now.autoneg),
            ("rx", self.rx, now.rx),
            ("tx", self.tx, now.tx),
        ];
        let other = pairs.into_iter().filter(|(_, wanted, now)| wanted != now);
        other.flat_map(|(name, wanted, _)| [name, if wanted { "on" } else { "off" }]).collect()
    }
}

fn ethtool(link: &mut Link, arguments: &[&str]) -> Result<Finished> {
    link.run(&[&["ethtool"], arguments].concat(), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ethtool_prints_is_read() {
        let text = "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff\n\
            RX negotiated: off\nTX negotiated: off\n\n";
        assert_eq!(Pause::parse(text), Some(Pause { autoneg: true, rx: true, tx: false }));
        assert_eq!(Pause::parse(&text.replace("TX:\t\toff", "TX:\t\tn/a")), None);
        assert_eq!(Pause::parse("netlink error: Operation not supported"), None);
    }

    #[test]
    fn only_what_changes_is_told() {
        let on = Pause { autoneg: false, rx: true, tx: true };
        assert_eq!(Pause::OFF.words(on), ["rx", "off", "tx", "off"]);
        assert_eq!(
            Pause { autoneg: true, ..on }.words(Pause { rx: true, ..Pause::OFF }),
            ["autoneg", "on", "tx", "on"]
        );
    }
}
