//! The host file: what it can say, the message for each mistake, and its schema.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{fmt::Write, fs, path::Path};

use steer_policy::{Files, HostConfig, NicMode, OnExit, Problems, ServingCores, Source};

fn read(text: &str) -> Result<HostConfig, Problems> {
    HostConfig::read(&Files::from_sources(vec![Source {
        name: "host.toml".into(),
        text: text.into(),
    }]))
}

#[test]
fn each_mistake_is_refused_with_its_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad-host");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    let mut said = String::new();
    for path in paths {
        writeln!(said, "{}", path.file_stem().unwrap().to_str().unwrap()).unwrap();
        let problems = read(&fs::read_to_string(&path).unwrap()).unwrap_err();
        problems.as_slice().iter().for_each(|problem| writeln!(said, "    {problem}").unwrap());
    }
    insta::assert_snapshot!(said);
}

#[test]
fn nics_have_a_mode_and_what_the_administrator_wants_otherwise() {
    let config = read(
        "on-exit = \"keep\"\n[nic.eth0]\nmode = \"align\"\ncpus = \"0-3,8\"\ncores = 4\n\
         [nic.\"eth1.7\"]\nmode = \"auto\"\ncores = \"load\"\n",
    )
    .unwrap();
    assert_eq!(config.on_exit, OnExit::Keep);
    let eth0 = &config.nics["eth0"];
    assert_eq!((eth0.mode, eth0.cores), (NicMode::Align, ServingCores::AtMost(4)));
    assert_eq!(eth0.cpus.as_ref().unwrap().to_string(), "0-3,8");
    assert_eq!(config.nics["eth1.7"].cores, ServingCores::ByLoad);
    assert!(config.warnings().is_empty());
}

#[test]
fn an_empty_file_or_none_wants_nothing_and_restores_at_exit() {
    for config in [read("").unwrap(), HostConfig::read(&Files::default()).unwrap()] {
        assert!(config.nics.is_empty());
        assert_eq!(config.on_exit, OnExit::Restore);
    }
}

#[test]
fn cpus_that_keep_does_not_use_are_warned_of() {
    let config = read("[nic.eth0]\nmode = \"keep\"\ncpus = \"0\"\n").unwrap();
    let said = config.warnings()[0].to_string();
    assert!(said.starts_with("host.toml:1:6: warning: mode: \"keep\" changes nothing"), "{said}");
}

#[test]
fn with_rules_the_cores_do_not_follow_the_load() {
    let config = read("[nic.eth0]\nmode = \"rules\"\ncores = \"load\"\n").unwrap();
    let said = config.warnings()[0].to_string();
    assert!(
        said.contains("warning: cores: \"load\" has no effect with mode = \"rules\""),
        "{said}"
    );
    assert_eq!(config.nics["eth0"].cores, ServingCores::All);
}

#[test]
fn the_schema_takes_what_the_reader_takes() {
    let schema = serde_json::to_value(steer_policy::host_schema()).unwrap();
    let fits = |text: &str| {
        let file: toml::Table = text.parse().unwrap();
        jsonschema::is_valid(&schema, &serde_json::to_value(file).unwrap())
    };
    for good in [
        "",
        "on-exit = \"keep\"",
        "[nic.eth0]\nmode = \"busy-poll\"\ncpus = \"0-3\"\ncores = 2",
        "[nic.eth0]\nmode = \"auto\"\ncores = \"load\"",
    ] {
        assert!(read(good).is_ok() && fits(good), "{good}");
    }
    for bad in [
        "on-exit = \"leave\"",
        "[nic.eth0]\ncpus = \"0\"",
        "[nic.eth0]\nmode = \"fast\"",
        "[nic.eth0]\nmode = \"align\"\ncores = 0",
        "[nic.eth0]\nmode = \"align\"\ncpu = \"0\"",
        "speed = 3",
    ] {
        assert!(read(bad).is_err() && !fits(bad), "{bad}");
    }
}
