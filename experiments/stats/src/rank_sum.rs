//! The 95 % interval of the ratio of two sets of samples that are not paired. It is the interval of
//! the rank-sum test, from all ratios of a sample of one set to a sample of the other. It assumes
//! only that the noise is the same in both sets.

use super::exact::{EXACT, between, cut, normal_cut};

/// The interval. `None` when there are too few samples, or when a reference is zero.
pub(super) fn interval(arm: &[f64], reference: &[f64]) -> Option<(f64, f64)> {
    let cut = rank_sum_cut(arm.len(), reference.len())?;
    let ratios = reference.iter().flat_map(|r| arm.iter().map(move |s| s / r));
    let ratios: Vec<f64> = ratios.collect();
    ratios.iter().all(|ratio| ratio.is_finite()).then(|| between(ratios, cut))
}

/// How many of the ratios the interval leaves out at each end.
fn rank_sum_cut(a: usize, b: usize) -> Option<usize> {
    let most = a * b;
    if a + b > EXACT {
        let (mean, n) = (most as f64 / 2.0, (a + b + 1) as f64);
        return (most > 0).then(|| normal_cut(mean, most as f64 * n / 12.0));
    }
    // ways[n][u]: choices of n ranks for the first set that leave u pairs in the wrong order.
    let mut ways = vec![vec![0.0; most + 1]; a + 1];
    ways[0][0] = 1.0;
    for rank in 1..=a + b {
        for chosen in (1..=a.min(rank)).rev() {
            let below = rank - chosen;
            for wrong in (below..=most).rev() {
                ways[chosen][wrong] += ways[chosen - 1][wrong - below];
            }
        }
    }
    let all: f64 = ways[a].iter().sum();
    let chances: Vec<f64> = ways[a].iter().map(|ways| ways / all).collect();
    cut(&chances)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the tables of the rank-sum test.
    #[test]
    fn cuts_are_the_textbooks() {
        let cuts = [(3, 3), (4, 4), (5, 5), (5, 8), (8, 8), (12, 12), (20, 20)];
        let book = [None, Some(0), Some(2), Some(6), Some(13), Some(37), Some(127)];
        assert_eq!(cuts.map(|(a, b)| rank_sum_cut(a, b)), book);
        assert_eq!([rank_sum_cut(0, 5), rank_sum_cut(0, 100)], [None, None]);
    }

    #[test]
    fn the_normal_curve_goes_on_where_counting_ends() {
        let (last, first) = (rank_sum_cut(30, 30).unwrap(), rank_sum_cut(30, 31).unwrap());
        assert!((8..=16).contains(&(first - last)), "{last}, then {first}");
    }
}
