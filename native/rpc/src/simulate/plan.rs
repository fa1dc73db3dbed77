//! The plan of a simulation: number and time of each requested block, and empty blocks in the gaps.

use alloy_consensus::Header;
use alloy_primitives::U256;

use super::request::{BlockCalls, SimulationError};

/// How many blocks a simulation may have, including those that fill gaps.
const MAX_BLOCKS: u64 = 256;

/// A block with its number and time.
#[derive(Debug)]
pub(super) struct PlannedBlock<'a> {
    pub number: u64,
    pub timestamp: u64,
    /// Its position in the request, and what is requested; None if it fills a gap.
    pub requested: Option<(usize, &'a BlockCalls)>,
}

/// Return the blocks after `parent`, without gaps, so many seconds apart; numbers and times increase.
pub(super) fn plan<'a>(
    parent: &Header,
    interval: u64,
    blocks: &'a [BlockCalls],
) -> Result<Vec<PlannedBlock<'a>>, SimulationError> {
    if blocks.is_empty() {
        return Err(SimulationError::Empty);
    }
    if blocks.len() as u64 > MAX_BLOCKS {
        return Err(SimulationError::TooLong(U256::from(blocks.len()), MAX_BLOCKS));
    }
    let mut planned = Vec::with_capacity(blocks.len());
    let (mut number, mut timestamp) = (parent.number, parent.timestamp);
    let later = |timestamp: u64| U256::from(timestamp) + U256::from(interval);
    for (index, requested) in blocks.iter().enumerate() {
        let next = U256::from(number) + U256::ONE;
        let last = requested.overrides.number.unwrap_or(next);
        if last < next {
            return Err(SimulationError::NumberTooLow(last, number));
        }
        let ahead = last - U256::from(parent.number);
        if ahead > U256::from(MAX_BLOCKS) {
            return Err(SimulationError::TooLong(ahead, MAX_BLOCKS));
        }
        let last = u64::try_from(last).map_err(|_| SimulationError::NumberTooLarge)?;
        for missing in number + 1..last {
            timestamp = narrow(later(timestamp))?;
            planned.push(PlannedBlock { number: missing, timestamp, requested: None });
        }
        let time = requested.overrides.time.unwrap_or_else(|| later(timestamp));
        if time <= U256::from(timestamp) {
            return Err(SimulationError::TimeTooLow(time, timestamp));
        }
        (number, timestamp) = (last, narrow(time)?);
        planned.push(PlannedBlock { number, timestamp, requested: Some((index, requested)) });
    }
    Ok(planned)
}

fn narrow(time: U256) -> Result<u64, SimulationError> {
    u64::try_from(time).map_err(|_| SimulationError::TimeTooLarge(time))
}
