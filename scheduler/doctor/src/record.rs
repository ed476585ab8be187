//! Records a host: what the checks read, as a folder that they can be run on again, elsewhere. It
//! holds only what was read.

use std::fs;
use std::io;
use std::path::Path;

use steer_nic::writers;

use crate::host::Host;
use crate::root::DENIED;

/// The file with the facts that are not files.
pub(crate) const FACTS: &str = "facts.json";

/// A kernel file that is larger is left out: BTF has megabytes.
const MOST: usize = 1 << 20;

/// Writes what the checks have read of `host` to a new folder. Run them first.
///
/// # Errors
/// The folder exists, or cannot be written.
pub fn record(host: &Host, folder: &Path) -> io::Result<()> {
    let named = |error: io::Error, path: &Path| {
        io::Error::new(error.kind(), format!("writing {}: {error}", path.display()))
    };
    fs::create_dir(folder).map_err(|error| named(error, folder))?;
    let reads = host.root.reads();
    let mut files = reads.contents;
    files.retain(|_, content| content.len() <= MOST);
    files.extend(of_writers(host));
    // the cgroup tree may be mounted elsewhere; a recording has it in one place
    let usual = |path: String| match path.strip_prefix(&host.cgroups) {
        Some(rest) => format!("sys/fs/cgroup{rest}"),
        None => path,
    };
    let facts = serde_json::to_vec_pretty(&host.facts).map_err(io::Error::other)?;
    let denied: Vec<String> = reads.denied.into_iter().map(usual).collect();
    let others = [(FACTS.to_owned(), facts), (DENIED.to_owned(), lines(&denied).into_bytes())];
    for path in reads.folders {
        let path = folder.join(path);
        fs::create_dir_all(&path).map_err(|error| named(error, &path))?;
    }
    let files = files.into_iter().map(|(path, content)| (usual(path), content));
    for (path, content) in files.chain(others) {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|error| named(error, parent))?;
        fs::write(&path, content).map_err(|error| named(error, &path))?;
    }
    Ok(())
}

/// The files that [`writers`] read, as it reads by itself.
fn of_writers(host: &Host) -> Vec<(String, Vec<u8>)> {
    let root = host.root.folder();
    let path = |seen: &str| match seen.strip_prefix("process ") {
        Some(process) => Some(format!("proc/{process}/comm")),
        None => {
            let (path, _line) = seen.rsplit_once(':')?;
            Some(Path::new(path).strip_prefix(root).ok()?.to_str()?.to_owned())
        }
    };
    let paths = writers(root).into_iter().filter_map(|writer| path(&writer.seen));
    paths.filter_map(|path| Some((path.clone(), fs::read(root.join(&path)).ok()?))).collect()
}

fn lines(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{text}\n")).collect()
}
