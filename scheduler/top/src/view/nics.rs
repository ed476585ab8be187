//! NICs: each queue with the CPU of its interrupt and the threads beside it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::rows::{self, Item, known, rate};
use crate::app::App;
use crate::sample::{NicUse, QueueUse, Sample};

const HEADER: [(&str, u16); 5] =
    [("NIC, QUEUE", 20), ("CPU", 9), ("IRQ/s", 7), ("RATE IN, OUT", 22), ("THREADS BESIDE IT", 0)];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, sample: &Sample) {
    let items: Vec<Item> = sample.nics.iter().flat_map(|nic| of_nic(app, nic)).collect();
    rows::draw(frame, area, app, &HEADER, &items);
}

fn of_nic(app: &App, nic: &NicUse) -> Vec<Item> {
    let steering = match nic.steering.as_deref() {
        Some("follows") => "packets follow",
        Some("fixed") => "packets stay",
        Some(_) => "not known yet",
        None => "",
    };
    let near =
        nic.local_cpus.as_ref().map_or("place unknown".into(), |cpus| format!("near {cpus}"));
    let rates = format!("{}, {}", rate(nic.received_per_s), rate(nic.sent_per_s));
    let head = Item {
        cells: vec![nic.name.clone(), near.clone(), String::new(), rates, steering.into()],
        style: app.theme.heading(),
        details: format!("{}, node {}, {near}\nsteering: {steering}", nic.name, known(nic.node)),
    };
    let queues = nic.queues.iter().map(|queue| of_queue(nic, queue));
    std::iter::once(head).chain(queues).collect()
}

fn of_queue(nic: &NicUse, queue: &QueueUse) -> Item {
    let beside = queue.beside.join(", ");
    Item {
        cells: vec![
            format!("  {}", queue.name),
            queue.cpus.clone(),
            format!("{:.0}", queue.interrupts_per_s),
            String::new(),
            beside.clone(),
        ],
        style: Style::new(),
        details: format!(
            "{} of {}\nIRQ {} on CPU {}, {:.1} interrupts/s\nbeside it: {beside}",
            queue.name, nic.name, queue.irq, queue.cpus, queue.interrupts_per_s
        ),
    }
}
