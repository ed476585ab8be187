//! Reads a machine's file: TOML with exactly the keys of `keys.rs`. Every mistake is an error with
//! file, line and key.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Machine;
use super::keys::{CACHES, KEYS, Key, ORDER};

/// Bytes of a line.
const LINE: usize = 64;

/// A file that is being read.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
    /// Values and their places, by section and key.
    found: BTreeMap<&'static str, (f64, Range<usize>)>,
}

impl Machine {
    /// Reads the text of a machine's file.
    ///
    /// # Errors
    /// Names the path, the line and the key of the first mistake.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut file = File { path, text, found: BTreeMap::new() };
        let name = file.read()?;
        for key in &KEYS {
            ensure!(
                file.found.contains_key(key.name),
                "{}: {} is missing",
                path.display(),
                key.name
            );
        }
        file.check_order()?;
        file.check_caches()?;
        let values = file.found.into_iter().map(|(key, (value, _))| (key, value)).collect();
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { id, name, values })
    }
}

impl File<'_> {
    /// Where in the file, for messages.
    fn at(&self, place: &Range<usize>) -> String {
        let line = self.text[..place.start].matches('\n').count() + 1;
        format!("{}:{line}", self.path.display())
    }

    /// Takes all values, and returns the name.
    fn read(&mut self) -> Result<String> {
        let document = DeTable::parse(self.text).map_err(|error| {
            let place = error.span().unwrap_or_default();
            anyhow::Error::msg(format!("{}: {}", self.at(&place), error.message()))
        })?;
        let mut name = None;
        for (key, value) in document.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("name", DeValue::String(text)) => name = Some(text.to_string()),
                (section, DeValue::Table(table)) => self.take_section(section, table)?,
                (other, _) => {
                    bail!("{}: {other} is neither the name nor a section", self.at(&key.span()))
                }
            }
        }
        let name = name.filter(|name| !name.trim().is_empty());
        name.with_context(|| format!("{}: the machine has no name", self.path.display()))
    }

    fn take_section(&mut self, section: &str, table: &DeTable<'_>) -> Result<()> {
        for (key, value) in table {
            let full = format!("{section}.{}", key.get_ref());
            let known = KEYS.iter().find(|known| known.name == full);
            let known =
                known.with_context(|| format!("{}: unknown key {full}", self.at(&key.span())))?;
            let taken = self.take(known, value)?;
            self.found.insert(known.name, (taken, value.span()));
        }
        Ok(())
    }

    /// A value in its range.
    fn take(&self, key: &Key, value: &Spanned<DeValue<'_>>) -> Result<f64> {
        let at = self.at(&value.span());
        let digits = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(_) => bail!("{at}: {} is a decimal number", key.name),
            other => bail!("{at}: {} is a number, not a {}", key.name, other.type_str()),
        };
        let number: f64 = digits
            .replace('_', "")
            .parse()
            .with_context(|| format!("{at}: {} is a number, not {digits}", key.name))?;
        let kind = if key.whole { "a whole number" } else { "a number" };
        ensure!(
            (key.least..=key.most).contains(&number) && (!key.whole || number.fract() == 0.0),
            "{at}: {} is {kind} from {} to {}, not {digits}",
            key.name,
            key.least,
            key.most
        );
        Ok(number)
    }

    fn check_order(&self) -> Result<()> {
        for (near, far) in ORDER {
            let ((low, place), (high, _)) = (&self.found[near], &self.found[far]);
            ensure!(low <= high, "{}: {near} ({low}) is above {far} ({high})", self.at(place));
        }
        Ok(())
    }

    fn check_caches(&self) -> Result<()> {
        for (size, ways) in CACHES {
            let ((kib, place), (in_set, _)) = (&self.found[size], &self.found[ways]);
            let (bytes, set) = (*kib as usize * 1024, *in_set as usize * LINE);
            ensure!(
                bytes.is_multiple_of(set),
                "{}: {size} ({kib}) does not divide into sets of {in_set} lines of {LINE} bytes",
                self.at(place)
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;

    use super::*;

    fn folder(name: &str) -> Vec<std::path::PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let mut paths: Vec<_> =
            fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
        paths.sort_unstable();
        paths
    }

    fn read(path: &Path) -> Result<Machine> {
        // Messages must not depend on where the project is.
        let name = Path::new(path.file_name().unwrap());
        Machine::parse(&fs::read_to_string(path).unwrap(), name)
    }

    #[test]
    fn every_machine_of_the_project_can_be_read() {
        let machines = folder("machines");
        assert!(machines.len() >= 4);
        for path in machines {
            let machine = read(&path).unwrap();
            assert!(machine.value("latency.dram") > machine.value("latency.l3"), "{}", machine.id);
        }
    }

    #[test]
    fn every_mistake_is_named_with_its_line() {
        let mut said = String::new();
        for path in folder("tests/bad") {
            let error = format!("{:#}", read(&path).unwrap_err());
            writeln!(said, "{error}").unwrap();
        }
        insta::assert_snapshot!(said);
    }
}
