//! Values that are written as one of a few words, on command lines and in results.

/// A value that has a word.
pub trait Word: Copy + PartialEq + Send + Sync + 'static {
    /// All values, in the order in which messages list them.
    const ALL: &'static [Self];

    /// The word for this value.
    fn word(self) -> &'static str;

    /// The value that a word stands for.
    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.word() == word)
    }
}
