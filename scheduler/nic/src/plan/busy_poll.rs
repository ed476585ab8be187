//! The mode `busy-poll`: while a program polls a queue its interrupt stays off; when the program
//! stops, the kernel looks for a while before the interrupt is on again. Programs ask for polling
//! (SO_BUSY_POLL, epoll), but cannot set this.

use super::Draft;
use super::serving::Serving;
use crate::change::Change;
use crate::setting::{Value, What};

/// Cai and Karsten, SIGMETRICS 2024: these gave most throughput at no worse a tail.
const DEFER: u64 = 100;
const FLUSH_NS: u64 = 20_000;
const SUSPEND_NS: u64 = 20_000_000;

impl Draft<'_> {
    /// The settings of each NAPI context; where the kernel has none (before 6.13), the device's.
    pub(super) fn busy_poll(&mut self, serving: &Serving) -> Result<(), String> {
        let contexts: Vec<_> = self
            .state
            .rx
            .iter()
            .filter(|rx| (rx.index as usize) < serving.cpus.len())
            .filter_map(|rx| Some((rx.index, rx.napi.as_ref()?)))
            .filter(|(_, napi)| napi.irq_suspend_timeout.is_some())
            .collect();
        if contexts.is_empty() {
            return self.busy_poll_device();
        }
        for (queue, napi) in contexts {
            let wanted = [
                (What::NapiDefer(queue), napi.defer_hard_irqs, DEFER, "look again before the IRQ"),
                (What::NapiFlush(queue), napi.gro_flush_timeout, FLUSH_NS, "look this often"),
                (
                    What::NapiSuspend(queue),
                    napi.irq_suspend_timeout,
                    SUSPEND_NS,
                    "no IRQ while a program polls",
                ),
            ];
            for (what, now, wanted, why) in wanted {
                self.number(what, now.map(u64::from), wanted, why);
            }
        }
        if serving.channels.is_some_and(|(now, new)| new.receive() > now.receive()) {
            self.notes.push(
                "queues that come to be in use get these settings when the mode is \
                             applied again"
                    .into(),
            );
        }
        Ok(())
    }

    fn busy_poll_device(&mut self) -> Result<(), String> {
        let (Some(defer), Some(flush)) = (self.state.defer_hard_irqs, self.state.gro_flush_timeout)
        else {
            return Err("this kernel cannot defer its interrupts (5.10 can)".into());
        };
        self.number(What::DeviceDefer, Some(defer), DEFER, "look again before the IRQ");
        self.number(What::DeviceFlush, Some(flush), FLUSH_NS, "look this often");
        self.notes.push(
            "interrupts cannot be suspended while programs poll: the kernel is older than 6.13, or \
             the driver does not name its NAPI contexts"
                .into(),
        );
        Ok(())
    }

    fn number(&mut self, what: What, now: Option<u64>, wanted: u64, why: &str) {
        if now != Some(wanted) {
            let (old, new) = (now.map(Value::Number), Value::Number(wanted));
            self.changes.push(Change::new(self.state, what, old, new, why));
        }
    }
}
