//! `scx_steer generate`: man pages and shell completions, made from the command line's own types.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::{Args, Command, CommandFactory};
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;

use crate::cli::Cli;

/// Options of `generate`.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// The folder; it is made if it is missing.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The day that man pages show, as 2026-11-24.
    #[arg(long, value_name = "DAY", default_value = "")]
    date: String,
}

/// Commands for administrators: their man pages are in section 8. All others are in section 1.
const ADMINISTRATION: [&str; 3] = ["scx_steer", "scx_steer-observe", "scx_steer-nic"];

/// Writes all man pages to `man/`, and a completion for each shell to `completions/`.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn run(args: &GenerateArgs) -> Result<()> {
    let man = args.folder.join("man");
    let completions = args.folder.join("completions");
    for folder in [&man, &completions] {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    let mut all = Vec::new();
    names(&cli, &mut all);
    pages(&cli, &all, &man, &args.date)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut Cli::command(), "scx_steer", &completions)
            .with_context(|| format!("writing the completion for {shell}"))?;
    }
    Ok(())
}

/// Full names of a command and those below it, such as `scx_steer-nic-plan`, without hidden ones.
fn names(command: &Command, all: &mut Vec<String>) {
    all.push(name(command).to_owned());
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        names(subcommand, all);
    }
}

fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// The man page of a command and those of its subcommands.
fn pages(command: &Command, all: &[String], folder: &Path, date: &str) -> Result<()> {
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        pages(subcommand, all, folder, date)?;
    }
    let section = section(name(command));
    let mut page = Vec::new();
    Man::new(command.clone())
        .section(section)
        .date(date)
        .source(concat!("scx_steer ", env!("CARGO_PKG_VERSION")))
        .manual("scx_steer")
        .render(&mut page)
        .context("rendering a man page")?;
    let page = mended(&String::from_utf8(page)?, section, all);
    let file = folder.join(format!("{}.{section}", name(command)));
    fs::write(&file, page).with_context(|| format!("writing {}", file.display()))
}

/// What the generator gets wrong: it takes all pages to be in one section, and it fills the lines of
/// examples.
fn mended(page: &str, here: &str, all: &[String]) -> String {
    let mut text = String::new();
    let mut verbatim = false;
    for line in page.lines() {
        let line = if line == ".SH EXTRA" { ".SH NOTES" } else { line };
        if line.starts_with("  ") != verbatim {
            text.push_str(if verbatim { ".fi\n" } else { ".nf\n" });
            verbatim = !verbatim;
        }
        text.push_str(line);
        text.push('\n');
    }
    if verbatim {
        text.push_str(".fi\n");
    }
    for name in all {
        let shown = name.replace('-', "\\-");
        text = text.replace(&format!("{shown}({here})"), &format!("{shown}({})", section(name)));
    }
    text
}

fn section(name: &str) -> &'static str {
    let of = |admin: &str| name == admin || (admin != "scx_steer" && name.starts_with(admin));
    if ADMINISTRATION.iter().any(|admin| of(admin)) { "8" } else { "1" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_man_page_and_each_shell_a_completion() {
        let dir = tempfile::tempdir().unwrap();
        let args = GenerateArgs { folder: dir.path().into(), date: "2026-11-24".into() };
        run(&args).unwrap();
        let mut cli = Cli::command().disable_help_subcommand(true);
        cli.build();
        let mut all = Vec::new();
        names(&cli, &mut all);
        assert!(all.len() > 10, "{all:?}");
        for name in &all {
            let page = format!("{name}.{}", section(name));
            let text = fs::read_to_string(dir.path().join("man").join(&page)).unwrap();
            assert!(text.contains("2026-11-24") && text.contains(".SH NAME"), "{page}:\n{text}");
            assert_eq!(text.matches("\n.nf\n").count(), text.matches("\n.fi\n").count(), "{page}");
            for other in &all {
                // a reference to a page names the section that the page is in
                let wrong = if section(other) == "1" { "(8)" } else { "(1)" };
                let wrong = format!("{}{wrong}", other.replace('-', "\\-"));
                assert!(!text.contains(&wrong), "{page} refers to {wrong}");
            }
        }
        assert_eq!(fs::read_dir(dir.path().join("man")).unwrap().count(), all.len());
        for file in ["scx_steer.bash", "_scx_steer", "scx_steer.fish"] {
            let text = fs::read_to_string(dir.path().join("completions").join(file)).unwrap();
            for subcommand in cli.get_subcommands().filter(|it| !it.is_hide_set()) {
                assert!(text.contains(subcommand.get_name()), "{file}: {}", subcommand.get_name());
            }
        }
    }
}
