//! What the comments of the kernel side promise: each field has one writer, and predicates write
//! nothing. Reads the sources as text, so it needs neither clang nor root.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bpf");

/// The structs whose fields name their writer, the file with the struct, and how variables of this
/// type are written in the sources.
const STRUCTS: [(&str, &str, &str); 3] = [
    ("task_ctx", "pure/task.h", r"task"),
    ("cpu_state", "ground/cpu.bpf.h", r"state(?:_of\([^()]*\))?"),
    ("core_use", "place/cores.bpf.h", r"core(?:_of\((?:[^()]|\([^()]*\))*\))?"),
];

/// An operator that writes to what stands before it.
const WRITES: &str = r"(?:\[[^\]]*\])?\s*(?:=[^=]|[-+|&^]=|<<=|>>=|\+\+|--)";

/// All sources for BPF, by file name, without the start values of a thread's context.
fn sources() -> Vec<(String, String)> {
    let start = Regex::new(r"(?s)BPF_STRUCT_OPS\(steer_init_task.*?\n}").unwrap();
    let mut sources = Vec::new();
    let mut folders = vec![PathBuf::from(ROOT)];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let text = fs::read_to_string(&path).unwrap();
                sources.push((name, start.replace(&text, "").into_owned()));
            }
        }
    }
    sources
}

/// The fields of a struct, each with the file that its comment names.
fn fields(name: &str, file: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
    let body = text.split_once(&format!("struct {name} {{\n")).unwrap().1;
    let body = body.split_once("\n}").unwrap().0;
    // a declaration and the comment after it; a comment alone on its lines describes a group
    let field = Regex::new(r"(?s)\n\t\w[\w ]*?(\w+)(?:\[\w+\])?;\s*/\*(.*?)\*/").unwrap();
    let named = Regex::new(r"\b[a-z_]+(?:\.bpf)?\.h\b").unwrap();
    let own = Path::new(file).file_name().unwrap().to_str().unwrap();
    let text = format!("\n{body}");
    let fields = field.captures_iter(&text).map(|field| {
        let files: Vec<&str> = named.find_iter(&field[2]).map(|file| file.as_str()).collect();
        // "claim_core()" in the file of the struct itself
        let local = files.is_empty() && field[2].contains("()");
        assert!(local || files.len() == 1, "{name}.{} names {files:?}", &field[1]);
        (field[1].to_owned(), if local { own } else { files[0] }.to_owned())
    });
    let fields: Vec<_> = fields.collect();
    let comment = Regex::new(r"(?s)/\*.*?\*/").unwrap();
    let declared = comment.replace_all(body, "").matches(';').count();
    assert_eq!(fields.len(), declared, "each field of {name} has a comment");
    fields
}

#[test]
fn each_field_has_the_one_writer_that_it_names() {
    let sources = sources();
    let (mut wrong, mut found) = (Vec::new(), 0);
    for (name, file, variable) in STRUCTS {
        for (field, writer) in fields(name, file) {
            let write = format!(r"\b{variable}->{field}{WRITES}|(?:\+\+|--){variable}->{field}\b");
            let write = Regex::new(&write).unwrap();
            for (source, text) in &sources {
                let writes = write.find_iter(text).count();
                found += writes;
                if writes > 0 && *source != writer {
                    wrong.push(format!("{source} writes {name}.{field}, as {writer} should"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(found > 40, "{found} writes were found");
}

#[test]
fn predicates_write_nothing() {
    let predicate = Regex::new(
        r"(?ms)^static (?:__always_inline |__noinline |inline )?bool\s+((?:is|may|has|home_is|steering_is|tells|goes|stays)_\w+)\((.*?)\n}",
    )
    .unwrap();
    let write = Regex::new(&format!(
        r"(?m)->\w+{WRITES}|^\s*\*\w+ = |__sync_|bpf_map_update|bpf_kptr_xchg|\bcount\("
    ))
    .unwrap();
    let (mut wrong, mut found) = (Vec::new(), 0);
    for (source, text) in &sources() {
        for function in predicate.captures_iter(text) {
            found += 1;
            if write.is_match(&function[2]) {
                wrong.push(format!("{source}: {}", &function[1]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(found > 20, "{found} predicates were found");
}
