//! Colours. Each theme stays readable without colours: letters and bars carry the meaning.

use ratatui::style::{Color, Modifier, Style};
use serde::{Deserialize, Serialize};

/// A set of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Theme {
    /// For dark terminals.
    #[default]
    Dark,
    /// For light terminals.
    Light,
    /// Without colours.
    Plain,
}

impl Theme {
    /// The next one.
    pub(crate) fn next(self) -> Theme {
        match self {
            Theme::Dark => Theme::Light,
            Theme::Light => Theme::Plain,
            Theme::Plain => Theme::Dark,
        }
    }

    fn colour(self, dark: Color, light: Color) -> Style {
        match self {
            Theme::Dark => Style::new().fg(dark),
            Theme::Light => Style::new().fg(light),
            Theme::Plain => Style::new(),
        }
    }

    /// Headings of columns.
    pub(crate) fn heading(self) -> Style {
        self.colour(Color::Gray, Color::DarkGray).add_modifier(Modifier::BOLD)
    }

    /// The selected row.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What belongs to a class.
    pub(crate) fn class(self, class: &str) -> Style {
        match class {
            "long" => self.colour(Color::LightBlue, Color::Blue),
            "short" => self.colour(Color::LightGreen, Color::Green),
            "mixed" => self.colour(Color::LightMagenta, Color::Magenta),
            "softirq" => self.colour(Color::LightYellow, Color::Red),
            _ => self.colour(Color::Gray, Color::DarkGray),
        }
    }
}
