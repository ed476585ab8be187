//! Turns the pools and core reservations of policies into sets of CPU numbers.

use std::collections::BTreeMap;

use serde::Serialize;
use steer_topology::CpuSet;

use crate::{CgroupPolicy, Class, Plan, Pool, RuleId, Sets};

/// The most different pools.
pub const MAX_POOLS: usize = 64;

/// The pools of a set of policies on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pools {
    /// The pools that policies name.
    pub pools: Vec<CpuPool>,
    /// The index of each policy's pool; `None` if class decides where its threads run.
    pub of_policy: Vec<Option<usize>>,
    /// What policies ask for and this machine cannot give, as messages.
    pub shortfalls: Vec<String>,
}

/// The CPUs of the threads of some policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuPool {
    /// The CPUs.
    pub cpus: CpuSet,
    /// Whether other threads stay off them even while they are idle.
    pub exclusive: bool,
    /// Whether they are kept for the pool: its threads preempt other threads that borrow one.
    pub kept: bool,
    /// Whether this is the pool `nic-local`: in it, long-flow threads go to their packets.
    pub near_nic: bool,
}

impl Pools {
    /// Finds the CPUs for each policy.
    ///
    /// A policy's `reserve` gets whole cores that no other rule has. These are NIC-local cores if
    /// the pool is `nic-local` or the class is declared long. Otherwise NIC-remote cores come
    /// first, because long flows need the local ones. An exclusive CPU is in no other pool.
    pub fn new(plan: &Plan, policies: &[CgroupPolicy]) -> Self {
        let mut builder = Builder {
            plan,
            reserved: BTreeMap::new(),
            taken: CpuSet::new(),
            found: Self::default(),
        };
        for policy in policies {
            let pool = builder.pool(policy);
            builder.found.of_policy.push(pool);
        }
        builder.found.give_exclusive_cpus_to_one();
        builder.found
    }

    fn give_exclusive_cpus_to_one(&mut self) {
        let mut exclusive = CpuSet::new();
        for pool in self.pools.iter_mut().filter(|pool| pool.exclusive) {
            let twice = pool.cpus.intersection(&exclusive);
            if !twice.is_empty() {
                self.shortfalls.push(format!(
                    "CPUs {twice} are exclusive in two policies: the first policy keeps them"
                ));
            }
            pool.cpus = pool.cpus.difference(&exclusive);
            exclusive = exclusive.union(&pool.cpus);
        }
        for pool in self.pools.iter_mut().filter(|pool| !pool.exclusive) {
            pool.cpus = pool.cpus.difference(&exclusive);
        }
    }
}

struct Builder<'a> {
    plan: &'a Plan,
    reserved: BTreeMap<RuleId, CpuSet>,
    taken: CpuSet,
    found: Pools,
}

impl Builder<'_> {
    /// The index of the policy's pool. Makes the pool if it is new.
    fn pool(&mut self, policy: &CgroupPolicy) -> Option<usize> {
        let sets = &policy.sets;
        let reserve = sets.reserve.map_or(0, |cores| cores.count()) as usize;
        if sets.pool.is_none() && reserve == 0 {
            return None;
        }
        let base = self.base(sets)?;
        let near_nic = reserve == 0 && sets.pool == Some(Pool::NicLocal);
        let cpus = match policy.reserve_rule {
            Some(rule) if reserve > 0 => self.reserve(rule, reserve, &base, sets),
            _ => base,
        };
        if cpus.is_empty() {
            self.found.shortfalls.push("a pool has no CPU on this machine".into());
            return None;
        }
        let exclusive = sets.exclusive == Some(true);
        let pool = CpuPool { cpus, exclusive, kept: exclusive || reserve > 0, near_nic };
        if let Some(same) = self.found.pools.iter().position(|other| *other == pool) {
            return Some(same);
        }
        if self.found.pools.len() == MAX_POOLS {
            self.found.shortfalls.push(format!("more than {MAX_POOLS} different pools"));
            return None;
        }
        self.found.pools.push(pool);
        Some(self.found.pools.len() - 1)
    }

    /// The CPUs that `sets.pool` names; `None` if it names a NIC that is not known.
    fn base(&mut self, sets: &Sets) -> Option<CpuSet> {
        let all: CpuSet = self.plan.cpus.keys().copied().collect();
        let near = self.near(sets);
        let near = match sets.pool {
            None | Some(Pool::Any) => return Some(all),
            Some(Pool::Cpus(ref cpus)) => {
                let missing = cpus.difference(&all);
                if !missing.is_empty() {
                    self.found.shortfalls.push(format!("CPUs {missing} are not on this machine"));
                }
                return Some(cpus.intersection(&all));
            }
            Some(Pool::NicLocal | Pool::Remote) => near,
        };
        if near.is_empty() {
            let which = sets.nic.as_ref().map_or("no NIC".into(), |nic| format!("no NIC {nic}"));
            let why = format!("{which} with a known place: the rule's pool is ignored");
            self.found.shortfalls.push(why);
            return None;
        }
        let remote = all.difference(&near);
        match sets.pool {
            Some(Pool::Remote) if !remote.is_empty() => Some(remote),
            Some(Pool::Remote) => {
                self.found
                    .shortfalls
                    .push("no CPU is NIC-remote: the rule's pool is ignored".into());
                None
            }
            _ => Some(near),
        }
    }

    /// The CPUs near the policy's NIC, or near any NIC if the policy names none.
    fn near(&self, sets: &Sets) -> CpuSet {
        let wanted = sets.nic.as_ref().map(ToString::to_string);
        let nics =
            self.plan.nics.iter().filter(|nic| wanted.as_ref().is_none_or(|w| *w == nic.name));
        nics.fold(CpuSet::new(), |cpus, nic| cpus.union(&nic.local_cpus))
    }

    /// The cores for a rule's `reserve`. All policies of that rule share them.
    fn reserve(&mut self, rule: RuleId, cores: usize, base: &CpuSet, sets: &Sets) -> CpuSet {
        if let Some(cpus) = self.reserved.get(&rule) {
            return cpus.clone();
        }
        let near = self.near(sets);
        let wants_near = sets.pool == Some(Pool::NicLocal) || sets.class == Some(Class::Long);
        // the CPUs of each core; only cores that are wholly in the base are used
        let mut by_core: BTreeMap<u32, CpuSet> = BTreeMap::new();
        for (cpu, place) in &self.plan.cpus {
            by_core.entry(place.core).or_default().insert(*cpu);
        }
        let mut free: Vec<CpuSet> = by_core
            .into_values()
            .filter(|core| core.is_subset(base) && core.is_disjoint(&self.taken))
            .collect();
        free.sort_by_key(|core| (core.is_disjoint(&near) == wants_near, core.first()));
        if free.len() < cores {
            self.found.shortfalls.push(format!(
                "a rule asks for {cores} cores of its own, only {} are left",
                free.len()
            ));
        }
        let cpus = free.iter().take(cores).fold(CpuSet::new(), |cpus, core| cpus.union(core));
        self.taken = self.taken.union(&cpus);
        self.reserved.insert(rule, cpus.clone());
        cpus
    }
}
