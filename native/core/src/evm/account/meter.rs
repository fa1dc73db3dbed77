//! The gas and the time of the steps before the execution, for which nobody pays if one of them fails.
//!
//! Code sees all gas that is left, as it does without a bound: what agrees before a pool agrees in a block, and a block
//! is the same for a node that executes it without a bound.

use std::time::{Duration, Instant};

use crate::state::remote::mode;

/// Instructions between two reads of the clock.
const CLOCK_INTERVAL: u32 = 256;

/// What has used more than is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// The gas.
    Gas,
    /// The time.
    Time,
}

/// Counts the gas of a step over all its frames, instruction by instruction.
#[derive(Debug)]
pub struct Meter {
    allowed: u64,
    deadline: Instant,
    /// Gas that the frames above each open one have used.
    above: Vec<u64>,
    /// Gas up to the last instruction, with what it has given to another frame.
    given: u64,
    /// Gas before the current instruction.
    used: u64,
    steps: u32,
}

impl Meter {
    /// Return a meter that starts its clock.
    pub fn new(time: Duration) -> Self {
        let deadline = mode::now() + time;
        Self { allowed: 0, deadline, above: Vec::new(), given: 0, used: 0, steps: 0 }
    }

    /// Count anew, up to `allowed`.
    pub fn start(&mut self, allowed: u64) {
        (self.allowed, self.given, self.used) = (allowed, 0, 0);
        self.above.clear();
    }

    /// The gas that was used before the last instruction: what is lost with a frame beyond the bound is no work.
    pub fn used(&self) -> u64 {
        self.used.min(self.allowed)
    }

    /// The gas that is left before the frame that was opened last.
    pub fn left(&self) -> u64 {
        self.allowed.saturating_sub(self.used_above())
    }

    /// Count an instruction of a frame that has used `gas` before it.
    pub fn step(&mut self, gas: u64) -> Option<Excess> {
        self.used = self.used_above().saturating_add(gas);
        if self.used > self.allowed {
            return Some(Excess::Gas);
        }
        self.steps = self.steps.wrapping_add(1);
        let is_late = self.steps % CLOCK_INTERVAL == 1 && mode::now() >= self.deadline;
        is_late.then_some(Excess::Time)
    }

    /// Count what a frame has used after an instruction.
    pub fn step_end(&mut self, gas: u64) {
        self.given = self.used_above().saturating_add(gas);
    }

    /// Open a frame with some gas, which the one above has given it.
    pub fn enter(&mut self, gas: u64) {
        self.above.push(self.given.saturating_sub(gas));
    }

    /// Close the frame that was opened last.
    pub fn leave(&mut self) {
        self.above.pop();
    }

    fn used_above(&self) -> u64 {
        self.above.last().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(allowed: u64) -> Meter {
        let mut meter = Meter::new(Duration::from_secs(60));
        meter.start(allowed);
        meter.enter(30_000_000);
        meter
    }

    #[test]
    fn a_frame_may_use_what_is_allowed() {
        let mut meter = started(1_000);
        assert_eq!(meter.step(1_000), None);
        assert_eq!(meter.step(1_001), Some(Excess::Gas));
    }

    #[test]
    fn gas_that_was_given_to_a_frame_is_not_used() {
        let mut meter = started(1_000);
        // A call for 700 that gives 900,000.
        meter.step_end(900_700);
        meter.enter(900_000);
        assert_eq!(meter.left(), 300);
        assert_eq!(meter.step(300), None);
        assert_eq!(meter.step(301), Some(Excess::Gas));
        meter.leave();
        assert_eq!(meter.step(1_000), None);
    }

    #[test]
    fn a_step_that_takes_too_long_ends() {
        let mut meter = Meter::new(Duration::ZERO);
        meter.start(1_000);
        meter.enter(1_000);
        assert_eq!(meter.step(1), Some(Excess::Time));
    }
}
