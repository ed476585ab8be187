//! The metrics' names. The statistics' names are short and stand in one line; these stand alone, and
//! the class of a thread or a flow is a label.

/// A metric that counts decisions: the statistic's field, the metric's name (without `scx_steer_` and
/// `_total`), its class, its help.
pub(super) type Row = (&'static str, &'static str, Option<&'static str>, &'static str);

/// One row for each field of the statistics. Rows of one name are neighbours, and the first has the
/// help.
pub(super) const DECISIONS: [Row; 27] = [
    ("long_home", "wakeups_home", Some("long"), "Wake-ups on the thread's NIC-local home CPU"),
    ("long_local", "wakeups_local", Some("long"), "Wake-ups on another NIC-local CPU"),
    ("long_remote", "wakeups_remote", Some("long"), "Wake-ups on a home CPU far from the NIC"),
    (
        "long_unplaced",
        "wakeups_unplaced",
        Some("long"),
        "Wake-ups of long-flow threads whose NIC or home CPU is unknown",
    ),
    ("long_spilled", "spilled", Some("long"), "Threads that left a full core"),
    (
        "long_searches",
        "searches",
        Some("long"),
        "Times all CPUs were looked at for a place for a thread",
    ),
    ("short_idle", "wakeups_idle", Some("short"), "Wake-ups on an idle, unclaimed CPU"),
    ("none_idle", "wakeups_idle", Some("none"), ""),
    ("short_queued", "wakeups_queued", Some("short"), "Wake-ups into a queue"),
    ("none_queued", "wakeups_queued", Some("none"), ""),
    ("short_lent", "lent", Some("short"), "Times a thread got a CPU of a claimed core"),
    ("none_lent", "lent", Some("none"), ""),
    ("pool", "wakeups_pool", None, "Wake-ups in a pool that a policy names"),
    ("preempted", "preempted", None, "Threads preempted for one that takes precedence on the CPU"),
    ("stolen", "stolen", None, "Threads taken from the queue of other CPUs"),
    ("rescued", "rescued", None, "Threads that got an idle CPU because they had waited too long"),
    ("kthreads", "kthreads", None, "Per-CPU kthreads that ran ahead of everything else"),
    (
        "speed_hints",
        "speed_hints",
        None,
        "Times the speed that a CPU needs, as the governor schedutil is told, changed",
    ),
    ("claims", "claims", None, "Cores newly claimed by long-flow threads"),
    ("reserved", "reservations", None, "Cores newly reserved for short-flow threads"),
    ("released", "releases", None, "Reserved cores given back"),
    (
        "steering_followed",
        "moves_followed",
        None,
        "Moves of long-flow threads that packets followed",
    ),
    ("steering_stayed", "moves_not_followed", None, "Moves that packets did not follow"),
    ("flows_long", "flows", Some("long"), "Flows that became long or short"),
    ("flows_short", "flows", Some("short"), ""),
    ("policy_reloads", "policy_reloads", None, "Times new policy files were put in force"),
    ("policy_refusals", "policy_refusals", None, "Times policy files were refused"),
];
