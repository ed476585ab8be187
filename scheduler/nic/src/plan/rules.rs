//! The mode `rules`: packets to the ports that policy files name go to the queues of their pools,
//! and others stay off the queues of exclusive ones.

use steer_policy::{Pool, Port, PortPool};
use steer_topology::{CpuSet, Machine};

use super::serving::Serving;
use super::{Draft, Options};
use crate::change::Change;
use crate::queues::Queues;
use crate::rule::Match;
use crate::setting::{Value, What};
use crate::state::NicState;

/// Drivers without rules for IPv6 (drivers/net/ethernet/intel/ixgbe, Linux 6.18).
const V4_ONLY: [&str; 1] = ["ixgbe"];

/// A port and the CPUs of its packets.
pub(super) struct Served {
    port: Port,
    pub(super) cpus: CpuSet,
    exclusive: bool,
}

/// What is wanted, and what cannot be had.
pub(super) type Wanted = (Vec<Served>, Vec<String>);

/// The CPUs of each port: those of its pool, without those that are exclusive to others.
///
/// # Errors
/// No policy file names a port, or no pool can be found on this machine.
pub(super) fn served(
    machine: &Machine,
    state: &NicState,
    options: &Options,
) -> Result<Wanted, String> {
    if options.ports.is_empty() {
        return Err("no policy file has a rule with ports for it; write one \
                    (docs/policy.md, ports)"
            .into());
    }
    let near = options.near(state);
    let online = machine.online_cpus();
    let find = |pool: &Pool| match (pool, near) {
        (Pool::Cpus(cpus), _) => Some(cpus.intersection(&online)),
        (Pool::NicLocal, Some(near)) => Some(near.intersection(&online)),
        (Pool::Remote, Some(near)) => Some(online.difference(near)),
        (Pool::Any, _) | (_, None) => None,
    };
    // a CPU that is exclusive to two pools is the first one's
    let owner = |cpu: u32| {
        let has = |wish: &&PortPool| find(&wish.pool).is_some_and(|cpus| cpus.contains(cpu));
        options.ports.iter().filter(|wish| wish.exclusive).find(has).map(|wish| &wish.pool)
    };
    let (mut served, mut notes) = (Vec::new(), Vec::new());
    for PortPool { port, pool, exclusive } in &options.ports {
        let cpus = find(pool).unwrap_or_default();
        let own = |cpu: &u32| owner(*cpu).is_none_or(|owner| owner == pool);
        let cpus: CpuSet = cpus.iter().filter(own).collect();
        match cpus.is_empty() {
            true => notes.push(format!(
                "no CPU of the pool \"{pool}\" of {port} is online, known, and not exclusive to others"
            )),
            false => served.push(Served { port: *port, cpus, exclusive: *exclusive }),
        }
    }
    match served.is_empty() {
        true => Err(notes.join("; ")),
        false => Ok((served, notes)),
    }
}

/// The queues of packets to all other ports: near the NIC, and in no exclusive pool.
///
/// # Errors
/// There is none.
pub(super) fn hashed(serving: &Serving, served: &[Served]) -> Result<Queues, String> {
    if served.is_empty() {
        return Ok(serving.hashed);
    }
    let exclusive = served.iter().filter(|it| it.exclusive);
    let others = exclusive.fold(serving.near.clone(), |cpus, it| cpus.difference(&it.cpus));
    let queues = serving.queues_on(&others);
    match queues.is_empty() {
        true => {
            Err("the pools of ports take all its queues, so packets to other ports have none; \
                     make the pools smaller, or not exclusive"
                .into())
        }
        false => Ok(queues),
    }
}

impl Draft<'_> {
    /// A rule for each port and version of IP.
    ///
    /// # Errors
    /// The device takes no rules, or one for the same packets sends them elsewhere than to queues.
    pub(super) fn rules(&mut self, serving: &Serving, served: &[Served]) -> Result<(), String> {
        self.take_ntuple("the NIC takes rules")?;
        let table = self.state.rss_table.as_ref().map_or(0, Vec::len);
        if table == 0 {
            self.notes.push("it has no RSS table: other packets may share the queues".into());
        }
        let v4_only = self.state.driver.as_deref().is_some_and(|it| V4_ONLY.contains(&it));
        for (nth, it) in served.iter().enumerate() {
            let mut queues = serving.queues_on(&it.cpus);
            if queues.is_empty() {
                return Err(format!("it has too few queues for one in the pool of {}", it.port));
            }
            let only = queues.iter().nth(nth % queues.len() as usize);
            match &self.state.rss_contexts {
                Some(contexts) if queues.len() > 1 => {
                    queues = queues.iter().take(table).collect();
                    self.take_context(contexts, queues);
                }
                None if queues.len() > 1 => {
                    self.notes.push(format!(
                        "it has no further RSS tables: packets to {} go to one queue of {}",
                        it.port,
                        queues.len()
                    ));
                    queues = only.into_iter().collect();
                }
                _ => {}
            }
            if v4_only {
                self.notes.push(format!("its driver takes no rules for IPv6, as for {}", it.port));
            }
            for v6 in [false, true].into_iter().filter(|v6| !(v4_only && *v6)) {
                self.send(Match { port: it.port, v6 }, queues)?;
            }
        }
        Ok(())
    }

    fn take_context(&mut self, contexts: &[Queues], queues: Queues) {
        let what = What::RssContext(queues);
        let planned = self.changes.iter().any(|change| change.setting.what == what);
        if !planned && !contexts.contains(&queues) {
            let (old, new) = (Some(Value::Switch(false)), Value::Switch(true));
            let why = "a table of a pool's queues";
            self.changes.push(Change::new(self.state, what, old, new, why));
        }
    }

    fn send(&mut self, packets: Match, queues: Queues) -> Result<(), String> {
        let now = self.state.port_rules.iter().find(|rule| rule.packets == packets);
        let now = match now.map(|rule| rule.queues) {
            None => Queues::default(),
            Some(Some(now)) => now,
            Some(None) => {
                return Err(format!(
                    "it has a rule for the packets {packets} that drops them, or sends them to a \
                     virtual function or by the default table; delete it (ethtool -n, -N)"
                ));
            }
        };
        if now != queues {
            let (old, new) = (Some(Value::Queues(now)), Value::Queues(queues));
            let (what, why) = (What::Rule(packets), "its threads' pool");
            self.changes.push(Change::new(self.state, what, old, new, why));
        }
        Ok(())
    }
}
