//! Properties of every ratio, whatever the samples.

use proptest::prelude::*;

use super::*;

fn positive() -> impl Strategy<Value = f64> {
    0.001..1e9
}

fn of(pairs: &[(f64, f64)]) -> Option<Ratio> {
    let pairs: Vec<_> = pairs.iter().map(|&(a, b)| (Some(a), Some(b))).collect();
    Ratio::paired(&pairs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The ratio of an arm to itself is exactly 1, with an interval of no width.
    #[test]
    fn identical_arms_are_exactly_one(values in prop::collection::vec(positive(), 2..12)) {
        let pairs: Vec<_> = values.iter().map(|&value| (value, value)).collect();
        prop_assert_eq!(of(&pairs), Some(Ratio { median: 1.0, lo: 1.0, hi: 1.0 }));
    }

    /// The interval includes the median. The signed-rank interval stays within the pairs' ratios.
    #[test]
    fn the_interval_holds_the_median(
        pairs in prop::collection::vec((positive(), positive()), 2..40),
    ) {
        let ratio = of(&pairs).unwrap();
        prop_assert!(ratio.lo <= ratio.median && ratio.median <= ratio.hi);
        let ratios: Vec<f64> = pairs.iter().map(|(a, b)| a / b).collect();
        let inside = ratios.iter().all(|&r| ratio.lo <= r && r <= ratio.hi);
        let outside = ratios.iter().any(|&r| r <= ratio.lo) && ratios.iter().any(|&r| ratio.hi <= r);
        let expected = if pairs.len() < 6 { inside } else { outside };
        prop_assert!(expected);
    }

    /// Another unit changes nothing. The unit is a power of two, so that the arithmetic stays
    /// exact.
    #[test]
    fn the_unit_does_not_matter(
        pairs in prop::collection::vec((positive(), positive()), 2..12),
        power in -8i32..8,
    ) {
        let unit = 2f64.powi(power);
        let scaled: Vec<_> = pairs.iter().map(|(a, b)| (a * unit, b * unit)).collect();
        prop_assert_eq!(of(&pairs), of(&scaled));
    }

    /// An effect that every pair shows is found, however much rounds differ from each other.
    #[test]
    fn pairing_cancels_what_both_arms_share(windows in prop::collection::vec(positive(), 5..12)) {
        let pairs: Vec<_> = windows.iter().map(|&window| (window * 2.0, window)).collect();
        let ratio = of(&pairs).unwrap();
        prop_assert_eq!(ratio.median, 2.0);
        prop_assert!(ratio.excludes_one());
    }

    /// The order of unpaired samples does not matter. Swapping the two sets inverts the ratio.
    #[test]
    fn unpaired_ratios_turn_round(
        a in prop::collection::vec(positive(), 4..9),
        b in prop::collection::vec(positive(), 4..9),
    ) {
        let (there, back) = (Ratio::unpaired(&a, &b).unwrap(), Ratio::unpaired(&b, &a).unwrap());
        let mut turned = a.clone();
        turned.reverse();
        prop_assert_eq!(Ratio::unpaired(&turned, &b), Some(there));
        prop_assert!((there.lo * back.hi - 1.0).abs() < 1e-9);
        prop_assert_eq!(there.excludes_one(), back.excludes_one());
    }
}

#[test]
fn the_unknown_and_the_undefined_stay_none() {
    assert_eq!(Ratio::paired(&[]), None);
    assert_eq!(Ratio::paired(&[(Some(1.0), Some(1.0)), (None, Some(1.0))]), None);
    assert_eq!(Ratio::paired(&[(Some(1.0), None), (Some(1.0), Some(1.0))]), None);
    assert_eq!(of(&[(1.0, 0.0), (1.0, 1.0)]), None);
    assert_eq!(of(&[(0.0, 2.0); 5]), Some(Ratio { median: 0.0, lo: 0.0, hi: 0.0 }));
    assert_eq!(Ratio::unpaired(&[1.0; 5], &[0.0, 1.0, 1.0, 1.0, 1.0]), None);
    assert_eq!(Ratio::unpaired(&[1.0; 3], &[1.0; 3]), None);
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[4.0, 1.0]), Some(2.5));
}

#[test]
fn a_single_pair_gives_no_interval() {
    assert_eq!(of(&[(2.0, 1.0)]), None);
}

#[test]
fn ratios_keep_their_width() {
    let show = |median, lo, hi| Ratio { median, lo, hi }.to_string();
    assert_eq!(show(1.234, 0.9, 1.5), "1.23 [0.90, 1.50]");
    assert_eq!(show(12.34, 9.0, 15.0), "12.3 [9.0, 15.0]");
    assert_eq!(show(1960.4, 5.0, 3000.0), "1960 [5, 3000]");
    assert_eq!(show(1.0, 0.0, f64::MAX), "1 [0, >9999]");
    let wild = of(&[(1e-300, 1.0), (1e300, 1.0)]).unwrap();
    assert!(wild.hi.is_finite(), "JSON has no infinity");
}
