//! Each view at two sizes of terminal, and what the keys do.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use steer_top::{
    Action, App, CgroupUse, CpuUse, NicUse, QueueUse, Sample, ThreadUse, View, draw, load, save,
};

/// A host with two nodes; the values are made up.
fn sample() -> Sample {
    let queue = |index: u32, beside: &[&str]| QueueUse {
        name: format!("virtio1-input.{index}"),
        irq: 26 + index,
        cpus: (2 + index).to_string(),
        interrupts_per_s: 8123.4,
        beside: beside.iter().map(|name| (*name).to_owned()).collect(),
    };
    let thread = |tid, name: &str, class: &str, home, cpu, why: &str| ThreadUse {
        tid,
        name: name.into(),
        cgroup: "system.slice/app.service".into(),
        class: class.into(),
        since_s: 42,
        home_cpu: home,
        cpu: Some(cpu),
        why: why.into(),
        rules: Vec::new(),
        long_cost_ns: 5_200_000,
        short_cost_ns: 31_000,
        last_bursts: vec![262_144, 131_072],
    };
    let mut redis = thread(714, "redis-server", "short", None, 0, "an unclaimed CPU");
    redis.rules = vec!["class=short (50-web.toml:3:1)".into()];
    redis.last_bursts = vec![4096];
    let cpu = |number: u32, shares: [f64; 4], claimed| CpuUse {
        cpu: number,
        node: Some(number / 2),
        llc: Some(number / 2),
        long: shares[0],
        short: shares[1],
        other: shares[2],
        softirq: shares[3],
        claimed,
        reserved: number == 1,
    };
    let group = |path: &str, used, quota| CgroupUse {
        path: path.into(),
        cpus_used: used,
        weight: Some(100),
        quota_cpus: quota,
        throttled: quota.map_or(0.0, |_| 0.25),
        rules: Vec::new(),
    };
    let mut web = group("system.slice/redis-server.service", 0.41, None);
    web.rules = redis.rules.clone();
    Sample {
        version: 1,
        seconds: 1.0,
        scheduler: "scx_steer_0.1.0".into(),
        decisions: true,
        nics: vec![NicUse {
            name: "eth0".into(),
            node: Some(1),
            local_cpus: Some("2-3".into()),
            steering: Some("follows".into()),
            received_per_s: 512e6,
            sent_per_s: 3.2e6,
            queues: vec![queue(0, &["iperf3"]), queue(1, &["iperf3", "nginx"])],
        }],
        threads: vec![
            thread(701, "iperf3", "long", Some(2), 2, "its home CPU"),
            thread(702, "iperf3", "long", Some(0), 3, "near the NIC; packets follow"),
            redis,
        ],
        cpus: vec![
            cpu(0, [0.0, 0.6, 0.2, 0.1], false),
            cpu(1, [0.0, 0.3, 0.0, 0.0], false),
            cpu(2, [0.7, 0.0, 0.0, 0.3], true),
            cpu(3, [0.45, 0.0, 0.05, 0.2], true),
        ],
        cgroups: vec![
            group("system.slice", 1.9, None),
            group("system.slice/batch.service", 0.5, Some(0.5)),
            web,
        ],
    }
}

fn screen(app: &App, sample: &Sample, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app, sample)).unwrap();
    terminal.backend().to_string()
}

fn press(app: &mut App, keys: &str) {
    for key in keys.chars() {
        app.on_key(if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) }, &sample());
    }
}

#[test]
fn each_view_at_two_sizes() {
    for view in View::ALL {
        for size in [(80, 24), (200, 60)] {
            let app = App::showing(view);
            let name = format!("{view:?}-{}x{}", size.0, size.1).to_lowercase();
            insta::assert_snapshot!(name, screen(&app, &sample(), size));
        }
    }
}

#[test]
fn details_and_help() {
    let mut app = App::showing(View::Threads);
    app.on_key(KeyCode::Down, &sample());
    app.on_key(KeyCode::Down, &sample());
    app.on_key(KeyCode::Enter, &sample());
    insta::assert_snapshot!("details", screen(&app, &sample(), (80, 24)));
    press(&mut app, "?");
    insta::assert_snapshot!("help", screen(&app, &sample(), (80, 24)));
}

#[test]
fn under_another_scheduler_it_says_that_decisions_are_unknown() {
    let sample = Sample { scheduler: "default".into(), decisions: false, ..sample() };
    let screen = screen(&App::default(), &sample, (120, 24));
    assert!(screen.contains("under default") && screen.contains("no decisions"), "{screen}");
}

#[test]
fn keys_do_what_the_help_says() {
    let mut app = App::default();
    assert_eq!(app.on_key(KeyCode::Char('q'), &sample()), Action::Quit);
    assert_eq!(app.on_key(KeyCode::Char('S'), &sample()), Action::Save);
    press(&mut app, "vvvv");
    assert_eq!(app.view, View::Nics, "four views");
    press(&mut app, "++-");
    assert_eq!(app.interval_ms, 1250);
    press(&mut app, &"-".repeat(99));
    assert_eq!(app.interval_ms, 250, "a lower bound");
    // a node at a time, then all again
    let cpus = |app: &App| {
        let mut app = app.clone();
        app.view = View::Cpus;
        screen(&app, &sample(), (80, 24)).matches("node ").count()
    };
    assert_eq!(cpus(&app), 2);
    press(&mut app, "n");
    assert_eq!(cpus(&app), 2, "the title names node 0, and node 0 is shown");
    press(&mut app, "nn");
    assert_eq!(cpus(&app), 2, "all");
    // the selection stays on a row
    app.view = View::Threads;
    for _ in 0..9 {
        app.on_key(KeyCode::Down, &sample());
    }
    press(&mut app, "\n");
    assert!(screen(&app, &sample(), (80, 24)).contains("thread 714 redis-server"));
}

#[test]
fn an_empty_sample_and_a_tiny_terminal_are_drawn() {
    for view in View::ALL {
        let app = App::showing(view);
        screen(&app, &Sample::default(), (1, 1));
        screen(&app, &sample(), (10, 4));
    }
}

#[test]
fn choices_are_saved_and_a_broken_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scx_steer/top.json");
    let mut app = App::default();
    load(&mut app, &path).unwrap();
    press(&mut app, "vt+");
    save(&app, &path).unwrap();
    let mut again = App::default();
    load(&mut again, &path).unwrap();
    assert_eq!((again.view, again.interval_ms), (View::Threads, 1250));
    std::fs::write(&path, "{").unwrap();
    let error = load(&mut again, &path).unwrap_err().to_string();
    assert!(error.contains("top.json") && error.contains("save again with S"), "{error}");
}

#[test]
fn a_line_of_json_is_read_back() {
    let line = serde_json::to_string(&sample()).unwrap();
    assert_eq!(serde_json::from_str::<Sample>(&line).unwrap(), sample());
}
