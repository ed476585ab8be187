//! Against a listener that keeps a list as irqbalance does.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::thread;

use super::*;

/// Serves `rounds` connections from a list; gives the list at the end.
fn serve(folder: &Path, mut list: String, rounds: usize) -> thread::JoinHandle<String> {
    let listener = UnixListener::bind(folder.join("irqbalance1.sock")).unwrap();
    thread::spawn(move || {
        for _ in 0..rounds {
            let (mut socket, _) = listener.accept().unwrap();
            let mut buffer = [0; 256];
            let length = socket.read(&mut buffer).unwrap();
            let message = std::str::from_utf8(&buffer[..length]).unwrap();
            if message == "setup" {
                let irqs = list.split_whitespace().filter(|irq| *irq != "NONE");
                let irqs = irqs.map(|irq| format!("IRQ {irq} LOAD 0 DIFF 0 CLASS 5 "));
                let irqs: String = irqs.collect();
                write!(socket, "SLEEP 10 {irqs}BANNED 00000000,00000000").unwrap();
            } else {
                list = message.strip_prefix("settings ban irqs ").unwrap().to_owned();
            }
        }
        list
    })
}

#[test]
fn what_others_banned_stays_banned() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), "24 31".into(), 5);
    change(folder.path(), 27, true).unwrap();
    assert_eq!(list_in(folder.path()).unwrap().unwrap(), [24, 27, 31].into());
    change(folder.path(), 24, false).unwrap();
    assert_eq!(server.join().unwrap(), "27 31");
}

#[test]
fn the_last_ban_lifted_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), "24".into(), 2);
    change(folder.path(), 24, false).unwrap();
    assert_eq!(server.join().unwrap(), "NONE");
}

#[test]
fn without_irqbalance_there_is_nothing_to_ask() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(list_in(folder.path()).unwrap(), None);
    assert_eq!(list_in(&folder.path().join("no-such-folder")).unwrap(), None);
    let stale = UnixListener::bind(folder.path().join("irqbalance1.sock")).unwrap();
    drop(stale);
    assert_eq!(list_in(folder.path()).unwrap(), None, "its owner died");
    assert!(change(folder.path(), 24, true).is_err());
}
