//! Cumulative shares over a logarithmic scale, one curve per arm.

use anyhow::Result;
use maud::{Markup, html};

use super::scale::{Linear, Log};
use super::svg::{self, Anchor, arm_class};
use steer_result::AbResult;
use steer_traffic::client::ClientReport;

const WIDTH: f64 = 1024.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 48.0;

/// One arm's curve.
pub(super) struct Curve {
    arm: String,
    /// The arm's place, which gives its colour.
    index: usize,
    /// Values, above 0, and the share up to each.
    points: Vec<(f64, f64)>,
}

/// What is drawn around the curves.
pub(super) struct Axes<'a> {
    /// The drawing in words, for readers who cannot see it.
    pub(super) label: &'a str,
    /// What the values are, and which side is better.
    pub(super) values: &'a str,
    /// The label of a value's tick.
    pub(super) value: fn(f64) -> String,
    /// How high a share is drawn, from 0 on.
    pub(super) height: fn(f64) -> f64,
    /// The highest share that is drawn.
    pub(super) highest: f64,
    /// Shares that are labelled, up to the highest one drawn.
    pub(super) shares: &'a [(f64, &'a str)],
}

/// The curves that `points` makes from each arm's reports. Arms without points are left out.
///
/// # Errors
/// As `points`.
pub(super) fn of_arms(
    result: &AbResult,
    mode: &str,
    points: impl Fn(Vec<&ClientReport>) -> Result<Vec<(f64, f64)>>,
) -> Result<Vec<Curve>> {
    let arms = result.modes.get(mode).into_iter().flat_map(|mode| mode.arms.keys());
    let curve = |(index, arm): (usize, &String)| {
        let samples = result.raw.iter().filter(|s| s.mode == mode && s.arm == *arm);
        let points = points(samples.map(|sample| &sample.client).collect())?;
        Ok(Curve { arm: arm.clone(), index, points })
    };
    let curves: Result<Vec<_>> = arms.enumerate().map(curve).collect();
    Ok(curves?.into_iter().filter(|curve| !curve.points.is_empty()).collect())
}

/// The curves with their legend. There must be at least one curve, and each must have a point.
pub(super) fn curves(curves: &[Curve], axes: &Axes<'_>) -> Markup {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let (low, high) =
        all().fold((f64::INFINITY, 0.0f64), |(l, h), &(value, _)| (l.min(value), h.max(value)));
    let top = all().fold(0.0, |top: f64, &(_, share)| top.max((axes.height)(share)));
    // The axis spans at least a factor of ten. Otherwise small differences would look large.
    let x = Log::new(low, high.max(low * 10.0), (LEFT, WIDTH - RIGHT));
    let y = Linear {
        domain: (0.0, top.min((axes.height)(axes.highest))),
        range: (HEIGHT - BOTTOM, TOP),
    };
    let bottom = HEIGHT - BOTTOM;
    let legend = curves.iter().map(|curve| (arm_class(curve.index), curve.arm.as_str()));
    let drawn = |share: f64| (axes.height)(share) <= y.domain.1;
    let content = html! {
        @for &(share, label) in axes.shares.iter().filter(|&&(share, _)| drawn(share)) {
            @let at = y.at((axes.height)(share));
            (svg::line((LEFT, at), (WIDTH - RIGHT, at), "grid"))
            (svg::text(LEFT - 8.0, at + 4.0, Anchor::End, "tick", label))
        }
        @for tick in x.ticks() {
            @let at = x.at(tick);
            (svg::line((at, TOP), (at, bottom), "grid"))
            (svg::text(at, bottom + 17.0, Anchor::Middle, "tick", &(axes.value)(tick)))
        }
        (svg::text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8.0, Anchor::Middle, "note", axes.values))
        @for curve in curves {
            @let shown = curve.points.iter().filter(|point| drawn(point.1));
            path d=(svg::path(shown.map(|&(value, share)| (x.at(value), y.at((axes.height)(share))))))
                class=(format!("curve {}", arm_class(curve.index))) { title { (curve.arm) } }
        }
    };
    html! {
        (svg::legend(legend))
        div.scroll { (svg::canvas(WIDTH, HEIGHT, axes.label, content)) }
    }
}
