//! Flags with a fixed set of words as values. The help describes each word.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use steer_ground::word::Word;
use steer_traffic::long::{Direction, Reads};

/// A parser for the words of a type. `about` describes each of them.
pub(crate) fn choice<T: Word>(about: fn(T) -> &'static str) -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().map(|&value| PossibleValue::new(value.word()).help(about(value)));
    PossibleValuesParser::new(values)
        .map(|word| T::of_word(&word).expect("the parser lets no other word through"))
}

/// Describes a direction of long flows, for the help.
pub(crate) fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "To the measured machine, from the client",
        Direction::Out => "From the measured machine, to the client",
    }
}

/// Describes what a receiver does with the payload of long flows, for the help.
pub(crate) fn reads(reads: Reads) -> &'static str {
    match reads {
        Reads::Copy => "Copy the payload into a buffer, and do not read it",
        Reads::Touch => "Copy the payload, and read every byte of it",
        Reads::Discard => "Let the kernel drop the payload without copying it",
    }
}
