//! A fresh guest in place of one that the emulator broke.

use anyhow::Result;

use super::guest::Guest;
use steer_ground::progress::Progress;

/// Guests that one run may boot.
const MOST_BOOTS: u32 = 5;

/// Counts the guests that a run boots.
pub struct Boots(u32);

impl Boots {
    /// The run has booted its first guest.
    pub fn first() -> Self {
        Self(1)
    }

    /// How many the run has booted.
    pub fn count(&self) -> u32 {
        self.0
    }

    /// If the [emulator broke](Guest::broken_by_emulator) the guest, and the run may boot another:
    /// counts that one, and returns a message.
    pub fn another(&mut self, guest: &Guest) -> Option<&'static str> {
        let said = guest.broken_by_emulator().filter(|_| self.0 < MOST_BOOTS)?;
        self.0 += 1;
        Some(said)
    }

    /// Runs a step of the run in its guest. If it fails as the emulator broke the guest, `boot`
    /// replaces the guest, and the step runs again.
    ///
    /// # Errors
    /// Those of the step and of `boot`.
    pub fn run<G: AsRef<Guest>, T>(
        &mut self,
        bed: &mut G,
        progress: &Progress,
        boot: impl Fn() -> Result<G>,
        mut step: impl FnMut(&mut G) -> Result<T>,
    ) -> Result<T> {
        loop {
            let result = step(bed);
            let Err(error) = result else { return result };
            let Some(said) = self.another((*bed).as_ref()) else { return Err(error) };
            progress.say(&format!("{said}; once more in a fresh one"));
            *bed = boot()?;
        }
    }
}
