//! docs/doctor.md and `--explain`, both from the table.

use std::fmt::Write;

use crate::row::{Area, Row};
use crate::table::{TABLE, row};

const HEAD: &str = "\
# The findings of `scx_steer doctor`

`scx_steer doctor` looks at a host and says what keeps scx_steer from loading, what the host loses \
between its NICs and its threads, and where long flows run now. It changes nothing. It needs neither \
sched_ext nor root; without root it says what it could not check.

This page is made from the table in `scheduler/doctor/`. Words in braces stand for values that the \
report fills in. A fix holds until the next boot, unless it says otherwise. Each fix comes with its undo.

Errors keep the scheduler from loading. Warnings cost something, whether or not scx_steer is loaded. \
Notes are worth knowing. Within a severity, the report lists the most costly finding first; this page \
has the same order.

Exit codes: 0 all is well, or there are only notes; 1 warnings; 2 errors; 3 neither, but something \
could not be checked.

To show a finding to somebody else: `sudo scx_steer doctor --record FOLDER` writes what the checks \
read, and nothing else, to a folder. `scx_steer doctor --host FOLDER` checks such a folder. It has the \
host's hardware addresses, the addresses of TCP peers and names of cgroups: look before you publish it.
";

const SOURCES: &str = "\
## Sources

*host-network-stack paper*: Cai et al., Understanding Host Network Stack Overheads, SIGCOMM 2021 · \
*multicore paper*: Faulkner et al., Evaluating the Performance of Network Protocol Processing on \
Multi-core Systems · *end-system paper*: Chase et al., End-System Optimizations for High-Speed TCP, \
2001 · *RHEL 7.2 article*: Duyck, 2015 · *million-client paper*: Zhao et al., Scouting the Path to a \
Million-Client Server, 2021. Paths such as `Documentation/` are in the kernel's source.
";

/// The page docs/doctor.md.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for area in Area::ALL {
        page += &format!("\n## {area}\n");
        let rows = TABLE.iter().filter(|row| row.area == area);
        rows.for_each(|row| page += &section(row));
    }
    page + "\n" + SOURCES
}

fn section(row: &Row) -> String {
    let mut text = format!("\n### `{}`\n\n**{}** {}\n", row.id, capital(row), row.title);
    let _ = writeln!(text, "\n*Looks at:* {}", row.looks);
    let _ = writeln!(text, "\n*Why:* {} ({})", row.why, row.source);
    if row.fix.is_empty() {
        text += "\n*Fix:* no command mends this; see above.\n";
    } else {
        text += &format!("\n*Fix:*\n\n{}\n*Undo:*\n\n{}", code(row.fix), code(row.undo));
    }
    text.trim_end().to_owned() + "\n"
}

fn capital(row: &Row) -> String {
    let name = row.severity.to_string();
    format!("{}{}.", name[..1].to_uppercase(), &name[1..])
}

fn code(commands: &str) -> String {
    commands.lines().map(|line| format!("    {line}\n")).collect()
}

/// What `--explain` prints.
///
/// # Errors
/// There is no such finding; the message lists those that there are.
pub fn explain(id: &str) -> Result<String, String> {
    let known = || TABLE.iter().map(|row| row.id).collect::<Vec<_>>().join(", ");
    let row = row(id).ok_or_else(|| format!("there is no finding {id}; there are: {}", known()))?;
    let text = section(row).replace("### ", "").replace(['*', '`'], "");
    let wrap = |line: &str| match line.starts_with("    ") {
        true => line.to_owned(),
        false => textwrap::fill(line, 100),
    };
    Ok(text.trim().lines().map(wrap).collect::<Vec<_>>().join("\n") + "\n")
}
