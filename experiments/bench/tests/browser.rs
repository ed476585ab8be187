//! The report in a browser: every plot is drawn, nothing overlaps, and nothing is too faint to
//! read, in light and dark, in a wide and a narrow window. Needs Debian's chromium.
//! REPORT_SCREENSHOTS=DIR keeps the pictures.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "../../result/tests/archived/mod.rs"]
mod archived;
#[path = "../../result/tests/measured/mod.rs"]
mod measured;
mod pages;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use pages::{add_topology, experiment, page, page_of};
use serde::Deserialize;

/// A wide window, and the narrowest that chromium makes.
const WIDTHS: [u32; 2] = [1100, 500];
/// Higher than the page; chromium draws no more than 16,384.
const HEIGHT: u32 = 16_000;
const CHROMIUM: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];
/// The colour scheme, and the browser's setting for it: 0 is dark, 1 is light.
const SCHEMES: [(&str, &str); 2] = [
    ("light", "--blink-settings=preferredColorScheme=1"),
    ("dark", "--blink-settings=preferredColorScheme=0"),
];

/// What `probe.js` measured.
#[derive(Debug, Deserialize)]
struct Found {
    /// The page's background, like `rgb(255, 255, 255)`.
    paper: String,
    plots: Vec<Plot>,
    /// Texts of plots that overlap.
    overlaps: Vec<String>,
    /// Texts of plots that stick out.
    outside: Vec<String>,
    /// Texts with too little contrast to the background.
    faint: Vec<String>,
    /// Pixels by which the page is wider than the window.
    wider: i32,
}

#[derive(Debug, Deserialize)]
struct Plot {
    label: String,
    /// The colours of its marks.
    inks: Vec<[u8; 3]>,
    /// Left, top, width, height.
    #[serde(rename = "box")]
    area: [u32; 4],
}

/// A picture of the page, three bytes a pixel.
struct Picture {
    width: u32,
    pixels: Vec<u8>,
}

impl Picture {
    fn read(path: &Path) -> Self {
        let mut decoder = png::Decoder::new(BufReader::new(File::open(path).unwrap()));
        decoder.set_transformations(png::Transformations::STRIP_16 | png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut bytes).unwrap();
        let samples = frame.color_type.samples();
        let pixels = bytes[..frame.buffer_size()].chunks(samples).flat_map(|p| &p[..3]).copied();
        Self { width: frame.width, pixels: pixels.collect() }
    }

    /// The pixels of an area inside the picture.
    fn area(&self, [left, top, width, height]: [u32; 4]) -> impl Iterator<Item = [u8; 3]> {
        let (right, bottom) = ((left + width).min(self.width), top + height);
        let places = (top..bottom).flat_map(move |y| (left..right).map(move |x| (x, y)));
        places.filter_map(|(x, y)| {
            let start = (y * self.width + x) as usize * 3;
            self.pixels.get(start..start + 3)?.try_into().ok()
        })
    }
}

/// A window on the report, in one scheme.
struct Window<'a> {
    folder: &'a Path,
    /// Name of the page in the names of pictures.
    name: &'a str,
    width: u32,
    scheme: (&'static str, &'static str),
}

impl Window<'_> {
    /// What the probe found, and the picture.
    fn look(&self) -> (Found, Picture) {
        let profile = tempfile::tempdir_in(self.folder).unwrap();
        let name = format!("{}-{}-{}.png", self.name, self.scheme.0, self.width);
        let path = self.folder.join(&name);
        let output = Command::new("timeout")
            .args(["300", "chromium"])
            .args(CHROMIUM)
            .arg(self.scheme.1)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--window-size={},{HEIGHT}", self.width))
            .arg(format!("--screenshot={}", path.display()))
            .arg("--dump-dom")
            .arg(format!("file://{}", self.folder.join("page.html").display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        if let Some(kept) = std::env::var_os("REPORT_SCREENSHOTS") {
            fs::copy(&path, PathBuf::from(kept).join(name)).unwrap();
        }
        let page = String::from_utf8(output.stdout).unwrap();
        let (_, found) = page.split_once("data-found=\"").expect("the probe did not run");
        let (found, _) = found.split_once('"').unwrap();
        let found = found.replace("&quot;", "\"").replace("&amp;", "&");
        (serde_json::from_str(&found).unwrap(), Picture::read(&path))
    }
}

/// Writes a page with the probe in it.
fn write_page(folder: &Path, page: &str) {
    let probe = format!("<script>{}</script></head>", include_str!("probe.js"));
    fs::write(folder.join("page.html"), page.replacen("</head>", &probe, 1)).unwrap();
}

/// Whether a pixel has this colour. Pixels at the edge of a mark are blended.
fn is_of(ink: [u8; 3], pixel: [u8; 3]) -> bool {
    ink.iter().zip(pixel).all(|(ink, pixel)| ink.abs_diff(pixel) <= 8)
}

/// Checks a page in every scheme and width. `plots` has the labels of its plots, and how often each
/// appears.
fn look_at(name: &'static str, page: &str, plots: &[(&str, usize)]) {
    if Command::new("chromium").arg("--version").output().is_err() {
        println!("SKIPPED {name}: chromium is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_page(folder.path(), page);
    for (scheme, dark) in SCHEMES.into_iter().zip([false, true]) {
        for width in WIDTHS {
            let window = Window { folder: folder.path(), name, width, scheme };
            let (found, picture) = window.look();
            let place = format!("{name}, {}, {width} wide", scheme.0);
            assert_eq!(found.paper != "rgb(255, 255, 255)", dark, "{place}: {}", found.paper);
            assert!(found.overlaps.is_empty(), "{place}: texts overlap: {:?}", found.overlaps);
            assert!(found.outside.is_empty(), "{place}: texts stick out: {:?}", found.outside);
            assert!(found.faint.is_empty(), "{place}: hard to read: {:?}", found.faint);
            assert!(found.wider <= 0, "{place}: the page must be scrolled sideways");
            for (label, wanted) in plots {
                let count = found.plots.iter().filter(|plot| plot.label.contains(label)).count();
                assert_eq!(count, *wanted, "{place}: {label}");
            }
            for Plot { label, area, inks } in found.plots {
                assert!(!inks.is_empty(), "{place}: {label} has nothing to draw");
                let drawn = |ink: &[u8; 3]| picture.area(area).any(|pixel| is_of(*ink, pixel));
                let blank: Vec<_> = inks.iter().filter(|ink| !drawn(ink)).collect();
                assert!(blank.is_empty(), "{place}: {label}: no pixel is of {blank:?}");
            }
        }
    }
}

#[test]
fn every_plot_of_a_run_is_drawn_and_can_be_read() {
    let page = page(|result| {
        measured::add_cpu(result);
        add_topology(result);
    });
    // In each of the three steering modes: fourteen metrics, ratios, latency, rates, what CPUs did,
    // the machine, and what used the CPUs.
    look_at("run", &page, &[("", 3 * 20), ("The machine and where threads ran", 3)]);
}

#[test]
fn every_plot_of_an_experiment_is_drawn_and_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let points = [
        ("1-flow", "--long-flows=1", 1.0),
        ("2-flows", "--long-flows=2", 0.9),
        ("4-flows", "--long-flows=4", 0.7),
    ];
    experiment(folder.path(), "one-to-one", &points);
    let experiment = folder.path().join("one-to-one");
    for (point, ..) in points {
        // With three steering modes the narrow page is longer than a picture can be.
        let path = experiment.join(point).join("result.json");
        let mut result: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        result["worlds"].as_object_mut().unwrap().remove("explicit").unwrap();
        fs::write(path, result.to_string()).unwrap();
    }
    let page = page_of(&experiment);
    // In both steering modes: seven metrics that have a unit, twice each, and four shares.
    look_at("experiment", &page, &[("", 2 * 18), ("times the arm's own value at 1", 2 * 7)]);
}
