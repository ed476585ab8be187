//! What figures are based on, and whether that is enough for a headline.

/// What a question's figures are based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// This many interleaved rounds.
    Rounds(usize),
    /// A clock that counts instructions, with this many seeds or rounds.
    Counted(usize),
    /// This many runs of equal arms.
    Runs(usize),
    /// Something else. The rows show it.
    Other,
}

/// Rounds that a headline needs, if its figures were not counted.
pub const HEADLINE_ROUNDS: usize = 10;

impl Basis {
    /// Whether it is enough for a headline.
    pub(super) fn carries_headline(self) -> bool {
        match self {
            Self::Rounds(rounds) => rounds >= HEADLINE_ROUNDS,
            Self::Counted(_) => true,
            Self::Runs(_) | Self::Other => false,
        }
    }
}
