//! The report as a browser shows it: every plot is really drawn, nothing overlaps or is too faint to
//! read, in light and dark, in a wide window and a narrow one. Needs Debian's chromium.
//! REPORT_SCREENSHOTS=DIR keeps the pictures.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod archived;
mod measured;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use archived::DEMO;
use assert_cmd::cargo::cargo_bin;
use serde::Deserialize;
use serde_json::Value;

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
/// The scheme the browser asks for, and the setting that makes it ask: 0 is dark, 1 is light.
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
    /// Texts of plots that lie on each other.
    overlaps: Vec<String>,
    /// Texts of plots that stick out.
    outside: Vec<String>,
    /// Texts that stand out too little from the background.
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

    /// The pixels of an area, as far as it lies on the picture.
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
    width: u32,
    scheme: (&'static str, &'static str),
}

impl Window<'_> {
    /// What the probe found, and the picture.
    fn look(&self) -> (Found, Picture) {
        let profile = tempfile::tempdir_in(self.folder).unwrap();
        let name = format!("{}-{}.png", self.scheme.0, self.width);
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

/// The report of a run in which everything was measured, with the probe in it.
fn write_page(folder: &Path) {
    let (json, path) = (folder.join("result.json"), folder.join("page.html"));
    let mut result: Value = serde_json::from_str(&fs::read_to_string(DEMO).unwrap()).unwrap();
    measured::add_cpu(&mut result);
    fs::write(&json, result.to_string()).unwrap();
    let mut command = Command::new(cargo_bin!("steer-bench"));
    let output = command.arg("report").arg(&json).arg("--out").arg(&path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(&path).unwrap();
    let probe = format!("<script>{}</script></head>", include_str!("probe.js"));
    fs::write(path, page.replacen("</head>", &probe, 1)).unwrap();
}

/// Whether a pixel is of this ink, as far as the edge of a mark lets it be.
fn is_of(ink: [u8; 3], pixel: [u8; 3]) -> bool {
    ink.iter().zip(pixel).all(|(ink, pixel)| ink.abs_diff(pixel) <= 8)
}

#[test]
fn every_plot_is_drawn_and_can_be_read() {
    if Command::new("chromium").arg("--version").output().is_err() {
        println!("SKIPPED every_plot_is_drawn_and_can_be_read: chromium is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_page(folder.path());
    for (scheme, dark) in SCHEMES.into_iter().zip([false, true]) {
        for width in WIDTHS {
            let window = Window { folder: folder.path(), width, scheme };
            let (found, picture) = window.look();
            let place = format!("{}, {width} wide", scheme.0);
            assert_eq!(found.paper != "rgb(255, 255, 255)", dark, "{place}: {}", found.paper);
            assert!(found.overlaps.is_empty(), "{place}: texts overlap: {:?}", found.overlaps);
            assert!(found.outside.is_empty(), "{place}: texts stick out: {:?}", found.outside);
            assert!(found.faint.is_empty(), "{place}: hard to read: {:?}", found.faint);
            assert!(found.wider <= 0, "{place}: the page must be scrolled sideways");
            // In each of the three worlds: fourteen metrics, ratios, latency, what CPUs did, who
            // used them.
            assert_eq!(found.plots.len(), 3 * 18, "{place}");
            for Plot { label, area, inks } in found.plots {
                assert!(!inks.is_empty(), "{place}: {label} has nothing to draw");
                let drawn = |ink: &[u8; 3]| picture.area(area).any(|pixel| is_of(*ink, pixel));
                let blank: Vec<_> = inks.iter().filter(|ink| !drawn(ink)).collect();
                assert!(blank.is_empty(), "{place}: {label}: no pixel is of {blank:?}");
            }
        }
    }
}
