//! For the trials of the journal (`steer-bench lab journal`): makes this program die, or one write
//! fail, at a step that the environment names. Without the variables nothing happens.

use steer_nic::{Steps, Stop};

/// The step at which this program ends by SIGKILL.
const DIE_AT: &str = "SCX_STEER_NIC_DIE_AT";
/// The step whose write fails.
const FAIL_AT: &str = "SCX_STEER_NIC_FAIL_AT";

/// What the environment names.
pub(crate) struct Stops(Box<dyn FnMut(u32) -> Stop>);

impl Stops {
    /// Steps at which it happens.
    pub(crate) fn steps(&mut self) -> Steps<'_> {
        Steps::with(&mut self.0)
    }
}

/// Reads the environment.
pub(crate) fn from_environment() -> Stops {
    let step = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let (die, fail) = (step(DIE_AT), step(FAIL_AT));
    Stops(Box::new(move |step| match Some(step) {
        at if at == die => {
            let me = rustix::process::getpid();
            let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
            Stop::Die
        }
        at if at == fail => Stop::Fail,
        _ => Stop::Go,
    }))
}
