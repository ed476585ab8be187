//! Spec files. An experiment is one question and the A/B runs that answer it. Options have the
//! names and meanings of the flags of `steer-bench ab`, which also checks them.

mod options;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

pub use options::Options;

/// An experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Name of the file, without its ending.
    #[serde(skip)]
    pub name: String,
    /// The text of the file.
    #[serde(skip)]
    text: String,
    /// The question, in a sentence.
    pub question: String,
    /// Where the question comes from: paper and figure.
    pub source: String,
    /// What the lab cannot answer.
    #[serde(default)]
    pub caveat: Option<String>,
    /// Options of every run.
    #[serde(default)]
    pub options: Options,
    /// What varies from run to run.
    #[serde(default, rename = "point")]
    pub points: Vec<Point>,
}

/// One run of an experiment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Its name, which is unique in the experiment and part of a path.
    pub name: String,
    /// Options of this run. They override the experiment's.
    #[serde(default)]
    pub options: Options,
}

impl Spec {
    /// Reads a spec file.
    ///
    /// # Errors
    /// The file cannot be read or parsed. The message names it, with line and column.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&name, &text).with_context(|| path.display().to_string())
    }

    /// Saves a copy beside the experiment's results, so that these include the question.
    ///
    /// # Errors
    /// The folder cannot be made or written to.
    pub fn keep(&self, folder: &Path) -> Result<()> {
        let path = folder.join(format!("{}.toml", self.name));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, &self.text))
            .with_context(|| format!("writing {}", path.display()))
    }

    /// Reads the copy beside an experiment's results.
    ///
    /// # Errors
    /// There is no copy, or more than one. Otherwise as [`Spec::read`].
    pub fn kept(folder: &Path) -> Result<Self> {
        match &files(&[folder.to_owned()])?[..] {
            [one] => Self::read(one),
            several => bail!("{} has {} spec files (*.toml)", folder.display(), several.len()),
        }
    }

    fn parse(name: &str, text: &str) -> Result<Self> {
        let mut spec: Self = toml::from_str(text)?;
        spec.name = name.to_owned();
        spec.text = text.to_owned();
        if spec.points.is_empty() {
            spec.points.push(Point { name: "all".to_owned(), ..Point::default() });
        }
        for (index, point) in spec.points.iter().enumerate() {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
            ensure!(
                !point.name.is_empty() && point.name.chars().all(plain) && point.name != "..",
                "point {:?}: a name has letters, digits, - _ and . only",
                point.name
            );
            let twice = spec.points[..index].iter().any(|other| other.name == point.name);
            ensure!(!twice, "two points are called {:?}", point.name);
        }
        Ok(spec)
    }
}

/// The spec files that `paths` name. A folder stands for its `*.toml` files, ordered by name.
///
/// # Errors
/// A path cannot be read, or a folder has no spec files.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
        let mut found = Vec::new();
        for entry in entries {
            let file = entry.with_context(|| format!("reading {}", path.display()))?.path();
            if file.extension().is_some_and(|ending| ending == "toml") {
                found.push(file);
            }
        }
        if found.is_empty() {
            bail!("{} has no spec files (*.toml)", path.display());
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "question = \"q\"\nsource = \"s\"\n";

    #[test]
    fn without_points_there_is_one() {
        let spec = Spec::parse("x", GOOD).unwrap();
        assert_eq!((spec.name.as_str(), spec.points[0].name.as_str()), ("x", "all"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("question = 1", "invalid type: integer `1`, expected a string"),
            ("question = \"q\"", "missing field `source`"),
            ("questoin = \"q\"", "unknown field `questoin`"),
            ("[[point]]\nname = \"a/b\"", "a name has letters, digits, - _ and . only"),
            ("[[point]]\nname = \"a\"\n[[point]]\nname = \"a\"", "two points are called \"a\""),
            ("[options]\npairs = 1.5", "options are numbers without a fraction, texts"),
            ("[options]\npairs = [[1]]", "options are numbers without a fraction, texts"),
        ] {
            let text =
                if text.starts_with('q') { text.to_owned() } else { format!("{GOOD}{text}") };
            let error = format!("{:#}", Spec::parse("x", &text).unwrap_err());
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_kept_spec_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Spec::kept(folder.path()).is_err(), "there is none");
        let text = format!("{GOOD}[[point]]\nname = \"8-flows\"");
        Spec::parse("incast", &text).unwrap().keep(folder.path()).unwrap();
        let kept = Spec::kept(folder.path()).unwrap();
        assert_eq!((kept.name.as_str(), kept.points[0].name.as_str()), ("incast", "8-flows"));
        fs::write(folder.path().join("other.toml"), text).unwrap();
        let error = format!("{:#}", Spec::kept(folder.path()).unwrap_err());
        assert!(error.ends_with("has 2 spec files (*.toml)"), "{error}");
    }

    #[test]
    fn folders_give_their_specs_by_name() {
        let folder = tempfile::tempdir().unwrap();
        assert!(files(&[folder.path().to_owned()]).is_err());
        for name in ["b.toml", "a.toml", "README.md"] {
            fs::write(folder.path().join(name), GOOD).unwrap();
        }
        let found = files(&[folder.path().to_owned()]).unwrap();
        assert_eq!(found, ["a.toml", "b.toml"].map(|name| folder.path().join(name)));
    }
}
