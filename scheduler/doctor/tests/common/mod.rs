//! Recorded hosts for the tests: text files that hold a tree of small files. The format is txtar's:
//! a comment, then for each file a line `-- path --` and its content.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use steer_doctor::{Area, Host, Report, Wanted};

/// A tree of files in one text.
pub(crate) struct Archive {
    /// What the tree is and where it is from.
    pub(crate) comment: String,
    /// Content by path.
    pub(crate) files: BTreeMap<String, String>,
}

/// The file `tests/KIND/NAME.txtar`.
pub(crate) fn archive(kind: &str, name: &str) -> Archive {
    let path = format!("{}/tests/{kind}/{name}.txtar", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut comment, mut files) = (String::new(), BTreeMap::new());
    let mut path: Option<String> = None;
    for line in text.lines() {
        let header = line.strip_prefix("-- ").and_then(|line| line.strip_suffix(" --"));
        match (header, &path) {
            (Some(header), _) => {
                files.insert(header.to_owned(), String::new());
                path = Some(header.to_owned());
            }
            (None, Some(path)) => {
                let content: &mut String = files.get_mut(path).expect("it was just added");
                *content += &format!("{line}\n");
            }
            (None, None) => comment += &format!("{line}\n"),
        }
    }
    Archive { comment, files }
}

/// The names of all archives of a kind, sorted.
pub(crate) fn names(kind: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(kind);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let archives = paths.filter(|path| path.extension().is_some_and(|end| end == "txtar"));
    let mut names: Vec<String> =
        archives.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Writes a tree. A file whose name ends in `.hex` is written as the bytes it stands for.
pub(crate) fn write(files: &BTreeMap<String, String>, folder: &Path) {
    for (path, content) in files {
        let (path, content) = match path.strip_suffix(".hex") {
            Some(path) => (path, bytes(content)),
            None => (path.as_str(), content.clone().into_bytes()),
        };
        let path: PathBuf = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// The report on a tree of files.
pub(crate) fn report(files: &BTreeMap<String, String>) -> Report {
    let folder = tempfile::tempdir().unwrap();
    write(files, folder.path());
    Report::of(&Host::recorded(folder.path(), Wanted::default()).unwrap(), &Area::ALL)
}
