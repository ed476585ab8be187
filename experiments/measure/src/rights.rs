//! Explains the kernel's refusals, and what to do about them.

use std::fs;
use std::io;

use anyhow::Error;
use rustix::io::Errno;

/// The file that says what users may measure.
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Explains a refusal that applies to every event and CPU: missing rights, or no perf events at
/// all. `None` if the error concerns only this event.
pub(crate) fn refusal(error: &io::Error) -> Option<Error> {
    let paranoid =
        || fs::read_to_string(PARANOID).map_or_else(|_| "?".into(), |text| text.trim().to_string());
    match errno(error)? {
        Errno::ACCESS | Errno::PERM => Some(no_rights(&paranoid())),
        Errno::NOSYS => Some(Error::msg(
            "this kernel has no performance events (CONFIG_PERF_EVENTS), or a container's seccomp \
             profile hides them: measure from the host",
        )),
        Errno::MFILE => Some(Error::msg(
            "too many open files for the counters of so many CPUs: raise the limit (ulimit -n), \
             or measure fewer with --cpus",
        )),
        _ => None,
    }
}

fn no_rights(paranoid: &str) -> Error {
    Error::msg(format!(
        "this user may not measure the whole machine \
         (kernel.perf_event_paranoid is {paranoid}, and CAP_PERFMON is missing): run it as root, \
         or give the program the rights (setcap cap_perfmon,cap_syslog+ep), or allow everybody \
         (sysctl kernel.perf_event_paranoid=0); in a container, the seccomp profile may forbid it \
         to root as well"
    ))
}

/// Why one event cannot be counted, in words.
pub(crate) fn why(error: &io::Error) -> String {
    let words = match errno(error) {
        Some(Errno::NOENT) => "this machine has no such counter (ENOENT)",
        Some(Errno::NODEV) => "this CPU has no such counter (ENODEV)",
        Some(Errno::OPNOTSUPP) => "this machine has no such counter (EOPNOTSUPP)",
        Some(Errno::INVAL) => "this CPU cannot count it (EINVAL)",
        Some(Errno::BUSY) => "another program uses the counter (EBUSY)",
        _ => return error.to_string(),
    };
    words.into()
}

/// Whether the error says that the machine lacks a hardware counter.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(
        errno(error),
        Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP | Errno::INVAL | Errno::BUSY)
    )
}

fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(errno: Errno) -> io::Error {
        errno.into()
    }

    #[test]
    fn missing_rights_are_named_with_the_next_step() {
        for errno in [Errno::ACCESS, Errno::PERM] {
            let text = refusal(&error(errno)).unwrap().to_string();
            for part in ["kernel.perf_event_paranoid is ", "CAP_PERFMON", "run it as root"] {
                assert!(text.contains(part), "{text}");
            }
            assert!(!is_missing(&error(errno)));
        }
        assert!(no_rights("3").to_string().contains("paranoid is 3"));
    }

    #[test]
    fn a_missing_counter_is_no_refusal_and_has_a_reason() {
        for errno in [Errno::NOENT, Errno::NODEV, Errno::OPNOTSUPP, Errno::INVAL, Errno::BUSY] {
            assert!(refusal(&error(errno)).is_none() && is_missing(&error(errno)));
            assert!(why(&error(errno)).contains("(E"), "{}", why(&error(errno)));
        }
    }
}
