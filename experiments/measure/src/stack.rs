//! Finds the category of a sampled stack, by the rule of `data/kernel-symbols.toml`.

use super::kallsyms::Symbols;
use super::symbol_map::{Category, Class, Context, Meaning, SymbolMap};

/// What the kernel did when a sample was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Nothing: the CPU was halted.
    Idle,
    /// Work of a category. `Err` has the leaf function if the map knows no function of the stack,
    /// and `Err(None)` if the leaf is not a known function.
    Busy(Context, Result<Category, Option<usize>>),
}

/// Classifies stacks. Looks every function up once.
pub(crate) struct Classifier {
    symbols: Symbols,
    map: SymbolMap,
    meanings: Vec<Option<Meaning>>,
    by_clock: bool,
}

impl Classifier {
    /// `by_clock`: the samples come from a clock interrupt, which is delayed while interrupts are
    /// off.
    pub(crate) fn new(symbols: Symbols, map: SymbolMap, by_clock: bool) -> Self {
        let meanings = vec![None; symbols.len()];
        Self { symbols, map, meanings, by_clock }
    }

    /// Classifies a stack of kernel addresses, leaf first.
    pub(crate) fn classify(&mut self, stack: &[u64]) -> Work {
        let mut category = None;
        let mut leaf = None;
        let mut at_leaf = true;
        for &address in stack {
            let id = self.symbols.find(address);
            let Meaning { class, leaf_only, context } =
                id.map_or_else(Meaning::default, |id| self.meaning(id));
            if at_leaf {
                // If the stack ends with a function that is passed over, there is no caller: it
                // counts itself.
                leaf = id;
            }
            let passed_over = match class {
                Some(Class::Caller) => at_leaf,
                Some(Class::CallerByClock) => at_leaf && self.by_clock,
                _ => false,
            };
            if !passed_over && category.is_none() && (at_leaf || !leaf_only) {
                category = match class {
                    Some(Class::Idle) => return Work::Idle,
                    Some(Class::Work(category)) => Some(category),
                    // Not at the leaf, or not sampled by the clock: it counts as the lock function
                    // that it is.
                    Some(Class::CallerByClock) => Some(Category::Lock),
                    Some(Class::Caller) | None => None,
                };
            }
            at_leaf = passed_over;
            // The frames below were interrupted; they did not call this function.
            if let Some(context) = context {
                return Work::Busy(context, category.ok_or(leaf));
            }
        }
        Work::Busy(Context::Process, category.ok_or(leaf))
    }

    /// The name of a function in [`Work::Busy`].
    pub(crate) fn name(&self, id: Option<usize>) -> &str {
        id.map_or("(no known function)", |id| self.symbols.name(id))
    }

    fn meaning(&mut self, id: usize) -> Meaning {
        *self.meanings[id].get_or_insert_with(|| self.map.meaning(self.symbols.name(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Classifies a stack given by names, leaf first.
    fn classify(names: &str, by_clock: bool) -> Work {
        let names: Vec<_> = names.split(' ').collect();
        let text: String = names
            .iter()
            .enumerate()
            .map(|(index, name)| format!("{:x} t {name}\n", 0x1000 + index * 16))
            .collect();
        let symbols = Symbols::parse(&text).unwrap();
        let stack: Vec<_> = (0..names.len() as u64).map(|index| 0x1004 + index * 16).collect();
        Classifier::new(symbols, SymbolMap::built_in().unwrap(), by_clock).classify(&stack)
    }

    fn category(names: &str) -> (Context, Option<Category>) {
        match classify(names, true) {
            Work::Busy(context, category) => (context, category.ok()),
            Work::Idle => panic!("{names} is idle"),
        }
    }

    #[test]
    fn the_leaf_most_function_that_is_named_counts() {
        use Category::*;
        use Context::*;
        for (stack, expected) in [
            ("rep_movs_alternative _copy_to_iter tcp_recvmsg do_syscall_64", DataCopy),
            ("memcpy some_driver_poll __napi_poll net_rx_action", Netdevice),
            ("__x86_indirect_thunk_rax ip_rcv", TcpIp),
            ("kfree skb_release_data tcp_recvmsg_locked", Memory),
            ("bpf_prog_1234_steer_enqueue bpf__sched_ext_ops_enqueue do_enqueue_task", Scheduling),
            (
                "hash_it htab_lookup bpf_trace_run3 __traceiter_sock_recv_length sock_recvmsg",
                Others,
            ),
        ] {
            assert_eq!(category(stack), (Process, Some(expected)), "{stack}");
        }
    }

    #[test]
    fn what_an_interrupt_fell_into_is_no_caller() {
        use Category::*;
        use Context::*;
        let below = "__irq_exit_rcu sysvec_apic_timer_interrupt tcp_sendmsg do_syscall_64";
        assert_eq!(
            category(&format!("tcp_v4_rcv handle_softirqs {below}")),
            (Softirq, Some(TcpIp))
        );
        assert_eq!(category(&format!("unheard_of handle_softirqs {below}")), (Softirq, None));
        assert_eq!(category(&format!("unheard_of {below}")), (Irq, Some(Others)));
        assert_eq!(
            category("handle_softirqs do_softirq __local_bh_enable_ip"),
            (Softirq, Some(Others))
        );
        let preempted = "__schedule preempt_schedule_irq irqentry_exit sysvec_apic_timer_interrupt";
        assert_eq!(category(preempted), (Process, Some(Scheduling)));
        let idle =
            "unheard_of handle_softirqs __irq_exit_rcu common_interrupt default_idle do_idle";
        assert_eq!(category(idle), (Softirq, None));
    }

    #[test]
    fn a_halted_cpu_is_idle_but_the_way_there_is_work() {
        assert_eq!(classify("pv_native_safe_halt default_idle do_idle", true), Work::Idle);
        assert_eq!(category("__schedule schedule_idle do_idle").1, Some(Category::Scheduling));
    }

    #[test]
    fn only_the_clock_sees_locks_where_interrupts_come_on_again() {
        let stack = "_raw_spin_unlock_irqrestore try_to_wake_up";
        assert_eq!(category(stack).1, Some(Category::Scheduling));
        let precise = classify(stack, false);
        assert_eq!(precise, Work::Busy(Context::Process, Ok(Category::Lock)));
        // Something ran inside it, so it is no artefact.
        let inner = "unheard_of _raw_spin_unlock_irqrestore try_to_wake_up";
        assert_eq!(category(inner).1, Some(Category::Lock));
    }

    #[test]
    fn what_no_group_names_keeps_its_leaf() {
        let cut_short = classify("__x86_indirect_thunk_rax", true);
        assert_eq!(cut_short, Work::Busy(Context::Process, Err(Some(0))));
        let work = classify("unheard_of do_syscall_64 entry_SYSCALL_64_after_hwframe", true);
        assert_eq!(work, Work::Busy(Context::Process, Err(Some(0))));
        let mut nothing = Classifier::new(
            Symbols::parse("1000 t first\n").unwrap(),
            SymbolMap::built_in().unwrap(),
            true,
        );
        assert_eq!(nothing.classify(&[0x10]), Work::Busy(Context::Process, Err(None)));
        assert_eq!(nothing.classify(&[]), Work::Busy(Context::Process, Err(None)));
        assert_eq!(nothing.name(None), "(no known function)");
    }

    proptest! {
        /// Unknown functions between the leaf and a known function change nothing.
        #[test]
        fn unknown_helpers_count_for_their_caller(helpers in 0usize..20) {
            let stack = "unheard_of ".repeat(helpers) + "tcp_v4_rcv handle_softirqs";
            prop_assert_eq!(category(&stack), (Context::Softirq, Some(Category::TcpIp)));
        }
    }
}
