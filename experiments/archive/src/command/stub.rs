//! The first lines of an archive's README.md and run.toml: what the results themselves record.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use steer_result::{AbResult, Environment};

/// The commit that is checked out here, with a remark if files differ from it.
///
/// # Errors
/// This is not a git repository.
pub(super) fn checked_out() -> Result<String> {
    let git = |args: &[&str]| -> Result<String> {
        let output = Command::new("git").args(args).output().context("cannot start git")?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        ensure!(output.status.success(), "git says: {said}");
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"])
        .context("the commit is not known: name it with --commit")?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Ok(if changed { format!("{commit}, with changes") } else { commit })
}

/// Writes both files.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write(folder: &Path, results: &[(&str, AbResult)], commit: &str) -> Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    for (file, text) in [("README.md", readme(&name, results, commit)), ("run.toml", run(commit))] {
        let path = folder.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn readme(name: &str, results: &[(&str, AbResult)], commit: &str) -> String {
    let mut text = format!("# {name}\n\nWhat was asked: \n\n");
    for (result, AbResult { command, .. }) in results {
        text += &format!("    {}    # {result}.json\n", words(command));
    }
    if let [(result, _), ..] = results {
        text += &format!("    steer-bench table experiments/runs/{name}/{result}.json\n\n");
    }
    text += &format!("Commit {commit}.");
    let mut machines: Vec<String> =
        results.iter().map(|(_, result)| machine(&result.environment)).collect();
    machines.dedup();
    for machine in machines {
        text += &format!(" {machine}.");
    }
    text + "\n\nWhat it shows: \n\nWhat falls short: \n"
}

fn run(commit: &str) -> String {
    format!(
        "# What docs/results.md takes from this run: see experiments/runs/README.md.\n\
         title = \"\"\n\
         commit = \"{commit}\"\n\
         \n\
         # [[question]]\n\
         # group = \"placement\"\n\
         # asks = \"\"\n\
         # [[question.ab]]\n\
         # metrics = [\"local_share\", \"home_share\", \"mixed_share\"]\n"
    )
}

/// A command, quoted for a shell. Folders of the machine that ran it tell nobody anything: of an
/// absolute path, the last part is left.
pub(crate) fn words(command: &[String]) -> String {
    let quoted = command.iter().map(|word| {
        let last = word.strip_prefix('/').and_then(|path| path.rsplit('/').next());
        let word = last.unwrap_or(word);
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=+,./:%@".contains(letter);
        if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The machine in a sentence, without what is unknown.
pub(crate) fn machine(environment: &Environment) -> String {
    let emulated = environment.accelerator.as_deref().map(str::to_uppercase);
    let parts = [
        environment.kernel.as_ref().map(|kernel| format!("Kernel {kernel}")),
        environment.qemu.clone().zip(emulated).map(|(qemu, how)| format!("{qemu} ({how})")),
        environment.shape.as_ref().map(|shape| format!("{shape} CPUs")),
        environment
            .host_cpu
            .clone()
            .zip(environment.host_cpus)
            .map(|(cpu, n)| format!("on {n} × {cpu}")),
        environment.host_kernel.as_ref().map(|kernel| format!("host kernel {kernel}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again_elsewhere() {
        let command = ["/tmp/x/steer-bench", "ab", "--stage", "long-flows=0 hogs=0", "", "it's"];
        let command: Vec<String> = command.map(str::to_owned).into();
        assert_eq!(words(&command), r"steer-bench ab --stage 'long-flows=0 hogs=0' '' 'it'\''s'");
    }

    #[test]
    fn what_is_unknown_of_a_machine_is_left_out() {
        assert_eq!(machine(&Environment::default()), "");
        let lab = Environment {
            accelerator: Some("tcg".into()),
            qemu: Some("QEMU 10".into()),
            shape: Some("2x2x1".into()),
            ..Environment::default()
        };
        assert_eq!(machine(&lab), "QEMU 10 (TCG), 2x2x1 CPUs");
    }
}
