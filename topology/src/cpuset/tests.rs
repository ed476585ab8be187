//! The CPU-list reader and writer.

use super::*;
use proptest::prelude::*;

fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

#[test]
fn reads_the_kernels_list_form() {
    assert_eq!(set("0-3,8"), [0, 1, 2, 3, 8].into_iter().collect());
    assert_eq!(set("0-3,8\n").to_string(), "0-3,8");
    assert_eq!(set(" 8, 0 - 1 ").to_string(), "0-1,8");
    assert_eq!(set("\n"), CpuSet::new());
    assert_eq!(set("8191").last(), Some(MAX_CPU));
}

#[test]
fn an_error_names_the_bad_part() {
    let error = |text: &str| text.parse::<CpuSet>().unwrap_err().to_string();
    assert_eq!(error("0-3,x"), "\"x\" is not a CPU number or range; write CPUs as in 0-3,8");
    assert_eq!(error("0,,1"), "\"\" is not a CPU number or range; write CPUs as in 0-3,8");
    assert_eq!(error("1,-2"), "\"-2\" is not a CPU number or range; write CPUs as in 0-3,8");
    assert_eq!(error("+1"), "\"+1\" is not a CPU number or range; write CPUs as in 0-3,8");
    assert_eq!(
        error("0-7:1/2"),
        "\"0-7:1/2\" is not a CPU number or range; write CPUs as in 0-3,8"
    );
    assert_eq!(error("0,3-1"), "the range \"3-1\" runs backwards; write the smaller number first");
    assert_eq!(error("0-8192"), "CPU 8192 is too large; Linux numbers its CPUs up to 8191");
    assert_eq!(
        error("99999999999"),
        "CPU 99999999999 is too large; Linux numbers its CPUs up to 8191"
    );
}

#[test]
fn set_algebra() {
    let (left, right) = (set("0-3"), set("2-5"));
    assert_eq!(left.union(&right), set("0-5"));
    assert_eq!(left.intersection(&right), set("2-3"));
    assert_eq!(left.difference(&right), set("0-1"));
    assert!(set("2").is_subset(&left) && !right.is_subset(&left));
    assert!(set("0-1").is_disjoint(&right) && !left.is_disjoint(&right));
    assert_eq!((left.first(), left.last(), CpuSet::new().first()), (Some(0), Some(3), None));
}

#[test]
fn json_is_the_list_form() {
    assert_eq!(serde_json::to_string(&set("0-3,8")).unwrap(), "\"0-3,8\"");
    assert_eq!(serde_json::from_str::<CpuSet>("\"0-3,8\"").unwrap(), set("0-3,8"));
    let error = serde_json::from_str::<CpuSet>("\"0-x\"").unwrap_err().to_string();
    assert!(error.contains("\"0-x\" is not a CPU number"), "{error}");
}

proptest! {
    #[test]
    fn display_then_parse_is_the_same(cpus in prop::collection::btree_set(0..=MAX_CPU, 0..200)) {
        let cpus: CpuSet = cpus.into_iter().collect();
        prop_assert_eq!(cpus.to_string().parse::<CpuSet>().unwrap(), cpus);
    }

    #[test]
    fn dense_sets_too(start in 0u32..8000, flags in prop::collection::vec(any::<bool>(), 0..190)) {
        let cpus: CpuSet =
            (start..).zip(flags).filter_map(|(cpu, in_set)| in_set.then_some(cpu)).collect();
        prop_assert_eq!(cpus.to_string().parse::<CpuSet>().unwrap(), cpus);
    }

    #[test]
    fn garbage_never_panics(text in "[0-9,\\- +:x]{0,20}|\\PC{0,20}") {
        let _ = text.parse::<CpuSet>();
    }
}
