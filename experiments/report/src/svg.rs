//! What all drawings share: the canvas, text, legends, and short numbers for attributes.

use maud::{Markup, html};

/// A drawing that shrinks on narrow screens. `label` is for readers who cannot see it.
pub(super) fn canvas(width: f64, height: f64, label: &str, content: Markup) -> Markup {
    let view = format!("0 0 {width} {height}");
    html! {
        svg viewBox=(view) width=(width) height=(height) role="img" aria-label=(label) { (content) }
    }
}

/// The same, with a longer description for readers who cannot see it.
pub(super) fn described(
    (width, height): (f64, f64),
    title: &str,
    description: &str,
    content: Markup,
) -> Markup {
    canvas(width, height, title, html! { title { (title) } desc { (description) } (content) })
}

/// Where a text is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// At its first letter.
    Start,
    /// In the middle.
    Middle,
    /// At its last letter.
    End,
}

/// A line of text whose baseline is at `y`.
pub(super) fn text(x: f64, y: f64, anchor: Anchor, class: &str, content: &str) -> Markup {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    html! { text x=(px(x)) y=(px(y)) text-anchor=(anchor) class=(class) { (content) } }
}

/// A straight line.
pub(super) fn line(from: (f64, f64), to: (f64, f64), class: &str) -> Markup {
    html! { line x1=(px(from.0)) y1=(px(from.1)) x2=(px(to.0)) y2=(px(to.1)) class=(class) {} }
}

/// The data of a path through points.
pub(super) fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let step = |(index, (x, y))| {
        let command = if index == 0 { 'M' } else { 'L' };
        format!("{command}{} {}", px(x), px(y))
    };
    points.into_iter().enumerate().map(step).collect()
}

/// A pixel position to a tenth, which no eye can tell from the exact one.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

/// A row of coloured names above drawings; each entry is a class and a name.
pub(super) fn legend<'a>(entries: impl IntoIterator<Item = (String, &'a str)>) -> Markup {
    html! {
        ul.legend {
            @for (class, name) in entries { li { span.swatch.(class) {} (name) } }
        }
    }
}

/// The class that colours an arm: by its place, so that any set of arms has distinct colours.
pub(super) fn arm_class(index: usize) -> String {
    /// Colours in the style sheet.
    const COLOURS: usize = 6;
    format!("arm-{}", index % COLOURS)
}

/// Microseconds in the unit that suits them.
pub(super) fn duration(microseconds: f64) -> String {
    let (value, unit) = match microseconds {
        us if us < 1e3 => (us, "µs"),
        us if us < 1e6 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    // Two digits that count; more would only be noise.
    let decimals = usize::from(value < 9.95 && value.fract() > 0.05);
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([px(1.0), px(1.26), px(-0.5)], ["1", "1.3", "-0.5"]);
        assert_eq!(path([(0.0, 1.0), (2.5, 3.0)]), "M0 1L2.5 3");
    }

    #[test]
    fn durations_pick_their_unit() {
        let shown = [5.0, 50.0, 1500.0, 20_000.0, 3e6].map(duration);
        assert_eq!(shown, ["5 µs", "50 µs", "1.5 ms", "20 ms", "3 s"]);
    }

    #[test]
    fn text_from_the_outside_is_escaped() {
        let markup = text(0.0, 0.0, Anchor::Start, "label", "<script>").into_string();
        assert!(markup.contains("&lt;script&gt;"), "{markup}");
    }
}
