//! What figures rest on, and whether that carries a headline.

/// What a question's figures rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// So many interleaved rounds.
    Rounds(usize),
    /// A clock that counts instructions; so many seeds or rounds.
    Counted(usize),
    /// So many runs of arms that were the same.
    Runs(usize),
    /// Something else, which its rows tell.
    Other,
}

/// Rounds that a headline needs, if it was not counted.
pub(super) const HEADLINE_ROUNDS: usize = 10;

impl Basis {
    /// Whether a headline may stand on it.
    pub(super) fn carries_headline(self) -> bool {
        match self {
            Self::Rounds(rounds) => rounds >= HEADLINE_ROUNDS,
            Self::Counted(_) => true,
            Self::Runs(_) | Self::Other => false,
        }
    }
}
