//! The 95 % interval of the ratio of two arms measured in pairs.
//!
//! Within a round the arms run in random order. If they are equal, each pair's ratio is therefore
//! as likely to be r as 1/r, whatever the noise. The signed-rank test assumes nothing else. From
//! six pairs on, its interval includes the true ratio in 95 % of runs. With five pairs, all agree
//! by chance in one run of 16, so no interval can reach 95 % without an assumption about the noise.
//! With fewer than six pairs, the logarithms are therefore assumed to be roughly normal, and the
//! interval also spans all pairs.
//!
//! The usual choice, the percentile bootstrap of the median, includes the true ratio in 75 % of
//! runs with three pairs, and in 92 to 94 % with 5 to 12: see `docs/statistics.md`.

use super::exact::{EXACT, between, cut, normal_cut};

/// Student's t for 95 %, with 2, 3, 4 and 5 pairs.
const STUDENT: [f64; 4] = [12.706, 4.303, 3.182, 2.776];

/// The interval of the pairs' common ratio; `None` with fewer than two pairs.
pub(super) fn interval(ratios: &[f64]) -> Option<(f64, f64)> {
    match signed_rank_cut(ratios.len()) {
        Some(cut) => Some(between(walsh_means(ratios), cut)),
        None => STUDENT.get(ratios.len().checked_sub(2)?).map(|&t| student_and_range(ratios, t)),
    }
}

/// The geometric means of all pairs of values, including each value with itself. These are the
/// Walsh averages of the logarithms, computed without logarithms so that zeros do no harm.
fn walsh_means(ratios: &[f64]) -> Vec<f64> {
    let mean = |(index, &a): (usize, &f64)| -> Vec<f64> {
        ratios[index..].iter().map(|b| (a * b).sqrt()).collect()
    };
    ratios.iter().enumerate().flat_map(mean).collect()
}

/// How many of the Walsh means the interval leaves out at each end.
fn signed_rank_cut(pairs: usize) -> Option<usize> {
    let most = pairs * (pairs + 1) / 2;
    if pairs > EXACT {
        let n = pairs as f64;
        return Some(normal_cut(n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0));
    }
    // The probability of every sum of ranks, if a coin toss decides for each rank whether it
    // counts.
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for rank in 1..=pairs {
        for sum in (0..=most).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = f64::midpoint(chances[sum], with);
        }
    }
    cut(&chances)
}

/// The smallest interval that includes all ratios and Student's interval of their logarithms.
fn student_and_range(ratios: &[f64], t: f64) -> (f64, f64) {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    // Zero has no logarithm. If one ratio is zero, use the ratios themselves.
    let positive = least > 0.0;
    let there = |ratio: f64| if positive { ratio.ln() } else { ratio };
    let back = |value: f64| if positive { value.exp() } else { value };
    let count = ratios.len() as f64;
    let values: Vec<f64> = ratios.iter().copied().map(there).collect();
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let reach = t * (squares / (count - 1.0) / count).sqrt();
    (least.min(back(mean - reach)).max(0.0), most.max(back(mean + reach)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the tables of the signed-rank test.
    #[test]
    fn cuts_are_the_textbooks() {
        let cuts = [5, 6, 7, 8, 10, 12, 20, 30].map(signed_rank_cut);
        let book = [None, Some(0), Some(2), Some(3), Some(8), Some(13), Some(52), Some(137)];
        assert_eq!(cuts, book);
    }

    #[test]
    fn the_normal_curve_goes_on_where_counting_ends() {
        let (last, first) = (signed_rank_cut(EXACT).unwrap(), signed_rank_cut(EXACT + 1).unwrap());
        assert!((15..=35).contains(&(first - last)), "{last}, then {first}");
    }

    /// Student's interval: 2.776 standard errors of the logarithms with five pairs.
    #[test]
    fn few_pairs_are_taken_as_normal() {
        let ratios = [-1.0f64, -0.5, 0.0, 0.5, 1.0].map(f64::exp);
        let (lo, hi) = interval(&ratios).unwrap();
        let (lo_log, hi_log) = (lo.ln(), hi.ln());
        assert!((lo_log + 1.0).abs() < 1e-9 && (hi_log - 1.0).abs() < 1e-9, "the range is wider");
        let ratios = [-1.0f64, 1.0].map(f64::exp);
        assert!((interval(&ratios).unwrap().1.ln() - 12.706).abs() < 1e-9, "Student's is wider");
    }

    #[test]
    fn zeros_are_borne() {
        assert_eq!(interval(&[0.0; 5]), Some((0.0, 0.0)));
        let (lo, hi) = interval(&[0.0, 0.02, 0.05, 0.01, 0.03]).unwrap();
        assert!(lo == 0.0 && (0.05..0.06).contains(&hi), "{lo} to {hi}");
        assert_eq!(interval(&[0.0, 0.1, 0.1, 0.1, 0.1, 0.1]), Some((0.0, 0.1)));
    }
}
