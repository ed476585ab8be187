//! Parses the text of a host file. Continues after an error, to report all errors at once.

use std::borrow::Cow;

use steer_topology::CpuSet;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{HostConfig, NicMode, NicWish, ServingCores};
use crate::{
    files::Source,
    problem::{Problem, Severity},
    rules::{Given, NicName, Refusal, Text, Value, similar},
};

const KEYS: [&str; 2] = ["on-exit", "nic"];
const NIC_KEYS: [&str; 3] = ["mode", "cpus", "cores"];
const TABLES: &str = "a table for each interface, as in [nic.eth0]";
const CPU_LIST: &str = "a list of CPUs, as in \"0-3,8\"";

/// What `source` wants, and its problems.
pub(super) fn read(source: &Source) -> (HostConfig, Vec<Problem>) {
    let mut text = Text::new(source);
    let mut config = HostConfig::default();
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    for error in &errors {
        text.syntax_error(error);
    }
    // Keys below a broken line may stand in the wrong table: complaints about them only distract.
    if !errors.is_empty() {
        return (config, text.problems);
    }
    for (key, value) in table.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("nic", DeValue::Table(nics)) => {
                for (name, wish) in nics {
                    if let Some((name, wish)) = nic(&mut text, name, wish) {
                        config.nics.insert(name, wish);
                    }
                }
            }
            ("nic", _) => {
                let refusal = Refusal::new("not a table", TABLES);
                text.error(value.span().start, Some("nic"), refusal);
            }
            ("on-exit", given) => {
                let given = Given { value: given, text: text.slice(value.span()) };
                match given.choice() {
                    Ok(on_exit) => config.on_exit = on_exit,
                    Err(refusal) => text.error(value.span().start, Some("on-exit"), refusal),
                }
            }
            (name, _) => unknown(&mut text, key.span().start, name, &KEYS),
        }
    }
    (config, text.problems)
}

fn nic(
    text: &mut Text<'_>,
    name: &Spanned<Cow<'_, str>>,
    wish: &Spanned<DeValue<'_>>,
) -> Option<(String, NicWish)> {
    let start = name.span().start;
    let as_value = DeValue::String(Cow::Borrowed(name.get_ref()));
    let given = Given { value: &as_value, text: text.slice(name.span()) };
    let named = NicName::read(&given).map_err(|refusal| text.error(start, Some("nic"), refusal));
    let DeValue::Table(table) = wish.get_ref() else {
        text.error(wish.span().start, Some("nic"), Refusal::new("not a table", TABLES));
        return None;
    };
    let before = text.problems.len();
    let mut read = NicWish::default();
    for (key, value) in table {
        let given = Given { value: value.get_ref(), text: text.slice(value.span()) };
        let name = key.get_ref().as_ref();
        let result = match name {
            "mode" => given.choice().map(|mode| read.mode = mode),
            "cpus" => cpus(&given).map(|cpus| read.cpus = Some(cpus)),
            "cores" => Value::read(&given).map(|cores| read.cores = cores),
            _ => {
                unknown(text, key.span().start, name, &NIC_KEYS);
                continue;
            }
        };
        if let Err(refusal) = result {
            text.error(value.span().start, Some(name), refusal);
        }
    }
    if !table.contains_key("mode") {
        text.error(start, Some("mode"), Refusal::new("missing", "a mode for every interface"));
    }
    if text.problems.len() > before {
        return None;
    }
    if read.mode == NicMode::Keep && table.len() > 1 {
        text.error(start, Some("mode"), "\"keep\" changes nothing: cpus and cores have no effect");
        text.problems.last_mut()?.severity = Severity::Warning;
    }
    if read.mode == NicMode::Rules && read.cores == ServingCores::ByLoad {
        let why = "\"load\" has no effect with mode = \"rules\": pools say which cores serve";
        text.error(start, Some("cores"), why);
        text.problems.last_mut()?.severity = Severity::Warning;
        read.cores = ServingCores::All;
    }
    Some((named.ok()?.as_str().to_owned(), read))
}

fn cpus(given: &Given<'_>) -> Result<CpuSet, Refusal> {
    let text = given.string(CPU_LIST)?;
    let cpus: CpuSet = text.parse().map_err(|error| Refusal::new(format!("{error}"), CPU_LIST))?;
    match cpus.is_empty() {
        true => Err(Refusal::new("no CPU", CPU_LIST)),
        false => Ok(cpus),
    }
}

fn unknown(text: &mut Text<'_>, start: usize, name: &str, known: &[&'static str]) {
    let meant = similar(name, known.iter().copied()).map(|key| format!("\"{key}\""));
    let refusal = Refusal::new("unknown key", known.join(", ")).meant(meant);
    text.error(start, Some(name), refusal);
}
