//! The text of a policy file while it is read: its positions, and the problems found so far.

use std::ops::Range;

use super::refusal::quote;
use crate::{
    files::Source,
    problem::{Location, Position, Problem, Severity},
};

/// A file being read.
pub(crate) struct Text<'a> {
    source: &'a Source,
    /// Byte offset of each line.
    lines: Vec<usize>,
    /// The problems found so far.
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Text<'a> {
    pub(crate) fn new(source: &'a Source) -> Self {
        let newlines = source.text.match_indices('\n').map(|(index, _)| index + 1);
        Self { source, lines: std::iter::once(0).chain(newlines).collect(), problems: Vec::new() }
    }

    pub(crate) fn name(&self) -> &'a str {
        &self.source.name
    }

    /// The position of the byte at `offset`.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines[line - 1];
        let column = self.source.text.get(start..offset).map_or(0, |text| text.chars().count());
        Position { line: line as u32, column: column as u32 + 1 }
    }

    /// The text at `span`.
    pub(crate) fn slice(&self, span: Range<usize>) -> &'a str {
        self.source.text.get(span).unwrap_or_default()
    }

    /// Records an error.
    pub(crate) fn error(&mut self, offset: usize, field: Option<&str>, message: impl ToString) {
        let position = Some(self.position(offset));
        self.problems.push(Problem {
            at: Location { file: self.source.name.clone(), position },
            severity: Severity::Error,
            field: field.map(quote),
            message: message.to_string(),
        });
    }

    /// Records that the file is not TOML.
    pub(crate) fn syntax_error(&mut self, error: &toml::de::Error) {
        let span = error.span().unwrap_or_default();
        let given = quote(self.slice(span.clone()));
        let message = match given.is_empty() {
            true => error.message().to_string(),
            false => format!("{given}: {}", error.message()),
        };
        self.error(span.start, None, message);
    }
}
