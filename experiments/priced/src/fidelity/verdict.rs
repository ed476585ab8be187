//! Whether the model shows what a paper measured.

use std::fmt;

use serde::Serialize;

/// How far a ratio may be from the published one.
const RATIO: f64 = 0.1;
/// How far a figure may be from the published one, of that.
const VALUE: f64 = 0.1;
/// How far a ratio may be from 1 where the paper saw no difference worth telling.
const SAME: f64 = 0.05;

/// How far a ratio has to be from 1 to show a direction.
const DIRECTION: f64 = 0.02;

/// What a paper found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Expect {
    /// This figure, on its own machine.
    Value(f64),
    /// This ratio, on its own machine; on others the same side of 1.
    Ratio(f64),
    /// A ratio below 1; the paper's machine is another one, or it gives no figure.
    Less,
    /// The same, above 1.
    More,
    /// No difference worth telling.
    Same,
}

/// Whether that was found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// On the paper's machine as published, and on all others alike.
    Reproduced,
    /// In the same direction on all machines, but of another size; or only on the paper's machine.
    Partly,
    /// In another direction on the paper's machine.
    Not,
}

impl Expect {
    /// Judges what came out on the paper's machine and on the other real ones.
    pub(super) fn judge(self, own: f64, others: &[f64]) -> Verdict {
        let everywhere = |holds: &dyn Fn(f64) -> bool| others.iter().all(|it| holds(*it));
        let below = |it: f64| it < 1.0 - DIRECTION;
        let above = |it: f64| it > 1.0 + DIRECTION;
        let (exact, direction): (bool, &dyn Fn(f64) -> bool) = match self {
            Self::Value(value) => ((own / value - 1.0).abs() <= VALUE, &|_| true),
            Self::Ratio(ratio) if ratio < 1.0 => ((own - ratio).abs() <= RATIO, &below),
            Self::Ratio(ratio) => ((own - ratio).abs() <= RATIO, &above),
            Self::Less => (true, &below),
            Self::More => (true, &above),
            Self::Same => (true, &|it| (it - 1.0).abs() <= SAME),
        };
        match (direction(own), exact && everywhere(direction)) {
            (true, true) => Verdict::Reproduced,
            (true, false) => Verdict::Partly,
            (false, _) => Verdict::Not,
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(figure) | Self::Ratio(figure) => write!(f, "{figure:.2}"),
            Self::Less => f.write_str("below 1"),
            Self::More => f.write_str("above 1"),
            Self::Same => f.write_str("about 1"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::Partly => "partly",
            Self::Not => "not",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_counts_on_the_papers_machine_and_direction_on_all() {
        let ratio = Expect::Ratio(0.8);
        assert_eq!(ratio.judge(0.75, &[0.6, 0.97]), Verdict::Reproduced);
        assert_eq!(ratio.judge(0.6, &[0.8]), Verdict::Partly);
        assert_eq!(ratio.judge(0.8, &[0.8, 0.99]), Verdict::Partly);
        assert_eq!(ratio.judge(0.99, &[0.8]), Verdict::Not);
        assert_eq!(Expect::Ratio(1.31).judge(1.2, &[1.1]), Verdict::Partly);
        assert_eq!(Expect::Less.judge(0.97, &[0.5]), Verdict::Reproduced);
        assert_eq!(Expect::Less.judge(0.99, &[0.5]), Verdict::Not);
        assert_eq!(Expect::More.judge(1.03, &[1.5]), Verdict::Reproduced);
        assert_eq!(Expect::More.judge(1.03, &[1.0]), Verdict::Partly);
        assert_eq!(Expect::Same.judge(0.96, &[1.04]), Verdict::Reproduced);
        assert_eq!(Expect::Same.judge(0.96, &[1.06]), Verdict::Partly);
        assert_eq!(Expect::Value(42.0).judge(40.0, &[10.0]), Verdict::Reproduced);
        assert_eq!(Expect::Value(42.0).judge(30.0, &[42.0]), Verdict::Partly);
    }
}
