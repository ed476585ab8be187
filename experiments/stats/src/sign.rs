//! The 95 % interval of the median of one set of samples. It is the interval of the sign test: each
//! sample is as likely to lie below the true median as above it, whatever the noise.

use super::exact::{EXACT, between, cut, normal_cut};

/// The interval. With fewer than six samples, too few for 95 %, it is the range of all samples.
/// `None` if there are no samples.
pub(super) fn interval(samples: &[f64]) -> Option<(f64, f64)> {
    let cut = sign_cut(samples.len()).unwrap_or(0);
    (!samples.is_empty()).then(|| between(samples.to_vec(), cut))
}

/// How many samples the interval leaves out at each end.
fn sign_cut(samples: usize) -> Option<usize> {
    let n = samples as f64;
    if samples > EXACT {
        return Some(normal_cut(n / 2.0, n / 4.0));
    }
    // The probability of each number of samples below the median, if a coin toss decides for each
    // one.
    let chances = (0..=samples).scan(0.5f64.powf(n), |chance, below| {
        let this = *chance;
        *chance *= (samples - below) as f64 / (below + 1) as f64;
        Some(this)
    });
    cut(&chances.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::Median;
    use super::*;

    /// Against the tables of the sign test.
    #[test]
    fn cuts_are_the_textbooks() {
        let cuts = [5, 6, 8, 9, 12, 20, 30].map(sign_cut);
        assert_eq!(cuts, [None, Some(0), Some(0), Some(1), Some(2), Some(5), Some(9)]);
    }

    #[test]
    fn the_normal_curve_goes_on_where_counting_ends() {
        let (last, first) = (sign_cut(EXACT).unwrap(), sign_cut(EXACT + 1).unwrap());
        assert!((last..=last + 1).contains(&first), "{last}, then {first}");
    }

    #[test]
    fn a_sample_that_is_missing_leaves_no_median() {
        let found = Median::of(&[Some(3.0), Some(1.0), Some(2.0)]);
        assert_eq!(found, Some(Median { median: 2.0, lo: 1.0, hi: 3.0 }));
        assert_eq!(Median::of(&[Some(3.0), None]), None);
        assert_eq!(Median::of(&[]), None);
    }

    #[test]
    fn few_samples_give_their_range() {
        assert_eq!(interval(&[3.0, 1.0, 2.0]), Some((1.0, 3.0)));
        assert_eq!(interval(&[]), None);
    }
}
