//! What to archive, and under which names.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// The file that `steer-bench ab` writes.
const RESULT: &str = "result.json";

/// A JSON file and its name in the archive, without an ending.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl Source {
    /// Everything that the paths name. A folder means its own result, called `result`, and the
    /// results of the folders in it, called by their names.
    ///
    /// # Errors
    /// A path is missing, a folder has no result, or two results have the same name.
    pub(super) fn all(paths: &[PathBuf]) -> Result<Vec<Self>> {
        let mut sources: Vec<Self> = Vec::new();
        for path in paths {
            let found = if path.is_dir() { inside(path)? } else { vec![Self::file(path)?] };
            ensure!(
                !found.is_empty(),
                "{} has no {RESULT}, and no folder in it has one",
                path.display()
            );
            for source in found {
                let twin = sources.iter().find(|other| other.name == source.name);
                ensure!(
                    twin.is_none(),
                    "{} and {} would both be called {}: archive them in separate folders",
                    twin.map_or(Path::new(""), |twin| &twin.path).display(),
                    source.path.display(),
                    source.name
                );
                sources.push(source);
            }
        }
        Ok(sources)
    }

    fn file(path: &Path) -> Result<Self> {
        ensure!(path.exists(), "{} does not exist", path.display());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let name = name.strip_suffix(".json").with_context(|| {
            format!("{} is not a JSON file by its name: only *.json is archived", path.display())
        })?;
        Ok(Self { name: name.to_owned(), path: path.to_owned() })
    }
}

/// The results in a folder: its own first, the others by name.
fn inside(folder: &Path) -> Result<Vec<Source>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    folders.sort_unstable();
    let own = Source { name: "result".to_owned(), path: folder.join(RESULT) };
    let named = folders.iter().map(|inner| Source {
        name: inner.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: inner.join(RESULT),
    });
    Ok(std::iter::once(own).chain(named).filter(|source| source.path.exists()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_result_and_those_of_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for name in ["iperf3", "again", "empty"] {
            fs::create_dir(place(name)).unwrap();
        }
        for name in ["result.json", "report.html", "iperf3/result.json", "again/result.json"] {
            fs::write(place(name), "{}").unwrap();
        }
        let found = Source::all(&[folder.path().to_owned()]).unwrap();
        let names: Vec<_> = found.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names, ["result", "again", "iperf3"]);
    }

    #[test]
    fn what_cannot_be_archived_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        fs::create_dir(place("a")).unwrap();
        fs::create_dir(place("empty")).unwrap();
        for name in ["one.json", "a/one.json", "notes.txt"] {
            fs::write(place(name), "{}").unwrap();
        }
        for (names, message) in [
            (&["none.json"][..], "none.json does not exist"),
            (&["empty"], "has no result.json, and no folder in it has one"),
            (&["notes.txt"], "is not a JSON file by its name"),
            (&["one.json", "a/one.json"], "would both be called one"),
        ] {
            let paths: Vec<_> = names.iter().map(|name| place(name)).collect();
            let error = format!("{:#}", Source::all(&paths).unwrap_err());
            assert!(error.contains(message), "{error}");
        }
    }
}
