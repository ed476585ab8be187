//! Results worked out from the samples of the archived demo.

use std::path::Path;

use serde_json::{Value, json};

use super::archive;
use super::archived::{DEMO, DEMO_IPERF3};
use super::measured::{CPUS_USED, add_cpu};
use super::metrics::METRICS;
use super::{AbResult, Header, Sample, Unfinished, schema, stage_figures, summarize, table};
use steer_ground::style::Style;
use steer_ground::warning::{Kind, Place, Warning};

const SCHEMA: &str = include_str!("../../schema/result-v1.json");

fn recorded() -> AbResult {
    AbResult::read(Path::new(DEMO)).unwrap()
}

/// The archived demo as if what the CPUs did had been recorded.
fn measured() -> AbResult {
    let mut result = serde_json::to_value(recorded()).unwrap();
    add_cpu(&mut result);
    serde_json::from_value(result).unwrap()
}

/// Works a result out anew from its own samples, or from others.
fn again(result: &AbResult, samples: Vec<Sample>) -> AbResult {
    let header = Header {
        main_arm: result.main_arm.clone(),
        arms: result.modes[0].arms.keys().cloned().collect(),
        equal: result.equal.clone(),
        command: result.command.clone(),
        options: result.options.clone(),
        seed: result.seed,
        environment: result.environment.clone(),
        topology: result.topology.clone(),
        workload: result.workload.clone(),
        unfinished: None,
        warnings: Vec::new(),
    };
    summarize(header, samples)
}

/// The warnings of a kind, as they are printed.
fn warnings_of(result: &AbResult, kind: Kind) -> Vec<String> {
    let of_kind = result.warnings.iter().filter(|warning| warning.kind == kind);
    of_kind.map(ToString::to_string).collect()
}

fn edited(edit: impl Fn(&mut Sample)) -> AbResult {
    let result = recorded();
    let mut samples = result.raw.clone();
    samples.iter_mut().for_each(edit);
    again(&result, samples)
}

/// After a change of the metrics or the statistics, run once with UPDATE_DATA=1 to work the files
/// out anew.
#[test]
fn all_figures_follow_from_the_samples() {
    for path in [DEMO, DEMO_IPERF3].map(Path::new) {
        let result = AbResult::read(path).unwrap();
        let again = again(&result, result.raw.clone());
        if std::env::var_os("UPDATE_DATA").is_some() {
            let text = serde_json::to_string(&again).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap();
            archive::write(&text, path.parent().unwrap(), name).unwrap();
        } else {
            // This file is older than the kinds of warnings: it has their texts only.
            assert_eq!(again.warning_lines(), result.warning_lines());
            let again = AbResult { warnings: result.warnings.clone(), ..again };
            assert!(again == result, "the figures of {} are not its samples'", path.display());
        }
    }
}

#[test]
fn the_recorded_result_reads_well() {
    let text = table(&recorded(), Style::Terminal);
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{widest} columns");
    insta::assert_snapshot!(text);
}

#[test]
fn the_recorded_result_reads_well_in_markdown() {
    insta::assert_snapshot!(table(&recorded(), Style::Markdown));
}

#[test]
fn the_committed_schema_is_current() {
    assert!(schema().unwrap() == SCHEMA, "run `steer-bench schema` to make it anew");
}

#[test]
fn the_schema_fits_results_and_nothing_else() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    assert!(validator.is_valid(&serde_json::to_value(recorded()).unwrap()));
    let good = serde_json::to_value(measured()).unwrap();
    assert!(validator.is_valid(&good));
    for (pointer, bad) in [
        ("/version", json!(2)),
        ("/pairs", json!("five")),
        ("/worlds/auto/arms/default/rpc_p99/median", json!("fast")),
        ("/worlds/auto/ratios/rpc_p99/scx_steer~1default", json!(1.0)),
        ("/raw/0/round", json!(-1)),
        ("/raw/0/cpu/usage/total/softirq_s", json!("much")),
        ("/raw/0/cpu/breakdown/kernel/tcp_ip/total", Value::Null),
        ("/raw/0/cpu/counters/cycles/value", json!("unknown")),
    ] {
        let mut result = good.clone();
        *result.pointer_mut(pointer).unwrap() = bad;
        assert!(!validator.is_valid(&result), "{pointer}");
    }
}

#[test]
fn a_metric_that_one_sample_lacks_has_no_median_and_no_ratio() {
    let result = edited(|sample| {
        if sample.arm == "pinned" && sample.round == 2 {
            sample.observe.home_share = None;
        }
    });
    let mode = &result.modes["auto"];
    let home = &mode.arms["pinned"]["home_share"];
    assert_eq!((home.median, home.samples.len(), home.samples[2]), (None, 5, None));
    assert_eq!(mode.ratios["home_share"]["scx_steer/pinned"], None);
    assert!(mode.ratios["home_share"]["scx_steer/default"].is_some());
    let expected = "auto, pinned: home_share is unknown in 1 of 5 samples";
    assert!(
        warnings_of(&result, Kind::PartlyMeasured).iter().any(|said| said.starts_with(expected))
    );
}

#[test]
fn what_no_sample_recorded_is_left_out_without_a_warning() {
    let result = edited(|sample| sample.cpu = None);
    assert!(!result.modes["auto"].ratios.contains_key("cpus_used"));
    assert!(!result.warning_lines().iter().any(|said| said.contains("_cpu")));
    assert!(!serde_json::to_string(&result).unwrap().contains("\"cpu\":null"));
}

#[test]
fn throughput_per_cpu_is_all_payload_over_the_cpus_in_use() {
    let result = measured();
    let result = again(&result, result.raw.clone());
    let arms = &result.modes["auto"].arms;
    for (metrics, cpus) in arms.values().zip(CPUS_USED) {
        assert_eq!(metrics["cpus_used"].median, Some(cpus));
    }
    let sample = &result.raw[0];
    let rpc = sample.client.rpc.as_ref().unwrap();
    let rpc = rpc.rate * 2.0 * rpc.size as f64;
    let long = sample.client.long.as_ref().unwrap().bytes_per_s;
    let expected = (long + rpc) / arms[&sample.arm]["cpus_used"].median.unwrap();
    let found = arms[&sample.arm]["throughput_per_cpu"].samples[sample.round as usize].unwrap();
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} for {expected}");
    assert!(table(&result, Style::Terminal).contains("throughput_per_cpu"));
}

#[test]
fn throughput_per_cpu_is_unknown_where_a_part_is() {
    let value = |edit: fn(&mut Sample)| {
        let mut sample = measured().raw.remove(0);
        edit(&mut sample);
        super::metrics::find("throughput_per_cpu").unwrap().value(&sample)
    };
    assert!(value(|_| {}).is_some());
    assert!(value(|sample| sample.client.long = None).is_some(), "none were asked for");
    let failed = value(|sample| {
        sample.client.long = None;
        sample.client.errors = vec!["long flow 0: connection reset".into()];
    });
    assert_eq!(failed, None);
    assert_eq!(value(|sample| sample.cpu = None), None);
    let none = value(|sample| (sample.client.long, sample.client.rpc) = (None, None));
    assert_eq!(none, None);
}

#[test]
fn a_load_that_shifts_is_shown_stage_by_stage() {
    assert!(stage_figures(&recorded(), "auto").is_empty(), "this one did not");
    let mut result = recorded();
    result.workload.stages = vec!["long-flows=0".to_owned(), "rpc-connections=0".to_owned()];
    for sample in &mut result.raw {
        let scale = if sample.arm == "default" { 1.0 } else { 2.0 };
        let stage = |flows, connections| {
            json!({
                "duration_s": 2.0, "long_flows": flows, "long_bytes": 4e6 as u64 * flows,
                "rpc_connections": connections, "rpc_count": (100.0 * scale) as u64 * connections,
                "rpc_p50_us": null, "rpc_p99_us": 1000.0 * scale
            })
        };
        let stages = json!([stage(0, 1), stage(1, 0)]);
        sample.client.stages = serde_json::from_value(stages).unwrap();
    }
    let figures = stage_figures(&result, "auto");
    let shown: Vec<_> = figures
        .iter()
        .map(|figure| (figure.stage.as_str(), figure.about, figure.medians[..2].to_vec()))
        .collect();
    let some = |two: [f64; 2]| two.map(Some).to_vec();
    let expected = [
        ("long-flows=0", "RPCs, /s", some([50.0, 100.0])),
        ("long-flows=0", "RPC p99, ms", some([1.0, 2.0])),
        ("rpc-connections=0", "long flows, MB/s", some([2.0, 2.0])),
    ];
    assert_eq!(shown, expected, "nothing is said of what did not go on");
    let text = table(&result, Style::Terminal);
    assert!(text.contains("long-flows=0       RPCs, /s"), "{text}");
    // One sample without stages: no median.
    result.raw[0].client.stages = Vec::new();
    let arm = result.modes["auto"].arms.get_index_of(result.raw[0].arm.as_str()).unwrap();
    assert!(stage_figures(&result, "auto").iter().all(|figure| figure.medians[arm].is_none()));
}

#[test]
fn the_hogs_rate_is_a_metric_where_it_was_counted() {
    assert!(!recorded().modes["auto"].ratios.contains_key("hog_rate"));
    let result = edited(|sample| sample.hog_rate = Some(7.0));
    assert_eq!(result.modes["auto"].arms["default"]["hog_rate"].median, Some(7.0));
}

#[test]
fn a_warning_of_many_records_is_said_once() {
    let mut result = measured();
    for (sample, percent) in result.raw.iter_mut().zip(11..) {
        let cpu = sample.cpu.as_mut().unwrap();
        let text = format!("{percent} % of the busy time is unclassified");
        cpu.warnings = vec![Warning::new(Kind::Unclassified, text)];
    }
    let result = again(&result, result.raw.clone());
    let all = result.raw.len();
    let expected =
        format!("CPU figures of {all} of {all} samples: 11 % of the busy time is unclassified");
    assert_eq!(warnings_of(&result, Kind::Unclassified), [expected]);
}

#[test]
fn an_arm_against_itself_shows_no_difference() {
    let result = recorded();
    let of = |arm: &str| result.raw.iter().filter(|s| s.arm == arm).cloned().collect::<Vec<_>>();
    let mut samples = of("default");
    let renamed = samples.clone().into_iter().map(|s| Sample { arm: "scx_steer".into(), ..s });
    samples.extend(renamed);
    let result = again(&result, samples);
    for ratios in result.modes["auto"].ratios.values() {
        if let Some(ratio) = ratios["scx_steer/default"] {
            assert_eq!((ratio.lo, ratio.median, ratio.hi), (1.0, 1.0, 1.0));
        }
    }
}

#[test]
fn a_repeated_arm_is_compared_with_its_like_only() {
    let mut result = recorded();
    let mut samples = result.raw.clone();
    for sample in samples.iter_mut().filter(|sample| sample.arm == "pinned") {
        sample.arm = "again".into();
    }
    result.equal = Some("again/default".into());
    let arms = &mut result.modes[0].arms;
    let pinned = arms.shift_remove("pinned").unwrap();
    arms.insert("again".into(), pinned);
    let result = again(&result, samples);
    for mode in result.modes.values() {
        assert_eq!(mode.pairs(), ["scx_steer/default", "again/default"]);
    }
    assert_eq!(result.others(), ["default"]);
    let text = table(&result, Style::Terminal);
    assert!(text.contains("again/default is an arm against itself"), "{text}");
}

#[test]
fn a_run_that_was_cut_short_keeps_the_pairs_it_has() {
    let result = recorded();
    let mut samples = result.raw.clone();
    samples.retain(|sample| sample.round < 2 || (sample.round == 2 && sample.arm == "scx_steer"));
    let result = again(&result, samples);
    assert_eq!(result.pairs, 2);
    assert_eq!(result.modes["auto"].arms["scx_steer"]["rpc_rate"].samples.len(), 3);
    assert!(result.modes["auto"].ratios["rpc_rate"]["scx_steer/default"].is_some());
    let few = warnings_of(&result, Kind::FewRounds);
    assert!(few.iter().any(|said| said.contains("auto: 2 complete rounds say little")), "{few:?}");
}

#[test]
fn no_samples_are_no_result_but_no_crash() {
    let result = again(&recorded(), Vec::new());
    assert_eq!((result.pairs, result.modes.len()), (0, 0));
    table(&result, Style::Terminal);
}

#[test]
fn samples_that_may_be_wrong_have_warnings() {
    let result = edited(|sample| {
        if sample.round == 0 {
            sample.client.errors = vec!["long flow 0: connection reset".into()];
        } else if sample.round == 1 {
            sample.observe.version = 9;
        }
    });
    let told = |kind, part: &str| warnings_of(&result, kind).iter().any(|said| said.contains(part));
    let failed = "the client failed, its figures are partial: long flow 0: connection reset";
    assert!(told(Kind::ClientFailed, failed));
    assert!(told(Kind::UnknownFormat, "observe has version 9, 1 is understood"));
}

#[test]
fn metric_names_are_unique_and_sums_need_all_parts() {
    let mut names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), METRICS.len());
    let result = edited(|sample| {
        sample.observe.none.switches_per_s = None;
    });
    assert_eq!(result.modes["auto"].arms["default"]["switches"].median, None);
}

#[test]
fn waits_and_packet_sizes_are_metrics_where_the_observer_tells_them() {
    let older = recorded();
    assert!(!older.modes["auto"].arms["default"].contains_key("napi_to_copy_p99"));
    assert!(!older.warning_lines().iter().any(|said| said.contains("skb_size")));
    let result = edited(|sample| {
        let far = if sample.arm == "scx_steer" { 50.0 } else { 200.0 };
        let mut observe = serde_json::to_value(&sample.observe).unwrap();
        observe["napi_to_copy"] = json!({"p50_us": 7.5, "p99_us": far});
        observe["skb_size"] = json!(null);
        sample.observe = serde_json::from_value(observe).unwrap();
    });
    let auto = &result.modes["auto"];
    assert_eq!(auto.median("default", "napi_to_copy_p50"), Some(7.5));
    assert_eq!(auto.ratio("napi_to_copy_p99", "scx_steer/default").unwrap().median, 0.25);
    assert_eq!(auto.median("default", "skb_size"), None);
    let never = warnings_of(&result, Kind::NeverMeasured);
    assert!(never.contains(&"auto: no sample tells skb_size".to_owned()), "{never:?}");
}

#[test]
fn older_results_have_their_warnings_as_text() {
    let older = |more: &[&str]| {
        let mut result = serde_json::to_value(recorded()).unwrap();
        result["warnings"] = json!(more);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        std::fs::write(&path, result.to_string()).unwrap();
        AbResult::read(&path).unwrap()
    };
    let have = recorded().raw.len();
    let unfinished = format!("unfinished: holds {have} of 99 samples; it ended with: no guest");
    let said = [unfinished.as_str(), "auto: few"];
    let result = older(&["auto: few", &unfinished]);
    assert_eq!(result.warning_lines(), said);
    let ended = Unfinished { planned: 99, error: Some("no guest".into()) };
    assert_eq!(result.unfinished, Some(ended));
    assert_eq!(result.warnings, [Warning::new(Kind::Other, "auto: few")]);
    assert_eq!(older(&["auto: few"]).unfinished, None);
}

#[test]
fn older_results_have_their_options_in_the_command() {
    let expected = ["--arms=default,scx_steer,pinned", "--pairs=5"];
    assert_eq!(recorded().options.arguments()[..2], expected);
}

#[test]
fn what_is_written_is_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let unfinished = Some(Unfinished { planned: 99, error: None });
    let warning = Warning::new(Kind::Copied, "it was copied").at(&Place::mode("auto"));
    let result = AbResult { unfinished, warnings: vec![warning], ..recorded() };
    result.write(&path).unwrap();
    assert_eq!(AbResult::read(&path).unwrap(), result);
    assert_eq!(folder.path().read_dir().unwrap().count(), 1, "no draft is left behind");
}
