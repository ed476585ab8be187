//! Every place at which a power cut or a kill could come, counted, so that tests can make one come
//! there. Without a hook it costs a counter.

use std::io;

use crate::error::{Error, Fault};
use crate::setting::Setting;

/// What happens at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing out of the ordinary.
    Go,
    /// The write fails.
    Fail,
    /// The program ends, without a chance to tidy up.
    Die,
}

/// Counts steps.
#[derive(Default)]
pub struct Steps<'a> {
    count: u32,
    hook: Option<&'a mut dyn FnMut(u32) -> Stop>,
}

impl<'a> Steps<'a> {
    /// Asks `hook` at each step; the first is 1.
    pub fn with(hook: &'a mut dyn FnMut(u32) -> Stop) -> Steps<'a> {
        Steps { count: 0, hook: Some(hook) }
    }

    /// How many there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Before a setting is written.
    pub(super) fn next(&mut self, setting: &Setting) -> Result<(), Error> {
        match self.ask() {
            Stop::Go => Ok(()),
            Stop::Die => Err(Error::Stopped(self.count)),
            Stop::Fail => {
                let source = io::Error::other("a test wants it to fail");
                Err(Fault::new(format!("set {setting}"), source).into())
            }
        }
    }

    /// Before the journal is written or removed. That this fails is a matter of the disk.
    pub(super) fn next_save(&mut self) -> Result<(), Error> {
        match self.ask() {
            Stop::Die => Err(Error::Stopped(self.count)),
            Stop::Go | Stop::Fail => Ok(()),
        }
    }

    fn ask(&mut self) -> Stop {
        self.count += 1;
        let count = self.count;
        self.hook.as_mut().map_or(Stop::Go, |hook| hook(count))
    }
}
