//! Each header can be included alone, and the walls between the groups of headers hold. Needs clang,
//! but neither root nor a kernel.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use libbpf_rs::libbpf_sys::API_HEADERS;
use scx_cargo::ClangInfo;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bpf");

/// The groups of headers and the groups that each may include besides itself; "" is the top folder
/// but for intf.h, which every header may include.
const WALLS: [(&str, &[&str]); 6] = [
    ("pure", &[]),
    ("ground", &["pure"]),
    ("sockets", &["pure", "ground"]),
    ("place", &["pure", "ground"]),
    ("queue", &["pure", "ground"]),
    ("", &["pure", "ground", "sockets", "place", "queue"]),
];

/// All headers, by their paths below [`ROOT`].
fn headers() -> Vec<String> {
    let folders = WALLS.iter().map(|(group, _)| Path::new(ROOT).join(group));
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    let headers = paths.filter(|path| path.extension().is_some_and(|kind| kind == "h"));
    let mut names: Vec<String> =
        headers.map(|path| path.strip_prefix(ROOT).unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn is_bpf(header: &str) -> bool {
    header.ends_with(".bpf.h")
}

/// Writes libbpf's headers to a folder; returns that.
fn libbpf_headers() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libbpf");
    fs::create_dir_all(folder.join("bpf")).unwrap();
    for (name, content) in API_HEADERS {
        fs::write(folder.join("bpf").join(name), content).unwrap();
    }
    folder
}

/// Why the compiler refuses a file that includes nothing but `header`; `None` if it does not.
fn refusal(clang: &str, flags: &[String], header: &str) -> Option<String> {
    let name = header.replace('/', "-");
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{}.c", flags.len()));
    fs::write(&source, format!("#include \"{header}\"\n")).unwrap();
    let mut compiler = Command::new(clang);
    compiler.args(flags).arg(format!("-I{ROOT}")).arg("-fsyntax-only").arg(&source);
    let done = compiler.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    (!done.status.success()).then(|| format!("{header}: {said}"))
}

fn refusals(clang: &str, jobs: &[(&Vec<String>, &String)]) -> Vec<String> {
    jobs.iter().filter_map(|(flags, header)| refusal(clang, flags, header)).collect()
}

#[test]
fn each_header_compiles_alone() {
    let clang = ClangInfo::new().unwrap();
    // the kernel's types and sched_ext's headers, where the build script put them
    let scx = concat!(env!("OUT_DIR"), "/scx_utils-bpf_h");
    let mut bpf = clang.determine_base_cflags().unwrap();
    bpf.extend(["-target", "bpf", "-Werror"].map(str::to_owned));
    // a header's functions are for others, and each object defines the clock of now.bpf.h
    bpf.extend(["-Wno-unused-function", "-Wno-undefined-internal"].map(str::to_owned));
    bpf.push(format!("-D__SCX_TARGET_ARCH_{}", clang.kernel_target().unwrap()));
    bpf.push(format!("-I{scx}/arch/{}", clang.kernel_target().unwrap()));
    bpf.extend(["", "/bpf-compat"].map(|below| format!("-I{scx}{below}")));
    bpf.push(format!("-I{}", libbpf_headers().display()));
    let native = ["-Wall", "-Werror", "-Wno-unused-function"].map(str::to_owned).to_vec();

    let headers = headers();
    let natively = headers.iter().filter(|header| !is_bpf(header)).map(|header| (&native, header));
    let jobs: Vec<_> = headers.iter().map(|header| (&bpf, header)).chain(natively).collect();
    let at_once = thread::available_parallelism().unwrap().get();
    let clang = clang.clang.as_str();
    let refusals: Vec<String> = thread::scope(|scope| {
        let parts = jobs.chunks(jobs.len().div_ceil(at_once));
        let threads: Vec<_> =
            parts.map(|part| scope.spawn(move || refusals(clang, part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(refusals.is_empty(), "{}", refusals.join("\n"));
    assert!(headers.iter().filter(|header| is_bpf(header)).count() > 20, "not found: {headers:?}");
}

/// The group of a header.
fn group(header: &str) -> &str {
    header.rsplit_once('/').map_or("", |(group, _)| group)
}

/// The own headers that a file includes.
fn includes(file: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
    let own = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
    own.filter(|name| *name != "vmlinux.h").map(str::to_owned).collect()
}

#[test]
fn sockets_queues_and_placement_do_not_include_each_other() {
    let walls: BTreeMap<_, _> = WALLS.into();
    let mut broken = Vec::new();
    for header in headers() {
        let own = group(&header);
        for other in includes(&header) {
            let to = group(&other);
            let open = other == "intf.h" || to == own || walls[own].contains(&to);
            if !open || (!is_bpf(&header) && is_bpf(&other)) {
                broken.push(format!("{header} includes {other}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn no_header_includes_itself_by_way_of_others() {
    let graph: BTreeMap<String, Vec<String>> =
        headers().into_iter().map(|header| (header.clone(), includes(&header))).collect();
    for start in graph.keys() {
        let mut reached: Vec<&String> = graph[start].iter().collect();
        let mut next = 0;
        while let Some(header) = reached.get(next).copied() {
            assert_ne!(header, start, "a circle");
            let more = graph.get(header).into_iter().flatten();
            let new: Vec<_> = more.filter(|header| !reached.contains(header)).collect();
            reached.extend(new);
            next += 1;
        }
    }
}
