//! One plot: a value by what varies, one line per arm with its interval, and a paper's values as
//! diamonds. Columns are not to scale, as in the host-network-stack paper's figures.

use std::fmt;

use maud::{Markup, html};

use super::super::scale::Linear;
use super::super::svg::{self, Anchor, arm_class};

const WIDTH: f64 = 500.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 20.0;
/// Room above for the name, and below for the axis.
const TOP: f64 = 46.0;
const BOTTOM: f64 = 44.0;
/// Furthest apart that two arms of a column are drawn.
const APART: f64 = 11.0;
/// Half the width of a diamond.
const DIAMOND: f64 = 6.0;
/// Half the width of an interval's ends.
const END: f64 = 4.0;

/// What a plot shows.
pub(super) struct Panel<'a> {
    pub(super) name: &'a str,
    /// Unit, and which way is better.
    pub(super) note: String,
    /// What varies.
    pub(super) axis: &'a str,
    /// The labels below.
    pub(super) columns: Vec<&'a str>,
    pub(super) lines: Vec<PanelLine<'a>>,
    /// What papers state: column and value.
    pub(super) marks: Vec<(&'a str, f64)>,
    /// Whether to draw a line at 1.
    pub(super) one: bool,
    /// The top of the axis, if it is not the largest value.
    pub(super) most: Option<f64>,
}

/// One arm.
pub(super) struct PanelLine<'a> {
    pub(super) arm: &'a str,
    pub(super) dots: Vec<Dot<'a>>,
}

/// One arm in one column.
#[derive(Clone, Copy)]
pub(super) struct Dot<'a> {
    pub(super) at: &'a str,
    pub(super) value: f64,
    /// The ends of its interval.
    pub(super) reach: Option<(f64, f64)>,
}

impl Panel<'_> {
    /// The plot.
    pub(super) fn draw(&self) -> Markup {
        let title = format!("{} by {}, {}", self.name, self.axis, self.note);
        let y = Linear { domain: (0.0, self.most()), range: (HEIGHT - BOTTOM, TOP) };
        svg::described(
            (WIDTH, HEIGHT),
            &title,
            &self.description(),
            html! {
                (svg::text(0.0, 13.0, Anchor::Start, "name", self.name))
                (svg::text(0.0, 29.0, Anchor::Start, "note", &self.note))
                @for (value, label) in y.ticks() {
                    @let at = y.at(value);
                    (svg::line((LEFT, at), (WIDTH - RIGHT, at), "grid"))
                    (svg::text(LEFT - 7.0, at + 4.0, Anchor::End, "tick", &label))
                }
                // The line at 1 is drawn even if no tick is there.
                @if self.one { (svg::line((LEFT, y.at(1.0)), (WIDTH - RIGHT, y.at(1.0)), "one")) }
                @for (column, label) in self.columns.iter().enumerate() {
                    (svg::text(self.x(column), HEIGHT - BOTTOM + 17.0, Anchor::Middle, "tick", label))
                }
                (svg::text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8.0, Anchor::Middle, "note", self.axis))
                @for (slot, line) in self.lines.iter().enumerate() { (self.line(line, slot, y)) }
                @for &(label, value) in &self.marks { (self.mark(label, value, y)) }
            },
        )
    }

    /// The largest value that is drawn, with some room above.
    fn most(&self) -> f64 {
        let end = |dot: &Dot<'_>| dot.reach.map_or(dot.value, |(_, hi)| hi);
        let values = self.lines.iter().flat_map(|line| line.dots.iter().map(end));
        let all = values.chain(self.marks.iter().map(|mark| mark.1));
        let least = if self.one { 1.0 } else { 0.0 };
        self.most.unwrap_or_else(|| 1.12 * all.fold(least, f64::max))
    }

    /// The middle of a column.
    fn x(&self, column: usize) -> f64 {
        LEFT + self.width() * (column as f64 + 0.5)
    }

    fn width(&self) -> f64 {
        (WIDTH - LEFT - RIGHT) / self.columns.len().max(1) as f64
    }

    /// The x position in a column: arms side by side, then the paper.
    fn place(&self, label: &str, slot: usize) -> Option<f64> {
        let column = self.columns.iter().position(|column| *column == label)?;
        let slots = self.lines.len() + usize::from(!self.marks.is_empty());
        let apart = APART.min(self.width() / slots as f64);
        Some(self.x(column) + apart * (slot as f64 - (slots - 1) as f64 / 2.0))
    }

    fn line(&self, line: &PanelLine<'_>, slot: usize, y: Linear) -> Markup {
        let placed = line.dots.iter().filter_map(|dot| Some((self.place(dot.at, slot)?, dot)));
        let placed: Vec<(f64, &Dot<'_>)> = placed.collect();
        html! {
            g class=(arm_class(slot)) {
                path d=(svg::path(placed.iter().map(|(x, dot)| (*x, y.at(dot.value)))))
                    class="curve" {}
                @for &(x, dot) in &placed {
                    @if let Some((lo, hi)) = dot.reach {
                        (svg::line((x, y.at(lo)), (x, y.at(hi)), "whisker"))
                        @for end in [lo, hi] {
                            (svg::line((x - END, y.at(end)), (x + END, y.at(end)), "whisker"))
                        }
                    }
                    circle cx=(svg::px(x)) cy=(svg::px(y.at(dot.value))) r="4" {
                        title { (line.arm) " at " (dot.at) ": " (dot) }
                    }
                }
            }
        }
    }

    fn mark(&self, label: &str, value: f64, y: Linear) -> Markup {
        let (Some(x), at) = (self.place(label, self.lines.len()), y.at(value)) else {
            return html! {};
        };
        let corners = [(x, at - DIAMOND), (x + DIAMOND, at), (x, at + DIAMOND), (x - DIAMOND, at)];
        html! {
            path d=(svg::path(corners) + "Z") class="stated" {
                title { "paper at " (label) ": " (value) }
            }
            @if value != 1.0 {
                (svg::text(x + DIAMOND + 3.0, at + 4.0, Anchor::Start, "value", &value.to_string()))
            }
        }
    }

    /// All that is drawn, in words.
    fn description(&self) -> String {
        let line = |line: &PanelLine<'_>| {
            let dots = line.dots.iter().map(|dot| format!("{dot} at {}", dot.at));
            format!("{}: {}.", line.arm, dots.collect::<Vec<_>>().join(", "))
        };
        let mut parts: Vec<String> = self.lines.iter().map(line).collect();
        if !self.marks.is_empty() {
            let marks = self.marks.iter().map(|(at, value)| format!("{value} at {at}"));
            parts.push(format!("Paper: {}.", marks.collect::<Vec<_>>().join(", ")));
        }
        parts.join(" ")
    }
}

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.value)?;
        self.reach.map_or(Ok(()), |(lo, hi)| write!(f, " [{lo:.2}, {hi:.2}]"))
    }
}
