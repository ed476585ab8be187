//! The archived form of JSON. A result becomes two files. `NAME.json` is readable, and its `raw`
//! names the other file. `NAME.samples.jsonl.gz` has one sample per line. Any other JSON becomes
//! `NAME.json.gz`. The text of every number stays the same.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::ptr;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use indexmap::IndexMap;
use serde_json::value::{RawValue, to_raw_value};

use super::layout;
use super::sample::Sample;
use super::types::AbResult;

/// The member that has a result's samples, or the name of the file with them.
const SAMPLES: &str = "raw";
/// The member of a sample that has its observer's report, and the member of that with its timeline.
const OBSERVE: &str = "observe";
const TIMELINE: &str = "timeline";
/// Ending of a file with samples.
const SAMPLES_ENDING: &str = ".samples.jsonl.gz";
/// Ending of a compressed file.
const COMPRESSED: &str = "gz";
/// The file that is read if the path is a folder.
const RESULT: &str = "result.json";

/// The members of a document, in their order, each with its text.
type Members<'a> = IndexMap<String, &'a RawValue>;

/// The file to read for a path. If the path is a folder, this is its `result.json`.
///
/// # Errors
/// The folder has no such file. The message lists the files to choose from.
pub fn locate(path: &Path) -> Result<PathBuf> {
    let inside = path.join(RESULT);
    if !path.is_dir() || inside.exists() {
        return Ok(if path.is_dir() { inside } else { path.to_owned() });
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut results: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
    results.sort_unstable();
    match &results[..] {
        [] => bail!("{} has no {RESULT}", path.display()),
        names => bail!("{} has no {RESULT}: name one of {}", path.display(), names.join(", ")),
    }
}

/// The whole JSON text of a file: plain, compressed, or archived in two files.
///
/// # Errors
/// A file is missing or damaged. The message names it, and the line if a sample is not JSON.
pub fn text(path: &Path) -> Result<String> {
    let text = contents(path)?;
    // Not an object: the caller's parser reports that.
    let Ok(mut members) = serde_json::from_str::<Members>(&text) else { return Ok(text) };
    let Some(name) = members.get(SAMPLES).and_then(|raw| serde_json::from_str(raw.get()).ok())
    else {
        return Ok(text);
    };
    let name: String = name;
    ensure!(
        name.ends_with(SAMPLES_ENDING) && !name.contains('/'),
        "{} says that its samples are in {name:?}, which is not a name of such a file",
        path.display()
    );
    let beside = path.with_file_name(name);
    let samples = contents(&beside)
        .with_context(|| format!("the samples of {} cannot be read", path.display()))?;
    for (index, line) in samples.lines().enumerate() {
        serde_json::from_str::<&RawValue>(line)
            .with_context(|| format!("{}, line {}", beside.display(), index + 1))?;
    }
    let list = format!("[{}]", samples.lines().collect::<Vec<_>>().join(",\n"));
    let list = RawValue::from_string(list)?;
    members.insert(SAMPLES.to_owned(), &list);
    Ok(serde_json::to_string(&members)?)
}

/// The text of a result, in which only an arm's typical sample keeps its timeline: reports draw no
/// other, and timelines are most of a result.
///
/// # Errors
/// The text is not a result's.
pub fn with_typical_timelines(text: &str, result: &AbResult) -> Result<String> {
    let mut members: Members = serde_json::from_str(text)?;
    let raw = members.get(SAMPLES).context("it has no samples")?;
    let samples: Vec<&RawValue> = serde_json::from_str(raw.get())?;
    let kept = |(text, sample): (&RawValue, &Sample)| -> Result<Box<RawValue>> {
        if result.typical(&sample.mode, &sample.arm).is_some_and(|it| ptr::eq(it, sample)) {
            return Ok(text.to_owned());
        }
        let mut parts: Members = serde_json::from_str(text.get())?;
        let observe = parts.get(OBSERVE).context("a sample without an observer's report")?;
        let mut observe: Members = serde_json::from_str(observe.get())?;
        observe.shift_remove(TIMELINE);
        let observe = to_raw_value(&observe)?;
        parts.insert(OBSERVE.to_owned(), &observe);
        Ok(to_raw_value(&parts)?)
    };
    let samples = samples.into_iter().zip(&result.raw).map(kept).collect::<Result<Vec<_>>>()?;
    let samples = to_raw_value(&samples)?;
    members.insert(SAMPLES.to_owned(), &samples);
    Ok(serde_json::to_string(&members)?)
}

/// Archives JSON text under a name in a folder.
///
/// # Errors
/// The text is not JSON, a file cannot be written, or it reads back differently.
pub fn write(text: &str, folder: &Path, name: &str) -> Result<()> {
    let whole: &RawValue = serde_json::from_str(text)?;
    let members = serde_json::from_str::<Members>(text).ok();
    let samples = members.as_ref().and_then(|members| {
        serde_json::from_str::<Vec<&RawValue>>(members.get(SAMPLES)?.get()).ok()
    });
    let written = match (members, samples) {
        (Some(mut members), Some(samples)) => {
            let beside = format!("{name}{SAMPLES_ENDING}");
            let lines = samples.into_iter().map(|sample| layout::compact(sample) + "\n");
            compress(&folder.join(&beside), &lines.collect::<String>())?;
            let beside = RawValue::from_string(serde_json::to_string(&beside)?)?;
            members.insert(SAMPLES.to_owned(), &beside);
            let summary = RawValue::from_string(serde_json::to_string(&members)?)?;
            let path = folder.join(format!("{name}.json"));
            super::write_whole(&path, &layout::readable(&summary)?)?;
            path
        }
        _ => {
            let path = folder.join(format!("{name}.json.{COMPRESSED}"));
            compress(&path, &(layout::compact(whole) + "\n"))?;
            path
        }
    };
    let again = RawValue::from_string(self::text(&written)?)?;
    ensure!(
        layout::compact(&again) == layout::compact(whole),
        "{} reads back differently from what was archived",
        written.display()
    );
    Ok(())
}

/// The text of a file. Its name says whether it is compressed.
fn contents(path: &Path) -> Result<String> {
    let name = path.display();
    if path.extension().is_none_or(|ending| ending != COMPRESSED) {
        return fs::read_to_string(path).with_context(|| format!("cannot read {name}"));
    }
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let mut text = String::new();
    MultiGzDecoder::new(file)
        .read_to_string(&mut text)
        .with_context(|| format!("{name} is not a gzip file of text, or is damaged"))?;
    Ok(text)
}

/// Writes a compressed file. It contains no name and no time, so equal texts give equal files.
fn compress(path: &Path, text: &str) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let file = File::create(path)?;
        let mut packed = GzBuilder::new().write(file, Compression::best());
        packed.write_all(text.as_bytes())?;
        packed.finish()?.sync_all()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::archived;
    use crate::layout::tests::any_json;

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn an_archive_reads_as_what_was_archived(
            before in any_json(),
            samples in prop::collection::vec(any_json(), 0..20),
            after in any_json(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let result = json!({"before": before, "raw": samples, "worlds": after});
            write(&serde_json::to_string_pretty(&result).unwrap(), folder.path(), "one").unwrap();
            prop_assert_eq!(parsed(&text(&folder.path().join("one.json")).unwrap()), result);
            // Anything but a result is compressed as a whole.
            write(&before.to_string(), folder.path(), "other").unwrap();
            if before.get("raw").is_none() {
                let again = text(&folder.path().join("other.json.gz")).unwrap();
                prop_assert_eq!(parsed(&again), before);
            }
        }
    }

    #[test]
    fn a_sample_has_a_line_and_equal_results_have_equal_files() {
        let folder = tempfile::tempdir().unwrap();
        let result = r#"{ "seed": 1.50, "raw": [ {"a": [1, 2]}, {"a": "b c"} ] }"#;
        let write_one = |name: &str| -> [Vec<u8>; 2] {
            write(result, folder.path(), name).unwrap();
            [".json", SAMPLES_ENDING]
                .map(|ending| fs::read(folder.path().join(format!("{name}{ending}"))).unwrap())
        };
        let [summary, samples] = write_one("one");
        assert_eq!(summary, b"{\"seed\":1.50,\"raw\":\"one.samples.jsonl.gz\"}\n");
        assert_eq!(write_one("one")[1], samples);
        let lines = contents(&folder.path().join("one.samples.jsonl.gz")).unwrap();
        assert_eq!(lines, "{\"a\":[1,2]}\n{\"a\":\"b c\"}\n");
    }

    #[test]
    fn only_typical_samples_keep_their_timelines() {
        let path = Path::new(archived::DEMO);
        let whole = AbResult::read(path).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let trimmed = with_typical_timelines(&text(path).unwrap(), &whole).unwrap();
        write(&trimmed, folder.path(), "result").unwrap();
        let trimmed = AbResult::read(folder.path()).unwrap();
        let typical =
            |it: &Sample| whole.typical(&it.mode, &it.arm).is_some_and(|one| ptr::eq(one, it));
        let mut expected = whole.clone();
        for (sample, before) in expected.raw.iter_mut().zip(&whole.raw) {
            sample.observe.timeline.take_if(|_| !typical(before));
        }
        assert_eq!(trimmed, expected);
        let timelines = |result: &AbResult| {
            result.raw.iter().filter(|sample| sample.observe.timeline.is_some()).count()
        };
        assert!(0 < timelines(&trimmed) && timelines(&trimmed) < timelines(&whole));
    }

    #[test]
    fn a_broken_archive_says_what_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let summary = place("one.json");
        let says = |path: &Path| format!("{:#}", text(path).unwrap_err());
        write(r#"{"raw": [{"a": 1}, {"a": 2}]}"#, folder.path(), "one").unwrap();
        let samples = place("one.samples.jsonl.gz");
        let good = fs::read(&samples).unwrap();
        fs::write(&samples, &good[..good.len() - 9]).unwrap();
        assert!(
            says(&summary)
                .contains("one.samples.jsonl.gz is not a gzip file of text, or is damaged")
        );
        compress(&samples, "{\"a\":1}\n{\"a\":\n").unwrap();
        assert!(says(&summary).contains("one.samples.jsonl.gz, line 2: EOF"), "{}", says(&summary));
        fs::remove_file(&samples).unwrap();
        let said = says(&summary);
        for part in ["the samples of", "one.json cannot be read", "cannot read", "No such file"] {
            assert!(said.contains(part), "{said}");
        }
        for name in ["../one.samples.jsonl.gz", "/etc/passwd"] {
            fs::write(&summary, json!({"raw": name}).to_string()).unwrap();
            assert!(says(&summary).contains("which is not a name of such a file"));
        }
    }

    #[test]
    fn a_folder_stands_for_its_result() {
        let folder = tempfile::tempdir().unwrap();
        let says = || format!("{:#}", locate(folder.path()).unwrap_err());
        assert!(says().contains("has no result.json"));
        for name in ["b.json", "a.json", "a.samples.jsonl.gz", "run.toml"] {
            fs::write(folder.path().join(name), "{}").unwrap();
        }
        assert!(says().ends_with("has no result.json: name one of a.json, b.json"), "{}", says());
        let result = folder.path().join("result.json");
        fs::write(&result, "{}").unwrap();
        assert_eq!(locate(folder.path()).unwrap(), result);
        assert_eq!(locate(&result).unwrap(), result);
    }
}
