//! One CPU near the NIC for each queue: it takes the queue's interrupts and sends through this
//! queue (XPS). So a CPU gets the completions of its own packets.

use anyhow::{Result, ensure};

use crate::unsupported::Unsupported;
use steer_lab::facts::{affinity_path, xps_path};
use steer_result::topology::Queue;

/// Path and value of every setting: affinities, then masks. If there are more queues than CPUs,
/// queues share CPUs.
///
/// # Errors
/// [`Unsupported`]: the NIC has nothing to set, or its place is unknown.
pub(super) fn one_to_one(
    nic: &str,
    queues: &[Queue],
    tx_queues: usize,
    cpus: &[usize],
) -> Result<Vec<(String, String)>> {
    let cannot = |why: &str| Unsupported(format!("XPS 1:1 with interrupts: {nic} {why}"));
    ensure!(tx_queues > 1, cannot("has one transmit queue"));
    ensure!(!queues.is_empty(), cannot("has no interrupts of its queues"));
    ensure!(!cpus.is_empty(), cannot("is near unknown CPUs"));
    let cpu = |queue: usize| cpus[queue % cpus.len()];
    let affinities =
        queues.iter().map(|it| (affinity_path(it.irq), cpu(it.queue as usize).to_string()));
    let masks = (0..tx_queues).map(|queue| (xps_path(nic, queue), mask(cpu(queue))));
    Ok(affinities.chain(masks).collect())
}

/// One CPU as a mask in the kernel's form: groups of 32 bits, separated by commas, highest first.
fn mask(cpu: usize) -> String {
    format!("{:x}{}", 1u32 << (cpu % 32), ",00000000".repeat(cpu / 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(queue: u32, irq: u32) -> Queue {
        Queue { queue, irq, cpus: "0-3".to_owned() }
    }

    #[test]
    fn a_queue_sends_and_is_interrupted_on_one_cpu() {
        let queues = [queue(0, 26), queue(0, 27), queue(1, 28), queue(2, 30)];
        let settings = one_to_one("eth0", &queues, 3, &[2, 35]).unwrap();
        let expected = [
            ("/proc/irq/26/smp_affinity_list", "2"),
            ("/proc/irq/27/smp_affinity_list", "2"),
            ("/proc/irq/28/smp_affinity_list", "35"),
            ("/proc/irq/30/smp_affinity_list", "2"),
            ("/sys/class/net/eth0/queues/tx-0/xps_cpus", "4"),
            ("/sys/class/net/eth0/queues/tx-1/xps_cpus", "8,00000000"),
            ("/sys/class/net/eth0/queues/tx-2/xps_cpus", "4"),
        ];
        assert_eq!(settings, expected.map(|(path, value)| (path.to_owned(), value.to_owned())));
    }

    #[test]
    fn what_cannot_be_had_is_a_reason_to_leave_it_out() {
        let queues = [queue(0, 26)];
        for (queues, tx, cpus, why) in [
            (&queues[..], 1, &[0][..], "one transmit queue"),
            (&[], 2, &[0], "no interrupts"),
            (&queues, 2, &[], "unknown CPUs"),
        ] {
            let error = one_to_one("veth0", queues, tx, cpus).unwrap_err();
            assert!(error.is::<Unsupported>() && error.to_string().contains(why), "{error}");
        }
    }
}
