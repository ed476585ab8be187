//! The method must not invent gains: of runs with equal arms, at most 1 in 20 may report a
//! difference. These tests count it over thousands of runs, with noise drawn from the archived demo
//! and with noise of other shapes. `cargo test -p steer-result coverage -- --nocapture` prints the
//! figures that `docs/statistics.md` quotes.

use std::path::Path;

use fastrand::Rng;

use crate::AbResult;
use crate::archived::DEMO;
use steer_stats::{Ratio, Rounds};

/// Runs per figure. This makes a figure accurate to half a percentage point.
const RUNS: u32 = 2000;
/// Rounds per run.
const ROUNDS: [usize; 3] = [5, 8, 12];
const WANTED: f64 = 0.95;
/// How much lower the share may be by chance if a method covers exactly 95 %.
const CHANCE: f64 = 0.012;

/// Draws a sample. Both arms draw from the same noise.
type Noise = Box<dyn Fn(&mut Rng) -> f64>;

/// How samples are compared.
type Method = fn(&[f64], &[f64]) -> Option<Ratio>;

fn paired(arm: &[f64], reference: &[f64]) -> Option<Ratio> {
    let pairs: Vec<_> = arm.iter().zip(reference).map(|(s, r)| (Some(*s), Some(*r))).collect();
    Ratio::paired(&pairs)
}

const PAIRED: (&str, Method, f64) = ("paired", paired, WANTED);
const UNPAIRED: (&str, Method, f64) = ("unpaired", Ratio::unpaired, WANTED - CHANCE);

/// The share of runs between equal arms that report no difference.
fn coverage(method: Method, rounds: usize, noise: &Noise, random: &mut Rng) -> f64 {
    let honest = (0..RUNS).filter(|_| {
        let mut arm = || (0..rounds).map(|_| noise(random)).collect::<Vec<f64>>();
        !method(&arm(), &arm()).is_some_and(Ratio::excludes_one)
    });
    honest.count() as f64 / f64::from(RUNS)
}

/// Prints the coverage for each number of rounds. Fails if it is too low.
fn hold((name, method, wanted): (&str, Method, f64), noises: &[(String, Noise)]) {
    let mut random = Rng::with_seed(20);
    for (noise, draw) in noises {
        let held = ROUNDS.map(|rounds| coverage(method, rounds, draw, &mut random));
        let [five, eight, twelve] = held.map(|share| 100.0 * share);
        println!("{name:<8}  {noise:<32} {five:5.1} {eight:5.1} {twelve:5.1}");
        assert!(held.iter().all(|&share| share >= wanted), "{name}, {noise}: {held:?}");
    }
}

/// The default arm's samples in the archive, by metric and steering mode.
fn archived() -> Vec<(&'static str, Vec<Vec<f64>>)> {
    let result = AbResult::read(Path::new(DEMO)).unwrap();
    let samples = |metric: &str| -> Vec<Vec<f64>> {
        let modes = result.modes.values().map(|mode| &mode.arms["default"][metric]);
        modes.map(|summary| summary.samples.iter().flatten().copied().collect()).collect()
    };
    result.metrics().map(|metric| (metric.name, samples(metric.name))).collect()
}

/// Logarithms of samples as distances from their mean.
fn spread(samples: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> = samples.iter().copied().map(f64::ln).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    logs.iter().map(|log| log - mean).collect()
}

/// A standard normal variable (Box and Muller).
fn normal(random: &mut Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (std::f64::consts::TAU * random.f64()).cos()
}

/// Both arms draw from the default arm's rounds in one steering mode.
#[test]
fn coverage_with_the_archives_own_rounds() {
    let noises: Vec<(String, Noise)> = archived()
        .into_iter()
        .flat_map(|(metric, modes)| {
            modes.into_iter().enumerate().map(move |(mode, rounds)| {
                let noise: Noise = Box::new(move |random| rounds[random.usize(..rounds.len())]);
                (format!("{metric}, mode {mode}"), noise)
            })
        })
        .collect();
    hold(PAIRED, &noises);
}

/// The spread of a metric over all steering modes of the archive, which has fewer ties than one
/// mode.
#[test]
fn coverage_with_the_archives_spread() {
    let noises: Vec<(String, Noise)> = archived()
        .into_iter()
        .map(|(metric, modes)| {
            let pool: Vec<f64> = modes.iter().flat_map(|mode| spread(mode)).collect();
            let noise: Noise = Box::new(move |random| pool[random.usize(..pool.len())].exp());
            (metric.to_string(), noise)
        })
        .collect();
    hold(PAIRED, &noises);
    hold(UNPAIRED, &noises);
}

/// Log-normal noise as wide as the archive's throughput per core, and shapes that are harder.
#[test]
fn coverage_with_other_noise() {
    let (_, modes) =
        archived().into_iter().find(|(name, _)| *name == "throughput_per_core").unwrap();
    let pool: Vec<f64> = modes.iter().flat_map(|mode| spread(mode)).collect();
    let freedom = (pool.len() - modes.len()) as f64;
    let width = (pool.iter().map(|log| log * log).sum::<f64>() / freedom).sqrt();
    println!("throughput per core spreads by {width:.3} of its logarithm");
    let shapes: [(&str, Noise); 6] = [
        ("log-normal", Box::new(normal)),
        ("heavy tails (Cauchy)", Box::new(|random| normal(random) / normal(random))),
        (
            "one round in ten is far off",
            Box::new(|random| normal(random) + if random.u8(..10) == 0 { 20.0 } else { 0.0 }),
        ),
        (
            "two ways to run",
            Box::new(|random| 0.1 * normal(random) + if random.bool() { 5.0 } else { 0.0 }),
        ),
        ("skewed", Box::new(|random| -(1.0 - random.f64()).ln())),
        ("flat", Box::new(Rng::f64)),
    ];
    let noises: Vec<(String, Noise)> = shapes
        .into_iter()
        .map(|(name, shape)| {
            let noise: Noise = Box::new(move |random| (width * shape(random)).exp());
            (name.to_string(), noise)
        })
        .collect();
    hold(PAIRED, &noises);
    hold(UNPAIRED, &noises);
}

/// Few rounds, down to the smallest number that gives an interval.
#[test]
fn coverage_with_few_rounds() {
    let mut random = Rng::with_seed(21);
    let noise: Noise = Box::new(|random| (0.155 * normal(random)).exp());
    for (name, method, _) in [PAIRED, UNPAIRED] {
        for rounds in 2..=7 {
            let held = coverage(method, rounds, &noise, &mut random);
            println!("{name:<8}  {rounds} rounds {:5.1}", 100.0 * held);
            // Student's interval is exact here, so chance decides on which side of 95 % the count
            // falls.
            assert!(held >= WANTED - CHANCE, "{name}, {rounds} rounds: {held}");
        }
    }
}

/// The worst symmetric noise: two arms that differ, with their names swapped at random. With five
/// pairs, no method can do better than 1 in 16. From six pairs on, 1 in 20 holds.
#[test]
fn coverage_with_swapped_names() {
    let mut random = Rng::with_seed(22);
    for (rounds, wanted) in [(5, 0.93), (6, WANTED), (8, WANTED), (12, WANTED)] {
        let honest = (0..RUNS).filter(|_| {
            let pair =
                |_| if random.bool() { (Some(2.0), Some(1.0)) } else { (Some(1.0), Some(2.0)) };
            let pairs: Vec<_> = (0..rounds).map(pair).collect();
            !Ratio::paired(&pairs).unwrap().excludes_one()
        });
        let held = honest.count() as f64 / f64::from(RUNS);
        println!("{rounds} pairs with swapped names {:5.1}", 100.0 * held);
        assert!(held >= wanted, "{rounds} pairs: {held}");
    }
}

/// Most rounds of a run that goes on until its interval is narrow.
const MOST: u32 = 40;

/// The share of runs between equal arms that report no difference, and their mean number of rounds.
/// A run ends when `enough` says so, given the number of rounds and the ratio, or after `MOST`
/// rounds.
fn coverage_when_stopped<Enough: FnMut(u32, Option<Ratio>) -> bool>(
    rule: impl Fn() -> Enough,
    noise: &Noise,
    random: &mut Rng,
) -> (f64, f64) {
    let (mut honest, mut rounds) = (0, 0);
    for _ in 0..RUNS {
        let mut enough = rule();
        let mut pairs = Vec::new();
        let ratio = loop {
            pairs.push((Some(noise(random)), Some(noise(random))));
            let done = pairs.len() as u32;
            // No rule looks before the sixth round.
            let ratio = (done >= 6).then(|| Ratio::paired(&pairs)).flatten();
            if done >= 6 && (enough(done, ratio) || done >= MOST) {
                break ratio;
            }
        };
        honest += u32::from(!ratio.is_some_and(Ratio::excludes_one));
        rounds += pairs.len();
    }
    (f64::from(honest) / f64::from(RUNS), rounds as f64 / f64::from(RUNS))
}

/// If runs go on until the interval is narrow, nearly 95 % still report no difference. If they went
/// on until there is a verdict, more than one in five would invent a gain.
#[test]
fn coverage_when_the_width_ends_the_run() {
    let mut random = Rng::with_seed(24);
    let modes = archived().into_iter().find(|(name, _)| *name == "throughput_per_core").unwrap().1;
    let pool: Vec<f64> = modes.iter().flat_map(|mode| spread(mode)).collect();
    let noises: [(&str, Noise); 3] = [
        ("archive's spread", Box::new(move |random| pool[random.usize(..pool.len())].exp())),
        ("log-normal", Box::new(|random| (0.155 * normal(random)).exp())),
        ("skewed", Box::new(|random| (-0.155 * (1.0 - random.f64()).ln()).exp())),
    ];
    for (name, noise) in &noises {
        let rule = || {
            let mut rounds = Rounds::new("10".parse().unwrap(), 6);
            move |done, ratio| !rounds.go_on(done, ratio)
        };
        let (held, rounds) = coverage_when_stopped(rule, noise, &mut random);
        println!("within 10 %    {name:<18} {:5.1}  {rounds:.0} rounds", 100.0 * held);
        assert!(held >= 0.93, "{name}: {held}");
    }
    let verdict = || |_, ratio: Option<Ratio>| ratio.is_some_and(Ratio::excludes_one);
    let (name, noise) = &noises[1];
    let (held, rounds) = coverage_when_stopped(verdict, noise, &mut random);
    println!("until a verdict {name:<18} {:5.1}  {rounds:.0} rounds", 100.0 * held);
    assert!(held < 0.85, "docs/statistics.md calls this dishonest, but the coverage is {held}");
}

/// The method must not be blind either: how often a real gain is found with the archive's spread.
#[test]
fn a_real_gain_is_found() {
    let mut random = Rng::with_seed(23);
    for (rounds, gain, wanted) in [(5, 1.3, 0.4), (8, 1.3, 0.7), (12, 1.2, 0.65)] {
        let found = (0..RUNS).filter(|_| {
            let mut arm = |factor: f64| -> Vec<f64> {
                (0..rounds).map(|_| factor * (0.155 * normal(&mut random)).exp()).collect()
            };
            paired(&arm(gain), &arm(1.0)).unwrap().lo > 1.0
        });
        let found = found.count() as f64 / f64::from(RUNS);
        println!("{rounds} pairs find a gain of {gain} in {:5.1}", 100.0 * found);
        assert!(found >= wanted, "{rounds} pairs find {gain} in {found}");
    }
}
